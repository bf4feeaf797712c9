#include "work_directory.hpp"

#include <cstddef>

#include "event.hpp"
#include "message_table.hpp"
#include "rows.hpp"

namespace pawl::store {
namespace {

constexpr std::size_t kListLooksMax = 1024;  // rows looked at for one page

bool passes(const WorkInfo& info, const WorkListFilter& filter) {
  return (filter.name.empty() || info.name == filter.name.view()) &&
         (filter.tag.empty() || info.tag == filter.tag.view()) &&
         (filter.session.empty() || info.session == filter.session.view()) &&
         (filter.instance_id.empty() || info.instance_id == filter.instance_id.view()) &&
         (!filter.state.has_value() || info.state == *filter.state);
}

}  // namespace

constexpr auto kListWorkText = sql::join(
    "SELECT q.id,i.id,q.execution,q.event,q.state,q.attempt,s.name,q.tag,w.node,"
    "q.waits_for IS NOT NULL,h.meta," PAWL_IS_THERE
    " FROM worker_queue AS q"
    " LEFT JOIN instances AS i ON i.key=q.instance LEFT JOIN sessions AS s ON s.sid=q.sid"
    " LEFT JOIN workers AS w ON w.inc=q.inc LEFT JOIN history AS h"
    " ON h.instance=q.instance AND h.execution=q.execution AND h.id=q.event"
    " WHERE q.id>?1 AND q.state<",
    sql::number<session::WorkState::kCancelledRunning>, " ORDER BY q.id");
constexpr sql::Query kListWork{kListWorkText};

Status WorkDirectory::list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor) {
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no work");
    return Status::kInvalidArgument;
  }
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kListWork);
  row.bind(page->after);
  page->more = true;
  std::size_t reported = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && reported < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    if (row.integer(0) <= page->after) return no_progress("work");
    page->after = row.integer(0);
    // This check is not in the statement, so that a page looks at a bounded number of rows however
    // large a deleted tree is.
    if (row.integer(11) == 0) continue;
    Event event;
    event.kind = EventKind::kActivity;
    JsonMemory memory(context_.json_memory, sizeof context_.json_memory);
    const Status decoded =
        decode_meta(row.bytes(10), &event, context_.meta_text, sizeof context_.meta_text);
    WorkInfo info;
    info.key = row.integer(0);
    info.instance_id = row.bytes(1);
    info.execution_id = row.integer(2);
    info.activity_id = row.integer(3);
    if (decoded == Status::kOk) info.name = event.name;
    info.state = static_cast<ActivityState>(row.integer(4));
    info.attempt = row.integer(5);
    info.session = row.bytes(6);
    info.tag = row.bytes(7);
    if (info.state == ActivityState::kRunning) info.node = row.bytes(8);
    info.is_unserved = row.integer(9) != 0;
    if (!passes(info, filter)) continue;
    visitor.on_work(info);
    ++reported;
  }
  return fail(row.status(), "list work");
}

// Uses the instance's index, so that only the messages of that instance are sorted.
constexpr auto kListMessagesText = sql::join(
    "SELECT id,kind,name,payload,base IS NOT NULL,waiting=", sql::number<Waiting::kUnread>,
    " FROM orchestrator_queue\fINDEXED BY oq_instance\r"
    "WHERE instance=?1 AND id>?2 ORDER BY id LIMIT ?3");
constexpr sql::Query kListMessages{kListMessagesText};

Status WorkDirectory::list_messages(InstanceKey key, Page* page, MessageVisitor& visitor) {
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no messages");
    return Status::kInvalidArgument;
  }
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  const std::size_t rows_max = page->rows_max < kListLooksMax ? page->rows_max : kListLooksMax;
  Statement row = connection_.use(kListMessages);
  row.bind(key).bind(page->after).bind(static_cast<std::int64_t>(rows_max));
  std::size_t reported = 0;
  while (row.row()) {
    if (row.integer(0) <= page->after) return no_progress("messages");
    page->after = row.integer(0);
    MessageInfo info;
    info.number = row.integer(0);
    info.kind = message_kind_name(static_cast<MessageKind>(row.integer(1)));
    info.name = row.bytes(2);
    info.payload = row.bytes(3);
    info.is_timer = row.integer(4) != 0;
    info.is_unread = row.integer(5) != 0;
    visitor.on_message(info);
    ++reported;
  }
  page->more = reported == rows_max;
  return fail(row.status(), "list messages");
}

}  // namespace pawl::store

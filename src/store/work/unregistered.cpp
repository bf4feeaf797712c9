#include "store/work/unregistered.hpp"

namespace pawl::store {
namespace {

constexpr int kWaitingLooksMax = 256;  // looks in one call

}  // namespace

// Goes through the names in their order, and through the items of each name in theirs.
Status UnregisteredWork::wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken,
                                           bool* more) {
  require_batch();
  *woken = 0;
  *more = true;
  for (int looks = 0; looks < kWaitingLooksMax && *woken < limit; ++looks) {
    if (!waiting_.in_name) {
      PAWL_TRY(next_waiting_name(me));
      if (!waiting_.in_name) {
        *more = false;
        return Status::kOk;
      }
    }
    PAWL_TRY(wake_next_waiting(me, woken));
  }
  return Status::kOk;
}

constexpr auto kTagOfSession = PAWL_QUERY("SELECT tag FROM sessions WHERE sid=?1");

// A worker may schedule work that it cannot run. This asks whether any other worker can.
Status UnregisteredWork::must_wait(InstanceKey instance, const NewWork& work, SessionKey session,
                                   bool* waits) {
  FixedText<kNameBytesMax> tag;
  tag.assign_cut(work.tag);
  if (work.tag.empty() && session != 0) {
    Statement read = connection_.use(kTagOfSession);
    if (read.bind(session).row()) tag.assign_cut(read.bytes(0));
    PAWL_TRY(fail(read.status(), "read the tag of a session"));
  }
  bool elsewhere = false;
  PAWL_TRY(workers_.handler_elsewhere(work.unregistered_name, tag.view(), context_.batch_worker,
                                      session != 0, &elsewhere));
  *waits = !elsewhere;
  if (*waits && context_.sink != nullptr)
    context_.sink->on_unregistered(work.unregistered_name, tag.view(), instance, work.event);
  return Status::kOk;
}

// Requires: the item is ready.
Status UnregisteredWork::park_work(const WorkRow& row, std::string_view name) {
  ++parked_.in(context_);
  WorkWrite write;
  write.state = rules::WorkState::kDelayed;
  write.waits_for = name;
  write.unregistered = 1;
  PAWL_TRY(work_.write_state(row.id, write));
  return row.session == 0 ? Status::kOk : sessions_.recompute_head(row.session);
}

constexpr auto kFirstOfSession =
    PAWL_QUERY("SELECT id FROM worker_queue\fINDEXED BY wq_session\rWHERE sid=?1 AND state=",
               sql::number<rules::WorkState::kDelayed>,
               " AND id>?2"
               " AND waits_for IS NOT NULL ORDER BY id LIMIT 1");

Status UnregisteredWork::wake_waiting_of(SessionKey session) {
  WorkItemId item = 0;
  while (true) {
    {
      Statement next = connection_.use(kFirstOfSession);
      next.bind(session).bind(item);
      if (!next.row()) return fail(next.status(), "find waiting work of a session");
      item = next.integer(0);
    }
    PAWL_TRY(wake_waiting_item(item, session));
  }
}

constexpr auto kNextName = PAWL_QUERY(
    "SELECT name FROM handlers AS h WHERE inc=?1 AND name>?2 AND EXISTS("
    "SELECT 1 FROM worker_queue AS q\fINDEXED BY wq_waiting\rWHERE q.waits_for=h.name)"
    " ORDER BY name LIMIT 1");

// Finds the next name that `me` has a handler for. If there is none behind the last one, the cursor
// is at the beginning again.
Status UnregisteredWork::next_waiting_name(Incarnation me) {
  Statement next = connection_.use(kNextName);
  const FixedText<kNameBytesMax> last = waiting_.name;  // bound text must not change meanwhile
  next.bind(me).bind_text(last.view());
  waiting_ = Waiting();
  if (!next.row()) return fail(next.status(), "find names that work waits for");
  waiting_.name.assign_cut(next.bytes(0));
  waiting_.in_name = true;
  return Status::kOk;
}

constexpr auto kNextWaiting = PAWL_QUERY(
    "SELECT q.id,q.sid,(coalesce(s.hard,0)=0 OR s.owner=?1) AND EXISTS(SELECT 1 FROM workers w"
    " WHERE w.inc=?1 AND (w.any_tag<>0 OR EXISTS(SELECT 1 FROM worker_tags t WHERE t.inc=?1"
    " AND t.tag=coalesce(q.tag,s.tag,''))))"
    " FROM worker_queue AS q\fINDEXED BY wq_waiting\rLEFT JOIN sessions AS s ON s.sid=q.sid"
    " WHERE q.waits_for=?2 AND q.id>?3 ORDER BY q.waits_for,q.id LIMIT 1");

Status UnregisteredWork::wake_next_waiting(Incarnation me, std::size_t* woken) {
  SessionKey session = 0;
  bool is_for_me = false;
  {
    Statement next = connection_.use(kNextWaiting);
    next.bind(me).bind_text(waiting_.name.view()).bind(waiting_.item);
    if (!next.row()) {
      waiting_.in_name = false;
      return fail(next.status(), "find work that waits for a name");
    }
    waiting_.item = next.integer(0);
    session = next.integer(1);
    is_for_me = next.integer(2) != 0;
  }
  if (!is_for_me) return Status::kOk;
  ++*woken;
  return wake_waiting_item(waiting_.item, session);
}

Status UnregisteredWork::wake_waiting_item(WorkItemId item, SessionKey session) {
  PAWL_TRY(work_.write_state(item, {}));
  ++context_.made_ready;
  return session == 0 ? Status::kOk : sessions_.recompute_head(session);
}

}  // namespace pawl::store

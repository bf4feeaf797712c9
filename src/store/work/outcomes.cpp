#include "store/work/rows.hpp"

#include <cinttypes>

#include "codec/event.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"
#include "store/sql/damage.hpp"
#include "store/walk.hpp"

namespace pawl::store {
namespace {

rules::CountLimits of(const CrashLimits& limits) {
  return {limits.crashes_max, limits.strikes_max, limits.reboots_max};
}

}  // namespace

Status WorkRows::store_outcome(const WorkRow& row, ErrorKind kind, std::string_view text) {
  const Suspicion suspect(connection_, RowRef::Table::kInstances, row.instance);
  Message message;
  message.kind = MessageKind::kActivityDone;
  message.error = kind;
  message.execution = row.execution;
  message.ref = row.event;
  message.payload = text;
  const Status stored = instances_.insert_message(row.instance, message);
  // kStale and kNotFound: no call waits any more.
  if (stored != Status::kOk && stored != Status::kStale && stored != Status::kNotFound)
    return stored;
  return Status::kOk;
}

Status WorkRows::complete_work(const WorkRow& row, ErrorKind kind, std::string_view text) {
  PAWL_TRY(store_outcome(row, kind, text));
  return delete_work(row.id, row.session);
}

Status WorkRows::end_work(WorkItemId item, ErrorKind kind, std::string_view text) {
  WorkRow row;
  PAWL_TRY(read_work(item, &row));
  return time_out(row, kind, text);
}

constexpr auto kFailAttempt =
    PAWL_QUERY("UPDATE worker_queue SET failures=failures+1,last_error=?2 WHERE id=?1");

// The text comes from the application, and need be no UTF-8: an engine on a server takes no other
// text.
Status WorkRows::count_failure(WorkItemId item, std::string_view text) {
  FixedText<kErrorTextBytesMax> shown;
  while (!text.empty()) {
    const std::optional<Character> next = first_character(text);
    const bool is_good = next.has_value() && next->code != 0;
    const std::size_t bytes = next.has_value() ? next->bytes : 1;
    static_cast<void>(shown.append(is_good ? text.substr(0, bytes) : "?"));
    text.remove_prefix(bytes);
  }
  Statement count = connection_.use(kFailAttempt);
  count.bind(item).bind_text(shown.view());
  return fail(count.run(), "count a failed attempt");
}

// Requires: row.may_retry().
Status WorkRows::retry_work(const WorkRow& row, std::string_view text) {
  PAWL_TRY(count_failure(row.id, text));
  Hash64 seed;
  seed.add(context_.file.database_id()).add(static_cast<std::uint64_t>(row.instance));
  seed.add(static_cast<std::uint64_t>(row.execution)).add(row.event);
  PutBack how;
  how.delay_ms = rules::retry_delay_ms(row.policy.retry, row.failures + 1, seed.value());
  return put_back(row, how);
}

Status WorkRows::poison_work(WorkItemId item, std::string_view why) {
  WorkRow row;
  PAWL_TRY(read_work(item, &row));
  PAWL_TRY(complete_work(row, ErrorKind::kPoison, why));
  if (context_.sink != nullptr) context_.sink->on_poison(row.instance, row.event, why);
  return Status::kOk;
}

constexpr auto kReadCounts =
    PAWL_QUERY("SELECT crashes,strikes,reboots,state,boot_seq FROM worker_queue WHERE id=?1");

Status WorkRows::read_counts(WorkItemId item, Counted* out) {
  Statement read = connection_.use(kReadCounts);
  read.bind(item);
  if (!read.row()) return no_row(read, Status::kNotFound, "read counts");
  out->counts = {read.integer(PAWL_COLUMN(kReadCounts, crashes)),
                 read.integer(PAWL_COLUMN(kReadCounts, strikes)),
                 read.integer(PAWL_COLUMN(kReadCounts, reboots))};
  out->state = rules::work_state_of(read.integer(PAWL_COLUMN(kReadCounts, state)));
  out->boot_seq = read.integer(PAWL_COLUMN(kReadCounts, boot_seq));
  return Status::kOk;
}

Status WorkRows::poison_for(WorkItemId item, const rules::Counts& counts,
                            const CrashLimits& limits) {
  Diagnostic why;
  why.format("the activity ended its process %" PRId64 " times (limit %" PRId32
             "), lost its lock %" PRId64 " times (limit %" PRId32 ") and met %" PRId64
             " reboots (limit %" PRId32 ")",
             counts.crashes, limits.crashes_max, counts.strikes, limits.strikes_max, counts.reboots,
             limits.reboots_max);
  return poison_work(item, why.text());
}

Status WorkRows::poison_if_at_limit(WorkItemId item, const CrashLimits& limits) {
  Counted row;
  const Status read = read_counts(item, &row);
  if (read == Status::kNotFound || row.state == rules::WorkState::kCancelledRunning)
    return Status::kOk;
  PAWL_TRY(read);
  return rules::is_poison(row.counts, of(limits)) ? poison_for(item, row.counts, limits)
                                                  : Status::kOk;
}

constexpr auto kCountCrash =
    PAWL_QUERY("UPDATE worker_queue SET crashes=crashes+1 WHERE id=?1 AND state<>",
               sql::number<rules::WorkState::kCancelledRunning>);

Status WorkRows::count_crash(WorkItemId item, const CrashLimits& limits) {
  {
    Statement count = connection_.use(kCountCrash);
    count.bind(item);
    PAWL_TRY(fail(count.run(), "count a crash"));
  }
  return poison_if_at_limit(item, limits);
}

Status WorkRows::unlock_work(WorkItemId item, SessionKey session, bool strike,
                             const CrashLimits& limits) {
  Counted row;
  const Status read = read_counts(item, &row);
  if (read == Status::kNotFound) return Status::kOk;
  PAWL_TRY(read);
  if (row.state != rules::WorkState::kLocked) return Status::kOk;
  const rules::Counts counts =
      rules::after_unlock(row.counts, row.boot_seq, batch_.boot_seq, strike);
  if (rules::is_poison(counts, of(limits))) return poison_for(item, counts, limits);
  WorkWrite unlocked;
  unlocked.strikes = counts.strikes - row.counts.strikes;
  unlocked.reboots = counts.reboots - row.counts.reboots;
  PAWL_TRY(write_state(item, unlocked));
  ++context_.made_ready;
  return session == 0 ? Status::kOk : sessions_.recompute_head(session);
}

constexpr auto kNextOverdue = PAWL_QUERY(
    "SELECT id FROM worker_queue\fINDEXED BY wq_deadline\r"
    "WHERE deadline IS NOT NULL AND deadline<=?1 ORDER BY deadline LIMIT 1");

Status WorkRows::end_overdue_work(std::size_t limit, std::size_t* ended) {
  Walk walk;
  for (std::size_t i = 0; i < limit; ++i) {
    WorkRow row;
    {
      Statement next = connection_.use(kNextOverdue);
      next.bind(batch_.now);
      if (!next.row()) return fail(next.status(), "find overdue work");
      row.id = next.integer(0);
      if (!walk.changes(row.id)) return no_progress("worker_queue");
    }
    PAWL_TRY(read_work(row.id, &row));
    PAWL_TRY(end_overdue(row));
    ++*ended;
  }
  return Status::kOk;
}

// The rest of the row does not say how the item is to be worked on.
Status WorkRows::give_up_damaged(const WorkRow& row) {
  return quarantine_work(row.id, ErrorKind::kCorrupt,
                         "worker_queue: a column has a type or value that it cannot have");
}

constexpr auto kReadWork =
    PAWL_QUERY("SELECT instance,execution,event,sid FROM worker_queue WHERE id=?1");

// The item fails, and its orchestration gets the failure. A row of the queue is made from the
// history, so it holds nothing worth repairing.
Status WorkRows::quarantine_work(WorkItemId id, ErrorKind kind, std::string_view text) {
  WorkRow row;
  row.id = id;
  bool whole = true;
  {
    Statement read = connection_.use(kReadWork);
    if (!read.bind(id).row()) return no_row(read, Status::kNotFound, "read damaged work");
    row.instance = read.integer(PAWL_COLUMN(kReadWork, instance), &whole);
    row.execution = read.integer(PAWL_COLUMN(kReadWork, execution), &whole);
    row.event = static_cast<EventId>(read.integer(PAWL_COLUMN(kReadWork, event), &whole));
    bool has_session = true;
    row.session = read.integer(PAWL_COLUMN(kReadWork, sid), &has_session);
  }
  if (whole) PAWL_TRY(store_outcome(row, kind, text));
  PAWL_TRY(delete_work(id, row.session));
  instances_.log_damage({RowRef::Table::kWork, id}, row.instance, text);
  return Status::kOk;
}

Status WorkRows::time_out(const WorkRow& row, ErrorKind kind, std::string_view text) {
  PAWL_TRY(store_outcome(row, kind, text));
  const rules::Ended end = rules::end_with_outcome(row.state, row.its_session.exclusive);
  return end == rules::Ended::kKeepUntilEnd ? mark_cancelled_running(row.id)
                                            : delete_work(row.id, row.session);
}

constexpr auto kTag = PAWL_QUERY("SELECT tag FROM worker_queue WHERE id=?1");
constexpr auto kLastError = PAWL_QUERY("SELECT last_error FROM worker_queue WHERE id=?1");

Status WorkRows::end_overdue(const WorkRow& row) {
  const Suspicion work(connection_, RowRef::Table::kWork, row.id);
  if (row.damaged) return give_up_damaged(row);
  const rules::Overdue limit = rules::passed_limit(row.limits, batch_.now);
  Diagnostic why;
  PAWL_TRY(describe_overdue(row, limit, &why));
  const bool goes_on = row.its_session.exclusive && rules::is_in_hand(row.state);
  if (rules::after_overdue(limit, row.policy.retry, row.failures, goes_on) ==
      rules::AfterFailure::kRetry)
    return retry_work(row, why.text());
  return time_out(row, rules::error_of(limit), why.text());
}

Status WorkRows::describe_overdue(const WorkRow& row, rules::Overdue limit, Diagnostic* why) {
  switch (limit) {
    case rules::Overdue::kNotStarted: {
      Statement read = connection_.use(kTag);
      read.bind(row.id);
      if (!read.row()) return fail(read.status(), "read the tag of work");
      const std::string_view tag = read.bytes(0);
      why->format("schedule_to_start (%" PRId64 " ms) passed: no worker took it%s%.*s%s",
                  row.policy.schedule_to_start_ms, tag.empty() ? "" : "; its tag is \"",
                  static_cast<int>(tag.size()), tag.data(), tag.empty() ? "" : "\"");
      break;
    }
    case rules::Overdue::kAll: {
      Statement last = connection_.use(kLastError);
      last.bind(row.id);
      if (!last.row()) return fail(last.status(), "read the last error of work");
      const std::string_view error = last.bytes(0);
      why->format("schedule_to_close (%" PRId64 " ms) passed%s%.*s",
                  row.policy.schedule_to_close_ms,
                  error.empty() ? "" : "; the last error was: ", static_cast<int>(error.size()),
                  error.data());
      break;
    }
    case rules::Overdue::kAttempt:
      why->format("start_to_close (%" PRId64 " ms) passed", row.policy.start_to_close_ms);
      break;
    case rules::Overdue::kSilence:
      why->format("heartbeat_timeout (%" PRId64 " ms) passed without a heartbeat",
                  row.policy.heartbeat_timeout_ms);
      break;
  }
  return Status::kOk;
}

}  // namespace pawl::store

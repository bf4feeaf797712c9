#include "store/postgres/store_lock.hpp"

#include <utility>

namespace pawl::postgres {
namespace {

#define PAWL_LOCKED_ROW                                                             \
  "SELECT seq,form,mark,boot_seq,mark_server_ms,mark_wall_ms,request,timeline,"     \
  "moves_held_until,lease_ms,(extract(epoch FROM clock_timestamp())*1000)::bigint " \
  "FROM meta WHERE id=1 FOR UPDATE"

// The names of the statements.
constexpr char kBeginView[] = "pawl_view";
constexpr char kLook[] = "pawl_look";
// A node in the middle of a transaction that ended is no reason to wait, so NOWAIT is another text.
constexpr char kBegin[] = "pawl_begin";
constexpr char kLock[] = "pawl_lock";
constexpr char kLockNow[] = "pawl_lock_now";

// Those that wait for the row have the same lock on its table, and wait for another one. A commit
// that waits for the synchronous standby is no holder that does nothing: ended, it would be
// acknowledged without the standby.
constexpr char kFindHolder[] =
    "SELECT l.pid,coalesce((extract(epoch FROM a.xact_start)*1000)::bigint,0) FROM pg_locks l "
    "JOIN pg_stat_activity a ON a.pid=l.pid WHERE l.relation='meta'::regclass AND "
    "l.mode='RowShareLock' AND l.granted AND l.pid<>pg_backend_pid() "
    "AND a.wait_event IS DISTINCT FROM 'SyncRep' AND NOT EXISTS("
    "SELECT 1 FROM pg_locks w WHERE w.pid=l.pid AND NOT w.granted) ORDER BY a.xact_start,l.pid";
constexpr char kEndHolder[] = "SELECT pg_terminate_backend($1::int)";

}  // namespace

Status StoreLock::take(PGresult** out) {
  Status status = try_to_take(out);
  for (int waits = 1; waits < waits_ && status == Status::kBusy; ++waits) {
    watch_holder();
    status = try_to_take(out);
  }
  if (status == Status::kBusy) watch_holder();
  if (status == Status::kOk) wait_.reset();
  return status;
}

Status StoreLock::connected() {
  wait_.reset();
  PAWL_TRY(link_.prepare(kBegin, "BEGIN", 0, nullptr));
  PAWL_TRY(link_.prepare(kLock, PAWL_LOCKED_ROW, 0, nullptr));
  return link_.prepare(kLockNow, PAWL_LOCKED_ROW " NOWAIT", 0, nullptr);
}

Status StoreLock::try_to_take(PGresult** out) {
  *out = nullptr;
  link_.forget_heard();  // all that was committed before is seen
  Status status = link_.queue_named(kBegin);
  if (status == Status::kOk) status = link_.queue_named(waits_ > 0 ? kLock : kLockNow, out);
  if (status == Status::kOk) status = ahead_.send();
  if (status == Status::kOk) status = link_.settle();
  if (status == Status::kOk && PQntuples(*out) != 1) {
    diagnostic_.format("table meta has no row");
    status = Status::kCorrupt;
  }
  if (status == Status::kOk) return status;
  PQclear(std::exchange(*out, nullptr));
  give_up();
  return status;
}

// Not with the connection: a database that is new has no table then.
Status StoreLock::prepare_looks() {
  if (looks_prepared_on_ == link_.connections()) return Status::kOk;
  PAWL_TRY(
      link_.prepare(kBeginView, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", 0, nullptr));
  PAWL_TRY(link_.prepare(kLook, "SELECT seq,form,request FROM meta WHERE id=1", 0, nullptr));
  looks_prepared_on_ = link_.connections();
  return Status::kOk;
}

Status StoreLock::look(bool begins_view, PGresult** out) {
  PQclear(std::exchange(*out, nullptr));  // of a link that was lost then
  PAWL_TRY(prepare_looks());
  link_.forget_heard();
  if (begins_view) PAWL_TRY(link_.queue_named(kBeginView));
  PAWL_TRY(link_.queue_named(kLook, out));
  if (begins_view) PAWL_TRY(ahead_.send());
  return link_.settle();
}

void StoreLock::give_up() {
  const Diagnostic why = diagnostic_;
  if (link_.in_transaction()) static_cast<void>(link_.roll_back(nullptr));
  diagnostic_ = why;
}

// Keeps the text of the failure that made it look.
void StoreLock::watch_holder() {
  const Diagnostic why = diagnostic_;
  PGresult* found = nullptr;
  if (link_.ask_about(kFindHolder, {}, &found) == Status::kOk && PQntuples(found) > 0) {
    const std::int64_t now = link_.boot_ms();
    wait_ = fleet::watch_lock(wait_, {number_at(found, 0), number_at(found, 1)}, now);
    if (fleet::must_end_holder(*wait_, now))
      static_cast<void>(link_.ask_about(kEndHolder, {wait_->holder.backend}, nullptr));
  }
  PQclear(found);
  diagnostic_ = why;
}

}  // namespace pawl::postgres

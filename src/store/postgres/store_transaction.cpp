#include "store/postgres/store_transaction.hpp"

#include <poll.h>

#include <cstdlib>
#include <cstring>

#include "core/check.hpp"
#include "store/postgres/node_lock.hpp"

namespace pawl::postgres {
namespace {

// The name of the statement that names a batch. A node has a row as soon as it has written.
constexpr char kName[] = "pawl_name";
// The columns of a StoreRow, from the third on.
#define PAWL_LOCKED_ROW                                                             \
  "SELECT seq,form,mark,boot_seq,mark_server_ms,mark_wall_ms,request,timeline,"     \
  "moves_held_until,lease_ms,(extract(epoch FROM clock_timestamp())*1000)::bigint " \
  "FROM meta WHERE id=1 FOR UPDATE"
constexpr char kReadRow[] = "SELECT number,committed FROM nodes WHERE id=$1";
constexpr char kRefuse[] =
    "INSERT INTO nodes(id,number,committed,at) SELECT $1,$2,0,mark FROM meta WHERE id=1 "
    "ON CONFLICT(id) DO UPDATE SET number=excluded.number";
// The name of a file of the log begins with the timeline.
constexpr char kLookAtServer[] =
    "SELECT pg_is_in_recovery()::int,CASE WHEN pg_is_in_recovery() THEN 0 ELSE "
    "('x'||substr(pg_walfile_name(pg_current_wal_lsn()),1,8))::bit(32)::bigint END";
constexpr char kTakeNodeLock[] = "SELECT pg_advisory_lock($1)";
constexpr char kEndOwnHolder[] =
    "SELECT pg_terminate_backend(l.pid) FROM " PAWL_NODE_LOCKS("$1") " AND l.pid<>pg_backend_pid()";
constexpr char kLeave[] = "DELETE FROM nodes WHERE id=$1";

// Those that wait for the row have the same lock on its table, and wait for another one.
constexpr char kFindHolder[] =
    "SELECT l.pid,coalesce((extract(epoch FROM a.xact_start)*1000)::bigint,0) FROM pg_locks l "
    "JOIN pg_stat_activity a ON a.pid=l.pid WHERE l.relation='meta'::regclass AND "
    "l.mode='RowShareLock' AND l.granted AND l.pid<>pg_backend_pid() AND NOT EXISTS("
    "SELECT 1 FROM pg_locks w WHERE w.pid=l.pid AND NOT w.granted) ORDER BY a.xact_start,l.pid";
constexpr char kEndHolder[] = "SELECT pg_terminate_backend($1::int)";

// After another connection has committed, each commit of this one wakes the others for so long.
constexpr std::int64_t kOthersMs = 60'000;
constexpr int kTimePauseMs = 5;  // between tries while other nodes have to answer

std::int64_t number_at(const PGresult* result, int column) {
  return std::strtoll(PQgetvalue(result, 0, column), nullptr, 10);
}

OptionalMs optional_at(const PGresult* result, int column) {
  return PQgetisnull(result, 0, column) == 0 ? OptionalMs(number_at(result, column)) : OptionalMs();
}

}  // namespace

void StoreTransaction::set_up(std::int64_t node, const port::BootId& boot,
                              const StoreTime::Terms& terms, std::int64_t busy_ms_max,
                              Reconnecting& reconnecting) {
  node_ = node;
  reconnecting_ = &reconnecting;
  busy_ms_max_ = busy_ms_max;
  time_.set_up(node, boot, terms);
}

Status StoreTransaction::check_server() {
  PGresult* found = nullptr;
  PAWL_TRY(link_.ask(kLookAtServer, &found));
  const fleet::ServerFacts server = {number_at(found, 0) != 0, number_at(found, 1), kPostgresForm};
  PQclear(found);
  switch (fleet::look_at_server(server, timeline_, kPostgresForm)) {
    case fleet::ServerVerdict::kReplica:
      diagnostic_.format("the server is a replica, which cannot be written to");
      return Status::kReadOnly;
    case fleet::ServerVerdict::kOlderTimeline:
      diagnostic_.format("the server is on timeline %lld, behind %lld, which was seen before",
                         static_cast<long long>(server.timeline),
                         static_cast<long long>(*timeline_));
      return Status::kIo;
    default: timeline_ = server.timeline; return Status::kOk;
  }
}

// A server that has not noticed yet that the connection before is gone still has its lock.
Status StoreTransaction::take_node_lock() {
  const Status status = link_.ask_about(kTakeNodeLock, {node_}, nullptr);
  if (status != Status::kBusy) return status;
  PAWL_TRY(link_.ask_about(kEndOwnHolder, {node_}, nullptr));
  return link_.ask_about(kTakeNodeLock, {node_}, nullptr);
}

Status StoreTransaction::connected() {
  Oid types[StoreTime::kNameParameters];
  for (Oid& type : types)
    type = kInt8;
  wait_.reset();
  PAWL_TRY(link_.prepare(kName, StoreTime::kNameBatch, StoreTime::kNameParameters, types));
  if (acknowledged_ == 0) return Status::kOk;
  std::optional<fleet::BatchRow> row;
  PAWL_TRY(read_row(&row));
  // The store's time counts no more than what passed, so a row that went by its age is no loss.
  if (!row.has_value() && link_.boot_ms() - acknowledged_boot_ms_ >= kNodeMs) acknowledged_ = 0;
  if (acknowledged_ == 0) return Status::kOk;
  const fleet::BatchVerdict verdict = fleet::check_batch({number_ + 1, acknowledged_}, row);
  if (verdict != fleet::BatchVerdict::kCommitsLost) return Status::kOk;
  acknowledged_ = row.has_value() ? row->committed : 0;
  has_lost_commits_ = true;
  return Status::kOk;
}

// A link that is found lost only by what begins has done nothing yet.
template <typename Begin>
Status StoreTransaction::on_link(Begin&& begin) {
  PAWL_TRY(reconnecting_->restore());
  const Status status = begin();
  if (!link_.is_lost()) return status;
  PAWL_TRY(reconnecting_->restore());
  return begin();
}

void StoreTransaction::leave() {
  if (number_ > 0) static_cast<void>(link_.ask_about(kLeave, {node_}, nullptr));
  number_ = acknowledged_ = 0;
  in_doubt_ = false;
}

Status StoreTransaction::read_version(const char* sql, PGresult** out) {
  PAWL_TRY(link_.ask(sql, out));
  if (PQntuples(*out) != 1) {
    diagnostic_.format("table meta has no row");
    return Status::kCorrupt;
  }
  const auto version = static_cast<std::uint32_t>(number_at(*out, 0));
  if (version != version_) others_until_boot_ms_ = link_.boot_ms() + kOthersMs;
  version_ = version;
  form_ = number_at(*out, 1);
  return Status::kOk;
}

Status StoreTransaction::read_version(PGresult** out) {
  const Status status =
      on_link([&] { return read_version("SELECT seq,form,request FROM meta WHERE id=1", out); });
  if (status == Status::kOk) time_.saw(number_at(*out, 2));
  return status;
}

Status StoreTransaction::begin(PGresult** out) {
  const Status status = on_link([&] { return wait_for_lock(out); });
  if (status != Status::kOk) return status;
  if (!has_lost_commits_) return wait_for_time(out);
  has_lost_commits_ = false;
  PQclear(*out);
  *out = nullptr;
  static_cast<void>(link_.ask("ROLLBACK", nullptr));
  diagnostic_.format(
      "the server has lost commits that it had acknowledged: it was failed over, or restored");
  return Status::kBuried;
}

Status StoreTransaction::wait_for_lock(PGresult** out) {
  Status status = try_begin(out);
  for (int waits = 1; waits < waits_ && status == Status::kBusy; ++waits) {
    watch_holder();
    status = try_begin(out);
  }
  if (status == Status::kBusy) watch_holder();
  if (status == Status::kOk) wait_.reset();
  return status;
}

// The lock is held. Other nodes may have to answer before the time is known, which they cannot while
// it is.
Status StoreTransaction::wait_for_time(PGresult** out) {
  Status status = prepare_time(*out);
  std::int64_t tries = 0;
  while (status == Status::kBusy && tries++ < time_.patience_ms(busy_ms_max_) / kTimePauseMs) {
    end_keeping_text();
    PQclear(*out);
    *out = nullptr;
    static_cast<void>(::poll(nullptr, 0, kTimePauseMs));
    PAWL_TRY(wait_for_lock(out));
    status = prepare_time(*out);
  }
  if (status == Status::kOk) return status;
  end_keeping_text();
  PQclear(*out);
  *out = nullptr;
  return status;
}

Status StoreTransaction::prepare_time(const PGresult* row) {
  StoreRow read;
  read.mark = {number_at(row, 2), number_at(row, 3), number_at(row, 4), optional_at(row, 5)};
  read.request = number_at(row, 6);
  read.timeline = number_at(row, 7);
  read.moves_held_until = optional_at(row, 8);
  read.lease_ms = number_at(row, 9);
  read.server_ms = number_at(row, 10);
  return time_.prepare(read, *timeline_);
}

Status StoreTransaction::try_begin(PGresult** out) {
  const Status status =
      read_version(waits_ > 0 ? "BEGIN;" PAWL_LOCKED_ROW : "BEGIN;" PAWL_LOCKED_ROW " NOWAIT", out);
  if (status != Status::kOk) end_keeping_text();
  return status;
}

// Ends the transaction, if there is one, and keeps the text of what was wrong.
void StoreTransaction::end_keeping_text() {
  const Diagnostic why = diagnostic_;
  if (link_.in_transaction()) static_cast<void>(link_.ask("ROLLBACK", nullptr));
  diagnostic_ = why;
}

// Keeps the text of the failure that made it look.
void StoreTransaction::watch_holder() {
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

Status StoreTransaction::begin_read(PGresult** out) {
  return on_link([&] { return link_.ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", out); });
}

// A transaction that failed is rolled back by a COMMIT, which then says so and is no error.
Status StoreTransaction::commit(bool writes, PGresult** out) {
  Status status = Status::kOk;
  in_doubt_ = false;
  if (writes) {
    ++number_;
    const bool has_others =
        others_until_boot_ms_.has_value() && !others_until_boot_ms_.has_passed(link_.boot_ms());
    status = time_.commit(kName, number_, has_others, out);
    in_doubt_ = status != Status::kOk && link_.is_lost();
  } else {
    status = link_.ask("COMMIT", out);
  }
  PAWL_TRY(status);
  if (std::strcmp(PQcmdStatus(*out), "COMMIT") != 0) {
    diagnostic_.format("the server has rolled the transaction back");
    return Status::kIo;
  }
  if (!writes) return Status::kOk;
  ++version_;
  acknowledge();
  return Status::kOk;
}

void StoreTransaction::acknowledge() {
  acknowledged_ = number_;
  acknowledged_boot_ms_ = link_.boot_ms();
  time_.committed();
}

// ---- a commit in doubt ----

Status StoreTransaction::find_outcome() {
  PAWL_CHECK("postgres-13", in_doubt_);
  PGresult* begun = nullptr;
  const Status status = wait_for_lock(&begun);
  PQclear(begun);
  PAWL_TRY(status);
  bool committed = false;
  const Status found = find_named(&committed);
  end_keeping_text();
  PAWL_TRY(found);
  in_doubt_ = false;
  if (!committed) return Status::kStale;
  acknowledge();
  return Status::kOk;
}

// Requires: the lock is held. A batch that is not there is refused for ever, in this transaction.
Status StoreTransaction::find_named(bool* committed) {
  std::optional<fleet::BatchRow> row;
  PAWL_TRY(read_row(&row));
  const fleet::BatchOutcome outcome = fleet::outcome_of(number_, row, true);
  *committed = outcome == fleet::BatchOutcome::kCommitted;
  if (outcome != fleet::BatchOutcome::kRefuse) return Status::kOk;
  PAWL_TRY(link_.ask_about(kRefuse, {node_, number_}, nullptr));
  return link_.ask("COMMIT", nullptr);
}

Status StoreTransaction::read_row(std::optional<fleet::BatchRow>* row) {
  PGresult* found = nullptr;
  PAWL_TRY(link_.ask_about(kReadRow, {node_}, &found));
  if (PQntuples(found) == 1)
    *row = fleet::BatchRow{number_at(found, 0), number_at(found, 1), false};
  PQclear(found);
  return Status::kOk;
}

}  // namespace pawl::postgres

#include "store/postgres/store_transaction.hpp"

#include <poll.h>

#include <utility>

#include "core/check.hpp"
#include "store/postgres/node_lock.hpp"

namespace pawl::postgres {
namespace {

// The name of the statement that names a batch. A node has a row as soon as it has written.
constexpr char kName[] = "pawl_name";
constexpr char kReadRow[] = "SELECT number,committed,(inc IS NULL)::int FROM nodes WHERE id=$1";
constexpr char kRefuse[] =
    "INSERT INTO nodes(id,number,committed,at) SELECT $1,$2,0,mark FROM meta WHERE id=1 "
    "ON CONFLICT(id) DO UPDATE SET number=excluded.number";
// The name of a file of the log begins with the timeline.
constexpr char kLookAtServer[] =
    "SELECT pg_backend_pid(),pg_is_in_recovery()::int,CASE WHEN pg_is_in_recovery() THEN 0 ELSE "
    "('x'||substr(pg_walfile_name(pg_current_wal_lsn()),1,8))::bit(32)::bigint END";
constexpr char kCommitsLost[] =
    "the server has lost commits that it had acknowledged: it was failed over, or restored";
constexpr char kNodeIsTaken[] = "another process has taken the id of this node";
constexpr char kTakeNodeLock[] = "SELECT pg_advisory_lock($1)";
// A commit of ours that still waits for the standby stays (F16).
constexpr char kEndOwnHolder[] =
    "SELECT pg_terminate_backend(l.pid) FROM " PAWL_NODE_LOCKS("$1") " AND l.pid<>pg_backend_pid() "
    "AND NOT EXISTS(SELECT 1 FROM pg_stat_activity a WHERE a.pid=l.pid AND "
    "a.wait_event='SyncRep')";
constexpr char kLeave[] = "DELETE FROM nodes WHERE id=$1";

constexpr int kTimePauseMs = 5;  // between tries while other nodes have to answer

}  // namespace

void StoreTransaction::set_up(std::int64_t node, const port::BootId& boot,
                              const StoreTime::Terms& terms, Reconnecting& reconnecting) {
  node_ = node;
  reconnecting_ = &reconnecting;
  time_.set_up(node, boot, terms);
}

Status StoreTransaction::check_server() {
  PGresult* found = nullptr;
  PAWL_TRY(link_.ask(kLookAtServer, &found));
  const fleet::ServerFacts server = {number_at(found, 1) != 0, number_at(found, 2), kPostgresForm};
  const bool is_of_this_link = number_at(found, 0) == link_.server_process();
  PQclear(found);
  // Between two transactions a pooler may lead to another process, which knows neither our
  // statements nor our lock, and listens to nothing. It answers for one that it made up.
  if (!is_of_this_link) {
    diagnostic_.format(
        "a pooler of connections stands before the server: the address has to be the server's own");
    return Status::kUnsupported;
  }
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
  PAWL_TRY(lock_.connected());
  PAWL_TRY(link_.prepare(kName, StoreTime::kNameBatch, StoreTime::kNameParameters, types));
  if (acknowledged_ == 0) return Status::kOk;
  std::optional<fleet::BatchRow> row;
  PAWL_TRY(read_row(&row));
  // The store's time counts no more than what passed, so a row that went by its age is no loss.
  if (!row.has_value() && link_.boot_ms() - acknowledged_boot_ms_ >= kNodeMs) acknowledged_ = 0;
  if (acknowledged_ == 0) return Status::kOk;
  const fleet::BatchVerdict verdict = fleet::check_batch({number_ + 1, acknowledged_}, row);
  if (verdict == fleet::BatchVerdict::kEnded) lost_ = kNodeIsTaken;
  if (verdict != fleet::BatchVerdict::kCommitsLost) return Status::kOk;
  acknowledged_ = row.has_value() ? row->committed : 0;
  lost_ = kCommitsLost;
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

// `row`: it begins with `seq` and `form`.
void StoreTransaction::note_version(const PGresult* row) {
  const auto version = static_cast<std::uint32_t>(number_at(row, 0));
  if (version != version_) time_.saw_others();
  version_ = version;
  form_ = number_at(row, 1);
}

Status StoreTransaction::look_at_version(bool begins_view) {
  PGresult* row = nullptr;
  Status status = on_link([&] { return lock_.look(begins_view, &row); });
  if (status == Status::kOk && PQntuples(row) != 1) {
    diagnostic_.format("table meta has no row");
    status = Status::kCorrupt;
  }
  if (status == Status::kOk) {
    note_version(row);
    time_.saw(number_at(row, 2));
  }
  PQclear(row);
  return status;
}

Status StoreTransaction::read_version() {
  return std::exchange(has_version_, false) ? Status::kOk : look_at_version(false);
}

// The first read fixes what a view sees.
Status StoreTransaction::begin_read() {
  const Status status = look_at_version(true);
  has_version_ = status == Status::kOk;
  if (!has_version_) lock_.give_up();
  return status;
}

Status StoreTransaction::begin(bool is_alone, PGresult** out) {
  const Status status = on_link([&] { return take_lock(out); });
  if (status != Status::kOk || is_alone) return status;
  if (lost_ == nullptr) return wait_for_time(out);
  diagnostic_.format("%s", lost_);
  lost_ = nullptr;
  PQclear(*out);
  *out = nullptr;
  lock_.give_up();
  return Status::kBuried;
}

Status StoreTransaction::take_lock(PGresult** out) {
  const Status status = lock_.take(out);
  if (status == Status::kOk) note_version(*out);
  return status;
}

// The lock is held. Other nodes may have to answer before the time is known, which they cannot
// while it is.
Status StoreTransaction::wait_for_time(PGresult** out) {
  Status status = time_.prepare(*out, *timeline_);
  std::int64_t tries = 0;
  while (status == Status::kBusy && tries++ < time_.patience_ms() / kTimePauseMs) {
    lock_.give_up();
    PQclear(*out);
    *out = nullptr;
    static_cast<void>(::poll(nullptr, 0, kTimePauseMs));
    PAWL_TRY(take_lock(out));
    status = time_.prepare(*out, *timeline_);
  }
  if (status == Status::kOk) return status;
  lock_.give_up();
  PQclear(*out);
  *out = nullptr;
  return status;
}

Status StoreTransaction::commit(bool writes) {
  in_doubt_ = false;
  if (!writes) {
    PAWL_TRY(link_.queue_text("COMMIT"));
    return link_.settle();
  }
  ++number_;
  const Status status = time_.commit(kName, number_);
  in_doubt_ = status != Status::kOk && (link_.is_lost() || link_.is_under_way());
  PAWL_TRY(status);
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
  if (link_.is_under_way()) {
    const std::optional<Status> came = link_.go_on();
    in_doubt_ = !came.has_value() || (*came != Status::kOk && link_.is_lost());
    if (in_doubt_) return Status::kInDoubt;
    if (*came == Status::kOk) ++version_;
    if (*came == Status::kOk) acknowledge();
    return *came;
  }
  PGresult* begun = nullptr;
  const Status status = take_lock(&begun);
  PQclear(begun);
  PAWL_TRY(status);
  bool committed = false;
  const Status found = find_named(&committed);
  lock_.give_up();
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
    *row = fleet::BatchRow{number_at(found, 0), number_at(found, 1),
                           time_.is_registered() && number_at(found, 2) != 0};
  PQclear(found);
  return Status::kOk;
}

}  // namespace pawl::postgres

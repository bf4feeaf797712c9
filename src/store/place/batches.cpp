#include "store/place/batches.hpp"

#include "core/check.hpp"
#include "store/sql/shared_clock.hpp"

namespace pawl::store {
namespace {

constexpr int kTurnPauseMs = 1;  // between tries for the turn and tries for the write lock

constexpr int kWithoutTurnMax = 3;

}  // namespace

Status Batches::begin(Incarnation me, BatchInfo* info) {
  if (is_in_doubt_) {
    context_.diagnostic.format("what became of the batch before is not known yet");
    return Status::kBusy;
  }
  PAWL_CHECK("store-12", context_.file.is_open() && !context_.in_batch && !context_.in_read);
  Status status = take_write_lock(me != 0);
  // The server lost commits; a client has no registration that could be among them.
  if (status == Status::kBuried && me == 0) status = Status::kIo;
  if (status != Status::kOk) return fail(status, "begin");
  status = note_others();
  context_.in_batch = true;
  context_.dead = false;
  // A client quarantines nothing: damage that an earlier call met is no reason to refuse this one.
  if (me == 0) connection_.forget_damage();
  context_.batch_worker = me;
  batch_ = BatchInfo();
  ++context_.batch_number;
  context_.batch_sent = false;
  writes_before_ = connection_.total_changes();
  if (status == Status::kOk) status = rows_.place.start_clock();
  if (status == Status::kOk && me != 0) status = rows_.workers.check_worker(me);
  if (status != Status::kOk) {
    rollback();
    return status;
  }
  batch_.quota_bytes = context_.quota_bytes;
  batch_.data_version = context_.others;
  *info = batch_;
  return Status::kOk;
}

constexpr auto kCommit = PAWL_QUERY("COMMIT");

Status Batches::commit(OptionalMs most_ms) {
  require_batch();
  if (connection_.damage().has_value() && connection_.damage()->status == Status::kCorrupt) {
    // A column was read as a number and is none. What was made of it must not be written.
    context_.diagnostic = connection_.damage()->text;
    rollback();
    return Status::kCorrupt;
  }
  // A batch that wrote nothing costs no flush and wakes no process. The mark is written only beside
  // other rows, so it never makes such a batch cost one.
  const bool wrote = connection_.total_changes() != writes_before_;
  Status status = Status::kOk;
  if (wrote) status = rows_.place.write_mark();
  if (status == Status::kOk) {
    context_.file.limit_commit(most_ms);
    status = fail(connection_.use(kCommit).run(), "commit");
    if (status != Status::kOk) return find_outcome(wrote, status);
  }
  if (status == Status::kOk) return conclude(wrote);
  rollback();
  return status;
}

Status Batches::find_outcome() {
  PAWL_CHECK("store-47", is_in_doubt_);
  return find_outcome(true, Status::kIo);
}

// `failed`: of the commit.
Status Batches::find_outcome(bool wrote, Status failed) {
  const Status outcome = context_.file.outcome(context_.diagnostic);
  is_in_doubt_ = outcome == Status::kInDoubt;
  if (is_in_doubt_) return outcome;
  if (outcome == Status::kOk) return conclude(wrote);
  rollback();
  return outcome == Status::kStale ? failed : outcome;
}

Status Batches::conclude(bool wrote) {
  file_version_ = connection_.version();  // by this commit alone: others had to wait
  if (wrote) context_.committed = context_.next;
  connection_.forget_damage();  // memory was short in one place, and enough elsewhere
  end_batch();
  last_commit_wrote_ = wrote;
  last_commit_sent_ = context_.batch_sent;
  // Others can see the commit only now; an earlier bell would wake them for nothing.
  if (wrote) context_.file.port().storage->ring(context_.file.path().c_str());
  return Status::kOk;
}

constexpr auto kRollback = PAWL_QUERY("ROLLBACK");

void Batches::rollback() {
  if (!context_.in_batch) return;
  // After FULL, NOMEM and IOERR SQLite has rolled back itself.
  if (connection_.in_transaction()) static_cast<void>(connection_.use(kRollback).run());
  forget_known();
  connection_.note_instance_changes();
  rows_.unregistered.start_over();
  end_batch();
}

bool Batches::last_commit_wrote() const { return last_commit_wrote_; }

bool Batches::last_commit_sent() const { return last_commit_sent_; }

constexpr auto kBeginRead = PAWL_QUERY("BEGIN");

Status Batches::begin_read() {
  PAWL_CHECK("store-13", context_.file.is_open() && !context_.in_batch && !context_.in_read);
  Status status = connection_.use(kBeginRead).run();
  if (status != Status::kOk) return fail(status, "begin read");
  context_.in_read = true;
  // The first read fixes the view, so it comes before the clock is read.
  status = look_at_others();
  if (status != Status::kOk) {
    end_read();
    return status;
  }
  status = rows_.place.refresh_clock();
  if (status != Status::kOk) end_read();
  return status;
}

constexpr auto kEndRead = PAWL_QUERY("COMMIT");

void Batches::end_read() {
  PAWL_CHECK("store-14", context_.in_read);
  // An error may have ended the view already; no change is lost with a view.
  if (connection_.in_transaction()) static_cast<void>(connection_.use(kEndRead).run());
  context_.in_read = false;
}

Result<std::int64_t> Batches::data_version() {
  PAWL_CHECK("store-15", context_.file.is_open() && !context_.in_batch);
  if (!context_.in_read) {
    const Status status = look_at_others();
    if (status != Status::kOk) return status;
  }
  return context_.others;
}

bool Batches::owes_commit() {
  const sql::SharedClock* const clock = context_.file.shared_clock();
  return clock != nullptr && clock->owes_commit();
}

std::optional<Damage> Batches::take_damage() {
  const std::optional<Damage> found = connection_.damage();
  connection_.forget_damage();
  return found;
}

void Batches::take_turns() {
  const Result<port::FileHandle> turn =
      context_.file.port().storage->turn_open(context_.file.path().c_str());
  turn_ = turn.ok() ? turn.value() : port::kNoFile;  // without it only fairness is lost
}

void Batches::leave_turns() {
  if (turn_ != port::kNoFile) context_.file.port().storage->turn_close(turn_);
  turn_ = port::kNoFile;
}

constexpr auto kBegin = PAWL_QUERY("BEGIN IMMEDIATE", sql::kEnginesOwn);

// SQLite's own wait sleeps longer after each try, so a process that writes again at once would
// always be first. Therefore a process that wants to write first waits for its turn, and only the
// one that has the turn waits for the lock. A loop has far more to write, so it waits for its turn
// only now and then, and when the lock is held: an undisturbed tick makes no system call for it.
Status Batches::take_write_lock(bool is_loop) {
  if (turn_ == port::kNoFile) return connection_.use(kBegin).run();
  context_.file.wait_for_locks(0);
  Status status = Status::kBusy;
  if (is_loop && begun_without_turn_ < kWithoutTurnMax) {
    status = connection_.use(kBegin).run();
    if (status == Status::kOk) ++begun_without_turn_;
  }
  if (status == Status::kBusy) status = wait_for_write_lock();
  context_.file.wait_for_locks(context_.file.options().busy_ms_max);
  return status;
}

Status Batches::wait_for_write_lock() {
  const std::int64_t until =
      context_.file.port().clock->boot_ms() + context_.file.options().busy_ms_max;
  Status status = context_.file.port().storage->turn_take(turn_);
  while (status == Status::kBusy && context_.file.port().clock->boot_ms() < until) {
    context_.file.pause(kTurnPauseMs);
    status = context_.file.port().storage->turn_take(turn_);
  }
  if (status == Status::kBusy) return status;
  const bool has_turn = status == Status::kOk;  // else the file system has no such locks
  begun_without_turn_ = 0;
  status = connection_.use(kBegin).run();
  while (status == Status::kBusy && context_.file.port().clock->boot_ms() < until) {
    context_.file.pause(kTurnPauseMs);
    status = connection_.use(kBegin).run();
  }
  if (has_turn) context_.file.port().storage->turn_give(turn_);
  if (status == Status::kOk) connection_.diagnostic().clear();  // left by the failed tries
  return status;
}

void Batches::end_batch() {
  context_.in_batch = false;
  is_in_doubt_ = false;
  context_.dead = false;
  context_.batch_worker = 0;
}

Status Batches::note_others() {
  const std::uint32_t version = connection_.version();
  if (version == file_version_ && context_.file.has_our_schema()) return Status::kOk;
  file_version_ = version;
  ++context_.others;
  connection_.note_instance_changes();
  forget_known();
  return context_.file.check_schema_again(context_.diagnostic);
}

constexpr auto kDataVersion = PAWL_QUERY("PRAGMA data_version", sql::kEnginesOwn);

// Runs the cheapest statement that begins a read. Its answer would serve too, but inside a batch it
// costs a statement, and the pager's version costs nothing.
Status Batches::look_at_others() {
  PAWL_TRY(fail(connection_.use(kDataVersion).run(), "data_version"));
  return note_others();
}

void Batches::forget_known() {
  rows_.place.forget_meta();
  rows_.workers.forget_known();
  rows_.due.forget_known();
}

}  // namespace pawl::store

// Goal: a batch is all or nothing, others see it after its commit and not before, and a worker that
// others have buried writes nothing more.
#include "store_world.hpp"

namespace pawl::test {
namespace {

class Transactions : public OpenStore {};
INSTANTIATE_TEST_SUITE_P(Ports, Transactions, ::testing::Values(Ports::kSim, Ports::kPosix),
                         ports_name);

NewInstance instance_of(std::string_view id) {
  NewInstance instance;
  instance.id = id;
  instance.name = "n";
  return instance;
}

TEST_P(Transactions, RollbackLeavesNothing) {
  touch(at);
  const std::string before = dump();
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(0, &info), Status::kOk);
  InstanceKey key = 0;
  ASSERT_EQ(at->instance().deliveries.start_orchestration(instance_of("a"), &key), Status::kOk);
  ASSERT_EQ(at->instance().deliveries.cancel_instance("a", "why"), Status::kOk);
  at->batch().rollback();
  EXPECT_EQ(dump(), before);
  EXPECT_TRUE(ready(at).empty());
  EXPECT_NE(create(at, "a"), 0);
}

TEST_P(Transactions, RollbackWithoutBatchDoesNothing) {
  at->batch().rollback();
  create(at, "a");
  at->batch().rollback();
  EXPECT_EQ(ready(at).size(), 1U);
}

TEST_P(Transactions, OthersSeeItAfterCommitOnly) {
  Site& other = site();
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(0, &info), Status::kOk);
  InstanceKey key = 0;
  ASSERT_EQ(at->instance().deliveries.start_orchestration(instance_of("a"), &key), Status::kOk);
  EXPECT_TRUE(ready(other).empty());
  ASSERT_EQ(at->batch().commit(), Status::kOk);
  EXPECT_EQ(ready(other), std::vector<InstanceKey>{key});
}

TEST_P(Transactions, OneWriterAtATime) {
  Site& other = site();
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(0, &info), Status::kOk);
  EXPECT_EQ(other->batch().begin(0, &info), Status::kBusy);
  EXPECT_FALSE(other->diagnostic().text().empty());
  at->batch().rollback();
  EXPECT_EQ(other->batch().begin(0, &info), Status::kOk);
  other->batch().rollback();
}

TEST_P(Transactions, VersionRisesByOthersOnly) {
  Site& other = site();
  touch(at);
  const std::int64_t before = at->batch().data_version().value_or(-1);
  create(at, "a");
  EXPECT_EQ(at->batch().data_version().value_or(-1), before);
  create(other, "b");
  EXPECT_NE(at->batch().data_version().value_or(-1), before);
}

TEST_P(Transactions, ReadersSeeOneMoment) {
  Site& other = site();
  const InstanceKey key = create(at, "a");
  ASSERT_EQ(at->batch().begin_read(), Status::kOk);
  EXPECT_EQ(status(at, "a").revision, 0);
  start(other, key);
  EXPECT_EQ(status(at, "a").revision, 0);
  at->batch().end_read();
  EXPECT_EQ(status(at, "a").revision, 1);
}

TEST_P(Transactions, EmptyBatchWritesNothingAndRingsNoBell) {
  Site& other = site();
  touch(at);
  ASSERT_EQ(other.port.threads->open(path(), other.diagnostic), Status::kOk);
  other.port.threads->drain();
  const std::uint64_t writes = machine.writes();
  clock.advance(3'600'000);  // the mark is old, but no commit writes it
  for (int i = 0; i < 3; ++i)
    touch(at);
  EXPECT_EQ(machine.writes(), writes);
  EXPECT_FALSE(other.port.threads->drain().bell);
  create(at, "a");
  EXPECT_TRUE(other.port.threads->drain().bell);
  EXPECT_EQ(raw_number("SELECT mark FROM meta"), at->place().pawl_now());
  other.port.threads->close();
}

TEST_P(Transactions, BuriedWorkerWritesNothingMore) {
  Site& other = site();
  const Incarnation me = worker(at, "node-a");
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(me, &info), Status::kOk);
  ASSERT_EQ(at->batch().commit(), Status::kOk);
  must_batch(other, [&] { return other->worker().bury_worker(me, 0, nullptr, 0, CrashLimits()); });
  EXPECT_EQ(at->batch().begin(me, &info), Status::kBuried);
  at->batch().rollback();  // the batch is already over
  // Without a registration the process can go on, for instance to register anew.
  EXPECT_EQ(at->batch().begin(0, &info), Status::kOk);
  EXPECT_EQ(at->batch().commit(), Status::kOk);
}

TEST_P(Transactions, UnknownWorkerIsTakenForBuried) {
  BatchInfo info;
  EXPECT_EQ(at->batch().begin(4711, &info), Status::kBuried);
}

TEST_P(Transactions, HarmlessAnswersLeaveTheBatchAlive) {
  create(at, "a");
  must_batch(at, [&] {
    InstanceKey key = 0;
    EXPECT_EQ(at->instance().deliveries.start_orchestration(instance_of("a"), &key),
              Status::kAlreadyExists);
    EXPECT_EQ(at->instance().deliveries.start_orchestration(instance_of(""), &key),
              Status::kInvalidArgument);
    EXPECT_EQ(at->instance().deliveries.cancel_instance("nobody", ""), Status::kNotFound);
    EXPECT_EQ(at->instance().turns.ack_orchestration_item(TurnCommit()), Status::kStale);
    return at->instance().deliveries.start_orchestration(instance_of("b"), &key);
  });
  EXPECT_EQ(ready(at).size(), 2U);
}

// ---- faults of the disk, on the simulated machine ----

class DiskFaults : public StoreWorld {};
INSTANTIATE_TEST_SUITE_P(Ports, DiskFaults, ::testing::Values(Ports::kSim), ports_name);

// The n-th write or sync fails, for n = 1, 2, 3, ... until a whole batch succeeds: each time
// nothing of the batch is left, and the same batch works when the disk works again.
TEST_P(DiskFaults, EveryFailedWriteIsRolledBackAndLaterRetried) {
  Site& at = site();
  Site& witness = site();
  touch(at);
  const std::string input(9000, 'i');
  int failures = 0;
  for (std::uint64_t nth = 1; nth < 200; ++nth) {
    const Status failure = nth % 2 == 0 ? Status::kFull : Status::kIo;
    NewInstance instance = instance_of("a");
    const std::string id = "i" + std::to_string(nth);
    instance.id = id;
    instance.input = input;
    InstanceKey key = 0;
    const auto call = [&] { return at->instance().deliveries.start_orchestration(instance, &key); };
    const std::string before = raw_text("SELECT count(*) FROM instances");
    machine.fail_write(nth, failure, false);
    const Status answer = batch(at, call);
    machine.fail_write(0, Status::kOk, false);
    InstanceStatus out;
    const Status found = witness->instance().directory.get_status(id, &out, output, sizeof(output));
    if (answer == Status::kOk) {
      EXPECT_EQ(found, Status::kOk);
      EXPECT_GT(failures, 3);
      return;
    }
    ++failures;
    EXPECT_TRUE(answer == Status::kIo || answer == Status::kFull) << status_name(answer);
    EXPECT_EQ(found, Status::kNotFound) << nth;
    EXPECT_EQ(raw_text("SELECT count(*) FROM instances"), before);
    EXPECT_EQ(batch(at, call), Status::kOk) << nth << ": " << at->diagnostic().text();
    EXPECT_EQ(witness->instance().directory.get_status(id, &out, output, sizeof(output)),
              Status::kOk);
  }
  FAIL() << "no batch got through";
}

TEST_P(DiskFaults, DiskThatStaysFullIsReportedEachTime) {
  Site& at = site();
  create(at, "a");
  machine.fail_write(1, Status::kFull, true);
  for (int i = 0; i < 3; ++i) {
    InstanceKey key = 0;
    EXPECT_EQ(batch(at,
                    [&] {
                      return at->instance().deliveries.start_orchestration(instance_of("b"), &key);
                    }),
              Status::kFull)
        << at->diagnostic().text();
    EXPECT_EQ(status(at, "a").state, InstanceState::kRunning);  // reads go on
  }
  machine.fail_write(0, Status::kOk, false);
  create(at, "b");
}

// A new database is complete or absent.
TEST_P(DiskFaults, FailedOpenLeavesNoFile) {
  int failures = 0;
  for (std::uint64_t nth = 1; nth < 30; ++nth) {
    Site& at = process();
    const Status failure = nth % 2 == 0 ? Status::kFull : Status::kIo;
    machine.fail_write(nth, failure, false);
    const Status opened = open(at);
    machine.fail_write(0, Status::kOk, false);
    if (opened != Status::kOk) {
      EXPECT_EQ(opened, failure) << nth << ": " << at.diagnostic.text();
      EXPECT_NE(at.diagnostic.text().find(path()), std::string_view::npos) << at.diagnostic.text();
      EXPECT_FALSE(at.port.storage->exists(path()).value()) << nth;
      ++failures;
    }
    close(at);
    Site& next = site();
    create(next, "a");
    EXPECT_EQ(raw_text("PRAGMA integrity_check"), "ok") << nth;
    drop_database(next);
  }
  EXPECT_GT(failures, 10);
  EXPECT_LT(failures, 29);
}

// In an existing empty file the database is made in place.
TEST_P(DiskFaults, FailedOpenLeavesAFileThatCanBeOpened) {
  int failures = 0;
  for (std::uint64_t nth = 1; nth < 60; ++nth) {
    damage_file(0, "");
    Site& at = process();
    machine.fail_write(nth, nth % 2 == 0 ? Status::kFull : Status::kIo, false);
    const Status opened = open(at);
    machine.fail_write(0, Status::kOk, false);
    // SQLite survives some failures, for instance when it drops a journal that it no longer needs.
    EXPECT_TRUE(opened == Status::kOk || opened == Status::kIo || opened == Status::kFull)
        << nth << ": " << status_name(opened) << ", " << at.diagnostic.text();
    failures += opened == Status::kOk ? 0 : 1;
    close(at);
    Site& next = site();
    create(next, "a");
    EXPECT_EQ(raw_text("PRAGMA integrity_check"), "ok") << nth;
    drop_database(next);
  }
  EXPECT_GT(failures, 20);
}

// A process makes the database and stores something; the power fails after its n-th write or sync,
// for n = 1, 2, 3, ... until all of them succeed. All that was acknowledged is there afterwards.
TEST_P(DiskFaults, PowerCutsWhileADatabaseIsMadeLeaveNothingOrAllOfIt) {
  machine.set_power_cut_losses(true);
  for (const bool in_place : {false, true}) {
    bool is_through = false;
    int without_a_file = 0;
    for (std::uint64_t nth = 1; nth < 400 && !is_through; ++nth) {
      SCOPED_TRACE(std::to_string(nth) + (in_place ? " in place" : ""));
      if (in_place) damage_file(0, "");
      Site& at = process();
      machine.fail_write(nth, Status::kIo, true);
      Status stored = open(at);
      InstanceKey key = 0;
      if (stored == Status::kOk)
        stored = batch(at, [&] {
          return at->instance().deliveries.start_orchestration(instance_of("a"), &key);
        });
      is_through = stored == Status::kOk;
      machine.reboot(1'000, true, 0);
      clock.reboot(1'000);
      machine.fail_write(0, Status::kOk, false);
      close(at);
      Site& next = process();
      if (!next.port.storage->exists(path()).value()) ++without_a_file;
      ASSERT_EQ(open(next), Status::kOk) << next.diagnostic.text();
      InstanceStatus out;
      const Status found = next->instance().directory.get_status("a", &out, output, sizeof(output));
      // Data that was not acknowledged may be stored all the same, by the last flush.
      if (stored == Status::kOk || found != Status::kNotFound) {
        EXPECT_EQ(found, Status::kOk);
      } else {
        create(next, "a");
      }
      EXPECT_EQ(raw_text("PRAGMA integrity_check"), "ok");
      EXPECT_EQ(raw_text("PRAGMA journal_mode"), "wal");
      drop_database(next);
    }
    EXPECT_TRUE(is_through);
    EXPECT_EQ(without_a_file > 10, !in_place) << without_a_file;
  }
}

TEST_P(DiskFaults, KilledProcessLeavesWhatItCommitted) {
  Site& at = site();
  create(at, "a");
  BatchInfo info;
  ASSERT_EQ(at->batch().begin(0, &info), Status::kOk);
  InstanceKey key = 0;
  ASSERT_EQ(at->instance().deliveries.start_orchestration(instance_of("b"), &key), Status::kOk);
  at.node->kill();
  Site& other = site();
  EXPECT_EQ(status(other, "a").state, InstanceState::kRunning);
  InstanceStatus out;
  EXPECT_EQ(other->instance().directory.get_status("b", &out, output, sizeof(output)),
            Status::kNotFound);
  create(other, "b");
}

}  // namespace
}  // namespace pawl::test

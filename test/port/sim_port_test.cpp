// The simulated machine: the conformance suite, and cases that only a simulator can run.
#include <iterator>
#include <memory>
#include <string>

#include "pawl/port_sim.hpp"
#include "port_conformance.hpp"

namespace pawl::port_test {
namespace {

class SimHost {
 public:
  SimHost() { machine_.put_entry("/dirs", sim::Machine::Entry::kFolder); }
  const char* database() { return "/data/t.db"; }
  const char* root() { return "/dirs"; }
  Port add() {
    nodes_.push_back(std::make_unique<sim::Node>(machine_));
    return nodes_.back()->port();
  }

 private:
  sim::Machine machine_;
  std::vector<std::unique_ptr<sim::Node>> nodes_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sim, PortConformance, SimHost, );  // clang wants the comma

constexpr const char* kDatabase = "/data/t.db";

Port opened(sim::Node& node) {
  const Port port = node.port();
  Diagnostic diagnostic;
  EXPECT_EQ(port.threads->open(kDatabase, diagnostic), Status::kOk);
  return port;
}

TEST(SimTime, WaitJumpsToItsDueTimeAndCountsASleep) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  const std::int64_t due = machine.boot_ms() + 3'600'000;
  const std::int64_t wall = machine.wall_ms();
  EXPECT_TRUE(port.threads->wait(due).due);
  EXPECT_EQ(machine.boot_ms(), due);
  EXPECT_EQ(machine.wall_ms(), wall + 3'600'000);
  EXPECT_EQ(node.sleeps(), 1U);
  EXPECT_TRUE(port.threads->wait(due).due);
  EXPECT_EQ(node.sleeps(), 1U) << "a poll is no sleep";
}

TEST(SimTime, NothingToWaitFor_ReturnsWithNothing) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  const WakeReasons reasons = port.threads->wait({});
  EXPECT_FALSE(reasons.due || reasons.woken || reasons.bell || reasons.log || reasons.clock);
  EXPECT_EQ(node.sleeps(), 1U);
}

TEST(SimDescriptors, EndTheWaitWhileTheyAreReadable) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  ASSERT_EQ(port.threads->add_descriptor(3), Status::kOk);
  EXPECT_EQ(port.threads->add_descriptor(-1), Status::kInvalidArgument);
  const std::int64_t due = machine.boot_ms() + 1'000;
  EXPECT_FALSE(port.threads->wait(due).descriptor);
  node.set_readable(3, true);
  node.set_readable(4, true);
  EXPECT_TRUE(port.threads->descriptor_ready(3));
  const WakeReasons reasons = port.threads->wait(machine.boot_ms() + 1'000);
  EXPECT_TRUE(reasons.descriptor);
  EXPECT_FALSE(reasons.due);
  port.threads->remove_descriptor(3);
  EXPECT_FALSE(port.threads->wait(machine.boot_ms() + 1'000).descriptor);
}

TEST(SimTime, WallStep_IsReportedAndLeavesBootTimeAlone) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  const std::int64_t boot = machine.boot_ms();
  machine.set_wall(1000);
  EXPECT_TRUE(port.threads->wait({}).clock);
  EXPECT_EQ(port.clock->wall_ms(), 1000);
  EXPECT_EQ(port.clock->boot_ms(), boot);
  machine.advance(5);
  EXPECT_EQ(port.clock->wall_ms(), 1005);
  EXPECT_TRUE(port.clock->synced());
  machine.set_synced(false);
  EXPECT_FALSE(port.clock->synced());
}

TEST(SimTime, Suspend_IsFoundAtTheNextWait) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  const std::int64_t due = machine.boot_ms() + 1000;
  machine.suspend(60'000);
  const WakeReasons reasons = port.threads->wait(due);
  EXPECT_TRUE(reasons.due);
  EXPECT_EQ(machine.boot_ms(), due + 59'000);
  EXPECT_EQ(node.sleeps(), 0U);
}

TEST(SimTime, Reboot_RestartsBootTimeAndFreesEverything) {
  sim::Machine machine;
  auto node = std::make_unique<sim::Node>(machine);
  const Port old = opened(*node);
  ASSERT_TRUE(old.storage->worker_create(kDatabase, 1, 8).ok());
  const port::BootId before = old.clock->boot_id();
  const std::int64_t wall = machine.wall_ms();
  machine.reboot(5000);
  EXPECT_TRUE(node->killed());
  EXPECT_EQ(machine.boot_ms(), 0);
  EXPECT_EQ(machine.wall_ms(), wall + 5000);
  sim::Node next(machine);
  const Port port = opened(next);
  EXPECT_NE(std::memcmp(port.clock->boot_id().bytes, before.bytes, sizeof(before.bytes)), 0);
  EXPECT_EQ(port.storage->worker_test(kDatabase, 1), Held::kFree);
  machine.reboot(5000, false, 7);
  EXPECT_EQ(machine.wall_ms(), 7);
  sim::Node last(machine);
  EXPECT_FALSE(last.port().clock->synced());
  machine.set_boot_id_known(false);
  EXPECT_FALSE(last.port().clock->boot_id().known);
}

TEST(SimTime, OneSeedOneRun) {
  std::uint8_t first[32];
  std::uint8_t second[32];
  std::uint8_t other[32];
  sim::Machine a(5);
  sim::Machine b(5);
  sim::Machine c(6);
  sim::Node(a).port().clock->random(first, sizeof(first));
  sim::Node(b).port().clock->random(second, sizeof(second));
  sim::Node(c).port().clock->random(other, sizeof(other));
  EXPECT_EQ(std::memcmp(first, second, sizeof(first)), 0);
  EXPECT_NE(std::memcmp(first, other, sizeof(first)), 0);
}

// Rules: S50.
TEST(SimProcess, Kill_FreesLocksKeepsNotesAndNotifiesWatchers) {
  sim::Machine machine;
  sim::Node victim(machine);
  sim::Node witness(machine);
  const Port dead = opened(victim);
  const Port alive = opened(witness);
  const auto worker = dead.storage->worker_create(kDatabase, 1, 8);
  ASSERT_TRUE(worker.ok());
  auto* notes = static_cast<unsigned char*>(worker.value().notes);
  notes[3] = 9;
  const port::FileHandle file = open_file(dead, kDatabase);
  ASSERT_EQ(dead.storage->lock(file, 1), Status::kOk);
  ASSERT_EQ(dead.storage->lock(file, 4), Status::kOk);
  ASSERT_EQ(dead.storage->shm_lock(file, 0, 8, true, true), Status::kOk);
  const std::int64_t pid = dead.threads->process_id();
  ASSERT_EQ(alive.threads->watch_process(pid, dead.threads->process_start_time(pid)), Status::kOk);

  victim.kill();
  EXPECT_TRUE(alive.threads->wait({}).process);
  EXPECT_FALSE(alive.threads->wait(0).process);
  EXPECT_EQ(alive.storage->worker_test(kDatabase, 1), Held::kFree);
  notes[3] = 0;  // the dead process's objects wipe its notes in an orderly end: too late
  dead.storage->worker_close(kDatabase, 1, worker.value());
  unsigned char seen[8] = {};
  EXPECT_EQ(alive.storage->worker_notes(kDatabase, 1, 0, seen, sizeof(seen)), 8U);
  EXPECT_EQ(seen[3], 9);
  const port::FileHandle mine = open_file(alive, kDatabase);
  EXPECT_EQ(alive.storage->lock(mine, 1), Status::kOk);
  EXPECT_EQ(alive.storage->lock(mine, 4), Status::kOk);
  EXPECT_EQ(alive.storage->shm_lock(mine, 0, 8, true, true), Status::kOk);
  EXPECT_EQ(dead.storage->write(file, "x", 1, 0), Status::kIo);
  EXPECT_EQ(dead.storage->close(file), Status::kOk);
}

TEST(SimProcess, DeadProcess_NoLongerReachesTheSharedMemory) {
  sim::Machine machine;
  sim::Node victim(machine);
  sim::Node other(machine);
  const Port dead = opened(victim);
  const Port alive = opened(other);
  const port::FileHandle a = open_file(dead, kDatabase);
  const port::FileHandle b = open_file(alive, kDatabase);
  void volatile* theirs = nullptr;
  void volatile* mine = nullptr;
  ASSERT_EQ(dead.storage->shm_map(a, 0, 32768, true, &theirs), Status::kOk);
  ASSERT_EQ(alive.storage->shm_map(b, 0, 32768, true, &mine), Status::kOk);
  auto* dead_bytes = static_cast<volatile unsigned char*>(theirs);
  auto* live_bytes = static_cast<volatile unsigned char*>(mine);
  dead_bytes[5] = 1;
  victim.kill();
  EXPECT_EQ(dead_bytes[5], 1) << "still readable";
  dead_bytes[5] = 2;
  EXPECT_EQ(live_bytes[5], 1);
  live_bytes[5] = 3;
  EXPECT_EQ(dead_bytes[5], 2);
}

TEST(SimProcess, LocksThatCannotBeTested_AreNotGuessed) {
  sim::Machine machine;
  sim::Node holder(machine);
  sim::Node container(machine);
  ASSERT_TRUE(holder.port().storage->worker_create(kDatabase, 1, 8).ok());
  container.set_locks_testable(false);
  EXPECT_EQ(container.port().storage->worker_test(kDatabase, 1), Held::kUntestable);
}

TEST(SimExecutor, HeldJobs_RunWhenTheTestSaysSo) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  ASSERT_EQ(port.threads->executor_start(1, 0), Status::kOk);
  node.hold_jobs(true);
  int value = 0;
  port.threads->executor_submit(0, add_one, &value);
  EXPECT_FALSE(port.threads->wait({}).woken);
  EXPECT_FALSE(port.threads->executor_idle(0));
  EXPECT_EQ(node.run_jobs(), 1U);
  EXPECT_EQ(value, 1);
  EXPECT_TRUE(port.threads->executor_idle(0));
  EXPECT_TRUE(port.threads->wait({}).woken);
  port.threads->executor_submit(0, add_one, &value);
  const std::int64_t before = machine.boot_ms();
  EXPECT_FALSE(port.threads->executor_stop(250)) << "the job hangs";
  EXPECT_EQ(machine.boot_ms(), before + 250);
  EXPECT_EQ(value, 1);
}

TEST(SimExecutor, LoopThatNeverSleeps_StillRunsItsJobs) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  ASSERT_EQ(port.threads->executor_start(1, 0), Status::kOk);
  int value = 0;
  port.threads->executor_submit(0, add_one, &value);
  const WakeReasons reasons = port.threads->wait(0);
  EXPECT_TRUE(reasons.due);
  EXPECT_TRUE(reasons.woken);
  EXPECT_EQ(value, 1);
}

TEST(SimFolders, FailAsTheTestSays_AndNothingIsLost) {
  using Entry = sim::Machine::Entry;
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  machine.put_entry("/dirs/a/deep/file", Entry::kFile);
  machine.put_entry("/dirs/link", Entry::kFile);
  EXPECT_EQ(machine.entries_below("/dirs"), 4U);
  machine.fail_folders(Status::kFull);
  Diagnostic why;
  bool more = false;
  EXPECT_EQ(port.folders->make("/dirs", "b", why), Status::kFull);
  EXPECT_EQ(why.text(), "/dirs/b: full");
  EXPECT_EQ(port.folders->remove_some("/dirs", "a", 9, &more, why), Status::kFull);
  machine.fail_folders(Status::kOk);
  EXPECT_EQ(port.folders->make("/dirs", "link", why), Status::kAlreadyExists);
  EXPECT_EQ(machine.entries_below("/dirs"), 4U);
  EXPECT_EQ(remove_all(port, "/dirs", "a", 1), 3U);
  EXPECT_EQ(remove_all(port, "/dirs", "link", 1), 1U);
  EXPECT_EQ(machine.entry("/dirs/link"), Entry::kNone);
  EXPECT_EQ(machine.entry("/dirs"), Entry::kFolder);
  node.kill();
  EXPECT_EQ(port.folders->make("/dirs", "b", why), Status::kIo);
  EXPECT_EQ(port.folders->next_name().status(), Status::kIo);
}

TEST(SimDisk, NthWriteFails_OnceOrForEver) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  const port::FileHandle file = open_file(port, kDatabase);
  machine.fail_write(2, Status::kFull, false);
  EXPECT_EQ(port.storage->write(file, "a", 1, 0), Status::kOk);
  EXPECT_EQ(port.storage->sync(file), Status::kFull);
  EXPECT_EQ(port.storage->write(file, "b", 1, 0), Status::kOk);
  EXPECT_EQ(machine.writes(), 2U);
  EXPECT_EQ(machine.syncs(), 1U);
  machine.fail_write(1, Status::kIo, true);
  EXPECT_EQ(port.storage->write(file, "c", 1, 0), Status::kIo);
  EXPECT_EQ(port.storage->truncate(file, 0), Status::kIo);
  EXPECT_EQ(port.storage->sync(file), Status::kIo);
  machine.fail_write(0, Status::kIo, true);
  EXPECT_EQ(port.storage->sync(file), Status::kOk);
  char got = 0;
  EXPECT_EQ(port.storage->read(file, &got, 1, 0).value_or(0), 1U);
  EXPECT_EQ(got, 'b') << "a write that failed wrote nothing";
}

// The log of SQLite: a head of 32 bytes, then frames of 24 and 512.
TEST(SimDisk, LargeWriteToALog_IsTornAtEachSectorAndBetweenFrames) {
  constexpr std::int64_t kCuts[] = {512, 568, 1024, 1104, 1536, 1640};
  const std::string frames(3 * 536, 'f');
  const std::string path = std::string(kDatabase) + "-wal";
  for (std::uint64_t nth = 1; nth <= std::size(kCuts) + 1; ++nth) {
    sim::Machine machine;
    sim::Node node(machine);
    const Port port = opened(node);
    const port::FileHandle log = open_file(port, path.c_str());
    std::string head(32, 'h');
    head.replace(8, 4, std::string("\0\0\2\0", 4));
    ASSERT_EQ(port.storage->write(log, head.data(), head.size(), 0), Status::kOk);
    machine.fail_write(nth, Status::kIo, true);
    const Status written = port.storage->write(log, frames.data(), frames.size(), 32);
    if (nth > std::size(kCuts)) {
      EXPECT_EQ(written, Status::kOk);
      EXPECT_EQ(machine.writes(), 1 + std::size(kCuts)) << "each counts";
      continue;
    }
    EXPECT_EQ(written, Status::kIo);
    EXPECT_EQ(port.storage->size(log).value(), nth == 1 ? 32 : kCuts[nth - 2]);
  }
}

// A part of a frame counts as SQLite writes it: the header, and its page.
TEST(SimDisk, SmallWriteToALog_IsTornBehindAHeader) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  const std::string path = std::string(kDatabase) + "-wal";
  const port::FileHandle log = open_file(port, path.c_str());
  std::string head(32, 'h');
  head.replace(8, 4, std::string("\0\0\2\0", 4));
  ASSERT_EQ(port.storage->write(log, head.data(), head.size(), 0), Status::kOk);
  const std::string part(512, 'p');
  ASSERT_EQ(port.storage->write(log, part.data(), 500, 32), Status::kOk);
  EXPECT_EQ(machine.writes(), 3U);
  ASSERT_EQ(port.storage->write(log, part.data(), 512, 32 + 24), Status::kOk);
  EXPECT_EQ(machine.writes(), 4U) << "a page alone is one";
}

TEST(SimDisk, Damage_FlipsAByte) {
  sim::Machine machine;
  sim::Node node(machine);
  const Port port = opened(node);
  EXPECT_EQ(machine.damage(kDatabase, 0), Status::kNotFound);
  append(port, kDatabase);
  EXPECT_EQ(machine.damage(kDatabase, 0), Status::kOk);
  EXPECT_EQ(machine.damage(kDatabase, 1), Status::kInvalidArgument);
  const port::FileHandle file = open_file(port, kDatabase);
  char got = 'x';
  EXPECT_EQ(port.storage->read(file, &got, 1, 0).value_or(0), 1U);
  EXPECT_NE(got, 'x');
}

// Synced sectors stay; over many seeds unsynced sectors are seen both kept and lost.
TEST(SimDisk, PowerCut_KeepsWhatWasSyncedAndLosesTheRestBySeed) {
  int kept = 0;
  int lost = 0;
  int torn = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    sim::Machine machine(seed);
    machine.set_power_cut_losses(true);
    {
      sim::Node node(machine);
      const Port port = opened(node);
      const port::FileHandle file = open_file(port, kDatabase);
      const std::string old(1024, 'o');
      const std::string fresh(1024, 'n');
      ASSERT_EQ(port.storage->write(file, old.data(), old.size(), 0), Status::kOk);
      ASSERT_EQ(port.storage->sync(file), Status::kOk);
      ASSERT_EQ(port.storage->write(file, fresh.data(), fresh.size(), 0), Status::kOk);
      machine.reboot(1);
    }
    sim::Node node(machine);
    const Port port = opened(node);
    const port::FileHandle file = open_file(port, kDatabase);
    char got[1024];
    ASSERT_EQ(port.storage->read(file, got, sizeof(got), 0).value_or(0), sizeof(got));
    if (got[0] == 'o') ++lost;
    if (got[0] == 'n' && got[1023] == 'n') ++kept;
    if (got[0] == 'n' && got[511] == 'n' && got[512] == 'o') ++torn;
    for (const char byte : got)
      ASSERT_TRUE(byte == 'o' || byte == 'n');
  }
  EXPECT_EQ(kept + lost + torn, 60);
  EXPECT_GT(kept, 0);
  EXPECT_GT(lost, 0);
  EXPECT_GT(torn, 0);
}

}  // namespace
}  // namespace pawl::port_test

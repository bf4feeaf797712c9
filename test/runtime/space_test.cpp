// Goal: when space runs out, complete instances are removed first, the oldest before the others;
// then new work is refused. Running work continues to its end on a disk of any size, and no
// accepted work is lost.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "store/store_factory.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::kPath;
using testing::Worker;

constexpr int kSteps = 6;

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

struct Once {
  bool waited = false;
};

// Returns a long result after twenty minutes.
ActivityStep late(ActivityContext& ctx, Once& state) {
  if (state.waited) return ctx.ok(std::string(16'000, 'x'));
  state.waited = true;
  return ctx.again_after(std::chrono::milliseconds(20 * 60'000));
}

Poll slow(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("late", ""));
  return ctx.complete("done");
}

Poll quick(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input()));
  return ctx.complete("done");
}

Poll sleeper(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(20)));
  return ctx.complete("slept");
}

Poll loud(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(20)));
  return ctx.complete(ctx.input());
}

// Its history grows all the time.
Poll chain(OrchestrationContext& ctx) {
  int step = 0;
  while (step < kSteps) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input()));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
    ++step;
  }
  return ctx.complete("all steps");
}

// Its history stays short, but it writes all the time.
Poll eternal(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  return ctx.continue_as_new(ctx.input());
}

// A gateway whose space is bounded.
class Bounded : public Gateway {
 public:
  explicit Bounded(std::uint64_t seed = 11) : Gateway(seed) {
    add("echo", echo);
    add("quick", quick);
    add("sleeper", sleeper);
    add("late", late);
    add("slow", slow);
    add("loud", loud);
    add("chain", chain);
    add("eternal", eternal);
    options.limits.warm_instances = 64;
    machine.set_wall(2'208'988'860'000);  // the sizes below go by rows of 2040
    options.verify_turns = false;
  }
  Status try_start(const char* name, const std::string& id, std::string_view input = "") {
    return client()->start_orchestration(name, InstanceId(id), input);
  }
  // Starts instances until one is refused or there are `most`; *why is the status of the last
  // start.
  int accepted(const char* name, int most, Status* why) {
    int count = 0;
    for (*why = Status::kOk; count < most; ++count) {
      *why = try_start(name, name + std::to_string(count), std::string(1'000, 'x'));
      if (*why != Status::kOk) break;
    }
    return count;
  }
  static std::string text() { return std::string(8'000, 'x'); }
  // Drives until so many have completed at the worker.
  bool complete(const Worker& worker, std::uint64_t count, std::int64_t ms) {
    return drive_until([&] { return worker.runtime->stats().orchestrations_completed == count; },
                       ms);
  }

  // Leaves the pages of work that has ended and was deleted, and an empty log; the work that `more`
  // starts continues.
  void leave_free_pages(const std::function<void()>& more) {
    const Worker& worker = start_worker();
    more();
    Status why = Status::kOk;
    ASSERT_EQ(accepted("quick", 600, &why), 600);
    ASSERT_TRUE(complete(worker, 600, 120'000));
    InstanceFilter ended;
    ended.any_state = false;
    ended.state = OrchestrationState::kCompleted;
    Page page;
    do {
      ASSERT_EQ(client()->delete_instances(ended, &page), Status::kOk);
    } while (page.more);
    workers.clear();
    forget_client();
  }
};

class Space : public ::testing::Test, public Bounded {
 protected:
  void TearDown() override { workers.clear(); }
};

TEST_F(Space, CompleteWorkGoesOldestFirstThenTheNewIsRefusedAndRunningWorkEnds) {
  options.space.quota_bytes = 1024 * 1024;
  Worker& worker = start_worker();
  // Far more instances than fit, one after the other: none is refused.
  for (int i = 0; i < 200; ++i) {
    const std::string id = "quick" + std::to_string(i);
    start(id, "quick", text());
    const std::uint64_t ended = static_cast<std::uint64_t>(i) + 1;
    ASSERT_TRUE(complete(worker, ended, 60'000)) << worker.lines.all();
    pass(100);
  }
  EXPECT_TRUE(is_there("quick199"));
  EXPECT_FALSE(is_there("quick0"));
  bool kept = false;
  for (int i = 0; i < 200; ++i) {
    const bool there = is_there("quick" + std::to_string(i));
    EXPECT_TRUE(there || !kept) << i << " went before an older one";
    kept = kept || there;
  }
  // Running work pushes all of them out, and then new work is refused.
  int sleepers = 0;
  Status why = Status::kOk;
  while (why == Status::kOk && sleepers < 1000) {
    why = try_start("sleeper", "s" + std::to_string(sleepers), text());
    if (why == Status::kOk) ++sleepers;
    pass(100);
  }
  ASSERT_EQ(why, Status::kQuota);
  EXPECT_NE(client()->error_text().find("1048576"), std::string_view::npos)
      << client()->error_text();
  EXPECT_GT(sleepers, 10);
  EXPECT_FALSE(is_there("quick199"));
  EXPECT_EQ(client()->enqueue_event("s0", "q", "text"), Status::kQuota);
  EXPECT_EQ(client()->start_orchestration("sleeper", InstanceId("s0"), ""), Status::kAlreadyExists);
  EXPECT_EQ(worker.runtime->stats().room, Room::kRejectingNew);
  Metrics metrics;
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_TRUE(metrics.refuses_new);
  EXPECT_EQ(metrics.quota_bytes, 1024 * 1024);
  for (int i = 0; i < sleepers; ++i)
    EXPECT_TRUE(is_there("s" + std::to_string(i))) << i;
  EXPECT_TRUE(drive_until(
      [&] {
        return worker.runtime->stats().orchestrations_completed ==
               200 + static_cast<std::uint64_t>(sleepers);
      },
      30 * 60'000));
  pass(1'000);
  EXPECT_EQ(worker.runtime->stats().orchestrations_failed, 0U);
  start("again", "quick");
}

TEST_F(Space, WhatIsRemovedForWantOfRoomIsCountedAndLogged) {
  options.space.quota_bytes = 1024 * 1024;
  Worker& worker = start_worker();
  for (int i = 0; i < 150; ++i) {
    ASSERT_EQ(try_start("quick", "quick" + std::to_string(i), text()), Status::kOk)
        << i << ": " << client()->error_text();
    pass(1'000);
  }
  const RuntimeStats& stats = worker.runtime->stats();
  EXPECT_GT(stats.instances_removed_for_space, 10U);
  EXPECT_EQ(stats.instances_removed_for_space, stats.instances_removed);
  // The log accounts for all of them, but has no line for each transaction.
  std::uint64_t logged = 0;
  std::size_t lines = 0;
  const std::string all = worker.lines.all();
  const std::string key = "removed_for_space instances=";
  for (std::size_t at = all.find(key); at != std::string::npos; at = all.find(key, at + 1)) {
    logged += std::stoull(all.substr(at + key.size()));
    ++lines;
  }
  EXPECT_EQ(logged, stats.instances_removed_for_space) << all;
  EXPECT_GE(lines, 1U);
}

TEST_F(Space, CompletedWorkStaysIfItMustNotBeRemoved) {
  options.space.quota_bytes = 1024 * 1024;
  options.space.remove_completed = false;
  Worker& worker = start_worker();
  Status why = Status::kOk;
  int started = 0;
  for (; why == Status::kOk && started < 300; ++started) {
    why = try_start("quick", "quick" + std::to_string(started), text());
    pass(1'000);
  }
  EXPECT_EQ(why, Status::kQuota) << started;
  --started;
  EXPECT_GT(started, 20);
  pass(60'000);
  for (int i = 0; i < started; ++i)
    EXPECT_EQ(client().status("quick" + std::to_string(i)).state, OrchestrationState::kCompleted);
  EXPECT_EQ(worker.runtime->stats().instances_removed, 0U);
  // Instances that an operator removes make room.
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(client()->delete_instance("quick" + std::to_string(i), false), Status::kOk);
  pass(60'000);
  start("again", "quick");
}

TEST_F(Space, ReserveIsGivenUpOnAFullDiskAndMadeAgain) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back");
  Worker& worker = start_worker();
  Status why = Status::kOk;
  ASSERT_EQ(accepted("chain", 5, &why), 5);
  machine.set_disk_bytes(machine.stored_bytes());
  ASSERT_TRUE(complete(worker, 5, 120'000)) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("disk_is_full"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.runtime->stats().room, Room::kRejectingNew);
  EXPECT_EQ(client()->start_orchestration("quick", InstanceId("new"), ""), Status::kQuota)
      << client()->error_text();
  machine.set_disk_bytes(0);
  pass(30'000);
  EXPECT_EQ(worker.lines.count("disk_has_room"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.runtime->stats().room, Room::kEnough);
  start("new", "quick");
}

TEST_F(Space, QuotaOfAClientHoldsForWhoRuns) {
  Worker& worker = start_worker();
  Status why = Status::kOk;
  ASSERT_EQ(accepted("quick", 300, &why), 300);
  ASSERT_TRUE(complete(worker, 300, 120'000)) << worker.lines.all();
  EXPECT_EQ(worker.runtime->stats().quota_bytes, 0);
  EXPECT_EQ(client()->set_quota(1000), Status::kInvalidArgument);
  EXPECT_EQ(client()->set_quota(-1), Status::kInvalidArgument);
  ASSERT_EQ(client()->set_quota(512 * 1024), Status::kOk);
  pass(1'000);
  const RuntimeStats& stats = worker.runtime->stats();
  EXPECT_GT(stats.instances_removed, 0U);
  EXPECT_LT(stats.instances_removed, 300U) << "no more than it takes";
  EXPECT_EQ(stats.room, Room::kEnough);
  EXPECT_LE(stats.used_bytes + stats.log_bytes, 512 * 1024);
  EXPECT_FALSE(is_there("quick0"));
  EXPECT_TRUE(is_there("quick299"));
  // Running work, which nothing removes, goes over the quota; without a quota there is room again.
  int sleepers = 0;
  for (why = Status::kOk; why == Status::kOk && sleepers < 1'000; ++sleepers) {
    why = try_start("sleeper", "s" + std::to_string(sleepers), text());
    pass(10);
  }
  ASSERT_EQ(why, Status::kQuota);
  ASSERT_EQ(client()->set_quota(0), Status::kOk);
  pass(10);
  EXPECT_EQ(stats.room, Room::kEnough);
  start("again", "quick");
}

// A long log is written back instead.
TEST_F(Space, LongLogIsNoReasonToRemoveAnything) {
  options.space.quota_bytes = 640 * 1024;
  options.retention.executions = 1;
  Worker& worker = start_worker();
  start("quick0", "quick");
  start("eternal", "eternal", text());
  ASSERT_TRUE(
      drive_until([&] { return worker.runtime->stats().continued_as_new == 100; }, 600'000));
  EXPECT_TRUE(is_there("quick0"));
  EXPECT_EQ(worker.runtime->stats().instances_removed, 0U);
  EXPECT_NE(worker.runtime->stats().room, Room::kRejectingNew);
  start("new", "quick");
}

TEST_F(Space, EarlierExecutionsGoAfterEndedTrees) {
  options.space.quota_bytes = 640 * 1024;
  Worker& worker = start_worker();
  start("quick0", "quick");
  start("eternal", "eternal", text());
  const RuntimeStats& stats = worker.runtime->stats();
  ASSERT_TRUE(drive_until([&] { return stats.executions_removed > 1; }, 600'000));
  EXPECT_FALSE(is_there("quick0"));
  const std::uint64_t before = stats.continued_as_new;
  ASSERT_TRUE(drive_until([&] { return stats.continued_as_new == before + 100; }, 600'000));
  EXPECT_LE(stats.used_bytes, options.space.quota_bytes);
  EXPECT_NE(stats.room, Room::kRejectingNew);
}

// The pages of removed instances are as good as the reserve.
TEST_F(Space, DiskThatStaysFullOfCompleteWorkTakesNewWork) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back");
  options.space.reserve_bytes = 256 * 1024;
  options.space.checkpoint_pages = 256;
  Worker& worker = start_worker();
  machine.set_disk_bytes(1'510 * 1024);  // the worker meets the full disk, and no client does
  int refused = 0;
  std::uint64_t ended = 0;
  for (int i = 0; i < 400; ++i) {
    const Status status = try_start("quick", "quick" + std::to_string(i), text());
    if (status == Status::kOk) {
      ++ended;
    } else {
      ++refused;  // until the runtime has seen it, too
      ASSERT_TRUE(status == Status::kFull || status == Status::kQuota) << status_name(status);
    }
    ASSERT_TRUE(complete(worker, ended, 60'000)) << worker.lines.all();
    pass(10);
  }
  EXPECT_GE(worker.lines.count("disk_is_full"), 1U);
  EXPECT_LT(refused, 10) << worker.lines.all();
  EXPECT_FALSE(is_there("quick0"));
}

// The running worker has nothing to write, and learns of the full disk by the missing reserve.
TEST_F(Space, ClientThatFindsTheDiskFullHasRoomMade) {
  options.space.reserve_bytes = 256 * 1024;
  options.space.checkpoint_pages = 256;
  Worker& worker = start_worker();
  Status why = Status::kOk;
  ASSERT_EQ(accepted("quick", 300, &why), 300);
  ASSERT_TRUE(complete(worker, 300, 120'000)) << worker.lines.all();
  machine.set_disk_bytes(machine.stored_bytes());
  int accepted_now = 0;
  for (why = Status::kOk; why == Status::kOk && accepted_now < 1'000; ++accepted_now)
    why = try_start("sleeper", "s" + std::to_string(accepted_now), text());
  ASSERT_EQ(why, Status::kFull);
  EXPECT_EQ(client()->start_orchestration("quick", InstanceId("new"), ""), Status::kQuota)
      << client()->error_text();
  pass(100);
  EXPECT_EQ(worker.lines.count("disk_is_full"), 0U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("reserve_is_missing"), 1U) << worker.lines.all();
  EXPECT_GT(worker.runtime->stats().instances_removed, 0U);
  start("new", "quick");
}

// The process that gave up the reserve is dead; the living one has not seen the full disk.
TEST_F(Space, ReserveThatIsMissingIsMadeAgain) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back");
  Worker& first = start_worker();
  const Worker& second = start_worker();
  Status why = Status::kOk;
  ASSERT_EQ(accepted("chain", 5, &why), 5);
  machine.set_disk_bytes(machine.stored_bytes());
  ASSERT_TRUE(drive_until(
      {&first}, [&] { return first.lines.count("disk_is_full") > 0; }, 120'000));
  first.kill();
  machine.set_disk_bytes(0);
  EXPECT_EQ(client()->start_orchestration("quick", InstanceId("new"), ""), Status::kQuota);
  EXPECT_TRUE(drive_until([&] { return second.lines.count("disk_has_room") > 0; }, 600'000));
  EXPECT_EQ(second.lines.count("disk_is_full"), 0U);
  start("new", "quick");
}

// A worker without a reserve deletes the file that all share; the disk has room, so nothing is
// removed.
TEST_F(Space, ReserveThatAnotherWorkerDoesNotWantRemovesNothing) {
  Worker& first = start_worker();
  start("a", "quick");
  EXPECT_EQ(end_of("a", 10'000), "completed done");
  options.space.reserve_bytes = 0;
  start_worker();
  ASSERT_TRUE(drive_until(
      {&first}, [&] { return first.lines.count("reserve_is_missing") > 0; }, 600'000))
      << first.lines.all();
  pass({&first}, 60'000);
  EXPECT_EQ(first.lines.count("removed_for_space"), 0U) << first.lines.all();
  EXPECT_EQ(client().status("a").state, OrchestrationState::kCompleted);
  EXPECT_EQ(first.runtime->stats().room, Room::kEnough);
}

// The worker may die at any of its writes: new work is not refused, since the disk has room.
TEST_F(Space, WorkerWithoutAReserveThatDiesAtItsStartRefusesNothing) {
  bool is_reserved = true;
  for (std::uint64_t nth = 1; is_reserved; nth += PAWL_SAMPLE) {
    SCOPED_TRACE("write " + std::to_string(nth));
    ASSERT_LT(nth, 200U);
    Bounded fresh;
    fresh.start_worker();
    fresh.options.space.reserve_bytes = 0;
    Worker second(fresh.machine, fresh.registry, fresh.options);
    fresh.machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(second.start());
    fresh.machine.fail_write(0, Status::kOk, false);
    second.kill();
    fresh.start("a", "quick");
    const std::string reserve = std::string(kPath) + "-reserve";
    is_reserved = fresh.client().node.port().storage->exists(reserve.c_str()).value();
  }
}

// A tick has as many items as a batch holds; each of them fits alone.
TEST_F(Space, TickThatDoesNotFitIsTakenInPieces) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back", 3);
  options.space.reserve_bytes = 256 * 1024;
  options.space.checkpoint_pages = 256;
  leave_free_pages([this] {
    for (int i = 0; i < 64; ++i)
      ASSERT_EQ(try_start("loud", "l" + std::to_string(i), text()), Status::kOk);
  });
  Worker& worker = start_worker();
  machine.set_disk_bytes(machine.stored_bytes() + 64 * 1024);
  EXPECT_TRUE(complete(worker, 64, 30 * 60'000)) << worker.lines.all();
  EXPECT_GE(worker.lines.count("disk_is_full"), 1U);
  // Starts that come together are taken in pieces, too.
  std::uint64_t more = 0;
  while (worker.runtime->start_orchestration("quick", InstanceId("m" + std::to_string(more)),
                                             text()) == Status::kOk)
    ++more;
  EXPECT_GT(more, 30U);
  EXPECT_TRUE(complete(worker, 64 + more, 60'000)) << worker.lines.all();
}

// Results that come together are taken in pieces, too.
TEST_F(Space, ResultsThatDoNotFitAreTakenInPieces) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back", 2);
  options.space.reserve_bytes = 256 * 1024;
  options.space.checkpoint_pages = 256;
  options.slots.cooperative = 64;
  leave_free_pages([] {});
  Worker& worker = start_worker();
  for (int i = 0; i < 64; ++i)
    start_at(worker, "s" + std::to_string(i), "slow");
  ASSERT_TRUE(
      drive_until([&] { return worker.runtime->stats().activities_running == 64; }, 60'000));
  pass(1'000);
  machine.set_disk_bytes(machine.stored_bytes());
  EXPECT_TRUE(complete(worker, 64, 30 * 60'000)) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("disk_is_full"), 1U);
  EXPECT_EQ(worker.runtime->stats().activities_started, 64U);
}

TEST_F(Space, WithoutAReserveThereIsNoneToMiss) {
  testing::expect_errors("disk_is_full");
  testing::expect_errors("tick_rolled_back", 15);
  options.space.reserve_bytes = 0;
  Worker& worker = start_worker();
  Status why = Status::kOk;
  ASSERT_EQ(accepted("chain", 5, &why), 5);
  machine.set_disk_bytes(machine.stored_bytes());
  pass(60'000);
  EXPECT_EQ(client()->start_orchestration("quick", InstanceId("new"), text()), Status::kFull);
  machine.set_disk_bytes(0);
  EXPECT_TRUE(complete(worker, 5, 600'000)) << worker.lines.all();
  pass(20'000);
  EXPECT_EQ(worker.runtime->stats().room, Room::kEnough);
  start("new", "quick", text());
}

// A small disk has a short log, and no room for a reserve of a megabyte.
TEST_F(Space, ReserveFollowsTheLengthOfTheLog) {
  const auto stored = [&](int checkpoint_pages, std::optional<std::size_t> reserve_bytes) {
    options.space.checkpoint_pages = checkpoint_pages;
    options.space.reserve_bytes = reserve_bytes;
    Gateway fresh;
    fresh.start_worker(registry, options);
    return fresh.machine.stored_bytes();
  };
  EXPECT_EQ(stored(16, std::nullopt) - stored(16, 0), 16 * 1'024);
  EXPECT_EQ(stored(1'000, std::nullopt) - stored(1'000, 0), 1'000 * 1'024);
  EXPECT_EQ(stored(16, 64 * 1'024) - stored(16, 0), 64 * 1'024);
}

// Accepted work ends on a disk of any size, at the latest when there is space again.
TEST_F(Space, NothingIsLostOnADiskOfAnySize) {
  for (std::int64_t kib = 0; kib <= 2'400; kib += 240) {
    SCOPED_TRACE(kib);
    // Whether the disk becomes full depends on how much SQLite writes.
    for (const char* event : {"disk_is_full", "no_room_for_the_reserve", "tick_rolled_back"})
      testing::expect_errors(event, 0, 1);
    Bounded fresh(static_cast<std::uint64_t>(kib) + 1);
    fresh.options.space.checkpoint_pages = 256;
    fresh.client();
    fresh.machine.set_disk_bytes(fresh.machine.stored_bytes() + kib * 1024 + 1);
    Worker worker(fresh.machine, fresh.registry, fresh.options);
    Status begun = worker.start();
    Status why = Status::kOk;
    const int count = fresh.accepted("chain", 40, &why);
    EXPECT_TRUE(why == Status::kOk || why == Status::kFull || why == Status::kQuota)
        << status_name(why);
    if (begun == Status::kOk) fresh.pass({&worker}, 60'000);
    fresh.machine.set_disk_bytes(0);
    if (begun != Status::kOk) begun = worker.start();
    ASSERT_EQ(begun, Status::kOk) << worker.diagnostic.text();
    const std::uint64_t& completed = worker.runtime->stats().orchestrations_completed;
    ASSERT_TRUE(fresh.drive_until(
        {&worker}, [&] { return completed == static_cast<std::uint64_t>(count); }, 300'000))
        << completed << " of " << count << worker.lines.all();
    fresh.pass({&worker}, 30'000);
    EXPECT_EQ(worker.runtime->stats().orchestrations_failed, 0U);
    EXPECT_EQ(worker.runtime->stats().room, Room::kEnough);
    fresh.start("again", "quick");
  }
}

TEST_F(Space, FailedWritesLoseNothing) {
  for (std::uint64_t nth = 1; nth <= 60; nth += 6) {
    SCOPED_TRACE(nth);
    Bounded fresh(nth);
    const Worker& worker = fresh.start_worker();
    Status why = Status::kOk;
    ASSERT_EQ(fresh.accepted("chain", 3, &why), 3);
    testing::expect_errors("tick_rolled_back");
    fresh.machine.fail_write(nth, Status::kIo, false);
    ASSERT_TRUE(fresh.complete(worker, 3, 120'000)) << worker.lines.all();
    EXPECT_EQ(worker.runtime->stats().room, Room::kEnough);
  }
}

// ---- other processes in the way ----

// Another process with a connection of its own, which works as long as the test lets it.
class Other {
 public:
  explicit Other(sim::Machine& machine)
      : node(machine), place_(StoreFactory::engine_of(nullptr).bytes) {
    store = StoreFactory::engine_of(nullptr).make(place_.data());
    StoreOptions options;
    options.path = kPath;
    Diagnostic why;
    EXPECT_EQ(store->open(options, node.port(), why), Status::kOk) << why.text();
  }
  ~Other() {
    store->close();
    StoreFactory::engine_of(nullptr).destroy(store);
  }
  std::string pid() { return std::to_string(node.port().threads->process_id()); }

  sim::Node node;
  Store* store;

 private:
  testing::Block place_;
};

// The log has a bound: there, new work is refused with the name of the process that holds it up,
// and old work continues.
TEST_F(Space, ReaderThatStaysLetsTheLogGrowToItsBoundOnly) {
  testing::expect_errors("log_is_full");
  options.space.checkpoint_pages = 64;
  options.space.log_bytes_max = 512 * 1024;
  Worker& worker = start_worker();
  start("running", "sleeper");
  pass(1'000);
  Other reader(machine);
  ASSERT_EQ(reader.store->batch().begin_read(), Status::kOk);
  Status why = Status::kOk;
  int count = 0;
  for (; why == Status::kOk && count < 4'000; ++count) {
    why = try_start("quick", "quick" + std::to_string(count), text());
    pass(1'000);
  }
  ASSERT_EQ(why, Status::kQuota) << count;
  const std::string said(client()->error_text());
  EXPECT_NE(said.find("log_bytes_max is 524288"), std::string::npos) << said;
  EXPECT_NE(said.find("process " + reader.pid()), std::string::npos) << said;
  EXPECT_EQ(client()->enqueue_event("running", "q", "text"), Status::kQuota);
  pass(10'000);
  const RuntimeStats& stats = worker.runtime->stats();
  EXPECT_EQ(stats.room, Room::kRejectingNew);
  EXPECT_LT(stats.log_bytes, 2 * options.space.log_bytes_max);
  EXPECT_EQ(worker.lines.count("log_is_held"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("log_is_full"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("process=" + reader.pid()), 2U) << worker.lines.all();
  const auto began = static_cast<std::uint64_t>(count - 1);
  ASSERT_TRUE(drive_until([&] { return stats.orchestrations_completed == began + 1; }, 30 * 60'000))
      << "what runs goes on";
  reader.store->batch().end_read();
  pass(5'000);
  EXPECT_EQ(worker.lines.count("log_is_cut"), 1U) << worker.lines.all();
  EXPECT_EQ(stats.room, Room::kEnough);
  EXPECT_EQ(stats.log_bytes, 0);
  start("again", "quick");
}

// No worker runs, and the reader has left: the next process that opens the database cuts the log.
TEST_F(Space, ClientCutsALongLogWithoutARuntime) {
  options.space.checkpoint_pages = 64;
  options.space.log_bytes_max = 512 * 1024;
  start_worker();
  workers.clear();
  Other reader(machine);
  ASSERT_EQ(reader.store->batch().begin_read(), Status::kOk);
  Status why = Status::kOk;
  EXPECT_GT(accepted("quick", 4'000, &why), 10);
  ASSERT_EQ(why, Status::kQuota);
  reader.store->batch().end_read();
  start("again", "quick");
}

TEST_F(Space, WriteLockThatIsHeldForLongIsReportedAndNotReady) {
  testing::expect_errors("busy_tick", 241);
  testing::expect_errors("write_lock_is_held");
  Worker& worker = start_worker();
  start("a", "eternal");
  pass(5'000);
  ASSERT_TRUE(worker.runtime->ready());
  Other writer(machine);
  BatchInfo info;
  ASSERT_EQ(writer.store->batch().begin(0, &info), Status::kOk);
  const auto stays = [&](std::int64_t ms) {
    for (std::int64_t i = 0; i < ms / 100; ++i) {
      machine.advance(100);
      static_cast<void>(worker.runtime->tick(std::chrono::milliseconds::max()));
    }
  };
  stays(5'000);
  EXPECT_TRUE(worker.runtime->ready()) << "for a while that is nothing";
  stays(20'000);
  EXPECT_FALSE(worker.runtime->ready());
  EXPECT_EQ(worker.lines.count("write_lock_is_held"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("process=" + writer.pid()), 1U) << worker.lines.all();
  writer.store->batch().rollback();
  pass(5'000);
  EXPECT_TRUE(worker.runtime->ready());
  EXPECT_EQ(worker.lines.count("write_lock_is_free"), 1U) << worker.lines.all();
}

}  // namespace
}  // namespace pawl

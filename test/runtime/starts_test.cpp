// Goal: a start by the Runtime's own thread has its first turn in its own commit, and loses nothing
// by it: an answered start is there, a crash in that turn is charged from the second on, and a
// worker that cannot run the turn stores the start like any other.
#include <gtest/gtest.h>

#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::KeptEvent;
using testing::Story;
using testing::Worker;

sim::Node* g_victim = nullptr;  // dies in the turn of "dies"
int g_turns = 0;                // turns of "dies"

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

Poll hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(greeting, ctx.schedule_activity("echo", ctx.input()));
  return ctx.complete(greeting.value());
}

Poll five_steps(OrchestrationContext& ctx) {
  for (int i = 0; i < 5; ++i)
    PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "x"));
  return ctx.complete("done");
}

std::string g_ran;  // inputs of "note", in the order of the runs
ActivityResult note(ActivityContext& ctx) {
  g_ran += ctx.input();
  return ctx.ok("");
}

Poll notes_all(OrchestrationContext& ctx) {
  Handle each[8];
  std::size_t count = 0;
  for (const char character : ctx.input())
    each[count++] = ctx.schedule_activity("note", std::string_view(&character, 1));
  for (std::size_t i = 0; i < count; ++i)
    PAWL_AWAIT_DONE(each[i]);
  return ctx.complete("done");
}

Poll listen(OrchestrationContext& ctx) {
  PAWL_AWAIT(received, ctx.schedule_wait("go"));
  return ctx.complete(received.value());
}

Poll at_once(OrchestrationContext& ctx) { return ctx.complete(ctx.input()); }

Poll dies(OrchestrationContext& ctx) {
  if (g_victim == nullptr) return ctx.complete("lived");
  ++g_turns;
  g_victim->kill();
  return ctx.complete("never seen");
}

class Starts : public Story {
 protected:
  Starts() {
    g_victim = nullptr;
    g_turns = 0;
    add("hello", hello);
    add("five_steps", five_steps);
    add("listen", listen);
    add("at_once", at_once);
    add("dies", dies);
    add("echo", echo);
    add("note", note);
    add("notes_all", notes_all);
    g_ran.clear();
    options.verify_turns = false;
  }
  // Starts an instance by a call of the Runtime; `answers` has the answers in their order.
  void piggyback(Worker& worker, std::string_view id, std::string_view name,
                 std::string_view input = "x") {
    const auto keep = [](void* all, Status status) noexcept {
      static_cast<std::vector<Status>*>(all)->push_back(status);
    };
    ASSERT_EQ(worker.runtime->start_orchestration(name, InstanceId(id), input, {}, keep, &answers),
              Status::kOk);
  }
  static std::uint64_t commits(Worker& worker) { return worker.runtime->stats().commits; }
  bool tick(Worker& worker) { return worker.runtime->tick(std::chrono::milliseconds::max()).ok(); }

  std::vector<Status> answers;
};

TEST_F(Starts, OneActivity_TakesTwoCommits) {
  Worker& worker = start_worker();
  pass(10);
  const std::uint64_t before = commits(worker);
  piggyback(worker, "a", "hello");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(answers, std::vector<Status>{Status::kOk});
  EXPECT_EQ(commits(worker), before + 1);
  EXPECT_EQ(history("a").size(), 2U);
  EXPECT_EQ(end_of("a"), "completed x");
  EXPECT_EQ(commits(worker), before + 2);
}

TEST_F(Starts, MayBeDelayed) {
  Worker& worker = start_worker();
  StartOptions later;
  later.start_after = std::chrono::seconds(10);
  const InstanceId id("later");
  ASSERT_EQ(worker.runtime->start_orchestration("at_once", id, "x", later), Status::kOk);
  pass(9'900);
  EXPECT_EQ(outcome_of("later"), "running ");
  pass(200);
  EXPECT_EQ(outcome_of("later"), "completed x");
  later.start_after = std::chrono::milliseconds(-1);
  EXPECT_EQ(worker.runtime->start_orchestration("at_once", id, "x", later),
            Status::kInvalidArgument);
}

TEST_F(Starts, ThatEndAtOnce_TakeOneCommit) {
  Worker& worker = start_worker();
  pass(10);
  const std::uint64_t before = commits(worker);
  for (int i = 0; i < 10; ++i)
    piggyback(worker, "i" + std::to_string(i), "at_once");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(commits(worker), before + 1);
  EXPECT_EQ(answers, std::vector<Status>(10, Status::kOk));
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(outcome_of("i" + std::to_string(i)), "completed x");
}

// The next step takes the slot of the step whose result is in the same commit.
TEST_F(Starts, OneSlot_IsHandedOverAgainWithTheCommitOfItsResult) {
  for (const bool threaded : {false, true}) {
    Registry known = registry;
    if (threaded) {
      known = Registry();
      ASSERT_EQ(known.add_orchestration("five_steps", five_steps), Status::kOk);
      ASSERT_EQ(known.add_activity("echo", echo, ActivityMode::kThreaded), Status::kOk);
    }
    options.slots.inline_activities = options.slots.threads = 1;
    Worker& worker = start_worker(known, options);
    pass(10);
    const std::string id = threaded ? "threaded" : "inline";
    const std::uint64_t before = commits(worker);
    piggyback(worker, id, "five_steps");
    EXPECT_EQ(end_of(id), "completed done");
    EXPECT_EQ(commits(worker), before + 6) << id;
    worker.stop();
    workers.clear();
  }
}

// A new activity is handed over with its turn only if none waits for a slot.
TEST_F(Starts, WorkThatWaitsForASlotComesBeforeWhatIsScheduledLater) {
  options.slots.inline_activities = 1;
  Worker& worker = start_worker();
  pass(10);
  piggyback(worker, "a", "notes_all", "abcd");
  ASSERT_TRUE(tick(worker));
  piggyback(worker, "b", "notes_all", "xyz");
  EXPECT_EQ(end_of("a"), "completed done");
  EXPECT_EQ(end_of("b"), "completed done");
  EXPECT_EQ(g_ran, "abcdxyz");
}

TEST_F(Starts, OfOneIdInOneTick_AreOne) {
  Worker& worker = start_worker();
  piggyback(worker, "a", "at_once", "first");
  piggyback(worker, "a", "at_once", "second");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(answers, (std::vector<Status>{Status::kOk, Status::kAlreadyExists}));
  EXPECT_EQ(outcome_of("a"), "completed first");
  EXPECT_EQ(history("a").size(), 2U);
}

TEST_F(Starts, AnEventRaisedInTheSameTick_IsReceived) {
  Worker& worker = start_worker();
  piggyback(worker, "a", "listen");
  ASSERT_EQ(worker.runtime->raise_event("a", "go", "now"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed now");
}

TEST_F(Starts, OfAnUnknownName_AreStored) {
  Worker& worker = start_worker();
  piggyback(worker, "a", "nobody knows");
  ASSERT_TRUE(tick(worker));
  EXPECT_EQ(answers, std::vector<Status>{Status::kOk});
  EXPECT_TRUE(is_running("a"));
}

// More starts than one tick takes; each runs once.
TEST_F(Starts, ManyAtOnce_AllEnd) {
  options.limits.batch = 8;
  Worker& worker = start_worker();
  for (int i = 0; i < 100; ++i)
    piggyback(worker, "i" + std::to_string(i), "hello", std::to_string(i));
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(end_of("i" + std::to_string(i)), "completed " + std::to_string(i));
  EXPECT_EQ(answers, std::vector<Status>(100, Status::kOk));
}

// The answer to a commit does not wait for the log to be written back.
TEST_F(Starts, AreAnsweredBeforeTheLogIsWrittenBack) {
  struct Seen {
    sim::Machine* machine;
    std::uint64_t writes = 0;
  } seen{&machine};
  const auto look = [](void* kept, Status) noexcept {
    auto* all = static_cast<Seen*>(kept);
    all->writes = all->machine->writes();
  };
  options.space.checkpoint_pages = 16;
  Worker& worker = start_worker();
  pass(10);
  int written_later = 0;
  for (int i = 0; i < 10; ++i) {
    const std::string id = "i" + std::to_string(i);
    ASSERT_EQ(worker.runtime->start_orchestration("listen", InstanceId(id), "x", {}, look, &seen),
              Status::kOk);
    ASSERT_TRUE(tick(worker));
    written_later += machine.writes() > seen.writes + 1 ? 1 : 0;  // more than the bell
  }
  EXPECT_GE(written_later, 2);
}

// A death at each write: an answered start is there and ends; any other left nothing.
TEST_F(Starts, DeathAtEveryWrite) {
  bool all_written = false;
  for (std::uint64_t nth = 1; !all_written && nth < 400; nth += PAWL_SAMPLE) {
    const std::string id = "i" + std::to_string(nth);
    Worker& worker = restart();
    answers.clear();
    piggyback(worker, id, "hello");
    const std::uint64_t before = machine.writes();
    worker.watch.hold();
    machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(drive_until([&] { return machine.writes() >= before + nth; }, 35'000));
    all_written = machine.writes() < before + nth;
    worker.kill();
    machine.fail_write(0, Status::kOk, false);
    restart();
    const bool answered = !answers.empty() && answers.front() == Status::kOk;
    OrchestrationStatus status;
    const Status found = client()->get_status(id, &status);
    if (answered) {
      ASSERT_EQ(found, Status::kOk) << nth;
    }
    if (found == Status::kNotFound) start(id, "hello", "x");
    ASSERT_EQ(end_of(id), "completed x") << nth;
    const std::vector<KeptEvent> events = history(id);
    EXPECT_EQ(events.size(), 4U) << nth;
  }
  EXPECT_TRUE(all_written);
}

// The first turn ends the process before anything is stored; the next start is therefore stored
// first, and its crashes are charged until it is poisoned.
TEST_F(Starts, ACrashInTheFirstTurn_IsChargedFromTheSecondOn) {
  testing::expect_errors("tick_rolled_back", 4);
  options.limits.crashes_max = 3;
  int lives = 0;
  for (; lives < 20; ++lives) {
    Worker& worker = restart();
    g_victim = &worker.node;
    static_cast<void>(tick(worker));
    OrchestrationStatus status;
    if (client()->get_status("a", &status) == Status::kOk && !is_running("a")) break;
    if (worker.node.killed()) continue;
    piggyback(worker, "a", "dies");
    for (int i = 0; i < 3 && !worker.node.killed(); ++i)
      static_cast<void>(tick(worker));
  }
  g_victim = nullptr;
  EXPECT_EQ(outcome_of("a").substr(0, 13), "failed poison");
  EXPECT_EQ(g_turns, 1 + options.limits.crashes_max);
  // Other starts are stored first for an hour, and then no more.
  Worker& worker = restart();
  pass(10);
  const std::uint64_t before = commits(worker);
  piggyback(worker, "b", "at_once");
  EXPECT_EQ(end_of("b"), "completed x");
  EXPECT_EQ(commits(worker), before + 2);
  pass(3'700'000);
  const std::uint64_t later = commits(worker);
  piggyback(worker, "c", "at_once");
  EXPECT_EQ(end_of("c"), "completed x");
  EXPECT_LE(commits(worker), later + 1);
}

}  // namespace
}  // namespace pawl

// Goal: a raised event meets the wait that it came for, or none; a message of a queue is received
// once, in order, whatever is killed, closed or carried over in between. Method: whole runtimes on
// the simulated machine; the output of an orchestration is what it received.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "option_drawer.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::drive;
using testing::TestClient;
using testing::Worker;

constexpr char kPath[] = "/data/pawl.db";

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

Poll waits(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_wait("go"));
  PAWL_AWAIT(second, ctx.schedule_wait("go"));
  return ctx.complete(std::string(first.value()) + "," + std::string(second.value()));
}

Poll waits_late(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  return ctx.complete(event.value());
}

// Receives one event in each execution, four in all.
Poll waits_in_turns(OrchestrationContext& ctx) {
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  const std::string all = std::string(ctx.input()) + std::string(event.value());
  return ctx.execution_id() < 4 ? ctx.continue_as_new(all) : ctx.complete(all);
}

Poll gives_up_a_wait(OrchestrationContext& ctx) {
  const Handle event = ctx.schedule_wait("go");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  ctx.cancel(event);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  PAWL_AWAIT(later, ctx.schedule_wait("go"));
  return ctx.complete(later.value());
}

// Takes as many messages as its input says.
Poll takes(OrchestrationContext& ctx) {
  const int count = std::stoi(std::string(ctx.input()));
  std::string all;
  for (int i = 0; i < count; ++i) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (!message.ok()) return ctx.fail(message.error());
    all += std::string(message.value()) + ",";
    ctx.trace(LogLevel::kInfo, "took " + std::string(message.value()));
  }
  return ctx.complete(all);
}

Poll takes_late(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  PAWL_CALL(takes(ctx));
  return Poll::done();
}

Poll gives_up_a_dequeue(OrchestrationContext& ctx) {
  const Handle message = ctx.dequeue_event("q");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  ctx.cancel(message);
  PAWL_CALL(takes(ctx));
  return Poll::done();
}

// A dequeue that loses against a timer is followed by the next one at once.
Poll patient(OrchestrationContext& ctx) {
  std::string all;
  for (int i = 0; i < 12; ++i) {
    const Handle timer = ctx.schedule_timer(std::chrono::seconds(1));
    const Handle message = ctx.dequeue_event("q");
    PAWL_AWAIT(first, ctx.select(timer, message));
    all += first.index() == 0 ? "-," : std::string(first.value()) + ",";
    if (first.value() == "end") return ctx.complete(all);
  }
  return ctx.complete(all + "late");
}

// Each execution receives one message and leaves with two dequeues open.
Poll goes_round(OrchestrationContext& ctx) {
  const Handle mine = ctx.dequeue_event("q");
  static_cast<void>(ctx.dequeue_event("q"));
  static_cast<void>(ctx.dequeue_event("q"));
  PAWL_AWAIT(message, mine);
  const std::string all = std::string(ctx.input()) + std::string(message.value()) + ",";
  return message.value() == "end" ? ctx.complete(all) : ctx.continue_as_new(all);
}

Poll bad_names(OrchestrationContext& ctx) {
  PAWL_AWAIT(wait, ctx.schedule_wait(""));
  PAWL_AWAIT(message, ctx.dequeue_event("a\nb"));
  const bool refused = wait.error().kind == ErrorKind::kInvalidArgument &&
                       message.error().kind == ErrorKind::kInvalidArgument;
  return ctx.complete(refused ? "refused" : "taken");
}

// Takes all messages that wait when its activity is done.
Poll drains(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.dequeue_event("q"));
  std::string all = std::string(first.value()) + ",";
  PAWL_AWAIT_DONE(ctx.schedule_activity("slow", ""));
  while (true) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    if (!message.ok()) return ctx.complete(all);
    all += std::string(message.value()) + ",";
  }
}

// Uses every way to ask for a message and to give it back, with one open wait at a time.
Poll collects(OrchestrationContext& ctx) {
  std::string all(ctx.input());
  const std::size_t first_round = all.size();
  for (std::size_t round = first_round; round < first_round + 5; ++round) {
    std::string got;
    const Handle message = ctx.dequeue_event("q");
    switch (round % 4) {
      case 0: {
        PAWL_AWAIT(plain, message);
        got = std::string(plain.value());
        break;
      }
      case 1: {
        PAWL_AWAIT(first, ctx.select(ctx.schedule_timer(std::chrono::milliseconds(30)), message));
        if (first.index() == 1) got = std::string(first.value());
        break;
      }
      case 2: {
        PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "x"));
        ctx.cancel(message);
        break;
      }
      default: {
        ctx.cancel(message);
        const Handle branch = ctx.open_branch([](OrchestrationContext& own) -> Poll {
          PAWL_AWAIT(inner, own.dequeue_event("q"));
          PAWL_AWAIT_DONE(own.schedule_activity("echo", "y"));
          return own.complete(inner.value());
        });
        PAWL_AWAIT(done, branch);
        got = std::string(done.value());
      }
    }
    if (got.empty()) continue;
    all += got + ",";
    if (got == "end") return ctx.complete(all);
  }
  static_cast<void>(ctx.dequeue_event("q"));
  return ctx.continue_as_new(all);
}

class Mailbox : public ::testing::Test {
 protected:
  void SetUp() override {
    EXPECT_EQ(registry.add_orchestration("waits", waits), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("waits_late", waits_late), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("waits_in_turns", waits_in_turns), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("gives_up_a_wait", gives_up_a_wait), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("takes", takes), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("takes_late", takes_late), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("gives_up_a_dequeue", gives_up_a_dequeue), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("patient", patient), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("goes_round", goes_round), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("bad_names", bad_names), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("drains", drains), Status::kOk);
    EXPECT_EQ(registry.add_orchestration("collects", collects), Status::kOk);
    EXPECT_EQ(registry.add_activity("echo", echo), Status::kOk);
    EXPECT_EQ(registry.add_activity("slow", echo, ActivityMode::kThreaded), Status::kOk);
    options.database_path = kPath;
    options.verify_turns = true;
    options.leases.home_grace = std::chrono::milliseconds(0);
    options.limits.traces_a_turn_max = 400;
  }
  std::unique_ptr<Worker> worker() {
    auto made = std::make_unique<Worker>(machine, registry, options);
    EXPECT_EQ(made->start(), Status::kOk) << made->diagnostic.text();
    return made;
  }
  std::unique_ptr<Worker> revive(std::unique_ptr<Worker> old) {
    old->kill();
    old.reset();
    return worker();
  }
  static void start(TestClient& client, const char* name, std::string_view input = "") {
    ASSERT_EQ(client->start_orchestration(name, InstanceId("i"), input), Status::kOk);
  }
  static void send(TestClient& client, int first, int last) {
    for (int i = first; i <= last; ++i)
      ASSERT_EQ(client->enqueue_event("i", "q", std::to_string(i)), Status::kOk)
          << client->error_text();
  }
  static void end(TestClient& client) {
    ASSERT_EQ(client->enqueue_event("i", "q", "end"), Status::kOk);
  }
  static std::string numbers(int first, int last) {
    std::string all;
    for (int i = first; i <= last; ++i)
      all += std::to_string(i) + ",";
    return all;
  }
  // The state and output of the instance at its end.
  std::string output(TestClient& client, std::initializer_list<Worker*> workers) {
    const auto done = [&] { return client.status("i").state != OrchestrationState::kRunning; };
    if (!drive(machine, workers, done, 600'000)) return "still running";
    const OrchestrationStatus status = client.status("i");
    return std::string(orchestration_state_name(status.state)) + " " + std::string(status.output);
  }
  void idle(std::initializer_list<Worker*> workers, std::int64_t ms = 1'000) {
    static_cast<void>(drive(
        machine, workers, [] { return false; }, ms));
  }

  sim::Machine machine{11};
  Registry registry;
  Options options;
};

// ---- events ----

TEST_F(Mailbox, EventsGoToTheWaitThatIsOpen) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "waits");
  idle({at.get()});
  ASSERT_EQ(client->raise_event("i", "other", "no"), Status::kOk);
  ASSERT_EQ(client->raise_event("i", "go", "one"), Status::kOk);
  idle({at.get()});
  ASSERT_EQ(client->raise_event("i", "go", "two"), Status::kOk);
  EXPECT_EQ(output(client, {at.get()}), "completed one,two");
  EXPECT_EQ(at->runtime->stats().messages_dropped, 0U) << "the other waited to the end";
}

TEST_F(Mailbox, EventsOfOneTurnMeetTheWaitsOfThatTurn) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "waits");
  ASSERT_EQ(client->raise_event("i", "go", "one"), Status::kOk);
  ASSERT_EQ(client->raise_event("i", "go", "two"), Status::kOk);
  EXPECT_EQ(output(client, {at.get()}), "completed one,two");
}

// Rules: R7.4.
TEST_F(Mailbox, EventWithoutAWaitWaitsForIt) {
  auto at = worker();
  TestClient client(machine, kPath);
  start(client, "waits_late");
  ASSERT_EQ(client->raise_event("i", "go", "early"), Status::kOk);
  ASSERT_EQ(client->raise_event("i", "go", "late"), Status::kOk);
  idle({at.get()}, 5'000);
  EXPECT_EQ(client.status("i").state, OrchestrationState::kRunning);
  at->kill();
  at = worker();
  EXPECT_EQ(output(client, {at.get()}), "completed early");
  EXPECT_EQ(at->runtime->stats().messages_dropped, 0U);
}

// Rules: R7.4, R7.6.
TEST_F(Mailbox, EventsWaitOverContinueAsNewInTheirOrder) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "waits_in_turns", "");
  for (int i = 1; i <= 4; ++i)
    ASSERT_EQ(client->raise_event("i", "go", std::to_string(i)), Status::kOk);
  EXPECT_EQ(output(client, {at.get()}), "completed 1234");
  EXPECT_EQ(client.status("i").execution_id, 4);
}

// Rules: R6.6, R7.4.
TEST_F(Mailbox, EventOfAWaitThatIsClosedGoesBack) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "gives_up_a_wait");
  ASSERT_EQ(client->raise_event("i", "go", "kept"), Status::kOk);
  EXPECT_EQ(output(client, {at.get()}), "completed kept");
}

TEST_F(Mailbox, EventsOverTheLimitAreRefusedByItsName) {
  const auto at = worker();
  ClientOptions few;
  few.database_path = kPath;
  few.queue_messages_max = 4;
  TestClient client(machine, kPath, few);
  start(client, "takes", "5");
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(client->raise_event("i", "unheard", "x"), Status::kOk);
  idle({at.get()});
  EXPECT_EQ(client->raise_event("i", "unheard", "x"), Status::kResourceExhausted);
  EXPECT_NE(client->error_text().find("at most 4 may (queue_messages_max)"), std::string_view::npos)
      << client->error_text();
  EXPECT_EQ(client->enqueue_event("i", "q", "1"), Status::kResourceExhausted);
}

// No turn takes the offer in time, and none takes it later.
// Rules: R7.4.
TEST_F(Mailbox, AnOfferThatNoTurnTookIsWithdrawn) {
  TestClient client(machine, kPath);
  bool received = true;
  {
    const auto at = worker();
    start(client, "waits");
    idle({at.get()});
    EXPECT_EQ(client->offer_event("i", "go", "x", std::chrono::seconds(1), &received),
              Status::kWouldBlock)
        << "on the thread of the loop";
  }
  const std::int64_t before = machine.boot_ms();
  EXPECT_EQ(client->offer_event("i", "go", "x", std::chrono::seconds(30), &received),
            Status::kTimeout);
  EXPECT_FALSE(received);
  EXPECT_EQ(machine.boot_ms(), before + 30'000);
  InstanceStats left;
  ASSERT_EQ(client->get_instance_stats("i", &left), Status::kOk);
  EXPECT_EQ(left.messages_waiting, 0);
  const auto at = worker();
  idle({at.get()});
  ASSERT_EQ(client->raise_event("i", "go", "one"), Status::kOk);
  ASSERT_EQ(client->raise_event("i", "go", "two"), Status::kOk);
  EXPECT_EQ(output(client, {at.get()}), "completed one,two");
}

TEST_F(Mailbox, OffersCountForTheLimit) {
  ClientOptions few;
  few.database_path = kPath;
  few.queue_messages_max = 2;
  TestClient client(machine, kPath, few);
  { const auto at = worker(); }
  start(client, "waits");
  ASSERT_EQ(client->raise_event("i", "go", "1"), Status::kOk);
  ASSERT_EQ(client->enqueue_event("i", "q", "2"), Status::kOk);
  bool received = true;
  EXPECT_EQ(client->offer_event("i", "go", "3", std::chrono::seconds(1), &received),
            Status::kResourceExhausted);
  EXPECT_FALSE(received);
  EXPECT_NE(client->error_text().find("queue_messages_max"), std::string_view::npos);
}

// ---- queues ----

TEST_F(Mailbox, MessagesBeforeAndAfterTheWaitComeInOrder) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "takes", "6");
  send(client, 1, 3);
  idle({at.get()});
  send(client, 4, 6);
  EXPECT_EQ(output(client, {at.get()}), "completed " + numbers(1, 6));
}

TEST_F(Mailbox, MessagesNotTakenCostNoTurns) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "takes", "1");
  ASSERT_EQ(client->enqueue_event("i", "other", "kept"), Status::kOk);
  idle({at.get()});
  const std::uint64_t turns = at->runtime->stats().turns;
  idle({at.get()}, 100'000);
  EXPECT_EQ(at->runtime->stats().turns, turns);
  send(client, 1, 1);
  EXPECT_EQ(output(client, {at.get()}), "completed 1,");
}

// Rules: R6.6.
TEST_F(Mailbox, MessageOfADequeueThatIsClosedGoesBackToItsPlace) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "gives_up_a_dequeue", "3");
  send(client, 1, 1);
  idle({at.get()});  // it is given to the dequeue
  send(client, 2, 3);
  EXPECT_EQ(output(client, {at.get()}), "completed " + numbers(1, 3));
}

TEST_F(Mailbox, LosersGiveBackWhatTheyWereGiven) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "patient");
  idle({at.get()}, 2'500);  // two timers have won
  // A timer fires and messages come while no worker runs. Whether or not the timer is older in the
  // history, no message is lost or doubled.
  machine.advance(5'000);
  send(client, 1, 3);
  end(client);
  const std::string received = output(client, {at.get()});
  std::string messages;
  for (std::size_t i = 10; i < received.size(); ++i)
    if (received[i] == '-') {
      ++i;
    } else {
      messages += received[i];
    }
  EXPECT_EQ(messages, "1,2,3,end,") << received;
  EXPECT_EQ(received.compare(0, 14, "completed -,-,"), 0) << received;
}

TEST_F(Mailbox, ContinueAsNewCarriesAllThatWaits) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "goes_round");
  send(client, 1, 9);
  end(client);
  EXPECT_EQ(output(client, {at.get()}), "completed " + numbers(1, 9) + "end,");
  EXPECT_EQ(client.status("i").execution_id, 10);
}

TEST_F(Mailbox, MoreMessagesThanATurnHasPasses) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "takes_late", "250");
  ASSERT_EQ(client->enqueue_event("i", "other", "waits on"), Status::kOk);
  send(client, 1, 250);
  idle({at.get()});  // all of them wait when the first is asked for
  EXPECT_EQ(output(client, {at.get()}), "completed " + numbers(1, 250));
  EXPECT_EQ(at->lines.count("text=took "), 250U) << "each trace once, wherever turns are cut";
}

// A result is piggybacked on a turn that reads only a part of the stored messages; the answer
// "none" may come only after all messages that were stored before.
TEST_F(Mailbox, DrainingFindsMoreThanATurnReads) {
  for (const int last : {2, 64, 65, 66, 200}) {
    SCOPED_TRACE(last);
    sim::Machine fresh(static_cast<std::uint64_t>(last));
    Worker at(fresh, registry, options);
    ASSERT_EQ(at.start(), Status::kOk) << at.diagnostic.text();
    TestClient client(fresh, kPath);
    start(client, "drains");
    send(client, 1, 1);
    at.node.hold_jobs(true);
    const auto is_at_work = [&] { return at.runtime->stats().activities_started == 1; };
    ASSERT_TRUE(drive(fresh, {&at}, is_at_work, 1'000));
    send(client, 2, last);
    at.node.hold_jobs(false);
    ASSERT_EQ(at.node.run_jobs(), 1U);
    const auto is_over = [&] { return client.status("i").state != OrchestrationState::kRunning; };
    ASSERT_TRUE(drive(fresh, {&at}, is_over, 600'000));
    EXPECT_EQ(client.status("i").output, numbers(1, last));
  }
}

TEST_F(Mailbox, NamesAreChecked) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "bad_names");
  EXPECT_EQ(output(client, {at.get()}), "completed refused");
}

TEST_F(Mailbox, TwoWorkersReceiveAsOne) {
  const auto one = worker();
  const auto two = worker();
  TestClient client(machine, kPath);
  start(client, "goes_round");
  for (int i = 1; i <= 20; ++i) {
    send(client, i, i);
    if (i % 3 == 0) idle({one.get(), two.get()}, 5);
    if (i % 5 == 0) idle({two.get()}, 5);
  }
  end(client);
  EXPECT_EQ(output(client, {two.get(), one.get()}), "completed " + numbers(1, 20) + "end,");
}

// ---- errors for senders ----

TEST_F(Mailbox, SendersLearnWhatIsWrong) {
  const auto at = worker();
  TestClient client(machine, kPath);
  EXPECT_EQ(client->raise_event("i", "go", ""), Status::kNotFound);
  EXPECT_EQ(client->enqueue_event("i", "q", ""), Status::kNotFound);
  start(client, "takes", "1");
  EXPECT_EQ(client->enqueue_event("i", "", ""), Status::kInvalidArgument);
  EXPECT_EQ(client->raise_event("i", std::string(257, 'n'), ""), Status::kInvalidArgument);
  EXPECT_EQ(client->enqueue_event("i", "q", std::string(65'537, 'p')), Status::kResourceExhausted);
  send(client, 1, 1);
  EXPECT_EQ(output(client, {at.get()}), "completed 1,");
  EXPECT_EQ(client->raise_event("i", "go", ""), Status::kStale);
  EXPECT_EQ(client->enqueue_event("i", "q", ""), Status::kStale);
}

TEST_F(Mailbox, OverTheLimitTheSenderIsRefused) {
  const auto at = worker();
  ClientOptions few;
  few.database_path = kPath;
  few.queue_messages_max = 4;
  TestClient client(machine, kPath, few);
  start(client, "takes", "5");
  send(client, 1, 4);
  const std::uint64_t writes = machine.writes();
  EXPECT_EQ(client->enqueue_event("i", "q", "5"), Status::kResourceExhausted);
  EXPECT_NE(client->error_text().find("at most 4"), std::string_view::npos);
  EXPECT_EQ(client->raise_event("i", "go", "5"), Status::kResourceExhausted);
  EXPECT_EQ(machine.writes(), writes) << "nothing was written";
  idle({at.get()});
  send(client, 5, 5);
  EXPECT_EQ(output(client, {at.get()}), "completed " + numbers(1, 5));
}

TEST_F(Mailbox, BytesThatWaitAreLimitedToo) {
  const auto at = worker();
  TestClient client(machine, kPath);
  start(client, "takes", "1");
  const std::string large(60 * 1024, 'p');
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(client->enqueue_event("i", "other", large), Status::kOk);
  EXPECT_EQ(client->enqueue_event("i", "other", large), Status::kResourceExhausted);
  EXPECT_NE(client->error_text().find("at most 262144 bytes may (4 * payload_bytes_max)"),
            std::string_view::npos)
      << client->error_text();
  send(client, 1, 1);
  EXPECT_EQ(output(client, {at.get()}), "completed 1,") << "what waits holds nothing up";
}

struct Reported {
  int calls = 0;
  Status last = Status::kOk;
  static void note(void* user, Status status) noexcept {
    ++static_cast<Reported*>(user)->calls;
    static_cast<Reported*>(user)->last = status;
  }
};

TEST_F(Mailbox, PiggybackedCallsAnswerAsTheClients) {
  options.limits.queue_messages_max = 2;
  const auto at = worker();
  TestClient client(machine, kPath);
  Reported reported;
  const auto ask = [&](Status asked) {
    EXPECT_EQ(asked, Status::kOk);
    const int calls = reported.calls;
    EXPECT_TRUE(drive(machine, {at.get()}, [&] { return reported.calls > calls; }));
    return reported.last;
  };
  Runtime& runtime = *at->runtime;
  EXPECT_EQ(ask(runtime.raise_event("i", "go", "", Reported::note, &reported)), Status::kNotFound);
  ASSERT_EQ(runtime.start_orchestration("takes", InstanceId("i"), "3"), Status::kOk);
  for (int i = 1; i <= 2; ++i)
    EXPECT_EQ(ask(runtime.enqueue_event("i", "other", "m", Reported::note, &reported)),
              Status::kOk);
  EXPECT_EQ(ask(runtime.enqueue_event("i", "q", "m", Reported::note, &reported)),
            Status::kResourceExhausted);
  EXPECT_EQ(ask(runtime.enqueue_event("i", "", "m", Reported::note, &reported)),
            Status::kInvalidArgument);
  EXPECT_EQ(
      ask(runtime.start_orchestration("waits", InstanceId("j"), "", {}, Reported::note, &reported)),
      Status::kOk)
      << "a refusal harms no other call";
  EXPECT_EQ(ask(runtime.raise_event("j", "go", "1", Reported::note, &reported)), Status::kOk);
  EXPECT_EQ(ask(runtime.raise_event("j", "go", "2", Reported::note, &reported)), Status::kOk);
  EXPECT_TRUE(drive(machine, {at.get()},
                    [&] { return client.status("j").state == OrchestrationState::kCompleted; }));
  EXPECT_EQ(client.status("j").output, "1,2");
  EXPECT_EQ(runtime.enqueue_event("i", "q", std::string(65'537, 'p')), Status::kResourceExhausted);
}

// ---- kills ----

// A message is sent before each of the first ticks; the worker is killed after `kill_at` ticks.
TEST_F(Mailbox, KilledBetweenAnyTwoTicks) {
  for (const char* program : {"goes_round", "collects"}) {
    for (int kill_at = 0; kill_at < 24; ++kill_at) {
      SCOPED_TRACE(std::string(program) + " killed after tick " + std::to_string(kill_at));
      sim::Machine fresh(static_cast<std::uint64_t>(kill_at) + 1);
      const auto make = [&] {
        auto made = std::make_unique<Worker>(fresh, registry, options);
        EXPECT_EQ(made->start(), Status::kOk) << made->diagnostic.text();
        return made;
      };
      auto at = make();
      TestClient client(fresh, kPath);
      start(client, program);
      for (int tick = 0; tick < 24; ++tick) {
        if (tick < 8) send(client, tick + 1, tick + 1);
        if (tick == 8) end(client);
        if (tick == kill_at) {
          at->kill();
          at = make();
        }
        ASSERT_TRUE(at->runtime->tick(std::chrono::milliseconds::max()).ok());
        fresh.advance(10);
      }
      ASSERT_TRUE(drive(fresh, {at.get()},
                        [&] { return client.status("i").state != OrchestrationState::kRunning; }));
      EXPECT_EQ(client.status("i").output, numbers(1, 8) + "end,");
    }
  }
}

// Sends, ticks, kills, failing writes and time in random order: each accepted message is received
// once.
class RandomMessages : public Mailbox, public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(RandomMessages, ReceivedOnceAndInOrder) {
  std::mt19937_64 random(GetParam());
  const auto upto = [&](std::uint64_t most) { return static_cast<int>(random() % (most + 1)); };
  // Each life has options of its own, except those that the code needs and the sender goes by.
  const Options usual = options;
  const auto draw = [&] {
    options = test::draw_options(usual, test::draw_of(GetParam()), random, 16 * 1024 * 1024);
    LimitOptions& limits = options.limits;
    limits.queue_messages_max = 8;
    limits.payload_bytes_max = std::max<std::size_t>(limits.payload_bytes_max, 1'024);
    limits.warm_bytes = std::max<std::size_t>(limits.warm_bytes, 256 * 1024);
    limits.history_events_max = std::max(limits.history_events_max, 4'096U);
    limits.commands_a_turn_max = std::max(limits.commands_a_turn_max, 64U);
    limits.orchestrations_max = limits.activities_max = 64;
    limits.crashes_max = limits.strikes_max = 1'000;
    options.slots.inline_activities = std::max(options.slots.inline_activities, 1U);
    options.slots.threads = std::max(options.slots.threads, 1U);
    options.run_orchestrations = true;
    options.leases = usual.leases;
    options.sessions.session_idle_timeout = usual.sessions.session_idle_timeout;
    options.retention = usual.retention;
    options.space.quota_bytes = 0;
  };
  ClientOptions same;
  same.database_path = kPath;
  same.queue_messages_max = 8;
  draw();
  std::unique_ptr<Worker> workers[2] = {worker(), worker()};
  TestClient client(machine, kPath, same);
  start(client, GetParam() % 3 == 0 ? "goes_round" : "collects");
  int sent = 0;
  int refused = 0;
  int undelivered = 0;
  for (int step = 0; step < 250; ++step) {
    std::unique_ptr<Worker>& one = workers[upto(1)];
    const int what = upto(19);
    if (what < 6) {
      const Status status = client->enqueue_event("i", "q", std::to_string(sent + 1));
      ASSERT_TRUE(status == Status::kOk || status == Status::kResourceExhausted);
      ++(status == Status::kOk ? sent : refused);
    } else if (what < 8) {
      // These events wait for ever, so there are only a few, which leave room for the others.
      if (undelivered++ < 3) {
        ASSERT_NE(client->raise_event("i", "unheard", "x"), Status::kStale);
      }
    } else if (what < 17) {
      if (what == 16) {
        machine.fail_write(static_cast<std::uint64_t>(upto(20)) + 1, Status::kIo, false);
        testing::expect_errors("tick_rolled_back", 0, 1);
      }
      one->node.run_jobs();
      ASSERT_TRUE(one->runtime->tick(std::chrono::milliseconds::max()).ok());
      machine.fail_write(0, Status::kOk, false);
    } else if (what == 17) {
      draw();
      one = revive(std::move(one));
    } else {
      machine.advance(upto(60));
    }
  }
  // Waits for room for the last message.
  Status last = Status::kResourceExhausted;
  ASSERT_TRUE(drive(machine, {workers[0].get(), workers[1].get()}, [&] {
    if (last != Status::kOk) last = client->enqueue_event("i", "q", "end");
    return last == Status::kOk;
  }));
  EXPECT_EQ(output(client, {workers[0].get(), workers[1].get()}),
            "completed " + numbers(1, sent) + "end,")
      << refused << " refused";
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomMessages,
                         ::testing::Range<std::uint64_t>(1, 41, PAWL_SAMPLE));

}  // namespace
}  // namespace pawl

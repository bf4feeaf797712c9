// Goal: a raised event meets the wait that it came for, or none; a message of a queue is received
// once, in order, whatever is killed, closed or carried over in between. Method: whole runtimes on
// the simulated machine; the output of an orchestration is what it received.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "option_drawer.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::Story;
using testing::Worker;

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

class Mailbox : public Story {
 protected:
  Mailbox() {
    add("waits", waits);
    add("waits_late", waits_late);
    add("waits_in_turns", waits_in_turns);
    add("gives_up_a_wait", gives_up_a_wait);
    add("takes", takes);
    add("takes_late", takes_late);
    add("gives_up_a_dequeue", gives_up_a_dequeue);
    add("patient", patient);
    add("goes_round", goes_round);
    add("bad_names", bad_names);
    add("drains", drains);
    add("collects", collects);
    add("echo", echo);
    add("slow", echo, ActivityMode::kThreaded);
    options.limits.traces_a_turn_max = 400;
  }
  static void send(Gateway& to, int first, int last) {
    for (int i = first; i <= last; ++i)
      to.enqueue_event("i", "q", std::to_string(i));
  }
  void send(int first, int last) { send(*this, first, last); }
  void end() { enqueue_event("i", "q", "end"); }
  static std::string numbers(int first, int last) {
    std::string all;
    for (int i = first; i <= last; ++i)
      all += std::to_string(i) + ",";
    return all;
  }
};

// ---- events ----

TEST_F(Mailbox, EventsGoToTheWaitThatIsOpen) {
  Worker& at = start_worker();
  start("i", "waits");
  pass(1'000);
  raise_event("i", "other", "no");
  raise_event("i", "go", "one");
  pass(1'000);
  raise_event("i", "go", "two");
  EXPECT_EQ(end_of("i"), "completed one,two");
  EXPECT_EQ(at.runtime->stats().messages_dropped, 0U) << "the other waited to the end";
}

TEST_F(Mailbox, EventsOfOneTurnMeetTheWaitsOfThatTurn) {
  start_worker();
  start("i", "waits");
  raise_event("i", "go", "one");
  raise_event("i", "go", "two");
  EXPECT_EQ(end_of("i"), "completed one,two");
}

// Rules: R7.4.
TEST_F(Mailbox, EventWithoutAWaitWaitsForIt) {
  start_worker();
  start("i", "waits_late");
  raise_event("i", "go", "early");
  raise_event("i", "go", "late");
  pass(5'000);
  EXPECT_EQ(client().status("i").state, OrchestrationState::kRunning);
  const Worker& at = restart();
  EXPECT_EQ(end_of("i"), "completed early");
  EXPECT_EQ(at.runtime->stats().messages_dropped, 0U);
}

// Rules: R7.4, R7.6.
TEST_F(Mailbox, EventsWaitOverContinueAsNewInTheirOrder) {
  start_worker();
  start("i", "waits_in_turns", "");
  for (int i = 1; i <= 4; ++i)
    raise_event("i", "go", std::to_string(i));
  EXPECT_EQ(end_of("i"), "completed 1234");
  EXPECT_EQ(client().status("i").execution_id, 4);
}

// Rules: R6.6, R7.4.
TEST_F(Mailbox, EventOfAWaitThatIsClosedGoesBack) {
  start_worker();
  start("i", "gives_up_a_wait");
  raise_event("i", "go", "kept");
  EXPECT_EQ(end_of("i"), "completed kept");
}

TEST_F(Mailbox, EventsOverTheLimitAreRefusedByItsName) {
  start_worker();
  client_options.queue_messages_max = 4;
  start("i", "takes", "5");
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(client()->raise_event("i", "unheard", "x"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(client()->raise_event("i", "unheard", "x"), Status::kResourceExhausted);
  EXPECT_NE(client()->error_text().find("at most 4 may (queue_messages_max)"),
            std::string_view::npos)
      << client()->error_text();
  EXPECT_EQ(client()->enqueue_event("i", "q", "1"), Status::kResourceExhausted);
}

// No turn takes the offer in time, and none takes it later.
// Rules: R7.4.
TEST_F(Mailbox, AnOfferThatNoTurnTookIsWithdrawn) {
  bool received = true;
  start_worker();
  start("i", "waits");
  pass(1'000);
  EXPECT_EQ(client()->offer_event("i", "go", "x", std::chrono::seconds(1), &received),
            Status::kWouldBlock)
      << "on the thread of the loop";
  workers.clear();
  const std::int64_t before = machine.boot_ms();
  EXPECT_EQ(client()->offer_event("i", "go", "x", std::chrono::seconds(30), &received),
            Status::kTimeout);
  EXPECT_FALSE(received);
  EXPECT_EQ(machine.boot_ms(), before + 30'000);
  InstanceStats left;
  ASSERT_EQ(client()->get_instance_stats("i", &left), Status::kOk);
  EXPECT_EQ(left.messages_waiting, 0);
  start_worker();
  pass(1'000);
  raise_event("i", "go", "one");
  raise_event("i", "go", "two");
  EXPECT_EQ(end_of("i"), "completed one,two");
}

TEST_F(Mailbox, OffersCountForTheLimit) {
  client_options.queue_messages_max = 2;
  start_worker();
  workers.clear();
  start("i", "waits");
  ASSERT_EQ(client()->raise_event("i", "go", "1"), Status::kOk);
  ASSERT_EQ(client()->enqueue_event("i", "q", "2"), Status::kOk);
  bool received = true;
  EXPECT_EQ(client()->offer_event("i", "go", "3", std::chrono::seconds(1), &received),
            Status::kResourceExhausted);
  EXPECT_FALSE(received);
  EXPECT_NE(client()->error_text().find("queue_messages_max"), std::string_view::npos);
}

// ---- queues ----

TEST_F(Mailbox, MessagesBeforeAndAfterTheWaitComeInOrder) {
  start_worker();
  start("i", "takes", "6");
  send(1, 3);
  pass(1'000);
  send(4, 6);
  EXPECT_EQ(end_of("i"), "completed " + numbers(1, 6));
}

TEST_F(Mailbox, MessagesNotTakenCostNoTurns) {
  Worker& at = start_worker();
  start("i", "takes", "1");
  enqueue_event("i", "other", "kept");
  pass(1'000);
  const std::uint64_t turns = at.runtime->stats().turns;
  pass(100'000);
  EXPECT_EQ(at.runtime->stats().turns, turns);
  send(1, 1);
  EXPECT_EQ(end_of("i"), "completed 1,");
}

// Rules: R6.6.
TEST_F(Mailbox, MessageOfADequeueThatIsClosedGoesBackToItsPlace) {
  start_worker();
  start("i", "gives_up_a_dequeue", "3");
  send(1, 1);
  pass(1'000);  // it is given to the dequeue
  send(2, 3);
  EXPECT_EQ(end_of("i"), "completed " + numbers(1, 3));
}

TEST_F(Mailbox, LosersGiveBackWhatTheyWereGiven) {
  start_worker();
  start("i", "patient");
  pass(2'500);  // two timers have won
  // A timer fires and messages come while no worker runs. Whether or not the timer is older in the
  // history, no message is lost or doubled.
  machine.advance(5'000);
  send(1, 3);
  end();
  const std::string received = end_of("i");
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
  start_worker();
  start("i", "goes_round");
  send(1, 9);
  end();
  EXPECT_EQ(end_of("i"), "completed " + numbers(1, 9) + "end,");
  EXPECT_EQ(client().status("i").execution_id, 10);
}

TEST_F(Mailbox, MoreMessagesThanATurnHasPasses) {
  Worker& at = start_worker();
  start("i", "takes_late", "250");
  enqueue_event("i", "other", "waits on");
  send(1, 250);
  pass(1'000);  // all of them wait when the first is asked for
  EXPECT_EQ(end_of("i"), "completed " + numbers(1, 250));
  EXPECT_EQ(at.lines.count("text=took "), 250U) << "each trace once, wherever turns are cut";
}

// A result is piggybacked on a turn that reads only a part of the stored messages; the answer
// "none" may come only after all messages that were stored before.
TEST_F(Mailbox, DrainingFindsMoreThanATurnReads) {
  for (const int last : {2, 64, 65, 66, 200}) {
    SCOPED_TRACE(last);
    Gateway fresh;
    Worker& at = fresh.start_worker(registry, options);
    fresh.start("i", "drains");
    send(fresh, 1, 1);
    at.node.hold_jobs(true);
    const auto is_at_work = [&] { return at.runtime->stats().activities_started == 1; };
    ASSERT_TRUE(fresh.drive_until(is_at_work, 1'000));
    send(fresh, 2, last);
    at.node.hold_jobs(false);
    ASSERT_EQ(at.node.run_jobs(), 1U);
    EXPECT_EQ(fresh.end_of("i", 600'000), "completed " + numbers(1, last));
  }
}

TEST_F(Mailbox, NamesAreChecked) {
  start_worker();
  start("i", "bad_names");
  EXPECT_EQ(end_of("i"), "completed refused");
}

TEST_F(Mailbox, TwoWorkersReceiveAsOne) {
  Worker& one = start_worker();
  Worker& two = start_worker();
  start("i", "goes_round");
  for (int i = 1; i <= 20; ++i) {
    send(i, i);
    if (i % 3 == 0) pass(5);
    if (i % 5 == 0) pass({&two}, 5);
  }
  end();
  ASSERT_TRUE(ends({&two, &one}, "i"));
  EXPECT_EQ(outcome_of("i"), "completed " + numbers(1, 20) + "end,");
}

// ---- errors for senders ----

TEST_F(Mailbox, SendersLearnWhatIsWrong) {
  start_worker();
  EXPECT_EQ(client()->raise_event("i", "go", ""), Status::kNotFound);
  EXPECT_EQ(client()->enqueue_event("i", "q", ""), Status::kNotFound);
  start("i", "takes", "1");
  EXPECT_EQ(client()->enqueue_event("i", "", ""), Status::kInvalidArgument);
  EXPECT_EQ(client()->raise_event("i", std::string(257, 'n'), ""), Status::kInvalidArgument);
  EXPECT_EQ(client()->enqueue_event("i", "q", std::string(65'537, 'p')),
            Status::kResourceExhausted);
  send(1, 1);
  EXPECT_EQ(end_of("i"), "completed 1,");
  EXPECT_EQ(client()->raise_event("i", "go", ""), Status::kStale);
  EXPECT_EQ(client()->enqueue_event("i", "q", ""), Status::kStale);
}

TEST_F(Mailbox, OverTheLimitTheSenderIsRefused) {
  start_worker();
  client_options.queue_messages_max = 4;
  start("i", "takes", "5");
  send(1, 4);
  const std::uint64_t writes = machine.writes();
  EXPECT_EQ(client()->enqueue_event("i", "q", "5"), Status::kResourceExhausted);
  EXPECT_NE(client()->error_text().find("at most 4"), std::string_view::npos);
  EXPECT_EQ(client()->raise_event("i", "go", "5"), Status::kResourceExhausted);
  EXPECT_EQ(machine.writes(), writes) << "nothing was written";
  pass(1'000);
  send(5, 5);
  EXPECT_EQ(end_of("i"), "completed " + numbers(1, 5));
}

TEST_F(Mailbox, BytesThatWaitAreLimitedToo) {
  start_worker();
  start("i", "takes", "1");
  const std::string large(60 * 1024, 'p');
  for (int i = 0; i < 4; ++i)
    enqueue_event("i", "other", large);
  EXPECT_EQ(client()->enqueue_event("i", "other", large), Status::kResourceExhausted);
  EXPECT_NE(client()->error_text().find("at most 262144 bytes may (4 * payload_bytes_max)"),
            std::string_view::npos)
      << client()->error_text();
  send(1, 1);
  EXPECT_EQ(end_of("i"), "completed 1,") << "what waits holds nothing up";
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
  Worker& at = start_worker();
  Reported reported;
  const auto ask = [&](Status asked) {
    EXPECT_EQ(asked, Status::kOk);
    const int calls = reported.calls;
    EXPECT_TRUE(drive_until([&] { return reported.calls > calls; }));
    return reported.last;
  };
  Runtime& runtime = *at.runtime;
  EXPECT_EQ(ask(runtime.raise_event("i", "go", "", {}, Reported::note, &reported)),
            Status::kNotFound);
  start_at(at, "i", "takes", "3");
  for (int i = 1; i <= 2; ++i)
    EXPECT_EQ(ask(runtime.enqueue_event("i", "other", "m", {}, Reported::note, &reported)),
              Status::kOk);
  EXPECT_EQ(ask(runtime.enqueue_event("i", "q", "m", {}, Reported::note, &reported)),
            Status::kResourceExhausted);
  EXPECT_EQ(ask(runtime.enqueue_event("i", "", "m", {}, Reported::note, &reported)),
            Status::kInvalidArgument);
  EXPECT_EQ(
      ask(runtime.start_orchestration("waits", InstanceId("j"), "", {}, Reported::note, &reported)),
      Status::kOk)
      << "a refusal harms no other call";
  EXPECT_EQ(ask(runtime.raise_event("j", "go", "1", {}, Reported::note, &reported)), Status::kOk);
  EXPECT_EQ(ask(runtime.raise_event("j", "go", "2", {}, Reported::note, &reported)), Status::kOk);
  EXPECT_EQ(end_of("j"), "completed 1,2");
  EXPECT_EQ(runtime.enqueue_event("i", "q", std::string(65'537, 'p')), Status::kResourceExhausted);
}

// ---- kills ----

// A message is sent before each of the first ticks; the worker is killed after `kill_at` ticks.
TEST_F(Mailbox, KilledBetweenAnyTwoTicks) {
  for (const char* program : {"goes_round", "collects"}) {
    for (int kill_at = 0; kill_at < 24; ++kill_at) {
      SCOPED_TRACE(std::string(program) + " killed after tick " + std::to_string(kill_at));
      Gateway fresh(static_cast<std::uint64_t>(kill_at) + 1);
      Worker* at = &fresh.start_worker(registry, options);
      fresh.start("i", program);
      for (int tick = 0; tick < 24; ++tick) {
        if (tick < 8) send(fresh, tick + 1, tick + 1);
        if (tick == 8) fresh.enqueue_event("i", "q", "end");
        if (tick == kill_at) {
          at->kill();
          at = &fresh.start_worker(registry, options);
        }
        ASSERT_TRUE(at->runtime->tick(std::chrono::milliseconds::max()).ok());
        fresh.machine.advance(10);
      }
      EXPECT_EQ(fresh.end_of("i"), "completed " + numbers(1, 8) + "end,");
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
  client_options.queue_messages_max = 8;
  draw();
  start_worker();
  start_worker();
  start("i", GetParam() % 3 == 0 ? "goes_round" : "collects");
  int sent = 0;
  int refused = 0;
  int undelivered = 0;
  for (int step = 0; step < 250; ++step) {
    const auto chosen = workers.begin() + upto(1);
    Worker& one = **chosen;
    const int what = upto(19);
    if (what < 6) {
      const Status status = client()->enqueue_event("i", "q", std::to_string(sent + 1));
      ASSERT_TRUE(status == Status::kOk || status == Status::kResourceExhausted);
      ++(status == Status::kOk ? sent : refused);
    } else if (what < 8) {
      // These events wait for ever, so there are only a few, which leave room for the others.
      if (undelivered++ < 3) {
        ASSERT_NE(client()->raise_event("i", "unheard", "x"), Status::kStale);
      }
    } else if (what < 17) {
      if (what == 16) {
        machine.fail_write(static_cast<std::uint64_t>(upto(20)) + 1, Status::kIo, false);
        testing::expect_errors("tick_rolled_back", 0, 1);
      }
      one.node.run_jobs();
      ASSERT_TRUE(one.runtime->tick(std::chrono::milliseconds::max()).ok());
      machine.fail_write(0, Status::kOk, false);
    } else if (what == 17) {
      draw();
      one.kill();
      workers.erase(chosen);
      start_worker();
    } else {
      machine.advance(upto(60));
    }
  }
  // Waits for room for the last message.
  Status last = Status::kResourceExhausted;
  ASSERT_TRUE(drive_until([&] {
    if (last != Status::kOk) last = client()->enqueue_event("i", "q", "end");
    return last == Status::kOk;
  }));
  EXPECT_EQ(end_of("i"), "completed " + numbers(1, sent) + "end,") << refused << " refused";
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomMessages,
                         ::testing::Range<std::uint64_t>(1, 41, PAWL_SAMPLE));

}  // namespace
}  // namespace pawl

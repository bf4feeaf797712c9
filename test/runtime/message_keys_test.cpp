// Goal: a message with a key is delivered once, however often it is sent, after the end and in the
// next execution, too (R11.1); the window forgets as the options say.
// Method: whole runtimes on the simulated machine; the output of an orchestration is what it took.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "statement_trace.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::Story;
using testing::Worker;

// Takes messages until one is "end"; "next" continues as new.
Poll takes(OrchestrationContext& ctx) {
  std::string all(ctx.input());
  for (;;) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (!message.ok()) return ctx.fail(message.error());
    if (message.value() == "end") return ctx.complete(all);
    all += std::string(message.value()) + ",";
    if (message.value() == "next" || ctx.history_length() > 400) return ctx.continue_as_new(all);
  }
}

Poll counts(OrchestrationContext& ctx) {
  const int before = ctx.input().empty() ? 0 : std::stoi(std::string(ctx.input()));
  for (int taken = before;; ++taken) {
    if (taken - before == 50) return ctx.continue_as_new(std::to_string(taken));
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (!message.ok()) return ctx.fail(message.error());
    if (message.value() == "end") return ctx.complete(std::to_string(taken));
  }
}

Poll hears(OrchestrationContext& ctx) {
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  PAWL_AWAIT(again, ctx.schedule_wait("go"));
  return ctx.complete(std::string(event.value()) + std::string(again.value()));
}

SendOptions keyed(std::string_view key) {
  SendOptions options;
  options.key = key;
  return options;
}

SendOptions keyed_start(std::string_view key, std::string_view input = "") {
  SendOptions options = keyed(key);
  options.start_if_ended = StartIfEnded{"takes", input};
  return options;
}

class MessageKeys : public Story {
 protected:
  MessageKeys() {
    add("takes", takes);
    add("counts", counts);
    add("hears", hears);
  }
  Status send(std::string_view text, std::string_view key) {
    return client()->enqueue_event("a", "q", text, keyed(key));
  }
  void begin() {
    start_worker();
    start("a", "takes");
  }
  std::string all_taken() {
    enqueue_event("a", "q", "end");
    return end_of("a");
  }
  // A message from the worker's own thread, piggybacked on a turn.
  Status send_here(Worker& worker, std::string_view text, std::string_view key) {
    return answer_of(worker, [&](Status* answer) {
      return worker.runtime->enqueue_event("a", "q", text, keyed(key), keep_answer, answer);
    });
  }
};

TEST_F(MessageKeys, TheSameKeyIsDeliveredOnce) {
  begin();
  EXPECT_EQ(send("one", "k1"), Status::kOk);
  EXPECT_EQ(send("one", "k1"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(send("one", "k1"), Status::kOk) << "after a turn took it";
  EXPECT_EQ(send("two", "k2"), Status::kOk);
  EXPECT_EQ(send("one", "k1"), Status::kOk);
  EXPECT_EQ(send("one", "K1"), Status::kOk) << "keys are compared byte for byte";
  EXPECT_EQ(all_taken(), "completed one,two,one,");
}

TEST_F(MessageKeys, AnotherMessageWithTheKeyIsRefused) {
  begin();
  ASSERT_EQ(send("one", "k"), Status::kOk);
  EXPECT_EQ(send("two", "k"), Status::kKeyReused);
  EXPECT_NE(client()->error_text().find("key 'k'"), std::string_view::npos)
      << client()->error_text();
  EXPECT_EQ(client()->enqueue_event("a", "other", "one", keyed("k")), Status::kKeyReused);
  EXPECT_EQ(client()->raise_event("a", "q", "one", keyed("k")), Status::kKeyReused);
  EXPECT_EQ(send("one", "k"), Status::kOk);
  EXPECT_EQ(all_taken(), "completed one,");
}

// The keys lie in 16 rows of four.
TEST_F(MessageKeys, AMessageReadsTheKeysOnce) {
  begin();
  for (int i = 0; i < 4 * 20; ++i) {
    ASSERT_EQ(send("x", "k" + std::to_string(i)), Status::kOk);
    if (i % 10 == 0) pass(1'000);
  }
  forget_client();
  testing::StatementTrace trace;
  for (int i = 0; i < 4; ++i) {
    trace.clear();
    ASSERT_EQ(send("x", "new" + std::to_string(i)), Status::kOk);
    EXPECT_EQ(trace.times("SELECT", "FROM message_keys"), 16) << i;
    EXPECT_EQ(trace.times("SELECT", "i.keys_last"), 1) << i;
  }
  trace.clear();
  ASSERT_EQ(send("x", "new3"), Status::kOk);
  EXPECT_EQ(trace.times("SELECT", "FROM message_keys"), 1) << "the newest come first";
  CallAnswer answer;
  trace.clear();
  ASSERT_EQ(client()->call("a", "no", "x", std::chrono::milliseconds(0), &answer, keyed("new4")),
            Status::kTimeout);
  EXPECT_EQ(trace.times("SELECT", "FROM message_keys"), 16);
}

TEST_F(MessageKeys, EventsHaveKeysToo) {
  start_worker();
  start("a", "hears");
  for (const char* text : {"x", "x", "y"})
    ASSERT_EQ(client()->raise_event("a", "go", text, keyed(text)), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed xy");
}

TEST_F(MessageKeys, InstancesDoNotShareKeys) {
  begin();
  start("b", "takes");
  ASSERT_EQ(send("one", "k"), Status::kOk);
  ASSERT_EQ(client()->enqueue_event("b", "q", "two", keyed("k")), Status::kOk);
  enqueue_event("b", "q", "end");
  EXPECT_EQ(end_of("b"), "completed two,");
}

TEST_F(MessageKeys, AKeyIsAName) {
  begin();
  EXPECT_EQ(send("one", ""), Status::kInvalidArgument);
  EXPECT_EQ(send("one", "a\nb"), Status::kInvalidArgument);
  EXPECT_EQ(send("one", std::string(257, 'k')), Status::kInvalidArgument);
  Runtime& runtime = *workers.back()->runtime;
  EXPECT_EQ(runtime.enqueue_event("a", "q", "one", keyed("")), Status::kInvalidArgument);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(send("one", std::string(256, static_cast<char>('k' + i / 2))), Status::kOk);
  EXPECT_EQ(all_taken(), "completed one,one,one,");
}

// A broker repeats what it is not sure of, also after the end: that starts nothing (R11.2, R11.4).
TEST_F(MessageKeys, KeysOutliveTheEndAndPassToTheNextExecution) {
  begin();
  ASSERT_EQ(send("one", "k1"), Status::kOk);
  ASSERT_EQ(send("next", "k2"), Status::kOk);
  ASSERT_EQ(all_taken(), "completed one,next,");
  EXPECT_EQ(send("one", "k1"), Status::kOk);
  EXPECT_EQ(send("other", "k1"), Status::kKeyReused);
  EXPECT_EQ(send("new", "k3"), Status::kStale);
  EXPECT_EQ(send("new", "k3"), Status::kStale) << "a refused key is not known";
  EXPECT_EQ(client()->enqueue_event("a", "q", "one", keyed_start("k1")), Status::kOk);
  EXPECT_EQ(client().status("a").execution_id, 2);
  EXPECT_EQ(client()->enqueue_event("a", "q", "new", keyed_start("k3", "in,")), Status::kOk);
  EXPECT_EQ(client()->enqueue_event("a", "q", "new", keyed_start("k3", "in,")), Status::kOk);
  EXPECT_EQ(send("one", "k1"), Status::kOk);
  EXPECT_EQ(all_taken(), "completed in,new,");
  EXPECT_EQ(client().status("a").execution_id, 3);
}

TEST_F(MessageKeys, KeysGoWithTheInstance) {
  begin();
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(send("one", std::to_string(i)), Status::kOk);
  enqueue_event("a", "q", "end");
  ASSERT_TRUE(ends("a"));
  ASSERT_EQ(client()->delete_instance("a", false), Status::kOk);
  EXPECT_EQ(send("one", "1"), Status::kNotFound);
  ASSERT_EQ(client()->enqueue_event("a", "q", "two", keyed_start("1")), Status::kOk);
  EXPECT_EQ(all_taken(), "completed two,");
}

// The last so many keys are known, one by one, and those before them are not.
TEST_F(MessageKeys, TheWindowHoldsAsManyAsTheOptionSays) {
  for (const std::uint32_t most : {1U, 2U, 3U, 64U, 1'024U}) {
    Gateway place(most);
    place.add("counts", counts);
    place.options.retention.message_keys = most;
    place.start_worker();
    place.start("a", "counts");
    const auto send = [&](std::uint32_t number) {
      return place.client()->enqueue_event("a", "q", "m", keyed(std::to_string(number)));
    };
    const std::uint32_t sent = 2 * most + 3;
    for (std::uint32_t i = 0; i < sent; ++i) {
      ASSERT_EQ(send(i), Status::kOk);
      if (i % 16 == 0) place.pass(10);
    }
    for (std::uint32_t i = sent - most; i < sent; ++i)
      ASSERT_EQ(send(i), Status::kOk) << i;
    // The one before the window is a message of its own again, and is the newest key now.
    ASSERT_EQ(send(sent - most - 1), Status::kOk);
    place.enqueue_event("a", "q", "end");
    EXPECT_EQ(place.end_of("a"), "completed " + std::to_string(sent + 1)) << most;
  }
}

TEST_F(MessageKeys, AKeyIsForgottenWhenItIsTooOld) {
  options.retention.message_key_age = std::chrono::milliseconds(60'000);
  begin();
  ASSERT_EQ(send("one", "k"), Status::kOk);
  ASSERT_EQ(send("two", "l"), Status::kOk);
  pass(59'900);
  EXPECT_EQ(send("one", "k"), Status::kOk);
  EXPECT_EQ(send("other", "l"), Status::kKeyReused);
  pass(200);
  EXPECT_EQ(send("one", "k"), Status::kOk) << "a message of its own";
  EXPECT_EQ(send("other", "l"), Status::kOk);
  EXPECT_EQ(send("other", "l"), Status::kOk);
  EXPECT_EQ(all_taken(), "completed one,two,one,other,");
}

// The window is that of the Runtime which started last, for clients, too (R11.5).
TEST_F(MessageKeys, TheWindowIsANumberOfTheDatabase) {
  options.retention.message_keys = 2;
  begin();
  workers.clear();
  for (const char* key : {"1", "2", "3"})
    ASSERT_EQ(send(key, key), Status::kOk);
  ASSERT_EQ(send("3", "3"), Status::kOk);
  ASSERT_EQ(send("1", "1"), Status::kOk) << "no worker lives, and two keys are known";
  options.retention.message_keys = 10;
  start_worker();
  for (int i = 10; i < 18; ++i)
    ASSERT_EQ(send("x", std::to_string(i)), Status::kOk);
  ASSERT_EQ(send("1", "1"), Status::kOk);
  EXPECT_EQ(all_taken(), "completed 1,2,3,1,x,x,x,x,x,x,x,x,");
}

// R11.3.
TEST_F(MessageKeys, AMessageWithoutRoomLeavesNoKey) {
  options.limits.queue_messages_max = 2;
  begin();
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  for (const char* key : {"1", "2"})
    ASSERT_EQ(send(key, key), Status::kOk);
  EXPECT_EQ(send("3", "3"), Status::kResourceExhausted);
  EXPECT_EQ(send_here(*workers.back(), "3", "3"), Status::kResourceExhausted);
  EXPECT_EQ(send("1", "1"), Status::kOk) << "it is there, so it needs no room";
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(send("3", "3"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(all_taken(), "completed 1,2,3,");
}

// Messages of the worker's own thread: one alone, many in one tick, repeated in one tick.
TEST_F(MessageKeys, TheRuntimesOwnCallsDoTheSame) {
  begin();
  Worker& worker = *workers.back();
  pass(1'000);
  const std::uint64_t cold = worker.runtime->stats().turns;
  EXPECT_EQ(send_here(worker, "one", "k1"), Status::kOk);
  EXPECT_EQ(worker.runtime->stats().turns, cold + 1) << "piggybacked on the turn that took it";
  EXPECT_EQ(send_here(worker, "one", "k1"), Status::kOk);
  EXPECT_EQ(send("one", "k1"), Status::kOk);
  EXPECT_EQ(send_here(worker, "two", "k1"), Status::kKeyReused);
  std::vector<Status> answers(8, Status::kTimeout);
  const char* const texts[] = {"a", "b", "a", "other", "c", "a", "b", "d"};
  const char* const keys[] = {"ka", "kb", "ka", "ka", "kc", "ka", "kb", "kd"};
  for (std::size_t i = 0; i < answers.size(); ++i)
    ASSERT_EQ(
        worker.runtime->enqueue_event("a", "q", texts[i], keyed(keys[i]), keep_answer, &answers[i]),
        Status::kOk);
  pass(1'000);
  for (std::size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i], i == 3 ? Status::kKeyReused : Status::kOk) << i;
  EXPECT_EQ(send("a", "ka"), Status::kOk);
  EXPECT_EQ(all_taken(), "completed one,a,b,c,d,");
}

// Two processes send the same key at the same time.
TEST_F(MessageKeys, AnotherProcessMayBeFirst) {
  begin();
  Worker& worker = *workers.back();
  pass(1'000);
  for (int i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i);
    Status answer = Status::kTimeout;
    ASSERT_EQ(worker.runtime->enqueue_event("a", "q", "x", keyed(key), keep_answer, &answer),
              Status::kOk);
    ASSERT_EQ(send("x", key), Status::kOk);
    ASSERT_TRUE(drive_until([&] { return answer != Status::kTimeout; }));
    ASSERT_EQ(answer, Status::kOk);
  }
  std::string all = "completed ";
  for (int i = 0; i < 20; ++i)
    all += "x,";
  EXPECT_EQ(all_taken(), all);
}

// A death at each write of a send: what was answered is not delivered again when it is repeated,
// and what was not answered is delivered once by its repetition.
TEST_F(MessageKeys, DeathAtEveryWrite) {
  for (const bool here : {false, true}) {
    bool all_written = false;
    for (std::uint64_t nth = 1; !all_written && nth < 400; nth += PAWL_SAMPLE) {
      const std::string id = (here ? "h" : "c") + std::to_string(nth);
      Worker& worker = restart();
      start(id, "takes");
      ASSERT_EQ(client()->enqueue_event(id, "q", "one", keyed("k1")), Status::kOk);
      pass(500);
      const std::uint64_t before = machine.writes();
      worker.watch.hold();
      Status answer = Status::kTimeout;
      if (here) {
        ASSERT_EQ(worker.runtime->enqueue_event(id, "q", "two", keyed("k2"), keep_answer, &answer),
                  Status::kOk);
      } else {
        ASSERT_EQ(client()->enqueue_event(id, "q", "two", keyed("k2")), Status::kOk);
      }
      machine.fail_write(nth, Status::kIo, true);
      static_cast<void>(drive_until([&] { return machine.writes() >= before + nth; }, 35'000));
      all_written = machine.writes() < before + nth;
      worker.kill();
      machine.fail_write(0, Status::kOk, false);
      restart();
      for (const char* key : {"k1", "k2", "k1"})
        ASSERT_EQ(client()->enqueue_event(id, "q", key[1] == '1' ? "one" : "two", keyed(key)),
                  Status::kOk);
      enqueue_event(id, "q", "end");
      ASSERT_EQ(end_of(id), "completed one,two,") << nth;
    }
    EXPECT_TRUE(all_written);
  }
}

}  // namespace
}  // namespace pawl

// Goal: a call has one answer, which its sender gets however often it asks (R13.1): from the code,
// from the end of the instance (R13.3), after a crash of either side (R13.2), in a later execution
// (R13.4).
// Method: whole runtimes on the simulated machine. A call with a timeout of 0 asks and does not
// sleep; the sleeping call is tested on real files (host_test.cpp).
#include <gtest/gtest.h>

#include <string>

#include "pawl/visit.hpp"
#include "statement_trace.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Gateway;
using testing::StatementTrace;
using testing::Story;
using testing::Worker;

constexpr std::chrono::milliseconds kNow{0};

// Answers each call with its text, and refuses "bad". "late" is answered by the next message, "can"
// by the next execution, "end" by none.
Poll answers(OrchestrationContext& ctx) {
  const std::string handed_on(ctx.input());
  if (!handed_on.empty() && handed_on != "in") {
    if (ctx.reply(CallAddress{std::stoll(handed_on)},
                  "from " + std::to_string(ctx.execution_id())) != ErrorKind::kNone)
      return ctx.fail("not answered");
  }
  std::optional<CallAddress> late;
  for (;;) {
    const Handle handle = ctx.dequeue_event("q");
    PAWL_AWAIT(message, handle);
    if (!message.ok()) return ctx.fail(message.error());
    const std::string text(message.value());
    if (text == "end") return ctx.complete("ended");
    if (late.has_value() && ctx.reply(*late, "late by " + text) != ErrorKind::kNone)
      return ctx.fail("not answered late");
    late.reset();
    if (text == "late") {
      late = ctx.call_address(handle);
    } else if (text == "can") {
      const std::optional<CallAddress> address = ctx.call_address(handle);
      return ctx.continue_as_new(address.has_value() ? std::to_string(address->number) : "");
    } else if (text == "fail") {
      return ctx.fail("as asked");
    } else if (text == "bad") {
      if (ctx.refuse(handle, "it is bad") != ErrorKind::kNone) return ctx.fail("not refused");
    } else if (text == "last") {
      static_cast<void>(ctx.reply(handle, "the last"));
      return ctx.complete("answered");
    } else {
      const ErrorKind replied = ctx.reply(handle, "re " + text);
      static_cast<void>(ctx.reply(handle, "a second one"));
      if (replied != ErrorKind::kNone && replied != ErrorKind::kNotFound)
        return ctx.fail("not answered");
      if (ctx.set_custom_status(error_kind_name(replied)) != ErrorKind::kNone)
        return ctx.fail("no status");
    }
  }
}

// Answers with as many bytes as it is asked for.
Poll fills(OrchestrationContext& ctx) {
  for (;;) {
    const Handle handle = ctx.dequeue_event("q");
    PAWL_AWAIT(message, handle);
    if (!message.ok()) return ctx.fail(message.error());
    const auto bytes = static_cast<std::size_t>(std::stoul(std::string(message.value())));
    if (ctx.reply(handle, std::string(bytes, 'x')) != ErrorKind::kNone)
      static_cast<void>(ctx.refuse(handle, "too long"));
  }
}

// Two branches, and a handle that lost its message.
Poll answers_in_branches(OrchestrationContext& ctx) {
  auto branch = [](OrchestrationContext& inner) -> Poll {
    const Handle handle = inner.dequeue_event("q");
    PAWL_AWAIT(message, handle);
    if (!message.ok()) return inner.fail(message.error());
    if (inner.reply(handle, "by a branch") != ErrorKind::kNone) return inner.fail("not answered");
    return inner.complete(message.value());
  };
  const Handle opened = ctx.open_branch(branch);
  const Handle not_received = ctx.dequeue_event("other");
  PAWL_AWAIT_DONE(opened);
  if (ctx.reply(not_received, "early") != ErrorKind::kNotFound) return ctx.fail("answered");
  if (ctx.reply(Handle(), "none") != ErrorKind::kNotFound) return ctx.fail("answered");
  if (ctx.reply(CallAddress{}, "none") != ErrorKind::kInvalidArgument) return ctx.fail("answered");
  return ctx.complete("done");
}

class Calls : public Story {
 protected:
  Calls() {
    add("answers", answers);
    add("fills", fills);
    add("answers_in_branches", answers_in_branches);
  }
  static SendOptions keyed(std::string_view key) {
    SendOptions options;
    options.key = key;
    return options;
  }
  // The status of the call, and what it answered.
  std::string ask(std::string_view text, std::string_view key, const char* id = "a") {
    CallAnswer answer;
    const Status status = client()->call(id, "q", text, kNow, &answer, keyed(key));
    EXPECT_EQ(answer.key.view(), key);
    if (status != Status::kOk) return status_name(status);
    return std::string(answer.error == ErrorKind::kNone ? "" : "refused: ") +
           std::string(answer.value);
  }
  // The same, when the code has seen it.
  std::string answer_of_call(std::string_view text, std::string_view key, const char* id = "a") {
    const std::string first = ask(text, key, id);
    if (first != "timeout") return "at once: " + first;
    pass(1'000);
    return ask(text, key, id);
  }
  void begin() {
    start_worker();
    start("a", "answers", "in");
  }
};

TEST_F(Calls, ACallHasOneAnswer) {
  begin();
  EXPECT_EQ(answer_of_call("one", "k1"), "re one");
  EXPECT_EQ(client().status("a").custom_status, "none");
  EXPECT_EQ(answer_of_call("two", "k2"), "re two");
  EXPECT_EQ(ask("one", "k1"), "re one") << "it is kept, and the first answer counts";
  EXPECT_EQ(answer_of_call("bad", "k3"), "refused: it is bad");
  EXPECT_EQ(ask("bad", "k3"), "refused: it is bad");
  EXPECT_EQ(ask("other", "k3"), "key_reused");
  EXPECT_EQ(client()->enqueue_event("a", "q", "one", keyed("k1")), Status::kKeyReused)
      << "a message is no call";
}

// Its answer cannot be there when it is stored. Looks come 10, 110 and 1,110 ms after the message
// where no bell was heard, and one at the end.
TEST_F(Calls, ANewCallLooksWhenTheBellRang) {
  begin();
  ASSERT_EQ(answer_of_call("before", "k0"), "re before");
  workers.clear();
  forget_client();
  StatementTrace trace;
  CallAnswer answer;
  const auto call = [&](const char* key, int ms) {
    trace.clear();
    return client()->call("a", "q", "one", std::chrono::milliseconds(ms), &answer, keyed(key));
  };
  constexpr const char* kLook = "FROM calls WHERE number=";
  EXPECT_EQ(call("k1", 9), Status::kTimeout);
  EXPECT_EQ(trace.times("SELECT", kLook), 1) << "at its end";
  EXPECT_EQ(call("k2", 100), Status::kTimeout);
  EXPECT_EQ(trace.times("SELECT", kLook), 2);
  EXPECT_EQ(trace.times("BEGIN", ""), 1 + 2) << "status and answer are read in one view";
  EXPECT_EQ(call("k2", 9), Status::kTimeout);
  EXPECT_EQ(trace.times("SELECT", kLook), 2) << "a call that was made before looks at once";
  EXPECT_EQ(call("k0", 9), Status::kKeyReused);
  start_worker();
  pass(1'000);
  EXPECT_EQ(call("k2", 0), Status::kOk);
  EXPECT_EQ(trace.times("SELECT", kLook), 1);
  EXPECT_EQ(std::string_view(answer.value), "re one");
}

TEST_F(Calls, AMessageWithoutACallerIsNotAnswered) {
  begin();
  enqueue_event("a", "q", "plain");
  pass(1'000);
  EXPECT_EQ(client().status("a").custom_status, "not_found");
}

TEST_F(Calls, PawlMakesAKey) {
  begin();
  CallAnswer answer;
  ASSERT_EQ(client()->call("a", "q", "one", kNow, &answer), Status::kTimeout);
  const std::string key(answer.key.view());
  EXPECT_EQ(key.size(), 32U);
  pass(1'000);
  EXPECT_EQ(ask("one", key), "re one");
  ASSERT_EQ(client()->call("a", "q", "one", kNow, &answer), Status::kTimeout);
  EXPECT_NE(answer.key.view(), key);
}

TEST_F(Calls, TheAnswerMayComeLaterAndInTheNextExecution) {
  begin();
  EXPECT_EQ(answer_of_call("late", "k1"), "timeout");
  EXPECT_EQ(answer_of_call("one", "k2"), "re one");
  EXPECT_EQ(ask("late", "k1"), "late by one");
  EXPECT_EQ(answer_of_call("can", "k3"), "from 2");
  EXPECT_EQ(answer_of_call("two", "k4"), "re two");
  EXPECT_EQ(ask("can", "k3"), "from 2");
}

TEST_F(Calls, TheEndIsAnAnswer) {
  begin();
  EXPECT_EQ(answer_of_call("late", "k1"), "timeout");
  EXPECT_EQ(answer_of_call("end", "k2"), "stale");
  EXPECT_EQ(ask("late", "k1"), "stale");
  EXPECT_NE(client()->error_text().find("ended without an answer"), std::string_view::npos);
  EXPECT_EQ(ask("new", "k3"), "stale");
  // The next execution does not change that, and answers what is new.
  SendOptions starting = keyed("k4");
  starting.start_if_ended = StartIfEnded{"answers", "in"};
  CallAnswer answer;
  ASSERT_EQ(client()->call("a", "q", "one", kNow, &answer, starting), Status::kTimeout);
  pass(1'000);
  EXPECT_EQ(ask("one", "k4"), "re one");
  EXPECT_EQ(ask("late", "k1"), "stale");
  EXPECT_EQ(ask("end", "k2"), "stale");
  EXPECT_EQ(client().status("a").execution_id, 2);
}

TEST_F(Calls, EveryEndIsAnAnswer) {
  start_worker();
  const auto begin_late = [&](const char* id) {
    start(id, "answers", "in");
    EXPECT_EQ(answer_of_call("late", "k", id), "timeout") << id;
  };
  begin_late("failed");
  enqueue_event("failed", "q", "fail");
  begin_late("cancelled");
  cancel_instance("cancelled", "enough");
  begin_late("terminated");
  ASSERT_EQ(client()->terminate_instance("terminated", "enough"), Status::kOk);
  pass(2'000);
  for (const char* id : {"cancelled", "terminated"})
    EXPECT_EQ(ask("late", "k", id), "stale") << id;
  EXPECT_EQ(ask("late", "k", "failed"), "late by fail");
  EXPECT_EQ(ask("last", "k2", "nobody"), "not_found");
  start("last", "answers", "in");
  EXPECT_EQ(answer_of_call("last", "k", "last"), "the last") << "with the end";
}

TEST_F(Calls, ADeletedInstanceHasNoAnswers) {
  begin();
  EXPECT_EQ(answer_of_call("one", "k1"), "re one");
  enqueue_event("a", "q", "end");
  ASSERT_TRUE(ends("a"));
  EXPECT_EQ(ask("one", "k1"), "re one");
  ASSERT_EQ(client()->delete_instance("a", false), Status::kOk);
  EXPECT_EQ(ask("one", "k1"), "not_found");
}

TEST_F(Calls, BranchesAnswer) {
  start_worker();
  start("a", "answers_in_branches");
  EXPECT_EQ(answer_of_call("one", "k"), "by a branch");
  EXPECT_EQ(end_of("a"), "completed done");
}

// R13.5. Answers hold no more bytes than a mailbox; the oldest go, and the last one stays.
TEST_F(Calls, AnswersAreBounded) {
  options.limits.payload_bytes_max = 1'024;
  client_options.payload_bytes_max = 1'024;
  start_worker();
  start("a", "fills");
  for (int i = 0; i < 6; ++i) {
    const std::string key = "k" + std::to_string(i);
    EXPECT_EQ(answer_of_call("1000", key).size(), 1'000U) << i;
  }
  EXPECT_EQ(answer_of_call("1025", "long"), "refused: too long");
  EXPECT_EQ(ask("1000", "k5").size(), 1'000U);
  EXPECT_EQ(ask("1000", "k3").size(), 1'000U);
  EXPECT_EQ(ask("1000", "k1"), "stale") << "the answer is gone, and not asked for anew";
  EXPECT_NE(client()->error_text().find("the answer is gone"), std::string_view::npos);
}

TEST_F(Calls, AnswersAreKeptAsKeysAre) {
  options.retention.message_keys = 3;
  begin();
  for (const char* key : {"1", "2", "3", "4"})
    EXPECT_EQ(answer_of_call("m", key), "re m");
  EXPECT_EQ(ask("m", "2"), "re m");
  EXPECT_EQ(answer_of_call("m", "1"), "re m") << "a call of its own";
  // An open one is kept, however many come behind it.
  EXPECT_EQ(answer_of_call("late", "open"), "timeout");
  CallAnswer answer;
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  for (int i = 0; i < 10; ++i)
    ASSERT_EQ(client()->call("a", "q", "x", kNow, &answer), Status::kTimeout);
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
}

TEST_F(Calls, LimitsRefuse) {
  options.limits.queue_messages_max = 2;
  begin();
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  EXPECT_EQ(ask("1", "1"), "timeout");
  EXPECT_EQ(ask("2", "2"), "timeout");
  EXPECT_EQ(ask("3", "3"), "resource_exhausted");
  EXPECT_EQ(ask("1", "1"), "timeout");
  CallAnswer answer;
  EXPECT_EQ(client()->call("a", "", "x", kNow, &answer), Status::kInvalidArgument);
  EXPECT_EQ(client()->call("a", "q", "x", kNow, &answer, keyed("")), Status::kInvalidArgument);
  EXPECT_EQ(client()->call("a", "q", std::string(70'000, 'x'), kNow, &answer),
            Status::kResourceExhausted);
}

// A death at each write, of the caller or of the worker: the repeated call gets one answer.
TEST_F(Calls, DeathAtEveryWrite) {
  bool all_written = false;
  for (std::uint64_t nth = 1; !all_written && nth < 600; nth += PAWL_SAMPLE) {
    const std::string id = "a" + std::to_string(nth);
    Worker& worker = restart();
    start(id, "answers", "in");
    CallAnswer answer;
    ASSERT_EQ(client()->call(id, "q", "can", kNow, &answer, keyed("k1")), Status::kTimeout);
    ASSERT_EQ(client()->call(id, "q", "one", kNow, &answer, keyed("k2")), Status::kTimeout);
    const std::uint64_t before = machine.writes();
    worker.watch.hold();
    machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(drive_until([&] { return machine.writes() >= before + nth; }, 5'000));
    all_written = machine.writes() < before + nth;
    worker.kill();
    machine.fail_write(0, Status::kOk, false);
    restart();
    static_cast<void>(ask("can", "k1", id.c_str()));
    static_cast<void>(ask("one", "k2", id.c_str()));
    pass(2'000);
    ASSERT_EQ(ask("can", "k1", id.c_str()), "from 2") << nth;
    ASSERT_EQ(ask("one", "k2", id.c_str()), "re one") << nth;
  }
  EXPECT_TRUE(all_written);
}

}  // namespace
}  // namespace pawl

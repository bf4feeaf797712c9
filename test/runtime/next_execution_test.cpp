// Goal: a message starts what it needs, and a start says what an id in use means (R10.5): start and
// message are one commit, on a new id, after an end and after a removal, whatever is killed.
#include <gtest/gtest.h>

#include <string>

#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

// Takes one message and shows what it found: execution, input, message, value and status of before.
// The message "fail" makes it fail, "stay" makes it take another one.
Poll takes(OrchestrationContext& ctx) {
  const std::string value = std::string(ctx.get_kv_value("value").value_or("none"));
  const std::string status =
      std::string(ctx.get_custom_status().empty() ? "none" : ctx.get_custom_status());
  PAWL_AWAIT(message, ctx.dequeue_event("q"));
  if (!message.ok()) return ctx.fail(message.error());
  const std::string text = std::string(message.value());
  if (text == "stay") PAWL_AWAIT_DONE(ctx.dequeue_event("q"));
  if (ctx.set_kv_value("value", text) != ErrorKind::kNone ||
      ctx.set_custom_status("took " + text) != ErrorKind::kNone)
    return ctx.fail("refused");
  if (text == "fail") return ctx.fail("as asked");
  return ctx.complete(std::to_string(ctx.execution_id()) + " " + std::string(ctx.input()) + " " +
                      text + " " + value + " " + status);
}

Poll hears(OrchestrationContext& ctx) {
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  return ctx.complete(event.ok() ? event.value() : "nothing");
}

Poll parent(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_sub_orchestration("takes", "", {InstanceId("kid")}));
  return ctx.complete(done.ok() ? done.value() : done.error().text);
}

// Its history is longer than one batch removes.
Poll long_one(OrchestrationContext& ctx) {
  for (int i = 0; i < 1'000; ++i)
    if (ctx.set_kv_value("n", std::to_string(i)) != ErrorKind::kNone) return ctx.fail("refused");
  if (ctx.execution_id() < 9) return ctx.continue_as_new("");
  return ctx.complete("long");
}

class NextExecution : public Story {
 protected:
  NextExecution() {
    add("takes", takes);
    add("hears", hears);
    add("parent", parent);
    add("long", long_one);
  }
  static SendOptions starting(std::string_view definition, std::string_view input,
                              const StartOptions& how = {}) {
    SendOptions options;
    options.start_if_ended = StartIfEnded{definition, input, how};
    return options;
  }
  Status send(std::string_view id, std::string_view text, std::string_view input = "in") {
    return client()->enqueue_event(id, "q", text, starting("takes", input));
  }
  Status start_again(std::string_view id, IfRunning if_running, IfEnded if_ended) {
    StartOptions how;
    how.if_running = if_running;
    how.if_ended = if_ended;
    return client()->start_orchestration("takes", InstanceId(id), "again", how);
  }
  std::int64_t execution_of(std::string_view id) { return client().status(id).execution_id; }
  std::int64_t executions_kept(std::string_view id) {
    std::int64_t count = 0;
    auto counts = visit([&](const ExecutionInfo&) { ++count; });
    EXPECT_EQ(client()->list_executions(id, counts), Status::kOk);
    return count;
  }
};

TEST_F(NextExecution, AMessageStartsWhatIsNotThere) {
  start_worker();
  ASSERT_EQ(send("a", "one"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed 1 in one none none");
  ASSERT_EQ(client()->raise_event("b", "go", "now", starting("hears", "")), Status::kOk);
  EXPECT_EQ(end_of("b"), "completed now");
}

TEST_F(NextExecution, TheStartIsNotUsedWhileItRuns) {
  start_worker();
  start("a", "takes", "first");
  ASSERT_EQ(send("a", "one", "unused"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 1 first one none none");
  EXPECT_EQ(execution_of("a"), 1);
}

TEST_F(NextExecution, AfterTheEndItBeginsAnewWithWhatWasKept) {
  start_worker();
  ASSERT_EQ(send("a", "one"), Status::kOk);
  ASSERT_EQ(end_of("a"), "completed 1 in one none none");
  ASSERT_EQ(send("a", "two", "next"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 2 next two one took one");
  // A failed one has kept what it wrote, too.
  ASSERT_EQ(send("a", "fail", "third"), Status::kOk);
  ASSERT_EQ(end_of("a"), "failed application as asked");
  ASSERT_EQ(send("a", "four", "fourth"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 4 fourth four fail took fail");
  EXPECT_EQ(history("a", 1).size(), history("a", 2).size()) << "earlier executions stay";
}

TEST_F(NextExecution, MessagesThatWereUnreadComeBeforeTheNewOne) {
  start_worker();
  start("a", "takes", "first");
  for (const char* text : {"one", "two", "three"})
    enqueue_event("a", "q", text);
  ASSERT_EQ(end_of("a"), "completed 1 first one none none");
  EXPECT_EQ(client().status("a").unread_messages, 2);
  ASSERT_EQ(send("a", "four"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 2 in two one took one");
  ASSERT_EQ(start_again("a", IfRunning::kRefuse, IfEnded::kNextExecution), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 3 again three two took two");
  EXPECT_EQ(client().status("a").unread_messages, 1);
}

TEST_F(NextExecution, ASuspendedOneGetsTheMessage) {
  start_worker();
  start("a", "takes", "first");
  ASSERT_EQ(client()->suspend_instance("a"), Status::kOk);
  ASSERT_EQ(send("a", "one", "unused"), Status::kOk);
  ASSERT_EQ(client()->resume_instance("a"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 1 first one none none");
}

TEST_F(NextExecution, ACancelRequestEndsWithItsExecution) {
  start_worker();
  start("a", "takes", "first");
  cancel_instance("a", "enough");
  ASSERT_EQ(end_of("a"), "failed cancelled enough");
  ASSERT_EQ(send("a", "one", "next"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 2 next one none none");
}

TEST_F(NextExecution, AChildThatHasEndedIsRefused) {
  start_worker();
  start("p", "parent");
  ASSERT_TRUE(drive_until([&] { return is_there("kid"); }));
  ASSERT_EQ(client()->enqueue_event("kid", "q", "one", starting("takes", "x")), Status::kOk);
  ASSERT_EQ(end_of("p"), "completed 1  one none none");
  EXPECT_EQ(send("kid", "two"), Status::kChildInstance);
  EXPECT_EQ(start_again("kid", IfRunning::kTake, IfEnded::kNextExecution), Status::kChildInstance);
  EXPECT_EQ(execution_of("kid"), 1);
}

// Each state of the instance that has the id, and each option.
TEST_F(NextExecution, AStartSaysWhatAnIdInUseMeans) {
  start_worker();
  const auto begin = [&](std::string_view id, const char* message) {
    start(id, "takes", "first");
    if (message == nullptr) return;
    enqueue_event(id, "q", message);
    ASSERT_TRUE(ends(id));
  };
  const IfEnded all[] = {IfEnded::kRefuse, IfEnded::kNextExecution, IfEnded::kNextIfFailed};
  for (const IfEnded if_ended : all) {
    const std::string name = std::to_string(static_cast<int>(if_ended));
    begin("runs" + name, nullptr);
    EXPECT_EQ(start_again("runs" + name, IfRunning::kRefuse, if_ended), Status::kAlreadyExists);
    EXPECT_EQ(start_again("runs" + name, IfRunning::kTake, if_ended), Status::kOk);
    EXPECT_EQ(execution_of("runs" + name), 1);
    ASSERT_EQ(client()->suspend_instance("runs" + name), Status::kOk);
    EXPECT_EQ(start_again("runs" + name, IfRunning::kRefuse, if_ended), Status::kAlreadyExists);
    EXPECT_EQ(start_again("runs" + name, IfRunning::kTake, if_ended), Status::kOk);
    begin("done" + name, "one");
    const bool next = if_ended == IfEnded::kNextExecution;
    EXPECT_EQ(start_again("done" + name, IfRunning::kTake, if_ended),
              next ? Status::kOk : Status::kAlreadyExists);
    EXPECT_EQ(execution_of("done" + name), next ? 2 : 1);
    begin("failed" + name, "fail");
    const bool again = if_ended != IfEnded::kRefuse;
    EXPECT_EQ(start_again("failed" + name, IfRunning::kRefuse, if_ended),
              again ? Status::kOk : Status::kAlreadyExists);
    EXPECT_EQ(execution_of("failed" + name), again ? 2 : 1);
  }
}

TEST_F(NextExecution, AStartThatTakesMakesANewOne) {
  start_worker();
  for (const IfEnded if_ended :
       {IfEnded::kRefuse, IfEnded::kNextExecution, IfEnded::kNextIfFailed}) {
    const std::string id = "new " + std::to_string(static_cast<int>(if_ended));
    ASSERT_EQ(start_again(id, IfRunning::kTake, if_ended), Status::kOk);
    enqueue_event(id, "q", "one");
    EXPECT_EQ(end_of(id), "completed 1 again one none none");
  }
}

TEST_F(NextExecution, AnIdThatIsBeingRemovedBeginsAsNew) {
  Worker& worker = start_worker();
  start("a", "long");
  ASSERT_EQ(end_of("a"), "completed long");
  InstanceInfo before;
  ASSERT_EQ(client()->get_instance_info("a", &before), Status::kOk);
  // The worker removes it in several ticks, and both calls come in between.
  ASSERT_EQ(worker.runtime->delete_instance("a", false), Status::kOk);
  ASSERT_EQ(worker.runtime->tick(std::chrono::milliseconds::max()).status(), Status::kOk);
  ASSERT_FALSE(is_there("a"));
  ASSERT_EQ(send("a", "one"), Status::kOk) << client()->error_text();
  EXPECT_EQ(end_of("a"), "completed 1 in one none none") << "nothing of the former one is left";
  InstanceInfo after;
  ASSERT_EQ(client()->get_instance_info("a", &after), Status::kOk);
  EXPECT_NE(after.key, before.key);
}

TEST_F(NextExecution, TheRuntimesOwnCallsDoTheSame) {
  Worker& worker = start_worker();
  Runtime& runtime = *worker.runtime;
  const auto send_here = [&](const char* text, const char* input) {
    return answer_of(worker, [&](Status* answer) {
      return runtime.enqueue_event("a", "q", text, starting("takes", input), keep_answer, answer);
    });
  };
  EXPECT_EQ(send_here("one", "first"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 1 first one none none");
  EXPECT_EQ(send_here("two", "second"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 2 second two one took one");
  StartOptions how;
  how.if_ended = IfEnded::kNextExecution;
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return runtime.start_orchestration("takes", InstanceId("a"), "third", how,
                                                           keep_answer, answer);
                      }),
            Status::kOk);
  EXPECT_EQ(send_here("three", "unused"), Status::kOk);
  EXPECT_EQ(end_of("a"), "completed 3 third three two took two");
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return runtime.raise_event("b", "go", "now", starting("hears", ""),
                                                   keep_answer, answer);
                      }),
            Status::kOk);
  EXPECT_EQ(end_of("b"), "completed now");
  // A deleted instance of several batches gives its id to this very request.
  start("long", "long");
  ASSERT_EQ(end_of("long"), "completed long");
  ASSERT_EQ(runtime.delete_instance("long", false), Status::kOk);
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return runtime.enqueue_event("long", "q", "one", starting("takes", "in"),
                                                     keep_answer, answer);
                      }),
            Status::kOk);
  EXPECT_EQ(end_of("long"), "completed 1 in one none none");
}

// A message that has no room starts nothing, on a new id and after an end.
TEST_F(NextExecution, LimitsRefuseBothOrNone) {
  options.limits.queue_messages_max = 2;
  start_worker();
  start("a", "takes");
  for (const char* text : {"one", "two"})
    enqueue_event("a", "q", text);
  ASSERT_TRUE(ends("a"));
  ASSERT_EQ(send("a", "three"), Status::kOk) << "one is unread";
  ASSERT_TRUE(ends("a"));
  ASSERT_EQ(execution_of("a"), 2);
  // Now one is unread; two more would be three.
  start("full", "hears");
  for (int i = 0; i < 2; ++i)
    enqueue_event("full", "q", "x");
  cancel_instance("full", "end");
  ASSERT_TRUE(ends("full"));
  ASSERT_EQ(client().status("full").unread_messages, 2);
  EXPECT_EQ(send("full", "x"), Status::kResourceExhausted);
  EXPECT_EQ(execution_of("full"), 1);
  EXPECT_EQ(client()->enqueue_event("new", "", "x", starting("takes", "")),
            Status::kInvalidArgument);
  EXPECT_EQ(client()->enqueue_event("new", "q", "x", starting("", "")), Status::kInvalidArgument);
  EXPECT_EQ(client()->enqueue_event("a::1", "q", "x", starting("takes", "")),
            Status::kInvalidArgument);
  EXPECT_EQ(client()->enqueue_event("new", "q", std::string(70'000, 'x'), starting("takes", "")),
            Status::kResourceExhausted);
  EXPECT_EQ(client()->enqueue_event("new", "q", "x", starting("takes", std::string(70'000, 'x'))),
            Status::kResourceExhausted);
  EXPECT_FALSE(is_there("new"));
}

TEST_F(NextExecution, EarlierExecutionsGoWithItsFirstTurn) {
  options.retention.executions = 2;
  start_worker();
  for (int i = 1; i <= 5; ++i) {
    ASSERT_EQ(send("a", "m"), Status::kOk);
    ASSERT_TRUE(ends("a"));
    EXPECT_EQ(executions_kept("a"), i < 2 ? i : 2);
  }
}

TEST_F(NextExecution, ItBeginsLaterIfTheStartSaysSo) {
  start_worker();
  ASSERT_EQ(send("a", "one"), Status::kOk);
  ASSERT_TRUE(ends("a"));
  StartOptions later;
  later.start_after = std::chrono::milliseconds(60'000);
  later.trace_id = Name("trace-2");
  ASSERT_EQ(client()->enqueue_event("a", "q", "two", starting("takes", "in", later)), Status::kOk);
  pass(59'000);
  EXPECT_TRUE(is_running("a"));
  InstanceInfo info;
  ASSERT_EQ(client()->get_instance_info("a", &info), Status::kOk);
  EXPECT_EQ(info.trace_id, "trace-2");
  EXPECT_EQ(end_of("a"), "completed 2 in two one took one");
}

// A death at each write of the send and of the turns behind it: an answered message is received
// once, in an execution of its own; one that was not answered left a whole start and message, or
// nothing.
TEST_F(NextExecution, DeathAtEveryWrite) {
  bool all_written = false;
  for (std::uint64_t nth = 1; !all_written && nth < 400; nth += PAWL_SAMPLE) {
    const std::string id = "i" + std::to_string(nth);
    Worker& worker = restart();
    start(id, "takes", "first");
    enqueue_event(id, "q", "one");
    ASSERT_TRUE(ends(id));
    Status answer = Status::kTimeout;
    ASSERT_EQ(worker.runtime->enqueue_event(id, "q", "two", starting("takes", "in"), keep_answer,
                                            &answer),
              Status::kOk);
    const std::uint64_t before = machine.writes();
    worker.watch.hold();
    machine.fail_write(nth, Status::kIo, true);
    static_cast<void>(drive_until([&] { return machine.writes() >= before + nth; }, 35'000));
    all_written = machine.writes() < before + nth;
    worker.kill();
    machine.fail_write(0, Status::kOk, false);
    restart();
    const bool begun = execution_of(id) == 2;
    if (answer == Status::kOk) {
      ASSERT_TRUE(begun) << nth;
    }
    if (!begun) {
      ASSERT_EQ(send(id, "two"), Status::kOk) << nth;
    }
    ASSERT_EQ(end_of(id), "completed 2 in two one took one") << nth;
  }
  EXPECT_TRUE(all_written);
}

}  // namespace
}  // namespace pawl

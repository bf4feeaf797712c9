// Goal: the values that an instance keeps under its keys are there for its code, for other
// instances and for clients, after any kill, restart, eviction or continue-as-new. Method: whole
// runtimes on the simulated machine; the code returns what it saw as its output.
#include <gtest/gtest.h>

#include <string>

#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

struct Bed {
  int number = 0;
  JsonText<16> label;
};
PAWL_JSON(Bed, number, label)

std::string value_of(OrchestrationContext& ctx, std::string_view key) {
  return std::string(ctx.get_kv_value(key).value_or("none"));
}

std::string all_of(OrchestrationContext& ctx) {
  std::string all;
  for (KvEntry entry; ctx.next_kv_value(&entry);)
    all += std::string(entry.key) + "=" + std::string(entry.value) + " ";
  return all;
}

Poll pause(OrchestrationContext& ctx, int for_s = 1) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(for_s)));
  return Poll::done();
}

// Counts to three in each of three executions. In comparable engines, an execution read its own
// writes wrongly after every replay.
Poll counter(OrchestrationContext& ctx) {
  for (int i = 0; i < 3; ++i) {
    const int next = std::stoi("0" + std::string(ctx.get_kv_value("n").value_or(""))) + 1;
    EXPECT_EQ(ctx.set_kv_value("n", std::to_string(next)), ErrorKind::kNone);
    PAWL_CALL(pause(ctx));
  }
  if (ctx.execution_id() < 3) return ctx.continue_as_new("");
  return ctx.complete(value_of(ctx, "n"));
}

// Answers each request of its queue with a value under the request's own key.
Poll server(OrchestrationContext& ctx) {
  PAWL_AWAIT(request, ctx.dequeue_event("requests"));
  if (request.value() == "end") return ctx.complete(all_of(ctx));
  EXPECT_EQ(ctx.set_kv_value("answer:" + std::string(request.value()),
                             "done " + std::string(request.value())),
            ErrorKind::kNone);
  return ctx.continue_as_new("");
}

// Publishes a value, and then continues for as long as it is asked to.
Poll publisher(OrchestrationContext& ctx) {
  EXPECT_EQ(ctx.set_kv_value("k", ctx.input()), ErrorKind::kNone);
  PAWL_CALL(pause(ctx, 60));
  EXPECT_EQ(ctx.set_kv_value("k", "later"), ErrorKind::kNone);
  EXPECT_EQ(ctx.set_kv_value("late", "x"), ErrorKind::kNone);
  PAWL_CALL(pause(ctx, 60));
  return ctx.complete("");
}

// Reads a value of another instance before, at and after its change.
Poll reader(OrchestrationContext& ctx) {
  std::string seen;
  for (const char* key : {"k", "none"}) {
    PAWL_AWAIT(value, ctx.get_kv_value_from_instance(ctx.input(), key));
    seen += value.ok() ? std::string(value.value()) : error_kind_name(value.error().kind);
    seen += ",";
  }
  PAWL_AWAIT(none, ctx.get_kv_value_from_instance("nobody", "k"));
  seen += std::string(error_kind_name(none.error().kind)) + ",";
  EXPECT_EQ(ctx.set_kv_value("own", "mine"), ErrorKind::kNone);
  PAWL_AWAIT(own, ctx.get_kv_value_from_instance(ctx.instance_id(), "own"));
  seen += std::string(own.value()) + ",";
  PAWL_CALL(pause(ctx, 90));
  const Handle both = ctx.join(ctx.get_kv_value_from_instance(ctx.input(), "k"),
                               ctx.get_kv_value_from_instance(ctx.input(), "late"));
  PAWL_AWAIT_DONE(both);
  PAWL_AWAIT(later, ctx.get_kv_value_from_instance(ctx.input(), "k"));
  return ctx.complete(seen + std::string(later.value()));
}

// Asks for a value, and leaves before the answer comes.
Poll asks_and_leaves(OrchestrationContext& ctx) {
  if (ctx.execution_id() == 3) {
    PAWL_CALL(pause(ctx));
    return ctx.complete("end");
  }
  const Handle asked = ctx.get_kv_value_from_instance("nobody", "k");
  if (ctx.execution_id() == 1) return ctx.continue_as_new("");
  ctx.cancel(asked);
  PAWL_CALL(pause(ctx));
  return ctx.continue_as_new("");
}

Poll typed(OrchestrationContext& ctx) {
  Bed bed;
  if (ctx.get_kv_value_typed("bed", &bed) == Status::kNotFound) {
    bed.number = 7;
    if (bed.label.assign("herbs") != Status::kOk) return ctx.fail("label");
    if (ctx.set_kv_value_typed("bed", bed) != ErrorKind::kNone) return ctx.fail("refused");
    EXPECT_EQ(ctx.set_kv_value("text", "no json"), ErrorKind::kNone);
    return ctx.continue_as_new("");
  }
  const bool is_bad = ctx.get_kv_value_typed("text", &bed) == Status::kCorrupt;
  return ctx.complete(std::to_string(bed.number) + std::string(bed.label.view()) +
                      (is_bad ? "" : "!"));
}

// Uses every call for values in three executions, each of several turns.
Poll everything(OrchestrationContext& ctx) {
  std::string seen(ctx.input());
  if (ctx.execution_id() == 1) {
    EXPECT_EQ(ctx.set_kv_value("a", "1"), ErrorKind::kNone);
    EXPECT_EQ(ctx.set_kv_value("b", "1"), ErrorKind::kNone);
    EXPECT_EQ(ctx.set_custom_status("first"), ErrorKind::kNone);
    PAWL_CALL(pause(ctx));
    EXPECT_EQ(ctx.set_kv_value("c", "1"), ErrorKind::kNone);
    EXPECT_EQ(ctx.clear_kv_value("b"), ErrorKind::kNone);
    seen += all_of(ctx) + std::string(ctx.get_custom_status()) + "|";
    PAWL_CALL(pause(ctx));
    return ctx.continue_as_new(seen);
  }
  if (ctx.execution_id() == 2) {
    seen += all_of(ctx) + std::string(ctx.get_custom_status()) + "|";
    EXPECT_EQ(ctx.set_kv_value("b", "2"), ErrorKind::kNone);
    PAWL_CALL(pause(ctx));
    EXPECT_EQ(ctx.set_custom_status("second"), ErrorKind::kNone);
    seen += std::to_string(ctx.prune_kv_values_updated_before(ctx.now_ms())) + " ";
    seen += all_of(ctx) + std::string(ctx.get_custom_status()) + "|";
    EXPECT_EQ(ctx.set_kv_value("d", "2"), ErrorKind::kNone);
    PAWL_CALL(pause(ctx));
    return ctx.continue_as_new(seen);
  }
  seen += all_of(ctx) + std::string(ctx.get_custom_status()) + "|";
  PAWL_CALL(pause(ctx));
  seen += std::to_string(ctx.clear_all_kv_values());
  seen += all_of(ctx) + "|";
  ctx.reset_custom_status();
  EXPECT_EQ(ctx.set_kv_value("z", "3"), ErrorKind::kNone);
  return ctx.complete(seen + std::string(ctx.get_custom_status()));
}
constexpr char kEverything[] = "a=1 c=1 first|a=1 c=1 first|3 second|d=2 second|1|";

// Sets one more key in each turn, until one is refused.
Poll fills(OrchestrationContext& ctx) {
  for (int i = 0;; ++i) {
    const ErrorKind refused = ctx.set_kv_value("k" + std::to_string(i), "v");
    if (refused != ErrorKind::kNone)
      return ctx.complete(std::to_string(ctx.get_kv_length()) + error_kind_name(refused));
    PAWL_CALL(pause(ctx));
    if (i == 3 && ctx.execution_id() == 1) return ctx.continue_as_new("");
  }
}

// Takes a message after each pause, and notes "-" when there is none.
Poll polls(OrchestrationContext& ctx) {
  std::string all;
  for (int i = 0; i < 8; ++i) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    all += message.ok() ? std::string(message.value()) : "-";
    if (!message.ok()) PAWL_CALL(pause(ctx, 10));
  }
  return ctx.complete(all);
}

class Kv : public Story {
 protected:
  Kv() {
    add("counter", counter);
    add("server", server);
    add("publisher", publisher);
    add("reader", reader);
    add("asks_and_leaves", asks_and_leaves);
    add("typed", typed);
    add("everything", everything);
    add("fills", fills);
    add("polls", polls);
    patience_ms = 3'600'000;
  }
  std::string get(std::string_view id, std::string_view key) {
    KvEntry entry;
    bool found = false;
    const Status status = client()->get_kv_value(id, key, &entry, &found);
    if (status != Status::kOk) return status_name(status);
    return found ? std::string(entry.value) : "none";
  }
  std::string all(std::string_view id) {
    std::string all;
    auto keep = visit([&](const KvEntry& value) {
      all += std::string(value.key) + "=" + std::string(value.value) + " ";
    });
    KvPage page;
    page.rows_max = 2;
    do {
      EXPECT_EQ(client()->get_all_kv_values(id, &page, keep), Status::kOk)
          << client()->error_text();
    } while (page.more);
    return all;
  }
};

TEST_F(Kv, ReadModifyWriteCounter) {
  start_worker();
  start("i", "counter");
  EXPECT_EQ(end_of("i"), "completed 9");
  EXPECT_EQ(get("i", "n"), "9");
}

TEST_F(Kv, RequestResponse) {
  start_worker();
  start("i", "server");
  pass(100);
  for (const char* request : {"1", "2", "end"})
    enqueue_event("i", "requests", request);
  EXPECT_EQ(end_of("i"), "completed answer:1=done 1 answer:2=done 2 ");
  EXPECT_EQ(get("i", "answer:2"), "done 2");
}

TEST_F(Kv, CrossRead) {
  start_worker();
  start("other", "publisher", "first");
  pass(100);
  start("i", "reader", "other");
  EXPECT_EQ(end_of("i"), "completed first,not_found,no_instance,mine,later");
}

TEST_F(Kv, CrossReadSurvivesAKillAtEveryStep) {
  start_worker();
  start("other", "publisher", "first");
  pass(100);
  start("i", "reader", "other");
  workers.clear();
  for (int step = 0; is_running("i"); ++step) {
    ASSERT_LT(step, 200);
    Worker& at = restart();
    static_cast<void>(at.runtime->tick(std::chrono::milliseconds::max()));
    at.kill();
    if (step % 8 == 7) machine.advance(15'000);
  }
  EXPECT_EQ(outcome_of("i"), "completed first,not_found,no_instance,mine,later");
}

// An answer that comes too late finds no waiting call.
TEST_F(Kv, AnswersWithoutACallerAreDropped) {
  start_worker();
  start("i", "asks_and_leaves");
  EXPECT_EQ(end_of("i"), "completed end");
}

TEST_F(Kv, CrossReadCostsOneTurnMore) {
  Worker& at = start_worker();
  start("other", "publisher", "first");
  pass(100);
  const std::uint64_t turns = at.runtime->stats().turns;
  start("i", "reader", "other");
  pass(100);
  EXPECT_EQ(at.runtime->stats().turns - turns, 5U);  // one for its start and one for each answer
}

TEST_F(Kv, Typed) {
  start_worker();
  start("i", "typed");
  EXPECT_EQ(end_of("i"), "completed 7herbs");
  Bed bed;
  bool found = false;
  ASSERT_EQ(client()->get_kv_value_typed("i", "bed", &bed, &found), Status::kOk);
  EXPECT_TRUE(found);
  EXPECT_EQ(bed.number, 7);
  EXPECT_EQ(client()->get_kv_value_typed("i", "text", &bed, &found), Status::kCorrupt);
  EXPECT_EQ(client()->get_kv_value_typed("i", "other", &bed, &found), Status::kOk);
  EXPECT_FALSE(found);
}

TEST_F(Kv, SurvivesContinueAsNewAndCompletion) {
  start_worker();
  start("i", "everything");
  EXPECT_EQ(end_of("i"), std::string("completed ") + kEverything);
  EXPECT_EQ(all("i"), "z=3 ");
  EXPECT_EQ(client().status("i").custom_status, "");
  ASSERT_EQ(client()->delete_instance("i", false), Status::kOk);
  EXPECT_EQ(get("i", "z"), "not_found");
}

TEST_F(Kv, SurvivesAKillAtEveryTick) {
  start("i", "everything");
  for (int step = 0; is_running("i"); ++step) {
    ASSERT_LT(step, 200);
    Worker& at = restart();
    static_cast<void>(at.runtime->tick(std::chrono::milliseconds::max()));
    at.kill();
    machine.advance(400);
  }
  EXPECT_EQ(outcome_of("i"), std::string("completed ") + kEverything);
  EXPECT_EQ(all("i"), "z=3 ");
}

TEST_F(Kv, SurvivesRestartAndCrashInEveryPhase) {
  start("i", "everything");
  for (int phase = 0; phase < 6; ++phase) {
    Worker& at = start_worker();
    pass(700);
    if (phase % 2 == 0) at.kill();
    workers.clear();
  }
  start_worker();
  EXPECT_EQ(end_of("i"), std::string("completed ") + kEverything);
}

// The values are loaded once, with the history, and not again in warm turns.
TEST_F(Kv, WarmTurnsReadNoValues) {
  Worker& at = start_worker();
  start("i", "counter");
  EXPECT_EQ(end_of("i"), "completed 9");
  EXPECT_EQ(at.runtime->stats().cold_loads, 3U) << "one an execution";
}

TEST_F(Kv, KeysAreLimitedOverTurnsAndExecutions) {
  options.limits.kv_keys_max = 6;
  start_worker();
  start("i", "fills");
  EXPECT_EQ(end_of("i"), "completed 6limit");
  InstanceStats stats;
  ASSERT_EQ(client()->get_instance_stats("i", &stats), Status::kOk);
  EXPECT_EQ(stats.kv_keys, 6);
}

// An operator terminates the execution; its values stay as they were.
TEST_F(Kv, SurvivesTermination) {
  start_worker();
  start("i", "publisher", "first");
  pass(70'000);
  ASSERT_EQ(client()->terminate_instance("i", "enough"), Status::kOk);
  pass(1'000);
  EXPECT_EQ(client().status("i").error, ErrorKind::kTerminated);
  EXPECT_EQ(all("i"), "k=later late=x ");
}

TEST_F(Kv, ClientAnswersByName) {
  start_worker();
  EXPECT_EQ(get("i", "k"), "not_found");
  EXPECT_EQ(client()->error_text(), "there is no instance \"i\"");
  start("i", "publisher", "first");
  EXPECT_EQ(get("i", "k"), "none");
  EXPECT_EQ(get("i", ""), "invalid_argument");
  pass(100);
  KvEntry entry;
  bool found = false;
  ASSERT_EQ(client()->get_kv_value("i", "k", &entry, &found), Status::kOk);
  EXPECT_EQ(entry.key, "k");
  EXPECT_GE(entry.updated_ms, 1'800'000'000'000);
  KvPage page;
  page.rows_max = 0;
  auto none = visit([](const KvEntry&) {});
  EXPECT_EQ(client()->get_all_kv_values("i", &page, none), Status::kInvalidArgument);
  InstanceStats stats;
  EXPECT_EQ(client()->get_instance_stats("j", &stats), Status::kNotFound);
}

TEST_F(Kv, WaitForValue) {
  KvEntry entry;
  start_worker();
  start("i", "publisher", "first");
  EXPECT_EQ(client()->wait_for_kv_value("i", "k", std::chrono::seconds(1), &entry),
            Status::kWouldBlock);
  pass(100);
  workers.clear();  // a call on the loop's thread must not wait
  ASSERT_EQ(client()->wait_for_kv_value("i", "k", std::chrono::seconds(1), &entry), Status::kOk);
  EXPECT_EQ(entry.value, "first");
  EXPECT_EQ(client().node.sleeps(), 0U);
  const std::int64_t before = machine.boot_ms();
  EXPECT_EQ(client()->wait_for_kv_value("i", "late", std::chrono::seconds(1'800), &entry),
            Status::kTimeout);
  EXPECT_EQ(machine.boot_ms(), before + 1'800'000);
  EXPECT_LT(client().node.sleeps(), 10U);  // it is woken, and does not poll
  EXPECT_EQ(client()->wait_for_kv_value("j", "k", std::chrono::seconds(1), &entry),
            Status::kNotFound);
  EXPECT_EQ(client()->wait_for_kv_value("i", "", std::chrono::seconds(1), &entry),
            Status::kInvalidArgument);
  start_worker();
  EXPECT_EQ(end_of("i"), "completed ");
  workers.clear();
  EXPECT_EQ(client()->wait_for_kv_value("i", "late", std::chrono::seconds(1), &entry), Status::kOk);
  EXPECT_EQ(client()->wait_for_kv_value("i", "never", std::chrono::seconds(1), &entry),
            Status::kStale);
  Bed bed;
  EXPECT_EQ(client()->wait_for_kv_value_typed("i", "late", std::chrono::seconds(1), &bed),
            Status::kCorrupt);
}

// ---- messages taken without waiting ----

TEST_F(Kv, TryDequeueTakesEachMessageOnceOverKills) {
  start("i", "polls");
  int sent = 0;
  for (int step = 0; is_running("i"); ++step) {
    ASSERT_LT(step, 400);
    Worker& at = restart();
    if (step % 20 == 3 && sent < 4) {
      enqueue_event("i", "q", std::to_string(++sent));
      enqueue_event("i", "q", std::to_string(++sent));
    }
    static_cast<void>(at.runtime->tick(std::chrono::milliseconds::max()));
    at.kill();
    machine.advance(1'000);
  }
  const std::string output(client().status("i").output);
  std::string numbers;
  for (const char c : output)
    if (c != '-') numbers += c;
  EXPECT_EQ(numbers, "1234") << output;
  EXPECT_EQ(output.size(), 8U) << output;
}

}  // namespace
}  // namespace pawl

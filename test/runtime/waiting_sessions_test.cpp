// Goal: with more sessions than a worker may have, idle sessions make room for waiting ones, in the
// order of waiting, and waiting sessions are visible.
// Rules: S34.
#include <cstdint>
#include <string>

#include "session_story.hpp"

namespace pawl::testing {
namespace {

class WaitingSessions : public SessionStory {
 protected:
  void SetUp() override {
    options.sessions = SessionOptions();  // the defaults of a program that sets none
  }
  void converse(int count) {
    for (int i = 0; i < count; ++i)
      start("chat-" + std::to_string(i), "code");
  }
  bool all_ran(std::size_t times, int count, std::int64_t ms = 60'000) {
    return runs_are(times * static_cast<std::size_t>(count), ms);
  }
  SessionInfo info(std::string_view instance, std::string_view session) {
    SessionInfo out;
    EXPECT_EQ(client()->get_session(instance, session, &out), Status::kOk);
    return out;
  }
  std::int64_t waiting() {
    Metrics metrics;
    EXPECT_EQ(client()->get_metrics(&metrics), Status::kOk);
    return metrics.sessions_waiting;
  }
};

// Waits for a person's message between two activities, with its session open.
Poll conversation(OrchestrationContext& ctx) {
  const Session session = ctx.open_session("agent");
  PAWL_AWAIT(hello, ctx.schedule_activity("note", "hello", Target::own(session)));
  if (!hello.ok()) return ctx.fail(hello.error());
  PAWL_AWAIT(message, ctx.dequeue_event("messages"));
  PAWL_AWAIT(answer, ctx.schedule_activity("note", message.value(), Target::own(session)));
  if (!answer.ok()) return ctx.fail(answer.error());
  return ctx.complete(message.value());
}

TEST_F(WaitingSessions, eleven_conversations_are_all_answered_by_a_worker_for_ten) {
  constexpr int kConversations = 11;
  options.sessions.max_sessions_per_worker = 10;
  code(conversation);
  start_worker("a");
  converse(kConversations);
  ASSERT_TRUE(all_ran(1, kConversations)) << runs.size();
  pass(600'000);
  for (int i = kConversations - 1; i >= 0; --i)
    enqueue_event("chat-" + std::to_string(i), "messages", std::to_string(i));
  for (int i = 0; i < kConversations; ++i)
    EXPECT_EQ(end_of("chat-" + std::to_string(i), 60'000), "completed " + std::to_string(i));
}

TEST_F(WaitingSessions, by_default_forty_conversations_find_what_was_kept_for_them) {
  constexpr int kConversations = 40;
  code(conversation);
  start_worker("a");
  converse(kConversations);
  ASSERT_TRUE(all_ran(1, kConversations)) << runs.size();
  pass(60'000);
  for (int i = 0; i < kConversations; ++i)
    enqueue_event("chat-" + std::to_string(i), "messages", "m");
  ASSERT_TRUE(all_ran(2, kConversations)) << runs.size();
  std::size_t cold = 0;
  for (const Run& run : runs)
    cold += run.claimed_now ? 1U : 0U;
  EXPECT_EQ(cold, static_cast<std::size_t>(kConversations)) << "each once, at its first activity";
  EXPECT_EQ(workers[0]->runtime->stats().sessions_evicted_idle, 0U);
}

TEST_F(WaitingSessions, what_makes_room_is_counted_by_the_minute_and_logged_once_in_it) {
  options.sessions.max_sessions_per_worker = 2;
  code(conversation);
  Worker& worker = start_worker("a");
  const RuntimeStats& stats = worker.runtime->stats();
  converse(12);
  ASSERT_TRUE(all_ran(1, 12)) << runs.size();
  EXPECT_EQ(stats.sessions_evicted_idle, 10U);
  EXPECT_EQ(logged("sessions_evicted_idle"), 0U) << "when its minute is over";
  pass(90'000);
  EXPECT_EQ(logged("sessions_evicted_idle"), 1U) << worker.lines.all();
  EXPECT_EQ(logged("sessions_evicted_idle count=10 max_sessions_per_worker=2"), 1U)
      << worker.lines.all();
  EXPECT_EQ(stats.sessions_evicted_idle_minute, 10U);
  pass(120'000);
  EXPECT_EQ(stats.sessions_evicted_idle_minute, 0U) << "none in the minute behind it";
  for (int i = 0; i < 3; ++i)
    enqueue_event("chat-" + std::to_string(i), "messages", "m");
  pass(120'000);
  EXPECT_EQ(logged("sessions_evicted_idle"), 2U) << "and again when there are some";
}

TEST_F(WaitingSessions, room_is_made_when_it_can_be_and_not_with_the_next_renewal) {
  options.sessions.max_sessions_per_worker = 1;
  code(conversation);
  start_worker("a");
  converse(3);
  const std::int64_t each_ms = SessionOptions().evict_idle.count();
  EXPECT_TRUE(all_ran(1, 3, 2 * each_ms + 500)) << runs.size();
  EXPECT_EQ(workers[0]->runtime->stats().sessions_evicted_idle, 2U);
}

// A conversation with state in its worker holds its session, or declares with fail_on_loss that the
// state would be lost.
TEST_F(WaitingSessions, if_all_are_held_who_waits_is_seen_and_is_served_in_order) {
  options.sessions.max_sessions_per_worker = 2;
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("agent");
    static_cast<void>(ctx.hold_session(session, std::chrono::hours(24)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "hello", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.dequeue_event("messages"));
    return ctx.complete("");
  });
  start_worker("a");
  for (const char* id : {"first", "second", "third", "fourth", "fifth"}) {
    start(id, "code");
    pass(1'000);
  }
  pass(600'000);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(waiting(), 3);
  EXPECT_EQ(workers[0]->runtime->stats().sessions_waiting, 3U);
  EXPECT_FALSE(info("first", "agent").waits_for_ms.has_value());
  EXPECT_NEAR(static_cast<double>(info("third", "agent").waits_for_ms.value_or(0)), 603'000, 500);
  EXPECT_NEAR(static_cast<double>(info("fifth", "agent").waits_for_ms.value_or(0)), 601'000, 500);
  const std::size_t lines = logged("waiting_for_capacity");
  EXPECT_GE(lines, 5U) << "as long as it lasts";
  EXPECT_LE(lines, 12U);
  EXPECT_EQ(logged("session=agent instance=third waits_ms="), lines)
      << "the one that waits longest: " << workers[0]->lines.all();
  for (const char* id : {"first", "third", "second", "fourth"}) {
    const std::size_t before = runs.size();
    enqueue_event(id, "messages", "");
    pass(before == 4 ? 30'000 : 200);
    if (before < 5) {
      ASSERT_EQ(runs.size(), before + 1) << "as soon as one ends: " << id;
    }
  }
  ASSERT_EQ(runs.size(), 5U);
  EXPECT_EQ(runs[2].instance, "third");
  EXPECT_EQ(runs[3].instance, "fourth");
  EXPECT_EQ(runs[4].instance, "fifth");
  EXPECT_EQ(waiting(), 0);
  EXPECT_EQ(logged("capacity_again sessions=0"), 1U);
}

// A session that made room would lose the state in its process for nothing.
TEST_F(WaitingSessions, none_makes_room_while_another_worker_has_some) {
  options.sessions.max_sessions_per_worker = 1;
  code(conversation);
  boss();
  Worker& a = hand("a");
  start("chat-0", "code");
  ASSERT_TRUE(runs_are(1));
  pass(60'000);
  Worker& b = hand("b");
  for (const char* id : {"chat-1", "chat-2"}) {
    const std::size_t before = runs.size();
    start(id, "code");
    ASSERT_TRUE(runs_are(before + 1, 10'000));
    pass(10'000);
  }
  EXPECT_EQ(runs[1].worker, "b");
  EXPECT_EQ(a.runtime->stats().sessions_evicted_idle + b.runtime->stats().sessions_evicted_idle, 1U)
      << "for the third alone";
}

// A worker that has room but takes no work does not keep a session waiting.
TEST_F(WaitingSessions, a_worker_that_has_room_and_no_slot_is_waited_for_only_so_long) {
  options.sessions.max_sessions_per_worker = 2;
  code([](OrchestrationContext& ctx) {
    if (ctx.input() == "busy") {
      Handle all[2];
      for (Handle& one : all)
        one = ctx.schedule_activity("slow", "600", Target::session("busy"));
      PAWL_AWAIT_DONE(ctx.join_all(all, 2));
      return ctx.complete("");
    }
    return conversation(ctx);
  });
  boss();
  Options few = working("b");
  few.slots.inline_activities = few.slots.threads = 0;
  few.slots.cooperative = 2;
  start_worker(few);
  start("busy", "code", "busy");
  ASSERT_TRUE(runs_are(2));
  few.sessions.max_sessions_per_worker = 1;
  few.worker_node_id = "a";
  few.slots.inline_activities = 8;
  start_worker(few);
  start("chat-0", "code");
  ASSERT_TRUE(runs_are(3));
  pass(60'000);
  start("chat-1", "code");
  EXPECT_TRUE(runs_are(4, 10'000));
}

TEST_F(WaitingSessions, one_that_fails_on_loss_makes_no_room) {
  options.sessions.max_sessions_per_worker = 1;
  code([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.fail_on_loss = ctx.input() == "keeps";
    const Session session = ctx.open_session("agent", settings);
    PAWL_AWAIT(hello, ctx.schedule_activity("note", "hello", Target::own(session)));
    if (!hello.ok()) return ctx.fail(hello.error());
    PAWL_AWAIT_DONE(ctx.dequeue_event("messages"));
    return ctx.complete("");
  });
  start_worker("a");
  start("keeper", "code", "keeps");
  pass(1'000);
  start("other", "code");
  pass(600'000);
  EXPECT_EQ(runs.size(), 1U);
  enqueue_event("keeper", "messages", "");
  EXPECT_TRUE(runs_are(2, 1'000));
}

// A pause before the next attempt needs no worker, and no room.
TEST_F(WaitingSessions, one_whose_only_work_is_delayed_makes_room_and_gets_its_turn_again) {
  options.sessions.max_sessions_per_worker = 1;
  for (const bool is_exclusive : {false, true}) {
    SCOPED_TRACE(is_exclusive);
    code([is_exclusive](OrchestrationContext& ctx) {
      SessionSettings settings;
      settings.exclusive = is_exclusive;
      const Session session = ctx.open_session("agent", settings);
      if (ctx.input() != "fails") {
        PAWL_AWAIT_DONE(ctx.schedule_activity("note", "hello", Target::own(session)));
        return ctx.complete("answered");
      }
      ActivityOptions again;
      again.target = Target::own(session);
      again.retry.max_attempts = 2;
      again.retry.base = again.retry.cap = std::chrono::minutes(10);
      Handle all[2];
      all[0] = ctx.schedule_activity("note", "fail", again);
      // In an exclusive session, this activity waits behind the first one.
      all[1] = ctx.schedule_activity("note", "second", Target::own(session));
      PAWL_AWAIT_DONE(ctx.join_all(all, 2));
      return ctx.complete("failed twice");
    });
    if (workers.empty()) start_worker("a");
    const std::string other = is_exclusive ? "other-1" : "other-0";
    const std::string failing = is_exclusive ? "failing-1" : "failing-0";
    start(failing, "code", "fails");
    pass(1'000);
    start(other, "code");
    EXPECT_EQ(end_of(other, 60'000), "completed answered");
    EXPECT_EQ(end_of(failing, 1'200'000), "completed failed twice");
  }
}

}  // namespace
}  // namespace pawl::testing

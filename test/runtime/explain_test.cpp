// Goal: whatever an instance or a session waits for, explain() says it, since when, and what could
// be done. Method: each cause is brought about by a program that meets it, never by written rows.
#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "session_story.hpp"

namespace pawl::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

ActivityResult fails(ActivityContext& ctx) { return ctx.fail("the bus is silent"); }
ActivityResult leaves(ActivityContext& ctx) {
  return ctx.complete_later(WhileOutside::kFreesSession);
}

struct Nothing {};
// Runs until the test lets it end, and hears of no cancellation.
bool g_ends = false;
ActivityStep is_deaf(ActivityContext& ctx, Nothing& /*state*/) {
  return g_ends ? ctx.ok("") : ctx.again_after(milliseconds(100));
}

class Explain : public SessionStory {
 protected:
  Explain() {
    add("fails", fails);
    add("leaves", leaves);
    add("is_deaf", is_deaf);
    g_ends = false;
    EXPECT_EQ(registry.allow_complete_later("leaves"), Status::kOk);
    add("other name", [](OrchestrationContext& ctx) { return ctx.complete(""); });
  }
  // "kind name [subject] @node (error)", each part if there is one; the times are kept.
  std::vector<std::string> causes(std::string_view id = "i") {
    return kept([&](CauseVisitor& visitor) {
      EXPECT_EQ(client()->explain(id, visitor), Status::kOk) << client()->error_text();
    });
  }
  std::vector<std::string> causes_of_session(std::string_view instance, std::string_view session) {
    return kept([&](CauseVisitor& visitor) {
      EXPECT_EQ(client()->explain_session(instance, session, visitor), Status::kOk)
          << client()->error_text();
    });
  }
  // Starts "i" with the code, at a worker of this name, and lets some time pass.
  void begin(Code what, const char* node = "a") {
    code(std::move(what));
    start_worker(node);
    start("i", "code");
    pass(500);
  }
  using Texts = std::vector<std::string>;

  std::vector<Cause> times;  // of the last call; their texts are gone

 private:
  template <typename Call>
  std::vector<std::string> kept(Call&& call) {
    std::vector<std::string> all;
    times.clear();
    auto keep = visit([&](const Cause& one) {
      std::string text = cause_kind_name(one.kind);
      if (!one.name.empty()) text += " " + std::string(one.name);
      if (!one.subject.empty()) text += " [" + std::string(one.subject) + "]";
      if (!one.node.empty()) text += " @" + std::string(one.node);
      if (!one.error.empty()) text += " (" + std::string(one.error) + ")";
      all.push_back(std::move(text));
      times.push_back(one);
      times.back().instance_id = times.back().name = times.back().subject = {};
      times.back().node = times.back().error = {};
    });
    call(keep);
    return all;
  }
};

// ---- the instance as a whole ----

TEST_F(Explain, an_unknown_id_is_said_to_be_that) {
  auto none = visit([](const Cause& /*one*/) { ADD_FAILURE(); });
  start_worker("a");
  EXPECT_EQ(client()->explain("i", none), Status::kNotFound);
  EXPECT_NE(std::string(client()->error_text()).find("i"), std::string::npos);
  EXPECT_EQ(client()->explain_session("", "s", none), Status::kNotFound);
  EXPECT_EQ(client()->explain_session("i", "s", none), Status::kNotFound);
}

TEST_F(Explain, without_a_worker_none_lives) {
  code([](OrchestrationContext& ctx) { return ctx.complete(""); });
  start("i", "code");
  EXPECT_EQ(causes(), Texts{"no_worker code"});
  start_worker("a");
  EXPECT_TRUE(ends("i"));
  EXPECT_EQ(causes(), Texts{"ended code"});
  // A worker that is killed is not noticed at once.
  workers[0]->kill();
  start("j", "code");
  EXPECT_EQ(causes("j"), Texts{"turn code"});
  machine.advance(options.leases.worker_lock_timeout.count() + 1);
  EXPECT_EQ(causes("j"), Texts{"no_worker code"});
}

TEST_F(Explain, a_misspelt_orchestration_is_named) {
  expect_errors("orchestration_unregistered", 1, 1);
  start_worker("a");
  start("i", "no such code");
  pass(1'000);
  EXPECT_EQ(causes(), Texts{"no_orchestration no such code"});
  EXPECT_GT(times[0].since_ms, 0);
}

TEST_F(Explain, a_suspended_instance_waits_for_its_resume) {
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(hours(1)));
    return ctx.complete("");
  });
  ASSERT_EQ(client()->suspend_instance("i"), Status::kOk);
  EXPECT_EQ(causes(), Texts{"suspended code [1.0.0]"});
}

TEST_F(Explain, a_stopped_instance_shows_its_error_and_a_failed_one_too) {
  expect_errors("instance_stopped", 1, 1);
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    return ctx.fail("out of paper");
  });
  EXPECT_EQ(end_of("i"), "failed application out of paper");
  EXPECT_EQ(causes(), Texts{"ended code (out of paper)"});
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(seconds(1)));
    return ctx.complete("");
  });
  start("j", "code");
  pass(500);
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("s")));
    return ctx.complete("");
  });
  restart();
  pass(2'000);
  const Texts shown = causes("j");
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0].find("stopped code [1.0.0] (event 2 "), 0U) << shown[0];
}

// ---- awaits ----

TEST_F(Explain, a_timer_says_when_it_fires) {
  begin([](OrchestrationContext& ctx) {
    const Handle late = ctx.schedule_timer(hours(2));
    const Handle early = ctx.schedule_timer(hours(1));
    PAWL_AWAIT(first, ctx.select(late, early));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), (Texts{"timer", "timer"}));
  EXPECT_NEAR(static_cast<double>(times[0].ends_in_ms.value_or(0)), 7'199'500, 500);
  EXPECT_NEAR(static_cast<double>(times[1].ends_in_ms.value_or(0)), 3'599'500, 500);
  EXPECT_EQ(times[0].event_id + 1, times[1].event_id);
}

TEST_F(Explain, a_timer_on_utc_waits_for_a_clock_first) {
  machine.set_synced(false);
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_timer_at(4'102'444'800'000));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"no_clock"});
  EXPECT_FALSE(times[0].ends_in_ms.has_value());
  machine.set_synced(true);
  pass(120'000);
  EXPECT_EQ(causes(), Texts{"timer"});
  EXPECT_GT(times[0].ends_in_ms.value_or(0), 0);
}

TEST_F(Explain, events_and_queues_are_named_while_they_are_open) {
  begin([](OrchestrationContext& ctx) {
    while (true) {
      const Handle next = ctx.dequeue_event("orders");
      PAWL_AWAIT(first, ctx.select(next, ctx.schedule_wait("stop")));
      if (first.index() == 1) break;
    }
    PAWL_AWAIT_DONE(ctx.schedule_wait("again"));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), (Texts{"queue orders", "event stop"}));
  enqueue_event("i", "orders", "1");
  pass(500);
  EXPECT_EQ(causes(), (Texts{"queue orders", "event stop"}));
  raise_event("i", "stop");
  pass(500);
  EXPECT_EQ(causes(), Texts{"event again"}) << "the loser is closed";
}

TEST_F(Explain, what_a_closed_branch_awaited_is_closed_with_it) {
  begin([](OrchestrationContext& ctx) {
    const Handle branch = ctx.open_branch([](OrchestrationContext& inner) {
      const Handle deeper = inner.open_branch([](OrchestrationContext& deepest) {
        PAWL_AWAIT_DONE(deepest.schedule_wait("deep"));
        return deepest.complete("");
      });
      PAWL_AWAIT_DONE(inner.join(deeper, inner.schedule_wait("inner")));
      return inner.complete("");
    });
    PAWL_AWAIT(first, ctx.select(branch, ctx.schedule_wait("outer")));
    PAWL_AWAIT_DONE(ctx.schedule_wait("last"));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), (Texts{"event deep", "event inner", "event outer"}));
  raise_event("i", "outer");
  pass(500);
  EXPECT_EQ(causes(), Texts{"event last"});
}

TEST_F(Explain, a_child_is_named) {
  other([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_wait("done"));
    return ctx.complete("");
  });
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("other", "", ChildOptions{InstanceId("c")}));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"child other [c]"});
  EXPECT_EQ(causes("c"), Texts{"event done"});
}

// Its history is longer than what is looked at.
TEST_F(Explain, an_old_await_is_not_found_and_that_is_said) {
  options.limits.history_events_max = 4'000;
  begin([](OrchestrationContext& ctx) {
    const Handle old = ctx.schedule_wait("old");
    for (int i = 0; i < 1'100; ++i)
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", ""));
    PAWL_AWAIT_DONE(old);
    return ctx.complete("");
  });
  ASSERT_TRUE(runs_are(1'100, 3'600'000)) << outcome_of("i");
  pass(1'000);
  EXPECT_EQ(causes(), Texts{"unknown"});
}

// ---- activities ----

TEST_F(Explain, a_running_activity_names_its_worker) {
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("slow", "600"));
    return ctx.complete("");
  });
  pass(60'000);
  EXPECT_EQ(causes(), Texts{"runs slow @a"});
  EXPECT_EQ(times[0].attempt, 1);
  EXPECT_GT(times[0].event_id, 0);
  EXPECT_FALSE(times[0].ends_in_ms.has_value());
}

TEST_F(Explain, a_limit_of_an_activity_is_said) {
  begin([](OrchestrationContext& ctx) {
    ActivityOptions how;
    how.schedule_to_close = minutes(10);
    PAWL_AWAIT_DONE(ctx.schedule_activity("slow", "3600", how));
    return ctx.complete("");
  });
  pass(60'000);
  EXPECT_EQ(causes(), Texts{"runs slow @a"});
  EXPECT_NEAR(static_cast<double>(times[0].ends_in_ms.value_or(0)), 539'500, 500);
}

TEST_F(Explain, a_misspelt_activity_is_named) {
  expect_errors("activity_unregistered", 1, 1);
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("nosuch", ""));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"no_activity nosuch"});
}

TEST_F(Explain, a_tag_that_no_worker_takes_is_named) {
  begin([](OrchestrationContext& ctx) {
    ActivityOptions how;
    how.tag = "gpu";
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", how));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"no_tag note [gpu]"});
}

TEST_F(Explain, a_device_that_no_worker_has_is_named) {
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::device("probe", hours(1))));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"no_device note [probe]"});
  EXPECT_NEAR(static_cast<double>(times[0].ends_in_ms.value_or(0)), 3'599'500, 500);
  EXPECT_EQ(causes_of_session("", "probe"), Texts{"no_device note [probe]"});
  EXPECT_EQ(declare(*workers[0], "probe"), Status::kOk);
  EXPECT_TRUE(ends("i"));
  EXPECT_EQ(causes_of_session("", "probe"), Texts{"idle [probe] @a"});
}

TEST_F(Explain, a_retry_shows_the_error_and_its_time) {
  begin([](OrchestrationContext& ctx) {
    ActivityOptions how;
    how.retry = {3, Backoff::kFixed, minutes(10), minutes(10), 0};
    PAWL_AWAIT_DONE(ctx.schedule_activity("fails", "", how));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"retry fails (the bus is silent)"});
  EXPECT_EQ(times[0].attempt, 1);
  EXPECT_NEAR(static_cast<double>(times[0].ends_in_ms.value_or(0)), 599'500, 500);
}

TEST_F(Explain, an_activity_outside_waits_for_its_token) {
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("leaves", ""));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"outside leaves"});
  EXPECT_GT(times[0].since_ms, 0);
}

TEST_F(Explain, what_was_cancelled_and_still_runs_is_ending) {
  begin([](OrchestrationContext& ctx) {
    const Handle deaf = ctx.schedule_activity("is_deaf", "", Target::exclusive_session("bus"));
    PAWL_AWAIT(first, ctx.select(deaf, ctx.schedule_wait("stop")));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::exclusive_session("bus")));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), (Texts{"runs is_deaf [bus] @a", "event stop"}));
  raise_event("i", "stop");
  pass(1'000);
  EXPECT_EQ(causes(), (Texts{"ending is_deaf [bus] @a", "behind note [bus] @a"}));
  g_ends = true;
  EXPECT_TRUE(ends("i"));
}

// ---- sessions ----

TEST_F(Explain, work_of_a_busy_session_is_behind_what_runs) {
  begin([](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("slow", "600", Target::exclusive_session("bus"));
    const Handle second = ctx.schedule_activity("note", "", Target::exclusive_session("bus"));
    PAWL_AWAIT_DONE(ctx.join(first, second));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), (Texts{"runs slow [bus] @a", "behind note [bus] @a"}));
  EXPECT_EQ(causes_of_session("", "bus"), (Texts{"behind note [bus] @a", "runs slow [bus] @a"}));
}

TEST_F(Explain, a_session_without_room_waits_for_it) {
  options.sessions.max_sessions_per_worker = 1;
  begin([](OrchestrationContext& ctx) {
    const Handle first = ctx.schedule_activity("slow", "600", Target::session("one"));
    const Handle second = ctx.schedule_activity("slow", "600", Target::session("two"));
    PAWL_AWAIT_DONE(ctx.join(first, second));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), (Texts{"runs slow [one] @a", "no_room slow [two]"}));
  EXPECT_EQ(causes_of_session("", "two"), Texts{"no_room slow [two]"});
}

TEST_F(Explain, work_without_a_free_slot_waits_for_one) {
  options.slots.cooperative = 1;
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(
        ctx.join(ctx.schedule_activity("slow", "600"), ctx.schedule_activity("slow", "600")));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), (Texts{"runs slow @a", "no_room slow"}));
}

TEST_F(Explain, of_many_the_first_hundred_are_said) {
  options.slots.cooperative = 1;
  begin([](OrchestrationContext& ctx) {
    Handle all[150];
    for (Handle& one : all)
      one = ctx.schedule_activity("slow", "600");
    PAWL_AWAIT_DONE(ctx.join_all(all, 150));
    return ctx.complete("");
  });
  const Texts said = causes();
  ASSERT_EQ(said.size(), 100U);
  EXPECT_EQ(said.front(), "runs slow @a");
  EXPECT_EQ(said.back(), "no_room slow");
  for (std::size_t i = 1; i < said.size(); ++i)
    EXPECT_LT(times[i - 1].event_id, times[i].event_id);
}

TEST_F(Explain, a_session_whose_owner_is_gone_waits_for_its_lease) {
  wait_for_leases();
  begin([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("s")));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go on"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::session("s")));
    return ctx.complete("");
  });
  ASSERT_TRUE(runs_are(1));
  workers[0]->kill();
  start_worker("b");
  raise_event("i", "go on");
  pass(5'000);
  EXPECT_EQ(causes(), Texts{"no_room note [s] @a"}) << "its death is not noticed yet";
  pass(options.leases.worker_lock_timeout.count() - 7'000);
  machine.advance(3'000);
  EXPECT_EQ(causes(), Texts{"held note [s] @a"});
  EXPECT_TRUE(ends("i"));
}

TEST_F(Explain, a_paced_session_says_when_it_goes_on) {
  begin([](OrchestrationContext& ctx) {
    SessionSettings settings;
    settings.rate_interval = minutes(10);
    settings.rate_burst = 1;
    settings.rate_wait = hours(1);
    const Session session = ctx.open_session("slow door", settings);
    const Handle first = ctx.schedule_activity("note", "", Target::own(session));
    const Handle second = ctx.schedule_activity("note", "", Target::own(session));
    PAWL_AWAIT_DONE(ctx.join(first, second));
    return ctx.complete("");
  });
  EXPECT_EQ(causes(), Texts{"paced note [slow door]"});
  EXPECT_NEAR(static_cast<double>(times[0].ends_in_ms.value_or(0)), 599'500, 1'000);
}

TEST_F(Explain, a_session_that_ended_says_why) {
  begin([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("agent");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go on"));
    return ctx.complete("");
  });
  EXPECT_EQ(causes_of_session("i", "agent"), Texts{"idle [agent] @a"});
}

TEST(CauseNames, each_kind_has_its_own_words) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kCauseKindCount; ++i) {
    const auto kind = static_cast<CauseKind>(i);
    for (const std::string& other : names)
      EXPECT_NE(other, cause_kind_name(kind));
    names.emplace_back(cause_kind_name(kind));
    EXPECT_EQ(std::string(cause_help(kind)).back(), '.') << names.back();
  }
  EXPECT_STREQ(cause_help(static_cast<CauseKind>(kCauseKindCount)), "");
  EXPECT_STREQ(cause_kind_name(CauseKind::kSessionEnded), "session_ended");
}

}  // namespace
}  // namespace pawl::testing

// Goal: an activity that answers "later" ends by its token, once, and holds nothing until then.
// Method: whole runtimes on the simulated machine; a client answers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "outside_story.hpp"

namespace pawl {
namespace {

using std::chrono::seconds;
using testing::OutsideTest;
using testing::Worker;

using Outside = OutsideTest;

constexpr std::int64_t kDayMs = 86'400'000;

ActivityOptions retried(int attempts) {
  ActivityOptions how;
  how.retry.max_attempts = attempts;
  how.retry.base = seconds(2);
  return how;
}

// Rules: S55.
TEST_F(Outside, a_token_completes_the_activity_that_gave_it_out) {
  ask_at("a", asks());
  ASSERT_EQ(tokens.size(), 1U);
  EXPECT_EQ(tokens[0].size(), CompletionToken::kBytesMax);
  const std::int64_t now = machine.wall_ms();
  EXPECT_EQ(activities(), std::vector<std::string>{"ask outside 1 1 [] [] []"});
  EXPECT_NEAR(static_cast<double>(since_ms), static_cast<double>(now), 1'000);
  Metrics metrics;
  ASSERT_EQ(client()->get_metrics(&metrics), Status::kOk);
  EXPECT_EQ(metrics.activities_outside, 1);
  EXPECT_EQ(metrics.activities_running, 0);
  EXPECT_TRUE(is_running("i"));
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

TEST_F(Outside, the_list_of_work_shows_it_and_finds_it_by_its_state) {
  ask_at("a", asks());
  WorkListFilter filter;
  filter.state = ActivityState::kOutside;
  std::vector<std::string> found;
  auto keep = visit([&](const WorkInfo& one) {
    found.push_back(std::string(one.instance_id) + " " + std::string(one.name) + " " +
                    activity_state_name(one.state) + " [" + std::string(one.node) + "]");
    since_ms = one.outside_since_ms;
  });
  Page page;
  ASSERT_EQ(client()->list_work(filter, &page, keep), Status::kOk);
  EXPECT_EQ(found, std::vector<std::string>{"i ask outside []"});
  EXPECT_GT(since_ms, 0);
}

// Rules: S56.
TEST_F(Outside, it_holds_no_slot_and_no_lease) {
  options.slots.inline_activities = 1;
  code([](OrchestrationContext& ctx) {
    const Handle asked = ctx.schedule_activity("ask", "q");
    PAWL_AWAIT(noted, ctx.schedule_activity("note", "n"));
    PAWL_AWAIT(done, asked);
    return ctx.complete(text_of(done) + " " + std::string(noted.value()));
  });
  const Worker& worker = start_worker("a");
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return notes.size() == 1; }));
  pass(100);
  const std::uint64_t before = worker.runtime->stats().commits;
  pass(20'000);
  EXPECT_EQ(worker.runtime->stats().commits, before) << "nothing is renewed for it";
  pass(kDayMs);
  EXPECT_EQ(activities(), std::vector<std::string>{"ask outside 1 1 [] [] []"});
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes a");
}

// A device may answer while the activity that asked it still runs.
TEST_F(Outside, an_answer_that_comes_before_the_activity_has_returned_counts) {
  bool was_cancelled = true;
  inside = [&](ActivityContext& ctx) {
    EXPECT_EQ(activities(), std::vector<std::string>{"ask running 1 1 [a] [] []"});
    EXPECT_EQ(complete(ctx.completion_token().view(), "at once"), Status::kOk);
    EXPECT_EQ(complete(ctx.completion_token().view(), "at once"), Status::kOk);
    EXPECT_EQ(complete(ctx.completion_token().view(), "later"), Status::kStale);
    was_cancelled = ctx.is_cancelled();
  };
  code(asks());
  const Worker& worker = start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed at once");
  EXPECT_FALSE(was_cancelled) << "the loop has not looked yet";
  pass(100);
  EXPECT_EQ(worker.runtime->stats().activities_refused, 0U);
  EXPECT_EQ(tokens.size(), 1U);
}

// An answer between the return and the commit that records it.
TEST_F(Outside, an_answer_that_comes_while_the_return_is_not_committed_counts) {
  options.timing.commit_window = std::chrono::milliseconds(500);
  code(asks());
  start_worker("a");
  start("i", "code");
  while (tokens.empty()) {
    tick_all();
    machine.advance(1);
  }
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

// Rules: S58.
TEST_F(Outside, the_first_answer_counts_and_the_same_one_is_as_good) {
  ask_at("a", asks());
  ASSERT_EQ(complete("one"), Status::kOk);
  EXPECT_EQ(complete("one"), Status::kOk);
  EXPECT_EQ(complete("two"), Status::kStale);
  EXPECT_EQ(why(), "another answer came first, and counts");
  EXPECT_EQ(client()->fail_activity(tokens[0], "one"), Status::kStale);
  EXPECT_EQ(end_of("i"), "completed one");
  EXPECT_EQ(complete("one"), Status::kOk);
  EXPECT_EQ(complete("two"), Status::kStale);
  ASSERT_EQ(client()->delete_instance("i", false), Status::kOk);
  EXPECT_EQ(complete("one"), Status::kOk) << "what was accepted stays accepted";
}

TEST_F(Outside, a_text_that_is_no_token_and_a_token_that_is_not_its_own_complete_nothing) {
  ask_at("a", asks());
  const std::string token = tokens[0];
  const std::string secret = token.substr(token.find('-') + 1);
  for (const std::string& text :
       {std::string(), std::string("-"), secret, "-" + secret, std::string("1-"), token + "0",
        token.substr(0, token.size() - 1), " " + token, token + " ", "x" + token.substr(1),
        "99999999999999999999-" + secret, std::string("1-") + std::string(31, '0') + "G"}) {
    EXPECT_EQ(complete(text, "yes"), Status::kInvalidArgument) << text;
    EXPECT_EQ(client()->heartbeat_activity(text), Status::kInvalidArgument) << text;
  }
  std::string upper = token;
  for (char& at : upper)
    if (at >= 'a' && at <= 'f') at = static_cast<char>(at - 'a' + 'A');
  EXPECT_NE(complete(upper, "yes"), Status::kOk);
  std::string other = token;
  other.back() = other.back() == '0' ? '1' : '0';
  for (const std::string& text : {other, "1-" + secret, "0" + token.substr(1),
                                  "9999999999999999999-" + secret, "0-" + std::string(32, '0')}) {
    EXPECT_EQ(complete(text, "yes"), Status::kNotFound) << text;
    EXPECT_EQ(client()->heartbeat_activity(text), Status::kNotFound) << text;
  }
  EXPECT_NE(why(), "");
  EXPECT_TRUE(is_running("i"));
  ASSERT_EQ(complete(token, "yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

TEST_F(Outside, a_result_of_any_length_up_to_the_limit_is_taken) {
  for (const std::size_t size : {std::size_t{0}, client_options.payload_bytes_max}) {
    const std::string id = "n" + std::to_string(size);
    code(asks());
    if (workers.empty()) start_worker("a");
    start(id, "code");
    const std::size_t before = tokens.size();
    ASSERT_TRUE(drive_until([&] { return tokens.size() > before; }));
    EXPECT_EQ(complete(std::string(client_options.payload_bytes_max + 1, 'x')),
              Status::kResourceExhausted);
    ASSERT_EQ(complete(std::string(size, 'x')), Status::kOk);
    EXPECT_EQ(end_of(id), "completed " + std::string(size, 'x'));
  }
}

// The main loop of a board takes the answer of an interrupt to its Runtime.
TEST_F(Outside, the_loops_own_thread_answers_with_the_next_tick) {
  ask_at("a", asks(retried(3)));
  Worker& worker = *workers.back();
  const auto answered = [&](const char* token, const char* text) {
    return answer_of(worker, [&](Status* answer) {
      return worker.runtime->complete_activity(token, text, keep_answer, answer);
    });
  };
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return worker.runtime->heartbeat_activity(tokens[0], "half", keep_answer,
                                                                  answer);
                      }),
            Status::kOk);
  EXPECT_EQ(activities(), std::vector<std::string>{"ask outside 1 1 [] [half] []"});
  EXPECT_EQ(worker.runtime->heartbeat_activity(tokens[0], std::string(kProgressBytesMax + 1, 'p')),
            Status::kInvalidArgument);
  EXPECT_EQ(answer_of(worker,
                      [&](Status* answer) {
                        return worker.runtime->fail_activity(tokens[0], "busy", false, keep_answer,
                                                             answer);
                      }),
            Status::kOk);
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }));
  pass(100);
  EXPECT_EQ(answered("no token", "yes"), Status::kInvalidArgument);
  EXPECT_EQ(answered(tokens[0].c_str(), "yes"), Status::kStale);
  const std::uint64_t before = worker.runtime->stats().commits;
  EXPECT_EQ(answered(tokens[1].c_str(), "yes"), Status::kOk);
  EXPECT_EQ(worker.runtime->stats().commits, before + 1);
  EXPECT_EQ(end_of("i"), "completed yes");
  EXPECT_EQ(answered(tokens[1].c_str(), "yes"), Status::kOk);
  EXPECT_EQ(answered(tokens[1].c_str(), "no"), Status::kStale);
  code(asks());
  start("j", "code");
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 3; }));
  pass(100);
  ASSERT_EQ(worker.runtime->fail_activity(tokens[2], "never", true), Status::kOk);
  EXPECT_EQ(end_of("j"), "completed application: never");
}

struct Until {
  int steps = 0;
};
bool g_heard = false;
ActivityStep until_answered(ActivityContext& ctx, Until& state) {
  g_heard = ctx.is_cancelled();
  if (g_heard) return ctx.fail("answered");
  if (state.steps++ == 0) static_cast<void>(ctx.heartbeat(ctx.completion_token().view()));
  return ctx.again_after(seconds(1));
}

TEST_F(Outside, an_activity_that_still_runs_is_asked_to_return_when_it_is_answered) {
  add("until_answered", until_answered);
  ASSERT_EQ(registry.allow_complete_later("until_answered"), Status::kOk);
  options.timing.heartbeat_interval = seconds(1);
  for (const bool by_loop : {true, false}) {
    g_heard = false;
    code([](OrchestrationContext& ctx) {
      PAWL_AWAIT(done, ctx.schedule_activity("until_answered", ""));
      return ctx.complete(text_of(done));
    });
    const std::string id = by_loop ? "loop" : "client";
    if (workers.empty()) start_worker("a");
    start(id, "code");
    pass(5'000);
    auto keep = visit([&](const ActivityInfo& one) {
      EXPECT_EQ(one.state, ActivityState::kRunning);
      tokens.emplace_back(one.last_progress);
    });
    ASSERT_EQ(client()->list_activities(id, keep), Status::kOk);
    ASSERT_EQ(
        by_loop ? workers[0]->runtime->complete_activity(tokens.back(), "yes") : complete("yes"),
        Status::kOk);
    EXPECT_EQ(end_of(id), "completed yes");
    pass(3'000);
    EXPECT_TRUE(g_heard) << id;
  }
}

TEST_F(Outside, only_the_last_answers_are_remembered) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("ask", ""));
    return ctx.continue_as_new(done.value());
  });
  start_worker("a");
  start("i", "code");
  constexpr std::size_t kKept = 256;
  for (std::size_t i = 0; i <= kKept; ++i) {
    ASSERT_TRUE(drive_until([&] { return tokens.size() > i; })) << i;
    ASSERT_EQ(complete(tokens[i], "x"), Status::kOk) << i;
  }
  EXPECT_EQ(complete(tokens[1], "x"), Status::kOk);
  EXPECT_EQ(complete(tokens[1], "y"), Status::kStale);
  EXPECT_EQ(complete(tokens[0], "x"), Status::kNotFound);
}

TEST_F(Outside, a_failure_is_retried_and_makes_the_token_stale) {
  ask_at("a", asks(retried(3)));
  ASSERT_EQ(client()->fail_activity(tokens[0], "busy"), Status::kOk);
  EXPECT_EQ(client()->fail_activity(tokens[0], "busy"), Status::kOk);
  EXPECT_EQ(complete(tokens[0], "yes"), Status::kStale);
  EXPECT_EQ(activities(), std::vector<std::string>{"ask delayed 1 2 [] [] [busy]"});
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }));
  pass(100);
  EXPECT_NE(tokens[0], tokens[1]);
  EXPECT_EQ(complete(tokens[0], "yes"), Status::kStale);
  EXPECT_EQ(client()->heartbeat_activity(tokens[0]), Status::kNotFound);
  ASSERT_EQ(client()->fail_activity(tokens[1], "no such thing", true), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed application: no such thing");
}

TEST_F(Outside, a_failure_without_attempts_left_is_the_outcome) {
  ask_at("a", asks());
  ASSERT_EQ(client()->fail_activity(tokens[0], std::string(2'000, 'x')), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed application: " + std::string(1'024, 'x'));
}

// The time of the attempt counts from its hand-over, not from its return.
TEST_F(Outside, start_to_close_goes_on_and_another_attempt_follows) {
  ActivityOptions how = retried(2);
  how.start_to_close = seconds(30);
  inside = [this](ActivityContext&) { machine.advance(10'000); };
  code(asks(how));
  start_worker("a");
  const std::int64_t begun = machine.boot_ms();
  start("i", "code");
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }));
  EXPECT_NEAR(static_cast<double>(machine.boot_ms() - begun), 30'000 + 2'000 + 10'000, 200);
  EXPECT_EQ(complete(tokens[0], "late"), Status::kNotFound);
  EXPECT_EQ(end_of("i"), "completed timeout: start_to_close (30000 ms) passed");
  EXPECT_EQ(complete(tokens[1], "late"), Status::kNotFound);
}

TEST_F(Outside, schedule_to_close_goes_on) {
  ActivityOptions how = retried(5);
  how.schedule_to_close = seconds(60);
  ask_at("a", asks(how));
  EXPECT_EQ(end_of("i", 61'000), "completed timeout: schedule_to_close (60000 ms) passed");
  EXPECT_EQ(complete("late"), Status::kNotFound);
}

TEST_F(Outside, heartbeats_by_token_keep_it_alive_and_keep_its_progress) {
  ActivityOptions how = retried(2);
  how.heartbeat_timeout = seconds(10);
  inside = [](ActivityContext& ctx) { EXPECT_EQ(ctx.heartbeat("asked"), Status::kOk); };
  ask_at("a", asks(how));
  EXPECT_EQ(activities(), std::vector<std::string>{"ask outside 1 1 [] [asked] []"});
  for (int i = 0; i < 5; ++i) {
    pass(8'000);
    ASSERT_EQ(client()->heartbeat_activity(tokens[0], i == 0 ? "read" : ""), Status::kOk);
  }
  EXPECT_EQ(activities(), std::vector<std::string>{"ask outside 1 1 [] [read] []"});
  std::string found;
  inside = [&](ActivityContext& ctx) { found = ctx.last_progress(); };
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }, 13'000));
  EXPECT_EQ(found, "read");
  pass(100);
  EXPECT_EQ(client()->heartbeat_activity(tokens[0]), Status::kNotFound);
  EXPECT_EQ(client()->heartbeat_activity(tokens[1], std::string(kProgressBytesMax, 'p')),
            Status::kOk);
  EXPECT_EQ(client()->heartbeat_activity(tokens[1], std::string(kProgressBytesMax + 1, 'p')),
            Status::kInvalidArgument);
  EXPECT_EQ(end_of("i", 13'000),
            "completed heartbeat_timeout: heartbeat_timeout (10000 ms) passed without a heartbeat");
}

TEST_F(Outside, a_cancellation_ends_it_at_once) {
  ask_at("a", asks());
  cancel_instance("i", "enough");
  EXPECT_EQ(end_of("i", 1'000), "completed cancelled: enough");
  EXPECT_EQ(client()->heartbeat_activity(tokens[0]), Status::kNotFound);
  EXPECT_EQ(complete("yes"), Status::kNotFound);
}

TEST_F(Outside, a_command_that_lost_a_race_ends_it) {
  ask_at("a", [](OrchestrationContext& ctx) {
    const Handle asked = ctx.schedule_activity("ask", "q");
    PAWL_AWAIT_DONE(ctx.select(asked, ctx.schedule_timer(seconds(5))));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    return ctx.complete("over");
  });
  pass(4'000);
  ASSERT_EQ(client()->heartbeat_activity(tokens[0]), Status::kOk);
  pass(2'000);
  EXPECT_EQ(client()->heartbeat_activity(tokens[0]), Status::kNotFound);
  EXPECT_TRUE(activities().empty());
  raise_event("i", "go");
  EXPECT_EQ(end_of("i"), "completed over");
}

TEST_F(Outside, no_death_of_a_worker_and_no_reboot_counts_for_it) {
  options.limits.crashes_max = 2;
  options.limits.reboots_max = 2;
  ask_at("a", asks());
  for (int i = 0; i < 4; ++i) {
    restart();
    pass(1'000);
  }
  for (int i = 0; i < 3; ++i) {
    forget_client();
    workers.clear();
    machine.reboot(60'000);
    start_worker("a");
    pass(1'000);
  }
  EXPECT_EQ(activities(), std::vector<std::string>{"ask outside 1 1 [] [] []"});
  ASSERT_EQ(tokens.size(), 1U);
  // No worker has to live for the answer.
  workers.back()->kill();
  ASSERT_EQ(complete("yes"), Status::kOk);
  start_worker("b");
  EXPECT_EQ(end_of("i"), "completed yes");
}

TEST_F(Outside, a_crash_before_the_return_makes_the_token_stale) {
  code(asks());
  Worker& worker = start_worker("a");
  inside = [&](ActivityContext&) {
    if (tokens.size() == 1) worker.kill();
  };
  start("i", "code");
  static_cast<void>(drive_until([&] { return !tokens.empty(); }));
  start_worker("b");
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }));
  pass(100);
  EXPECT_EQ(complete(tokens[0], "old"), Status::kNotFound);
  ASSERT_EQ(complete(tokens[1], "new"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed new");
}

// No worker has taken the attempt over yet.
TEST_F(Outside, an_answer_to_an_attempt_whose_worker_died_counts_until_the_next_one) {
  code(asks());
  Worker& worker = start_worker("a");
  inside = [&](ActivityContext&) { worker.kill(); };
  start("i", "code");
  static_cast<void>(drive_until([&] { return !tokens.empty(); }));
  ASSERT_EQ(complete("yes"), Status::kOk);
  inside = [](ActivityContext&) {};
  start_worker("b");
  EXPECT_EQ(end_of("i"), "completed yes");
  EXPECT_EQ(tokens.size(), 1U);
}

TEST_F(Outside, a_worker_that_stops_does_not_wait_for_it) {
  ask_at("a", asks());
  const std::int64_t begun = machine.boot_ms();
  workers.back()->stop();
  EXPECT_LT(machine.boot_ms() - begun, 1'000);
  EXPECT_EQ(activities(), std::vector<std::string>{"ask outside 1 1 [] [] []"});
  start_worker("b");
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

TEST_F(Outside, a_suspended_instance_gets_the_answer_when_it_goes_on) {
  ask_at("a", asks());
  ASSERT_EQ(client()->suspend_instance("i"), Status::kOk);
  ASSERT_EQ(complete("yes"), Status::kOk);
  pass(5'000);
  EXPECT_EQ(client().status("i").state, OrchestrationState::kSuspended);
  ASSERT_EQ(client()->resume_instance("i"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

TEST_F(Outside, a_terminated_or_deleted_instance_takes_no_answer) {
  ask_at("a", asks());
  ASSERT_EQ(client()->terminate_instance("i", "enough"), Status::kOk);
  EXPECT_EQ(end_of("i"), "failed terminated enough");
  EXPECT_EQ(complete("yes"), Status::kNotFound);
  start("j", "code");
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }));
  pass(100);
  ASSERT_EQ(client()->delete_instance("j", true), Status::kOk);
  EXPECT_EQ(complete("yes"), Status::kNotFound);
  EXPECT_EQ(client()->heartbeat_activity(tokens[1]), Status::kNotFound);
}

TEST_F(Outside, a_restart_asks_again) {
  ask_at("a", [](OrchestrationContext& ctx) {
    const Handle asked = ctx.schedule_activity("ask", "q");
    PAWL_AWAIT(failed, ctx.schedule_activity("note", "n"));
    if (notes.size() == 1) return ctx.fail("first");
    PAWL_AWAIT(done, asked);
    return ctx.complete(text_of(done));
  });
  EXPECT_EQ(end_of("i"), "failed application first");
  EXPECT_EQ(complete("yes"), Status::kNotFound);
  ASSERT_EQ(client()->restart_instance("i", RestartFrom::kStart), Status::kOk);
  ASSERT_TRUE(drive_until([&] { return tokens.size() == 2; }));
  pass(100);
  ASSERT_EQ(complete("yes"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed yes");
}

ActivityResult unnamed(ActivityContext& ctx) {
  EXPECT_TRUE(ctx.completion_token().empty());
  return ctx.complete_later();
}

TEST_F(Outside, an_activity_that_the_registry_does_not_name_has_no_token) {
  EXPECT_EQ(registry.allow_complete_later("unknown"), Status::kNotFound);
  add("unnamed", unnamed);
  const std::string end = run([](OrchestrationContext& ctx) {
    PAWL_AWAIT(done, ctx.schedule_activity("unnamed", "", retried(3)));
    return ctx.complete(text_of(done));
  });
  EXPECT_EQ(end,
            "completed invalid_argument: the activity is not one of "
            "Registry::allow_complete_later()");
}

ActivityResult changes_its_mind(ActivityContext& ctx) {
  static_cast<void>(ctx.complete_later());
  return ctx.ok("at once");
}

TEST_F(Outside, the_last_answer_of_the_activity_counts) {
  add("changes_its_mind", changes_its_mind);
  ASSERT_EQ(registry.allow_complete_later("changes_its_mind"), Status::kOk);
  EXPECT_EQ(run([](OrchestrationContext& ctx) {
              PAWL_AWAIT(done, ctx.schedule_activity("changes_its_mind", ""));
              return ctx.complete(text_of(done));
            }),
            "completed at once");
}

struct Step {
  int count = 0;
};
ActivityStep in_steps(ActivityContext& ctx, Step& state) {
  if (++state.count < 3) return ctx.again_after(seconds(1));
  static_cast<void>(ctx.heartbeat(ctx.completion_token().view()));
  return ctx.complete_later();
}
ActivityResult on_a_thread(ActivityContext& ctx) {
  static_cast<void>(ctx.heartbeat(ctx.completion_token().view()));
  return ctx.complete_later();
}

TEST_F(Outside, activities_of_all_modes_may_be_completed_later) {
  add("in_steps", in_steps);
  add("on_a_thread", on_a_thread, ActivityMode::kThreaded);
  ASSERT_EQ(registry.allow_complete_later("in_steps"), Status::kOk);
  ASSERT_EQ(registry.allow_complete_later("on_a_thread"), Status::kOk);
  code([](OrchestrationContext& ctx) {
    const Handle a = ctx.schedule_activity("in_steps", "");
    const Handle b = ctx.schedule_activity("on_a_thread", "");
    PAWL_AWAIT(first, a);
    PAWL_AWAIT(second, b);
    return ctx.complete(text_of(first) + " " + text_of(second));
  });
  start_worker("a");
  start("i", "code");
  pass(5'000);
  auto answer = visit([&](const ActivityInfo& one) {
    EXPECT_EQ(one.state, ActivityState::kOutside);
    tokens.emplace_back(one.last_progress);
  });
  ASSERT_EQ(client()->list_activities("i", answer), Status::kOk);
  ASSERT_EQ(tokens.size(), 2U);
  EXPECT_EQ(complete(tokens[0], "steps"), Status::kOk);
  EXPECT_EQ(complete(tokens[1], "thread"), Status::kOk);
  EXPECT_EQ(end_of("i"), "completed steps thread");
}

// A death at each write of a hand-over, a return and an answer: an answer that was accepted is the
// outcome, once; one that was not leaves the activity as it was.
TEST_F(Outside, DeathAtEveryWrite) {
  kills_are_many();
  bool all_written = false;
  code(asks());
  for (std::uint64_t nth = 1; !all_written && nth < 1000; nth += PAWL_SAMPLE) {
    const std::string id = "d" + std::to_string(nth);
    Worker& worker = restart();
    const std::size_t before = tokens.size();
    start(id, "code");
    worker.watch.hold();
    const std::uint64_t writes = machine.writes();
    machine.fail_write(nth, Status::kIo, true);
    Status answer = Status::kTimeout;
    static_cast<void>(drive_until(
        [&] {
          if (tokens.size() > before && answer == Status::kTimeout)
            answer = complete(tokens.back(), "first");
          return machine.writes() >= writes + nth || has_ended(id);
        },
        35'000));
    all_written = machine.writes() < writes + nth;
    worker.kill();
    machine.fail_write(0, Status::kOk, false);
    restart();
    if (answer != Status::kOk) {
      ASSERT_TRUE(drive_until([&] {
        if (tokens.size() > before) answer = complete(tokens.back(), "second");
        return answer == Status::kOk || has_ended(id);
      })) << nth;
      const std::string end = end_of(id);
      ASSERT_TRUE(end == "completed second" || end == "completed first") << nth << " " << end;
    } else {
      ASSERT_EQ(end_of(id), "completed first") << nth;
    }
  }
  EXPECT_TRUE(all_written);
}

}  // namespace
}  // namespace pawl

// Goal: the directory shows which worker has which session; owner labels, limits of an owner and
// closing from outside work; and the log reports all of it. Method: whole runtimes on the simulated
// machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "session_story.hpp"

namespace pawl {
namespace {

using testing::CodeTest;
using testing::Worker;

std::size_t g_runs = 0;

ActivityResult note(ActivityContext& ctx) {
  ++g_runs;
  return ctx.ok(ctx.worker_id());
}

SessionSettings for_owner(std::string_view owner, std::string_view kind = {}) {
  SessionSettings settings;
  settings.owner_label = owner;
  settings.kind = kind;
  return settings;
}

class SessionDirectory : public CodeTest {
 protected:
  SessionDirectory() {
    g_runs = 0;
    add("note", note);
  }
  // Lists "name/instance/owner/kind/state/node", one session a line.
  std::string list(const SessionFilter& filter = SessionFilter()) {
    std::string text;
    auto print = visit([&](const SessionInfo& one) {
      for (const std::string_view part :
           {one.name.view(), one.instance_id.view(), one.owner_label.view(), one.kind.view(),
            std::string_view(session_state_name(one.state))})
        text += std::string(part) + "/";
      text += std::string(one.node) + "\n";
    });
    Page page;
    page.rows_max = 2;
    do {
      EXPECT_EQ(client()->list_sessions(filter, &page, print), Status::kOk);
    } while (page.more);
    return text;
  }
  void settle() { pass(2'000); }
};

Poll opens_one(OrchestrationContext& ctx) {
  const bool is_bob = ctx.input() == "bob";
  const Session session = ctx.open_session("s", for_owner(ctx.input(), is_bob ? "tool" : "agent"));
  if (!is_bob) PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("");
}

// Rules: S23.
TEST_F(SessionDirectory, lists_and_filters_by_owner_kind_and_state) {
  code(opens_one);
  start_worker("a");
  start("i", "code", "alice");
  settle();
  start("j", "code", "bob");
  settle();
  start("k", "code", "alice");
  pass(5'000);
  EXPECT_EQ(list(), "s/i/alice/agent/idle/a\ns/j/bob/tool/idle/\ns/k/alice/agent/idle/a\n");
  SessionFilter filter;
  filter.owner_label = "alice";
  EXPECT_EQ(list(filter), "s/i/alice/agent/idle/a\ns/k/alice/agent/idle/a\n");
  filter = SessionFilter();
  filter.kind = "tool";
  EXPECT_EQ(list(filter), "s/j/bob/tool/idle/\n");
  filter = SessionFilter();
  filter.any_state = false;
  filter.state = SessionState::kActive;
  EXPECT_EQ(list(filter), "");

  SessionInfo one;
  ASSERT_EQ(client()->get_session("i", "s", &one), Status::kOk);
  EXPECT_EQ(one.owner_label, "alice");
  EXPECT_EQ(one.node, "a");
  EXPECT_EQ(one.activities, 1);
  EXPECT_EQ(one.epoch, 1);
  EXPECT_GE(one.age_ms, 9'000);
  EXPECT_GE(one.quiet_for_ms, 8'000);
  EXPECT_GT(one.created_ms, 1'800'000'000'000 - 1);
  EXPECT_EQ(client()->get_session("i", "t", &one), Status::kNotFound);
  EXPECT_NE(client()->error_text().find("session \"t\""), std::string_view::npos);
  EXPECT_EQ(client()->get_session("", "s", &one), Status::kNotFound);
}

Poll opens_three(OrchestrationContext& ctx) {
  const Session used = ctx.open_session("used", for_owner("alice", "agent"));
  SessionSettings ages = for_owner("bob", "tool");
  ages.max_age = std::chrono::seconds(1);
  static_cast<void>(ctx.open_session("ages", ages));
  SessionSettings fails = for_owner("alice", "tool");
  fails.fail_on_loss = true;
  const Session lost = ctx.open_session("lost", fails);
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(used)));
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(lost)));
  // No worker has this activity, so its session keeps its work.
  PAWL_AWAIT_DONE(ctx.schedule_activity("unknown", "", Target::session("waits")));
  return ctx.complete("");
}

// Each filter is used alone and with others; each page continues where the last one ended.
// Rules: S23.
TEST_F(SessionDirectory, filters_by_node_instance_and_each_state) {
  testing::expect_errors("activity_unregistered");
  code(opens_three);
  start_worker("a");
  for (const char* id : {"i", "j"})
    start(id, "code");
  pass(10'000);
  TransferOptions away;
  away.instance = "j";
  ASSERT_EQ(client()->transfer_session("lost", "", away), Status::kOk);
  pass(1'000);
  const std::string used_i = "used/i/alice/agent/idle/a\n";
  const std::string ages_i = "ages/i/bob/tool/expired/\n";
  const std::string lost_i = "lost/i/alice/tool/idle/a\n";
  const std::string waits = "waits////active/\n";
  const std::string used_j = "used/j/alice/agent/idle/a\n";
  const std::string ages_j = "ages/j/bob/tool/expired/\n";
  const std::string lost_j = "lost/j/alice/tool/lost/\n";
  EXPECT_EQ(list(), used_i + ages_i + lost_i + used_j + ages_j + lost_j + waits);
  SessionFilter filter;
  filter.instance_id = "j";
  EXPECT_EQ(list(filter), used_j + ages_j + lost_j);
  filter.owner_label = "bob";
  EXPECT_EQ(list(filter), ages_j);
  filter.instance_id = "nobody";
  EXPECT_EQ(list(filter), "");
  filter = SessionFilter();
  filter.node = "a";
  EXPECT_EQ(list(filter), used_i + lost_i + used_j);
  filter.kind = "tool";
  EXPECT_EQ(list(filter), lost_i);
  filter.node = "b";
  EXPECT_EQ(list(filter), "");
  filter = SessionFilter();
  filter.owner_label = "bob";
  EXPECT_EQ(list(filter), ages_i + ages_j) << "also what is not open any more";
  filter = SessionFilter();
  filter.kind = "tool";
  EXPECT_EQ(list(filter), ages_i + lost_i + ages_j + lost_j);
  const auto of_state = [&](SessionState state) {
    SessionFilter of;
    of.any_state = false;
    of.state = state;
    return list(of);
  };
  EXPECT_EQ(of_state(SessionState::kIdle), used_i + lost_i + used_j);
  EXPECT_EQ(of_state(SessionState::kActive), waits);
  EXPECT_EQ(of_state(SessionState::kExpired), ages_i + ages_j);
  EXPECT_EQ(of_state(SessionState::kLost), lost_j);
  EXPECT_EQ(of_state(SessionState::kRefused), "");
  EXPECT_EQ(of_state(SessionState::kClosed), "");
}

TEST_F(SessionDirectory, shared_ones_are_listed_with_what_waits) {
  testing::expect_errors("activity_unregistered");
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("unknown", "", Target::session("bed")));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  settle();
  SessionInfo one;
  ASSERT_EQ(client()->get_session("", "bed", &one), Status::kOk);
  EXPECT_EQ(one.state, SessionState::kActive);
  EXPECT_EQ(one.instance_id, "");
}

// Rules: S23.
TEST_F(SessionDirectory, other_labels_under_a_history_are_noticed) {
  testing::expect_errors("instance_stopped");
  std::string owner = "alice";
  code([&owner](OrchestrationContext& ctx) {
    static_cast<void>(ctx.open_session("s", for_owner(owner, "agent")));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
    return ctx.complete("");
  });
  Worker* a = &start_worker("a");
  start("i", "code");
  pass(1'000);
  a->kill();
  owner = "bob";
  start_worker("a");
  pass(20'000);
  EXPECT_EQ(client().status("i").state, OrchestrationState::kStopped);
  EXPECT_NE(client().status("i").output.find("owner label differs"), std::string_view::npos)
      << client().status("i").output;
}

TEST_F(SessionDirectory, bad_labels_are_invalid_arguments) {
  code([](OrchestrationContext& ctx) {
    const std::string just(kSessionLabelBytesMax, 'x');
    if (ctx.open_session("s", for_owner(just, just)).id() != "s") return ctx.fail("just");
    if (!ctx.open_session(for_owner(just + "x")).id().empty()) return ctx.fail("long owner");
    if (!ctx.open_session(for_owner("o", just + "x")).id().empty()) return ctx.fail("long kind");
    if (!ctx.open_session(for_owner("o\n")).id().empty()) return ctx.fail("control character");
    return ctx.complete("ok");
  });
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ok");
}

// ---- limits of an owner ----

// Rules: S24.
TEST_F(SessionDirectory, one_too_many_of_an_owner_is_refused_with_the_way_to_free_one) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", for_owner(ctx.input()));
    PAWL_AWAIT(first, ctx.schedule_activity("note", "", Target::own(session)));
    if (first.ok()) {
      PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
      return ctx.complete("was open");
    }
    PAWL_AWAIT_DONE(ctx.schedule_wait("again"));
    const Session again = ctx.open_session("s", for_owner(ctx.input()));
    PAWL_AWAIT(second, ctx.schedule_activity("note", "", Target::own(again)));
    return second.ok() ? ctx.fail(first.error()) : ctx.complete("still none");
  });
  Options how = named("a");
  how.sessions.max_sessions_per_owner = 2;
  Worker& a = start_worker(how);
  for (const char* id : {"i", "j", "k"})
    start(id, "code", "alice");
  start("other", "code", "bob");
  settle();
  EXPECT_EQ(list(),
            "s/i/alice//idle/a\ns/j/alice//idle/a\ns/k/alice//refused/\n"
            "s/other/bob//idle/a\n");
  EXPECT_EQ(a.runtime->stats().sessions_refused, 1u);
  EXPECT_EQ(a.runtime->stats().sessions_opened, 3u);
  EXPECT_EQ(a.lines.count("session_refused session=s"), 1u) << a.lines.all();
  raise_event("j", "end");
  ASSERT_TRUE(ends("j"));
  raise_event("k", "again");
  EXPECT_EQ(
      end_of("k"),
      "failed limit owner \"alice\" has 2 sessions open (max_sessions_per_owner): close one, as "
      "\"s\" of instance \"i\", with close_session()");
}

// Rules: S24.
TEST_F(SessionDirectory, reopening_ones_own_is_no_further_session) {
  code([](OrchestrationContext& ctx) {
    SessionSettings settings = for_owner("alice");
    settings.fail_on_loss = true;
    Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::minutes(2)));
    session = ctx.open_session("s", settings);
    PAWL_AWAIT(last, ctx.schedule_activity("note", "", Target::own(session)));
    return last.ok() ? ctx.complete("ok") : ctx.fail(last.error());
  });
  Options how = named("boss");
  how.sessions.max_sessions_per_owner = 1;
  how.sessions.max_sessions_per_orchestration = 1;
  start_worker(deciding, how);
  Worker& a = start_worker("a");
  start("i", "code");
  settle();
  a.kill();
  pass(60'000);
  EXPECT_EQ(list(), "s/i/alice//lost/\n");
  start_worker("b");
  EXPECT_EQ(end_of("i", 200'000), "completed ok");
}

// ---- closing from outside ----

Poll waits_for_close(OrchestrationContext& ctx) {
  SessionSettings settings = for_owner("alice", "agent");
  settings.notify = true;
  if (ctx.execution_id() == 1) {
    const Session session = ctx.open_session("s", settings);
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.session_events(session));  // claimed
    return ctx.continue_as_new("");
  }
  ActivityOptions options;
  options.target = Target::own("s");
  const Handle pending = ctx.schedule_activity("unknown", "", options);
  PAWL_AWAIT(done, pending);
  PAWL_AWAIT(reported, ctx.dequeue_event("session:s"));
  PAWL_AWAIT(after, ctx.schedule_activity("note", "", options));
  return ctx.complete(std::string(error_kind_name(done.error().kind)) + " (" +
                      std::string(done.error().text) + ") " + std::string(reported.value()) + " " +
                      error_kind_name(after.error().kind));
}

// Rules: S25.
TEST_F(SessionDirectory, only_its_owner_and_administrators_close_it_from_outside) {
  testing::expect_errors("activity_unregistered");
  code(waits_for_close);
  Worker* a = &start_worker("a");
  for (const char* id : {"i", "j"})
    start(id, "code");
  settle();
  EXPECT_EQ(client()->close_session("i", "s", "bob"), Status::kNotOwner);
  EXPECT_NE(client()->error_text().find("belongs to \"alice\""), std::string_view::npos)
      << client()->error_text();
  EXPECT_EQ(client()->close_session("i", "none", "alice"), Status::kNotFound);
  EXPECT_EQ(client()->close_session("none", "s", "alice"), Status::kNotFound);
  settle();
  EXPECT_FALSE(!is_running("i"));
  EXPECT_EQ(client()->close_session("i", "s", "alice"), Status::kOk);
  EXPECT_EQ(client()->close_session("i", "s", "alice"), Status::kNotFound) << "it is closed";
  EXPECT_EQ(client()->close_session("j", "s"), Status::kOk);
  // The runtime that has to log the closing dies first; the next one logs it.
  a->kill();
  Worker& b = start_worker("b");
  ASSERT_TRUE(drive_until([&] { return !is_running("i") && !is_running("j"); }));
  EXPECT_EQ(outcome_of("i").substr(0, 51), "completed session_closed (closed by alice) {\"change");
  EXPECT_NE(outcome_of("i").find("\"reason\":\"closed by alice\"} session_closed"),
            std::string::npos)
      << outcome_of("i");
  EXPECT_NE(outcome_of("j").find("closed by an administrator"), std::string::npos);
  EXPECT_EQ(b.lines.count("session_closed session=s"), 2u) << b.lines.all();
  EXPECT_EQ(b.runtime->stats().sessions_closed, 2u);
  EXPECT_EQ(list(), "");
}

TEST_F(SessionDirectory, one_closed_from_outside_is_opened_anew_and_reported_once) {
  code([](OrchestrationContext& ctx) {
    Session session = ctx.open_session("s", for_owner("alice"));
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    session = ctx.open_session("s", for_owner("bob"));
    PAWL_AWAIT(last, ctx.schedule_activity("note", "", Target::own(session)));
    return last.ok() ? ctx.complete("ok") : ctx.fail(last.error());
  });
  Worker& a = start_worker("a");
  start("i", "code");
  settle();
  ASSERT_EQ(client()->close_session("i", "s", "alice"), Status::kOk);
  raise_event("i", "go");
  EXPECT_EQ(end_of("i"), "completed ok");
  settle();
  EXPECT_EQ(a.lines.count("session_created session=s"), 2u) << a.lines.all();
  EXPECT_EQ(a.lines.count("session_closed session=s"), 2u) << a.lines.all();
  EXPECT_EQ(list(), "");
}

TEST_F(SessionDirectory, the_worker_logs_a_closing_from_outside) {
  class Received final : public SessionListener {
   public:
    void on_session_claimed(std::string_view session, std::int64_t /*epoch*/) noexcept override {
      text += "claimed " + std::string(session) + " ";
    }
    void on_session_lost(std::string_view session, std::int64_t /*epoch*/) noexcept override {
      text += "lost " + std::string(session) + " ";
    }
    std::string text;
  } received;
  code(opens_one);
  Options how = named("a");
  how.sessions.listener = &received;
  start_worker(how);
  start("i", "code", "alice");
  settle();
  ASSERT_EQ(client()->close_session("i", "s"), Status::kOk);
  settle();
  EXPECT_EQ(received.text, "claimed s lost s ");
  EXPECT_EQ(list(), "");
}

// ---- audit trail ----

// The value of a key in a line "event key=value key=value", or nothing.
std::string field(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(" " + key + "=");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

// The steps of a session in the lines of some logs, in the order of its epochs.
std::string timeline(const std::string& logs, const std::string& instance,
                     const std::string& session) {
  std::vector<std::pair<std::int64_t, std::string>> steps;
  for (std::size_t begin = 0; begin < logs.size();) {
    const std::size_t end = logs.find('\n', begin);
    const std::string line = logs.substr(begin, end - begin);
    begin = end == std::string::npos ? logs.size() : end + 1;
    if (field(line, "session") != session || field(line, "instance") != instance) continue;
    if (line.find("session_") == std::string::npos) continue;  // a line of an activity
    const std::string event =
        line.substr(line.find("session_"), line.find(" session=") - line.find("session_"));
    std::string step = event;
    for (const char* key : {"from", "to", "reason", "owner", "kind"})
      if (!field(line, key).empty()) step += std::string(" ") + key + "=" + field(line, key);
    // The line of a closing has the epoch that it ends.
    const std::int64_t last = event == "session_closed" ? 1 : 0;
    steps.emplace_back(2 * std::stoll(field(line, "epoch")) + last, step);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& step : steps)
    text += step.second + "\n";
  return text;
}

// Rules: S26.
TEST_F(SessionDirectory, the_migrations_of_a_session_are_rebuilt_from_the_log_alone) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s", for_owner("alice", "agent"));
    for (int i = 0; i < 3; ++i) {
      PAWL_AWAIT_DONE(ctx.schedule_activity("note", "", Target::own(session)));
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
    }
    return ctx.complete("");
  });
  const Worker& decider = boss();
  Worker& a = start_worker("a");
  start("i", "code");
  start("j", "code");
  ASSERT_TRUE(drive_until([&] { return g_runs == 2; }));
  settle();
  a.kill();
  Worker& b = start_worker("b");
  ASSERT_TRUE(drive_until([&] { return g_runs == 4; }));
  settle();
  b.stop();
  const Worker& c = start_worker("c");
  ASSERT_TRUE(drive_until([&] { return !is_running("i") && !is_running("j"); }));
  const std::string logs =
      decider.lines.all() + "\n" + a.lines.all() + "\n" + b.lines.all() + "\n" + c.lines.all();
  const std::string reported = timeline(logs, "i", "s");
  EXPECT_EQ(reported,
            "session_created owner=alice kind=agent\n"
            "session_claimed to=a owner=alice kind=agent\n"
            "session_used to=a owner=alice kind=agent\n"
            "session_released from=a reason=buried owner=alice kind=agent\n"
            "session_migrated from=a to=b owner=alice kind=agent\n"
            "session_used to=b owner=alice kind=agent\n"
            "session_released from=b reason=shutdown owner=alice kind=agent\n"
            "session_migrated from=b to=c owner=alice kind=agent\n"
            "session_used to=c owner=alice kind=agent\n"
            "session_closed from=c reason=the owner=alice kind=agent\n")
      << logs;
  EXPECT_EQ(timeline(logs, "j", "s"), reported);
}

}  // namespace
}  // namespace pawl

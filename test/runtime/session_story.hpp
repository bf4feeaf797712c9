// Parts of tests about sessions: the code of the current test, workers that only decide or only
// work, activities that note where they ran, and one that lasts.
#ifndef PAWL_TEST_RUNTIME_SESSION_STORY_HPP
#define PAWL_TEST_RUNTIME_SESSION_STORY_HPP

#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl::testing {

// The orchestrations "code" and "other" run what the test gives them.
class CodeTest : public GatewayTest {
 protected:
  using Code = std::function<Poll(OrchestrationContext&)>;

  explicit CodeTest(std::uint64_t seed = 11) : GatewayTest(seed) {
    codes.clear();
    for (const char* name : {"code", "other"}) {
      add(name, run_code);
      EXPECT_EQ(deciding.add_orchestration(name, run_code), Status::kOk);
    }
  }
  void TearDown() override {
    GatewayTest::TearDown();
    codes.clear();
  }
  static void code(Code what) { codes["code"] = std::move(what); }
  static void other(Code what) { codes["other"] = std::move(what); }
  // Runs the code to its end at one worker.
  std::string run(Code what, std::int64_t ms = 3'600'000) {
    code(std::move(what));
    start_worker("a");
    start("i", "code", "in");
    return end_of("i", ms);
  }

  // ---- workers that only decide, or only work ----
  Worker& boss() {
    Options out = named("boss");
    out.slots.inline_activities = out.slots.threads = out.slots.cooperative = 0;
    out.sessions.max_sessions_per_worker = 0;
    return start_worker(deciding, out);
  }
  Options working(const char* node) const {
    Options out = named(node);
    out.run_orchestrations = false;
    return out;
  }
  Worker& hand(const char* node) { return start_worker(working(node)); }

  Registry& deciding = another_registry();  // no activities

 private:
  static Poll run_code(OrchestrationContext& ctx) {
    return codes.find(ctx.orchestration_name())->second(ctx);
  }
  static inline std::map<std::string, Code, std::less<>> codes;
};

class SessionStory : public CodeTest {
 protected:
  std::string state_of(std::string_view instance, std::string_view session) {
    SessionInfo one;
    if (client()->get_session(instance, session, &one) != Status::kOk) return "none";
    return session_state_name(one.state);
  }
  // When messages about a session came, in ms since the instance began; an empty `change` means
  // any.
  std::vector<std::int64_t> reported_at(std::string_view id, std::string_view change = {}) {
    std::vector<std::int64_t> times;
    std::int64_t began = 0;
    const std::string about = "\"change\":\"" + std::string(change) + (change.empty() ? "" : "\"");
    for (const KeptEvent& event : history(id)) {
      if (began == 0) began = event.time_ms;
      if (event.payload.find(about) != std::string::npos) times.push_back(event.time_ms - began);
    }
    return times;
  }

  struct Run {
    std::string worker, session, input, instance;
    std::int64_t epoch = 0;
    std::int64_t attempt = 0;
    bool claimed_now = false;
  };
  struct Row {
    std::string name, node;
    std::int64_t epoch = 0;
    std::int64_t lease_ms = 0;
  };

  SessionStory() : CodeTest(23) {
    kills_are_many();
    runs.clear();
    cancelled = ended_slow = 0;
    add("note", note);
    add("slow", slow);
    options.sessions.max_sessions_per_worker = 100;
  }
  // No worker asks the kernel which processes live, so that a session changes its owner by a lease.
  void wait_for_leases() { options.leases.fast_handoff = false; }
  bool runs_are(std::size_t count, std::int64_t ms = 60'000) {
    return drive_until([&] { return runs.size() >= count; }, ms);
  }

  // ---- what was seen ----
  static std::set<std::string> workers_of(std::string_view session) {
    std::set<std::string> all;
    for (const Run& one : runs)
      if (one.session == session) all.insert(one.worker);
    return all;
  }
  static std::set<std::int64_t> epochs_of(std::string_view session) {
    std::set<std::int64_t> all;
    for (const Run& one : runs)
      if (one.session == session) all.insert(one.epoch);
    return all;
  }
  std::vector<Row> rows() {
    std::vector<Row> all;
    auto keep = visit([&](const SessionInfo& one) {
      all.push_back(
          {std::string(one.name), std::string(one.node), one.epoch, one.lease_ends_in_ms});
    });
    Page page;
    EXPECT_EQ(client()->list_sessions(SessionFilter(), &page, keep), Status::kOk);
    return all;
  }
  // The first session of this name; none: all fields are empty.
  Row row(std::string_view name) {
    for (const Row& one : rows())
      if (one.name == name) return one;
    return {};
  }
  std::size_t logged(std::string_view text) const {
    std::size_t count = 0;
    for (const auto& one : workers)
      count += one->lines.count(text);
    return count;
  }

  static inline std::vector<Run> runs;
  static inline int cancelled = 0;   // "slow" activities that were cancelled
  static inline int ended_slow = 0;  // "slow" activities that reached their end

 private:
  static void keep(ActivityContext& ctx) {
    runs.push_back({std::string(ctx.worker_id()), std::string(ctx.session_id()),
                    std::string(ctx.input()), std::string(ctx.instance_id()), ctx.session_epoch(),
                    ctx.attempt(), ctx.claimed_now()});
  }
  static ActivityResult note(ActivityContext& ctx) {
    keep(ctx);
    if (ctx.input() == "abort") ctx.abort_session();
    if (ctx.input() == "fail") return ctx.fail("said so");
    return ctx.ok(ctx.worker_id());
  }
  // Lasts as many seconds as its input says.
  struct Seconds {
    bool began = false;
    long left = 0;
  };
  static ActivityStep slow(ActivityContext& ctx, Seconds& state) {
    if (!state.began) {
      state.began = true;
      state.left = std::atol(std::string(ctx.input()).c_str());
      keep(ctx);
    }
    if (ctx.is_cancelled()) {
      ++cancelled;
      return ctx.ok("cancelled");
    }
    if (state.left-- > 0) return ctx.again_after(std::chrono::seconds(1));
    ++ended_slow;
    return ctx.ok(ctx.worker_id());
  }
};

// `count` activities on a session, a second apart.
inline std::function<Poll(OrchestrationContext&)> a_second_apart(int count) {
  return [count](OrchestrationContext& ctx) {
    for (int i = 0; i < count; ++i) {
      PAWL_AWAIT(done,
                 ctx.schedule_activity("note", std::to_string(i), Target::session(ctx.input())));
      if (!done.ok()) return ctx.fail(done.error());
      PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
    }
    return ctx.complete("all");
  };
}

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_SESSION_STORY_HPP

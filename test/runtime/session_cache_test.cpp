// Goal: the states that a worker keeps in a SessionCache come and go with their sessions, and none
// ends while it is in use.
#include "pawl/session_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "world.hpp"

namespace pawl {
namespace {

using testing::GatewayTest;
using testing::Worker;

std::vector<std::string> g_ends;  // "why session", and the calls of the next listener
int g_states = 0;                 // number of living states

// A state is neither copied nor moved: it stays where it was made.
struct State {
  explicit State(std::string_view name) : session(name) { ++g_states; }
  ~State() { --g_states; }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  std::string session;
  int uses = 0;
};

const char* name_of(SessionCacheEnd why) {
  switch (why) {
    case SessionCacheEnd::kEvicted: return "evicted ";
    case SessionCacheEnd::kExpired: return "expired ";
    case SessionCacheEnd::kLost: return "lost ";
    case SessionCacheEnd::kDiscarded: return "discarded ";
    case SessionCacheEnd::kClosed: return "closed ";
  }
  return "? ";
}

void note_end(State& state, SessionCacheEnd why, void* ends) noexcept {
  static_cast<std::vector<std::string>*>(ends)->push_back(name_of(why) + state.session);
}

class Next final : public SessionListener {
 public:
  void on_session_claimed(std::string_view session, std::int64_t /*epoch*/) noexcept override {
    g_ends.push_back("next claimed " + std::string(session));
  }
  void on_session_lost(std::string_view session, std::int64_t /*epoch*/) noexcept override {
    g_ends.push_back("next lost " + std::string(session));
  }
};

using Cache = SessionCache<State, 2>;
Cache* g_cache = nullptr;
std::vector<Cache::Lease> g_held;

std::string state_text(const Cache::Lease& lease) {
  if (!lease) return status_name(lease.status());
  return (lease.made() ? "made " : "kept ") + std::to_string(++lease->uses);
}

// Does what its input says with the state of its session.
ActivityResult use(ActivityContext& ctx) {
  const std::string_view what = ctx.input();
  if (what == "find") return ctx.ok(state_text(g_cache->find(ctx)));
  Cache::Lease lease = g_cache->acquire(ctx, ctx.session_id());
  const std::string answer = state_text(lease);
  if (what == "discard") lease.discard();
  if (what == "hold" || what == "discard+hold") g_held.push_back(std::move(lease));
  if (what == "discard+hold") g_held.back().discard();
  return ctx.ok(answer);
}

// Runs "session:what session:what ..", one after the other; "-:ms" is a pause. Completes with all
// answers.
Poll script(OrchestrationContext& ctx) {
  std::string answers;
  std::string_view rest = ctx.input();
  while (!rest.empty()) {
    const std::string_view step = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), step.size() + 1));
    const std::string_view session = step.substr(0, step.find(':'));
    const std::string_view what = step.substr(session.size() + 1);
    if (session == "-") {
      const std::chrono::milliseconds pause(std::stoll(std::string(what)));
      PAWL_AWAIT_DONE(ctx.schedule_timer(pause));
    } else {
      PAWL_AWAIT(done, ctx.schedule_activity("use", what, Target::session(session)));
      answers.append(answers.empty() ? "" : ", ").append(done.ok() ? done.value() : "failed");
    }
  }
  return ctx.complete(answers);
}

Poll no_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("use", "get"));
  return ctx.complete(done.value());
}

Poll opens_and_closes(OrchestrationContext& ctx) {
  const Session session = ctx.open_session("mine");
  PAWL_AWAIT(first, ctx.schedule_activity("use", "get", Target::own(session)));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  PAWL_AWAIT(second, ctx.schedule_activity("use", "get", Target::own(session)));
  EXPECT_EQ(ctx.close_session("mine"), ErrorKind::kNone);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  return ctx.complete(std::string(first.value()) + ", " + std::string(second.value()));
}

// Holds its state until it is asked to end, and then looks for it once more.
struct Stay {
  Cache::Lease lease;
};
std::string g_stayed;
ActivityStep stay(ActivityContext& ctx, Stay& stay) {
  if (!ctx.is_cancelled()) {
    if (!stay.lease) stay.lease = g_cache->acquire(ctx, ctx.session_id());
    return ctx.again_after(std::chrono::milliseconds(100));
  }
  g_stayed = stay.lease.lost() ? "lost, " : "not lost, ";
  g_stayed += state_text(g_cache->acquire(ctx, ctx.session_id()));
  g_stayed += std::string(", ") + state_text(g_cache->find(ctx)) + ", " + std::to_string(g_states);
  return ctx.ok("");
}
Poll stays(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("stay", "", Target::session("s")));
  return ctx.complete(done.value());
}

class SessionCacheTest : public GatewayTest {
 protected:
  SessionCacheTest() {
    g_ends.clear();
    g_stayed.clear();
    g_cache = &cache;
    add("script", script);
    add("no_session", no_session);
    add("opens", opens_and_closes);
    add("stays", stays);
    add("use", use);
    add("stay", stay);
    Options listening = named("a");
    listening.sessions.listener = &cache;
    a = &start_worker(listening);
  }
  void TearDown() override {
    g_held.clear();
    GatewayTest::TearDown();
    EXPECT_EQ(g_states, 0) << "all that was made has ended";
  }
  static SessionCacheSettings<State> settings(SessionListener* next) {
    SessionCacheSettings<State> out;
    out.ttl = std::chrono::minutes(1);
    out.dispose = note_end;
    out.user = &g_ends;
    out.next = next;
    return out;
  }
  std::string run(std::string_view input, const char* name = "script") {
    const std::string id = "i" + std::to_string(runs_++);
    start(id, name, input);
    return end_of(id, 86'400'000);
  }
  // The ends, without the lines of the next listener.
  static std::vector<std::string> states_ended() {
    std::vector<std::string> out;
    for (const std::string& line : g_ends)
      if (line.substr(0, 4) != "next") out.push_back(line);
    return out;
  }

  sim::Node node{machine};  // has the cache's clock
  Next next;
  Cache cache{*node.port().clock, settings(&next)};
  Worker* a = nullptr;

 private:
  int runs_ = 0;
};

using Lines = std::vector<std::string>;

TEST_F(SessionCacheTest, a_state_is_made_once_and_kept_for_its_session) {
  EXPECT_EQ(run("s:find s:get s:get t:get s:find"),
            "completed not_found, made 1, kept 2, made 1, kept 3");
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_TRUE(states_ended().empty());
}

TEST_F(SessionCacheTest, the_one_used_longest_ago_makes_room) {
  EXPECT_EQ(run("s:get t:get s:find u:get s:get t:find"),
            "completed made 1, made 1, kept 2, made 1, kept 3, not_found");
  EXPECT_EQ(states_ended(), Lines({"evicted t"}));
  EXPECT_EQ(g_states, 2);
}

TEST_F(SessionCacheTest, what_is_in_use_is_never_evicted) {
  EXPECT_EQ(run("s:hold t:hold u:get s:get"),
            "completed made 1, made 1, resource_exhausted, kept 2");
  EXPECT_TRUE(states_ended().empty());
  g_held.erase(g_held.begin() + 1);
  EXPECT_EQ(run("u:get s:get"), "completed made 1, kept 3");
  EXPECT_EQ(states_ended(), Lines({"evicted t"}));
}

TEST_F(SessionCacheTest, what_is_not_used_for_its_time_ends_with_the_next_call) {
  EXPECT_EQ(run("s:get -:59000 s:get -:59000 s:find"), "completed made 1, kept 2, kept 3");
  EXPECT_EQ(run("-:60000 t:get s:find"), "completed made 1, not_found");
  EXPECT_EQ(states_ended(), Lines({"expired s"}));
  machine.advance(60'000);
  EXPECT_EQ(g_states, 1);
  cache.trim();
  EXPECT_EQ(g_states, 0) << "trim() is such a call";
}

TEST_F(SessionCacheTest, what_is_held_does_not_expire) {
  EXPECT_EQ(run("s:hold -:200000 s:get"), "completed made 1, kept 2");
  g_held.clear();
  EXPECT_EQ(run("-:59000 s:get"), "completed kept 3") << "its time begins when it is let go";
  EXPECT_TRUE(states_ended().empty());
}

TEST_F(SessionCacheTest, a_session_that_idles_away_takes_its_state_along) {
  EXPECT_EQ(run("s:hold t:get -:50000 s:get t:get"), "completed made 1, made 1, kept 2, kept 2");
  g_held.clear();
  g_ends.clear();
  ASSERT_EQ(client()->transfer_session("s", ""), Status::kOk);
  ASSERT_TRUE(drive_until([] { return g_ends.size() == 2; }));
  EXPECT_EQ(g_ends, Lines({"lost s", "next lost s"})) << "the next one after the state's end";
  EXPECT_EQ(run("s:get t:get"), "completed made 1, kept 3") << "another epoch";
}

TEST_F(SessionCacheTest, a_lost_state_that_is_held_ends_with_its_last_lease) {
  EXPECT_EQ(run("s:hold s:hold"), "completed made 1, kept 2");
  Worker& b = start_worker("b");
  ASSERT_EQ(client()->transfer_session("s", "b"), Status::kOk);
  ASSERT_TRUE(drive_until([] { return g_ends.back() == "next lost s"; }));
  EXPECT_TRUE(g_held[0].lost());
  EXPECT_EQ(g_held[0]->uses, 2) << "it is all there";
  g_held.pop_back();
  EXPECT_EQ(g_states, 1);
  EXPECT_EQ(cache.size(), 1u);
  g_held.pop_back();
  EXPECT_EQ(g_states, 0);
  EXPECT_EQ(states_ended(), Lines({"lost s"}));
  EXPECT_EQ(cache.size(), 0u);
  b.stop();
  EXPECT_EQ(run("s:get"), "completed made 1") << "back again: what was here before is not found";
}

TEST_F(SessionCacheTest, an_activity_that_outlives_its_session_makes_no_state) {
  Registry& without_stay = another_registry();
  Worker& b = start_worker(without_stay, named("b"));
  start("i", "stays");
  ASSERT_TRUE(drive_until([] { return g_states == 1; }));
  TransferOptions at_once;
  at_once.stop_timeout = std::chrono::milliseconds(0);
  ASSERT_EQ(client()->transfer_session("s", "b", at_once), Status::kOk);
  ASSERT_TRUE(drive_until([] { return !g_stayed.empty(); }));
  EXPECT_EQ(g_stayed, "lost, stale, stale, 1");
  EXPECT_EQ(states_ended(), Lines({"lost s"})) << "with the state of the activity";
  b.stop();
}

TEST_F(SessionCacheTest, what_is_discarded_is_made_anew) {
  EXPECT_EQ(run("s:discard s:get s:discard+hold s:get"),
            "completed made 1, made 1, kept 2, made 1");
  EXPECT_EQ(states_ended(), Lines({"discarded s"}));
  EXPECT_EQ(g_states, 2) << "one is held";
  EXPECT_FALSE(g_held[0].lost());
  g_held.clear();
  EXPECT_EQ(states_ended(), Lines({"discarded s", "discarded s"}));
}

TEST_F(SessionCacheTest, instances_that_open_sessions_of_one_id_share_nothing) {
  start("i", "opens");
  start("j", "opens");
  ASSERT_TRUE(drive_until([&] { return !is_running("i") && !is_running("j"); }));
  EXPECT_EQ(outcome_of("i"), "completed made 1, kept 2");
  EXPECT_EQ(outcome_of("j"), "completed made 1, kept 2");
  EXPECT_EQ(states_ended(), Lines({"lost mine", "lost mine"})) << "closed";
}

TEST_F(SessionCacheTest, without_a_session_there_is_no_state) {
  EXPECT_EQ(run("", "no_session"), "completed invalid_argument");
}

TEST_F(SessionCacheTest, a_lease_moves_and_is_released_once) {
  EXPECT_EQ(run("s:hold t:hold"), "completed made 1, made 1");
  Cache::Lease lease = std::move(g_held[0]);
  EXPECT_TRUE(lease);
  EXPECT_FALSE(g_held[0]);
  EXPECT_EQ(g_held[0].status(), Status::kNotFound);
  EXPECT_FALSE(g_held[0].lost());
  g_held[0].discard();  // it is empty: no effect
  lease.discard();
  lease = std::move(g_held[1]);
  EXPECT_EQ(states_ended(), Lines({"discarded s"})) << "what it held before";
  EXPECT_EQ(lease->session, "t");
  Cache::Lease& same = lease;
  lease = std::move(same);
  EXPECT_EQ((*lease).session, "t") << "into itself";
  lease.release();
  EXPECT_FALSE(lease);
  lease.release();
  EXPECT_EQ(run("s:get u:get"), "completed made 1, made 1") << "t is idle, and only once";
}

TEST_F(SessionCacheTest, all_that_is_left_ends_with_the_cache) {
  Lines closed;
  {
    SessionCacheSettings<State> own = settings(nullptr);
    own.user = &closed;
    Cache other(*node.port().clock, own);
    g_cache = &other;
    EXPECT_EQ(run("s:get t:get"), "completed made 1, made 1");
    g_cache = &cache;
  }
  EXPECT_EQ(closed, Lines({"closed t", "closed s"}));
}

TEST_F(SessionCacheTest, an_orderly_stop_ends_all) {
  EXPECT_EQ(run("s:get t:get"), "completed made 1, made 1");
  a->stop();
  EXPECT_EQ(g_states, 0);
  EXPECT_EQ(states_ended(), Lines({"lost s", "lost t"}));
}

// ---- comparison with a model ----

// The content of a cache of two, most recently used first.
struct Model {
  struct Kept {
    std::string session;
    int uses;
    int leases;
  };
  std::deque<Kept> kept;
  std::multiset<std::string> left;  // discarded while held, once for each lease

  std::string use(const std::string& session, const std::string& what) {
    auto at = std::find_if(kept.begin(), kept.end(),
                           [&](const Kept& one) { return one.session == session; });
    Kept one{session, 0, 0};
    const bool made = at == kept.end();
    if (made) {
      if (what == "find") return "not_found";
      if (kept.size() + left.size() == 2) {
        auto victim = std::find_if(kept.rbegin(), kept.rend(),
                                   [](const Kept& old) { return old.leases == 0; });
        if (victim == kept.rend()) return "resource_exhausted";
        kept.erase(std::next(victim).base());
      }
    } else {
      one = *at;
      kept.erase(at);
    }
    ++one.uses;
    if (what == "hold") ++one.leases;
    const bool gone = what == "discard" || what == "discard+hold";
    if (gone) {
      for (int i = 0; i < one.leases + (what == "discard" ? 0 : 1); ++i)
        left.insert(session);
    }
    const std::string answer = (made ? "made " : "kept ") + std::to_string(one.uses);
    if (!gone) kept.push_front(one);
    return answer;
  }
};

TEST_F(SessionCacheTest, random_uses_agree_with_a_model) {
  std::mt19937 random(20261122);
  const char* const sessions[] = {"s", "t", "u", "v"};
  const char* const whats[] = {"get", "get", "get", "find", "discard", "hold"};
  for (int round = 0; round < 30; ++round) {
    Model model;
    std::string input;
    std::string wanted;
    int holds = 0;
    for (int step = 0; step < 20; ++step) {
      const std::string session = sessions[random() % 4];
      std::string what = whats[random() % 6];
      if (what == "hold" && ++holds > 2) what = "get";
      // A state that is discarded while held counts once for each lease: the model keeps to one
      // lease each.
      for (const Model::Kept& one : model.kept)
        if (what == "discard" && one.session == session && one.leases > 1) what = "get";
      input += (input.empty() ? "" : " ") + session + ":" + what;
      wanted += (wanted.empty() ? "" : ", ") + model.use(session, what);
    }
    EXPECT_EQ(run(input), "completed " + wanted) << input;
    EXPECT_EQ(cache.size(), model.kept.size() + model.left.size()) << input;
    g_held.clear();
    // No state of this round is left for the next one.
    machine.advance(60'000);
    cache.trim();
    EXPECT_EQ(g_states, 0);
  }
}

}  // namespace
}  // namespace pawl

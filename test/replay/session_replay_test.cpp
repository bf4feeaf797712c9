// The session of an activity in commands and events: the tests of this that
// test/build/seed_tests.txt lists, by name.
#include <string>

#include "replay_bench.hpp"

namespace pawl::test {
namespace {

Poll with_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("read", "a", Target::session("bed-1")));
  return ctx.complete(result.value());
}

Poll without(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("read", "a"));
  return ctx.complete(result.value());
}

Poll with_another(OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("read", "a", Target::session("bed-2")));
  return ctx.complete(result.value());
}

TEST(SessionReplay, test_action_to_event_includes_session_id) {
  Bench bench;
  bench.go(with_session, {start()});
  EXPECT_EQ(bench.history().event(2).session, "bed-1");
}

TEST(SessionReplay, test_action_to_event_session_id_none) {
  Bench bench;
  bench.go(without, {start()});
  EXPECT_EQ(bench.history().event(2).session, "");
}

TEST(SessionReplay, test_action_matches_event_with_session_id) {
  Bench bench;
  bench.go(with_session, {start()}).go(with_session, {done(2, "9")});
  EXPECT_EQ(bench.added(), "3 activity_done ->2 = 9\n4 ended completed = 9\n");
}

// Rules: R3.1.
TEST(SessionReplay, test_nondeterminism_session_id_mismatch) {
  for (const Orchestration changed : {with_another, without}) {
    Bench bench;
    bench.go(with_session, {start()});
    EXPECT_EQ(bench.turn(changed, {done(2)}), Status::kNondeterminism);
    EXPECT_NE(bench.text().find("session differs"), std::string::npos) << bench.text();
  }
}

}  // namespace
}  // namespace pawl::test

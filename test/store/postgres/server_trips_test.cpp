// Goal: the trips to the server that each kind of work costs, and that a batch costs few of them
// however much it writes. Method: a worker in a schema that is new, whose own count is read; a
// count that rises fails, and one that falls is written here.
//
// Debug builds read what is known, too, and compare; so their counts are higher.
#include <string>

#include "gtest/gtest.h"
#include "pawl/postgres.hpp"
#include "server_beside.hpp"
#include "server_by_hand.hpp"
#include "world.hpp"

namespace pawl::testing {
namespace {

using test::ServerByHand;

constexpr int kSteps = 40;
constexpr int kAtOnce = 64;

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

// On the session that the input names, or on none.
Poll steps(OrchestrationContext& ctx) {
  for (int i = 0; i < kSteps; ++i) {
    const Handle step = ctx.input().empty()
                            ? ctx.schedule_activity("echo", "x")
                            : ctx.schedule_activity("echo", "x", Target::session(ctx.input()));
    PAWL_AWAIT(done, step);
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("");
}

Poll one(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("echo", "x"));
  return ctx.complete(done.value());
}

Poll naps(OrchestrationContext& ctx) {
  for (int i = 0; i < kSteps; ++i)
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(5)));
  return ctx.complete("");
}

Poll listens(OrchestrationContext& ctx) {
  for (int i = 0; i < kSteps; ++i) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (!message.ok()) return ctx.fail(message.error());
  }
  return ctx.complete("");
}

Poll fans(OrchestrationContext& ctx) {
  Handle handles[kAtOnce];
  for (Handle& handle : handles)
    handle = ctx.schedule_activity("echo", "x");
  PAWL_AWAIT(all, ctx.join_all(handles, kAtOnce));
  return all.ok() ? ctx.complete("") : ctx.fail(all.error());
}

class ServerTrips : public ::testing::Test {
 protected:
  ServerTrips() {
    by_hand_.execute("DROP SCHEMA IF EXISTS trips CASCADE");
    own_.add("echo", echo);
    own_.add("steps", steps);
    own_.add("one", one);
    own_.add("naps", naps);
    own_.add("listens", listens);
    own_.add("fans", fans);
    own_.options.limits.batch = own_.options.slots.inline_activities = kAtOnce;
    own_.options.limits.warm_instances = 4 * kAtOnce;
    own_.start_worker("node");
    // Each statement is prepared, and the looks that follow a commit are over.
    for (const char* name : {"steps", "one", "naps", "fans"})
      Gateway::start_at(worker(), std::string("first ") + name, name);
    Gateway::start_at(worker(), "first session", "steps", "first");
    ends(5);
    own_.pass(10'000);
  }
  ~ServerTrips() override { own_.workers.clear(); }

  Worker& worker() { return *own_.workers.front(); }
  const RuntimeStats& stats() { return worker().runtime->stats(); }
  void ends(std::uint64_t count) {
    EXPECT_TRUE(own_.drive_until([&] { return stats().orchestrations_completed >= count; }));
    EXPECT_EQ(stats().orchestrations_failed, 0U);
  }
  // The trips of so many instances, from their start to their end, divided by `parts`.
  double trips(const char* name, std::string_view input, int instances, int parts) {
    const std::uint64_t before = stats().server_trips;
    const std::uint64_t ended = stats().orchestrations_completed;
    for (int i = 0; i < instances; ++i)
      Gateway::start_at(worker(), name + std::to_string(started_++), name, input);
    ends(ended + static_cast<std::uint64_t>(instances));
    return static_cast<double>(stats().server_trips - before) / parts;
  }

  int started_ = 0;
  ServerByHand by_hand_;
  ServerDatabase database_ = postgresql(ServerByHand::address(), "trips");
  test::OnServer given_{database_};
  Gateway own_;
};

// A tenth of a trip more is a trip more now and then.
void expect_at_most(double optimised, double debug, double trips) {
#ifdef NDEBUG
  static_cast<void>(debug);
  EXPECT_LE(trips, optimised + 0.1);
#else
  static_cast<void>(optimised);
  EXPECT_LE(trips, debug + 0.1);
#endif
}

TEST_F(ServerTrips, AStepOfAChain) { expect_at_most(2.1, 19.5, trips("steps", "", 1, kSteps)); }

TEST_F(ServerTrips, AStepOnASession) { expect_at_most(3.6, 21, trips("steps", "s", 1, kSteps)); }

TEST_F(ServerTrips, ATimer) { expect_at_most(7.2, 23.6, trips("naps", "", 1, kSteps)); }

TEST_F(ServerTrips, AnActivityAmongManyOfOneInstance) {
  expect_at_most(0.1, 0.6, trips("fans", "", 1, kAtOnce));
}

TEST_F(ServerTrips, AnInstanceAlone) { expect_at_most(5, 38, trips("one", "", 1, 1)); }

TEST_F(ServerTrips, AnInstanceAmongMany) {
  expect_at_most(0.12, 5.6, trips("one", "", kAtOnce, kAtOnce));
}

TEST_F(ServerTrips, AMessage) {
  Gateway::start_at(worker(), "l", "listens");
  own_.pass(10'000);
  const std::uint64_t before = stats().server_trips;
  for (int i = 0; i < kSteps; ++i)
    ASSERT_EQ(own_.answer_of(worker(),
                             [&](Status* answer) {
                               return worker().runtime->enqueue_event("l", "q", "x", {},
                                                                      Gateway::keep_answer, answer);
                             }),
              Status::kOk);
  expect_at_most(4.1, 20.1, static_cast<double>(stats().server_trips - before) / kSteps);
}

// A node that has nothing to do sends renewals, and the looks that come with them.
TEST_F(ServerTrips, ARenewal) {
  own_.pass(60'000);
  const std::uint64_t before = stats().server_trips;
  const std::uint64_t commits = stats().commits;
  own_.pass(3'600'000);
  const auto renewals = static_cast<double>(stats().commits - commits);
  EXPECT_NEAR(renewals, 3'600 / 18.7, 10);
  expect_at_most(23.1, 101, static_cast<double>(stats().server_trips - before) / renewals);
}

}  // namespace
}  // namespace pawl::testing

// Runs the model simulation (model_simulation.hpp): the rules of sessions without a database, and
// beside one. PAWL_SOAK=1 runs many more seeds, PAWL_SEED=n only seed n.
#include "model_simulation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <ostream>
#include <string>

namespace pawl::test {
namespace {

std::uint64_t seeds_of(std::uint64_t usual, std::uint64_t soak) {
  if (std::getenv("PAWL_SEED") != nullptr) return 1;
  if (std::getenv("PAWL_SOAK") != nullptr) return soak;
  return sizeof(void*) == 4 ? usual / 4 + 1 : usual;  // an emulated board is slow
}

std::uint64_t first_seed() {
  const char* const only = std::getenv("PAWL_SEED");
  return only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
}

void simulate(const char* name, Beside beside, std::uint64_t seeds) {
  ModelSimulation::Counts sum;
  std::int64_t calls = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first_seed(); seed < first_seed() + seeds; ++seed) {
    ModelSimulation simulation(seed, beside);
    simulation.run(400);
    simulation.settle();
    ASSERT_EQ(simulation.violation(), "")
        << "PAWL_SEED=" << seed << ", call " << simulation.calls();
    const ModelSimulation::Counts& one = simulation.counts();
    calls += simulation.calls();
    sum.handed_over += one.handed_over;
    sum.accepted += one.accepted;
    sum.refused += one.refused;
    sum.retries += one.retries;
    sum.moved += one.moved;
    sum.taken_over += one.taken_over;
    sum.made_room += one.made_room;
    sum.left += one.left;
    sum.answered += one.answered;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf(
      "%s: %lld calls, %.0f a second; handed over %d, accepted %d, refused %d, retries %d, "
      "moved %d, taken over %d, made room %d, went outside %d, answered %d\n",
      name, static_cast<long long>(calls), static_cast<double>(calls) / took.count(),
      sum.handed_over, sum.accepted, sum.refused, sum.retries, sum.moved, sum.taken_over,
      sum.made_room, sum.left, sum.answered);
  const int runs = static_cast<int>(seeds);
  EXPECT_GT(sum.accepted, 50 * runs);
  EXPECT_GT(sum.refused, 5 * runs);
  EXPECT_GT(sum.retries, runs);
  EXPECT_GT(sum.moved, runs);
  EXPECT_GT(sum.left, runs);
  EXPECT_GT(sum.answered, runs);
  EXPECT_GT(sum.taken_over, runs);
  // Not every schedule makes room, and an emulated board runs only two.
  if (runs >= 6) {
    EXPECT_GT(sum.made_room, runs);
  }
}

TEST(ModelSimulation, holds_without_a_database) {
  simulate("rules alone", Beside::kNothing, seeds_of(60, 2'000));
}

TEST(ModelSimulation, agrees_with_the_database) {
  simulate("beside a database", Beside::kDatabase, seeds_of(6, 400));
}

// The list omits the epoch in `accepts`: a change of the owner ends every hand-over, so the token
// already refuses what the epoch would. Its rows are in result_rules_test.cpp.
// ---- each decision left out once ----

struct Removal {
  PureRule rule;
  const char* name;
  const char* what;
};
// GoogleTest prints this in a failure and in ctest's list of tests, instead of the bytes of the
// struct.
void PrintTo(const Removal& removal, std::ostream* out) { *out << removal.what; }

constexpr Removal kRemovals[] = {
    {PureRule::kOwner, "owner", "`may_take`: the session of another is not taken"},
    {PureRule::kState, "state", "`may_take`: nor one that is not open"},
    {PureRule::kHead, "head", "`may_take`: what is next comes first"},
    {PureRule::kRunsItem, "runs_item", "`may_take`: what runs here is not taken again"},
    {PureRule::kRunsSession, "runs_session",
     "`may_take`: nor work of an exclusive session that runs here"},
    {PureRule::kRoom, "room", "`has_room`: capacity gates claims"},
    {PureRule::kNextEpoch, "next_epoch", "`transition`: a new owner has the next epoch"},
    {PureRule::kUnlock, "unlock", "`transition`: a change of the owner ends all hand-overs"},
    {PureRule::kFailsOnLoss, "fails_on_loss",
     "`transition`: what fails on loss gets no other owner"},
    {PureRule::kFailsWork, "fails_work", "`transition`: closing, losing and expiring end the work"},
    {PureRule::kClosingStays, "closing_stays",
     "`transition`: a closed row stays for cancelled work"},
    {PureRule::kEndStop, "end_stop", "`look_at_stop`: a stop ends"},
    {PureRule::kStopWaits, "stop_waits", "`look_at_stop`: not while something of it runs"},
    {PureRule::kStopsFirst, "stops_first", "`must_stop_first`: nothing moves under running work"},
    {PureRule::kToken, "token", "`accepts`: the token of the last hand-over"},
    {PureRule::kEvidence, "evidence", "`Evidence`: an expired lease alone proves nothing"},
    {PureRule::kLease, "lease", "`lease_until`: a lease lasts"},
    {PureRule::kIdle, "idle", "`is_idle`: who has work is not idle"},
    {PureRule::kKeptUntilEnd, "kept_until_end",
     "`cancel`: exclusive work is kept until its execution has ended"},
    {PureRule::kRetry, "retry", "`after_failure`: what may be retried is"},
    {PureRule::kRetryEnds, "retry_ends", "`after_failure`: and no more often"},
    {PureRule::kDelay, "delay", "`retry_delay_ms`: after its pause"},
    {PureRule::kMayHave, "may_have", "`may_have`: nothing goes to who drains or is full"},
    {PureRule::kActivities, "activities", "`admit_work`: no more activities than allowed"},
    {PureRule::kRate, "rate", "`admit_work`: and no faster"},
    {PureRule::kExpires, "expires", "`look_at`: at its maximum age a session expires"},
    {PureRule::kClosesIdle, "closes_idle", "`look_at`: idle for `idle_close` it is closed"},
    {PureRule::kIdleHasNoWork, "idle_has_no_work", "`look_at`: and not while it has work"},
    {PureRule::kOpenedState, "opened_state", "`opened_state_of`: no work on what is not open"},
    {PureRule::kWaitsLongest, "waits_longest", "the session that waits longest is claimed first"},
    {PureRule::kMakesRoom, "makes_room", "`makes_room_at`: who is idle makes room for who waits"},
    {PureRule::kLongestIdle, "longest_idle", "and of those the one that is idle for longest"},
    {PureRule::kBeginsAnew, "begins_anew", "a shared session that was closed begins anew"},
    {PureRule::kRoomElsewhere, "room_elsewhere",
     "`left_to_others_until`: a worker that has room comes first"},
    {PureRule::kOutlivesEnd, "outlives_end",
     "`shared_state_of`: what another's limit ended begins anew"},
    {PureRule::kOutlivesAge, "outlives_age", "`look_at`: and its queued work goes on there"},
    {PureRule::kOutlivesNumber, "outlives_number",
     "`admit_work`: beyond another's number a session begins anew"},
    {PureRule::kWaitsForRate, "waits_for_rate",
     "`admit_work`: no work fails by another's `rate_wait`"},
    {PureRule::kStays, "stays", "`settings_that_stay`: it stays exclusive, and as slow"},
};
static_assert(std::size(kRemovals) + 1 == static_cast<std::size_t>(PureRule::kLast),
              "each of them");

class PureRuleRemoved : public ::testing::TestWithParam<Removal> {};

// Noticed is a broken promise without a database, or else a disagreement with one.
TEST_P(PureRuleRemoved, is_noticed) {
  const Removal& removal = GetParam();
  std::int64_t calls = 0;
  std::string what;
  for (std::uint64_t seed = 1; seed <= 40 && what.empty(); ++seed) {
    const Beside beside = seed <= 30 ? Beside::kNothing : Beside::kDatabase;
    ModelSimulation simulation(seed, beside, removal.rule);
    simulation.run(400);
    simulation.settle();
    calls += simulation.calls();
    what = simulation.violation();
  }
  EXPECT_NE(what, "") << removal.what;
  // Prints a row of the table in docs/sessions/left-out-pure.md.
  std::printf("| %s | %s | %lld |\n", removal.what, what.substr(0, what.find(':')).c_str(),
              static_cast<long long>(calls));
}

INSTANTIATE_TEST_SUITE_P(Sessions, PureRuleRemoved, ::testing::ValuesIn(kRemovals),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace pawl::test

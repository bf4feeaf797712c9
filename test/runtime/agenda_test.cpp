// Goal: the agenda answers in one call what there is to do, and knows what holds a job back.
#include "runtime/agenda.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using Which = Agenda::Which;

constexpr Agenda::Holds kNothing;

OptionalMs next(const Agenda& agenda, Which which = Which::kAll,
                const Agenda::Holds& holds = kNothing) {
  return agenda.next(which, holds);
}

TEST(Agenda, is_empty_at_first) {
  const Agenda agenda;
  EXPECT_FALSE(next(agenda).has_value());
  EXPECT_FALSE(agenda.wants(Job::kTurns));
  EXPECT_FALSE(agenda.is_due(Job::kTurns, INT64_MAX));
}

TEST(Agenda, answers_with_the_earliest) {
  Agenda agenda;
  agenda.plan(Job::kRenew, 500);
  agenda.plan(Job::kCleanUp, 700);
  EXPECT_EQ(next(agenda), OptionalMs(500));
  agenda.plan_earlier(Job::kCleanUp, 300);
  EXPECT_EQ(next(agenda), OptionalMs(300));
  agenda.plan_earlier(Job::kCleanUp, 900);
  EXPECT_EQ(agenda.due(Job::kCleanUp), OptionalMs(300));
  agenda.do_now(Job::kTurns);
  EXPECT_EQ(next(agenda), OptionalMs(Agenda::kAtOnce));
  agenda.clear(Job::kTurns);
  agenda.clear(Job::kCleanUp);
  EXPECT_EQ(next(agenda), OptionalMs(500));
}

TEST(Agenda, what_is_blocked_stays_planned_and_is_not_due) {
  Agenda agenda;
  agenda.do_now(Job::kFetch);
  agenda.block(Job::kFetch, true);
  EXPECT_TRUE(agenda.wants(Job::kFetch));
  EXPECT_FALSE(agenda.is_due(Job::kFetch, 1'000));
  EXPECT_FALSE(next(agenda).has_value());
  agenda.block(Job::kFetch, false);
  EXPECT_TRUE(agenda.is_due(Job::kFetch, 1'000));
  EXPECT_EQ(next(agenda), OptionalMs(Agenda::kAtOnce));
}

TEST(Agenda, names_the_first_job_that_is_due) {
  Agenda agenda;
  EXPECT_EQ(agenda.first_due(1'000), nullptr);
  agenda.plan(Job::kStoredDue, 1'000);
  agenda.plan(Job::kRenew, 1'001);
  EXPECT_STREQ(agenda.first_due(1'000), "stored_due");
  EXPECT_STREQ(agenda.first_due(1'001), "renew");
  agenda.block(Job::kRenew, true);
  EXPECT_STREQ(agenda.first_due(1'001), "stored_due");
}

// Each job, and the holds that keep it back.
struct Held {
  Job job;
  bool in_batch;
  bool by_trouble;
  bool by_pace;
  bool by_company;
};

constexpr Held kHeld[] = {
    {Job::kRegister, true, true, false, false},
    {Job::kBury, true, true, true, false},
    {Job::kRenew, true, true, true, false},
    {Job::kDeclare, true, true, true, false},
    {Job::kCleanUp, true, true, true, false},
    {Job::kRequests, true, true, false, false},
    {Job::kResults, true, true, false, true},
    {Job::kPressingResults, true, true, false, false},
    {Job::kProgress, true, true, false, false},
    {Job::kCheckHeld, true, true, true, true},
    {Job::kTurns, true, true, true, true},
    {Job::kFetch, true, true, true, true},
    {Job::kMakeRoom, true, true, true, true},
    {Job::kWakeUnregistered, true, true, true, true},
    {Job::kStoredDue, true, true, true, true},
    {Job::kConfirmClock, true, true, true, true},
    {Job::kRetention, true, true, true, true},
    {Job::kSweep, true, true, true, true},
    {Job::kRelief, true, true, true, true},
    {Job::kReserve, true, true, true, true},
    {Job::kLeftToOthers, false, true, true, true},
    {Job::kLookAtClock, false, true, true, true},
    {Job::kLook, false, true, true, true},
    {Job::kMachines, false, true, true, true},
    {Job::kObserve, false, true, true, true},
    {Job::kCutLog, false, true, true, true},
    {Job::kInline, false, false, false, false},
    {Job::kLeaseEnd, false, false, false, false},
    {Job::kSteps, false, false, false, false},
    {Job::kFolders, false, true, true, true},
    {Job::kListFolders, false, false, false, false},
};

TEST(Agenda, each_job_is_held_by_what_concerns_it) {
  static_assert(sizeof kHeld / sizeof kHeld[0] == kJobs, "one row a job");
  for (const Held& row : kHeld) {
    SCOPED_TRACE(static_cast<int>(row.job));
    Agenda agenda;
    agenda.do_now(row.job);
    EXPECT_EQ(next(agenda, Which::kInBatch).has_value(), row.in_batch);
    const auto held_until = [&](const Agenda::Holds& holds) {
      return next(agenda, Which::kAll, holds).value();
    };
    EXPECT_EQ(held_until({50, {}, {}}), row.by_trouble ? 50 : Agenda::kAtOnce);
    EXPECT_EQ(held_until({{}, 60, {}}), row.by_pace ? 60 : Agenda::kAtOnce);
    EXPECT_EQ(held_until({{}, {}, 70}), row.by_company ? 70 : Agenda::kAtOnce);
    agenda.plan(row.job, 100);
    EXPECT_EQ(held_until({50, 60, 70}), 100) << "nothing is earlier for being held";
  }
}

// Work that others may share would keep a busy worker from ever seeing their commits.
TEST(Agenda, only_what_this_worker_has_in_hand_comes_before_news) {
  for (const Job job : {Job::kTurns, Job::kFetch, Job::kWakeUnregistered, Job::kSweep,
                        Job::kRetention, Job::kRelief, Job::kReserve, Job::kSteps}) {
    Agenda agenda;
    agenda.do_now(job);
    EXPECT_FALSE(next(agenda, Which::kBeforeNews).has_value()) << static_cast<int>(job);
  }
  for (const Job job : {Job::kRegister, Job::kRenew, Job::kRequests, Job::kResults, Job::kCheckHeld,
                        Job::kStoredDue}) {
    Agenda agenda;
    agenda.do_now(job);
    EXPECT_TRUE(next(agenda, Which::kBeforeNews).has_value()) << static_cast<int>(job);
  }
}

}  // namespace
}  // namespace pawl

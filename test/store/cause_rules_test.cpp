// Causes as a table: what is said of work and of an instance, from facts that rows have.
#include "store/cause_rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::rules {
namespace {

WorkersThere all_there() {
  WorkersThere workers;
  workers.any = workers.has_activity = workers.serves_tag = true;
  workers.owner_lives = workers.has_device = true;
  return workers;
}
std::string said(const WaitingWork& work, const WorkersThere& workers) {
  return cause_kind_name(cause_of(work, workers));
}

TEST(CauseOfWork, IsItsStateWhileItIsHandedOverOrDelayed) {
  const WorkersThere none;
  EXPECT_EQ(said({WorkState::kLocked}, none), "runs");
  EXPECT_EQ(said({WorkState::kCancelledRunning}, none), "ending");
  EXPECT_EQ(said({WorkState::kOutside}, none), "outside");
  EXPECT_EQ(said({WorkState::kOutsideHolding}, none), "outside");
  EXPECT_EQ(said({WorkState::kDelayed, true, true}, none), "retry");
  EXPECT_EQ(said({WorkState::kDelayed, true, false}, none), "paced");
}

TEST(CauseOfWork, NamesTheFirstThatIsMissing) {
  WorkersThere workers;
  const WaitingWork work;
  EXPECT_EQ(said(work, workers), "no_worker");
  workers.any = true;
  EXPECT_EQ(said(work, workers), "no_activity");
  workers.has_activity = true;
  EXPECT_EQ(said(work, workers), "no_tag");
  workers.serves_tag = true;
  EXPECT_EQ(said(work, workers), "no_room");
  // It waits for a worker that registers its name, and one has just done so.
  EXPECT_EQ(said({WorkState::kDelayed}, workers), "no_room");
  workers.has_activity = false;
  EXPECT_EQ(said({WorkState::kDelayed}, workers), "no_activity");
}

TEST(CauseOfWork, OfASession) {
  WorkersThere workers = all_there();
  SessionRow session;
  WaitingWork work;
  work.session = &session;
  EXPECT_EQ(said(work, workers), "behind") << "it is not the next one";
  work.is_head = true;
  EXPECT_EQ(said(work, workers), "no_room");
  session.owner = 1;
  EXPECT_EQ(said(work, workers), "no_room");
  work.is_head = false;
  EXPECT_EQ(said(work, workers), "behind");
  workers.owner_lives = false;
  EXPECT_EQ(said(work, workers), "held");
  session.state = State::kStopping;
  EXPECT_EQ(said(work, workers), "moving");
}

// A worker that drains takes no more sessions and goes on with its own.
TEST(CauseOfWork, AnOwnerThatDrainsIsEnough) {
  WorkersThere workers;
  workers.owner_lives = true;
  SessionRow session;
  session.owner = 1;
  WaitingWork work;
  work.session = &session;
  work.is_head = true;
  EXPECT_EQ(said(work, workers), "no_room");
  work.state = WorkState::kDelayed;
  EXPECT_EQ(said(work, workers), "no_worker") << "the owner has not registered its name";
}

TEST(CauseOfWork, OfADeviceIsThatNoWorkerHasIt) {
  WorkersThere workers = all_there();
  workers.has_device = false;
  SessionRow session;
  session.device = true;
  WaitingWork work;
  work.session = &session;
  work.is_head = true;
  EXPECT_EQ(said(work, workers), "no_device");
  EXPECT_EQ(said(work, WorkersThere()), "no_device") << "also where no worker lives at all";
  session.device = false;
  EXPECT_EQ(said(work, workers), "no_room");
}

TEST(CauseOfAnInstance, IsItsStateOrItsTurn) {
  const auto said_of = [](OrchestrationState state, bool ready, bool parked, bool unregistered,
                          bool any_worker) -> std::string {
    const std::optional<CauseKind> kind =
        cause_of({state, ready, parked, unregistered}, any_worker);
    return kind.has_value() ? cause_kind_name(*kind) : "none";
  };
  using S = OrchestrationState;
  EXPECT_EQ(said_of(S::kCompleted, true, true, true, false), "ended");
  EXPECT_EQ(said_of(S::kFailed, false, false, false, true), "ended");
  EXPECT_EQ(said_of(S::kStopped, true, false, false, true), "stopped");
  EXPECT_EQ(said_of(S::kSuspended, true, false, false, true), "suspended");
  EXPECT_EQ(said_of(S::kRunning, false, false, false, false), "none");
  EXPECT_EQ(said_of(S::kRunning, true, true, false, true), "pause");
  EXPECT_EQ(said_of(S::kRunning, true, false, true, false), "no_worker");
  EXPECT_EQ(said_of(S::kRunning, true, false, true, true), "no_orchestration");
  EXPECT_EQ(said_of(S::kRunning, true, false, false, true), "turn");
}

}  // namespace
}  // namespace pawl::rules

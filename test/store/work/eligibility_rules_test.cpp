// Eligibility as tables: which worker may have which item, and what happens to an item that its
// owner cannot run.
#include "store/work/eligibility_rules.hpp"

#include <gtest/gtest.h>

#include "store/work/retry_rules.hpp"

namespace pawl::rules {
namespace {

constexpr Incarnation kMe = 1;
constexpr Incarnation kOther = 2;

enum class Kind { kNone, kSoft, kExclusive, kDevice, kExclusiveDevice };

SessionRow session(Kind kind, std::optional<Incarnation> owner, State state = State::kOpen) {
  SessionRow row;
  row.state = state;
  row.owner = owner;
  row.exclusive = kind == Kind::kExclusive || kind == Kind::kExclusiveDevice;
  row.device = kind == Kind::kDevice || kind == Kind::kExclusiveDevice;
  return row;
}

const QueuedWork kHead = {WorkState::kReady, false, true};
const QueuedWork kBarrier = {WorkState::kReady, true, true};
const QueuedWork kFree = {WorkState::kReady, false, false};
const AskingWorker kIdle = {kMe, false, false, true};
const AskingWorker kRunsSession = {kMe, false, true, true};
const AskingWorker kRunsItem = {kMe, true, false, true};
const AskingWorker kMayNotBeside = {kMe, false, false, false};

struct TakeRow {
  const char* name;
  QueuedWork work;
  Kind kind;
  std::optional<Incarnation> owner;
  State state;
  AskingWorker worker;
  Take verdict;
};
const TakeRow kTakeRows[] = {
    {"free", kFree, Kind::kNone, {}, State::kOpen, kIdle, Take::kYes},
    {"free, with a barrier", kBarrier, Kind::kNone, {}, State::kOpen, kRunsSession, Take::kYes},
    {"free, handed over",
     {WorkState::kLocked, false, false},
     Kind::kNone,
     {},
     State::kOpen,
     kIdle,
     Take::kNotNext},
    {"free, it runs here", kFree, Kind::kNone, {}, State::kOpen, kRunsItem, Take::kWaits},
    {"free, it crashed before", kFree, Kind::kNone, {}, State::kOpen, kMayNotBeside, Take::kWaits},
    {"own", kHead, Kind::kSoft, kMe, State::kOpen, kIdle, Take::kYes},
    {"own, not the head", kFree, Kind::kSoft, kMe, State::kOpen, kIdle, Take::kNotNext},
    {"own, delayed",
     {WorkState::kDelayed, false, true},
     Kind::kSoft,
     kMe,
     State::kOpen,
     kIdle,
     Take::kNotNext},
    {"own, handed over",
     {WorkState::kLocked, false, true},
     Kind::kSoft,
     kMe,
     State::kOpen,
     kIdle,
     Take::kNotNext},
    {"own, cancelled",
     {WorkState::kCancelledRunning, false, true},
     Kind::kSoft,
     kMe,
     State::kOpen,
     kIdle,
     Take::kNotNext},
    {"own, it stops", kHead, Kind::kSoft, kMe, State::kStopping, kIdle, Take::kNotOpen},
    {"own, lost", kHead, Kind::kSoft, kMe, State::kLost, kIdle, Take::kNotOpen},
    {"own, beside others of it", kHead, Kind::kSoft, kMe, State::kOpen, kRunsSession, Take::kYes},
    {"own, it runs here", kHead, Kind::kSoft, kMe, State::kOpen, kRunsItem, Take::kWaits},
    {"own, it crashed before", kHead, Kind::kSoft, kMe, State::kOpen, kMayNotBeside, Take::kWaits},
    {"own barrier", kBarrier, Kind::kSoft, kMe, State::kOpen, kIdle, Take::kYes},
    {"own barrier, beside others", kBarrier, Kind::kSoft, kMe, State::kOpen, kRunsSession,
     Take::kWaits},
    {"own exclusive", kHead, Kind::kExclusive, kMe, State::kOpen, kIdle, Take::kYes},
    {"own exclusive, held up by what was lost", kHead, Kind::kExclusive, kMe, State::kOpen,
     kRunsSession, Take::kLetsGo},
    {"own exclusive, it runs here", kHead, Kind::kExclusive, kMe, State::kOpen, kRunsItem,
     Take::kWaits},
    {"own device", kHead, Kind::kDevice, kMe, State::kOpen, kIdle, Take::kYes},
    {"own device, beside others", kHead, Kind::kDevice, kMe, State::kOpen, kRunsSession,
     Take::kYes},
    {"own exclusive device", kHead, Kind::kExclusiveDevice, kMe, State::kOpen, kIdle, Take::kYes},
    {"own exclusive device, held up", kHead, Kind::kExclusiveDevice, kMe, State::kOpen,
     kRunsSession, Take::kWaits},
    {"another's", kHead, Kind::kSoft, kOther, State::kOpen, kIdle, Take::kNotMine},
    {"another's device", kHead, Kind::kDevice, kOther, State::kOpen, kIdle, Take::kNotMine},
    {"nobody's", kHead, Kind::kSoft, {}, State::kOpen, kIdle, Take::kAfterClaim},
    {"nobody's, not the head", kFree, Kind::kSoft, {}, State::kOpen, kIdle, Take::kNotNext},
    {"nobody's, refused", kHead, Kind::kSoft, {}, State::kRefused, kIdle, Take::kNotOpen},
    {"nobody's device", kHead, Kind::kDevice, {}, State::kOpen, kIdle, Take::kNotMine},
    {"nobody's exclusive", kHead, Kind::kExclusive, {}, State::kOpen, kIdle, Take::kAfterClaim},
    {"nobody's exclusive, run here before",
     kHead,
     Kind::kExclusive,
     {},
     State::kOpen,
     kRunsSession,
     Take::kWaits},
    {"nobody's barrier, run here before",
     kBarrier,
     Kind::kSoft,
     {},
     State::kOpen,
     kRunsSession,
     Take::kWaits},
    {"nobody's, it runs here", kHead, Kind::kSoft, {}, State::kOpen, kRunsItem, Take::kWaits},
    {"nobody's, it crashed before",
     kHead,
     Kind::kSoft,
     {},
     State::kOpen,
     kMayNotBeside,
     Take::kWaits},
};

TEST(EligibilityRules, may_take) {
  for (const TakeRow& one : kTakeRows) {
    SCOPED_TRACE(one.name);
    const SessionRow row = session(one.kind, one.owner, one.state);
    EXPECT_EQ(may_take(one.work, one.kind == Kind::kNone ? nullptr : &row, one.worker),
              one.verdict);
  }
}

TEST(EligibilityRules, may_take_over) {
  const QueuedWork locked = {WorkState::kLocked, false, false};
  const TakeRow rows[] = {
      {"its head", kHead, Kind::kSoft, kOther, State::kOpen, kIdle, Take::kAfterClaim},
      {"an expired lock", locked, Kind::kSoft, kOther, State::kOpen, kIdle, Take::kAfterClaim},
      {"it stops", locked, Kind::kSoft, kOther, State::kStopping, kIdle, Take::kNotOpen},
      {"a device", locked, Kind::kDevice, kOther, State::kOpen, kIdle, Take::kNotMine},
      {"run here before", locked, Kind::kExclusive, kOther, State::kOpen, kRunsSession,
       Take::kWaits},
      {"it runs here", locked, Kind::kSoft, kOther, State::kOpen, kRunsItem, Take::kWaits},
      {"it crashed before", locked, Kind::kSoft, kOther, State::kOpen, kMayNotBeside, Take::kWaits},
  };
  for (const TakeRow& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(may_take_over(one.work, session(one.kind, one.owner, one.state), one.worker),
              one.verdict);
  }
}

TEST(EligibilityRules, what_runs_here_is_asked_of_exclusive_sessions_and_barriers) {
  const SessionRow soft = session(Kind::kSoft, kMe);
  const SessionRow exclusive = session(Kind::kExclusive, kMe);
  EXPECT_FALSE(needs_own_runs(kBarrier, nullptr));
  EXPECT_FALSE(needs_own_runs(kHead, &soft));
  EXPECT_TRUE(needs_own_runs(kBarrier, &soft));
  EXPECT_TRUE(needs_own_runs(kHead, &exclusive));
  for (const Take verdict : {Take::kYes, Take::kAfterClaim, Take::kWaits}) {
    EXPECT_TRUE(hangs_on_own_runs(verdict, kHead, &exclusive));
    EXPECT_FALSE(hangs_on_own_runs(verdict, kHead, &soft));
  }
  for (const Take verdict : {Take::kNotNext, Take::kNotMine, Take::kNotOpen, Take::kLetsGo})
    EXPECT_FALSE(hangs_on_own_runs(verdict, kHead, &exclusive));
}

TEST(EligibilityRules, may_hand_over_at_once) {
  struct Row {
    const char* name;
    Kind kind;
    std::optional<Incarnation> owner;
    State state;
    AtOnce facts;
    bool may;
  };
  const Row rows[] = {
      {"own", Kind::kSoft, kMe, State::kOpen, {}, true},
      {"another's", Kind::kSoft, kOther, State::kOpen, {}, false},
      {"nobody's", Kind::kSoft, {}, State::kOpen, {}, false},
      {"it stops", Kind::kSoft, kMe, State::kStopping, {}, false},
      {"exclusive", Kind::kExclusive, kMe, State::kOpen, {}, false},
      {"a device", Kind::kDevice, kMe, State::kOpen, {}, false},
      {"behind others", Kind::kSoft, kMe, State::kOpen, {true, false, false, false}, false},
      {"behind a barrier", Kind::kSoft, kMe, State::kOpen, {false, true, false, false}, false},
      {"with a tag", Kind::kSoft, kMe, State::kOpen, {false, false, true, false}, false},
      {"the first of an epoch", Kind::kSoft, kMe, State::kOpen, {false, false, false, true}, false},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(may_hand_over_at_once(session(one.kind, one.owner, one.state), one.facts, kMe),
              one.may);
  }
}

TEST(EligibilityRules, unhandled) {
  constexpr std::int64_t kPatience = kUnregisteredPatience;
  // columns: takes over, owned, device, elsewhere, session runs, unregistered, may be marked as
  // unregistered
  struct Row {
    const char* name;
    Unhandled facts;
    bool needs_runs;
    UnhandledTurn turn;
  };
  const Row rows[] = {
      {"of a session to be taken over",
       {true, false, false, true, false, 0, true},
       false,
       UnhandledTurn::kLeave},
      {"of one taken over, by nobody",
       {true, true, false, false, false, 0, true},
       false,
       UnhandledTurn::kLeave},
      {"free, others can",
       {false, false, false, true, false, 0, true},
       false,
       UnhandledTurn::kPassOver},
      {"free, nobody can",
       {false, false, false, false, false, 0, true},
       false,
       UnhandledTurn::kMarkUnregistered},
      {"free, nobody can, too many",
       {false, false, false, false, false, 0, false},
       false,
       UnhandledTurn::kPassOver},
      {"own, nobody can",
       {false, true, false, false, false, 0, true},
       false,
       UnhandledTurn::kMarkUnregistered},
      {"own, nobody can, too many",
       {false, true, false, false, false, 0, false},
       false,
       UnhandledTurn::kPassOver},
      {"own, others can",
       {false, true, false, true, false, 0, true},
       true,
       UnhandledTurn::kRelease},
      {"own, others can, whatever the count",
       {false, true, false, true, false, kPatience, false},
       true,
       UnhandledTurn::kRelease},
      {"own, others can, it runs",
       {false, true, false, true, true, 0, true},
       true,
       UnhandledTurn::kPutBack},
      {"own, it runs, nearly out of patience",
       {false, true, false, true, true, kPatience - 1, false},
       true,
       UnhandledTurn::kPutBack},
      {"own, it runs, out of patience",
       {false, true, false, true, true, kPatience, true},
       true,
       UnhandledTurn::kWait},
      {"own device, others can",
       {false, true, true, true, false, 0, true},
       false,
       UnhandledTurn::kMarkUnregistered},
      {"own device, nobody can",
       {false, true, true, false, false, 0, true},
       false,
       UnhandledTurn::kMarkUnregistered},
      {"own device, too many",
       {false, true, true, true, false, 0, false},
       false,
       UnhandledTurn::kPassOver},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(needs_session_runs(one.facts), one.needs_runs);
    EXPECT_EQ(unhandled(one.facts), one.turn);
  }
}

}  // namespace
}  // namespace pawl::rules

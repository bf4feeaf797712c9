// Moving as tables: which worker may have a session, what a stop becomes, who holds a device.
#include "store/session/moving_rules.hpp"

#include <gtest/gtest.h>

namespace pawl::rules {
namespace {

constexpr Incarnation kA = 1;
constexpr Incarnation kB = 2;
constexpr std::int64_t kNow = 1'000;

SessionRow session(bool device, std::optional<Incarnation> owner = {}, State state = State::kOpen) {
  SessionRow row;
  row.device = device;
  row.owner = owner;
  row.state = state;
  return row;
}

TEST(MovingRules, may_have) {
  const TargetWorker living = {false, 0, 3};
  const TargetWorker draining = {true, 0, 3};
  struct Row {
    const char* name;
    bool device;
    TargetFacts target;
    bool may;
  };
  const Row rows[] = {
      {"dead", false, {{}, {}, 0}, false},
      {"with room", false, {living, {}, 2}, true},
      {"full", false, {living, {}, 3}, false},
      {"overfull", false, {living, {}, 4}, false},
      {"draining", false, {draining, {}, 0}, false},
      {"a role does not help who is full", false, {living, Role::kStandby, 3}, false},
      {"a device not declared", true, {living, {}, 0}, false},
      {"a device, a standby", true, {living, Role::kStandby, 0}, true},
      {"a device, a full standby", true, {living, Role::kStandby, 3}, true},
      {"a device, its holder", true, {living, Role::kHolder, 0}, true},
      {"a device, who withdraws", true, {living, Role::kWithdrawing, 0}, false},
      {"a device, a draining standby", true, {draining, Role::kStandby, 0}, false},
      {"a device, a dead standby", true, {{}, Role::kStandby, 0}, false},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(may_have(session(one.device), one.target), one.may);
  }
}

TEST(MovingRules, may_claim_early) {
  struct Row {
    const char* name;
    SessionRow row;
    std::int64_t owned;
    bool may;
  };
  const Row rows[] = {
      {"nobody has it", session(false), 2, true},
      {"full", session(false), 3, false},
      {"somebody has it", session(false, kA), 0, false},
      {"a device", session(true), 0, false},
      {"it stops", session(false, {}, State::kStopping), 0, false},
      {"it was lost", session(false, {}, State::kLost), 0, false},
      {"it was closed", session(false, {}, State::kClosed), 0, false},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(may_claim_early(one.row, one.owned, 3), one.may);
  }
}

TEST(MovingRules, a_stop_comes_first_while_something_runs) {
  EXPECT_FALSE(must_stop_first({false, false}));
  EXPECT_TRUE(must_stop_first({true, false}));
  EXPECT_TRUE(must_stop_first({false, true}));
}

TEST(MovingRules, look_at_stop) {
  struct Row {
    const char* name;
    bool exclusive;
    bool force;
    Running running;
    std::int64_t due;
    StopEnd end;
  };
  const Row rows[] = {
      {"nothing runs", false, false, {}, kNow + 1, StopEnd::kMoves},
      {"nothing runs, and it is late", true, false, {}, kNow, StopEnd::kMoves},
      {"runs, in time", false, false, {true, false}, kNow + 1, StopEnd::kGoesOn},
      {"cancelled work, in time", false, true, {false, true}, kNow + 1, StopEnd::kGoesOn},
      {"runs, at its end", false, false, {true, false}, kNow, StopEnd::kMovesLate},
      {"cancelled work, late", false, false, {false, true}, kNow - 1, StopEnd::kMovesLate},
      {"exclusive work, late", true, false, {true, false}, kNow, StopEnd::kFails},
      {"exclusive work, in time", true, false, {true, false}, kNow + 1, StopEnd::kGoesOn},
      {"exclusive work, late, by force", true, true, {true, false}, kNow, StopEnd::kMovesLate},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    SessionRow row = session(false, kA, State::kStopping);
    row.exclusive = one.exclusive;
    row.stop = Stop{{}, one.due, one.force};
    EXPECT_EQ(look_at_stop(row, one.running, kNow), one.end);
  }
  EXPECT_EQ(look_at_stop(session(false, kA), {true, false}, kNow), StopEnd::kGoesOn);
}

TEST(MovingRules, after_failed_stop) {
  struct Row {
    const char* name;
    SessionRow row;
    Holder holder;
    bool holds_again;
    bool goes_on;
  };
  const Row rows[] = {
      {"no device", session(false, kA), {}, false, false},
      {"nobody holds it", session(true, kA), {}, false, false},
      {"a withdrawal is taken back", session(true, kA), {kA, Role::kWithdrawing}, true, false},
      {"the holder has it", session(true, kA), {kA, Role::kHolder}, false, false},
      {"the holder waits for it", session(true, kA), {kB, Role::kHolder}, false, true},
      {"a withdrawing holder waits for it",
       session(true, kA),
       {kB, Role::kWithdrawing},
       true,
       true},
      {"declared, and no device yet", session(false, kA), {kB, Role::kHolder}, false, false},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    const FailedStop after = after_failed_stop(one.row, one.holder);
    EXPECT_EQ(after.holds_again, one.holds_again);
    EXPECT_EQ(after.goes_on, one.goes_on);
  }
}

TEST(MovingRules, former_holder) {
  struct Row {
    const char* name;
    Holder holder;
    bool buried;
    std::optional<Incarnation> to;
    FormerHolder becomes;
  };
  const Row rows[] = {
      {"nobody", {}, false, kB, FormerHolder::kKeeps},
      {"nobody, to nobody", {}, true, {}, FormerHolder::kKeeps},
      {"itself", {kA, Role::kHolder}, false, kA, FormerHolder::kKeeps},
      {"itself, withdrawing", {kA, Role::kWithdrawing}, true, kA, FormerHolder::kKeeps},
      {"another", {kA, Role::kHolder}, false, kB, FormerHolder::kIsStandby},
      {"to nobody", {kA, Role::kHolder}, false, {}, FormerHolder::kIsStandby},
      {"withdrawing", {kA, Role::kWithdrawing}, false, kB, FormerHolder::kIsDropped},
      {"withdrawing, to nobody", {kA, Role::kWithdrawing}, false, {}, FormerHolder::kIsDropped},
      {"dead", {kA, Role::kHolder}, true, kB, FormerHolder::kIsDropped},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(former_holder(one.holder, one.buried, one.to), one.becomes);
  }
}

TEST(MovingRules, changes_owner) {
  EXPECT_FALSE(changes_owner(session(false), {}));
  EXPECT_TRUE(changes_owner(session(false), kA));
  EXPECT_TRUE(changes_owner(session(false, kA), {}));
  EXPECT_TRUE(changes_owner(session(false, kA), kA));
}

TEST(MovingRules, may_leave) {
  EXPECT_TRUE(may_leave(session(false), false));
  EXPECT_TRUE(may_leave(session(false), true));
  EXPECT_FALSE(may_leave(session(true), false));
  EXPECT_TRUE(may_leave(session(true), true));
}

TEST(MovingRules, may_evict) {
  SessionRow row = session(false, kA);
  EXPECT_TRUE(may_evict(row, 5, kA, 5));
  EXPECT_TRUE(may_evict(session(true, kA), 5, kA, 5)) << "a device goes to a standby";
  EXPECT_FALSE(may_evict(row, 6, kA, 5)) << "another epoch";
  EXPECT_FALSE(may_evict(row, 5, kB, 5)) << "another's";
  EXPECT_FALSE(may_evict(session(false), 5, kA, 5)) << "nobody's";
  EXPECT_FALSE(may_evict(session(false, kA, State::kStopping), 5, kA, 5)) << "it stops already";
  EXPECT_FALSE(may_evict(session(false, kA, State::kLost), 5, kA, 5));
  row.exclusive = true;
  EXPECT_FALSE(may_evict(row, 5, kA, 5)) << "only a forced transfer moves it";
}

TEST(MovingRules, declare) {
  struct Row {
    const char* name;
    std::optional<Incarnation> holder;
    Gone gone;
    bool standby;
    Declared verdict;
  };
  const Row rows[] = {
      {"nobody holds it", {}, Gone::kNo, false, Declared::kHolds},
      {"nobody holds it, as a standby", {}, Gone::kNo, true, Declared::kHolds},
      {"again", kA, Gone::kNo, false, Declared::kHolds},
      {"again, as a standby", kA, Gone::kNo, true, Declared::kHolds},
      {"the holder is dead", kB, Gone::kProof, false, Declared::kReplacesHolder},
      {"the holder is dead, as a standby", kB, Gone::kProof, true, Declared::kReplacesHolder},
      {"the holder lives", kB, Gone::kNo, false, Declared::kRefused},
      {"the holder lives, as a standby", kB, Gone::kNo, true, Declared::kIsStandby},
      {"the holder is suspected", kB, Gone::kSuspicion, false, Declared::kRefused},
      {"the holder is suspected, as a standby", kB, Gone::kSuspicion, true, Declared::kIsStandby},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(declare({one.holder, Role::kHolder}, kA, one.gone, one.standby), one.verdict);
  }
}

TEST(MovingRules, after_declaring) {
  struct Row {
    const char* name;
    SessionRow row;
    Gone gone;
    HeldSession verdict;
  };
  const Row rows[] = {
      {"it has it", session(true, kA), Gone::kNo, HeldSession::kStays},
      {"it takes back its withdrawal", session(true, kA, State::kStopping), Gone::kNo,
       HeldSession::kStopEnds},
      {"nobody has it", session(true), Gone::kNo, HeldSession::kMoves},
      {"nobody has it, whatever is gone", session(true), Gone::kProof, HeldSession::kMoves},
      {"another has it", session(true, kB), Gone::kNo, HeldSession::kMoves},
      {"another has it, and is suspected", session(true, kB), Gone::kSuspicion,
       HeldSession::kMoves},
      {"another had it", session(true, kB), Gone::kProof, HeldSession::kMovesNow},
      {"another has it and stops", session(true, kB, State::kStopping), Gone::kNo,
       HeldSession::kMoves},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(after_declaring(one.row, kA, one.gone), one.verdict);
  }
}

TEST(MovingRules, withdraw) {
  EXPECT_EQ(withdraw(session(true, kA), kA, Role::kHolder), Withdrawal::kStops);
  EXPECT_EQ(withdraw(session(true, kA), kA, Role::kWithdrawing), Withdrawal::kStops);
  EXPECT_EQ(withdraw(session(true, kA), kA, Role::kStandby), Withdrawal::kDeclarationEnds);
  EXPECT_EQ(withdraw(session(true, kB), kA, Role::kHolder), Withdrawal::kDeclarationEnds);
  EXPECT_EQ(withdraw(session(true), kA, Role::kHolder), Withdrawal::kDeclarationEnds);
}

TEST(MovingRules, look_as_standby) {
  EXPECT_EQ(look_as_standby(false, Gone::kNo), StandbyTurn::kTakes);
  EXPECT_EQ(look_as_standby(false, Gone::kSuspicion), StandbyTurn::kTakes);
  EXPECT_EQ(look_as_standby(true, Gone::kNo), StandbyTurn::kWaits);
  EXPECT_EQ(look_as_standby(true, Gone::kProof), StandbyTurn::kTakes);
  EXPECT_EQ(look_as_standby(true, Gone::kSuspicion), StandbyTurn::kTakesWithStrike);
}

TEST(MovingRules, properties_only_tighten) {
  for (int bits = 0; bits < 16; ++bits) {
    SCOPED_TRACE(bits);
    const Use has = {(bits & 1) != 0, (bits & 2) != 0};
    const Use wanted = {(bits & 4) != 0, (bits & 8) != 0};
    const Use added = added_use(has, wanted);
    EXPECT_EQ(added.device, (bits & 5) == 4);
    EXPECT_EQ(added.exclusive, (bits & 10) == 8);
  }
}

TEST(MovingRules, lets_go_of_device) {
  EXPECT_TRUE(lets_go_of_device(session(true, kA), {true, false}, {})) << "nobody declared it";
  EXPECT_TRUE(lets_go_of_device(session(true, kA), {true, true}, {kB, Role::kHolder}));
  EXPECT_FALSE(lets_go_of_device(session(true, kA), {true, false}, {kA, Role::kHolder}));
  EXPECT_FALSE(lets_go_of_device(session(true), {true, false}, {kB, Role::kHolder}));
  EXPECT_FALSE(lets_go_of_device(session(true), {true, false}, {}));
  EXPECT_FALSE(lets_go_of_device(session(true, kA), {false, true}, {})) << "it was one before";
}

TEST(MovingRules, is_unavailable) {
  struct Row {
    WorkState state;
    bool unavailable;
  };
  for (const Row& one :
       {Row{WorkState::kReady, true}, Row{WorkState::kLocked, false},
        Row{WorkState::kDelayed, true}, Row{WorkState::kCancelledRunning, false}}) {
    SCOPED_TRACE(static_cast<int>(one.state));
    EXPECT_EQ(is_unavailable(one.state, false), one.unavailable);
    EXPECT_FALSE(is_unavailable(one.state, true)) << "declared";
  }
}

}  // namespace
}  // namespace pawl::rules

// Ownership as a table: what each cause makes of a session's row, and the effects that go with it.
#include "store/session/ownership_rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl::rules {
namespace {

constexpr Incarnation kA = 1;
constexpr Incarnation kB = 2;

SessionRow soft(State state, std::optional<Incarnation> owner) {
  SessionRow row;
  row.state = state;
  row.owner = owner;
  return row;
}
SessionRow failing(State state, std::optional<Incarnation> owner) {
  SessionRow row = soft(state, owner);
  row.fails_on_loss = true;
  return row;
}
SessionRow device(State state, std::optional<Incarnation> owner) {
  SessionRow row = soft(state, owner);
  row.device = true;
  return row;
}
SessionRow exclusive(State state, std::optional<Incarnation> owner) {
  SessionRow row = soft(state, owner);
  row.exclusive = true;
  return row;
}
SessionRow stopping(SessionRow row) {
  row.state = State::kStopping;
  row.stop = Stop{kB, 77, true};
  return row;
}
Facts to(std::optional<Incarnation> worker) {
  Facts facts;
  facts.to = worker;
  return facts;
}
Facts running(bool handed_over, bool cancelled) {
  Facts facts;
  facts.running = {handed_over, cancelled};
  return facts;
}

// The row after the change. None of them keeps a stop.
struct NextRow {
  const char* name;
  SessionRow row;
  Trigger cause;
  Facts facts;
  State state;
  std::optional<Incarnation> owner;
};
const NextRow kNextRows[] = {
    {"claim", soft(State::kOpen, {}), Trigger::kChangeOwner, to(kA), State::kOpen, kA},
    {"claim of a device", device(State::kOpen, {}), Trigger::kChangeOwner, to(kA), State::kOpen,
     kA},
    {"migration", soft(State::kOpen, kA), Trigger::kChangeOwner, to(kB), State::kOpen, kB},
    {"the same worker again", soft(State::kOpen, kA), Trigger::kChangeOwner, to(kA), State::kOpen,
     kA},
    {"release", soft(State::kOpen, kA), Trigger::kChangeOwner, to({}), State::kOpen, {}},
    {"a change ends a stop", stopping(soft(State::kOpen, kA)), Trigger::kChangeOwner, to(kB),
     State::kOpen, kB},
    {"a release ends a stop",
     stopping(device(State::kOpen, kA)),
     Trigger::kChangeOwner,
     to({}),
     State::kOpen,
     {}},
    {"what is no stop stays as it is", soft(State::kClosed, {}), Trigger::kChangeOwner, to(kA),
     State::kClosed, kA},
    {"one that fails on loss is claimed", failing(State::kOpen, {}), Trigger::kChangeOwner, to(kA),
     State::kOpen, kA},
    {"and then never goes to another",
     failing(State::kOpen, kA),
     Trigger::kChangeOwner,
     to(kB),
     State::kLost,
     {}},
    {"nor to the same", failing(State::kOpen, kA), Trigger::kChangeOwner, to(kA), State::kLost, {}},
    {"nor to nobody", failing(State::kOpen, kA), Trigger::kChangeOwner, to({}), State::kLost, {}},
    {"a stop ends with a loss",
     stopping(failing(State::kOpen, kA)),
     Trigger::kChangeOwner,
     to(kB),
     State::kLost,
     {}},
    {"a stop ends by itself",
     stopping(soft(State::kOpen, kA)),
     Trigger::kEndStop,
     {},
     State::kOpen,
     kA},
    {"closing", soft(State::kOpen, kA), Trigger::kClose, {}, State::kClosed, {}},
    {"closing while it stops",
     stopping(soft(State::kOpen, kA)),
     Trigger::kClose,
     {},
     State::kClosed,
     {}},
    {"closing a lost one", failing(State::kLost, {}), Trigger::kClose, {}, State::kClosed, {}},
    {"its instance ends", soft(State::kOpen, kA), Trigger::kInstanceEnds, {}, State::kClosed, {}},
    {"an expired one goes", soft(State::kExpired, {}), Trigger::kDrop, {}, State::kClosed, {}},
    {"closing from outside",
     stopping(soft(State::kOpen, kA)),
     Trigger::kEnd,
     {},
     State::kClosed,
     {}},
    {"expiring", stopping(soft(State::kOpen, kA)), Trigger::kExpire, {}, State::kExpired, {}},
    {"a lost one expires", failing(State::kLost, {}), Trigger::kExpire, {}, State::kExpired, {}},
    {"opening a lost one", failing(State::kLost, {}), Trigger::kOpenAgain, {}, State::kOpen, {}},
    {"opening a closed one",
     exclusive(State::kClosed, {}),
     Trigger::kOpenAgain,
     {},
     State::kOpen,
     {}},
    {"opening an expired one",
     soft(State::kExpired, {}),
     Trigger::kOpenAgain,
     {},
     State::kOpen,
     {}},
    {"beginning anew", stopping(soft(State::kOpen, kA)), Trigger::kBeginAnew, {}, State::kOpen, kA},
    {"a device begins anew", device(State::kOpen, kA), Trigger::kBeginAnew, {}, State::kOpen, kA},
    {"an exclusive one begins anew",
     stopping(exclusive(State::kOpen, kA)),
     Trigger::kBeginAnew,
     {},
     State::kStopping,
     kA},
    {"without an owner it begins anew",
     failing(State::kOpen, {}),
     Trigger::kBeginAnew,
     {},
     State::kOpen,
     {}},
    {"refusing a lost one", failing(State::kLost, {}), Trigger::kRefuse, {}, State::kRefused, {}},
    {"a damaged one", stopping(device(State::kOpen, kA)), Trigger::kRepair, {}, State::kOpen, {}},
    {"a damaged one that is closed",
     soft(State::kClosed, {}),
     Trigger::kRepair,
     {},
     State::kClosed,
     {}},
    {"a damaged one that fails on loss",
     failing(State::kOpen, {}),
     Trigger::kRepair,
     {},
     State::kLost,
     {}},
    {"refusing again", soft(State::kRefused, {}), Trigger::kRefuse, {}, State::kRefused, {}},
};

TEST(OwnershipRules, next_row) {
  for (const NextRow& one : kNextRows) {
    SCOPED_TRACE(one.name);
    const SessionRow next = transition(one.row, one.cause, one.facts).next;
    EXPECT_EQ(next.state, one.state);
    EXPECT_EQ(next.owner, one.owner);
    EXPECT_EQ(next.stop.has_value(), one.state == State::kStopping);
    EXPECT_EQ(next.device, one.row.device);
    EXPECT_EQ(next.exclusive, one.row.exclusive);
    EXPECT_EQ(next.fails_on_loss, one.row.fails_on_loss);
  }
}

TEST(OwnershipRules, a_stop_changes_nothing_but_that_it_stops) {
  const SessionRow rows[] = {soft(State::kOpen, kA), device(State::kOpen, {}),
                             stopping(exclusive(State::kOpen, kA))};
  for (const SessionRow& row : rows) {
    Facts facts;
    facts.stop = {kA, 5, true};
    const Transition change = transition(row, Trigger::kStop, facts);
    EXPECT_EQ(change.next.state, State::kStopping);
    EXPECT_EQ(change.next.stop, facts.stop);
    EXPECT_EQ(change.next.owner, row.owner);
    EXPECT_EQ(change.next.device, row.device);
    EXPECT_EQ(change.next.exclusive, row.exclusive);
  }
}

// All effects of a change, as letters: e takes an epoch, c only counts one; n notes the owner's
// node, f forgets it; u unlocks, l fails the work as lost, x fails it as closed; b begins a lease;
// h recomputes the head, 0 clears it; w wakes work that was marked as unregistered; r makes work
// ready; k clears the look; t counts the end.
std::string effects_of(const Transition& change) {
  std::string out;
  if (change.epoch == EpochEffect::kTake) out += 'e';
  if (change.epoch == EpochEffect::kCountOnly) out += 'c';
  if (change.node == NodeEffect::kNote) out += 'n';
  if (change.node == NodeEffect::kForget) out += 'f';
  if (change.work == WorkEffect::kUnlock) out += 'u';
  if (change.work == WorkEffect::kFailLost) out += 'l';
  if (change.work == WorkEffect::kFailClosed) out += 'x';
  if (change.begins_lease) out += 'b';
  if (change.recomputes_head) out += 'h';
  if (change.clears_head) out += '0';
  if (change.wakes_unregistered) out += 'w';
  if (change.makes_ready) out += 'r';
  if (change.clears_look) out += 'k';
  if (change.counts_end) out += 't';
  return out;
}

struct EffectRow {
  const char* name;
  SessionRow row;
  Trigger cause;
  Facts facts;
  const char* effects;
  Notice notice;
};
const EffectRow kEffectRows[] = {
    {"claim", soft(State::kOpen, {}), Trigger::kChangeOwner, to(kA), "enubhr", Notice::kChanged},
    {"migration", soft(State::kOpen, kA), Trigger::kChangeOwner, to(kB), "enubhr",
     Notice::kChanged},
    {"release", soft(State::kOpen, kA), Trigger::kChangeOwner, to({}), "enubhr", Notice::kChanged},
    {"a device comes", device(State::kOpen, {}), Trigger::kChangeOwner, to(kA), "enubhwr",
     Notice::kChanged},
    {"a device goes", device(State::kOpen, kA), Trigger::kChangeOwner, to({}), "enubhr",
     Notice::kChanged},
    {"loss", failing(State::kOpen, kA), Trigger::kChangeOwner, to(kB), "enl0t", Notice::kLost},
    {"stop", soft(State::kOpen, kA), Trigger::kStop, {}, "", Notice::kNone},
    {"end of a stop", stopping(soft(State::kOpen, kA)), Trigger::kEndStop, {}, "r", Notice::kNone},
    {"closing an owned one", soft(State::kOpen, kA), Trigger::kClose, {}, "cx0kt", Notice::kClosed},
    {"closing one that stops",
     stopping(soft(State::kOpen, kA)),
     Trigger::kClose,
     {},
     "cx0kt",
     Notice::kClosed},
    {"closing one that nobody has",
     soft(State::kOpen, {}),
     Trigger::kClose,
     {},
     "x0kt",
     Notice::kClosed},
    {"closing a lost one", soft(State::kLost, {}), Trigger::kClose, {}, "x0k", Notice::kNone},
    {"closing a refused one", soft(State::kRefused, {}), Trigger::kClose, {}, "x0k", Notice::kNone},
    {"the instance of an owned one ends",
     soft(State::kOpen, kA),
     Trigger::kInstanceEnds,
     {},
     "c0kt",
     Notice::kClosed},
    {"the instance of a lost one ends",
     soft(State::kLost, {}),
     Trigger::kInstanceEnds,
     {},
     "0k",
     Notice::kNone},
    {"a lost one goes", soft(State::kLost, {}), Trigger::kDrop, {}, "0k", Notice::kNone},
    {"one goes without a word", soft(State::kOpen, kA), Trigger::kDrop, {}, "c0k", Notice::kNone},
    {"an owned one is closed from outside",
     soft(State::kOpen, kA),
     Trigger::kEnd,
     {},
     "cnx0",
     Notice::kNone},
    {"one that nobody has is closed from outside",
     soft(State::kOpen, {}),
     Trigger::kEnd,
     {},
     "nx0",
     Notice::kNone},
    {"an owned one expires",
     soft(State::kOpen, kA),
     Trigger::kExpire,
     {},
     "cnx0t",
     Notice::kExpired},
    {"one that nobody has expires",
     soft(State::kStopping, {}),
     Trigger::kExpire,
     {},
     "nx0t",
     Notice::kExpired},
    {"a lost one expires", soft(State::kLost, {}), Trigger::kExpire, {}, "nx0", Notice::kExpired},
    {"opening again", soft(State::kLost, {}), Trigger::kOpenAgain, {}, "efhr", Notice::kNone},
    {"beginning anew", soft(State::kOpen, kA), Trigger::kBeginAnew, {}, "efuhrt", Notice::kExpired},
    {"an exclusive one",
     exclusive(State::kOpen, kA),
     Trigger::kBeginAnew,
     {},
     "ht",
     Notice::kExpired},
    {"refusing again", soft(State::kLost, {}), Trigger::kRefuse, {}, "efhr", Notice::kNone},
    {"a damaged one", soft(State::kOpen, kA), Trigger::kRepair, {}, "efubhr", Notice::kNone},
};

TEST(OwnershipRules, effects) {
  for (const EffectRow& one : kEffectRows) {
    SCOPED_TRACE(one.name);
    const Transition change = transition(one.row, one.cause, one.facts);
    EXPECT_EQ(effects_of(change), one.effects);
    EXPECT_EQ(change.notice, one.notice);
    EXPECT_FALSE(change.deletes_row && one.cause != Trigger::kClose &&
                 one.cause != Trigger::kInstanceEnds && one.cause != Trigger::kDrop);
  }
}

struct DeleteRow {
  const char* name;
  bool exclusive;
  Trigger cause;
  Facts facts;
  bool deletes;
};
const DeleteRow kDeleteRows[] = {
    {"closing, nothing runs", true, Trigger::kClose, running(false, false), true},
    {"closing, what runs is given up", false, Trigger::kClose, running(true, false), true},
    {"closing, what runs is waited for", true, Trigger::kClose, running(true, false), false},
    {"closing, what was cancelled is waited for", false, Trigger::kClose, running(false, true),
     false},
    {"closing, both", true, Trigger::kClose, running(true, true), false},
    {"the instance ends, nothing runs", true, Trigger::kInstanceEnds, running(false, false), true},
    {"the instance ends, something runs", false, Trigger::kInstanceEnds, running(true, false),
     false},
    {"the instance ends, cancelled work runs", true, Trigger::kInstanceEnds, running(false, true),
     false},
    {"dropped, nothing runs", false, Trigger::kDrop, running(false, false), true},
    {"dropped, something runs", false, Trigger::kDrop, running(true, false), false},
    {"dropped, cancelled work runs", false, Trigger::kDrop, running(false, true), false},
};

TEST(OwnershipRules, the_row_of_a_closed_session_stays_for_what_runs) {
  for (const DeleteRow& one : kDeleteRows) {
    SCOPED_TRACE(one.name);
    const SessionRow row = one.exclusive ? exclusive(State::kOpen, kA) : soft(State::kOpen, kA);
    EXPECT_EQ(transition(row, one.cause, one.facts).deletes_row, one.deletes);
  }
}

TEST(OwnershipRules, change_of) {
  struct Row {
    const char* name;
    bool has_owner;
    const char* from;
    const char* to;
    Change change;
  };
  const Row rows[] = {
      {"nobody had it", true, "", "b", Change::kClaimed},
      {"the same node", true, "a", "a", Change::kResumed},
      {"another node", true, "a", "b", Change::kMigrated},
      {"a node without a row", true, "a", "", Change::kMigrated},
      {"neither has a row", true, "", "", Change::kClaimed},
      {"released", false, "a", "", Change::kReleased},
      {"released by nobody", false, "", "", Change::kReleased},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(change_of(one.has_owner, one.from, one.to), one.change);
  }
}

TEST(OwnershipRules, states) {
  struct Row {
    State state;
    bool open;
    bool counts;
  };
  const Row rows[] = {
      {State::kOpen, true, true},      {State::kStopping, true, true},
      {State::kLost, false, true},     {State::kClosed, false, false},
      {State::kRefused, false, false}, {State::kExpired, false, false},
  };
  for (const Row& one : rows) {
    SCOPED_TRACE(static_cast<int>(one.state));
    EXPECT_EQ(is_open(one.state), one.open);
    EXPECT_EQ(counts_as_open(one.state), one.counts);
  }
  EXPECT_FALSE(fails_on_owner_loss(failing(State::kOpen, {})));
  EXPECT_FALSE(fails_on_owner_loss(soft(State::kOpen, kA)));
  EXPECT_TRUE(fails_on_owner_loss(failing(State::kOpen, kA)));
}

}  // namespace
}  // namespace pawl::rules

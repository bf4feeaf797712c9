// A changed program under a recorded history: how often the change is found, by its kind, and that
// an unchanged past is never blamed.
//
// Method: a random program lives for some turns. Then one place in it is changed. If the changed
// program, run from the start with the same messages, records something else in those turns, its
// recorded past has changed, and the replay must say so. If it records the same, the replay must
// succeed.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "world.hpp"

namespace pawl::test {
namespace {

struct Tally {
  unsigned changed = 0;
  unsigned found = 0;
  unsigned unchanged = 0;
  unsigned blamed = 0;
  std::string example;  // a change that was not found, or was blamed wrongly
};

#ifdef NDEBUG
constexpr unsigned kWanted = 2'000;  // wanted number of changes of the recorded past, for each kind
#else
constexpr unsigned kWanted = 100;
#endif

// Changes of clean-up scopes matter only where a cancel request was taken and the code goes on for
// a while after it.
bool is_of_shields(Change change) {
  return change == Change::kShieldAdded || change == Change::kShieldMissing;
}

void try_one(std::uint64_t seed, Change change, Tally* tally) {
  Random random(seed);
  const Program program = random_program(random);
  const Recording recording = record(program, seed, is_of_shields(change));
  // No turn follows the last one if it ended the program, so at least two are needed.
  if (recording.turns.size() < 2) return;
  const std::size_t turns = 1 + random.below(recording.turns.size() - 1);
  Program changed = program;
  if (!change_program(&changed, change, random)) return;
  const bool is_same = lives_the_same(changed, recording, turns);
  std::string text;
  const Status status = replay_of(changed, recording, turns, &text);
  const bool is_found = status == Status::kNondeterminism;
  if (is_same) {
    ++tally->unchanged;
    if (status == Status::kOk) return;
    ++tally->blamed;
  } else {
    ++tally->changed;
    if (is_found) {
      ++tally->found;
      return;
    }
  }
  if (tally->example.empty())
    tally->example = "seed " + std::to_string(seed) + ", " + std::to_string(turns) + " turns\n" +
                     print(program) + "changed to\n" + print(changed) + text;
}

class ChangedProgram : public testing::TestWithParam<int> {};

TEST_P(ChangedProgram, IsFoundWhereTheRecordedPastChanged) {
  const auto change = static_cast<Change>(GetParam());
  Tally tally;
  std::uint64_t seed = 1;
  const unsigned seeds = (is_of_shields(change) ? 60 : 20) * kWanted;
  for (; tally.changed < kWanted && seed <= seeds; ++seed)
    try_one(seed, change, &tally);
  const double rate = tally.changed == 0 ? 100 : 100.0 * tally.found / tally.changed;
  std::printf("%-16s past changed %5u, found %5u = %6.2f %%; past the same %5u, blamed %u\n",
              change_name(change), tally.changed, tally.found, rate, tally.unchanged, tally.blamed);
  EXPECT_EQ(tally.blamed, 0U) << tally.example;
  EXPECT_GE(rate, 95) << tally.example;
  if (change == Change::kNone || change == Change::kTail) {
    EXPECT_EQ(tally.changed, 0U) << tally.example;
    EXPECT_GT(tally.unchanged, kWanted);
  } else {
    EXPECT_GE(tally.changed, kWanted / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Replay, ChangedProgram,
                         testing::Range(0, static_cast<int>(Change::kCount)),
                         [](const auto& change) {
                           std::string name = change_name(static_cast<Change>(change.param));
                           for (char& letter : name)
                             if (letter == ' ') letter = '_';
                           return name;
                         });

}  // namespace
}  // namespace pawl::test

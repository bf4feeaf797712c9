// Random programs, and random changes of them.
#ifndef PAWL_TEST_GENERATOR_HPP
#define PAWL_TEST_GENERATOR_HPP

#include <cstdint>

#include "program.hpp"

namespace pawl::test {

// Gives the same numbers on every machine (splitmix64), and is cheap to seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  unsigned below(std::size_t end) { return static_cast<unsigned>(next() % end); }
  bool chance(unsigned one_of) { return below(one_of) == 0; }

 private:
  std::uint64_t state_;
};

enum class Style {
  kAll,
  // Leaves out what may depend on how messages are grouped into turns: recorded time and numbers of
  // branches, state of concurrent branches, several waits of one queue, and handles of an ancestor
  // that closes them (a close and a completion of the same turn are both recorded, otherwise only
  // the close). The name identifies every command.
  kGrouped
};
Program random_program(Random& random, Style style = Style::kAll);

// Ways to change a program under a history.
enum class Change {
  kNone,
  kName,
  kInput,
  kOrder,
  kAdded,
  kRemoved,
  kWinner,  // in code that depends on which arm won
  kFinishedEarly,
  kTimer,
  kChildVersion,
  kChildId,
  kStatusMissing,
  kStateMissing,
  kEventMissing,
  kRetryPolicy,
  kSession,
  kTag,
  kBranchMissing,
  kAwaitMissing,
  kShieldAdded,
  kShieldMissing,
  kTail,  // an addition after everything else
  kCount
};
const char* change_name(Change change);
// False: the program has nothing that can be changed in this way.
bool change_program(Program* program, Change change, Random& random);

}  // namespace pawl::test

#endif  // PAWL_TEST_GENERATOR_HPP

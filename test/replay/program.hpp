// Orchestrations as data: a small language, and one orchestration function that interprets it.
//
//   act X            a handle X to an activity of that name       timer X     to a timer
//   open X { ... }   to a branch                                  await X     receive it
//   join X Y ...     receive all                                  sel X Y ... receive the first
//   selj X | Y Z     as sel X and the join of Y and Z             cancel X    close it
//   wait X           to the raised event "e"                      deq X       to a message of queue "q"
//   set K V          write the state K                            get K       read it
//
// Every handle has a name of its own in the whole program, so that a branch can use those of its
// ancestors.
#ifndef PAWL_TEST_PROGRAM_HPP
#define PAWL_TEST_PROGRAM_HPP

#include <string>
#include <vector>

#include "pawl/orchestration.hpp"

namespace pawl::test {

struct Step {
  enum class Kind {
    kActivity,
    kTimer,
    kOpen,
    kAwait,
    kJoin,
    kSelect,
    kSelectJoin,
    kCancel,
    kWait,
    kDequeue,
    kTry,
    kSet,
    kGet
  };
  Kind kind = Kind::kActivity;
  std::vector<std::size_t> handles;
  std::vector<Step> body;
};

struct Program {
  std::vector<std::string> names;  // of the handles
  std::vector<Step> steps;
};

// Requires: a well-formed text.
Program parse(const std::string& text);

// What run_program() interprets from now on.
void set_program(const Program* program);
Poll run_program(OrchestrationContext& ctx);

// What the last run saw, a line a received await; with the name of its branch's handle in front.
const std::vector<std::string>& observations();
// Only of the root, which nothing withdraws.
std::vector<std::string> root_observations();

}  // namespace pawl::test

#endif  // PAWL_TEST_PROGRAM_HPP

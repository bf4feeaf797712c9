// Orchestrations as data: a small language, and one orchestration function that interprets it.
//
//   act X            a handle X to an activity of that name       timer X     to a timer
//   open X { ... }   to a branch                                  await X     receive it
//   join X Y ...     receive all                                  sel X Y ... receive the first
//   selj X | Y Z     as sel X and the join of Y and Z             cancel X    close it
//   wait X           to the raised event "e"                      deq X       to a message of queue "q"
//   try X            likewise, or to none                         child X     to a child
//   detach           start an instance that is none
//   set name=K in=V  write the state K                            get name=K  read it
//   guid  utc  now   a guid, a recorded time, the time            status in=T show T
//   trace            say something                                end name=E  complete, fail or can
//   loop n=N { ... } N times                                      if name=C { ... } { ... }
//   shield { ... }   in a clean-up scope
//
// Arguments follow as key=value: name, in (input; "$" is what the branch saw last), on (session or
// id), v (version or tag), n (policy, delay, how often). The conditions of `if` are about what the
// branch awaited last: ok, odd, first (of a select), cancelled; asked, about the cancel request; and
// exec, about the number of the execution.
//
// Every handle has a name of its own in the whole program, so that a branch can use those of its
// ancestors.
#ifndef PAWL_TEST_PROGRAM_HPP
#define PAWL_TEST_PROGRAM_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "pawl/orchestration.hpp"

namespace pawl::test {

struct Step {
  enum class Kind {
    kActivity,
    kTimer,
    kWait,
    kDequeue,
    kTryDequeue,
    kChild,
    kDetach,
    kGuid,
    kUtc,
    kNow,
    kStatus,
    kSet,
    kGet,
    kTrace,
    kOpen,
    kAwait,
    kJoin,
    kSelect,
    kSelectJoin,
    kCancel,
    kIf,
    kLoop,
    kShield,
    kEnd
  };
  Kind kind = Kind::kActivity;
  std::vector<std::size_t> handles;
  std::string name;
  std::string input;
  std::string on;
  std::string version;
  int number = 0;
  std::vector<Step> body;
  std::vector<Step> other;
};

struct Program {
  std::vector<std::string> names;  // of the handles
  std::vector<Step> steps;
};

// Parts between blanks and ends of lines. Without streams, which a board without an operating system has not.
std::vector<std::string> words_of(const std::string& text);
// Requires: a well-formed text.
Program parse(const std::string& text);
// A text that parse() makes the same program of.
std::string print(const Program& program);

// What run_program() interprets from now on. `with_texts`: observations() is wanted.
void set_program(const Program* program, bool with_texts = true);
Poll run_program(OrchestrationContext& ctx);

// What the last run saw, a line a received await; with the name of its branch's handle in front.
const std::vector<std::string>& observations();

// The same without texts. Branches are distinguished by the openings that lead to them.
struct Trail {
  std::uint64_t branch = 0;
  std::vector<std::uint64_t> seen;
};
// The first is the root's; those that saw nothing may be anything.
const std::vector<Trail>& trails();
// What an await of one handle answered, for a reading of the cancellation rules that shares nothing
// with the engine.
struct Answer {
  std::size_t handle = 0;
  bool is_own = false;     // was the handle issued by the branch that awaits it?
  bool is_issued = false;  // and outside R8.4
  bool is_shielded = false;
  bool is_cancelled = false;
  std::string value;
};
const std::vector<Answer>& answers();
// How often the last run issued each handle where R8.4 lets it.
const std::vector<unsigned>& issued();
// Texts traced, in order of the calls.
const std::vector<std::string>& traced();
// Numbers of the queue messages and raised events received.
const std::vector<std::int64_t>& received();

}  // namespace pawl::test

#endif  // PAWL_TEST_PROGRAM_HPP

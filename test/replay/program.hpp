// Orchestrations as data: a small language, and one orchestration function that interprets it.
//
//   act X            a handle X to an activity of that name     timer X     to a timer
//   open X { ... }   to a branch                                await X     receive it
//   join X Y ...     receive all                                sel X Y ... receive the first
//   selj X | Y Z     as sel X and the join of Y and Z           cancel X    close it
//   wait X           to the raised event "e"                    deq X       to a message of "q"
//   try X            to such a message, or to "none"            child X     to a child
//   detach           start a detached instance
//   set name=K in=V  write the state K                          get name=K  read it
//   guid  utc  now   a guid, a recorded time, the time          status in=T show T
//   trace            write a trace                              end name=E  complete, fail or can
//   loop n=N { ... } N times                                    if name=C { ... } { ... }
//   shield { ... }   in a clean-up scope
//
// Arguments follow as key=value: name, in (input; "$" is what the branch saw last), on (session or
// id), v (version or tag), n (policy, delay, number of rounds). The conditions of `if` are about
// what the branch awaited last: ok, odd, first (of a select), cancelled; about the cancel request:
// asked; and about the number of the execution: exec.
//
// Every handle has its own name in the whole program, so that a branch can use those of its
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
  std::vector<std::string> names;  // names of the handles
  std::vector<Step> steps;
};

// The words of a text, separated by blanks and line ends. Without streams, which a board without an
// operating system lacks.
std::vector<std::string> words_of(const std::string& text);
// Requires: a well-formed text.
Program parse(const std::string& text);
// A text from which parse() makes the same program.
std::string print(const Program& program);

// Sets the program that run_program() interprets from now on. `with_texts`: observations() is
// wanted.
void set_program(const Program* program, bool with_texts = true);
Poll run_program(OrchestrationContext& ctx);

// The observations of the last run, one line for each received await, beginning with the name of
// its branch's handle.
const std::vector<std::string>& observations();

// The same without texts. The openings that lead to a branch identify it.
struct Trail {
  std::uint64_t branch = 0;
  std::vector<std::uint64_t> seen;
};
// The first trail is the root's. A branch that saw nothing may be missing or empty.
const std::vector<Trail>& trails();
// The answer of an await of one handle, for a reading of the cancellation rules that shares no code
// with the engine.
struct Answer {
  std::size_t handle = 0;
  bool is_own = false;     // true: the awaiting branch issued the handle
  bool is_issued = false;  // true: the handle is issued, and R8.4 allowed that
  bool is_shielded = false;
  bool is_cancelled = false;
  std::string value;
};
const std::vector<Answer>& answers();
// How often the last run issued each handle where R8.4 allows it.
const std::vector<unsigned>& issued();
// The traced texts, in order of the calls.
const std::vector<std::string>& traced();
// Numbers of the queue messages and raised events that were received.
const std::vector<std::int64_t>& received();

}  // namespace pawl::test

#endif  // PAWL_TEST_PROGRAM_HPP

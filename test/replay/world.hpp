// The world around the engine: what the storage keeps of an instance and what a runtime does with a
// turn, with everything that can come between. One program lives in it from its start to its end.
//
// Method: messages arrive in random order and batches, as rows, as results piggybacked on a turn,
// late and twice. Each turn runs warm, warm again after a rewind (its commit failed), and cold from
// the stored events (a crash); often it is also cut after each pass, with a crash in between. All
// runs must decide the same. After each commit the invariants are checked against a reading of the
// stored events that shares no code with the engine.
#ifndef PAWL_TEST_WORLD_HPP
#define PAWL_TEST_WORLD_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "generator.hpp"
#include "program.hpp"
#include "replay/engine.hpp"

namespace pawl::test {

// The one thing that a wrong world does wrong. The tests must find each of them.
enum class Wrong {
  kNothing,
  kReturnedDropped,     // a message given back is not stored
  kReturnedRenumbered,  // a message given back is stored under a new number
  kKeptDropped,         // a message that goes on waiting is deleted
  kDeliveredTwice,      // a message that was taken stays
  kNotCarried,          // continue-as-new forgets the waiting messages
  kDeliveriesSwapped,   // two recorded deliveries exchange their messages
  kResultsSwapped,      // two recorded results exchange their places
  kHorizonOneHigher,    // the horizon of a recorded close
  kHorizonOneLower,
  kHorizonForgotten,   // a loser keeps what it did beyond its horizon
  kCommandsReordered,  // two recorded commands of one branch exchange their places
  kLastEventLost,      // a torn commit
  kCompletionLost,     // the completion of an activity is lost before it is a message
  kClosedWorkKept,     // work, timers and children of closed commands stay
  kTimerForgotten,
  kUnwantedChildStarted,  // a child that was closed in the turn that asked for it is started
  kDetachedLostAtEnd,
  kRequestNotCarried,  // continue-as-new forgets the cancel request
  kGraceNotCarried,    // continue-as-new forgets the grace
  kGraceOfTheNext,     // the next execution has a grace of its own
  kOldResultTaken,     // a result of the previous execution counts for this one
  kTwoEnds,            // a second end is stored behind the first
  kRecordedGuidLost,
  kEndHearsNothing,    // an end is committed whatever came while its turn ran (R7.7)
  kEndIsAskedOnce,     // an end is put off only once, whatever its second run received
  kEndIsAskedForEver,  // an end is put off as long as anything comes
  kEndReadsInPart,     // the second run of an end reads only a part, like any turn
  kCount
};
const char* wrong_name(Wrong wrong);

struct Life {
  std::string failure;  // empty: everything held
  unsigned turns = 0;
  unsigned executions = 0;
  unsigned events[64] = {};    // number of events, by kind
  unsigned cuts = 0;           // turns that also ran cut after each pass
  unsigned withdrawn = 0;      // withdrawn commands
  unsigned dropped = 0;        // dropped messages
  unsigned kept = 0;           // messages kept waiting, counted once a turn
  unsigned ended_outside = 0;  // executions ended by the grace timer
  unsigned not_found = 0;      // tries that found no message
  unsigned put_off = 0;        // turns that could not decide a try, since they had not read all
  unsigned ends_put_off = 0;   // ends put off because messages came
  unsigned ends_deaf = 0;      // ends although messages came, in a second run that received none
  unsigned handed_on = 0;      // cancel requests handed on to the next execution
  unsigned shielded = 0;       // answers in a clean-up scope after a request
  void add(const Life& other);
};
Life live(const Program& program, std::uint64_t seed, Wrong wrong = Wrong::kNothing);

// ---- a recorded life, for changing the program under it ----

struct OwnedMessage {
  Message message;
  std::string name;
  std::string payload;
};
struct OwnedEvent {
  Event event;
  std::string texts;
};
struct RecordedTurn {
  std::vector<std::unique_ptr<OwnedMessage>> batch;
  std::size_t waiting_count = 0;
  bool more_messages = false;
  std::int64_t stamp_ms = 0;
  EventId last_id = 0;  // the last event after the turn
};
struct Recording {
  std::vector<std::unique_ptr<OwnedEvent>> events;  // events of the first execution
  std::vector<RecordedTurn> turns;
};
// Records the first execution, without disturbances. Empty if no turn ran. `is_cancelled`: a cancel
// request comes early.
Recording record(const Program& program, std::uint64_t seed, bool is_cancelled = false);

// Runs the first turns of a recording from the start, with this program. True if everything is
// recorded again as it is.
bool lives_the_same(const Program& program, const Recording& recording, std::size_t turns);
// Loads what those turns recorded, and runs the turn that comes next.
Status replay_of(const Program& program, const Recording& recording, std::size_t turns,
                 std::string* text);

}  // namespace pawl::test

#endif  // PAWL_TEST_WORLD_HPP

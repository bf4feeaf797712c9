// The world around the engine: what the storage keeps of an instance and a runtime does with a
// turn, with everything that can come between. One program lives in it from its start to its end.
//
// Method: messages arrive in random order and batches, as rows, as results piggybacked on a turn,
// late and twice. Each turn runs warm, warm again after a rewind (its commit failed), and cold from
// the stored events (a crash); often also cut behind each pass with a crash in between. All must
// decide the same. After each commit the invariants are checked against a reading of the stored
// events that shares nothing with the engine.
#ifndef PAWL_TEST_WORLD_HPP
#define PAWL_TEST_WORLD_HPP

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine.hpp"
#include "generator.hpp"
#include "program.hpp"

namespace pawl::test {

// A world that does one thing wrong. Each must be found.
enum class Wrong {
  kNothing,
  kReturnedDropped,     // a message given back is not stored
  kReturnedRenumbered,  // it is stored under a new number
  kKeptDropped,         // a message that waits on is deleted
  kDeliveredTwice,      // a message taken stays
  kNotCarried,          // continue-as-new forgets what waits
  kDeliveriesSwapped,   // two recorded deliveries exchange their messages
  kResultsSwapped,      // two recorded results exchange their places
  kHorizonOneHigher,    // of a recorded close
  kHorizonOneLower,
  kHorizonForgotten,   // a loser keeps what it did beyond
  kCommandsReordered,  // two recorded commands of one branch
  kLastEventLost,      // a torn commit
  kCompletionLost,     // of an activity, before it is a message
  kClosedWorkKept,     // work, timers and children of what was closed
  kTimerForgotten,
  kUnwantedChildStarted,  // closed in the turn that asked for it
  kDetachedLostAtEnd,
  kRequestNotCarried,  // continue-as-new forgets the cancel request
  kGraceNotCarried,    // or its grace
  kGraceOfTheNext,     // the next execution has a grace of its own
  kOldResultTaken,     // of the execution before, as if of this one
  kTwoEnds,            // behind the end another is stored
  kRecordedGuidLost,
  kEndHearsNothing,    // it is committed whatever came while its turn ran (R7.7)
  kEndIsAskedOnce,     // also if it received what put it off
  kEndIsAskedForEver,  // as long as anything comes
  kEndReadsInPart,     // its second run is cut as any turn is
  kCount
};
const char* wrong_name(Wrong wrong);

struct Life {
  std::string failure;  // empty: all held
  unsigned turns = 0;
  unsigned executions = 0;
  unsigned events[64] = {};    // by kind
  unsigned cuts = 0;           // turns that ran cut behind each pass as well
  unsigned withdrawn = 0;      // commands
  unsigned dropped = 0;        // messages
  unsigned kept = 0;           // messages, a turn they waited
  unsigned ended_outside = 0;  // by the grace timer
  unsigned not_found = 0;      // tries that found no message
  unsigned put_off = 0;        // turns that could not know, since they had not read all
  unsigned ends_put_off = 0;   // since messages came
  unsigned ends_deaf = 0;      // with messages that came, in a run that received none
  unsigned handed_on = 0;      // cancel requests, to the next execution
  unsigned shielded = 0;       // answers in a clean-up scope, behind a request
  void add(const Life& other);
};
Life live(const Program& program, std::uint64_t seed, Wrong wrong = Wrong::kNothing);

// --- a recorded life, for changing the program under it -------------------------------------------

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
  EventId last_id = 0;  // after it
};
struct Recording {
  std::vector<std::unique_ptr<OwnedEvent>> events;  // of the first execution
  std::vector<RecordedTurn> turns;
};
// The first execution, undisturbed. Empty if it came to nothing. `is_cancelled`: early.
Recording record(const Program& program, std::uint64_t seed, bool is_cancelled = false);

// What this program does with the first turns of a recording.
// Runs them from the start: is everything recorded again as it is?
bool lives_the_same(const Program& program, const Recording& recording, std::size_t turns);
// Loads what they recorded, and runs the turn that comes next.
Status replay_of(const Program& program, const Recording& recording, std::size_t turns,
                 std::string* text);

}  // namespace pawl::test

#endif  // PAWL_TEST_WORLD_HPP

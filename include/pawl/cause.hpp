// Cause: one reason why an instance, an activity or a session does not go on, and who could change
// that.
//
// Purpose: Client::explain() answers what people ask of something that only says "running". Each
// answer comes from the rows of one view, so it is what workers decide by. Ownership: views of a
// Cause live until its visitor returns. Thread rule: plain values.
#ifndef PAWL_CAUSE_HPP
#define PAWL_CAUSE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/optional_ms.hpp"

#pragma GCC visibility push(default)
namespace pawl {

enum class CauseKind : std::uint8_t {
  // These are of the instance as a whole.
  kEnded,            // it has ended; `error`: of a failure
  kStopped,          // its code could not go on: `error`
  kSuspended,        // by Client::suspend_instance()
  kUnknown,          // its newest 2,048 events and its rows do not say it
  kNoWorker,         // no worker lives
  kNoOrchestration,  // no worker that looked has registered `name` in the version `subject`
  kPause,            // its turn ended a process; it runs again later
  kTurn,             // it is about to run
  // These are of an await of its code.
  kTimer,
  kNoClock,  // a timer on UTC, in a database that has seen no trusted clock
  kEvent,    // raised under `name`
  kQueue,    // a message in the queue `name`
  kChild,    // the instance `subject`, of the orchestration `name`
  kAnswer,   // of a value of another instance, or of a session
  // These are of an activity, of which `name` is the name and `subject` the session, if it has one.
  kRuns,        // on the worker `node`
  kEnding,      // it was cancelled, and its code on `node` still runs
  kOutside,     // it is completed by its token
  kRetry,       // it failed with `error`, and is tried again later
  kNoActivity,  // no living worker has registered its name
  kNoTag,       // no living worker that has takes the tag `subject`
  kNoDevice,    // no living worker has declared the device `subject`
  kMoving,      // its session goes to another worker when its running work has ended
  kHeld,        // its session waits for its last owner `node`
  kPaced,       // its session has had as many activities as its limits allow for now
  kBehind,      // other work of its session comes first
  kNoRoom,  // each worker that could take it is full; `node`: of these, the owner of its session
  // These are of a session, which `subject` names.
  kIdle,          // it has no work; `node`: its owner
  kSessionEnded,  // it was lost, closed or refused, or has expired; `error` may say why
};
inline constexpr std::size_t kCauseKindCount = 28;
// "no_device"
[[nodiscard]] const char* cause_kind_name(CauseKind kind);
// One sentence: what could be done.
[[nodiscard]] const char* cause_help(CauseKind kind);

// Members that a kind does not have are 0, empty or none.
struct Cause {
  CauseKind kind = CauseKind::kTurn;
  std::int64_t event_id = 0;     // of the history: the await or the activity; 0: the whole instance
  std::string_view instance_id;  // of an activity
  std::string_view name;
  std::string_view subject;
  std::string_view node;
  std::string_view error;     // a text
  std::int64_t attempt = 0;   // of an activity: hand-overs so far
  std::int64_t since_ms = 0;  // UTC: when it was asked for, or when the instance changed last
  OptionalMs ends_in_ms;      // when this goes on or fails by itself, in Pawl time; none: never
};

class CauseVisitor {
 public:
  virtual void on_cause(const Cause& cause) noexcept = 0;

 protected:
  ~CauseVisitor() = default;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_CAUSE_HPP

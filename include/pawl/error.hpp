// Error and Outcome: the answers of an orchestration's awaits.
//
// Purpose: failures of activities, timers and orchestrations are data in history. Code reads them
// by kind and does not match texts. Ownership: every view inside an Outcome stays valid until the
// orchestration function returns. Thread rule: values of one orchestration pass; not shared.
#ifndef PAWL_ERROR_HPP
#define PAWL_ERROR_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
class [[gnu::visibility("hidden")]] Awaits;
}

// Numbers are stored; never reuse one.
enum class [[nodiscard]] ErrorKind : std::uint8_t{
    kNone = 0,
    kApplication = 1,       // the activity, child or orchestration itself reported it
    kCancelled = 2,         // a cancel request reached this await, or ended the instance
    kClosed = 3,            // the handle lost a select or was cancelled by the code
    kTimeout = 4,           // a limit of an activity passed; but see kNotStarted
    kPoison = 5,            // crashed, was taken over or met reboots too often
    kNondeterminism = 6,    // the code does not match its history
    kAwaitSteppedOver = 7,  // the code went on after a pending await
    kLimit = 8,             // a payload, history or count limit of the options
    kCorrupt = 9,           // a stored row failed its checksum or form
    kUnregistered = 10,     // no worker knows the name
    kSessionLost = 11,
    kSessionClosed = 12,
    kSessionUnavailable = 13,
    kInvalidArgument = 14,   // a bad name, session id, delay or option in a call
    kTerminated = 15,        // ended by an operator
    kNotStarted = 16,        // no worker took the activity within schedule_to_start
    kNotFound = 17,          // there is no value of this key, or no message in this queue
    kNoInstance = 18,        // there is no instance of this id
    kHeartbeatTimeout = 19,  // an activity was silent for longer than its heartbeat_timeout
    kRateLimited = 20,       // activities of a session came faster than it allows
    kException = 21,         // an exception left the code of the orchestration
    kBadPayload = 22,        // an input, result or event that is no value of its type
};

// The stable, lower-case name ("application"); never null.
[[nodiscard]] const char* error_kind_name(ErrorKind kind);

// The cause of a failure: a kind for code, and a text for people.
struct Error {
  ErrorKind kind = ErrorKind::kNone;
  std::string_view text;
};

// The answer of an await: a result, an error, or neither yet.
class [[nodiscard]] Outcome {
 public:
  Outcome() = default;
  // Makes an Outcome; for the library, and for tests of code that takes one.
  static Outcome success(std::string_view value) { return Outcome(value); }
  static Outcome failure(ErrorKind kind, std::string_view text) { return {kind, text}; }
  static Outcome pending() {
    Outcome outcome;
    outcome.pending_ = true;
    return outcome;
  }

  // Whether there is a result.
  [[nodiscard]] bool ok() const { return kind_ == ErrorKind::kNone; }
  // The result; empty when !ok().
  [[nodiscard]] std::string_view value() const { return ok() ? text_ : std::string_view(); }
  // The error; its kind is kNone when ok().
  [[nodiscard]] Error error() const { return {kind_, ok() ? std::string_view() : text_}; }
  // Whether error() is kCancelled.
  [[nodiscard]] bool cancelled() const { return kind_ == ErrorKind::kCancelled; }
  // Whether error() is kClosed.
  [[nodiscard]] bool closed() const { return kind_ == ErrorKind::kClosed; }
  // The argument of a select that won, from 0; 0 when cancelled.
  [[nodiscard]] std::size_t index() const { return index_; }
  // For PAWL_AWAIT only.
  [[nodiscard]] bool is_pending() const { return pending_; }

 private:
  friend class internal::Awaits;
  explicit Outcome(std::string_view value) : text_(value) {}
  Outcome(ErrorKind kind, std::string_view text) : kind_(kind), text_(text) {}
  ErrorKind kind_ = ErrorKind::kNone;
  bool pending_ = false;
  std::uint32_t index_ = 0;
  std::string_view text_;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ERROR_HPP

// OrchestrationContext: what an orchestration is written against.
//
// Purpose: an orchestration is an ordinary function that Pawl runs again from its top at every turn;
// each await finds its recorded result or leaves the function with "pending". So one rule comes first:
// what stands between two awaits runs many times. Keep it cheap and pure: no clock, no random, no I/O,
// no static state; side effects belong into activities.
// Ownership: the context, its handles and every view they return live until the function returns.
// Thread rule: all of it happens on the thread that owns the Runtime.
// Source of the semantics: docs/architecture.md, "replay".
#ifndef PAWL_ORCHESTRATION_HPP
#define PAWL_ORCHESTRATION_HPP

#include <chrono>
#include <cstdint>
#include <string_view>

#include "pawl/error.hpp"
#include "pawl/log.hpp"

namespace pawl {

class OrchestrationContext;
namespace internal {
class Pass;
}

// How one run of the function ended. Made by complete(), fail(), continue_as_new() and PAWL_AWAIT.
class [[nodiscard]] Poll {
 public:
  enum class State : std::uint8_t { kPending, kDone };
  static Poll pending() { return Poll(State::kPending); }
  static Poll done() { return Poll(State::kDone); }
  [[nodiscard]] bool is_pending() const { return state_ == State::kPending; }

 private:
  explicit Poll(State state) : state_(state) {}
  State state_;
};

// One command that can complete. A plain value: dropping it does nothing, awaiting it twice gives the
// same result.
class Handle {
 public:
  Handle() = default;
  // For PAWL_AWAIT: the result, or pending.
  Outcome await() const;

 private:
  friend class internal::Pass;
  Handle(internal::Pass* pass, std::uint32_t run, void* command, std::uint32_t refusal)
      : pass_(pass), command_(command), run_(run), refusal_(refusal) {}
  internal::Pass* pass_ = nullptr;
  void* command_ = nullptr;  // null: refused, or issued while suspended
  std::uint32_t run_ = 0;    // of the function; a handle kept from another run is refused
  std::uint32_t refusal_ = 0;
};

// A random id, stable over replay: 36 characters, version 4 of RFC 9562.
struct Guid {
  char text[37] = "00000000-0000-0000-0000-000000000000";
  [[nodiscard]] std::string_view view() const { return {text, 36}; }
};

class OrchestrationContext {
 public:
  // --- who am I ---
  [[nodiscard]] std::string_view instance_id() const;
  [[nodiscard]] std::int64_t execution_id() const;
  [[nodiscard]] std::string_view orchestration_name() const;
  [[nodiscard]] std::string_view input() const;
  // True while the code between the last await and here has run in an earlier turn.
  [[nodiscard]] bool is_replaying() const;
  // True after an await answered pending: the function is on its way out.
  [[nodiscard]] bool is_suspended() const;
  // Time of the event this function has come to, ms since 1970 UTC; not recorded, costs nothing.
  [[nodiscard]] std::int64_t now_ms() const;

  // --- commands: recorded, numbered, compared with history on replay ---
  // `name`: 1..256 bytes, no control characters; `input`: at most payload_bytes_max. A bad argument is
  // an Outcome of kind kInvalidArgument or kLimit at the await; nothing is scheduled then.
  Handle schedule_activity(std::string_view name, std::string_view input);
  // All activities of one session run in the one process that owns it. `session`: as `name`.
  Handle schedule_activity_on_session(std::string_view name, std::string_view input,
                                      std::string_view session);
  // Durable; counts from the commit of this turn, in time that truly passed. Negative counts as 0.
  Handle schedule_timer(std::chrono::milliseconds delay);
  // Fires when trusted UTC has reached `utc_ms` (since 1970).
  Handle schedule_timer_at(std::int64_t utc_ms);
  // Recorded in the turn itself: no activity, no extra commit.
  Guid new_guid();
  // UTC as well as this machine knows it, ms since 1970; recorded.
  std::int64_t utc_now_ms();

  // --- endings: return what they return, at once and once ---
  // An output or input beyond payload_bytes_max ends the execution as failed, with kLimit.
  Poll complete(std::string_view output);
  Poll fail(std::string_view text);
  Poll fail(const Error& error);
  // Ends this execution and starts the next of the same instance with an empty history.
  Poll continue_as_new(std::string_view input);

  // --- tracing: leaves once, after the commit of the turn that first came here ---
  void trace(LogLevel level, std::string_view text);

 private:
  friend class internal::Pass;
  explicit OrchestrationContext(internal::Pass& pass, std::uint32_t branch)
      : pass_(pass), branch_(branch) {}
  internal::Pass& pass_;
  std::uint32_t branch_;
};

using Orchestration = Poll (*)(OrchestrationContext&);

}  // namespace pawl

// Declares `name` as the Outcome of the handle, or leaves the function with "pending". A statement,
// never an expression; two statements, so it must stand in a block of its own under an `if`.
#define PAWL_AWAIT(name, ...)                         \
  const ::pawl::Outcome name = (__VA_ARGS__).await(); \
  if (name.is_pending()) return ::pawl::Poll::pending()

// Awaits and drops the result.
#define PAWL_AWAIT_DONE(...)                                                \
  do {                                                                      \
    if ((__VA_ARGS__).await().is_pending()) return ::pawl::Poll::pending(); \
  } while (false)

// Calls a helper function that awaits; leaves with its Poll while it is pending.
#define PAWL_CALL(...)                                              \
  do {                                                              \
    if ((__VA_ARGS__).is_pending()) return ::pawl::Poll::pending(); \
  } while (false)

#endif  // PAWL_ORCHESTRATION_HPP

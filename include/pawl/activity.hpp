// ActivityContext: the calls of a running activity.
//
// Purpose: an activity is one side effect. It runs at least once; a crash between its effect and
// the commit of its result runs it again with a higher attempt, so use idempotency_key() where that
// matters.
// Ownership: all views live until the activity returns; those of a cooperative activity live until
// its last step returns.
// Thread rule: an inline activity and each step of a cooperative one run on the Runtime's thread, a
// threaded one runs on a pool thread; every call here works on either.
#ifndef PAWL_ACTIVITY_HPP
#define PAWL_ACTIVITY_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>

#include "pawl/completion.hpp"
#include "pawl/error.hpp"
#include "pawl/exceptions.hpp"
#include "pawl/log.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
struct TypedBytes;
template <typename In, typename Out, typename Mode>
struct TypedCode;
struct [[gnu::visibility("hidden")]] OutsideSteps;
struct [[gnu::visibility("hidden")]] Slot;
}  // namespace internal

inline constexpr std::size_t kProgressBytesMax = 256;

// The reason why an activity is asked to return.
enum class CancelReason : std::uint8_t {
  kNone,       // the activity is not asked to return
  kCancelled,  // the orchestration cancelled it, closed its session, or has ended
  kDeadline,   // a limit of ActivityOptions has passed
  kLost,       // another worker has the work, or may have it
  kShutdown,   // this worker stops in order
};

class [[nodiscard]] ActivityResult {
 public:
  enum class State : std::uint8_t { kOk, kFailed };
  [[nodiscard]] bool ok() const { return state_ == State::kOk; }

 private:
  friend class ActivityContext;
  explicit ActivityResult(State state) : state_(state) {}
  State state_;
};

// The answer of a step of a cooperative activity: its result, or the time of the next step.
// ActivityContext makes it.
class [[nodiscard]] ActivityStep {
 public:
  // Implicit, so that a step ends with `return ctx.ok(...)`.
  ActivityStep(ActivityResult /*result*/) {}  // NOLINT(google-explicit-constructor)

 private:
  friend class ActivityContext;
  friend struct internal::Slot;
  ActivityStep(int fd, std::int64_t wait_ms) : ended_(false), fd_(fd), wait_ms_(wait_ms) {}
  bool ended_ = true;
  int fd_ = -1;  // -1: waits for time only
  std::int64_t wait_ms_ = 0;
};

class ActivityContext {
 public:
  // The input and the name that this activity was scheduled with, and the instance, execution and
  // orchestration that scheduled it.
  [[nodiscard]] std::string_view input() const;
  [[nodiscard]] std::string_view activity_name() const;
  [[nodiscard]] std::string_view instance_id() const;
  [[nodiscard]] std::int64_t execution_id() const;
  [[nodiscard]] std::string_view orchestration_name() const;
  [[nodiscard]] std::string_view orchestration_version() const;
  // StartOptions::trace_id of the instance, for the activity to hand on to whatever it calls;
  // empty: none.
  [[nodiscard]] std::string_view trace_id() const;
  // The id of the event that scheduled this activity. It is the same for every attempt and unique
  // in its execution.
  [[nodiscard]] std::int64_t activity_id() const;
  // The id of the activity's session; empty: it has none.
  [[nodiscard]] std::string_view session_id() const;
  // The tag of the activity (ActivityOptions::tag) or of its session (handoff_session()); empty:
  // neither has one.
  [[nodiscard]] std::string_view tag() const;
  // The epoch of the session, which rises at every change of the owner; 0: there is no session.
  // Give it to devices that can refuse an older one.
  [[nodiscard]] std::int64_t session_epoch() const;
  // True for the first hand-over of this epoch: everything that this process kept for the session
  // before is invalid.
  [[nodiscard]] bool claimed_now() const;
  // The summary that the orchestration gave to handoff_session(). Only the first activity of each
  // later ownership has it; for all others it is empty.
  [[nodiscard]] std::string_view session_summary() const;
  // The path of the session's folder (SessionOptions::work_root), for files that later activities
  // of the session need, on whatever worker they run. The folder exists, and files in it stay until
  // the session ends. Empty: there is none. A zero byte follows the text.
  [[nodiscard]] std::string_view session_folder() const;
  // Milliseconds until the session's lease ends if nothing renews it; 0 without a session.
  [[nodiscard]] std::int64_t session_lease_left_ms() const;
  // The number of times that this activity was handed over, this one included.
  [[nodiscard]] std::int64_t attempt() const;
  // 1 plus the number of attempts that failed before (ActivityOptions::retry); a hand-over after a
  // crash does not count.
  [[nodiscard]] std::int64_t retry_attempt() const;
  // "database/instance key/execution/event": the same text for every attempt of this activity, and
  // for no other activity.
  [[nodiscard]] std::string_view idempotency_key() const;
  // The worker_node_id of this process, or its generated name.
  [[nodiscard]] std::string_view worker_id() const;
  // True when the result will not be accepted any more, for any CancelReason. The activity should
  // then return early, with any result. If the worker is stopping, a result that comes after this
  // was true hands the work back, as hand_back() does.
  [[nodiscard]] bool is_cancelled() const;
  // The reason. An activity that asked and was answered kShutdown may also finish: ok() and
  // fail_permanently() are then accepted if they come within the grace, and fail() hands the work
  // back.
  [[nodiscard]] CancelReason cancel_reason() const;
  // Time until the first limit of this attempt passes (ActivityOptions), or until the grace of a
  // stopping worker is over; 0: it has passed; none: there is no limit.
  [[nodiscard]] OptionalMs time_left_ms() const;
  // The pointer that the registration gave.
  [[nodiscard]] void* user() const;
  // Says that the activity is alive, and how far it has come. The text is copied, and the latest
  // one counts; an empty text leaves the progress as it was. A heartbeat is stored at most once per
  // TimingOptions::heartbeat_interval, and sooner only if heartbeat_timeout asks for it. The last
  // heartbeat of an attempt that will be repeated is always stored. Clients that watch see each one
  // at once (Client::watch_progress()).
  // Returns kOk: it was noted.
  // Requires: at most kProgressBytesMax bytes (kResourceExhausted).
  Status heartbeat(std::string_view progress = {});
  // The last stored heartbeat of an earlier attempt of this activity; empty: none.
  [[nodiscard]] std::string_view last_progress() const;
  // Commits the result without waiting for TimingOptions::commit_window. It is meant for activities
  // that moved something.
  void commit_now();
  // Ends the session's ownership with the result of this activity, because the state that this
  // process kept for it is of no use any more. A session that fails on loss is lost, and all its
  // other work fails; any other session is released, and its next activity has a new epoch. No
  // retry follows. Without a session the call does nothing.
  void abort_session();
  // Writes to the log sink at once, with the identity of activity, attempt and worker.
  void trace(LogLevel level, std::string_view text);

  // Ends the activity with its result, with an error after which another attempt may follow, or
  // with an error after which none follows. Error texts longer than 1024 bytes are cut.
  // Returns what the activity returns.
  // Requires: a result of at most payload_bytes_max; a longer one fails the activity with kLimit.
  // Why `const`: it distinguishes the result from that of fail(), so that a Reply can refuse a text
  // if its definition has none.
  // NOLINTNEXTLINE(readability-const-return-type)
  const ActivityResult ok(std::string_view result);
  ActivityResult fail(std::string_view text);
  ActivityResult fail_permanently(std::string_view text);

  // Ends this execution without an outcome: the work goes back into the queue, it uses up no
  // attempt of its policy, and its progress stays (last_progress()). It is handed over again at
  // once if this worker is stopping; otherwise after 1, 2, 4 .. 60 s, by attempt().
  // Returns what the activity returns.
  ActivityResult hand_back();

  // ---- completed from outside ----
  // The token of this hand-over, for a link or a device: it completes the activity
  // (Client::complete_activity()). It is valid at once: an answer that comes before the activity
  // has returned counts, and is_cancelled() is true then. It is good for this attempt alone: after
  // a failure that is retried, a cancellation, a limit or a crash of this attempt no activity waits
  // for it. Empty: Registry::allow_complete_later() does not name the activity.
  [[nodiscard]] CompletionToken completion_token() const;
  // Ends this execution, and leaves the activity to an answer from outside. Until then it has
  // neither slot nor lease, and no crash or reboot is counted. start_to_close and schedule_to_close
  // go on; so does heartbeat_timeout, for Client::heartbeat_activity(). Its session goes on without
  // it, unless it holds the session; the loss or the closing of the session fails it.
  // Returns what the activity returns. Without a token the activity fails with kInvalidArgument.
  ActivityResult complete_later(WhileOutside session = WhileOutside::kFreesSession);

  // ---- of a cooperative activity ----
  // Asks for the next step after `wait` (0..kDurationMax; a longer wait is cut to that). 0: with
  // the next tick.
  // Returns what the step returns.
  ActivityStep again_after(std::chrono::milliseconds wait);
  // Asks for the next step when `fd` is readable or has hung up, or after `limit` if that comes
  // first. The loop sleeps until then. The descriptor stays the caller's.
  // Returns what the step returns.
  // Requires: a descriptor that stays open at least until that step; one that cannot be waited for
  // fails the activity with kInvalidArgument, without a retry.
  ActivityStep when_readable(int fd, std::chrono::milliseconds limit);
  // True if this step runs because its descriptor is readable, and not because its limit has
  // passed.
  [[nodiscard]] bool is_readable() const;

 private:
  friend struct internal::Slot;
  template <typename In, typename Out, typename Mode>
  friend struct internal::TypedCode;
  // The memory for the bytes of the result.
  internal::TypedBytes typed_bytes();
  explicit ActivityContext(internal::Slot& slot) : slot_(slot) {}
  internal::Slot& slot_;
};

using Activity = ActivityResult (*)(ActivityContext&);

// A function and the code that calls it. That code is compiled where this value is made, in the
// application's own unit, and lets no exception out.
class ActivityCode {
 public:
  ActivityCode() = default;
  // Implicit. `function` is a function, or a lambda without captures.
  template <typename Function, typename Mode = internal::ExceptionMode,
            typename = std::enable_if_t<std::is_convertible_v<Function, Activity>>>
  // NOLINTNEXTLINE(google-explicit-constructor)
  ActivityCode(Function function) : function_(function), call_(call<Mode>) {}
  // Takes a function of another type, with a `caller` that knows the type.
  ActivityCode(Activity function, ActivityResult (*caller)(Activity, ActivityContext&))
      : function_(function), call_(caller) {}
  // Calls the function.
  // Returns its result, or that of fail() if it threw an exception.
  // Requires: it is not empty.
  ActivityResult operator()(ActivityContext& context) const { return call_(function_, context); }
  explicit operator bool() const { return function_ != nullptr; }

 private:
  template <typename Mode>
  static ActivityResult call(Activity function, ActivityContext& context) {
    return internal::call_application<Mode>(
        [&] { return function(context); },
        [&](const char* what) { return internal::fail_with_exception(context, what); });
  }
  Activity function_ = nullptr;
  ActivityResult (*call_)(Activity, ActivityContext&) = nullptr;
};

enum class ActivityMode : std::uint8_t {
  // Short: it runs on the loop. One that takes longer than TimingOptions::inline_max is counted and
  // logged by name.
  kInline,
  kThreaded,     // may block: runs on a pool thread
  kCooperative,  // long, in short steps on the loop: Registry::add_cooperative()
};

namespace internal {

// A cooperative activity without the type of its state.
struct CooperativeCode {
  using Any = void (*)();
  Any step = nullptr;  // null: none
  Any caller = nullptr;
  // Makes the state first, unless *has_state is true.
  ActivityStep (*run)(const CooperativeCode& code, ActivityContext& ctx, void* state,
                      bool* has_state) = nullptr;
  void (*destroy)(void* state) = nullptr;
  std::size_t state_bytes = 0;

  template <typename State, typename Mode>
  static CooperativeCode of(ActivityStep (*step)(ActivityContext&, State&)) {
    return of<State, Mode>(
        reinterpret_cast<Any>(step), [](Any any, ActivityContext& ctx, State& state) {
          return reinterpret_cast<ActivityStep (*)(ActivityContext&, State&)>(any)(ctx, state);
        });
  }
  // `caller` knows what `step` really is.
  template <typename State, typename Mode>
  static CooperativeCode of(Any step, ActivityStep (*caller)(Any, ActivityContext&, State&)) {
    static_assert(alignof(State) <= alignof(std::max_align_t), "over-aligned state");
    static_assert(std::is_nothrow_destructible_v<State>, "the end of a state must not throw");
    CooperativeCode code;
    code.step = step;
    code.caller = reinterpret_cast<Any>(caller);
    code.run = [](const CooperativeCode& self, ActivityContext& ctx, void* state, bool* has_state) {
      return call_application<Mode>(
          [&] {
            if (!*has_state) ::new (state) State();
            *has_state = true;
            return reinterpret_cast<ActivityStep (*)(Any, ActivityContext&, State&)>(self.caller)(
                self.step, ctx, *static_cast<State*>(state));
          },
          [&](const char* what) { return ActivityStep(fail_with_exception(ctx, what)); });
    };
    code.destroy = [](void* state) { static_cast<State*>(state)->~State(); };
    code.state_bytes = sizeof(State);
    return code;
  }
};

}  // namespace internal

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ACTIVITY_HPP

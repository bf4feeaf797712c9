// ActivityOptions: how an activity is repeated, and how long it may take.
//
// Purpose: the policy is part of the command, so that it is compared on replay; attempts that fail
// write no history, only the outcome does. Ownership: plain values; the texts must live until the call
// returns. Thread rule: none.
#ifndef PAWL_ACTIVITY_OPTIONS_HPP
#define PAWL_ACTIVITY_OPTIONS_HPP

#include <cstdint>
#include <string_view>

namespace pawl {

// The pause before the next attempt, after the n-th has failed.
enum class Backoff : std::uint8_t {
  kNone,         // 0
  kFixed,        // base_ms
  kLinear,       // n * base_ms
  kExponential,  // base_ms, 2 * base_ms, 4 * base_ms ..
};

// Repeated are: an attempt that said fail(), and one that passed start_to_close_ms or heartbeat_timeout_ms.
// Never: fail_permanently(), a result that is too long, and everything that is not the attempt's own
// doing (poison, a damaged row, the other limits of ActivityOptions).
struct Retry {
  std::int32_t max_attempts = 1;  // 1..1000000, with the first; 1: no retries
  Backoff backoff = Backoff::kExponential;
  std::int64_t base_ms = 1'000;  // 0..kActivityMsMax
  std::int64_t cap_ms = 60'000;  // no pause is longer; base_ms..kActivityMsMax
  std::int32_t jitter_percent =
      0;  // 0..100: a pause is shortened by up to so much, always by the same
};

// All limits: 0 is none, at most kActivityMsMax. Time in which the machine is off counts for none of
// them, nor for a pause. The error is kTimeout, of schedule_to_start_ms kNotStarted, of silence
// kHeartbeatTimeout; its text names the limit.
struct ActivityOptions {
  std::string_view session;  // as of schedule_activity_on_session(); empty: none
  // Only workers that serve this tag take it (Options::worker_tag_filter): 1..256 bytes, no control
  // characters; empty: none.
  std::string_view tag;
  // The session is a device: only the worker that declared it (Runtime::declare_session()) runs this;
  // while nobody has declared it the work waits. Without a session: kInvalidArgument at the await.
  bool device = false;
  // One activity of the session at a time, in the order of their scheduling. Once a session is used so,
  // or as a device, it stays so for all its work until it is gone.
  bool exclusive = false;
  // The session is one that this instance opened (Session::id()). Not with `device` or `exclusive`, which
  // its settings say.
  bool own_session = false;
  // It begins when nothing of the session runs on its owner, and what is scheduled on the session later waits
  // until it has its outcome, retries included: for an activity that makes what the others need. Without a
  // session: kInvalidArgument at the await.
  bool barrier = false;
  // Of a device: if no living worker declares it for so long, kSessionUnavailable. 0: it waits.
  std::int64_t unavailable_ms = 0;
  Retry retry;
  std::int64_t start_to_close_ms = 0;  // one attempt, from its hand-over; then the next may follow
  std::int64_t schedule_to_close_ms = 0;  // all attempts and pauses, from the commit of the call
  // Until a worker takes it for the first time: also if none lives that serves its tag or has its name
  // registered. Whatever Runtime of the database lives ends it.
  std::int64_t schedule_to_start_ms = 0;
  // Between two ActivityContext::heartbeat() of an attempt, and before its first; then the next may follow.
  std::int64_t heartbeat_timeout_ms = 0;
};

inline constexpr std::int64_t kActivityMsMax = 31'536'000'000;  // 365 days

}  // namespace pawl

#endif  // PAWL_ACTIVITY_OPTIONS_HPP

#include <chrono>

#include "parts/c_api/c_types.hpp"

// The argument of an activity's C function: keeps the answer until the function returns.
struct pawl_activity {
  pawl::ActivityContext& context;
  std::optional<pawl::ActivityResult> result;
  std::optional<pawl::ActivityStep> step;
};

namespace pawl::c_api {
namespace {

static_assert(static_cast<int>(CancelReason::kNone) == PAWL_NOT_CANCELLED &&
              static_cast<int>(CancelReason::kCancelled) == PAWL_CANCELLED &&
              static_cast<int>(CancelReason::kDeadline) == PAWL_DEADLINE &&
              static_cast<int>(CancelReason::kLost) == PAWL_LOST &&
              static_cast<int>(CancelReason::kShutdown) == PAWL_SHUTDOWN);

constexpr std::string_view kNoResult = "the function returned without a result";

void answer(pawl_activity* activity, const ActivityResult& result) {
  activity->result.emplace(result);
  activity->step.reset();
}

}  // namespace

ActivityResult call_activity(Activity function, ActivityContext& context) {
  pawl_activity activity{context, std::nullopt, std::nullopt};
  function_cast<pawl_activity_fn>(function)(&activity, context.user());
  return activity.result.has_value() ? *activity.result : context.fail_permanently(kNoResult);
}

ActivityStep call_step(ActivityContext& context, StepState& state) {
  const Steps& steps = *static_cast<const Steps*>(context.user());
  pawl_activity activity{context, std::nullopt, std::nullopt};
  steps.step(&activity, state.bytes, steps.user);
  if (activity.step.has_value()) return *activity.step;
  return activity.result.has_value() ? *activity.result : context.fail_permanently(kNoResult);
}

}  // namespace pawl::c_api

using pawl::c_api::answer;
using pawl::c_api::bytes_of;
using pawl::c_api::name_of;
using pawl::c_api::text_of;

pawl_text pawl_activity_input(const pawl_activity* activity) {
  return text_of(activity->context.input());
}
pawl_text pawl_activity_instance_id(const pawl_activity* activity) {
  return text_of(activity->context.instance_id());
}
pawl_text pawl_activity_trace_id(const pawl_activity* activity) {
  return text_of(activity->context.trace_id());
}
pawl_text pawl_activity_session_id(const pawl_activity* activity) {
  return text_of(activity->context.session_id());
}
pawl_text pawl_activity_idempotency_key(const pawl_activity* activity) {
  return text_of(activity->context.idempotency_key());
}
int64_t pawl_activity_attempt(const pawl_activity* activity) { return activity->context.attempt(); }
pawl_cancel_reason pawl_activity_cancel_reason(const pawl_activity* activity) {
  return static_cast<pawl_cancel_reason>(activity->context.cancel_reason());
}
pawl_status pawl_activity_heartbeat(pawl_activity* activity, const void* progress, size_t size) {
  if (!pawl::c_api::is_bytes(progress, size)) return PAWL_INVALID_ARGUMENT;
  return pawl::c_api::status_of(activity->context.heartbeat(bytes_of(progress, size)));
}
pawl_text pawl_activity_last_progress(const pawl_activity* activity) {
  return text_of(activity->context.last_progress());
}

void pawl_activity_ok(pawl_activity* activity, const void* result, size_t size) {
  answer(activity, pawl::c_api::is_bytes(result, size)
                       ? activity->context.ok(bytes_of(result, size))
                       : activity->context.fail_permanently("the result is a null pointer"));
}
void pawl_activity_fail(pawl_activity* activity, const char* text) {
  answer(activity, activity->context.fail(name_of(text)));
}
void pawl_activity_fail_permanently(pawl_activity* activity, const char* text) {
  answer(activity, activity->context.fail_permanently(name_of(text)));
}
void pawl_activity_hand_back(pawl_activity* activity) {
  answer(activity, activity->context.hand_back());
}

void pawl_step_again_after(pawl_activity* activity, int64_t wait_ms) {
  activity->step.emplace(activity->context.again_after(std::chrono::milliseconds(wait_ms)));
}
void pawl_step_when_readable(pawl_activity* activity, int fd, int64_t limit_ms) {
  activity->step.emplace(activity->context.when_readable(fd, std::chrono::milliseconds(limit_ms)));
}

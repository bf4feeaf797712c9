#include "parts/c_api/c_types.hpp"

// The argument of an activity's C function: keeps the answer until the function returns.
struct pawl_activity {
  pawl::ActivityContext& context;
  std::optional<pawl::ActivityResult> result;
  std::optional<pawl::ActivityStep> step;
};

namespace pawl::c_api {
namespace {

constexpr std::string_view kNoResult = "the function returned without a result";

void answer(pawl_activity* activity, const ActivityResult& result) {
  activity->result.emplace(result);
  activity->step.reset();
}

// The texts of a context by number: one call that makes a text of C, instead of one a text.
enum class Text : std::uint8_t {
  kInput,
  kActivityName,
  kInstanceId,
  kOrchestrationName,
  kTraceId,
  kTag,
  kWorkerId,
  kIdempotencyKey,
  kSessionId,
  kSessionSummary,
  kSessionFolder,
  kLastProgress,
  kOrchestrationVersion
};

std::string_view view_of(const ActivityContext& context, Text text) {
  switch (text) {
    case Text::kInput: return context.input();
    case Text::kActivityName: return context.activity_name();
    case Text::kInstanceId: return context.instance_id();
    case Text::kOrchestrationName: return context.orchestration_name();
    case Text::kTraceId: return context.trace_id();
    case Text::kTag: return context.tag();
    case Text::kWorkerId: return context.worker_id();
    case Text::kIdempotencyKey: return context.idempotency_key();
    case Text::kSessionId: return context.session_id();
    case Text::kSessionSummary: return context.session_summary();
    case Text::kSessionFolder: return context.session_folder();
    case Text::kLastProgress: return context.last_progress();
    case Text::kOrchestrationVersion: return context.orchestration_version();
  }
  return {};
}
pawl_text text_by(const pawl_activity* activity, Text text) {
  return text_of(view_of(activity->context, text));
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
using pawl::c_api::Text;
using pawl::c_api::text_by;

pawl_text pawl_activity_input(const pawl_activity* activity) {
  return text_by(activity, Text::kInput);
}
pawl_text pawl_activity_name(const pawl_activity* activity) {
  return text_by(activity, Text::kActivityName);
}
pawl_text pawl_activity_instance_id(const pawl_activity* activity) {
  return text_by(activity, Text::kInstanceId);
}
int64_t pawl_activity_execution_id(const pawl_activity* activity) {
  return activity->context.execution_id();
}
pawl_text pawl_activity_orchestration_name(const pawl_activity* activity) {
  return text_by(activity, Text::kOrchestrationName);
}
pawl_text pawl_activity_orchestration_version(const pawl_activity* activity) {
  return text_by(activity, Text::kOrchestrationVersion);
}
int64_t pawl_activity_id(const pawl_activity* activity) { return activity->context.activity_id(); }
pawl_text pawl_activity_trace_id(const pawl_activity* activity) {
  return text_by(activity, Text::kTraceId);
}
pawl_text pawl_activity_tag(const pawl_activity* activity) { return text_by(activity, Text::kTag); }
pawl_text pawl_activity_worker_id(const pawl_activity* activity) {
  return text_by(activity, Text::kWorkerId);
}
pawl_text pawl_activity_idempotency_key(const pawl_activity* activity) {
  return text_by(activity, Text::kIdempotencyKey);
}
int64_t pawl_activity_attempt(const pawl_activity* activity) { return activity->context.attempt(); }
int64_t pawl_activity_retry_attempt(const pawl_activity* activity) {
  return activity->context.retry_attempt();
}

pawl_text pawl_activity_session_id(const pawl_activity* activity) {
  return text_by(activity, Text::kSessionId);
}
int64_t pawl_activity_session_epoch(const pawl_activity* activity) {
  return activity->context.session_epoch();
}
int pawl_activity_claimed_now(const pawl_activity* activity) {
  return activity->context.claimed_now() ? 1 : 0;
}
pawl_text pawl_activity_session_summary(const pawl_activity* activity) {
  return text_by(activity, Text::kSessionSummary);
}
pawl_text pawl_activity_session_folder(const pawl_activity* activity) {
  return text_by(activity, Text::kSessionFolder);
}
int64_t pawl_activity_session_lease_left_ms(const pawl_activity* activity) {
  return activity->context.session_lease_left_ms();
}
void pawl_activity_abort_session(pawl_activity* activity) { activity->context.abort_session(); }

pawl_cancel_reason pawl_activity_cancel_reason(const pawl_activity* activity) {
  return static_cast<pawl_cancel_reason>(activity->context.cancel_reason());
}
pawl_status pawl_activity_heartbeat(pawl_activity* activity, const void* progress, size_t size) {
  if (!pawl::c_api::is_bytes(progress, size)) return PAWL_INVALID_ARGUMENT;
  return pawl::c_api::status_of(activity->context.heartbeat(bytes_of(progress, size)));
}
pawl_text pawl_activity_last_progress(const pawl_activity* activity) {
  return text_by(activity, Text::kLastProgress);
}
pawl_optional_ms pawl_activity_time_left(const pawl_activity* activity) {
  const pawl::OptionalMs left = activity->context.time_left_ms();
  return {left.value_or(0), left.has_value() ? 1 : 0};
}
void pawl_activity_commit_now(pawl_activity* activity) { activity->context.commit_now(); }
pawl_status pawl_activity_trace(pawl_activity* activity, int level, const char* text) {
  if (!pawl::c_api::is_level(level)) return PAWL_INVALID_ARGUMENT;
  activity->context.trace(static_cast<pawl::LogLevel>(level), name_of(text));
  return PAWL_OK;
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

void pawl_activity_completion_token(const pawl_activity* activity, char out[PAWL_TOKEN_BYTES]) {
  static_assert(PAWL_TOKEN_BYTES == pawl::CompletionToken::kBytesMax + 1);
  const pawl::CompletionToken token = activity->context.completion_token();
  out[token.view().copy(out, PAWL_TOKEN_BYTES - 1)] = '\0';
}
void pawl_activity_complete_later(pawl_activity* activity, int session) {
  const bool is_known = session == PAWL_FREES_SESSION || session == PAWL_HOLDS_SESSION;
  answer(activity,
         is_known ? activity->context.complete_later(static_cast<pawl::WhileOutside>(session))
                  : activity->context.fail_permanently("a number that is no pawl_while_outside"));
}

void pawl_step_again_after(pawl_activity* activity, int64_t wait_ms) {
  activity->step.emplace(activity->context.again_after(pawl::c_api::ms_of(wait_ms)));
}
void pawl_step_when_readable(pawl_activity* activity, int fd, int64_t limit_ms) {
  activity->step.emplace(activity->context.when_readable(fd, pawl::c_api::ms_of(limit_ms)));
}
int pawl_step_is_readable(const pawl_activity* activity) {
  return activity->context.is_readable() ? 1 : 0;
}

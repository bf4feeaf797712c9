#include "parts/c_api/c_layouts.hpp"
#include "parts/c_api/c_types.hpp"

namespace pawl::c_api {
namespace {

pawl_poll poll_of(const Poll& poll) { return poll.is_pending() ? PAWL_PENDING : PAWL_DONE; }
Poll poll_of(pawl_poll poll) { return poll == PAWL_PENDING ? Poll::pending() : Poll::done(); }

pawl_poll take(const Outcome& outcome, pawl_outcome* out) {
  if (outcome.is_pending()) return PAWL_PENDING;
  if (out == nullptr) return PAWL_DONE;
  out->error = static_cast<int>(outcome.error().kind);
  out->value = text_of(outcome.ok() ? outcome.value() : outcome.error().text);
  out->index = outcome.index();
  return PAWL_DONE;
}

// The texts of a context by number: one call that makes a text of C, instead of one a text.
enum class Text : std::uint8_t {
  kInput,
  kInstanceId,
  kTraceId,
  kOrchestrationName,
  kOrchestrationVersion
};

std::string_view view_of(const OrchestrationContext& context, Text text) {
  switch (text) {
    case Text::kInput: return context.input();
    case Text::kInstanceId: return context.instance_id();
    case Text::kTraceId: return context.trace_id();
    case Text::kOrchestrationName: return context.orchestration_name();
    case Text::kOrchestrationVersion: return context.orchestration_version();
  }
  return {};
}
pawl_text text_by(const pawl_ctx* ctx, Text text) {
  return text_of(view_of(context_of(ctx), text));
}

// Schedules something by one name.
pawl_handle handle_by(pawl_ctx* ctx, Handle (OrchestrationContext::*call)(std::string_view),
                      const char* name) {
  return handle_of((context_of(ctx).*call)(name_of(name)));
}

// Answers whether there is a text.
int give_text(const std::optional<std::string_view>& text, pawl_text* out) {
  if (text.has_value() && out != nullptr) *out = text_of(*text);
  return text.has_value() ? 1 : 0;
}

// An empty name: the call refuses it, and the await reports that.
constexpr std::string_view kRefused;

constexpr std::size_t kHandlesMax = 64;

// Turns C handles into C++ handles for a call.
class Handles {
 public:
  Handles(const pawl_handle* handles, std::size_t count)
      : is_good_(count <= kHandlesMax && (handles != nullptr || count == 0)), count_(count) {
    if (handles == nullptr || count > kHandlesMax) return;
    for (std::size_t i = 0; i < count; ++i)
      list_[i] = handle_of(handles[i]);
  }
  [[nodiscard]] bool is_good() const { return is_good_; }
  [[nodiscard]] const Handle* list() const { return list_; }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  bool is_good_;
  std::size_t count_;
  Handle list_[kHandlesMax];
};

// False: a value that the options do not have.
bool take_target(const pawl_activity_options& given, Target* target) {
  const std::string_view name = name_of(given.session);
  const SessionOfCode opened = session_of(given.opened);
  if (given.opened != nullptr && (given.where != PAWL_OWN_SESSION || given.session != nullptr))
    return false;
  SessionTarget of = Target::session(name);
  switch (given.where) {
    case PAWL_ANY_WORKER: return given.session == nullptr && given.barrier == 0;
    case PAWL_SHARED_SESSION: break;
    case PAWL_EXCLUSIVE_SESSION: of = Target::exclusive_session(name); break;
    case PAWL_DEVICE: of = Target::device(name, ms_of(given.unavailable_ms)); break;
    case PAWL_CONCURRENT_DEVICE:
      of = Target::concurrent_device(name, ms_of(given.unavailable_ms));
      break;
    case PAWL_OWN_SESSION:
      of = given.opened == nullptr || opened.id != nullptr
               ? Target::own(given.opened == nullptr ? name : name_of(opened.id))
               : Target::own(opened.session);
      break;
    default: return false;
  }
  if (given.barrier != 0) of = of.barrier();
  *target = of;
  return true;
}

bool take_activity_options(const pawl_activity_options* given, ActivityOptions* out) {
  if (given == nullptr) return true;
  pawl_activity_options whole;
  return take(StructOf<pawl_activity_options>::kLayout, given, &whole) == Status::kOk &&
         to_cpp(StructOf<pawl_activity_options>::kLayout, &whole, out) &&
         take_target(whole, &out->target);
}

bool take_child_options(const pawl_child_options* given, ChildOptions* out) {
  pawl_child_options whole;
  if (take(StructOf<pawl_child_options>::kLayout, given, &whole) != Status::kOk) return false;
  if (whole.id != nullptr) out->id.emplace(whole.id);
  return to_cpp(StructOf<pawl_child_options>::kLayout, &whole, out);
}

using SendEvent = pawl::SendHandle (OrchestrationContext::*)(std::string_view, std::string_view,
                                                             std::string_view, const SendOptions&);

pawl_handle send(pawl_ctx* ctx, SendEvent call, const char* id, const char* name,
                 const void* payload, size_t size, const pawl_send_options* options) {
  SendOptions taken;
  const bool is_good = is_bytes(payload, size) && take_send_options(options, &taken) == Status::kOk;
  return handle_of((context_of(ctx).*call)(is_good ? name_of(id) : kRefused, name_of(name),
                                           is_good ? bytes_of(payload, size) : "", taken));
}

}  // namespace

Poll call_orchestration(Orchestration function, OrchestrationContext& context) {
  const auto body = function_cast<pawl_orchestration_fn>(function);
  return poll_of(body(ctx_of(context), context.user()));
}

}  // namespace pawl::c_api

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::Handle;

pawl_text pawl_input(const pawl_ctx* ctx) { return text_by(ctx, Text::kInput); }
pawl_text pawl_instance_id(const pawl_ctx* ctx) { return text_by(ctx, Text::kInstanceId); }
pawl_text pawl_trace_id(const pawl_ctx* ctx) { return text_by(ctx, Text::kTraceId); }
pawl_text pawl_orchestration_name(const pawl_ctx* ctx) {
  return text_by(ctx, Text::kOrchestrationName);
}
pawl_text pawl_orchestration_version(const pawl_ctx* ctx) {
  return text_by(ctx, Text::kOrchestrationVersion);
}
int64_t pawl_execution_id(const pawl_ctx* ctx) { return context_of(ctx).execution_id(); }
int64_t pawl_now_ms(const pawl_ctx* ctx) { return context_of(ctx).now_ms(); }
int pawl_is_replaying(const pawl_ctx* ctx) { return context_of(ctx).is_replaying() ? 1 : 0; }
int pawl_is_suspended(const pawl_ctx* ctx) { return context_of(ctx).is_suspended() ? 1 : 0; }
uint32_t pawl_history_length(const pawl_ctx* ctx) { return context_of(ctx).history_length(); }
int pawl_is_continue_as_new_due(const pawl_ctx* ctx) {
  return context_of(ctx).is_continue_as_new_due() ? 1 : 0;
}
int pawl_cancel_requested(const pawl_ctx* ctx) {
  return context_of(ctx).cancel_requested() ? 1 : 0;
}
int pawl_get_cancel_reason(const pawl_ctx* ctx, pawl_text* out) {
  return give_text(context_of(ctx).cancel_reason(), out);
}

pawl_handle pawl_schedule_activity(pawl_ctx* ctx, const char* name, const void* input, size_t size,
                                   const pawl_activity_options* options) {
  pawl::ActivityOptions taken;
  const bool is_good = is_bytes(input, size) && take_activity_options(options, &taken);
  return handle_of(context_of(ctx).schedule_activity(is_good ? name_of(name) : kRefused,
                                                     is_good ? bytes_of(input, size) : "", taken));
}
pawl_handle pawl_schedule_timer(pawl_ctx* ctx, int64_t delay_ms) {
  return handle_of(context_of(ctx).schedule_timer(ms_of(delay_ms)));
}
pawl_handle pawl_schedule_timer_at(pawl_ctx* ctx, int64_t utc_ms) {
  return handle_of(context_of(ctx).schedule_timer_at(utc_ms));
}
pawl_handle pawl_schedule_wait(pawl_ctx* ctx, const char* event) {
  return handle_by(ctx, &pawl::OrchestrationContext::schedule_wait, event);
}
pawl_handle pawl_dequeue_event(pawl_ctx* ctx, const char* queue) {
  return handle_by(ctx, &pawl::OrchestrationContext::dequeue_event, queue);
}
pawl_handle pawl_try_dequeue_event(pawl_ctx* ctx, const char* queue) {
  return handle_by(ctx, &pawl::OrchestrationContext::try_dequeue_event, queue);
}
pawl_handle pawl_enqueue_event(pawl_ctx* ctx, const char* id, const char* queue,
                               const void* payload, size_t size, const pawl_send_options* options) {
  return send(ctx, &pawl::OrchestrationContext::enqueue_event, id, queue, payload, size, options);
}
pawl_handle pawl_raise_event(pawl_ctx* ctx, const char* id, const char* event, const void* payload,
                             size_t size, const pawl_send_options* options) {
  return send(ctx, &pawl::OrchestrationContext::raise_event, id, event, payload, size, options);
}
int pawl_reply(pawl_ctx* ctx, pawl_handle message, const void* value, size_t size) {
  if (!is_bytes(value, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).reply(handle_of(message), bytes_of(value, size)));
}
int pawl_refuse(pawl_ctx* ctx, pawl_handle message, const char* text) {
  return static_cast<int>(context_of(ctx).refuse(handle_of(message), name_of(text)));
}
int pawl_get_call_number(pawl_ctx* ctx, pawl_handle message, int64_t* number) {
  const std::optional<pawl::CallAddress> call = context_of(ctx).call_address(handle_of(message));
  if (call.has_value() && number != nullptr) *number = call->number;
  return call.has_value() ? 1 : 0;
}
int pawl_reply_to(pawl_ctx* ctx, int64_t number, const void* value, size_t size) {
  if (!is_bytes(value, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).reply(pawl::CallAddress{number}, bytes_of(value, size)));
}
int pawl_refuse_to(pawl_ctx* ctx, int64_t number, const char* text) {
  return static_cast<int>(context_of(ctx).refuse(pawl::CallAddress{number}, name_of(text)));
}
pawl_handle pawl_schedule_child(pawl_ctx* ctx, const char* name, const void* input, size_t size,
                                const pawl_child_options* options) {
  pawl::ChildOptions taken;
  const bool is_good = is_bytes(input, size) && take_child_options(options, &taken);
  return handle_of(context_of(ctx).schedule_sub_orchestration(
      is_good ? name_of(name) : kRefused, is_good ? bytes_of(input, size) : "", taken));
}
pawl_handle pawl_get_value_from(pawl_ctx* ctx, const char* instance, const char* key) {
  return handle_of(context_of(ctx).get_kv_value_from_instance(name_of(instance), name_of(key)));
}

pawl_handle pawl_join(pawl_ctx* ctx, const pawl_handle* handles, size_t count) {
  const Handles list(handles, count);
  if (!list.is_good()) return handle_of(Handle());
  return handle_of(context_of(ctx).join_all(list.list(), list.count()));
}
pawl_poll pawl_select(pawl_ctx* ctx, const pawl_handle* handles, size_t count, pawl_outcome* out) {
  const Handles list(handles, count);
  if (!list.is_good()) return take(Handle().await(), out);
  return take(context_of(ctx).select_of(list.list(), list.count()).await(), out);
}
pawl_poll pawl_await(pawl_handle handle, pawl_outcome* out) {
  return take(handle_of(handle).await(), out);
}
void pawl_close_handle(pawl_ctx* ctx, pawl_handle handle) {
  context_of(ctx).cancel(handle_of(handle));
}
pawl_handle pawl_open_branch(pawl_ctx* ctx, pawl_orchestration_fn body, void* user) {
  if (body == nullptr) return handle_of(Handle());
  return handle_of(context_of(ctx).open_branch([body, user](pawl::OrchestrationContext& branch) {
    return poll_of(body(ctx_of(branch), user));
  }));
}
pawl_poll pawl_clean_up(pawl_ctx* ctx, pawl_orchestration_fn body, void* user) {
  if (body == nullptr) return PAWL_DONE;
  const pawl::CleanUpScope scope = context_of(ctx).clean_up();
  return body(ctx, user);
}

int pawl_start_detached(pawl_ctx* ctx, const char* name, const char* id, const void* input,
                        size_t size, const pawl_detached_options* options) {
  pawl::DetachedOptions taken;
  if (!is_bytes(input, size) || take_options(options, &taken) != pawl::Status::kOk)
    return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).start_orchestration(
      name_of(name), pawl::InstanceId(name_of(id)), bytes_of(input, size), taken));
}
int pawl_set_custom_status(pawl_ctx* ctx, const void* text, size_t size) {
  if (!is_bytes(text, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).set_custom_status(bytes_of(text, size)));
}
void pawl_reset_custom_status(pawl_ctx* ctx) { context_of(ctx).reset_custom_status(); }
pawl_text pawl_get_custom_status(pawl_ctx* ctx) {
  return text_of(context_of(ctx).get_custom_status());
}

int pawl_set_value(pawl_ctx* ctx, const char* key, const void* value, size_t size) {
  if (!is_bytes(value, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).set_kv_value(name_of(key), bytes_of(value, size)));
}
int pawl_clear_value(pawl_ctx* ctx, const char* key) {
  return static_cast<int>(context_of(ctx).clear_kv_value(name_of(key)));
}
int pawl_get_value(pawl_ctx* ctx, const char* key, pawl_text* out) {
  return give_text(context_of(ctx).get_kv_value(name_of(key)), out);
}
size_t pawl_count_values(pawl_ctx* ctx) { return context_of(ctx).get_kv_length(); }
int pawl_next_value(pawl_ctx* ctx, pawl_value* value) {
  if (value == nullptr || !is_bytes(value->key.data, value->key.size)) return 0;
  pawl::KvEntry entry;
  entry.key = bytes_of(value->key.data, value->key.size);
  if (!context_of(ctx).next_kv_value(&entry)) return 0;
  *value = {text_of(entry.key), text_of(entry.value), entry.updated_ms};
  return 1;
}
size_t pawl_clear_values(pawl_ctx* ctx) { return context_of(ctx).clear_all_kv_values(); }
size_t pawl_prune_values(pawl_ctx* ctx, int64_t updated_before_ms) {
  return context_of(ctx).prune_kv_values_updated_before(updated_before_ms);
}

void pawl_new_guid(pawl_ctx* ctx, char out[37]) {
  const pawl::Guid guid = context_of(ctx).new_guid();
  std::memcpy(out, guid.text, sizeof guid.text);
}
int64_t pawl_utc_now_ms(pawl_ctx* ctx) { return context_of(ctx).utc_now_ms(); }
int pawl_trace(pawl_ctx* ctx, int level, const char* text) {
  if (!is_level(level)) return PAWL_ERROR_INVALID_ARGUMENT;
  context_of(ctx).trace(static_cast<pawl::LogLevel>(level), name_of(text));
  return PAWL_ERROR_NONE;
}

pawl_poll pawl_complete(pawl_ctx* ctx, const void* output, size_t size) {
  if (!is_bytes(output, size)) return pawl_fail(ctx, "the output is a null pointer");
  return poll_of(context_of(ctx).complete(bytes_of(output, size)));
}
pawl_poll pawl_fail(pawl_ctx* ctx, const char* text) {
  return poll_of(context_of(ctx).fail(name_of(text)));
}
pawl_poll pawl_fail_with(pawl_ctx* ctx, const pawl_outcome* outcome) {
  if (outcome == nullptr || outcome->error <= 0 || outcome->error > UINT8_MAX)
    return pawl_fail(ctx, "no outcome with an error");
  const auto kind = static_cast<pawl::ErrorKind>(outcome->error);
  return poll_of(
      context_of(ctx).fail(pawl::Error{kind, bytes_of(outcome->value.data, outcome->value.size)}));
}
pawl_poll pawl_continue_as_new(pawl_ctx* ctx, const void* input, size_t size, const char* version) {
  if (!is_bytes(input, size)) return pawl_fail(ctx, "the input is a null pointer");
  std::optional<std::string_view> of;
  if (version != nullptr) of = version;
  return poll_of(context_of(ctx).continue_as_new(bytes_of(input, size), of));
}

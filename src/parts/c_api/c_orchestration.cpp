#include <chrono>

#include "parts/c_api/c_types.hpp"

namespace pawl::c_api {
namespace {

// A C handle holds the bytes of the C++ one, which is a plain value.
static_assert(sizeof(Handle) <= sizeof(pawl_handle));
static_assert(std::is_trivially_copyable_v<Handle>);

pawl_handle handle_of(const Handle& handle) {
  pawl_handle bytes = {};
  std::memcpy(&bytes, &handle, sizeof handle);
  return bytes;
}
Handle handle_of(const pawl_handle& bytes) {
  Handle handle;
  std::memcpy(static_cast<void*>(&handle), &bytes, sizeof handle);
  return handle;
}

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

std::chrono::milliseconds ms(std::int64_t count) { return std::chrono::milliseconds(count); }

// False: a value that the options do not have.
bool take_target(const pawl_activity_options& given, Target* target) {
  const std::string_view session = name_of(given.session);
  SessionTarget of = Target::session(session);
  switch (given.where) {
    case PAWL_ANY_WORKER: return given.session == nullptr && given.barrier == 0;
    case PAWL_SHARED_SESSION: break;
    case PAWL_EXCLUSIVE_SESSION: of = Target::exclusive_session(session); break;
    case PAWL_DEVICE: of = Target::device(session, ms(given.unavailable_ms)); break;
    case PAWL_OWN_SESSION: of = Target::own(session); break;
    default: return false;
  }
  if (given.barrier != 0) of = of.barrier();
  *target = of;
  return true;
}

bool take_activity_options(const pawl_activity_options& given, ActivityOptions* out) {
  pawl_activity_options all;
  pawl_activity_options_init(&all);
  if (!take_options(given, &all, sizeof(pawl_activity_options))) return false;
  if (all.backoff < PAWL_BACKOFF_NONE || all.backoff > PAWL_BACKOFF_EXPONENTIAL) return false;
  if (!take_target(all, &out->target)) return false;
  if (all.tag != nullptr) out->tag = Name(name_of(all.tag));
  out->retry.max_attempts = all.max_attempts;
  out->retry.backoff = static_cast<Backoff>(all.backoff);
  out->retry.base = ms(all.backoff_base_ms);
  out->retry.cap = ms(all.backoff_cap_ms);
  out->retry.jitter_percent = all.jitter_percent;
  out->start_to_close = ms(all.start_to_close_ms);
  out->schedule_to_close = ms(all.schedule_to_close_ms);
  out->schedule_to_start = ms(all.schedule_to_start_ms);
  out->heartbeat_timeout = ms(all.heartbeat_timeout_ms);
  return true;
}

std::optional<Name> optional_name(const char* text) {
  if (text == nullptr) return std::nullopt;
  return Name(name_of(text));
}

}  // namespace

Poll call_orchestration(Orchestration function, OrchestrationContext& context) {
  const auto body = function_cast<pawl_orchestration_fn>(function);
  return poll_of(body(ctx_of(context), context.user()));
}

}  // namespace pawl::c_api

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::Handle;

void pawl_activity_options_init(pawl_activity_options* options) {
  if (options == nullptr) return;
  const pawl::ActivityOptions defaults;
  *options = {};
  options->size = sizeof *options;
  options->max_attempts = defaults.retry.max_attempts;
  options->backoff = static_cast<int>(defaults.retry.backoff);
  options->backoff_base_ms = defaults.retry.base.count();
  options->backoff_cap_ms = defaults.retry.cap.count();
}

pawl_text pawl_input(const pawl_ctx* ctx) { return text_of(context_of(ctx).input()); }
pawl_text pawl_instance_id(const pawl_ctx* ctx) { return text_of(context_of(ctx).instance_id()); }
pawl_text pawl_trace_id(const pawl_ctx* ctx) { return text_of(context_of(ctx).trace_id()); }
int64_t pawl_execution_id(const pawl_ctx* ctx) { return context_of(ctx).execution_id(); }
int64_t pawl_now_ms(const pawl_ctx* ctx) { return context_of(ctx).now_ms(); }
int pawl_is_replaying(const pawl_ctx* ctx) { return context_of(ctx).is_replaying() ? 1 : 0; }
int pawl_is_continue_as_new_due(const pawl_ctx* ctx) {
  return context_of(ctx).is_continue_as_new_due() ? 1 : 0;
}
int pawl_cancel_requested(const pawl_ctx* ctx) {
  return context_of(ctx).cancel_requested() ? 1 : 0;
}

pawl_handle pawl_schedule_activity(pawl_ctx* ctx, const char* name, const void* input, size_t size,
                                   const pawl_activity_options* options) {
  pawl::ActivityOptions taken;
  const bool is_good =
      is_bytes(input, size) && (options == nullptr || take_activity_options(*options, &taken));
  return handle_of(context_of(ctx).schedule_activity(is_good ? name_of(name) : kRefused,
                                                     is_good ? bytes_of(input, size) : "", taken));
}
pawl_handle pawl_schedule_timer(pawl_ctx* ctx, int64_t delay_ms) {
  return handle_of(context_of(ctx).schedule_timer(ms(delay_ms)));
}
pawl_handle pawl_schedule_timer_at(pawl_ctx* ctx, int64_t utc_ms) {
  return handle_of(context_of(ctx).schedule_timer_at(utc_ms));
}
pawl_handle pawl_schedule_wait(pawl_ctx* ctx, const char* event) {
  return handle_of(context_of(ctx).schedule_wait(name_of(event)));
}
pawl_handle pawl_dequeue_event(pawl_ctx* ctx, const char* queue) {
  return handle_of(context_of(ctx).dequeue_event(name_of(queue)));
}
pawl_handle pawl_schedule_child(pawl_ctx* ctx, const char* name, const char* id,
                                const char* version, const void* input, size_t size) {
  pawl::ChildOptions options;
  if (id != nullptr) options.id.emplace(id);
  options.version = optional_name(version);
  const bool is_good = is_bytes(input, size);
  return handle_of(context_of(ctx).schedule_sub_orchestration(
      is_good ? name_of(name) : kRefused, is_good ? bytes_of(input, size) : "", options));
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

int pawl_start_detached(pawl_ctx* ctx, const char* name, const char* id, const char* version,
                        const void* input, size_t size) {
  if (!is_bytes(input, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  pawl::DetachedOptions options;
  options.version = optional_name(version);
  return static_cast<int>(context_of(ctx).start_orchestration(
      name_of(name), pawl::InstanceId(name_of(id)), bytes_of(input, size), options));
}
int pawl_set_custom_status(pawl_ctx* ctx, const void* text, size_t size) {
  if (!is_bytes(text, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).set_custom_status(bytes_of(text, size)));
}
int pawl_set_value(pawl_ctx* ctx, const char* key, const void* value, size_t size) {
  if (!is_bytes(value, size)) return PAWL_ERROR_INVALID_ARGUMENT;
  return static_cast<int>(context_of(ctx).set_kv_value(name_of(key), bytes_of(value, size)));
}
int pawl_clear_value(pawl_ctx* ctx, const char* key) {
  return static_cast<int>(context_of(ctx).clear_kv_value(name_of(key)));
}
int pawl_get_value(pawl_ctx* ctx, const char* key, pawl_text* out) {
  const auto value = context_of(ctx).get_kv_value(name_of(key));
  if (value.has_value() && out != nullptr) *out = text_of(*value);
  return value.has_value() ? 1 : 0;
}
int pawl_open_session(pawl_ctx* ctx, const char* id) {
  const pawl::Session session = context_of(ctx).open_session(name_of(id));
  return session.id().empty() ? PAWL_ERROR_INVALID_ARGUMENT : PAWL_ERROR_NONE;
}
int pawl_close_session(pawl_ctx* ctx, const char* id) {
  return static_cast<int>(context_of(ctx).close_session(name_of(id)));
}
void pawl_new_guid(pawl_ctx* ctx, char out[37]) {
  const pawl::Guid guid = context_of(ctx).new_guid();
  std::memcpy(out, guid.text, sizeof guid.text);
}
int64_t pawl_utc_now_ms(pawl_ctx* ctx) { return context_of(ctx).utc_now_ms(); }

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
pawl_poll pawl_continue_as_new(pawl_ctx* ctx, const void* input, size_t size) {
  if (!is_bytes(input, size)) return pawl_fail(ctx, "the input is a null pointer");
  return poll_of(context_of(ctx).continue_as_new(bytes_of(input, size)));
}

// The public interface of a pass: OrchestrationContext and its handles.
#include "replay/pass.hpp"

namespace pawl {

Outcome Handle::await() const {
  if (awaits_ == nullptr)
    return Outcome::failure(ErrorKind::kInvalidArgument, "the handle is empty");
  return awaits_->await(*this);
}

Outcome Selection::await() const { return awaits_->await_first(*this); }

std::string_view OrchestrationContext::instance_id() const { return pass_.input().instance_id; }
std::int64_t OrchestrationContext::execution_id() const { return pass_.execution(); }
std::string_view OrchestrationContext::orchestration_name() const {
  return pass_.input().orchestration_name;
}
std::string_view OrchestrationContext::orchestration_version() const {
  return pass_.start_version();
}
std::string_view OrchestrationContext::trace_id() const { return pass_.input().trace; }
std::string_view OrchestrationContext::input() const { return pass_.start_payload(); }
bool OrchestrationContext::is_replaying() const { return pass_.is_replaying(branch_); }
bool OrchestrationContext::is_suspended() const { return pass_.is_suspended(branch_); }
std::int64_t OrchestrationContext::now_ms() const { return pass_.now_ms(branch_); }

std::uint32_t OrchestrationContext::history_length() const { return pass_.history_length(branch_); }

bool OrchestrationContext::is_continue_as_new_due() const {
  return pass_.is_continue_as_new_due(branch_);
}

bool OrchestrationContext::cancel_requested() const { return pass_.has_seen_cancel(branch_); }

std::optional<std::string_view> OrchestrationContext::cancel_reason() const {
  if (!cancel_requested()) return std::nullopt;
  return pass_.cancel_reason();
}

CleanUpScope OrchestrationContext::clean_up() { return pass_.clean_up(branch_); }

// Every run lies at the same address, so the run's number shows whether it is over.
CleanUpScope::~CleanUpScope() {
  if (run_ != nullptr && run_->number() == number_) --branch_->clean_ups;
}

Handle OrchestrationContext::schedule_activity(std::string_view name, std::string_view input) {
  return pass_.calls().schedule_activity(branch_, name, input);
}

Handle OrchestrationContext::schedule_activity(std::string_view name, std::string_view input,
                                               const ActivityOptions& options) {
  return pass_.calls().schedule_activity(branch_, name, input, options);
}

Handle OrchestrationContext::schedule_activity(std::string_view name, std::string_view input,
                                               const Target& target) {
  ActivityOptions options;
  options.target = target;
  return pass_.calls().schedule_activity(branch_, name, input, options);
}

Session OrchestrationContext::open_session(const SessionSettings& settings) {
  return pass_.sessions().open(branch_, {}, false, settings);
}

Session OrchestrationContext::open_session(std::string_view id, const SessionSettings& settings) {
  return pass_.sessions().open(branch_, id, true, settings);
}

Session OrchestrationContext::use_session(std::string_view name, const SessionSettings& settings) {
  return pass_.sessions().use(branch_, name, settings);
}

Session OrchestrationContext::adopt_session(std::string_view instance,
                                            std::string_view session) const {
  return internal::SessionCalls::adopt(instance, session);
}

ErrorKind OrchestrationContext::change_session(const Session& session,
                                               const SessionSettings& settings) {
  return pass_.sessions().change(branch_, session, settings);
}

ErrorKind OrchestrationContext::close_session(std::string_view id) {
  return pass_.sessions().close(branch_, id);
}

ErrorKind OrchestrationContext::close_session(const Session& session) {
  return pass_.sessions().close(branch_, session);
}

ErrorKind OrchestrationContext::hold_session(std::string_view session,
                                             std::chrono::milliseconds hold) {
  return pass_.sessions().hold(branch_, session, false, hold.count());
}

ErrorKind OrchestrationContext::handoff_session(std::string_view session, std::string_view tag,
                                                std::string_view summary) {
  return pass_.sessions().handoff(branch_, session, false, tag, summary);
}

ErrorKind OrchestrationContext::handoff_session(const Session& session, std::string_view tag,
                                                std::string_view summary) {
  return pass_.sessions().handoff(branch_, session, tag, summary);
}

ErrorKind OrchestrationContext::hold_session(const Session& session,
                                             std::chrono::milliseconds hold) {
  return pass_.sessions().hold(branch_, session, hold.count());
}

Handle OrchestrationContext::session_opened(const Session& session) {
  return pass_.sessions().check(branch_, session);
}

Handle OrchestrationContext::session_events(const Session& session) {
  return pass_.sessions().events(branch_, session);
}

Handle OrchestrationContext::schedule_timer(std::chrono::milliseconds delay) {
  const std::int64_t delay_ms = delay.count();
  return pass_.calls().schedule_timer(branch_, TimerBase::kPawlTime, delay_ms < 0 ? 0 : delay_ms);
}

Handle OrchestrationContext::schedule_timer_at(std::int64_t utc_ms) {
  return pass_.calls().schedule_timer(branch_, TimerBase::kUtc, utc_ms);
}

Handle OrchestrationContext::schedule_wait(std::string_view name) {
  return pass_.calls().schedule_wait(branch_, EventKind::kWait, name, false);
}

Handle OrchestrationContext::dequeue_event(std::string_view queue) {
  return pass_.calls().schedule_wait(branch_, EventKind::kDequeue, queue, false);
}

Handle OrchestrationContext::try_dequeue_event(std::string_view queue) {
  return pass_.calls().schedule_wait(branch_, EventKind::kDequeue, queue, true);
}

Handle OrchestrationContext::get_kv_value_from_instance(std::string_view instance,
                                                        std::string_view key) {
  return pass_.calls().read_elsewhere(branch_, instance, key);
}

Handle OrchestrationContext::schedule_sub_orchestration(std::string_view name,
                                                        std::string_view input,
                                                        const ChildOptions& options) {
  internal::NewInstanceCall call;
  call.name = name;
  call.input = input;
  call.has_id = options.id.has_value();
  if (call.has_id) call.id = options.id->view();
  call.has_version = options.version.has_value();
  if (call.has_version) call.version = options.version->view();
  return pass_.calls().schedule_child(branch_, call);
}

ErrorKind OrchestrationContext::start_orchestration(std::string_view name, const InstanceId& id,
                                                    std::string_view input,
                                                    const DetachedOptions& options) {
  internal::NewInstanceCall call;
  call.name = name;
  call.input = input;
  call.has_id = true;
  call.id = id;
  call.has_version = options.version.has_value();
  if (call.has_version) call.version = options.version->view();
  return pass_.calls().start_detached(branch_, call);
}

SendHandle internal::MessageAccess::send_message(OrchestrationContext& context,
                                                 const TurnSends& sends, bool to_queue,
                                                 std::string_view id, std::string_view name,
                                                 std::string_view payload,
                                                 const SendOptions& options) {
  const EventKind kind = to_queue ? EventKind::kEnqueueEvent : EventKind::kRaiseEvent;
  return SendHandle(context.pass_.calls().send_message(context.branch_, sends,
                                                       {kind, id, name, payload, options}));
}

std::optional<CallAddress> internal::MessageAccess::call_address(
    const OrchestrationContext& context, const Handle& message) {
  const std::optional<MessageId> number = context.pass_.awaits().received_call(message);
  if (!number.has_value()) return {};
  return CallAddress{*number};
}

ErrorKind internal::MessageAccess::reply(OrchestrationContext& context, const TurnSends& sends,
                                         const std::optional<CallAddress>& call, ErrorKind error,
                                         std::string_view payload) {
  if (!call.has_value()) return ErrorKind::kNotFound;
  return context.pass_.calls().reply(context.branch_, sends, call->number, error, payload);
}

Handle OrchestrationContext::refuse_payload() { return pass_.calls().refuse_payload(branch_); }
internal::TypedBytes OrchestrationContext::typed_bytes() { return pass_.typed_bytes(); }

void* OrchestrationContext::user() const { return pass_.user(); }

Guid OrchestrationContext::new_guid() { return pass_.calls().new_guid(branch_); }
std::int64_t OrchestrationContext::utc_now_ms() { return pass_.calls().utc_now_ms(branch_); }

ErrorKind OrchestrationContext::set_custom_status(std::string_view text) {
  return pass_.state().set_custom_status(branch_, text);
}
void OrchestrationContext::reset_custom_status() {
  static_cast<void>(pass_.state().set_custom_status(branch_, {}));
}
std::string_view OrchestrationContext::get_custom_status() {
  return pass_.state().custom_status(branch_);
}

ErrorKind OrchestrationContext::set_kv_value(std::string_view key, std::string_view value) {
  return pass_.state().write(branch_, key, value, false);
}
std::optional<std::string_view> OrchestrationContext::get_kv_value(std::string_view key) {
  KvEntry entry;
  if (key.empty() || !pass_.state().read(branch_, key, &entry)) return std::nullopt;
  return entry.value;
}
bool OrchestrationContext::next_kv_value(KvEntry* entry) {
  return pass_.state().next(branch_, entry);
}
std::size_t OrchestrationContext::get_kv_length() { return pass_.state().length(branch_); }
ErrorKind OrchestrationContext::clear_kv_value(std::string_view key) {
  return pass_.state().write(branch_, key, {}, true);
}
std::size_t OrchestrationContext::clear_all_kv_values() {
  return pass_.state().clear(branch_, INT64_MAX);
}
std::size_t OrchestrationContext::prune_kv_values_updated_before(std::int64_t utc_ms) {
  return pass_.state().clear(branch_, utc_ms);
}

Handle OrchestrationContext::open_branch_with(Poll (*call)(void*, OrchestrationContext&),
                                              void* callable) {
  return pass_.open_branch(branch_, call, callable);
}

Handle OrchestrationContext::join_all(const Handle* handles, std::size_t count) {
  return pass_.awaits().join(branch_, handles, count);
}

Selection OrchestrationContext::select_of(const Handle* handles, std::size_t count) {
  return pass_.awaits().select(branch_, handles, count);
}

void OrchestrationContext::cancel(const Handle& handle) { pass_.awaits().cancel(branch_, handle); }

// NOLINTNEXTLINE(readability-const-return-type): pawl/typed.hpp
const Poll OrchestrationContext::complete(std::string_view output) {
  return pass_.ends().end(branch_, EndKind::kCompleted, ErrorKind::kNone, output);
}

Poll OrchestrationContext::fail(std::string_view text) {
  return pass_.ends().end(branch_, EndKind::kFailed, ErrorKind::kApplication, text);
}

Poll OrchestrationContext::fail(const Error& error) {
  const ErrorKind kind = error.kind == ErrorKind::kNone ? ErrorKind::kApplication : error.kind;
  return pass_.ends().end(branch_, EndKind::kFailed, kind, error.text);
}

// NOLINTNEXTLINE(readability-const-return-type): pawl/typed.hpp
const Poll OrchestrationContext::continue_as_new(std::string_view input,
                                                 std::optional<std::string_view> version) {
  if (version.has_value()) return pass_.ends().continue_as_new(branch_, *version, input);
  return pass_.ends().end(branch_, EndKind::kContinuedAsNew, ErrorKind::kNone, input);
}

Poll internal::stop_with_exception(OrchestrationContext& context, const char* what) {
  return context.pass_.stop_with_exception(context.branch_, what);
}

void OrchestrationContext::trace(LogLevel level, std::string_view text) {
  pass_.trace(branch_, level, text);
}

}  // namespace pawl

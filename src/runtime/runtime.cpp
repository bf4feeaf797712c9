// The public shell of the loop: it checks arguments and places the core in the caller's memory.
#include "pawl/runtime.hpp"

#include "core/check.hpp"
#include "core/clock_rules.hpp"
#include "core/version.hpp"
#include "runtime/options_check.hpp"
#include "runtime/request_kinds.hpp"
#include "runtime/runtime_core.hpp"
#include "runtime/runtime_limits.hpp"

namespace pawl {

namespace {

Status start_request(std::string_view name, std::string_view input, const StartOptions& options,
                     StartRequest* out) {
  out->name = name;
  out->version = options.version.has_value() ? options.version->view() : "";
  out->input = input;
  out->trace = options.trace_id.view();
  out->start_after_ms = options.start_after.count();
  out->in_use = {options.if_running, options.if_ended};
  if ((options.version.has_value() && !is_valid_version(out->version)) ||
      options.start_after.count() < 0 || !is_valid_trace_id(out->trace))
    return Status::kInvalidArgument;
  return Status::kOk;
}

// The same with the time limit, for calls that take any.
Status limited_request(std::string_view name, std::string_view input, const StartOptions& options,
                       StartRequest* out) {
  if (options.time_limit.has_value()) out->time_limit_ms = options.time_limit->count();
  return out->time_limit_ms.has_passed(0) ? Status::kInvalidArgument
                                          : start_request(name, input, options, out);
}

// Counters are kept by registered name, and the state of a cooperative activity lives in its slot:
// both must fit.
Status check_registry(const Registry& registry, const Options& options, Diagnostic& diagnostic) {
  if (registry.orchestration_count() > options.limits.orchestrations_max ||
      registry.activity_count() > options.limits.activities_max) {
    diagnostic.format(
        "%zu orchestrations and %zu activities are registered; orchestrations_max "
        "is %u and activities_max %u",
        registry.orchestration_count(), registry.activity_count(),
        options.limits.orchestrations_max, options.limits.activities_max);
    return Status::kInvalidOptions;
  }
  if (options.slots.cooperative == 0) return Status::kOk;
  for (std::size_t i = 0; i < registry.activity_count(); ++i) {
    const Registry::ActivityEntry& entry = registry.activity(i);
    if (entry.cooperative.state_bytes <= options.slots.cooperative_scratch_bytes) continue;
    diagnostic.format("the state of %.*s has %zu bytes; cooperative_scratch_bytes is %zu",
                      static_cast<int>(entry.name.size()), entry.name.data(),
                      entry.cooperative.state_bytes, options.slots.cooperative_scratch_bytes);
    return Status::kInvalidOptions;
  }
  return Status::kOk;
}

}  // namespace

template <typename AnyArena>
Status LoopMemory::lay_out(AnyArena& arena, const Options& options, NameCounters& names,
                           Vector<Evidence::Seen>& seen_leases) {
  names.allocate(arena, options);
  PAWL_TRY(seen_leases.allocate(arena, Evidence::kSeenEach * options.limits.workers_max));
  store = arena.allocate(StoreFactory::engine_of(options.database).bytes, StoreFactory::kAlign);
  tick_bytes = pawl::tick_bytes(options, options.limits.batch);
  tick_block = arena.allocate(tick_bytes, kArenaAlign);
  PAWL_TRY(warm.allocate(arena, options));
  PAWL_TRY(slots.allocate(arena, options));
  PAWL_TRY(requests.allocate(arena, options));
  turns.allocate(arena, options);
  loader.allocate(arena, options);
  this_worker.allocate(arena, options);
  session_watch.allocate(arena, options);
  notices.allocate(arena, options);
  PAWL_TRY(devices.allocate(arena, options));
  return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
}

Status RuntimeCore::lay_out(Arena& arena) {
  PAWL_TRY(memory_.lay_out(arena, loop_.options, loop_.names, loop_.seen_leases));
  loop_.store = StoreFactory::engine_of(loop_.options.database).make(memory_.store);
  engine_ = arena.make<Engine>(arena, engine_limits(loop_.options));
  return engine_ != nullptr && engine_->ready() ? Status::kOk : Status::kResourceExhausted;
}

std::size_t RuntimeCore::required_memory(const Options& options) {
  ArenaPlan plan;
  LoopMemory memory;
  NameCounters names;
  Vector<Evidence::Seen> seen_leases;
  static_cast<void>(plan.allocate(sizeof(RuntimeCore), alignof(RuntimeCore)));
  static_cast<void>(memory.lay_out(plan, options, names, seen_leases));
  static_cast<void>(plan.allocate(sizeof(Engine), alignof(Engine)));
  static_cast<void>(plan.allocate(Engine::required_memory(engine_limits(options)), kArenaAlign));
  return plan.exhausted() ? 0 : plan.required_memory();
}

// ---- Runtime ----

std::size_t Runtime::required_memory(const Options& options) {
  Diagnostic ignored;
  if (check_options(options, ignored) != Status::kOk) return 0;
  return RuntimeCore::required_memory(options);
}

Status Runtime::start(Process& process, const Registry& registry, const Options& options,
                      const port::Port& port, void* memory, std::size_t bytes,
                      Diagnostic& diagnostic) {
  diagnostic.clear();
  if (core_ != nullptr) {
    diagnostic.format("this Runtime is started already");
    return Status::kAlreadyExists;
  }
  if (!process.started()) {
    diagnostic.format("the Process is not started");
    return Status::kInvalidArgument;
  }
  PAWL_TRY(check_options(options, diagnostic));
  PAWL_TRY(check_payload(process, options.limits.payload_bytes_max, diagnostic));
  PAWL_TRY(check_registry(registry, options, diagnostic));
  PAWL_TRY(check_port(port, diagnostic));
  const std::size_t needed = RuntimeCore::required_memory(options);
  if (memory == nullptr || bytes < needed) {
    diagnostic.format("Runtime::start() was given %zu bytes and needs %zu",
                      memory == nullptr ? 0 : bytes, needed);
    return Status::kResourceExhausted;
  }
  Arena arena(memory, bytes);
  RuntimeCore* const core = arena.make<RuntimeCore>(process, registry, options, port);
  const Status laid_out = core == nullptr ? Status::kResourceExhausted : core->lay_out(arena);
  PAWL_CHECK("runtime-97", laid_out == Status::kOk);
  arena.seal();
  const Status status = core->start(diagnostic);
  if (status != Status::kOk) {
    static_cast<void>(core->stop(0));
    core->~RuntimeCore();
    return status;
  }
  core_ = core;
  return Status::kOk;
}

Runtime::~Runtime() {
  if (core_ == nullptr) return;
  const Status status = core_->stop(0);
  // A thread that never came back still uses the core's memory.
  if (status == Status::kOk) core_->~RuntimeCore();
}

Result<bool> Runtime::tick(std::chrono::milliseconds limit) {
  return core_ == nullptr ? Result<bool>(Status::kStopped) : core_->tick(limit.count());
}
OptionalMs Runtime::next_due() const { return core_ == nullptr ? OptionalMs() : core_->next_due(); }
int Runtime::fd() const { return core_ == nullptr ? -1 : core_->fd(); }

namespace {

// While the loop runs by itself, it takes calls of Clients.
class TakesCalls {
 public:
  explicit TakesCalls(RuntimeCore& core) : core_(core) { core_.takes_calls(true); }
  ~TakesCalls() { core_.takes_calls(false); }
  TakesCalls(const TakesCalls&) = delete;
  TakesCalls& operator=(const TakesCalls&) = delete;

 private:
  RuntimeCore& core_;
};

}  // namespace

Status Runtime::run(std::chrono::milliseconds grace) {
  if (core_ == nullptr) return Status::kStopped;
  const TakesCalls takes(*core_);
  while (!core_->stop_requested()) {
    const Result<bool> more = core_->tick(INT64_MAX);
    if (!more.ok()) return more.status();
    if (!more.value() && !core_->stop_requested()) core_->sleep_until_due({});
  }
  return core_->stop(grace.count());
}

Status Runtime::run_for(std::chrono::milliseconds duration, bool (*until)(void*) noexcept,
                        void* user) {
  if (core_ == nullptr) return Status::kStopped;
  const TakesCalls takes(*core_);
  const std::int64_t end = add_saturating(core_->boot_ms(), duration.count());
  while (!core_->stop_requested()) {
    const Result<bool> more = core_->tick(INT64_MAX);
    if (!more.ok()) return more.status();
    if (until != nullptr && until(user)) return Status::kOk;
    if (core_->boot_ms() >= end) return Status::kTimeout;
    if (!more.value()) core_->sleep_until_due(end);
  }
  return Status::kStopped;
}

bool Runtime::ready() const { return core_ != nullptr && core_->ready(); }

void Runtime::wake() {
  if (core_ != nullptr) core_->wake();
}
void Runtime::request_stop() {
  if (core_ != nullptr) core_->request_stop();
}
bool Runtime::stop_requested() const { return core_ == nullptr || core_->stop_requested(); }
Status Runtime::stop(std::chrono::milliseconds grace) {
  return core_ == nullptr ? Status::kOk : core_->stop(grace.count());
}

Status Runtime::piggyback(const Request& request) {
  return core_ == nullptr ? Status::kStopped : core_->piggyback(request);
}

internal::TypedBytes Runtime::typed_bytes() {
  return core_ == nullptr ? internal::TypedBytes() : core_->typed_bytes();
}

Status Runtime::start_new(std::string_view name, std::string_view id, std::string_view input,
                          const StartOptions& options, Answer answer, void* user) {
  StartRequest start;
  PAWL_TRY(start_request(name, input, options, &start));
  Request request = {&request_kinds::kStart, id, {}, {}, answer, user};
  request.start = &start;
  return piggyback(request);
}

Status Runtime::start_limited(std::string_view name, std::string_view id, std::string_view input,
                              const StartOptions& options, Answer answer, void* user) {
  StartRequest start;
  PAWL_TRY(limited_request(name, input, options, &start));
  Request request = {&request_kinds::kStartLimited, id, {}, {}, answer, user};
  request.start = &start;
  return piggyback(request);
}

Status Runtime::start_used(std::string_view name, std::string_view id, std::string_view input,
                           const StartOptions& options, Answer answer, void* user) {
  StartRequest start;
  PAWL_TRY(limited_request(name, input, options, &start));
  Request request = {&request_kinds::kStartOfUsed, id, {}, {}, answer, user};
  request.start = &start;
  return piggyback(request);
}

Status Runtime::cancel_instance(std::string_view id, std::string_view reason, Answer answer,
                                void* user) {
  return piggyback({&request_kinds::kCancel, id, {}, reason, answer, user});
}

Status Runtime::raise_event(std::string_view id, std::string_view name, std::string_view payload,
                            const SendOptions& options, Answer answer, void* user) {
  return send_message({&request_kinds::kRaise, id, name, payload, answer, user}, options);
}

Status Runtime::send_message(Request request, const SendOptions& options) {
  StartRequest start;
  if (options.start_if_ended.has_value()) {
    const StartIfEnded& wanted = *options.start_if_ended;
    PAWL_TRY(limited_request(wanted.definition, wanted.input, wanted.options, &start));
    request.start = &start;
  }
  if (options.key.has_value()) {
    if (!is_valid_name(*options.key)) return Status::kInvalidArgument;
    request.key = &*options.key;
  }
  return piggyback(request);
}

Status Runtime::offer_event(std::string_view id, std::string_view name, std::string_view payload,
                            OfferAnswer answer, void* user) {
  Request request = {&request_kinds::kOffer, id, name, payload, nullptr, user};
  request.offer_answer = answer;
  return piggyback(request);
}

Status Runtime::enqueue_event(std::string_view id, std::string_view queue, std::string_view payload,
                              const SendOptions& options, Answer answer, void* user) {
  return send_message({&request_kinds::kEnqueue, id, queue, payload, answer, user}, options);
}

Status Runtime::complete_activity(std::string_view token, std::string_view result, Answer answer,
                                  void* user) {
  return piggyback({&request_kinds::kComplete, token, {}, result, answer, user});
}

Status Runtime::fail_activity(std::string_view token, std::string_view text, bool permanent,
                              Answer answer, void* user) {
  const Request::Kind& kind = permanent ? request_kinds::kFailForGood : request_kinds::kFail;
  return piggyback({&kind, token, {}, cut_text(text, kErrorTextBytesMax), answer, user});
}

Status Runtime::heartbeat_activity(std::string_view token, std::string_view progress, Answer answer,
                                   void* user) {
  if (progress.size() > kProgressBytesMax) return Status::kInvalidArgument;
  return piggyback({&request_kinds::kHeartbeat, token, {}, progress, answer, user});
}

Status Runtime::declare_session(std::string_view device, bool standby, Answer answer, void* user) {
  Request request = {&request_kinds::kDeclare, device, {}, {}, answer, user};
  request.standby = standby;
  return piggyback(request);
}

Status Runtime::withdraw_session(std::string_view device, Answer answer, void* user) {
  return piggyback({&request_kinds::kWithdraw, device, {}, {}, answer, user});
}

Status Runtime::terminate_instance(std::string_view id, std::string_view reason, Answer answer,
                                   void* user) {
  return piggyback({&request_kinds::kTerminate, id, {}, reason, answer, user});
}

Status Runtime::suspend_instance(std::string_view id, Answer answer, void* user) {
  return piggyback({&request_kinds::kSuspend, id, {}, {}, answer, user});
}

Status Runtime::resume_instance(std::string_view id, Answer answer, void* user) {
  return piggyback({&request_kinds::kResume, id, {}, {}, answer, user});
}

Status Runtime::change_time_limit(std::string_view id,
                                  std::optional<std::chrono::milliseconds> limit, Answer answer,
                                  void* user) {
  StartRequest changed;
  if (limit.has_value()) changed.time_limit_ms = limit->count();
  if (changed.time_limit_ms.has_passed(0)) return Status::kInvalidArgument;
  Request request = {&request_kinds::kChangeTimeLimit, id, {}, {}, answer, user};
  request.start = &changed;
  return piggyback(request);
}

Status Runtime::delete_instance(std::string_view id, bool force, Answer answer, void* user) {
  Request request = {&request_kinds::kDelete, id, {}, {}, answer, user};
  request.force = force;
  return piggyback(request);
}

Status Runtime::prune_executions(std::string_view id, std::int64_t keep_last,
                                 std::int64_t ended_before_ms, Answer answer, void* user) {
  Request request = {&request_kinds::kPrune, id, {}, {}, answer, user};
  request.limits = {keep_last, ended_before_ms};
  return piggyback(request);
}

Status Runtime::get_status(std::string_view id, OrchestrationStatus* out) {
  return core_ == nullptr ? Status::kStopped : core_->get_status(id, out);
}

const OrchestrationStats* Runtime::orchestration_stats(std::string_view name,
                                                       std::string_view version) const {
  return core_ == nullptr ? nullptr : core_->orchestration_stats(name, version);
}

const ActivityStats* Runtime::activity_stats(std::string_view name) const {
  return core_ == nullptr ? nullptr : core_->activity_stats(name);
}

const RuntimeStats& Runtime::stats() const {
  static const RuntimeStats kNone;
  return core_ == nullptr ? kNone : core_->stats();
}
std::string_view Runtime::worker_id() const {
  return core_ == nullptr ? std::string_view() : core_->worker_id();
}
std::string_view Runtime::error_text() const {
  return core_ == nullptr ? std::string_view() : core_->error_text();
}

}  // namespace pawl

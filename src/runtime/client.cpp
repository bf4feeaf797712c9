// Client: opens and closes the connection; starts instances, and sends them messages.
#include "pawl/client.hpp"

#include <algorithm>

#include "core/version.hpp"
#include "runtime/client_core.hpp"
#include "runtime/client_messages.hpp"
#include "runtime/options_check.hpp"
#include "runtime/runtime_limits.hpp"

namespace pawl {

std::size_t Client::required_memory(const ClientOptions& options) {
  ArenaPlan plan;
  static_cast<void>(plan.allocate(sizeof(ClientCore), alignof(ClientCore)));
  ClientCore::Parts parts;
  static_cast<void>(ClientCore::lay_out(plan, options, parts));
  return plan.required_memory();
}

Status Client::open(Process& process, const ClientOptions& options, const port::Port& port,
                    void* memory, std::size_t bytes, Diagnostic& diagnostic) {
  diagnostic.clear();
  if (core_ != nullptr) {
    diagnostic.format("this Client is open already");
    return Status::kAlreadyExists;
  }
  if (!process.started()) {
    diagnostic.format("the Process is not started");
    return Status::kInvalidArgument;
  }
  Options check;
  check.database_path = options.database_path;
  check.database = options.database;
  check.limits.payload_bytes_max = options.payload_bytes_max;
  check.limits.warm_bytes = 4 * options.payload_bytes_max > check.limits.warm_bytes
                                ? 4 * options.payload_bytes_max
                                : check.limits.warm_bytes;
  check.limits.queue_messages_max = options.queue_messages_max;
  check.timing.busy_max = std::chrono::milliseconds(options.busy_max.count());
  check.space.cache_pages = options.cache_pages;
  PAWL_TRY(check_options(check, diagnostic));
  PAWL_TRY(check_payload(process, options.payload_bytes_max, diagnostic));
  PAWL_TRY(check_port(port, diagnostic));
  Arena arena(memory, memory == nullptr ? 0 : bytes);
  ClientCore* const core = arena.make<ClientCore>(process, options, port);
  if (core == nullptr || core->lay_out(arena) != Status::kOk) {
    diagnostic.format("Client::open() was given %zu bytes and needs %zu", bytes,
                      required_memory(options));
    return Status::kResourceExhausted;
  }
  const Status status = core->open(diagnostic);
  if (status != Status::kOk) {
    core->close();
    core->~ClientCore();
    return status;
  }
  core_ = core;
  return Status::kOk;
}

void Client::close() {
  if (core_ == nullptr) return;
  core_->close();
  core_->~ClientCore();
  core_ = nullptr;
}

std::string_view Client::error_text() const {
  return core_ == nullptr ? std::string_view("not open") : core_->diagnostic().text();
}

internal::TypedBytes Client::typed_bytes() {
  return core_ == nullptr ? internal::TypedBytes() : core_->typed_bytes();
}

// ---- starts and messages ----

namespace {

Status new_instance(ClientCore& core, std::string_view name, std::string_view id,
                    std::string_view input, const StartOptions& options, NewInstance* out) {
  const std::string_view version = options.version.has_value() ? options.version->view() : "";
  if (options.version.has_value() && !is_valid_version(version)) {
    core.diagnostic().format("a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE");
    return Status::kInvalidArgument;
  }
  PAWL_TRY(core.check_size("input", input));
  out->id = id;
  out->name = name;
  out->version = version;
  out->input = input;
  out->trace = options.trace_id.view();
  out->start_after_ms = options.start_after.count();
  if (options.time_limit.has_value()) out->time_limit_ms = options.time_limit->count();
  if (out->time_limit_ms.has_passed(0)) {
    core.diagnostic().format("time_limit is %lld ms",
                             static_cast<long long>(out->time_limit_ms.value()));
    return Status::kInvalidArgument;
  }
  return Status::kOk;
}

// The rows of a large deleted instance are removed in batches of their own before.
template <typename Work>
Status in_batch_with_free_id(ClientCore& core, std::string_view id, Work&& work) {
  Removed removed;
  bool more = false;
  do {
    PAWL_TRY(core.in_batch({id}, [&](Store& store) {
      return with_free_id(store, &removed, &more,
                          [&](bool* in_removal) { return work(store, in_removal); });
    }));
  } while (more);
  return Status::kOk;
}

}  // namespace

Status Client::start_orchestration(std::string_view name, const InstanceId& id,
                                   std::string_view input, const StartOptions& options) {
  return enter([&](ClientCore& core) {
    NewInstance instance;
    PAWL_TRY(new_instance(core, name, id, input, options, &instance));
    const IdInUse in_use = {options.if_running, options.if_ended};
    if (in_use.if_running == IfRunning::kRefuse && in_use.if_ended == IfEnded::kRefuse)
      PAWL_TRY(core.refuse_early(id, false));
    return in_batch_with_free_id(core, id, [&](Store& store, bool* in_removal) {
      InstanceKey key = 0;
      return store.instance().deliveries.start_orchestration(instance, in_use, &key, in_removal);
    });
  });
}

Status Client::cancel_instance(std::string_view id, std::string_view reason) {
  return enter([&](ClientCore& core) {
    PAWL_TRY(core.check_size("reason", reason));
    PAWL_TRY(core.refuse_early(id, true));
    return core.in_batch({id}, [&](Store& store) {
      return store.instance().deliveries.cancel_instance(id, reason);
    });
  });
}

NewMessage new_message(const ClientCore& core, std::string_view id, MessageKind kind,
                       std::string_view name, std::string_view payload) {
  NewMessage posted;
  posted.id = id;
  posted.kind = kind;
  posted.name = name;
  posted.payload = payload;
  posted.count_max = core.options().queue_messages_max;
  posted.bytes_max = mailbox_bytes_max(core.options().payload_bytes_max);
  return posted;
}

Status take_key(ClientCore& core, const SendOptions& options, NewMessage* out) {
  if (!options.key.has_value()) return Status::kOk;
  out->key = *options.key;
  if (is_valid_name(out->key)) return Status::kOk;
  core.diagnostic().format("a key has 1 to %zu bytes and no control characters", kNameBytesMax);
  return Status::kInvalidArgument;
}

Status send_message(ClientCore& core, NewMessage posted, const SendOptions& options,
                    MessageId* number) {
  PAWL_TRY(core.check_size("payload", posted.payload));
  PAWL_TRY(take_key(core, options, &posted));
  NewInstance instance;
  if (options.start_if_ended.has_value()) {
    const StartIfEnded& start = *options.start_if_ended;
    PAWL_TRY(
        new_instance(core, start.definition, posted.id, start.input, start.options, &instance));
    posted.start_if_ended = &instance;
  } else if (posted.key.empty()) {
    PAWL_TRY(core.refuse_early(posted.id, true));
  }
  return in_batch_with_free_id(core, posted.id, [&](Store& store, bool* in_removal) {
    bool room = false;
    PAWL_TRY(store.instance().deliveries.send_message(posted, &room, in_removal, number));
    return room ? Status::kOk : Status::kResourceExhausted;
  });
}

Status Client::raise_event(std::string_view id, std::string_view name, std::string_view payload,
                           const SendOptions& options) {
  return enter([&](ClientCore& core) {
    return send_message(core, new_message(core, id, MessageKind::kEvent, name, payload), options);
  });
}

Status Client::enqueue_event(std::string_view id, std::string_view queue, std::string_view payload,
                             const SendOptions& options) {
  return enter([&](ClientCore& core) {
    return send_message(core, new_message(core, id, MessageKind::kQueue, queue, payload), options);
  });
}

// ---- offers ----

namespace {

// Finds the delivery of one message in a history. The reading ends there.
class DeliveryFinder final : public EventSink {
 public:
  explicit DeliveryFinder(MessageId number) : number_(number) {}
  Status on_event(const Event& event) override {
    has_events = true;
    is_found = event.kind == EventKind::kDelivery && event.number == number_;
    return is_found ? Status::kStale : Status::kOk;
  }
  bool has_events = false;
  bool is_found = false;

 private:
  MessageId number_;
};

// A client that looks after more executions than this gets kStale.
constexpr ExecutionId kExecutionsLookedAtMax = 1'000;

// The answer is read from history, so nothing has to be kept for a caller that may never come back.
// A turn that took the offer recorded its delivery in the same commit, or gave it to no wait.
Status look_at_offer(Store& store, const SentOffer& offer, ExecutionId execution, bool* is_over,
                     bool* received) {
  bool waits = false;
  PAWL_TRY(store.instance().deliveries.is_offer_waiting(offer, &waits));
  *is_over = !waits;
  if (waits) return Status::kOk;
  const ExecutionId last = std::min(execution, offer.execution + kExecutionsLookedAtMax);
  for (ExecutionId at = offer.execution; at <= last; ++at) {
    DeliveryFinder finder(offer.number);
    const EventId after = at == offer.execution ? offer.last_event : 0;
    const Status read = store.instance().history.read_history(offer.key, at, after, finder);
    *received = finder.is_found;
    if (*received) return Status::kOk;
    PAWL_TRY(read);
    if (at < execution && !finder.has_events) return Status::kStale;
  }
  return last < execution ? Status::kStale : Status::kOk;
}

}  // namespace

Status Client::offer_event(std::string_view id, std::string_view name, std::string_view payload,
                           std::chrono::milliseconds timeout, bool* received) {
  return enter([&](ClientCore& core) {
    *received = false;
    PAWL_TRY(core.check_size("payload", payload));
    PAWL_TRY(core.begin_waiting());
    PAWL_TRY(core.refuse_early(id, true));
    SentOffer offer;
    const Status sent = core.in_batch({id}, [&](Store& store) {
      bool room = false;
      const NewMessage posted = new_message(core, id, MessageKind::kOffer, name, payload);
      PAWL_TRY(store.instance().deliveries.offer_event(posted, &room, &offer));
      return room ? Status::kOk : Status::kResourceExhausted;
    });
    PAWL_TRY(sent);
    OrchestrationStatus status;
    Status looked = Status::kOk;
    bool is_over = false;
    const auto look = [&] {
      looked = look_at_offer(core.store(), offer, status.execution_id, &is_over, received);
      return is_over || looked != Status::kOk;
    };
    const Status waited =
        core.wait_until(id, timeout.count(), FirstLook::kAfterBell, &status, look);
    if (waited == Status::kOk) return core.explain(looked, {id});
    if (waited != Status::kTimeout) return waited;
    bool withdrawn = false;
    PAWL_TRY(core.in_batch({id}, [&](Store& store) {
      return store.instance().deliveries.withdraw_offer(offer, &withdrawn);
    }));
    if (withdrawn) return Status::kTimeout;
    PAWL_TRY(core.get_status(id, &status));
    return look() ? core.explain(looked, {id}) : Status::kTimeout;
  });
}

}  // namespace pawl

#include "runtime/client_core.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/version.hpp"
#include "runtime/progress_ring.hpp"

namespace pawl {
namespace {

// The runtime does the same: a notification may come before its commit can be read.
constexpr std::int64_t kLookDelaysMs[] = {10, 100, 1'000, 5'000};
constexpr int kLookSteps = sizeof kLookDelaysMs / sizeof kLookDelaysMs[0];

bool goes_on(const OrchestrationStatus& status) {
  return status.state == OrchestrationState::kRunning ||
         status.state == OrchestrationState::kSuspended;
}

}  // namespace

const char* orchestration_state_name(OrchestrationState state) {
  switch (state) {
    case OrchestrationState::kRunning: return "running";
    case OrchestrationState::kCompleted: return "completed";
    case OrchestrationState::kFailed: return "failed";
    case OrchestrationState::kStopped: return "stopped";
    case OrchestrationState::kSuspended: return "suspended";
  }
  return "unknown";
}

Status ClientCore::start_orchestration(std::string_view name, const InstanceId& id,
                                       std::string_view input, const StartOptions& options) {
  const std::string_view version = options.version.has_value() ? options.version->view() : "";
  if (options.version.has_value() && !is_valid_version(version)) {
    diagnostic_.format("a version is MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-PRE");
    return Status::kInvalidArgument;
  }
  if (input.size() > options_.payload_bytes_max) {
    diagnostic_.format("the input has %zu bytes; payload_bytes_max is %zu", input.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  PAWL_TRY(refuse_early(id, false));
  return in_batch(id, [&] {
    NewInstance instance;
    instance.id = id;
    instance.name = name;
    instance.version = version;
    instance.input = input;
    instance.trace = options.trace_id.view();
    instance.start_after_ms = options.start_after.count();
    InstanceKey key = 0;
    return store_->instance().deliveries.create_instance(instance, &key);
  });
}

Status ClientCore::cancel_instance(std::string_view id, std::string_view reason) {
  if (reason.size() > options_.payload_bytes_max) {
    diagnostic_.format("the reason has %zu bytes; payload_bytes_max is %zu", reason.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  PAWL_TRY(refuse_early(id, true));
  return in_batch(id, [&] { return store_->instance().deliveries.cancel_instance(id, reason); });
}

Status ClientCore::send_message(std::string_view id, MessageKind kind, std::string_view name,
                                std::string_view payload) {
  PAWL_TRY(check_payload_size(payload));
  PAWL_TRY(refuse_early(id, true));
  return in_batch(id, [&] {
    bool room = false;
    PAWL_TRY(
        store_->instance().deliveries.send_message(new_message(id, kind, name, payload), &room));
    return room ? Status::kOk : Status::kResourceExhausted;
  });
}

Status ClientCore::check_payload_size(std::string_view payload) {
  if (payload.size() <= options_.payload_bytes_max) return Status::kOk;
  diagnostic_.format("the payload has %zu bytes; payload_bytes_max is %zu", payload.size(),
                     options_.payload_bytes_max);
  return Status::kResourceExhausted;
}

NewMessage ClientCore::new_message(std::string_view id, MessageKind kind, std::string_view name,
                                   std::string_view payload) const {
  NewMessage posted;
  posted.id = id;
  posted.kind = kind;
  posted.name = name;
  posted.payload = payload;
  posted.count_max = options_.queue_messages_max;
  posted.bytes_max = mailbox_bytes_max(options_.payload_bytes_max);
  return posted;
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

}  // namespace

// The answer is read from history, so nothing has to be kept for a caller that may never come back.
// A turn that took the offer recorded its delivery in the same commit, or gave it to no wait.
Status ClientCore::look_at_offer(const SentOffer& offer, ExecutionId execution, bool* is_over,
                                 bool* received) {
  bool waits = false;
  PAWL_TRY(store_->instance().deliveries.is_offer_waiting(offer, &waits));
  *is_over = !waits;
  if (waits) return Status::kOk;
  const ExecutionId last = std::min(execution, offer.execution + kExecutionsLookedAtMax);
  for (ExecutionId at = offer.execution; at <= last; ++at) {
    DeliveryFinder finder(offer.number);
    const EventId after = at == offer.execution ? offer.last_event : 0;
    const Status read = store_->instance().history.load_history(offer.key, at, after, finder);
    *received = finder.is_found;
    if (*received) return Status::kOk;
    PAWL_TRY(read);
    if (at < execution && !finder.has_events) return Status::kStale;
  }
  return last < execution ? Status::kStale : Status::kOk;
}

Status ClientCore::offer_event(std::string_view id, std::string_view name, std::string_view payload,
                               std::int64_t timeout_ms, bool* received) {
  *received = false;
  PAWL_TRY(check_payload_size(payload));
  PAWL_TRY(refuse_waiting());
  PAWL_TRY(refuse_early(id, true));
  SentOffer offer;
  const Status sent = in_batch(id, [&] {
    bool room = false;
    const NewMessage posted = new_message(id, MessageKind::kOffer, name, payload);
    PAWL_TRY(store_->instance().deliveries.send_offer(posted, &room, &offer));
    return room ? Status::kOk : Status::kResourceExhausted;
  });
  PAWL_TRY(sent);
  OrchestrationStatus status;
  Status looked = Status::kOk;
  bool is_over = false;
  const auto look = [&] {
    looked = look_at_offer(offer, status.execution_id, &is_over, received);
    return is_over || looked != Status::kOk;
  };
  const Status waited = wait_until(id, timeout_ms, &status, look);
  if (waited == Status::kOk) return explain(looked, id);
  if (waited != Status::kTimeout) return waited;
  bool withdrawn = false;
  const Status back =
      in_batch(id, [&] { return store_->instance().deliveries.withdraw_offer(offer, &withdrawn); });
  PAWL_TRY(back);
  if (withdrawn) return Status::kTimeout;
  PAWL_TRY(get_status(id, &status));
  return look() ? explain(looked, id) : Status::kTimeout;
}

Status ClientCore::get_status(std::string_view id, OrchestrationStatus* out) {
  InstanceStatus row;
  const Status status = store_->instance().directory.read_status(
      id, &row, buffer_, status_buffer_bytes(options_.payload_bytes_max));
  if (status != Status::kOk) return explain(status, id);
  *out = public_status(row);
  for (CallText* text : {&out->output, &out->custom_status})
    text->live_until_next(&calls_);
  return Status::kOk;
}

Status ClientCore::refuse_waiting() {
  if (!on_loop_thread()) return Status::kOk;
  diagnostic_.format("waiting on the Runtime's own thread would wait for itself");
  return Status::kWouldBlock;
}

Status ClientCore::begin_waiting() {
  PAWL_TRY(refuse_waiting());
  if (watching_) return Status::kOk;
  PAWL_TRY(port_.threads->open(options_.database_path.c_str(), diagnostic_));
  watching_ = true;
  return Status::kOk;
}

template <typename IsOver>
Status ClientCore::wait_until(std::string_view id, std::int64_t timeout_ms,
                              OrchestrationStatus* out, IsOver&& is_over) {
  PAWL_TRY(begin_waiting());
  const std::int64_t end = port_.clock->boot_ms() + (timeout_ms > 0 ? timeout_ms : 0);
  int step = 0;
  while (true) {
    PAWL_TRY(get_status(id, out));
    if (is_over()) return Status::kOk;
    const std::int64_t now = port_.clock->boot_ms();
    if (now >= end) return Status::kTimeout;
    std::int64_t due = end;
    if (step < kLookSteps && now + kLookDelaysMs[step] < end) due = now + kLookDelaysMs[step];
    const port::WakeReasons reasons = port_.threads->wait(due);
    if (reasons.bell || reasons.log) {
      step = 0;
    } else if (step < kLookSteps) {
      ++step;
    }
  }
}

Status ClientCore::wait_for_orchestration(std::string_view id, std::int64_t timeout_ms,
                                          OrchestrationStatus* out) {
  return wait_until(id, timeout_ms, out, [out] { return !goes_on(*out); });
}

Status ClientCore::wait_for_status_change(std::string_view id, std::int64_t last_version,
                                          std::int64_t timeout_ms, OrchestrationStatus* out) {
  PAWL_TRY(wait_until(id, timeout_ms, out, [out, last_version] {
    return out->custom_status_version > last_version || !goes_on(*out);
  }));
  return out->custom_status_version > last_version ? Status::kOk : explain(Status::kStale, id);
}

// ---- progress ----

namespace {

// A worker that writes a heartbeat notifies no watcher, because that would cost a system call. So
// the Client polls.
constexpr std::int64_t kWatchMs = 20;
// Interval of looks in the database, for an end or a new worker whose commit was not heard of.
constexpr std::int64_t kWatchedLookMs = 1'000;

}  // namespace

Status ClientCore::look_at_watched(std::string_view id, ProgressWatch* watch, bool* goes_on) {
  InstanceStatus row;
  const Status found = store_->instance().directory.read_status(
      id, &row, buffer_, status_buffer_bytes(options_.payload_bytes_max));
  if (found != Status::kOk) return explain(found, id);
  ProgressReader::follow(row.key, *watch);
  *goes_on = pawl::goes_on(public_status(row));
  std::size_t count = 0;
  const Status listed = store_->worker().list_workers(workers_, kWorkersMax, &count);
  if (listed != Status::kOk) return explain(listed, id);
  Incarnation living[kWorkersMax] = {};
  for (std::size_t i = 0; i < count; ++i)
    living[i] = workers_[i].incarnation;
  ProgressReader::set_workers(living, count, *watch);
  return Status::kOk;
}

Status ClientCore::watch_progress(std::string_view id, std::int64_t timeout_ms,
                                  ProgressWatch* watch) {
  if (timeout_ms > 0) PAWL_TRY(begin_waiting());
  ProgressReader reader(*port_.storage, options_.database_path.c_str());
  std::int64_t now = port_.clock->boot_ms();
  const std::int64_t end = now + (timeout_ms > 0 ? timeout_ms : 0);
  std::int64_t look_at = now;
  bool goes_on = true;
  while (true) {
    if (now >= look_at) {
      PAWL_TRY(look_at_watched(id, watch, &goes_on));
      look_at = now + kWatchedLookMs;
    }
    if (reader.next(*watch)) return Status::kOk;
    if (!goes_on) return explain(Status::kStale, id);
    if (now >= end) return Status::kTimeout;
    const port::WakeReasons reasons = port_.threads->wait(std::min(end, now + kWatchMs));
    now = port_.clock->boot_ms();
    // A notification may come before its commit can be read.
    if (reasons.bell || reasons.log) look_at = std::min(look_at, now + kWatchMs / 2);
  }
}

// ---- values ----

Status ClientCore::get_kv_value(std::string_view id, std::string_view key, KvEntry* out,
                                bool* found) {
  *found = false;
  if (!is_valid_name(key)) {
    diagnostic_.format("a key is 1 to 256 bytes without control characters");
    return Status::kInvalidArgument;
  }
  const Status read =
      store_->instance().rows.read_value(id, key, out, found, buffer_, options_.payload_bytes_max);
  for (CallText* text : {&out->key, &out->value})
    text->live_until_next(&calls_);
  return explain(read, id);
}

Status ClientCore::get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor) {
  return explain(store_->instance().rows.list_values(id, page, visitor), id);
}

Status ClientCore::wait_for_kv_value(std::string_view id, std::string_view key,
                                     std::int64_t timeout_ms, KvEntry* out) {
  OrchestrationStatus status;
  bool found = false;
  Status read = Status::kOk;
  const Status waited = wait_until(id, timeout_ms, &status, [&] {
    const bool is_over = !goes_on(status);  // asked before the read, so that the last value is seen
    read = get_kv_value(id, key, out, &found);
    return found || is_over || read != Status::kOk;
  });
  if (waited != Status::kOk) return waited;
  if (read != Status::kOk || found) return read;
  return explain(Status::kStale, id);
}

}  // namespace pawl

#include "client_core.hpp"

#include "check.hpp"
#include "version.hpp"

namespace pawl {
namespace {

// As in the runtime: a notification may precede what it announces.
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
    instance.start_after_ms = options.start_after.count();
    InstanceKey key = 0;
    return store_->instances().create_instance(instance, &key);
  });
}

Status ClientCore::cancel_instance(std::string_view id, std::string_view reason) {
  if (reason.size() > options_.payload_bytes_max) {
    diagnostic_.format("the reason has %zu bytes; payload_bytes_max is %zu", reason.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  PAWL_TRY(refuse_early(id, true));
  return in_batch(id, [&] { return store_->instances().cancel_instance(id, reason); });
}

Status ClientCore::send_message(std::string_view id, MessageKind kind, std::string_view name,
                                std::string_view payload) {
  if (payload.size() > options_.payload_bytes_max) {
    diagnostic_.format("the payload has %zu bytes; payload_bytes_max is %zu", payload.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  PAWL_TRY(refuse_early(id, true));
  return in_batch(id, [&] {
    NewMessage posted;
    posted.id = id;
    posted.kind = kind;
    posted.name = name;
    posted.payload = payload;
    posted.count_max = options_.queue_messages_max;
    posted.bytes_max = mailbox_bytes_max(options_.payload_bytes_max);
    bool room = false;
    PAWL_TRY(store_->instances().send_message(posted, &room));
    return room ? Status::kOk : Status::kResourceExhausted;
  });
}

Status ClientCore::get_status(std::string_view id, OrchestrationStatus* out) {
  InstanceStatus row;
  const Status status = store_->instances().read_status(
      id, &row, buffer_, status_buffer_bytes(options_.payload_bytes_max));
  if (status != Status::kOk) return explain(status, id);
  *out = public_status(row);
  return Status::kOk;
}

template <typename IsOver>
Status ClientCore::wait_until(std::string_view id, std::int64_t timeout_ms,
                              OrchestrationStatus* out, IsOver&& is_over) {
  if (on_loop_thread()) {
    diagnostic_.format("waiting on the Runtime's own thread would wait for itself");
    return Status::kWouldBlock;
  }
  if (!watching_) {
    PAWL_TRY(port_.threads->open(options_.database_path, diagnostic_));
    watching_ = true;
  }
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

// ---- values -------------------------------------------------------------------------------------

Status ClientCore::get_kv_value(std::string_view id, std::string_view key, KvEntry* out,
                                bool* found) {
  *found = false;
  if (!is_valid_name(key)) {
    diagnostic_.format("a key is 1 to 256 bytes without control characters");
    return Status::kInvalidArgument;
  }
  return explain(
      store_->instances().read_value(id, key, out, found, buffer_, options_.payload_bytes_max), id);
}

Status ClientCore::get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor) {
  return explain(store_->instances().list_values(id, page, visitor), id);
}

Status ClientCore::wait_for_kv_value(std::string_view id, std::string_view key,
                                     std::int64_t timeout_ms, KvEntry* out) {
  OrchestrationStatus status;
  bool found = false;
  Status read = Status::kOk;
  const Status waited = wait_until(id, timeout_ms, &status, [&] {
    const bool is_over = !goes_on(status);  // asked before: what it wrote last is there then
    read = get_kv_value(id, key, out, &found);
    return found || is_over || read != Status::kOk;
  });
  if (waited != Status::kOk) return waited;
  if (read != Status::kOk || found) return read;
  return explain(Status::kStale, id);
}

}  // namespace pawl

#include "client_core.hpp"

#include <algorithm>

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

std::size_t status_buffer_bytes(std::size_t payload_bytes_max) {
  const std::size_t output = std::max(payload_bytes_max, kErrorTextBytesMax);
  return output + kCustomStatusBytesMax;
}

OrchestrationStatus public_status(const InstanceStatus& row) {
  OrchestrationStatus out;
  switch (row.state) {
    case InstanceState::kRunning: out.state = OrchestrationState::kRunning; break;
    case InstanceState::kCompleted: out.state = OrchestrationState::kCompleted; break;
    case InstanceState::kFailed: out.state = OrchestrationState::kFailed; break;
    case InstanceState::kStopped: out.state = OrchestrationState::kStopped; break;
    case InstanceState::kSuspended: out.state = OrchestrationState::kSuspended; break;
    case InstanceState::kDeleted: break;  // read_status() finds none
  }
  out.execution_id = row.execution;
  out.error = row.error;
  out.output = row.output;
  out.created_ms = row.created_ms;
  out.updated_ms = row.updated_ms;
  out.custom_status = row.custom_status;
  out.custom_status_version = row.custom_status_version;
  return out;
}

Status ClientCore::open(Diagnostic& diagnostic) {
  ProviderOptions options;
  options.path = options_.database_path;
  options.create = options_.create;
  options.synchronous_full = options_.synchronous_full;
  options.busy_ms_max = options_.busy_ms_max;
  options.cache_pages = process_.cache_pages(options_.cache_pages);
  return provider_->open(options, port_, diagnostic);
}

void ClientCore::close() {
  if (watching_) port_.threads->close();
  watching_ = false;
  provider_->close();
}

// Names the instance for people, where the answer is about it and not about the store.
Status ClientCore::told(Status status, std::string_view id) {
  const int size = static_cast<int>(id.size() < kNameBytesMax ? id.size() : kNameBytesMax);
  switch (status) {
    case Status::kOk: break;
    case Status::kNotFound:
      diagnostic_.format("there is no instance \"%.*s\"", size, id.data());
      break;
    case Status::kAlreadyExists:
      diagnostic_.format("an instance \"%.*s\" exists already", size, id.data());
      break;
    case Status::kStale:
      diagnostic_.format("the instance \"%.*s\" does not run any more", size, id.data());
      break;
    case Status::kStillRunning:
      diagnostic_.format("the instance \"%.*s\" or a child of it has not ended", size, id.data());
      break;
    case Status::kChildInstance:
      diagnostic_.format("the instance \"%.*s\" is a child and goes with its root", size,
                         id.data());
      break;
    default: diagnostic_ = provider_->diagnostic(); break;
  }
  return status;
}

// Who was refused may be so again and again: then it is read first, and nobody waits for a lock that nothing is
// written under. `must_run`: an instance of this id; false: there must be none.
Status ClientCore::refuse_early(std::string_view id, bool must_run) {
  if (!was_refused_) return Status::kOk;
  InstanceStatus row;
  const Status found =
      provider_->read_status(id, &row, buffer_, status_buffer_bytes(options_.payload_bytes_max));
  if (!must_run) return found == Status::kOk ? told(Status::kAlreadyExists, id) : Status::kOk;
  if (found == Status::kNotFound) return told(found, id);
  const bool has_ended =
      row.state == InstanceState::kCompleted || row.state == InstanceState::kFailed;
  return found == Status::kOk && has_ended ? told(Status::kStale, id) : Status::kOk;
}

Status ClientCore::start_orchestration(std::string_view id, std::string_view name,
                                       std::string_view input, const StartOptions& options) {
  if (options.version.has_value() && !is_valid_version(*options.version)) {
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
    instance.version = options.version.value_or("");
    instance.input = input;
    instance.start_after_ms = options.start_after_ms;
    InstanceKey key = 0;
    return provider_->create_instance(instance, &key);
  });
}

Status ClientCore::cancel_instance(std::string_view id, std::string_view reason) {
  if (reason.size() > options_.payload_bytes_max) {
    diagnostic_.format("the reason has %zu bytes; payload_bytes_max is %zu", reason.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  PAWL_TRY(refuse_early(id, true));
  return in_batch(id, [&] { return provider_->cancel_instance(id, reason); });
}

Status ClientCore::send_mail(std::string_view id, MessageKind kind, std::string_view name,
                             std::string_view payload) {
  if (payload.size() > options_.payload_bytes_max) {
    diagnostic_.format("the payload has %zu bytes; payload_bytes_max is %zu", payload.size(),
                       options_.payload_bytes_max);
    return Status::kResourceExhausted;
  }
  PAWL_TRY(refuse_early(id, true));
  return in_batch(id, [&] {
    NewMail mail;
    mail.id = id;
    mail.kind = kind;
    mail.name = name;
    mail.payload = payload;
    mail.count_max = options_.queue_messages_max;
    mail.bytes_max = mail_bytes_max(options_.payload_bytes_max);
    bool room = false;
    PAWL_TRY(provider_->send_mail(mail, &room));
    return room ? Status::kOk : Status::kResourceExhausted;
  });
}

// Who made it so long may have left, and where nobody runs nobody else cuts it.
bool ClientCore::cut_long_log() {
  const LogUse log = provider_->log_use();
  return log.most > 0 && log.bytes > log.most && provider_->empty_log() == Status::kOk;
}

// Only who runs removes anything, and may not have met it: a reserve that is missing tells all of them.
void ClientCore::tell_disk_is_full() {
  // No room helps a table that has no keys left.
  if (provider_->check_keys() == Status::kCorrupt) return;
  if (provider_->release_reserve() == Status::kOk) port_.storage->ring(options_.database_path);
}

Status ClientCore::get_status(std::string_view id, OrchestrationStatus* out) {
  InstanceStatus row;
  const Status status =
      provider_->read_status(id, &row, buffer_, status_buffer_bytes(options_.payload_bytes_max));
  if (status != Status::kOk) return told(status, id);
  *out = public_status(row);
  return Status::kOk;
}

template <typename IsOver>
Status ClientCore::wait_until(std::string_view id, std::int64_t timeout_ms,
                              OrchestrationStatus* out, IsOver&& is_over) {
  if (process_.on_loop_thread(options_.database_path)) {
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
  return out->custom_status_version > last_version ? Status::kOk : told(Status::kStale, id);
}

// ---- values -------------------------------------------------------------------------------------

Status ClientCore::get_kv_value(std::string_view id, std::string_view key, KvEntry* out,
                                bool* found) {
  *found = false;
  if (!is_valid_name(key)) {
    diagnostic_.format("a key is 1 to 256 bytes without control characters");
    return Status::kInvalidArgument;
  }
  return told(provider_->read_value(id, key, out, found, buffer_, options_.payload_bytes_max), id);
}

Status ClientCore::get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor) {
  return told(provider_->list_values(id, page, visitor), id);
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
  return told(Status::kStale, id);
}

}  // namespace pawl

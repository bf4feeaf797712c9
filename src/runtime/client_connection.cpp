#include "runtime/client_connection.hpp"

#include <algorithm>

namespace pawl {

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
    case InstanceState::kDeleted: break;  // read_status() finds no deleted row
  }
  out.execution_id = row.execution;
  out.error = row.error;
  out.output = row.output;
  out.created_ms = row.created_ms;
  out.updated_ms = row.updated_ms;
  out.custom_status = row.custom_status;
  out.custom_status_version = row.custom_status_version;
  out.unread_messages = row.unread_messages;
  return out;
}

Status ClientConnection::open(Diagnostic& diagnostic) {
  StoreOptions options;
  options.path = options_.database_path.c_str();
  options.create = options_.create;
  options.synchronous_full = options_.synchronous_full;
  options.busy_ms_max = options_.busy_max.count();
  options.cache_pages = options_.cache_pages;
  PAWL_TRY(place_.take(options, diagnostic));
  return store_->open(options, port_, diagnostic);
}

void ClientConnection::close() {
  if (watching_) port_.threads->close();
  watching_ = false;
  store_->close();
  place_.leave();
}

Status ClientConnection::explain(Status status, std::string_view id) {
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
    default: diagnostic_ = store_->diagnostic(); break;
  }
  return status;
}

Status ClientConnection::refuse_early(std::string_view id, bool must_run) {
  if (!was_refused_) return Status::kOk;
  InstanceStatus row;
  const Status found = store_->instance().directory.read_status(
      id, &row, buffer_, status_buffer_bytes(options_.payload_bytes_max));
  if (!must_run) return found == Status::kOk ? explain(Status::kAlreadyExists, id) : Status::kOk;
  if (found == Status::kNotFound) return explain(found, id);
  const bool has_ended =
      row.state == InstanceState::kCompleted || row.state == InstanceState::kFailed;
  return found == Status::kOk && has_ended ? explain(Status::kStale, id) : Status::kOk;
}

bool ClientConnection::cut_long_log() {
  const LogUse log = store_->place().log_use();
  return log.most > 0 && log.bytes > log.most && store_->place().empty_log() == Status::kOk;
}

void ClientConnection::give_up_reserve() {
  // More disk space does not help a table that has no keys left.
  if (store_->batch().check_keys() == Status::kCorrupt) return;
  if (store_->place().release_reserve() == Status::kOk)
    port_.storage->ring(options_.database_path.c_str());
}

Status ClientConnection::explain_of(const char* what, std::string_view name, Status status) {
  const int size = static_cast<int>(name.size() < kNameBytesMax ? name.size() : kNameBytesMax);
  if (status == Status::kNotFound)
    diagnostic_.format("there is no %s \"%.*s\"", what, size, name.data());
  if (status == Status::kStillRunning)
    diagnostic_.format("the %s \"%.*s\" is declared, or work waits for it", what, size,
                       name.data());
  return status;
}

}  // namespace pawl

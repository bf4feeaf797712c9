#include "runtime_limits.hpp"

#include "check.hpp"
#include "client_connection.hpp"

namespace pawl {

std::size_t tick_bytes(const Options& options, std::size_t turns) {
  const std::size_t one = sizeof(OrchestrationItem) + 16 * sizeof(Message) + 1024;
  // All that can wait for one instance: read, gathered, and sorted out again.
  const std::size_t posted = mailbox_max(options.limits.queue_messages_max) *
                                 (3 * sizeof(Message) + 3 * sizeof(MessageId)) +
                             2 * mailbox_bytes_max(options.limits.payload_bytes_max);
  const std::size_t start = sizeof(OrchestrationItem) + 1024;
  const std::size_t results = 2 * (std::size_t{options.slots.inline_activities} +
                                   options.slots.threads + options.slots.cooperative);
  // A message that is read and a result that is piggybacked are noted in several lists, and so is a
  // new command.
  constexpr std::size_t kNoteBytes = 256;
  const std::size_t notes =
      options.limits.instance_batch_max + options.limits.commands_a_turn_max + results;
  constexpr std::size_t kTextBytes = 4 * 1024;  // of diagnostics that the turns keep
  return turns * (one + start) + posted + 4 * options.limits.payload_bytes_max +
         2 * kErrorTextBytesMax + notes * kNoteBytes + kTextBytes;
}

EngineLimits engine_limits(const Options& options) {
  EngineLimits limits;
  limits.events_max = options.limits.history_events_max;
  limits.commands_a_turn_max = options.limits.commands_a_turn_max;
  limits.payload_bytes_max = options.limits.payload_bytes_max;
  limits.traces_a_turn_max = options.limits.traces_a_turn_max;
  limits.mailbox_max = mailbox_max(options.limits.queue_messages_max);
  limits.kv_keys_max = options.limits.kv_keys_max;
  limits.kv_bytes_max = options.limits.warm_bytes / 4;
  return limits;
}

Status check_port(const port::Port& port, Diagnostic& diagnostic) {
  if (port.clock == nullptr || port.storage == nullptr || port.threads == nullptr) {
    diagnostic.format("the port lacks a clock, a storage or threads");
    return Status::kInvalidArgument;
  }
  if (port.clock->version() != port::kPortVersion ||
      port.storage->version() != port::kPortVersion ||
      port.threads->version() != port::kPortVersion ||
      (port.folders != nullptr && port.folders->version() != port::kPortVersion)) {
    diagnostic.format("the port is of version %u, this library needs %u", port.clock->version(),
                      port::kPortVersion);
    return Status::kVersionMismatch;
  }
  return port.clock->open(diagnostic);
}

UnregisteredText unregistered_text(std::string_view name, std::string_view version) {
  UnregisteredText text;
  const bool fits =
      text.append("no orchestration \"") == Status::kOk && text.append(name) == Status::kOk &&
      text.append(version.empty() ? "" : "@") == Status::kOk &&
      text.append(version) == Status::kOk && text.append("\" is registered here") == Status::kOk;
  PAWL_CHECK("runtime-32", fits);
  return text;
}

}  // namespace pawl

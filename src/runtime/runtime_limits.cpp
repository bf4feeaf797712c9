#include "runtime/runtime_limits.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "replay/trace_log.hpp"
#include "runtime/client_core.hpp"
#include "runtime/slots.hpp"

namespace pawl {

namespace {

// Bytes of the lists in which the largest turn notes each message that is read, each result that is
// piggybacked, each new command, and each event whose outcome is not wanted any more.
std::size_t list_bytes(const Options& options) {
  const std::size_t results = 2 * (std::size_t{options.slots.inline_activities} +
                                   options.slots.threads + options.slots.cooperative);
  constexpr std::size_t kMessageBytes = 2 * sizeof(Message) + 3 * sizeof(MessageId);
  constexpr std::size_t kResultBytes = sizeof(Message) + sizeof(internal::Slot*) + sizeof(WorkDone);
  constexpr std::size_t kCommandBytes = std::max(sizeof(NewWork), sizeof(NewTimer));
  constexpr std::size_t kTraceBytes = sizeof(Trace) + TraceLog::kTextBytesMean;
  return options.limits.instance_batch_max * kMessageBytes + results * kResultBytes +
         options.limits.commands_a_turn_max * kCommandBytes +
         options.limits.history_events_max * sizeof(EventId) +
         options.limits.traces_a_turn_max * kTraceBytes;
}

}  // namespace

std::size_t tick_bytes(const Options& options, std::size_t turns) {
  constexpr std::size_t kTextBytesMean = 512;  // of the messages and the decisions of one turn
  const std::size_t messages =
      std::min(std::size_t{16}, 2 + std::size_t{options.limits.instance_batch_max});
  const std::size_t one = sizeof(OrchestrationItem) + messages * sizeof(Message) + kTextBytesMean;
  // All messages that can wait for one instance: read, gathered, and sorted out again.
  const std::size_t posted = mailbox_max(options.limits.queue_messages_max) *
                                 (3 * sizeof(Message) + 3 * sizeof(MessageId)) +
                             2 * mailbox_bytes_max(options.limits.payload_bytes_max);
  const std::size_t start = sizeof(OrchestrationItem) + kTextBytesMean;
  // Two payloads of messages that wait for nothing are read in any case: the start of an execution,
  // and one beside it. The others come with the next tick.
  const std::size_t payloads = 2 * options.limits.payload_bytes_max;
  // For diagnostics that the turns keep.
  const std::size_t texts = std::min(turns, std::size_t{4}) * kErrorTextBytesMax;
  return turns * (one + start) + posted + payloads + 2 * kErrorTextBytesMax + list_bytes(options) +
         texts;
}

MailboxLimits mailbox_limits(const Options& options) {
  return {options.limits.queue_messages_max,
          static_cast<std::int64_t>(mailbox_bytes_max(options.limits.payload_bytes_max))};
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

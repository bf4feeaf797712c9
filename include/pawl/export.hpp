// The values that a Client shows, as JSON, for people and for other programs.
//
// Purpose: writes each value of pawl/management.hpp in one form, for tools, endpoints and files.
// Values are written as they come, so a listing of any length needs no memory of its own.
// Ownership: nothing is kept. Thread rule: the Client's, or the sink's.
#ifndef PAWL_EXPORT_HPP
#define PAWL_EXPORT_HPP

#include <cstdint>
#include <string_view>

#include "pawl/client.hpp"
#include "pawl/json_out.hpp"
#include "pawl/printable.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// Each writes one object, whose keys are the names of the members. States and kinds of errors have
// the names that their functions give (orchestration_state_name()). Left out are empty texts, an
// error that is kNone, an OptionalMs that is none, a time that has not come (ended_ms), and values
// that other keys already show. All other members are always there.
void write_json(const InstanceInfo& value, JsonOut& out);
void write_json(const InstanceStats& value, JsonOut& out);
void write_json(const OrchestrationStatus& value, JsonOut& out);
void write_json(const ExecutionInfo& value, JsonOut& out);
void write_json(const ActivityInfo& value, JsonOut& out);
void write_json(const WorkInfo& value, JsonOut& out);
void write_json(const Cause& value, JsonOut& out);
void write_json(const MessageInfo& value, JsonOut& out);
void write_json(const WorkerInfo& value, JsonOut& out);
void write_json(const SessionInfo& value, JsonOut& out);
void write_json(const KvEntry& value, JsonOut& out);
void write_json(const CallAnswer& value, JsonOut& out);
void write_json(const ProgressUpdate& value, JsonOut& out);
void write_json(const Removed& value, JsonOut& out);
void write_json(const Metrics& value, JsonOut& out);
// Writes "id", "kind" and "time_ms", and of the other members those that are not 0 or empty.
void write_json(const HistoryEvent& value, JsonOut& out);

// Writes the events of an execution (0: the current one), each as one object on a line of its own.
// Returns the same as Client::read_history(); kIo: the sink took no more, and got no more.
Status export_history(Client& client, std::string_view id, std::int64_t execution_id,
                      TextSink& sink);

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_EXPORT_HPP

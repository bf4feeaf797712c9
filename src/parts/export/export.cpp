#include "pawl/export.hpp"

#include "parts/fields/client_fields.hpp"
#include "parts/fields/json_fields.hpp"
#include "pawl/visit.hpp"

namespace pawl {

void write_json(const InstanceInfo& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const InstanceStats& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const OrchestrationStatus& value, JsonOut& out) {
  fields::write_object(value, out);
}
void write_json(const ExecutionInfo& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const ActivityInfo& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const WorkInfo& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const Cause& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const MessageInfo& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const WorkerInfo& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const SessionInfo& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const KvEntry& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const CallAnswer& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const Removed& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const Metrics& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const HistoryEvent& value, JsonOut& out) { fields::write_object(value, out); }

// Its text has no place of its own, so it has no table.
void write_json(const ProgressUpdate& value, JsonOut& out) {
  out.begin_object()
      .number("execution_id", value.execution_id)
      .number("activity_id", value.activity_id)
      .number("attempt", value.attempt)
      .number("number", value.number)
      .text("text", value.text())
      .end_object();
}

Status export_history(Client& client, std::string_view id, std::int64_t execution_id,
                      TextSink& sink) {
  JsonOut out(sink);
  auto write = visit([&out](const HistoryEvent& event) {
    write_json(event, out);
    out.end_line();
  });
  PAWL_TRY(client.read_history(id, execution_id, write));
  return out.ok() ? Status::kOk : Status::kIo;
}

}  // namespace pawl

#include "pawl/export.hpp"

namespace pawl {
namespace {

void put_error(ErrorKind error, JsonOut& out) {
  if (error != ErrorKind::kNone) out.text("error", error_kind_name(error));
}

void put_ms(std::string_view key, OptionalMs ms, JsonOut& out) {
  if (ms.has_value()) out.number(key, ms.value());
}

void put_number_unless_0(std::string_view key, std::int64_t number, JsonOut& out) {
  if (number != 0) out.number(key, number);
}

// Writes a list from lines of one name each, the form of WorkerInfo.
void put_names(std::string_view key, std::string_view lines, JsonOut& out) {
  out.begin_list(key);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    out.text(lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  out.end_list();
}

// "up_to" has one bound less than "counts", because the last count has no upper bound.
void put_histogram(std::string_view key, const std::int64_t (&bounds)[SessionEnds::kBounds],
                   const SessionEnds::Histogram& value, JsonOut& out) {
  out.begin_object(key).begin_list("up_to");
  for (const std::int64_t bound : bounds)
    out.number(bound);
  out.end_list().begin_list("counts");
  for (const std::uint64_t count : value.counts)
    out.number(static_cast<std::int64_t>(count));
  out.end_list().number("total", value.total).number("most", value.most).end_object();
}

class JsonLines final : public HistoryVisitor {
 public:
  explicit JsonLines(TextSink& sink) : out_(sink) {}
  void on_event(const HistoryEvent& event) noexcept override {
    write_json(event, out_);
    out_.end_line();
  }
  [[nodiscard]] bool ok() const { return out_.ok(); }

 private:
  JsonOut out_;
};

}  // namespace

void write_json(const InstanceInfo& value, JsonOut& out) {
  out.begin_object()
      .number("key", value.key)
      .text("id", value.id)
      .text("name", value.name)
      .text_unless_empty("version", value.version)
      .text_unless_empty("parent_id", value.parent_id)
      .text_unless_empty("trace_id", value.trace_id)
      .text("state", orchestration_state_name(value.state))
      .number("execution_id", value.execution_id)
      .number("created_ms", value.created_ms)
      .number("updated_ms", value.updated_ms)
      .number("timers_without_clock", value.timers_without_clock)
      .number("unread_messages", value.unread_messages)
      .end_object();
}

void write_json(const InstanceStats& value, JsonOut& out) {
  out.begin_object()
      .number("history_events", value.history_events)
      .number("history_bytes", value.history_bytes)
      .number("messages_waiting", value.messages_waiting)
      .number("kv_keys", value.kv_keys)
      .number("kv_bytes", value.kv_bytes)
      .end_object();
}

void write_json(const OrchestrationStatus& value, JsonOut& out) {
  out.begin_object()
      .text("state", orchestration_state_name(value.state))
      .number("execution_id", value.execution_id);
  put_error(value.error, out);
  out.text_unless_empty("output", value.output)
      .number("created_ms", value.created_ms)
      .number("updated_ms", value.updated_ms)
      .text_unless_empty("custom_status", value.custom_status)
      .number("custom_status_version", value.custom_status_version)
      .number("unread_messages", value.unread_messages)
      .end_object();
}

void write_json(const ExecutionInfo& value, JsonOut& out) {
  out.begin_object()
      .number("execution_id", value.execution_id)
      .text("state", execution_state_name(value.state))
      .number("events", value.events)
      .number("started_ms", value.started_ms);
  put_number_unless_0("ended_ms", value.ended_ms, out);
  put_error(value.error, out);
  out.text_unless_empty("output", value.output).end_object();
}

void write_json(const ActivityInfo& value, JsonOut& out) {
  out.begin_object()
      .number("activity_id", value.activity_id)
      .text_unless_empty("name", value.name)
      .text("state", activity_state_name(value.state))
      .number("attempt", value.attempt)
      .number("retry_attempt", value.retry_attempt)
      .text_unless_empty("node", value.node)
      .text_unless_empty("last_progress", value.last_progress)
      .text_unless_empty("last_error", value.last_error)
      .end_object();
}

void write_json(const WorkInfo& value, JsonOut& out) {
  out.begin_object()
      .number("key", value.key)
      .text("instance_id", value.instance_id)
      .number("execution_id", value.execution_id)
      .number("activity_id", value.activity_id)
      .text_unless_empty("name", value.name)
      .text("state", activity_state_name(value.state))
      .number("attempt", value.attempt)
      .text_unless_empty("session", value.session)
      .text_unless_empty("tag", value.tag)
      .text_unless_empty("node", value.node)
      .flag("is_unserved", value.is_unserved)
      .end_object();
}

void write_json(const MessageInfo& value, JsonOut& out) {
  out.begin_object()
      .number("number", value.number)
      .text("kind", value.kind)
      .text_unless_empty("name", value.name)
      .text_unless_empty("payload", value.payload)
      .flag("is_timer", value.is_timer)
      .flag("is_unread", value.is_unread)
      .end_object();
}

void write_json(const WorkerInfo& value, JsonOut& out) {
  out.begin_object()
      .number("incarnation", value.incarnation)
      .text("node", value.node)
      .number("pid", value.pid)
      .number("lease_ends_in_ms", value.lease_ends_in_ms)
      .flag("draining", value.draining)
      .number("sessions_max", value.sessions_max)
      .number("sessions", value.sessions)
      .number("devices", value.devices)
      .number("sessions_busy", value.sessions_busy)
      .flag("any_tag", value.any_tag)
      .flag("takes_untagged", value.takes_untagged);
  put_names("tags", value.tags, out);
  put_names("handlers", value.handlers, out);
  out.end_object();
}

void write_json(const SessionInfo& value, JsonOut& out) {
  out.begin_object()
      .number("key", value.key)
      .text("name", value.name)
      .text_unless_empty("instance_id", value.instance_id)
      .text_unless_empty("owner_label", value.owner_label)
      .text_unless_empty("kind", value.kind)
      .text("state", session_state_name(value.state))
      .text_unless_empty("node", value.node)
      .text_unless_empty("folder", value.folder)
      .number("epoch", value.epoch)
      .number("created_ms", value.created_ms)
      .number("age_ms", value.age_ms)
      .number("quiet_for_ms", value.quiet_for_ms)
      .number("activities", value.activities);
  put_ms("expires_in_ms", value.expires_in_ms, out);
  put_ms("waits_for_ms", value.waits_for_ms, out);
  if (!value.node.view().empty()) out.number("lease_ends_in_ms", value.lease_ends_in_ms);
  out.flag("device", value.device)
      .flag("exclusive", value.exclusive)
      .flag("stopping", value.stopping)
      .end_object();
}

void write_json(const KvEntry& value, JsonOut& out) {
  out.begin_object()
      .text("key", value.key)
      .text("value", value.value)
      .number("updated_ms", value.updated_ms)
      .end_object();
}

void write_json(const ProgressUpdate& value, JsonOut& out) {
  out.begin_object()
      .number("execution_id", value.execution_id)
      .number("activity_id", value.activity_id)
      .number("attempt", value.attempt)
      .number("number", value.number)
      .text("text", value.text())
      .end_object();
}

void write_json(const Removed& value, JsonOut& out) {
  out.begin_object()
      .number("instances", value.instances)
      .number("executions", value.executions)
      .number("events", value.events)
      .end_object();
}

void write_json(const Metrics& value, JsonOut& out) {
  out.begin_object()
      .number("instances_running", value.instances_running)
      .number("instances_completed", value.instances_completed)
      .number("instances_failed", value.instances_failed)
      .number("instances_stopped", value.instances_stopped)
      .number("instances_suspended", value.instances_suspended)
      .number("executions", value.executions)
      .number("events", value.events)
      .number("messages_waiting", value.messages_waiting)
      .number("unread_messages", value.unread_messages)
      .number("timers_waiting", value.timers_waiting)
      .number("activities_ready", value.activities_ready)
      .number("activities_running", value.activities_running)
      .number("activities_delayed", value.activities_delayed)
      .number("sessions_waiting", value.sessions_waiting)
      .number("sessions_active", value.sessions_active)
      .number("sessions_idle", value.sessions_idle)
      .number("sessions_lost", value.sessions_lost)
      .number("sessions_created", value.sessions_created)
      .number("sessions_ended", static_cast<std::int64_t>(value.session_ends.ended));
  put_histogram("sessions_lasted_ms", SessionEnds::kLastedUpToMs, value.session_ends.lasted_ms,
                out);
  put_histogram("sessions_activities", SessionEnds::kActivitiesUpTo, value.session_ends.activities,
                out);
  out.number("used_bytes", value.used_bytes)
      .number("log_bytes", value.log_bytes)
      .number("quota_bytes", value.quota_bytes)
      .flag("refuses_new", value.refuses_new)
      .flag("complete", value.complete)
      .end_object();
}

void write_json(const HistoryEvent& value, JsonOut& out) {
  out.begin_object()
      .number("id", value.id)
      .text("kind", value.kind)
      .number("time_ms", value.time_ms);
  put_number_unless_0("branch", value.branch, out);
  put_number_unless_0("ordinal", value.ordinal, out);
  put_number_unless_0("ref", value.ref, out);
  put_number_unless_0("number", value.number, out);
  put_error(value.error, out);
  out.text_unless_empty("name", value.name)
      .text_unless_empty("session", value.session)
      .text_unless_empty("tag", value.tag)
      .text_unless_empty("version", value.version)
      .text_unless_empty("payload", value.payload)
      .end_object();
}

Status export_history(Client& client, std::string_view id, std::int64_t execution_id,
                      TextSink& sink) {
  JsonLines lines(sink);
  PAWL_TRY(client.read_history(id, execution_id, lines));
  return lines.ok() ? Status::kOk : Status::kIo;
}

}  // namespace pawl

#include "parts/c_api/c_client.hpp"

#include <memory>
#include <new>

#include "pawl/progress.hpp"

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::Status;

struct pawl_watch {
  pawl::ProgressWatch watch;
};

Status pawl_client::open(const pawl::ClientOptions& options, pawl_host* of, pawl::Diagnostic& why) {
  const std::size_t bytes = pawl::Client::required_memory(options);
  pawl::ProcessOptions alone;
  alone.connections_max = 1;
  if (bytes == 0 || !for_client.take(bytes) ||
      (of == nullptr && !for_sqlite.take(pawl::Process::required_memory(alone)))) {
    why.format("options that are not valid, or no memory");
    return bytes == 0 ? Status::kInvalidOptions : Status::kResourceExhausted;
  }
  if (of == nullptr) PAWL_TRY(process.start(alone, for_sqlite.data(), for_sqlite.bytes(), why));
  PAWL_TRY(client.open(of == nullptr ? process : *process_of(of), options, port.port(),
                       for_client.data(), for_client.bytes(), why));
  host = of;
  if (host != nullptr) host->clients.fetch_add(1, std::memory_order_relaxed);
  return Status::kOk;
}

pawl_status pawl_client::keep(Status status) {
  const bool failed = status != Status::kOk && status != Status::kTimeout;
  if (failed) {
    const std::string_view text = client.error_text();
    error.set(text.empty() ? pawl::status_name(status) : text);
  }
  return status_of(status);
}

pawl_status pawl_client::refuse(Status status) {
  error.set(text_of_refusal(status));
  return status_of(status);
}

namespace pawl::c_api {

bool take_for(pawl_client* client, const Layout& layout, const void* given, void* out,
              pawl_status* refused) {
  const Status status = take_options(layout, given, out);
  if (status != Status::kOk) *refused = client->refuse(status);
  return status == Status::kOk;
}

pawl_status call_with(pawl_client* client, Status (Client::*call)(std::string_view),
                      const char* text) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep((client->client.*call)(name_of(text)));
}
pawl_status call_with(pawl_client* client,
                      Status (Client::*call)(std::string_view, std::string_view), const char* text,
                      const char* second) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep((client->client.*call)(name_of(text), name_of(second)));
}

pawl_status over_page(pawl_client* client, pawl_page* page, const CallOf<Status(Page*)>& call) {
  if (client == nullptr || page == nullptr) return PAWL_INVALID_ARGUMENT;
  Page of;
  of.after = page->after;
  of.rows_max = page->rows_max;
  const Status status = call(&of);
  page->after = of.after;
  page->more = of.more ? 1 : 0;
  return client->keep(status);
}

ShownRows::ShownRows(Visit visit, void* user) : visit_(visit), user_(user) {}
template <typename C>
void ShownRows::show(const typename StructOf<C>::Cpp& row) {
  C shown;
  fill(StructOf<C>::kLayout, &row, &shown);
  reinterpret_cast<void (*)(void*, const C*)>(visit_)(user_, &shown);
}
void ShownRows::fill(const Layout& layout, const void* row, void* shown) {
  const std::size_t bytes = layout.bytes;
  std::memcpy(shown, &bytes, sizeof bytes);
  from_cpp(layout, row, shown, bytes);
}
void ShownRows::on_instance(const InstanceInfo& row) noexcept { show<pawl_instance_info>(row); }
void ShownRows::on_execution(const ExecutionInfo& row) noexcept { show<pawl_execution_info>(row); }
void ShownRows::on_activity(const ActivityInfo& row) noexcept { show<pawl_activity_info>(row); }
void ShownRows::on_cause(const Cause& row) noexcept { show<pawl_cause>(row); }
void ShownRows::on_work(const WorkInfo& row) noexcept { show<pawl_work_info>(row); }
void ShownRows::on_message(const MessageInfo& row) noexcept { show<pawl_message_info>(row); }
void ShownRows::on_event(const HistoryEvent& row) noexcept { show<pawl_history_event>(row); }
void ShownRows::on_worker(const WorkerInfo& row) noexcept { show<pawl_worker_info>(row); }
void ShownRows::on_session(const SessionInfo& row) noexcept { show<pawl_session_info>(row); }

pawl_status list(pawl_client* client, pawl_page* page, ShownRows::Visit visit, void* user,
                 const CallOf<Status(Page*, ShownRows&)>& call) {
  if (visit == nullptr) return PAWL_INVALID_ARGUMENT;
  ShownRows rows(visit, user);
  return over_page(client, page, [&](Page* of) { return call(of, rows); });
}
pawl_status list_of(pawl_client* client, const char* id, pawl_page* page, ShownRows::Visit visit,
                    void* user, Status (*call)(Client&, std::string_view, Page*, ShownRows&)) {
  return list(client, page, visit, user, [&](Page* of, ShownRows& rows) {
    return call(client->client, name_of(id), of, rows);
  });
}
pawl_status list_of(pawl_client* client, const char* id, ShownRows::Visit visit, void* user,
                    Status (*call)(Client&, std::string_view, ShownRows&)) {
  pawl_page all = {0, 1, 0};
  return list(client, &all, visit, user,
              [&](Page*, ShownRows& rows) { return call(client->client, name_of(id), rows); });
}

}  // namespace pawl::c_api

namespace {

// Whether a status came with the state of the instance.
bool has_state(Status status) {
  return status == Status::kOk || status == Status::kTimeout || status == Status::kStale;
}

// Reads a state by a call, and fills the answer; a text may be too long for its buffer.
using ReadStatus = Status (*)(pawl::Client&, std::string_view, std::int64_t timeout_ms,
                              std::int64_t last_version, pawl::OrchestrationStatus*);
pawl_status read_status(pawl_client* client, const char* id, pawl_instance_status* out,
                        pawl_buffer* output, pawl_buffer* custom_status, ReadStatus call,
                        std::int64_t timeout_ms = 0, std::int64_t last_version = 0) {
  if (client == nullptr || !has_room(StructOf<pawl_instance_status>::kLayout, out))
    return PAWL_INVALID_ARGUMENT;
  pawl::OrchestrationStatus from;
  const Status status = call(client->client, name_of(id), timeout_ms, last_version, &from);
  if (!has_state(status)) return client->keep(status);
  from_cpp(StructOf<pawl_instance_status>::kLayout, &from, out);
  const bool has_output = copy_text(from.output, output);
  const bool has_custom_status = copy_text(from.custom_status, custom_status);
  if (has_output && has_custom_status) return client->keep(status);
  client->error.set("a buffer is too small for the text");
  return PAWL_RESOURCE_EXHAUSTED;
}

// Reads a value by a call.
using ReadValue = Status (*)(pawl::Client&, std::string_view, std::string_view,
                             std::int64_t timeout_ms, pawl::KvEntry*);
pawl_status read_value(pawl_client* client, const char* id, const char* key, pawl_buffer* out,
                       ReadValue call, std::int64_t timeout_ms = 0) {
  if (client == nullptr || out == nullptr) return PAWL_INVALID_ARGUMENT;
  out->size = 0;
  pawl::KvEntry entry;
  const Status status = call(client->client, name_of(id), name_of(key), timeout_ms, &entry);
  if (status == Status::kOk && !copy_text(entry.value, out)) {
    client->error.set("a buffer is too small for the text");
    return PAWL_RESOURCE_EXHAUSTED;
  }
  return client->keep(status);
}

using Send = Status (pawl::Client::*)(std::string_view, std::string_view, std::string_view,
                                      const pawl::SendOptions&);

// Sends a message, with options that may be null.
pawl_status send(pawl_client* client, Send call, const char* id, const char* name,
                 const void* payload, size_t size, const pawl_send_options* options) {
  if (client == nullptr || !is_bytes(payload, size)) return PAWL_INVALID_ARGUMENT;
  pawl::SendOptions taken;
  const Status refused = take_send_options(options, &taken);
  if (refused != Status::kOk) return client->refuse(refused);
  return client->keep(
      (client->client.*call)(name_of(id), name_of(name), bytes_of(payload, size), taken));
}

// Makes a call about the activity that has a token.
pawl_status by_token(pawl_client* client,
                     Status (pawl::Client::*call)(std::string_view, std::string_view),
                     const char* token, const void* bytes, size_t size) {
  if (client == nullptr || !is_bytes(bytes, size)) return PAWL_INVALID_ARGUMENT;
  return client->keep((client->client.*call)(name_of(token), bytes_of(bytes, size)));
}

}  // namespace

pawl_status pawl_client_open(const pawl_client_options* options, pawl_host* host, pawl_client** out,
                             pawl_buffer* why) {
  if (why != nullptr) why->size = 0;
  if (out == nullptr) return PAWL_INVALID_ARGUMENT;
  *out = nullptr;
  pawl::ClientOptions taken;
  pawl_client_options given;
  const Layout& layout = StructOf<pawl_client_options>::kLayout;
  Status refused = take(layout, options, &given);
  if (refused == Status::kOk && !to_cpp(layout, &given, &taken)) refused = Status::kInvalidArgument;
  if (refused != Status::kOk) {
    static_cast<void>(copy_text(text_of_refusal(refused), why));
    return status_of(refused);
  }
  if (taken.database_path.empty()) return PAWL_INVALID_ARGUMENT;
  if (host != nullptr && process_of(host) == nullptr) return PAWL_STALE;
  std::unique_ptr<pawl_client> client(new (std::nothrow) pawl_client);
  if (client == nullptr) return PAWL_RESOURCE_EXHAUSTED;
  pawl::Diagnostic text;
  taken.database = take_database(given.database, &client->database);
  const Status status = client->open(taken, host, text);
  if (status == Status::kOk) *out = client.release();
  if (status != Status::kOk) static_cast<void>(copy_text(text.text(), why));
  return status_of(status);
}
void pawl_client_close(pawl_client* client) { delete client; }
const char* pawl_client_error(pawl_client* client) {
  return client == nullptr ? "there is no client" : client->error.c_str();
}

// ---- start and send ----

pawl_status pawl_client_start(pawl_client* client, const char* name, const char* id,
                              const void* input, size_t size, const pawl_start_options* options) {
  if (client == nullptr || !is_bytes(input, size)) return PAWL_INVALID_ARGUMENT;
  pawl::StartOptions taken;
  pawl_status refused = PAWL_OK;
  if (!take_for(client, options, &taken, &refused)) return refused;
  return client->keep(client->client.start_orchestration(
      name_of(name), pawl::InstanceId(name_of(id)), bytes_of(input, size), taken));
}
pawl_status pawl_client_raise_event(pawl_client* client, const char* id, const char* event,
                                    const void* payload, size_t size,
                                    const pawl_send_options* options) {
  return send(client, &pawl::Client::raise_event, id, event, payload, size, options);
}
pawl_status pawl_client_enqueue(pawl_client* client, const char* id, const char* queue,
                                const void* payload, size_t size,
                                const pawl_send_options* options) {
  return send(client, &pawl::Client::enqueue_event, id, queue, payload, size, options);
}
pawl_status pawl_client_call(pawl_client* client, const char* id, const char* queue,
                             const void* payload, size_t size, int64_t timeout_ms,
                             const pawl_send_options* options, int* error, pawl_buffer* answer,
                             pawl_buffer* key) {
  if (client == nullptr || error == nullptr || answer == nullptr || !is_bytes(payload, size))
    return PAWL_INVALID_ARGUMENT;
  pawl::SendOptions taken;
  const Status refused = take_send_options(options, &taken);
  if (refused != Status::kOk) return client->refuse(refused);
  pawl::CallAnswer from;
  const Status status = client->client.call(name_of(id), name_of(queue), bytes_of(payload, size),
                                            ms_of(timeout_ms), &from, taken);
  *error = static_cast<int>(from.error);
  answer->size = 0;
  const bool has_key = copy_text(from.key.view(), key);
  const bool has_answer = status != Status::kOk || copy_text(from.value, answer);
  if (has_key && has_answer) return client->keep(status);
  client->error.set("a buffer is too small for the text");
  return PAWL_RESOURCE_EXHAUSTED;
}
pawl_status pawl_client_offer_event(pawl_client* client, const char* id, const char* event,
                                    const void* payload, size_t size, int64_t timeout_ms,
                                    int* received) {
  if (client == nullptr || received == nullptr || !is_bytes(payload, size))
    return PAWL_INVALID_ARGUMENT;
  bool was_received = false;
  const Status status = client->client.offer_event(
      name_of(id), name_of(event), bytes_of(payload, size), ms_of(timeout_ms), &was_received);
  *received = was_received ? 1 : 0;
  return client->keep(status);
}
pawl_status pawl_client_cancel(pawl_client* client, const char* id, const char* reason) {
  return call_with(client, &pawl::Client::cancel_instance, id, reason);
}

// ---- completed from outside ----

pawl_status pawl_client_complete_activity(pawl_client* client, const char* token,
                                          const void* result, size_t size) {
  return by_token(client, &pawl::Client::complete_activity, token, result, size);
}
pawl_status pawl_client_fail_activity(pawl_client* client, const char* token, const char* text,
                                      int permanent) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep(client->client.fail_activity(name_of(token), name_of(text), permanent != 0));
}
pawl_status pawl_client_heartbeat_activity(pawl_client* client, const char* token,
                                           const void* progress, size_t size) {
  return by_token(client, &pawl::Client::heartbeat_activity, token, progress, size);
}

// ---- watch ----

pawl_status pawl_client_get_status(pawl_client* client, const char* id, pawl_instance_status* out,
                                   pawl_buffer* output, pawl_buffer* custom_status) {
  return read_status(
      client, id, out, output, custom_status,
      [](pawl::Client& of, std::string_view instance, std::int64_t, std::int64_t,
         pawl::OrchestrationStatus* status) { return of.get_status(instance, status); });
}
pawl_status pawl_client_wait(pawl_client* client, const char* id, int64_t timeout_ms,
                             pawl_instance_status* out, pawl_buffer* output) {
  return read_status(
      client, id, out, output, nullptr,
      [](pawl::Client& of, std::string_view instance, std::int64_t timeout, std::int64_t,
         pawl::OrchestrationStatus* status) {
        return of.wait_for_orchestration(instance, ms_of(timeout), status);
      },
      timeout_ms);
}
pawl_status pawl_client_wait_status_change(pawl_client* client, const char* id,
                                           int64_t last_version, int64_t timeout_ms,
                                           pawl_instance_status* out, pawl_buffer* custom_status) {
  return read_status(
      client, id, out, nullptr, custom_status,
      [](pawl::Client& of, std::string_view instance, std::int64_t timeout, std::int64_t last,
         pawl::OrchestrationStatus* status) {
        return of.wait_for_status_change(instance, last, ms_of(timeout), status);
      },
      timeout_ms, last_version);
}

pawl_status pawl_watch_open(pawl_watch** out) {
  if (out == nullptr) return PAWL_INVALID_ARGUMENT;
  *out = new (std::nothrow) pawl_watch;
  return *out == nullptr ? PAWL_RESOURCE_EXHAUSTED : PAWL_OK;
}
void pawl_watch_close(pawl_watch* watch) { delete watch; }
pawl_status pawl_client_watch_progress(pawl_client* client, const char* id, int64_t timeout_ms,
                                       pawl_watch* watch, pawl_progress* out) {
  if (client == nullptr || watch == nullptr || !has_room(StructOf<pawl_progress>::kLayout, out))
    return PAWL_INVALID_ARGUMENT;
  const Status status =
      client->client.watch_progress(name_of(id), ms_of(timeout_ms), &watch->watch);
  if (status == Status::kOk) {
    const pawl::ProgressUpdate& update = watch->watch.update();
    const ProgressRow shown = {update.execution_id, update.activity_id, update.attempt,
                               update.number, update.text()};
    from_cpp(StructOf<pawl_progress>::kLayout, &shown, out);
  }
  return client->keep(status);
}

// ---- values ----

pawl_status pawl_client_get_value(pawl_client* client, const char* id, const char* key,
                                  pawl_buffer* out) {
  return read_value(client, id, key, out,
                    [](pawl::Client& of, std::string_view instance, std::string_view name,
                       std::int64_t, pawl::KvEntry* entry) {
                      bool found = false;
                      const Status status = of.get_kv_value(instance, name, entry, &found);
                      return status == Status::kOk && !found ? Status::kNotFound : status;
                    });
}
pawl_status pawl_client_wait_value(pawl_client* client, const char* id, const char* key,
                                   int64_t timeout_ms, pawl_buffer* out) {
  return read_value(
      client, id, key, out,
      [](pawl::Client& of, std::string_view instance, std::string_view name, std::int64_t timeout,
         pawl::KvEntry* entry) {
        return of.wait_for_kv_value(instance, name, ms_of(timeout), entry);
      },
      timeout_ms);
}
pawl_status pawl_client_list_values(pawl_client* client, const char* id, const char* after_key,
                                    size_t rows_max, int* more, pawl_value_fn visit, void* user) {
  if (client == nullptr || more == nullptr || visit == nullptr) return PAWL_INVALID_ARGUMENT;
  pawl::KvPage page;
  page.rows_max = rows_max;
  page.move_behind(name_of(after_key));
  auto visitor = pawl::visit([visit, user](const pawl::KvEntry& entry) {
    const pawl_value value = {text_of(entry.key), text_of(entry.value), entry.updated_ms};
    visit(user, &value);
  });
  const Status status = client->client.get_all_kv_values(name_of(id), &page, visitor);
  *more = page.more ? 1 : 0;
  return client->keep(status);
}

#include <chrono>
#include <memory>
#include <new>

#include "parts/c_api/c_host.hpp"
#include "parts/host/heap_block.hpp"
#include "pawl/client.hpp"
#include "pawl/visit.hpp"

namespace pawl::c_api {
namespace {

void fill(const OrchestrationStatus& from, pawl_instance_status* out) {
  out->state = static_cast<pawl_state>(from.state);
  out->error = static_cast<int>(from.error);
  out->execution_id = from.execution_id;
  out->created_ms = from.created_ms;
  out->updated_ms = from.updated_ms;
  out->custom_status_version = from.custom_status_version;
  out->unread_messages = from.unread_messages;
}

static_assert(static_cast<int>(OrchestrationState::kStopped) == PAWL_STOPPED_STATE &&
              static_cast<int>(OrchestrationState::kSuspended) == PAWL_SUSPENDED &&
              static_cast<int>(OrchestrationState::kFailed) == PAWL_FAILED);

ClientOptions client_options(const pawl_client_options& given) {
  ClientOptions options;
  options.database_path = given.database_path;
  options.create = given.create != 0;
  options.payload_bytes_max = given.payload_bytes_max;
  options.queue_messages_max = given.queue_messages_max;
  options.busy_max = std::chrono::milliseconds(given.busy_max_ms);
  return options;
}

}  // namespace

bool take_start_options(const pawl_start_options* given, StartOptions* out) {
  pawl_start_options known;
  pawl_start_options_init(&known);
  if (given == nullptr || !take_options(*given, &known, sizeof known)) return false;
  if (known.version != nullptr) out->version = Name(known.version);
  out->start_after = std::chrono::milliseconds(known.start_after_ms);
  out->trace_id = Name(name_of(known.trace_id));
  return true;
}

}  // namespace pawl::c_api

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::Status;

// Members end in reverse order: the client first, the memory it lies in last.
struct pawl_client {
  ~pawl_client() {
    client.close();
    if (process.stop() == Status::kBusy) for_sqlite.leave();
    if (host != nullptr) host->clients.fetch_sub(1, std::memory_order_release);
  }
  Status open(const pawl::ClientOptions& options, pawl_host* of, pawl::Diagnostic& why);
  pawl_status keep(Status status) {
    const bool failed = status != Status::kOk && status != Status::kTimeout;
    if (failed) {
      const std::string_view text = client.error_text();
      error.set(text.empty() ? pawl::status_name(status) : text);
    }
    return status_of(status);
  }

  pawl::posix::SystemPort port;
  pawl_host* host = nullptr;  // null: the client has a process of its own
  pawl::HeapBlock for_sqlite;
  pawl::HeapBlock for_client;
  pawl::Process process;
  pawl::Client client;
  LastError error;
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

namespace {

// Fills the answer; a text may be too long for its buffer.
pawl_status answer(pawl_client* client, Status status, const pawl::OrchestrationStatus& from,
                   pawl_instance_status* out, pawl_buffer* output, pawl_buffer* custom_status) {
  if (status != Status::kOk && status != Status::kTimeout) return client->keep(status);
  pawl_instance_status all = {};
  fill(from, &all);
  all.size = out->size;
  std::memcpy(out, &all, out->size);
  const bool has_output = copy_text(from.output, output);
  const bool has_custom_status = copy_text(from.custom_status, custom_status);
  if (has_output && has_custom_status) return client->keep(status);
  client->error.set("a buffer is too small for the text");
  return PAWL_RESOURCE_EXHAUSTED;
}

bool is_known(const pawl_instance_status* out) {
  return out != nullptr && out->size == sizeof(pawl_instance_status);
}

}  // namespace

void pawl_client_options_init(pawl_client_options* options) {
  if (options == nullptr) return;
  const pawl::ClientOptions defaults;
  *options = {};
  options->size = sizeof *options;
  options->create = defaults.create ? 1 : 0;
  options->payload_bytes_max = static_cast<uint32_t>(defaults.payload_bytes_max);
  options->queue_messages_max = defaults.queue_messages_max;
  options->busy_max_ms = defaults.busy_max.count();
}

pawl_status pawl_client_open(const pawl_client_options* options, pawl_host* host, pawl_client** out,
                             pawl_buffer* why) {
  if (why != nullptr) why->size = 0;
  if (out == nullptr) return PAWL_INVALID_ARGUMENT;
  *out = nullptr;
  pawl_client_options given;
  pawl_client_options_init(&given);
  if (options == nullptr || !take_options(*options, &given, sizeof given) ||
      given.database_path == nullptr)
    return PAWL_INVALID_ARGUMENT;
  if (host != nullptr && process_of(host) == nullptr) return PAWL_STALE;
  std::unique_ptr<pawl_client> client(new (std::nothrow) pawl_client);
  if (client == nullptr) return PAWL_RESOURCE_EXHAUSTED;
  pawl::Diagnostic text;
  const Status status = client->open(client_options(given), host, text);
  if (status == Status::kOk) *out = client.release();
  if (status != Status::kOk) static_cast<void>(copy_text(text.text(), why));
  return status_of(status);
}
void pawl_client_close(pawl_client* client) { delete client; }
const char* pawl_client_error(pawl_client* client) {
  return client == nullptr ? "there is no client" : client->error.c_str();
}

void pawl_start_options_init(pawl_start_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->size = sizeof *options;
}

pawl_status pawl_client_start(pawl_client* client, const char* name, const char* id,
                              const char* version, const void* input, size_t size) {
  pawl_start_options options;
  pawl_start_options_init(&options);
  options.version = version;
  return pawl_client_start_with(client, name, id, input, size, &options);
}
pawl_status pawl_client_start_with(pawl_client* client, const char* name, const char* id,
                                   const void* input, size_t size,
                                   const pawl_start_options* options) {
  pawl::StartOptions how;
  if (client == nullptr || !is_bytes(input, size) || !take_start_options(options, &how))
    return PAWL_INVALID_ARGUMENT;
  return client->keep(client->client.start_orchestration(
      name_of(name), pawl::InstanceId(name_of(id)), bytes_of(input, size), how));
}
pawl_status pawl_client_cancel(pawl_client* client, const char* id, const char* reason) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep(client->client.cancel_instance(name_of(id), name_of(reason)));
}
pawl_status pawl_client_raise_event(pawl_client* client, const char* id, const char* event,
                                    const void* payload, size_t size) {
  if (client == nullptr || !is_bytes(payload, size)) return PAWL_INVALID_ARGUMENT;
  return client->keep(
      client->client.raise_event(name_of(id), name_of(event), bytes_of(payload, size)));
}
pawl_status pawl_client_enqueue(pawl_client* client, const char* id, const char* queue,
                                const void* payload, size_t size) {
  if (client == nullptr || !is_bytes(payload, size)) return PAWL_INVALID_ARGUMENT;
  return client->keep(
      client->client.enqueue_event(name_of(id), name_of(queue), bytes_of(payload, size)));
}
pawl_status pawl_client_get_status(pawl_client* client, const char* id, pawl_instance_status* out,
                                   pawl_buffer* output, pawl_buffer* custom_status) {
  if (client == nullptr || !is_known(out)) return PAWL_INVALID_ARGUMENT;
  pawl::OrchestrationStatus status;
  const Status read = client->client.get_status(name_of(id), &status);
  return answer(client, read, status, out, output, custom_status);
}
pawl_status pawl_client_wait(pawl_client* client, const char* id, int64_t timeout_ms,
                             pawl_instance_status* out, pawl_buffer* output) {
  if (client == nullptr || !is_known(out)) return PAWL_INVALID_ARGUMENT;
  pawl::OrchestrationStatus status;
  const Status waited = client->client.wait_for_orchestration(
      name_of(id), std::chrono::milliseconds(timeout_ms), &status);
  return answer(client, waited, status, out, output, nullptr);
}
pawl_status pawl_client_get_value(pawl_client* client, const char* id, const char* key,
                                  pawl_buffer* out) {
  if (client == nullptr || out == nullptr) return PAWL_INVALID_ARGUMENT;
  out->size = 0;
  pawl::KvEntry entry;
  bool found = false;
  Status status = client->client.get_kv_value(name_of(id), name_of(key), &entry, &found);
  if (status == Status::kOk && !found) status = Status::kNotFound;
  if (status == Status::kOk && !copy_text(entry.value, out)) status = Status::kResourceExhausted;
  return client->keep(status);
}
pawl_status pawl_client_delete(pawl_client* client, const char* id, int force) {
  if (client == nullptr) return PAWL_INVALID_ARGUMENT;
  return client->keep(client->client.delete_instance(name_of(id), force != 0));
}
pawl_status pawl_client_list(pawl_client* client, const char* prefix, size_t rows_max,
                             int64_t* after, int* more, pawl_instance_fn visit, void* user) {
  if (client == nullptr || after == nullptr || more == nullptr || visit == nullptr)
    return PAWL_INVALID_ARGUMENT;
  pawl::InstanceFilter filter;
  filter.id_prefix = pawl::Name(name_of(prefix));
  pawl::Page page;
  page.after = *after;
  page.rows_max = rows_max;
  auto lister = pawl::visit([visit, user](const pawl::InstanceInfo& instance) {
    const pawl_instance_info info = {text_of(instance.id),
                                     text_of(instance.name),
                                     text_of(instance.version),
                                     text_of(instance.parent_id),
                                     static_cast<pawl_state>(instance.state),
                                     instance.execution_id,
                                     instance.created_ms,
                                     instance.updated_ms,
                                     text_of(instance.trace_id),
                                     instance.unread_messages};
    visit(user, &info);
  });
  const Status status = client->client.list_instances(filter, &page, lister);
  *after = page.after;
  *more = page.more ? 1 : 0;
  return client->keep(status);
}

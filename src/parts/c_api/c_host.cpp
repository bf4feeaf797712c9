#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <new>

#include "parts/c_api/c_host.hpp"

namespace pawl::c_api {

void CallbackLog::write(LogLevel level, std::string_view event, const LogField* fields,
                        std::size_t count) noexcept {
  char line[kLineBytesMax];
  std::size_t size = 0;
  const auto add = [&](std::string_view text) {
    const std::size_t room = sizeof line - size;
    const std::size_t taken = text.size() < room ? text.size() : room;
    // Bytes that a terminal obeys, or that end the line, are replaced.
    for (std::size_t i = 0; i < taken; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      line[size + i] = byte < 0x20 || byte == 0x7f ? '?' : text[i];
    }
    size += taken;
  };
  add(event);
  for (std::size_t i = 0; i < count; ++i) {
    add(" ");
    add(fields[i].key);
    add("=");
    char digits[24];
    const int length =
        std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(fields[i].number));
    add(fields[i].is_number ? std::string_view(digits, static_cast<std::size_t>(length))
                            : fields[i].text);
  }
  function_(user_, static_cast<int>(level), line, size);
}

Process* process_of(pawl_host* host) { return host->is_started ? &host->host.process() : nullptr; }

namespace {

std::chrono::milliseconds ms(std::int64_t count) { return std::chrono::milliseconds(count); }

void fill(const Options& from, pawl_host_options* options, bool small) {
  const HostOptions defaults;
  *options = {};
  options->size = sizeof *options;
  options->run_orchestrations = 1;
  options->small = small ? 1 : 0;
  options->clients_max = 1;
  options->grace_ms = defaults.grace.count();
  options->threads = from.slots.threads;
  options->payload_bytes_max = static_cast<std::uint32_t>(from.limits.payload_bytes_max);
  options->history_events_max = from.limits.history_events_max;
  options->wall_trust = PAWL_TRUST_KERNEL;
}

static_assert(static_cast<int>(posix::WallTrust::kKernel) == PAWL_TRUST_KERNEL &&
              static_cast<int>(posix::WallTrust::kAlways) == PAWL_TRUST_ALWAYS &&
              static_cast<int>(posix::WallTrust::kNever) == PAWL_TRUST_NEVER);

constexpr std::uint32_t kClientsMax = 31;

bool is_valid(const pawl_host_options& given) {
  return given.database_path != nullptr && given.clients_max <= kClientsMax &&
         given.grace_ms >= 0 &&
         (given.wall_trust == PAWL_TRUST_KERNEL || given.wall_trust == PAWL_TRUST_ALWAYS ||
          given.wall_trust == PAWL_TRUST_NEVER);
}

HostOptions host_options(const pawl_host_options& given) {
  HostOptions options;
  if (given.small != 0) {
    options.runtime = Options::small();
    options.process = ProcessOptions::small();
  }
  options.runtime.database_path = given.database_path;
  if (given.worker_node_id != nullptr) options.runtime.worker_node_id = Name(given.worker_node_id);
  options.runtime.run_orchestrations = given.run_orchestrations != 0;
  options.runtime.slots.threads = given.threads;
  options.runtime.limits.payload_bytes_max = given.payload_bytes_max;
  options.runtime.limits.history_events_max = given.history_events_max;
  options.process.connections_max = 1 + given.clients_max;
  options.process.page_cache_pages +=
      static_cast<int>(given.clients_max) * ClientOptions().cache_pages;
  if (options.process.payload_bytes_max < given.payload_bytes_max)
    options.process.payload_bytes_max = given.payload_bytes_max;
  options.port.wall_trust = static_cast<posix::WallTrust>(given.wall_trust);
  options.catch_signals = given.catch_signals != 0;
  options.grace = ms(given.grace_ms);
  return options;
}

// A registration keeps its name, so there must be one.
Status may_register(const pawl_host* host, const char* name, bool has_function) {
  if (host == nullptr || name == nullptr || !has_function) return Status::kInvalidArgument;
  return host->is_started ? Status::kStale : Status::kOk;
}

}  // namespace

// Frees the entry before it calls the function, which may make a new call.
void AnswerPool::pass_on(void* of, Status status) noexcept {
  Asked& asked = *static_cast<Asked*>(of);
  const pawl_answer_fn answer = asked.answer;
  void* const user = asked.user;
  asked.answer = nullptr;
  answer(user, status_of(status));
}

AnswerPool::Asked* AnswerPool::take(pawl_answer_fn answer, void* user) {
  for (std::size_t i = 0; i < count_; ++i) {
    if (asked_[i].answer != nullptr) continue;
    asked_[i] = {answer, user};
    return &asked_[i];
  }
  return nullptr;
}

}  // namespace pawl::c_api

using namespace pawl::c_api;  // NOLINT(google-build-using-namespace)
using pawl::Status;

namespace {

// Makes a piggybacked call, whose answer goes to a C function.
template <typename Call>
pawl_status ask(pawl_host* host, pawl_answer_fn answer, void* user, const Call& call) {
  if (!host->is_started) return PAWL_STOPPED;
  if (answer == nullptr) return host->keep(call(nullptr, nullptr));
  AnswerPool::Asked* const asked = host->answers.take(answer, user);
  if (asked == nullptr) return host->keep(Status::kResourceExhausted);
  const Status status = call(AnswerPool::pass_on, asked);
  if (status != Status::kOk) asked->answer = nullptr;
  return host->keep(status);
}

}  // namespace

// A C program may pass any number, and a C++ sanitizer stops when it is read as an enumeration.
__attribute__((no_sanitize("enum"))) const char* pawl_status_name(pawl_status status) {
  static_assert(static_cast<int>(Status::kKeyReused) == PAWL_KEY_REUSED &&
                static_cast<int>(Status::kException) == PAWL_EXCEPTION &&
                static_cast<int>(Status::kBusy) == PAWL_BUSY &&
                static_cast<int>(Status::kNodeIdInUse) == PAWL_NODE_ID_IN_USE &&
                static_cast<int>(Status::kStopped) == PAWL_STOPPED &&
                static_cast<int>(Status::kQuota) == PAWL_QUOTA);
  const auto number = static_cast<unsigned>(status);
  constexpr unsigned kNumbers = 256;  // Status values; some have no name
  if (number >= kNumbers) return "unknown";
  return pawl::status_name(static_cast<Status>(number));
}
const char* pawl_error_name(int error) {
  using pawl::ErrorKind;
  static_assert(static_cast<int>(ErrorKind::kClosed) == PAWL_ERROR_CLOSED &&
                static_cast<int>(ErrorKind::kLimit) == PAWL_ERROR_LIMIT &&
                static_cast<int>(ErrorKind::kSessionLost) == PAWL_ERROR_SESSION_LOST &&
                static_cast<int>(ErrorKind::kInvalidArgument) == PAWL_ERROR_INVALID_ARGUMENT &&
                static_cast<int>(ErrorKind::kNotFound) == PAWL_ERROR_NOT_FOUND);
  if (error < 0 || error > static_cast<int>(ErrorKind::kBadPayload)) return "unknown";
  return pawl::error_kind_name(static_cast<ErrorKind>(error));
}

void pawl_host_options_init(pawl_host_options* options) {
  if (options != nullptr) fill(pawl::Options(), options, false);
}
void pawl_host_options_init_small(pawl_host_options* options) {
  if (options != nullptr) fill(pawl::Options::small(), options, true);
}

pawl_status pawl_host_open(const pawl_host_options* options, pawl_host** out) {
  if (out == nullptr) return PAWL_INVALID_ARGUMENT;
  *out = nullptr;
  pawl_host_options given;
  pawl_host_options_init(&given);
  if (options == nullptr || !take_options(*options, &given, sizeof given) || !is_valid(given))
    return PAWL_INVALID_ARGUMENT;
  std::unique_ptr<pawl_host> host(new (std::nothrow) pawl_host(host_options(given), given));
  if (host == nullptr || !host->answers.make(host->host.options().runtime.limits.requests_max))
    return PAWL_RESOURCE_EXHAUSTED;
  *out = host.release();
  return PAWL_OK;
}

pawl_status pawl_host_add_orchestration(pawl_host* host, const char* name, const char* version,
                                        pawl_orchestration_fn function, void* user) {
  Status status = may_register(host, name, function != nullptr);
  if (status == Status::kOk)
    status = host->host.registry().add_orchestration(
        name,
        pawl::OrchestrationCode(function_cast<pawl::Orchestration>(function), call_orchestration),
        version == nullptr ? "1.0.0" : version, user);
  return status_of(status);
}
pawl_status pawl_host_add_activity(pawl_host* host, const char* name, int mode,
                                   pawl_activity_fn function, void* user) {
  Status status = may_register(host, name, function != nullptr);
  if (mode != PAWL_INLINE && mode != PAWL_THREADED) return PAWL_INVALID_ARGUMENT;
  if (status == Status::kOk)
    status = host->host.registry().add_activity(
        name, pawl::ActivityCode(function_cast<pawl::Activity>(function), call_activity),
        mode == PAWL_INLINE ? pawl::ActivityMode::kInline : pawl::ActivityMode::kThreaded, user);
  return status_of(status);
}
pawl_status pawl_host_add_steps(pawl_host* host, const char* name, pawl_step_fn step, void* user) {
  Status status = may_register(host, name, step != nullptr);
  if (status != Status::kOk) return status_of(status);
  Steps* const steps = host->next_steps({step, user});
  if (steps == nullptr) return PAWL_RESOURCE_EXHAUSTED;
  status = host->host.registry().add_cooperative<StepState>(name, call_step, steps);
  if (status == Status::kOk) ++host->steps_count;
  return status_of(status);
}

pawl_status pawl_host_start(pawl_host* host) {
  if (host == nullptr) return PAWL_INVALID_ARGUMENT;
  const Status status = host->host.start();
  host->is_started = host->is_started || status == Status::kOk;
  return host->keep(status, host->host.error_text());
}

pawl_status pawl_host_run(pawl_host* host, int64_t limit_ms) {
  if (host == nullptr) return PAWL_INVALID_ARGUMENT;
  if (!host->is_started) return PAWL_STOPPED;
  constexpr std::int64_t kRoundMs = 86'400'000;
  Status status = Status::kTimeout;
  do {
    status = host->host.runtime().run_for(ms(limit_ms < 0 ? kRoundMs : limit_ms));
  } while (limit_ms < 0 && status == Status::kTimeout);
  return host->keep(status);
}
pawl_status pawl_host_tick(pawl_host* host, int64_t limit_ms, int* more) {
  if (host == nullptr || more == nullptr || limit_ms < 0) return PAWL_INVALID_ARGUMENT;
  *more = 0;
  if (!host->is_started) return PAWL_STOPPED;
  const pawl::Result<bool> ticked = host->host.runtime().tick(ms(limit_ms));
  if (ticked.ok()) *more = ticked.value() ? 1 : 0;
  return host->keep(ticked.status());
}
int pawl_host_fd(const pawl_host* host) {
  if (host == nullptr || !host->is_started) return -1;
  return const_cast<pawl_host*>(host)->host.runtime().fd();
}
int64_t pawl_host_next_due_ms(pawl_host* host) {
  if (host == nullptr || !host->is_started) return -1;
  const pawl::OptionalMs due = host->host.runtime().next_due();
  if (!due.has_value()) return -1;
  const std::int64_t now = host->host.clock().boot_ms();
  return due.value() > now ? due.value() - now : 0;
}
void pawl_host_request_stop(pawl_host* host) {
  if (host != nullptr && host->is_started) host->host.runtime().request_stop();
}
pawl_status pawl_host_stop(pawl_host* host) {
  if (host == nullptr) return PAWL_INVALID_ARGUMENT;
  return host->keep(host->host.stop(), host->host.error_text());
}
pawl_status pawl_host_close(pawl_host* host) {
  if (host == nullptr) return PAWL_OK;
  if (host->clients.load(std::memory_order_acquire) > 0) return PAWL_STILL_RUNNING;
  const Status status = host->host.stop();
  if (status != Status::kTimeout) delete host;
  return status_of(status);
}
const char* pawl_host_error(pawl_host* host) {
  return host == nullptr ? "there is no host" : host->error.c_str();
}

pawl_status pawl_host_start_orchestration(pawl_host* host, const char* name, const char* id,
                                          const void* input, size_t size, pawl_answer_fn answer,
                                          void* user) {
  pawl_start_options options;
  pawl_start_options_init(&options);
  return pawl_host_start_with(host, name, id, input, size, &options, answer, user);
}
pawl_status pawl_host_start_with(pawl_host* host, const char* name, const char* id,
                                 const void* input, size_t size, const pawl_start_options* options,
                                 pawl_answer_fn answer, void* user) {
  pawl::StartOptions how;
  if (host == nullptr || !is_bytes(input, size) || !take_start_options(options, &how))
    return PAWL_INVALID_ARGUMENT;
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().start_orchestration(name_of(name), pawl::InstanceId(name_of(id)),
                                                    bytes_of(input, size), how, pass_on, asked);
  });
}
pawl_status pawl_host_raise_event(pawl_host* host, const char* id, const char* event,
                                  const void* payload, size_t size, pawl_answer_fn answer,
                                  void* user) {
  if (host == nullptr || !is_bytes(payload, size)) return PAWL_INVALID_ARGUMENT;
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().raise_event(name_of(id), name_of(event), bytes_of(payload, size),
                                            pawl::SendOptions(), pass_on, asked);
  });
}
pawl_status pawl_host_cancel(pawl_host* host, const char* id, const char* reason,
                             pawl_answer_fn answer, void* user) {
  if (host == nullptr) return PAWL_INVALID_ARGUMENT;
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().cancel_instance(name_of(id), name_of(reason), pass_on, asked);
  });
}

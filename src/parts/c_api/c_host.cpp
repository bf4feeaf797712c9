#include <cstdio>
#include <memory>
#include <new>

#include "parts/c_api/c_host.hpp"
#include "parts/c_api/c_layouts.hpp"

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

const ServerDatabase* take_database(const pawl_server_database* given, ServerDatabase* copy) {
  if (given == nullptr) return nullptr;
  *copy = {static_cast<const StoreEngine*>(given->engine), name_of(given->address),
           name_of(given->schema)};
  return copy;
}
Process* process_of(pawl_host* host) { return host->is_started ? &host->host.process() : nullptr; }

namespace {

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
pawl_status ask(pawl_host* host, pawl_answer_fn answer, void* user,
                const CallOf<Status(pawl::Answer, void*)>& call) {
  if (host == nullptr) return PAWL_INVALID_ARGUMENT;
  if (!host->is_started) return PAWL_STOPPED;
  if (answer == nullptr) return host->keep(call(nullptr, nullptr));
  AnswerPool::Asked* const asked = host->answers.take(answer, user);
  if (asked == nullptr) return host->keep(Status::kResourceExhausted);
  const Status status = call(AnswerPool::pass_on, asked);
  if (status != Status::kOk) asked->answer = nullptr;
  return host->keep(status);
}

// Piggybacked calls with one text, and with two.
pawl_status ask_with(pawl_host* host,
                     Status (pawl::Runtime::*call)(std::string_view, pawl::Answer, void*),
                     const char* text, pawl_answer_fn answer, void* user) {
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return (host->host.runtime().*call)(name_of(text), pass_on, asked);
  });
}
pawl_status ask_with(pawl_host* host,
                     Status (pawl::Runtime::*call)(std::string_view, std::string_view, pawl::Answer,
                                                   void*),
                     const char* text, std::string_view second, pawl_answer_fn answer, void* user) {
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return (host->host.runtime().*call)(name_of(text), second, pass_on, asked);
  });
}

using Send = Status (pawl::Runtime::*)(std::string_view, std::string_view, std::string_view,
                                       const pawl::SendOptions&, pawl::Answer, void*);

// Sends a message, with options that may be null.
pawl_status send(pawl_host* host, Send call, const char* id, const char* name, const void* payload,
                 size_t size, const pawl_send_options* options, pawl_answer_fn answer, void* user) {
  if (host == nullptr || !is_bytes(payload, size)) return PAWL_INVALID_ARGUMENT;
  pawl::SendOptions taken;
  const Status refused = take_send_options(options, &taken);
  if (refused != Status::kOk) return host->keep(refused, text_of_refusal(refused));
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return (host->host.runtime().*call)(name_of(id), name_of(name), bytes_of(payload, size), taken,
                                        pass_on, asked);
  });
}

}  // namespace

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

pawl_status pawl_host_allow_complete_later(pawl_host* host, const char* name) {
  Status status = may_register(host, name, true);
  if (status == Status::kOk) status = host->host.registry().allow_complete_later(name);
  return status_of(status);
}
pawl_status pawl_host_set_default_version(pawl_host* host, const char* name, const char* version) {
  Status status = may_register(host, name, true);
  if (status == Status::kOk)
    status = host->host.registry().set_default_version(name, name_of(version));
  return status_of(status);
}

pawl_status pawl_host_set_time_limit(pawl_host* host, const char* name, int64_t limit_ms) {
  Status status = may_register(host, name, true);
  if (status != Status::kOk) return status_of(status);
  std::size_t at = 0;
  while (at < host->limits_count && host->limits[at].name != name)
    ++at;
  const std::size_t count = at == host->limits_count ? at + 1 : host->limits_count;
  const pawl::Registry::TimeLimit before = host->limits[at];
  host->limits[at] = {name, ms_of(limit_ms)};
  status = host->host.registry().set_time_limits(host->limits, count);
  if (status == Status::kOk) host->limits_count = count;
  if (status != Status::kOk) host->limits[at] = before;
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
    status = host->host.runtime().run_for(ms_of(limit_ms < 0 ? kRoundMs : limit_ms));
  } while (limit_ms < 0 && status == Status::kTimeout);
  return host->keep(status);
}
pawl_status pawl_host_tick(pawl_host* host, int64_t limit_ms, int* more) {
  if (host == nullptr || more == nullptr || limit_ms < 0) return PAWL_INVALID_ARGUMENT;
  *more = 0;
  if (!host->is_started) return PAWL_STOPPED;
  const pawl::Result<bool> ticked = host->host.runtime().tick(ms_of(limit_ms));
  if (ticked.ok()) *more = ticked.value() ? 1 : 0;
  return host->keep(ticked.status());
}
int pawl_host_fd(const pawl_host* host) {
  if (host == nullptr || !host->is_started) return -1;
  return host->host_of().runtime().fd();
}
int64_t pawl_host_next_due_ms(pawl_host* host) {
  if (host == nullptr || !host->is_started) return -1;
  const pawl::OptionalMs due = host->host.runtime().next_due();
  if (!due.has_value()) return -1;
  const std::int64_t now = host->host.clock().boot_ms();
  return due.value() > now ? due.value() - now : 0;
}
int pawl_host_is_ready(const pawl_host* host) {
  return host != nullptr && host->is_started && host->host_of().runtime().ready() ? 1 : 0;
}
pawl_text pawl_host_worker_id(const pawl_host* host) {
  if (host == nullptr || !host->is_started) return text_of({});
  return text_of(host->host_of().runtime().worker_id());
}
void pawl_host_wake(pawl_host* host) {
  if (host != nullptr && host->is_started) host->host.runtime().wake();
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

// ---- calls on the host's thread ----

pawl_status pawl_host_start_orchestration(pawl_host* host, const char* name, const char* id,
                                          const void* input, size_t size,
                                          const pawl_start_options* options, pawl_answer_fn answer,
                                          void* user) {
  if (host == nullptr || !is_bytes(input, size)) return PAWL_INVALID_ARGUMENT;
  pawl::StartOptions taken;
  const Status refused = take_options(options, &taken);
  if (refused != Status::kOk) return host->keep(refused, text_of_refusal(refused));
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().start_orchestration(name_of(name), pawl::InstanceId(name_of(id)),
                                                    bytes_of(input, size), taken, pass_on, asked);
  });
}
pawl_status pawl_host_raise_event(pawl_host* host, const char* id, const char* event,
                                  const void* payload, size_t size,
                                  const pawl_send_options* options, pawl_answer_fn answer,
                                  void* user) {
  return send(host, &pawl::Runtime::raise_event, id, event, payload, size, options, answer, user);
}
pawl_status pawl_host_enqueue(pawl_host* host, const char* id, const char* queue,
                              const void* payload, size_t size, const pawl_send_options* options,
                              pawl_answer_fn answer, void* user) {
  return send(host, &pawl::Runtime::enqueue_event, id, queue, payload, size, options, answer, user);
}
pawl_status pawl_host_cancel(pawl_host* host, const char* id, const char* reason,
                             pawl_answer_fn answer, void* user) {
  return ask_with(host, &pawl::Runtime::cancel_instance, id, name_of(reason), answer, user);
}
pawl_status pawl_host_terminate(pawl_host* host, const char* id, const char* reason,
                                pawl_answer_fn answer, void* user) {
  return ask_with(host, &pawl::Runtime::terminate_instance, id, name_of(reason), answer, user);
}
pawl_status pawl_host_suspend(pawl_host* host, const char* id, pawl_answer_fn answer, void* user) {
  return ask_with(host, &pawl::Runtime::suspend_instance, id, answer, user);
}
pawl_status pawl_host_resume(pawl_host* host, const char* id, pawl_answer_fn answer, void* user) {
  return ask_with(host, &pawl::Runtime::resume_instance, id, answer, user);
}
pawl_status pawl_host_change_time_limit(pawl_host* host, const char* id, int64_t limit_ms,
                                        pawl_answer_fn answer, void* user) {
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().change_time_limit(name_of(id), limit_of(limit_ms), pass_on, asked);
  });
}
pawl_status pawl_host_complete_activity(pawl_host* host, const char* token, const void* result,
                                        size_t size, pawl_answer_fn answer, void* user) {
  if (!is_bytes(result, size)) return PAWL_INVALID_ARGUMENT;
  return ask_with(host, &pawl::Runtime::complete_activity, token, bytes_of(result, size), answer,
                  user);
}
pawl_status pawl_host_fail_activity(pawl_host* host, const char* token, const char* text,
                                    int permanent, pawl_answer_fn answer, void* user) {
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().fail_activity(name_of(token), name_of(text), permanent != 0,
                                              pass_on, asked);
  });
}
pawl_status pawl_host_heartbeat_activity(pawl_host* host, const char* token, const void* progress,
                                         size_t size, pawl_answer_fn answer, void* user) {
  if (!is_bytes(progress, size)) return PAWL_INVALID_ARGUMENT;
  return ask_with(host, &pawl::Runtime::heartbeat_activity, token, bytes_of(progress, size), answer,
                  user);
}
pawl_status pawl_host_delete(pawl_host* host, const char* id, int force, pawl_answer_fn answer,
                             void* user) {
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().delete_instance(name_of(id), force != 0, pass_on, asked);
  });
}
pawl_status pawl_host_prune(pawl_host* host, const char* id, int64_t keep_last,
                            int64_t ended_before_ms, pawl_answer_fn answer, void* user) {
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().prune_executions(name_of(id), keep_last, ended_before_ms, pass_on,
                                                 asked);
  });
}
pawl_status pawl_host_declare_session(pawl_host* host, const char* device, int standby,
                                      pawl_answer_fn answer, void* user) {
  return ask(host, answer, user, [&](pawl::Answer pass_on, void* asked) {
    return host->host.runtime().declare_session(name_of(device), standby != 0, pass_on, asked);
  });
}
pawl_status pawl_host_withdraw_session(pawl_host* host, const char* device, pawl_answer_fn answer,
                                       void* user) {
  return ask_with(host, &pawl::Runtime::withdraw_session, device, answer, user);
}

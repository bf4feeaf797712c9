#include "parts/endpoint/embedded.hpp"
#include "parts/endpoint/routes.hpp"

namespace pawl::http {
namespace {

// A Runtime's loop always has a next due time, since it renews leases. A loop that is later than
// this is stuck: in an inline activity, or in a file system that does not answer.
constexpr std::int64_t kLateMs = 10'000;

struct Liveness {
  bool runtime = false;
  std::int64_t late_ms = 0;
  bool stalled = false;
};

Liveness look(const Backend& backend) {
  Liveness now;
  if (backend.board == nullptr) return now;
  const RuntimeBoard::Life life = backend.board->life();
  now.runtime = life.running;
  if (!life.running || !life.next_due.has_passed(backend.now_ms)) return now;
  // A due time long before the tick, such as one from years without power, counts as late only from
  // the tick on.
  const std::int64_t since =
      life.next_due.value() > life.tick_ms ? life.next_due.value() : life.tick_ms;
  now.late_ms = backend.now_ms - since;
  now.stalled = now.late_ms > kLateMs;
  return now;
}

struct Counter {
  const char* name;
  std::uint64_t RuntimeStats::*member;
};
constexpr Counter kCounters[] = {
    {"ticks", &RuntimeStats::ticks},
    {"commits", &RuntimeStats::commits},
    {"flushes", &RuntimeStats::flushes},
    {"bytes_written", &RuntimeStats::bytes_written},
    {"turns", &RuntimeStats::turns},
    {"turns_refused", &RuntimeStats::turns_refused},
    {"cold_loads", &RuntimeStats::cold_loads},
    {"orchestrations_completed", &RuntimeStats::orchestrations_completed},
    {"orchestrations_failed", &RuntimeStats::orchestrations_failed},
    {"continued_as_new", &RuntimeStats::continued_as_new},
    {"activities_started", &RuntimeStats::activities_started},
    {"activities_completed", &RuntimeStats::activities_completed},
    {"activities_handed_back", &RuntimeStats::activities_handed_back},
    {"activities_retried", &RuntimeStats::activities_retried},
    {"activities_refused", &RuntimeStats::activities_refused},
    {"activities_overlong", &RuntimeStats::activities_overlong},
    {"activities_abandoned", &RuntimeStats::activities_abandoned},
    {"messages_dropped", &RuntimeStats::messages_dropped},
    {"busy_ticks", &RuntimeStats::busy_ticks},
    {"failed_ticks", &RuntimeStats::failed_ticks},
    {"sessions_claimed", &RuntimeStats::sessions_claimed},
    {"sessions_migrated", &RuntimeStats::sessions_migrated},
    {"sessions_released", &RuntimeStats::sessions_released},
    {"sessions_lost", &RuntimeStats::sessions_lost},
    {"sessions_evicted", &RuntimeStats::sessions_evicted},
    {"sessions_evicted_idle", &RuntimeStats::sessions_evicted_idle},
    {"capacity_exhausted", &RuntimeStats::capacity_exhausted},
    {"session_leaks", &RuntimeStats::session_leaks},
    {"poisoned", &RuntimeStats::poisoned},
    {"rows_quarantined", &RuntimeStats::rows_quarantined},
    {"unregistered", &RuntimeStats::unregistered},
    {"wakeups", &RuntimeStats::wakeups},
    {"clock_steps", &RuntimeStats::clock_steps},
};

void put_count(JsonOut& out, const char* name, std::uint64_t value) {
  out.number(name, static_cast<std::int64_t>(value));
}

void put_durations(JsonOut& out, const char* name, const Durations& value) {
  out.begin_object(name).begin_list("up_to_ms");
  for (const std::int64_t bound : Durations::kUpToMs)
    out.number(bound);
  out.end_list().begin_list("counts");
  for (const std::uint64_t count : value.counts)
    out.number(static_cast<std::int64_t>(count));
  out.end_list().number("total_ms", value.total_ms).number("longest_ms", value.longest_ms);
  out.end_object();
}

void put_names(JsonOut& out, const RuntimeCounters& of) {
  out.begin_list("orchestrations");
  for (std::size_t i = 0; i < of.orchestration_count; ++i) {
    const OrchestrationStats& one = of.orchestrations[i];
    out.begin_object().text("name", one.name).text("version", one.version);
    put_count(out, "started", one.started);
    put_count(out, "turns", one.turns);
    put_count(out, "completed", one.completed);
    put_count(out, "failed", one.failed);
    put_count(out, "continued_as_new", one.continued_as_new);
    put_count(out, "stopped", one.stopped);
    put_durations(out, "lasted", one.lasted);
    put_durations(out, "turn", one.turn);
    out.end_object();
  }
  out.end_list().begin_list("activities");
  for (std::size_t i = 0; i < of.activity_count; ++i) {
    const ActivityStats& one = of.activities[i];
    out.begin_object().text("name", one.name);
    put_count(out, "completed", one.completed);
    put_count(out, "failed", one.failed);
    put_count(out, "retried", one.retried);
    put_count(out, "refused", one.refused);
    put_durations(out, "ran", one.ran);
    out.end_object();
  }
  out.end_list();
}

void give_file(Call& call, std::string_view name) {
  const EmbeddedFile* const file = find_embedded(name);
  if (file == nullptr)
    return call.exchange().fail(404, "no_such_path", "the page has no such file");
  call.exchange().constant = file->text;
  call.exchange().content_type = file->content_type;
  call.exchange().is_page = true;
  call.exchange().status = 200;
}

}  // namespace

void get_page(Call& call) { give_file(call, "page/index.html"); }

void get_page_file(Call& call) {
  char name[64] = "page/";
  const std::string_view file = call.segment(1);
  if (file.size() > sizeof name - 6) return give_file(call, {});
  std::memcpy(name + 5, file.data(), file.size());
  give_file(call, {name, 5 + file.size()});
}

void get_openapi(Call& call) {
  give_file(call, "openapi.json");
  call.exchange().is_page = false;
}

// For the page, which offers no changes on a read-only endpoint.
void get_endpoint(Call& call) {
  JsonOut out(call.out());
  out.begin_object().flag("read_only", call.backend().read_only).end_object();
  call.end(Status::kOk);
}

void get_health(Call& call) {
  const Liveness now = look(call.backend());
  JsonOut out(call.out());
  out.begin_object()
      .text("status", now.stalled ? "stalled" : "ok")
      .flag("runtime", now.runtime)
      .number("late_ms", now.late_ms)
      .end_object();
  call.end(Status::kOk, now.stalled ? 503 : 200);
}

// Without a Runtime the database alone decides.
void get_ready(Call& call) {
  const Backend& backend = call.backend();
  const char* reason = "ok";
  if (backend.board != nullptr && !backend.board->life().running)
    reason = "the runtime is not started, or has stopped";
  else if (backend.board != nullptr && !backend.board->life().ready)
    reason = "the runtime is stopping, its storage is in trouble, or its threads are stuck";
  else if (look(backend).stalled)
    reason = "the loop is overdue";
  else if (backend.client == nullptr)
    reason = "the database is not open";
  const bool ready = reason[0] == 'o' && reason[1] == 'k';
  JsonOut out(call.out());
  out.begin_object().flag("ready", ready).text("reason", reason).end_object();
  call.end(Status::kOk, ready ? 200 : 503);
}

void get_metrics_text(Call& call) {
  Backend& backend = call.backend();
  Status status = backend.count();
  if (status == Status::kOk) status = write_all_metrics(backend, call.out());
  call.end(status);
  if (status == Status::kOk)
    call.exchange().content_type = "text/plain; version=0.0.4; charset=utf-8";
}

void get_metrics(Call& call) {
  const Status status = call.backend().count();
  JsonOut out(call.out());
  write_json(call.backend().counts.database, out);
  call.end(status);
}

void get_runtime(Call& call) {
  Backend& backend = call.backend();
  if (backend.board == nullptr || !backend.board->read(backend.counters))
    return call.exchange().fail(404, status_name(Status::kNotFound),
                                "this process has no runtime, or it has not started yet");
  const RuntimeCounters& of = *backend.counters;
  const RuntimeBoard::Life life = backend.board->life();
  JsonOut out(call.out());
  out.begin_object()
      .text("worker", of.worker_id)
      .flag("ready", life.ready)
      .number("taken_ms", of.taken_ms)
      .number("now_ms", backend.now_ms)
      .number("next_due_in_ms", life.next_due.value_or(backend.now_ms) - backend.now_ms);
  for (const Counter& one : kCounters)
    put_count(out, one.name, of.stats.*one.member);
  put_count(out, "sessions_waiting", of.stats.sessions_waiting);
  put_count(out, "sessions_evicted_idle_minute", of.stats.sessions_evicted_idle_minute);
  put_count(out, "sessions_active", of.stats.sessions_active);
  put_count(out, "sessions_idle", of.stats.sessions_idle);
  put_count(out, "warm_instances", of.stats.warm_instances);
  put_count(out, "activities_running", of.stats.activities_running);
  put_count(out, "slots_abandoned", of.stats.slots_abandoned);
  put_durations(out, "written", of.stats.written);
  put_durations(out, "flushed", of.stats.flushed);
  put_names(out, of);
  out.end_object();
  call.end(out.ok() ? Status::kOk : Status::kResourceExhausted);
}

Status write_all_metrics(const Backend& backend, TextSink& out) {
  PrometheusSources sources = backend.counts.sources();
  sources.clock_trusted = backend.clock->synced();
  RuntimeBoard::Life life;
  if (backend.board != nullptr) {
    life = backend.board->life();
    sources.life = &life;
    if (backend.board->read(backend.counters)) sources.runtime = backend.counters;
  }
  return write_prometheus(sources, out);
}

}  // namespace pawl::http

#include "parts/endpoint/embedded.hpp"
#include "parts/endpoint/routes.hpp"
#include "parts/fields/runtime_fields.hpp"

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

// False: they did not fit.
template <typename Row>
bool put_rows(Call& call, const Row* rows, std::size_t count) {
  call.begin_rows();
  AnswerRows put(call.out());
  for (std::size_t i = 0; i < count && !put.full(); ++i)
    static_cast<void>(put.add(rows[i]));
  call.end_rows();
  return !put.full();
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

void write_json(const OrchestrationStats& value, JsonOut& out) { fields::write_object(value, out); }
void write_json(const ActivityStats& value, JsonOut& out) { fields::write_object(value, out); }

void get_page(Call& call) { give_file(call, "page/index.html"); }

void get_page_file(Call& call) {
  char name[64] = "page/";
  const std::string_view file = call.segment(1);
  if (file.size() > sizeof name - 6) return give_file(call, {});
  std::memcpy(name + 5, file.data(), file.size());
  give_file(call, {name, 5 + file.size()});
}

void get_openapi(Call& call) {
  JsonOut out(call.out());
  write_openapi(out);
  call.finish(out.ok() ? Status::kOk : Status::kResourceExhausted);
}

// For the page, which offers no changes on a read-only endpoint.
void get_endpoint(Call& call) { call.give(Modes{call.backend().read_only}, Status::kOk); }

void get_health(Call& call) {
  const Liveness now = look(call.backend());
  call.give(Health{health_word(now.stalled ? 1 : 0), now.runtime, now.late_ms}, Status::kOk,
            now.stalled ? 503 : 200);
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
  call.give(Readiness{ready, reason}, Status::kOk, ready ? 200 : 503);
}

void get_metrics_text(Call& call) {
  Backend& backend = call.backend();
  Status status = backend.count();
  if (status == Status::kOk) status = write_all_metrics(backend, call.out());
  call.finish(status);
  if (status == Status::kOk)
    call.exchange().content_type = "text/plain; version=0.0.4; charset=utf-8";
}

void get_metrics(Call& call) {
  const Status status = call.backend().count();
  call.object(call.backend().counts.database);
  call.finish(status);
}

void get_runtime(Call& call) {
  Backend& backend = call.backend();
  if (backend.board == nullptr || !backend.board->read(backend.counters))
    return call.exchange().fail(404, status_name(Status::kNotFound),
                                "this process has no runtime, or it has not started yet");
  const RuntimeCounters& of = *backend.counters;
  const RuntimeBoard::Life life = backend.board->life();
  call.begin();
  call.members(Now{of.worker_id, life.ready, of.taken_ms, backend.now_ms,
                   life.next_due.value_or(backend.now_ms) - backend.now_ms});
  call.members(of.stats);
  const bool fits = put_rows(call, of.orchestrations, of.orchestration_count) &&
                    put_rows(call, of.activities, of.activity_count);
  call.end();
  call.finish(fits ? Status::kOk : Status::kResourceExhausted);
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

#include <cinttypes>
#include <cstdio>

#include "parts/endpoint/routes.hpp"
#include "parts/fields/client_fields.hpp"

namespace pawl::http {
namespace {

constexpr std::size_t kActivitiesMax = 100;  // in the detail of one instance
constexpr std::int64_t kExecutionsMax = 20;
constexpr std::size_t kValuesMax = 50;

class ExecutionRows final : public ExecutionVisitor {
 public:
  // Takes the executions after `after`, at most `most`.
  ExecutionRows(Buffer& out, std::int64_t after, std::size_t most)
      : rows(out), after_(after), most_(most) {}
  void on_execution(const ExecutionInfo& one) noexcept override {
    ++all;
    if (one.execution_id <= after_) return;
    if (rows.count() == most_ || !rows.add(one)) {
      more = true;
      return;
    }
    last = one.execution_id;
  }
  AnswerRows rows;
  std::int64_t all = 0;
  std::int64_t last = 0;
  bool more = false;

 private:
  std::int64_t after_;
  std::size_t most_;
};

class ValueRows final : public KvVisitor {
 public:
  explicit ValueRows(Buffer& out) : rows(out) {}
  void on_value(const KvEntry& one) noexcept override {
    if (rows.add(one)) last.move_behind(one.key);
  }
  AnswerRows rows;
  KvPage last;
};

// A text that changes with everything visible of an instance.
struct Revision {
  char text[160] = {};
};

// Writes the parts that say what the instance is now.
Status put_now(Call& call, Revision* revision) {
  const std::string_view id = call.segment(2);
  InstanceInfo info;
  PAWL_TRY(call.client().get_instance_info(id, &info));
  const std::int64_t key = info.key;
  bool fits = call.part(info);
  OrchestrationStatus status;
  PAWL_TRY(call.client().get_status(id, &status));
  const std::int64_t execution = status.execution_id;
  const int state = static_cast<int>(status.state);
  const std::int64_t custom = status.custom_status_version;
  const std::int64_t updated = status.updated_ms;
  fits = call.part(status) && fits;
  InstanceStats stats;
  PAWL_TRY(call.client().get_instance_stats(id, &stats));
  fits = call.part(stats) && fits;
  std::snprintf(revision->text, sizeof revision->text,
                "%" PRId64 ".%" PRId64 ".%d.%" PRId64 ".%" PRId64 ".%" PRId64 ".%" PRId64, key,
                execution, state, updated, stats.history_events, stats.messages_waiting, custom);
  return fits ? Status::kOk : Status::kResourceExhausted;
}

}  // namespace

void list_instances(Call& call) {
  InstanceFilter filter;
  filter.name = Name(call.text("name"));
  filter.id_prefix = Name(call.text("id_prefix"));
  if (const auto state = call.word("state")) {
    filter.any_state = false;
    filter.state = static_cast<OrchestrationState>(*state);
  }
  filter.created_from_ms = call.number("created_from_ms");
  filter.created_before_ms = call.number("created_before_ms");
  filter.updated_from_ms = call.number("updated_from_ms");
  filter.updated_before_ms = call.number("updated_before_ms");
  filter.roots_only = call.flag("roots_only");
  answer_page(call, &InstanceInfo::key, [&](Page* page, InstanceVisitor& visitor) {
    return call.client().list_instances(filter, page, visitor);
  });
}

namespace {

std::optional<std::chrono::milliseconds> time_limit_of(const Call& call) {
  const std::int64_t limit_ms = call.number("time_limit_ms");
  if (limit_ms == 0) return std::nullopt;
  return std::chrono::milliseconds(limit_ms);
}

}  // namespace

void start_instance(Call& call) {
  const std::string_view id = call.text("id");
  StartOptions options;
  options.start_after = std::chrono::milliseconds(call.number("start_after_ms"));
  options.time_limit = time_limit_of(call);
  if (const auto version = call.given("version")) options.version = Name(*version);
  options.if_running = static_cast<IfRunning>(call.word("if_running").value_or(0));
  options.if_ended = static_cast<IfEnded>(call.word("if_ended").value_or(0));
  const Status status = call.client().start_orchestration(call.text("name"), InstanceId(id),
                                                          call.exchange().body().text(), options);
  call.give(Started{id}, status, 201);
}

void get_instance(Call& call) {
  const std::string_view id = call.segment(2);
  Revision revision;
  call.begin();
  Status status = put_now(call, &revision);
  if (status != Status::kOk) return call.finish(status);
  call.members(Revised{revision.text});
  call.begin_rows();
  AnswerRows activities(call.out());
  bool more = false;
  status = call.client().list_activities(
      id, visit([&](const ActivityInfo& one) {
        if (activities.count() == kActivitiesMax || !activities.add(one)) more = true;
      }));
  call.end_rows(more);
  if (status != Status::kOk) return call.finish(status);
  // People look for the last executions, so a first pass finds where they begin.
  std::int64_t last = 0;
  status = call.client().list_executions(
      id, visit([&last](const ExecutionInfo& one) { last = one.execution_id; }));
  if (status != Status::kOk) return call.finish(status);
  call.begin_rows();
  const std::int64_t after = last > kExecutionsMax ? last - kExecutionsMax : 0;
  ExecutionRows executions(call.out(), after, static_cast<std::size_t>(kExecutionsMax));
  status = call.client().list_executions(id, executions);
  call.end_rows(executions.all > static_cast<std::int64_t>(executions.rows.count()));
  if (status != Status::kOk) return call.finish(status);
  call.begin_rows();
  ValueRows values(call.out());
  KvPage page;
  page.rows_max = kValuesMax;
  status = call.client().get_all_kv_values(id, &page, values);
  call.end_rows(page.more || values.rows.full());
  call.end();
  call.finish(status);
}

void explain_instance(Call& call) {
  answer_list<Cause>(
      call, [&](CauseVisitor& visitor) { return call.client().explain(call.segment(2), visitor); });
}

void delete_instance(Call& call) {
  Removed removed;
  const Status status =
      call.client().delete_instance(call.segment(2), call.flag("force"), &removed);
  call.object(removed);
  call.finish(status);
}

void get_history(Call& call) {
  const std::int64_t wanted = call.number("execution");
  Page page = call.page();
  const std::string_view id = call.segment(2);
  InstanceInfo info;
  const Status found = call.client().get_instance_info(id, &info);
  if (found != Status::kOk) return call.finish(found);
  const std::int64_t execution = wanted == 0 ? info.execution_id : wanted;
  call.begin();
  call.members(Executed{execution});
  call.begin_rows();
  AnswerRows rows(call.out());
  std::int64_t last = 0;
  const Status status =
      call.client().read_history(id, execution, &page, visit([&](const HistoryEvent& one) {
                                   if (rows.add(one)) last = one.id;
                                 }));
  call.finish_page(status, rows, last, page);
}

void list_executions(Call& call) {
  Page page = call.page();
  call.begin();
  call.begin_rows();
  ExecutionRows visitor(call.out(), page.after, page.rows_max);
  const Status status = call.client().list_executions(call.segment(2), visitor);
  if (visitor.last != 0) page.after = visitor.last;
  page.more = visitor.more;
  call.finish_page(status, visitor.rows, visitor.last, page);
}

void list_children(Call& call) {
  answer_page(call, &InstanceInfo::key, [&](Page* page, InstanceVisitor& visitor) {
    return call.client().list_children(call.segment(2), page, visitor);
  });
}

void get_tree(Call& call) {
  answer_page(call, &InstanceInfo::key, [&](Page* page, InstanceVisitor& visitor) {
    return call.client().get_instance_tree(call.segment(2), page, visitor);
  });
}

void list_values(Call& call) {
  KvPage page;
  page.move_behind(call.text("after"));
  page.rows_max = static_cast<std::size_t>(call.number("limit"));
  call.begin();
  call.begin_rows();
  ValueRows visitor(call.out());
  const Status status = call.client().get_all_kv_values(call.segment(2), &page, visitor);
  if (visitor.rows.full() && visitor.rows.count() == 0)
    return call.exchange().fail(500, "resource_exhausted", "a row is longer than an answer");
  call.end_rows();
  const std::string_view last = visitor.rows.full() ? visitor.last.after_key() : page.after_key();
  call.members(ValuesEnd{last, visitor.rows.full() || page.more});
  call.end();
  call.finish(status);
}

void get_value(Call& call) {
  KvEntry entry;
  bool found = false;
  const Status status =
      call.client().get_kv_value(call.segment(2), call.segment(4), &entry, &found);
  if (status == Status::kOk && !found)
    return call.exchange().fail(404, status_name(Status::kNotFound),
                                "there is no value of this key");
  if (status == Status::kOk) call.object(entry);
  call.finish(status);
}

// A long poll: the request waits in the server, which calls this again until something has changed.
void watch_instance(Call& call) {
  const std::string_view known = call.text("revision");
  Exchange& exchange = call.exchange();
  Backend& backend = call.backend();
  exchange.answer().clear();
  call.begin();
  Revision revision;
  const Status status = put_now(call, &revision);
  if (status != Status::kOk) return call.finish(status);
  const bool changed = known != revision.text;
  if (!changed && !exchange.watch_until.has_value()) {
    if (backend.watches >= backend.watches_max)
      return exchange.fail(503, "overloaded", "too many requests wait for a change");
    exchange.watch_until = backend.now_ms + call.number("timeout_ms");
  }
  if (!changed && backend.now_ms < exchange.watch_until.value_or(0)) return;
  call.members(Watched{changed, revision.text});
  call.end();
  call.finish(Status::kOk);
}

namespace {

SendOptions send_options(const Call& call) {
  SendOptions options;
  if (const auto name = call.given("start"))
    options.start_if_ended = StartIfEnded{*name, call.text("input")};
  options.key = call.given("key");
  return options;
}

}  // namespace

void raise_event(Call& call) {
  call.done(call.client().raise_event(call.segment(2), call.segment(4),
                                      call.exchange().body().text(), send_options(call)));
}

void enqueue_event(Call& call) {
  call.done(call.client().enqueue_event(call.segment(2), call.segment(4),
                                        call.exchange().body().text(), send_options(call)));
}

// A long poll, as that of a watch. Each time it asks for the same call, by its key.
void call_instance(Call& call) {
  Exchange& exchange = call.exchange();
  Backend& backend = call.backend();
  exchange.answer().clear();
  CallAnswer answer;
  const Status status =
      call.client().call(call.segment(2), call.segment(4), exchange.body().text(),
                         std::chrono::milliseconds(0), &answer, send_options(call));
  if (status != Status::kOk && status != Status::kTimeout) return call.finish(status);
  const bool answered = status == Status::kOk;
  if (!answered && !exchange.watch_until.has_value()) {
    if (backend.watches >= backend.watches_max)
      return exchange.fail(503, "overloaded", "too many requests wait for a change");
    exchange.watch_until = backend.now_ms + call.number("timeout_ms");
  }
  if (!answered && backend.now_ms < exchange.watch_until.value_or(0)) return;
  call.begin();
  call.members(Called{answered});
  call.members(answer);
  call.end();
  call.finish(Status::kOk);
}

void cancel_instance(Call& call) {
  call.done(call.client().cancel_instance(call.segment(2), call.text("reason")));
}

void terminate_instance(Call& call) {
  call.done(call.client().terminate_instance(call.segment(2), call.text("reason")));
}

void suspend_instance(Call& call) { call.done(call.client().suspend_instance(call.segment(2))); }
void resume_instance(Call& call) { call.done(call.client().resume_instance(call.segment(2))); }

void change_time_limit(Call& call) {
  call.done(call.client().change_time_limit(call.segment(2), time_limit_of(call)));
}

void restart_instance(Call& call) {
  const RestartFrom from =
      call.word("from") == std::size_t{0} ? RestartFrom::kStart : RestartFrom::kLastGoodEvent;
  RestartOptions options;
  if (const auto version = call.given("version")) options.version = Name(*version);
  options.by = Name(call.text("by"));
  call.done(call.client().restart_instance(call.segment(2), from, options));
}

}  // namespace pawl::http

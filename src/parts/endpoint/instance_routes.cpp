#include <cinttypes>
#include <cstdio>

#include "parts/endpoint/routes.hpp"

namespace pawl::http {
namespace {

constexpr std::size_t kActivitiesMax = 100;  // in the detail of one instance
constexpr std::int64_t kExecutionsMax = 20;
constexpr std::size_t kValuesMax = 50;

class InstanceRows final : public InstanceVisitor {
 public:
  explicit InstanceRows(Buffer& out) : rows(out) {}
  void on_instance(const InstanceInfo& one) noexcept override {
    if (rows.add(one)) last = one.key;
  }
  Rows rows;
  std::int64_t last = 0;
};

template <typename List>
void answer_instances(Call& call, List&& list) {
  Page page = call.page();
  if (!call.good()) return;
  static_cast<void>(call.out().write("{\"instances\":["));
  InstanceRows visitor(call.out());
  const Status status = list(&page, visitor);
  call.end_rows(status, visitor.rows, visitor.last, page);
}

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
  Rows rows;
  std::int64_t all = 0;
  std::int64_t last = 0;
  bool more = false;

 private:
  std::int64_t after_;
  std::size_t most_;
};

class ActivityRows final : public ActivityVisitor {
 public:
  explicit ActivityRows(Buffer& out) : rows(out) {}
  void on_activity(const ActivityInfo& one) noexcept override {
    if (rows.count() == kActivitiesMax || !rows.add(one)) more = true;
  }
  Rows rows;
  bool more = false;
};

class EventRows final : public HistoryVisitor {
 public:
  explicit EventRows(Buffer& out) : rows(out) {}
  void on_event(const HistoryEvent& one) noexcept override {
    if (rows.add(one)) last = one.id;
  }
  Rows rows;
  std::int64_t last = 0;
};

class ValueRows final : public KvVisitor {
 public:
  explicit ValueRows(Buffer& out) : rows(out) {}
  void on_value(const KvEntry& one) noexcept override {
    if (rows.add(one)) last.move_behind(one.key);
  }
  Rows rows;
  KvPage last;
};

// A text that changes with everything visible of an instance.
struct Revision {
  char text[160] = {};
};

// Writes "instance", "status" and "stats" of the instance.
Status put_now(Call& call, Revision* revision) {
  Buffer& out = call.out();
  const std::string_view id = call.segment(2);
  InstanceInfo info;
  PAWL_TRY(call.client().get_instance_info(id, &info));
  const std::int64_t key = info.key;
  static_cast<void>(out.write("\"instance\":"));
  JsonOut first(out);
  write_json(info, first);
  OrchestrationStatus status;
  PAWL_TRY(call.client().get_status(id, &status));
  const std::int64_t execution = status.execution_id;
  const int state = static_cast<int>(status.state);
  const std::int64_t custom = status.custom_status_version;
  const std::int64_t updated = status.updated_ms;
  static_cast<void>(out.write(",\"status\":"));
  JsonOut second(out);
  write_json(status, second);
  InstanceStats stats;
  PAWL_TRY(call.client().get_instance_stats(id, &stats));
  static_cast<void>(out.write(",\"stats\":"));
  JsonOut third(out);
  write_json(stats, third);
  std::snprintf(revision->text, sizeof revision->text,
                "%" PRId64 ".%" PRId64 ".%d.%" PRId64 ".%" PRId64 ".%" PRId64 ".%" PRId64, key,
                execution, state, updated, stats.history_events, stats.messages_waiting, custom);
  return first.ok() && second.ok() && third.ok() ? Status::kOk : Status::kResourceExhausted;
}

void put_flag(Call& call, const char* before, bool value) {
  static_cast<void>(call.out().write(before));
  static_cast<void>(call.out().write(value ? "true" : "false"));
}

}  // namespace

void list_instances(Call& call) {
  InstanceFilter filter;
  filter.name = Name(call.text("name"));
  filter.id_prefix = Name(call.text("id_prefix"));
  const std::size_t state =
      call.one_of("state", words_of<kOrchestrationStateCount>(orchestration_state_name).data(),
                  kOrchestrationStateCount, kOrchestrationStateCount);
  filter.any_state = state == kOrchestrationStateCount;
  if (!filter.any_state) filter.state = static_cast<OrchestrationState>(state);
  filter.created_from_ms = call.number("created_from_ms", 0, INT64_MAX, 0);
  filter.created_before_ms = call.number("created_before_ms", 0, INT64_MAX, 0);
  filter.updated_from_ms = call.number("updated_from_ms", 0, INT64_MAX, 0);
  filter.updated_before_ms = call.number("updated_before_ms", 0, INT64_MAX, 0);
  filter.roots_only = call.flag("roots_only");
  answer_instances(call, [&](Page* page, InstanceVisitor& visitor) {
    return call.client().list_instances(filter, page, visitor);
  });
}

void start_instance(Call& call) {
  const std::string_view name = call.required("name");
  const std::string_view id = call.required("id");
  StartOptions options;
  options.start_after = std::chrono::milliseconds(
      call.number("start_after_ms", 0, std::chrono::milliseconds(kDurationMax).count(), 0));
  if (call.exchange().find("version") != nullptr) options.version = Name(call.text("version"));
  if (!call.good()) return;
  const Status status = call.client().start_orchestration(name, InstanceId(id),
                                                          call.exchange().body().text(), options);
  JsonOut out(call.out());
  out.begin_object().text("id", id).end_object();
  call.end(status, 201);
}

void get_instance(Call& call) {
  Buffer& out = call.out();
  const std::string_view id = call.segment(2);
  Revision revision;
  static_cast<void>(out.write("{"));
  Status status = put_now(call, &revision);
  if (status != Status::kOk) return call.end(status);
  static_cast<void>(out.write(",\"revision\":\""));
  static_cast<void>(out.write(revision.text));
  static_cast<void>(out.write("\",\"activities\":["));
  ActivityRows activities(out);
  status = call.client().list_activities(id, activities);
  put_flag(call, "],\"activities_more\":", activities.more);
  if (status != Status::kOk) return call.end(status);
  // People look for the last executions, so a first pass finds where they begin.
  class LastId final : public ExecutionVisitor {
   public:
    void on_execution(const ExecutionInfo& one) noexcept override { id = one.execution_id; }
    std::int64_t id = 0;
  } last;
  status = call.client().list_executions(id, last);
  if (status != Status::kOk) return call.end(status);
  static_cast<void>(out.write(",\"executions\":["));
  const std::int64_t after = last.id > kExecutionsMax ? last.id - kExecutionsMax : 0;
  ExecutionRows executions(out, after, static_cast<std::size_t>(kExecutionsMax));
  status = call.client().list_executions(id, executions);
  put_flag(call, "],\"executions_more\":",
           executions.all > static_cast<std::int64_t>(executions.rows.count()));
  if (status != Status::kOk) return call.end(status);
  static_cast<void>(out.write(",\"values\":["));
  ValueRows values(out);
  KvPage page;
  page.rows_max = kValuesMax;
  status = call.client().get_all_kv_values(id, &page, values);
  put_flag(call, "],\"values_more\":", page.more || values.rows.full());
  static_cast<void>(out.write("}"));
  call.end(status);
}

void delete_instance(Call& call) {
  const bool force = call.flag("force");
  if (!call.good()) return;
  Removed removed;
  const Status status = call.client().delete_instance(call.segment(2), force, &removed);
  JsonOut out(call.out());
  write_json(removed, out);
  call.end(status);
}

void get_history(Call& call) {
  const std::int64_t wanted = call.number("execution", 0, INT64_MAX, 0);
  Page page = call.page();
  if (!call.good()) return;
  const std::string_view id = call.segment(2);
  InstanceInfo info;
  const Status found = call.client().get_instance_info(id, &info);
  if (found != Status::kOk) return call.end(found);
  const std::int64_t execution = wanted == 0 ? info.execution_id : wanted;
  char text[64];
  std::snprintf(text, sizeof text, "{\"execution_id\":%" PRId64 ",\"events\":[", execution);
  static_cast<void>(call.out().write(text));
  EventRows visitor(call.out());
  const Status status = call.client().read_history(id, execution, &page, visitor);
  call.end_rows(status, visitor.rows, visitor.last, page);
}

void list_executions(Call& call) {
  Page page = call.page();
  if (!call.good()) return;
  static_cast<void>(call.out().write("{\"executions\":["));
  ExecutionRows visitor(call.out(), page.after, page.rows_max);
  const Status status = call.client().list_executions(call.segment(2), visitor);
  if (visitor.last != 0) page.after = visitor.last;
  page.more = visitor.more;
  call.end_rows(status, visitor.rows, visitor.last, page);
}

void list_children(Call& call) {
  answer_instances(call, [&](Page* page, InstanceVisitor& visitor) {
    return call.client().list_children(call.segment(2), page, visitor);
  });
}

void get_tree(Call& call) {
  answer_instances(call, [&](Page* page, InstanceVisitor& visitor) {
    return call.client().get_instance_tree(call.segment(2), page, visitor);
  });
}

void list_values(Call& call) {
  KvPage page;
  page.move_behind(call.text("after"));
  page.rows_max = static_cast<std::size_t>(call.number("limit", 1, kRowsMax, kRowsDefault));
  if (!call.good()) return;
  static_cast<void>(call.out().write("{\"values\":["));
  ValueRows visitor(call.out());
  const Status status = call.client().get_all_kv_values(call.segment(2), &page, visitor);
  if (visitor.rows.full() && visitor.rows.count() == 0)
    return call.exchange().fail(500, "resource_exhausted", "a row is longer than an answer");
  static_cast<void>(call.out().write("],"));
  // JsonOut writes members only of an object that it began. So "after" and "more" go into a new
  // object that ends the answer, and its opening brace is removed.
  const std::string_view last = visitor.rows.full() ? visitor.last.after_key() : page.after_key();
  const std::size_t brace = call.out().size();
  JsonOut out(call.out());
  out.begin_object().text_unless_empty("after", last);
  out.flag("more", visitor.rows.full() || page.more).end_object();
  call.out().erase(brace);
  call.end(status);
}

void get_value(Call& call) {
  KvEntry entry;
  bool found = false;
  const Status status =
      call.client().get_kv_value(call.segment(2), call.segment(4), &entry, &found);
  if (status == Status::kOk && !found)
    return call.exchange().fail(404, status_name(Status::kNotFound),
                                "there is no value of this key");
  if (status == Status::kOk) {
    JsonOut out(call.out());
    write_json(entry, out);
  }
  call.end(status);
}

// A long poll: the request waits in the server, which calls this again until something has changed.
void watch_instance(Call& call) {
  const std::string_view known = call.text("revision");
  const std::int64_t timeout = call.number("timeout_ms", 0, kWatchMsMax, kWatchMs);
  if (!call.good()) return;
  Exchange& exchange = call.exchange();
  Backend& backend = call.backend();
  exchange.answer().clear();
  static_cast<void>(call.out().write("{"));
  Revision revision;
  const Status status = put_now(call, &revision);
  if (status != Status::kOk) return call.end(status);
  const bool changed = known != revision.text;
  if (!changed && !exchange.watch_until.has_value()) {
    if (backend.watches >= backend.watches_max)
      return exchange.fail(503, "overloaded", "too many requests wait for a change");
    exchange.watch_until = backend.now_ms + timeout;
  }
  if (!changed && backend.now_ms < exchange.watch_until.value_or(0)) return;
  put_flag(call, ",\"changed\":", changed);
  static_cast<void>(call.out().write(",\"revision\":\""));
  static_cast<void>(call.out().write(revision.text));
  static_cast<void>(call.out().write("\"}"));
  call.end(Status::kOk);
}

void raise_event(Call& call) {
  call.done(
      call.client().raise_event(call.segment(2), call.segment(4), call.exchange().body().text()));
}

void enqueue_event(Call& call) {
  call.done(
      call.client().enqueue_event(call.segment(2), call.segment(4), call.exchange().body().text()));
}

void cancel_instance(Call& call) {
  call.done(call.client().cancel_instance(call.segment(2), call.text("reason")));
}

void terminate_instance(Call& call) {
  call.done(call.client().terminate_instance(call.segment(2), call.text("reason")));
}

void suspend_instance(Call& call) { call.done(call.client().suspend_instance(call.segment(2))); }
void resume_instance(Call& call) { call.done(call.client().resume_instance(call.segment(2))); }

void restart_instance(Call& call) {
  static constexpr const char* kFrom[] = {"start", "last_good_event"};
  const RestartFrom from =
      call.one_of("from", kFrom, 2, 0) == 0 ? RestartFrom::kStart : RestartFrom::kLastGoodEvent;
  RestartOptions options;
  if (call.exchange().find("version") != nullptr) options.version = Name(call.text("version"));
  options.by = Name(call.text("by"));
  if (!call.good()) return;
  call.done(call.client().restart_instance(call.segment(2), from, options));
}

}  // namespace pawl::http

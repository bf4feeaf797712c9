#include "pawl/prometheus.hpp"

#include <cinttypes>
#include <cstdio>

#include "pawl/client.hpp"

namespace pawl {
namespace {

constexpr std::size_t kSessionsCounted = 1'000;

struct Label {
  const char* name;  // null: none
  std::string_view value;
};
struct Labels {
  Label first = {nullptr, {}};
  Label second = {nullptr, {}};
};

// Writes metrics: each is begun, and then has its samples, with at most two labels each.
class PrometheusText {
 public:
  explicit PrometheusText(TextSink& sink) : sink_(sink) {}

  void begin(const char* name, const char* type, const char* help) {
    name_ = name;
    put("# HELP ").put(name).put(" ").put(help).put("\n# TYPE ").put(name).put(" ").put(type);
    put("\n");
  }
  void sample(std::int64_t value, const Labels& labels = Labels()) {
    put_name("", labels, {}).put_number(value).put("\n");
  }
  // Writes a value in seconds; `ms` is in milliseconds.
  void seconds(std::int64_t ms, const Labels& labels = Labels()) {
    put_name("", labels, {}).put_seconds(ms).put("\n");
  }
  void gauge(const char* name, const char* help, std::int64_t value) {
    begin(name, "gauge", help);
    sample(value);
  }
  void counter(const char* name, const char* help, std::uint64_t value) {
    begin(name, "counter", help);
    sample(static_cast<std::int64_t>(value));
  }

  // Writes a histogram. Each count becomes the sum of all counts up to its bound. Bounds and the
  // total are in ms if `in_seconds`.
  struct Histogram {
    const std::int64_t* bounds;
    const std::uint64_t* counts;  // one more than bounds
    std::size_t bound_count;
    std::int64_t total;
    bool in_seconds;
  };
  void histogram(const Histogram& of, const Labels& labels = Labels()) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= of.bound_count; ++i) {
      sum += of.counts[i];
      char bound[32] = "+Inf";
      if (i < of.bound_count) print(bound, of.bounds[i], of.in_seconds);
      put_name("_bucket", labels, bound).put_number(static_cast<std::int64_t>(sum)).put("\n");
    }
    put_name("_sum", labels, {});
    if (of.in_seconds)
      put_seconds(of.total);
    else
      put_number(of.total);
    put("\n").put_name("_count", labels, {}).put_number(static_cast<std::int64_t>(sum)).put("\n");
  }
  void durations(const Durations& value, const Labels& labels = Labels()) {
    histogram({Durations::kUpToMs, value.counts, Durations::kBounds, value.total_ms, true}, labels);
  }
  [[nodiscard]] bool ok() const { return !refused_; }

 private:
  PrometheusText& put(std::string_view text) {
    if (!refused_ && !text.empty()) refused_ = !sink_.write(text);
    return *this;
  }
  static void print(char (&out)[32], std::int64_t value, bool in_seconds) {
    if (in_seconds)
      std::snprintf(out, sizeof out, "%" PRId64 ".%03d", value / 1'000,
                    static_cast<int>(value % 1'000));
    else
      std::snprintf(out, sizeof out, "%" PRId64, value);
  }
  PrometheusText& put_number(std::int64_t value) {
    char text[32];
    print(text, value, false);
    return put(text);
  }
  PrometheusText& put_seconds(std::int64_t ms) {
    char text[32];
    print(text, ms < 0 ? 0 : ms, true);
    return put(text);
  }
  PrometheusText& put_name(std::string_view ending, const Labels& labels, std::string_view bound) {
    put(name_).put(ending);
    const char* before = "{";
    for (const Label& label :
         {labels.first, labels.second, Label{bound.empty() ? nullptr : "le", bound}}) {
      if (label.name == nullptr) continue;
      put(before).put(label.name).put("=\"");
      put_label_value(label.value);
      put("\"");
      before = ",";
    }
    return put(before[0] == '{' ? " " : "} ");
  }
  // Escapes a value as the format asks: \\, \" and \n. A name has no control characters. The format
  // allows only UTF-8, so other bytes are shown as write_printable() does.
  void put_label_value(std::string_view value) {
    class Escaped final : public TextSink {
     public:
      explicit Escaped(PrometheusText& out) : out_(out) {}
      bool write(std::string_view text) noexcept override {
        for (std::size_t i = 0; i < text.size(); ++i) {
          if (text[i] == '"' || text[i] == '\\') out_.put("\\");
          out_.put(text.substr(i, 1));
        }
        return out_.ok();
      }

     private:
      PrometheusText& out_;
    };
    Escaped escaped(*this);
    static_cast<void>(write_printable(value, escaped));
  }

  TextSink& sink_;
  const char* name_ = "";
  bool refused_ = false;
};

Labels of_state(const char* state) { return {{"state", state}, {nullptr, {}}}; }

void put_instances(const Metrics& value, PrometheusText& out) {
  out.begin("pawl_instances", "gauge", "Instances, by their state.");
  out.sample(value.instances_running, of_state("running"));
  out.sample(value.instances_completed, of_state("completed"));
  out.sample(value.instances_failed, of_state("failed"));
  out.sample(value.instances_stopped, of_state("stopped"));
  out.sample(value.instances_suspended, of_state("suspended"));
  out.gauge("pawl_executions", "Executions that are kept.", value.executions);
  out.gauge("pawl_history_events", "Events of all histories.", value.events);
  out.gauge("pawl_messages_waiting", "Messages that wait for a turn.", value.messages_waiting);
  out.gauge("pawl_unread_messages", "Messages that instances left at their end.",
            value.unread_messages);
  out.gauge("pawl_timers_waiting", "Timers that have not fired.", value.timers_waiting);
  out.begin("pawl_activities", "gauge", "Activities without an outcome, by their state.");
  out.sample(value.activities_ready, of_state("ready"));
  out.sample(value.activities_running, of_state("running"));
  out.sample(value.activities_delayed, of_state("delayed"));
}

void put_sessions(const Metrics& value, PrometheusText& out) {
  out.begin("pawl_sessions", "gauge", "Sessions, by their state.");
  out.sample(value.sessions_active, of_state("active"));
  out.sample(value.sessions_idle, of_state("idle"));
  out.sample(value.sessions_lost, of_state("lost"));
  out.gauge("pawl_sessions_waiting",
            "Sessions and devices that have work and no owner: no worker has room, can run it, or "
            "has declared the device.",
            value.sessions_waiting);
  out.counter("pawl_sessions_created_total", "Sessions opened since the database was made.",
              static_cast<std::uint64_t>(value.sessions_created));
  out.begin("pawl_session_duration_seconds", "histogram", "How long ended sessions lasted.");
  const SessionEnds& ends = value.session_ends;
  out.histogram({SessionEnds::kLastedUpToMs, ends.lasted_ms.counts, SessionEnds::kBounds,
                 ends.lasted_ms.total, true});
  out.begin("pawl_session_activities", "histogram", "Activities handed over to ended sessions.");
  out.histogram({SessionEnds::kActivitiesUpTo, ends.activities.counts, SessionEnds::kBounds,
                 ends.activities.total, false});
}

void put_space(const Metrics& value, PrometheusText& out) {
  out.gauge("pawl_used_bytes", "Pages of the database in use.", value.used_bytes);
  out.gauge("pawl_log_bytes", "The write-ahead log.", value.log_bytes);
  out.gauge("pawl_quota_bytes", "What pages in use and the log may take; 0: no limit.",
            value.quota_bytes);
  out.gauge("pawl_refuses_new", "1: over the quota, or the disk was full.",
            value.refuses_new ? 1 : 0);
  out.gauge("pawl_counted_all", "0: a table has more rows than were counted.",
            value.complete ? 1 : 0);
}

struct Counter {
  const char* name;
  const char* help;
  std::uint64_t RuntimeStats::*member;
};

constexpr Counter kCounters[] = {
    {"pawl_ticks_total", "Rounds of the loop.", &RuntimeStats::ticks},
    {"pawl_commits_total", "Transactions that wrote.", &RuntimeStats::commits},
    {"pawl_flushes_total", "Flushes of the database's files.", &RuntimeStats::flushes},
    {"pawl_written_bytes_total", "Bytes written to the database's files.",
     &RuntimeStats::bytes_written},
    {"pawl_turns_total", "Turns of orchestrations.", &RuntimeStats::turns},
    {"pawl_turns_refused_total", "Turns that another worker had run first, or that were stale.",
     &RuntimeStats::turns_refused},
    {"pawl_cold_loads_total", "Histories read from the database.", &RuntimeStats::cold_loads},
    {"pawl_activities_started_total", "Activities begun.", &RuntimeStats::activities_started},
    {"pawl_activities_handed_back_total", "Activities given back into the queue.",
     &RuntimeStats::activities_handed_back},
    {"pawl_activities_overlong_total", "Inline activities beyond inline_max.",
     &RuntimeStats::activities_overlong},
    {"pawl_activities_abandoned_total", "Cancelled activities that did not come back in time.",
     &RuntimeStats::activities_abandoned},
    {"pawl_messages_dropped_total", "Duplicates, late messages and offers without a wait.",
     &RuntimeStats::messages_dropped},
    {"pawl_busy_ticks_total", "Ticks that did not get the write lock.", &RuntimeStats::busy_ticks},
    {"pawl_failed_ticks_total", "Ticks rolled back by an error of the disk or of memory.",
     &RuntimeStats::failed_ticks},
    {"pawl_sessions_claimed_total", "Sessions that this worker claimed.",
     &RuntimeStats::sessions_claimed},
    {"pawl_sessions_migrated_total", "Sessions that came from another worker.",
     &RuntimeStats::sessions_migrated},
    {"pawl_sessions_released_total", "Sessions that this worker released.",
     &RuntimeStats::sessions_released},
    {"pawl_sessions_lost_total", "Sessions that were lost.", &RuntimeStats::sessions_lost},
    {"pawl_sessions_evicted_total", "Sessions let go for an activity that does not come back.",
     &RuntimeStats::sessions_evicted},
    {"pawl_sessions_evicted_idle_total",
     "Sessions let go at max_sessions_per_worker for one that waited.",
     &RuntimeStats::sessions_evicted_idle},
    {"pawl_session_leaks_total", "Sessions reported as leaks.", &RuntimeStats::session_leaks},
    {"pawl_session_capacity_exhausted_total",
     "Looks for work that met a session for which this worker has no room.",
     &RuntimeStats::capacity_exhausted},
    {"pawl_poisoned_total", "Turns and activities that crashed too often.",
     &RuntimeStats::poisoned},
    {"pawl_rows_quarantined_total", "Damaged rows taken out of the way.",
     &RuntimeStats::rows_quarantined},
    {"pawl_unregistered_total", "Work whose name no process has.", &RuntimeStats::unregistered},
    {"pawl_instances_removed_total", "Instances removed, children included.",
     &RuntimeStats::instances_removed},
    {"pawl_wakeups_total", "Returns from sleep.", &RuntimeStats::wakeups},
    {"pawl_clock_steps_total", "Steps of the wall clock that were seen.",
     &RuntimeStats::clock_steps},
};

void put_orchestrations(const RuntimeCounters& of, PrometheusText& out) {
  const auto each = [&](const char* name, const char* type, const char* help, const auto& put) {
    out.begin(name, type, help);
    for (std::size_t i = 0; i < of.orchestration_count; ++i) {
      const OrchestrationStats& one = of.orchestrations[i];
      put(one, Labels{{"orchestration", one.name}, {"version", one.version}});
    }
  };
  const auto counter = [&](const char* name, const char* help,
                           std::uint64_t OrchestrationStats::*member) {
    each(name, "counter", help, [&](const OrchestrationStats& one, const Labels& labels) {
      out.sample(static_cast<std::int64_t>(one.*member), labels);
    });
  };
  counter("pawl_orchestrations_started_total", "Executions begun.", &OrchestrationStats::started);
  counter("pawl_orchestrations_completed_total", "Executions that completed.",
          &OrchestrationStats::completed);
  counter("pawl_orchestrations_failed_total", "Executions that failed.",
          &OrchestrationStats::failed);
  counter("pawl_orchestrations_stopped_total",
          "Executions stopped for their code or a damaged row.", &OrchestrationStats::stopped);
  each("pawl_turn_duration_seconds", "histogram", "Turns: the code, and what a replay took.",
       [&](const OrchestrationStats& one, const Labels& labels) {
         out.durations(one.turn, labels);
       });
  each("pawl_orchestration_duration_seconds", "histogram", "Executions from begin to end.",
       [&](const OrchestrationStats& one, const Labels& labels) {
         out.durations(one.lasted, labels);
       });
  each("pawl_orchestration_history_events", "histogram", "Lengths of histories at their ends.",
       [&](const OrchestrationStats& one, const Labels& labels) {
         out.histogram({HistoryLengths::kUpTo, one.history.counts, HistoryLengths::kBounds,
                        one.history.total, false},
                       labels);
       });
}

void put_activities(const RuntimeCounters& of, PrometheusText& out) {
  const auto counter = [&](const char* name, const char* help,
                           std::uint64_t ActivityStats::*member) {
    out.begin(name, "counter", help);
    for (std::size_t i = 0; i < of.activity_count; ++i)
      out.sample(static_cast<std::int64_t>(of.activities[i].*member),
                 {{"activity", of.activities[i].name}, {nullptr, {}}});
  };
  counter("pawl_activities_completed_total", "Accepted results.", &ActivityStats::completed);
  counter("pawl_activities_failed_total", "Accepted failures.", &ActivityStats::failed);
  counter("pawl_activities_retried_total", "Failed attempts that are followed by another.",
          &ActivityStats::retried);
  counter("pawl_activities_refused_total", "Results of work that was taken over or cancelled.",
          &ActivityStats::refused);
  out.begin("pawl_activity_duration_seconds", "histogram", "How long activities ran.");
  for (std::size_t i = 0; i < of.activity_count; ++i)
    out.durations(of.activities[i].ran, {{"activity", of.activities[i].name}, {nullptr, {}}});
}

void put_runtime(const RuntimeCounters& of, PrometheusText& out) {
  const RuntimeStats& stats = of.stats;
  for (const Counter& one : kCounters)
    out.counter(one.name, one.help, stats.*one.member);
  out.begin("pawl_commit_duration_seconds", "histogram",
            "Transactions that wrote, from the wait for the write lock to their commit.");
  out.durations(stats.written);
  out.begin("pawl_flush_duration_seconds", "histogram", "Commits: what the disk took.");
  out.durations(stats.flushed);
  out.gauge("pawl_warm_instances", "Histories kept in memory.", stats.warm_instances);
  out.gauge("pawl_warm_bytes", "Memory that they take.",
            static_cast<std::int64_t>(stats.warm_bytes_used));
  out.gauge("pawl_sessions_evicted_idle_last_minute",
            "Of pawl_sessions_evicted_idle_total, those of the last whole minute.",
            stats.sessions_evicted_idle_minute);
  out.gauge("pawl_activity_slots_used", "Activities in hand.", stats.activities_running);
  out.gauge("pawl_activity_slots_abandoned", "Slots held by abandoned activities.",
            stats.slots_abandoned);
  put_orchestrations(of, out);
  put_activities(of, out);
}

void put_counted(const PrometheusSources& sources, PrometheusText& out) {
  const auto gauge = [&](const char* name, const char* help, std::optional<std::int64_t> value) {
    if (value.has_value()) out.gauge(name, help, *value);
  };
  gauge("pawl_workers", "Registered workers.", sources.workers);
  gauge("pawl_workers_draining", "Of these, the ones that drain.", sources.workers_draining);
  gauge("pawl_devices_waiting", "Devices that have work and no worker that declares them.",
        sources.devices_waiting);
  gauge("pawl_clock_trusted", "1: the wall clock is trusted now.", sources.clock_trusted);
}

class WorkerCount final : public WorkerVisitor {
 public:
  explicit WorkerCount(PrometheusCounts* counts) : counts_(counts) {}
  void on_worker(const WorkerInfo& one) noexcept override {
    ++counts_->workers;
    if (one.draining) ++counts_->workers_draining;
  }

 private:
  PrometheusCounts* counts_;
};

class DeviceCount final : public SessionVisitor {
 public:
  explicit DeviceCount(PrometheusCounts* counts) : counts_(counts) {}
  void on_session(const SessionInfo& one) noexcept override {
    if (one.device && one.waits_for_ms.has_value()) ++counts_->devices_waiting;
  }

 private:
  PrometheusCounts* counts_;
};

}  // namespace

PrometheusSources PrometheusCounts::sources() const {
  PrometheusSources sources;
  sources.database = &database;
  sources.workers = workers;
  sources.workers_draining = workers_draining;
  sources.devices_waiting = devices_waiting;
  return sources;
}

Status count_for_prometheus(Client& client, PrometheusCounts* counts) {
  *counts = PrometheusCounts();
  PAWL_TRY(client.get_metrics(&counts->database));
  WorkerCount workers(counts);
  PAWL_TRY(client.list_workers(workers));
  DeviceCount devices(counts);
  Page page;
  page.rows_max = kSessionsCounted;
  return client.list_sessions(SessionFilter(), &page, devices);
}

Status write_prometheus(const PrometheusSources& sources, TextSink& sink) {
  PrometheusText out(sink);
  if (sources.database != nullptr) {
    put_instances(*sources.database, out);
    put_sessions(*sources.database, out);
    put_space(*sources.database, out);
  }
  put_counted(sources, out);
  if (sources.life != nullptr) {
    out.gauge("pawl_up", "1: the Runtime of this process is started.",
              sources.life->running ? 1 : 0);
    out.gauge("pawl_ready", "1: the Runtime of this process may be given work.",
              sources.life->ready ? 1 : 0);
  }
  if (sources.runtime != nullptr) put_runtime(*sources.runtime, out);
  return out.ok() ? Status::kOk : Status::kIo;
}

}  // namespace pawl

// pawl-admin: the management calls of a Client as a command. docs/operations.md is its manual.
#include <getopt.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "out.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace {

constexpr char kUsage[] =
    "usage: pawl-admin DATABASE COMMAND [OPTIONS] [ID]\n"
    "\n"
    "  list               instances, one a line\n"
    "    --name NAME --state STATE --prefix TEXT --limit N\n"
    "  show ID            one instance, its executions and open activities\n"
    "  watch ID           what its activities report, until it ends\n"
    "  values ID          what it keeps under keys\n"
    "  history ID         its events\n"
    "    --execution N --json\n"
    "  metrics            what the database holds\n"
    "  quota BYTES        how much pages and log may take; 0: no limit\n"
    "  workers            registered runtimes\n"
    "  sessions           and who owns them\n"
    "    --owner LABEL --kind KIND --session-state STATE\n"
    "    --node NODE: of this worker  --of ID: that this instance opened\n"
    "  leaks              sessions that instances opened and left open\n"
    "    --open-ms N --unused-ms N: for so long, for so long without any use\n"
    "  close-session NAME shared, or that an instance opened  --of ID\n"
    "  hold SESSION       does not idle or make room  --for-ms N --of ID\n"
    "  handoff SESSION    to the workers of a tag      --tag TAG --summary TEXT --of ID\n"
    "  change-session SESSION  its settings; what is not named stays  --of ID\n"
    "    --owner LABEL --kind KIND --idle-ms N --close-ms N --close-notice-ms N\n"
    "    --age-ms N --age-notice-ms N --activities N --warning N\n"
    "    --rate-ms N --burst N --wait-ms N; 0 or \"\": none\n"
    "  transfer SESSION   moves it to another worker       --to NODE --stop-ms N --force\n"
    "    --of ID: one that this instance opened\n"
    "  drain NODE         the worker takes nothing new, its sessions move\n"
    "    --stop-ms N\n"
    "  undrain NODE       it takes new work again\n"
    "  forget-device NAME no worker declares, no work waits\n"
    "  cancel ID          asks its code to stop            --reason TEXT\n"
    "  cancel-all         likewise all that pass, and have not ended\n"
    "    --name NAME --state STATE --prefix TEXT --reason TEXT\n"
    "  terminate ID       ends it now, without its code    --reason TEXT\n"
    "  suspend ID         no turns until resumed\n"
    "  resume ID          a suspended or stopped one goes on\n"
    "  restart ID         a failed or stopped one begins anew\n"
    "    --from start|last-good-event --version V --by WHO\n"
    "  children ID        those it started\n"
    "  tree ID            all of its tree, the root first\n"
    "  delete ID          removes an ended tree            --force: any\n"
    "  delete-ended       removes all ended trees, or those that pass\n"
    "    --name NAME --state STATE --prefix TEXT --before MS --limit N\n"
    "  prune ID           removes earlier executions       --keep N --before MS\n"
    "  prune-all          likewise of all instances        --keep N --before MS\n"
    "\n"
    "Exit status: 0 done, 1 refused or failed, 2 wrong usage.\n";

struct Command {
  std::string_view id;
  pawl::InstanceFilter filter;
  long long limit = 0;  // 0: all
  long long execution = 0;
  long long keep = 1;
  long long before = 0;
  std::string_view reason;
  std::string_view to;
  std::string_view of;
  pawl::SessionFilter sessions;
  pawl::RestartOptions restart;
  pawl::RestartFrom from = pawl::RestartFrom::kLastGoodEvent;
  long long stop = -1;  // -1: by default
  long long hold = 0;
  std::string_view tag;
  std::string_view summary;
  pawl::SessionUpdate update;
  bool json = false;
  bool force = false;
};

pawl::Out& out() {
  static pawl::Out to_stdout(stdout);
  return to_stdout;
}

// A number with its name before it and its unit behind.
void print_number(std::string_view before, std::int64_t number, std::string_view behind = {}) {
  out().own(before).number(number).own(behind);
}

void print_bytes(std::string_view before, std::size_t bytes) {
  print_number(before, static_cast<std::int64_t>(bytes), " bytes");
}

// A text with its name before it, or nothing where there is none.
void print_text(std::string_view before, std::string_view text) {
  if (!text.empty()) out().own(before).text(text);
}

// Times as the calls have them: ms since 1970.
void print_instance(const pawl::InstanceInfo& info) {
  out().text(info.id).own("\t").text(info.name).own("\t");
  out().own(pawl::orchestration_state_name(info.state));
  print_number("\texecution ", info.execution_id);
  print_number("\tcreated ", info.created_ms);
  print_number("\tupdated ", info.updated_ms);
  if (info.timers_without_clock > 0)
    print_number("\t", info.timers_without_clock, " timers wait for a trusted clock");
  out().own("\n");
}

template <typename Number>
bool parse_number(const char* text, Number* out) {
  static_assert(sizeof(Number) == sizeof(long long) && std::is_signed_v<Number>);
  char* end = nullptr;
  errno = 0;
  *out = std::strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && *out >= 0;
}

class PrintInstances final : public pawl::InstanceVisitor {
 public:
  void on_instance(const pawl::InstanceInfo& info) noexcept override {
    print_instance(info);
    ++printed;
  }
  std::size_t printed = 0;
};

class PrintExecutions final : public pawl::ExecutionVisitor {
 public:
  explicit PrintExecutions(std::int64_t current) : current_(current) {}
  void on_execution(const pawl::ExecutionInfo& one) noexcept override {
    print_number("execution ", one.execution_id, "\t");
    out().own(pawl::execution_state_name(one.state));
    print_number("\t", one.events, " events");
    print_number("\tstarted ", one.started_ms);
    print_number("\tended ", one.ended_ms);
    // That of the current one stands above.
    if (one.execution_id != current_) print_text("\toutput ", one.output);
    out().own("\n");
  }

 private:
  std::int64_t current_;
};

class PrintActivities final : public pawl::ActivityVisitor {
 public:
  void on_activity(const pawl::ActivityInfo& one) noexcept override {
    print_number("activity ", one.activity_id, "\t");
    out().text(one.name).own("\t").own(pawl::activity_state_name(one.state));
    print_number("\tattempt ", one.attempt);
    if (one.retry_attempt > 1) print_number("\ttry ", one.retry_attempt);
    print_text("\ton ", one.node);
    print_text("\tprogress ", one.last_progress);
    print_text("\tlast error ", one.last_error);
    out().own("\n");
  }
};

class PrintEvents final : public pawl::HistoryVisitor {
 public:
  void on_event(const pawl::HistoryEvent& event) noexcept override {
    print_number("", event.id, "\t");
    out().own(event.kind);
    if (event.ref != 0) print_number("\tof ", event.ref);
    print_text("\t", event.name);
    print_text("\ttag ", event.tag);
    if (event.error != pawl::ErrorKind::kNone)
      out().own("\t").own(pawl::error_kind_name(event.error));
    if (!event.payload.empty()) print_bytes("\t", event.payload.size());
    out().own("\n");
  }
};

class PrintValues final : public pawl::KvVisitor {
 public:
  void on_value(const pawl::KvEntry& one) noexcept override {
    out().text(one.key);
    print_bytes("\t", one.value.size());
    print_number("\tupdated ", one.updated_ms, "\t");
    out().text(one.value).own("\n");
  }
};

// JSON, in which export_history() has escaped what must be.
class PrintText final : public pawl::TextSink {
 public:
  bool write(std::string_view text) noexcept override {
    out().own(text);
    return true;
  }
};

pawl::Status list(pawl::Client& client, const Command& command) {
  PrintInstances print;
  pawl::Page page;
  do {
    if (command.limit > 0) {
      const auto limit = static_cast<std::size_t>(command.limit);
      if (print.printed >= limit) break;
      if (limit - print.printed < page.rows_max) page.rows_max = limit - print.printed;
    }
    PAWL_TRY(client.list_instances(command.filter, &page, print));
  } while (page.more);
  return pawl::Status::kOk;
}

pawl::Status show(pawl::Client& client, const Command& command) {
  pawl::InstanceInfo info;
  PAWL_TRY(client.get_instance_info(command.id, &info));
  print_instance(info);
  pawl::OrchestrationStatus status;
  PAWL_TRY(client.get_status(command.id, &status));
  if (status.error != pawl::ErrorKind::kNone)
    out().own("error ").own(pawl::error_kind_name(status.error)).own("\n");
  if (!status.output.empty()) out().own("output ").text(status.output).own("\n");
  pawl::InstanceStats stats;
  PAWL_TRY(client.get_instance_stats(command.id, &stats));
  print_number("history ", stats.history_events, " events, ");
  print_number("", stats.history_bytes, " bytes\t");
  print_number("", stats.messages_waiting, " messages\t");
  print_number("", stats.kv_keys, " keys, ");
  print_number("", stats.kv_bytes, " bytes\n");
  PrintExecutions print(info.execution_id);
  PAWL_TRY(client.list_executions(command.id, print));
  PrintActivities open;
  return client.list_activities(command.id, open);
}

// As it comes, also into a pipe.
pawl::Status watch(pawl::Client& client, const Command& command) {
  pawl::ProgressWatch watched;
  while (true) {
    const pawl::Status seen = client.watch_progress(command.id, std::chrono::hours(1), &watched);
    if (seen == pawl::Status::kStale) return pawl::Status::kOk;
    if (seen == pawl::Status::kTimeout) continue;
    PAWL_TRY(seen);
    const pawl::ProgressUpdate& update = watched.update();
    print_number("activity ", update.activity_id);
    print_number("\tattempt ", update.attempt);
    print_number("\t", update.number, "\t");
    out().text(update.text()).own("\n");
    if (!out().flush()) return pawl::Status::kIo;
  }
}

pawl::Status values(pawl::Client& client, const Command& command) {
  PrintValues print;
  pawl::KvPage page;
  do {
    PAWL_TRY(client.get_all_kv_values(command.id, &page, print));
  } while (page.more);
  return pawl::Status::kOk;
}

pawl::Status history(pawl::Client& client, const Command& command) {
  if (command.json) {
    PrintText print;
    return pawl::export_history(client, command.id, command.execution, print);
  }
  PrintEvents print;
  return client.read_history(command.id, command.execution, print);
}

// "<name><suffix> <value>"
void print_count(std::string_view name, std::string_view suffix, std::int64_t value) {
  out().own(name).own(suffix);
  print_number(" ", value, "\n");
}

void print_histogram(std::string_view name,
                     const std::int64_t (&bounds)[pawl::SessionEnds::kBounds],
                     const pawl::SessionEnds::Histogram& is) {
  const auto count = [&is](std::size_t i) { return static_cast<std::int64_t>(is.counts[i]); };
  for (std::size_t i = 0; i < pawl::SessionEnds::kBounds; ++i) {
    out().own(name);
    print_number("_up_to_", bounds[i]);
    print_number(" ", count(i), "\n");
  }
  print_count(name, "_beyond", count(pawl::SessionEnds::kBounds));
  print_count(name, "_total", is.total);
  print_count(name, "_most", is.most);
}

pawl::Status metrics(pawl::Client& client, const Command& /*command*/) {
  pawl::Metrics is;
  PAWL_TRY(client.get_metrics(&is));
  const struct {
    const char* name;
    std::int64_t value;
  } rows[] = {{"instances_running", is.instances_running},
              {"instances_completed", is.instances_completed},
              {"instances_failed", is.instances_failed},
              {"instances_stopped", is.instances_stopped},
              {"instances_suspended", is.instances_suspended},
              {"executions", is.executions},
              {"events", is.events},
              {"messages_waiting", is.messages_waiting},
              {"timers_waiting", is.timers_waiting},
              {"activities_ready", is.activities_ready},
              {"activities_running", is.activities_running},
              {"activities_delayed", is.activities_delayed},
              {"sessions_waiting", is.sessions_waiting},
              {"sessions_active", is.sessions_active},
              {"sessions_idle", is.sessions_idle},
              {"sessions_lost", is.sessions_lost},
              {"sessions_created", is.sessions_created},
              {"sessions_ended", static_cast<std::int64_t>(is.session_ends.ended)},
              {"used_bytes", is.used_bytes},
              {"log_bytes", is.log_bytes},
              {"quota_bytes", is.quota_bytes},
              {"refuses_new", is.refuses_new ? 1 : 0}};
  for (const auto& row : rows)
    print_count(row.name, "", row.value);
  print_histogram("sessions_lasted_ms", pawl::SessionEnds::kLastedUpToMs,
                  is.session_ends.lasted_ms);
  print_histogram("sessions_activities", pawl::SessionEnds::kActivitiesUpTo,
                  is.session_ends.activities);
  if (!is.complete) out().own("incomplete: there is more than was counted\n");
  return pawl::Status::kOk;
}

class PrintWorkers final : public pawl::WorkerVisitor {
 public:
  void on_worker(const pawl::WorkerInfo& one) noexcept override {
    out().text(one.node);
    print_number("\tpid ", one.pid);
    print_number("\tlease ", one.lease_ends_in_ms, " ms");
    print_number("\tsessions ", one.sessions);
    print_number(" of ", one.sessions_max);
    print_number("\tbusy ", one.sessions_busy);
    print_number("\tdevices ", one.devices);
    out().own(one.draining ? "\tdraining\n" : "\n");
  }
};

class PrintSessions final : public pawl::SessionVisitor {
 public:
  void on_session(const pawl::SessionInfo& one) noexcept override {
    out().text(one.name).own("\tof ").text(one.node);
    print_number("\tepoch ", one.epoch);
    print_number("\t", one.activities, " activities");
    print_number("\tlease ", one.lease_ends_in_ms, " ms");
    out().own(one.device ? "\tdevice" : "").own(one.exclusive ? "\texclusive" : "");
    out().own(one.stopping ? "\tstopping" : "").own("\t");
    out().own(pawl::session_state_name(one.state));
    print_number("\tage ", one.age_ms, " ms");
    print_number("\tquiet ", one.quiet_for_ms, " ms");
    print_text("\tby ", one.instance_id);
    print_text("\towner ", one.owner_label);
    if (one.expires_in_ms.has_value())
      print_number("\texpires in ", one.expires_in_ms.value(), " ms");
    if (one.waits_for_ms.has_value()) print_number("\twaits ", one.waits_for_ms.value(), " ms");
    print_text("\tkind ", one.kind);
    print_text("\tfolder ", one.folder);
    out().own("\n");
  }
};

pawl::Status workers(pawl::Client& client, const Command& /*command*/) {
  PrintWorkers print;
  return client.list_workers(print);
}
pawl::Status sessions(pawl::Client& client, const Command& command) {
  PrintSessions print;
  pawl::SessionFilter filter = command.sessions;
  filter.instance_id = command.of;
  pawl::Page page;
  do {
    PAWL_TRY(client.list_sessions(filter, &page, print));
  } while (page.more);
  return pawl::Status::kOk;
}

// As the log has them, unless an option says otherwise.
pawl::Status leaks(pawl::Client& client, const Command& command) {
  const pawl::SessionOptions usual;
  Command asked = command;
  if (asked.sessions.open_for_ms == 0 && asked.sessions.unused_for_ms == 0) {
    asked.sessions.open_for_ms = usual.leak_open.count();
    asked.sessions.unused_for_ms = usual.leak_unused.count();
  }
  return sessions(client, asked);
}

pawl::Status quota(pawl::Client& client, const Command& command) {
  long long bytes = 0;
  // What is no number is no quota either.
  return client.set_quota(parse_number(command.id.data(), &bytes) ? bytes : -1);
}
pawl::Status cancel(pawl::Client& client, const Command& command) {
  return client.cancel_instance(command.id, command.reason);
}
pawl::Status cancel_all(pawl::Client& client, const Command& command) {
  pawl::Page page;
  std::int64_t sum = 0;
  do {
    std::int64_t asked = 0;
    PAWL_TRY(client.cancel_instances(command.filter, &page, command.reason, &asked));
    sum += asked;
  } while (page.more);
  print_number("", sum, " instances\n");
  return pawl::Status::kOk;
}
pawl::Status terminate(pawl::Client& client, const Command& command) {
  return client.terminate_instance(command.id, command.reason);
}
pawl::Status suspend(pawl::Client& client, const Command& command) {
  return client.suspend_instance(command.id);
}
pawl::Status resume(pawl::Client& client, const Command& command) {
  return client.resume_instance(command.id);
}
pawl::Status restart(pawl::Client& client, const Command& command) {
  return client.restart_instance(command.id, command.from, command.restart);
}
pawl::Status children(pawl::Client& client, const Command& command) {
  PrintInstances print;
  pawl::Page page;
  do {
    PAWL_TRY(client.list_children(command.id, &page, print));
  } while (page.more);
  return pawl::Status::kOk;
}
pawl::Status tree(pawl::Client& client, const Command& command) {
  PrintInstances print;
  pawl::Page page;
  do {
    PAWL_TRY(client.get_instance_tree(command.id, &page, print));
  } while (page.more);
  return pawl::Status::kOk;
}

void print_removed(const pawl::Removed& removed) {
  print_number("", removed.instances, " instances, ");
  print_number("", removed.executions, " executions, ");
  print_number("", removed.events, " events\n");
}
void add(const pawl::Removed& some, pawl::Removed* sum) {
  sum->instances += some.instances;
  sum->executions += some.executions;
  sum->events += some.events;
}
pawl::Status remove(pawl::Client& client, const Command& command) {
  pawl::Removed removed;
  PAWL_TRY(client.delete_instance(command.id, command.force, &removed));
  print_removed(removed);
  return pawl::Status::kOk;
}
pawl::Status remove_ended(pawl::Client& client, const Command& command) {
  pawl::InstanceFilter filter = command.filter;
  filter.updated_before_ms = command.before;  // of an ended one: its end
  pawl::Page page;
  pawl::Removed sum;
  for (long long left = command.limit; command.limit == 0 || left > 0; --left) {
    if (command.limit > 0) page.rows_max = 1;
    pawl::Removed removed;
    const pawl::Status status = client.delete_instances(filter, &page, &removed);
    add(removed, &sum);
    PAWL_TRY(status);
    if (!page.more) break;
    if (removed.instances == 0) ++left;
  }
  print_removed(sum);
  return pawl::Status::kOk;
}
pawl::TransferOptions transfer_options(const Command& command) {
  pawl::TransferOptions options;
  if (command.stop >= 0) options.stop_timeout = std::chrono::milliseconds(command.stop);
  options.force = command.force;
  options.instance = command.of;
  return options;
}
pawl::Status transfer(pawl::Client& client, const Command& command) {
  return client.transfer_session(command.id, command.to, transfer_options(command));
}
pawl::Status close_session(pawl::Client& client, const Command& command) {
  return client.close_session(command.of, command.id);
}
pawl::Status hold(pawl::Client& client, const Command& command) {
  return client.hold_session(command.of, command.id, std::chrono::milliseconds(command.hold));
}
pawl::Status handoff(pawl::Client& client, const Command& command) {
  return client.handoff_session(command.of, command.id, command.tag, command.summary);
}
pawl::Status change_session(pawl::Client& client, const Command& command) {
  return client.change_session(command.of, command.id, command.update);
}
pawl::Status drain(pawl::Client& client, const Command& command) {
  return client.drain_worker(command.id, transfer_options(command));
}
pawl::Status undrain(pawl::Client& client, const Command& command) {
  return client.undrain_worker(command.id);
}
pawl::Status forget(pawl::Client& client, const Command& command) {
  return client.forget_device(command.id);
}
pawl::Status prune(pawl::Client& client, const Command& command) {
  pawl::Removed removed;
  PAWL_TRY(client.prune_executions(command.id, command.keep, command.before, &removed));
  print_removed(removed);
  return pawl::Status::kOk;
}
pawl::Status prune_all(pawl::Client& client, const Command& command) {
  pawl::Page page;
  pawl::Removed sum;
  do {
    pawl::Removed removed;
    PAWL_TRY(client.prune_instances(command.filter, &page, command.keep, command.before, &removed));
    add(removed, &sum);
  } while (page.more);
  print_removed(sum);
  return pawl::Status::kOk;
}

struct Entry {
  const char* name;
  pawl::Status (*run)(pawl::Client& client, const Command& command);
  bool needs_id;
};
constexpr Entry kEntries[] = {
    {"list", list, false},
    {"show", show, true},
    {"history", history, true},
    {"metrics", metrics, false},
    {"cancel", cancel, true},
    {"cancel-all", cancel_all, false},
    {"terminate", terminate, true},
    {"suspend", suspend, true},
    {"resume", resume, true},
    {"restart", restart, true},
    {"delete", remove, true},
    {"prune", prune, true},
    {"workers", workers, false},
    {"quota", quota, true},
    {"sessions", sessions, false},
    {"leaks", leaks, false},
    {"children", children, true},
    {"tree", tree, true},
    {"delete-ended", remove_ended, false},
    {"prune-all", prune_all, false},
    {"transfer", transfer, true},
    {"values", values, true},
    {"watch", watch, true},
    {"drain", drain, true},
    {"undrain", undrain, true},
    {"forget-device", forget, true},
    {"close-session", close_session, true},
    {"hold", hold, true},
    {"handoff", handoff, true},
    {"change-session", change_session, true},
};

const Entry* find(std::string_view name) {
  for (const Entry& entry : kEntries)
    if (name == entry.name) return &entry;
  return nullptr;
}

// ---- arguments ----------------------------------------------------------------------------------

bool parse_session_state(std::string_view text, pawl::SessionFilter* filter) {
  using State = pawl::SessionState;
  for (const State state : {State::kIdle, State::kActive, State::kLost, State::kClosed,
                            State::kRefused, State::kExpired}) {
    if (text != pawl::session_state_name(state)) continue;
    filter->any_state = false;
    filter->state = state;
    return true;
  }
  return false;
}

bool parse_state(std::string_view text, pawl::InstanceFilter* filter) {
  using State = pawl::OrchestrationState;
  for (const State state :
       {State::kRunning, State::kCompleted, State::kFailed, State::kStopped, State::kSuspended}) {
    if (text != pawl::orchestration_state_name(state)) continue;
    filter->any_state = false;
    filter->state = state;
    return true;
  }
  return false;
}

bool parse_from(std::string_view text, pawl::RestartFrom* from) {
  *from = text == "start" ? pawl::RestartFrom::kStart : pawl::RestartFrom::kLastGoodEvent;
  return text == "start" || text == "last-good-event";
}

// Options without a letter.
enum : int {
  kForMs = 256,
  kTag,
  kSummary,
  kIdleMs,
  kCloseMs,
  kCloseNoticeMs,
  kAgeMs,
  kAgeNoticeMs,
  kActivities,
  kWarning,
  kRateMs,
  kBurst,
  kWaitMs
};

bool parse_ms(std::optional<std::chrono::milliseconds>* out) {
  long long ms = 0;
  if (!parse_number(optarg, &ms)) return false;
  *out = std::chrono::milliseconds(ms);
  return true;
}

bool parse_count(std::optional<std::int64_t>* out) {
  long long count = 0;
  if (!parse_number(optarg, &count)) return false;
  *out = count;
  return true;
}

bool parse_setting(int option, pawl::SessionUpdate* out) {
  switch (option) {
    case kIdleMs: return parse_ms(&out->idle_timeout);
    case kCloseMs: return parse_ms(&out->idle_close);
    case kCloseNoticeMs: return parse_ms(&out->idle_close_notice);
    case kAgeMs: return parse_ms(&out->max_age);
    case kAgeNoticeMs: return parse_ms(&out->expiry_notice);
    case kActivities: return parse_count(&out->max_activities);
    case kWarning: return parse_count(&out->activity_warning);
    case kRateMs: return parse_ms(&out->rate_interval);
    case kBurst: return parse_count(&out->rate_burst);
    case kWaitMs: return parse_ms(&out->rate_wait);
    default: return false;
  }
}

bool parse_option(int option, Command* out) {
  switch (option) {
    case 'F': return parse_from(optarg, &out->from);
    case 'v': out->restart.version = optarg; return true;
    case 'y': out->restart.by = optarg; return true;
    case 'n': out->filter.name = optarg; return true;
    case 's': return parse_state(optarg, &out->filter);
    case 'i': return parse_session_state(optarg, &out->sessions);
    case 'N': out->sessions.node = optarg; return true;
    case 'O': out->update.owner_label = out->sessions.owner_label = optarg; return true;
    case 'd': out->update.kind = out->sessions.kind = optarg; return true;
    case kForMs: return parse_number(optarg, &out->hold);
    case kTag: out->tag = optarg; return true;
    case kSummary: out->summary = optarg; return true;
    case 'p': out->filter.id_prefix = optarg; return true;
    case 'l': return parse_number(optarg, &out->limit);
    case 'e': return parse_number(optarg, &out->execution);
    case 'k': return parse_number(optarg, &out->keep);
    case 'b': return parse_number(optarg, &out->before);
    case 'r': out->reason = optarg; return true;
    case 't': out->to = optarg; return true;
    case 'o': out->of = optarg; return true;
    case 'w': return parse_number(optarg, &out->stop);
    case 'A': return parse_number(optarg, &out->sessions.open_for_ms);
    case 'U': return parse_number(optarg, &out->sessions.unused_for_ms);
    case 'j': out->json = true; return true;
    case 'f': out->force = true; return true;
    default: return parse_setting(option, &out->update);
  }
}

// The program's name, the database and the command come before what is parsed here.
bool parse(int argc, char** argv, const Entry& entry, Command* out) {
  static const option kOptions[] = {{"name", required_argument, nullptr, 'n'},
                                    {"state", required_argument, nullptr, 's'},
                                    {"prefix", required_argument, nullptr, 'p'},
                                    {"limit", required_argument, nullptr, 'l'},
                                    {"execution", required_argument, nullptr, 'e'},
                                    {"keep", required_argument, nullptr, 'k'},
                                    {"before", required_argument, nullptr, 'b'},
                                    {"reason", required_argument, nullptr, 'r'},
                                    {"session-state", required_argument, nullptr, 'i'},
                                    {"node", required_argument, nullptr, 'N'},
                                    {"owner", required_argument, nullptr, 'O'},
                                    {"kind", required_argument, nullptr, 'd'},
                                    {"of", required_argument, nullptr, 'o'},
                                    {"open-ms", required_argument, nullptr, 'A'},
                                    {"unused-ms", required_argument, nullptr, 'U'},
                                    {"json", no_argument, nullptr, 'j'},
                                    {"to", required_argument, nullptr, 't'},
                                    {"stop-ms", required_argument, nullptr, 'w'},
                                    {"from", required_argument, nullptr, 'F'},
                                    {"version", required_argument, nullptr, 'v'},
                                    {"by", required_argument, nullptr, 'y'},
                                    {"force", no_argument, nullptr, 'f'},
                                    {"for-ms", required_argument, nullptr, kForMs},
                                    {"tag", required_argument, nullptr, kTag},
                                    {"summary", required_argument, nullptr, kSummary},
                                    {"idle-ms", required_argument, nullptr, kIdleMs},
                                    {"close-ms", required_argument, nullptr, kCloseMs},
                                    {"close-notice-ms", required_argument, nullptr, kCloseNoticeMs},
                                    {"age-ms", required_argument, nullptr, kAgeMs},
                                    {"age-notice-ms", required_argument, nullptr, kAgeNoticeMs},
                                    {"activities", required_argument, nullptr, kActivities},
                                    {"warning", required_argument, nullptr, kWarning},
                                    {"rate-ms", required_argument, nullptr, kRateMs},
                                    {"burst", required_argument, nullptr, kBurst},
                                    {"wait-ms", required_argument, nullptr, kWaitMs},
                                    {nullptr, 0, nullptr, 0}};
  opterr = 0;  // it would say what is wrong with the argument as it is, control characters and all
  int found = getopt_long(argc, argv, "", kOptions, nullptr);
  for (; found != -1; found = getopt_long(argc, argv, "", kOptions, nullptr))
    if (!parse_option(found, out)) return false;
  const int rest = argc - optind;
  if (rest != (entry.needs_id ? 1 : 0)) return false;
  if (entry.needs_id) out->id = argv[optind];
  return true;
}

int run(const char* database, const Entry& entry, const Command& command) {
  pawl::ProcessOptions process_options;
  process_options.connections_max = 1;
  pawl::ClientOptions options;
  options.database_path = database;
  options.create = false;
  options.payload_bytes_max = process_options.payload_bytes_max;  // the largest there is
  std::vector<unsigned char> for_sqlite(pawl::Process::required_memory(process_options));
  std::vector<unsigned char> for_client(pawl::Client::required_memory(options));
  pawl::posix::SystemPort port;
  pawl::Process process;
  pawl::Client client;
  pawl::Diagnostic why;
  pawl::Status status = process.start(process_options, for_sqlite.data(), for_sqlite.size(), why);
  if (status == pawl::Status::kOk)
    status = client.open(process, options, port.port(), for_client.data(), for_client.size(), why);
  std::string_view text = why.text();
  if (status == pawl::Status::kOk) {
    status = entry.run(client, command);
    text = client.error_text();
  }
  const bool written = out().flush();
  if (status == pawl::Status::kOk && written) return 0;
  if (status == pawl::Status::kOk) status = pawl::Status::kIo;
  pawl::Out(stderr)
      .own("pawl-admin: ")
      .own(pawl::status_name(status))
      .own(": ")
      .text(text)
      .own("\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Entry* const entry = argc < 3 ? nullptr : find(argv[2]);
  Command command;
  if (entry == nullptr || !parse(argc - 2, argv + 2, *entry, &command)) {
    pawl::Out(stderr).own(kUsage);
    return 2;
  }
  return run(argv[1], *entry, command);
}

// pawl-admin: the management calls of a Client as a command. docs/operations.md is its manual.
#include <getopt.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>
#include <vector>

#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace {

constexpr char kUsage[] =
    "usage: pawl-admin DATABASE COMMAND [OPTIONS] [ID]\n"
    "\n"
    "  list               instances, one a line\n"
    "    --name NAME --state STATE --prefix TEXT --limit N\n"
    "  show ID            one instance, its executions and open activities\n"
    "  values ID          what it keeps under keys\n"
    "  history ID         its events\n"
    "    --execution N --json\n"
    "  metrics            what the database holds\n"
    "  quota BYTES        how much pages and log may take; 0: no limit\n"
    "  workers            registered runtimes\n"
    "  sessions           and who owns them\n"
    "    --owner LABEL --kind KIND --session-state STATE\n"
    "  leaks              sessions that instances opened and left open\n"
    "    --open-ms N --unused-ms N: for so long, for so long without any use\n"
    "  close-session NAME that an instance opened          --of ID\n"
    "  transfer SESSION   moves it to another worker       --to NODE --stop-ms N --force\n"
    "    --of ID: one that this instance opened\n"
    "  drain NODE         the worker takes nothing new, its sessions move\n"
    "    --stop-ms N\n"
    "  forget-device NAME nobody declares, nothing waits\n"
    "  cancel ID          asks its code to stop            --reason TEXT\n"
    "  terminate ID       ends it now, without its code    --reason TEXT\n"
    "  suspend ID         no turns until resumed\n"
    "  resume ID          a suspended or stopped one goes on\n"
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
  long long stop = -1;  // -1: by default
  bool json = false;
  bool force = false;
};

int length(std::string_view text) { return static_cast<int>(text.size()); }

// Times as the calls have them: ms since 1970.
void print_instance(const pawl::InstanceInfo& info) {
  std::printf("%.*s\t%.*s\t%s\texecution %lld\tcreated %lld\tupdated %lld\n", length(info.id),
              info.id.data(), length(info.name), info.name.data(),
              pawl::orchestration_state_name(info.state), static_cast<long long>(info.execution_id),
              static_cast<long long>(info.created_ms), static_cast<long long>(info.updated_ms));
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
  void on_instance(const pawl::InstanceInfo& info) override {
    print_instance(info);
    ++printed;
  }
  std::size_t printed = 0;
};

class PrintExecutions final : public pawl::ExecutionVisitor {
 public:
  void on_execution(const pawl::ExecutionInfo& one) override {
    std::printf("execution %lld\t%s\t%lld events\tstarted %lld\tended %lld\n",
                static_cast<long long>(one.execution_id), pawl::execution_state_name(one.state),
                static_cast<long long>(one.events), static_cast<long long>(one.started_ms),
                static_cast<long long>(one.ended_ms));
  }
};

class PrintActivities final : public pawl::ActivityVisitor {
 public:
  void on_activity(const pawl::ActivityInfo& one) override {
    std::printf("activity %lld\t%.*s\t%s\tattempt %lld", static_cast<long long>(one.activity_id),
                length(one.name), one.name.data(), pawl::activity_state_name(one.state),
                static_cast<long long>(one.attempt));
    if (one.retry_attempt > 1) std::printf("\ttry %lld", static_cast<long long>(one.retry_attempt));
    if (!one.node.empty()) std::printf("\ton %.*s", length(one.node), one.node.data());
    if (!one.last_progress.empty())
      std::printf("\tprogress %.*s", length(one.last_progress), one.last_progress.data());
    if (!one.last_error.empty())
      std::printf("\tlast error %.*s", length(one.last_error), one.last_error.data());
    std::printf("\n");
  }
};

class PrintEvents final : public pawl::HistoryVisitor {
 public:
  void on_event(const pawl::HistoryEvent& event) override {
    std::printf("%lld\t%s", static_cast<long long>(event.id), event.kind);
    if (event.ref != 0) std::printf("\tof %lld", static_cast<long long>(event.ref));
    if (!event.name.empty()) std::printf("\t%.*s", length(event.name), event.name.data());
    if (!event.tag.empty()) std::printf("\ttag %.*s", length(event.tag), event.tag.data());
    if (event.error != pawl::ErrorKind::kNone)
      std::printf("\t%s", pawl::error_kind_name(event.error));
    if (!event.payload.empty()) std::printf("\t%zu bytes", event.payload.size());
    std::printf("\n");
  }
};

class PrintValues final : public pawl::KvVisitor {
 public:
  void on_value(const pawl::KvEntry& one) override {
    std::printf("%.*s\t%zu bytes\tupdated %lld\t%.*s\n", length(one.key), one.key.data(),
                one.value.size(), static_cast<long long>(one.updated_ms), length(one.value),
                one.value.data());
  }
};

class PrintText final : public pawl::TextSink {
 public:
  bool write(std::string_view text) override {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
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
    std::printf("error %s\n", pawl::error_kind_name(status.error));
  if (!status.output.empty())
    std::printf("output %.*s\n", length(status.output), status.output.data());
  pawl::InstanceStats stats;
  PAWL_TRY(client.get_instance_stats(command.id, &stats));
  std::printf("history %lld events, %lld bytes\t%lld messages\t%lld keys, %lld bytes\n",
              static_cast<long long>(stats.history_events),
              static_cast<long long>(stats.history_bytes),
              static_cast<long long>(stats.messages_waiting), static_cast<long long>(stats.kv_keys),
              static_cast<long long>(stats.kv_bytes));
  PrintExecutions print;
  PAWL_TRY(client.list_executions(command.id, print));
  PrintActivities open;
  return client.list_activities(command.id, open);
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

void print_histogram(const char* name, const std::int64_t (&bounds)[pawl::SessionEnds::kBounds],
                     const pawl::SessionEnds::Histogram& is) {
  for (std::size_t i = 0; i < pawl::SessionEnds::kBounds; ++i)
    std::printf("%s_up_to_%lld %llu\n", name, static_cast<long long>(bounds[i]),
                static_cast<unsigned long long>(is.counts[i]));
  std::printf("%s_beyond %llu\n%s_total %lld\n%s_most %lld\n", name,
              static_cast<unsigned long long>(is.counts[pawl::SessionEnds::kBounds]), name,
              static_cast<long long>(is.total), name, static_cast<long long>(is.most));
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
              {"messages_waiting", is.messages_waiting},
              {"timers_waiting", is.timers_waiting},
              {"activities_ready", is.activities_ready},
              {"activities_running", is.activities_running},
              {"activities_delayed", is.activities_delayed},
              {"sessions_waiting", is.sessions_waiting},
              {"sessions_active", is.sessions_active},
              {"sessions_idle", is.sessions_idle},
              {"sessions_lost", is.sessions_lost},
              {"sessions_ended", static_cast<std::int64_t>(is.session_ends.ended)},
              {"used_bytes", is.used_bytes},
              {"log_bytes", is.log_bytes},
              {"quota_bytes", is.quota_bytes},
              {"refuses_new", is.refuses_new ? 1 : 0}};
  for (const auto& row : rows)
    std::printf("%s %lld\n", row.name, static_cast<long long>(row.value));
  print_histogram("sessions_lasted_ms", pawl::SessionEnds::kLastedUpToMs,
                  is.session_ends.lasted_ms);
  print_histogram("sessions_activities", pawl::SessionEnds::kActivitiesUpTo,
                  is.session_ends.activities);
  if (!is.complete) std::printf("incomplete: there is more than was counted\n");
  return pawl::Status::kOk;
}

class PrintWorkers final : public pawl::WorkerVisitor {
 public:
  void on_worker(const pawl::WorkerInfo& one) override {
    std::printf("%.*s\tpid %lld\tlease %lld ms\n", length(one.node), one.node.data(),
                static_cast<long long>(one.pid), static_cast<long long>(one.lease_ends_in_ms));
  }
};

class PrintSessions final : public pawl::SessionVisitor {
 public:
  void on_session(const pawl::SessionInfo& one) override {
    std::printf("%.*s\tof %.*s\tepoch %lld\t%lld activities\tlease %lld ms%s%s%s", length(one.name),
                one.name.data(), length(one.node), one.node.data(),
                static_cast<long long>(one.epoch), static_cast<long long>(one.activities),
                static_cast<long long>(one.lease_ends_in_ms), one.device ? "\tdevice" : "",
                one.exclusive ? "\texclusive" : "", one.stopping ? "\tstopping" : "");
    std::printf("\t%s\tage %lld ms\tquiet %lld ms", pawl::session_state_name(one.state),
                static_cast<long long>(one.age_ms), static_cast<long long>(one.quiet_for_ms));
    if (!one.instance_id.empty())
      std::printf("\tby %.*s", length(one.instance_id), one.instance_id.data());
    if (!one.owner_label.empty())
      std::printf("\towner %.*s", length(one.owner_label), one.owner_label.data());
    if (one.expires_in_ms.has_value())
      std::printf("\texpires in %lld ms", static_cast<long long>(one.expires_in_ms.value()));
    if (!one.kind.empty()) std::printf("\tkind %.*s", length(one.kind), one.kind.data());
    std::printf("\n");
  }
};

pawl::Status workers(pawl::Client& client, const Command& /*command*/) {
  PrintWorkers print;
  return client.list_workers(print);
}
pawl::Status sessions(pawl::Client& client, const Command& command) {
  PrintSessions print;
  pawl::Page page;
  do {
    PAWL_TRY(client.list_sessions(command.sessions, &page, print));
  } while (page.more);
  return pawl::Status::kOk;
}

// As the log has them, unless told otherwise.
pawl::Status leaks(pawl::Client& client, const Command& command) {
  const pawl::SessionOptions usual;
  Command asked = command;
  if (asked.sessions.open_for_ms == 0 && asked.sessions.unused_for_ms == 0) {
    asked.sessions.open_for_ms = usual.leak_open_ms;
    asked.sessions.unused_for_ms = usual.leak_unused_ms;
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
pawl::Status terminate(pawl::Client& client, const Command& command) {
  return client.terminate_instance(command.id, command.reason);
}
pawl::Status suspend(pawl::Client& client, const Command& command) {
  return client.suspend_instance(command.id);
}
pawl::Status resume(pawl::Client& client, const Command& command) {
  return client.resume_instance(command.id);
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
  std::printf("%lld instances, %lld executions, %lld events\n",
              static_cast<long long>(removed.instances), static_cast<long long>(removed.executions),
              static_cast<long long>(removed.events));
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
  if (command.stop >= 0) options.stop_ms = command.stop;
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
pawl::Status drain(pawl::Client& client, const Command& command) {
  return client.drain_worker(command.id, transfer_options(command));
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
    {"terminate", terminate, true},
    {"suspend", suspend, true},
    {"resume", resume, true},
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
    {"drain", drain, true},
    {"forget-device", forget, true},
    {"close-session", close_session, true},
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

bool parse_option(int option, Command* out) {
  switch (option) {
    case 'n': out->filter.name = optarg; return true;
    case 's': return parse_state(optarg, &out->filter);
    case 'i': return parse_session_state(optarg, &out->sessions);
    case 'O': out->sessions.owner_label = optarg; return true;
    case 'd': out->sessions.kind = optarg; return true;
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
    default: return false;
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
                                    {"owner", required_argument, nullptr, 'O'},
                                    {"kind", required_argument, nullptr, 'd'},
                                    {"of", required_argument, nullptr, 'o'},
                                    {"open-ms", required_argument, nullptr, 'A'},
                                    {"unused-ms", required_argument, nullptr, 'U'},
                                    {"json", no_argument, nullptr, 'j'},
                                    {"to", required_argument, nullptr, 't'},
                                    {"stop-ms", required_argument, nullptr, 'w'},
                                    {"force", no_argument, nullptr, 'f'},
                                    {nullptr, 0, nullptr, 0}};
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
  options.payload_bytes_max = std::size_t{1024} * 1024;
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
  if (status == pawl::Status::kOk && std::fflush(stdout) == 0) return 0;
  std::fprintf(stderr, "pawl-admin: %s: %.*s\n", pawl::status_name(status), length(text),
               text.data());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const Entry* const entry = argc < 3 ? nullptr : find(argv[2]);
  Command command;
  if (entry == nullptr || !parse(argc - 2, argv + 2, *entry, &command)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return run(argv[1], *entry, command);
}

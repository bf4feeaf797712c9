#include "processes.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "machine.hpp"
#include "work.hpp"

extern char** environ;

namespace bench {
namespace {

constexpr std::uint64_t kSessions = 8;

// A started process: the parent writes to its standard input and reads its standard output.
class Child {
 public:
  ~Child() { end_input(); }
  bool start(const std::vector<std::string>& words) {
    int to[2];
    int from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) return false;
    std::vector<char*> argv;
    for (const std::string& word : words)
      argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    to_ = to[1];
    from_ = ::fdopen(from[0], "r");
    return failed == 0 && from_ != nullptr;
  }
  void end_input() {
    if (to_ >= 0) ::close(to_);
    to_ = -1;
  }
  // The next line of its output; empty: none came.
  std::string line() {
    char text[512];
    return std::fgets(text, sizeof(text), from_) == nullptr ? "" : text;
  }
  bool wait() {
    int status = 0;
    const bool reaped = ::waitpid(pid_, &status, 0) == pid_;
    if (from_ != nullptr) std::fclose(from_);
    from_ = nullptr;
    return reaped && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  std::FILE* from_ = nullptr;
};

std::vector<std::string> command_of(const Setup& setup, const char* role,
                                    const std::string& database) {
  std::vector<std::string> words = {setup.program,
                                    "--role",
                                    role,
                                    "--db",
                                    database,
                                    "--sync",
                                    setup.synchronous_full ? "full" : "normal",
                                    setup.scenario,
                                    std::to_string(setup.n)};
  if (!setup.server.empty()) words.insert(words.end(), {"--server", setup.server});
  return words;
}

// Reads one line of figures from a child and adds up all except the latency.
bool add_line(const std::string& line, Figures* figures, double* done_ms) {
  unsigned long long counts[8];
  const int read = std::sscanf(line.c_str(), "%lf %llu %llu %llu %llu %llu %llu %llu %llu", done_ms,
                               &counts[0], &counts[1], &counts[2], &counts[3], &counts[4],
                               &counts[5], &counts[6], &counts[7]);
  if (read != 9) return false;
  figures->commits += counts[0];
  figures->io.fsyncs += counts[1];
  figures->io.bytes_written += counts[2];
  figures->orchestrations += counts[3];
  figures->activities += counts[4];
  figures->allocs_after_start += counts[5];
  figures->vmhwm_kib = std::max<std::uint64_t>(figures->vmhwm_kib, counts[6]);
  figures->server_trips += counts[7];
  return true;
}

void print_line(const Figures& figures) {
  std::printf("%.6f %llu %llu %llu %llu %llu %llu %llu %llu\n", now_ms(),
              static_cast<unsigned long long>(figures.commits),
              static_cast<unsigned long long>(figures.io.fsyncs),
              static_cast<unsigned long long>(figures.io.bytes_written),
              static_cast<unsigned long long>(figures.orchestrations),
              static_cast<unsigned long long>(figures.activities),
              static_cast<unsigned long long>(figures.allocs_after_start),
              static_cast<unsigned long long>(figures.vmhwm_kib),
              static_cast<unsigned long long>(figures.server_trips));
}

// ---- coldstart ----

bool run_coldstart(const Setup& setup, Figures* figures, std::string* error) {
  figures->latencies_ms.reserve(static_cast<std::size_t>(setup.n));
  const double begin_ms = now_ms();
  for (std::uint64_t i = 0; i < setup.n; ++i) {
    const std::string database = setup.database + "-" + std::to_string(i);
    Child child;
    const double started_ms = now_ms();
    double done_ms = 0;
    if (!child.start(command_of(setup, "first", database)) ||
        !add_line(child.line(), figures, &done_ms)) {
      *error = "a process that should run one orchestration did not";
      return false;
    }
    figures->latencies_ms.push_back(done_ms - started_ms);
    child.end_input();
    const bool ended = child.wait();
    for (const char* suffix : {"", "-wal", "-shm", "-bell", "-reserve"})
      ::unlink((database + suffix).c_str());
    ::rmdir((database + "-workers").c_str());
    if (!ended) {
      *error = "a process ended badly";
      return false;
    }
  }
  figures->wall_s = (now_ms() - begin_ms) / 1e3;
  figures->steps = setup.n;
  figures->step = "start";
  return true;
}

// The counts cover the whole process until then.
pawl::Status do_first(Machine& machine) {
  machine.begin();
  PAWL_TRY(machine.start_one(0, "hello", "world"));
  PAWL_TRY(machine.run_to_ends(1));
  machine.end();
  machine.figures.io = io_counts();
  machine.figures.commits = machine.stats().commits;
  print_line(machine.figures);
  std::fflush(stdout);
  return pawl::Status::kOk;
}

// ---- several workers on one file ----

pawl::Status do_work(Machine& machine) {
  std::puts("ready");
  std::fflush(stdout);
  std::thread waiter([&machine] {
    char byte = 0;
    while (::read(0, &byte, 1) > 0) {
    }
    machine.runtime().request_stop();
  });
  machine.begin();
  while (!machine.runtime().stop_requested())
    static_cast<void>(machine.runtime().run_for(std::chrono::seconds(600)));
  waiter.join();
  machine.end();
  print_line(machine.figures);
  std::fflush(stdout);
  return pawl::Status::kOk;
}

class Caller {
 public:
  explicit Caller(const Setup& setup) : setup_(setup) {
    options_.database_path = setup.database;
    if (!setup.server.empty()) options_.database = &server_;
    options_.synchronous_full = setup.synchronous_full;
  }
  bool open(std::string* error) {
    process_block_ = std::make_unique<Block>(pawl::Process::required_memory(process_options_));
    block_ = std::make_unique<Block>(pawl::Client::required_memory(options_));
    pawl::Diagnostic diagnostic;
    const bool opened = process_.start(process_options_, process_block_->get(),
                                       process_block_->size(), diagnostic) == pawl::Status::kOk &&
                        client_.open(process_, options_, port_.port(), block_->get(),
                                     block_->size(), diagnostic) == pawl::Status::kOk;
    if (!opened) *error = std::string(diagnostic.text());
    return opened;
  }
  bool start_all(bool on_sessions, std::string* error) {
    for (std::uint64_t i = 0; i < setup_.n; ++i) {
      const std::string session = "session-" + std::to_string(i % kSessions);
      const pawl::Status status =
          client_.start_orchestration(on_sessions ? "pinned" : "hello", pawl::InstanceId(id(i)),
                                      on_sessions ? session : "world");
      if (status == pawl::Status::kOk) continue;
      *error = std::string(client_.error_text());
      return false;
    }
    return true;
  }
  bool wait_all(std::string* error) {
    for (std::uint64_t i = 0; i < setup_.n; ++i) {
      pawl::OrchestrationStatus status;
      if (client_.wait_for_orchestration(id(i), std::chrono::seconds(60), &status) ==
              pawl::Status::kOk &&
          status.state == pawl::OrchestrationState::kCompleted)
        continue;
      *error = "an orchestration did not complete: " + std::string(client_.error_text());
      return false;
    }
    return true;
  }

 private:
  static std::string id(std::uint64_t number) { return "many-" + std::to_string(number); }
  const Setup& setup_;
  pawl::ProcessOptions process_options_;
  pawl::ClientOptions options_;
  const pawl::ServerDatabase server_ = find_server(setup_);
  pawl::posix::SystemPort port_;
  std::unique_ptr<Block> process_block_;
  std::unique_ptr<Block> block_;
  pawl::Process process_;
  pawl::Client client_;
};

// The work exists before the workers do. The time is from the first start to the last end.
bool run_multi(const Setup& setup, Figures* figures, std::string* error) {
  const bool on_sessions = setup.scenario == "multi_session";
  Caller caller(setup);
  if (!caller.open(error) || !caller.start_all(on_sessions, error)) return false;
  std::vector<Child> children(static_cast<std::size_t>(setup.processes));
  const double begin_ms = now_ms();
  for (Child& child : children) {
    if (child.start(command_of(setup, "worker", setup.database))) continue;
    *error = "a worker could not be started";
    return false;
  }
  bool well = caller.wait_all(error);
  figures->wall_s = (now_ms() - begin_ms) / 1e3;
  for (Child& child : children) {
    child.end_input();
    double done_ms = 0;
    const bool reported = child.line() == "ready\n" && add_line(child.line(), figures, &done_ms);
    if (!child.wait() || !reported) {
      if (well) *error = "a worker ended badly";
      well = false;
    }
  }
  figures->more.emplace_back("processes", static_cast<double>(setup.processes));
  figures->steps = on_sessions ? setup.n * kPinnedSteps : setup.n;
  figures->step = on_sessions ? "activity" : "orchestration";
  return well;
}

}  // namespace

std::vector<Name> process_scenario_list() {
  return {{"coldstart", "N times: a new process, a new database, until its first hello has ended"},
          {"multi", "N hellos that wait, done by --processes new processes"},
          {"multi_session", "as session, done by --processes new processes that own their share"}};
}

bool run_processes(const Setup& setup, Figures* figures, std::string* error) {
  return setup.scenario == "coldstart" ? run_coldstart(setup, figures, error)
                                       : run_multi(setup, figures, error);
}

bool run_role(const Setup& setup, const std::string& role, std::string* error) {
  Figures figures;
  Machine machine(setup, figures);
  const pawl::Status status = [&] {
    PAWL_TRY(machine.start_process());
    pawl::Options options = machine.default_options();
    options.sessions.max_sessions_per_worker =
        static_cast<std::uint32_t>((kSessions + setup.processes - 1) / setup.processes);
    PAWL_TRY(machine.start(options));
    PAWL_TRY(role == "first" ? do_first(machine) : do_work(machine));
    return machine.stop();
  }();
  *error = machine.error();
  return status == pawl::Status::kOk && error->empty();
}

}  // namespace bench

#include "sweep_case.hpp"
#include "pawl/visit.hpp"

#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "store/sqlite/sqlite_vfs.hpp"

namespace pawl::hostile {
namespace {

using testing::Block;
using testing::Worker;

constexpr std::int64_t kWorkMs = 90'000;     // in which the neighbours complete
constexpr std::int64_t kSettleMs = 360'000;  // in which attempts at damaged rows come to an end
constexpr std::int64_t kIdleMs = 300'000;    // in which nothing is left to do
// Processor time for a whole case, so that a busy machine does not look like a hang; and time that
// passes. Most cases take 0.02 to 0.2 s, the slowest 3 s: a name of 1 MiB in an index, which each
// look for unregistered instances reads. A tick that never returns is found with any limit.
constexpr unsigned kCpuSeconds = 30;
constexpr unsigned kWallSeconds = 300;

// The memory that both processes see.
struct Shared {
  Verdict verdict = Verdict::kCrashes;
  std::uint64_t ticks = 0;
  std::uint64_t commits = 0;
  std::uint64_t idle_commits = 0;
  std::uint64_t warnings = 0;
  std::uint64_t calls_failed = 0;
  std::uint64_t states = 0;
  std::size_t received_count = 0;
  std::uint64_t received[64] = {};
  const char* stage = "";  // a literal: the same address on both sides of fork()
  char text[400] = {};
  char log[8'192] = {};
};

void put(char* out, std::size_t size, const std::string& text) {
  const std::size_t bytes = std::min(size - 1, text.size());
  std::memcpy(out, text.data(), bytes);
  out[bytes] = 0;
}

// FNV-1a.
std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 14'695'981'039'346'656'037U) {
  for (const char byte : text)
    seed = (seed ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  return seed;
}

// Counts the lines that an operator would be called for, and keeps the first ones.
class Watch final : public LogSink {
 public:
  Watch(Shared& shared, const std::vector<std::uint64_t>& known, std::size_t lines_max)
      : shared_(shared), known_(known), lines_left_(lines_max) {}
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override {
    if (level >= LogLevel::kWarning)
      receive(hash_of(count > 0 ? fields[0].text : std::string_view(), hash_of(event)));
    if (lines_left_ == 0) return;
    --lines_left_;
    std::string line = std::string(log_level_name(level)) + " " + std::string(event);
    for (std::size_t i = 0; i < count; ++i) {
      line += " " + std::string(fields[i].key) + "=";
      line += fields[i].is_number ? std::to_string(fields[i].number)
                                  : std::string(fields[i].text.substr(0, 120));
    }
    const std::size_t had = std::strlen(shared_.log);
    put(shared_.log + had, sizeof shared_.log - had, line + "\n");
  }

 private:
  void receive(std::uint64_t warning) {
    if (std::find(known_.begin(), known_.end(), warning) == known_.end()) ++shared_.warnings;
    if (shared_.received_count < std::size(shared_.received))
      shared_.received[shared_.received_count++] = warning;
  }
  Shared& shared_;
  const std::vector<std::uint64_t>& known_;
  std::size_t lines_left_;
};

// Uses SQLite's own allocator, so that no value is too large to be stored.
bool apply(sim::Machine& machine, const std::string& damage, Shared& shared) {
  sim::Node node(machine);
  const port::Port port = node.port();
  const char* vfs = nullptr;
  if (sqlite::vfs_for(port, &vfs) != Status::kOk) return false;
  sqlite3* handle = nullptr;
  bool done = sqlite3_open_v2(kPath, &handle, SQLITE_OPEN_READWRITE, vfs) == SQLITE_OK &&
              sqlite3_exec(handle, damage.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK &&
              sqlite3_total_changes(handle) > 0;
  if (!done) put(shared.text, sizeof shared.text, sqlite3_errmsg(handle));
  sqlite3_close(handle);
  sqlite::forget_vfs(*port.storage);
  return done;
}

class Case {
 public:
  Case(sim::Machine& machine, const Options& options, const Expectation& expected,
       std::size_t log_lines, Shared& shared)
      : machine_(machine),
        options_(options),
        expected_(expected),
        shared_(shared),
        watch_(shared, expected.known_warnings, log_lines) {}

  Verdict run(const std::string& damage) {
    stage("damage");
    if (!damage.empty() && !apply(machine_, damage, shared_)) return Verdict::kNotApplicable;
    let_work_end();
    began_ = machine_.boot_ms();
    stage("Process::start");
    if (!start_process()) return Verdict::kCrashes;
    stage("Runtime::start");
    Options options = options_;
    options.log = &watch_;
    worker_ = std::make_unique<Worker>(machine_, known_code(), options);
    const Status started = worker_->start(&process_);
    if (started != Status::kOk) return refused("Runtime::start", started, worker_->diagnostic);
    stage("Client::open");
    Diagnostic diagnostic;
    const Status opened = open_client(diagnostic);
    if (opened != Status::kOk) return refused("Client::open", opened, diagnostic);
    return live();
  }

 private:
  void stage(const char* what) { shared_.stage = what; }
  Verdict refused(const char* what, Status status, const Diagnostic& diagnostic) {
    say(std::string(what) + ": " + status_name(status) + ": " + std::string(diagnostic.text()));
    // An error without a text is not a refusal.
    return diagnostic.text().empty() ? Verdict::kQuits : Verdict::kRefused;
  }
  void say(const std::string& text) { put(shared_.text, sizeof shared_.text, text); }

  // Starts the process as a program does, with all memory given. The image was made with SQLite's
  // allocator.
  bool start_process() {
    if (sqlite3_shutdown() != SQLITE_OK) return false;
    const ProcessOptions options;
    block_ = std::make_unique<Block>(Process::required_memory(options));
    Diagnostic diagnostic;
    const Status status = process_.start(options, block_->data(), block_->bytes(), diagnostic);
    say(std::string(diagnostic.text()));
    return status == Status::kOk;
  }

  Status open_client(Diagnostic& diagnostic) {
    ClientOptions options;
    options.database_path = kPath;
    client_node_ = std::make_unique<sim::Node>(machine_);
    client_memory_ = std::make_unique<Block>(Client::required_memory(options));
    return client_.open(process_, options, client_node_->port(), client_memory_->data(),
                        client_memory_->bytes(), diagnostic);
  }

  Verdict live() {
    static_cast<void>(worker_->runtime->declare_session(kDevice, false));
    Verdict verdict = meet_neighbours("");
    stage("complete_activity");
    for (const std::string& token : outside_tokens()) {
      static_cast<void>(client_.heartbeat_activity(token, "alive"));
      static_cast<void>(client_.fail_activity(token, "not yet"));
      static_cast<void>(client_.complete_activity(token, "yes"));
    }
    if (verdict == Verdict::kFine) verdict = pass(kSettleMs);
    // Work that came due late must not stand in the way of others, either.
    if (verdict == Verdict::kFine) verdict = meet_neighbours("late ");
    const std::uint64_t settled = shared_.commits;
    if (verdict == Verdict::kFine) verdict = pass(kIdleMs);
    shared_.idle_commits = shared_.commits - settled;
    if (verdict != Verdict::kFine) return verdict;
    if (shared_.idle_commits > expected_.idle_commits) return spins();
    stage("list_instances");
    note_states();
    stage("Runtime::stop");
    worker_->stop();
    return Verdict::kFine;
  }

  Verdict meet_neighbours(const std::string& prefix) {
    started_.clear();
    piggybacked_.reset();
    stage("start_orchestration");
    for (const char* name : kNeighbours) {
      const std::string id = prefix + name;
      const Status status = start(id, name);
      if (status == Status::kOk) {
        started_.push_back(id);
      } else {
        ++shared_.calls_failed;
        say(id + ": " + status_name(status) + ": " + std::string(client_.error_text()));
      }
    }
    const Verdict verdict = pass(kWorkMs);
    return verdict == Verdict::kFine ? look_for_neighbours() : verdict;
  }

  Status start(const std::string& id, const char* name) {
    if (std::strcmp(name, kPiggybacked) == 0)
      return worker_->runtime->start_orchestration(name, InstanceId(id), "", {}, answered,
                                                   &piggybacked_);
    PAWL_TRY(client_.start_orchestration(name, InstanceId(id), ""));
    return std::strcmp(name, kTaking) == 0 ? client_.enqueue_event(id, "q", "message")
                                           : Status::kOk;
  }
  static void answered(void* user, Status status) noexcept {
    *static_cast<std::optional<Status>*>(user) = status;
  }

  // Like Runtime::run_for(), but on the clock of the machine.
  Verdict pass(std::int64_t ms) {
    stage("tick");
    const std::int64_t end = machine_.boot_ms() + ms;
    Runtime& runtime = *worker_->runtime;
    while (machine_.boot_ms() < end) {
      const Result<bool> more = runtime.tick(std::chrono::milliseconds::max());
      shared_.ticks = runtime.stats().ticks;
      shared_.commits = runtime.stats().commits;
      if (!more.ok()) {
        say(std::string("tick: ") + status_name(more.status()) + ": " +
            std::string(runtime.error_text()));
        return Verdict::kQuits;
      }
      if (shared_.ticks > expected_.ticks || shared_.commits > expected_.commits) return spins();
      const bool ran = worker_->node.run_jobs() > 0;
      const std::int64_t due = runtime.next_due().value_or(end);
      if (more.value() || ran || due <= 0) continue;
      const std::int64_t next = due > end ? end : due;
      // A due time in the past would be looked at again and again.
      machine_.advance(std::max<std::int64_t>(next - machine_.boot_ms(), 1));
    }
    return Verdict::kFine;
  }

  Verdict spins() {
    say(std::to_string(shared_.ticks) + " ticks and " + std::to_string(shared_.commits) +
        " commits (" + std::to_string(shared_.idle_commits) + " of them when idle) in " +
        std::to_string((machine_.boot_ms() - began_) / 1'000) + " s; " +
        std::string(worker_->runtime->error_text()));
    return Verdict::kSpins;
  }

  Verdict look_for_neighbours() {
    stage("get_status");
    std::string late;
    for (const std::string& id : started_) {
      // A start that was refused in the tick was not promised. One without an answer is late.
      const bool is_piggybacked = id.find(kPiggybacked) != std::string::npos;
      if (is_piggybacked && piggybacked_.value_or(Status::kOk) != Status::kOk) continue;
      OrchestrationStatus status;
      const Status read = client_.get_status(id, &status);
      if (read == Status::kOk && status.state == OrchestrationState::kCompleted) continue;
      late += " " + id + "=" +
              (read == Status::kOk ? orchestration_state_name(status.state) : status_name(read));
      if (read != Status::kOk || status.state == OrchestrationState::kFailed)
        late += "(" +
                std::string(read == Status::kOk ? status.output.view() : client_.error_text()) +
                ")";
    }
    if (late.empty()) return Verdict::kFine;
    say("not completed:" + late);
    return Verdict::kStarves;
  }

  void note_states() {
    std::uint64_t states = 0;
    auto hash = visit([&](const InstanceInfo& instance) {
      states = hash_of(orchestration_state_name(instance.state), hash_of(instance.id, states));
    });
    Page page;
    page.rows_max = 1'000;
    for (int pages = 0; pages < 10; ++pages) {
      if (client_.list_instances(InstanceFilter(), &page, hash) != Status::kOk || !page.more) break;
    }
    shared_.states = states;
  }

  sim::Machine& machine_;
  const Options& options_;
  const Expectation& expected_;
  Shared& shared_;
  Watch watch_;
  std::unique_ptr<Block> block_;
  Process process_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<sim::Node> client_node_;
  std::unique_ptr<Block> client_memory_;
  Client client_;
  std::vector<std::string> started_;
  std::int64_t began_ = 0;
  std::optional<Status> piggybacked_;  // the answer to its start
};

void limit_process() {
  rlimit none{0, 0};
  static_cast<void>(setrlimit(RLIMIT_CORE, &none));
  rlimit cpu{kCpuSeconds, kCpuSeconds + 1};
  static_cast<void>(setrlimit(RLIMIT_CPU, &cpu));
  alarm(kWallSeconds);
}

// The output of a process that died.
std::string words_in(std::FILE* file) {
  char text[600] = {};
  std::rewind(file);
  const std::size_t got = std::fread(text, 1, sizeof text - 1, file);
  return std::string(text, got);
}

void judge(int status, std::FILE* words, const Shared& shared, Outcome* out) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const bool was_killed =
      WIFSIGNALED(status) &&
      (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGKILL);
  out->verdict = was_killed ? Verdict::kHangs : Verdict::kCrashes;
  out->text =
      std::string("in ") + shared.stage + " after " + std::to_string(shared.ticks) + " ticks: ";
  out->text += WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                   : "exit " + std::to_string(WEXITSTATUS(status));
  out->text += " " + words_in(words);
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFine: return "fine";
    case Verdict::kNotApplicable: return "not applicable";
    case Verdict::kRefused: return "refused";
    case Verdict::kSpins: return "spins";
    case Verdict::kStarves: return "starves";
    case Verdict::kQuits: return "quits";
    case Verdict::kHangs: return "hangs";
    case Verdict::kCrashes: return "crashes";
  }
  return "";
}

Outcome run_case(sim::Machine& image, const Options& options, const std::string& damage,
                 const Expectation& expected, std::size_t first_log_lines) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Outcome out;
  std::FILE* const words = std::tmpfile();
  if (memory == MAP_FAILED || words == nullptr) {
    out.verdict = Verdict::kCrashes;
    out.text = "no memory for a case";
    return out;
  }
  Shared& shared = *new (memory) Shared;
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    limit_process();
    dup2(fileno(words), STDERR_FILENO);
    auto* const one = new Case(image, options, expected, first_log_lines, shared);
    shared.verdict = one->run(damage);
    _exit(0);  // everything that is still open dies with the process
  }
  int status = 0;
  waitpid(pid, &status, 0);
  out.verdict = shared.verdict;
  out.ticks = shared.ticks;
  out.commits = shared.commits;
  out.idle_commits = shared.idle_commits;
  out.warnings = shared.warnings;
  out.received.assign(shared.received, shared.received + shared.received_count);
  out.calls_failed = shared.calls_failed;
  out.states = shared.states;
  out.text = shared.text;
  out.log = shared.log;
  judge(status, words, shared, &out);
  std::fclose(words);
  munmap(memory, sizeof(Shared));
  return out;
}

}  // namespace pawl::hostile

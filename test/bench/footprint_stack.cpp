// Prints how deep threads reach into their stacks, in bytes, for footprint.py: one line for each
// load. A load makes a database in the current folder.
//
// Each load runs on a thread whose stack was filled with a pattern before. The result is the
// distance from the beginning of the stack to the deepest changed byte: it includes what the C
// library keeps there, and the values of the load's own code.

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/client.hpp"
#include "pawl/host.hpp"
#include "pawl/json.hpp"
#include "pawl/maintenance.hpp"

namespace {

// A list of numbers inside the most levels that JSON may have here, as many numbers as the reader's
// large block holds on a 64-bit machine.
struct Wide {
  std::int64_t deep[1][1][1][1][1][1][1][1][1][1][1][1][1] = {};
  pawl::JsonArray<std::int64_t, 150> numbers;
};
PAWL_JSON(Wide, deep, numbers)

constexpr unsigned char kPaint = 0xA5;
constexpr std::size_t kStackBytes = std::size_t{1024} * 1024;
constexpr std::chrono::seconds kPatience{120};

[[noreturn]] void die(const char* what, pawl::Status status, std::string_view text = {}) {
  std::fprintf(stderr, "footprint_stack: %s: %s: %.*s\n", what, pawl::status_name(status),
               PAWL_TEXT(text));
  std::exit(1);
}

void check(const char* what, pawl::Status status, std::string_view text = {}) {
  if (status != pawl::Status::kOk) die(what, status, text);
}

// ---- the painted stack of a thread ----

struct Stack {
  unsigned char* low = nullptr;
  std::size_t bytes = 0;
};

[[nodiscard]] Stack stack_of_this_thread() {
  pthread_attr_t attributes;
  void* low = nullptr;
  Stack stack;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0 ||
      ::pthread_attr_getstack(&attributes, &low, &stack.bytes) != 0)
    die("stack", pawl::Status::kUnsupported);
  ::pthread_attr_destroy(&attributes);
  stack.low = static_cast<unsigned char*>(low);
  return stack;
}

// Paints the stack below its own frame.
[[gnu::noinline]] void paint() {
  constexpr std::size_t kOwnBytes = 512;  // for the frame of memset()
  const Stack stack = stack_of_this_thread();
  unsigned char* const here = static_cast<unsigned char*>(__builtin_frame_address(0));
  std::memset(stack.low, kPaint, static_cast<std::size_t>(here - stack.low) - kOwnBytes);
}

[[gnu::noinline]] std::size_t deepest() {
  const Stack stack = stack_of_this_thread();
  const unsigned char* const end = stack.low + stack.bytes;
  const unsigned char* at = stack.low;
  while (at < end && *at == kPaint)
    ++at;
  if (at == stack.low) die("stack", pawl::Status::kResourceExhausted, "it is used to its end");
  return static_cast<std::size_t>(end - at);
}

struct Job {
  void (*load)();
  std::size_t bytes;
};

void* run_job(void* given) {
  auto* job = static_cast<Job*>(given);
  paint();
  job->load();
  job->bytes = deepest();
  return nullptr;
}

std::size_t measure(void (*load)()) {
  Job job{load, 0};
  pthread_attr_t attributes;
  pthread_t thread{};
  if (::pthread_attr_init(&attributes) != 0 ||
      ::pthread_attr_setstacksize(&attributes, kStackBytes) != 0 ||
      ::pthread_create(&thread, &attributes, run_job, &job) != 0)
    die("thread", pawl::Status::kResourceExhausted);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
  return job.bytes;
}

// ---- orchestrations and activities ----

Wide wide() {
  Wide value;
  for (std::size_t i = 0; i < value.numbers.capacity(); ++i)
    static_cast<void>(value.numbers.push_back(1'000'000'000'000 + static_cast<std::int64_t>(i)));
  return value;
}

constexpr pawl::ActivityType<Wide, Wide> kEchoWide{"echo_wide"};
constexpr pawl::ActivityType<Wide, Wide> kPoolWide{"pool_wide"};
constexpr pawl::OrchestrationType<Wide, Wide> kJson{"json"};
constexpr unsigned kAtOnce = 500;
constexpr int kBranches = 32;  // nested, as many as are allowed
const char kDamaged[] = "a text that is damaged in the file";

pawl::Reply<Wide> echo_wide(pawl::ActivityContext& ctx, const Wide& value) {
  if (ctx.heartbeat("half") != pawl::Status::kOk) return ctx.fail("heartbeat");
  return value;
}

pawl::PollOf<Wide, Wide> json(pawl::OrchestrationContext& ctx, const Wide& value) {
  PAWL_AWAIT(echoed, ctx.schedule_activity(kEchoWide, value));
  if (!echoed.ok()) return ctx.fail(echoed.error());
  return ctx.complete(echoed.value());
}

pawl::ActivityResult echo(pawl::ActivityContext& ctx) { return ctx.ok(ctx.input()); }
pawl::ActivityResult refuse(pawl::ActivityContext& ctx) { return ctx.fail("refused"); }

std::size_t pool_bytes = 0;
pawl::ActivityResult paint_pool(pawl::ActivityContext& ctx) {
  paint();
  return ctx.ok("");
}
pawl::ActivityResult look_at_pool(pawl::ActivityContext& ctx) {
  pool_bytes = deepest();
  return ctx.ok("");
}

// The pool has one thread, which runs all of these activities.
pawl::Poll pool(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("paint_pool", ""));
  PAWL_AWAIT(wide_back, ctx.schedule_activity(kPoolWide, wide()));
  if (!wide_back.ok()) return ctx.fail(wide_back.error());
  PAWL_AWAIT_DONE(ctx.schedule_activity("look_at_pool", ""));
  return ctx.complete("");
}

// Two events for each activity, nearly as many as allowed, then a wait: the next Runtime reads and
// replays all of them.
pawl::Poll history(pawl::OrchestrationContext& ctx) {
  for (int round = 0; round < 2; ++round) {
    std::vector<pawl::Handle> handles;
    for (unsigned i = 0; i < kAtOnce; ++i)
      handles.push_back(ctx.schedule_activity("echo", "x"));
    PAWL_AWAIT_DONE(ctx.join_all(handles.data(), handles.size()));
  }
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.complete("");
}

// Not inlined: otherwise the frame of each branch around it would have room for its values.
[[gnu::noinline]] pawl::Poll innermost(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(echoed, ctx.schedule_activity(kEchoWide, wide()));
  return echoed.ok() ? ctx.complete("") : ctx.fail(echoed.error());
}
pawl::Poll in_branches(pawl::OrchestrationContext& ctx, int levels) {
  if (levels == 0) return innermost(ctx);
  const pawl::Handle below = ctx.open_branch(
      [levels](pawl::OrchestrationContext& branch) { return in_branches(branch, levels - 1); });
  PAWL_AWAIT(result, below);
  return result.ok() ? ctx.complete("") : ctx.fail(result.error());
}
pawl::Poll branches(pawl::OrchestrationContext& ctx) { return in_branches(ctx, kBranches); }

pawl::Poll leaf(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input(), pawl::Target::session("shared")));
  return ctx.complete(ctx.input());
}
pawl::Poll parent(pawl::OrchestrationContext& ctx) {
  if (ctx.set_kv_value("key", ctx.input()) != pawl::ErrorKind::kNone) return ctx.fail("kv");
  PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("leaf", ctx.input()));
  return ctx.complete("");
}

// An activity fails, and the orchestration ends with an error.
pawl::Poll failing(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(refused, ctx.schedule_activity("refuse", ""));
  return refused.ok() ? ctx.complete("") : ctx.fail(refused.error());
}
bool code_has_changed = false;
pawl::Poll changing(pawl::OrchestrationContext& ctx) {
  if (code_has_changed) PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.complete("");
}

// ---- a program in a database ----

constexpr char kDatabase[] = "stack.db";
constexpr char kCopy[] = "copy.db";

void remove_database(const std::string& path) {
  for (const char* more : {"", "-wal", "-shm", "-bell", "-reserve"})
    ::unlink((path + more).c_str());
}

// Formats every line and writes it nowhere.
class Log final : public pawl::LogSink {
 public:
  void write(pawl::LogLevel level, std::string_view event, const pawl::LogField* fields,
             std::size_t count) noexcept override {
    if (event == "instance_stopped") ++stopped;
    to_.write(level, event, fields, count);
  }
  int stopped = 0;

 private:
  pawl::posix::FdLogSink to_{::open("/dev/null", O_WRONLY | O_CLOEXEC), pawl::LogLevel::kDebug};
} log_of_all;

pawl::HostOptions footprint_options() {
  pawl::HostOptions options;
  options.runtime.database_path = kDatabase;
  options.runtime.log = &log_of_all;
  options.runtime.slots.threads = 1;
  options.process.connections_max = 3;
  options.catch_signals = false;
  return options;
}

class Program {
 public:
  explicit Program(const pawl::HostOptions& options = footprint_options()) : host_(options) {
    host_.add_orchestration(kJson, json).add_activity(kEchoWide, echo_wide);
    host_.add_activity(kPoolWide, echo_wide, pawl::ActivityMode::kThreaded);
    host_.add_activity("echo", echo).add_activity("refuse", refuse);
    host_.add_activity("paint_pool", paint_pool, pawl::ActivityMode::kThreaded);
    host_.add_activity("look_at_pool", look_at_pool, pawl::ActivityMode::kThreaded);
    host_.add_orchestration("pool", pool).add_orchestration("history", history);
    host_.add_orchestration("branches", branches).add_orchestration("leaf", leaf);
    host_.add_orchestration("parent", parent).add_orchestration("failing", failing);
    host_.add_orchestration("changing", changing);
    check("start", host_.start(), host_.error_text());
  }
  ~Program() { check("stop", host_.stop(), host_.error_text()); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pawl::Host& host() { return host_; }
  const pawl::RuntimeStats& stats() { return host_.runtime().stats(); }
  void start(const char* name, const std::string& id, std::string_view input = "") {
    check(name, host_.runtime().start_orchestration(name, pawl::InstanceId(id), input),
          host_.runtime().error_text());
  }
  void raise(const char* id) {
    check(id, host_.runtime().raise_event(id, "go", ""), host_.runtime().error_text());
  }
  template <typename Done>
  void run_until(Done done) {
    const pawl::Status status = host_.runtime().run_for(
        kPatience, [](void* given) noexcept { return (*static_cast<Done*>(given))(); }, &done);
    check("run", status, host_.runtime().error_text());
  }
  void run_to_ends(std::uint64_t ends) {
    run_until([&] {
      return stats().orchestrations_failed > 0 || stats().orchestrations_completed >= ends;
    });
    if (stats().orchestrations_failed > 0) die("run", pawl::Status::kIo, "an instance failed");
  }

 private:
  pawl::Host host_;
};

// ---- the loads ----

// This load also makes the database.
void load_json() {
  Program program;
  program.host().start_once(kJson, pawl::InstanceId("json"), wide());
  program.run_to_ends(1);
}

void load_branches() {
  Program program;
  program.start("branches", "branches");
  program.run_to_ends(1);
}

void load_pool() {
  Program program;
  program.start("pool", "pool");
  program.run_to_ends(1);
}

void load_history() {
  {
    Program program;
    program.start("history", "history");
    program.run_until([&] { return program.stats().activities_completed == 2 * kAtOnce; });
  }
  Program program;
  program.raise("history");
  program.run_to_ends(1);
  if (program.stats().cold_loads == 0) die("history", pawl::Status::kNotFound, "was not read");
}

// Ended trees are removed by their count and by the quota.
void load_removal() {
  constexpr unsigned kTrees = 40;
  pawl::HostOptions wanted = footprint_options();
  wanted.runtime.retention.count = 4;
  wanted.runtime.retention.executions = 1;
  Program program(wanted);
  for (unsigned i = 0; i < kTrees; ++i)
    program.start("parent", "tree-" + std::to_string(i), "x");
  program.run_to_ends(2 * kTrees);
  program.run_until([&] { return program.stats().instances_removed >= kTrees; });
}

void damage(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  std::vector<char> bytes(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)));
  if (::pread(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    die(path, pawl::Status::kIo);
  const std::string_view text = kDamaged;
  unsigned found = 0;
  for (auto at = bytes.begin();
       (at = std::search(at, bytes.end(), text.begin(), text.end())) != bytes.end(); ++at, ++found)
    *at = '?';
  if (found == 0 ||
      ::pwrite(fd, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    die(path, pawl::Status::kNotFound, "the text");
  ::close(fd);
}

// Changed code, damaged rows, activities that fail.
void load_errors() {
  code_has_changed = false;
  {
    Program program;
    program.start("changing", "changed", "x");
    program.start("changing", "damaged", kDamaged);
    program.start("failing", "failing");
    program.run_until([&] {
      return program.stats().orchestrations_failed == 1 &&
             program.stats().activities_completed >= 2;
    });
  }
  damage(kDatabase);
  code_has_changed = true;
  Program program;
  program.raise("changed");
  program.raise("damaged");
  log_of_all.stopped = 0;
  program.run_until([] { return log_of_all.stopped >= 2; });
}

// ---- without a loop ----

// Takes whatever a call reads.
class Sink final : public pawl::InstanceVisitor,
                   public pawl::ExecutionVisitor,
                   public pawl::ActivityVisitor,
                   public pawl::WorkVisitor,
                   public pawl::MessageVisitor,
                   public pawl::HistoryVisitor,
                   public pawl::WorkerVisitor,
                   public pawl::SessionVisitor,
                   public pawl::KvVisitor,
                   public pawl::CopyVisitor,
                   public pawl::FindingVisitor {
 public:
  void on_instance(const pawl::InstanceInfo& /*unused*/) noexcept override {}
  void on_execution(const pawl::ExecutionInfo& /*unused*/) noexcept override {}
  void on_activity(const pawl::ActivityInfo& /*unused*/) noexcept override {}
  void on_work(const pawl::WorkInfo& /*unused*/) noexcept override {}
  void on_message(const pawl::MessageInfo& /*unused*/) noexcept override {}
  void on_event(const pawl::HistoryEvent& /*unused*/) noexcept override {}
  void on_worker(const pawl::WorkerInfo& /*unused*/) noexcept override {}
  void on_session(const pawl::SessionInfo& /*unused*/) noexcept override {}
  void on_value(const pawl::KvEntry& /*unused*/) noexcept override {}
  bool on_copied(std::int64_t /*unused*/, std::int64_t /*unused*/) noexcept override {
    return true;
  }
  void on_finding(std::string_view /*unused*/) noexcept override {}
};

class OwnProcess {
 public:
  OwnProcess() {
    check("process", process_.start(options_, memory_.get(), bytes_, why_), why_.text());
  }
  ~OwnProcess() { check("end of the process", process_.stop()); }
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;
  pawl::Process& get() { return process_; }

 private:
  pawl::ProcessOptions options_;
  std::size_t bytes_ = pawl::Process::required_memory(options_);
  std::unique_ptr<unsigned char[]> memory_ = std::make_unique<unsigned char[]>(bytes_);
  pawl::Process process_;
  pawl::Diagnostic why_;
};

void read_all(pawl::Client& client, const char* id, Sink& sink) {
  pawl::OrchestrationStatus status;
  pawl::InstanceInfo info;
  pawl::InstanceStats stats;
  pawl::Metrics metrics;
  check("get_status", client.get_status(id, &status));
  check("get_instance_info", client.get_instance_info(id, &info));
  check("get_instance_stats", client.get_instance_stats(id, &stats));
  check("get_metrics", client.get_metrics(&metrics));
  pawl::Page page;
  check("list_children", client.list_children(id, &page, sink));
  page = {};
  check("get_instance_tree", client.get_instance_tree(id, &page, sink));
  check("list_executions", client.list_executions(id, sink));
  check("list_activities", client.list_activities(id, sink));
  check("read_history", client.read_history(id, 1, sink));
  page = {};
  check("list_messages", client.list_messages(id, &page, sink));
  pawl::KvPage values;
  check("get_all_kv_values", client.get_all_kv_values(id, &values, sink));
  page = {};
  check("list_work", client.list_work({}, &page, sink));
  page = {};
  check("list_sessions", client.list_sessions({}, &page, sink));
  check("list_workers", client.list_workers(sink));
}

void load_client() {
  OwnProcess process;
  pawl::ClientOptions wanted;
  wanted.database_path = kDatabase;
  const std::size_t bytes = pawl::Client::required_memory(wanted);
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Diagnostic why;
  pawl::Client client;
  check("client", client.open(process.get(), wanted, port.port(), memory.get(), bytes, why),
        why.text());
  Sink sink;
  pawl::InstanceFilter filter;
  filter.name = "parent";
  filter.id_prefix = "tree-";
  filter.any_state = false;
  filter.state = pawl::OrchestrationState::kCompleted;
  filter.created_from_ms = filter.updated_from_ms = 1;
  filter.roots_only = true;
  pawl::Page page;
  check("list_instances", client.list_instances(filter, &page, sink), client.error_text());
  check("start", client.start_orchestration("changing", pawl::InstanceId("by a client"), "x"));
  check("raise", client.raise_event("by a client", "go", "x"));
  check("enqueue", client.enqueue_event("by a client", "queue", "x"));
  check("cancel", client.cancel_instance("by a client", "no longer wanted"));
  read_all(client, "branches", sink);
  check("restart", client.restart_instance("failing", pawl::RestartFrom::kLastGoodEvent));
  check("terminate", client.terminate_instance("failing", "no longer wanted"));
  page = {};
  check("prune", client.prune_instances({}, &page, 1, 0), client.error_text());
  filter = {};
  page = {};
  check("delete", client.delete_instances(filter, &page), client.error_text());
  check("delete by force", client.delete_instance("by a client", true), client.error_text());
  client.close();
}

void load_backup() {
  OwnProcess process;
  const std::size_t bytes = pawl::maintenance_memory();
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Diagnostic why;
  Sink sink;
  check("backup",
        pawl::copy_database(process.get(), pawl::Path(kDatabase), pawl::Path(kCopy), port.port(),
                            memory.get(), bytes, sink, why),
        why.text());
  check(
      "renew",
      pawl::renew_identity(process.get(), pawl::Path(kCopy), port.port(), memory.get(), bytes, why),
      why.text());
  check("skip",
        pawl::skip_numbers(process.get(), pawl::Path(kCopy), port.port(), memory.get(), bytes, why),
        why.text());
}

void load_check() {
  OwnProcess process;
  const std::size_t bytes = pawl::maintenance_memory();
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Diagnostic why;
  pawl::DatabaseReport report;
  Sink sink;
  check("check",
        pawl::check_database(process.get(), pawl::Path(kDatabase), false, port.port(), memory.get(),
                             bytes, sink, &report, why),
        why.text());
}

}  // namespace

int main() {
  constexpr struct {
    const char* name;
    void (*load)();
  } kLoads[] = {
      {"JSON of 16 levels, in the large block", load_json},
      {"a pool thread", load_pool},
      {"the largest history, replayed", load_history},
      {"removal", load_removal},
      {"errors", load_errors},
      {"32 branches in one another", load_branches},
      {"calls of a Client", load_client},
      {"backup", load_backup},
      {"check", load_check},
  };
  for (const char* path : {kDatabase, kCopy})
    remove_database(path);
  for (const auto& one : kLoads) {
    const std::size_t bytes = measure(one.load);
    const bool of_pool = one.load == load_pool;
    std::printf("%lu stack, %s\n", static_cast<unsigned long>(of_pool ? pool_bytes : bytes),
                one.name);
  }
  return 0;
}

// The process that the crash tests kill: a Runtime, a Client, or both.
//
//   crash_program serve DB [--node NAME] [--own FIRST LAST] [--client FIRST LAST]
//                          [--exit-after COUNT] [--stats FILE] [--long-leases]
//   crash_program send DB FIRST LAST [--gap-ms MAX SEED] [--lose-last-bell]
//
// Lines on standard output, one write each: "ready"; "try ID NANOSECONDS" before and "ack ID
// NANOSECONDS" after an acknowledged start (CLOCK_MONOTONIC); "refused ID STATUS". Instances are
// those of crash_work.hpp, by number, LAST included. serve ends in order on SIGTERM, or when COUNT
// instances have ended. --stats: a memory-mapped file whose first 8 bytes are the number of
// wake-ups so far.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "crash_work.hpp"
#include "error_file.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace {

using crash_work::Kind;
using std::chrono::milliseconds;

// ---- talking to the driver ----

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (size > 0 && ::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) < 0) ::_exit(9);
}

long long now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void die(const char* what, pawl::Status status, std::string_view text) {
  std::fprintf(stderr, "crash_program: %s: %s: %.*s\n", what, pawl::status_name(status),
               static_cast<int>(text.size()), text.data());
  std::_Exit(3);
}

// ---- the work ----

struct Number {
  char text[64];
  int size;
  explicit Number(std::int64_t value)
      : size(std::snprintf(text, sizeof(text), "%lld", static_cast<long long>(value))) {}
  Number(std::int64_t value, std::int64_t round)
      : size(std::snprintf(text, sizeof(text), "%lld %lld", static_cast<long long>(value),
                           static_cast<long long>(round))) {}
  [[nodiscard]] std::string_view view() const { return {text, static_cast<std::size_t>(size)}; }
};

// Reads "VALUE" or "VALUE ROUND".
void read_numbers(std::string_view text, std::int64_t* value, std::int64_t* round) {
  char copy[64];
  const std::size_t size = text.size() < sizeof(copy) - 1 ? text.size() : sizeof(copy) - 1;
  std::memcpy(copy, text.data(), size);
  copy[size] = 0;
  char* end = nullptr;
  *value = std::strtoll(copy, &end, 10);
  *round = std::strtoll(end, nullptr, 10);
}

std::int64_t read_number(std::string_view text) {
  std::int64_t value = 0;
  std::int64_t round = 0;
  read_numbers(text, &value, &round);
  return value;
}

pawl::ActivityResult mix(pawl::ActivityContext& ctx) {
  return ctx.ok(Number(crash_work::mix(read_number(ctx.input()))).view());
}

pawl::ActivityResult mix_slowly(pawl::ActivityContext& ctx) {
  ::usleep(2'000);
  return mix(ctx);
}

pawl::ActivityResult abort_always(pawl::ActivityContext&) { std::abort(); }

// Runs one activity on `value`. Call it through PAWL_CALL.
pawl::Poll mix_once(pawl::OrchestrationContext& ctx, pawl::Handle handle, std::int64_t* value,
                    bool* failed) {
  PAWL_AWAIT(result, handle);
  *failed = !result.ok();
  if (result.ok()) {
    *value = read_number(result.value());
  } else {
    ctx.trace(pawl::LogLevel::kError, result.error().text);
  }
  return pawl::Poll::done();
}

#define MIX(value, ...)                                         \
  do {                                                          \
    bool mix_failed = false;                                    \
    PAWL_CALL(mix_once(ctx, __VA_ARGS__, &value, &mix_failed)); \
    if (mix_failed) return ctx.fail("an activity failed");      \
  } while (false)

pawl::Poll hello(pawl::OrchestrationContext& ctx) {
  std::int64_t value = read_number(ctx.input());
  MIX(value, ctx.schedule_activity("mix", Number(value).view()));
  return ctx.complete(Number(value).view());
}

pawl::Poll adder(pawl::OrchestrationContext& ctx) {
  std::int64_t value = read_number(ctx.input());
  for (int i = 0; i < 3; ++i)
    MIX(value, ctx.schedule_activity("mix", Number(value).view()));
  return ctx.complete(Number(value).view());
}

pawl::Poll sleeper(pawl::OrchestrationContext& ctx) {
  std::int64_t value = read_number(ctx.input());
  for (int i = 0; i < 3; ++i) {
    MIX(value, ctx.schedule_activity("mix", Number(value).view()));
    PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(5 + 5 * i)));
  }
  return ctx.complete(Number(value).view());
}

pawl::Poll rounds(pawl::OrchestrationContext& ctx) {
  std::int64_t value = 0;
  std::int64_t round = 0;
  read_numbers(ctx.input(), &value, &round);
  MIX(value, ctx.schedule_activity("mix", Number(value).view()));
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(3)));
  if (round == 3) return ctx.complete(Number(value).view());
  return ctx.continue_as_new(Number(value, round + 1).view());
}

// All instances share four sessions.
struct SessionName {
  char text[32];
  explicit SessionName(std::int64_t value) {
    std::snprintf(text, sizeof(text), "session-%lld", static_cast<long long>(value % 4));
  }
};

pawl::Poll pinned(pawl::OrchestrationContext& ctx) {
  std::int64_t value = read_number(ctx.input());
  const SessionName session(value);
  for (int i = 0; i < 3; ++i)
    MIX(value,
        ctx.schedule_activity("mix", Number(value).view(), pawl::Target::session(session.text)));
  return ctx.complete(Number(value).view());
}

pawl::Poll threaded(pawl::OrchestrationContext& ctx) {
  std::int64_t value = read_number(ctx.input());
  for (int i = 0; i < 2; ++i)
    MIX(value, ctx.schedule_activity("mix_slowly", Number(value).view()));
  return ctx.complete(Number(value).view());
}

pawl::Poll fan(pawl::OrchestrationContext& ctx) {
  const std::int64_t value = read_number(ctx.input());
  pawl::Handle handles[4];
  for (int i = 0; i < 4; ++i)
    handles[i] = ctx.schedule_activity("mix", Number(value + i).view());
  std::int64_t sum = 0;
  for (int i = 3; i >= 0; --i) {
    std::int64_t one = 0;
    MIX(one, handles[i]);
    sum += one;
  }
  return ctx.complete(Number(sum).view());
}

pawl::Poll tangle(pawl::OrchestrationContext& ctx) {
  std::int64_t value = 0;
  std::int64_t round = 0;
  read_numbers(ctx.input(), &value, &round);
  const SessionName session(value);
  MIX(value,
      ctx.schedule_activity("mix", Number(value).view(), pawl::Target::session(session.text)));
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(4)));
  MIX(value, ctx.schedule_activity("mix", Number(value).view()));
  if (round == 1) return ctx.complete(Number(value).view());
  return ctx.continue_as_new(Number(value, round + 1).view());
}

pawl::Poll turn_aborts(pawl::OrchestrationContext& ctx) {
  std::int64_t value = 0;
  for (int i = 0; i < 2; ++i)
    MIX(value, ctx.schedule_activity("mix", Number(value).view()));
  std::abort();
}

pawl::Poll work_aborts(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(result, ctx.schedule_activity("abort_always", ""));
  return ctx.complete(pawl::error_kind_name(result.error().kind));
}

void fill(pawl::Registry& registry) {
  struct Entry {
    Kind kind;
    pawl::Orchestration function;
  };
  constexpr Entry kEntries[] = {
      {Kind::kAdder, adder},   {Kind::kSleeper, sleeper},        {Kind::kRounds, rounds},
      {Kind::kPinned, pinned}, {Kind::kThreaded, threaded},      {Kind::kFan, fan},
      {Kind::kTangle, tangle}, {Kind::kTurnAborts, turn_aborts}, {Kind::kWorkAborts, work_aborts},
      {Kind::kHello, hello},
  };
  pawl::Status status = registry.add_activity("mix", mix);
  if (status == pawl::Status::kOk) {
    status = registry.add_activity("mix_slowly", mix_slowly, pawl::ActivityMode::kThreaded);
  }
  if (status == pawl::Status::kOk) status = registry.add_activity("abort_always", abort_always);
  for (const Entry& entry : kEntries) {
    if (status == pawl::Status::kOk) {
      status = registry.add_orchestration(crash_work::name_of(entry.kind), entry.function);
    }
  }
  if (status != pawl::Status::kOk) die("registration", status, "");
}

// ---- arguments ----

struct Range {
  int first = 0;
  int last = -1;
};

struct Arguments {
  std::string mode;
  std::string database;
  std::string node;
  std::string stats;
  Range own;
  Range client;
  std::uint64_t exit_after = 0;
  bool long_leases = false;
  int gap_ms_max = 0;
  unsigned seed = 0;
  bool lose_last_bell = false;
};

class Words {
 public:
  Words(int count, char** words) : left_(count), words_(words) {}
  [[nodiscard]] bool empty() const { return left_ <= 0; }
  std::string next() {
    if (empty()) usage();
    --left_;
    return *words_++;
  }
  int number() { return static_cast<int>(std::strtol(next().c_str(), nullptr, 10)); }
  Range range() {
    Range range;
    range.first = number();
    range.last = number();
    return range;
  }
  [[noreturn]] static void usage() {
    std::fputs("crash_program: see the head of its source\n", stderr);
    std::exit(2);
  }

 private:
  int left_;
  char** words_;
};

Arguments parse(Words words) {
  Arguments out;
  out.mode = words.next();
  out.database = words.next();
  if (out.mode == "send") {
    out.client = words.range();
  } else if (out.mode != "serve") {
    Words::usage();
  }
  while (!words.empty()) {
    const std::string word = words.next();
    if (word == "--node") {
      out.node = words.next();
    } else if (word == "--own") {
      out.own = words.range();
    } else if (word == "--client") {
      out.client = words.range();
    } else if (word == "--exit-after") {
      out.exit_after = static_cast<std::uint64_t>(words.number());
    } else if (word == "--stats") {
      out.stats = words.next();
    } else if (word == "--long-leases") {
      out.long_leases = true;
    } else if (word == "--gap-ms") {
      out.gap_ms_max = words.number();
      out.seed = static_cast<unsigned>(words.number());
    } else if (word == "--lose-last-bell") {
      out.lose_last_bell = true;
    } else {
      Words::usage();
    }
  }
  return out;
}

// ---- starting instances ----

// Kills this process at the next write to the bell: see test/shim/crash_at.cpp.
void arm_bell() {
  void* arm = ::dlsym(RTLD_DEFAULT, "crash_at_arm");
  if (arm == nullptr) {
    std::fputs("crash_program: crash_at is not preloaded\n", stderr);
    std::_Exit(3);
  }
  reinterpret_cast<void (*)(long)>(arm)(1);
}

void send_all(pawl::Process& process, const Arguments& arguments) {
  pawl::ClientOptions options;
  options.database_path = arguments.database;
  const std::size_t bytes = pawl::Client::required_memory(options);
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Client client;
  pawl::Diagnostic diagnostic;
  const pawl::Status opened =
      client.open(process, options, port.port(), memory.get(), bytes, diagnostic);
  if (opened != pawl::Status::kOk) die("open of the client", opened, diagnostic.text());
  std::mt19937 random(arguments.seed);
  for (int number = arguments.client.first; number <= arguments.client.last; ++number) {
    if (arguments.gap_ms_max > 0) {
      const unsigned range = static_cast<unsigned>(arguments.gap_ms_max) * 1'000;
      ::usleep(static_cast<useconds_t>(random() % range));
    }
    const std::string id = crash_work::id_of(number);
    if (arguments.lose_last_bell && number == arguments.client.last) arm_bell();
    say("try %s %lld\n", id.c_str(), now_ns());
    const pawl::Status status =
        client.start_orchestration(crash_work::name_of(crash_work::kind_of(number)),
                                   pawl::InstanceId(id), std::to_string(number));
    if (status == pawl::Status::kOk) {
      say("ack %s %lld\n", id.c_str(), now_ns());
    } else {
      say("refused %s %s\n", id.c_str(), pawl::status_name(status));
    }
  }
}

struct ClientThread {
  pawl::Process* process = nullptr;
  const Arguments* arguments = nullptr;
  pthread_t thread{};

  void start() {
    if (::pthread_create(&thread, nullptr, run, this) != 0) std::abort();
  }
  static void* run(void* self) {
    const auto* here = static_cast<ClientThread*>(self);
    send_all(*here->process, *here->arguments);
    return nullptr;
  }
};

// `user` is the number of the instance.
void answered(void* user, pawl::Status status) noexcept {
  const int number = static_cast<int>(reinterpret_cast<std::intptr_t>(user));
  const std::string id = crash_work::id_of(number);
  if (status == pawl::Status::kOk) {
    say("ack %s %lld\n", id.c_str(), now_ns());
  } else {
    say("refused %s %s\n", id.c_str(), pawl::status_name(status));
  }
}

void start_own(pawl::Runtime& runtime, Range range) {
  for (int number = range.first; number <= range.last; ++number) {
    const std::string id = crash_work::id_of(number);
    say("try %s %lld\n", id.c_str(), now_ns());
    const pawl::Status status =
        runtime.start_orchestration(crash_work::name_of(crash_work::kind_of(number)),
                                    pawl::InstanceId(id), std::to_string(number), {}, answered,
                                    reinterpret_cast<void*>(static_cast<std::intptr_t>(number)));
    if (status != pawl::Status::kOk) die("start_orchestration", status, runtime.error_text());
  }
}

// ---- the runtime ----

pawl::Runtime* serving = nullptr;
void on_sigterm(int) { serving->request_stop(); }

struct Loop {
  pawl::Runtime* runtime = nullptr;
  std::uint64_t exit_after = 0;
  std::atomic<std::uint64_t>* shared_wakeups = nullptr;

  static bool after_tick(void* self) noexcept {
    const auto* here = static_cast<Loop*>(self);
    const pawl::RuntimeStats& stats = here->runtime->stats();
    if (here->shared_wakeups != nullptr) here->shared_wakeups->store(stats.wakeups);
    const std::uint64_t ended = stats.orchestrations_completed + stats.orchestrations_failed;
    return here->runtime->stop_requested() || (here->exit_after > 0 && ended >= here->exit_after);
  }
};

std::atomic<std::uint64_t>* map_stats(const std::string& path) {
  if (path.empty()) return nullptr;
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  void* memory = MAP_FAILED;
  if (fd >= 0 && ::ftruncate(fd, 4096) == 0) {
    memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory == MAP_FAILED) std::abort();
  ::close(fd);
  return new (memory) std::atomic<std::uint64_t>(0);
}

pawl::Options options_of(const Arguments& arguments, pawl::LogSink* log) {
  pawl::Options options;
  options.database_path = arguments.database;
  if (!arguments.node.empty()) options.worker_node_id = arguments.node;
  options.log = log;
  options.slots.threads = 2;
  if (arguments.long_leases) {
    constexpr std::int64_t kHourMs = 3'600'000;
    options.leases.session_lock_timeout = std::chrono::milliseconds(kHourMs);
    options.leases.worker_lock_timeout = std::chrono::milliseconds(kHourMs);
    options.sessions.session_idle_timeout = std::chrono::milliseconds(10 * kHourMs);
    options.sessions.session_cleanup_interval = std::chrono::milliseconds(kHourMs);
  }
  return options;
}

int serve(pawl::Process& process, const Arguments& arguments) {
  pawl::Registry registry;
  fill(registry);
  const char* wants_log = std::getenv("CRASH_PROGRAM_LOG");
  pawl::posix::FdLogSink log(STDERR_FILENO, pawl::LogLevel::kDebug);
  const pawl::Options options =
      options_of(arguments, wants_log == nullptr ? crash_test::error_file() : &log);
  const std::size_t bytes = pawl::Runtime::required_memory(options);
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::posix::SystemPort port;
  pawl::Runtime runtime;
  pawl::Diagnostic diagnostic;
  const pawl::Status started =
      runtime.start(process, registry, options, port.port(), memory.get(), bytes, diagnostic);
  if (started != pawl::Status::kOk) die("start of the runtime", started, diagnostic.text());

  serving = &runtime;
  struct sigaction action {};
  action.sa_handler = on_sigterm;
  ::sigaction(SIGTERM, &action, nullptr);

  Loop loop;
  loop.runtime = &runtime;
  loop.exit_after = arguments.exit_after;
  loop.shared_wakeups = map_stats(arguments.stats);
  say("ready %ld\n", static_cast<long>(::getpid()));
  ClientThread client;
  client.process = &process;
  client.arguments = &arguments;
  const bool has_client = arguments.client.last >= arguments.client.first;
  if (has_client) client.start();
  start_own(runtime, arguments.own);
  const pawl::Status ran = runtime.run_for(std::chrono::seconds(3'600), Loop::after_tick, &loop);
  if (ran != pawl::Status::kOk && ran != pawl::Status::kStopped) {
    die("run", ran, runtime.error_text());
  }
  if (has_client) ::pthread_join(client.thread, nullptr);
  ::signal(SIGTERM, SIG_IGN);
  const pawl::Status stopped = runtime.stop(std::chrono::seconds(5));
  if (stopped != pawl::Status::kOk) die("stop", stopped, runtime.error_text());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = parse(Words(argc - 1, argv + 1));
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  pawl::Process process;
  const pawl::ProcessOptions options;
  const std::size_t bytes = pawl::Process::required_memory(options);
  const auto memory = std::make_unique<unsigned char[]>(bytes);
  pawl::Diagnostic diagnostic;
  const pawl::Status status = process.start(options, memory.get(), bytes, diagnostic);
  if (status != pawl::Status::kOk) die("start of the process", status, diagnostic.text());
  if (arguments.mode == "serve") return serve(process, arguments);
  send_all(process, arguments);
  return 0;
}

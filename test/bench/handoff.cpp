// pawl-handoff: measures how long it takes until a session continues in another process after its
// owner's SIGKILL.
//
//   pawl-handoff [KILLS] [--db PATH] [--server ADDRESS] [--exclusive] [--lease SECONDS]
//
// The program starts three processes: one runs the orchestrations, two run activities of one
// session, one after the other. During every second activity the owner is killed. A handoff is the
// time from the kill to the beginning of the same activity in the other process. Work in flight
// moves with its session and must not be lost: this is checked, while the times are only printed.
//
// On a server each process has a folder of its own beside, as a machine has. So no kernel lock
// proves its death to the others, and an exclusive session waits for the end of its lease.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#ifdef BENCH_POSTGRES
#include "pawl/postgres.hpp"
#endif

namespace {

constexpr long kActivityMs = 20;
constexpr int kBatch = 20;  // activities in one execution

std::int64_t now_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1'000;
}

[[noreturn]] void die(const char* what, pawl::Status status, std::string_view text) {
  std::fprintf(stderr, "pawl-handoff: %s: %s: %.*s\n", what, pawl::status_name(status),
               static_cast<int>(text.size()), text.data());
  std::_Exit(2);
}

// Where the store is, and how the session is used. Forked processes have it from the first.
struct Place {
  std::string database = "handoff.db";
  std::string server;  // empty: none
  bool exclusive = false;
  long lease_s = 30;

  // Fills in the options of the process with this name. A process calls it once.
  template <typename Options>
  void fill(const std::string& name, Options* options) const {
    options->database_path = server.empty() ? database : database + "-" + name;
#ifdef BENCH_POSTGRES
    if (server.empty()) return;
    static const pawl::ServerDatabase there = pawl::postgresql(server, "handoff");
    options->database = &there;
#endif
  }
};
Place g_place;

// The record that an activity writes as it begins, in one write, so that records never mix.
struct Began {
  std::int64_t number = 0;
  std::int64_t at_us = 0;
  std::int64_t epoch = 0;
  pid_t process = 0;
};

int g_report = -1;

pawl::ActivityResult work(pawl::ActivityContext& ctx) {
  Began began;
  began.at_us = now_us();
  began.number = std::atoll(std::string(ctx.input()).c_str());
  began.epoch = ctx.session_epoch();
  began.process = ::getpid();
  if (::write(g_report, &began, sizeof began) != static_cast<ssize_t>(sizeof began)) std::_Exit(4);
  const timespec time = {0, kActivityMs * 1'000'000};
  ::nanosleep(&time, nullptr);
  return ctx.ok(ctx.input());
}

// The input is "next last".
pawl::Poll rounds(pawl::OrchestrationContext& ctx) {
  char* end = nullptr;
  const std::string input(ctx.input());
  long next = std::strtol(input.c_str(), &end, 10);
  const long last = std::strtol(end, nullptr, 10);
  for (int i = 0; i < kBatch && next <= last; ++i, ++next) {
    pawl::ActivityOptions options;
    options.target = pawl::Target::session("agent");
    if (g_place.exclusive) options.target = pawl::Target::exclusive_session("agent");
    PAWL_AWAIT(done, ctx.schedule_activity("work", std::to_string(next), options));
    if (!done.ok()) return ctx.fail(done.error());
    if (done.value() != std::to_string(next)) return ctx.fail("another's result");
  }
  if (next > last) return ctx.complete(std::to_string(last));
  return ctx.continue_as_new(std::to_string(next) + " " + std::to_string(last));
}

struct Started {
  pawl::Process process;
  pawl::posix::SystemPort port;
  std::unique_ptr<char[]> process_memory;
  std::unique_ptr<char[]> memory;
  void start() {
    pawl::ProcessOptions options;
    process_memory = std::make_unique<char[]>(pawl::Process::required_memory(options) + 64);
    pawl::Diagnostic why;
    const pawl::Status status = process.start(options, aligned(process_memory.get()),
                                              pawl::Process::required_memory(options), why);
    if (status != pawl::Status::kOk) die("process", status, why.text());
  }
  static void* aligned(char* at) {
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    return at + (64 - address % 64) % 64;
  }
};

[[noreturn]] void serve(const std::string& node, bool decides) {
  ::signal(SIGTERM, SIG_DFL);
  Started all;
  all.start();
  pawl::Registry registry;
  pawl::Status status = pawl::Status::kOk;
  if (decides) status = registry.add_orchestration("rounds", rounds);
  if (!decides) status = registry.add_activity("work", work, pawl::ActivityMode::kThreaded);
  if (status != pawl::Status::kOk) die("registry", status, "");
  pawl::Options options;
  g_place.fill(node, &options);
  options.worker_node_id = node;
  options.leases.session_lock_timeout = options.leases.worker_lock_timeout =
      std::chrono::seconds(g_place.lease_s);
  options.run_orchestrations = decides;
  options.limits.crashes_max = 1'000;
  if (decides)
    options.slots.inline_activities = options.slots.threads = options.slots.cooperative = 0;
  all.memory = std::make_unique<char[]>(pawl::Runtime::required_memory(options) + 64);
  pawl::Diagnostic why;
  auto runtime = std::make_unique<pawl::Runtime>();
  status = runtime->start(all.process, registry, options, all.port.port(),
                          Started::aligned(all.memory.get()),
                          pawl::Runtime::required_memory(options), why);
  if (status != pawl::Status::kOk) die("start", status, why.text());
  status = runtime->run();
  std::_Exit(status == pawl::Status::kOk ? 0 : 3);
}

pid_t spawn(const std::string& node, bool decides) {
  const pid_t child = ::fork();
  if (child == 0) serve(node, decides);
  return child;
}

bool read_began(int from, Began* out, int patience_ms) {
  pollfd ready = {from, POLLIN, 0};
  return ::poll(&ready, 1, patience_ms) == 1 &&
         ::read(from, out, sizeof *out) == static_cast<ssize_t>(sizeof *out);
}

void end(pid_t child, int by) {
  ::kill(child, by);
  ::waitpid(child, nullptr, 0);
}

// Waits for the end of the instance with a client in a process of its own, because this process
// forks.
bool completes(long last, bool start) {
  const pid_t child = ::fork();
  if (child == 0) {
    Started all;
    all.start();
    pawl::ClientOptions options;
    g_place.fill("client", &options);
    all.memory = std::make_unique<char[]>(pawl::Client::required_memory(options) + 64);
    pawl::Client client;
    pawl::Diagnostic why;
    pawl::Status status =
        client.open(all.process, options, all.port.port(), Started::aligned(all.memory.get()),
                    pawl::Client::required_memory(options), why);
    if (status != pawl::Status::kOk) die("client", status, why.text());
    if (start) {
      status = client.start_orchestration("rounds", pawl::InstanceId("handoff"),
                                          "1 " + std::to_string(last));
      if (status != pawl::Status::kOk) die("start", status, client.error_text());
      std::_Exit(0);
    }
    pawl::OrchestrationStatus seen;
    status = client.wait_for_orchestration("handoff", std::chrono::seconds(120), &seen);
    const bool good = status == pawl::Status::kOk &&
                      seen.state == pawl::OrchestrationState::kCompleted &&
                      seen.output == std::to_string(last);
    std::_Exit(good ? 0 : 1);
  }
  int state = 0;
  return ::waitpid(child, &state, 0) == child && WIFEXITED(state) && WEXITSTATUS(state) == 0;
}

bool parse(int count, char** words, long* kills) {
  for (int i = 1; i < count; ++i) {
    const auto is = [&](const char* name) {
      return std::strcmp(words[i], name) == 0 && i + 1 < count;
    };
    if (is("--db")) {
      g_place.database = words[++i];
#ifdef BENCH_POSTGRES
    } else if (is("--server")) {
      g_place.server = words[++i];
#endif
    } else if (is("--lease")) {
      g_place.lease_s = std::strtol(words[++i], nullptr, 10);
    } else if (std::strcmp(words[i], "--exclusive") == 0) {
      g_place.exclusive = true;
    } else {
      *kills = std::strtol(words[i], nullptr, 10);
    }
  }
  return *kills >= 1 && *kills <= 10'000;
}

}  // namespace

int main(int count, char** words) {
  long kills = 50;
  if (!parse(count, words, &kills)) {
    std::fputs(
        "usage: pawl-handoff [KILLS] [--db PATH] [--server ADDRESS] [--exclusive] "
        "[--lease SECONDS]\n",
        stderr);
    return 2;
  }
  for (const char* tail : {"", "-wal", "-shm"})
    ::unlink((g_place.database + tail).c_str());
  int report[2];
  if (::pipe(report) != 0) return 2;
  g_report = report[1];
  const long last = 3 * kills + 4;
  const pid_t boss = spawn("boss", true);
  std::vector<pid_t> hands = {spawn("hand-0", false), spawn("hand-1", false)};
  if (!completes(last, true)) return 2;

  std::vector<double> times_ms;
  int spawned = 2;
  long lost = 0;
  Began began;
  while (static_cast<long>(times_ms.size()) < kills && read_began(report[0], &began, 60'000)) {
    if (began.number % 2 != 0) continue;
    // The activity is in flight when its owner dies.
    const timespec half = {0, kActivityMs * 500'000};
    ::nanosleep(&half, nullptr);
    const std::int64_t killed_us = now_us();
    Began last_of_killed = began;
    end(began.process, SIGKILL);
    hands.erase(std::remove(hands.begin(), hands.end(), began.process), hands.end());
    // On a machine with other work, this process may sleep until the owner has begun more.
    bool is_there = true;
    while ((is_there = read_began(report[0], &began, 60'000)) &&
           began.process == last_of_killed.process)
      last_of_killed = began;
    if (!is_there) break;
    const bool is_next = began.number == last_of_killed.number + 1;  // it had ended
    if ((began.number != last_of_killed.number && !is_next) || began.epoch <= last_of_killed.epoch)
      ++lost;
    times_ms.push_back(static_cast<double>(began.at_us - killed_us) / 1'000.0);
    hands.push_back(spawn("hand-" + std::to_string(spawned++), false));
    // The activity that moved ends in its new owner; the next kill hits the next even number.
  }
  const bool completed = completes(last, false);
  for (const pid_t hand : hands)
    end(hand, SIGTERM);
  end(boss, SIGTERM);
  std::sort(times_ms.begin(), times_ms.end());
  if (times_ms.empty()) return 1;
  std::printf("%zu handoffs after SIGKILL: median %.1f ms, maximum %.1f ms; lost %ld; %s\n",
              times_ms.size(), times_ms[times_ms.size() / 2], times_ms.back(), lost,
              completed ? "all activities completed" : "not completed");
  for (const char* tail : {"", "-wal", "-shm"})
    ::unlink((g_place.database + tail).c_str());
  return completed && lost == 0 && static_cast<long>(times_ms.size()) == kills ? 0 : 1;
}

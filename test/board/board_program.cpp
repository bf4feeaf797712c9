// The program that runs on the emulated board: work that a power cut ends, the check of what is
// left, and clocks.
//
//   board_program work DB COUNT LEDGER [normal]  starts instances 1 to COUNT, one after the other
//   board_program check DB COUNT                 prints which of them are there, and lets them end
//   board_program clock DB UTC_MS                runs timers, one of them due at UTC_MS, and a
//                                                session, until it is killed
//   board_program wall                           prints the wall clock, in seconds
//   board_program wall SECONDS [synced]          sets it; synced: the kernel calls it synchronized
//
// work: a line "start N" says that a client was answered kOk, "end N" that it saw the end of N.
// Before it prints a line, it writes the same text unbuffered to LEDGER, a part of the disk whose
// power is cut. A log of the disk's writes then shows which answer came before which flush.
// normal: not every commit is flushed.
#include <fcntl.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "pawl/host.hpp"
#include "pawl/maintenance.hpp"
#include "pawl/visit.hpp"

namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr std::int64_t kHourMs = 3'600'000;

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int size = std::vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (size > 0 && ::write(STDOUT_FILENO, line, static_cast<std::size_t>(size)) < 0) ::_exit(9);
}

[[noreturn]] void die(const char* what, pawl::Status status, std::string_view text) {
  say("board_program: %s: %s: %.*s\n", what, pawl::status_name(status), PAWL_TEXT(text));
  ::_exit(3);
}

std::int64_t now_ms(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000 + now.tv_nsec / 1'000'000;
}

std::int64_t number_of(std::string_view text) {
  return std::strtoll(std::string(text).c_str(), nullptr, 10);
}

// ---- the work ----

std::int64_t mix(std::int64_t value) { return (value * 31 + 7) % 1'000'003; }

pawl::ActivityResult mix_input(pawl::ActivityContext& ctx) {
  return ctx.ok(std::to_string(mix(number_of(ctx.input()))));
}

std::string session_of(std::int64_t number) { return "session-" + std::to_string(number % 4); }

// Runs an activity, a timer, and an activity of one of four sessions.
pawl::Poll job(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("mix", ctx.input()));
  if (!first.ok()) return ctx.fail(first.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(5)));
  const std::string session = session_of(number_of(ctx.input()));
  PAWL_AWAIT(second, ctx.schedule_activity("mix", first.value(), pawl::Target::session(session)));
  if (!second.ok()) return ctx.fail(second.error());
  return ctx.complete(second.value());
}

// ---- clocks ----

// Prints its input, and when it ran by both clocks.
pawl::ActivityResult report(pawl::ActivityContext& ctx) {
  say("clock: %.*s boot=%lld wall=%lld\n", PAWL_TEXT(ctx.input()),
      static_cast<long long>(now_ms(CLOCK_BOOTTIME)),
      static_cast<long long>(now_ms(CLOCK_REALTIME)));
  return ctx.ok("");
}

pawl::ActivityResult keep(pawl::ActivityContext& ctx) {
  say("clock: kept round=%.*s epoch=%lld claimed=%d\n", PAWL_TEXT(ctx.input()),
      static_cast<long long>(ctx.session_epoch()), ctx.claimed_now() ? 1 : 0);
  return ctx.ok("");
}

pawl::Poll nap(pawl::OrchestrationContext& ctx) {
  const std::string ms(ctx.input());
  PAWL_AWAIT_DONE(ctx.schedule_activity("report", "begins " + ms));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(number_of(ms))));
  PAWL_AWAIT_DONE(ctx.schedule_activity("report", "ends " + ms));
  return ctx.complete("");
}

pawl::Poll at_utc(pawl::OrchestrationContext& ctx) {
  const std::string due(ctx.input());
  PAWL_AWAIT_DONE(ctx.schedule_activity("report", "waits for " + due));
  PAWL_AWAIT_DONE(ctx.schedule_timer_at(number_of(due)));
  PAWL_AWAIT_DONE(ctx.schedule_activity("report", "was due " + due));
  return ctx.complete("");
}

// Runs an activity of its session every half second, for longer than any test takes.
pawl::Poll keeper(pawl::OrchestrationContext& ctx) {
  for (int round = 1; round <= 100; ++round) {
    PAWL_AWAIT_DONE(
        ctx.schedule_activity("keep", std::to_string(round), pawl::Target::session("kept")));
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(500)));
  }
  return ctx.complete("");
}

// ---- the parts of the program ----

pawl::HostOptions options_of(const char* database) {
  pawl::HostOptions options;
  options.process.connections_max = 2;
  options.runtime.database_path = database;
  options.runtime.worker_node_id = "board";
  return options;
}

void fill(pawl::Host& host) {
  host.add_activity("mix", mix_input).add_activity("report", report).add_activity("keep", keep);
  host.add_orchestration("job", job).add_orchestration("nap", nap);
  host.add_orchestration("at_utc", at_utc).add_orchestration("keeper", keeper);
  if (host.start() != pawl::Status::kOk) die("start", host.status(), host.error_text());
}

// A client for a second thread, beside the Runtime of a Host.
class Caller {
 public:
  Caller(pawl::Host& host, const char* database) {
    pawl::ClientOptions options;
    options.database_path = database;
    options.synchronous_full = host.options().runtime.synchronous_full;
    const std::size_t bytes = pawl::Client::required_memory(options);
    memory_ = std::make_unique<unsigned char[]>(bytes);
    pawl::Diagnostic why;
    const pawl::Status opened =
        client_.open(host.process(), options, port_.port(), memory_.get(), bytes, why);
    if (opened != pawl::Status::kOk) die("open of the client", opened, why.text());
  }
  pawl::Client& client() { return client_; }

  // Waits for the end of the instance.
  std::string output_of(std::int64_t number) {
    pawl::OrchestrationStatus end;
    const pawl::Status status =
        client_.wait_for_orchestration(std::to_string(number), kPatience, &end);
    if (status != pawl::Status::kOk) die("wait", status, client_.error_text());
    return std::string(end.output);
  }

 private:
  std::unique_ptr<unsigned char[]> memory_;
  pawl::posix::SystemPort port_;
  pawl::Client client_;
};

// Notes each answer to a client on the disk before it prints it. A note replaces the last one.
class Ledger {
 public:
  explicit Ledger(const char* path) : fd_(::open(path, O_WRONLY | O_DIRECT | O_CLOEXEC)) {
    if (fd_ < 0) die(path, pawl::Status::kCannotOpen, std::strerror(errno));
  }
  void note(const char* what, std::int64_t number) {
    std::memset(sector_, 0, sizeof(sector_));
    std::snprintf(sector_, sizeof(sector_), "%s %lld\n", what, static_cast<long long>(number));
    if (::pwrite(fd_, sector_, sizeof(sector_), 0) != static_cast<ssize_t>(sizeof(sector_)))
      die("ledger", pawl::Status::kIo, std::strerror(errno));
    say("%s", sector_);
  }

 private:
  int fd_;
  alignas(4096) char sector_[512];
};

// The bytes that this process has written to files, those of the ledger and of the console too.
std::int64_t bytes_written() {
  std::FILE* const counts = std::fopen("/proc/self/io", "r");
  long long bytes = 0;
  if (counts == nullptr || std::fscanf(counts, "rchar: %*s wchar: %lld", &bytes) != 1) bytes = 0;
  if (counts != nullptr) static_cast<void>(std::fclose(counts));
  return bytes;
}

int work(const char* database, std::int64_t count, const char* ledger_path, bool flushed) {
  pawl::HostOptions options = options_of(database);
  options.runtime.synchronous_full = flushed;
  pawl::Host host(options);
  fill(host);
  std::thread caller([&] {
    Caller calls(host, database);
    Ledger ledger(ledger_path);
    for (std::int64_t number = 1; number <= count; ++number) {
      const pawl::Status status = calls.client().start_orchestration(
          "job", pawl::InstanceId(std::to_string(number)), std::to_string(number));
      if (status != pawl::Status::kOk) die("start", status, calls.client().error_text());
      ledger.note("start", number);
      if (number % 3 != 0) continue;
      static_cast<void>(calls.output_of(number - 1));
      ledger.note("end", number - 1);
    }
    host.runtime().request_stop();
  });
  const int result = host.run();
  caller.join();
  say("bytes %lld\n", static_cast<long long>(bytes_written()));
  return result;
}

// Checks all pages of the database before anything is written to them.
bool look_at_pages(const char* database) {
  pawl::Process process;
  pawl::ProcessOptions options;
  options.connections_max = 2;
  const std::size_t process_bytes = pawl::Process::required_memory(options);
  const auto process_memory = std::make_unique<unsigned char[]>(process_bytes);
  const auto memory = std::make_unique<unsigned char[]>(pawl::maintenance_memory());
  pawl::Diagnostic why;
  pawl::posix::SystemPort port;
  pawl::Status status = process.start(options, process_memory.get(), process_bytes, why);
  auto findings =
      pawl::visit([](std::string_view text) { say("finding: %.*s\n", PAWL_TEXT(text)); });
  pawl::DatabaseReport seen;
  if (status == pawl::Status::kOk)
    status = pawl::check_database(process, pawl::Path(database), false, port.port(), memory.get(),
                                  pawl::maintenance_memory(), findings, &seen, why);
  if (status != pawl::Status::kOk) die("check", status, why.text());
  say("findings %lld orphans %lld\n", static_cast<long long>(seen.findings),
      static_cast<long long>(seen.orphans));
  static_cast<void>(process.stop());
  return seen.findings == 0 && seen.orphans == 0;
}

// Prints "instance N before=... right=..." for each instance that is there: its state when it is
// looked at, and whether its output is right in the end.
int check(const char* database, std::int64_t count) {
  if (!look_at_pages(database)) return 3;  // instances of a damaged database may never end
  pawl::HostOptions options = options_of(database);
  pawl::Host host(options);
  fill(host);
  std::thread caller([&] {
    Caller calls(host, database);
    for (std::int64_t number = 1; number <= count; ++number) {
      pawl::OrchestrationStatus seen;
      const pawl::Status status = calls.client().get_status(std::to_string(number), &seen);
      if (status == pawl::Status::kNotFound) continue;
      if (status != pawl::Status::kOk) die("status", status, calls.client().error_text());
      const bool ended = seen.state == pawl::OrchestrationState::kCompleted;
      const bool right = calls.output_of(number) == std::to_string(mix(mix(number)));
      say("instance %lld before=%s right=%d\n", static_cast<long long>(number),
          ended ? "completed" : "running", right ? 1 : 0);
    }
    host.runtime().request_stop();
  });
  const int result = host.run();
  caller.join();
  return result;
}

// Started again on its database, it lets the instances that are there go on.
int clock(const char* database, const char* utc_ms) {
  pawl::HostOptions options = options_of(database);
  static pawl::posix::FdLogSink log(STDOUT_FILENO, pawl::LogLevel::kInfo);
  options.runtime.log = &log;
  options.runtime.leases.session_lock_timeout = std::chrono::milliseconds(2'000);
  options.runtime.leases.session_lock_renewal_buffer = std::chrono::milliseconds(1'000);
  pawl::Host host(options);
  fill(host);
  for (const std::int64_t ms : {std::int64_t{4'000}, std::int64_t{8'000}, kHourMs})
    host.start_once("nap", pawl::InstanceId("nap-" + std::to_string(ms)), std::to_string(ms));
  host.start_once("at_utc", pawl::InstanceId("at"), utc_ms);
  host.start_once("keeper", pawl::InstanceId("keeper"), "");
  return host.run();
}

int set_wall(std::int64_t seconds, bool synced) {
  timespec wall{};
  wall.tv_sec = static_cast<time_t>(seconds);
  if (::clock_settime(CLOCK_REALTIME, &wall) != 0) {
    std::perror("clock_settime");
    return 1;
  }
  timex kernel{};
  kernel.modes = ADJ_STATUS | ADJ_MAXERROR | ADJ_ESTERROR;
  kernel.status = synced ? 0 : STA_UNSYNC;
  return ::adjtimex(&kernel) < 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const std::string_view last = argv[argc - 1];
  if (mode == "work" && argc >= 5)
    return work(argv[2], number_of(argv[3]), argv[4], last != "normal");
  if (mode == "check" && argc == 4) return check(argv[2], number_of(argv[3]));
  if (mode == "clock" && argc == 4) return clock(argv[2], argv[3]);
  if (mode == "wall" && argc == 2) {
    say("%lld\n", static_cast<long long>(now_ms(CLOCK_REALTIME) / 1'000));
    return 0;
  }
  if (mode == "wall" && argc >= 3) return set_wall(number_of(argv[2]), last == "synced");
  std::fputs("board_program: see the head of its source\n", stderr);
  return 2;
}

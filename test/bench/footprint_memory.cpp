// Prints what is resident of a process with Pawl, for footprint.py and the tests of a booted board.
//
//   footprint_memory smallest|default  runs the README's hello on a database in the current folder,
//                                      and prints what is resident of this process
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "pawl/host.hpp"

namespace {

pawl::ActivityResult say(pawl::ActivityContext& ctx) { return ctx.ok(ctx.input()); }

pawl::Poll greet(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(hello, ctx.schedule_activity("say", "hello"));
  if (!hello.ok()) return ctx.fail(hello.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(2)));
  PAWL_AWAIT(goodbye, ctx.schedule_activity("say", "goodbye, two seconds later"));
  return ctx.complete(goodbye.value());
}

// The kernel's own sums. They are read without the heap, because reading would make it larger.
bool print_resident(const char* moment) {
  char text[4096];
  const int fd = ::open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? -1 : ::read(fd, text, sizeof(text) - 1);
  if (fd >= 0) ::close(fd);
  if (size <= 0) return false;
  text[size] = 0;
  for (char* line = std::strtok(text, "\n"); line != nullptr; line = std::strtok(nullptr, "\n"))
    std::printf("%s %s\n", moment, line);
  return std::fflush(stdout) == 0;
}

bool has_turned(void* host) noexcept {
  return static_cast<pawl::Host*>(host)->runtime().stats().turns >= 2;
}
constexpr unsigned kBusyInstances = 64;
bool has_ended(void* host) noexcept {
  return static_cast<pawl::Host*>(host)->runtime().stats().orchestrations_completed >=
         kBusyInstances + 1;
}

// Starts as many instances as a default batch has, all waiting for their timers at the same time.
pawl::Status start_many(pawl::Host& host) {
  for (unsigned i = 0; i < kBusyInstances; ++i) {
    char id[16];
    std::snprintf(id, sizeof(id), "hello-%u", i);
    for (;;) {
      const pawl::Status status =
          host.runtime().start_orchestration("greet", pawl::InstanceId(id), "");
      if (status == pawl::Status::kOk) break;
      if (status != pawl::Status::kResourceExhausted) return status;
      const pawl::Result<bool> ticked = host.runtime().tick(std::chrono::seconds(10));
      if (!ticked.ok()) return ticked.status();
    }
  }
  return pawl::Status::kOk;
}

int resident(std::string_view which) {
  constexpr std::chrono::seconds kPatience{120};
  pawl::HostOptions options;
  if (which == "smallest") {
    options.process = pawl::ProcessOptions::smallest();
    options.runtime = pawl::Options::smallest();
  }
  options.runtime.database_path = "resident.db";
  pawl::Host host(options);
  host.add_orchestration("greet", greet).add_activity("say", say);
  host.start_once("greet", pawl::InstanceId("first"), "");
  if (host.status() != pawl::Status::kOk) return host.run();  // prints the reason
  // The second turn has set the timer, and the process has nothing to do.
  if (host.runtime().run_for(kPatience, has_turned, &host) != pawl::Status::kOk) return 1;
  if (!print_resident("idle")) return 1;
  if (start_many(host) != pawl::Status::kOk) return 1;
  if (host.runtime().run_for(kPatience, has_ended, &host) != pawl::Status::kOk) return 1;
  if (!print_resident("busy")) return 1;
  return host.stop() == pawl::Status::kOk ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) return resident(argv[1]);
  std::fputs("footprint_memory: see the head of its source\n", stderr);
  return 2;
}

// Goal: a program as a user builds it works with Pawl. It has exceptions, type information, and the
// sanitizer of undefined behaviour, which needs the type information of every class that the
// program calls. Pawl itself is compiled without these. On a 32-bit machine, linking Pawl gives the
// program 64-bit file sizes and times.
#include <sys/types.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <typeinfo>

#include "pawl/host.hpp"
#include "pawl/port_posix.hpp"

static_assert(sizeof(off_t) == 8, "linking Pawl gives the flags for large files");
static_assert(sizeof(std::time_t) == 8, "and for times beyond 2038");

namespace {

class Sink : public pawl::LogSink {
 public:
  void write(pawl::LogLevel, std::string_view event, const pawl::LogField*,
             std::size_t) noexcept override {
    events += std::string(event) + "\n";
  }
  std::string events;
};

class Listener : public pawl::SessionListener {
 public:
  void on_session_claimed(std::string_view, std::int64_t) noexcept override { ++claimed; }
  void on_session_lost(std::string_view, std::int64_t) noexcept override {}
  int claimed = 0;
};

pawl::ActivityResult say(pawl::ActivityContext& ctx) { return ctx.ok("said"); }

pawl::Poll hello(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("say", "", pawl::Target::session("s")));
  return said.ok() ? ctx.complete(said.value()) : ctx.fail(said.error());
}

int run(const char* path) {
  Sink sink;
  Listener listener;
  pawl::HostOptions options;
  options.runtime.database_path = path;
  options.runtime.log = &sink;
  options.runtime.sessions.listener = &listener;
  pawl::Host host(options);
  host.add_orchestration("hello", hello).add_activity("say", say);
  const int status = host.start_once("hello", pawl::InstanceId("one"), "").run_until_done("one");
  if (status != 0) std::fprintf(stderr, "%s\n", std::string(host.error_text()).c_str());
  // Uses every object of the library that a user can hold by its base class.
  pawl::posix::FdLogSink to_stderr(2, pawl::LogLevel::kWarning);
  pawl::LogSink& by_base = to_stderr;
  by_base.write(pawl::LogLevel::kDebug, "nothing", nullptr, 0);
  const bool is_known = typeid(by_base) == typeid(pawl::posix::FdLogSink);
  pawl::posix::SystemPort system;
  const pawl::port::Port port = system.port();
  const bool has_time = port.clock->wall_ms() > 0 && host.clock().wall_ms() > 0 &&
                        port.storage->native_vfs() != nullptr && port.threads->fd() < 0;
  return status != 0 || listener.claimed != 1 || sink.events.empty() || !is_known || !has_time;
}

}  // namespace

int main(int argument_count, char** arguments) {
  return argument_count == 2 ? run(arguments[1]) : 2;
}

// A gateway with an endpoint whose ticks are timed from outside, for endpoint_bench.py.
//
// usage: endpoint_ticks DATABASE SAMPLERS
//
// SAMPLERS instances take a sample each 100 ms. Prints "ready". At SIGTERM it prints for each tick
// since then "BEGAN TOOK" in microseconds of CLOCK_MONOTONIC, kept in memory that was allocated
// before.
#include <poll.h>
#include <time.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pawl/endpoint.hpp"
#include "pawl/host.hpp"

namespace {

constexpr std::size_t kTicksMax = 1'000'000;

struct Tick {
  std::int64_t began_us;
  std::int64_t took_us;
};

std::int64_t now_us() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
}

pawl::ActivityResult read_sensor(pawl::ActivityContext& ctx) { return ctx.ok("21.5"); }

// The first wait is as many ms as the input says, so that not all samples are in one tick.
pawl::Poll sample(pawl::OrchestrationContext& ctx) {
  const std::chrono::milliseconds first(std::atoi(std::string(ctx.input()).c_str()));
  PAWL_AWAIT_DONE(ctx.schedule_timer(first));
  for (int i = 0; i < 50; ++i) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(100)));
    PAWL_AWAIT(value, ctx.schedule_activity("read_sensor", ""));
    if (!value.ok()) return ctx.fail(value.error());
  }
  return ctx.continue_as_new("0");
}

int failed(const char* what, std::string_view why) {
  std::fprintf(stderr, "endpoint_ticks: %s: %.*s\n", what, PAWL_TEXT(why));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  pawl::HostOptions options;
  options.runtime.database_path = pawl::Path(argv[1]);
  options.runtime.worker_node_id = pawl::Name("me");
  pawl::Host host(options);
  host.add_activity("read_sensor", read_sensor).add_orchestration("sample", sample);
  pawl::Endpoint endpoint;
  pawl::Diagnostic why;
  if (endpoint.start(host, pawl::EndpointOptions(), why) != pawl::Status::kOk)
    return failed("the endpoint", why.text());
  const int samplers = std::atoi(argv[2]);
  for (int i = 1; i <= samplers; ++i)
    host.start_once("sample", pawl::InstanceId("i" + std::to_string(i)),
                    std::to_string(i * 100 / samplers));
  if (host.start() != pawl::Status::kOk) return failed("the host", host.error_text());
  std::vector<Tick> ticks;
  ticks.reserve(kTicksMax);
  std::printf("ready\n");
  std::fflush(stdout);
  pollfd watched = {host.runtime().fd(), POLLIN, 0};
  while (!host.runtime().stop_requested()) {
    if (::poll(&watched, 1, -1) < 0) continue;
    const std::int64_t began = now_us();
    if (!host.runtime().tick(std::chrono::milliseconds(20)).ok()) break;
    if (ticks.size() < kTicksMax) ticks.push_back({began, now_us() - began});
  }
  if (endpoint.stop() != pawl::Status::kOk) return failed("the endpoint", "its thread still runs");
  for (const Tick& tick : ticks)
    std::printf("%" PRId64 " %" PRId64 "\n", tick.began_us, tick.took_us);
  return host.stop() == pawl::Status::kOk ? 0 : 1;
}

// Chapter 7: one compressor for all rooms. One process has it, and it runs for one room at a time.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"
#include "pawl/session_cache.hpp"

// The open port, which the worker keeps while it owns the compressor.
struct Port {
  explicit Port(std::string_view name) { std::printf("opening %.*s\n", PAWL_TEXT(name)); }
  ~Port() { std::puts("closing the port"); }
  int runs = 0;
};
using Ports = pawl::SessionCache<Port, 1>;

pawl::ActivityResult run_compressor(pawl::ActivityContext& ctx) {
  Ports& ports = *static_cast<Ports*>(ctx.user());
  const Ports::Lease port = ports.acquire(ctx, ctx.session_id());
  if (!port) return ctx.fail(pawl::status_name(port.status()));
  std::printf("run %d: %.*s\n", ++port->runs, PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

pawl::Poll cool_rooms(pawl::OrchestrationContext& ctx) {
  const pawl::Target compressor = pawl::Target::device("compressor");
  pawl::Handle runs[3];
  int count = 0;
  for (const char* room : {"room-1", "room-2", "room-3"})
    runs[count++] = ctx.schedule_activity("run_compressor", room, compressor);
  PAWL_AWAIT_DONE(ctx.join_all(runs, 3));
  for (const pawl::Handle& run : runs) {
    PAWL_AWAIT(done, run);
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("");
}

int main() {
  pawl::HostOptions options;
  options.runtime.database_path = "07_device.db";
  options.runtime.worker_node_id = "gateway";  // its own name: it is back at once after a restart
  pawl::Host host(options);
  Ports ports(host.clock());
  host.options().runtime.sessions.listener = &ports;  // learns when the device is lost
  host.add_orchestration("cool_rooms", cool_rooms);
  host.add_activity("run_compressor", run_compressor, pawl::ActivityMode::kThreaded, &ports);
  host.start_once("cool_rooms", pawl::InstanceId("night"), "");
  if (host.status() != pawl::Status::kOk) return host.run();
  const pawl::Status declared = host.runtime().declare_session("compressor", false);
  return declared == pawl::Status::kOk ? host.run_until_done("night") : 1;
}

// A worker for page_test.py. With a port it has the endpoint on TCP.
//
//   page_program DATABASE NODE [PORT TOKEN_FILE [read-only]]
//
// An activity "hold" runs until the file DATABASE-go exists.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "error_file.hpp"
#include "pawl/endpoint.hpp"
#include "pawl/host.hpp"

namespace {

using pawl::ActivityContext;
using pawl::ActivityResult;
using pawl::ActivityStep;
using pawl::OrchestrationContext;
using pawl::Poll;

constexpr char kHostile[] = "<img src=x onerror=window.hit=1>";

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }
ActivityResult decline(ActivityContext& ctx) { return ctx.fail("the card was declined"); }

ActivityResult print_label(ActivityContext& ctx) {
  return ctx.retry_attempt() < 3 ? ctx.fail("paper jam") : ctx.ok("printed");
}

struct Nothing {};

ActivityStep hold(ActivityContext& ctx, Nothing& /*state*/) {
  const std::string& go = *static_cast<const std::string*>(ctx.user());
  struct stat unused = {};
  if (ctx.is_cancelled()) return ctx.fail("cancelled");
  if (stat(go.c_str(), &unused) == 0) return ctx.ok("released");
  return ctx.again_after(std::chrono::milliseconds(50));
}

Poll quick(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("echo", ctx.input()));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll nothing(OrchestrationContext& ctx) { return ctx.complete(ctx.input()); }

Poll rounds(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input()));
  return ctx.execution_id() < 3 ? ctx.continue_as_new(ctx.input()) : ctx.complete("done");
}

// Makes an entry of each kind that a timeline has, and then waits.
Poll order(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "three boxes", pawl::Target::session("shelf")));
  if (ctx.set_custom_status("reserved") != pawl::ErrorKind::kNone) return ctx.fail("no status");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(300)));
  pawl::ActivityOptions options;
  options.retry.max_attempts = 5;
  options.retry.base = std::chrono::milliseconds(150);
  PAWL_AWAIT_DONE(ctx.schedule_activity("print label", "42", options));
  PAWL_AWAIT(charged, ctx.schedule_activity("decline", "42.10 EUR"));
  if (charged.ok()) return ctx.fail("it was not declined");
  PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("quick", "ask the customer"));
  if (ctx.set_kv_value("progress", "waits for approval") != pawl::ErrorKind::kNone)
    return ctx.fail("no value");
  const pawl::Session press = ctx.open_session("press");
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", "warm up", pawl::Target::own(press)));
  PAWL_AWAIT(approved, ctx.schedule_wait("approval"));
  if (!approved.ok()) return ctx.fail(approved.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(200)));
  return ctx.complete(approved.value());
}

Poll holder(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("hold", "", pawl::Target::session("crane")));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

// Its input in every kind of text that the page shows.
Poll hostile(OrchestrationContext& ctx) {
  if (ctx.set_kv_value(kHostile, ctx.input()) != pawl::ErrorKind::kNone)
    return ctx.fail("no value");
  if (ctx.set_custom_status(ctx.input().substr(0, 1000)) != pawl::ErrorKind::kNone)
    return ctx.fail("no status");
  PAWL_AWAIT_DONE(ctx.schedule_activity("echo", ctx.input(), pawl::Target::session(kHostile)));
  PAWL_AWAIT_DONE(ctx.schedule_wait(kHostile));
  return ctx.fail(ctx.input());
}

std::string go_file;

void add_code(pawl::Host& host) {
  host.add_activity("echo", echo).add_activity("decline", decline);
  host.add_activity("print label", print_label);
  host.add_cooperative<Nothing>("hold", hold, &go_file);
  host.add_orchestration("quick", quick).add_orchestration("rounds", rounds);
  host.add_orchestration("order", order).add_orchestration("holder", holder);
  host.add_orchestration("hostile", hostile).add_orchestration(kHostile, nothing);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5 && argc != 6) return 2;
  go_file = std::string(argv[1]) + "-go";
  pawl::HostOptions options;
  options.runtime.database_path = argv[1];
  options.runtime.worker_node_id = pawl::Name(argv[2]);
  options.runtime.log = crash_test::error_file();
  pawl::Host host(options);
  add_code(host);
  pawl::Endpoint endpoint;
  if (argc >= 5) {
    pawl::EndpointOptions shown;
    shown.tcp.emplace();
    shown.tcp->port = static_cast<std::uint16_t>(std::strtoul(argv[3], nullptr, 10));
    shown.tcp->token_file = argv[4];
    shown.read_only = argc == 6;
    pawl::Diagnostic why;
    if (endpoint.start(host, shown, why) != pawl::Status::kOk) {
      std::fprintf(stderr, "page_program: %.*s\n", PAWL_TEXT(why.text()));
      return 1;
    }
    std::printf("%u\n", static_cast<unsigned>(endpoint.port()));
    std::fflush(stdout);
  }
  return host.run();
}

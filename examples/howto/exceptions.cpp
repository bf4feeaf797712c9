// Code that throws: an activity's attempt fails, an orchestration stops and loses nothing.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "pawl/host.hpp"

pawl::ActivityResult read_meter(pawl::ActivityContext& ctx) {
  std::printf("reading, try %d\n", static_cast<int>(ctx.retry_attempt()));
  if (ctx.retry_attempt() == 1) throw std::runtime_error("no such file");
  return ctx.ok("n/a");
}

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

// Last year's code: std::stoi() throws for "n/a".
pawl::Poll bill_broken(pawl::OrchestrationContext& ctx) {
  pawl::ActivityOptions options;
  options.retry.max_attempts = 3;
  options.retry.base = std::chrono::milliseconds(10);
  PAWL_AWAIT(litres, ctx.schedule_activity("read_meter", "", options));
  if (!litres.ok()) return ctx.fail(litres.error());
  const int count = std::stoi(std::string(litres.value()));
  PAWL_AWAIT(shown, ctx.schedule_activity("show", std::to_string(count)));
  return shown.ok() ? ctx.complete("") : ctx.fail(shown.error());
}

// The repaired code. It makes the same calls up to the line that threw, so the instance goes on.
pawl::Poll bill_mended(pawl::OrchestrationContext& ctx) {
  pawl::ActivityOptions options;
  options.retry.max_attempts = 3;
  options.retry.base = std::chrono::milliseconds(10);
  PAWL_AWAIT(litres, ctx.schedule_activity("read_meter", "", options));
  if (!litres.ok()) return ctx.fail(litres.error());
  const std::string text(litres.value());
  PAWL_AWAIT(shown, ctx.schedule_activity("show", text == "n/a" ? "no reading" : text));
  return shown.ok() ? ctx.complete("") : ctx.fail(shown.error());
}

int main(int argc, char**) {
  pawl::Host host("exceptions.db");
  host.add_activity("read_meter", read_meter).add_activity("show", show);
  host.add_orchestration("bill", argc > 1 ? bill_broken : bill_mended);
  host.start_once("bill", pawl::InstanceId("may"), "");
  return host.run_until_done("may");
}

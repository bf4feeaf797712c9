// An approval: an orchestration waits for a person. Separate processes ask, answer and work on one
// database.
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "pawl/host.hpp"

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

// The input is the limit in milliseconds.
pawl::Poll update_firmware(pawl::OrchestrationContext& ctx) {
  if (ctx.set_custom_status("waits for an approval") != pawl::ErrorKind::kNone)
    return ctx.fail("status");
  const pawl::Handle answer = ctx.schedule_wait("answer");
  const pawl::Handle limit =
      ctx.schedule_timer(std::chrono::milliseconds(std::stoi(std::string(ctx.input()))));
  PAWL_AWAIT(first, ctx.select(answer, limit));
  ctx.reset_custom_status();
  if (first.cancelled()) return ctx.fail(first.error());
  const std::string who(first.value());
  const std::string line = first.index() == 0 ? "approved by " + who : "no answer: not updated";
  PAWL_AWAIT(shown, ctx.schedule_activity("show", line));
  return shown.ok() ? ctx.complete(line) : ctx.fail(shown.error());
}

// Any process that knows the path may send. After kOk the message is durable, whether a worker runs
// or not.
pawl::Status send(std::string_view what, const char* id, const char* text) {
  pawl::HostClient client("approval.db");
  return what == "ask" ? client.start_orchestration("update_firmware", pawl::InstanceId(id), text)
                       : client.raise_event(id, "answer", text);
}

int main(int argc, char** argv) {
  if (argc == 4) return send(argv[1], argv[2], argv[3]) == pawl::Status::kOk ? 0 : 1;
  if (argc != 3) return 2;  // ask ID LIMIT, answer ID NAME, work ID
  pawl::Host host("approval.db");
  host.add_orchestration("update_firmware", update_firmware).add_activity("show", show);
  return host.run_until_done(argv[2]);
}

// A node whose server is in trouble: server_trouble.py runs it, and ends, starts and replaces the
// server meanwhile.
//
// usage: trouble_program PATH ADDRESS
//
// A client sends numbers to an instance, which this process runs, too, until standard input ends.
// Each line of standard output is what the client was answered, with the number. At the end comes
// "all" with the numbers that the instance has received.
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "pawl/host.hpp"
#include "pawl/host_client.hpp"
#include "pawl/pawl.hpp"
#include "pawl/postgres.hpp"

namespace {

using std::chrono::milliseconds;

// Keeps all that it received in its input, so that its history stays short.
pawl::Poll takes(pawl::OrchestrationContext& ctx) {
  std::string all(ctx.input());
  for (int taken = 0; taken < 20; ++taken) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (message.value() == "end") return ctx.complete(all);
    PAWL_AWAIT(echoed, ctx.schedule_activity("echo", message.value()));
    all += " " + std::string(echoed.value());
  }
  return ctx.continue_as_new(all);
}

pawl::ActivityResult echo(pawl::ActivityContext& ctx) { return ctx.ok(ctx.input()); }

bool input_has_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

int fail(const char* what, std::string_view why) {
  std::fprintf(stderr, "%s: %.*s\n", what, static_cast<int>(why.size()), why.data());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage", "trouble_program PATH ADDRESS");
  const pawl::ServerDatabase database = pawl::postgresql(argv[2]);
  pawl::HostOptions options;
  options.runtime.database_path = argv[1];
  options.runtime.database = &database;
  options.runtime.worker_node_id = "node";
  options.process.connections_max = 2;
  pawl::Host host(options);
  host.add_orchestration("takes", takes).add_activity("echo", echo);
  if (host.start() != pawl::Status::kOk) return fail("start", host.error_text());
  pawl::ClientOptions of_client;
  of_client.database_path = argv[1];
  of_client.database = &database;
  pawl::HostClient client(host.process(), of_client);
  if (client.status() != pawl::Status::kOk) return fail("open", client.error_text());
  if (client.start_orchestration("takes", pawl::InstanceId("a"), "") != pawl::Status::kOk)
    return fail("start", client.error_text());
  const auto send = [&](const std::string& text) {
    const pawl::Status sent = client.enqueue_event("a", "q", text);
    std::printf("%s %s\n", pawl::status_name(sent), text.c_str());
    std::fflush(stdout);
    if (sent != pawl::Status::kOk) static_cast<void>(fail("sending", client.error_text()));
    return sent == pawl::Status::kOk;
  };
  for (int number = 0; !input_has_ended(); ++number) {
    static_cast<void>(send(std::to_string(number)));
    static_cast<void>(host.runtime().run_for(milliseconds(20)));
  }
  while (!send("end"))
    static_cast<void>(host.runtime().run_for(milliseconds(100)));
  pawl::OrchestrationStatus status;
  do {
    static_cast<void>(host.runtime().run_for(milliseconds(100)));
    if (client.get_status("a", &status) != pawl::Status::kOk) status = {};
  } while (status.state == pawl::OrchestrationState::kRunning);
  const std::string_view all = status.output.view();
  std::printf("all%.*s\n", static_cast<int>(all.size()), all.data());
  return 0;
}

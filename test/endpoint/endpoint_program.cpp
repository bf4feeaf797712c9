// A program with a Host and an endpoint, for the tests of test/endpoint.
//
// usage: endpoint_program DATABASE [--tcp TOKEN_FILE] [--read-only] [--socket PATH] [--mode OCTAL]
//          [--timeout MS] [--connections N] [--watches N] [--metrics-file PATH] [--no-runtime]
//
// Prints "ready" and, on TCP, the port; ends at SIGTERM.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "pawl/endpoint.hpp"
#include "pawl/host.hpp"

namespace {

pawl::ActivityResult echo(pawl::ActivityContext& ctx) { return ctx.ok(ctx.input()); }

pawl::ActivityResult refuse(pawl::ActivityContext& ctx) { return ctx.fail("no \x1b[31m luck"); }

// Returns when it is cancelled, and holds its session until then.
pawl::ActivityResult hang(pawl::ActivityContext& ctx) {
  while (!ctx.is_cancelled())
    ::usleep(20'000);
  return ctx.ok("late");
}

// Blocks the loop for the milliseconds of its input, which no activity should do.
pawl::ActivityResult block(pawl::ActivityContext& ctx) {
  ::usleep(static_cast<useconds_t>(std::atoi(ctx.input().data())) * 1'000);
  return ctx.ok("");
}

// Reports its token as progress, and leaves.
pawl::ActivityResult ask(pawl::ActivityContext& ctx) {
  if (ctx.heartbeat(ctx.completion_token().view()) != pawl::Status::kOk)
    return ctx.fail("too long");
  return ctx.complete_later();
}

pawl::Poll asking(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("ask", ""));
  return got.ok() ? ctx.complete(got.value()) : ctx.fail(got.error());
}

pawl::Poll hello(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("echo", ctx.input()));
  if (ctx.set_kv_value("greeting", got.value()) != pawl::ErrorKind::kNone)
    return ctx.fail("no room");
  return ctx.complete(got.value());
}

pawl::Poll failing(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("refuse", ""));
  return ctx.fail(got.error());
}

pawl::Poll waiting(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(go, ctx.schedule_wait("go"));
  return ctx.complete(go.value());
}

pawl::Poll queue(pawl::OrchestrationContext& ctx) {
  const pawl::Handle letter = ctx.dequeue_event("mail");
  PAWL_AWAIT(one, letter);
  // It answers a call, and refuses "no".
  static_cast<void>(one.value() == "no" ? ctx.refuse(letter, "not that")
                                        : ctx.reply(letter, one.value()));
  return ctx.complete(one.value());
}

pawl::Poll busy(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("hang", "", pawl::Target::session("bay")));
  return ctx.complete(got.ok() ? got.value() : "lost");
}

// Schedules an activity that no worker has.
pawl::Poll unserved(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("nobody", ""));
  return ctx.complete(got.value());
}

pawl::Poll blocking(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(got, ctx.schedule_activity("block", ctx.input()));
  return ctx.complete(got.value());
}

// Makes a long history, two events a round. Input: "ROUNDS,BYTES", the bytes of each payload.
pawl::Poll longest(pawl::OrchestrationContext& ctx) {
  const std::string input(ctx.input());
  const std::size_t comma = input.find(',');
  const int rounds = std::atoi(input.c_str());
  const int bytes = comma == std::string::npos ? 10 : std::atoi(input.c_str() + comma + 1);
  const std::string payload(static_cast<std::size_t>(bytes), '"');
  for (int i = 0; i < rounds; ++i) {
    PAWL_AWAIT(got, ctx.schedule_activity("echo", payload));
    if (!got.ok()) return ctx.fail(got.error());
  }
  return ctx.complete("");
}

pawl::Poll parent(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(child, ctx.schedule_sub_orchestration("hello", "from the parent"));
  return ctx.complete(child.value());
}

// Serves the endpoint until SIGTERM, in a process without a Runtime.
int serve_alone(const pawl::EndpointOptions& options) {
  pawl::Process process;
  pawl::ProcessOptions process_options;
  pawl::Diagnostic why;
  const std::size_t bytes = pawl::Process::required_memory(process_options);
  void* const block = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (process.start(process_options, block, bytes, why) != pawl::Status::kOk) return 3;
  int status = 1;
  {
    pawl::Endpoint endpoint;
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
    const pawl::Status started = endpoint.start(process, options, why);
    if (started == pawl::Status::kOk) {
      std::printf("ready %u\n", static_cast<unsigned>(endpoint.port()));
      std::fflush(stdout);
      int signal = 0;
      sigwait(&stop, &signal);
      status = 0;
      if (endpoint.stop() == pawl::Status::kTimeout) {
        std::printf("%s still runs\n", pawl::Endpoint::kThreadName);
        std::fflush(stdout);
        ::_exit(4);  // the thread still uses these objects
      }
    } else {
      std::printf("%s: %.*s\n", pawl::status_name(started), PAWL_TEXT(why.text()));
    }
  }
  if (process.stop() == pawl::Status::kOk) std::free(block);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  pawl::EndpointOptions options;
  bool with_runtime = true;
  for (int i = 2; i < argc; ++i) {
    const auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    const auto number = [&] { return std::strtol(value(), nullptr, 0); };
    if (std::strcmp(argv[i], "--tcp") == 0) {
      options.tcp.emplace();
      options.tcp->token_file = pawl::Path(value());
    } else if (std::strcmp(argv[i], "--address") == 0) {
      options.tcp->address = pawl::Name(value());
    } else if (std::strcmp(argv[i], "--read-only") == 0) {
      options.read_only = true;
    } else if (std::strcmp(argv[i], "--socket") == 0) {
      options.socket_path = pawl::Path(value());
    } else if (std::strcmp(argv[i], "--mode") == 0) {
      options.socket_mode = static_cast<unsigned>(number());
    } else if (std::strcmp(argv[i], "--timeout") == 0) {
      options.request_timeout = std::chrono::milliseconds(number());
    } else if (std::strcmp(argv[i], "--connections") == 0) {
      options.connections = static_cast<std::uint32_t>(number());
    } else if (std::strcmp(argv[i], "--watches") == 0) {
      options.watches = static_cast<std::uint32_t>(number());
    } else if (std::strcmp(argv[i], "--metrics-file") == 0) {
      options.metrics_file = pawl::Path(value());
      options.metrics_interval = std::chrono::milliseconds(1'000);
    } else if (std::strcmp(argv[i], "--group") == 0) {
      options.port.group_access = true;
    } else if (std::strcmp(argv[i], "--no-runtime") == 0) {
      with_runtime = false;
    } else {
      return 2;
    }
  }
  if (!with_runtime) {
    options.client.database_path = pawl::Path(argv[1]);
    return serve_alone(options);
  }
  pawl::HostOptions host_options;
  host_options.runtime.database_path = pawl::Path(argv[1]);
  host_options.runtime.worker_node_id = pawl::Name("me");
  host_options.runtime.limits.history_events_max = 100'000;
  host_options.runtime.limits.warm_bytes = std::size_t{64} * 1024 * 1024;
  host_options.grace = std::chrono::milliseconds(1'000);
  host_options.port = options.port;
  pawl::Host host(host_options);
  host.add_activity("echo", echo)
      .add_activity("refuse", refuse)
      .add_activity("ask", ask)
      .allow_complete_later("ask")
      .add_activity("hang", hang, pawl::ActivityMode::kThreaded)
      .add_activity("block", block)
      .add_orchestration("hello", hello)
      .add_orchestration("failing", failing)
      .add_orchestration("asking", asking)
      .add_orchestration("waiting", waiting)
      .add_orchestration("queue", queue)
      .add_orchestration("busy", busy)
      .add_orchestration("unserved", unserved)
      .add_orchestration("blocking", blocking)
      .add_orchestration("longest", longest)
      .add_orchestration("parent", parent);
  pawl::Endpoint endpoint;
  pawl::Diagnostic why;
  const pawl::Status started = endpoint.start(host, options, why);
  if (started != pawl::Status::kOk) {
    std::printf("%s: %.*s\n", pawl::status_name(started), PAWL_TEXT(why.text()));
    return 1;
  }
  if (host.start() != pawl::Status::kOk) {
    std::printf("%.*s\n", PAWL_TEXT(host.error_text()));
    return 1;
  }
  std::printf("ready %u\n", static_cast<unsigned>(endpoint.port()));
  std::fflush(stdout);
  return host.run();
}

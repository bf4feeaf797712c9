#include "activities.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace session_broker {
namespace {

using example::Agent;
using pawl::ActivityContext;
using pawl::ActivityResult;
using pawl::ActivityStep;

constexpr std::size_t kAnswerMax = 900;  // within payload_bytes_max

struct Exchange {
  Agents::Lease agent;
  bool asked = false;
};

// Ends an agent that hangs or has ended. The next attempt makes another one in the same folder.
ActivityStep give_up(ActivityContext& ctx, Exchange& exchange, const std::string& why) {
  exchange.agent.discard();
  return ctx.fail(why);
}

bool start_agent(ActivityContext& ctx, Worker& worker, Agent& agent, std::string* why) {
  // The session keeps its folder after a handoff, so each kind has its files in a folder below it.
  const std::string folder = std::string(ctx.session_folder()) + "/" + worker.kind;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // The summary is what the agent of another kind left for this one. It comes with the first work
  // of an ownership.
  if (!ctx.session_summary().empty()) std::ofstream(folder + "/summary") << ctx.session_summary();
  if (error || !agent.start(worker.agent_command + " " + worker.kind, folder)) {
    *why = folder + ": " + (error ? error.message() : strerror(errno));
    return false;
  }
  ctx.trace(pawl::LogLevel::kInfo, "agent " + std::to_string(agent.pid()) + " in " + folder);
  return true;
}

// Sends its input to the agent as a line, and takes the answer. Each step is short, so an agent
// that thinks holds up no other.
ActivityStep ask(ActivityContext& ctx, Exchange& exchange) {
  Worker& worker = *static_cast<Worker*>(ctx.user());
  if (ctx.is_cancelled()) return give_up(ctx, exchange, "told to stop");
  std::string text;
  if (!exchange.agent) {
    exchange.agent = worker.agents.acquire(ctx);
    if (!exchange.agent) return ctx.fail(pawl::status_name(exchange.agent.status()));
    if (!exchange.agent->started() && !start_agent(ctx, worker, *exchange.agent, &text))
      return give_up(ctx, exchange, text);
  }
  if (!exchange.asked && !exchange.agent->send(ctx.input()))
    return give_up(ctx, exchange, "it does not listen");
  exchange.asked = true;
  switch (exchange.agent->receive(&text)) {
    case Agent::Received::kNothing:
      return ctx.when_readable(exchange.agent->fd(), std::chrono::seconds(60));
    case Agent::Received::kLine: return ctx.ok(text.substr(0, kAnswerMax));
    case Agent::Received::kEnd: break;
  }
  return give_up(ctx, exchange, "it has ended");
}

// Writes a line into the chat. If the process is killed before the result is recorded, the line is
// written twice; a real chat would get ctx.idempotency_key() to prevent this.
ActivityResult post(ActivityContext& ctx) {
  const Worker& worker = *static_cast<Worker*>(ctx.user());
  std::string line(ctx.instance_id());
  line.append(": ").append(ctx.input()).append("\n");
  const int file = open(worker.chat.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return ctx.fail(strerror(errno));
  const bool written = write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  close(file);
  return written ? ctx.ok("") : ctx.fail("cannot be written");
}

}  // namespace

pawl::Status add_activities(pawl::Registry& registry, Worker& worker) {
  PAWL_TRY(registry.add_cooperative("ask", ask, &worker));
  return registry.add_activity("post", post, pawl::ActivityMode::kInline, &worker);
}

std::size_t scratch_bytes() { return sizeof(Exchange); }

}  // namespace session_broker

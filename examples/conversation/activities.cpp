#include "activities.hpp"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "converse.hpp"

namespace conversation {
namespace {

using example::Agent;
using pawl::ActivityContext;
using pawl::ActivityStep;

// ---- checkpoints: a file for each conversation, replaced in one step ----

// Users choose the ids, so each character that is no plain letter or digit becomes a number.
std::string file_of(const Worker& worker, const ActivityContext& ctx) {
  std::string path = worker.store + "/";
  for (const char c : ctx.instance_id()) {
    if (isalnum(static_cast<unsigned char>(c)) != 0) {
      path += c;
    } else {
      path.append("%").append(std::to_string(static_cast<unsigned char>(c)));
    }
  }
  return path + ".checkpoint";
}

// Reads a checkpoint. Empty: there is none yet.
std::string load(const std::string& path) {
  std::string memory;
  std::ifstream file(path);
  std::getline(file, memory);
  return memory;
}

bool sync_and_close(int fd, bool good) {
  good = good && fsync(fd) == 0;
  return close(fd) == 0 && good;
}

bool store(const std::string& folder, const std::string& path, const std::string& memory) {
  const std::string fresh = path + ".new";
  const int file = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return false;
  const bool written =
      write(file, memory.data(), memory.size()) == static_cast<ssize_t>(memory.size());
  if (!sync_and_close(file, written) || rename(fresh.c_str(), path.c_str()) != 0) return false;
  const int parent = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return parent >= 0 && sync_and_close(parent, true);
}

// ---- one question and its answer, in steps ----

// The state of one activity. While it lives, its lease keeps the agent alive.
struct Exchange {
  Agents::Lease agent;
  bool asked = false;
  std::string answer;
};

enum class Asked { kWaiting, kAnswered, kFailed };

Asked ask(Exchange& exchange, const std::string& question) {
  if (!exchange.asked && !exchange.agent->send(question)) return Asked::kFailed;
  exchange.asked = true;
  switch (exchange.agent->receive(&exchange.answer)) {
    case Agent::Received::kNothing: return Asked::kWaiting;
    case Agent::Received::kLine: return Asked::kAnswered;
    case Agent::Received::kEnd: break;
  }
  return Asked::kFailed;
}

// Ends an agent that is silent or talks nonsense, and its session too: neither is of use any more.
ActivityStep give_up(ActivityContext& ctx, Exchange& exchange, const char* why) {
  exchange.agent.discard();
  ctx.trace(pawl::LogLevel::kWarning, why);
  ctx.abort_session();
  return ctx.fail(why);
}

// The answer without its first word; null: the first word is not `word`.
const char* answer_behind(const Exchange& exchange, const char* word) {
  const std::size_t size = strlen(word);
  const std::string& answer = exchange.answer;
  if (answer.compare(0, size, word) != 0 || answer[size] != ' ') return nullptr;
  return answer.c_str() + size + 1;
}

// Ends the activity with `result`, the struct that its definition names, as JSON.
template <typename T>
ActivityStep hand_over(ActivityContext& ctx, const T& result) {
  char text[128];
  std::size_t size = 0;
  if (pawl::to_json(result, text, sizeof text, &size) != pawl::Status::kOk)
    return ctx.fail_permanently("a result that is no JSON");
  return ctx.ok({text, size});
}

constexpr std::int64_t kLookAgainMs = 60'000;

// ---- the activities ----

ActivityStep hydrate(ActivityContext& ctx, Exchange& exchange) {
  Worker& worker = *static_cast<Worker*>(ctx.user());
  if (ctx.is_cancelled()) return give_up(ctx, exchange, "told to stop");
  if (!exchange.agent) {
    exchange.agent = worker.agents.acquire(ctx);
    if (!exchange.agent) return ctx.fail(pawl::status_name(exchange.agent.status()));
    // start() replaces an agent that is there: a request for a new one gives up the old one.
    if (!exchange.agent->start(worker.agent_command))
      return give_up(ctx, exchange, strerror(errno));
  }
  switch (ask(exchange, "load " + load(file_of(worker, ctx)))) {
    case Asked::kWaiting:
      return ctx.when_readable(exchange.agent->fd(), std::chrono::milliseconds(kLookAgainMs));
    case Asked::kFailed: return give_up(ctx, exchange, "the agent does not start");
    case Asked::kAnswered: break;
  }
  const char* const turns = answer_behind(exchange, "ready");
  if (turns == nullptr) return give_up(ctx, exchange, "the agent does not know its checkpoint");
  const std::string reported =
      "hydrated at turn " + std::string(turns) + ", agent " + std::to_string(exchange.agent->pid());
  ctx.trace(pawl::LogLevel::kInfo, reported);
  return hand_over(ctx, Turns{std::strtol(turns, nullptr, 10)});
}

ActivityStep turn(ActivityContext& ctx, Exchange& exchange) {
  Worker& worker = *static_cast<Worker*>(ctx.user());
  if (ctx.is_cancelled()) return give_up(ctx, exchange, "told to stop");
  if (!exchange.agent) {
    exchange.agent = worker.agents.find(ctx);
    if (!exchange.agent) return ctx.fail("there is no agent");
    ctx.trace(pawl::LogLevel::kInfo, "asks its agent");
  }
  Said said;
  if (pawl::from_json(ctx.input(), &said) != pawl::Status::kOk)
    return ctx.fail_permanently("no turn");
  const std::string question = std::to_string(said.number) + " " + std::string(said.text.view());
  switch (ask(exchange, "say " + question)) {
    case Asked::kWaiting:
      return ctx.when_readable(exchange.agent->fd(), std::chrono::milliseconds(kLookAgainMs));
    case Asked::kFailed: return give_up(ctx, exchange, "the agent has ended");
    case Asked::kAnswered: break;
  }
  const char* const answer = answer_behind(exchange, "answer");
  if (answer == nullptr) return give_up(ctx, exchange, "the agent is at another turn");
  return ctx.ok(std::string(ctx.worker_id()) + "> " + answer);
}

ActivityStep write_down(ActivityContext& ctx, Exchange& exchange, bool ends) {
  Worker& worker = *static_cast<Worker*>(ctx.user());
  if (ctx.is_cancelled()) return give_up(ctx, exchange, "told to stop");
  if (!exchange.agent) exchange.agent = worker.agents.find(ctx);
  if (!exchange.agent) return ctx.fail("there is no agent");
  switch (ask(exchange, "dump")) {
    case Asked::kWaiting:
      return ctx.when_readable(exchange.agent->fd(), std::chrono::milliseconds(kLookAgainMs));
    case Asked::kFailed: return give_up(ctx, exchange, "the agent has ended");
    case Asked::kAnswered: break;
  }
  Turns wanted;
  if (pawl::from_json(ctx.input(), &wanted) != pawl::Status::kOk)
    return ctx.fail_permanently("no number of turns");
  const char* const memory = answer_behind(exchange, "memory");
  if (memory == nullptr || std::strtol(memory, nullptr, 10) != wanted.turns)
    return give_up(ctx, exchange, "the agent is at another turn");
  if (!store(worker.store, file_of(worker, ctx), memory))
    return ctx.fail("the checkpoint cannot be written");
  ctx.trace(pawl::LogLevel::kInfo,
            (ends ? "dehydrated at turn " : "checkpoint of turn ") + std::to_string(wanted.turns));
  if (ends) exchange.agent.discard();
  return ctx.ok("");
}
ActivityStep checkpoint(ActivityContext& ctx, Exchange& exchange) {
  return write_down(ctx, exchange, false);
}
ActivityStep dehydrate(ActivityContext& ctx, Exchange& exchange) {
  return write_down(ctx, exchange, true);
}

}  // namespace

pawl::Status add_activities(pawl::Registry& registry, Worker& worker) {
  PAWL_TRY(registry.add_cooperative(kHydrateName, hydrate, &worker));
  PAWL_TRY(registry.add_cooperative(kTurn.name(), turn, &worker));
  PAWL_TRY(registry.add_cooperative(kCheckpoint.name(), checkpoint, &worker));
  return registry.add_cooperative(kDehydrate.name(), dehydrate, &worker);
}

std::size_t scratch_bytes() { return sizeof(Exchange); }

}  // namespace conversation

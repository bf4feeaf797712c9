#include "random_code.hpp"

#include <iterator>
#include <mutex>
#include <utility>

#include "generator.hpp"

namespace pawl::test {
namespace {

const std::map<std::string, Program>* g_programs = nullptr;
std::mutex g_tokens_lock;  // activities run on threads, too
std::vector<std::string> g_tokens;

constexpr const char* kActivities[] = {"inline", "thread", "steps"};

// The code that users write most: it goes round with what it receives.
constexpr const char* kPumps[] = {
    "wait a name=e await a if name=exec n=5 { end name=can }",
    "deq a name=q timer b n=5 sel a b act c in=$ await c if name=exec n=4 { end name=can }",
    "open b { deq x name=q2 await x act y in=$ await y } wait a name=e sel a b"
    " if name=exec n=3 { end name=can } await b",
    "deq a name=q deq b name=q2 join a b if name=cancelled { shield { act c await c } }"
    " if name=exec n=6 { end name=can }",
    "try a name=q await a child c in=$ await c deq d name=q await d"
    " if name=exec n=4 { end name=can } end name=fail"};

void rename(std::vector<Step>* steps) {
  for (Step& step : *steps) {
    if (step.kind == Step::Kind::kActivity) step.name = kActivities[step.handles[0] % 3];
    if (step.kind == Step::Kind::kChild) step.name = "child";
    rename(&step.body);
    rename(&step.other);
  }
}

// The number is the same for the same attempt, whichever worker runs it.
std::uint64_t chance_of(ActivityContext& ctx) {
  std::uint64_t hash = static_cast<std::uint64_t>(ctx.retry_attempt());
  for (const char byte : ctx.idempotency_key())
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash >> 7U;
}

ActivityResult answer(ActivityContext& ctx) {
  if (ctx.is_cancelled()) return ctx.fail("cancelled");
  const std::uint64_t chance = chance_of(ctx);
  if (chance % 5 == 0) return ctx.fail("as it happens");
  if (chance % 7 == 0) static_cast<void>(ctx.heartbeat("half"));
  if (chance % 11 < 3) {
    const std::lock_guard<std::mutex> lock(g_tokens_lock);
    g_tokens.emplace_back(ctx.completion_token().view());
    return ctx.complete_later(chance % 2 == 0 ? WhileOutside::kFreesSession
                                              : WhileOutside::kHoldsSession);
  }
  return ctx.ok(ctx.input());
}

struct Left {
  int steps = 0;
};

ActivityStep in_steps(ActivityContext& ctx, Left& state) {
  if (ctx.is_cancelled()) return ctx.fail("cancelled");
  if (state.steps++ < static_cast<int>(chance_of(ctx) % 4))
    return ctx.again_after(std::chrono::milliseconds(700));
  return answer(ctx);
}

// Each execution of some instances sends to another one, or to itself. One that fails may be
// restarted, and then sends again.
Poll send_to_another(OrchestrationContext& ctx, const std::string& id) {
  const std::string text = "s" + id + "." + std::to_string(ctx.execution_id());
  const std::string other = std::string(kRoot) + std::to_string((id.back() + 1) % 4);
  SendOptions options;
  options.key = text;
  if (id.back() % 3 == 0) options.start_if_ended = StartIfEnded{kRoot, "sent"};
  const Handle sent = ctx.execution_id() % 2 == 0
                          ? Handle(ctx.enqueue_event(other, "q", text, options))
                          : Handle(ctx.raise_event(other, "e", text, options));
  if (id.back() % 2 == 0) return Poll::done();
  PAWL_AWAIT_DONE(sent);
  return Poll::done();
}

ErrorKind answer_call(OrchestrationContext& ctx, const CallAddress& call,
                      const std::string& token) {
  return token.back() % 3 == 0 ? ctx.refuse(call, "no " + token) : ctx.reply(call, "r" + token);
}

// Each execution of some instances answers a call: one that the execution before left to it, and
// one that comes soon. A third of those is left to the next execution.
Poll answer_calls(OrchestrationContext& ctx) {
  if (const std::optional<std::string_view> left = ctx.get_kv_value("call"); left.has_value()) {
    const std::string text(*left);
    const CallAddress call{std::stoll(text)};
    static_cast<void>(answer_call(ctx, call, text.substr(text.find(' ') + 1)));
    static_cast<void>(ctx.clear_kv_value("call"));
  }
  const Handle asked = ctx.dequeue_event("asked");
  const Handle late = ctx.schedule_timer(std::chrono::seconds(20));
  PAWL_AWAIT(first, ctx.select(asked, late));
  if (!first.ok() || first.index() != 0) return Poll::done();
  PAWL_AWAIT(message, asked);
  const std::optional<CallAddress> call = ctx.call_address(asked);
  if (!message.ok() || !call.has_value()) return Poll::done();
  const std::string token(message.value());
  if (token.back() % 3 == 1)
    static_cast<void>(ctx.set_kv_value("call", std::to_string(call->number) + " " + token));
  else
    static_cast<void>(answer_call(ctx, *call, token));
  return Poll::done();
}

// Some instances have a session of their own, which they never close.
Poll root(OrchestrationContext& ctx) {
  const std::string id(ctx.instance_id());
  const auto found = g_programs->find(id);
  if (found == g_programs->end()) return ctx.fail("no program");
  if (id.back() % 4 != 3) PAWL_CALL(send_to_another(ctx, id));
  if (id.back() % 2 == 1) PAWL_CALL(answer_calls(ctx));
  if (id.back() % 2 == 0) {
    SessionSettings settings;
    settings.exclusive = id.back() % 4 == 0;
    settings.notify = true;
    const Session session = ctx.open_session(settings);
    ActivityOptions options;
    options.target = Target::own(session);
    static_cast<void>(ctx.schedule_activity("inline", "own", options));
  }
  set_program(&found->second, false);
  return run_program(ctx);
}

Poll child(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("inline", ctx.input()));
  if (!done.ok()) return ctx.fail(done.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(2)));
  return ctx.complete(done.value());
}

Poll logger(OrchestrationContext& ctx) { return ctx.complete(ctx.input()); }

}  // namespace

void set_programs(const std::map<std::string, Program>* programs) { g_programs = programs; }

Program make_program(std::uint64_t seed) {
  Random random(seed);
  Program program =
      random.chance(3) ? parse(kPumps[random.below(std::size(kPumps))]) : random_program(random);
  rename(&program.steps);
  // Half of the programs go round, from a random step of the root on.
  if (random.chance(2)) {
    Step again;
    again.kind = Step::Kind::kIf;
    again.name = "exec";
    again.number = 1 + static_cast<int>(random.below(4));
    again.body.emplace_back();
    again.body.back().kind = Step::Kind::kEnd;
    again.body.back().name = "can";
    const std::size_t at = 1 + random.below(program.steps.size());
    program.steps.insert(program.steps.begin() + static_cast<std::ptrdiff_t>(at), again);
  }
  return program;
}

Status fill(Registry& registry) {
  for (const char* version : {"1.0.0", "2.0.0"}) {
    PAWL_TRY(registry.add_orchestration(kRoot, root, version));
    PAWL_TRY(registry.add_orchestration("child", child, version));
    PAWL_TRY(registry.add_orchestration("logger", logger, version));
  }
  PAWL_TRY(registry.add_activity(kActivities[0], answer));
  PAWL_TRY(registry.add_activity(kActivities[1], answer, ActivityMode::kThreaded));
  PAWL_TRY(registry.add_cooperative(kActivities[2], in_steps));
  for (const char* name : kActivities)
    PAWL_TRY(registry.allow_complete_later(name));
  return Status::kOk;
}

std::vector<std::string> take_tokens() {
  const std::lock_guard<std::mutex> lock(g_tokens_lock);
  return std::exchange(g_tokens, {});
}

}  // namespace pawl::test

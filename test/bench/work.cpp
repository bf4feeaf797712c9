#include "work.hpp"

#include <time.h>

#include <cstdio>
#include <string_view>

#include "alloc_count.hpp"
#include "measure.hpp"

namespace bench {

std::vector<double>* step_times = nullptr;

namespace {

constexpr std::size_t kFanoutMax = 4096;
constexpr long kNapNs = 10'000'000;

pawl::ActivityResult greet(pawl::ActivityContext& ctx) {
  const AllocBody body;
  char text[64];
  const std::string_view name = ctx.input();
  const int size =
      std::snprintf(text, sizeof(text), "Hello, %.*s!",
                    static_cast<int>(name.size() < 32 ? name.size() : 32), name.data());
  return ctx.ok({text, static_cast<std::size_t>(size)});
}

pawl::ActivityResult step(pawl::ActivityContext& ctx) {
  const AllocBody body;
  if (step_times != nullptr && step_times->size() < step_times->capacity()) {
    step_times->push_back(now_ms());
  }
  return ctx.ok(ctx.input());
}

pawl::ActivityResult nap(pawl::ActivityContext& ctx) {
  timespec left{0, kNapNs};
  while (::nanosleep(&left, &left) != 0) {
  }
  return ctx.ok({});
}

bool read_count(std::string_view text, std::uint64_t* out) {
  *out = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    *out = *out * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return !text.empty();
}

pawl::Poll hello(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(greeting, ctx.schedule_activity("greet", ctx.input()));
  if (!greeting.ok()) return ctx.fail(greeting.error());
  return ctx.complete(greeting.value());
}

pawl::Poll chain(pawl::OrchestrationContext& ctx) {
  std::uint64_t steps = 0;
  if (!read_count(ctx.input(), &steps)) return ctx.fail("the input is no number");
  for (std::uint64_t i = 0; i < steps; ++i) {
    PAWL_AWAIT(done, ctx.schedule_activity("step", "x"));
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("done");
}

pawl::Poll chain_on(pawl::OrchestrationContext& ctx) {
  const std::string_view input = ctx.input();
  const std::size_t space = input.find(' ');
  std::uint64_t steps = 0;
  if (space == std::string_view::npos || !read_count(input.substr(space + 1), &steps))
    return ctx.fail("the input is no session and number");
  for (std::uint64_t i = 0; i < steps; ++i) {
    PAWL_AWAIT(done,
               ctx.schedule_activity("step", "x", pawl::Target::session(input.substr(0, space))));
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("done");
}

pawl::Poll fanout(pawl::OrchestrationContext& ctx) {
  std::uint64_t steps = 0;
  if (!read_count(ctx.input(), &steps) || steps > kFanoutMax)
    return ctx.fail("the input is no number, or too high a one");
  // Static, because it is too large for the stack of a small machine; only one turn of one runtime
  // uses it at a time.
  static pawl::Handle handles[kFanoutMax];
  for (std::uint64_t i = 0; i < steps; ++i)
    handles[i] = ctx.schedule_activity("step", "x");
  PAWL_AWAIT(all, ctx.join_all(handles, static_cast<std::size_t>(steps)));
  return all.ok() ? ctx.complete("done") : ctx.fail(all.error());
}

pawl::Poll pinned(pawl::OrchestrationContext& ctx) {
  for (std::uint64_t i = 0; i < kPinnedSteps; ++i) {
    PAWL_AWAIT(done, ctx.schedule_activity("step", "x", pawl::Target::session(ctx.input())));
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("done");
}

pawl::Poll plain(pawl::OrchestrationContext& ctx) {
  for (std::uint64_t i = 0; i < kPinnedSteps; ++i) {
    PAWL_AWAIT(done, ctx.schedule_activity("step", "x"));
    if (!done.ok()) return ctx.fail(done.error());
  }
  return ctx.complete("done");
}

pawl::Poll sleeper(pawl::OrchestrationContext& ctx) {
  std::uint64_t ms = 0;
  if (!read_count(ctx.input(), &ms)) return ctx.fail("the input is no number");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(ms)));
  return ctx.complete("awake");
}

pawl::Poll until(pawl::OrchestrationContext& ctx) {
  std::uint64_t target = 0;
  if (!read_count(ctx.input(), &target)) return ctx.fail("the input is no number");
  const std::int64_t delay_ms = static_cast<std::int64_t>(target) - ctx.now_ms();
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(delay_ms)));
  return ctx.complete("awake");
}

pawl::Poll listener(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(received, ctx.schedule_wait("go"));
  return ctx.complete(received.ok() ? received.value() : "");
}

// Begins anew after some answers, as one that lives long does: a turn costs more with each event
// of its history.
pawl::Poll answerer(pawl::OrchestrationContext& ctx) {
  for (int answers = 0; answers < 32; ++answers) {
    const pawl::Handle asked = ctx.dequeue_event("asked");
    PAWL_AWAIT(message, asked);
    if (!message.ok()) return ctx.fail(message.error());
    const std::string answer = "Hello, " + std::string(message.value()) + "!";
    if (ctx.reply(asked, answer) != pawl::ErrorKind::kNone) return ctx.fail("not a call");
  }
  return ctx.continue_as_new("");
}

// The input is "SAMPLES PHASE_MS".
pawl::Poll sensor(pawl::OrchestrationContext& ctx) {
  const std::string_view input = ctx.input();
  const std::size_t space = input.find(' ');
  std::uint64_t samples = 0;
  std::uint64_t phase_ms = 0;
  if (space == std::string_view::npos || !read_count(input.substr(0, space), &samples) ||
      !read_count(input.substr(space + 1), &phase_ms))
    return ctx.fail("the input is no two numbers");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(phase_ms)));
  for (std::uint64_t i = 0; i < samples; ++i) {
    PAWL_AWAIT(sample, ctx.schedule_activity("step", "21.5"));
    if (!sample.ok()) return ctx.fail(sample.error());
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  return ctx.complete("done");
}

pawl::Poll naps(pawl::OrchestrationContext& ctx) {
  const pawl::Handle handles[] = {
      ctx.schedule_activity("nap", ""), ctx.schedule_activity("nap", ""),
      ctx.schedule_activity("nap", ""), ctx.schedule_activity("nap", ""),
      ctx.schedule_activity("nap", "")};
  PAWL_AWAIT(all, ctx.join_all(handles, 5));
  return all.ok() ? ctx.complete("done") : ctx.fail(all.error());
}

}  // namespace

bool add_work(pawl::Registry* registry) {
  const struct {
    const char* name;
    pawl::Orchestration function;
  } orchestrations[] = {{"hello", hello},     {"chain", chain},   {"chain_on", chain_on},
                        {"fanout", fanout},   {"pinned", pinned}, {"plain", plain},
                        {"sleeper", sleeper}, {"until", until},   {"listener", listener},
                        {"sensor", sensor},   {"naps", naps},     {"answerer", answerer}};
  bool added =
      registry->add_activity("greet", greet) == pawl::Status::kOk &&
      registry->add_activity("step", step) == pawl::Status::kOk &&
      registry->add_activity("nap", nap, pawl::ActivityMode::kThreaded) == pawl::Status::kOk;
  for (const auto& one : orchestrations)
    added = added && registry->add_orchestration(one.name, one.function) == pawl::Status::kOk;
  return added;
}

}  // namespace bench

#include "sensor.hpp"

namespace gateway {
namespace {

// Rounds of one execution: a history of some forty events.
constexpr int kRoundsAnExecution = 10;
// After so many failures in a row a sensor is read kSlowDown times less often.
constexpr std::int64_t kFailuresTolerated = 5;
constexpr std::int64_t kSlowDown = 10;

// A level below nine tenths of the limit ends an alarm: the next excess is a new one.
bool is_calm(const SensorState& state) { return state.level < state.limit - state.limit / 10; }

pawl::Poll raise_alarm(pawl::OrchestrationContext& ctx, SensorState& state) {
  if (state.alarmed) {
    state.alarmed = !is_calm(state);
    return pawl::Poll::done();
  }
  if (state.level <= state.limit) return pawl::Poll::done();
  PAWL_AWAIT(raised, ctx.schedule_activity(kAlarm, {state.level, state.limit},
                                           pawl::Target::session(ctx.instance_id())));
  state.alarmed = raised.ok();  // false: not recorded, the next round tries again
  return pawl::Poll::done();
}

// Moves the level half of the way to each new median. Code between two awaits runs again at every
// turn, so this is cheap and pure; it costs no commit.
void filter(SensorState& state, std::int64_t median) {
  state.level = state.samples == 1 ? median : state.level + (median - state.level) / 2;
}

pawl::Poll sample_once(pawl::OrchestrationContext& ctx, SensorState& state, bool* cancelled) {
  PAWL_AWAIT(sample,
             ctx.schedule_activity(kSample, {state.samples + 1, state.level, state.counters},
                                   pawl::Target::session(ctx.instance_id())));
  *cancelled = sample.cancelled();
  if (*cancelled) return pawl::Poll::done();
  if (!sample.ok()) {
    ++state.failures;
    ctx.trace(pawl::LogLevel::kWarning, sample.error().text);
    return pawl::Poll::done();
  }
  state.failures = 0;
  ++state.samples;
  state.counters = sample.value().counters;
  filter(state, sample.value().median);
  return raise_alarm(ctx, state);
}

}  // namespace

pawl::PollOf<SensorState, SensorState> watch_sensor(pawl::OrchestrationContext& ctx,
                                                    const SensorState& input) {
  SensorState state = input;
  for (int round = 0; round < kRoundsAnExecution; ++round) {
    bool cancelled = false;
    PAWL_CALL(sample_once(ctx, state, &cancelled));
    if (cancelled) return ctx.complete(state);

    const bool slow = state.failures >= kFailuresTolerated;
    const std::chrono::milliseconds pause(state.period_ms * (slow ? kSlowDown : 1));
    PAWL_AWAIT(slept, ctx.schedule_timer(pause));
    if (slept.cancelled()) return ctx.complete(state);
  }
  return ctx.continue_as_new(state);
}

}  // namespace gateway

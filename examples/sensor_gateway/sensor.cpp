#include "sensor.hpp"

#include "fields.hpp"

namespace gateway {
namespace {

// A history of some forty events, then a new one.
constexpr int kRoundsAnExecution = 10;
// A sensor that fails again and again is asked less often.
constexpr std::int64_t kFailuresTolerated = 5;
constexpr std::int64_t kSlowDown = 10;

// Below nine tenths of the limit the next excess is a new alarm.
bool is_calm(const SensorState& state) { return state.level < state.limit - state.limit / 10; }

pawl::Poll raise_alarm(pawl::OrchestrationContext& ctx, SensorState& state) {
  if (state.alarmed != 0) {
    if (is_calm(state)) state.alarmed = 0;
    return pawl::Poll::done();
  }
  if (state.level <= state.limit) return pawl::Poll::done();
  const Fields input = Fields().add("level", state.level).add("limit", state.limit);
  PAWL_AWAIT(raised, ctx.schedule_activity("alarm", input.text(),
                                           pawl::Target::session(ctx.instance_id())));
  // Not recorded: the next round tries again.
  if (raised.ok()) state.alarmed = 1;
  return pawl::Poll::done();
}

// The level goes half of the way to each new median. What stands between two awaits is run again at
// every turn: it is cheap and pure, and costs no commit.
void filter(SensorState& state, std::int64_t median) {
  state.level = state.samples == 1 ? median : state.level + (median - state.level) / 2;
}

pawl::Poll sample_once(pawl::OrchestrationContext& ctx, SensorState& state, bool* cancelled) {
  const Fields request = Fields()
                             .add("sample", state.samples + 1)
                             .add("level", state.level)
                             .add("a", state.counters.first)
                             .add("b", state.counters.second);
  PAWL_AWAIT(sample, ctx.schedule_activity("sample", request.text(),
                                           pawl::Target::session(ctx.instance_id())));
  *cancelled = sample.cancelled();
  if (*cancelled) return pawl::Poll::done();
  std::int64_t median = 0;
  if (!sample.ok() || !read_field(sample.value(), "median", &median)) {
    ++state.failures;
    ctx.trace(pawl::LogLevel::kWarning, sample.ok() ? "not a sample" : sample.error().text);
    return pawl::Poll::done();
  }
  state.failures = 0;
  ++state.samples;
  static_cast<void>(read_field(sample.value(), "a", &state.counters.first));
  static_cast<void>(read_field(sample.value(), "b", &state.counters.second));
  filter(state, median);
  return raise_alarm(ctx, state);
}

}  // namespace

std::string SensorState::text() const {
  Fields fields;
  fields.add("period_ms", period_ms);
  if (limit != kNoLimit) fields.add("limit", limit);
  return fields.add("samples", samples)
      .add("failures", failures)
      .add("level", level)
      .add("alarmed", alarmed)
      .add("a", counters.first)
      .add("b", counters.second)
      .text();
}

bool SensorState::read(std::string_view text) {
  static_cast<void>(read_field(text, "limit", &limit));
  return read_field(text, "period_ms", &period_ms) && read_field(text, "samples", &samples) &&
         read_field(text, "failures", &failures) && read_field(text, "level", &level) &&
         read_field(text, "alarmed", &alarmed) && read_field(text, "a", &counters.first) &&
         read_field(text, "b", &counters.second);
}

pawl::Poll watch_sensor(pawl::OrchestrationContext& ctx) {
  SensorState state;
  if (!state.read(ctx.input())) return ctx.fail("the input is not the state of a sensor");
  for (int round = 0; round < kRoundsAnExecution; ++round) {
    bool cancelled = false;
    PAWL_CALL(sample_once(ctx, state, &cancelled));
    if (cancelled) return ctx.complete(state.text());

    const bool slow = state.failures >= kFailuresTolerated;
    const std::chrono::milliseconds pause(state.period_ms * (slow ? kSlowDown : 1));
    PAWL_AWAIT(slept, ctx.schedule_timer(pause));
    if (slept.cancelled()) return ctx.complete(state.text());
  }
  return ctx.continue_as_new(state.text());
}

}  // namespace gateway

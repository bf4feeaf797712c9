#include "tend.hpp"

#include <vector>

namespace greenhouse {
namespace {

using pawl::OrchestrationContext;
using pawl::Poll;

// A measurement waits at most 10 s for its sensor. A bed without one is measured again later.
pawl::Target soil_of(std::int32_t bed) {
  return pawl::Target::device(soil_device(bed), std::chrono::seconds(10));
}
// The pump has no limit: an activity that needs it waits until its process is back.
pawl::Target pump() { return pawl::Target::device(kPumpDevice); }

// Sets the text that `greenhouse-ctl watch` shows of a bed. Each call is recorded in the history,
// so it is made only for a change.
void show(OrchestrationContext& ctx, const Tending& bed) {
  const std::string text = "moisture " + std::to_string(bed.moisture) + " of " +
                           std::to_string(bed.target) + ", " + std::to_string(bed.waterings) +
                           " waterings, " + std::to_string(bed.watered_ms) + " ms";
  if (ctx.set_custom_status(text) != pawl::ErrorKind::kNone)
    ctx.trace(pawl::LogLevel::kWarning, "the status is not shown");
}

// Waters the bed in a child, so that the bed's history holds its waterings and not each run of the
// pump. If the bed is cancelled meanwhile, it cancels the child, and waits until the pump is off.
Poll water_bed(OrchestrationContext& ctx, Tending& bed, std::int64_t ms, Watering* done) {
  const auto child = ctx.schedule_sub_orchestration(kWater, {bed.bed, ms});
  PAWL_AWAIT(watered, child);
  if (watered.cancelled()) {
    const pawl::CleanUpScope scope = ctx.clean_up();
    ctx.cancel(child);
    PAWL_AWAIT_DONE(ctx.schedule_activity(kPumpOff, {}, pump()));
  }
  *done = watered.value();
  if (watered.ok()) ++bed.waterings;
  bed.watered_ms += done->ms;
  return Poll::done();
}

Poll do_job(OrchestrationContext& ctx, Tending& bed, const Job& job) {
  Watering done;
  PAWL_CALL(water_bed(ctx, bed, job.ms, &done));
  if (ctx.cancel_requested()) return Poll::done();
  constexpr std::int64_t kAnswersKeptMs = 600'000;
  ctx.prune_kv_values_updated_before(ctx.now_ms() - kAnswersKeptMs);
  if (ctx.set_kv_value_typed(job.id.view(), done) != pawl::ErrorKind::kNone)
    ctx.trace(pawl::LogLevel::kWarning, "the answer to a job is not kept");
  return Poll::done();
}

using Amount = std::int64_t (*)(std::int32_t lacking);

Poll look_after(OrchestrationContext& ctx, Tending& bed, Amount amount_ms) {
  PAWL_AWAIT(read, ctx.schedule_activity(kMeasure, {bed.bed}, soil_of(bed.bed)));
  if (!read.ok()) return Poll::done();  // the next round tries again
  if (read.value().moisture != bed.moisture) {
    bed.moisture = read.value().moisture;
    show(ctx, bed);
  }
  const std::int32_t lacking = bed.target - bed.moisture;
  Watering done;
  if (lacking > 0) PAWL_CALL(water_bed(ctx, bed, amount_ms(lacking), &done));
  return Poll::done();
}

// Events of a history before a new one begins. Even the smallest device has room for more.
constexpr std::uint32_t kEventsAnExecution = 100;

// Tends a bed for ever: waits for the first of event, job and pause, acts on it, and waits again.
pawl::PollOf<Tending, Tending> tend(OrchestrationContext& ctx, const Tending& input,
                                    Amount amount) {
  Tending bed = input;
  while (ctx.history_length() < kEventsAnExecution) {
    const auto target = ctx.schedule_wait(kTarget);
    const auto job = ctx.dequeue_event(kJobs);
    const auto pause = ctx.schedule_timer(std::chrono::milliseconds(bed.pause_ms));
    PAWL_AWAIT(first, ctx.select(target, job, pause));
    if (first.cancelled()) return ctx.complete(bed);
    if (first.index() == 0) {
      PAWL_AWAIT(wanted, target);
      if (wanted.ok()) bed.target = wanted.value().moisture;
      show(ctx, bed);
    } else if (first.index() == 1) {
      PAWL_AWAIT(wanted, job);
      if (wanted.ok()) PAWL_CALL(do_job(ctx, bed, wanted.value()));
    } else {
      PAWL_CALL(look_after(ctx, bed, amount));
    }
  }
  return ctx.continue_as_new(bed, ctx.orchestration_version());
}

}  // namespace

pawl::PollOf<Tending, Tending> tend_1(OrchestrationContext& ctx, const Tending& input) {
  return tend(ctx, input, [](std::int32_t) -> std::int64_t { return 100; });
}

// The pump adds about 100 thousandths of moisture a second.
pawl::PollOf<Tending, Tending> tend_2(OrchestrationContext& ctx, const Tending& input) {
  return tend(ctx, input, [](std::int32_t lacking) -> std::int64_t { return 10 * lacking; });
}

pawl::PollOf<Watering, Watering> water(OrchestrationContext& ctx, const Watering& wanted) {
  const auto run = ctx.schedule_activity(kPump, wanted, pump());
  PAWL_AWAIT(ran, run);
  if (ran.ok()) return ctx.complete(ran.value());
  // The run failed, or was cancelled and may still go on. The pump is a device and does one thing
  // at a time, so kPumpOff comes after the run that is cancelled here.
  const pawl::CleanUpScope scope = ctx.clean_up();
  ctx.cancel(run);
  PAWL_AWAIT(off, ctx.schedule_activity(kPumpOff, {}, pump()));
  return ctx.fail(off.ok() ? ran.error() : off.error());
}

pawl::PollOf<Survey, Readings> survey(OrchestrationContext& ctx, const Survey& wanted) {
  std::vector<pawl::TypedHandle<Reading>> readings;
  for (const std::int32_t bed : wanted.beds)
    readings.push_back(ctx.schedule_activity(kMeasure, {bed}, soil_of(bed)));
  const pawl::Handle all = ctx.join(readings);
  const pawl::Handle limit = ctx.schedule_timer(std::chrono::seconds(20));
  PAWL_AWAIT(first, ctx.select(all, limit));
  if (first.index() != 0) return ctx.fail("not all beds answer");
  Readings found;
  for (const auto& one : readings) {
    PAWL_AWAIT(reading, one);
    if (!reading.ok()) return ctx.fail(reading.error());
    if (found.all.push_back(reading.value()) != pawl::Status::kOk) return ctx.fail("too many beds");
  }
  return ctx.complete(found);
}

}  // namespace greenhouse

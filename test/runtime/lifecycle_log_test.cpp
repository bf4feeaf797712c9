// Goal: the log reports each start and each end of an orchestration or activity once, with what an
// operator needs to find it. A level that the sink does not take costs nothing, and a storm of
// starts and ends is cut, counted and reported.
#include <gtest/gtest.h>

#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::Lines;
using testing::Story;
using testing::Worker;

sim::Machine* g_machine = nullptr;

ActivityResult takes(ActivityContext& ctx) {
  g_machine->advance(std::stoll(std::string(ctx.input())));
  return ctx.ok("");
}
ActivityResult fails(ActivityContext& ctx) { return ctx.fail("no"); }

Poll round(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("takes", "7", Target::session("bench")));
  if (ctx.input() == "again") return ctx.continue_as_new("last");
  return ctx.complete("");
}
Poll breaks(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry.max_attempts = 2;
  options.retry.backoff = Backoff::kNone;
  PAWL_AWAIT(failed, ctx.schedule_activity("fails", "", options));
  return ctx.fail(failed.error());
}
Poll at_once(OrchestrationContext& ctx) { return ctx.complete(""); }
Poll waits(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_wait("never"));
  return ctx.complete("");
}

// Takes lines from this level on, and counts those below it.
class From final : public LogSink {
 public:
  explicit From(LogLevel least) : least_(least) {}
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override {
    if (level < least_) ++below;
    lines.write(level, event, fields, count);
  }
  [[nodiscard]] bool takes(LogLevel level) const noexcept override { return level >= least_; }
  Lines lines;
  int below = 0;

 private:
  LogLevel least_;
};

class LifecycleLog : public Story {
 protected:
  LifecycleLog() {
    g_machine = &machine;
    add("round", round, "1.2.0");
    add("breaks", breaks);
    add("at_once", at_once);
    add("waits", waits);
    add("takes", takes);
    add("fails", fails);
  }
};

TEST_F(LifecycleLog, AnOrchestrationHasOneLineAStartAndOneAnEnd) {
  Worker& worker = start_worker();
  start("a", "round", "again");
  EXPECT_EQ(end_of("a"), "completed ");
  const std::string of = " instance=a orchestration=round version=1.2.0 execution=";
  EXPECT_EQ(worker.lines.count("info orchestration_started" + of + "1"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("info orchestration_started" + of + "2"), 1U);
  EXPECT_EQ(
      worker.lines.count("info orchestration_continued_as_new" + of + "1 events=4 duration_ms=7"),
      1U)
      << worker.lines.all();
  EXPECT_EQ(worker.lines.count("info orchestration_completed" + of + "2 events=4 duration_ms=7"),
            1U)
      << worker.lines.all();
  EXPECT_EQ(worker.lines.count(" orchestration_"), 4U) << worker.lines.all();
}

TEST_F(LifecycleLog, AFailureHasOneLineToo) {
  Worker& worker = start_worker();
  start("a", "breaks");
  EXPECT_EQ(end_of("a"), "failed application no");
  EXPECT_EQ(worker.lines.count("warning orchestration_failed instance=a kind=application text=no "
                               "orchestration=breaks version=1.0.0 execution=1 events=4 "),
            1U)
      << worker.lines.all();
  EXPECT_EQ(worker.lines.count(" orchestration_"), 2U) << worker.lines.all();
  // The end does not read the history, so the duration is not known.
  start("b", "waits");
  pass(10);
  ASSERT_EQ(client()->terminate_instance("b", "enough"), Status::kOk);
  EXPECT_EQ(end_of("b"), "failed terminated enough");
  EXPECT_NE(worker.lines.all().find("orchestration_failed instance=b kind=terminated text=enough "
                                    "orchestration=waits version=1.0.0 execution=1 events=3\n"),
            std::string::npos)
      << worker.lines.all();
}

TEST_F(LifecycleLog, AnActivityHasOneLineAnAttemptAndOneItsEnd) {
  Worker& worker = start_worker();
  start("a", "round");
  EXPECT_EQ(end_of("a"), "completed ");
  const std::string of = " instance=a activity=takes event=2 attempt=1 session=bench";
  EXPECT_EQ(worker.lines.count("debug activity_started" + of), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("debug activity_ended" + of + " outcome=completed duration_ms=7"),
            1U)
      << worker.lines.all();
  start("b", "breaks");
  EXPECT_EQ(end_of("b"), "failed application no");
  const std::string second = " instance=b activity=fails event=2 attempt=";
  EXPECT_EQ(worker.lines.count("activity_started" + second), 2U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("activity_ended" + second + "1 outcome=retried kind=application"),
            1U)
      << worker.lines.all();
  EXPECT_EQ(worker.lines.count("activity_ended" + second + "2 outcome=failed kind=application"), 1U)
      << worker.lines.all();
}

TEST_F(LifecycleLog, ALevelThatIsNotTakenIsNotWritten) {
  From warnings(LogLevel::kWarning);
  options.log = &warnings;
  start_worker();
  start("a", "breaks");
  EXPECT_EQ(end_of("a"), "failed application no");
  EXPECT_EQ(warnings.lines.count("orchestration_failed"), 1U);
  EXPECT_EQ(warnings.lines.count("orchestration_started"), 0U);
  EXPECT_EQ(warnings.lines.count("activity_"), 0U);
  From infos(LogLevel::kInfo);
  options.log = &infos;
  restart();
  start("b", "breaks");
  EXPECT_EQ(end_of("b"), "failed application no");
  EXPECT_EQ(infos.lines.count("orchestration_started"), 1U);
  EXPECT_EQ(infos.lines.count("activity_"), 0U);
  EXPECT_EQ(infos.below, 0);
}

TEST_F(LifecycleLog, AStormIsCutCountedAndReported) {
  constexpr std::uint64_t kMany = 130;
  Worker& worker = start_worker();
  for (std::uint64_t i = 0; i < kMany; ++i)
    start("a" + std::to_string(i), "at_once");
  pass(10);
  const std::size_t lines =
      worker.lines.count("orchestration_started") + worker.lines.count("orchestration_completed");
  EXPECT_EQ(lines, 100U);
  EXPECT_EQ(worker.runtime->stats().log_lines_left_out, 2 * kMany - 100);
  pass(2'000);
  start("late", "at_once");
  EXPECT_EQ(end_of("late"), "completed ");
  EXPECT_EQ(worker.lines.count("info log_lines_left_out count=160"), 1U) << worker.lines.all();
  EXPECT_EQ(worker.lines.count("instance=late"), 2U);
  EXPECT_EQ(worker.runtime->stats().log_lines_left_out, 2 * kMany - 100);
}

}  // namespace
}  // namespace pawl

// Goal: the trace id of a start reaches the code, the activities, the children and each log line of
// the instance, over restarts of the worker; nothing else has one.
#include <gtest/gtest.h>

#include <string>

#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

constexpr char kTrace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

ActivityResult says(ActivityContext& ctx) {
  ctx.trace(LogLevel::kInfo, "working");
  return ctx.ok(ctx.trace_id());
}
Poll leaf(OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("says", ""));
  return ctx.complete(std::string(ctx.trace_id()) + "|" + std::string(said.value()));
}
// Its last execution returns all trace ids that a child and an activity saw.
Poll tree(OrchestrationContext& ctx) {
  if (ctx.input() == "again") {
    EXPECT_EQ(ctx.start_orchestration("leaf", InstanceId("detached"), ""), ErrorKind::kNone);
    ctx.trace(LogLevel::kInfo, "going");
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    return ctx.continue_as_new("last");
  }
  PAWL_AWAIT(child, ctx.schedule_sub_orchestration("leaf", ""));
  PAWL_AWAIT(said, ctx.schedule_activity("says", "", Target::session("s")));
  return ctx.complete(std::string(child.value()) + "|" + std::string(said.value()));
}

class TraceIdTest : public Story {
 protected:
  TraceIdTest() {
    add("leaf", leaf);
    add("tree", tree);
    add("says", says);
  }
  Status start_traced(std::string_view id, std::string_view name, const std::string& trace,
                      std::string_view input = "") {
    StartOptions how;
    how.trace_id = trace;
    return client()->start_orchestration(name, InstanceId(id), input, how);
  }
  std::string shown_trace(std::string_view id) {
    InstanceInfo info;
    EXPECT_EQ(client()->get_instance_info(id, &info), Status::kOk) << id;
    return std::string(info.trace_id.view());
  }
};

TEST_F(TraceIdTest, ReachesCodeActivitiesChildrenAndLaterExecutions) {
  start_worker();
  ASSERT_EQ(start_traced("a", "tree", kTrace, "again"), Status::kOk);
  EXPECT_FALSE(drive_until([&] { return !is_running("a"); }, 1'000));
  raise_event("a", "go");
  const std::string trace = kTrace;
  EXPECT_EQ(end_of("a"), "completed " + trace + "|" + trace + "|" + trace);
  EXPECT_EQ(end_of("detached"), "completed " + trace + "|" + trace);
  EXPECT_EQ(shown_trace("a"), trace);
  EXPECT_EQ(shown_trace("detached"), trace);
  EXPECT_EQ(shown_trace("a::2.2"), trace);
}

TEST_F(TraceIdTest, GoesOnInTheNextProcess) {
  ASSERT_EQ(start_traced("a", "tree", kTrace), Status::kOk);
  const std::string trace = kTrace;
  EXPECT_EQ(end_with_kills("a"), "completed " + trace + "|" + trace + "|" + trace);
}

TEST_F(TraceIdTest, EachLineOfItsInstancesHasIt) {
  Worker& worker = start_worker();
  ASSERT_EQ(start_traced("a", "tree", kTrace), Status::kOk);
  start("b", "tree");
  static_cast<void>(end_of("a"));
  static_cast<void>(end_of("b"));
  const std::string trace = std::string(" trace=") + kTrace;
  for (const char* event :
       {"orchestration_started instance=a ", "orchestration_completed instance=a ",
        "orchestration_started instance=a::1.2 ", "activity_trace instance=a "}) {
    EXPECT_EQ(worker.lines.count(event), 1U) << worker.lines.all();
    const std::string all = worker.lines.all();
    const std::size_t at = all.find(event);
    const std::string line = all.substr(at, all.find('\n', at) - at);
    EXPECT_NE(line.find(trace), std::string::npos) << line;
  }
  const std::string all = worker.lines.all();
  for (std::size_t at = all.find("instance=b"); at != std::string::npos;
       at = all.find("instance=b", at + 1))
    EXPECT_EQ(all.substr(at, all.find('\n', at) - at).find("trace="), std::string::npos);
}

// The runtime's own call starts the instance; the first turn may be in the commit that stores the
// start.
TEST_F(TraceIdTest, OfAStartByTheRuntimesOwnCall) {
  Worker& worker = start_worker();
  StartOptions how;
  how.trace_id = kTrace;
  ASSERT_EQ(worker.runtime->start_orchestration("leaf", InstanceId("a"), "", how), Status::kOk);
  ASSERT_TRUE(
      drive_until([&] { return client().status("a").state == OrchestrationState::kCompleted; }));
  EXPECT_EQ(outcome_of("a"), std::string("completed ") + kTrace + "|" + kTrace);
  how.trace_id = std::string(65, 'x');
  EXPECT_EQ(worker.runtime->start_orchestration("leaf", InstanceId("b"), "", how),
            Status::kInvalidArgument);
}

TEST_F(TraceIdTest, OneThatCannotBeStandsInNoLog) {
  EXPECT_EQ(start_traced("a", "leaf", std::string(64, 'x')), Status::kOk);
  for (const std::string& bad : {std::string(65, 'x'), std::string("a\nb"), std::string("\xff")}) {
    EXPECT_EQ(start_traced("b", "leaf", bad), Status::kInvalidArgument) << bad;
    EXPECT_NE(client()->error_text().find("trace_id"), std::string_view::npos);
  }
  OrchestrationStatus none;
  EXPECT_EQ(client()->get_status("b", &none), Status::kNotFound);
}

}  // namespace
}  // namespace pawl

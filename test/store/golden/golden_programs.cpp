#include "golden_programs.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "pawl/maintenance.hpp"
#include "world.hpp"

namespace pawl::golden {
namespace {

using testing::Gateway;
using testing::kPath;
using testing::Worker;

constexpr std::int64_t kMadeAtMs = 1'800'000'000'000;
constexpr std::int64_t kHourMs = 3'600'000;

int g_runs = 0;  // runs of the activity, on the current machine

// Returns the session and the run, so that the history distinguishes the two runs.
ActivityResult measure(ActivityContext& ctx) {
  ++g_runs;
  const std::string text =
      std::string(ctx.input()) + "@" + std::string(ctx.session_id()) + "#" + std::to_string(g_runs);
  return ctx.ok(text);
}

// The output holds what only the first machine knew: a random id and the time.
Poll waits_an_hour(OrchestrationContext& ctx) {
  const Guid id = ctx.new_guid();
  const std::int64_t begun = ctx.utc_now_ms();
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  const std::int64_t took = ctx.utc_now_ms() - begun;
  return ctx.complete(std::string(id.view()) + " " + std::to_string(begun) + " " +
                      (took >= kHourMs ? "late enough" : "too early"));
}

// The second activity is scheduled while no worker knows it, and waits on the session.
Poll measures_twice(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("measure", "first", Target::session(ctx.input())));
  if (!first.ok()) return ctx.fail(first.error());
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(10)));
  PAWL_AWAIT(second, ctx.schedule_activity("measure", "second", Target::session(ctx.input())));
  if (!second.ok()) return ctx.fail(second.error());
  return ctx.complete(std::string(first.value()) + " " + std::string(second.value()));
}

Poll ends_at_once(OrchestrationContext& ctx) {
  return ctx.complete("echo " + std::string(ctx.input()));
}

// Has three executions; the third one waits. The input shows how many came before it.
Poll goes_on_as_new(OrchestrationContext& ctx) {
  if (ctx.execution_id() < 3) return ctx.continue_as_new(std::string(ctx.input()) + "+");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete(ctx.input());
}

void add_programs(Gateway& gateway) {
  gateway.add("waits_an_hour", waits_an_hour);
  gateway.add("measures_twice", measures_twice);
  gateway.add("ends_at_once", ends_at_once);
  gateway.add("goes_on_as_new", goes_on_as_new);
}

void expect_running(Gateway& gateway, std::initializer_list<const char*> ids) {
  for (const char* id : ids)
    EXPECT_TRUE(gateway.is_running(id)) << id;
}

// The second activity is in the database after the ten seconds, since its turn wrote it.
void run_until_all_wait(Gateway& gateway) {
  add_programs(gateway);
  gateway.start("timer", "waits_an_hour", "{}");
  gateway.start("session", "measures_twice", "sensor-7");
  gateway.start("completed", "ends_at_once", "first");
  gateway.start("anew", "goes_on_as_new", "round");
  const Registry unknowing = gateway.registry;
  gateway.add("measure", measure);
  Worker& first = gateway.start_worker("first");
  EXPECT_TRUE(gateway.drive_until([&] {
    return g_runs == 1 && gateway.client().status("anew").execution_id == 3 &&
           gateway.client().status("completed").state == OrchestrationState::kCompleted;
  })) << first.lines.all();
  gateway.workers.clear();
  gateway.start_worker(unknowing, gateway.named("second"));
  gateway.pass(15'000);
  expect_running(gateway, {"timer", "session", "anew"});
  gateway.workers.clear();
  gateway.forget_client();
}

std::string file_bytes(const port::Port& port, const std::string& path) {
  const Result<port::FileHandle> file = port.storage->open(path.c_str(), {});
  if (!file.ok()) return "";
  const Result<std::int64_t> size = port.storage->size(file.value());
  std::string bytes(static_cast<std::size_t>(size.value_or(0)), '\0');
  EXPECT_EQ(port.storage->read(file.value(), bytes.data(), bytes.size(), 0).value_or(0),
            bytes.size());
  EXPECT_EQ(port.storage->close(file.value()), Status::kOk);
  return bytes;
}

void put_file(sim::Machine& machine, const std::string& bytes) {
  sim::Node node(machine);
  const port::Port port = node.port();
  port::Storage::OpenMode mode;
  mode.create = true;
  const Result<port::FileHandle> file = port.storage->open(kPath, mode);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(port.storage->write(file.value(), bytes.data(), bytes.size(), 0), Status::kOk);
  EXPECT_EQ(port.storage->close(file.value()), Status::kOk);
}

// Files of a simulated machine need no names to be changed.
class NoFiles final : public UpgradeVisitor {
 public:
  Status on_older(std::int64_t /*format*/, Diagnostic& /*why*/) noexcept override {
    return Status::kOk;
  }
  Status on_locked(std::int64_t bytes, Diagnostic& /*why*/) noexcept override {
    bytes_max = bytes;
    return Status::kOk;
  }
  bool on_rows(std::int64_t /*rows*/) noexcept override { return true; }
  Status on_made(Diagnostic& /*why*/) noexcept override {
    is_made = true;
    return Status::kOk;
  }
  std::int64_t bytes_max = 0;
  bool is_made = false;
};

// The same as waits_an_hour() up to its timer. Then what a cancel request did under behaviour 1: an
// activity could be awaited without a clean-up scope, and the request was not handed on.
Poll undoes_as_before(OrchestrationContext& ctx) {
  if (ctx.execution_id() > 1) {
    const char* const asked = ctx.cancel_requested() ? "asked" : "not asked";
    PAWL_AWAIT(measured, ctx.schedule_activity("measure", asked));
    return ctx.complete(std::string(ctx.input()) + " " + std::string(measured.value()));
  }
  static_cast<void>(ctx.new_guid());
  static_cast<void>(ctx.utc_now_ms());
  PAWL_AWAIT(slept, ctx.schedule_timer(std::chrono::hours(1)));
  PAWL_AWAIT(undone, ctx.schedule_activity("measure", "undo"));
  return ctx.continue_as_new(std::string(error_kind_name(slept.error().kind)) + " " +
                             std::string(undone.value()));
}

}  // namespace

void cancel_one_begun_before(const std::string& bytes) {
  Gateway gateway(3);
  gateway.machine.set_wall(kMadeAtMs + kHourMs / 2);
  put_file(gateway.machine, bytes);
  gateway.add("waits_an_hour", undoes_as_before);
  gateway.add("measure", measure);
  gateway.cancel_instance("timer", "frost");
  const Worker& worker = gateway.start_worker("third");
  ASSERT_TRUE(gateway.ends("timer")) << worker.lines.all();
  const OrchestrationStatus status = gateway.client().status("timer");
  EXPECT_EQ(status.state, OrchestrationState::kCompleted) << status.output;
  EXPECT_EQ(status.execution_id, 2);
  EXPECT_EQ(status.output.substr(0, 15), "cancelled undo@") << status.output;
  EXPECT_NE(status.output.find(" not asked@"), std::string_view::npos) << status.output;
}

std::string converted(const std::string& bytes) {
  sim::Machine machine;
  put_file(machine, bytes);
  sim::Node node(machine);
  const std::string made = std::string(kPath) + "-new";
  testing::Block memory(maintenance_memory());
  NoFiles visitor;
  Diagnostic why;
  EXPECT_EQ(upgrade_database(testing::shared_process(), kPath, made, node.port(), memory.data(),
                             memory.bytes(), visitor, why),
            Status::kOk)
      << why.text();
  EXPECT_TRUE(visitor.is_made) << "it has an earlier form";
  EXPECT_EQ(file_bytes(node.port(), kPath), bytes) << "the old file stays as it is";
  std::string out = file_bytes(node.port(), made);
  EXPECT_LE(out.size(), static_cast<std::size_t>(visitor.bytes_max));
  return out;
}

std::string generate() {
  g_runs = 0;
  Gateway gateway(1);
  gateway.machine.set_wall(kMadeAtMs);
  run_until_all_wait(gateway);
  sim::Node node(gateway.machine);
  // The last connection closed in order, so there is no log: the file holds everything.
  EXPECT_FALSE(node.port().storage->exists((std::string(kPath) + "-wal").c_str()).value_or(true));
  return ::testing::Test::HasFailure() ? std::string() : file_bytes(node.port(), kPath);
}

void finish(const std::string& bytes) {
  g_runs = 1;  // the count when the first machine stopped
  Gateway gateway(2);
  gateway.machine.set_wall(kMadeAtMs + kHourMs / 2);
  put_file(gateway.machine, bytes);
  add_programs(gateway);
  gateway.add("measure", measure);
  EXPECT_EQ(gateway.outcome_of("completed"), "completed echo first");
  expect_running(gateway, {"timer", "session", "anew"});
  EXPECT_EQ(gateway.client().status("anew").execution_id, 3);

  const Worker& worker = gateway.start_worker("third");
  EXPECT_EQ(gateway.end_of("session"), "completed first@sensor-7#1 second@sensor-7#2")
      << worker.lines.all();
  EXPECT_TRUE(gateway.is_running("timer")) << "half an hour is left";
  ASSERT_TRUE(gateway.ends("timer", 2 * kHourMs)) << worker.lines.all();
  EXPECT_EQ(gateway.end_of("anew", 2 * kHourMs), "completed round++") << worker.lines.all();
  const std::string timer = gateway.outcome_of("timer");
  EXPECT_GE(gateway.machine.wall_ms(), kMadeAtMs + kHourMs);
  EXPECT_EQ(timer.rfind("completed ", 0), 0U) << timer;
  EXPECT_NE(timer.find(" " + std::to_string(kMadeAtMs) + " late enough"), std::string::npos)
      << timer;
  EXPECT_EQ(worker.lines.count("nondeterminism"), 0U) << worker.lines.all();
}

}  // namespace pawl::golden

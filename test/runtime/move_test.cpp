// Goal: a database that is moved goes on in its new place, and in no other. Method: a machine with
// work of every kind in flight dies; then move_database() carries it to another file. Where the
// worlds have a server, that is the place it comes from.
#include <chrono>
#include <string>
#include <utility>

#include "pawl/maintenance.hpp"
#include "pawl/visit.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using std::chrono::milliseconds;
using testing::expect_ok;
using testing::Worker;

constexpr char kNew[] = "/data/new.db";
constexpr char kThird[] = "/data/third.db";
constexpr std::int64_t kDayMs = 86'400'000;

int g_runs = 0;

// Says its input and its epoch; the first run of "long" works until its process dies.
ActivityStep works(ActivityContext& ctx, bool& /*state*/) {
  if (ctx.input() != "long") return ctx.ok(std::to_string(ctx.session_epoch()));
  if (++g_runs == 1) return ctx.again_after(std::chrono::hours(1));
  return ctx.ok("attempt " + std::to_string(ctx.attempt()));
}

Poll talks(OrchestrationContext& ctx) {
  EXPECT_EQ(ctx.set_kv_value("k", ctx.input()), ErrorKind::kNone);
  EXPECT_EQ(ctx.set_custom_status("waits"), ErrorKind::kNone);
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  PAWL_AWAIT(message, ctx.dequeue_event("q"));
  std::string said(event.value());
  said.append(",").append(message.value()).append(",");
  return ctx.complete(said.append(ctx.get_kv_value("k").value_or("none")));
}

Poll sleeps(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("slept");
}

Poll works_long(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("works", "long"));
  return ctx.complete(done.value());
}

Poll works_on_a_session(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::exclusive_session("bus");
  std::string epochs;
  for (int i = 0; i < 2; ++i) {
    PAWL_AWAIT(epoch, ctx.schedule_activity("works", "", options));
    epochs.append(epoch.value()).append(" ");
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  }
  return ctx.complete(epochs);
}

Poll has_a_child(OrchestrationContext& ctx) {
  PAWL_AWAIT(slept, ctx.schedule_sub_orchestration("sleeps", ""));
  return ctx.complete(slept.value());
}

// Counts rows; stops the move at one of its calls.
class Rows final : public MoveVisitor {
 public:
  explicit Rows(int stop_at = 0) : stop_at_(stop_at) {}
  bool on_rows(std::int64_t /*rows*/) noexcept override { return ++calls != stop_at_; }
  int calls = 0;

 private:
  int stop_at_;
};

class Move : public testing::GatewayTest {
 protected:
  Move() {
    g_runs = 0;
    add("talks", talks);
    add("sleeps", sleeps);
    add("works_long", works_long);
    add("works_on_a_session", works_on_a_session);
    add("has_a_child", has_a_child);
    add("works", works);
  }
  [[nodiscard]] DatabasePlace here() const { return {testing::kPath, on_server.database}; }
  [[nodiscard]] DatabasePlace first() const { return {testing::kPath, server_}; }

  Status move(const DatabasePlace& from, const DatabasePlace& to) {
    Rows all;
    return move(from, to, all);
  }
  Status move(const DatabasePlace& from, const DatabasePlace& to, Rows& visitor) {
    const sim::Node node(machine);
    return move(node, from, to, visitor);
  }
  Status move(const sim::Node& node, const DatabasePlace& from, const DatabasePlace& to,
              Rows& visitor) {
    testing::Block memory(move_memory(from, to));
    return move_database(testing::shared_process(), from, to, const_cast<sim::Node&>(node).port(),
                         memory.data(), memory.bytes(), visitor, &rows_, why_);
  }
  // Workers and clients are of this place from here on.
  void go_to(const char* path) {
    forget_client();
    on_server.database = nullptr;
    options.database_path = path;
  }
  void put_work_in_flight() {
    start_worker();
    start("talks", "talks", "v");
    start("sleeps", "sleeps");
    start("long", "works_long");
    start("bus", "works_on_a_session");
    start("parent", "has_a_child");
    pass(500);
    raise_event("talks", "go", "e");
    workers.back()->kill();
    workers.clear();
    enqueue_event("talks", "q", "m");
    forget_client();
    ASSERT_EQ(g_runs, 1);
  }
  // `dies_at`: a write; 0: none.
  std::uint64_t writes_of_a_move(std::uint64_t dies_at) {
    Gateway gateway(dies_at + 1);
    gateway.add("sleeps", sleeps);
    gateway.start_worker();
    gateway.start("sleeps", "sleeps");
    gateway.pass(100);
    gateway.workers.clear();
    gateway.forget_client();
    gateway.machine.set_power_cut_losses(true);
    const std::uint64_t before = gateway.machine.writes();
    Rows all;
    gateway.machine.fail_write(dies_at, Status::kIo, true);
    const Status status = move(sim::Node(gateway.machine), {testing::kPath}, {kNew}, all);
    const std::uint64_t writes = gateway.machine.writes() - before;
    EXPECT_TRUE(status == Status::kOk || dies_at != 0) << why_.text();
    gateway.machine.fail_write(0, Status::kIo, false);
    gateway.machine.reboot(1'000);
    EXPECT_EQ(move(sim::Node(gateway.machine), {testing::kPath}, {kNew}, all), Status::kOk)
        << "after write " << dies_at << ": " << why_.text();
    gateway.options.database_path = kNew;
    gateway.start_worker();
    EXPECT_TRUE(gateway.ends("sleeps", 4'000'000)) << dies_at;
    return writes;
  }
  Status opens(const DatabasePlace& at) {
    Options with = options;
    with.database_path = at.path.view();
    with.database = at.database;
    Worker worker(machine, registry, with);
    const Status status = worker.start();
    opening_ = worker.diagnostic.text();
    return status;
  }

  const ServerDatabase* const server_ = on_server.database;
  std::int64_t rows_ = 0;
  Diagnostic why_;
  std::string opening_;
};

TEST_F(Move, WorkInFlightGoesOnThere) {
  put_work_in_flight();
  pass(600'000);
  ASSERT_EQ(move(here(), {kNew}), Status::kOk) << why_.text();
  EXPECT_GT(rows_, 20);
  go_to(kNew);
  start_worker();
  EXPECT_EQ(end_of("talks"), "completed e,m,v");
  EXPECT_EQ(end_of("long"), "completed attempt 2");
  EXPECT_EQ(end_of("bus"), "completed 1 3 ") << "its epoch rises";
  EXPECT_EQ(g_runs, 2);
  // The hour began before the move.
  pass(2'900'000);
  EXPECT_TRUE(is_running("sleeps"));
  pass(150'000);
  EXPECT_EQ(outcome_of("sleeps"), "completed slept");
  EXPECT_EQ(outcome_of("parent"), "completed slept");
}

TEST_F(Move, TheOldPlaceIsRefused) {
  put_work_in_flight();
  ASSERT_EQ(move(here(), {kNew}), Status::kOk) << why_.text();
  EXPECT_EQ(opens(first()), Status::kCannotOpen);
  EXPECT_NE(opening_.find("moved to another database"), std::string::npos) << opening_;
  EXPECT_EQ(move(here(), {kThird}), Status::kCannotOpen) << "or there would be two";
  EXPECT_EQ(move({kThird}, {kNew}), Status::kCannotOpen) << "nothing was made there";
  EXPECT_EQ(move({kNew}, here()), Status::kAlreadyExists) << "what is left there goes first";
  EXPECT_EQ(opens({kNew}), Status::kOk) << opening_;
  // It has ended, which is no error.
  EXPECT_EQ(move(here(), {kNew}), Status::kOk) << why_.text();
  EXPECT_EQ(rows_, 0);
}

TEST_F(Move, WhatIsInUseStays) {
  start_worker();
  start("talks", "talks", "v");
  EXPECT_EQ(move(here(), {kNew}), Status::kBusy);
  workers.clear();
  EXPECT_EQ(move(here(), {kNew}), Status::kBusy) << "the client";
  forget_client();
  EXPECT_EQ(move(here(), {kNew}), Status::kOk) << why_.text();
}

TEST_F(Move, OnlyAFreePlaceIsTaken) {
  put_work_in_flight();
  EXPECT_EQ(move({"/data/none.db"}, {kNew}), Status::kCannotOpen) << "there is nothing to move";
  EXPECT_EQ(move(here(), here()), server_ == nullptr ? Status::kBusy : Status::kAlreadyExists);
  ASSERT_EQ(opens({kNew}), Status::kOk) << "a worker registers there, and no more";
  ASSERT_EQ(opens({kThird}), Status::kOk);
  go_to(kThird);
  start("mine", "talks", "");
  forget_client();
  on_server.database = server_;
  EXPECT_EQ(move(first(), {kThird}), Status::kAlreadyExists);
  EXPECT_EQ(opens({kThird}), Status::kOk) << "it is not touched";
  EXPECT_EQ(move(first(), {kNew}), Status::kOk) << why_.text();
}

// From each call of the visitor on.
TEST_F(Move, OneThatIsStoppedLeavesTheOldPlace_AndEndsLater) {
  put_work_in_flight();
  Rows stopped(1);
  for (int at = 1; at < 1'000; ++at) {
    stopped = Rows(at);
    const Status status = move(here(), {kNew}, stopped);
    if (status == Status::kOk) break;
    ASSERT_EQ(status, Status::kStopped) << why_.text();
    EXPECT_EQ(opens({kNew}), Status::kCannotOpen);
    EXPECT_NE(opening_.find("has not ended"), std::string::npos) << opening_;
  }
  EXPECT_GT(stopped.calls, 15) << "a call for each table";
  go_to(kNew);
  start_worker();
  EXPECT_EQ(end_of("talks"), "completed e,m,v");
}

// A move dies at one of its writes, and the power is cut. Nothing is ever in two places, and the
// same call again ends it. The marks that decide are among its last writes.
TEST_F(Move, OneThatDiesIsEndedByTheNext) {
  if (server_ != nullptr) GTEST_SKIP() << "a server writes to a disk of its own";
  constexpr std::uint64_t kLast = 24;
  constexpr std::uint64_t kStride = 17;
  const std::uint64_t writes = writes_of_a_move(0);
  ASSERT_GT(writes, 100U);
  for (std::uint64_t at = 1; at <= writes; at += at + kLast < writes ? kStride : 1)
    writes_of_a_move(at);
}

// T1, T3: off time is credited there as it would have been here, and counted once.
TEST_F(Move, OffTimeIsCredited) {
  if (server_ != nullptr) GTEST_SKIP() << "the server's clock is no simulated one";
  start_worker();
  start("sleeps", "sleeps");
  pass(100);
  workers.clear();
  forget_client();
  machine.reboot(1'800'000);
  ASSERT_EQ(move(here(), {kNew}), Status::kOk) << why_.text();
  machine.reboot(600'000);
  go_to(kNew);
  start_worker();
  pass(1'150'000);
  EXPECT_TRUE(is_running("sleeps")) << "40 of 60 minutes were off";
  pass(60'000);
  EXPECT_EQ(outcome_of("sleeps"), "completed slept");
}

// A machine whose clock nothing has set since its start.
TEST_F(Move, TimeThatNoClockShowedIsNotCredited) {
  if (server_ != nullptr) GTEST_SKIP() << "the server's clock is no simulated one";
  start_worker();
  start("sleeps", "sleeps");
  pass(100);
  workers.clear();
  forget_client();
  machine.reboot(10 * kDayMs, false, 0);
  pass(1'000'000);
  ASSERT_EQ(move(here(), {kNew}), Status::kOk) << why_.text();
  go_to(kNew);
  start_worker();
  pass(3'500'000);
  EXPECT_TRUE(is_running("sleeps")) << "its uptime before the move may have counted there";
  pass(200'000);
  EXPECT_EQ(outcome_of("sleeps"), "completed slept");
}

TEST_F(Move, ThereAndBackItIsTheSame) {
  put_work_in_flight();
  ASSERT_EQ(move(here(), {kNew}), Status::kOk) << why_.text();
  const std::int64_t rows = rows_;
  ASSERT_EQ(move({kNew}, {kThird}), Status::kOk) << why_.text();
  EXPECT_EQ(rows_, rows);
  go_to(kThird);
  start_worker();
  EXPECT_EQ(end_of("talks"), "completed e,m,v");
  EXPECT_EQ(end_of("long"), "completed attempt 2");
}

}  // namespace
}  // namespace pawl

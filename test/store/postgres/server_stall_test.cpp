// Goal: a loop does not wait for a server that is slow to answer a commit: its activities go on,
// and the batch has its effects when the answer comes, once. Method: a real loop and a real server,
// whose commits are held by a trigger that runs at their end.
#include <atomic>
#include <string>
#include <thread>

#include "folder.hpp"
#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "pawl/postgres.hpp"
#include "proxy.hpp"
#include "server_by_hand.hpp"
#include "world.hpp"

namespace pawl::testing {
namespace {

using std::chrono::milliseconds;
using test::Proxy;
using test::ServerByHand;

int g_steps = 0;

struct Nothing {};

ActivityStep beats(ActivityContext& ctx, Nothing& /*state*/) {
  ++g_steps;
  return ctx.is_cancelled() ? ctx.ok("stopped") : ctx.again_after(milliseconds(1));
}

Poll has_beats(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("beats", ""));
  return ctx.complete(done.value());
}

// How often an attempt began, of each kind.
std::atomic<int> g_inline{0};
std::atomic<int> g_threaded{0};
std::atomic<int> g_cooperative{0};

ActivityResult begins_inline(ActivityContext& ctx) {
  ++g_inline;
  return ctx.ok("");
}
ActivityResult begins_threaded(ActivityContext& ctx) {
  ++g_threaded;
  return ctx.ok("");
}
ActivityStep begins_cooperative(ActivityContext& ctx, Nothing& /*state*/) {
  ++g_cooperative;
  return ctx.ok("");
}

Poll begins_all(OrchestrationContext& ctx) {
  const auto cooperative = ctx.schedule_activity("cooperative", "");
  const auto threaded = ctx.schedule_activity("threaded", "");
  const auto in_line = ctx.schedule_activity("inline", "");
  PAWL_AWAIT(done, ctx.join(cooperative, threaded, in_line));
  return ctx.complete(done.value());
}

Poll ends(OrchestrationContext& ctx) { return ctx.complete("ended"); }

class ServerStall : public ::testing::Test {
 protected:
  ServerStall() {
    by_hand_.execute(
        "DROP SCHEMA IF EXISTS stall CASCADE;"
        "CREATE TABLE IF NOT EXISTS public.stalls(held boolean,fails boolean);"
        "DELETE FROM public.stalls;INSERT INTO public.stalls VALUES(false,false);"
        "CREATE OR REPLACE FUNCTION public.stall() RETURNS trigger LANGUAGE plpgsql AS '"
        "BEGIN WHILE (SELECT held FROM public.stalls) LOOP PERFORM pg_sleep(0.005);END LOOP;"
        "IF (SELECT fails FROM public.stalls) THEN RAISE EXCEPTION USING ERRCODE=''53100'';END IF;"
        "RETURN NULL;END'");
    g_steps = g_inline = g_threaded = g_cooperative = 0;
    EXPECT_EQ(registry_.add_cooperative("beats", beats), Status::kOk);
    EXPECT_EQ(registry_.add_cooperative("cooperative", begins_cooperative), Status::kOk);
    EXPECT_EQ(registry_.add_activity("inline", begins_inline), Status::kOk);
    EXPECT_EQ(registry_.add_activity("threaded", begins_threaded, ActivityMode::kThreaded),
              Status::kOk);
    EXPECT_EQ(registry_.add_orchestration("begins_all", begins_all), Status::kOk);
    EXPECT_EQ(registry_.add_orchestration("has_beats", has_beats), Status::kOk);
    EXPECT_EQ(registry_.add_orchestration("ends", ends), Status::kOk);
    options_.database_path = folder_.file("node");
    options_.database = &database_;
    options_.log = &watch_;
    options_.timing.busy_max = milliseconds(100);
    memory_ = std::make_unique<Block>(Runtime::required_memory(options_));
    Diagnostic why;
    EXPECT_EQ(runtime_.start(shared_process(), registry_, options_, port_.port(), memory_->data(),
                             memory_->bytes(), why),
              Status::kOk)
        << why.text();
    begin("beat", "has_beats");
    EXPECT_TRUE(run_until([] { return g_steps > 0; }));
    for (const char* table : {"instances", "history"})
      by_hand_.execute("CREATE CONSTRAINT TRIGGER stall AFTER INSERT ON stall." +
                       std::string(table) +
                       " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "
                       "public.stall()");
  }
  ~ServerStall() override {
    release();
    EXPECT_EQ(runtime_.stop(milliseconds(10'000)), Status::kOk);
  }

  void begin(std::string_view id, std::string_view name) {
    begun_ = Status::kTimeout;
    EXPECT_EQ(
        runtime_.start_orchestration(name, InstanceId(id), "", {}, Gateway::keep_answer, &begun_),
        Status::kOk);
  }
  template <typename Until>
  bool run_until(Until&& until) {
    for (int looks = 0; looks < 2'000 && !until(); ++looks)
      static_cast<void>(runtime_.run_for(milliseconds(10)));
    return until();
  }
  // Starts an instance, whose commit the server has then and does not answer.
  void begin_held(std::string_view name = "ends") {
    by_hand_.execute("UPDATE public.stalls SET held=true");
    begin("held", name);
    while (held_by().empty())
      ASSERT_TRUE(runtime_.tick(milliseconds(20)).ok());
  }
  // The process of the server that holds a commit.
  std::string held_by() {
    return by_hand_.ask(
        "SELECT pid FROM pg_stat_activity WHERE wait_event='PgSleep' AND query='COMMIT'");
  }
  // How many attempts began that the held instance has scheduled.
  static int begun_attempts() { return g_inline + g_threaded + g_cooperative; }
  void release() { by_hand_.execute("UPDATE public.stalls SET held=false"); }
  std::string state_of(std::string_view id) {
    OrchestrationStatus status;
    const Status found = runtime_.get_status(id, &status);
    return found == Status::kOk ? orchestration_state_name(status.state) : status_name(found);
  }

  test::Folder folder_;
  Proxy proxy_{ServerByHand::address()};
  ServerDatabase database_ =
      postgresql(proxy_.address() + " options=-csynchronous_commit=on", "stall");
  ServerByHand by_hand_;
  Lines lines_;
  ErrorWatch watch_{&lines_};
  posix::SystemPort port_;
  Registry registry_;
  Options options_;
  std::unique_ptr<Block> memory_;
  Runtime runtime_;
  Status begun_ = Status::kOk;
};

TEST_F(ServerStall, ACommitThatIsNotAnswered_HoldsNoActivity) {
  begin_held();
  const std::string process = held_by();
  const int before = g_steps;
  EXPECT_TRUE(run_until([&] { return g_steps > before + 20; }));
  EXPECT_EQ(begun_, Status::kTimeout);
  EXPECT_EQ(held_by(), process);
  EXPECT_TRUE(runtime_.ready());
  release();
  EXPECT_TRUE(run_until([&] { return begun_ != Status::kTimeout; }));
  EXPECT_EQ(begun_, Status::kOk);
  EXPECT_TRUE(run_until([&] { return state_of("held") == "completed"; }));
  EXPECT_EQ(lines_.count("batch_in_doubt"), 0U);
  // Its connection has lived through that.
  EXPECT_EQ(by_hand_.ask("SELECT pid FROM pg_stat_activity WHERE pid=" + process), process);
}

TEST_F(ServerStall, ACommitThatFailsLate_IsDoneAgain) {
  expect_errors("tick_rolled_back", 1, 20);
  expect_errors("disk_is_full", 1, 20);
  begin_held();
  by_hand_.execute("UPDATE public.stalls SET held=false,fails=true");
  EXPECT_TRUE(run_until([&] { return lines_.count("disk_is_full") > 0; }));
  EXPECT_EQ(begun_, Status::kTimeout);
  EXPECT_EQ(state_of("held"), "not_found");
  by_hand_.execute("UPDATE public.stalls SET fails=false");
  EXPECT_TRUE(run_until([&] { return begun_ != Status::kTimeout; }));
  EXPECT_EQ(begun_, Status::kOk);
  EXPECT_TRUE(run_until([&] { return state_of("held") == "completed"; }));
}

// The commit that schedules activities also hands them over. Until it is known, another worker may
// be the one that has them.
TEST_F(ServerStall, WhatACommitHandsOver_BeginsBehindIt) {
  expect_errors("tick_rolled_back", 1, 20);
  expect_errors("disk_is_full", 1, 20);
  begin_held("begins_all");
  const int before = g_steps;
  EXPECT_TRUE(run_until([&] { return g_steps > before + 20; }));
  EXPECT_EQ(begun_attempts(), 0);
  by_hand_.execute("UPDATE public.stalls SET held=false,fails=true");
  EXPECT_TRUE(run_until([&] { return lines_.count("disk_is_full") > 0; }));
  EXPECT_EQ(begun_attempts(), 0);
  by_hand_.execute("UPDATE public.stalls SET fails=false");
  EXPECT_TRUE(run_until([&] { return state_of("held") == "completed"; }));
  EXPECT_EQ(g_inline, 1);
  EXPECT_EQ(g_threaded, 1);
  EXPECT_EQ(g_cooperative, 1);
}

// Nothing is heard of the server any more, so the loop asks another of its processes.
TEST_F(ServerStall, ACommitWhoseAnswerNeverComes_IsLookedFor) {
  begin_held();
  proxy_.freeze();
  release();
  EXPECT_TRUE(run_until([&] { return lines_.count("batch_in_doubt") > 0; }));
  EXPECT_EQ(begun_, Status::kTimeout);
  EXPECT_FALSE(runtime_.ready());
  proxy_.heal();
  EXPECT_TRUE(run_until([&] { return begun_ != Status::kTimeout; }));
  EXPECT_EQ(begun_, Status::kOk);
  EXPECT_TRUE(run_until([&] { return state_of("held") == "completed"; }));
}

// F16 ends a holder of the lock that does nothing. Ended, this one would be acknowledged without
// its standby.
TEST_F(ServerStall, ACommitThatWaitsForTheStandby_IsNotEnded) {
  const std::string waiting =
      "SELECT pid FROM pg_stat_activity WHERE wait_event='SyncRep' AND query='COMMIT'";
  const auto set_standby = [this](const std::string& how) {
    by_hand_.execute("ALTER SYSTEM " + how);
    by_hand_.ask("SELECT pg_reload_conf()");
  };
  by_hand_.execute("SET synchronous_commit=local");
  set_standby("SET synchronous_standby_names=away");
  // The server takes the setting in its own time.
  for (int i = 0; by_hand_.ask(waiting).empty(); ++i) {
    if (begun_ != Status::kTimeout) begin("held-" + std::to_string(i), "ends");
    ASSERT_TRUE(runtime_.tick(milliseconds(20)).ok());
  }
  const std::string process = by_hand_.ask(waiting);
  ClientOptions options;
  options.database_path = folder_.file("other");
  options.database = &database_;
  options.busy_max = milliseconds(4'000);
  posix::SystemPort port;
  Block memory(Client::required_memory(options));
  Client other;
  Diagnostic why;
  ASSERT_EQ(other.open(shared_process(), options, port.port(), memory.data(), memory.bytes(), why),
            Status::kOk)
      << why.text();
  EXPECT_EQ(other.start_orchestration("ends", InstanceId("other"), ""), Status::kBusy);
  other.close();
  EXPECT_EQ(by_hand_.ask(waiting), process);
  // Nor by its own node, which connects anew when the answer took too long.
  EXPECT_TRUE(run_until([&] { return lines_.count("batch_in_doubt") > 0; }));
  static_cast<void>(runtime_.run_for(milliseconds(2'000)));
  EXPECT_EQ(by_hand_.ask(waiting), process);
  EXPECT_EQ(begun_, Status::kTimeout);
  set_standby("RESET synchronous_standby_names");
  EXPECT_TRUE(run_until([&] { return begun_ != Status::kTimeout; }));
  EXPECT_EQ(begun_, Status::kOk);
}

// A read of the same loop waits for the answer, and sees what is committed.
TEST_F(ServerStall, AReadOfTheLoop_SeesTheCommit) {
  begin_held();
  std::thread later([] {
    ServerByHand other;
    other.execute("SELECT pg_sleep(0.1);UPDATE public.stalls SET held=false");
  });
  const std::string state = state_of("held");
  EXPECT_TRUE(state == "completed" || state == "running") << state;
  later.join();
  EXPECT_EQ(begun_, Status::kTimeout);
  EXPECT_TRUE(run_until([&] { return begun_ != Status::kTimeout; }));
  EXPECT_EQ(begun_, Status::kOk);
}

TEST_F(ServerStall, AStopWaitsForTheAnswer) {
  begin_held();
  std::thread later([] {
    ServerByHand other;
    other.execute("SELECT pg_sleep(0.1);UPDATE public.stalls SET held=false");
  });
  EXPECT_EQ(runtime_.stop(milliseconds(10'000)), Status::kOk);
  later.join();
  EXPECT_EQ(begun_, Status::kOk);
  EXPECT_EQ(lines_.count("stopped_in_doubt"), 0U);
  EXPECT_EQ(lines_.count("unregister_failed"), 0U);
}

}  // namespace
}  // namespace pawl::testing

// Goal: a database goes from a file to a server and back, with all that is under way, whatever cuts
// the connection. Method: a simulated machine with its file, a proxy, and a real server.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "pawl/maintenance.hpp"
#include "pawl/postgres.hpp"
#include "proxy.hpp"
#include "server_by_hand.hpp"
#include "world.hpp"

namespace pawl::testing {
namespace {

using test::Proxy;
using test::ServerByHand;
using test::Way;

constexpr char kBack[] = "/data/back.db";

int g_runs = 0;

ActivityResult count(ActivityContext& ctx) {
  ++g_runs;
  return ctx.ok(ctx.input());
}

// Each message becomes an activity on a session; ends with "end".
Poll takes(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::session("chat");
  std::string all;
  for (;;) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (message.value() == "end") return ctx.complete(all);
    PAWL_AWAIT(counted, ctx.schedule_activity("count", message.value(), options));
    all.append(counted.value()).append(",");
    EXPECT_EQ(ctx.set_kv_value("all", all), ErrorKind::kNone);
  }
}

Poll sleeps(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("slept");
}

// Another program writes to the server after each page.
class Interferes final : public MoveVisitor {
 public:
  Interferes(ServerByHand& by_hand, std::string sql) : by_hand_(by_hand), sql_(std::move(sql)) {}
  bool on_rows(std::int64_t /*rows*/) noexcept override {
    if (!sql_.empty()) by_hand_.execute(sql_);
    return true;
  }

 private:
  ServerByHand& by_hand_;
  std::string sql_;
};

class MoveOnServer : public ::testing::Test {
 protected:
  MoveOnServer() {
    by_hand_.execute("DROP SCHEMA IF EXISTS moved CASCADE");
    g_runs = 0;
    own.add("takes", takes);
    own.add("sleeps", sleeps);
    own.add("count", count);
    // The clocks of the machine and the server agree.
    own.machine.set_wall(
        std::stoll(by_hand_.ask("SELECT (extract(epoch FROM clock_timestamp())*1000)::bigint")));
  }
  ~MoveOnServer() override { own.workers.clear(); }

  [[nodiscard]] DatabasePlace server() const { return {"/data/beside", &database_}; }
  Status move(const DatabasePlace& from, const DatabasePlace& to) {
    return move(own.machine, from, to);
  }
  Status move(sim::Machine& machine, const DatabasePlace& from, const DatabasePlace& to,
              const std::string& sql = "") {
    Interferes all(by_hand_, sql);
    sim::Node node(machine);
    Block memory(move_memory(from, to));
    return move_database(shared_process(), from, to, node.port(), memory.data(), memory.bytes(),
                         all, &rows_, why_);
  }
  void leave() {
    own.workers.clear();
    own.forget_client();
  }
  void go_to(const DatabasePlace& place) {
    leave();
    own.on_server.database = place.database;
    own.options.database = own.client_options.database = place.database;
    own.options.database_path = place.path.view();
    own.start_worker();
  }
  bool opens(const DatabasePlace& place) {
    Options with = own.options;
    with.database = place.database;
    with.database_path = place.path.view();
    Worker worker(own.machine, own.registry, with);
    return worker.start() == Status::kOk;
  }

  // The goodbye of a connection may still be under way.
  void wait_until_alone() {
    while (by_hand_.ask(
               "SELECT count(*) FROM pg_stat_activity WHERE backend_type='client backend'") != "1")
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // A move of a new machine's database; false: it ended before so many bytes.
  bool is_cut_at(std::int64_t bytes, Way way, bool is_back) {
    by_hand_.execute("DROP SCHEMA IF EXISTS moved CASCADE");
    Gateway fresh;
    fresh.add("takes", takes);
    fresh.add("count", count);
    fresh.start_worker();
    fresh.start("a", "takes");
    fresh.enqueue_event("a", "q", "1");
    fresh.pass(100);
    fresh.workers.clear();
    fresh.forget_client();
    const DatabasePlace from = is_back ? server() : DatabasePlace{kPath};
    const DatabasePlace to = is_back ? DatabasePlace{kBack} : server();
    if (is_back) {
      EXPECT_EQ(move(fresh.machine, {kPath}, from), Status::kOk) << why_.text();
    }
    wait_until_alone();
    proxy_.cut_after(way, bytes);
    Status status = move(fresh.machine, from, to);
    const bool was_cut = status != Status::kOk;
    proxy_.heal();
    if (status != Status::kOk) status = move(fresh.machine, from, to);
    EXPECT_EQ(status, Status::kOk) << bytes << ": " << why_.text();
    fresh.on_server.database = to.database;
    fresh.options.database_path = to.path.view();
    fresh.start_worker();
    fresh.enqueue_event("a", "q", "end");
    EXPECT_EQ(fresh.end_of("a", 60'000), "completed 1,") << bytes;
    return was_cut && !HasFailure();
  }

  Proxy proxy_{ServerByHand::address()};
  ServerDatabase database_ = postgresql(proxy_.address(), "moved");
  ServerByHand by_hand_;
  Gateway own;
  std::int64_t rows_ = 0;
  Diagnostic why_;
};

TEST_F(MoveOnServer, ThereAndBack_WorkGoesOn) {
  own.start_worker();
  own.start("a", "takes");
  own.start("b", "sleeps");
  own.enqueue_event("a", "q", "1");
  own.pass(1'000);
  own.workers.back()->kill();
  own.workers.clear();
  own.enqueue_event("a", "q", "2");
  own.forget_client();
  ASSERT_EQ(move({kPath}, server()), Status::kOk) << why_.text();
  const std::int64_t rows = rows_;
  EXPECT_FALSE(opens({kPath}));

  go_to(server());
  own.enqueue_event("a", "q", "3");
  own.pass(40'000);
  EXPECT_EQ(g_runs, 3);
  EXPECT_EQ(by_hand_.ask("SELECT count(*) FROM moved.kv"), "1");
  EXPECT_EQ(by_hand_.ask("SELECT count(*) FROM (SELECT key FROM moved.instances UNION ALL SELECT "
                         "id FROM moved.orchestrator_queue) AS ids "
                         "WHERE key>=(SELECT next_token FROM moved.meta)"),
            "0")
      << "numbers go on above all that were given out";
  EXPECT_EQ(move(server(), {kBack}), Status::kBusy) << "a worker is connected";
  EXPECT_NE(why_.text().find("other connection"), std::string_view::npos) << why_.text();
  leave();
  ASSERT_EQ(move(server(), {kBack}), Status::kOk) << why_.text();
  EXPECT_GT(rows_, rows);
  EXPECT_FALSE(opens(server()));

  go_to({kBack});
  own.enqueue_event("a", "q", "end");
  EXPECT_EQ(own.end_of("a"), "completed 1,2,3,");
  own.start("c", "takes");
  own.enqueue_event("c", "q", "end");
  EXPECT_EQ(own.end_of("c"), "completed ");
  own.pass(3'500'000);
  EXPECT_TRUE(own.is_running("b"));
  own.pass(100'000);
  EXPECT_EQ(own.outcome_of("b"), "completed slept");
  EXPECT_EQ(g_runs, 3);
}

// F5b: the mark of the file is one of the server's, too.
TEST_F(MoveOnServer, OffTimeIsCredited) {
  own.machine.set_wall(own.machine.wall_ms() - 1'800'000);
  own.start_worker();
  own.start("b", "sleeps");
  own.pass(100);
  leave();
  own.machine.reboot(1'800'000);
  ASSERT_EQ(move({kPath}, server()), Status::kOk) << why_.text();
  go_to(server());
  own.pass(1'700'000);
  EXPECT_TRUE(own.is_running("b"));
  own.pass(150'000);
  EXPECT_EQ(own.outcome_of("b"), "completed slept");
}

TEST_F(MoveOnServer, RowsThatAreNotTheSameThereAreFound) {
  own.start_worker();
  own.start("b", "sleeps");
  leave();
  EXPECT_EQ(move(own.machine, {kPath}, server(), "UPDATE moved.instances SET revision=revision+1"),
            Status::kCorrupt);
  EXPECT_NE(why_.text().find("table instances"), std::string_view::npos) << why_.text();
  EXPECT_FALSE(opens(server()));
  EXPECT_TRUE(opens({kPath}));
  EXPECT_EQ(move({kPath}, server()), Status::kOk) << why_.text();
}

// A worker that was cut off and comes back while its rows are read.
TEST_F(MoveOnServer, AStoreThatChangesMeanwhileStays) {
  own.start_worker();
  own.start("b", "sleeps");
  leave();
  ASSERT_EQ(move({kPath}, server()), Status::kOk) << why_.text();
  EXPECT_EQ(move(own.machine, server(), {kBack}, "UPDATE moved.meta SET seq=seq+1"), Status::kBusy);
  EXPECT_FALSE(opens({kBack}));
  EXPECT_TRUE(opens(server()));
  EXPECT_EQ(move(server(), {kBack}), Status::kOk) << why_.text();
}

// Nothing is ever in two places, and the same call again ends it.
TEST_F(MoveOnServer, ACutAtAnyByte_LosesNothing) {
  const std::int64_t step = std::getenv("PAWL_SOAK") == nullptr ? 1'999 : 17;
  for (const Way way : {Way::kToServer, Way::kToClient}) {
    for (const bool is_back : {false, true}) {
      int cuts = 0;
      while (is_cut_at(cuts * step, way, is_back))
        ++cuts;
      EXPECT_GT(cuts, 3);
    }
  }
}

}  // namespace
}  // namespace pawl::testing

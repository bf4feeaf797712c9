// Goal: machines that share a store count one time, and exclusive work is in one place at a time,
// whatever happens to machines and networks. Method: two simulated machines with clocks of their
// own, each behind a proxy that stands for its network, and a real server.
#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "pawl/postgres.hpp"
#include "proxy.hpp"
#include "server_beside.hpp"
#include "server_by_hand.hpp"
#include "store/postgres/postgres_database.hpp"
#include "store/store_factory.hpp"
#include "world.hpp"

namespace pawl::testing {
namespace {

using std::chrono::milliseconds;
using test::Proxy;
using test::ServerByHand;

constexpr std::int64_t kStepMs = 100;
constexpr std::int64_t kLeaseMs = 30'000;  // the default
constexpr std::int64_t kDayMs = 86'400'000;

std::int64_t g_now = 0;  // the true time of all machines

// The work of an activity, and its place.
struct Doing {
  std::string worker;
  std::int64_t from = 0;
  std::int64_t until = 0;  // the last step in which it did not hear that it must stop
  bool has_heard = false;
};
std::vector<Doing> g_done;

struct Place {
  std::size_t at = 0;
  bool has_begun = false;
};

// Works in steps until it hears that it must stop, or for ten minutes.
ActivityStep holds(ActivityContext& ctx, Place& place) {
  if (!place.has_begun) {
    place = {g_done.size(), true};
    g_done.push_back({std::string(ctx.worker_id()), g_now, g_now, false});
  }
  Doing& doing = g_done[place.at];
  doing.has_heard = ctx.is_cancelled();
  if (doing.has_heard) return ctx.ok("stopped");
  doing.until = g_now;
  if (g_now - doing.from >= 600'000) return ctx.ok("whole");
  return ctx.again_after(milliseconds(kStepMs));
}

ActivityResult where(ActivityContext& ctx) { return ctx.ok(ctx.worker_id()); }

Poll holds_target(OrchestrationContext& ctx, Target target) {
  ActivityOptions options;
  options.target = target;
  PAWL_AWAIT(held, ctx.schedule_activity("holds", "", options));
  return ctx.complete(held.value());
}
Poll holds_bus(OrchestrationContext& ctx) {
  return holds_target(ctx, Target::exclusive_session("bus"));
}
Poll holds_valve(OrchestrationContext& ctx) { return holds_target(ctx, Target::device("valve")); }
Poll holds_chat(OrchestrationContext& ctx) { return holds_target(ctx, Target::session("chat")); }

Poll asks_where(OrchestrationContext& ctx) {
  PAWL_AWAIT(place, ctx.schedule_activity("where", ""));
  return ctx.complete(place.value());
}

Poll waits_a_minute(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(60)));
  return ctx.complete("done");
}
Poll waits_an_hour(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(3'600)));
  return ctx.complete("done");
}

// Its workers reach the server through a network of their own.
class Site final : public test::ServerBeside {
 public:
  explicit Site(std::uint64_t seed, std::int64_t up_ms) : gateway_((current = this, seed)) {
    current = nullptr;
    const std::int64_t wall_ms = gateway_.machine.wall_ms();
    gateway_.machine.advance(up_ms);
    gateway_.machine.set_wall(wall_ms);
    gateway_.add("holds_bus", holds_bus);
    gateway_.add("holds_valve", holds_valve);
    gateway_.add("holds_chat", holds_chat);
    gateway_.add("asks_where", asks_where);
    gateway_.add("waits_a_minute", waits_a_minute);
    gateway_.add("waits_an_hour", waits_an_hour);
    gateway_.add("holds", holds);
    gateway_.add("where", where);
  }
  const ServerDatabase* begin() override { return &database_; }
  void end(const ServerDatabase* /*database*/) override {}

  Gateway* operator->() { return &gateway_; }
  Worker& worker() { return *gateway_.workers.back(); }
  Proxy& network() { return proxy_; }
  // Does all that is due, and looks at commits of others, for which the server would wake it.
  void work() {
    gateway_.tick_all();
    gateway_.pass(0);
  }
  [[nodiscard]] std::size_t logged(std::string_view text) { return worker().lines.count(text); }

 private:
  Proxy proxy_{ServerByHand::address()};
  ServerDatabase database_ = postgresql(proxy_.address(), "fleet");
  Gateway gateway_;
};

class Fleet : public ::testing::Test {
 protected:
  Fleet() {
    by_hand_.execute("DROP SCHEMA IF EXISTS fleet CASCADE");
    g_now = 0;
    g_done.clear();
    for (const char* event : {"tick_rolled_back", "busy_tick", "worker_was_buried"})
      expect_errors(event, 0, 10'000);
  }
  ~Fleet() override {
    a->workers.clear();
    b->workers.clear();
  }

  // Time passes on all machines at the same rate.
  void pass(std::int64_t ms, std::int64_t step_ms = kStepMs) {
    for (const std::int64_t end = g_now + ms; g_now < end;) {
      g_now += step_ms;
      a->machine.advance(step_ms);
      b->machine.advance(step_ms);
      a.work();
      b.work();
    }
  }
  // The same in larger steps, but for the time around ten minutes: they compare their counts then,
  // and an answer must not take a second.
  void pass_comparing(std::int64_t ms) {
    constexpr std::int64_t kBeginMs = 590'000;
    constexpr std::int64_t kEndMs = 640'000;
    const std::int64_t end = g_now + ms;
    pass(std::max<std::int64_t>(kBeginMs - g_now, 0), 2'000);
    pass(kEndMs - g_now, 250);
    pass(std::max<std::int64_t>(end - g_now, 0), 2'000);
  }
  // While a worker starts, those that run answer its question for the time.
  Status start(Site& site, const char* node, Site* running = nullptr) {
    site->workers.push_back(
        std::make_unique<Worker>(site->machine, site->registry, site->named(node)));
    Worker& made = *site->workers.back();
    Status status = Status::kTimeout;
    std::atomic<bool> is_done{false};
    std::thread other([&] {
      status = made.start();
      is_done = true;
    });
    for (int i = 0; running != nullptr && i < 2'000 && !is_done; ++i) {
      static_cast<void>(running->worker().runtime->tick(milliseconds::max()));
      std::this_thread::sleep_for(milliseconds(1));
    }
    other.join();
    return status;
  }
  void start_both() {
    ASSERT_EQ(start(a, "a"), Status::kOk) << a.worker().diagnostic.text();
    ASSERT_EQ(start(b, "b", &a), Status::kOk) << b.worker().diagnostic.text();
  }
  // Until the server knows, too.
  void cut(Site& site) {
    const std::int64_t before = connected();
    site.network().cut();
    for (int i = 0; i < 10'000 && connected() == before; ++i)
      std::this_thread::sleep_for(milliseconds(1));
  }
  std::int64_t connected() {
    return number("SELECT count(*) FROM pg_locks WHERE locktype='advisory'");
  }
  std::int64_t number(const std::string& sql) { return std::stoll(by_hand_.ask(sql)); }
  std::int64_t mark() { return number("SELECT mark FROM fleet.meta"); }
  static std::size_t begun_at(std::string_view worker) {
    std::size_t count = 0;
    for (const Doing& one : g_done)
      count += one.worker == worker ? 1U : 0U;
    return count;
  }
  void start_at(Site& site, std::string_view id, std::string_view name) {
    Gateway::start_at(site.worker(), id, name);
  }
  std::string state(std::string_view id) {
    return by_hand_.ask("SELECT state FROM fleet.instances WHERE id='" + std::string(id) + "'");
  }
  static bool never_at_once() {
    std::vector<Doing> done = g_done;
    std::sort(done.begin(), done.end(),
              [](const Doing& x, const Doing& y) { return x.from < y.from; });
    for (std::size_t i = 1; i < done.size(); ++i)
      if (done[i].from <= done[i - 1].until) return false;
    return true;
  }

  ServerByHand by_hand_;
  Site a{11, 5'000};
  Site b{12, 9 * kDayMs};  // its boot clock is far ahead
};

constexpr char kCompleted[] = "1";

// ---- time ----

// F2, F3, F4a: the machine that comes counts on from where the other one is.
TEST_F(Fleet, ATimerOfOneMachineFiresOnAnother_AfterItsTime) {
  start_both();
  start_at(a, "x", "waits_a_minute");
  pass(30'000);
  cut(a);
  pass(25'000);
  EXPECT_NE(state("x"), kCompleted);
  pass(10'000);
  EXPECT_EQ(state("x"), kCompleted);
  EXPECT_EQ(b.logged("clock_adopted"), 0U) << "the other machine said what the time is";
}

TEST_F(Fleet, StoreTimeIsWhatPassed) {
  start_both();
  pass_comparing(900'000);
  EXPECT_GE(mark(), g_now - 30'000) << "of the last renewal";
  EXPECT_LE(mark(), g_now + 4'000);
  EXPECT_EQ(number("SELECT count(*) FROM fleet.clock_ring"), 2) << "one begins, and has its offset";
}

// It has no worker beside it whose clock it could share.
TEST_F(Fleet, AClientOfAnotherMachineAsksForTheTime) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  pass(10'000);
  b->client_options.busy_max = milliseconds(20);
  EXPECT_EQ(b->client()->start_orchestration("asks_where", InstanceId("x"), ""), Status::kBusy);
  EXPECT_NE(b->client()->error_text().find("how they count the time"), std::string_view::npos);
  a.work();
  EXPECT_EQ(b->client()->start_orchestration("asks_where", InstanceId("x"), ""), Status::kOk)
      << b->client()->error_text();
  pass(1'000);
  EXPECT_EQ(state("x"), kCompleted);
  // It answers no request, so it asks again after ten minutes.
  pass_comparing(700'000);
  EXPECT_EQ(b->client()->start_orchestration("asks_where", InstanceId("y"), ""), Status::kBusy);
  a.work();
  EXPECT_EQ(b->client()->start_orchestration("asks_where", InstanceId("y"), ""), Status::kOk);
  EXPECT_LE(mark(), g_now + 4'000);
}

// F4b: the other one was away, and its anchor is void.
TEST_F(Fleet, AMachineThatWasAwayCountsOnWithTheOthers) {
  start_both();
  cut(a);
  pass(1'260'000, 5'000);
  const std::int64_t segment = number("SELECT boot_seq FROM fleet.meta");
  a.network().heal();
  pass(60'000);
  EXPECT_EQ(number("SELECT boot_seq FROM fleet.meta"), segment);
  EXPECT_EQ(number("SELECT count(*) FROM fleet.nodes WHERE segment=" + std::to_string(segment)), 2);
  EXPECT_LE(mark(), g_now + 4'000);
  EXPECT_GE(mark(), g_now - 30'000);
}

// F4e: they have one clock, so they ask each other nothing, and a client on their thread waits for
// nothing.
TEST_F(Fleet, ProcessesOfOneMachineAskNoOther) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  ASSERT_EQ(start(a, "a2"), Status::kOk);
  a->start("x", "asks_where");
  for (int i = 0; i < 3; ++i) {
    pass(450'000, 2'000);
    EXPECT_EQ(a->client()->raise_event("x", "late", ""), Status::kStale);
    a->start("y" + std::to_string(i), "asks_where");
  }
  EXPECT_EQ(number("SELECT request FROM fleet.meta"), 0);
  EXPECT_LE(mark(), g_now + 4'000);
  EXPECT_GE(mark(), g_now - 30'000);
}

// F5a, F5b: all were off for a day, which the clock of the server and that of the machine show.
TEST_F(Fleet, ATimeInWhichAllWereOffIsCredited) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  start_at(a, "x", "waits_an_hour");
  pass(30'000);
  a->workers.clear();
  a->machine.advance(kDayMs);
  by_hand_.execute("UPDATE fleet.meta SET mark_server_ms=mark_server_ms-86400000");
  const std::int64_t before = mark();
  b->machine.set_wall(a->machine.wall_ms());
  ASSERT_EQ(start(b, "b"), Status::kOk);
  pass(2'000);
  EXPECT_EQ(state("x"), kCompleted);
  EXPECT_LE(mark(), before + 30'000) << "store time does not count it";
  EXPECT_EQ(b.logged("clock_credited"), 1U);
}

TEST_F(Fleet, ClocksThatDoNotAgreeCreditNothing) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  start_at(a, "x", "waits_an_hour");
  pass(30'000);
  a->workers.clear();
  b->machine.set_wall(a->machine.wall_ms() + kDayMs);  // the server's clock shows no day
  ASSERT_EQ(start(b, "b"), Status::kOk);
  pass(60'000);
  EXPECT_NE(state("x"), kCompleted);
  EXPECT_EQ(number("SELECT count(*) FROM fleet.clock_ring WHERE kind='refused'"), 1);
}

// ---- sessions ----

// F8: its connection is gone for 2 s.
TEST_F(Fleet, ASoftSessionMovesSoonAfterItsMachineIsGone) {
  start_both();
  start_at(a, "x", "holds_chat");
  pass(1'000);
  ASSERT_EQ(begun_at("a"), 1U);
  cut(a);
  pass(3'000);
  EXPECT_EQ(begun_at("b"), 1U);
}

TEST_F(Fleet, TheListOfWorkersSaysWhichAreConnected) {
  const auto listed = [&] {
    std::map<std::string, bool> is_connected;
    EXPECT_EQ(b->client()->list_workers(visit([&](const WorkerInfo& one) {
      EXPECT_EQ(one.address, "");  // a socket of the machine of the server
      is_connected[std::string(one.node)] = !one.disconnected;
    })),
              Status::kOk);
    return is_connected;
  };
  start_both();
  EXPECT_EQ(listed(), (std::map<std::string, bool>{{"a", true}, {"b", true}}));
  cut(a);
  EXPECT_EQ(listed(), (std::map<std::string, bool>{{"a", false}, {"b", true}}));
  a.network().heal();
  pass(10'000);
  EXPECT_EQ(listed(), (std::map<std::string, bool>{{"a", true}, {"b", true}}));
}

// Nothing but its rows says that it was there.
TEST_F(Fleet, WorkOfAMachineThatWasGoneBeforeMovesSoonAfterAnotherStarts) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  start_at(a, "x", "holds_chat");
  pass(1'000);
  ASSERT_EQ(begun_at("a"), 1U);
  cut(a);
  a->workers.clear();
  b->machine.set_wall(a->machine.wall_ms());
  ASSERT_EQ(start(b, "b"), Status::kOk);
  pass(3'000);
  EXPECT_EQ(begun_at("b"), 1U);
}

TEST_F(Fleet, AConnectionThatComesBackInTimeKeepsItsSessions) {
  start_both();
  start_at(a, "x", "holds_chat");
  pass(1'000);
  cut(a);
  a.network().heal();
  pass(10'000);
  EXPECT_EQ(begun_at("a"), 1U);
  EXPECT_EQ(begun_at("b"), 0U);
  EXPECT_FALSE(g_done[0].has_heard);
}

// An owner renews before its own count is over, with the least lease, too.
TEST_F(Fleet, AnExclusiveSessionStaysWhereAllIsWell) {
  a->options.leases.session_lock_timeout = milliseconds(9'999);
  EXPECT_EQ(start(a, "a"), Status::kInvalidOptions);
  a->workers.clear();
  for (const std::int64_t lease_ms : {10'000, 30'000}) {
    a->options.leases.session_lock_timeout = milliseconds(lease_ms);
    a->options.leases.worker_lock_timeout = milliseconds(lease_ms);
    ASSERT_EQ(start(a, "a"), Status::kOk) << a.worker().diagnostic.text();
    start_at(a, "x" + std::to_string(lease_ms), "holds_bus");
    const std::size_t before = g_done.size();
    pass(120'000, 500);
    EXPECT_EQ(g_done.size(), before + 1);
    EXPECT_EQ(a.logged("lease_over"), 0U) << lease_ms;
    EXPECT_FALSE(g_done.back().has_heard);
    a->workers.clear();
    pass(60'000, 5'000);
  }
}

// F6, F7, F14: the owner stops by its own clock before another one may begin.
TEST_F(Fleet, AnExclusiveSessionLeavesWhenItsLeaseIsOver) {
  start_both();
  start_at(a, "x", "holds_bus");
  pass(1'000);
  ASSERT_EQ(begun_at("a"), 1U);
  cut(a);
  const std::int64_t cut_at = g_now;
  pass(10'000);
  EXPECT_EQ(begun_at("b"), 0U) << "a connection that is gone proves nothing";
  pass(kLeaseMs);
  EXPECT_EQ(begun_at("b"), 1U);
  EXPECT_LE(g_done.back().from, cut_at + kLeaseMs + 5'000);
  EXPECT_TRUE(g_done[0].has_heard);
  EXPECT_TRUE(never_at_once());
  EXPECT_EQ(a.logged("lease_over"), 1U);
}

// F8: its soft sessions are free by then.
TEST_F(Fleet, ExclusiveWorkGoesOnThroughACutThatIsShorterThanTheLease) {
  start_both();
  start_at(a, "x", "holds_bus");
  pass(1'000);
  cut(a);
  pass(8'000);
  a.network().heal();
  pass(60'000);
  ASSERT_EQ(g_done.size(), 1U);
  EXPECT_FALSE(g_done[0].has_heard);
  EXPECT_EQ(g_done[0].until, g_now);
}

// F7: the lease of a session may be longer than that of its worker, which is buried in time. Before
// the first renewal the owner counts on the shorter one.
TEST_F(Fleet, ALongLeaseOfASessionIsKept) {
  for (const std::int64_t well_ms : {500, 20'000}) {
    g_done.clear();
    a->options.leases.worker_lock_timeout = b->options.leases.worker_lock_timeout =
        milliseconds(10'000);
    ASSERT_EQ(start(a, "a"), Status::kOk) << a.worker().diagnostic.text();
    // The question of one that comes would make the first renew.
    const bool comes_later = well_ms == 500;
    if (!comes_later) {
      ASSERT_EQ(start(b, "b", &a), Status::kOk) << b.worker().diagnostic.text();
    }
    start_at(a, "x" + std::to_string(well_ms), "holds_bus");
    pass(well_ms);
    ASSERT_EQ(begun_at("a"), 1U);
    cut(a);
    if (comes_later) {
      ASSERT_EQ(start(b, "b"), Status::kOk) << b.worker().diagnostic.text();
    }
    pass(2 * kLeaseMs);
    EXPECT_EQ(begun_at("b"), 1U);
    EXPECT_TRUE(never_at_once()) << well_ms;
    a->workers.clear();
    b->workers.clear();
    a.network().heal();
    by_hand_.execute("DROP SCHEMA fleet CASCADE");
  }
}

// The same if the connection is there: the network loses everything, and no side hears of it.
TEST_F(Fleet, AnExclusiveSessionOfAMachineThatIsSilentLeavesLater) {
  start_both();
  start_at(a, "x", "holds_bus");
  pass(1'000);
  a.network().freeze();
  for (const std::int64_t end = g_now + 2 * kLeaseMs; g_now < end; g_now += kStepMs) {
    b->machine.advance(kStepMs);
    b.work();
  }
  EXPECT_EQ(begun_at("b"), 1U);
  EXPECT_GE(g_done.back().from, kLeaseMs - 7'000) << "the lease, after the last renewal";
  a.network().cut();
}

TEST_F(Fleet, ADeviceLeavesWhenItsLeaseIsOver) {
  start_both();
  ASSERT_EQ(a->declare(a.worker(), "valve"), Status::kOk);
  ASSERT_EQ(b->declare(b.worker(), "valve", true), Status::kOk);
  start_at(a, "x", "holds_valve");
  pass(1'000);
  ASSERT_EQ(begun_at("a"), 1U);
  cut(a);
  pass(10'000);
  EXPECT_EQ(begun_at("b"), 0U);
  pass(2 * kLeaseMs);
  EXPECT_EQ(begun_at("b"), 1U);
  EXPECT_TRUE(never_at_once());
}

// F15b: another one could have owned it meanwhile.
TEST_F(Fleet, AnOwnerThatIsLateTakesItsExclusiveSessionAnew) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  start_at(a, "x", "holds_bus");
  pass(1'000);
  const std::int64_t epoch = number("SELECT epoch FROM fleet.sessions WHERE name='bus'");
  cut(a);
  pass(kLeaseMs);
  a.network().heal();
  pass(20'000);
  EXPECT_EQ(begun_at("a"), 2U);
  EXPECT_TRUE(g_done[0].has_heard);
  EXPECT_GT(number("SELECT epoch FROM fleet.sessions WHERE name='bus'"), epoch);
}

TEST_F(Fleet, ADeviceOfAnOwnerThatIsLateIsDeclaredAgain) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  ASSERT_EQ(a->declare(a.worker(), "valve"), Status::kOk);
  cut(a);
  pass(kLeaseMs);
  a.network().heal();
  pass(10'000);
  start_at(a, "x", "holds_valve");
  pass(5'000);
  EXPECT_EQ(begun_at("a"), 1U);
}

// F15a: the server was failed over. Its owner may have renewed, which is lost.
TEST_F(Fleet, AfterAFailoverNoExclusiveSessionMovesForALease) {
  start_both();
  start_at(a, "x", "holds_bus");
  start_at(a, "y", "holds_chat");
  pass(1'000);
  ASSERT_EQ(begun_at("a"), 2U);
  cut(a);
  by_hand_.execute("UPDATE fleet.meta SET timeline=-1");
  // The row does not know the last renewal.
  by_hand_.execute(
      "UPDATE fleet.sessions SET locked_until=0;UPDATE fleet.workers SET sessions_until=0,"
      "locked_until=0 WHERE node='a'");
  pass(25'000);
  EXPECT_EQ(begun_at("b"), 1U) << "the soft one alone";
  pass(20'000);
  EXPECT_EQ(begun_at("b"), 2U);
}

TEST_F(Fleet, AfterAFailoverADeviceWithoutAnOwnerWaits) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  by_hand_.execute("UPDATE fleet.meta SET timeline=-1");
  pass(100);
  ASSERT_EQ(a->declare(a.worker(), "valve"), Status::kOk);
  start_at(a, "x", "holds_valve");
  start_at(a, "y", "holds_bus");
  pass(20'000);
  EXPECT_EQ(begun_at("a"), 0U);
  pass(30'000);
  EXPECT_EQ(begun_at("a"), 2U);
}

// ---- the id of a node ----

// F13.
TEST_F(Fleet, TheIdOfAMachineThatIsGoneIsFree_AndItsExclusiveSessionsAreNot) {
  ASSERT_EQ(start(a, "plant"), Status::kOk);
  start_at(a, "x", "holds_bus");
  start_at(a, "y", "holds_chat");
  pass(1'000);
  ASSERT_EQ(begun_at("plant"), 2U);
  EXPECT_EQ(start(b, "plant", &a), Status::kNodeIdInUse);
  b->workers.clear();
  cut(a);
  ASSERT_EQ(start(b, "plant"), Status::kOk) << b.worker().diagnostic.text();
  pass(5'000);
  EXPECT_EQ(begun_at("plant"), 3U) << "the soft session moved";
  pass(kLeaseMs);
  EXPECT_EQ(begun_at("plant"), 4U);
  // The former one comes back, and finds that it is not this node any more.
  a.network().heal();
  expect_errors("tick_rolled_back", 0, 10'000);
  pass(10'000);
  EXPECT_GE(a.logged("worker_was_buried"), 1U);
  EXPECT_EQ(number("SELECT count(*) FROM fleet.workers WHERE buried=0 AND node='plant'"), 1);
}

// The former one comes back before its lease is over.
TEST_F(Fleet, AWorkerWhoseIdWasTakenRegistersAnew) {
  ASSERT_EQ(start(a, "plant"), Status::kOk);
  start_at(a, "x", "holds_bus");
  pass(1'000);
  cut(a);
  ASSERT_EQ(start(b, "plant"), Status::kOk) << b.worker().diagnostic.text();
  pass(1'000);
  a.network().heal();
  pass(2'000);
  EXPECT_EQ(a.logged("another process has taken the id of this node"), 1U)
      << a.worker().lines.all();
  EXPECT_TRUE(g_done[0].has_heard);
  EXPECT_FALSE(a.worker().runtime->ready());
}

// The lease of its session is longer than that of the worker.
TEST_F(Fleet, TheIdOfANodeIsFreeBeforeItsLongLease) {
  a->options.leases.worker_lock_timeout = b->options.leases.worker_lock_timeout =
      milliseconds(10'000);
  ASSERT_EQ(start(a, "plant"), Status::kOk);
  ASSERT_EQ(start(b, "b", &a), Status::kOk);
  start_at(a, "x", "holds_bus");
  pass(20'000);
  ASSERT_EQ(begun_at("plant"), 1U);
  cut(a);
  pass(12'000);
  ASSERT_EQ(start(b, "plant"), Status::kOk) << b.worker().diagnostic.text();
  pass(2 * kLeaseMs);
  EXPECT_EQ(g_done.size(), 2U);
  EXPECT_TRUE(never_at_once());
}

// ---- wake-ups ----

class Listener {
 public:
  explicit Listener(const char* channel) { hand_.execute(std::string("LISTEN ") + channel); }
  int heard() {
    hand_.execute("SELECT 1");
    return hand_.notifications();
  }

 private:
  ServerByHand hand_;
};

// A notification locks the whole server for a moment, so a machine that is alone sends none.
TEST_F(Fleet, OnlyOthersAreWoken) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  Listener listener("fleet");
  start_at(a, "x", "asks_where");
  pass(60'000);
  EXPECT_EQ(listener.heard(), 0);
  ASSERT_EQ(start(b, "b", &a), Status::kOk);
  pass(100);
  EXPECT_GT(listener.heard(), 0);
  start_at(b, "y", "asks_where");
  pass(2'000);
  EXPECT_GT(listener.heard(), 0);
}

TEST_F(Fleet, ACommitOfAnotherMachineEndsTheSleep) {
  ASSERT_EQ(start(a, "a"), Status::kOk);
  const ServerDatabase database = postgresql(ServerByHand::address(), "fleet");
  posix::SystemPort system;
  test::Folder folder;
  Diagnostic why;
  const port::Port port = system.port();
  ASSERT_EQ(port.threads->open(folder.file("b").c_str(), why), Status::kOk) << why.text();
  postgres::PostgresStore store;
  ASSERT_EQ(store.open(StoreFactory::options_of(Path(folder.file("b")), &database), port, why),
            Status::kOk)
      << why.text();
  store.wake(port.threads);
  by_hand_.execute("NOTIFY fleet");
  EXPECT_TRUE(port.threads->wait(port.clock->boot_ms() + 60'000).descriptor);
  // It was taken off with the next answer.
  EXPECT_TRUE(store.batch().data_version().ok());
  EXPECT_FALSE(port.threads->wait(0).descriptor);
  // A connection that is gone does not keep the loop awake.
  by_hand_.ask(
      "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE pid<>pg_backend_pid() AND query LIKE 'LISTEN%' OR query LIKE 'SELECT seq%') ended");
  static_cast<void>(port.threads->wait(port.clock->boot_ms() + 60'000));
  static_cast<void>(store.batch().data_version());
  static_cast<void>(port.threads->wait(0));
  by_hand_.execute("NOTIFY fleet");
  EXPECT_TRUE(port.threads->wait(port.clock->boot_ms() + 60'000).descriptor) << "it listens again";
  store.close();
  port.threads->close();
}

// ---- rest ----

// The server takes no other text than UTF-8, and none with a zero byte.
TEST_F(Fleet, ATextThatIsNoUtf8IsNoReasonToStop) {
  int runs = 0;
  a->add(
      "fails_once",
      [](ActivityContext& ctx) {
        int& count = *static_cast<int*>(ctx.user());
        return ++count == 1 ? ctx.fail(std::string_view("Ger\xe4t \0 1", 9)) : ctx.ok("done");
      },
      ActivityMode::kInline, &runs);
  a->add("tries_again", [](OrchestrationContext& ctx) {
    ActivityOptions options;
    options.retry.max_attempts = 2;
    PAWL_AWAIT(done, ctx.schedule_activity("fails_once", "", options));
    return ctx.complete(done.value());
  });
  ASSERT_EQ(start(a, "a"), Status::kOk);
  start_at(a, "x", "tries_again");
  pass(500);
  EXPECT_EQ(by_hand_.ask("SELECT last_error FROM fleet.worker_queue"), "Ger?t ? 1");
  pass(120'000, 1'000);
  EXPECT_EQ(state("x"), kCompleted);
  OrchestrationStatus none;
  EXPECT_EQ(a->client()->get_status("Ger\xe4t", &none), Status::kNotFound);
  EXPECT_EQ(a->client()->raise_event(std::string_view("x\0", 2), "e", ""), Status::kNotFound);
}

// A machine with no work sends renewals only.
TEST_F(Fleet, IdleMachinesOnlyRenew) {
  start_both();
  pass(60'000);
  const std::int64_t before = number("SELECT seq FROM fleet.meta");
  pass_comparing(650'000);
  const std::int64_t renewals = 2 * 650'000 / 18'000;
  EXPECT_LE(number("SELECT seq FROM fleet.meta") - before, renewals + 8);
}

// ---- space ----

// The tables never shrink here, since nothing vacuums them.
TEST_F(Fleet, AQuotaCountsTheBytesOfRows_NotOfTheirTables) {
  constexpr std::int64_t kQuota = 4'000'000;
  constexpr std::size_t kInputBytes = 5'000;
  std::string input;  // the server would store a text that repeats itself in fewer bytes
  for (std::uint32_t random = 1; input.size() < kInputBytes; random = random * 1664525 + 1013904223)
    input += static_cast<char>('!' + (random >> 24U) % 90);
  ASSERT_EQ(start(a, "a"), Status::kOk);
  TestClient& client = a->client();
  ASSERT_EQ(client->set_quota(kQuota), Status::kOk) << client->error_text();
  std::int64_t accepted = 0;
  Status status = Status::kOk;
  for (int i = 0; i < 2'000 && status == Status::kOk; ++i, ++accepted) {
    status = client->start_orchestration("waits_an_hour", InstanceId(std::to_string(i)), input);
    if (i % 100 == 0) a.work();
  }
  ASSERT_EQ(status, Status::kQuota) << accepted << ": " << client->error_text();
  EXPECT_NEAR(static_cast<double>(accepted) * (kInputBytes + 600), kQuota, kQuota / 5.0);
  for (int i = 0; i < accepted / 2; ++i) {
    ASSERT_EQ(client->delete_instance(std::to_string(i), true), Status::kOk)
        << i << ": " << client->error_text();
    if (i % 100 == 0) a.work();
  }
  pass(10'000);
  EXPECT_GT(number("SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c JOIN "
                   "pg_namespace n ON n.oid=c.relnamespace WHERE n.nspname='fleet' AND "
                   "c.relkind='r'"),
            kQuota);
  Metrics metrics;
  ASSERT_EQ(client->get_metrics(&metrics), Status::kOk);
  EXPECT_NEAR(static_cast<double>(metrics.used_bytes), kQuota / 2.0, kQuota / 5.0);
  EXPECT_EQ(client->start_orchestration("waits_an_hour", InstanceId("more"), input), Status::kOk)
      << client->error_text();
}

}  // namespace
}  // namespace pawl::testing

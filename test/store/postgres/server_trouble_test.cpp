// Goal: a server in trouble loses nothing that it acknowledged, and makes nothing happen twice; all
// goes on when it is back. Method: connections through a proxy that cuts them at a byte, ends of
// connections by the server, rows of another past.
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "pawl/postgres.hpp"
#include "proxy.hpp"
#include "server_beside.hpp"
#include "server_by_hand.hpp"
#include "world.hpp"

namespace pawl::testing {
namespace {

using test::Proxy;
using test::ServerByHand;
using test::Way;

int g_runs = 0;

ActivityResult count(ActivityContext& ctx) {
  ++g_runs;
  return ctx.ok(ctx.input());
}

// Takes messages until "end", with an activity after each.
Poll takes(OrchestrationContext& ctx) {
  std::string all;
  for (;;) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    if (message.value() == "end") return ctx.complete(all);
    PAWL_AWAIT(echoed, ctx.schedule_activity("count", message.value()));
    all += std::string(echoed.value()) + ",";
  }
}

// The bytes between two cuts.
std::int64_t step() { return std::getenv("PAWL_SOAK") == nullptr ? 211 : 7; }

// A gateway whose connections go through a proxy, in a schema that is new.
class ServerTrouble : public ::testing::Test {
 protected:
  ServerTrouble() {
    by_hand_.execute("DROP SCHEMA IF EXISTS trouble CASCADE");
    g_runs = 0;
    own.add("takes", takes);
    own.add("count", count);
    own.start_worker("node");
    own.start("a", "takes");
    own.pass(2'000);
  }
  ~ServerTrouble() override { own.workers.clear(); }

  Worker& worker() { return *own.workers.front(); }
  // The worker sends it; true: it was acknowledged.
  bool enqueue(std::string_view text) {
    return own.answer_of(worker(), [&](Status* answer) {
      return worker().runtime->enqueue_event("a", "q", text, {}, Gateway::keep_answer, answer);
    }) == Status::kOk;
  }
  std::string end() {
    proxy_.heal();
    EXPECT_EQ(own.client()->enqueue_event("a", "q", "end"), Status::kOk)
        << own.client()->error_text();
    return own.end_of("a");
  }
  void end_connections() {
    by_hand_.ask(
        "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid<>pg_backend_pid() AND backend_type='client backend') ended");
  }
  std::size_t logged(std::string_view text) { return worker().lines.count(text); }

  Proxy proxy_{ServerByHand::address()};
  ServerDatabase database_ = postgresql(proxy_.address(), "trouble");
  ServerByHand by_hand_;
  test::OnServer given_{database_};
  Gateway own;
};

void expect_trouble() {
  for (const char* event : {"tick_rolled_back", "busy_tick", "worker_was_buried"})
    expect_errors(event, 0, 1'000);
}

// A worker writes a message with its turn, the start of an activity, and its result.
TEST_F(ServerTrouble, ACutAtAnyByteOfAWorkersBatches_LosesNothingAndDoesNothingTwice) {
  expect_trouble();
  std::string all;
  int cuts = 0;
  for (const Way way : {Way::kToServer, Way::kToClient}) {
    bool reached = true;
    for (std::int64_t bytes = 0; reached; bytes += step()) {
      const std::string text = std::to_string(all.size());
      proxy_.cut_after(way, bytes);
      ASSERT_TRUE(enqueue(text)) << bytes;
      own.pass(1'000);
      reached = proxy_.was_cut();
      proxy_.heal();
      all += text + ",";
      cuts += reached ? 1 : 0;
    }
  }
  EXPECT_GT(cuts, 20);
  EXPECT_EQ(end(), "completed " + all);
}

TEST_F(ServerTrouble, ACutAtAnyByteOfAClientsCall_IsAnsweredTruly) {
  expect_trouble();
  std::string all;
  int refused = 0;
  int cuts = 0;
  for (const Way way : {Way::kToServer, Way::kToClient}) {
    bool reached = true;
    for (std::int64_t bytes = 0; reached; bytes += step()) {
      const std::string text = std::to_string(cuts);
      proxy_.cut_after(way, bytes);
      const Status sent = own.client()->enqueue_event("a", "q", text);
      reached = proxy_.was_cut();
      proxy_.heal();
      cuts += reached ? 1 : 0;
      if (sent == Status::kOk) all += text + ",";
      if (sent != Status::kOk) ++refused;
      ASSERT_TRUE(sent == Status::kOk || sent == Status::kIo) << own.client()->error_text();
      own.pass(1'000);
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(end(), "completed " + all);
}

// The proxy lets no connection back, so it stays unknown what became of the commit.
TEST_F(ServerTrouble, AClientThatCannotComeBack_HearsThatItIsInDoubt) {
  expect_trouble();
  own.client_options.busy_max = std::chrono::milliseconds(100);
  std::string known;
  std::vector<std::string> in_doubt;
  // The answer to the commit is the end of what the server says.
  std::int64_t whole = 0;
  for (std::int64_t before_end = 120; before_end >= 0; before_end -= 10) {
    const std::string text = std::to_string(before_end);
    TestClient by(own.machine, kPath, own.client_options);
    const std::int64_t begun = proxy_.passed();
    if (whole > 0) proxy_.cut_after(Way::kToClient, whole - before_end, true);
    const Status sent = by->enqueue_event("a", "q", text);
    if (whole == 0) whole = proxy_.passed() - begun;
    proxy_.heal();
    if (sent == Status::kOk) known += text + ",";
    if (sent == Status::kInDoubt) in_doubt.push_back(text);
    ASSERT_TRUE(sent == Status::kOk || sent == Status::kIo || sent == Status::kInDoubt);
  }
  EXPECT_FALSE(in_doubt.empty());
  own.client_options.busy_max = std::chrono::milliseconds(5'000);
  std::string got = end();
  for (const std::string& text : in_doubt) {
    const std::size_t at = got.find(text + ",");
    if (at != std::string::npos) got.erase(at, text.size() + 1);
  }
  EXPECT_EQ(got, "completed " + known);
}

// The answer to the worker's commit is lost, and the server is away for a while. All answers of a
// commit come together, in fewer bytes than lie between two cuts; so the place where the batch is
// in doubt is looked for in smaller steps.
TEST_F(ServerTrouble, ABatchInDoubtWaits_AndItsAnswerIsTrue) {
  expect_trouble();
  std::string all;
  std::size_t doubts = 0;
  // True: the call was answered before the server was away.
  const auto cut_at = [&](std::int64_t bytes) {
    const std::string text = std::to_string(bytes);
    Status answer = Status::kTimeout;
    proxy_.cut_after(Way::kToClient, bytes, true);
    EXPECT_EQ(worker().runtime->enqueue_event("a", "q", text, {}, Gateway::keep_answer, &answer),
              Status::kOk);
    own.pass(3'000);
    const bool is_answered = answer != Status::kTimeout;
    EXPECT_TRUE(is_answered || !worker().runtime->ready());
    doubts += !is_answered && logged("batch_in_doubt") > doubts ? 1U : 0U;
    proxy_.heal();
    own.pass(20'000);
    EXPECT_EQ(answer, Status::kOk) << bytes;
    EXPECT_TRUE(worker().runtime->ready());
    all += text + ",";
    return is_answered;
  };
  std::int64_t bytes = 1'055;
  while (!cut_at(bytes))
    bytes += 211;
  for (std::int64_t before = 1; before < 211 && doubts < 2; before += 21)
    cut_at(bytes - before);
  EXPECT_GT(doubts, 0U);
  EXPECT_EQ(end(), "completed " + all);
}

TEST_F(ServerTrouble, AServerThatEndsAllConnections_IsFoundAgain) {
  expect_trouble();
  std::string all;
  for (int i = 0; i < 20; ++i) {
    end_connections();
    ASSERT_TRUE(enqueue(std::to_string(i)));
    all += std::to_string(i) + ",";
  }
  EXPECT_EQ(end(), "completed " + all);
  EXPECT_EQ(g_runs, 20);
}

// F16: half of a batch arrived, and its node is gone; the server does not know it.
TEST_F(ServerTrouble, AHolderOfTheLockThatDoesNothing_IsEnded) {
  ServerByHand holder;
  holder.execute("SET search_path=trouble;BEGIN;SELECT seq FROM meta WHERE id=1 FOR UPDATE");
  // It is watched by the clock of the machine, which here is a real one.
  posix::SystemPort system;
  test::Folder folder;
  ClientOptions options;
  options.database_path = folder.file("a");
  options.database = &database_;
  options.busy_max = std::chrono::seconds(60);
  Client client;
  Block memory(Client::required_memory(options));
  Diagnostic why;
  ASSERT_EQ(
      client.open(shared_process(), options, system.port(), memory.data(), memory.bytes(), why),
      Status::kOk)
      << why.text();
  EXPECT_EQ(client.enqueue_event("a", "q", "x"), Status::kOk) << client.error_text();
  client.close();
  EXPECT_EQ(end(), "completed x,");
}

TEST_F(ServerTrouble, AFullDiskOfTheServer_IsWaitedFor) {
  expect_trouble();
  expect_errors("disk_is_full", 1, 12);  // the waits become longer
  by_hand_.execute(
      "CREATE OR REPLACE FUNCTION public.no_room() RETURNS trigger LANGUAGE plpgsql AS "
      "'BEGIN RAISE EXCEPTION USING ERRCODE=''53100''; END';"
      "CREATE TRIGGER no_room BEFORE INSERT ON trouble.history EXECUTE FUNCTION public.no_room()");
  Status answer = Status::kTimeout;
  ASSERT_EQ(worker().runtime->enqueue_event("a", "q", "x", {}, Gateway::keep_answer, &answer),
            Status::kOk);
  own.pass(20'000);
  EXPECT_FALSE(worker().runtime->ready());
  by_hand_.execute("DROP TRIGGER no_room ON trouble.history");
  own.pass(20'000);
  EXPECT_EQ(answer, Status::kOk);
  EXPECT_TRUE(worker().runtime->ready());
  EXPECT_EQ(end(), "completed x,");
}

// A client that has not written for so long finds its row removed, and nothing is lost.
TEST_F(ServerTrouble, ARowThatWentByItsAge_IsNoLoss) {
  expect_trouble();
  own.client_options.busy_max = std::chrono::milliseconds(100);
  ASSERT_EQ(own.client()->enqueue_event("a", "q", "x"), Status::kOk);
  for (const std::int64_t ms : {std::int64_t{604'700'000}, std::int64_t{604'900'000}}) {
    const bool is_loss = ms < 604'800'000;
    own.machine.advance(ms);
    by_hand_.execute("DELETE FROM trouble.nodes");
    proxy_.cut_after(Way::kToClient, 0);
    OrchestrationStatus status;
    while (!proxy_.was_cut())
      static_cast<void>(own.client()->get_status("a", &status));
    EXPECT_EQ(own.client()->enqueue_event("a", "q", "y"), is_loss ? Status::kIo : Status::kOk)
        << own.client()->error_text();
    if (is_loss) {
      ASSERT_EQ(own.client()->enqueue_event("a", "q", "y"), Status::kOk);
    }
  }
}

// Another program locks a table. A look that fails by that ends, and so does the view of a Client.
TEST_F(ServerTrouble, AViewThatFails_IsOverAndAllGoesOn) {
  expect_trouble();
  ServerByHand other;
  other.execute("BEGIN; LOCK TABLE trouble.instances IN ACCESS EXCLUSIVE MODE");
  OrchestrationStatus status;
  EXPECT_EQ(own.client()->get_status("a", &status), Status::kBusy) << own.client()->error_text();
  Status answer = Status::kTimeout;
  ASSERT_EQ(worker().runtime->enqueue_event("a", "q", "1", {}, Gateway::keep_answer, &answer),
            Status::kOk);
  static_cast<void>(worker().runtime->tick(std::chrono::milliseconds(10)));
  EXPECT_NE(answer, Status::kOk);
  other.execute("COMMIT");
  EXPECT_EQ(own.client()->get_status("a", &status), Status::kOk) << own.client()->error_text();
  own.pass(5'000);
  EXPECT_EQ(answer, Status::kOk);
  EXPECT_EQ(end(), "completed 1,");
}

TEST_F(ServerTrouble, NoAnswerHoldsThePassword) {
  Client client;
  ClientOptions options;
  options.database_path = kPath;
  sim::Node node(own.machine);
  const std::string long_one(400, 'x');
  for (const std::string& address :
       {std::string("host=/nowhere/at/all user=pawl password=secret"),
        std::string("postgresql://pawl:secret@nowhere.invalid/pawl"),
        std::string("postgresql://pawl:secret@[nowhere/pawl"),
        std::string("postgresql://pawl:secret/x@127.0.0.1:1/pawl"),
        std::string("postgresql://pawl:x@secret@127.0.0.1:1/pawl"),
        std::string("postgresql://pawl:x:secret@127.0.0.1:1/pawl"), "password=secret " + long_one,
        proxy_.address() + " password=secret options=--nothing=here"}) {
    const ServerDatabase database = postgresql(address);
    options.database = &database;
    Block memory(Client::required_memory(options));
    Diagnostic why;
    EXPECT_NE(
        client.open(shared_process(), options, node.port(), memory.data(), memory.bytes(), why),
        Status::kOk);
    EXPECT_FALSE(why.text().empty());
    EXPECT_EQ(why.text().find("secret"), std::string_view::npos) << why.text();
  }
}

// F12: a failover to a standby that had not got the last commits.
TEST_F(ServerTrouble, CommitsThatTheServerLost_AreReported) {
  expect_trouble();
  own.options.worker_node_id = "node";
  ASSERT_TRUE(enqueue("x"));
  own.pass(1'000);
  by_hand_.execute("UPDATE trouble.nodes SET number=number-1,committed=committed-1");
  end_connections();
  own.pass(10'000);
  EXPECT_EQ(logged("worker_was_buried"), 1U);
  EXPECT_EQ(logged("has lost commits"), 1U);
  EXPECT_TRUE(enqueue("y"));
  own.forget_client();
  EXPECT_EQ(end(), "completed x,y,");
}

}  // namespace
}  // namespace pawl::testing

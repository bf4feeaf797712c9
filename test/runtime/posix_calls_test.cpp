// Goal: a call of a Client is made by a loop of its process, in one commit with the turn that
// answers it, or by the Client itself; either way it is delivered once and its answer is true.
// Method: a real loop and Clients on threads of their own, over a real file; each message counts.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "folder.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/testing.hpp"
#include "statement_trace.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Block;
using testing::StatementTrace;

std::function<void()> g_in_turn;      // once, in the turn that takes a message
std::function<void()> g_in_activity;  // on the loop's thread

// Answers each message with how many came so far; "refuse" and "end" say what they do.
Poll counts(OrchestrationContext& ctx) {
  int count = 0;
  for (;;) {
    const Handle asked = ctx.dequeue_event("q");
    PAWL_AWAIT(message, asked);
    ++count;
    if (message.value() == "end") return ctx.complete(std::to_string(count));
    if (message.value() == "unanswered") continue;
    if (message.value() == "refuse") {
      static_cast<void>(ctx.refuse(asked, "no"));
      continue;
    }
    static_cast<void>(ctx.reply(asked, std::to_string(count)));
    if (g_in_turn != nullptr) std::exchange(g_in_turn, nullptr)();
  }
}

ActivityResult holds(ActivityContext& ctx) {
  g_in_activity();
  return ctx.ok("");
}

Poll has_activity(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("holds", ""));
  return ctx.complete("");
}

class PosixCalls : public ::testing::Test {
 protected:
  PosixCalls() {
    g_in_turn = g_in_activity = nullptr;
    EXPECT_EQ(registry_.add_orchestration("counts", counts), Status::kOk);
    EXPECT_EQ(registry_.add_orchestration("has_activity", has_activity), Status::kOk);
    EXPECT_EQ(registry_.add_activity("holds", holds), Status::kOk);
    options_.database_path = folder_.file("a.db");
    options_.log = &watch_;
    start();
  }
  ~PosixCalls() override { static_cast<void>(runtime_->stop(seconds(1))); }

  void start() {
    runtime_ = std::make_unique<Runtime>();
    memory_ = std::make_unique<Block>(Runtime::required_memory(options_));
    Diagnostic why;
    EXPECT_EQ(runtime_->start(testing::shared_process(), registry_, options_, port_.port(),
                              memory_->data(), memory_->bytes(), why),
              Status::kOk)
        << why.text();
    EXPECT_EQ(runtime_->start_orchestration("counts", InstanceId("a"), ""), Status::kOk);
    static_cast<void>(runtime_->run_for(milliseconds(1)));
  }

  struct Caller {
    explicit Caller(const std::string& path) {
      options.database_path = path;
      memory = std::make_unique<Block>(Client::required_memory(options));
      Diagnostic why;
      EXPECT_EQ(client.open(testing::shared_process(), options, port.port(), memory->data(),
                            memory->bytes(), why),
                Status::kOk)
          << why.text();
    }
    // The answer, or the status. An empty key: none.
    std::string call(std::string_view text, std::string_view key = "", std::string_view id = "a",
                     milliseconds timeout = seconds(60)) {
      CallAnswer answer;
      SendOptions with;
      if (!key.empty()) with.key = key;
      const Status status = client.call(id, "q", text, timeout, &answer, with);
      if (status != Status::kOk) return status_name(status);
      return (answer.error != ErrorKind::kNone ? "refused " : "") +
             std::string(answer.value.view());
    }

    ClientOptions options;
    posix::SystemPort port;
    std::unique_ptr<Block> memory;
    Client client;
  };

  // Runs each on a thread of its own, and the loop on this one until they have ended.
  void beside_the_loop(const std::vector<std::function<void(Caller&)>>& works,
                       milliseconds run = seconds(60)) {
    std::atomic<std::size_t> left = works.size();
    std::vector<std::thread> threads;
    for (const auto& work : works)
      threads.emplace_back([&] {
        {
          Caller caller(options_.database_path.c_str());
          work(caller);
        }
        --left;
        runtime_->wake();
      });
    const auto is_over = [](void* of) noexcept {
      return *static_cast<std::atomic<std::size_t>*>(of) == 0;
    };
    while (left > 0)
      static_cast<void>(runtime_->run_for(run, is_over, &left));
    for (std::thread& thread : threads)
      thread.join();
  }
  // How many messages the instance has received, by its own count.
  int received() {
    std::string count;
    beside_the_loop({[&](Caller& caller) { count = caller.call("how many"); }});
    return std::stoi(count) - 1;
  }

  test::Folder folder_;
  testing::ErrorWatch watch_;
  posix::SystemPort port_;
  Registry registry_;
  Options options_;
  std::unique_ptr<Block> memory_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(PosixCalls, ACall_IsInTheCommitOfItsAnswer) {
  constexpr int kCalls = 200;
  const StatementTrace trace;
  beside_the_loop({[](Caller& caller) {
    for (int i = 1; i <= kCalls; ++i)
      ASSERT_EQ(caller.call("x"), std::to_string(i));
  }});
  // The trace follows the connection of the Client. A loop that gets no processor for a while
  // leaves calls to it.
  EXPECT_LT(trace.times("INSERT INTO orchestrator_queue", ""), kCalls);
  EXPECT_EQ(received(), kCalls);
}

// The room for requests is for the loop's own thread first. One that does not flush is no loop for
// a Client that does.
TEST_F(PosixCalls, ALoopWithoutRoomOrFlushes_TakesNone) {
  constexpr int kCalls = 20;
  for (const bool flushes : {true, false}) {
    ASSERT_EQ(runtime_->stop(seconds(1)), Status::kOk);
    options_.synchronous_full = flushes;
    options_.limits.requests_max = flushes ? 1 : 64;
    start();
    const StatementTrace trace;
    beside_the_loop({[](Caller& caller) {
      for (int i = 0; i < kCalls; ++i)
        ASSERT_GT(std::atoi(caller.call("x").c_str()), 0);
    }});
    EXPECT_EQ(trace.times("INSERT INTO orchestrator_queue", ""), kCalls);
  }
}

TEST_F(PosixCalls, EachAnswer_IsThatOfACallByTheClientItself) {
  beside_the_loop({[](Caller& caller) {
    EXPECT_EQ(caller.call("x", "one"), "1");
    EXPECT_EQ(caller.call("x", "one"), "1");
    EXPECT_EQ(caller.call("y", "one"), "key_reused");
    EXPECT_EQ(caller.call("refuse"), "refused no");
    EXPECT_EQ(caller.call("x", "", "nothing there"), "not_found");
    EXPECT_EQ(caller.call(std::string(1'000'000, 'x')), "resource_exhausted");
    EXPECT_EQ(caller.call("unanswered", "late", "a", milliseconds(50)), "timeout");
    EXPECT_EQ(caller.call("end", "last"), "stale");
    EXPECT_EQ(caller.call("x", "one"), "1");
    EXPECT_EQ(caller.call("unanswered", "late"), "stale");
    EXPECT_EQ(caller.call("x", "new"), "stale");
  }});
}

// R13.6. Calls are passed, withdrawn and given back at all moments.
TEST_F(PosixCalls, ALoopThatRunsNowAndThen_DeliversEachOnce) {
  constexpr int kCalls = 100;
  const auto work = [](Caller& caller) {
    for (int i = 0; i < kCalls; ++i)
      ASSERT_GT(std::atoi(caller.call("x").c_str()), 0);
  };
  beside_the_loop({work, work, work}, milliseconds(0));
  EXPECT_EQ(received(), 3 * kCalls);
}

// The loop's thread is in an activity, which ends when the call is stored.
TEST_F(PosixCalls, ABusyLoop_LeavesTheCallToItsClient) {
  std::atomic<bool> is_held{false};
  g_in_activity = [&] {
    is_held = true;
    Caller watcher(options_.database_path.c_str());
    InstanceStats stats;
    do {
      ASSERT_EQ(watcher.client.get_instance_stats("a", &stats), Status::kOk);
    } while (stats.messages_waiting == 0);
  };
  ASSERT_EQ(runtime_->start_orchestration("has_activity", InstanceId("b"), ""), Status::kOk);
  beside_the_loop({[&](Caller& caller) {
    while (!is_held)
      std::this_thread::yield();
    EXPECT_EQ(caller.call("x"), "1");
  }});
  EXPECT_EQ(received(), 1);
}

// The loop comes back only when the Client is gone, and finds nothing of it.
TEST_F(PosixCalls, AClientThatIsGone_LeavesNothingWithABusyLoop) {
  std::atomic<bool> is_held{false};
  std::atomic<bool> is_gone{false};
  g_in_activity = [&] {
    is_held = true;
    while (!is_gone)
      std::this_thread::yield();
  };
  ASSERT_EQ(runtime_->start_orchestration("has_activity", InstanceId("b"), ""), Status::kOk);
  beside_the_loop({[&](Caller& caller) {
    while (!is_held)
      std::this_thread::yield();
    EXPECT_EQ(caller.call("x", "", "a", milliseconds(5)), "timeout");
    caller.client.close();
    is_gone = true;
  }});
  EXPECT_LE(received(), 1);
}

// Another process suspends the instance while the turn runs, so the message is stored after all.
TEST_F(PosixCalls, ACallWhoseTurnCannotBeWritten_IsStored) {
  Caller other(options_.database_path.c_str());
  std::atomic<bool> is_suspended{false};
  g_in_turn = [&] {
    EXPECT_EQ(other.client.suspend_instance("a"), Status::kOk);
    is_suspended = true;
  };
  beside_the_loop({[&](Caller& caller) {
    EXPECT_EQ(caller.call("x", "one", "a", milliseconds(200)), "timeout");
    while (!is_suspended)
      std::this_thread::yield();
    EXPECT_EQ(caller.client.resume_instance("a"), Status::kOk);
    EXPECT_EQ(caller.call("x", "one"), "1");
  }});
  EXPECT_EQ(received(), 1);
}

TEST_F(PosixCalls, ALoopThatStops_KeepsNoClientWaiting) {
  std::vector<std::thread> threads;
  std::atomic<int> calls{0};
  std::atomic<bool> is_stopped{false};
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      Caller caller(options_.database_path.c_str());
      while (!is_stopped) {
        static_cast<void>(caller.call("x", "", "a", milliseconds(200)));
        ++calls;
      }
      EXPECT_EQ(caller.call("x", "", "a", milliseconds(1)), "timeout");
    });
  while (calls < 20)
    static_cast<void>(runtime_->run_for(milliseconds(20)));
  runtime_->request_stop();
  EXPECT_EQ(runtime_->run(seconds(10)), Status::kOk);
  is_stopped = true;
  for (std::thread& thread : threads)
    thread.join();
}

// A loop whose storage is in trouble leaves calls to their Clients, which say so; and it does none
// of them when the trouble is over.
TEST_F(PosixCalls, ALoopInTrouble_KeepsNoCall) {
  for (const char* event : {"tick_rolled_back", "disk_is_full"})
    testing::expect_errors(event, 0, 1'000);
  ASSERT_NE(::signal(SIGXFSZ, SIG_IGN), SIG_ERR);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  beside_the_loop({[&](Caller& caller) {
    ASSERT_EQ(caller.call("x"), "1");
    const rlimit none{0, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
    for (int i = 0; i < 10; ++i) {
      const std::string answer = caller.call("x");
      EXPECT_TRUE(answer == "full" || answer == "io") << answer;
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  }});
  EXPECT_EQ(received(), 1);
}

// On a server, two databases may have one path.
TEST_F(PosixCalls, ALoopOfAnotherDatabase_TakesNone) {
  Caller caller(options_.database_path.c_str());
  ASSERT_EQ(runtime_->stop(seconds(1)), Status::kOk);
  const std::string path(options_.database_path.c_str());
  for (const char* part : {"", "-wal", "-shm"})
    ASSERT_EQ(std::rename((path + part).c_str(), (path + ".old" + part).c_str()), 0);
  start();
  std::atomic<bool> is_over{false};
  std::thread thread([&] {
    EXPECT_EQ(caller.call("x", "", "a", milliseconds(200)), "timeout");
    is_over = true;
    runtime_->wake();
  });
  while (!is_over)
    static_cast<void>(runtime_->run_for(milliseconds(5)));
  thread.join();
  InstanceStats stats;
  Caller now(path.c_str());
  ASSERT_EQ(now.client.get_instance_stats("a", &stats), Status::kOk);
  EXPECT_EQ(stats.messages_waiting, 0);
}

}  // namespace
}  // namespace pawl

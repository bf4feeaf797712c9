// Goal: beside clients that write without pause to a real file, other clients and the loop get
// their turn. Method: the calls in between are counted.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "folder.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/testing.hpp"
#include "statement_trace.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::Block;
using testing::StatementTrace;

constexpr int kVictimCalls = 50;
// A turn is one or two calls of the flood; a machine that gives the processor to other programs
// adds some. Without turns the number is many times higher.
constexpr std::uint64_t kFloodCallsEach = 10;

ActivityResult say(ActivityContext& ctx) { return ctx.ok("said"); }

Poll hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("say", ""));
  return ctx.complete(said.value());
}

// Waits for "go", then for the next one in a new execution, and so on until "end".
Poll listens(OrchestrationContext& ctx) {
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  if (event.value() == "end") return ctx.complete(ctx.input());
  return ctx.continue_as_new(std::string(ctx.input()) + std::string(event.value()));
}

// Cancels a wait that has already received an event; the next wait receives that event.
Poll listens_twice(OrchestrationContext& ctx) {
  const Handle event = ctx.schedule_wait("go");
  PAWL_AWAIT_DONE(ctx.dequeue_event("q"));
  ctx.cancel(event);
  PAWL_AWAIT(later, ctx.schedule_wait("go"));
  return ctx.complete(later.value());
}

// A client with a port of its own, for one thread.
class FileClient {
 public:
  // Without a clock it has the system's.
  explicit FileClient(const char* path, std::int64_t busy_ms_max = 5'000,
                      port::Clock* clock = nullptr) {
    options_.database_path = path;
    options_.busy_max = std::chrono::milliseconds(busy_ms_max);
    memory_ = std::make_unique<Block>(Client::required_memory(options_));
    port::Port port = port_.port();
    if (clock != nullptr) port.clock = clock;
    Diagnostic why;
    opened = client_.open(testing::shared_process(), options_, port, memory_->data(),
                          memory_->bytes(), why);
  }
  Client* operator->() { return &client_; }
  Status opened = Status::kOk;

 private:
  ClientOptions options_;
  posix::SystemPort port_;
  std::unique_ptr<Block> memory_;
  Client client_;
};

// A clock that, after the first commit of a Client, waits until the next execution has begun.
class LateClock final : public port::Clock {
 public:
  LateClock(port::Clock& inner, const StatementTrace& trace, FileClient& watcher)
      : inner_(inner), trace_(trace), watcher_(watcher) {}
  std::int64_t boot_ms() override {
    if (trace_.times("COMMIT", "") == 0) return inner_.boot_ms();
    ++calls_after;
    OrchestrationStatus status;
    do {
      EXPECT_EQ(watcher_->get_status("i", &status), Status::kOk);
    } while (status.execution_id == 1);
    return inner_.boot_ms();
  }
  Status open(Diagnostic& diagnostic) override { return inner_.open(diagnostic); }
  std::int64_t wall_ms() override { return inner_.wall_ms(); }
  bool synced() override { return inner_.synced(); }
  port::BootId boot_id() override { return inner_.boot_id(); }
  void random(void* out, std::size_t size) override { inner_.random(out, size); }

  int calls_after = 0;

 private:
  port::Clock& inner_;
  const StatementTrace& trace_;
  FileClient& watcher_;
};

class PosixTurns : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.file("a.db");
    ASSERT_EQ(registry_.add_activity("say", say), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("hello", hello), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("listens", listens), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("listens_twice", listens_twice), Status::kOk);
    options_.database_path = path_;
    options_.log = &watch_;
    memory_ = std::make_unique<Block>(Runtime::required_memory(options_));
    ASSERT_EQ(runtime_.start(testing::shared_process(), registry_, options_, port_.port(),
                             memory_->data(), memory_->bytes(), why_),
              Status::kOk)
        << why_.text();
  }
  void TearDown() override { static_cast<void>(runtime_.stop(std::chrono::seconds(1))); }
  static void* run_flood(void* self) {
    static_cast<PosixTurns*>(self)->flood();
    return nullptr;
  }
  void flood() {
    FileClient client(path_.c_str());
    for (std::uint64_t i = 0; !end_.load(); ++i) {
      const Status status = starts_ ? client->start_orchestration(
                                          "nobody", InstanceId("flood" + std::to_string(i)), "")
                                    : client->raise_event("nobody", "event", "");
      if (status != (starts_ ? Status::kOk : Status::kNotFound)) refused_.fetch_add(1);
      calls_.fetch_add(1);
    }
  }
  static void* run_victim(void* self) {
    static_cast<PosixTurns*>(self)->victim();
    return nullptr;
  }
  void victim() {
    FileClient client(path_.c_str());
    while (calls_.load() < 10) {
    }
    const std::uint64_t before = calls_.load();
    for (int i = 0; i < kVictimCalls; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const Status status =
          client->start_orchestration("hello", InstanceId("hello" + std::to_string(i)), "");
      const auto took = std::chrono::steady_clock::now() - begin;
      if (took > longest_) longest_ = took;
      if (status == Status::kOk) ++answered_;
    }
    between_ = calls_.load() - before;
    done_.store(true);
  }
  // One client floods, one calls, and the loop runs the orchestrations that were started.
  void run(bool starts) {
    starts_ = starts;
    pthread_t flood;
    pthread_t victim;
    ASSERT_EQ(::pthread_create(&flood, nullptr, run_flood, this), 0);
    ASSERT_EQ(::pthread_create(&victim, nullptr, run_victim, this), 0);
    std::uint64_t busy = 0;
    std::uint64_t at_start = 0;
    while (!done_.load() ||
           runtime_.stats().orchestrations_completed < static_cast<std::uint64_t>(answered_)) {
      if (done_.load() && at_start == 0) at_start = calls_.load();
      const Result<bool> more = runtime_.tick(std::chrono::milliseconds(50));
      ASSERT_TRUE(more.ok());
      if (!more.value()) static_cast<void>(::usleep(200));
    }
    const std::uint64_t after = at_start == 0 ? 0 : calls_.load() - at_start;
    busy = runtime_.stats().busy_ticks;
    end_.store(true);
    ::pthread_join(flood, nullptr);
    ::pthread_join(victim, nullptr);
    std::printf(
        "flood calls beside %d calls: %llu, then until all completed: %llu; longest call "
        "%.1f ms, busy ticks %llu\n",
        kVictimCalls, static_cast<unsigned long long>(between_),
        static_cast<unsigned long long>(after),
        std::chrono::duration<double, std::milli>(longest_).count(),
        static_cast<unsigned long long>(busy));
    EXPECT_EQ(answered_, kVictimCalls);
    EXPECT_EQ(refused_.load(), 0U);
    EXPECT_EQ(busy, 0U);
    if (!starts) return;  // refused calls take no lock
    EXPECT_LT(between_, kFloodCallsEach * kVictimCalls);
    EXPECT_LT(after, kFloodCallsEach * kVictimCalls);
  }

  // Runs the work on a thread of its own, and the loop on this one.
  void beside_the_loop(const std::function<void(FileClient&)>& work) {
    struct Call {
      const std::function<void(FileClient&)>* work;
      PosixTurns* test;
    } call{&work, this};
    pthread_t thread;
    ASSERT_EQ(::pthread_create(
                  &thread, nullptr,
                  [](void* given) -> void* {
                    auto* const mine = static_cast<Call*>(given);
                    FileClient client(mine->test->path_.c_str());
                    (*mine->work)(client);
                    mine->test->done_.store(true);
                    return nullptr;
                  },
                  &call),
              0);
    while (!done_.load()) {
      const Result<bool> more = runtime_.tick(std::chrono::milliseconds(50));
      EXPECT_TRUE(more.ok());
      if (!more.value()) static_cast<void>(::usleep(200));
    }
    ::pthread_join(thread, nullptr);
  }

  test::Folder folder_;
  std::string path_;
  Registry registry_;
  testing::ErrorWatch watch_;
  Options options_;
  posix::SystemPort port_;
  std::unique_ptr<Block> memory_;
  Runtime runtime_;
  Diagnostic why_;
  bool starts_ = false;
  int answered_ = 0;
  std::uint64_t between_ = 0;
  std::chrono::steady_clock::duration longest_ = {};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<bool> done_{false};
  std::atomic<bool> end_{false};
};

TEST_F(PosixTurns, beside_a_client_whose_calls_are_all_refused) { run(false); }

// The starts that are accepted name an orchestration that is not registered.
TEST_F(PosixTurns, beside_a_client_that_starts_all_it_can) {
  pawl::testing::expect_errors("orchestration_unregistered", 0, 1);
  run(true);
}

// Rules: R7.4.
TEST_F(PosixTurns, who_offers_an_event_learns_whether_a_wait_received_it) {
  beside_the_loop([](FileClient& client) {
    constexpr std::chrono::seconds kLong(60);
    bool received = true;
    EXPECT_EQ(client->offer_event("i", "go", "x", kLong, &received), Status::kNotFound);
    EXPECT_FALSE(received);
    EXPECT_EQ(client->start_orchestration("listens", InstanceId("i"), ""), Status::kOk);
    EXPECT_EQ(client->offer_event("i", "go", "a", kLong, &received), Status::kOk);
    EXPECT_TRUE(received) << "its turn ended the execution";
    EXPECT_EQ(client->offer_event("i", "other", "b", kLong, &received), Status::kOk);
    EXPECT_FALSE(received);
    EXPECT_EQ(client->offer_event("i", "go", "c", kLong, &received), Status::kOk);
    EXPECT_TRUE(received);
    EXPECT_EQ(client->offer_event("i", "go", "end", kLong, &received), Status::kOk);
    EXPECT_TRUE(received);
    OrchestrationStatus status;
    EXPECT_EQ(client->get_status("i", &status), Status::kOk);
    EXPECT_EQ(status.output, "ac");
    EXPECT_EQ(client->offer_event("i", "go", "x", kLong, &received), Status::kStale);
    EXPECT_FALSE(received);
  });
  EXPECT_EQ(runtime_.stats().messages_dropped, 1U);
}

// Rules: R7.4.
TEST_F(PosixTurns, an_offer_that_was_received_is_not_lost_with_its_wait) {
  beside_the_loop([](FileClient& client) {
    bool received = false;
    EXPECT_EQ(client->start_orchestration("listens_twice", InstanceId("i"), ""), Status::kOk);
    EXPECT_EQ(client->offer_event("i", "go", "kept", std::chrono::seconds(60), &received),
              Status::kOk);
    EXPECT_TRUE(received);
    EXPECT_EQ(client->enqueue_event("i", "q", ""), Status::kOk);
    OrchestrationStatus status;
    EXPECT_EQ(client->wait_for_orchestration("i", std::chrono::seconds(60), &status), Status::kOk);
    EXPECT_EQ(status.output, "kept");
  });
}

// The bell of the answer is thrown away with that of the Client's own commit. The answer is found
// all the same, at the first look.
TEST_F(PosixTurns, an_answer_that_came_before_the_wait_is_not_waited_for) {
  beside_the_loop([this](FileClient& watcher) {
    EXPECT_EQ(watcher->start_orchestration("listens", InstanceId("i"), ""), Status::kOk);
    const StatementTrace trace(StatementTrace::Follows::kFirst);
    LateClock clock(*port_.port().clock, trace, watcher);
    FileClient client(path_.c_str(), 5'000, &clock);
    ASSERT_EQ(client.opened, Status::kOk);
    bool received = false;
    EXPECT_EQ(client->offer_event("i", "go", "a", std::chrono::seconds(60), &received),
              Status::kOk);
    EXPECT_TRUE(received);
    EXPECT_EQ(clock.calls_after, 1) << "it asked for the time again, so it has slept";
  });
}

// A refused call is answered without the write lock, which another connection holds here.
TEST_F(PosixTurns, a_call_that_is_refused_again_waits_for_no_other) {
  FileClient client(path_.c_str(), 10);
  ASSERT_EQ(client.opened, Status::kOk);
  ASSERT_EQ(client->start_orchestration("hello", InstanceId("there"), ""), Status::kOk);
  ASSERT_EQ(client->raise_event("nobody", "event", ""), Status::kNotFound);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(client->raise_event("nobody", "event", ""), Status::kNotFound);
  EXPECT_EQ(client->enqueue_event("nobody", "queue", ""), Status::kNotFound);
  EXPECT_EQ(client->cancel_instance("nobody", ""), Status::kNotFound);
  EXPECT_EQ(client->start_orchestration("hello", InstanceId("there"), ""), Status::kAlreadyExists);
  EXPECT_EQ(client->start_orchestration("hello", InstanceId("new"), ""), Status::kBusy);
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_EQ(client->start_orchestration("hello", InstanceId("new"), ""), Status::kOk);
}

// A caller that comes again for its answer writes nothing.
TEST_F(PosixTurns, a_call_that_was_made_before_waits_for_no_other) {
  FileClient client(path_.c_str(), 10);
  ASSERT_EQ(client.opened, Status::kOk);
  ASSERT_EQ(client->start_orchestration("hello", InstanceId("there"), ""), Status::kOk);
  CallAnswer answer;
  const auto call = [&](const char* key) {
    SendOptions options;
    options.key = key;
    return client->call("there", "q", "x", std::chrono::milliseconds(0), &answer, options);
  };
  ASSERT_EQ(call("k"), Status::kTimeout);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(call("k"), Status::kTimeout) << "known, and not answered yet";
  EXPECT_EQ(call("other"), Status::kBusy);
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
}

// One of two connections of a process holds the turn at a time; a killed process no longer holds
// it.
TEST_F(PosixTurns, one_at_a_time_and_none_of_the_dead) {
  port::Storage& storage = *port_.port().storage;
  const auto first = storage.turn_open(path_.c_str());
  const auto second = storage.turn_open(path_.c_str());
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(storage.turn_take(first.value()), Status::kOk);
  EXPECT_EQ(storage.turn_take(second.value()), Status::kBusy);
  storage.turn_give(first.value());
  EXPECT_EQ(storage.turn_take(second.value()), Status::kOk);
  storage.turn_give(second.value());
  int ready[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto third = storage.turn_open(path_.c_str());
    const bool took = third.ok() && storage.turn_take(third.value()) == Status::kOk;
    if (::write(ready[1], took ? "y" : "n", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_EQ(storage.turn_take(first.value()), Status::kBusy);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(storage.turn_take(first.value()), Status::kOk);
  storage.turn_close(first.value());
  storage.turn_close(second.value());
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace pawl

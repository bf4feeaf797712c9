// A Runtime in a host's own loop, using only its descriptor, tick() and next_due(); a Client on
// another thread.
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "folder.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/testing.hpp"

namespace pawl {
namespace {

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

Poll nap(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(50)));
  return answer.ok() ? ctx.complete(answer.value()) : ctx.fail(answer.error());
}

class Embedding : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.file("host.db");
    ASSERT_EQ(process_.start(ProcessOptions(), memory_.data(), memory_.bytes(), diagnostic_),
              Status::kOk)
        << diagnostic_.text();
    ASSERT_EQ(registry_.add_orchestration("nap", nap), Status::kOk);
    ASSERT_EQ(registry_.add_activity("echo", echo, ActivityMode::kThreaded), Status::kOk);
    options_.database_path = path_;
    options_.log = &watch_;
  }
  void TearDown() override { EXPECT_EQ(process_.stop(), Status::kOk); }

  test::Folder folder_;
  std::string path_;
  testing::Block memory_{Process::required_memory(ProcessOptions())};
  Process process_;
  Registry registry_;
  testing::ErrorWatch watch_;
  Options options_;
  Diagnostic diagnostic_;
};

TEST_F(Embedding, host_loop_needs_the_descriptor_alone) {
  posix::SystemPort port;
  testing::Block memory(Runtime::required_memory(options_));
  Runtime runtime;
  ASSERT_EQ(runtime.start(process_, registry_, options_, port.port(), memory.data(), memory.bytes(),
                          diagnostic_),
            Status::kOk)
      << diagnostic_.text();
  std::atomic<bool> done{false};
  std::string output;
  std::thread other([&] {
    posix::SystemPort client_port;
    ClientOptions given;
    given.database_path = path_;
    testing::Block client_memory(Client::required_memory(given));
    Client client;
    Diagnostic diagnostic;
    ASSERT_EQ(client.open(process_, given, client_port.port(), client_memory.data(),
                          client_memory.bytes(), diagnostic),
              Status::kOk)
        << diagnostic.text();
    ASSERT_EQ(client.start_orchestration("nap", InstanceId("a"), "from another thread"),
              Status::kOk);
    OrchestrationStatus status;
    EXPECT_EQ(client.wait_for_orchestration("a", std::chrono::seconds(20), &status), Status::kOk);
    output = std::string(status.output);
    done = true;
    runtime.wake();
  });
  // No time-out drives the loop: all due work must make the descriptor readable.
  bool more = true;
  while (!done) {
    if (!more) {
      pollfd wanted = {runtime.fd(), POLLIN, 0};
      ASSERT_GE(poll(&wanted, 1, 30'000), 1) << "the descriptor did not say that work is due";
    }
    const Result<bool> ticked = runtime.tick(std::chrono::milliseconds(20));
    ASSERT_TRUE(ticked.ok());
    more = ticked.value();
  }
  other.join();
  EXPECT_EQ(output, "from another thread");
  EXPECT_EQ(runtime.stop(std::chrono::seconds(1)), Status::kOk);
}

// The memory that Process::required_memory() asks for is enough for all connections it was given.
TEST_F(Embedding, sqlites_memory_suffices_for_every_connection) {
  constexpr int kCount = 4;  // the same as ProcessOptions().connections_max
  struct One {
    posix::SystemPort port;
    std::unique_ptr<testing::Block> memory;
    Runtime runtime;
  } all[kCount];
  for (One& one : all) {
    one.memory = std::make_unique<testing::Block>(Runtime::required_memory(options_));
    ASSERT_EQ(one.runtime.start(process_, registry_, options_, one.port.port(), one.memory->data(),
                                one.memory->bytes(), diagnostic_),
              Status::kOk)
        << diagnostic_.text();
  }
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(all[i % kCount].runtime.start_orchestration("nap",
                                                          InstanceId("i" + std::to_string(i)), "x"),
              Status::kOk);
  std::uint64_t completed = 0;
  while (completed < 200) {
    completed = 0;
    for (One& one : all) {
      ASSERT_TRUE(one.runtime.tick(std::chrono::milliseconds(20)).ok());
      completed += one.runtime.stats().orchestrations_completed;
    }
  }
  const MemoryUse use = process_.memory_use();
  EXPECT_EQ(use.failures, 0U);
  RecordProperty("sqlite_heap_high_water", static_cast<int>(use.high_water));
  std::printf("SQLite's heap: %zu bytes at most of %zu given\n", use.high_water, memory_.bytes());
}

Runtime* g_runtime = nullptr;

TEST_F(Embedding, request_stop_from_a_signal_handler_ends_run) {
  posix::SystemPort port;
  testing::Block memory(Runtime::required_memory(options_));
  Runtime runtime;
  ASSERT_EQ(runtime.start(process_, registry_, options_, port.port(), memory.data(), memory.bytes(),
                          diagnostic_),
            Status::kOk);
  g_runtime = &runtime;
  std::signal(SIGALRM, [](int) { g_runtime->request_stop(); });
  alarm(1);
  EXPECT_EQ(runtime.run(std::chrono::seconds(1)), Status::kOk);
  std::signal(SIGALRM, SIG_DFL);
  EXPECT_TRUE(runtime.stop_requested());
}

TEST_F(Embedding, two_runtimes_on_two_files_in_one_loop) {
  posix::SystemPort first_port;
  posix::SystemPort second_port;
  const std::string other_path = folder_.file("other.db");
  Options other = options_;
  other.database_path = other_path;
  testing::Block first_memory(Runtime::required_memory(options_));
  testing::Block second_memory(Runtime::required_memory(other));
  Runtime first;
  Runtime second;
  ASSERT_EQ(first.start(process_, registry_, options_, first_port.port(), first_memory.data(),
                        first_memory.bytes(), diagnostic_),
            Status::kOk);
  ASSERT_EQ(second.start(process_, registry_, other, second_port.port(), second_memory.data(),
                         second_memory.bytes(), diagnostic_),
            Status::kOk);
  ASSERT_EQ(first.start_orchestration("nap", InstanceId("a"), "1"), Status::kOk);
  ASSERT_EQ(second.start_orchestration("nap", InstanceId("a"), "2"), Status::kOk);
  bool more = true;
  while (first.stats().orchestrations_completed + second.stats().orchestrations_completed < 2) {
    if (!more) {
      pollfd wanted[] = {{first.fd(), POLLIN, 0}, {second.fd(), POLLIN, 0}};
      ASSERT_GE(poll(wanted, 2, 30'000), 1);
    }
    const Result<bool> one = first.tick(std::chrono::milliseconds(20));
    const Result<bool> two = second.tick(std::chrono::milliseconds(20));
    ASSERT_TRUE(one.ok() && two.ok());
    more = one.value() || two.value();
  }
  OrchestrationStatus status;
  ASSERT_EQ(first.get_status("a", &status), Status::kOk);
  EXPECT_EQ(status.output, "1");
  ASSERT_EQ(second.get_status("a", &status), Status::kOk);
  EXPECT_EQ(status.output, "2");
}

}  // namespace
}  // namespace pawl

// Memory that fits: the options determine what start() asks for, less is refused by name, and with
// exactly that much the largest load of these options runs to its end.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "folder.hpp"
#include "pawl/host.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/testing.hpp"

namespace pawl {
namespace {

constexpr std::size_t kKiB = 1024;

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

// Uses everything that the options bound: payloads in and out, a value, an event, a timer.
Poll everything(OrchestrationContext& ctx) {
  if (ctx.set_kv_value("k", ctx.input()) != ErrorKind::kNone) return ctx.fail("kv");
  PAWL_AWAIT(event, ctx.schedule_wait("go"));
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", event.value()));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(1)));
  return answer.ok() ? ctx.complete(answer.value()) : ctx.fail(answer.error());
}

// Runs two activities at a time on threads, each with its own result.
Poll two_on_threads(OrchestrationContext& ctx) {
  const auto a = ctx.schedule_activity("on_thread", std::string(256, 'a'));
  const auto b = ctx.schedule_activity("on_thread", std::string(256, 'b'));
  PAWL_AWAIT(first, a);
  PAWL_AWAIT(second, b);
  const bool is_right = first.ok() && second.ok() && first.value() == std::string(256, 'a') &&
                        second.value() == std::string(256, 'b');
  return is_right ? ctx.complete("") : ctx.fail("the result of another");
}

struct Given {
  const char* name;
  ProcessOptions process;
  Options runtime;
};

Given smallest() { return {"smallest", ProcessOptions::smallest(), Options::smallest()}; }
Given small() { return {"small", ProcessOptions::small(), Options::small()}; }
Given standard() {
  const HostOptions host;
  return {"default", host.process, host.runtime};
}

class MemoryFits : public ::testing::TestWithParam<Given (*)()> {
 protected:
  void SetUp() override {
    given_.process.sqlite_memory = SqliteMemory::kOwn;
    given_.runtime.database_path = folder_.file("host.db");
    given_.runtime.log = &watch_;
    ASSERT_EQ(registry_.add_orchestration("everything", everything), Status::kOk);
    ASSERT_EQ(registry_.add_activity("echo", echo), Status::kOk);
  }
  void TearDown() override { EXPECT_EQ(process_.stop(), Status::kOk); }
  void start_process() {
    ASSERT_EQ(process_.start(given_.process, for_sqlite_.data(), for_sqlite_.bytes(), diagnostic_),
              Status::kOk)
        << diagnostic_.text();
  }
  Status start(Runtime& runtime, std::size_t less = 0) {
    return runtime.start(process_, registry_, given_.runtime, port_.port(), for_pawl_.data(),
                         for_pawl_.bytes() - less, diagnostic_);
  }
  // Runs the loop in short slices until `done`; the loop's own sleeps pass the time.
  template <typename Done>
  void run_until(Runtime& runtime, Done&& done) {
    for (int round = 0; round < 4'000 && !done(); ++round)
      static_cast<void>(runtime.run_for(std::chrono::milliseconds(5)));
    EXPECT_TRUE(done()) << given_.name << ": " << runtime.error_text();
  }

  testing::ErrorWatch watch_;
  Given given_ = GetParam()();
  test::Folder folder_;
  testing::Block for_sqlite_{Process::required_memory(given_.process)};
  testing::Block for_pawl_{[this] {
    Options options = given_.runtime;
    options.database_path = "any";
    return Runtime::required_memory(options);
  }()};
  posix::SystemPort port_;
  Process process_;
  Registry registry_;
  Diagnostic diagnostic_;
};

INSTANTIATE_TEST_SUITE_P(Options, MemoryFits, ::testing::Values(smallest, small, standard),
                         [](const auto& at) { return std::string(at.param().name); });

TEST_P(MemoryFits, OneByteLessIsRefusedByName) {
  EXPECT_EQ(
      process_.start(given_.process, for_sqlite_.data(), for_sqlite_.bytes() - 1, diagnostic_),
      Status::kResourceExhausted);
  const std::string sqlite = std::to_string(for_sqlite_.bytes());
  EXPECT_EQ(diagnostic_.text(), "Process::start() was given " +
                                    std::to_string(for_sqlite_.bytes() - 1) + " bytes and needs " +
                                    sqlite);
  start_process();
  Runtime runtime;
  EXPECT_EQ(start(runtime, 1), Status::kResourceExhausted);
  EXPECT_NE(diagnostic_.text().find("Runtime::start()"), std::string_view::npos);
  EXPECT_NE(diagnostic_.text().find(std::to_string(for_pawl_.bytes())), std::string_view::npos);
}

// Ids, payloads, values and events have the largest size; there are more instances than a batch
// takes.
TEST_P(MemoryFits, TheLargestLoadRunsToItsEnd) {
  start_process();
  Runtime runtime;
  ASSERT_EQ(start(runtime), Status::kOk) << diagnostic_.text();
  const std::size_t failures = process_.memory_use().failures;
  const std::string payload(given_.runtime.limits.payload_bytes_max, 'p');
  const std::string value(std::min(payload.size(), given_.runtime.limits.warm_bytes / 4 - 1), 'v');
  const std::uint64_t count = 2 * given_.runtime.limits.batch + 3;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string id = std::to_string(i);
    id.resize(kNameBytesMax, '-');
    Status asked = Status::kResourceExhausted;
    run_until(runtime, [&] {
      if (asked != Status::kOk)
        asked = runtime.start_orchestration("everything", InstanceId(id), value);
      return asked == Status::kOk;
    });
    asked = Status::kResourceExhausted;
    run_until(runtime, [&] {
      if (asked != Status::kOk) asked = runtime.raise_event(id, "go", payload);
      return asked == Status::kOk;
    });
  }
  run_until(runtime, [&] { return runtime.stats().orchestrations_completed == count; });
  EXPECT_EQ(runtime.stats().orchestrations_failed, 0U);
  EXPECT_EQ(process_.memory_use().failures, failures) << given_.name;
  EXPECT_EQ(process_.memory_use().from_host, 0U);
  RecordProperty("sqlite_heap_high_water", static_cast<int>(process_.memory_use().high_water));
  EXPECT_EQ(runtime.stop(std::chrono::seconds(1)), Status::kOk);
}

TEST_P(MemoryFits, ResultsOfThreadsStayApart) {
  if (given_.runtime.slots.threads < 2) GTEST_SKIP() << "one result at a time";
  ASSERT_EQ(registry_.add_orchestration("two", two_on_threads), Status::kOk);
  ASSERT_EQ(registry_.add_activity("on_thread", echo, ActivityMode::kThreaded), Status::kOk);
  start_process();
  Runtime runtime;
  ASSERT_EQ(start(runtime), Status::kOk) << diagnostic_.text();
  constexpr std::uint64_t kCount = 40;
  for (std::uint64_t i = 0; i < kCount; ++i)
    ASSERT_EQ(runtime.start_orchestration("two", InstanceId(std::to_string(i)), ""), Status::kOk);
  run_until(runtime, [&] {
    const RuntimeStats& stats = runtime.stats();
    return stats.orchestrations_completed + stats.orchestrations_failed == kCount;
  });
  EXPECT_EQ(runtime.stats().orchestrations_failed, 0U);
  EXPECT_EQ(runtime.stop(std::chrono::seconds(1)), Status::kOk);
}

// One more connection would take memory that was promised to the others.
TEST_P(MemoryFits, OneConnectionMoreIsRefusedByName) {
  start_process();
  Runtime runtime;
  ASSERT_EQ(start(runtime), Status::kOk) << diagnostic_.text();
  ClientOptions of_client;
  of_client.database_path = given_.runtime.database_path;
  of_client.payload_bytes_max = given_.process.payload_bytes_max;
  testing::Block memory(Client::required_memory(of_client));
  posix::SystemPort port;
  Client client;
  EXPECT_EQ(
      client.open(process_, of_client, port.port(), memory.data(), memory.bytes(), diagnostic_),
      Status::kResourceExhausted);
  EXPECT_NE(diagnostic_.text().find("connections_max = 1"), std::string_view::npos)
      << diagnostic_.text();
  EXPECT_EQ(runtime.stop(std::chrono::seconds(1)), Status::kOk);
  EXPECT_EQ(
      client.open(process_, of_client, port.port(), memory.data(), memory.bytes(), diagnostic_),
      Status::kOk)
      << "a place that was given back: " << diagnostic_.text();
  client.close();
}

TEST_P(MemoryFits, MoreNamesThanAreCountedAreRefused) {
  start_process();
  given_.runtime.limits.activities_max = 1;
  ASSERT_EQ(registry_.add_activity("second", echo), Status::kOk);
  Runtime runtime;
  EXPECT_EQ(start(runtime), Status::kInvalidOptions);
  EXPECT_NE(diagnostic_.text().find("activities_max"), std::string_view::npos);
}

// Bytes in those pages of an anonymous mapping that were ever touched.
std::size_t touched_bytes(void* block, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  if (::mincore(block, bytes, pages.data()) != 0) return SIZE_MAX;
  std::size_t touched = 0;
  for (const unsigned char one : pages)
    touched += (one & 1U) != 0 ? page : 0;
  return touched;
}

// Memory planned beyond what is used is not written at the start, so it stays out of RAM.
TEST_P(MemoryFits, WhatIsNotUsedIsNotTouched) {
  start_process();
  const std::size_t bytes = for_pawl_.bytes();
  void* const block =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  {
    Runtime runtime;
    ASSERT_EQ(
        runtime.start(process_, registry_, given_.runtime, port_.port(), block, bytes, diagnostic_),
        Status::kOk);
    EXPECT_LE(touched_bytes(block, bytes), 768 * kKiB) << given_.name << " of " << bytes;
    std::printf("%s: %zu bytes touched at the start\n", given_.name, touched_bytes(block, bytes));
    EXPECT_EQ(runtime.stop(std::chrono::seconds(1)), Status::kOk);
  }
  ::munmap(block, bytes);
}

std::size_t bytes_of(Given given) {
  given.runtime.database_path = "any";
  return Process::required_memory(given.process) + Runtime::required_memory(given.runtime);
}

// The figures of docs/performance/growth.md. To raise one is a decision; its reason goes there.
TEST(MemoryNeeded, HasUpperBounds) {
  constexpr bool kIsWide = sizeof(void*) == 8;
  EXPECT_LE(bytes_of(smallest()), (kIsWide ? 304U : 224U) * kKiB);
  EXPECT_LE(bytes_of(small()), (kIsWide ? 736U : 640U) * kKiB);
  EXPECT_LE(bytes_of(standard()), (kIsWide ? 4'608U : 4'300U) * kKiB);
  for (const Given& given : {smallest(), small(), standard()})
    std::printf("%s: %zu bytes\n", given.name, bytes_of(given));
}

// Twice the number costs the places of so many more, and nothing else.
TEST(MemoryNeeded, IsThatOfEachPlace) {
  Given given = smallest();
  given.runtime.limits.devices_max = 16;
  const std::size_t once = bytes_of(given);
  given.runtime.limits.devices_max *= 2;
  const std::size_t twice = bytes_of(given);
  given.runtime.limits.devices_max *= 2;
  EXPECT_EQ(bytes_of(given) - twice, 2 * (twice - once));
  EXPECT_GE(twice - once, 16 * kNameBytesMax);
  EXPECT_LE(twice - once, 16 * (kNameBytesMax + 48));

  given = smallest();
  given.runtime.limits.workers_max = 8;
  const std::size_t few = bytes_of(given);
  given.runtime.limits.workers_max *= 2;
  const std::size_t more = bytes_of(given);
  given.runtime.limits.workers_max *= 2;
  EXPECT_EQ(bytes_of(given) - more, 2 * (more - few));
  // The place of a worker, and of the leases of it that are watched.
  EXPECT_GE(more - few, 8 * (kNameBytesMax + 4 * std::size_t{40}));
}

// Each option takes memory, so a lower number must take less.
TEST(MemoryNeeded, FollowsFromTheOptions) {
  const Given given = standard();
  const auto of = [&](auto&& change) {
    Given less = given;
    change(less);
    return bytes_of(less);
  };
  const std::size_t all = bytes_of(given);
  EXPECT_LT(of([](Given& to) { to.process.statement_bytes /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.process.page_cache_pages /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.process.payload_bytes_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.batch /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.instance_batch_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.requests_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.payload_bytes_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.commands_a_turn_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.traces_a_turn_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.orchestrations_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.activities_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.notices_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.workers_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.devices_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.queue_messages_max /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.warm_instances /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.limits.warm_bytes /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.slots.inline_activities /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.slots.threads /= 2; }), all);
  EXPECT_LT(of([](Given& to) { to.runtime.slots.cooperative /= 2; }), all);
}

}  // namespace
}  // namespace pawl

// Goal: after start, Pawl's threads never call malloc, including inside SQLite and cJSON; and the
// host does not pay for it: it may use SQLite, cJSON and malloc as it likes. Method: this program
// defines malloc itself (test/shim/alloc_count.cpp) and counts the calls of every thread except the
// host's. Bodies of user activities are counted apart. Each case runs in a child process, since
// SQLite's configuration holds for the whole process.
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "alloc_count.hpp"
#include "folder.hpp"
#include "gtest/gtest.h"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/testing.hpp"
#include "pawl/visit.hpp"

namespace {

using pawl::Status;
using std::chrono::milliseconds;

constexpr std::int64_t kPatienceMs = 20'000;

template <typename Body>
void in_child(Body body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

// ---- counting ----

void count_from_here() {
  with_alloc_counters([](const AllocCounter& counter) { counter.begin(); });
}

AllocCounts counts_so_far() {
  AllocCounts counts;
  with_alloc_counters([&](const AllocCounter& counter) {
    counter.end();
    counter.read(&counts);
  });
  return counts;
}

void expect_none(const AllocCounts& counts) {
  EXPECT_EQ(counts.calls, 0U);
  EXPECT_EQ(counts.frees, 0U);
}

// ---- the work ----

std::atomic<int> bodies{0};

void* volatile kept = nullptr;  // volatile, so that no compiler removes the pair of calls
void allocate_once() {
  kept = std::malloc(64);
  std::free(kept);
}

pawl::ActivityResult echo(pawl::ActivityContext& ctx) {
  const AllocBody body;
  bodies.fetch_add(1);
  return ctx.ok(ctx.input());
}
pawl::ActivityResult refuse(pawl::ActivityContext& ctx) {
  const AllocBody body;
  bodies.fetch_add(1);
  return ctx.fail("refused");
}
pawl::ActivityResult allocate_in_body(pawl::ActivityContext& ctx) {
  const AllocBody body;
  bodies.fetch_add(1);
  allocate_once();
  return ctx.ok("");
}
// Allocates as if Pawl itself had done it.
pawl::ActivityResult allocate_outside_of_body(pawl::ActivityContext& ctx) {
  bodies.fetch_add(1);
  allocate_once();
  return ctx.ok("");
}

pawl::Poll hello(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(greeting, ctx.schedule_activity("echo", ctx.input()));
  if (!greeting.ok()) return ctx.fail(greeting.error());
  return ctx.complete(greeting.value());
}

// Work of every kind, in two executions.
constexpr int kBodiesOfEverything = 2 * 3 * 4;
// First waits for time, then for a descriptor that never becomes readable.
struct Steps {
  int done = 0;
};
pawl::ActivityStep echo_in_steps(pawl::ActivityContext& ctx, Steps& steps) {
  static const int silent = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  switch (steps.done++) {
    case 0: return ctx.again_after(std::chrono::milliseconds(1));
    case 1: return ctx.when_readable(silent, std::chrono::milliseconds(1));
    default: return ctx.ok(ctx.input());
  }
}

pawl::Poll everything(pawl::OrchestrationContext& ctx) {
  // Few sessions, so that one worker can own them: an idle session stays with its owner.
  const std::string_view session = ctx.instance_id().substr(ctx.instance_id().size() - 1);
  const pawl::Guid guid = ctx.new_guid();
  static_cast<void>(ctx.utc_now_ms());
  ctx.trace(pawl::LogLevel::kInfo, guid.view());
  if (ctx.set_kv_value("input", ctx.input()) != pawl::ErrorKind::kNone) return ctx.fail("no room");
  PAWL_AWAIT(stored, ctx.get_kv_value_from_instance(ctx.instance_id(), "input"));
  if (!stored.ok() || stored.value() != ctx.get_kv_value("input")) return ctx.fail("not stored");
  PAWL_AWAIT(none, ctx.try_dequeue_event("nothing"));
  if (none.error().kind != pawl::ErrorKind::kNotFound) return ctx.fail("a message");
  for (int i = 0; i < 3; ++i) {
    const pawl::Handle plain = ctx.schedule_activity("echo", guid.view());
    const pawl::Handle blocking = ctx.schedule_activity("echo_blocking", ctx.input());
    const pawl::Handle stepping = ctx.schedule_activity("echo_in_steps", ctx.input());
    const pawl::Handle failing = ctx.schedule_activity("refuse", "");
    const pawl::Handle timer = ctx.schedule_timer(milliseconds(2));
    PAWL_AWAIT(pinned, ctx.schedule_activity("echo", "x", pawl::Target::session(session)));
    PAWL_AWAIT(first, plain);
    PAWL_AWAIT(second, blocking);
    PAWL_AWAIT(stepped, stepping);
    PAWL_AWAIT(third, failing);
    PAWL_AWAIT_DONE(timer);
    if (!pinned.ok() || first.value() != guid.view() || second.value() != ctx.input() ||
        stepped.value() != ctx.input() || third.error().kind != pawl::ErrorKind::kApplication) {
      return ctx.fail("wrong result");
    }
  }
  if (ctx.execution_id() == 1) return ctx.continue_as_new("again");
  return ctx.complete("done");
}

pawl::Poll wait_for_ever(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(24)));
  return ctx.fail("cancelled");
}

pawl::Poll allocating(pawl::OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), ""));
  return done.ok() ? ctx.complete("") : ctx.fail(done.error());
}

void fill(pawl::Registry& registry) {
  using pawl::ActivityMode;
  const Status all[] = {
      registry.add_activity("echo", echo),
      registry.add_activity("echo_blocking", echo, ActivityMode::kThreaded),
      registry.add_cooperative("echo_in_steps", echo_in_steps),
      registry.add_activity("refuse", refuse),
      registry.add_activity("in_body", allocate_in_body),
      registry.add_activity("in_body_blocking", allocate_in_body, ActivityMode::kThreaded),
      registry.add_activity("outside", allocate_outside_of_body),
      registry.add_activity("outside_blocking", allocate_outside_of_body, ActivityMode::kThreaded),
      registry.add_orchestration("hello", hello),
      registry.add_orchestration("everything", everything),
      registry.add_orchestration("wait_for_ever", wait_for_ever),
      registry.add_orchestration("allocating", allocating),
  };
  for (const Status status : all)
    ASSERT_EQ(status, Status::kOk);
}

// ---- a Process and its Runtimes ----

class OwnProcess {
 public:
  OwnProcess() {
    const pawl::ProcessOptions options;
    const std::size_t bytes = pawl::Process::required_memory(options);
    block_ = std::make_unique<unsigned char[]>(bytes);
    pawl::Diagnostic diagnostic;
    EXPECT_EQ(process_.start(options, block_.get(), bytes, diagnostic), Status::kOk)
        << diagnostic.text();
  }
  [[nodiscard]] pawl::Process& get() const { return process_; }

 private:
  std::unique_ptr<unsigned char[]> block_;
  mutable pawl::Process process_;
};

// All that one loop needs. start(), run() and stop() are called on one thread.
class Gateway {
 public:
  explicit Gateway(const std::string& database)
      : database_(database),
        null_(::open("/dev/null", O_WRONLY | O_CLOEXEC)),
        log_(null_, pawl::LogLevel::kDebug) {
    fill(registry_);
    options_.database_path = database_;
    options_.log = &watch_;
    options_.slots.threads = 2;
    bytes_ = pawl::Runtime::required_memory(options_);
    block_ = std::make_unique<unsigned char[]>(bytes_);
  }
  ~Gateway() { ::close(null_); }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  void start(pawl::Process& process) {
    pawl::Diagnostic diagnostic;
    ASSERT_EQ(runtime_.start(process, registry_, options_, port_.port(), block_.get(), bytes_,
                             diagnostic),
              Status::kOk)
        << diagnostic.text();
  }
  // The test itself allocates nothing in here.
  Status run(bool (*until)(void*) noexcept, void* user) {
    return runtime_.run_for(std::chrono::milliseconds(kPatienceMs), until, user);
  }
  void stop() {
    EXPECT_EQ(runtime_.stop(std::chrono::seconds(5)), Status::kOk) << runtime_.error_text();
  }
  pawl::Runtime& runtime() { return runtime_; }
  [[nodiscard]] std::uint64_t ended() const {
    return runtime_.stats().orchestrations_completed + runtime_.stats().orchestrations_failed;
  }

 private:
  std::string database_;
  int null_;
  pawl::posix::FdLogSink log_;
  pawl::testing::ErrorWatch watch_{&log_};
  pawl::Registry registry_;
  pawl::Options options_;
  std::size_t bytes_ = 0;
  std::unique_ptr<unsigned char[]> block_;
  pawl::posix::SystemPort port_;
  pawl::Runtime runtime_;
};

struct Goal {
  const Gateway* gateway;
  std::uint64_t ended;
  const std::atomic<bool>* also = nullptr;

  static bool reached(void* self) noexcept {
    const auto* here = static_cast<Goal*>(self);
    return here->gateway->ended() >= here->ended && (here->also == nullptr || here->also->load());
  }
};

// ---- nothing allocates ----

// A thread with a Client. Between `go` and `done` it runs only Pawl.
class ClientThread {
 public:
  ClientThread(pawl::Process& process, const std::string& database)
      : process_(process), database_(database), thread_([this] { run(); }) {
    while (!ready_.load())
      std::this_thread::yield();
  }
  ~ClientThread() {
    may_end_.store(true);
    thread_.join();
  }
  ClientThread(const ClientThread&) = delete;
  ClientThread& operator=(const ClientThread&) = delete;
  void go() { go_.store(true); }
  [[nodiscard]] const std::atomic<bool>& done() const { return done_; }
  [[nodiscard]] Status status() const { return status_; }

 private:
  void run() {
    pawl::ClientOptions options;
    options.database_path = database_;
    const std::size_t bytes = pawl::Client::required_memory(options);
    const auto block = std::make_unique<unsigned char[]>(bytes);
    pawl::posix::SystemPort port;
    pawl::Client client;
    pawl::Diagnostic diagnostic;
    status_ = client.open(process_, options, port.port(), block.get(), bytes, diagnostic);
    ready_.store(true);
    wait_for(go_);
    if (status_ == Status::kOk) status_ = use(client);
    done_.store(true);
    wait_for(may_end_);
  }
  static void wait_for(const std::atomic<bool>& flag) {
    while (!flag.load())
      ::usleep(1'000);
  }
  static Status use(pawl::Client& client) {
    pawl::OrchestrationStatus seen;
    for (const char* id : {"c1", "c2", "c3"})
      PAWL_TRY(client.start_orchestration("everything", pawl::InstanceId(id), "{}"));
    PAWL_TRY(client.start_orchestration("wait_for_ever", pawl::InstanceId("c4"), ""));
    for (const char* id : {"c1", "c2", "c3"})
      PAWL_TRY(client.wait_for_orchestration(id, std::chrono::milliseconds(kPatienceMs), &seen));
    if (client.start_orchestration("hello", pawl::InstanceId("c1"), "") != Status::kAlreadyExists) {
      return Status::kInvalidArgument;
    }
    PAWL_TRY(client.cancel_instance("c4", "enough"));
    PAWL_TRY(client.wait_for_orchestration("c4", std::chrono::milliseconds(kPatienceMs), &seen));
    if (client.get_status("nobody", &seen) != Status::kNotFound) return Status::kInvalidArgument;
    return client.get_status("c4", &seen);
  }

  pawl::Process& process_;
  std::string database_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> go_{false};
  std::atomic<bool> done_{false};
  std::atomic<bool> may_end_{false};
  Status status_ = Status::kOk;
  std::thread thread_;
};

constexpr int kInstances =
    100;  // started by the Runtime's own calls; a fifth of them do everything

void start_some(Gateway& gateway, int first) {
  for (int i = first; i < first + kInstances; ++i) {
    char id[16];
    std::snprintf(id, sizeof(id), "r%d", i);
    ASSERT_EQ(gateway.runtime().start_orchestration(i % 5 == 0 ? "everything" : "hello",
                                                    pawl::InstanceId(id), "world"),
              Status::kOk);
  }
}
constexpr int kBodiesOfSome = kInstances / 5 * kBodiesOfEverything + kInstances / 5 * 4;

void run_all_and_count() {
  const pawl::test::Folder folder;
  OwnProcess process;
  Gateway gateway(folder.file("pawl.db"));
  gateway.start(process.get());
  ClientThread client(process.get(), folder.file("pawl.db"));
  Goal goal = {&gateway, kInstances + 4, &client.done()};

  count_from_here();
  client.go();
  start_some(gateway, 0);
  const Status ran = gateway.run(Goal::reached, &goal);
  const AllocCounts counts = counts_so_far();

  EXPECT_EQ(ran, Status::kOk) << pawl::status_name(ran);
  EXPECT_EQ(client.status(), Status::kOk) << pawl::status_name(client.status());
  expect_none(counts);
  EXPECT_EQ(counts.body_calls, 0U);
  EXPECT_EQ(gateway.runtime().stats().orchestrations_completed, kInstances + 3U);
  EXPECT_EQ(gateway.runtime().stats().orchestrations_failed, 1U);  // the cancelled one
  EXPECT_EQ(bodies.load(), kBodiesOfSome + 3 * kBodiesOfEverything);
  EXPECT_EQ(process.get().memory_use().failures, 0U);
  gateway.stop();
}

TEST(Alloc, FullRunOfEverything_CallsMallocNever) { in_child(run_all_and_count); }

#if ALLOC_COUNTED  // a sanitizer's malloc cannot be counted this way

AllocCounts count_one(const char* activity) {
  const pawl::test::Folder folder;
  OwnProcess process;
  Gateway gateway(folder.file("pawl.db"));
  gateway.start(process.get());
  Goal goal = {&gateway, 1};
  count_from_here();
  const Status started =
      gateway.runtime().start_orchestration("allocating", pawl::InstanceId("one"), activity);
  const Status ran = gateway.run(Goal::reached, &goal);
  const AllocCounts counts = counts_so_far();
  EXPECT_EQ(started, Status::kOk);
  EXPECT_EQ(ran, Status::kOk);
  EXPECT_EQ(bodies.load(), 1);
  gateway.stop();
  return counts;
}

TEST(Alloc, OneDeliberateMallocOutsideOfBodies_IsCounted) {
  for (const char* activity : {"outside", "outside_blocking"}) {
    in_child([&] {
      const AllocCounts counts = count_one(activity);
      EXPECT_EQ(counts.calls, 1U) << activity;
      EXPECT_EQ(counts.frees, 1U) << activity;
      EXPECT_EQ(counts.body_calls, 0U) << activity;
      EXPECT_EQ(counts.threads, 1U) << activity;
    });
  }
}

TEST(Alloc, OneDeliberateMallocInABody_IsCountedApart) {
  for (const char* activity : {"in_body", "in_body_blocking"}) {
    in_child([&] {
      const AllocCounts counts = count_one(activity);
      expect_none(counts);
      EXPECT_EQ(counts.body_calls, 1U) << activity;
      EXPECT_EQ(counts.body_frees, 1U) << activity;
    });
  }
}

#endif

// ---- the host ----

std::atomic<int> host_json_mallocs{0};
void* host_json_malloc(std::size_t size) {
  host_json_mallocs.fetch_add(1);
  return std::malloc(size);
}

// Uses malloc, its own cJSON and SQLite as it likes, until end() is called.
class HostThread {
 public:
  HostThread() : thread_([this] { run(); }) {
    while (rounds_.load() == 0)
      std::this_thread::yield();
  }
  ~HostThread() { EXPECT_GT(end(), 0); }
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;
  int end() {
    end_.store(true);
    if (thread_.joinable()) thread_.join();
    return failed_.load() ? -1 : rounds_.load();
  }

 private:
  void run() {
    with_alloc_counters([](const AllocCounter& counter) { counter.exclude(true); });
    sqlite3* database = nullptr;
    bool well =
        ::sqlite3_open(":memory:", &database) == SQLITE_OK &&
        ::sqlite3_exec(database, "CREATE TABLE t(a)", nullptr, nullptr, nullptr) == SQLITE_OK;
    while (well && !end_.load()) {
      const std::string text = R"({"round":)" + std::to_string(rounds_.load()) + "}";
      cJSON* json = ::cJSON_Parse(text.c_str());
      char* printed = ::cJSON_PrintUnformatted(json);
      well = printed != nullptr && text == printed &&
             ::sqlite3_exec(database, "INSERT INTO t VALUES(1)", nullptr, nullptr, nullptr) ==
                 SQLITE_OK;
      ::cJSON_free(printed);
      ::cJSON_Delete(json);
      rounds_.fetch_add(1);
      ::usleep(500);
    }
    ::sqlite3_close(database);
    failed_.store(!well);
    rounds_.fetch_add(1);
  }

  std::atomic<bool> end_{false};
  std::atomic<bool> failed_{false};
  std::atomic<int> rounds_{0};
  std::thread thread_;
};

TEST(AllocHost, WithItsOwnThreadsSqliteAndCjson_IsLeftAlone) {
  in_child([] {
    cJSON_Hooks hooks = {host_json_malloc, std::free};
    ::cJSON_InitHooks(&hooks);
    const pawl::test::Folder folder;
    OwnProcess process;
    Gateway gateway(folder.file("pawl.db"));
    gateway.start(process.get());
    HostThread host;
    Goal goal = {&gateway, kInstances};
    count_from_here();
    start_some(gateway, 0);
    const Status ran = gateway.run(Goal::reached, &goal);
    const AllocCounts counts = counts_so_far();
    EXPECT_EQ(ran, Status::kOk);
    expect_none(counts);
    EXPECT_EQ(gateway.runtime().stats().orchestrations_completed,
              static_cast<std::uint64_t>(kInstances));
    gateway.stop();
    EXPECT_GT(host.end(), 1);
    // Only the host's calls used the host's hooks: after the host has gone the hooks are not
    // called.
    const int before = host_json_mallocs.load();
    EXPECT_GT(before, 0);
    Gateway again(folder.file("pawl.db"));
    again.start(process.get());
    Goal once_more = {&again, kInstances};
    start_some(again, kInstances);
    EXPECT_EQ(again.run(Goal::reached, &once_more), Status::kOk);
    again.stop();
    EXPECT_EQ(host_json_mallocs.load(), before);
  });
}

TEST(AllocHost, ThatOpenedSqliteFirst_IsReportedAndCanKeepItsAllocator) {
  in_child([] {
    sqlite3* hosts = nullptr;
    ASSERT_EQ(::sqlite3_open(":memory:", &hosts), SQLITE_OK);
    pawl::ProcessOptions options;
    options.sqlite_memory = pawl::SqliteMemory::kOwn;
    const std::size_t bytes = pawl::Process::required_memory(options);
    const auto block = std::make_unique<unsigned char[]>(bytes);
    pawl::Process process;
    pawl::Diagnostic diagnostic;
    EXPECT_EQ(process.start(options, block.get(), bytes, diagnostic),
              Status::kSqliteAlreadyInitialised);
    EXPECT_NE(diagnostic.text().find("sqlite_memory = host"), std::string_view::npos)
        << diagnostic.text();
    EXPECT_FALSE(process.started());

    const pawl::ProcessOptions shared;
    ASSERT_EQ(process.start(shared, block.get(), bytes, diagnostic), Status::kOk)
        << diagnostic.text();
    EXPECT_EQ(process.memory_use().used, 0U) << "SQLite keeps what it had";
    EXPECT_EQ(process.stop(), Status::kOk);

    options.sqlite_memory = pawl::SqliteMemory::kHost;
    EXPECT_EQ(pawl::Process::required_memory(options), 0U);
    ASSERT_EQ(process.start(options, nullptr, 0, diagnostic), Status::kOk) << diagnostic.text();
    {
      HostThread host;
      const pawl::test::Folder folder;
      Gateway gateway(folder.file("pawl.db"));
      gateway.start(process);
      Goal goal = {&gateway, kInstances};
      start_some(gateway, 0);
      EXPECT_EQ(gateway.run(Goal::reached, &goal), Status::kOk);
      EXPECT_EQ(gateway.runtime().stats().orchestrations_completed,
                static_cast<std::uint64_t>(kInstances));
      gateway.stop();
    }
    EXPECT_EQ(process.stop(), Status::kOk);
    // A connection that the host opened before is still the host's.
    EXPECT_EQ(::sqlite3_exec(hosts, "CREATE TABLE t(a)", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_EQ(::sqlite3_close(hosts), SQLITE_OK);
  });
}

// Memory that the host takes beyond the block comes from the host's own allocator, and Pawl works
// beside it.
TEST(AllocHost, ThatFillsTheBlock_IsRefusedNothing) {
  in_child([] {
    const OwnProcess own;
    sqlite3* hosts = nullptr;
    ASSERT_EQ(::sqlite3_open(":memory:", &hosts), SQLITE_OK);
    ASSERT_EQ(::sqlite3_exec(hosts,
                             "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT"
                             " i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT zeroblob(1000)"
                             " FROM n",
                             nullptr, nullptr, nullptr),
              SQLITE_OK)
        << ::sqlite3_errmsg(hosts);
    EXPECT_GT(own.get().memory_use().from_host, 10'000'000U);
    const pawl::test::Folder folder;
    Gateway gateway(folder.file("pawl.db"));
    gateway.start(own.get());
    Goal goal = {&gateway, kInstances};
    start_some(gateway, 0);
    EXPECT_EQ(gateway.run(Goal::reached, &goal), Status::kOk);
    gateway.stop();
    EXPECT_EQ(own.get().memory_use().failures, 0U);
    EXPECT_EQ(::sqlite3_close(hosts), SQLITE_OK);
    EXPECT_EQ(own.get().memory_use().from_host, 0U);
  });
}

// ---- a small block ----

// A connection may ask for any number of cache pages. Pages beyond its part of the slots would come
// from the heap, until a statement found no room there.
TEST(AllocSmall, CacheOfAConnection_LeavesTheHeapAlone) {
  in_child([] {
    const pawl::test::Folder folder;
    pawl::ProcessOptions small;
    small.sqlite_memory = pawl::SqliteMemory::kOwn;
    small.connections_max = 1;
    small.page_cache_pages = 64;
    const std::size_t bytes = pawl::Process::required_memory(small);
    const auto block = std::make_unique<unsigned char[]>(bytes);
    pawl::Process process;
    pawl::Diagnostic diagnostic;
    ASSERT_EQ(process.start(small, block.get(), bytes, diagnostic), Status::kOk);
    pawl::ClientOptions options;
    const std::string database = folder.file("pawl.db");
    options.database_path = database;
    options.synchronous_full = false;
    options.cache_pages = 65'536;
    const std::size_t client_bytes = pawl::Client::required_memory(options);
    const auto client_block = std::make_unique<unsigned char[]>(client_bytes);
    pawl::posix::SystemPort port;
    pawl::Client client;
    ASSERT_EQ(
        client.open(process, options, port.port(), client_block.get(), client_bytes, diagnostic),
        Status::kOk)
        << diagnostic.text();
    // This is three times as much as the block holds.
    const std::string input(16'000, 'x');
    for (int i = 0; i < 200; ++i) {
      const std::string id = "i" + std::to_string(i);
      ASSERT_EQ(client.start_orchestration("hello", pawl::InstanceId(id), input), Status::kOk)
          << i << ": " << client.error_text();
    }
    pawl::InstanceFilter all;
    pawl::Page page;
    int seen = 0;
    auto count = pawl::visit([&seen](const pawl::InstanceInfo&) { ++seen; });
    do {
      ASSERT_EQ(client.list_instances(all, &page, count), Status::kOk);
    } while (page.more);
    EXPECT_EQ(seen, 200);
    EXPECT_EQ(process.memory_use().failures, 0U);
    EXPECT_LT(process.memory_use().high_water, 512U * 1024);
    client.close();
  });
}

// Memory for rows with large payloads belongs to the process. A client or runtime that takes larger
// payloads is refused at its start.
TEST(AllocSmall, PayloadsTheProcessHasNoMemoryFor_AreRefusedAtTheOpening) {
  in_child([] {
    const pawl::test::Folder folder;
    pawl::ProcessOptions small;
    small.sqlite_memory = pawl::SqliteMemory::kOwn;
    small.connections_max = 1;
    small.payload_bytes_max = 255;
    pawl::Process process;
    pawl::Diagnostic diagnostic;
    EXPECT_EQ(process.start(small, nullptr, 0, diagnostic), Status::kInvalidOptions);
    small.payload_bytes_max = (1 << 20) + 1;
    EXPECT_EQ(process.start(small, nullptr, 0, diagnostic), Status::kInvalidOptions);
    small.payload_bytes_max = 4'096;
    const std::size_t bytes = pawl::Process::required_memory(small);
    EXPECT_LT(bytes + 3 * (std::size_t{1} << 20),
              pawl::Process::required_memory(pawl::ProcessOptions()));
    const auto block = std::make_unique<unsigned char[]>(bytes);
    ASSERT_EQ(process.start(small, block.get(), bytes, diagnostic), Status::kOk);
    const std::string database = folder.file("pawl.db");
    pawl::ClientOptions options;
    options.database_path = database;
    options.payload_bytes_max = 4'097;
    const std::size_t client_bytes = pawl::Client::required_memory(options);
    const auto client_block = std::make_unique<unsigned char[]>(client_bytes);
    pawl::posix::SystemPort port;
    pawl::Client client;
    EXPECT_EQ(
        client.open(process, options, port.port(), client_block.get(), client_bytes, diagnostic),
        Status::kInvalidOptions);
    EXPECT_NE(diagnostic.text().find("4097 is more than the 4096"), std::string_view::npos)
        << diagnostic.text();
    pawl::Options wanted;
    wanted.database_path = database;
    pawl::Runtime runtime;
    EXPECT_EQ(runtime.start(process, pawl::Registry(), wanted, port.port(), nullptr, 0, diagnostic),
              Status::kInvalidOptions);
    options.payload_bytes_max = 4'096;
    EXPECT_EQ(
        client.open(process, options, port.port(), client_block.get(), client_bytes, diagnostic),
        Status::kOk)
        << diagnostic.text();
    client.close();
  });
}

// ---- two runtimes in one process ----

// A loop on its own thread. Between `go` and `done` the thread runs only Pawl.
class LoopThread {
 public:
  LoopThread(pawl::Process& process, const std::string& database, int first,
             std::atomic<int>* ended_of_all, int goal)
      : process_(process),
        gateway_(database),
        first_(first),
        ended_of_all_(ended_of_all),
        goal_(goal),
        thread_([this] { run(); }) {
    while (!ready_.load())
      std::this_thread::yield();
  }
  // The other loop must look at the common count again when this loop has reached it.
  void set_peer(LoopThread* peer) { peer_ = peer; }
  void go() { go_.store(true); }
  void wait_until_done() {
    while (!done_.load())
      ::usleep(1'000);
  }
  void join() {
    may_end_.store(true);
    thread_.join();
  }
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] std::uint64_t ended() const { return ended_here_; }

 private:
  void run() {
    gateway_.start(process_);
    ready_.store(true);
    while (!go_.load())
      ::usleep(1'000);
    start_some(gateway_, first_);
    status_ = gateway_.run(all_ended, this);
    done_.store(true);
    while (!may_end_.load())
      ::usleep(1'000);
    gateway_.stop();
  }
  static bool all_ended(void* self) noexcept {
    auto* here = static_cast<LoopThread*>(self);
    const std::uint64_t ended = here->gateway_.ended();
    here->ended_of_all_->fetch_add(static_cast<int>(ended - here->ended_here_));
    here->ended_here_ = ended;
    const bool all = here->ended_of_all_->load() >= here->goal_;
    if (all) here->peer_->gateway_.runtime().wake();
    return all;
  }

  pawl::Process& process_;
  Gateway gateway_;
  int first_;
  std::atomic<int>* ended_of_all_;
  int goal_;
  LoopThread* peer_ = nullptr;
  std::atomic<bool> ready_{false};
  std::atomic<bool> go_{false};
  std::atomic<bool> done_{false};
  std::atomic<bool> may_end_{false};
  std::uint64_t ended_here_ = 0;
  Status status_ = Status::kOk;
  std::thread thread_;
};

void run_two(const std::string& one, const std::string& other, bool same_file) {
  OwnProcess process;
  std::atomic<int> of_first{0};
  std::atomic<int> of_second{0};
  std::atomic<int>* second = same_file ? &of_first : &of_second;
  const int goal = same_file ? 2 * kInstances : kInstances;
  LoopThread a(process.get(), one, 0, &of_first, goal);
  LoopThread b(process.get(), other, kInstances, second, goal);
  a.set_peer(&b);
  b.set_peer(&a);
  count_from_here();
  a.go();
  b.go();
  a.wait_until_done();
  b.wait_until_done();
  const AllocCounts counts = counts_so_far();
  a.join();
  b.join();
  EXPECT_EQ(a.status(), Status::kOk) << pawl::status_name(a.status());
  EXPECT_EQ(b.status(), Status::kOk) << pawl::status_name(b.status());
  EXPECT_EQ(a.ended() + b.ended(), 2U * kInstances);
  EXPECT_EQ(bodies.load(), 2 * kBodiesOfSome);
  expect_none(counts);
}

TEST(AllocTwoRuntimes, OnTwoFiles_DoNotMeet) {
  in_child([] {
    const pawl::test::Folder folder;
    run_two(folder.file("one.db"), folder.file("two.db"), false);
  });
}

TEST(AllocTwoRuntimes, OnOneFile_ShareTheWork) {
  in_child([] {
    const pawl::test::Folder folder;
    run_two(folder.file("pawl.db"), folder.file("pawl.db"), true);
  });
}

}  // namespace

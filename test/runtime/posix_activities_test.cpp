// Goal: activities work on the real machine, with real descriptors, real threads, and a Client in
// each kind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "folder.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/session_cache.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::Block;

// Ends a test that hangs; no other result depends on it.
constexpr std::int64_t kGuardMs = 60'000;

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void put(char byte) const { EXPECT_EQ(::write(ends[1], &byte, 1), 1); }
  int ends[2] = {-1, -1};
};

// Collects three bytes, and sleeps in each wait.
struct Three {
  std::size_t size = 0;
  char bytes[3] = {};
  int waits = 0;
};
std::atomic<int> g_waits{0};

ActivityStep read_three(ActivityContext& ctx, Three& state) {
  const int fd = static_cast<Pipe*>(ctx.user())->ends[0];
  while (state.size < sizeof state.bytes) {
    if (::read(fd, state.bytes + state.size, 1) == 1) {
      ++state.size;
      continue;
    }
    g_waits.store(++state.waits);
    return ctx.when_readable(fd, std::chrono::milliseconds(kGuardMs));
  }
  return ctx.ok({state.bytes, state.size});
}

ActivityStep wait_for_a_file(ActivityContext& ctx, Three&) {
  return ctx.when_readable(*static_cast<int*>(ctx.user()), std::chrono::milliseconds(kGuardMs));
}

ActivityStep hung_up(ActivityContext& ctx, Three& state) {
  if (state.waits++ == 0)
    return ctx.when_readable(*static_cast<int*>(ctx.user()), std::chrono::milliseconds(kGuardMs));
  return ctx.ok(ctx.is_readable() ? "hung up" : "silent");
}

// Starts an instance and waits for its end, on a thread of the pool.
ActivityResult ask_another(ActivityContext& ctx) {
  Client& client = *static_cast<Client*>(ctx.user());
  if (client.start_orchestration("answer", InstanceId("other"), "42") != Status::kOk)
    return ctx.fail("start");
  OrchestrationStatus status;
  if (client.wait_for_orchestration("other", std::chrono::milliseconds(kGuardMs), &status) !=
      Status::kOk)
    return ctx.fail("wait");
  return ctx.ok(status.output);
}

// Waits on the loop's thread, where the loop would wait for itself.
ActivityResult ask_on_the_loop(ActivityContext& ctx) {
  Client& client = *static_cast<Client*>(ctx.user());
  if (client.start_orchestration("answer", InstanceId("other"), "42") != Status::kOk)
    return ctx.fail("start");
  OrchestrationStatus status;
  const Status waited =
      client.wait_for_orchestration("other", std::chrono::milliseconds(kGuardMs), &status);
  return ctx.ok(status_name(waited));
}

// Checks that a client never sees mixed letters: the activity beats as fast as it can, each time
// with one letter repeated.
class OneLetter final : public ActivityVisitor {
 public:
  void on_activity(const ActivityInfo& one) noexcept override {
    if (one.last_progress.empty()) return;
    seen = true;
    torn =
        torn || one.last_progress.find_first_not_of(one.last_progress[0]) != std::string_view::npos;
  }
  bool seen = false;
  bool torn = false;
};

ActivityResult beat(ActivityContext& ctx) {
  Client& client = *static_cast<Client*>(ctx.user());
  char letters[kProgressBytesMax];
  OneLetter visitor;
  for (int i = 0; !visitor.seen || i < 10'000; ++i) {
    const std::size_t size = 1 + static_cast<std::size_t>(i) % sizeof letters;
    std::memset(letters, 'a' + i % 26, size);
    if (ctx.heartbeat({letters, size}) != Status::kOk) return ctx.fail("heartbeat");
    if (i % 1'000 == 0 && client.list_activities("a", visitor) != Status::kOk)
      return ctx.fail("list");
    if (ctx.is_cancelled()) return ctx.fail("cancelled");
  }
  return visitor.torn ? ctx.fail("torn") : ctx.ok("whole");
}

// A state that several threads share; no thread may use it when it ends.
struct Shared {
  Shared() { made.fetch_add(1); }
  ~Shared() {
    in_use_at_the_end = in_use_at_the_end || users.load() != 0;
    ended.fetch_add(1);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::atomic<int> users{0};
  static inline std::atomic<int> made{0};
  static inline std::atomic<int> ended{0};
  static inline std::atomic<bool> in_use_at_the_end{false};
};
using SharedCache = SessionCache<Shared, 2>;

ActivityResult share(ActivityContext& ctx) {
  auto& cache = *static_cast<SharedCache*>(ctx.user());
  for (int times = 0; times < 200 && !ctx.is_cancelled();) {
    const SharedCache::Lease lease = cache.acquire(ctx);
    if (lease) {  // otherwise both places are in use by others
      ++times;
      lease->users.fetch_add(1);
      std::this_thread::yield();
      lease->users.fetch_sub(1);
    } else {
      std::this_thread::yield();
    }
  }
  return ctx.ok("");
}

Poll share_all(OrchestrationContext& ctx) {
  Handle all[12];
  const char* const sessions[] = {"s", "t", "u"};
  for (std::size_t i = 0; i < 12; ++i)
    all[i] = ctx.schedule_activity("share", "", Target::session(sessions[i % 3]));
  PAWL_AWAIT_DONE(ctx.join_all(all, 12));
  return ctx.complete("");
}

// Ends only after four activities of other sessions have ended.
std::atomic<int> g_others{0};
ActivityResult wait_for_others(ActivityContext& ctx) {
  while (g_others.load() < 4 && !ctx.is_cancelled())
    std::this_thread::yield();
  return ctx.ok("");
}
ActivityResult count_me(ActivityContext& ctx) {
  g_others.fetch_add(1);
  return ctx.ok("");
}

Poll slow_among_others(OrchestrationContext& ctx) {
  const Handle slow = ctx.schedule_activity("wait_for_others", "", Target::session("slow"));
  const Handle behind = ctx.schedule_activity("count_me", "", Target::session("slow"));
  for (const char* session : {"a", "b", "c", "d"})
    PAWL_AWAIT_DONE(ctx.schedule_activity("count_me", "", Target::session(session)));
  PAWL_AWAIT_DONE(ctx.join(slow, behind));
  return ctx.complete("none was held up");
}

// No activity ends before all have come.
struct Meeting {
  std::mutex mutex;
  std::condition_variable all_came;
  unsigned came = 0;
};
ActivityResult meet_all(ActivityContext& ctx) {
  auto& meeting = *static_cast<Meeting*>(ctx.user());
  std::unique_lock<std::mutex> lock(meeting.mutex);
  if (++meeting.came == port::kThreadsMax) meeting.all_came.notify_all();
  const bool met = meeting.all_came.wait_for(lock, std::chrono::milliseconds(kGuardMs),
                                             [&] { return meeting.came == port::kThreadsMax; });
  return met ? ctx.ok("") : ctx.fail("alone");
}
Poll meet(OrchestrationContext& ctx) {
  Handle all[port::kThreadsMax];
  for (Handle& one : all)
    one = ctx.schedule_activity("meet", "");
  PAWL_AWAIT(done, ctx.join_all(all, port::kThreadsMax));
  return done.ok() ? ctx.complete("all met") : ctx.fail(done.error());
}

Poll answer(OrchestrationContext& ctx) { return ctx.complete(ctx.input()); }

Poll call(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity(ctx.input(), ""));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

class PosixActivities : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.file("a.db");
    options_.database_path = path_;
    options_.log = &watch_;
    ASSERT_EQ(registry_.add_orchestration("call", call), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("answer", answer), Status::kOk);
    g_waits.store(0);
  }
  void TearDown() override { static_cast<void>(runtime_.stop(std::chrono::milliseconds(0))); }
  void start() {
    memory_ = std::make_unique<Block>(Runtime::required_memory(options_));
    ASSERT_EQ(runtime_.start(testing::shared_process(), registry_, options_, port_.port(),
                             memory_->data(), memory_->bytes(), why_),
              Status::kOk)
        << why_.text();
  }
  void open(Client& client, posix::SystemPort& port, std::unique_ptr<Block>& memory) {
    ClientOptions options;
    options.database_path = path_;
    memory = std::make_unique<Block>(Client::required_memory(options));
    ASSERT_EQ(client.open(testing::shared_process(), options, port.port(), memory->data(),
                          memory->bytes(), why_),
              Status::kOk)
        << why_.text();
  }
  // Starts "a" and runs until it has ended.
  std::string output_of(const char* activity, const char* orchestration = "call") {
    EXPECT_EQ(runtime_.start_orchestration(orchestration, InstanceId("a"), activity), Status::kOk);
    const auto is_over = [](void* self) noexcept {
      auto* here = static_cast<PosixActivities*>(self);
      return here->runtime_.get_status("a", &here->status_) == Status::kOk &&
             here->status_.state != OrchestrationState::kRunning;
    };
    EXPECT_EQ(runtime_.run_for(std::chrono::milliseconds(kGuardMs), is_over, this), Status::kOk);
    return std::string(status_.output);
  }

  test::Folder folder_;
  std::string path_;
  testing::ErrorWatch watch_;
  Options options_;
  Registry registry_;
  posix::SystemPort port_;
  std::unique_ptr<Block> memory_;
  Runtime runtime_;
  OrchestrationStatus status_;
  Diagnostic why_;
};

TEST_F(PosixActivities, a_pipe_wakes_the_step_that_waits_for_it) {
  Pipe pipe;
  ASSERT_EQ(registry_.add_cooperative("read_three", read_three, &pipe), Status::kOk);
  start();
  std::thread writer([&] {
    for (int i = 0; i < 3; ++i) {
      while (g_waits.load() != i + 1)
        std::this_thread::yield();
      pipe.put(static_cast<char>('a' + i));
    }
  });
  EXPECT_EQ(output_of("read_three"), "abc");
  writer.join();
  EXPECT_EQ(g_waits.load(), 3) << "no step in between";
}

TEST_F(PosixActivities, a_pipe_that_hangs_up_is_readable) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ASSERT_EQ(registry_.add_cooperative("hung_up", hung_up, &ends[0]), Status::kOk);
  start();
  ::close(ends[1]);
  EXPECT_EQ(output_of("hung_up"), "hung up");
  ::close(ends[0]);
}

TEST_F(PosixActivities, a_plain_file_cannot_be_waited_for) {
  int file = ::open(folder_.file("plain").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(registry_.add_cooperative("wait_for_a_file", wait_for_a_file, &file), Status::kOk);
  start();
  EXPECT_EQ(output_of("wait_for_a_file"), "the descriptor cannot be waited for: unsupported");
  EXPECT_EQ(status_.error, ErrorKind::kInvalidArgument);
  ::close(file);
}

TEST_F(PosixActivities, a_threaded_one_waits_with_a_client_of_its_own) {
  posix::SystemPort port;
  std::unique_ptr<Block> memory;
  Client client;
  ASSERT_EQ(registry_.add_activity("ask", ask_another, ActivityMode::kThreaded, &client),
            Status::kOk);
  open(client, port, memory);
  start();
  EXPECT_EQ(output_of("ask"), "42");
  static_cast<void>(runtime_.stop(std::chrono::milliseconds(kGuardMs)));
}

TEST_F(PosixActivities, heartbeats_of_a_thread_are_written_whole) {
  posix::SystemPort port;
  std::unique_ptr<Block> memory;
  Client client;
  options_.timing.heartbeat_interval = std::chrono::milliseconds(100);
  ASSERT_EQ(registry_.add_activity("beat", beat, ActivityMode::kThreaded, &client), Status::kOk);
  open(client, port, memory);
  start();
  EXPECT_EQ(output_of("beat"), "whole");
  static_cast<void>(runtime_.stop(std::chrono::milliseconds(kGuardMs)));
}

TEST_F(PosixActivities, a_slow_session_never_blocks_another) {
  options_.slots.threads = 2;
  g_others.store(0);
  ASSERT_EQ(registry_.add_orchestration("slow_among_others", slow_among_others), Status::kOk);
  constexpr ActivityMode kMode = ActivityMode::kThreaded;
  ASSERT_EQ(registry_.add_activity("wait_for_others", wait_for_others, kMode), Status::kOk);
  ASSERT_EQ(registry_.add_activity("count_me", count_me, kMode), Status::kOk);
  start();
  EXPECT_EQ(output_of("", "slow_among_others"), "none was held up");
  static_cast<void>(runtime_.stop(std::chrono::milliseconds(kGuardMs)));
}

TEST_F(PosixActivities, as_many_threads_as_thread_slots_may_have_run_at_once) {
  options_.slots.threads = port::kThreadsMax;
  Meeting meeting;
  ASSERT_EQ(registry_.add_orchestration("meet", meet), Status::kOk);
  ASSERT_EQ(registry_.add_activity("meet", meet_all, ActivityMode::kThreaded, &meeting),
            Status::kOk);
  start();
  EXPECT_EQ(output_of("", "meet"), "all met");
  EXPECT_EQ(runtime_.stop(std::chrono::milliseconds(kGuardMs)), Status::kOk);
}

TEST_F(PosixActivities, an_inline_one_starts_with_a_client_and_must_not_wait) {
  posix::SystemPort port;
  std::unique_ptr<Block> memory;
  Client client;
  ASSERT_EQ(registry_.add_activity("ask", ask_on_the_loop, ActivityMode::kInline, &client),
            Status::kOk);
  open(client, port, memory);
  start();
  EXPECT_EQ(output_of("ask"), "would_block");
}

TEST_F(PosixActivities, threads_share_the_states_of_a_session_cache) {
  SharedCache cache(*port_.port().clock);
  ASSERT_EQ(registry_.add_orchestration("share_all", share_all), Status::kOk);
  ASSERT_EQ(registry_.add_activity("share", share, ActivityMode::kThreaded, &cache), Status::kOk);
  options_.sessions.listener = &cache;
  start();
  EXPECT_EQ(output_of("", "share_all"), "");
  EXPECT_EQ(status_.state, OrchestrationState::kCompleted);
  EXPECT_EQ(runtime_.stop(std::chrono::milliseconds(kGuardMs)), Status::kOk);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_GE(Shared::made.load(), 3);
  EXPECT_EQ(Shared::made.load(), Shared::ended.load());
  EXPECT_FALSE(Shared::in_use_at_the_end.load());
}

}  // namespace
}  // namespace pawl

// Goal: what space_test.cpp shows holds on a real disk that is full. Method: a file system in
// memory of 2 MiB, mounted for this process alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "folder.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::Block;

// Ends a test that hangs; no other result depends on it.
constexpr std::int64_t kGuardMs = 60'000;

std::atomic<bool> g_end{false};

ActivityResult next(ActivityContext& ctx) { return ctx.ok(g_end.load() ? "end" : ctx.input()); }

Poll quick(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("next", ctx.input()));
  return ctx.complete("done");
}

// Writes all the time, until it is asked to end.
Poll chain(OrchestrationContext& ctx) {
  for (int step = 0; step < 8; ++step) {
    PAWL_AWAIT(more, ctx.schedule_activity("next", ctx.input()));
    if (more.value() == "end") return ctx.complete("ended");
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(5)));
  }
  return ctx.continue_as_new(ctx.input());
}

class RealDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    // No other process ever sees the mount, whatever becomes of this one.
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=2m") == 0;
    if (!mounted_) GTEST_SKIP() << "a file system cannot be mounted here: " << std::strerror(errno);
    path_ = folder_.file("a.db");
    ballast_ = folder_.file("ballast");
    options_.database_path = path_;
    options_.log = &watch_;
    ASSERT_EQ(registry_.add_activity("next", next), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("quick", quick), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("chain", chain), Status::kOk);
    g_end.store(false);
  }
  void TearDown() override {
    stop();
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  void start() {
    memory_ = std::make_unique<Block>(Runtime::required_memory(options_));
    runtime_ = std::make_unique<Runtime>();
    ASSERT_EQ(runtime_->start(testing::shared_process(), registry_, options_, port_.port(),
                              memory_->data(), memory_->bytes(), why_),
              Status::kOk)
        << why_.text();
    ClientOptions options;
    options.database_path = path_;
    client_memory_ = std::make_unique<Block>(Client::required_memory(options));
    client_ = std::make_unique<Client>();
    ASSERT_EQ(client_->open(testing::shared_process(), options, client_port_.port(),
                            client_memory_->data(), client_memory_->bytes(), why_),
              Status::kOk)
        << why_.text();
  }
  void stop() {
    client_.reset();
    if (runtime_ != nullptr) static_cast<void>(runtime_->stop(std::chrono::milliseconds(0)));
    runtime_.reset();
  }
  void run(std::int64_t ms) {
    ASSERT_EQ(runtime_->run_for(std::chrono::milliseconds(ms)), Status::kTimeout);
  }
  template <typename Until>
  bool run_until(Until until) {
    const auto call = [](void* given) noexcept { return (*static_cast<Until*>(given))(); };
    EXPECT_EQ(runtime_->run_for(std::chrono::milliseconds(kGuardMs), call, &until), Status::kOk);
    return until();
  }
  Status start_one(const char* name, int number, std::size_t bytes) {
    return client_->start_orchestration(name, InstanceId(name + std::to_string(number)),
                                        std::string(bytes, 'x'));
  }
  void start_chains(int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(start_one("chain", i, 1'000), Status::kOk) << client_->error_text();
    ASSERT_TRUE(run_until([this] { return runtime_->stats().continued_as_new > 3; }));
  }
  [[nodiscard]] bool completed(int count) const {
    return runtime_->stats().orchestrations_completed == static_cast<std::uint64_t>(count);
  }
  // Fills the disk to the last byte with another file.
  void fill_disk() const {
    const int file = ::open(ballast_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    static constexpr char kBytes[4096] = {};
    while (::write(file, kBytes, sizeof kBytes) > 0) {
    }
    EXPECT_EQ(errno, ENOSPC);
    ::close(file);
  }
  void give_room() const {
    ASSERT_EQ(::mount("none", folder_.path().c_str(), nullptr, MS_REMOUNT, "size=8m"), 0)
        << std::strerror(errno);
  }
  void expect_whole() const {
    sqlite3* file = nullptr;
    sqlite3_stmt* check = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &file), SQLITE_OK);
    ASSERT_EQ(sqlite3_prepare_v2(file, "PRAGMA integrity_check", -1, &check, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(check), SQLITE_ROW);
    EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(check, 0)), "ok");
    sqlite3_finalize(check);
    sqlite3_close(file);
  }
  void expect_nothing_was_lost() const {
    const RuntimeStats& stats = runtime_->stats();
    EXPECT_EQ(stats.orchestrations_failed, 0U) << lines_.all();
    // No result was lost so that its activity ran a second time.
    EXPECT_EQ(stats.activities_completed, stats.activities_started);
    EXPECT_EQ(stats.activities_refused, 0U);
  }
  void expect_new_work_is_done() {
    const std::uint64_t before = runtime_->stats().orchestrations_completed;
    ASSERT_EQ(client_->start_orchestration("quick", InstanceId("again"), ""), Status::kOk)
        << client_->error_text();
    EXPECT_TRUE(
        run_until([this, before] { return runtime_->stats().orchestrations_completed > before; }));
  }

  test::Folder folder_;
  std::string path_;
  std::string ballast_;
  bool mounted_ = false;
  Options options_;
  testing::Lines lines_;
  testing::ErrorWatch watch_{&lines_};
  Registry registry_;
  posix::SystemPort port_;
  posix::SystemPort client_port_;
  std::unique_ptr<Block> memory_;
  std::unique_ptr<Block> client_memory_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<Client> client_;
  Diagnostic why_;
};

TEST_F(RealDisk, CompleteWorkGoesTheNewIsRefusedAndRunningWorkEnds) {
  // The client's thread may be the first to meet the full disk, and then neither event comes.
  pawl::testing::expect_errors("disk_is_full", 0, 1);
  pawl::testing::expect_errors("tick_rolled_back", 0, 1);
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(start_chains(3));
  // Complete work, until the disk is full of it and the oldest goes.
  int ended = 0;
  for (int i = 0; i < 2'000 && runtime_->stats().instances_removed == 0; ++i) {
    const Status status = start_one("quick", i, 4'000);
    ASSERT_TRUE(status == Status::kOk || status == Status::kFull || status == Status::kQuota)
        << client_->error_text();
    if (status == Status::kOk) ++ended;
    ASSERT_TRUE(run_until([&] { return completed(ended); })) << lines_.all();
  }
  // One line, from the thread that met the full disk first.
  EXPECT_EQ(lines_.count("disk_is_full") + lines_.count("reserve_is_missing"), 1U) << lines_.all();
  OrchestrationStatus status;
  EXPECT_EQ(client_->get_status("quick0", &status), Status::kNotFound);
  // Running work, until there is room for no more.
  int running = 3;
  Status why = Status::kOk;
  while (why != Status::kQuota && running < 1'000) {
    why = start_one("chain", running, 1'000);
    ASSERT_TRUE(why == Status::kOk || why == Status::kFull || why == Status::kQuota)
        << client_->error_text();
    if (why == Status::kOk) ++running;
    run(1);
  }
  ASSERT_EQ(why, Status::kQuota) << running;
  EXPECT_NE(client_->error_text().find("1024000"), std::string_view::npos) << client_->error_text();
  EXPECT_EQ(client_->enqueue_event("chain0", "q", "text"), Status::kQuota);
  g_end.store(true);
  EXPECT_TRUE(run_until([&] { return completed(ended + running); })) << lines_.all();
  expect_nothing_was_lost();
  stop();
  expect_whole();
  give_room();
  ASSERT_NO_FATAL_FAILURE(start());
  expect_new_work_is_done();
}

TEST_F(RealDisk, RunningWorkEndsOnADiskThatOthersHaveFilled) {
  pawl::testing::expect_errors("disk_is_full");
  pawl::testing::expect_errors("tick_rolled_back");
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(start_chains(3));
  fill_disk();
  ASSERT_TRUE(run_until([this] { return lines_.count("disk_is_full") > 0; }));
  EXPECT_EQ(start_one("chain", 4, 10), Status::kQuota);
  g_end.store(true);
  EXPECT_TRUE(run_until([this] { return completed(3); })) << lines_.all();
  expect_nothing_was_lost();
  stop();
  expect_whole();
}

// The kernel's answer to a user who has used up a quota on the disk, which may have room for
// others.
class Quota {
 public:
  explicit Quota(const std::string& reserve) {
    reserve_ = reserve.c_str();
    for (const char* name : {"write", "pwrite", "pwrite64"})
      vfs_->xSetSystemCall(vfs_, name, reinterpret_cast<sqlite3_syscall_ptr>(is_write(name)));
  }
  ~Quota() {
    for (const char* name : {"write", "pwrite", "pwrite64"})
      vfs_->xSetSystemCall(vfs_, name, nullptr);
  }

 private:
  using Any = void (*)();
  static Any is_write(const char* name) {
    return std::strcmp(name, "write") == 0
               ? reinterpret_cast<Any>(+[](int file, const void* data, std::size_t size) {
                   return is_used_up() ? -1 : ::write(file, data, size);
                 })
               : reinterpret_cast<Any>(
                     +[](int file, const void* data, std::size_t size, off64_t at) {
                       return is_used_up() ? -1 : ::pwrite64(file, data, size, at);
                     });
  }
  // True until the reserve is given up.
  static bool is_used_up() {
    if (::access(reserve_, F_OK) != 0) return false;
    errno = EDQUOT;
    return true;
  }
  static inline const char* reserve_ = nullptr;
  sqlite3_vfs* vfs_ = sqlite3_vfs_find("unix");
};

TEST_F(RealDisk, AQuotaThatIsUsedUpIsAFullDisk) {
  pawl::testing::expect_errors("disk_is_full");
  pawl::testing::expect_errors("tick_rolled_back");
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(start_chains(3));
  {
    const std::string reserve = path_ + "-reserve";
    const Quota quota(reserve);
    ASSERT_TRUE(run_until([this] { return lines_.count("disk_is_full") > 0; })) << lines_.all();
    EXPECT_EQ(start_one("chain", 4, 10), Status::kQuota);
    g_end.store(true);
    EXPECT_TRUE(run_until([this] { return completed(3); })) << lines_.all();
  }
  expect_nothing_was_lost();
  stop();
  expect_whole();
}

TEST_F(RealDisk, AStartOnAFullDiskTakesTheReserve) {
  pawl::testing::expect_errors("no_room_for_the_reserve");
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(start_one("chain", 0, 1'000), Status::kOk);
  ASSERT_TRUE(run_until([this] { return runtime_->stats().continued_as_new > 0; }));
  stop();
  // The stop removed the log and its index; they need room again.
  EXPECT_NE(::access((path_ + "-wal").c_str(), F_OK), 0);
  struct stat reserve = {};
  EXPECT_EQ(::stat((path_ + "-reserve").c_str(), &reserve), 0);
  EXPECT_EQ(reserve.st_mode & 0777U, 0600U);
  EXPECT_EQ(reserve.st_size, 1'024'000);
  fill_disk();
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(lines_.count("no_room_for_the_reserve status=full text=reserve: full"), 1U)
      << lines_.all();
  EXPECT_EQ(start_one("chain", 4, 10), Status::kQuota);
  g_end.store(true);
  EXPECT_TRUE(run_until([this] { return completed(1); })) << lines_.all();
  expect_nothing_was_lost();
}

TEST_F(RealDisk, WithNoRoomAtAllResultsWaitForSome) {
  pawl::testing::expect_errors("disk_is_full");
  pawl::testing::expect_errors("tick_rolled_back", 3);
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(start_chains(3));
  fill_disk();
  ASSERT_TRUE(run_until([this] { return lines_.count("disk_is_full") > 0; }));
  // The space of the reserve is filled, too.
  ASSERT_TRUE(run_until([this] {
    fill_disk();
    return runtime_->stats().failed_ticks >= 3;
  })) << lines_.all();
  EXPECT_FALSE(runtime_->ready());
  g_end.store(true);
  ASSERT_EQ(::unlink(ballast_.c_str()), 0);
  EXPECT_TRUE(run_until([this] { return completed(3); })) << lines_.all();
  expect_nothing_was_lost();
  stop();
  expect_whole();
}

}  // namespace
}  // namespace pawl

// Goal: a database among files from after 19 January 2038, where a time in 32 bits ends, is made,
// opened, written and opened again. There, SQLite's own calls report that they cannot look at a
// file.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "folder.hpp"
#include "pawl/maintenance.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "world.hpp"

namespace pawl {
namespace {

using testing::Block;

static_assert(sizeof(time_t) == 8, "the test itself must know such times");

constexpr time_t kIn2040 = 2'208'988'800;
// Ends a test that hangs; no other result depends on it.
constexpr auto kGuard = std::chrono::seconds(60);

ActivityResult say(ActivityContext& ctx) { return ctx.ok("said"); }

Poll hello(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(1)));
  PAWL_AWAIT(said, ctx.schedule_activity("say", ""));
  return ctx.complete(said.value());
}

class NoFindings final : public FindingVisitor, public CopyVisitor {
 public:
  void on_finding(std::string_view text) noexcept override { ADD_FAILURE() << text; }
  bool on_copied(std::int64_t, std::int64_t) noexcept override { return true; }
};

class PosixDates : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.database_path = folder_.file("a.db");
    options_.log = &watch_;
    ASSERT_EQ(registry_.add_activity("say", say), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("hello", hello), Status::kOk);
    set_to_2040(folder_.path());
    struct stat info {};
    ASSERT_EQ(::stat(folder_.path().c_str(), &info), 0);
    if (info.st_mtime != kIn2040) GTEST_SKIP() << "the file system keeps no such times";
  }

  static void set_to_2040(const std::string& path) {
    timespec times[2] = {};
    times[0].tv_sec = kIn2040;
    times[1].tv_sec = kIn2040;
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
  }
  // Sets the times of the folder and of all files that are in it now.
  int set_all_to_2040() {
    DIR* const folder = ::opendir(folder_.path().c_str());
    if (folder == nullptr) return 0;
    int count = 0;
    for (const dirent* one = ::readdir(folder); one != nullptr; one = ::readdir(folder)) {
      if (std::string(one->d_name) == "..") continue;
      set_to_2040(folder_.file(one->d_name));
      ++count;
    }
    ::closedir(folder);
    return count;
  }
  void start() {
    runtime_.reset();
    memory_ = std::make_unique<Block>(Runtime::required_memory(options_));
    runtime_ = std::make_unique<Runtime>();
    Diagnostic why;
    ASSERT_EQ(runtime_->start(testing::shared_process(), registry_, options_, port_.port(),
                              memory_->data(), memory_->bytes(), why),
              Status::kOk)
        << why.text();
  }
  void run_one(const char* id) {
    ASSERT_EQ(runtime_->start_orchestration("hello", InstanceId(id), ""), Status::kOk);
    struct Wanted {
      Runtime* runtime;
      const char* id;
    } wanted{runtime_.get(), id};
    const auto ended = [](void* given) noexcept {
      const auto& one = *static_cast<Wanted*>(given);
      OrchestrationStatus status;
      return one.runtime->get_status(one.id, &status) == Status::kOk &&
             status.state == OrchestrationState::kCompleted;
    };
    EXPECT_EQ(runtime_->run_for(kGuard, ended, &wanted), Status::kOk);
    EXPECT_TRUE(ended(&wanted)) << id;
  }

  test::Folder folder_;
  posix::SystemPort port_;
  Registry registry_;
  testing::ErrorWatch watch_;
  Options options_;
  std::unique_ptr<Block> memory_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(PosixDates, DatabaseIsMadeOpenedAndWrittenAmongFilesFrom2040) {
  ASSERT_NO_FATAL_FAILURE(start());
  run_one("first");
  EXPECT_GE(set_all_to_2040(), 4);  // open files: the database, its log, the log's index, the bell
  run_one("second");
  ASSERT_EQ(runtime_->stop(kGuard), Status::kOk);

  set_all_to_2040();
  ASSERT_NO_FATAL_FAILURE(start());
  set_all_to_2040();
  run_one("third");
  for (const char* id : {"first", "second", "third"}) {
    OrchestrationStatus status;
    ASSERT_EQ(runtime_->get_status(id, &status), Status::kOk) << id;
    EXPECT_EQ(status.output, "said") << id;
  }
  ASSERT_EQ(runtime_->stop(kGuard), Status::kOk);
}

// Two connections of one process share what SQLite knows of the file; SQLite finds it by the file's
// device and number.
TEST_F(PosixDates, SecondConnectionOfTheProcessFindsTheSameFile) {
  ASSERT_NO_FATAL_FAILURE(start());
  set_all_to_2040();
  ClientOptions options;
  options.database_path = options_.database_path;
  Block memory(Client::required_memory(options));
  posix::SystemPort port;
  Client client;
  Diagnostic why;
  ASSERT_EQ(client.open(testing::shared_process(), options, port.port(), memory.data(),
                        memory.bytes(), why),
            Status::kOk)
      << why.text();
  ASSERT_EQ(client.start_orchestration("hello", InstanceId("theirs"), ""), Status::kOk);
  client.close();
  set_all_to_2040();
  run_one("ours");
  OrchestrationStatus status;
  ASSERT_EQ(runtime_->get_status("theirs", &status), Status::kOk);
  ASSERT_EQ(runtime_->stop(kGuard), Status::kOk);
}

TEST_F(PosixDates, DatabaseFrom2040IsCopiedAndChecked) {
  ASSERT_NO_FATAL_FAILURE(start());
  run_one("first");
  ASSERT_EQ(runtime_->stop(kGuard), Status::kOk);
  set_all_to_2040();
  Block memory(maintenance_memory());
  Diagnostic why;
  NoFindings visitor;
  EXPECT_EQ(
      copy_database(testing::shared_process(), options_.database_path, folder_.file("copy.db"),
                    port_.port(), memory.data(), memory.bytes(), visitor, why),
      Status::kOk)
      << why.text();
  set_all_to_2040();
  DatabaseReport report;
  EXPECT_EQ(check_database(testing::shared_process(), folder_.file("copy.db"), false, port_.port(),
                           memory.data(), memory.bytes(), visitor, &report, why),
            Status::kOk)
      << why.text();
  EXPECT_EQ(report.findings, 0);
  EXPECT_GT(report.pages, 0);
}

}  // namespace
}  // namespace pawl

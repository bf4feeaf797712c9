// Goal: files in a session's folder on a real disk outlive the process that wrote them, and go with
// the session.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
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

std::string notes_of(ActivityContext& ctx) {
  return std::string(ctx.session_folder()) + "/notes/today";
}

ActivityResult note(ActivityContext& ctx) {
  const std::string notes = notes_of(ctx);
  if (::mkdir(notes.substr(0, notes.rfind('/')).c_str(), 0500) != 0) return ctx.fail("mkdir");
  // The folder ends read-only for its owner; the removal has to cope with that.
  if (::chmod(notes.substr(0, notes.rfind('/')).c_str(), 0700) != 0) return ctx.fail("chmod");
  std::FILE* const file = std::fopen(notes.c_str(), "w");
  if (file == nullptr) return ctx.fail("fopen");
  std::fputs("remember", file);
  std::fclose(file);
  if (::chmod(notes.substr(0, notes.rfind('/')).c_str(), 0500) != 0) return ctx.fail("chmod");
  return ctx.ok(ctx.session_folder());
}

// The first attempt ends its process; the next one finds the file that the first process left.
ActivityResult recall(ActivityContext& ctx) {
  if (ctx.attempt() == 1) ::raise(SIGKILL);
  char text[32] = {};
  std::FILE* const file = std::fopen(notes_of(ctx).c_str(), "r");
  if (file == nullptr) return ctx.fail("fopen");
  const std::size_t size = std::fread(text, 1, sizeof text, file);
  std::fclose(file);
  return ctx.ok({text, size});
}

Poll day(OrchestrationContext& ctx) {
  const Session session = ctx.open_session("../day");
  PAWL_AWAIT(noted, ctx.schedule_activity("note", "", Target::own(session)));
  if (!noted.ok()) return ctx.fail(noted.error());
  PAWL_AWAIT(recalled, ctx.schedule_activity("recall", "", Target::own(session)));
  if (!recalled.ok()) return ctx.fail(recalled.error());
  static_cast<void>(ctx.close_session(session.id()));
  return ctx.complete(recalled.value());
}

class PosixSessionFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = folder_.file("dirs");
    ASSERT_EQ(::mkdir(root_.c_str(), 0700), 0);
    ASSERT_EQ(registry_.add_activity("note", note), Status::kOk);
    ASSERT_EQ(registry_.add_activity("recall", recall), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("day", day), Status::kOk);
    path_ = folder_.file("a.db");
    options_.database_path = path_;
    options_.log = &watch_;
    options_.sessions.work_root = root_;
  }
  [[nodiscard]] std::size_t folders() const {
    std::size_t count = 0;
    for (const auto& one : std::filesystem::directory_iterator(root_)) {
      static_cast<void>(one);
      ++count;
    }
    return count;
  }

  test::Folder folder_;
  std::string root_;
  std::string path_;
  Registry registry_;
  testing::ErrorWatch watch_;
  Options options_;
};

TEST_F(PosixSessionFolders, files_outlive_their_process_and_go_with_the_session) {
  const auto start = [&](Runtime& runtime, posix::SystemPort& port, Block& memory) {
    Diagnostic why;
    const Status status = runtime.start(testing::shared_process(), registry_, options_, port.port(),
                                        memory.data(), memory.bytes(), why);
    EXPECT_EQ(status, Status::kOk) << why.text();
    return status;
  };
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    posix::SystemPort port;
    Block memory(Runtime::required_memory(options_));
    Runtime runtime;
    if (start(runtime, port, memory) == Status::kOk &&
        runtime.start_orchestration("day", InstanceId("i"), "") == Status::kOk)
      static_cast<void>(runtime.run_for(std::chrono::milliseconds(kGuardMs)));
    ::_exit(1);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  ASSERT_TRUE(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) << how;
  EXPECT_EQ(folders(), 1U);

  posix::SystemPort port;
  Block memory(Runtime::required_memory(options_));
  Runtime runtime;
  ASSERT_EQ(start(runtime, port, memory), Status::kOk);
  const auto gone = [](void* given) noexcept {
    return static_cast<Runtime*>(given)->stats().session_folders_removed == 1;
  };
  EXPECT_EQ(runtime.run_for(std::chrono::milliseconds(kGuardMs), gone, &runtime), Status::kOk);
  EXPECT_EQ(folders(), 0U);
  OrchestrationStatus status;
  ASSERT_EQ(runtime.get_status("i", &status), Status::kOk);
  EXPECT_EQ(status.output, "remember");
  EXPECT_EQ(runtime.stop(std::chrono::milliseconds(kGuardMs)), Status::kOk);
}

}  // namespace
}  // namespace pawl

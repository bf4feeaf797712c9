// replay_check on real files: files that it leaves behind, damaged rows, and its main()'s exit
// codes.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "folder.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/replay_check.hpp"
#include "pawl/testing.hpp"

namespace pawl {
namespace {

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

const char* g_activity = "echo";

Poll flow(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity(g_activity, ctx.input()));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("");
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return "none";
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class Reported final : public ReplayVisitor {
 public:
  void on_answer(const ReplayAnswer& answer) noexcept override {
    text +=
        std::string(answer.id) + (answer.go ? " go" : " no-go ") + std::string(answer.text) + "\n";
  }
  std::string text;
};

class ReplayCheckFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.file("a.db");
    options_.database_path = path_;
    options_.log = &watch_;
    g_activity = "echo";
    ASSERT_EQ(registry_.add_orchestration("flow", flow), Status::kOk);
    ASSERT_EQ(registry_.add_activity("echo", echo), Status::kOk);
    Diagnostic why;
    ASSERT_EQ(process_.start(ProcessOptions(), sqlite_.data(), sqlite_.bytes(), why), Status::kOk)
        << why.text();
  }
  void TearDown() override { EXPECT_EQ(process_.stop(), Status::kOk); }

  // Records two instances that wait for their timers.
  void record(const std::function<void()>& meanwhile = [] {}) {
    posix::SystemPort port;
    testing::Block memory(Runtime::required_memory(options_));
    Runtime runtime;
    Diagnostic why;
    ASSERT_EQ(runtime.start(process_, registry_, options_, port.port(), memory.data(),
                            memory.bytes(), why),
              Status::kOk)
        << why.text();
    ASSERT_EQ(runtime.start_orchestration("flow", InstanceId("a"), "1"), Status::kOk);
    ASSERT_EQ(runtime.start_orchestration("flow", InstanceId("b"), "2"), Status::kOk);
    for (bool more = true; more || runtime.stats().activities_completed < 2;)
      more = runtime.tick(std::chrono::seconds(1)).value();
    meanwhile();
    ASSERT_EQ(runtime.stop(std::chrono::seconds(1)), Status::kOk);
  }

  std::string reported(Status expected = Status::kOk) {
    posix::SystemPort port;
    testing::Block memory(replay_check_memory(options_));
    Reported visitor;
    ReplayTotals totals;
    Diagnostic why;
    EXPECT_EQ(replay_check(process_, registry_, options_, port.port(), memory.data(),
                           memory.bytes(), visitor, &totals, why),
              expected)
        << why.text();
    return visitor.text;
  }

  void sql(const char* text) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open_v2(path_.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, text, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    ASSERT_EQ(sqlite3_close(database), SQLITE_OK);
  }

  test::Folder folder_;
  std::string path_;
  Registry registry_;
  testing::ErrorWatch watch_;
  Options options_;
  testing::Block sqlite_{Process::required_memory(ProcessOptions())};
  Process process_;
};

TEST_F(ReplayCheckFiles, BesideARuntime_NeitherDatabaseNorLogChange) {
  record([this] {
    const std::string database = bytes_of(path_);
    const std::string log = bytes_of(path_ + "-wal");
    EXPECT_GT(log.size(), 0U);
    EXPECT_EQ(reported(), "a go\nb go\n");
    EXPECT_EQ(bytes_of(path_), database);
    EXPECT_EQ(bytes_of(path_ + "-wal"), log);
  });
}

TEST_F(ReplayCheckFiles, AfterAnOrderlyEnd_TheLogItMakesIsEmpty) {
  record();
  ASSERT_EQ(bytes_of(path_ + "-wal"), "none");
  const std::string database = bytes_of(path_);
  EXPECT_EQ(reported(), "a go\nb go\n");
  EXPECT_EQ(bytes_of(path_), database);
  EXPECT_EQ(bytes_of(path_ + "-wal"), "");
}

TEST_F(ReplayCheckFiles, OfWhatACrashLeft_NeitherDatabaseNorLogChange) {
  std::string database;
  std::string log;
  record([&] {
    database = bytes_of(path_);
    log = bytes_of(path_ + "-wal");
  });
  std::ofstream(path_, std::ios::binary) << database;
  std::ofstream(path_ + "-wal", std::ios::binary) << log;
  EXPECT_EQ(reported(), "a go\nb go\n");
  EXPECT_EQ(bytes_of(path_), database);
  EXPECT_EQ(bytes_of(path_ + "-wal"), log);
}

TEST_F(ReplayCheckFiles, DamagedRows_AreNoGoAloneAndNamed) {
  record();
  sql("UPDATE history SET payload='9' WHERE instance=1 AND id=3");
  EXPECT_EQ(reported().find("a no-go history of instance 1, execution 1, event 3: checksum"), 0U)
      << reported();
  EXPECT_NE(reported().find("\nb go\n"), std::string::npos);
  sql("DELETE FROM history WHERE instance=1 AND id=3");
  EXPECT_NE(reported().find("is missing"), std::string::npos) << reported();
  sql("UPDATE instances SET timer_ref='x' WHERE id='b'");
  EXPECT_NE(reported().find("b no-go "), std::string::npos) << reported();
  sql("UPDATE instances SET version=hex(zeroblob(400)) WHERE id='b'");
  EXPECT_NE(reported().find("b no-go its id, name or version is too long"), std::string::npos)
      << reported();
}

TEST_F(ReplayCheckFiles, ForeignFiles_AreRefused) {
  std::ofstream(path_, std::ios::binary) << std::string(4'096, 'x');
  EXPECT_EQ(reported(Status::kForeignDatabase), "");
}

TEST_F(ReplayCheckFiles, MainSaysItWithItsExitCode) {
  record();
  EXPECT_EQ(process_.stop(), Status::kOk);
  const char* arguments[] = {"check", path_.c_str(), nullptr};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(replay_check_main(registry_, Options(), 2, arguments), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "2 go, 0 no-go\n");
  const char* all[] = {"check", "--all", path_.c_str(), nullptr};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(replay_check_main(registry_, Options(), 3, all), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "go    a: flow@1.0.0, execution 1, 4 events, running\n"
            "go    b: flow@1.0.0, execution 1, 4 events, running\n2 go, 0 no-go\n");
  g_activity = "ohce";
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(replay_check_main(registry_, Options(), 2, arguments), 1);
  const std::string said = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(
      said.find("no-go a: flow@1.0.0, execution 1, 4 events, running: nondeterminism: event 2"), 0U)
      << said;
  EXPECT_NE(said.find("\n0 go, 2 no-go\n"), std::string::npos) << said;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(replay_check_main(registry_, Options(), 1, arguments), 2);
  const char* nowhere[] = {"check", "/nowhere/a.db", nullptr};
  EXPECT_EQ(replay_check_main(registry_, Options(), 2, nowhere), 2);
  const std::string errors = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(errors.find("usage: "), std::string::npos) << errors;
  EXPECT_NE(errors.find("not checked: cannot_open: /nowhere"), std::string::npos) << errors;
}

}  // namespace
}  // namespace pawl

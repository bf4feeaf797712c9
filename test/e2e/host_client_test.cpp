// HostClient: a connection in one line, with an answer of its own for all that may be wrong.
#include "pawl/host_client.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "pawl/host.hpp"

namespace pawl {
namespace {

class HostClientTest : public ::testing::Test {
 protected:
  // Each test has its own file: tests of one program may run at the same time, in the same folder.
  HostClientTest()
      : path_(std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
              ".db") {
    remove_files();
    options_.client.database_path = path_;
  }
  ~HostClientTest() override { remove_files(); }

  const std::string path_;
  HostClientOptions options_;

 private:
  void remove_files() const {
    std::error_code ignored;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(".", ignored))
      if (entry.path().filename().string().rfind(path_, 0) == 0) files.push_back(entry.path());
    for (const std::filesystem::path& file : files)
      std::filesystem::remove_all(file, ignored);
  }
};

Poll echoes(OrchestrationContext& ctx) { return ctx.complete(ctx.input()); }

// A function of the application that takes any Client.
Status begin(Client& client, const char* id) {
  return client.start_orchestration("echoes", InstanceId(id), "words");
}

TEST_F(HostClientTest, OneLineOpensItAgainAndAgain) {
  for (const char* id : {"a", "b", "c"}) {
    HostClient client(path_);
    ASSERT_EQ(client.status(), Status::kOk) << client.error_text();
    EXPECT_EQ(begin(client, id), Status::kOk) << client.error_text();
    OrchestrationStatus status;
    EXPECT_EQ(client.get_status("a", &status), Status::kOk);
    EXPECT_GT(client.clock().boot_ms(), 0);
  }
}

TEST_F(HostClientTest, ARefusedOpeningSaysWhyAndEveryCallIsStopped) {
  HostClient client("nowhere/pawl.db");
  EXPECT_EQ(client.status(), Status::kCannotOpen);
  EXPECT_NE(client.error_text().find("nowhere"), std::string_view::npos) << client.error_text();
  EXPECT_EQ(begin(client, "a"), Status::kStopped);
  EXPECT_NE(client.error_text().find("nowhere"), std::string_view::npos) << client.error_text();
}

TEST_F(HostClientTest, OptionsReachTheClientAndTheProcess) {
  options_.client.create = false;
  EXPECT_EQ(HostClient(options_).status(), Status::kCannotOpen);
  options_.client.create = true;
  options_.client.payload_bytes_max = 256;
  options_.process.payload_bytes_max = 256;
  {
    HostClient client(options_);
    ASSERT_EQ(client.status(), Status::kOk) << client.error_text();
    EXPECT_EQ(client.start_orchestration("n", InstanceId("i"), std::string(256, 'x')), Status::kOk);
    EXPECT_EQ(client.start_orchestration("n", InstanceId("j"), std::string(257, 'x')),
              Status::kResourceExhausted);
    EXPECT_NE(client.error_text().find("257"), std::string_view::npos) << client.error_text();
  }
  // A client with larger payloads than its Process raises the Process's, as a Host does.
  options_.client.payload_bytes_max = 1'048'576;
  EXPECT_EQ(HostClient(options_).status(), Status::kOk);
}

TEST_F(HostClientTest, WrongOptionsAreRefusedWithTheirNames) {
  const auto refuses = [&](const char* name, void (*change)(HostClientOptions&)) {
    HostClientOptions wrong = options_;
    change(wrong);
    const HostClient client(wrong);
    EXPECT_EQ(client.status(), Status::kInvalidOptions) << name;
    EXPECT_NE(client.error_text().find(name), std::string_view::npos) << client.error_text();
  };
  refuses("payload_bytes_max", [](HostClientOptions& o) { o.client.payload_bytes_max = 0; });
  refuses("payload_bytes_max",
          [](HostClientOptions& o) { o.client.payload_bytes_max = 1'048'577; });
  refuses("payload_bytes_max", [](HostClientOptions& o) { o.client.payload_bytes_max = SIZE_MAX; });
  refuses("busy_max", [](HostClientOptions& o) { o.client.busy_max = std::chrono::seconds(-1); });
  refuses("cache_pages", [](HostClientOptions& o) { o.client.cache_pages = -1; });
  refuses("database_path", [](HostClientOptions& o) { o.client.database_path = Path(); });
  refuses("database_path",
          [](HostClientOptions& o) { o.client.database_path = std::string(401, 'x'); });
  refuses("connections_max", [](HostClientOptions& o) { o.process.connections_max = 0; });
  refuses("connections_max", [](HostClientOptions& o) { o.process.connections_max = 33; });
  refuses("statement_bytes", [](HostClientOptions& o) { o.process.statement_bytes = 0; });
  EXPECT_NE(::access(path_.c_str(), F_OK), 0) << "none of them makes a file";
}

TEST_F(HostClientTest, ASecondOneUsesTheProcessOfTheFirst) {
  options_.process.connections_max = 2;
  HostClient first(options_);
  ASSERT_EQ(first.status(), Status::kOk) << first.error_text();
  HostClient alone(path_);
  EXPECT_EQ(alone.status(), Status::kAlreadyExists);
  EXPECT_NE(alone.error_text(), "");
  std::thread([&] {
    HostClient second(first.process(), path_);
    EXPECT_EQ(second.status(), Status::kOk) << second.error_text();
    EXPECT_EQ(begin(second, "a"), Status::kOk);
    HostClient third(first.process(), options_.client);
    EXPECT_EQ(third.status(), Status::kResourceExhausted);
    EXPECT_NE(third.error_text().find("connections_max = 2"), std::string_view::npos)
        << third.error_text();
  }).join();
  OrchestrationStatus status;
  EXPECT_EQ(first.get_status("a", &status), Status::kOk) << "the first goes on";
}

TEST_F(HostClientTest, BesideAHostItWaitsOnAThreadOfItsOwn) {
  HostOptions options;
  options.runtime.database_path = path_;
  options.process.connections_max = 2;
  Host host(options);
  host.add_orchestration("echoes", echoes);
  {
    HostClient early(host.process(), path_);
    EXPECT_EQ(early.status(), Status::kInvalidArgument) << "the Host has not started";
    EXPECT_NE(early.error_text().find("not started"), std::string_view::npos);
  }
  ASSERT_EQ(host.start(), Status::kOk) << host.error_text();
  std::thread person([&] {
    HostClient client(host.process(), path_);
    EXPECT_EQ(begin(client, "a"), Status::kOk) << client.error_text();
    OrchestrationStatus end;
    EXPECT_EQ(client.wait_for_orchestration("a", std::chrono::seconds(30), &end), Status::kOk);
    EXPECT_EQ(end.output, "words");
    host.runtime().request_stop();
  });
  EXPECT_EQ(host.run(), 0);
  person.join();
  HostClient after(host.process(), path_);  // the Process lives as long as the Host
  EXPECT_EQ(after.status(), Status::kOk) << after.error_text();
}

// The program has its own database, which outlives one HostClient and is used during the next.
TEST_F(HostClientTest, ADatabaseOfTheProgramOutlivesIt) {
  sqlite3* own = nullptr;
  for (const char* id : {"a", "b"}) {
    HostClient client(path_);
    ASSERT_EQ(client.status(), Status::kOk) << client.error_text();
    if (own == nullptr) {
      ASSERT_EQ(sqlite3_open(":memory:", &own), SQLITE_OK);
    }
    EXPECT_EQ(begin(client, id), Status::kOk);
  }
  EXPECT_EQ(
      sqlite3_exec(own, "CREATE TABLE t(a); INSERT INTO t VALUES(1)", nullptr, nullptr, nullptr),
      SQLITE_OK);
  EXPECT_EQ(sqlite3_close(own), SQLITE_OK);
}

}  // namespace
}  // namespace pawl

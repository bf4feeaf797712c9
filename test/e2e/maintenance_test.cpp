// Copies and checks of a database, through the calls that tools use.
#include "pawl/maintenance.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "pawl/client.hpp"
#include "pawl/port_posix.hpp"

namespace pawl {
namespace {

class Steps final : public CopyVisitor {
 public:
  explicit Steps(std::int64_t steps_max = INT64_MAX) : steps_max_(steps_max) {}
  bool on_copied(std::int64_t pages, std::int64_t of_pages) noexcept override {
    EXPECT_LE(pages, of_pages);
    last = pages;
    of = of_pages;
    return ++steps < steps_max_;
  }
  std::int64_t steps = 0;
  std::int64_t last = 0;
  std::int64_t of = 0;

 private:
  std::int64_t steps_max_;
};

class Findings final : public FindingVisitor {
 public:
  void on_finding(std::string_view text) noexcept override { all.emplace_back(text); }
  std::vector<std::string> all;
};

class Maintenance : public testing::Test {
 protected:
  void SetUp() override {
    // The cases of one program run side by side, so each has its own folder.
    const char* const folder = testing::UnitTest::GetInstance()->current_test_info()->name();
    ASSERT_TRUE(mkdir(folder, 0700) == 0 || errno == EEXIST) << folder;
    ASSERT_EQ(chdir(folder), 0) << folder;
    for (const char* name : {"from.db", "from.db-wal", "from.db-shm", "to.db", "to.db-journal"})
      std::remove(name);
    ProcessOptions options;
    options.connections_max = 3;
    for_sqlite_.resize(Process::required_memory(options));
    ASSERT_EQ(process_.start(options, for_sqlite_.data(), for_sqlite_.size(), why_), Status::kOk);
    memory_.resize(maintenance_memory());
    ClientOptions client;
    client.database_path = "from.db";
    for_client_.resize(Client::required_memory(client));
    ASSERT_EQ(
        client_.open(process_, client, port_.port(), for_client_.data(), for_client_.size(), why_),
        Status::kOk);
  }
  Status copy(CopyVisitor& visitor) {
    return copy_database(process_, "from.db", "to.db", port_.port(), memory_.data(), memory_.size(),
                         visitor, why_);
  }
  Status check(const char* path) {
    return check_database(process_, path, false, port_.port(), memory_.data(), memory_.size(),
                          findings_, &report_, why_);
  }
  Status renew(const char* path) {
    return renew_identity(process_, path, port_.port(), memory_.data(), memory_.size(), why_);
  }
  void start(int from, int to) {
    for (int i = from; i < to; ++i)
      ASSERT_EQ(client_.start_orchestration("work", InstanceId(std::to_string(i)),
                                            std::string(20'000, 'x')),
                Status::kOk);
  }

  std::vector<unsigned char> for_sqlite_, memory_, for_client_;
  posix::SystemPort port_;
  Process process_;
  Client client_;
  Diagnostic why_;
  Findings findings_;
  DatabaseReport report_;
};

TEST_F(Maintenance, ACopyIsThatOfOneMomentWhileOthersWrite) {
  start(0, 40);
  class Writing final : public CopyVisitor {
   public:
    explicit Writing(Client& client) : client_(client) {}
    bool on_copied(std::int64_t /*pages*/, std::int64_t of_pages) noexcept override {
      // Another commit between two steps: the copy neither contains it nor starts anew.
      EXPECT_EQ(client_.start_orchestration("late", InstanceId("late" + std::to_string(steps)), ""),
                Status::kOk);
      EXPECT_TRUE(of == 0 || of == of_pages);
      of = of_pages;
      return ++steps < 1'000;
    }
    int steps = 0;
    std::int64_t of = 0;

   private:
    Client& client_;
  } writing(client_);
  ASSERT_EQ(copy(writing), Status::kOk) << why_.text();
  EXPECT_GT(writing.steps, 2);
  ASSERT_EQ(check("to.db"), Status::kOk) << why_.text();
  EXPECT_EQ(report_.unfinished, 40);
  EXPECT_EQ(report_.findings, 0);
  ASSERT_EQ(check("from.db"), Status::kOk) << why_.text();
  EXPECT_EQ(report_.unfinished, 40 + writing.steps);
}

TEST_F(Maintenance, ACopyReplacesNothing) {
  Steps steps;
  ASSERT_EQ(copy(steps), Status::kOk) << why_.text();
  EXPECT_EQ(steps.last, steps.of);
  EXPECT_EQ(copy(steps), Status::kAlreadyExists);
}

// An empty log or journal would look like a free name, and the next process would take the copy for
// that file.
TEST_F(Maintenance, ACopyIsNoFileBesideTheDatabase) {
  start(0, 3);
  for (const char* const ending : port::kFilesBeside) {
    Steps steps;
    const std::string to = std::string("from.db") + ending;
    const bool was_there = ::access(to.c_str(), F_OK) == 0;
    EXPECT_EQ(copy_database(process_, "from.db", to, port_.port(), memory_.data(), memory_.size(),
                            steps, why_),
              Status::kInvalidArgument)
        << to;
    EXPECT_EQ(::access(to.c_str(), F_OK) == 0, was_there) << to;
  }
  Steps steps;
  ASSERT_EQ(::mkfifo("pipe", 0600), 0);
  EXPECT_EQ(copy_database(process_, "from.db", "pipe", port_.port(), memory_.data(), memory_.size(),
                          steps, why_),
            Status::kCannotOpen);
  ASSERT_EQ(::unlink("pipe"), 0);
  ASSERT_EQ(check("from.db"), Status::kOk) << why_.text();
  EXPECT_EQ(report_.findings, 0);
}

TEST_F(Maintenance, TheVisitorStopsACopy) {
  start(0, 40);
  Steps steps(1);
  EXPECT_EQ(copy(steps), Status::kStopped);
  EXPECT_EQ(steps.steps, 1);
}

TEST_F(Maintenance, AReportHasTheFormatAndTheIdentity) {
  start(0, 3);
  ASSERT_EQ(check("from.db"), Status::kOk) << why_.text();
  const std::string id = report_.id;
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(report_.format, 2);
  EXPECT_EQ(report_.page_bytes, 512);
  EXPECT_GT(report_.pages, 20);
  EXPECT_EQ(report_.orphans, 0);
  EXPECT_EQ(report_.unfinished, 3);
  Steps steps;
  ASSERT_EQ(copy(steps), Status::kOk);
  ASSERT_EQ(check("to.db"), Status::kOk);
  EXPECT_EQ(report_.id, id);
}

TEST_F(Maintenance, ACopyBecomesADatabaseOfItsOwn) {
  start(0, 3);
  ASSERT_EQ(check("from.db"), Status::kOk) << why_.text();
  const std::string id = report_.id;
  Steps steps;
  ASSERT_EQ(copy(steps), Status::kOk) << why_.text();
  ASSERT_EQ(renew("to.db"), Status::kOk) << why_.text();
  // All data is in the one file.
  for (const char* name : {"to.db-wal", "to.db-shm", "to.db-journal"})
    EXPECT_NE(access(name, F_OK), 0) << name;
  ASSERT_EQ(check("to.db"), Status::kOk) << why_.text();
  const std::string renewed = report_.id;
  EXPECT_EQ(renewed.size(), 32U);
  EXPECT_EQ(renewed.find_first_not_of("0123456789abcdef"), std::string::npos) << renewed;
  EXPECT_NE(renewed, id);
  EXPECT_EQ(report_.unfinished, 3);
  EXPECT_EQ(report_.findings, 0);
  ASSERT_EQ(renew("to.db"), Status::kOk) << why_.text();
  ASSERT_EQ(check("to.db"), Status::kOk) << why_.text();
  EXPECT_NE(report_.id, renewed);
  ASSERT_EQ(check("from.db"), Status::kOk) << why_.text();
  EXPECT_EQ(report_.id, id);
  // A missing database is not created, and a file that is not Pawl's stays unchanged.
  EXPECT_EQ(renew("none.db"), Status::kCannotOpen);
  EXPECT_NE(access("none.db", F_OK), 0);
  std::FILE* const junk = std::fopen("junk.db", "wb");
  ASSERT_NE(junk, nullptr);
  for (int i = 0; i < 500; ++i)
    std::fputs("no database", junk);
  std::fclose(junk);
  EXPECT_EQ(renew("junk.db"), Status::kCorrupt) << why_.text();
}

class Keys final : public InstanceVisitor {
 public:
  void on_instance(const InstanceInfo& one) noexcept override {
    least = std::min(least, one.key);
    most = std::max(most, one.key);
  }
  std::int64_t least = INT64_MAX;
  std::int64_t most = 0;
};

TEST_F(Maintenance, ACopyInThePlaceOfItsDatabaseGivesNoNumberAnew) {
  // In the first two rounds nothing was inserted before the copy.
  std::int64_t last = 0;
  for (const int before : {0, 0, 3}) {
    start(0, before);
    Steps steps;
    std::remove("to.db");
    ASSERT_EQ(copy(steps), Status::kOk) << why_.text();
    start(before, before + 3);  // the copy does not contain these
    Keys given;
    Page page;
    ASSERT_EQ(client_.list_instances(InstanceFilter(), &page, given), Status::kOk);
    ASSERT_EQ(skip_numbers(process_, "to.db", port_.port(), memory_.data(), memory_.size(), why_),
              Status::kOk)
        << why_.text();
    for (const char* name : {"to.db-wal", "to.db-shm", "to.db-journal"})
      EXPECT_NE(access(name, F_OK), 0) << name;
    ASSERT_EQ(check("to.db"), Status::kOk) << why_.text();
    EXPECT_EQ(report_.findings, 0);
    EXPECT_EQ(report_.unfinished, before);
    ClientOptions options;
    options.database_path = "to.db";
    std::vector<unsigned char> memory(Client::required_memory(options));
    Client copied;
    ASSERT_EQ(copied.open(process_, options, port_.port(), memory.data(), memory.size(), why_),
              Status::kOk)
        << why_.text();
    ASSERT_EQ(copied.start_orchestration("work", InstanceId("new"), ""), Status::kOk);
    Keys all;
    page = Page();
    ASSERT_EQ(copied.list_instances(InstanceFilter(), &page, all), Status::kOk);
    EXPECT_GE(all.most, given.most + (std::int64_t{1} << 30) - 3);
    // Restored once more, the numbers start elsewhere than the first time, except once in 2^18
    // times.
    EXPECT_NE(all.most >> 30, last >> 30);
    last = all.most;
    if (before > 0) {
      EXPECT_EQ(all.least, given.least) << "what it has stays as it is";
    }
    ASSERT_EQ(client_.delete_instance("0", true), Status::kOk);
    ASSERT_EQ(client_.delete_instance("1", true), Status::kOk);
    ASSERT_EQ(client_.delete_instance("2", true), Status::kOk);
  }
  EXPECT_EQ(skip_numbers(process_, "none.db", port_.port(), memory_.data(), memory_.size(), why_),
            Status::kCannotOpen);
}

TEST_F(Maintenance, WhatIsMissingIsNamed) {
  Steps steps;
  EXPECT_EQ(check("none.db"), Status::kCannotOpen);
  EXPECT_NE(why_.text().find("none.db"), std::string_view::npos) << why_.text();
  EXPECT_EQ(
      copy_database(process_, "from.db", "to.db", port_.port(), memory_.data(), 64, steps, why_),
      Status::kResourceExhausted);
  Process idle;
  EXPECT_EQ(copy_database(idle, "from.db", "to.db", port_.port(), memory_.data(), memory_.size(),
                          steps, why_),
            Status::kInvalidArgument);
}

}  // namespace
}  // namespace pawl

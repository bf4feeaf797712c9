// Goal: a process may be killed at any moment. Nothing acknowledged is lost, every instance ends
// right, and no history has a gap or a step twice. Method: SIGKILL after each of the first 200
// writes, syncs, renames and truncations of a run, counted from outside by a preloaded library, and
// at 50 random times. Each time a second process finishes the rest, and a checker that links
// nothing of Pawl reads the database.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "crash_driver.hpp"
#include "crash_work.hpp"
#include "gtest/gtest.h"

namespace crash_test {
namespace {

constexpr int kLastCall = 200;
constexpr std::int64_t kPatienceMs = 20'000;
constexpr int kAfterwards = 70;  // number of the instance that the surviving process starts itself

// Starts every kind once by the Runtime's own calls and once by a Client on a thread of the same
// process.
std::vector<std::string> one_run(const std::string& database, const std::string& node) {
  std::vector<std::string> arguments = {"serve", database, "--own",        "1", "7", "--client",
                                        "8",     "14",     "--exit-after", "14"};
  if (!node.empty()) arguments.insert(arguments.end(), {"--node", node});
  return arguments;
}

// In half of all cases the process returns under its old name, and inherits at once; in the other
// half it has a new name, and must find out that the old process is gone.
std::string node_of(int number) { return number % 2 == 0 ? "gateway" : ""; }

// False: the run ended before that many calls.
bool kill_and_check(int at) {
  const Folder folder;
  CrashAt crash;
  crash.prefix = folder.file("pawl.db");
  crash.at = at;
  crash.report = folder.file("report");
  std::set<std::string> acknowledged;
  std::set<std::string> tried;
  int status = 0;
  {
    Child victim(one_run(crash.prefix, node_of(at)), environment_of(crash));
    status = victim.wait(kPatienceMs);
    victim.collect("ack", &acknowledged);
    victim.collect("try", &tried);
  }
  EXPECT_TRUE(exited_well(status) || killed_by(status, SIGKILL)) << describe(status);
  finish_and_check(crash.prefix, node_of(at), kAfterwards, acknowledged, tried,
                   "killed after call " + std::to_string(at));
  return killed_by(status, SIGKILL);
}

#if defined(__SANITIZE_ADDRESS__)
constexpr int kSlowness = 5;  // runs only one of so many cases
#else
constexpr int kSlowness = 1;
#endif

// Set by ./test/run --soak.
bool soaks() { return std::getenv("PAWL_SOAK") != nullptr; }

class KillAtCall : public testing::TestWithParam<int> {};

TEST_P(KillAtCall, NothingAcknowledgedIsLost) {
  const int last = std::min(GetParam() + 24, kLastCall);
  for (int at = GetParam(); at <= last && !HasFailure(); at += kSlowness)
    EXPECT_TRUE(kill_and_check(at)) << "call " << at;
}

// Ranges, so that two run beside each other.
INSTANTIATE_TEST_SUITE_P(First200, KillAtCall, testing::Range(1, kLastCall + 1, 25));

// Many of the first 200 calls make the tables. A prime stride covers the rest of the run: every
// kind of call in every kind of commit, including the orderly end.
TEST(KillLater, NothingAcknowledgedIsLost) {
  const int stride = soaks() ? 1 : 13 * kSlowness;
  int at = kLastCall + stride;
  while (kill_and_check(at) && !HasFailure())
    at += stride;
  EXPECT_GT(at, 2 * kLastCall);
}

TEST(KillRun, WithoutAKillEndsRightAndHasCallsEnough) {
  const Folder folder;
  CrashAt crash;
  crash.prefix = folder.file("pawl.db");
  crash.report = folder.file("report");
  std::set<std::string> acknowledged;
  std::set<std::string> tried;
  Child run(one_run(crash.prefix, "gateway"), environment_of(crash));
  const int status = run.wait(kPatienceMs);
  ASSERT_TRUE(exited_well(status)) << describe(status);
  run.collect("ack", &acknowledged);
  run.collect("try", &tried);
  EXPECT_EQ(acknowledged.size(), 14U);
  for (const std::string& problem : Database(crash.prefix).problems(acknowledged, tried))
    ADD_FAILURE() << problem;
  std::FILE* report = std::fopen(crash.report.c_str(), "r");
  ASSERT_NE(report, nullptr);
  char line[256] = {};
  ASSERT_NE(std::fgets(line, sizeof(line), report), nullptr);
  std::fclose(report);
  long total = 0;
  ASSERT_EQ(std::sscanf(line, "total %ld", &total), 1) << line;
  EXPECT_GE(total, kLastCall) << line;
  std::printf("one run: %s", line);
}

// The client dies during its commits. The runtime lives on, and must not need a restart.
TEST(KillClientAtCall, RuntimeLivesOnAndServesWhatWasCommitted) {
  bool killed = true;
  int at = 1;
  const int stride = soaks() ? 1 : 3 * kSlowness;
  for (; killed && !HasFailure(); at += stride) {
    SCOPED_TRACE("client killed after call " + std::to_string(at));
    const Folder folder;
    const std::string database = folder.file("pawl.db");
    CrashAt crash;
    crash.prefix = database;
    crash.at = at;
    std::set<std::string> acknowledged;
    std::set<std::string> tried;
    Child runtime({"serve", database});
    ASSERT_TRUE(runtime.listen_for("ready", kPatienceMs)) << describe(runtime.wait(0));
    {
      Child client({"send", database, "1", "7"}, environment_of(crash));
      const int status = client.wait(kPatienceMs);
      killed = killed_by(status, SIGKILL);
      EXPECT_TRUE(killed || exited_well(status)) << describe(status);
      client.collect("ack", &acknowledged);
      client.collect("try", &tried);
    }
    Database look(database);
    EXPECT_TRUE(look.wait_until_all_ended(kPatienceMs)) << look.running() << " still run";
    runtime.send_signal(SIGTERM);
    const int status = runtime.wait(kPatienceMs);
    EXPECT_TRUE(exited_well(status)) << describe(status);
    for (const std::string& problem : look.problems(acknowledged, tried))
      ADD_FAILURE() << problem;
  }
  EXPECT_GT(at, 10);
}

// Runtime and client are two processes; either may die.
TEST(KillAtRandomTimes, NothingAcknowledgedIsLost) {
  std::mt19937 random(20'400'101);
  const int rounds = soaks() ? 500 : 50;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    const Folder folder;
    const std::string database = folder.file("pawl.db");
    std::set<std::string> acknowledged;
    std::set<std::string> tried;
    const bool client_dies = round % 3 == 0;
    {
      std::vector<std::string> arguments = {"serve", database};
      if (round % 2 == 0) arguments.insert(arguments.end(), {"--node", "gateway"});
      Child runtime(arguments);
      ASSERT_TRUE(runtime.listen_for("ready", kPatienceMs)) << describe(runtime.wait(0));
      Child client({"send", database, "1", "21"});
      ::usleep(static_cast<useconds_t>(random() % 120'000));
      (client_dies ? client : runtime).send_signal(SIGKILL);
      if (client_dies) {
        ::usleep(static_cast<useconds_t>(random() % 20'000));
        runtime.send_signal(SIGKILL);
      }
      static_cast<void>(client.wait(kPatienceMs));
      static_cast<void>(runtime.wait(kPatienceMs));
      client.collect("ack", &acknowledged);
      client.collect("try", &tried);
      if (!client_dies) {
        EXPECT_EQ(acknowledged.size(), 21U);
      }
    }
    finish_and_check(database, node_of(round), kAfterwards, acknowledged, tried,
                     "random kill " + std::to_string(round));
  }
}

}  // namespace
}  // namespace crash_test

// Goal: work that kills its process is given up after its limit, and no other work is lost with it.
#include <signal.h>

#include "crash_driver.hpp"
#include "crash_work.hpp"
#include "gtest/gtest.h"

namespace crash_test {
namespace {

constexpr int kOthers = 100;
constexpr int kCrashesMax = 10;  // LimitOptions::crashes_max

TEST(CrashPoison, TurnAndActivityThatAbort_EndPoisonedWhileOthersFinish) {
  Folder folder;
  folder.announce("activity_poisoned", 1, 1);
  const std::string database = folder.file("pawl.db");
  std::set<std::string> acknowledged;
  std::set<std::string> tried;
  {
    // Both kinds abort at their very start, so the rest must be stored before.
    const int last = crash_work::kWorkAbortsNumber;
    const std::string first = std::to_string(crash_work::kTurnAbortsNumber);
    Child client({"send", database, "1", std::to_string(kOthers)});
    ASSERT_TRUE(exited_well(client.wait(20'000)));
    Child killers({"send", database, first, std::to_string(last)});
    ASSERT_TRUE(exited_well(killers.wait(20'000)));
    for (const Child* one : {&client, &killers}) {
      one->collect("ack", &acknowledged);
      one->collect("try", &tried);
    }
  }
  ASSERT_EQ(acknowledged.size(), static_cast<std::size_t>(kOthers + 2));

  const std::int64_t begin = now_ms();
  int aborts = 0;
  bool ended = false;
  while (!ended && aborts <= 3 * kCrashesMax) {
    Child runtime({"serve", database, "--node", "gateway", "--exit-after", "1000000"});
    Database look(database);
    const std::int64_t until = now_ms() + 20'000;
    bool alive = true;
    while (alive && !ended && now_ms() < until) {
      ended = look.running() == 0;
      alive = runtime.listen(2);
    }
    if (ended) runtime.send_signal(SIGTERM);
    const int status = runtime.wait(10'000);
    if (ended && exited_well(status)) break;
    ASSERT_TRUE(killed_by(status, SIGABRT)) << describe(status) << " after " << aborts << " aborts";
    ++aborts;
  }
  std::printf("%d aborts, %lld ms\n", aborts, static_cast<long long>(now_ms() - begin));
  EXPECT_TRUE(ended);
  EXPECT_EQ(aborts, 2 * kCrashesMax);
  Database look(database);
  for (const std::string& problem : look.problems(acknowledged, tried))
    ADD_FAILURE() << problem;
}

}  // namespace
}  // namespace crash_test

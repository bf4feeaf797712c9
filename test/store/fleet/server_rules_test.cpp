// The server as tables: which connection counts, and when a holder of the lock is ended.
// Rules: F16, F17.
#include "store/postgres/server_rules.hpp"

#include <gtest/gtest.h>

namespace pawl::fleet {
namespace {

TEST(ServerRules, which_server_counts) {
  EXPECT_EQ(look_at_server({false, 3, 1}, {}, 1), ServerVerdict::kUsable);
  EXPECT_EQ(look_at_server({false, 3, 1}, 3, 1), ServerVerdict::kUsable);
  EXPECT_EQ(look_at_server({false, 4, 1}, 3, 1), ServerVerdict::kUsable);
  EXPECT_EQ(look_at_server({false, 2, 1}, 3, 1), ServerVerdict::kOlderTimeline);
  EXPECT_EQ(look_at_server({true, 3, 1}, 3, 1), ServerVerdict::kReplica);
  EXPECT_EQ(look_at_server({false, 3, 2}, 3, 1), ServerVerdict::kUnknownSchema);
  EXPECT_EQ(look_at_server({false, 3, 0}, 3, 1), ServerVerdict::kUnknownSchema);
}

TEST(ServerRules, a_holder_is_ended_after_two_seconds_of_its_own) {
  const LockWait wait = watch_lock({}, {42, 7'000}, 100);
  EXPECT_EQ(wait.since_boot_ms, 100);
  EXPECT_EQ(watch_lock(wait, {42, 7'000}, 1'500).since_boot_ms, 100);
  EXPECT_EQ(watch_lock(wait, {43, 7'000}, 1'500).since_boot_ms, 1'500) << "another backend";
  EXPECT_EQ(watch_lock(wait, {42, 8'000}, 1'500).since_boot_ms, 1'500) << "a later transaction";
  EXPECT_FALSE(must_end_holder(wait, 2'099));
  EXPECT_TRUE(must_end_holder(wait, 2'100));
}

}  // namespace
}  // namespace pawl::fleet

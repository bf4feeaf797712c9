// Pages that a renewal writes, however many sessions the worker owns: docs/limits/sessions.md.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdio>
#include <string>

#include "session_world.hpp"

namespace pawl::test {
namespace {

int pages_written(Worker& worker) {
  int now = 0;
  int highest = 0;
  EXPECT_EQ(sqlite3_db_status(worker.handle(), SQLITE_DBSTATUS_CACHE_WRITE, &now, &highest, 0),
            SQLITE_OK);
  return now;
}

constexpr int kPagesMax = 16;

class Renewals : public ::testing::TestWithParam<std::uint32_t> {};

// The worker has run an item of each session some time ago. The renewal of its own row is in the
// same commit.
TEST_P(Renewals, writes_as_many_pages_as_the_page_says) {
  const std::uint32_t sessions = GetParam();
  World world;
  Worker worker(world);
  worker.options.max_sessions_per_worker = sessions;
  worker.join("A");
  for (std::uint32_t i = 0; i < sessions; ++i) {
    worker.run_one("session-" + std::to_string(i));
  }
  world.pass(25'000);
  const int before = pages_written(worker);
  std::size_t renewed = 0;
  std::size_t released = 0;
  ASSERT_EQ(worker.batch([&](Store& store) {
    PAWL_TRY(store.worker().renew_worker(worker.me(), worker.options.session_lock_timeout_ms));
    return store.session().owners.renew_session_lock(worker.me(), worker.options, &renewed,
                                                     &released);
  }),
            Status::kOk);
  const int pages = pages_written(worker) - before;
  EXPECT_EQ(renewed, sessions);
  std::printf("%u sessions: %d pages\n", sessions, pages);
  EXPECT_LE(pages, kPagesMax);
  EXPECT_GT(pages, kPagesMax / 2) << "the page says more than it is";
}

INSTANTIATE_TEST_SUITE_P(Sessions, Renewals, ::testing::Values(0, 10, 128, 1'000),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace pawl::test

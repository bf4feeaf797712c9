// Pages that a renewal writes, however many sessions the worker owns: docs/limits/sessions.md.
#include <gtest/gtest.h>
#include <sqlite3.h>

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

class Renewals : public ::testing::TestWithParam<std::uint32_t> {};

// A renewal writes the page of the worker's row, and the page with the time, as most commits do.
// The simulated disk has sectors of 4096 bytes, and SQLite writes all pages of a sector with one.
constexpr int kPages = 2 * 4096 / 512;

// The worker has run an item of each session some time ago.
TEST_P(Renewals, writes_as_many_pages_as_the_page_says) {
  const std::uint32_t sessions = GetParam();
  World world;
  Worker worker(world);
  worker.options.max_sessions_per_worker = sessions;
  worker.join("A");
  for (std::uint32_t i = 0; i < sessions; ++i) {
    worker.run_one("session-" + std::to_string(i));
  }
  const auto renew = [&] {
    world.pass(25'000);
    const int before = pages_written(worker);
    std::size_t renewed = 0;
    std::size_t released = 0;
    EXPECT_EQ(worker.batch([&](Store& store) {
      PAWL_TRY(store.session().owners.renew_session_lock(worker.me(), worker.options, &renewed,
                                                         &released));
      return store.worker().renew_worker(worker.me(), worker.options.worker_lock_timeout_ms);
    }),
              Status::kOk);
    EXPECT_EQ(renewed, sessions);
    return pages_written(worker) - before;
  };
  renew();  // the first one confirms the clock, too
  EXPECT_EQ(renew(), kPages);
}

INSTANTIATE_TEST_SUITE_P(Sessions, Renewals, ::testing::Values(0, 10, 128, 1'000),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace pawl::test

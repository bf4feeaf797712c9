// Goal: an instance shows and keeps its custom status beside its history, through the public API.
#include <gtest/gtest.h>

#include <string>

#include "world.hpp"

namespace pawl {
namespace {

using testing::GatewayTest;
using testing::kPath;
using testing::Worker;

constexpr std::int64_t kHourMs = 3'600'000;

Poll hour(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("");
}

// Sets two in the first turn and one in the second; the next execution sets none.
Poll shows(OrchestrationContext& ctx) {
  if (ctx.execution_id() == 2) return hour(ctx);
  EXPECT_EQ(ctx.set_custom_status("opening"), ErrorKind::kNone);
  EXPECT_EQ(ctx.set_custom_status(ctx.input()), ErrorKind::kNone);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  EXPECT_EQ(ctx.set_custom_status("watering"), ErrorKind::kNone);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.continue_as_new("");
}

Poll resets(OrchestrationContext& ctx) {
  EXPECT_EQ(ctx.set_custom_status("here"), ErrorKind::kNone);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  ctx.reset_custom_status();
  return hour(ctx);
}

Poll too_long(OrchestrationContext& ctx) {
  static const std::string text(4097, 'x');
  const std::string_view longest = std::string_view(text).substr(1);
  if (ctx.set_custom_status(longest) != ErrorKind::kNone) return ctx.fail("4096 are allowed");
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  const ErrorKind refused = ctx.set_custom_status(text);
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete(error_kind_name(refused));
}

// A status that a branch sets beyond its horizon has never been there.
Poll loser_shows(OrchestrationContext& ctx) {
  const Handle slow = ctx.open_branch([](OrchestrationContext& branch) -> Poll {
    PAWL_AWAIT_DONE(branch.schedule_timer(std::chrono::hours(2)));
    EXPECT_EQ(branch.set_custom_status("lost"), ErrorKind::kNone);
    return branch.complete("");
  });
  const Handle quick = ctx.schedule_timer(std::chrono::hours(1));
  PAWL_AWAIT_DONE(ctx.select(slow, quick));
  EXPECT_EQ(ctx.set_custom_status("won"), ErrorKind::kNone);
  return ctx.complete("");
}

class CustomStatus : public GatewayTest {
 protected:
  CustomStatus() {
    add("shows", shows);
    add("resets", resets);
    add("too_long", too_long);
    add("loser_shows", loser_shows);
    add("hour", hour);
  }
  // Drives until the status has this version or the instance has ended.
  void run_to(std::int64_t version) {
    drive_until(
        [&] {
          const OrchestrationStatus is = client().status("a");
          return is.custom_status_version >= version || is.state != OrchestrationState::kRunning;
        },
        10 * kHourMs);
  }
};

TEST_F(CustomStatus, set_is_shown_with_a_version_that_counts_every_change) {
  Worker& worker = start_worker();
  start("a", "shows", "open");
  EXPECT_EQ(client().status("a").custom_status, "");
  EXPECT_EQ(client().status("a").custom_status_version, 0);
  run_to(1);
  EXPECT_EQ(client().status("a").custom_status, "open");
  EXPECT_EQ(client().status("a").custom_status_version, 2);
  OrchestrationStatus own;
  ASSERT_EQ(worker.runtime->get_status("a", &own), Status::kOk);
  EXPECT_EQ(own.custom_status, "open");
  run_to(3);
  EXPECT_EQ(client().status("a").custom_status, "watering");
  EXPECT_EQ(client().status("a").custom_status_version, 3);
}

TEST_F(CustomStatus, outlives_continue_as_new_restart_and_the_end) {
  start_worker();
  start("a", "shows", "open");
  run_to(3);
  workers.clear();
  start_worker();
  run_to(4);
  const OrchestrationStatus is = client().status("a");
  EXPECT_EQ(is.state, OrchestrationState::kCompleted);
  EXPECT_EQ(is.execution_id, 2);
  EXPECT_EQ(is.custom_status, "watering");
  EXPECT_EQ(is.custom_status_version, 3);
}

TEST_F(CustomStatus, reset_is_a_change_to_nothing) {
  start_worker();
  start("a", "resets");
  run_to(2);
  EXPECT_EQ(client().status("a").custom_status, "");
  EXPECT_EQ(client().status("a").custom_status_version, 2);
}

TEST_F(CustomStatus, too_long_a_text_is_refused_live_and_in_replay) {
  start_worker();
  start("a", "too_long");
  run_to(2);
  const OrchestrationStatus is = client().status("a");
  EXPECT_EQ(is.output, "limit");
  EXPECT_EQ(is.custom_status, std::string(4096, 'x'));
  EXPECT_EQ(is.custom_status_version, 1);
}

TEST_F(CustomStatus, a_lost_branch_shows_nothing) {
  start_worker();
  start("a", "loser_shows");
  run_to(2);
  EXPECT_EQ(client().status("a").custom_status, "won");
  EXPECT_EQ(client().status("a").custom_status_version, 1);
}

TEST_F(CustomStatus, waiting_answers_a_newer_version_at_once) {
  Worker& worker = start_worker();
  start("a", "shows", "open");
  run_to(1);
  worker.stop();  // a call on the loop's thread must not wait
  OrchestrationStatus is;
  EXPECT_EQ(client()->wait_for_status_change("a", 1, std::chrono::milliseconds(kHourMs), &is),
            Status::kOk);
  EXPECT_EQ(is.custom_status, "open");
  EXPECT_EQ(is.custom_status_version, 2);
  EXPECT_EQ(client()->wait_for_status_change("a", -1, std::chrono::milliseconds(0), &is),
            Status::kOk);
  EXPECT_EQ(client().node.sleeps(), 0U);
}

TEST_F(CustomStatus, waiting_for_a_change_sleeps_until_its_time_has_passed) {
  Worker& worker = start_worker();
  start("a", "shows", "open");
  run_to(1);
  worker.stop();  // a call on the loop's thread must not wait
  const std::int64_t before = machine.boot_ms();
  OrchestrationStatus is;
  EXPECT_EQ(client()->wait_for_status_change("a", 2, std::chrono::milliseconds(kHourMs / 2), &is),
            Status::kTimeout);
  EXPECT_EQ(is.custom_status_version, 2);
  EXPECT_EQ(machine.boot_ms(), before + kHourMs / 2);
  EXPECT_LT(client().node.sleeps(), 10U);  // it is woken, and does not poll
}

TEST_F(CustomStatus, waiting_on_the_loops_own_thread_would_block) {
  start_worker();
  OrchestrationStatus is;
  EXPECT_EQ(client()->wait_for_status_change("a", 0, std::chrono::milliseconds(kHourMs), &is),
            Status::kWouldBlock);
}

TEST_F(CustomStatus, waiting_for_what_cannot_change_says_so) {
  Worker& worker = start_worker();
  start("a", "hour");
  run_to(1);
  worker.stop();  // a call on the loop's thread must not wait
  OrchestrationStatus is;
  EXPECT_EQ(client()->wait_for_status_change("b", 0, std::chrono::milliseconds(kHourMs), &is),
            Status::kNotFound);
  EXPECT_EQ(client()->wait_for_status_change("a", 0, std::chrono::milliseconds(kHourMs), &is),
            Status::kStale);
  EXPECT_EQ(is.state, OrchestrationState::kCompleted);
}

}  // namespace
}  // namespace pawl

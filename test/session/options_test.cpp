// Validation of SessionOptions: defaults stand, and every refusal names both values.
#include "session_options.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

std::string refusal(const SessionOptions& options) {
  Diagnostic diagnostic;
  const Status status = validate(options, diagnostic);
  EXPECT_EQ(status, Status::kInvalidOptions);
  return std::string(diagnostic.text());
}

TEST(SessionOptions, test_runtime_options_session_defaults) {
  const SessionOptions options;
  Diagnostic diagnostic;
  EXPECT_EQ(validate(options, diagnostic), Status::kOk);
  EXPECT_EQ(options.session_lock_timeout_ms, 30'000);
  EXPECT_EQ(options.session_lock_renewal_buffer_ms, 5'000);
  EXPECT_EQ(options.session_idle_timeout_ms, 300'000);
  EXPECT_EQ(options.session_cleanup_interval_ms, 300'000);
  EXPECT_EQ(options.max_sessions_per_worker, 10u);
  EXPECT_EQ(renewal_interval_ms(options), 25'000);
}

TEST(SessionOptions, worker_lock_timeout_exceeds_session_idle_timeout_errors) {
  SessionOptions options;
  options.worker_lock_timeout_ms = 600'000;
  options.session_idle_timeout_ms = 300'000;
  const std::string text = refusal(options);
  EXPECT_NE(text.find("300000"), std::string::npos) << text;
  EXPECT_NE(text.find("595000"), std::string::npos) << text;
  EXPECT_NE(text.find("session_idle_timeout"), std::string::npos) << text;
  EXPECT_NE(text.find("worker_lock_timeout"), std::string::npos) << text;
}

TEST(SessionOptions, idle_must_be_above_the_renewal_interval_by_a_hair) {
  SessionOptions options;
  Diagnostic diagnostic;
  options.session_idle_timeout_ms = 25'000;
  EXPECT_EQ(validate(options, diagnostic), Status::kInvalidOptions);
  options.session_idle_timeout_ms = 25'001;
  EXPECT_EQ(validate(options, diagnostic), Status::kOk);
}

TEST(SessionOptions, buffers_lie_inside_their_timeouts) {
  SessionOptions options;
  options.session_lock_renewal_buffer_ms = 30'000;
  EXPECT_NE(refusal(options).find("session_lock_renewal_buffer (30000 ms)"), std::string::npos);
  options = SessionOptions();
  options.worker_lock_renewal_buffer_ms = 0;
  EXPECT_NE(refusal(options).find("worker_lock_renewal_buffer (0 ms)"), std::string::npos);
  options.worker_lock_renewal_buffer_ms = -1;
  EXPECT_NE(refusal(options).find("-1"), std::string::npos);
}

TEST(SessionOptions, leases_have_a_least_and_a_most) {
  SessionOptions options;
  options.session_lock_timeout_ms = 999;
  EXPECT_NE(refusal(options).find("session_lock_timeout (999 ms)"), std::string::npos);
  options = SessionOptions();
  options.worker_lock_timeout_ms = INT64_MAX;
  EXPECT_NE(refusal(options).find("worker_lock_timeout"), std::string::npos);
  options = SessionOptions();
  options.session_cleanup_interval_ms = 0;
  EXPECT_NE(refusal(options).find("session_cleanup_interval (0 ms)"), std::string::npos);
}

TEST(SessionOptions, no_sessions_at_all_is_a_valid_worker) {
  SessionOptions options;
  options.max_sessions_per_worker = 0;
  Diagnostic diagnostic;
  EXPECT_EQ(validate(options, diagnostic), Status::kOk);
}

TEST(SessionOptions, the_shorter_interval_renews_everything) {
  SessionOptions options;
  options.worker_lock_timeout_ms = 10'000;
  EXPECT_EQ(renewal_interval_ms(options), 5'000);
}

}  // namespace
}  // namespace pawl

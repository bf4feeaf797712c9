// Validation of LeaseOptions and SessionOptions: the defaults are accepted, and every refusal names
// both values.
#include "store/worker/term_rules.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

std::string refusal(const Options& options) {
  Diagnostic diagnostic;
  const Status status = validate(options.leases, options.sessions, diagnostic);
  EXPECT_EQ(status, Status::kInvalidOptions);
  return std::string(diagnostic.text());
}

TEST(TermRules, test_runtime_options_session_defaults) {
  const Options options;
  Diagnostic diagnostic;
  EXPECT_EQ(validate(options.leases, options.sessions, diagnostic), Status::kOk);
  EXPECT_EQ(options.leases.session_lock_timeout.count(), 30'000);
  EXPECT_EQ(options.leases.session_lock_renewal_buffer.count(), 5'000);
  EXPECT_EQ(options.sessions.session_idle_timeout.count(), 300'000);
  EXPECT_EQ(options.sessions.session_cleanup_interval.count(), 300'000);
  EXPECT_EQ(options.sessions.max_sessions_per_worker, 128u);
  EXPECT_EQ(Options::small().sessions.max_sessions_per_worker, 16u);
  EXPECT_EQ(Options::smallest().sessions.max_sessions_per_worker, 10u);
  EXPECT_EQ(WorkerTerms(options.leases, options.sessions).renewal_interval_ms(), 25'000);
}

TEST(TermRules, worker_lock_timeout_exceeds_session_idle_timeout_errors) {
  Options options;
  options.leases.worker_lock_timeout = std::chrono::seconds(600);
  options.sessions.session_idle_timeout = std::chrono::seconds(300);
  const std::string text = refusal(options);
  EXPECT_NE(text.find("300000"), std::string::npos) << text;
  EXPECT_NE(text.find("595000"), std::string::npos) << text;
  EXPECT_NE(text.find("session_idle_timeout"), std::string::npos) << text;
  EXPECT_NE(text.find("worker_lock_timeout"), std::string::npos) << text;
}

TEST(TermRules, idle_must_be_above_the_renewal_interval_by_a_hair) {
  Options options;
  Diagnostic diagnostic;
  options.sessions.session_idle_timeout = std::chrono::seconds(25);
  EXPECT_EQ(validate(options.leases, options.sessions, diagnostic), Status::kInvalidOptions);
  options.sessions.session_idle_timeout = std::chrono::milliseconds(25'001);
  EXPECT_EQ(validate(options.leases, options.sessions, diagnostic), Status::kOk);
}

TEST(TermRules, buffers_lie_inside_their_timeouts) {
  Options options;
  options.leases.session_lock_renewal_buffer = std::chrono::seconds(30);
  EXPECT_NE(refusal(options).find("session_lock_renewal_buffer (30000 ms)"), std::string::npos);
  options = Options();
  options.leases.worker_lock_renewal_buffer = std::chrono::milliseconds(0);
  EXPECT_NE(refusal(options).find("worker_lock_renewal_buffer (0 ms)"), std::string::npos);
  options.leases.worker_lock_renewal_buffer = std::chrono::milliseconds(-1);
  EXPECT_NE(refusal(options).find("-1"), std::string::npos);
}

TEST(TermRules, leases_have_a_least_and_a_most) {
  Options options;
  options.leases.session_lock_timeout = std::chrono::milliseconds(999);
  EXPECT_NE(refusal(options).find("session_lock_timeout (999 ms)"), std::string::npos);
  options = Options();
  options.leases.worker_lock_timeout = std::chrono::milliseconds(INT64_MAX);
  EXPECT_NE(refusal(options).find("worker_lock_timeout"), std::string::npos);
  options = Options();
  options.sessions.session_cleanup_interval = std::chrono::milliseconds(0);
  EXPECT_NE(refusal(options).find("session_cleanup_interval (0 ms)"), std::string::npos);
}

TEST(TermRules, no_sessions_at_all_is_a_valid_worker) {
  Options options;
  options.sessions.max_sessions_per_worker = 0;
  Diagnostic diagnostic;
  EXPECT_EQ(validate(options.leases, options.sessions, diagnostic), Status::kOk);
}

TEST(TermRules, the_shorter_interval_renews_everything) {
  Options options;
  options.leases.worker_lock_timeout = std::chrono::seconds(10);
  EXPECT_EQ(WorkerTerms(options.leases, options.sessions).renewal_interval_ms(), 5'000);
}

}  // namespace
}  // namespace pawl

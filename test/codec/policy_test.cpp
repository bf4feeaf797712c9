// Goal: policies and session settings are read back as they were written, and texts that are out of
// range or no policy are refused.
#include <gtest/gtest.h>

#include <string>

#include "codec/policy.hpp"

namespace pawl {
namespace {

std::string text_of(const ActivityPolicy& options) {
  PolicyText text;
  EXPECT_TRUE(encode_policy(options, &text));
  return std::string(text.view());
}

ActivityPolicy full() {
  ActivityPolicy options;
  options.retry = {1'000'000, Backoff::kLinear, kDurationMax - std::chrono::milliseconds(1),
                   kDurationMax, 100};
  options.start_to_close_ms = kDurationMax.count();
  options.schedule_to_close_ms = kDurationMax.count();
  options.schedule_to_start_ms = kDurationMax.count();
  return options;
}

TEST(Policy, DefaultsHaveNoText) {
  ActivityPolicy options;
  options.session = "bed-1";
  EXPECT_EQ(text_of(options), "");
  options.retry.base = std::chrono::milliseconds(7);  // has no effect without retries
  EXPECT_EQ(text_of(options), "");
}

TEST(Policy, TheLongestTextFits) {
  EXPECT_EQ(text_of(full()),
            "attempts=1000000,backoff=2,base_ms=31535999999,cap_ms=31536000000,jitter_percent=100,"
            "start_to_close_ms=31536000000,schedule_to_close_ms=31536000000,"
            "schedule_to_start_ms=31536000000");
}

TEST(Policy, TheLongestSettingsFit) {
  SessionSettings settings;
  settings.exclusive = settings.notify = true;
  settings.idle_timeout = settings.idle_close = settings.max_age = kDurationMax;
  settings.idle_close_notice = kDurationMax / 2;
  settings.expiry_notice = kDurationMax - std::chrono::milliseconds(1);
  settings.max_activities = settings.activity_warning = kSessionActivitiesMax;
  settings.rate_interval = settings.rate_wait = kDurationMax;
  settings.rate_burst = 1'000'000;
  PolicyText text;
  ASSERT_TRUE(encode_settings(settings, &text)) << text.view();
  SessionSettings read;
  ASSERT_TRUE(decode_settings(text.view(), &read));
  EXPECT_EQ(read.idle_close, kDurationMax);
  EXPECT_EQ(read.idle_close_notice, kDurationMax / 2);
  EXPECT_EQ(read.rate_wait, kDurationMax);
}

TEST(Policy, ThereAndBack) {
  ActivityPolicy read;
  ASSERT_TRUE(decode_policy(text_of(full()), &read));
  EXPECT_EQ(text_of(read), text_of(full()));
  ASSERT_TRUE(decode_policy("", &read));
  EXPECT_EQ(read.retry.max_attempts, 1);
}

TEST(Policy, RefusesWhatIsOutOfRange) {
  PolicyText text;
  const auto refused = [&](auto change) {
    ActivityPolicy options;
    options.retry.max_attempts = 3;
    change(options);
    return !encode_policy(options, &text);
  };
  EXPECT_FALSE(refused([](ActivityPolicy&) {}));
  EXPECT_TRUE(refused([](ActivityPolicy& o) { o.retry.max_attempts = 0; }));
  EXPECT_TRUE(refused([](ActivityPolicy& o) { o.retry.max_attempts = 1'000'001; }));
  EXPECT_TRUE(refused([](ActivityPolicy& o) { o.retry.backoff = static_cast<Backoff>(4); }));
  EXPECT_TRUE(refused([](ActivityPolicy& o) { o.retry.base = std::chrono::milliseconds(-1); }));
  EXPECT_TRUE(refused(
      [](ActivityPolicy& o) { o.retry.cap = std::chrono::milliseconds(999); }));  // below base_ms
  EXPECT_TRUE(refused(
      [](ActivityPolicy& o) { o.retry.cap = kDurationMax + std::chrono::milliseconds(1); }));
  EXPECT_TRUE(refused([](ActivityPolicy& o) { o.retry.jitter_percent = 101; }));
  EXPECT_TRUE(refused([](ActivityPolicy& o) { o.start_to_close_ms = -1; }));
  EXPECT_TRUE(
      refused([](ActivityPolicy& o) { o.schedule_to_close_ms = kDurationMax.count() + 1; }));
  EXPECT_TRUE(refused([](ActivityPolicy& o) { o.schedule_to_start_ms = -1; }));
}

TEST(Policy, RefusesWhatIsNoPolicy) {
  ActivityPolicy read;
  for (const char* text : {"x", "attempts", "attempts=", "attempts=0", "attempts=2x", "what=1", ",",
                           "backoff=4", "attempts=99999999999999999999"})
    EXPECT_FALSE(decode_policy(text, &read)) << text;
}

TEST(Policy, NamesTheDifference) {
  EXPECT_EQ(policy_difference("", ""), nullptr);
  EXPECT_STREQ(policy_difference("", "attempts=2"), "retry.max_attempts");
  EXPECT_STREQ(policy_difference("attempts=2,jitter_percent=5", "attempts=2"),
               "retry.jitter_percent");
  EXPECT_STREQ(policy_difference("start_to_close_ms=5", "start_to_close_ms=6"), "start_to_close");
  EXPECT_STREQ(policy_difference("garbage", ""), "options");
}

}  // namespace
}  // namespace pawl

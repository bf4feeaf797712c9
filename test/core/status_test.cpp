// Goal: names of statuses and levels are stable and complete; a diagnostic that is too long is cut
// and never overruns its buffer.
#include "pawl/status.hpp"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "pawl/log.hpp"

namespace pawl {
namespace {

TEST(Status, EveryOneHasANameOfItsOwn) {
  std::set<std::string> names;
  const unsigned last = static_cast<unsigned>(Status::kInDoubt);
  for (unsigned i = 0; i <= last; ++i)
    names.insert(status_name(static_cast<Status>(i)));
  EXPECT_EQ(names.size(), last + 1U);
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_STREQ(status_name(Status::kResourceExhausted), "resource_exhausted");
  EXPECT_STREQ(status_name(static_cast<Status>(255)), "unknown");
}

TEST(LogLevel, Names) {
  EXPECT_STREQ(log_level_name(LogLevel::kDebug), "debug");
  EXPECT_STREQ(log_level_name(LogLevel::kError), "error");
  EXPECT_STREQ(log_level_name(static_cast<LogLevel>(9)), "unknown");
}

TEST(Diagnostic, LongTextIsCut) {
  Diagnostic diagnostic;
  EXPECT_EQ(diagnostic.text(), "");
  diagnostic.format("%s: %d", "lease_ms", 7);
  EXPECT_EQ(diagnostic.text(), "lease_ms: 7");
  const std::string longer(1000, 'x');
  diagnostic.format("%s", longer.c_str());
  EXPECT_EQ(diagnostic.text(), longer.substr(0, Diagnostic::kCapacity - 1));
  diagnostic.clear();
  EXPECT_EQ(diagnostic.text(), "");
}

Result<int> half(int number) {
  if (number % 2 != 0) return Status::kInvalidArgument;
  return number / 2;
}

Status needs_even(int number) {
  PAWL_TRY(half(number).status());
  return Status::kOk;
}

TEST(Result, IsAStatusOrAValue) {
  EXPECT_TRUE(half(4).ok());
  EXPECT_EQ(half(4).value(), 2);
  EXPECT_EQ(half(3).status(), Status::kInvalidArgument);
  EXPECT_EQ(half(3).value_or(-1), -1);
  EXPECT_EQ(needs_even(3), Status::kInvalidArgument);
  EXPECT_EQ(needs_even(2), Status::kOk);
}

}  // namespace
}  // namespace pawl

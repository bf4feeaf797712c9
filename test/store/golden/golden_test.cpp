// A database of a released format, kept as a file: every later version opens it and lets all its
// instances end.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "golden_programs.hpp"
#include "pawl/testing.hpp"

namespace pawl::golden {
namespace {

// The file of the tree, or one that the environment names, made on another kind of machine
// (test/e2e/byte_order.py).
std::string kept_file() {
  std::string bytes;
  const char* const given = std::getenv("PAWL_GOLDEN_DATABASE");
  const char* const path = given != nullptr ? given : GOLDEN_DATABASE;
  std::FILE* file = std::fopen(path, "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return bytes;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    bytes += static_cast<char>(c);
  EXPECT_EQ(std::fclose(file), 0);
  return bytes;
}

TEST(Golden, KeptFile_OpensAndAllEndsRight) {
  const std::string bytes = kept_file();
  ASSERT_GT(bytes.size(), 100U);
  EXPECT_EQ(bytes[63], 2) << "user_version, the format";
  finish(bytes);
}

// Rules: R8.8.
TEST(Golden, KeptFile_CancelIsAnsweredByTheRulesOfItsBehaviour) {
  pawl::testing::expect_errors("orchestration_unregistered");
  const std::string bytes = kept_file();
  ASSERT_GT(bytes.size(), 100U);
  cancel_one_begun_before(bytes);
}

TEST(Golden, DatabaseMadeNow_AllEndsRight) {
  pawl::testing::expect_errors("activity_unregistered");
  const std::string bytes = generate();
  ASSERT_FALSE(bytes.empty());
  finish(bytes);
}

}  // namespace
}  // namespace pawl::golden

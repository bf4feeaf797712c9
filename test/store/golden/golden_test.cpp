// A database of format version 1, kept as a file: whatever comes later opens it and lets all end.
#include <gtest/gtest.h>

#include <cstdio>

#include "golden_programs.hpp"

namespace pawl::golden {
namespace {

std::string kept_file() {
  std::string bytes;
  std::FILE* file = std::fopen(GOLDEN_DATABASE, "rb");
  EXPECT_NE(file, nullptr) << GOLDEN_DATABASE;
  if (file == nullptr) return bytes;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    bytes += static_cast<char>(c);
  EXPECT_EQ(std::fclose(file), 0);
  return bytes;
}

TEST(Golden, KeptFile_OpensAndAllEndsRight) {
  const std::string bytes = kept_file();
  ASSERT_GT(bytes.size(), 100U);
  EXPECT_EQ(bytes[63], 1) << "user_version, the format";
  finish(bytes);
}

// Rules: R8.8.
TEST(Golden, KeptFile_CancelIsAnsweredByTheRulesOfItsBehaviour) {
  const std::string bytes = kept_file();
  ASSERT_GT(bytes.size(), 100U);
  cancel_one_begun_before(bytes);
}

TEST(Golden, DatabaseMadeNow_AllEndsRight) {
  const std::string bytes = generate();
  ASSERT_FALSE(bytes.empty());
  finish(bytes);
}

}  // namespace
}  // namespace pawl::golden

// Databases of earlier forms and of today's, kept as files: all their instances end, after a
// conversion if the form is an earlier one.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "golden_programs.hpp"
#include "pawl/testing.hpp"

namespace pawl::golden {
namespace {

std::string bytes_of(const std::string& path) {
  std::string bytes;
  std::FILE* file = std::fopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return bytes;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    bytes += static_cast<char>(c);
  EXPECT_EQ(std::fclose(file), 0);
  EXPECT_GT(bytes.size(), 100U) << path;
  return bytes;
}

// The file of the tree, or one that the environment names, made on another kind of machine
// (test/e2e/byte_order.py).
std::string kept_file() {
  const char* const given = std::getenv("PAWL_GOLDEN_DATABASE");
  return bytes_of(given != nullptr ? given : GOLDEN_FOLDER "/format2.db");
}

TEST(Golden, KeptFile_OpensAndAllEndsRight) {
  const std::string bytes = kept_file();
  EXPECT_EQ(bytes[63], 2) << "user_version, the format";
  finish(bytes);
}

// Rules: R8.8.
TEST(Golden, KeptFile_CancelIsAnsweredByTheRulesOfItsBehaviour) {
  pawl::testing::expect_errors("orchestration_unregistered");
  const std::string bytes = kept_file();
  cancel_one_begun_before(bytes);
}

// Format 1; format 2 as it was before histories had links and instances a timer in their row, and
// before a worker's row had the leases of its sessions.
class Earlier : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string kept() { return bytes_of(std::string(GOLDEN_FOLDER "/") + GetParam()); }
};
std::string form_name(const ::testing::TestParamInfo<const char*>& info) {
  const std::string name = info.param;
  return name.substr(0, name.find('.'));
}
INSTANTIATE_TEST_SUITE_P(Golden, Earlier,
                         ::testing::Values("format1.db", "format2_early.db", "format2_leases.db"),
                         form_name);

TEST_P(Earlier, ConvertedFile_AllEndsRight) {
  const std::string bytes = converted(kept());
  EXPECT_EQ(bytes[63], 2) << "user_version, the format";
  finish(bytes);
}

// Rules: R8.8.
TEST_P(Earlier, ConvertedFile_CancelIsAnsweredByTheRulesOfItsBehaviour) {
  pawl::testing::expect_errors("orchestration_unregistered");
  cancel_one_begun_before(converted(kept()));
}

TEST(Golden, DatabaseMadeNow_AllEndsRight) {
  pawl::testing::expect_errors("activity_unregistered");
  const std::string bytes = generate();
  ASSERT_FALSE(bytes.empty());
  finish(bytes);
}

}  // namespace
}  // namespace pawl::golden

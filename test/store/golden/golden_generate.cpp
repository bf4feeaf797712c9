// Writes the golden database: golden_generate FILE. The file of a released format is never made
// again.
#include <gtest/gtest.h>

#include <cstdio>

#include "golden_programs.hpp"

namespace {

const char* g_path = nullptr;

TEST(Golden, Generate) {
  const std::string bytes = pawl::golden::generate();
  ASSERT_FALSE(bytes.empty());
  std::FILE* file = std::fopen(g_path, "wb");
  ASSERT_NE(file, nullptr) << g_path;
  EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
  EXPECT_EQ(std::fclose(file), 0);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fputs("usage: golden_generate FILE\n", stderr);
    return 2;
  }
  g_path = argv[1];
  return RUN_ALL_TESTS();
}

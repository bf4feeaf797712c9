// Goal: exactly what Semantic Versioning 2.0.0 allows, except build metadata; the order is strict.
#include "core/version.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pawl/version.h"

namespace pawl {
namespace {

TEST(Version, WellFormed) {
  for (const char* text : {"0.0.0", "1.0.0", "1.20.300", "18446744073709551616.0.0", "1.0.0-alpha",
                           "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0-x-y-z.--", "1.0.0-0a"})
    EXPECT_TRUE(is_valid_version(text)) << text;
}

TEST(Version, Malformed) {
  for (const char* text :
       {"",         "1",          "1.0",      "1.0.0.0",       "1.0.0.",    ".1.0.0",
        "1..0",     "01.0.0",     "1.00.0",   "v1.0.0",        "1.0.0-",    "1.0.0-a.",
        "1.0.0-.a", "1.0.0-a..b", "1.0.0-01", "1.0.0+build",   "1.0.0-a+b", " 1.0.0",
        "1.0.0 ",   "1.0.x",      "-1.0.0",   "1.0.0-\xc3\xa4"})
    EXPECT_FALSE(is_valid_version(text)) << text;
  EXPECT_TRUE(is_valid_version("1.0.0-" + std::string(58, 'a')));
  EXPECT_FALSE(is_valid_version("1.0.0-" + std::string(59, 'a')));
}

// The example of the specification, and versions around it.
TEST(Version, Order) {
  const char* const rising[] = {"0.9.9",
                                "1.0.0-1",
                                "1.0.0-2",
                                "1.0.0-11",
                                "1.0.0-alpha",
                                "1.0.0-alpha.1",
                                "1.0.0-alpha.beta",
                                "1.0.0-beta",
                                "1.0.0-beta.2",
                                "1.0.0-beta.11",
                                "1.0.0-rc.1",
                                "1.0.0",
                                "1.0.1",
                                "1.2.0",
                                "1.10.0",
                                "2.0.0",
                                "10.0.0",
                                "99999999999999999999.0.0"};
  constexpr int kCount = sizeof rising / sizeof rising[0];
  for (int a = 0; a < kCount; ++a) {
    for (int b = 0; b < kCount; ++b) {
      const int order = compare_versions(rising[a], rising[b]);
      EXPECT_EQ(order < 0, a < b) << rising[a] << " " << rising[b];
      EXPECT_EQ(order == 0, a == b) << rising[a] << " " << rising[b];
    }
  }
}

TEST(LibraryVersion, IsThatOfTheHeader) {
  EXPECT_EQ(version(), std::to_string(PAWL_VERSION_MAJOR) + "." +
                           std::to_string(PAWL_VERSION_MINOR) + "." +
                           std::to_string(PAWL_VERSION_PATCH));
  EXPECT_STREQ(pawl_version(), version());
  EXPECT_TRUE(is_valid_version(version()));
  EXPECT_EQ(PAWL_VERSION % 1000, PAWL_VERSION_PATCH);
}

}  // namespace
}  // namespace pawl

// The facts about a card that doctor reads from Linux.
#include "apps/pawl/card.hpp"

#include <gtest/gtest.h>

namespace pawl::tool {
namespace {

constexpr char kMounts[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 179:2 / / rw,noatime shared:1 master:2 - ext4 /dev/mmcblk0p2 rw,commit=60\n"
    "31 27 179:3 / /data rw,relatime - f2fs /dev/mmcblk0p3 rw,fsync_mode=nobarrier,checkpoint\n"
    "32 27 8:1 / /old rw - ext4 /dev/sda1\n"
    "33 27 8:1 /part /new ro - ext4 /dev/sda1 barrier=0";

TEST(Card, MountOfItsDevice_IsFound) {
  const Card card = parse_mounts(kMounts, 179, 2);
  EXPECT_EQ(card.file_system, "ext4");
  EXPECT_EQ(card.device, "/dev/mmcblk0p2");
  EXPECT_EQ(card.options, "rw,noatime,rw,commit=60");
  EXPECT_TRUE(card.keeps_flushes);
  EXPECT_EQ(parse_mounts(kMounts, 17, 92).file_system, "") << "another number";
  EXPECT_EQ(parse_mounts("", 179, 2).file_system, "");
}

TEST(Card, OptionThatLeavesFlushesOut_IsSeen) {
  EXPECT_FALSE(parse_mounts(kMounts, 179, 3).keeps_flushes);
  const Card hidden = parse_mounts(kMounts, 8, 1);
  EXPECT_EQ(hidden.options, "ro,barrier=0") << "the last mount hides the one before";
  EXPECT_FALSE(hidden.keeps_flushes);
  for (const char* const options : {"nobarrier", "rw,nobarrier,x"})
    EXPECT_FALSE(
        parse_mounts(std::string("1 2 8:1 / / rw - xfs /dev/sda1 ") + options, 8, 1).keeps_flushes);
  for (const char* const options : {"barrier=1", "nobarriers", "fsync_mode=strict"})
    EXPECT_TRUE(
        parse_mounts(std::string("1 2 8:1 / / rw - xfs /dev/sda1 ") + options, 8, 1).keeps_flushes);
}

TEST(Card, SectorsWritten_AreBytes) {
  EXPECT_EQ(parse_written("    10 2 30 4   5 6   7 8 0 9 10\n"), 7 * 512);
  EXPECT_EQ(parse_written("1 2 3 4 5 6"), std::nullopt) << "too short";
  EXPECT_EQ(parse_written("1 2 3 4 5 6 x"), std::nullopt);
  EXPECT_EQ(parse_written("1 2 3 4 5 6 9223372036854775807"), std::nullopt) << "more than fits";
  EXPECT_EQ(parse_written(""), std::nullopt);
}

}  // namespace
}  // namespace pawl::tool

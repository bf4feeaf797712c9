// Goal: the pool never hands out a byte twice, joins freed neighbours again, and reports its true
// state. Method: random calls are compared with a model that knows every live allocation and its
// bytes.
#include "core/buddy.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace pawl {
namespace {

struct Live {
  unsigned char* at;
  std::size_t wanted;
  std::size_t taken;
  unsigned char fill;
};

// The largest block of a fresh pool that has room for `blocks` blocks of the least size.
std::size_t power_of_two_within(std::size_t blocks) {
  std::size_t power = 1;
  while (power * 2 <= blocks)
    power *= 2;
  return power;
}

void check_bytes(const Live& live) {
  for (std::size_t i = 0; i < live.wanted; ++i)
    ASSERT_EQ(live.at[i], live.fill);
}

void run_random(std::size_t pool_bytes, std::size_t block_min, std::uint32_t seed) {
  const auto block = std::make_unique<unsigned char[]>(pool_bytes + 1);
  BuddyPool pool(block.get() + 1, pool_bytes, block_min);  // not aligned
  const std::size_t largest = power_of_two_within(pool.capacity() / block_min) * block_min;
  ASSERT_EQ(pool.largest_free(), largest);
  std::mt19937 random(seed);
  std::vector<Live> all;
  std::size_t used = 0;
  std::size_t high = 0;
  for (int step = 0; step < 20000; ++step) {
    const bool growing = (step / 2000) % 2 == 0;
    if (random() % 10 < (growing ? 6U : 4U)) {
      const std::size_t wanted = 1 + random() % (std::size_t{1} << (random() % 13));
      unsigned char* const at = static_cast<unsigned char*>(pool.allocate(wanted));
      if (at == nullptr) {
        ASSERT_GT(pool.round_up(wanted), pool.largest_free());
        continue;
      }
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(at) % block_min, 0U);
      const Live live{at, wanted, pool.size_of(at), static_cast<unsigned char>(random())};
      ASSERT_EQ(live.taken, pool.round_up(wanted));
      ASSERT_GE(live.taken, wanted);
      std::memset(at, live.fill, wanted);
      all.push_back(live);
      used += live.taken;
      high = used > high ? used : high;
    } else if (!all.empty()) {
      const std::size_t which = random() % all.size();
      check_bytes(all[which]);
      used -= all[which].taken;
      pool.release(all[which].at);
      all[which] = all.back();
      all.pop_back();
    }
    ASSERT_EQ(pool.used(), used);
    ASSERT_EQ(pool.high_water(), high);
  }
  EXPECT_GT(pool.failures(), 0U);
  for (const Live& live : all) {
    check_bytes(live);
    pool.release(live.at);
  }
  EXPECT_EQ(pool.used(), 0U);
  EXPECT_EQ(pool.largest_free(), largest);
  void* const whole = pool.allocate(largest);  // all blocks are joined again
  EXPECT_NE(whole, nullptr);
  pool.release(whole);
}

TEST(BuddyPool, RandomCalls_AgreeWithAModel) {
  run_random(64 * 65 * 4, 64, 1);      // about 16 KiB
  run_random(100 * 1024 + 77, 64, 2);  // not a power of two
  run_random(50001, 16, 3);
  run_random(1 << 16, 256, 4);
}

TEST(BuddyPool, PowerOfTwo_JoinsBackToOneBlock) {
  alignas(64) static unsigned char block[64 * 65];
  BuddyPool pool(block, sizeof(block));
  ASSERT_EQ(pool.capacity(), 4096U);
  void* pieces[64];
  for (void*& piece : pieces) {
    piece = pool.allocate(64);
    ASSERT_NE(piece, nullptr);
  }
  EXPECT_EQ(pool.allocate(1), nullptr);
  EXPECT_EQ(pool.failures(), 1U);
  EXPECT_EQ(pool.largest_free(), 0U);
  for (std::size_t i = 0; i < 64; ++i)
    pool.release(pieces[(i * 37) % 64]);
  EXPECT_EQ(pool.largest_free(), 4096U);
}

TEST(BuddyPool, AnySize_IsUsedToTheLastBlock) {
  alignas(64) static unsigned char block[13 * 65];
  BuddyPool pool(block, sizeof(block));
  EXPECT_EQ(pool.capacity(), 13U * 64);
  EXPECT_EQ(pool.largest_free(), 8U * 64);
  EXPECT_EQ(pool.allocate(8 * 64 + 1), nullptr);
  void* const eight = pool.allocate(8 * 64);
  void* const four = pool.allocate(4 * 64);
  void* const one = pool.allocate(1);
  EXPECT_EQ(pool.used(), pool.capacity());
  pool.release(one);
  pool.release(four);
  pool.release(eight);
  EXPECT_EQ(pool.largest_free(), 8U * 64);
}

TEST(BuddyPool, EdgesOfSizes) {
  alignas(64) static unsigned char block[64 * 65];
  BuddyPool pool(block, sizeof(block));
  EXPECT_EQ(pool.allocate(0), nullptr);
  EXPECT_EQ(pool.failures(), 0U);
  EXPECT_EQ(pool.allocate(SIZE_MAX), nullptr);
  EXPECT_EQ(pool.failures(), 1U);
  EXPECT_EQ(pool.round_up(1), 64U);
  EXPECT_EQ(pool.round_up(64), 64U);
  EXPECT_EQ(pool.round_up(65), 128U);
  EXPECT_EQ(pool.round_up(4096), 4096U);
  EXPECT_EQ(pool.round_up(SIZE_MAX - 1), SIZE_MAX - 1);
  pool.release(nullptr);
  EXPECT_EQ(pool.size_of(nullptr), 0U);
  BuddyPool none;
  EXPECT_EQ(none.allocate(1), nullptr);
  EXPECT_EQ(none.largest_free(), 0U);
  BuddyPool tiny(block, 64);  // too small for the state byte
  EXPECT_EQ(tiny.capacity(), 0U);
  EXPECT_EQ(tiny.allocate(1), nullptr);
}

TEST(BuddyPool, Resize_KeepsBytesAndAFailedOneKeepsThePlace) {
  alignas(64) static unsigned char block[64 * 65];
  BuddyPool pool(block, sizeof(block));
  char* text = static_cast<char*>(pool.resize(nullptr, 10));
  ASSERT_NE(text, nullptr);
  std::memset(text, 7, 10);
  EXPECT_EQ(pool.resize(text, 64), text);
  text = static_cast<char*>(pool.resize(text, 1000));
  ASSERT_NE(text, nullptr);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(text[i], 7);
  EXPECT_EQ(pool.used(), 1024U);
  EXPECT_EQ(pool.resize(text, 4000), nullptr);
  EXPECT_EQ(pool.used(), 1024U);
  pool.release(text);
  EXPECT_EQ(pool.largest_free(), 4096U);
}

TEST(BuddyPoolDeathTest, ReleasingWhatIsNotLive_StopsTheProcess) {
  alignas(64) static unsigned char block[64 * 65];
  BuddyPool pool(block, sizeof(block));
  unsigned char* const piece = static_cast<unsigned char*>(pool.allocate(128));
  EXPECT_DEATH(pool.release(piece + 1), "invariant core-33 broken");
  EXPECT_DEATH(pool.release(piece + 64), "invariant core-34 broken");
  EXPECT_DEATH(pool.release(block + 4096), "invariant core-32 broken");
  pool.release(piece);
  EXPECT_DEATH(pool.release(piece), "invariant core-34 broken");
}

}  // namespace
}  // namespace pawl

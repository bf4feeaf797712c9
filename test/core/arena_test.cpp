// Goal: an arena hands out aligned memory until it is full or sealed, and a plan counts the same
// amounts.
#include "core/arena.hpp"

#include <cstdint>
#include <memory>

#include "core/index_map.hpp"
#include "core/text.hpp"
#include "core/vector.hpp"
#include "gtest/gtest.h"

namespace pawl {
namespace {

struct alignas(kArenaAlign) Line {
  unsigned char bytes[kArenaAlign];
};

bool aligned(const void* pointer, std::size_t align) {
  return reinterpret_cast<std::uintptr_t>(pointer) % align == 0;
}

TEST(Arena, Allocations_AreAlignedAndApart) {
  Line block[4];
  Arena arena(block, sizeof(block));
  char* const first = static_cast<char*>(arena.allocate(3, 1));
  char* const second = static_cast<char*>(arena.allocate(8, 8));
  char* const third = static_cast<char*>(arena.allocate(1, kArenaAlign));
  ASSERT_NE(third, nullptr);
  EXPECT_TRUE(aligned(second, 8));
  EXPECT_TRUE(aligned(third, kArenaAlign));
  EXPECT_EQ(second - first, 8);
  EXPECT_EQ(third - first, 64);
  EXPECT_EQ(arena.used(), 65U);
}

TEST(Arena, Exhausted_ChangesNothingAndServesSmallerOnes) {
  Line block[1];
  Arena arena(block, sizeof(block));
  ASSERT_NE(arena.allocate(60, 1), nullptr);
  EXPECT_FALSE(arena.exhausted());
  EXPECT_EQ(arena.allocate(5, 1), nullptr);
  EXPECT_EQ(arena.used(), 60U);
  EXPECT_TRUE(arena.exhausted());
  EXPECT_NE(arena.allocate(4, 1), nullptr);
  EXPECT_EQ(arena.used(), arena.capacity());
}

TEST(Arena, SizesThatOverflow_AreRefused) {
  Line block[1];
  Arena arena(block, sizeof(block));
  ASSERT_NE(arena.allocate(1, 1), nullptr);
  EXPECT_EQ(arena.allocate(SIZE_MAX, 8), nullptr);
  EXPECT_EQ(arena.array<std::uint64_t>(SIZE_MAX / 8 + 1), nullptr);
  EXPECT_EQ(arena.used(), 1U);
  ArenaPlan plan;
  EXPECT_EQ(plan.array<std::uint64_t>(SIZE_MAX / 8 + 1), nullptr);
  EXPECT_TRUE(plan.exhausted());
  EXPECT_EQ(plan.required_memory(), SIZE_MAX);
}

TEST(Arena, Array_IsValueInitialised) {
  Line block[2];
  unsigned char* const bytes = block[0].bytes;
  for (std::size_t i = 0; i < sizeof(block); ++i)
    bytes[i] = 0xEE;
  Arena arena(block, sizeof(block));
  const std::uint32_t* const numbers = arena.array<std::uint32_t>(32);
  ASSERT_NE(numbers, nullptr);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(numbers[i], 0U);
}

TEST(Arena, Rewind_GivesBackAndKeepsHighWater) {
  Line block[4];
  Arena arena(block, sizeof(block));
  ASSERT_NE(arena.allocate(10, 1), nullptr);
  const Arena::Mark mark = arena.mark();
  void* const first = arena.allocate(100, 1);
  arena.rewind(mark);
  EXPECT_EQ(arena.used(), 10U);
  EXPECT_EQ(arena.high_water(), 110U);
  EXPECT_EQ(arena.allocate(100, 1), first);
}

TEST(Arena, Sealed_RefusesForEver) {
  Line block[4];
  Arena arena(block, sizeof(block));
  ASSERT_NE(arena.allocate(10, 1), nullptr);
  arena.seal();
  EXPECT_TRUE(arena.sealed());
  EXPECT_EQ(arena.allocate(1, 1), nullptr);
  EXPECT_EQ(arena.array<int>(1), nullptr);
  EXPECT_EQ(arena.make<int>(1), nullptr);
  EXPECT_EQ(arena.used(), 10U);
}

TEST(Arena, WithoutBlockOrWithATinyOne_Refuses) {
  Arena none;
  EXPECT_EQ(none.allocate(1, 1), nullptr);
  EXPECT_EQ(none.allocate(0, 1), nullptr);
  Line block[1];
  Arena tiny(block[0].bytes + 1, 10);  // ends before the first aligned address
  EXPECT_EQ(tiny.capacity(), 0U);
  EXPECT_EQ(tiny.allocate(1, 1), nullptr);
}

struct Parts {
  int* numbers = nullptr;
  Line* line = nullptr;
  Vector<std::uint16_t> vector;
  Text text;
  IndexMap<std::int64_t, std::uint32_t> map;
};

template <typename AnyArena>
Status lay_out(AnyArena& arena, std::size_t n, Parts* parts) {
  parts->numbers = arena.template array<int>(n);
  parts->line = arena.template make<Line>();
  PAWL_TRY(parts->vector.allocate(arena, n));
  PAWL_TRY(parts->text.allocate(arena, n));
  PAWL_TRY(parts->map.allocate(arena, n));
  return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
}

TEST(ArenaPlan, RequiredMemory_SufficesAtEveryAlignmentAndNotAByteLess) {
  for (const std::size_t n : {1U, 7U, 100U}) {
    Parts counted;
    ArenaPlan plan;
    ASSERT_EQ(lay_out(plan, n, &counted), Status::kOk);
    EXPECT_EQ(counted.vector.capacity(), 0U);
    const auto block = std::make_unique<Line[]>(plan.required_memory() / kArenaAlign + 2);
    for (std::size_t shift = 0; shift < kArenaAlign; ++shift) {
      Parts real;
      Arena arena(block[0].bytes + shift, plan.required_memory());
      EXPECT_EQ(lay_out(arena, n, &real), Status::kOk);
      EXPECT_EQ(arena.used(), plan.used());
      EXPECT_EQ(real.vector.capacity(), n);
    }
    Parts short_of_one;
    Arena arena(block.get(), plan.used() - 1);
    EXPECT_EQ(lay_out(arena, n, &short_of_one), Status::kResourceExhausted);
  }
}

TEST(ArenaDeathTest, BrokenRules_StopTheProcess) {
  Line block[1];
  Arena arena(block, sizeof(block));
  EXPECT_DEATH(static_cast<void>(arena.allocate(1, 3)), "invariant core-1 broken");
  EXPECT_DEATH(arena.rewind(Arena::Mark{5}), "invariant core-4 broken");
  EXPECT_DEATH(arena.attach(block, sizeof(block)), "invariant core-2 broken");
  arena.seal();
  EXPECT_DEATH(arena.rewind(Arena::Mark{}), "invariant core-3 broken");
}

}  // namespace
}  // namespace pawl

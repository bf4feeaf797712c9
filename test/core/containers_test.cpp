// Goal: fixed containers check room before they write, and a refused call leaves everything as it
// was.
#include <cstdint>
#include <limits>
#include <map>
#include <random>

#include "core/arena.hpp"
#include "core/index_map.hpp"
#include "core/text.hpp"
#include "core/vector.hpp"
#include "gtest/gtest.h"

namespace pawl {
namespace {

TEST(Vector, PushBack_WhenFull_ChangesNothing) {
  FixedVector<int, 2> vector;
  EXPECT_TRUE(vector.empty());
  ASSERT_EQ(vector.push_back(1), Status::kOk);
  ASSERT_EQ(vector.push_back(2), Status::kOk);
  EXPECT_TRUE(vector.full());
  EXPECT_EQ(vector.push_back(3), Status::kResourceExhausted);
  EXPECT_EQ(vector.insert_at(0, 3), Status::kResourceExhausted);
  EXPECT_EQ(vector.add(), nullptr);
  EXPECT_EQ(vector.size(), 2U);
  EXPECT_EQ(vector[0], 1);
  EXPECT_EQ(vector.back(), 2);
}

TEST(Vector, EraseInsertTruncate_KeepWhatTheySay) {
  FixedVector<int, 6> vector;
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(vector.push_back(i), Status::kOk);
  vector.erase_at(1);  // 0 2 3 4
  EXPECT_EQ(vector[1], 2);
  vector.erase_at_swap(0);  // 4 2 3
  EXPECT_EQ(vector[0], 4);
  EXPECT_EQ(vector.size(), 3U);
  vector.erase_at_swap(2);                                 // 4 2
  ASSERT_EQ(vector.insert_at(1, vector[0]), Status::kOk);  // 4 4 2: the argument is an element
  ASSERT_EQ(vector.insert_at(3, 9), Status::kOk);
  int sum = 0;
  for (const int value : vector)
    sum = sum * 10 + value;
  EXPECT_EQ(sum, 4429);
  vector.truncate(1);
  EXPECT_EQ(vector.size(), 1U);
  vector.pop_back();
  EXPECT_TRUE(vector.empty());
}

TEST(Vector, Add_GivesAFreshElement) {
  FixedVector<int, 2> vector;
  ASSERT_EQ(vector.push_back(7), Status::kOk);
  vector.clear();
  int* const added = vector.add();
  ASSERT_NE(added, nullptr);
  EXPECT_EQ(*added, 0);
}

TEST(Vector, Assign_AllOrNothing) {
  FixedVector<int, 3> large;
  FixedVector<int, 2> small;
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(large.push_back(i), Status::kOk);
  ASSERT_EQ(small.push_back(9), Status::kOk);
  EXPECT_EQ(small.assign(large), Status::kResourceExhausted);
  EXPECT_EQ(small.size(), 1U);
  EXPECT_EQ(small[0], 9);
  EXPECT_EQ(large.assign(small), Status::kOk);
  EXPECT_EQ(large.size(), 1U);
}

TEST(Vector, CopyOfAFixedVector_HasItsOwnStorage) {
  FixedVector<int, 2> one;
  ASSERT_EQ(one.push_back(1), Status::kOk);
  FixedVector<int, 2> two = one;
  two[0] = 2;
  EXPECT_EQ(one[0], 1);
  one = two;
  EXPECT_EQ(one[0], 2);
  EXPECT_NE(one.data(), two.data());
}

TEST(Vector, FromAnArenaTooSmall_StaysEmpty) {
  alignas(kArenaAlign) unsigned char block[64];
  Arena arena(block, sizeof(block));
  Vector<std::uint64_t> vector;
  EXPECT_EQ(vector.allocate(arena, 9), Status::kResourceExhausted);
  EXPECT_EQ(vector.push_back(1), Status::kResourceExhausted);
  EXPECT_EQ(vector.allocate(arena, 8), Status::kOk);
  EXPECT_EQ(vector.push_back(1), Status::kOk);
}

TEST(VectorDeathTest, IndexBeyondTheEnd_StopsTheProcess) {
  FixedVector<int, 2> vector;
  EXPECT_DEATH(static_cast<void>(vector[0]), "invariant core-11 broken");
  EXPECT_DEATH(static_cast<void>(vector.back()), "invariant core-11 broken");
  EXPECT_DEATH(vector.pop_back(), "invariant core-13 broken");
  EXPECT_DEATH(vector.erase_at(0), "invariant core-14 broken");
}

TEST(Text, WhatDoesNotFit_ChangesNothing) {
  FixedText<5> text;
  ASSERT_EQ(text.assign("abc"), Status::kOk);
  EXPECT_EQ(text.append("def"), Status::kResourceExhausted);
  EXPECT_EQ(text.assign("abcdef"), Status::kResourceExhausted);
  EXPECT_EQ(text.append_number(-12), Status::kResourceExhausted);
  EXPECT_EQ(text, "abc");
  EXPECT_STREQ(text.c_str(), "abc");
  ASSERT_EQ(text.append("de"), Status::kOk);
  EXPECT_EQ(text, "abcde");
  EXPECT_EQ(text.append('f'), Status::kResourceExhausted);
  EXPECT_STREQ(text.c_str(), "abcde");
}

TEST(Text, Numbers_OfAllSizes) {
  FixedText<64> text;
  ASSERT_EQ(text.append_number(std::numeric_limits<std::int64_t>::min()), Status::kOk);
  ASSERT_EQ(text.append(' '), Status::kOk);
  ASSERT_EQ(text.append_number(std::numeric_limits<std::uint64_t>::max()), Status::kOk);
  ASSERT_EQ(text.append(' '), Status::kOk);
  ASSERT_EQ(text.append_number(0), Status::kOk);
  EXPECT_EQ(text, "-9223372036854775808 18446744073709551615 0");
  text.clear();
  ASSERT_EQ(text.append_hex(0xBEEFU, 8), Status::kOk);
  ASSERT_EQ(text.append_hex(0), Status::kOk);
  EXPECT_EQ(text, "0000beef0");
}

TEST(Text, ViewsIntoItself_Work) {
  FixedText<8> text;
  ASSERT_EQ(text.assign("abcd"), Status::kOk);
  ASSERT_EQ(text.append(text.view()), Status::kOk);
  EXPECT_EQ(text, "abcdabcd");
  ASSERT_EQ(text.assign(text.view().substr(2, 3)), Status::kOk);
  EXPECT_EQ(text, "cda");
}

TEST(Text, AssignCut_NeverSplitsACharacter) {
  FixedText<4> text;
  EXPECT_TRUE(text.assign_cut("abcd"));
  EXPECT_FALSE(text.assign_cut("abc\xC3\xA4"));  // a-umlaut takes two bytes and would not fit
  EXPECT_EQ(text, "abc");
  EXPECT_FALSE(text.assign_cut("\xE2\x82\xAC\xE2\x82\xAC"));
  EXPECT_EQ(text, "\xE2\x82\xAC");
}

TEST(Text, OverAGivenBuffer_BeginsEmpty) {
  char buffer[4] = {'x', 'x', 'x', 'x'};
  Text text(buffer, sizeof(buffer));
  EXPECT_STREQ(text.c_str(), "");
  EXPECT_EQ(text.capacity(), 3U);
  EXPECT_EQ(text.append("abc"), Status::kOk);
  EXPECT_STREQ(buffer, "abc");
}

TEST(Text, WithoutStorage_IsEmptyAndRefuses) {
  Text text;
  EXPECT_STREQ(text.c_str(), "");
  EXPECT_EQ(text.assign(""), Status::kOk);
  EXPECT_EQ(text.append("a"), Status::kResourceExhausted);
  FixedText<4> one;
  ASSERT_EQ(one.assign("abcd"), Status::kOk);
  FixedText<4> two = one;
  ASSERT_EQ(two.assign("x"), Status::kOk);
  EXPECT_EQ(one, "abcd");
}

class IndexMapTest : public testing::Test {
 protected:
  alignas(kArenaAlign) unsigned char block_[16384];
  Arena arena_{block_, sizeof(block_)};
  IndexMap<std::int64_t, std::uint32_t> map_;
};

TEST_F(IndexMapTest, InsertFindErase) {
  EXPECT_EQ(map_.insert(1, 1), Status::kResourceExhausted);  // no storage yet
  EXPECT_EQ(map_.find(1), nullptr);
  EXPECT_FALSE(map_.erase(1));
  ASSERT_EQ(map_.allocate(arena_, 3), Status::kOk);
  ASSERT_EQ(map_.insert(-5, 50), Status::kOk);
  ASSERT_EQ(map_.insert(1LL << 40, 40), Status::kOk);
  ASSERT_EQ(map_.insert(0, 7), Status::kOk);
  EXPECT_EQ(map_.insert(0, 8), Status::kAlreadyExists);
  EXPECT_EQ(map_.insert(9, 9), Status::kResourceExhausted);
  EXPECT_EQ(map_.size(), 3U);
  EXPECT_EQ(*map_.find(0), 7U);
  EXPECT_EQ(*map_.find(1LL << 40), 40U);
  EXPECT_EQ(map_.find(9), nullptr);
  EXPECT_TRUE(map_.erase(-5));
  EXPECT_FALSE(map_.erase(-5));
  ASSERT_EQ(map_.insert(9, 9), Status::kOk);
  map_.clear();
  EXPECT_TRUE(map_.empty());
  EXPECT_EQ(map_.find(9), nullptr);
}

TEST_F(IndexMapTest, RandomCalls_AgreeWithAMap) {
  ASSERT_EQ(map_.allocate(arena_, 192), Status::kOk);  // 256 slots: filled to the limit
  std::map<std::int64_t, std::uint32_t> model;
  std::mt19937 random(7);
  for (std::uint32_t step = 0; step < 60000; ++step) {
    const std::int64_t key = static_cast<std::int64_t>(random() % 300) << (step % 2 * 32);
    if (random() % 2 == 0) {
      const Status expected = model.count(key) != 0 ? Status::kAlreadyExists
                              : model.size() == 192 ? Status::kResourceExhausted
                                                    : Status::kOk;
      ASSERT_EQ(map_.insert(key, step), expected);
      if (expected == Status::kOk) model[key] = step;
    } else {
      ASSERT_EQ(map_.erase(key), model.erase(key) == 1);
    }
    ASSERT_EQ(map_.size(), model.size());
    if (step % 100 != 0) continue;
    for (const auto& [k, v] : model) {
      ASSERT_NE(map_.find(k), nullptr);
      ASSERT_EQ(*map_.find(k), v);
    }
    std::size_t seen = 0;
    map_.for_each([&](std::int64_t k, std::uint32_t v) { seen += model.at(k) == v ? 1U : 0U; });
    ASSERT_EQ(seen, model.size());
  }
}

}  // namespace
}  // namespace pawl

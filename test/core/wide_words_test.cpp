// 64-bit integers without 64-bit atomics: a read gets the whole value or none.
#include "core/wide_words.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "pawl/latest.hpp"

namespace pawl {
namespace {

template <class Counter>
void expect_counts() {
  Counter counter;
  EXPECT_EQ(counter.read(), 0U);
  counter.add(UINT32_MAX);
  EXPECT_EQ(counter.read(), UINT32_MAX);
  counter.add(1);
  EXPECT_EQ(counter.read(), std::uint64_t{1} << 32);
  counter.add((std::uint64_t{5} << 32) + UINT32_MAX);
  EXPECT_EQ(counter.read(), (std::uint64_t{6} << 32) + UINT32_MAX);
  counter.add((std::uint64_t{1} << 32) + UINT32_MAX);
  EXPECT_EQ(counter.read(), (std::uint64_t{8} << 32) + UINT32_MAX - 1);
  counter.clear();
  EXPECT_EQ(counter.read(), 0U);
}

TEST(WideCounter, CountsBeyond32BitsInOneWordAndInTwo) {
  expect_counts<WideCounter<false>>();
  expect_counts<WideCounter<>>();
}

TEST(WideCounter, LosesNothingOfTwoThreads) {
  constexpr std::uint64_t kEach = 50'000;
  constexpr std::uint64_t kStep = 400'000;  // passes the end of the low word several times
  WideCounter<false> counter;
  const auto add = [&counter] {
    for (std::uint64_t i = 0; i < kEach; ++i)
      counter.add(kStep);
  };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(counter.read(), 2 * kEach * kStep);
}

// Reads the bytes as another process does.
template <class Note>
std::int64_t bytes_of(const Note& note) {
  static_assert(sizeof(Note) == sizeof(std::int64_t));
  std::int64_t out = 0;
  std::memcpy(&out, static_cast<const void*>(&note), sizeof out);
  return out;
}

TEST(WideNote, LiesInMemoryAsTheNumber) {
  WideNote<false> two;
  WideNote<> one;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-1},
                                   (std::int64_t{3} << 32) + 9, INT64_MAX, INT64_MIN}) {
    two.store(value);
    one.store(value);
    EXPECT_EQ(bytes_of(two), value);
    EXPECT_EQ(bytes_of(one), value);
  }
}

struct Triple {
  std::int64_t first = 0;
  std::int64_t second = 0;
  char last = 0;
};

TEST(Latest, IsTheValueStoredLast) {
  const internal::Latest<Triple> never;
  EXPECT_EQ(never.load().second, 0);
  internal::Latest<Triple> latest({1, 2, 'a'});
  EXPECT_EQ(latest.load().first, 1);
  latest.store({INT64_MIN, INT64_MAX, 'b'});
  latest.store({-3, std::int64_t{1} << 40, 'c'});
  EXPECT_EQ(latest.load().first, -3);
  EXPECT_EQ(latest.load().second, std::int64_t{1} << 40);
  EXPECT_EQ(latest.load().last, 'c');
}

// A long value, so that reader and writer meet inside it.
struct Long {
  std::int64_t values[64] = {};
};

TEST(Latest, IsNeverPartOfAValue) {
  constexpr std::int64_t kRounds = 50'000;
  internal::Latest<Long> latest;
  std::thread writer([&latest] {
    Long next;
    for (std::int64_t i = 1; i <= kRounds; ++i) {
      for (std::int64_t& value : next.values)
        value = i << 31;
      latest.store(next);
    }
  });
  std::int64_t before = 0;
  std::int64_t torn = 0;
  while (before != kRounds << 31) {
    const Long seen = latest.load();
    for (const std::int64_t value : seen.values)
      torn += value == seen.values[0] ? 0 : 1;
    torn += seen.values[0] >= before ? 0 : 1;
    before = seen.values[63];
  }
  writer.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace pawl

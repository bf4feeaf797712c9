// SessionEnds: counts how long sessions lasted, and how much they were used.
//
// Purpose: histograms of fixed storage, for screens and monitoring: for one Runtime (RuntimeStats),
// and for all workers since the database was made (Metrics). Ownership: plain values. Thread rule:
// none.
#ifndef PAWL_SESSION_STATS_HPP
#define PAWL_SESSION_STATS_HPP

#include <cstddef>
#include <cstdint>
#pragma GCC visibility push(default)

namespace pawl {

// Every session counts once, when it ends: when it is closed, lost or expired, or, if it is shared,
// when its row goes.
struct SessionEnds {
  // Bounds are inclusive; a larger value is in the last count. The stored form has the numbers of
  // the counts: bounds never change.
  static constexpr std::size_t kBounds = 7;
  static constexpr std::int64_t kLastedUpToMs[kBounds] = {
      1'000, 10'000, 60'000, 600'000, 3'600'000, 86'400'000, 604'800'000};
  static constexpr std::int64_t kActivitiesUpTo[kBounds] = {0, 1, 10, 100, 1'000, 10'000, 100'000};

  struct Histogram {
    std::uint64_t counts[kBounds + 1] = {};
    std::int64_t total = 0;
    std::int64_t most = 0;
  };

  std::uint64_t ended = 0;
  // The time from the opening to the end, in Pawl time; for a shared one from its coming to its
  // last activity.
  Histogram lasted_ms;
  Histogram activities;  // activities handed over

  // The number of the count that a value belongs to.
  [[nodiscard]] static constexpr std::size_t place(const std::int64_t (&bounds)[kBounds],
                                                   std::int64_t value) {
    std::size_t at = 0;
    while (at < kBounds && value > bounds[at])
      ++at;
    return at;
  }
  void add(std::int64_t lasted, std::int64_t handed_over) {
    ++ended;
    put(&lasted_ms, place(kLastedUpToMs, lasted), lasted);
    put(&activities, place(kActivitiesUpTo, handed_over), handed_over);
  }

 private:
  static void put(Histogram* histogram, std::size_t at, std::int64_t value) {
    ++histogram->counts[at];
    // The rows that this is counted from may be damaged.
    if (value > 0 && histogram->total <= INT64_MAX - value) histogram->total += value;
    if (value > histogram->most) histogram->most = value;
  }
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SESSION_STATS_HPP

// NameStats: counts the results of each orchestration and activity of a Runtime, by name.
//
// Purpose: counters for screens and monitoring, kept in fixed storage; RuntimeStats has the sums.
// Ownership: views live as long as the Registry's entries. Thread rule: the Runtime's thread. Only
// committed work counts, and once, however often it is replayed.
#ifndef PAWL_NAME_STATS_HPP
#define PAWL_NAME_STATS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

// The times that things took, in ms.
struct Durations {
  static constexpr std::size_t kBounds = 7;
  // Bounds are inclusive; a longer time is in the last count.
  static constexpr std::int64_t kUpToMs[kBounds] = {1, 10, 100, 1'000, 10'000, 60'000, 3'600'000};
  std::uint64_t counts[kBounds + 1] = {};
  std::int64_t total_ms = 0;
  std::int64_t longest_ms = 0;

  void add(std::int64_t ms);
};

// The numbers of events in the histories of executions at their ends.
struct HistoryLengths {
  static constexpr std::size_t kBounds = 7;
  // Bounds are inclusive; a longer history is in the last count.
  static constexpr std::int64_t kUpTo[kBounds] = {10, 30, 100, 300, 1'000, 3'000, 10'000};
  std::uint64_t counts[kBounds + 1] = {};
  std::int64_t total = 0;
  std::int64_t longest = 0;

  void add(std::int64_t events);
};

struct OrchestrationStats {
  std::string_view name;
  std::string_view version;
  std::uint64_t started = 0;  // executions begun here, those of continue_as_new() included
  std::uint64_t turns = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;  // cancelled, terminated and poisoned ones included
  std::uint64_t continued_as_new = 0;
  std::uint64_t stopped = 0;  // because of its code or a damaged row
  Durations lasted;        // executions that ended here, from their first event to their last, UTC
  Durations turn;          // its turns: the code and the replay
  HistoryLengths history;  // of executions that ended here
};

struct ActivityStats {
  std::string_view name;
  std::uint64_t completed = 0;  // accepted results
  std::uint64_t failed = 0;     // accepted failures that no attempt follows
  std::uint64_t retried = 0;    // accepted failures that are followed by another attempt
  std::uint64_t refused = 0;    // cancelled, past a limit, or taken over by another worker
  Durations ran;                // bodies of activities, whatever became of their results
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_NAME_STATS_HPP

#include "runtime/name_counters.hpp"

#include "core/check.hpp"

namespace pawl {

void Durations::add(std::int64_t ms) {
  if (ms < 0) ms = 0;  // the clock was set back
  std::size_t at = 0;
  while (at < kBounds && ms > kUpToMs[at])
    ++at;
  ++counts[at];
  total_ms += ms;
  if (ms > longest_ms) longest_ms = ms;
}

void HistoryLengths::add(std::int64_t events) {
  std::size_t at = 0;
  while (at < kBounds && events > kUpTo[at])
    ++at;
  ++counts[at];
  total += events;
  if (events > longest) longest = events;
}

// A Registry does not change while its Runtime lives, so there are never more names than entries.
OrchestrationStats& NameCounters::of(const Registry::OrchestrationEntry& entry) {
  for (std::size_t i = 0; i < orchestration_count_; ++i) {
    OrchestrationStats& stats = orchestrations_[i];
    if (stats.name == entry.name && stats.version == entry.version) return stats;
  }
  PAWL_CHECK("runtime-71", orchestration_count_ < orchestrations_max_);
  OrchestrationStats& stats = orchestrations_[orchestration_count_++];
  stats.name = entry.name;
  stats.version = entry.version;
  return stats;
}

ActivityStats& NameCounters::of(const Registry::ActivityEntry& entry) {
  for (std::size_t i = 0; i < activity_count_; ++i)
    if (activities_[i].name == entry.name) return activities_[i];
  PAWL_CHECK("runtime-72", activity_count_ < activities_max_);
  ActivityStats& stats = activities_[activity_count_++];
  stats.name = entry.name;
  return stats;
}

}  // namespace pawl

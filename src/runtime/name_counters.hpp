// NameCounters: the tables behind Runtime::orchestration_stats() and activity_stats().
//
// Ownership: memory from the runtime's arena. Thread rule: the Runtime's thread.
#ifndef PAWL_RUNTIME_NAME_COUNTERS_HPP
#define PAWL_RUNTIME_NAME_COUNTERS_HPP

#include "pawl/name_stats.hpp"
#include "pawl/options.hpp"
#include "pawl/registry.hpp"

namespace pawl {

class NameCounters {
 public:
  template <typename AnyArena>
  void allocate(AnyArena& arena, const Options& options) {
    orchestrations_max_ = options.limits.orchestrations_max;
    activities_max_ = options.limits.activities_max;
    orchestrations_ = arena.template array<OrchestrationStats>(orchestrations_max_);
    activities_ = arena.template array<ActivityStats>(activities_max_);
  }
  // Counters of an entry of the one Registry; made at the first use.
  OrchestrationStats& of(const Registry::OrchestrationEntry& entry);
  ActivityStats& of(const Registry::ActivityEntry& entry);

  [[nodiscard]] const OrchestrationStats* orchestrations() const { return orchestrations_; }
  [[nodiscard]] std::size_t orchestration_count() const { return orchestration_count_; }
  [[nodiscard]] const ActivityStats* activities() const { return activities_; }
  [[nodiscard]] std::size_t activity_count() const { return activity_count_; }

 private:
  OrchestrationStats* orchestrations_ = nullptr;
  ActivityStats* activities_ = nullptr;
  std::size_t orchestrations_max_ = 0;
  std::size_t activities_max_ = 0;
  std::size_t orchestration_count_ = 0;
  std::size_t activity_count_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_NAME_COUNTERS_HPP

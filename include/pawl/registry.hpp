// Registry: which functions go by which names.
//
// Purpose: filled before a Runtime starts, then constant. Ownership: names must outlive the Runtime
// (string literals do); the Runtime keeps a reference to the Registry. Thread rule: filled by one
// thread; read by the Runtime's.
#ifndef PAWL_REGISTRY_HPP
#define PAWL_REGISTRY_HPP

#include <cstddef>
#include <string_view>

#include "pawl/activity.hpp"
#include "pawl/orchestration.hpp"
#include "pawl/status.hpp"

namespace pawl {

class Registry {
 public:
  static constexpr std::size_t kOrchestrationsMax = 64;
  static constexpr std::size_t kActivitiesMax = 128;

  struct OrchestrationEntry {
    std::string_view name;
    std::string_view version;
    Orchestration function = nullptr;
  };
  struct ActivityEntry {
    std::string_view name;
    Activity function = nullptr;
    ActivityMode mode = ActivityMode::kInline;
    void* user = nullptr;
  };

  // kAlreadyExists: the name is taken; kInvalidArgument: empty, longer than 256 bytes, or no function;
  // kResourceExhausted: full.
  Status add_orchestration(std::string_view name, Orchestration function,
                           std::string_view version = "1.0.0");
  // `user` comes back as ActivityContext::user().
  Status add_activity(std::string_view name, Activity function,
                      ActivityMode mode = ActivityMode::kInline, void* user = nullptr);

  [[nodiscard]] const OrchestrationEntry* find_orchestration(std::string_view name) const;
  [[nodiscard]] const ActivityEntry* find_activity(std::string_view name) const;
  [[nodiscard]] std::size_t activity_count() const { return activity_count_; }
  [[nodiscard]] const ActivityEntry& activity(std::size_t index) const {
    return activities_[index];
  }

 private:
  OrchestrationEntry orchestrations_[kOrchestrationsMax];
  ActivityEntry activities_[kActivitiesMax];
  std::size_t orchestration_count_ = 0;
  std::size_t activity_count_ = 0;
};

}  // namespace pawl

#endif  // PAWL_REGISTRY_HPP

#include "pawl/registry.hpp"

#include "codec/event.hpp"
#include "core/version.hpp"

namespace pawl {

Status Registry::add_orchestration(BorrowedText name, OrchestrationCode code, BorrowedText version,
                                   void* user) {
  if (!is_valid_name(name) || !is_valid_version(version) || !code) return Status::kInvalidArgument;
  if (find_orchestration(name, version) != nullptr) return Status::kAlreadyExists;
  if (orchestration_count_ == kOrchestrationsMax + more_count_) return Status::kResourceExhausted;
  code.set_user(user);
  place(orchestration_count_++) = {name, version, code, false};
  return Status::kOk;
}

Status Registry::add_activity(BorrowedText name, ActivityCode code, ActivityMode mode, void* user) {
  if (!code || mode == ActivityMode::kCooperative) return Status::kInvalidArgument;
  return add({name, code, mode, user, {}});
}

Status Registry::add(const ActivityEntry& entry) {
  if (!is_valid_name(entry.name)) return Status::kInvalidArgument;
  if (find_activity(entry.name) != nullptr) return Status::kAlreadyExists;
  if (activity_count_ == kActivitiesMax) return Status::kResourceExhausted;
  activities_[activity_count_++] = entry;
  return Status::kOk;
}

Status Registry::set_default_version(std::string_view name, std::string_view version) {
  if (find_orchestration(name, version) == nullptr) return Status::kNotFound;
  for (std::size_t i = 0; i < orchestration_count_; ++i) {
    OrchestrationEntry& entry = place(i);
    if (entry.name == name) entry.is_default = entry.version == version;
  }
  return Status::kOk;
}

const Registry::OrchestrationEntry* Registry::find_orchestration(std::string_view name,
                                                                 std::string_view version) const {
  const OrchestrationEntry* best = nullptr;
  for (std::size_t i = 0; i < orchestration_count_; ++i) {
    const OrchestrationEntry& entry = orchestration(i);
    if (entry.name != name) continue;
    if (version.empty() ? entry.is_default : entry.version == version) return &entry;
    if (version.empty() && (best == nullptr || compare_versions(entry.version, best->version) > 0))
      best = &entry;
  }
  return best;
}

const Registry::ActivityEntry* Registry::find_activity(std::string_view name) const {
  for (std::size_t i = 0; i < activity_count_; ++i)
    if (activities_[i].name == name) return &activities_[i];
  return nullptr;
}

}  // namespace pawl

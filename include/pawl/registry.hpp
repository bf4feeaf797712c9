// Registry: the functions of a program, by their names.
//
// Purpose: filled before a Runtime starts, then constant. Ownership: names must outlive the
// Runtime; string literals do, and a text that is made in the call does not compile. Copies would
// take 80 KiB of every device. The Runtime keeps a reference to the Registry. Thread rule: one
// thread fills it; the Runtime's thread reads it.
#ifndef PAWL_REGISTRY_HPP
#define PAWL_REGISTRY_HPP

#include <chrono>
#include <cstddef>
#include <string_view>

#include "pawl/activity.hpp"
#include "pawl/name.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/orchestration_code.hpp"
#include "pawl/status.hpp"
#include "pawl/typed_code.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
struct TimeLimitSteps;
}

class Registry : public TypedRegistration<Registry> {
 public:
  // Each of these also takes a definition of pawl/typed.hpp and a function of its types.
  using TypedRegistration::add_activity;
  using TypedRegistration::add_cooperative;
  using TypedRegistration::add_orchestration;

  // The most that can be registered.
  static constexpr std::size_t kOrchestrationsMax = 64;      // before give_room()
  static constexpr std::size_t kOrchestrationsMost = 1'024;  // after give_room()
  static constexpr std::size_t kActivitiesMax = 128;

  // A registered orchestration, and a registered activity.
  struct OrchestrationEntry {
    std::string_view name;
    std::string_view version;
    OrchestrationCode code;
    bool is_default = false;  // set_default_version() chose it
  };
  struct ActivityEntry {
    std::string_view name;
    ActivityCode code;
    ActivityMode mode = ActivityMode::kInline;
    void* user = nullptr;
    internal::CooperativeCode cooperative;            // kCooperative only; `code` is empty then
    const internal::OutsideSteps* outside = nullptr;  // set by allow_complete_later()
  };

  // The time limit of one name.
  struct TimeLimit {
    std::string_view name;
    std::chrono::milliseconds limit;  // above 0
  };

  // Gives room for `count` orchestrations more than kOrchestrationsMax, at most for
  // kOrchestrationsMost in all. LimitOptions::orchestrations_max says how many a Runtime takes.
  // Requires: one call at most; `places` that outlive the registry, which is not copied afterwards.
  void give_room(OrchestrationEntry* places, std::size_t count) {
    constexpr std::size_t kMore = kOrchestrationsMost - kOrchestrationsMax;
    more_orchestrations_ = places;
    more_count_ = count < kMore ? count : kMore;
  }

  // Registers a function; `user` comes back as OrchestrationContext::user(). One name may have
  // several versions, ordered as Semantic Versioning 2.0.0 says. An instance keeps the version it
  // began with until it ends or continues as new.
  // Returns kOk; kAlreadyExists: this version of the name is there; kResourceExhausted: there is no
  // room for more.
  // Requires: a name of 1..256 bytes without control characters, a function, and a version
  // "MAJOR.MINOR.PATCH" or "MAJOR.MINOR.PATCH-PRE" of at most 64 bytes (kInvalidArgument).
  Status add_orchestration(BorrowedText name, OrchestrationCode code,
                           BorrowedText version = "1.0.0", void* user = nullptr);
  // Sets the version that an execution begins with when none was asked for. An empty `version`
  // means the latest that is registered, which is the default.
  // Returns kOk; kNotFound: it is not registered.
  Status set_default_version(std::string_view name, std::string_view version);
  // Gives time limits to instances whose start gives none (StartOptions::time_limit), children
  // included; each counts from the first turn. A later call replaces all.
  // Returns kOk; kNotFound: one is not registered. Unless kOk nothing changes.
  // Requires: limits above 0 (kInvalidArgument); `limits` that outlive the registry.
  Status set_time_limits(const TimeLimit* limits, std::size_t count);
  template <std::size_t kCount>
  Status set_time_limits(const TimeLimit (&limits)[kCount]) {
    return set_time_limits(limits, kCount);
  }
  // Registers a function; `user` comes back as ActivityContext::user().
  // Returns kOk; kAlreadyExists: the name is there; kResourceExhausted: there are kActivitiesMax.
  // Requires: a name as above, a function, and a mode that is not kCooperative (kInvalidArgument).
  Status add_activity(BorrowedText name, ActivityCode code,
                      ActivityMode mode = ActivityMode::kInline, void* user = nullptr);

  // Registers a long activity in short steps: `step` is called until it answers a result, each time
  // with the same State, which is made (default constructed) before the first step of an attempt
  // and destroyed with its end, whatever the end is: result, limit, cancellation, shutdown,
  // exception.
  // Returns the same as add_activity().
  // Requires: a name as above and a function (kInvalidArgument); a State of at most
  // SlotOptions::cooperative_scratch_bytes, else Runtime::start() answers kInvalidOptions.
  template <typename State, typename Mode = internal::ExceptionMode>
  Status add_cooperative(BorrowedText name, ActivityStep (*step)(ActivityContext&, State&),
                         void* user = nullptr) {
    return add_cooperative(name, internal::CooperativeCode::of<State, Mode>(step), user);
  }
  // The same for the calls of pawl/typed_code.hpp.
  // Returns the same.
  Status add_cooperative(BorrowedText name, const internal::CooperativeCode& code,
                         void* user = nullptr) {
    if (code.step == nullptr) return Status::kInvalidArgument;
    return add({name, ActivityCode(), ActivityMode::kCooperative, user, code});
  }

  // Allows an activity to answer complete_later(): each of its hand-overs gets a completion token,
  // whose hash is stored with that commit.
  // Returns kOk; kNotFound: it is not registered.
  Status allow_complete_later(std::string_view activity_name);

  // Finds exactly this version; with none, the one that set_default_version() set. Null: it is not
  // registered.
  [[nodiscard]] const OrchestrationEntry* find_orchestration(std::string_view name,
                                                             std::string_view version = {}) const;
  [[nodiscard]] const ActivityEntry* find_activity(std::string_view name) const;
  // None: set_time_limits() gave this name none.
  [[nodiscard]] OptionalMs time_limit_ms(std::string_view name) const;
  // Everything that is registered, in order of registration; `index` is below the count.
  [[nodiscard]] std::size_t orchestration_count() const { return orchestration_count_; }
  [[nodiscard]] const OrchestrationEntry& orchestration(std::size_t index) const {
    return index < kOrchestrationsMax ? orchestrations_[index]
                                      : more_orchestrations_[index - kOrchestrationsMax];
  }
  [[nodiscard]] std::size_t activity_count() const { return activity_count_; }
  [[nodiscard]] const ActivityEntry& activity(std::size_t index) const {
    return activities_[index];
  }

 private:
  friend struct internal::TimeLimitSteps;
  Status add(const ActivityEntry& entry);
  OrchestrationEntry& place(std::size_t index) {
    return index < kOrchestrationsMax ? orchestrations_[index]
                                      : more_orchestrations_[index - kOrchestrationsMax];
  }
  OrchestrationEntry orchestrations_[kOrchestrationsMax];
  OrchestrationEntry* more_orchestrations_ = nullptr;
  std::size_t more_count_ = 0;
  const TimeLimit* time_limits_ = nullptr;
  std::size_t time_limit_count_ = 0;
  const internal::TimeLimitSteps* time_limit_steps_ = nullptr;
  ActivityEntry activities_[kActivitiesMax];
  std::size_t orchestration_count_ = 0;
  std::size_t activity_count_ = 0;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_REGISTRY_HPP

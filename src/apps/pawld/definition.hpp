// Definition: an orchestration as data, and its record in the history.
//
// Purpose: the entries of the configuration under "orchestrations". An instance must not change to
// another definition than the one it began with. So its first step records the definition's text
// with the policies of the activities that it names (record_of()), and from then on the instance
// runs what its history holds (read_record()). One reader reads configuration and history.
// Ownership: values own their texts. Thread rule: none. Units: ms.
#ifndef PAWL_APPS_PAWLD_DEFINITION_HPP
#define PAWL_APPS_PAWLD_DEFINITION_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/pawld/section.hpp"
#include "pawl/activity_options.hpp"
#include "pawl/schedule.hpp"

namespace pawld {

inline constexpr std::int64_t kDurationMostMs = pawl::kDurationMax.count();

// Where an activity runs and how it is repeated; part of the recorded command.
struct Policy {
  pawl::Retry retry;
  std::int64_t timeout_ms = 60'000;   // one attempt; 0: none
  std::int64_t total_timeout_ms = 0;  // all attempts and pauses; 0: none
  std::string session;                // a template over the activity's input; empty: none
  bool exclusive = false;             // one activity of the session at a time
  std::string device;                 // a path; empty: none
  std::int64_t device_wait_ms = 0;    // until the device is there; 0: for ever
};

struct ActivityCall {
  std::string activity;
  std::string input = "\"{input}\"";  // a template
  Policy policy;
};

struct Step {
  std::string name;
  std::string when;  // a template for true or false; empty: always
  std::int64_t pause_ms = 0;
  std::optional<ActivityCall> call;  // none: a pause
};

struct Sequence {
  std::vector<Step> steps;
  std::string output;  // a template; empty: the last result
};

struct FanOut {
  std::string over;  // a template for an array
  ActivityCall call;
  std::int64_t at_once = 4;
  std::int64_t items_max = 100;
  bool collects_errors = false;
};

struct Watch {
  ActivityCall sample;
  std::string value;  // the path of the number in the result; empty: the result itself
  std::int64_t every_ms = 60'000;
  std::optional<double> alarm_above;
  std::optional<double> alarm_below;
  std::optional<double> clear_below;
  std::optional<double> clear_above;
  std::int64_t alarm_after_failures = 0;  // 0: failures are only logged
  ActivityCall alarm;
  std::optional<ActivityCall> clear;
};

struct Definition {
  enum class Type : std::uint8_t { kSequence, kFanOut, kWatch, kSchedule };
  Type type = Type::kSequence;
  std::int64_t time_limit_ms = 0;  // of an instance that is started without one; 0: none
  Sequence sequence;
  FanOut fan_out;
  Watch watch;
  pawl::Schedule schedule;
};

// Reads the members of a policy. The caller reads the other members.
void read_policy(Section& section, Policy* out);

// The policies of the activities that are configured or recorded; null: no activity of this name.
class Policies {
 public:
  struct Entry {
    std::string name;
    Policy policy;
  };
  [[nodiscard]] const Policy* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  std::vector<Entry> entries;
};

// The section reports each problem.
[[nodiscard]] Definition read_definition(Section& section, const Policies& policies,
                                         const std::vector<std::string>& orchestrations);

// The text that the first step of an instance records. Both ids are of `document`.
[[nodiscard]] std::string record_of(const JsonDocument& document, JsonDocument::Id definition,
                                    std::optional<JsonDocument::Id> activities);
// Returns whether this program can run the record; if not, `why` has the first reason.
[[nodiscard]] bool read_record(std::string_view record, Definition* out, std::string* why);

// The names of the activities in a definition, each once.
[[nodiscard]] std::vector<std::string> activities_of(const Definition& definition);

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_DEFINITION_HPP

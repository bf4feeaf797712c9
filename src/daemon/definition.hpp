// Definition: an orchestration as data, and how it is recorded.
//
// Purpose: what the configuration says under "orchestrations". An instance must not meet another
// definition than the one it began with, so its first step records the definition's text with the
// policies of the activities that it names (record_of()), and from then on it runs what its history
// has (read_record()). Configuration and history are read by one reader.
// Ownership: values own their texts. Thread rule: none. Units: ms.
#ifndef PAWL_DAEMON_DEFINITION_HPP
#define PAWL_DAEMON_DEFINITION_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/activity_options.hpp"
#include "pawl/schedule.hpp"
#include "section.hpp"

namespace pawld {

inline constexpr std::int64_t kDurationMostMs = pawl::kDurationMax.count();

// Where an activity runs and how it is repeated: what is part of the recorded command.
struct Policy {
  pawl::Retry retry;
  std::int64_t timeout_ms = 60'000;   // one attempt; 0: none
  std::int64_t total_timeout_ms = 0;  // all attempts and pauses; 0: none
  std::string session;                // a template over the activity's input; empty: none
  bool exclusive = false;             // one activity of the session at a time
  std::string device;                 // a path; empty: none
  std::int64_t device_wait_ms = 0;    // until the device is there; 0: for ever
};

struct Call {
  std::string activity;
  std::string input = "\"{input}\"";  // a template
  Policy policy;
};

struct Step {
  std::string name;
  std::string when;  // a template for true or false; empty: always
  std::int64_t pause_ms = 0;
  std::optional<Call> call;  // none: a pause
};

struct Sequence {
  std::vector<Step> steps;
  std::string output;  // a template; empty: the last result
};

struct FanOut {
  std::string over;  // a template for an array
  Call call;
  std::int64_t at_once = 4;
  std::int64_t items_max = 100;
  bool collects_errors = false;
};

struct Watch {
  Call sample;
  std::string value;  // the path of the number in the result; empty: the result itself
  std::int64_t every_ms = 60'000;
  std::optional<double> alarm_above;
  std::optional<double> alarm_below;
  std::optional<double> clear_below;
  std::optional<double> clear_above;
  std::int64_t alarm_after_failures = 0;  // 0: failures are logged alone
  Call alarm;
  std::optional<Call> clear;
};

struct Definition {
  enum class Type : std::uint8_t { kSequence, kFanOut, kWatch, kSchedule };
  Type type = Type::kSequence;
  Sequence sequence;
  FanOut fan_out;
  Watch watch;
  pawl::Schedule schedule;
};

// Reads the members of a policy. Other members are the caller's.
void read_policy(Section& section, Policy* out);

// Of the activities that are configured or recorded: null, there is none of this name.
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

// Each problem is reported by the section.
[[nodiscard]] Definition read_definition(Section& section, const Policies& policies,
                                         const std::vector<std::string>& orchestrations);

// What the first step of an instance records. Both objects are of `document`.
[[nodiscard]] std::string record_of(const JsonDocument& document, JsonDocument::Id definition,
                                    std::optional<JsonDocument::Id> activities);
// Returns whether this program can run it; `why` has the first reason.
[[nodiscard]] bool read_record(std::string_view record, Definition* out, std::string* why);

// The activities that a definition names, each once.
[[nodiscard]] std::vector<std::string> activities_of(const Definition& definition);

}  // namespace pawld

#endif  // PAWL_DAEMON_DEFINITION_HPP

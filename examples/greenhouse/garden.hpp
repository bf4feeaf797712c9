// The names that the three programs share, and the types that go with them.
//
// Moisture is in thousandths. The database holds these structs as JSON. A field that is added later
// has a default (PAWL_JSON_DEFAULTS), so that a program can read the structs of an older one.
#ifndef GREENHOUSE_GARDEN_HPP
#define GREENHOUSE_GARDEN_HPP

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "pawl/pawl.hpp"

namespace greenhouse {

struct Bed {
  std::int32_t bed = 0;
};
PAWL_JSON(Bed, bed)

struct Reading {
  std::int32_t bed = 0;
  std::int32_t moisture = 0;
};
PAWL_JSON(Reading, bed, moisture)

// One run of the pump, and how long it ran.
struct Watering {
  std::int32_t bed = 0;
  std::int64_t ms = 0;
};
PAWL_JSON(Watering, bed, ms)

// Everything that the orchestration of a bed knows, handed from one execution to the next.
struct Tending {
  std::int32_t bed = 0;
  std::int32_t target = 300;
  std::int32_t moisture = 0;  // the last measurement
  std::int64_t pause_ms = 1'000;
  std::int64_t waterings = 0;
  std::int64_t watered_ms = 0;
};
PAWL_JSON(Tending, bed, target, moisture, pause_ms, waterings, watered_ms)

// An event: the moisture that a bed must have from now on.
struct Target {
  std::int32_t moisture = 0;
};
PAWL_JSON(Target, moisture)

// A message in a bed's queue. The Watering that it caused is the value under the key `id`.
struct Job {
  std::int64_t ms = 0;
  pawl::JsonText<60> id;
};
PAWL_JSON(Job, ms, id)

inline constexpr std::size_t kBedsMax = 16;
struct Survey {
  pawl::JsonArray<std::int32_t, kBedsMax> beds;
};
PAWL_JSON(Survey, beds)
struct Readings {
  pawl::JsonArray<Reading, kBedsMax> all;
};
PAWL_JSON(Readings, all)

inline constexpr pawl::ActivityType<Bed, Reading> kMeasure{"measure"};
inline constexpr pawl::ActivityType<Watering, Watering> kPump{"pump"};
inline constexpr pawl::ActivityType<pawl::Nothing, pawl::Nothing> kPumpOff{"pump_off"};

inline constexpr pawl::OrchestrationType<Tending, Tending> kTend{"tend"};      // a bed, for ever
inline constexpr pawl::OrchestrationType<Watering, Watering> kWater{"water"};  // its child
inline constexpr pawl::OrchestrationType<Survey, Readings> kSurvey{"survey"};  // several beds
inline constexpr pawl::EventType<Target> kTarget{"target"};
inline constexpr pawl::QueueType<Job> kJobs{"jobs"};

// The devices. Only the process that declared a device runs its activities, one at a time.
inline constexpr char kPumpDevice[] = "pump";
inline std::string soil_device(std::int32_t bed) { return "soil-" + std::to_string(bed); }

// Reads a whole number from 0 on. -1: the text is no such number.
inline std::int32_t number_of(std::string_view text) {
  std::int32_t number = -1;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && number >= 0 ? number : -1;
}

inline pawl::InstanceId instance_of(std::int32_t bed) {
  return pawl::InstanceId("bed-" + std::to_string(bed));
}

}  // namespace greenhouse

#endif  // GREENHOUSE_GARDEN_HPP

// The orchestration of one sensor: sample, filter, raise an alarm, wait, repeat. Coordinator and
// workers share these definitions.
#ifndef GATEWAY_SENSOR_HPP
#define GATEWAY_SENSOR_HPP

#include <cstdint>

#include "channels.hpp"
#include "pawl/pawl.hpp"

namespace gateway {

PAWL_JSON(Counters, first, second)

// Everything that an orchestration knows, handed from one execution to the next. All numbers are
// whole: these are the same on every machine.
struct SensorState {
  std::int64_t period_ms = 1000;
  std::int64_t limit = kNoLimit;
  std::int64_t samples = 0;
  std::int64_t failures = 0;  // in a row
  std::int64_t level = 0;     // filtered value
  bool alarmed = false;       // above the limit, and recorded
  Counters counters;
};
PAWL_JSON(SensorState, period_ms, limit, samples, failures, level, alarmed, counters)

struct SampleRequest {
  std::int64_t sample = 0;  // the number of the sample
  std::int64_t level = 0;
  Counters counters;
};
PAWL_JSON(SampleRequest, sample, level, counters)

struct Sample {
  std::int64_t value = 0;
  std::int64_t median = 0;
  std::int64_t window = 0;  // how many values the median is taken from
  Counters counters;
};
PAWL_JSON(Sample, value, median, window, counters)

struct Alarm {
  std::int64_t level = 0;
  std::int64_t limit = 0;
};
PAWL_JSON(Alarm, level, limit)

struct Recorded {
  bool before = false;  // an earlier attempt recorded it
};
PAWL_JSON(Recorded, before)

inline constexpr pawl::ActivityType<SampleRequest, Sample> kSample{"sample"};
inline constexpr pawl::ActivityType<Alarm, Recorded> kAlarm{"alarm"};
inline constexpr pawl::OrchestrationType<SensorState, SensorState> kWatchSensor{"watch_sensor"};

// The id of the instance is also the id of the session and of the sensor.
pawl::PollOf<SensorState, SensorState> watch_sensor(pawl::OrchestrationContext& ctx,
                                                    const SensorState& input);

}  // namespace gateway

#endif  // GATEWAY_SENSOR_HPP

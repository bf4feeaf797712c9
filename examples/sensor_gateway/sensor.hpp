// The orchestration of one sensor: sample, filter, raise an alarm, wait, go round.
#ifndef GATEWAY_SENSOR_HPP
#define GATEWAY_SENSOR_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include "channels.hpp"
#include "pawl/orchestration.hpp"

namespace gateway {

// Everything an orchestration knows, handed from one execution to the next.
struct SensorState {
  std::int64_t period_ms = 1000;
  std::int64_t limit = kNoLimit;
  std::int64_t samples = 0;
  std::int64_t failures = 0;  // in a row
  std::int64_t level = 0;     // filtered value
  std::int64_t alarmed = 0;   // above the limit, and recorded
  Counters counters;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool read(std::string_view text);
};

// The session, and so the sensor's id, is the id of the instance.
pawl::Poll watch_sensor(pawl::OrchestrationContext& ctx);

}  // namespace gateway

#endif  // GATEWAY_SENSOR_HPP

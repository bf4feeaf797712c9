// The orchestration that reads a device, and the one activity that it needs.
#ifndef DEVICE_GATEWAY_MEASURE_HPP
#define DEVICE_GATEWAY_MEASURE_HPP

#include <string>

#include "devices.hpp"
#include "pawl/pawl.hpp"

namespace device_gateway {

struct Request {
  std::int32_t samples = 1;
  std::int64_t period_ms = 0;
  std::int64_t unavailable_ms = 0;  // 0: waits for the device without a limit
  pawl::JsonText<256> device;       // its path
};
PAWL_JSON(Request, samples, period_ms, unavailable_ms, device)

struct Value {
  std::int64_t value = 0;
  pawl::JsonText<20> reader;  // the node that read it
};
PAWL_JSON(Value, value, reader)

inline constexpr pawl::ActivityType<pawl::Nothing, Value> kRead{"read_device"};
// Completes with the values, each after the node that read it: "a:215 a:216 b:216". Fails with the
// error's kind.
inline constexpr pawl::OrchestrationType<Request, std::string_view> kMeasure{"measure"};
pawl::PollOf<Request, std::string_view> measure(pawl::OrchestrationContext& ctx,
                                                const Request& request);

// `ctx.user()` is the OwnedDevices.
pawl::Reply<Value> read_device(pawl::ActivityContext& ctx, const pawl::Nothing& input);

}  // namespace device_gateway

#endif  // DEVICE_GATEWAY_MEASURE_HPP

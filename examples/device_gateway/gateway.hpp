// A gateway: declares the devices that are plugged in, runs their work, and withdraws those that
// are pulled out.
#ifndef DEVICE_GATEWAY_GATEWAY_HPP
#define DEVICE_GATEWAY_GATEWAY_HPP

namespace device_gateway {

struct GatewayOptions {
  const char* database_path = nullptr;
  const char* node = nullptr;
  const char* folder = nullptr;
  bool standby = false;  // takes over a device when the worker that has it is gone
};

// Returns the exit status.
int run_gateway(const GatewayOptions& options);

}  // namespace device_gateway

#endif  // DEVICE_GATEWAY_GATEWAY_HPP

// A gateway: declares what is plugged in, runs the work of it, and withdraws what is pulled out.
#ifndef DEVICE_GATEWAY_GATEWAY_HPP
#define DEVICE_GATEWAY_GATEWAY_HPP

namespace device_gateway {

struct GatewayOptions {
  const char* database_path = nullptr;
  const char* node = nullptr;
  const char* folder = nullptr;
  bool standby = false;  // declares behind a worker that has a device already
};

// The exit status.
int run_gateway(const GatewayOptions& options);

}  // namespace device_gateway

#endif  // DEVICE_GATEWAY_GATEWAY_HPP

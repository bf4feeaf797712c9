// The coordinator: the one process that runs orchestrations. It runs no activities.
#ifndef GATEWAY_COORDINATOR_HPP
#define GATEWAY_COORDINATOR_HPP

#include <cstdint>
#include <map>
#include <string>

#include "channels.hpp"

namespace gateway {

struct CoordinatorOptions {
  const char* database_path = nullptr;
  Roots roots;
  std::int64_t period_ms = 1000;
  std::map<std::string, std::int64_t> limits;  // one a channel, in thousandths; others keep theirs
};

// Returns the exit status.
int run_coordinator(const CoordinatorOptions& options);

}  // namespace gateway

#endif  // GATEWAY_COORDINATOR_HPP

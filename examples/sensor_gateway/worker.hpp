// A worker: a process that runs only activities. Each sensor is read in the one process that has it
// open.
#ifndef GATEWAY_WORKER_HPP
#define GATEWAY_WORKER_HPP

#include <cstdint>

#include "channels.hpp"

namespace gateway {

struct WorkerOptions {
  const char* database_path = nullptr;
  const char* node = nullptr;
  const char* log_path = nullptr;
  const char* alarms_path = nullptr;
  Roots roots;
  std::uint32_t max_sessions = 10;
};

// Returns the exit status.
int run_worker(const WorkerOptions& options);

}  // namespace gateway

#endif  // GATEWAY_WORKER_HPP

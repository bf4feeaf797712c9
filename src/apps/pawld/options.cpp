#include "apps/pawld/options.hpp"

#include <algorithm>

namespace pawld {

using std::chrono::milliseconds;

pawl::Options runtime_options(const Config& config) {
  pawl::Options options;
  options.database_path = config.database;
  options.database = config.server.has_value() ? &*config.server : nullptr;
  options.worker_node_id = config.node;
  options.limits.payload_bytes_max = static_cast<std::size_t>(config.payload_max);
  options.limits.warm_bytes = static_cast<std::size_t>(config.memory);
  options.slots.threads = 0;  // programs are child processes and need no threads
  options.slots.cooperative = static_cast<std::uint32_t>(config.programs);
  options.sessions.max_sessions_per_worker = static_cast<std::uint32_t>(config.sessions);
  if (!config.session_folders.empty()) options.sessions.work_root = config.session_folders;
  options.retention.age = milliseconds(config.retention_age_ms);
  options.retention.count = static_cast<std::uint32_t>(config.retention_count);
  options.retention.executions = static_cast<std::uint32_t>(config.retention_executions);
  options.space.quota_bytes = config.quota_bytes;
  // A program that was asked to end gets its own grace, plus some time until its end is noticed.
  std::int64_t longest = 5'000;
  for (const ProgramActivity& activity : config.activities)
    longest = std::max(longest, activity.kill_after_ms);
  options.timing.activity_grace = milliseconds(longest + 5'000);
  return options;
}

pawl::posix::PortOptions port_options(const Config& config) {
  pawl::posix::PortOptions options;
  options.wall_trust = config.clock;
  options.group_access = config.group_access;
  return options;
}

}  // namespace pawld

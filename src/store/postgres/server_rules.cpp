#include "store/postgres/server_rules.hpp"

#include "core/clock_rules.hpp"

namespace pawl::fleet {

ServerVerdict look_at_server(const ServerFacts& server, std::optional<std::int64_t> seen_timeline,
                             std::int64_t known_schema_version) {
  if (server.is_replica) return ServerVerdict::kReplica;
  if (seen_timeline.has_value() && server.timeline < *seen_timeline)
    return ServerVerdict::kOlderTimeline;
  return server.schema_version == known_schema_version ? ServerVerdict::kUsable
                                                       : ServerVerdict::kUnknownSchema;
}

LockWait watch_lock(const std::optional<LockWait>& wait, const LockHolder& holder,
                    std::int64_t boot_ms) {
  const bool is_same = wait.has_value() && wait->holder.backend == holder.backend &&
                       wait->holder.began_server_ms == holder.began_server_ms;
  return is_same ? *wait : LockWait{holder, boot_ms};
}

bool must_end_holder(const LockWait& wait, std::int64_t boot_ms) {
  return subtract_saturating(boot_ms, wait.since_boot_ms) >= kLockWaitMs;
}

}  // namespace pawl::fleet

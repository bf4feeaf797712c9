// The server: whether a connection to it counts, and who holds the store's lock for too long.
//
// Purpose: after a failover a name may still lead to the old primary, and a replica answers
// questions with rows of the past. A batch of which only half arrived holds the store's lock for as
// long as the server waits for the rest. The rules: docs/rules/fleet.md, F16 and F17.
// Ownership: plain values. Thread rule: pure functions. Units: ms; a name says of which clock.
// Errors: none.
#ifndef PAWL_STORE_POSTGRES_SERVER_RULES_HPP
#define PAWL_STORE_POSTGRES_SERVER_RULES_HPP

#include <cstdint>
#include <optional>

namespace pawl::fleet {

// ---- the connection: F17 ----

struct ServerFacts {
  bool is_replica = false;
  std::int64_t timeline = 0;
  std::int64_t schema_version = 0;
};
enum class ServerVerdict : std::uint8_t { kUsable, kReplica, kOlderTimeline, kUnknownSchema };
// `seen_timeline`: the newest that this process has seen; none at its first connection.
[[nodiscard]] ServerVerdict look_at_server(const ServerFacts& server,
                                           std::optional<std::int64_t> seen_timeline,
                                           std::int64_t known_schema_version);

// ---- the lock: F16 ----

inline constexpr std::int64_t kLockWaitMs = 2'000;

// One transaction that holds the lock.
struct LockHolder {
  std::int64_t backend = 0;          // process id of the server's
  std::int64_t began_server_ms = 0;  // when its transaction began: a backend may hold it again
};
struct LockWait {
  LockHolder holder;
  std::int64_t since_boot_ms = 0;  // since when the waiting node has seen this holder
};
// The wait after another look at the holder: it goes on, or begins anew behind another one.
[[nodiscard]] LockWait watch_lock(const std::optional<LockWait>& wait, const LockHolder& holder,
                                  std::int64_t boot_ms);
// Whether the waiting node ends that backend.
[[nodiscard]] bool must_end_holder(const LockWait& wait, std::int64_t boot_ms);

}  // namespace pawl::fleet

#endif  // PAWL_STORE_POSTGRES_SERVER_RULES_HPP

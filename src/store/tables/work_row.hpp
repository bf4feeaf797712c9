// WorkRow: a row of worker_queue as the code about work items sees it.
#ifndef PAWL_STORE_TABLES_WORK_ROW_HPP
#define PAWL_STORE_TABLES_WORK_ROW_HPP

#include "ids.hpp"
#include "pawl/activity_options.hpp"
#include "policy.hpp"
#include "work_queue.hpp"

namespace pawl::store {

// States of a row; stored.
inline constexpr std::int64_t kReady = 0;
inline constexpr std::int64_t kLocked = 1;
inline constexpr std::int64_t kDelayed = 2;
inline constexpr std::int64_t kGhost =
    3;  // cancelled while handed over: its execution may still go on

struct WorkRow {
  WorkItemId id = 0;
  InstanceKey instance = 0;
  ExecutionId execution = 0;
  EventId event = 0;
  std::int64_t state = 0;
  LockToken token = 0;
  Epoch epoch = 0;  // handed over under; 0 without a session
  std::int32_t attempt = 0;
  std::int32_t crashes = 0;
  std::int64_t unregistered = 0;
  SessionKey session = 0;
  // Of the session's row; 0 without one.
  InstanceKey session_scope = 0;
  std::int64_t session_generation = 0;
  Epoch session_epoch = 0;
  Epoch epoch_used = 0;
  bool exclusive = false;
  bool hard = false;
  bool open = true;       // not lost, closed, refused or expired
  bool is_head = false;   // of its session
  Incarnation owner = 0;  // of its session
  bool damaged = false;   // a column has not the type or range of this table
  ActivityOptions policy;
  std::int64_t failures = 0;
  OptionalMs start_due;
  OptionalMs close_due;
  OptionalMs silent_due;

  [[nodiscard]] bool may_retry() const { return failures + 1 < policy.retry.max_attempts; }
  [[nodiscard]] bool holds(const WorkDone& done) const { return token != 0 && token == done.token; }
  // The rule of acceptance. Time is no part of it: an expired lock that nobody took is good.
  [[nodiscard]] bool accepts(const WorkDone& done) const {
    return state == kLocked && holds(done) && epoch == done.epoch && session_epoch == epoch &&
           session == done.session;
  }
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORK_ROW_HPP

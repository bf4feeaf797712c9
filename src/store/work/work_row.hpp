// WorkRow: a row of worker_queue, with the columns of its session's row that are read with it.
#ifndef PAWL_STORE_WORK_WORK_ROW_HPP
#define PAWL_STORE_WORK_WORK_ROW_HPP

#include <cstdint>
#include <optional>

#include "codec/policy.hpp"
#include "core/ids.hpp"
#include "pawl/management.hpp"
#include "store/work/arguments.hpp"
#include "store/work/eligibility_rules.hpp"
#include "store/work/result_rules.hpp"
#include "store/work/retry_rules.hpp"

namespace pawl::store {

[[nodiscard]] constexpr std::int64_t stored(rules::WorkState state) {
  return static_cast<std::int64_t>(state);
}
// From a stored number that is not that of kCancelledRunning. Which of the two states outside it is
// matters to its session alone.
[[nodiscard]] constexpr ActivityState public_state(std::int64_t stored) {
  const rules::WorkState state = rules::work_state_of(stored);
  return rules::is_outside(state) ? ActivityState::kOutside : static_cast<ActivityState>(state);
}
[[nodiscard]] inline rules::Returned returned(const WorkDone& done) {
  return {done.token, done.epoch, done.session};
}

struct WorkRow {
  WorkItemId id = 0;
  InstanceKey instance = 0;
  ExecutionId execution = 0;
  EventId event = 0;
  rules::WorkState state = rules::WorkState::kReady;
  std::optional<LockToken> token;
  Epoch epoch = 0;  // the item was handed over under it; 0 without a session
  std::int32_t attempt = 0;
  std::int32_t crashes = 0;
  std::int64_t unregistered = 0;
  SessionKey session = 0;
  // From the session's row; 0 without a session.
  InstanceKey session_scope = 0;
  std::int64_t session_generation = 0;
  Epoch session_epoch = 0;
  Epoch epoch_used = 0;
  rules::SessionRow its_session;  // state, properties and owner
  bool is_head = false;           // of its session
  bool damaged = false;           // a column does not have the type or range of this table
  ActivityPolicy policy;
  std::int64_t failures = 0;
  rules::Limits limits;

  [[nodiscard]] bool may_retry() const { return rules::may_retry(policy.retry, failures); }
  [[nodiscard]] rules::LastHandOver handed_over() const {
    return {state, token, epoch, session, session_epoch};
  }
  [[nodiscard]] rules::QueuedWork queued() const { return {state, policy.barrier, is_head}; }
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_WORK_ROW_HPP

// AdminStore: lists and verbs for people.
//
// Purpose: what operators and applications see of instances, sessions and numbers, and what they
// may do to one of them.
// Ownership: what a visitor is given ends with its call. Thread rule: as store.hpp.
#ifndef PAWL_STORE_ADMIN_STORE_HPP
#define PAWL_STORE_ADMIN_STORE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ids.hpp"
#include "pawl/management.hpp"
#include "pawl/session.hpp"
#include "pawl/status.hpp"

namespace pawl {

// Which earlier executions stay: the last `keep_last`, the current one, which counts, in any case;
// from the first on that ended at `ended_before` (a stamp; 0: no limit) or later; and from the
// first on that has a child that has not ended.
struct PruneLimits {
  std::int64_t keep_last = 1;
  std::int64_t ended_before_ms = 0;
};

struct Restart {
  std::string_view id;
  RestartFrom from = RestartFrom::kStart;
  std::string_view by;       // a name
  std::string_view version;  // kStart: empty: by default
};

class AdminStore {
 public:
  // Reads; anywhere.
  virtual Status list_instances(const InstanceFilter& filter, Page* page,
                                InstanceVisitor& visitor) = 0;
  // `of` and all others of its tree, or only its own children, by key; anywhere.
  virtual Status list_tree(InstanceKey of, bool children_only, Page* page,
                           InstanceVisitor& visitor) = 0;
  // One of this id; kNotFound.
  virtual Status read_instance_info(std::string_view id, InstanceVisitor& visitor) = 0;
  // kNotFound.
  virtual Status read_instance_stats(std::string_view id, InstanceStats* out) = 0;
  virtual Status list_executions(InstanceKey key, ExecutionVisitor& visitor) = 0;
  virtual Status list_activities(InstanceKey key, ExecutionId execution,
                                 ActivityVisitor& visitor) = 0;
  // Activities of all instances, by the order of their scheduling; messages of one, by that of their
  // arrival.
  virtual Status list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor) = 0;
  virtual Status list_messages(InstanceKey key, Page* page, MessageVisitor& visitor) = 0;
  virtual Status read_metrics(Metrics* out) = 0;
  // In a batch, for its time.
  virtual Status list_sessions(const SessionFilter& filter, Page* page,
                               SessionVisitor& visitor) = 0;
  // Likewise one, of an instance, or shared (empty). kNotFound.
  virtual Status read_session(std::string_view instance, std::string_view session,
                              SessionVisitor& visitor) = 0;
  // In a batch: closes one that an instance opened, for another than its code. `owner_label`: who,
  // and must be the session's (kNotOwner); empty: an administrator. kNotFound. Reported to the sink
  // of the runtime that calls wake_delayed() next.
  virtual Status end_session(std::string_view instance, std::string_view session,
                             std::string_view owner_label) = 0;
  // In a batch: what code does with the calls of these names, for an operator. kNotFound: none that
  // is open; kInvalidArgument with a text. Reported as end_session().
  virtual Status hold_session(std::string_view instance, std::string_view session,
                              std::int64_t hold_ms) = 0;
  virtual Status handoff_session(std::string_view instance, std::string_view session,
                                 std::string_view tag, std::string_view summary) = 0;
  virtual Status change_session(std::string_view instance, std::string_view session,
                                const SessionUpdate& update) = 0;
  // In a batch. kNotFound; kStale: it has ended. The next turn must end the instance: what was
  // fetched before is stale, and fetch_orchestration_item() says so.
  virtual Status terminate_instance(std::string_view id, std::string_view reason) = 0;
  // In a batch. kNotFound; kStale: it has ended or is being terminated.
  virtual Status suspend_instance(std::string_view id) = 0;
  // In a batch; also of a stopped one. kNotFound; kStale: it has ended.
  virtual Status resume_instance(std::string_view id) = 0;
  // In a batch: as Client::restart_instance() says, with its answers; the diagnostic has the reason.
  virtual Status restart_instance(const Restart& how) = 0;
  // In a batch: removes earlier executions with the children they started, oldest first. Bounded by
  // events, but for one execution; `more`: call again. Adds to *removed. kNotFound.
  virtual Status prune_executions(InstanceKey key, const PruneLimits& limits,
                                  std::size_t events_max, Removed* removed, bool* more) = 0;
  // In a batch: from its commit on the whole tree is visible to no call, and no turn or result of
  // it is accepted; its rows and ids go with sweep_deleted(). kNotFound; kChildInstance: it is no
  // root; kStillRunning: it, or one below it, has not ended, and no `force`.
  virtual Status delete_instance(InstanceKey key, bool force) = 0;

 protected:
  ~AdminStore() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_ADMIN_STORE_HPP

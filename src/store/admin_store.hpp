// AdminStore: lists and verbs for people.
//
// Purpose: shows operators and applications the instances, sessions and numbers, and holds the
// verbs that they may use on one of them.
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

// The earlier executions that a prune keeps: the last `keep_last`, where the current one counts;
// all from the first one on that ended at `ended_before` (a stamp; 0: no limit) or later; and all
// from the first one on that has a child that has not ended.
struct PruneLimits {
  std::int64_t keep_last = 1;
  std::int64_t ended_before_ms = 0;
};

struct Restart {
  std::string_view id;
  RestartFrom from = RestartFrom::kStart;
  std::string_view by;       // a name
  std::string_view version;  // for kStart; empty: the default version
};

class AdminStore {
 public:
  // A read; callable anywhere.
  virtual Status list_instances(const InstanceFilter& filter, Page* page,
                                InstanceVisitor& visitor) = 0;
  // Lists the whole tree that `of` belongs to, `of` included, or only its own children, by key.
  // Callable anywhere.
  virtual Status list_tree(InstanceKey of, bool children_only, Page* page,
                           InstanceVisitor& visitor) = 0;
  // Reads the instance with this id. kNotFound.
  virtual Status read_instance_info(std::string_view id, InstanceVisitor& visitor) = 0;
  // kNotFound.
  virtual Status read_instance_stats(std::string_view id, InstanceStats* out) = 0;
  virtual Status list_executions(InstanceKey key, ExecutionVisitor& visitor) = 0;
  virtual Status list_activities(InstanceKey key, ExecutionId execution,
                                 ActivityVisitor& visitor) = 0;
  // list_work(): activities of all instances, in the order of their scheduling. list_messages():
  // messages of one instance, in the order of their arrival.
  virtual Status list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor) = 0;
  virtual Status list_messages(InstanceKey key, Page* page, MessageVisitor& visitor) = 0;
  virtual Status read_metrics(Metrics* out) = 0;
  // In a batch, whose time the sessions' times refer to.
  virtual Status list_sessions(const SessionFilter& filter, Page* page,
                               SessionVisitor& visitor) = 0;
  // In a batch, too. `instance` opened the session; empty: it is shared. kNotFound.
  virtual Status read_session(std::string_view instance, std::string_view session,
                              SessionVisitor& visitor) = 0;
  // In a batch: closes a session that an instance opened, for a caller other than the instance's
  // code. `owner_label` names the caller and must be the session's (kNotOwner); empty: an
  // administrator. kNotFound. The sink of the runtime that calls wake_delayed() next gets the
  // report.
  virtual Status end_session(std::string_view instance, std::string_view session,
                             std::string_view owner_label) = 0;
  // In a batch: does for an operator what code does with the calls of these names. kNotFound: no
  // such session is open; kInvalidArgument with a text. Reported as by end_session().
  virtual Status hold_session(std::string_view instance, std::string_view session,
                              std::int64_t hold_ms) = 0;
  virtual Status handoff_session(std::string_view instance, std::string_view session,
                                 std::string_view tag, std::string_view summary) = 0;
  virtual Status change_session(std::string_view instance, std::string_view session,
                                const SessionUpdate& update) = 0;
  // In a batch. kNotFound; kStale: it has ended. The next turn must end the instance: an item that
  // was fetched before is stale, and fetch_orchestration_item() reports the termination.
  virtual Status terminate_instance(std::string_view id, std::string_view reason) = 0;
  // In a batch. kNotFound; kStale: it has ended or is being terminated.
  virtual Status suspend_instance(std::string_view id) = 0;
  // In a batch; works on a stopped instance, too. kNotFound; kStale: it has ended.
  virtual Status resume_instance(std::string_view id) = 0;
  // In a batch: implements Client::restart_instance(), with its answers; the diagnostic has the
  // reason.
  virtual Status restart_instance(const Restart& how) = 0;
  // In a batch: removes earlier executions with the children they started, oldest first. The number
  // of events bounds one call, except that one execution is removed whole; `more`: call again. Adds
  // to *removed. kNotFound.
  virtual Status prune_executions(InstanceKey key, const PruneLimits& limits,
                                  std::size_t events_max, Removed* removed, bool* more) = 0;
  // In a batch: from its commit on no call sees the tree, and no turn or result of it is accepted;
  // sweep_deleted() removes its rows and ids. kNotFound; kChildInstance: it is no root;
  // kStillRunning: it, or an instance below it, has not ended, and `force` is false.
  virtual Status delete_instance(InstanceKey key, bool force) = 0;

 protected:
  ~AdminStore() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_ADMIN_STORE_HPP

// ClientManagement: the management calls of a Client.
#ifndef PAWL_RUNTIME_CLIENT_MANAGEMENT_HPP
#define PAWL_RUNTIME_CLIENT_MANAGEMENT_HPP

#include "runtime/client_connection.hpp"

namespace pawl {

class ClientManagement : public ClientConnection {
 public:
  using ClientConnection::ClientConnection;

  Status terminate_instance(std::string_view id, std::string_view reason);
  Status cancel_instances(const InstanceFilter& filter, Page* page, std::string_view reason,
                          std::int64_t* asked);
  Status restart_instance(std::string_view id, RestartFrom from, const RestartOptions& options);
  Status suspend_instance(std::string_view id);
  Status resume_instance(std::string_view id);
  Status list_instances(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  Status get_instance_info(std::string_view id, InstanceInfo* out);
  Status get_instance_stats(std::string_view id, InstanceStats* out);
  Status list_executions(std::string_view id, ExecutionVisitor& visitor);
  // Shows all events of an execution; with a page, those after page->after.
  Status read_history(std::string_view id, std::int64_t execution_id, Page* page,
                      HistoryVisitor& visitor);
  Status get_metrics(Metrics* out);
  Status set_quota(std::int64_t bytes);
  Status list_workers(WorkerVisitor& visitor);
  Status list_activities(std::string_view id, ActivityVisitor& visitor);
  Status list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor);
  Status list_messages(std::string_view id, Page* page, MessageVisitor& visitor);
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor);
  Status get_session(std::string_view instance, std::string_view session, SessionInfo* out);
  Status close_session(std::string_view instance, std::string_view session,
                       std::string_view owner_label);
  Status hold_session(std::string_view instance, std::string_view session,
                      std::chrono::milliseconds hold);
  Status handoff_session(std::string_view instance, std::string_view session, std::string_view tag,
                         std::string_view summary);
  Status change_session(std::string_view instance, std::string_view session,
                        const SessionUpdate& update);
  Status transfer_session(std::string_view session, std::string_view node,
                          const TransferOptions& options);
  Status drain_worker(std::string_view node, const TransferOptions& options);
  Status undrain_worker(std::string_view node);
  Status forget_device(std::string_view device);
  Status list_tree(std::string_view id, bool children_only, Page* page, InstanceVisitor& visitor);
  Status delete_instance(std::string_view id, bool force, Removed* removed);
  Status delete_instances(const InstanceFilter& filter, Page* page, Removed* removed);
  Status prune_executions(std::string_view id, std::int64_t keep_last, std::int64_t ended_before_ms,
                          Removed* removed);
  Status prune_instances(const InstanceFilter& filter, Page* page, std::int64_t keep_last,
                         std::int64_t ended_before_ms, Removed* removed);

 private:
  Status ask(const InstanceKey* keys, std::size_t count, std::string_view reason,
             std::int64_t* asked);
  Status list_all_workers(WorkerVisitor& visitor);
  Status remove(InstanceKey key, std::string_view id, bool force, Removed* removed);
  Status prune(InstanceKey key, std::string_view id, const PruneLimits& limits, Removed* removed);
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLIENT_MANAGEMENT_HPP

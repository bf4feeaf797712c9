// ClientCore: the connection behind pawl::Client.
#ifndef PAWL_RUNTIME_CLIENT_CORE_HPP
#define PAWL_RUNTIME_CLIENT_CORE_HPP

#include "arena.hpp"
#include "pawl/client.hpp"
#include "sqlite_store.hpp"

namespace pawl {

// What a user sees of a stored instance.
[[nodiscard]] OrchestrationStatus public_status(const InstanceStatus& row);
// Room for an output or an error text.
[[nodiscard]] std::size_t status_buffer_bytes(std::size_t payload_bytes_max);

// Raised events and queue messages of one instance may hold together so many bytes when one is sent.
[[nodiscard]] constexpr std::size_t mail_bytes_max(std::size_t payload_bytes_max) {
  return 4 * payload_bytes_max;
}

class ClientCore {
 public:
  ClientCore(Process& process, const ClientOptions& options, const port::Port& port)
      : process_(process), options_(options), port_(port) {}

  ~ClientCore() {
    if (provider_ != nullptr) SqliteStore::destroy(provider_);
  }
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  // What lies in the caller's memory.
  struct Parts {
    void* provider = nullptr;
    char* buffer = nullptr;
    WorkerRow* workers = nullptr;
  };
  template <typename AnyArena>
  static Status lay_out(AnyArena& arena, const ClientOptions& options, Parts& parts) {
    parts.provider = arena.allocate(SqliteStore::bytes(), SqliteStore::kAlign);
    parts.buffer = arena.buffer(status_buffer_bytes(options.payload_bytes_max));
    parts.workers = arena.template array<WorkerRow>(kWorkersMax);
    return arena.exhausted() ? Status::kResourceExhausted : Status::kOk;
  }
  Status lay_out(Arena& arena) {
    Parts parts;
    PAWL_TRY(lay_out(arena, options_, parts));
    provider_ = SqliteStore::make(parts.provider);
    buffer_ = parts.buffer;
    workers_ = parts.workers;
    return Status::kOk;
  }

  Status open(Diagnostic& diagnostic);
  void close();
  Status start_orchestration(std::string_view id, std::string_view name, std::string_view input,
                             const StartOptions& options);
  Status cancel_instance(std::string_view id, std::string_view reason);
  Status send_mail(std::string_view id, MessageKind kind, std::string_view name,
                   std::string_view payload);
  Status get_status(std::string_view id, OrchestrationStatus* out);
  Status wait_for_orchestration(std::string_view id, std::int64_t timeout_ms,
                                OrchestrationStatus* out);
  Status wait_for_status_change(std::string_view id, std::int64_t last_version,
                                std::int64_t timeout_ms, OrchestrationStatus* out);
  Status get_kv_value(std::string_view id, std::string_view key, KvEntry* out, bool* found);
  Status get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor);
  Status wait_for_kv_value(std::string_view id, std::string_view key, std::int64_t timeout_ms,
                           KvEntry* out);
  [[nodiscard]] std::string_view error_text() const { return diagnostic_.text(); }

  // ---- client_management.cpp ----
  Status terminate_instance(std::string_view id, std::string_view reason);
  Status suspend_instance(std::string_view id);
  Status resume_instance(std::string_view id);
  Status list_instances(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  Status get_instance_info(std::string_view id, InstanceInfo* out);
  Status get_instance_stats(std::string_view id, InstanceStats* out);
  Status list_executions(std::string_view id, ExecutionVisitor& visitor);
  Status read_history(std::string_view id, std::int64_t execution_id, HistoryVisitor& visitor);
  Status get_metrics(Metrics* out);
  Status set_quota(std::int64_t bytes);
  Status list_workers(WorkerVisitor& visitor);
  Status list_activities(std::string_view id, ActivityVisitor& visitor);
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor);
  Status get_session(std::string_view instance, std::string_view session, SessionInfo* out);
  Status close_session(std::string_view instance, std::string_view session,
                       std::string_view owner_label);
  Status transfer_session(std::string_view session, std::string_view node,
                          const TransferOptions& options);
  Status drain_worker(std::string_view node, const TransferOptions& options);
  Status forget_device(std::string_view device);
  Status list_tree(std::string_view id, bool children_only, Page* page, InstanceVisitor& visitor);
  Status delete_instance(std::string_view id, bool force, Removed* removed);
  Status delete_instances(const InstanceFilter& filter, Page* page, Removed* removed);
  Status prune_executions(std::string_view id, std::int64_t keep_last, std::int64_t ended_before_ms,
                          Removed* removed);
  Status prune_instances(const InstanceFilter& filter, Page* page, std::int64_t keep_last,
                         std::int64_t ended_before_ms, Removed* removed);

 private:
  static constexpr std::size_t kWorkersMax = 64;  // as a Runtime looks at
  Status told_of(const char* what, std::string_view name, Status status);
  template <typename Work>
  Status in_batch(std::string_view id, Work&& work) {
    Status status = try_batch(id, work);
    if (status == Status::kQuota && cut_long_log()) status = try_batch(id, work);
    if (status == Status::kFull) tell_disk_is_full();
    return status;
  }
  template <typename Work>
  Status try_batch(std::string_view id, Work& work) {
    BatchInfo info;
    Status status = provider_->begin(0, &info);
    const bool begun = status == Status::kOk;
    if (begun) status = work();
    if (status == Status::kOk) status = provider_->commit();
    was_refused_ = begun && status != Status::kOk;
    if (status == Status::kOk) return status;
    static_cast<void>(told(status, id));
    if (begun) provider_->rollback();
    return status;
  }
  bool cut_long_log();
  Status refuse_early(std::string_view id, bool must_run);
  void tell_disk_is_full();
  // Counts what the transaction took away, if it is committed.
  template <typename Work>
  Status in_counted_batch(std::string_view id, Removed* removed, Work&& work) {
    step_ = Removed();
    PAWL_TRY(in_batch(id, work));
    removed->instances += step_.instances;
    removed->executions += step_.executions;
    removed->events += step_.events;
    return Status::kOk;
  }
  template <typename IsOver>
  Status wait_until(std::string_view id, std::int64_t timeout_ms, OrchestrationStatus* out,
                    IsOver&& is_over);
  Status told(Status status, std::string_view id);
  Status remove(InstanceKey key, std::string_view id, bool force, Removed* removed);
  Status prune(InstanceKey key, std::string_view id, const PruneLimits& limits, Removed* removed);

  Process& process_;
  ClientOptions options_;
  port::Port port_;
  Provider* provider_ = nullptr;
  char* buffer_ = nullptr;
  WorkerRow* workers_ = nullptr;
  Removed step_;  // of the transaction at hand
  bool watching_ = false;
  bool was_refused_ = false;  // the last transaction, by what it found
  Diagnostic diagnostic_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_CLIENT_CORE_HPP

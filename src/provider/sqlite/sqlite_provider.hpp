// SqliteProvider: the storage contract on one SQLite connection.
//
// Files: sqlite_provider.cpp (open, transactions, clock), sqlite_orchestration.cpp (instances, messages,
// history), sqlite_work.cpp (work items), sqlite_sessions.cpp (sessions: every change of an owner goes
// through one function), sqlite_workers.cpp (register, bury). Statement ids are ranges per file.
#ifndef PAWL_PROVIDER_SQLITE_SQLITE_PROVIDER_HPP
#define PAWL_PROVIDER_SQLITE_SQLITE_PROVIDER_HPP

#include "clock_rules.hpp"
#include "connection.hpp"
#include "provider.hpp"

namespace pawl::sqlite {

// First statement id of each file.
inline constexpr int kIdsProvider = 0;
inline constexpr int kIdsOrchestration = 32;
inline constexpr int kIdsWork = 80;
inline constexpr int kIdsSessions = 112;
inline constexpr int kIdsWorkers = 152;

class SqliteProvider final : public Provider {
 public:
  SqliteProvider() = default;
  ~SqliteProvider();

  Status open(const ProviderOptions& options, const port::Port& port,
              Diagnostic& diagnostic) override;
  void close() override;
  void set_change_sink(ChangeSink* sink) override { sink_ = sink; }
  [[nodiscard]] const Diagnostic& diagnostic() const override { return diagnostic_; }
  [[nodiscard]] std::string_view database_id() const override { return database_id_.view(); }

  Status begin(Incarnation me, BatchInfo* info) override;
  Status commit() override;
  void rollback() override;
  Status begin_read() override;
  void end_read() override;
  Result<std::int64_t> data_version() override;
  [[nodiscard]] std::int64_t pawl_now() override;
  [[nodiscard]] std::int64_t boot_ms_of(std::int64_t pawl_time) const override;

  Status create_instance(const NewInstance& instance, InstanceKey* key) override;
  Status cancel_instance(std::string_view id, std::string_view reason) override;
  Status read_status(std::string_view id, InstanceStatus* out, char* buffer,
                     std::size_t capacity) override;

  Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                    std::size_t* count) override;
  Status fetch_orchestration_item(InstanceKey key, std::int64_t now, std::size_t messages_max,
                                  Arena& arena, OrchestrationItem* out) override;
  Status load_history(InstanceKey key, ExecutionId execution, EventId after,
                      EventSink& sink) override;
  Status ack_orchestration_item(const TurnCommit& turn) override;
  Status abandon_orchestration_item(InstanceKey key, std::int64_t revision, std::int64_t delay_ms,
                                    bool strike, ErrorKind why, std::string_view text) override;
  Status retry_stopped(std::size_t limit, std::size_t* retried) override;

  Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity, WorkItem* out,
                         bool* found) override;
  Status check_work_item(const WorkDone& done) override;
  Status ack_work_item(const WorkDone& done, const WorkResult& result) override;
  Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                           const CrashLimits& limits) override;
  Status renew_work_item_lock(const WorkDone& done, Incarnation me,
                              const SessionOptions& options) override;

  Status renew_session_lock(Incarnation me, const SessionOptions& options, bool revive,
                            std::size_t* renewed, std::size_t* released) override;
  Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                   std::size_t* removed) override;
  Status wake_delayed(std::size_t limit, std::size_t* woken) override;

  Status register_worker(const NewWorker& worker, Evidence& evidence, const CrashLimits& limits,
                         Incarnation* out) override;
  Status renew_worker(Incarnation me, std::int64_t lease_ms) override;
  Status set_draining(Incarnation me) override;
  Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                     std::size_t note_count, const CrashLimits& limits) override;
  Status unregister_worker(Incarnation me) override;
  Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count) override;

  Status next_due(Incarnation me, NextDue* out) override;

 private:
  // ---- sqlite_orchestration.cpp, for the other files ----
  // Stores a message of a running instance and makes it ready; kNotFound or kStale (ended) otherwise.
  Status insert_message(InstanceKey instance, const Message& message);
  // Removes a work item: its session's head is put right.
  Status delete_work(WorkItemId item, SessionKey session);

  // ---- sqlite_work.cpp, for the other files ----
  Status insert_work(InstanceKey instance, ExecutionId execution, const NewWork& work);
  // A command was closed or its execution ended: its queued or running items go.
  Status cancel_work(InstanceKey instance, ExecutionId execution, EventId event);
  Status cancel_all_work(InstanceKey instance, ExecutionId execution);
  // A limit of CrashLimits: the item's failure becomes a message, the item goes.
  Status poison_work(WorkItemId item, std::string_view why);

  // ---- sqlite_sessions.cpp, for the other files ----
  // The row of a global implicit session, made if absent.
  Status session_for(std::string_view name, SessionKey* key);
  // THE change: owner, next epoch, locks of its items cleared, head recomputed, one event reported.
  struct OwnerChange {
    SessionKey session = 0;
    Incarnation to = 0;              // 0: unowned
    std::string_view reason;         // released
    std::int64_t lease_ms = 0;
  };
  Status change_owner(const OwnerChange& change, Epoch* epoch);
  // After any write to rows of the session in worker_queue.
  Status recompute_head(SessionKey session);

  Status fail(Status status, const char* what);  // keeps the connection's text; returns status

  Connection connection_;
  port::Port port_;
  ProviderOptions options_;
  ChangeSink* sink_ = nullptr;
  ClockRow clock_;                   // as of the last begin(); fixed within a batch
  BatchInfo batch_;
  Incarnation batch_worker_ = 0;
  FixedText<32> database_id_;
  Diagnostic diagnostic_;
  bool open_ = false;
};

}  // namespace pawl::sqlite

#endif  // PAWL_PROVIDER_SQLITE_SQLITE_PROVIDER_HPP

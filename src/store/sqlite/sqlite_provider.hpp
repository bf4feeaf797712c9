// SqliteProvider: the storage contract on one SQLite connection.
//
// Purpose: makes the tables, each of which knows those above it in the list below and no other, and
// hands each call of the contract to the one that answers it. Ownership: it owns them all. Thread
// rule: one thread.
#ifndef PAWL_STORE_SQLITE_SQLITE_PROVIDER_HPP
#define PAWL_STORE_SQLITE_SQLITE_PROVIDER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "database_file.hpp"
#include "provider.hpp"
#include "sqlite_connection.hpp"
#include "tables/children.hpp"
#include "tables/context.hpp"
#include "tables/device_claims.hpp"
#include "tables/device_table.hpp"
#include "tables/due_index.hpp"
#include "tables/history_table.hpp"
#include "tables/instance_directory.hpp"
#include "tables/instance_messages.hpp"
#include "tables/instance_reader.hpp"
#include "tables/instance_table.hpp"
#include "tables/instance_verbs.hpp"
#include "tables/message_table.hpp"
#include "tables/meta_table.hpp"
#include "tables/new_instances.hpp"
#include "tables/opened_sessions.hpp"
#include "tables/parked_instances.hpp"
#include "tables/ready_instances.hpp"
#include "tables/row_quarantine.hpp"
#include "tables/schema_check.hpp"
#include "tables/session_directory.hpp"
#include "tables/session_events.hpp"
#include "tables/session_expiry.hpp"
#include "tables/session_handoff.hpp"
#include "tables/session_limits.hpp"
#include "tables/session_moves.hpp"
#include "tables/session_owners.hpp"
#include "tables/session_sweep.hpp"
#include "tables/session_table.hpp"
#include "tables/store_metrics.hpp"
#include "tables/store_space.hpp"
#include "tables/summary_table.hpp"
#include "tables/transactions.hpp"
#include "tables/tree_removal.hpp"
#include "tables/turn_reader.hpp"
#include "tables/turn_writer.hpp"
#include "tables/unregistered_work.hpp"
#include "tables/value_table.hpp"
#include "tables/work_fetch.hpp"
#include "tables/work_outcomes.hpp"
#include "tables/work_results.hpp"
#include "tables/work_schedule.hpp"
#include "tables/work_table.hpp"
#include "tables/worker_registry.hpp"
#include "tables/worker_table.hpp"

namespace pawl::store {

class SqliteProvider final : public Provider {
 public:
  SqliteProvider() : SqliteProvider(nullptr) {}
  // By another engine, that outlives it; null: by its own connection.
  explicit SqliteProvider(sqlite::Connection* engine)
      : engine_(engine == nullptr ? own_ : *engine), context_(engine_) {
    context_.batches = this;
  }
  ~SqliteProvider() { close(); }

  Status open(const ProviderOptions& options, const port::Port& port,
              Diagnostic& diagnostic) override;
  void close() override;
  void set_change_sink(ChangeSink* sink) override { context_.sink = sink; }
  [[nodiscard]] const Diagnostic& diagnostic() const override { return context_.diagnostic; }
  [[nodiscard]] std::string_view database_id() const override {
    return context_.database_id.view();
  }

  Status begin(Incarnation me, BatchInfo* info) override { return transactions_.begin(me, info); }
  Status commit() override { return transactions_.commit(); }
  void rollback() override { return transactions_.rollback(); }
  [[nodiscard]] bool last_commit_wrote() const override {
    return transactions_.last_commit_wrote();
  }
  [[nodiscard]] bool last_commit_sent() const override { return transactions_.last_commit_sent(); }
  [[nodiscard]] IoUse io_use() const override { return file_.io_use(); }
  Status begin_read() override { return transactions_.begin_read(); }
  void end_read() override { return transactions_.end_read(); }
  Result<std::int64_t> data_version() override { return transactions_.data_version(); }
  [[nodiscard]] std::int64_t pawl_now() override { return meta_.pawl_now(); }
  [[nodiscard]] std::int64_t boot_ms_of(std::int64_t pawl_time) const override {
    return meta_.boot_ms_of(pawl_time);
  }

  Status create_instance(const NewInstance& instance, InstanceKey* key) override {
    return new_instances_.create_instance(instance, key);
  }
  Status cancel_instance(std::string_view id, std::string_view reason) override {
    return posted_.cancel_instance(id, reason);
  }
  Status send_message(const NewMessage& posted, bool* room) override {
    return posted_.send_message(posted, room);
  }
  Status find_instance(std::string_view id, InstanceKey* key, Incarnation* home) override {
    return posted_.find_instance(id, key, home);
  }
  Status last_message(MessageId* number) override { return posted_.last_message(number); }
  Status reserve_messages(MessageId last, std::size_t count) override {
    return posted_.reserve_messages(last, count);
  }
  Status read_status(std::string_view id, InstanceStatus* out, char* buffer,
                     std::size_t capacity) override {
    return reader_.read_status(id, out, buffer, capacity);
  }

  Status read_value(std::string_view id, std::string_view key, KvEntry* out, bool* found,
                    char* buffer, std::size_t capacity) override {
    return values_.read_value(id, key, out, found, buffer, capacity);
  }
  Status list_values(std::string_view id, KvPage* page, KvVisitor& visitor) override {
    return values_.list_values(id, page, visitor);
  }

  Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                    std::size_t* count) override {
    return ready_.list_ready(query, out, capacity, count);
  }
  Status mark_unregistered(InstanceKey key, const ReadyQuery& query) override {
    return ready_.mark_unregistered(key, query);
  }
  Status fetch_orchestration_item(InstanceKey key, std::int64_t now, std::size_t messages_max,
                                  Arena& arena, OrchestrationItem* out) override {
    return turn_reader_.fetch_orchestration_item(key, now, messages_max, arena, out);
  }
  Status load_history(InstanceKey key, ExecutionId execution, EventId after,
                      EventSink& sink) override {
    return history_.load_history(key, execution, after, sink);
  }
  Status load_state(InstanceKey key, ExecutionId execution, StateSink& sink) override {
    return values_.load_state(key, execution, sink);
  }
  Status ack_orchestration_item(const TurnCommit& turn) override {
    return turn_writer_.ack_orchestration_item(turn);
  }
  Status abandon_orchestration_item(InstanceKey key, std::int64_t revision, std::int64_t delay_ms,
                                    bool strike, ErrorKind why, std::string_view text) override {
    return parked_instances_.abandon_orchestration_item(key, revision, delay_ms, strike, why, text);
  }
  Status stop_broken(InstanceKey key, std::string_view text) override {
    return quarantine_.stop_broken(key, text);
  }
  Status retry_stopped(std::size_t limit, std::size_t* retried) override {
    return parked_instances_.retry_stopped(limit, retried);
  }

  Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity, WorkItem* out,
                         bool* found) override {
    return fetch_.fetch_work_item(how, buffer, capacity, out, found);
  }
  Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken,
                           bool* more) override {
    return unregistered_.wake_unregistered(me, limit, woken, more);
  }
  [[nodiscard]] std::int64_t made_ready() const override {
    return context_.made_ready + context_.heads_moved;
  }
  Status check_work_item(const WorkDone& done) override { return results_.check_work_item(done); }
  Status ack_work_item(const WorkDone& done, const WorkResult& result) override {
    return results_.ack_work_item(done, result);
  }
  Status note_progress(const WorkDone& done, std::string_view progress, std::int64_t at) override {
    return results_.note_progress(done, progress, at);
  }
  Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                           const CrashLimits& limits) override {
    return results_.abandon_work_item(done, delay_ms, strike, limits);
  }
  Status renew_work_item_lock(const WorkDone& done, Incarnation me,
                              const WorkerTerms& options) override {
    return items_.renew_work_item_lock(done, me, options);
  }

  Status renew_session_lock(Incarnation me, const WorkerTerms& options, bool revive,
                            std::size_t* renewed, std::size_t* released) override {
    return owners_.renew_session_lock(me, options, revive, renewed, released);
  }
  Status claim_session(Incarnation me, std::string_view session,
                       const WorkerTerms& options) override {
    return moves_.claim_session(me, session, options);
  }
  Status announce_stop(Incarnation me, std::size_t* reported) override {
    return owners_.announce_stop(me, reported);
  }
  Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                   std::size_t* removed) override {
    return session_sweep_.cleanup_orphaned_sessions(evidence, limit, removed);
  }
  Status report_leaks(const WorkerTerms& options, LeakCursors* cursors) override {
    return expiry_.report_leaks(options, cursors);
  }
  Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held) override {
    return claims_.declare_session(declare, evidence, held);
  }
  Status withdraw_session(Incarnation me, std::string_view device, std::int64_t stop_ms) override {
    return claims_.withdraw_session(me, device, stop_ms);
  }
  Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing) override {
    return claims_.read_declaration(me, device, withdrawing);
  }
  Status take_devices_over(Incarnation me, const WorkerTerms& options,
                           Evidence& evidence) override {
    return claims_.take_devices_over(me, options, evidence);
  }
  Status forget_device(std::string_view device) override { return claims_.forget_device(device); }
  Status transfer_session(std::string_view instance, std::string_view session,
                          std::string_view node, std::int64_t stop_ms, bool force) override {
    return moves_.transfer_session(instance, session, node, stop_ms, force);
  }
  Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                       bool* moves) override {
    return moves_.evict_session(hung, session, me, moves);
  }
  Status drain_worker(std::string_view node, std::int64_t stop_ms) override {
    return moves_.drain_worker(node, stop_ms);
  }
  Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                        std::size_t* count) override {
    return sessions_.owned_sessions(me, out, capacity, count);
  }
  Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) override {
    return sessions_.count_sessions(me, active, idle);
  }
  Status session_lives(SessionKey session, std::int64_t generation, bool* lives) override {
    return sessions_.session_lives(session, generation, lives);
  }
  Status last_epoch(Epoch* epoch) override { return sessions_.last_epoch(epoch); }
  Status end_stops(std::size_t limit, std::size_t* ended) override {
    return moves_.end_stops(limit, ended);
  }
  Status wake_delayed(std::size_t limit, std::size_t* woken) override {
    return parked_instances_.wake_delayed(limit, woken);
  }

  Status register_worker(const NewWorker& worker, Evidence& evidence, const CrashLimits& limits,
                         Incarnation* out) override {
    return registry_.register_worker(worker, evidence, limits, out);
  }
  Status renew_worker(Incarnation me, std::int64_t lease_ms) override {
    return registry_.renew_worker(me, lease_ms);
  }
  Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                     std::size_t note_count, const CrashLimits& limits) override {
    return registry_.bury_worker(incarnation, heir, notes, note_count, limits);
  }
  Status unregister_worker(Incarnation me) override { return registry_.unregister_worker(me); }
  Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count) override {
    return registry_.list_workers(out, capacity, count);
  }

  Status list_instances(const InstanceFilter& filter, Page* page,
                        InstanceVisitor& visitor) override {
    return instance_directory_.list_instances(filter, page, visitor);
  }
  Status read_instance_info(std::string_view id, InstanceVisitor& visitor) override {
    return instance_directory_.read_instance_info(id, visitor);
  }
  Status read_instance_stats(std::string_view id, InstanceStats* out) override {
    return instance_directory_.read_instance_stats(id, out);
  }
  Status list_executions(InstanceKey key, ExecutionVisitor& visitor) override {
    return instance_directory_.list_executions(key, visitor);
  }
  Status list_activities(InstanceKey key, ExecutionId execution,
                         ActivityVisitor& visitor) override {
    return instance_directory_.list_activities(key, execution, visitor);
  }
  Status read_metrics(Metrics* out) override { return metrics_.read_metrics(out); }
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor) override {
    return directory_.list_sessions(filter, page, visitor);
  }
  Status read_session(std::string_view instance, std::string_view session,
                      SessionVisitor& visitor) override {
    return directory_.read_session(instance, session, visitor);
  }
  Status end_session(std::string_view instance, std::string_view session,
                     std::string_view owner_label) override {
    return expiry_.end_session(instance, session, owner_label);
  }
  Status terminate_instance(std::string_view id, std::string_view reason) override {
    return verbs_.terminate_instance(id, reason);
  }
  Status suspend_instance(std::string_view id) override { return verbs_.suspend_instance(id); }
  Status resume_instance(std::string_view id) override { return verbs_.resume_instance(id); }
  Status list_tree(InstanceKey of, bool children_only, Page* page,
                   InstanceVisitor& visitor) override {
    return instance_directory_.list_tree(of, children_only, page, visitor);
  }
  Status prune_executions(InstanceKey key, const PruneLimits& limits, std::size_t events_max,
                          Removed* removed, bool* more) override {
    return removal_.prune_executions(key, limits, events_max, removed, more);
  }
  Status delete_instance(InstanceKey key, bool force) override {
    return removal_.delete_instance(key, force);
  }
  Status delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                      bool* more) override {
    return removal_.delete_ended(which, cursor, next_end, more);
  }
  Status sweep_deleted(std::size_t events_max, Removed* removed, bool* more) override {
    return removal_.sweep_deleted(events_max, removed, more);
  }

  Status read_use(SpaceUse* out) override { return space_.read_use(out); }
  Status set_space(std::int64_t quota_bytes, std::int64_t reserve_bytes) override {
    return space_.set_space(quota_bytes, reserve_bytes);
  }
  Status remove_oldest(std::size_t events_max, Removed* removed) override {
    return removal_.remove_oldest(events_max, removed);
  }
  Status set_log_max(std::int64_t bytes) override { return space_.set_log_max(bytes); }
  [[nodiscard]] LogUse log_use() override { return space_.log_use(); }
  Result<bool> reserve_missing() override { return space_.reserve_missing(); }
  Status make_reserve(std::int64_t bytes) override { return space_.make_reserve(bytes); }
  Status release_reserve() override { return space_.release_reserve(); }
  Status empty_log() override { return file_.empty_log(); }
  Status write_back_log() override { return file_.write_back_log(); }

  Status next_due(Incarnation me, bool turns, NextDue* out) override {
    return due_.next_due(me, turns, out);
  }

  Status check_keys() override { return quarantine_.check_keys(); }
  std::optional<Damage> take_damage() override { return transactions_.take_damage(); }
  Status quarantine(const Damage& damage) override { return quarantine_.quarantine(damage); }

 private:
  sqlite::Connection own_;
  sqlite::Connection& engine_;
  StoreContext context_;
  // Each has those that stand above it.
  WorkerTable workers_{context_};
  DueIndex due_{context_, workers_};
  InstanceTable instances_{context_};
  MessageTable messages_{context_};
  SummaryTable summaries_{context_};
  SessionEvents events_{context_, messages_};
  SessionTable sessions_{context_, summaries_};
  WorkTable items_{context_, sessions_};
  WorkOutcomes outcomes_{context_, instances_, messages_, sessions_, items_};
  UnregisteredWork unregistered_{context_, workers_, sessions_, items_};
  SessionOwners owners_{context_, workers_, events_, sessions_, outcomes_, unregistered_};
  DeviceTable devices_{context_};
  SessionMoves moves_{context_, workers_, due_, instances_, sessions_, items_, owners_, devices_};
  DeviceClaims claims_{context_,  summaries_, events_,  sessions_,
                       outcomes_, owners_,    devices_, moves_};
  SessionLimits session_limits_{context_, events_};
  SessionHandoff handoff_{context_, summaries_, sessions_, unregistered_, moves_};
  OpenedSessions opened_{context_, events_, sessions_, owners_, session_limits_, handoff_};
  SessionExpiry expiry_{context_, instances_, events_, sessions_, owners_, opened_};
  SessionSweep session_sweep_{context_, events_, sessions_, owners_};
  SessionDirectory directory_{context_, instances_};
  WorkSchedule schedule_{context_,      events_, sessions_,      outcomes_,
                         unregistered_, moves_,  session_limits_};
  WorkResults results_{context_, sessions_, items_, outcomes_, owners_};
  RowQuarantine quarantine_{context_, instances_, sessions_, items_, outcomes_, owners_};
  WorkFetch fetch_{context_, workers_,  summaries_,    events_, sessions_,
                   items_,   outcomes_, unregistered_, owners_, quarantine_};
  SchemaCheck schema_{context_};
  DatabaseFile file_{context_, engine_, schema_};
  MetaTable meta_{context_, file_};
  StoreSpace space_{context_, file_};
  HistoryTable history_{context_};
  ValueTable values_{context_, instances_, messages_};
  NewInstances new_instances_{context_, messages_, space_};
  InstanceMessages posted_{context_, instances_, messages_, space_};
  InstanceReader reader_{context_, history_};
  ParkedInstances parked_instances_{context_, instances_, items_, outcomes_, claims_, expiry_};
  Children children_{context_, messages_, new_instances_};
  ReadyInstances ready_{context_, workers_, due_};
  TurnReader turn_reader_{context_};
  WorkerRegistry registry_{context_, workers_, items_,      outcomes_, unregistered_,
                           owners_,  moves_,   quarantine_, file_,     meta_};
  InstanceDirectory instance_directory_{context_, instances_};
  StoreMetrics metrics_{context_, sessions_, directory_, space_};
  InstanceVerbs verbs_{context_, instances_};
  TreeRemoval removal_{context_, instances_, items_, opened_};
  TurnWriter turn_writer_{context_, instances_, messages_, items_,    opened_, schedule_,
                          results_, history_,   values_,   children_, removal_};
  Transactions transactions_{context_, workers_, due_,  sessions_, unregistered_, results_,
                             fetch_,   schema_,  file_, meta_,     space_};
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SQLITE_SQLITE_PROVIDER_HPP

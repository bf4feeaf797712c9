// SqliteProvider: the storage contract on one SQLite connection.
//
// Files: sqlite_provider.cpp (open, transactions, clock), sqlite_schema.cpp (is the schema ours), sqlite_orchestration.cpp (items, history,
// commits of turns), sqlite_instances.cpp (instances and their messages), sqlite_ready.cpp (what is
// ready, and when), sqlite_children.cpp (children and detached starts), sqlite_state.cpp (values), sqlite_work.cpp (work items),
// sqlite_fetch.cpp (which of them a worker gets next), sqlite_sessions.cpp (sessions: every change of
// an owner goes through one function), sqlite_devices.cpp (devices, moving sessions),
// sqlite_opened.cpp (sessions that an orchestration opens), sqlite_workers.cpp
// (register, bury), sqlite_unregistered.cpp (work that nobody can run), sqlite_management.cpp (for operators),
// sqlite_removal.cpp (what goes), sqlite_space.cpp (quota and reserve).
#ifndef PAWL_PROVIDER_SQLITE_SQLITE_PROVIDER_HPP
#define PAWL_PROVIDER_SQLITE_SQLITE_PROVIDER_HPP

#include <cstddef>
#include <limits>

#include "clock_rules.hpp"
#include "connection.hpp"
#include "pawl/activity_options.hpp"
#include "pawl/session.hpp"
#include "provider.hpp"
#include "schema.hpp"
#include "tables/branch_scan.hpp"
#include "tables/device_claims.hpp"
#include "tables/device_table.hpp"
#include "tables/due_index.hpp"
#include "tables/instance_table.hpp"
#include "tables/message_table.hpp"
#include "tables/opened_sessions.hpp"
#include "tables/row_quarantine.hpp"
#include "tables/session_directory.hpp"
#include "tables/session_events.hpp"
#include "tables/session_expiry.hpp"
#include "tables/session_handoff.hpp"
#include "tables/session_limits.hpp"
#include "tables/session_moves.hpp"
#include "tables/session_owners.hpp"
#include "tables/session_sweep.hpp"
#include "tables/session_table.hpp"
#include "tables/summary_table.hpp"
#include "tables/unregistered_work.hpp"
#include "tables/walk.hpp"
#include "tables/work_fetch.hpp"
#include "tables/work_outcomes.hpp"
#include "tables/work_results.hpp"
#include "tables/work_schedule.hpp"
#include "tables/work_table.hpp"
#include "tables/worker_table.hpp"
#include "vector.hpp"

namespace pawl::store {

using sqlite::kApplicationId;
using sqlite::kPageBytes;
using sqlite::kSchema;
using sqlite::kSchemaVersion;
using sqlite::status_of;

class SqliteProvider final : public Provider {
 public:
  SqliteProvider() { context_.batches = this; }
  ~SqliteProvider() { close(); }

  Status open(const ProviderOptions& options, const port::Port& port,
              Diagnostic& diagnostic) override;
  void close() override;
  void set_change_sink(ChangeSink* sink) override { context_.sink = sink; }
  [[nodiscard]] const Diagnostic& diagnostic() const override { return context_.diagnostic; }
  [[nodiscard]] std::string_view database_id() const override {
    return context_.database_id.view();
  }

  Status begin(Incarnation me, BatchInfo* info) override;
  Status commit() override;
  void rollback() override;
  [[nodiscard]] bool last_commit_wrote() const override { return last_commit_wrote_; }
  [[nodiscard]] bool last_commit_sent() const override { return last_commit_sent_; }
  [[nodiscard]] IoUse io_use() const override;
  Status begin_read() override;
  void end_read() override;
  Result<std::int64_t> data_version() override;
  [[nodiscard]] std::int64_t pawl_now() override;
  [[nodiscard]] std::int64_t boot_ms_of(std::int64_t pawl_time) const override;

  Status create_instance(const NewInstance& instance, InstanceKey* key) override;
  Status cancel_instance(std::string_view id, std::string_view reason) override;
  Status send_mail(const NewMail& mail, bool* room) override;
  Status find_instance(std::string_view id, InstanceKey* key, Incarnation* home) override;
  Status last_message(MessageId* number) override;
  Status reserve_messages(MessageId last, std::size_t count) override;
  Status read_status(std::string_view id, InstanceStatus* out, char* buffer,
                     std::size_t capacity) override;

  Status read_value(std::string_view id, std::string_view key, KvEntry* out, bool* found,
                    char* buffer, std::size_t capacity) override;
  Status list_values(std::string_view id, KvPage* page, KvVisitor& visitor) override;

  Status list_ready(const ReadyQuery& query, InstanceKey* out, std::size_t capacity,
                    std::size_t* count) override;
  Status set_aside(InstanceKey key, const ReadyQuery& query) override;
  Status fetch_orchestration_item(InstanceKey key, std::int64_t now, std::size_t messages_max,
                                  Arena& arena, OrchestrationItem* out) override;
  Status load_history(InstanceKey key, ExecutionId execution, EventId after,
                      EventSink& sink) override;
  Status load_state(InstanceKey key, ExecutionId execution, StateSink& sink) override;
  Status ack_orchestration_item(const TurnCommit& turn) override;
  Status abandon_orchestration_item(InstanceKey key, std::int64_t revision, std::int64_t delay_ms,
                                    bool strike, ErrorKind why, std::string_view text) override;
  Status stop_broken(InstanceKey key, std::string_view text) override {
    return quarantine_.stop_broken(key, text);
  }
  Status retry_stopped(std::size_t limit, std::size_t* retried) override;

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
                              const SessionOptions& options) override {
    return items_.renew_work_item_lock(done, me, options);
  }

  Status renew_session_lock(Incarnation me, const SessionOptions& options, bool revive,
                            std::size_t* renewed, std::size_t* released) override {
    return owners_.renew_session_lock(me, options, revive, renewed, released);
  }
  Status claim_session(Incarnation me, std::string_view session,
                       const SessionOptions& options) override {
    return moves_.claim_session(me, session, options);
  }
  Status announce_stop(Incarnation me, std::size_t* told) override {
    return owners_.announce_stop(me, told);
  }
  Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                   std::size_t* removed) override {
    return session_sweep_.cleanup_orphaned_sessions(evidence, limit, removed);
  }
  Status tell_leaks(const SessionOptions& options, LeakCursors* cursors) override {
    return expiry_.tell_leaks(options, cursors);
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
  Status take_devices_over(Incarnation me, const SessionOptions& options,
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
  Status wake_delayed(std::size_t limit, std::size_t* woken) override;

  Status register_worker(const NewWorker& worker, Evidence& evidence, const CrashLimits& limits,
                         Incarnation* out) override;
  Status renew_worker(Incarnation me, std::int64_t lease_ms) override;
  Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                     std::size_t note_count, const CrashLimits& limits) override;
  Status unregister_worker(Incarnation me) override;
  Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count) override;

  Status list_instances(const InstanceFilter& filter, Page* page,
                        InstanceVisitor& visitor) override;
  Status read_instance_info(std::string_view id, InstanceVisitor& visitor) override;
  Status read_instance_stats(std::string_view id, InstanceStats* out) override;
  Status list_executions(InstanceKey key, ExecutionVisitor& visitor) override;
  Status list_activities(InstanceKey key, ExecutionId execution, ActivityVisitor& visitor) override;
  Status read_metrics(Metrics* out) override;
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
  Status terminate_instance(std::string_view id, std::string_view reason) override;
  Status suspend_instance(std::string_view id) override;
  Status resume_instance(std::string_view id) override;
  Status list_tree(InstanceKey of, bool children_only, Page* page,
                   InstanceVisitor& visitor) override;
  Status prune_executions(InstanceKey key, const PruneLimits& limits, std::size_t events_max,
                          Removed* removed, bool* more) override;
  Status delete_instance(InstanceKey key, bool force) override;
  Status delete_ended(const Retention& which, EndedCursor* cursor, OptionalMs* next_end,
                      bool* more) override;
  Status sweep_deleted(std::size_t events_max, Removed* removed, bool* more) override;

  Status read_use(SpaceUse* out) override;
  Status set_space(std::int64_t quota_bytes, std::int64_t reserve_bytes) override;
  Status remove_oldest(std::size_t events_max, Removed* removed) override;
  Status set_log_max(std::int64_t bytes) override;
  [[nodiscard]] LogUse log_use() override { return {log_bytes(), log_max_bytes_}; }
  Result<bool> reserve_missing() override;
  Status make_reserve(std::int64_t bytes) override;
  Status release_reserve() override;
  Status empty_log() override;
  Status write_back_log() override;

  Status next_due(Incarnation me, bool turns, NextDue* out) override {
    return due_.next_due(me, turns, out);
  }

  Status check_keys() override { return quarantine_.check_keys(); }
  std::optional<Damage> take_damage() override;
  Status quarantine(const Damage& damage) override { return quarantine_.quarantine(damage); }

 private:
  static constexpr std::size_t kPathBytesMax = 512;

  // ---- sqlite_provider.cpp ----
  Status connect(Diagnostic& diagnostic);
  class Image;
  Status make_database(const char* vfs, Diagnostic& diagnostic);
  Status try_to_make(const char* vfs, Diagnostic& diagnostic);
  Status make_image(const char* vfs, Image& image, Diagnostic& diagnostic);
  Status make_file(const char* vfs, Diagnostic& diagnostic);
  Status set_up(Diagnostic& diagnostic);
  void wait_for_locks(std::int64_t ms);
  Status take_write_lock(bool is_loop);
  Status wait_for_write_lock();
  Status look_at_file(bool* empty, Diagnostic& diagnostic);
  Status set_pragmas(Diagnostic& diagnostic);
  Status use_log(Diagnostic& diagnostic);
  Status try_log(Diagnostic& diagnostic);
  Status create_schema(Diagnostic& diagnostic);
  Status fill_schema(Diagnostic& diagnostic);
  void end_transaction();
  Status load_database_id(Diagnostic& diagnostic);
  Status read_first(const char* sql, Text& out, Diagnostic& diagnostic);
  Status read_number(const char* sql, std::int64_t* out, Diagnostic& diagnostic);
  Status execute(const char* sql, Diagnostic& diagnostic);
  void end_batch();
  // Requires: a transaction has begun. Notes whether another connection has committed since the last one.
  Status note_others();
  Status look_at_others();
  [[nodiscard]] std::uint32_t file_version();
  // What is known of rows without reading them is not: others committed, or what was written was rolled
  // back.
  void forget_known();
  [[nodiscard]] ClockSample sample_clock();
  Status start_clock();
  Status read_meta(ClockRow* out);
  Status check_meta(const Statement& row);
  Status write_meta();
  Status adopt_boot(const ClockSample& sample);
  Status sync_clock(const ClockSample& sample);
  Status note_clock(std::string_view kind, const ClockSample& sample, std::int64_t detail);

  // ---- sqlite_schema.cpp ----
  Status check_schema(Diagnostic& diagnostic);
  Status check_schema_again();

  // ---- sqlite_instances.cpp ----
  Status has_room(InstanceKey key, const NewMail& mail, bool* room);
  Status copy_output(std::string_view output, InstanceStatus* out, char* buffer,
                     std::size_t capacity);
  Status copy_custom_status(std::string_view text, InstanceStatus* out, char* buffer,
                            std::size_t capacity);

  // ---- sqlite_quarantine.cpp ----

  // ---- sqlite_ready.cpp ----
  class ReadyList;
  struct TimerCursor {
    std::int64_t due = std::numeric_limits<std::int64_t>::min();
    MessageId id = 0;
  };
  Status list_due_timers(ReadyList& list, TimeBase base, std::int64_t due_max);
  Status list_timers(ReadyList& list, TimeBase base, std::int64_t due_max, int looks_max,
                     TimerCursor* at);
  Status list_newest(ReadyList& list);
  Status list_behind(ReadyList& list, Incarnation home, std::int64_t* after);
  Status list_behind_in(ReadyList& list, Incarnation home);
  Status list_aside(ReadyList& list, std::size_t capacity);
  Status list_aside_kind(ReadyList& list, const Runnable& kind, std::size_t most);
  Status fire_due_timers(InstanceKey key);
  Status list_own(ReadyList& list);
  Status list_others(ReadyList& list);
  Status list_home(ReadyList& list, Incarnation home);
  Status next_home(Incarnation after, Incarnation* home);
#ifndef NDEBUG
#endif

  // ---- sqlite_orchestration.cpp ----
  class MessageReader;
  Status read_item_row(InstanceKey key, OrchestrationItem* out);
  Status read_last_stored_event(OrchestrationItem* out);
  Status read_first_message(MessageReader& reader, const OrchestrationItem& item);
  Status read_waiting_messages(MessageReader& reader, const OrchestrationItem& item);
  Status read_ready_messages(MessageReader& reader, InstanceKey key, std::int64_t* first_due);
  Status read_due_messages(MessageReader& reader, InstanceKey key, std::int64_t now,
                           std::int64_t first_due);
  Status broken_event(InstanceKey key, ExecutionId execution, std::int64_t event, const char* what);
  Status read_event(const Statement& row, InstanceKey key, ExecutionId execution, Event* event);
  Status last_event_of(InstanceKey key, ExecutionId execution, std::int64_t* out);
  Status read_end(InstanceStatus* out, char* buffer, std::size_t capacity);
  Status check_turn(const TurnCommit& turn, InstanceRow* found);
  Status check_message(InstanceKey key, MessageId message);
  Status write_turn(const TurnCommit& turn, const InstanceRow& row);
  Status write_sessions_and_work(const TurnCommit& turn);
  Status write_mail(const TurnCommit& turn);
  Status insert_events(const TurnCommit& turn);
  Status insert_event(const TurnCommit& turn, const Event& event);
  Status write_custom_status(const TurnCommit& turn);
  Status insert_timer(const TurnCommit& turn, const NewTimer& timer);
  Status close_command(const TurnCommit& turn, EventId command);
  Status first_ready(const TurnCommit& turn, std::int64_t* id);
  Status go_on(const TurnCommit& turn, ExecutionId execution);
  Status go_on_as_before(const TurnCommit& turn);
  Status end_execution(const TurnCommit& turn);
  Status continue_as_new(const TurnCommit& turn);

  // ---- sqlite_space.cpp, for the other files ----
  // kQuota: a new instance or message from outside must not take the room that running work needs.
  Status room_for_new();
  Status look_for_room();
  static int note_log(void* self, sqlite3* handle, const char* schema, int frames);
  Status remove_reserve();

  // ---- sqlite_space.cpp, its own ----
  class ReserveFile;
  Status write_reserve(ReserveFile& file, std::int64_t bytes);
  Status read_pragma(const sql::Query& query, std::int64_t* out);
  std::int64_t log_bytes();

  // ---- sqlite_management.cpp ----
  struct Managed {
    InstanceKey key = 0;
    bool ended = false;
    bool terminating = false;
  };
  Status find_managed(std::string_view id, Managed* out);
  Status list_ids(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  Status count_instances(Metrics* out);
  Status count_messages(Metrics* out);
  Status count_work(Metrics* out);

  // ---- sqlite_removal.cpp ----
  // What one transaction may still remove; an instance counts as some events.
  struct Budget {
    std::int64_t events = 0;
    Removed* removed = nullptr;
    [[nodiscard]] bool spent() const { return events <= 0; }
  };
  struct Oldest {
    ExecutionId execution = 0;
    std::int64_t events = 0;
    std::int64_t ended = 0;
  };
  struct Leaf {
    InstanceKey key = 0;  // 0: there is none
    ExecutionId execution = 0;
    bool ended = false;
  };
  Status oldest_execution(InstanceKey key, ExecutionId below, Oldest* out);
  Status first_leaf(InstanceKey parent, ExecutionId execution, Leaf* out);
  Status prune_children(InstanceKey key, ExecutionId execution, Budget& budget, bool* clear);
  Status delete_history(InstanceKey key, ExecutionId execution, Budget& budget, bool* clear);
  Status delete_whole(InstanceKey key, ExecutionId execution, Budget& budget);
  Status delete_oldest_ended(bool* any);
  Status prune_oldest(std::size_t events_max, Removed* removed);
  Status sweep_trees(Budget& budget, bool* more);
  struct PastCursor {
    std::int64_t ended = 0;
    InstanceKey instance = 0;
    ExecutionId execution = 0;
  };
  Status next_past(const PastCursor& after, PastCursor* out);
  Status next_ended(const EndedCursor& after, EndedCursor* out);
  Status first_that_stays(std::int64_t count_max, EndedCursor* out);
  Status next_deleted(InstanceKey* key, ExecutionId* execution);

  // ---- sqlite_children.cpp, for the other files ----
  // The instance that a kChild or kDetached event of the turn asks for. If there cannot be one, the
  // parent gets the answer of a child that failed, and of a detached start the sink is told.
  Status start_instance(const TurnCommit& turn, EventId command);
  // Cancel requests for the open children of these events of an execution.
  Status cancel_children(InstanceKey parent, ExecutionId execution, EventId first, EventId last,
                         std::string_view reason);
  // Whatever ends an instance calls this once, in the same batch: its parent is told, if that execution
  // of it still runs.
  Status tell_parent(InstanceKey child, ErrorKind error, std::string_view output);

  // ---- sqlite_state.cpp, and for the other files ----
  Status broken_value(InstanceKey instance, std::string_view key);
  Status write_value(const TurnCommit& turn, const Event& write);
  Status answer_read(const TurnCommit& turn, EventId read);
  // An execution is over: of each key only what it has in the end is kept.
  Status settle_values(InstanceKey instance, ExecutionId execution);

  // ---- sqlite_instances.cpp, for the other files ----
  struct ParentLink {
    InstanceKey instance = 0;  // 0: none
    ExecutionId execution = 0;
    EventId event = 0;
  };
  // kAlreadyExists, kInvalidArgument: nothing was written.
  Status insert_instance(const NewInstance& instance, const ParentLink& parent, InstanceKey* key);
  Status check_new(const NewInstance& instance);
  Status insert_checked(const NewInstance& instance, const ParentLink& parent, InstanceKey* key);

  // ---- sqlite_work.cpp, and its own ----
  Status store_counters();

  // ---- sqlite_workers.cpp, its own ----
  struct Predecessor {
    Incarnation worker = 0;
    FixedText<kNameBytesMax> node;
    std::int64_t pid = 0;
    bool lock_visible = false;
    std::int64_t locked_until = 0;
    std::int64_t boot_seq = 0;
  };
  Status refuse_foreign_boot();
  Status next_earlier(Predecessor* row);
  Status next_of_node(std::string_view node, Predecessor* row);
  Status read_predecessor(Statement& next, Predecessor* row);
  Status check_node(const NewWorker& worker, Evidence& evidence);
  Status insert_worker(const NewWorker& worker, Incarnation* out);
  Status insert_tags(const TagFilter& tags, Incarnation worker);
  Status bury_earlier_boots(Incarnation newcomer, std::string_view node, const CrashLimits& limits);
  Status inherit(const NewWorker& worker, Incarnation newcomer, const CrashLimits& limits);
  Status hand_sessions_over(Incarnation from, Incarnation heir, std::string_view reason,
                            const CrashLimits& limits);
  Status free_locks_of(Incarnation worker, const CrashLimits& limits);
  Status bury_row(Incarnation worker);
  Status keep_starts_apart();
  Status count_turn_crash(InstanceKey instance);

  using Suspicion = Connection::Suspicion;
  Status fail(Status status, const char* what) { return context_.fail(status, what); }
  Status no_progress(const char* table) { return context_.no_progress(table); }
  Status written(Status status) { return context_.written(status); }
  Status fail_written(Status status, const char* what) { return written(fail(status, what)); }
  void require_batch() const { context_.require_batch(); }

  StoreContext context_;
  Connection& connection_ = context_.connection;
  BatchInfo& batch_ = context_.batch;
  // Each has those that stand above it.
  WorkerTable workers_{context_};
  DueIndex due_{context_, workers_};
  InstanceTable instances_{context_};
  MessageTable messages_{context_, due_};
  SummaryTable summaries_{context_};
  SessionEvents events_{context_, messages_};
  SessionTable sessions_{context_, due_, summaries_};
  WorkTable items_{context_, due_, sessions_};
  WorkOutcomes outcomes_{context_, due_, instances_, messages_, sessions_, items_};
  UnregisteredWork unregistered_{context_, workers_, sessions_};
  SessionOwners owners_{context_, workers_, due_, events_, sessions_, outcomes_, unregistered_};
  DeviceTable devices_{context_};
  SessionMoves moves_{context_, workers_, due_, instances_, sessions_, items_, owners_, devices_};
  DeviceClaims claims_{context_,  due_,    summaries_, events_, sessions_,
                       outcomes_, owners_, devices_,   moves_};
  SessionLimits session_limits_{context_, due_, events_};
  SessionHandoff handoff_{context_, summaries_, sessions_, unregistered_, moves_};
  OpenedSessions opened_{context_,  due_,    summaries_,      events_,
                         sessions_, owners_, session_limits_, handoff_};
  SessionExpiry expiry_{context_, due_, instances_, events_, sessions_, owners_, opened_};
  SessionSweep session_sweep_{context_, due_, summaries_, events_, sessions_, owners_};
  SessionDirectory directory_{context_, instances_};
  WorkSchedule schedule_{context_,  due_,          events_, sessions_,
                         outcomes_, unregistered_, moves_,  session_limits_};
  WorkResults results_{context_, due_, sessions_, items_, outcomes_, owners_};
  RowQuarantine quarantine_{context_,  due_,   instances_, summaries_,
                            sessions_, items_, outcomes_,  owners_};
  WorkFetch fetch_{context_, workers_,  due_,          summaries_, events_,    sessions_,
                   items_,   outcomes_, unregistered_, owners_,    quarantine_};

  port::Port port_;
  ProviderOptions options_;  // path: our copy
  FixedText<kPathBytesMax> path_;
  std::int64_t apart_until_ = 0;           // Pawl time, of meta
  ClockRow clock_now_;                     // clock_ with what a commit that happens anyway may add
  std::int64_t writes_before_ = 0;         // of the connection, when the batch began
  port::FileHandle turn_ = port::kNoFile;  // kNoFile: there are none here
  int begun_without_turn_ = 0;             // batches of a loop, since it had one
  bool last_commit_wrote_ = false;
  bool last_commit_sent_ = false;
  bool batch_has_room_ = false;
  int log_frames_ = 0;            // after the last commit; with checkpoint_apart
  std::int64_t quota_bytes_ = 0;  // as of the row read last
  std::int64_t reserve_bytes_ = 0;
  std::int64_t log_max_bytes_ = 0;
  bool open_ = false;
  bool has_vfs_ = false;
  IoUse io_at_end_;               // of a closed one
  std::size_t aside_cursor_ = 0;  // which name comes next among what was set aside
  Incarnation home_cursor_ = 0;   // where the look at other homes goes on
  // Where lists look for what they can run while strangers are too many for one list: of due timers in Pawl
  // time and in UTC, of instances without a home, and of those of a home.
  TimerCursor timers_behind_[2];
  std::int64_t unowned_behind_ = 0;
  struct HomeCursor {
    Incarnation home = 0;
    std::int64_t after = 0;
  };
  HomeCursor home_behind_;
  std::uint32_t file_version_ = 0;  // SQLite's, when the last transaction began or its commit ended
  std::int64_t schema_version_ = 0;  // SQLite's, when it was found to be ours
  bool schema_is_ours_ = false;
  // True of the rows until forget_known(), or until this connection writes them.
  bool meta_is_known_ = false;  // clock_ and the other columns of meta
};

}  // namespace pawl::store

#endif  // PAWL_PROVIDER_SQLITE_SQLITE_PROVIDER_HPP

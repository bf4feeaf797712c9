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

#include "branch_scan.hpp"
#include "clock_rules.hpp"
#include "connection.hpp"
#include "pawl/activity_options.hpp"
#include "pawl/session.hpp"
#include "provider.hpp"
#include "schema.hpp"
#include "vector.hpp"
#include "walk.hpp"

namespace pawl::sqlite {

// Of a row i of instances: its tree was not removed.
#define PAWL_IS_THERE \
  "iif(i.root IS NULL,i.state,(SELECT r.state FROM instances AS r WHERE r.key=i.root))<>5"

inline bool has_ended(std::int64_t state) {
  return state == static_cast<std::int64_t>(InstanceState::kCompleted) ||
         state == static_cast<std::int64_t>(InstanceState::kFailed);
}

class SqliteProvider final : public Provider {
 public:
  SqliteProvider() = default;
  ~SqliteProvider() { close(); }

  Status open(const ProviderOptions& options, const port::Port& port,
              Diagnostic& diagnostic) override;
  void close() override;
  void set_change_sink(ChangeSink* sink) override { sink_ = sink; }
  [[nodiscard]] const Diagnostic& diagnostic() const override { return diagnostic_; }
  [[nodiscard]] std::string_view database_id() const override { return database_id_.view(); }

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
  Status stop_broken(InstanceKey key, std::string_view text) override;
  Status retry_stopped(std::size_t limit, std::size_t* retried) override;

  Status fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity, WorkItem* out,
                         bool* found) override;
  Status wake_unregistered(Incarnation me, std::size_t limit, std::size_t* woken,
                           bool* more) override;
  [[nodiscard]] std::int64_t made_ready() const override { return made_ready_ + heads_moved_; }
  Status check_work_item(const WorkDone& done) override;
  Status ack_work_item(const WorkDone& done, const WorkResult& result) override;
  Status note_progress(const WorkDone& done, std::string_view progress, std::int64_t at) override;
  Status abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                           const CrashLimits& limits) override;
  Status renew_work_item_lock(const WorkDone& done, Incarnation me,
                              const SessionOptions& options) override;

  Status renew_session_lock(Incarnation me, const SessionOptions& options, bool revive,
                            std::size_t* renewed, std::size_t* released) override;
  Status claim_session(Incarnation me, std::string_view session,
                       const SessionOptions& options) override;
  Status announce_stop(Incarnation me, std::size_t* told) override;
  Status cleanup_orphaned_sessions(Evidence& evidence, std::size_t limit,
                                   std::size_t* removed) override;
  Status tell_leaks(const SessionOptions& options, LeakCursors* cursors) override;
  Status declare_session(const DeclareSession& declare, Evidence& evidence, bool* held) override;
  Status withdraw_session(Incarnation me, std::string_view device, std::int64_t stop_ms) override;
  Status read_declaration(Incarnation me, std::string_view device, bool* withdrawing) override;
  Status take_devices_over(Incarnation me, const SessionOptions& options,
                           Evidence& evidence) override;
  Status forget_device(std::string_view device) override;
  Status transfer_session(std::string_view instance, std::string_view session,
                          std::string_view node, std::int64_t stop_ms, bool force) override;
  Status evict_session(const WorkDone& hung, SessionKey session, Incarnation me,
                       bool* moves) override;
  Status drain_worker(std::string_view node, std::int64_t stop_ms) override;
  Status owned_sessions(Incarnation me, OwnedSession* out, std::size_t capacity,
                        std::size_t* count) override;
  Status count_sessions(Incarnation me, std::uint32_t* active, std::uint32_t* idle) override;
  Status session_lives(SessionKey session, std::int64_t generation, bool* lives) override;
  Status last_epoch(Epoch* epoch) override;
  Status end_stops(std::size_t limit, std::size_t* ended) override;
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
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor) override;
  Status read_session(std::string_view instance, std::string_view session,
                      SessionVisitor& visitor) override;
  Status end_session(std::string_view instance, std::string_view session,
                     std::string_view owner_label) override;
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

  Status next_due(Incarnation me, bool turns, NextDue* out) override;

  Status check_keys() override;
  std::optional<Damage> take_damage() override;
  Status quarantine(const Damage& damage) override;

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
  Status check_worker(Incarnation me);
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
  struct Due {
    TimeBase base = TimeBase::kPawl;
    std::int64_t due = 0;
  };
  Status store_message(InstanceKey instance, const Message& message, const Due* timer,
                       bool waits = false);
  Status find_running(std::string_view id, InstanceKey* key, Incarnation* home = nullptr);
  Status has_room(InstanceKey key, const NewMail& mail, bool* room);
  Status copy_output(std::string_view output, InstanceStatus* out, char* buffer,
                     std::size_t capacity);
  Status copy_custom_status(std::string_view text, InstanceStatus* out, char* buffer,
                            std::size_t capacity);

  // ---- sqlite_quarantine.cpp ----
  // orchestrator_queue.waiting of a message that cannot be given to its instance.
  static constexpr std::int64_t kWaitingDamaged = 2;
  using Suspicion = Connection::Suspicion;
  Status quarantine_row(const RowRef& row, const Damage& damage);
  Status quarantine_instance(InstanceKey key, ErrorKind kind, std::string_view text);
  Status stop_damaged(InstanceKey key, ErrorKind kind, std::string_view text);
  Status quarantine_message(MessageId id, ErrorKind kind, std::string_view text);
  Status quarantine_work(WorkItemId id, ErrorKind kind, std::string_view text);
  Status quarantine_session(SessionKey session, std::string_view text);
  Status drop_session(SessionKey session, std::string_view text);
  // RowRef::key of a row of session_totals: what * kTotalsKeys + bucket.
  static constexpr std::int64_t kTotalsKeys = 1'000;
  Status drop_totals(std::int64_t key, std::string_view text);
  void log_damage(RowRef row, InstanceKey instance, std::string_view text);

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
  Status is_gone(Incarnation home, bool* gone);
  // The earliest due time of a kind, kept while no row that has one changes.
  enum class DueKind : std::uint8_t { kTimer, kParked, kWork, kStop, kLook };
  static constexpr int kDueKinds = 5;
  struct FirstDue {
    bool is_known = false;
    bool waits_for_utc = false;
    OptionalMs at;
  };
  FirstDue& first_due(DueKind kind) { return first_due_[static_cast<int>(kind)]; }
  // A row of the kind was given a due time.
  void due_comes(DueKind kind) { first_due(kind).is_known = false; }
  // Rows of the kind may have lost theirs, or have it at another time.
  void due_moves(DueKind kind) {
    FirstDue& first = first_due(kind);
    if (first.at.has_value() || first.waits_for_utc) first.is_known = false;
  }
  // Only who runs turns asks for these.
  [[nodiscard]] static bool is_of_turns(int kind) {
    return kind == static_cast<int>(DueKind::kTimer) || kind == static_cast<int>(DueKind::kParked);
  }
  Status find_unknown(Incarnation me, bool turns);
  Status find_first_of(DueKind kind, Incarnation me, FirstDue* first);
  Status find_first_work(OptionalMs* first);
#ifndef NDEBUG
  Status check_first(Incarnation me);
#endif
  Status first_timer(TimeBase base, Incarnation me, OptionalMs* first, bool* waits);
  Status first_number(Statement row, RowRef::Table table, OptionalMs* first);

  // ---- sqlite_orchestration.cpp ----
  // One view for the reads of a call, unless the caller has opened one.
  class ReadScope {
   public:
    explicit ReadScope(SqliteProvider& provider);
    ~ReadScope();
    ReadScope(const ReadScope&) = delete;
    ReadScope& operator=(const ReadScope&) = delete;
    [[nodiscard]] Status status() const { return status_; }

   private:
    SqliteProvider& provider_;
    Status status_ = Status::kOk;
    bool owns_ = false;
  };
  struct InstanceRow {
    InstanceState state = InstanceState::kRunning;
    ExecutionId execution = 0;
    std::int64_t revision = 0;
    bool parked = false;
    std::int64_t last_event = 0;
    bool ready = false;  // or set aside
    Incarnation home = 0;
    bool clean = false;  // nothing was ever counted against it, or it was forgiven
  };
  class MessageReader;
  Status read_instance(InstanceKey key, InstanceRow* out);
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
  Status sweep(Budget& budget, bool* more);
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
  Status find_instance(std::string_view id, InstanceKey* key);
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
  // Stores a message of a running instance and makes it ready; kNotFound or kStale (ended) otherwise.
  Status insert_message(InstanceKey instance, const Message& message);

  // ---- sqlite_work.cpp, for the other files ----
  Status insert_work(InstanceKey instance, ExecutionId execution, const NewWork& work);
  Status delete_row(WorkItemId item);
  Status count_activity(SessionKey session, std::int64_t lease_until);
  bool is_noted(SessionKey session, std::int64_t lease_until);
  Status insert_handed_over(InstanceKey instance, ExecutionId execution, const NewWork& work);
  // A command was closed or its execution ended: its queued or running items go.
  Status cancel_work(InstanceKey instance, ExecutionId execution, EventId event);
  Status cancel_all_work(InstanceKey instance, ExecutionId execution);
  // Removes a work item: its session's head is put right.
  Status delete_work(WorkItemId item, SessionKey session);
  // A finished item whose result rides with its turn: checked as check_work_item(), and that it is this
  // instance's unless that is 0; then it goes.
  Status check_done(const WorkDone& done, InstanceKey instance);
  // Requires: check_done() was kOk. `again`: that may not hold any more.
  Status take_work(const WorkDone& done, bool again);
  // A limit of CrashLimits: the item's failure becomes a message, the item goes.
  Status poison_work(WorkItemId item, std::string_view why);
  // The item's outcome is this failure, whether it is handed over or not.
  Status end_work(WorkItemId item, ErrorKind kind, std::string_view text);
  // Delayed items whose time came become ready, at most `limit`; adds to *woken.
  Status wake_delayed_work(std::size_t limit, std::size_t* woken);
  // Items past a limit of their policy, at most `limit`; adds to *ended.
  Status end_overdue_work(std::size_t limit, std::size_t* ended);

  // ---- sqlite_work.cpp, and its own ----
  struct WorkRow;
  // The session that work is scheduled on, or why the work fails at once.
  struct Admission {
    SessionKey session = 0;
    ErrorKind why = ErrorKind::kNone;
    FixedText<kErrorTextBytesMax> text;
    OptionalMs due;  // when it may be handed over; none: at once
  };
  Status session_of_work(InstanceKey instance, const NewWork& work, const ActivityOptions& options,
                         Admission* out);
  // Rows looked at last among the expired ones, in order of (until, key).
  struct Expired {
    std::int64_t until = kBeforeAll;
    std::int64_t key = 0;
    bool all_seen = false;  // by this batch
  };
  Status read_work(WorkItemId item, WorkRow* row);
  Status complete_work(const WorkRow& row, ErrorKind kind, std::string_view text);
  Status store_outcome(const WorkRow& row, ErrorKind kind, std::string_view text);
  // Cancelled or past a limit while its execution goes on, in an exclusive session.
  Status make_ghost(WorkItemId item);
  // As complete_work(), of an item that may be handed over.
  Status time_out(const WorkRow& row, ErrorKind kind, std::string_view text);
  // An attempt failed and the next follows.
  Status retry_work(const WorkRow& row, std::string_view text);
  Status end_overdue(const WorkRow& row);
  Status give_up_damaged(const WorkRow& row);
  Status set_policy(WorkItemId item, std::string_view policy, const ActivityOptions& options);
  Status note_activity(SessionKey session);
  // A locked item becomes ready; counts what its lock's end means, and poisons at a limit.
  Status unlock_work(WorkItemId item, SessionKey session, bool strike, const CrashLimits& limits);
  Status poison_if_at_limit(WorkItemId item, const CrashLimits& limits);
  Status count_crash(WorkItemId item, const CrashLimits& limits);
  // How an item goes back to the queue without a result.
  struct PutBack {
    std::int64_t delay_ms = 0;  // 0: ready at once
    bool strike = false;
    bool unregistered = false;
  };
  Status put_back(const WorkRow& row, const PutBack& how);
  Status cancel_range(InstanceKey instance, ExecutionId execution, EventId first, EventId last);
  // Values that the database has never given out, if the batch is committed.
  LockToken next_token();
  Epoch next_epoch();
  Status store_counters();

  // ---- sqlite_fetch.cpp, its own ----
  struct Fetch;
  struct Candidate;
  Status next_candidate(Fetch& fetch, Candidate* candidate);
  Status first_untagged(const Fetch& fetch, Candidate* candidate);
  Status first_tagged(const Fetch& fetch, int branch, Candidate* candidate);
  Status try_candidate(Fetch& fetch, const Candidate& candidate);
  [[nodiscard]] bool is_head_of(const Candidate& candidate, const WorkRow& row) const;
  Status mend_head(const Candidate& candidate);
  void pass_over(Fetch& fetch, const Candidate& candidate, bool waits);
  void moved_away(const Candidate& candidate);
  Status runs_here(const WorkFilter& filter, const WorkRow& row, bool* runs);
  Status read_activity(Fetch& fetch, const WorkRow& row);
  Status unhandled(Fetch& fetch, const Candidate& candidate, const WorkRow& row);
  Status release(SessionKey session, std::string_view reason);
  Status has_running(SessionKey session, bool* running);
  Status may_claim(Fetch& fetch, bool* may);
  Status claim(Fetch& fetch, const Candidate& candidate, const WorkRow& row);
  Status hand_over(Fetch& fetch, const WorkRow& row);
  Status stop_too_large(Fetch& fetch, const Candidate& candidate, const WorkRow& row);
  void begin_scans();
  Status end_scans();
  [[nodiscard]] bool passes_over(const Fetch& fetch) const;
  Status take_expired_locks(Fetch& fetch);
  Status take_expired_lock(Fetch& fetch, const Claim& lock, WorkItemId item);
  Status take_expired_sessions(Fetch& fetch);
  Status take_expired_session(Fetch& fetch, const Candidate& candidate);

  // ---- sqlite_unregistered.cpp, for the other files ----
  Status must_wait(InstanceKey instance, const NewWork& work, SessionKey session, bool* waits);
  // Until a worker registers that has the name.
  Status park_work(const WorkRow& row, std::string_view name);
  // Others may be able to run them now: it has another tag, or as a device another owner. All of the session,
  // as of one that is closed.
  Status wake_waiting_of(SessionKey session);

  // ---- sqlite_unregistered.cpp, its own ----
  // Where wake_unregistered() has got to.
  struct Waiting {
    FixedText<kNameBytesMax> name;
    bool in_name = false;  // items of it may be left
    WorkItemId item = 0;
  };
  Status next_waiting_name(Incarnation me);
  Status wake_next_waiting(Incarnation me, std::size_t* woken);
  Status wake_waiting_item(WorkItemId item, SessionKey session);

  // ---- sqlite_sessions.cpp, for the other files ----
  // How work is scheduled on a session; its row keeps the strictest.
  struct SessionUse {
    bool device = false;
    bool exclusive = false;
  };
  // The row of a global implicit session, made if absent.
  Status session_for(std::string_view name, const SessionUse& use, SessionKey* key);
  // THE change: owner, next epoch, locks of its items cleared, head recomputed, one event reported.
  struct OwnerChange {
    SessionKey session = 0;
    Incarnation to = 0;       // 0: unowned
    std::string_view reason;  // released
    std::int64_t lease_ms = 0;
    bool strike = false;  // locks are taken over by suspicion
    CrashLimits limits;
  };
  CrashLimits limits_;  // as given when this worker registered
  Status change_owner(const OwnerChange& change, Epoch* epoch);
  // After any write to rows of the session in worker_queue.
  Status recompute_head(SessionKey session);
  // Claim of the owner of a session that who fetches may take over; kNotFound if there is none.
  Status session_claim(SessionKey session, Claim* claim);
  // Of any session; holder 0: nobody owns it.
  Status device_claim(SessionKey session, Claim* claim);
  // Sessions with work and without owner, up to kWaitingSessionsMax.
  Status count_waiting(std::int64_t* count);
  // The one of `me` that has been idle for longest, and for at least so long.
  Status release_longest_idle(Incarnation me, std::int64_t idle_ms, bool* released);
  // Soft sessions owned by `me`, counted up to `at_most`.
  Status count_owned(Incarnation me, std::int64_t at_most, std::int64_t* count);

  // An activity said that its session is of no use any more: one that fails on loss is lost, any other is
  // released.
  Status abort_session(SessionKey session);

  // ---- sqlite_sessions.cpp, its own ----
  Status read_claim(SessionKey session, Claim* claim, bool* soft);
  Status unlock_session(const OwnerChange& change);
  Status tell_change(const OwnerChange& change, const SessionChange& told);
  Status must_fail(SessionKey session, bool* fails);
  Status sweep(SessionKey session);
  Status sweep_unowned(std::size_t limit, std::size_t* removed);
  Status sweep_owned_by_gone(Evidence& evidence, std::size_t limit, std::size_t* removed);
  Status release_idle(Incarnation me, const SessionOptions& options, std::size_t* released);

  // ---- sqlite_directory.cpp, for the other files ----
  // What is told of a session in every event.
  struct SessionTexts {
    FixedText<kNameBytesMax> name;
    FixedText<kNameBytesMax> instance;
    FixedText<kNameBytesMax> node;  // of the owner, or of the last one
    FixedText<kSessionLabelBytesMax> owner_label;
    FixedText<kSessionLabelBytesMax> kind;
    Epoch epoch = 0;
    std::int64_t age_ms = 0;
    std::int64_t quiet_ms = 0;  // since its last activity
    std::int64_t activities = 0;
    // Of one that expires.
    std::int64_t max_age_ms = 0;
    std::int64_t expires_in_ms = 0;
    // Views that live as long as this.
    [[nodiscard]] SessionChange change(SessionChange::Kind of) const;
    [[nodiscard]] SessionChange swept() const;
  };
  Status describe(SessionKey session, SessionTexts* out);
  // One that was opened is not open any more, or never was.
  Status tell_session(SessionKey session, SessionChange::Kind kind, std::string_view reason);
  // It ends by this: counted for all workers, and told.
  Status tell_end(SessionChange end);
  Status tell_closed(SessionKey session, std::string_view reason);
  // One that was opened has the first work of its owner handed over.
  Status tell_use(SessionKey session);
  // Sessions whose look_at has come, at most `limit`; adds to *looked.
  Status look_at_sessions(std::size_t limit, std::size_t* looked);

  // ---- sqlite_directory.cpp, its own, and for read_metrics() ----
  struct Look {
    SessionKey session = 0;
    std::int64_t state = 0;
    bool is_over = false;  // its age
    FixedText<Diagnostic::kCapacity> ended;
  };
  Status next_look(Look* out);
  Status look_at_session(const Look& look);
  Status announce_expiry(SessionKey session);
  Status expire_session(const Look& look);
  // The end of an open one, not by its code: its work fails, its instance is told, the row stays in `state`
  // and is looked at after `kept_ms`.
  Status end_opened(SessionKey session, const SessionChange& told, std::int64_t state,
                    std::int64_t kept_ms);
  Status tell_old(std::int64_t for_ms, bool unused, LeakCursor* cursor);
  Status count_value(int what, std::size_t bucket, std::int64_t value);
  Status read_session_totals(SessionEnds* out);
  Status count_states(std::int64_t rows_max, Metrics* out);

  // ---- sqlite_opened.cpp, for the other files ----
  // sessions.state; those below kLost are open, and those from kClosed on count for no limit.
  static constexpr std::int64_t kStopping = 1;
  static constexpr std::int64_t kLost = 2;
  static constexpr std::int64_t kClosed = 3;  // kept until it is told, and cancelled work has ended
  static constexpr std::int64_t kRefused = 4;  // one too many
  static constexpr std::int64_t kExpired = 5;  // seen for some time
  struct Opened {
    SessionKey session = 0;
    std::int64_t state = 0;
    bool untold = false;  // closed by somebody who tells nobody
    FixedText<kSessionLabelBytesMax> owner_label;
    FixedText<Diagnostic::kCapacity> ended;  // why it is not open
    FixedText<kNameBytesMax> limits;         // its settings, if they limit its work
    std::int64_t given = 0;
    OptionalMs rate_at;  // when it was counted last
    [[nodiscard]] bool is_open() const { return state < kLost; }
  };
  // kNotFound.
  Status read_opened(InstanceKey instance, std::string_view name, Opened* out);
  // Carries out a command of a session.
  Status write_session(const TurnCommit& turn, const Event& event);
  // The instance ended or goes.
  Status close_all_sessions(InstanceKey instance);
  // Its row goes, or stays until cancelled work that still runs has ended.
  Status close_row(SessionKey session);
  // Takes an epoch if it is owned, like every change: so the owner's listener hears of it.
  Status end_ownership(SessionKey session);
  Status fail_work_of(SessionKey session, ErrorKind kind, std::string_view text);
  // The text of kSessionLost: a SessionLoss.
  Status describe_loss(SessionKey session, Epoch epoch, std::string_view reason,
                       FixedText<kErrorTextBytesMax>* text);
  // Its owner is gone and it does not move: all its work fails.
  Status lose_session(SessionKey session, std::string_view reason);
  // Who opened it and asked for it is told.
  Status notify_change(SessionKey session, const SessionChange& told);
  // The last cancelled item of a closed exclusive session has ended.
  Status forget_if_closed(SessionKey session);

  // ---- sqlite_opened.cpp, its own ----
  Status open_session(const TurnCommit& turn, const Event& event);
  Status close_session(InstanceKey instance, std::string_view name);
  Status hold_session(InstanceKey instance, const Event& event);
  Status hold_one(InstanceKey scope, const Event& event, bool* held);
  Status insert_opened(const TurnCommit& turn, const Event& event, const SessionSettings& settings,
                       std::string_view refusal);
  // Why it may not be opened; empty: it may. `session`: its row, which does not count; 0: none yet.
  Status find_refusal(const TurnCommit& turn, SessionKey session, std::string_view owner_label,
                      Diagnostic* refusal);
  Status reopen_session(SessionKey session, const SessionSettings& settings,
                        std::string_view refusal);

  // ---- sqlite_limits.cpp, for the other files ----
  // What its settings limit; of one that was just opened.
  Status set_limits(SessionKey session, const SessionSettings& settings);
  // Counts work that is scheduled on an open session, or says why it fails.
  Status admit_work(const Opened& row, Admission* out);

  // ---- sqlite_limits.cpp, its own ----
  Status tell_near_limit(SessionKey session, const SessionSettings& settings);

  // ---- sqlite_handoff.cpp, for the other files ----
  Status handoff_session(InstanceKey instance, const Event& event);
  // Which workers its work is for, and what they should know; empty: none.
  Status set_kind(SessionKey session, std::string_view tag, std::string_view summary);
  // Whoever deletes a session's row calls it. No trigger does: the connection runs none, since one that
  // others put into the file would run inside our commits.
  Status drop_summary(SessionKey session);
  // A damaged one is named in the diagnostic.
  Status read_summary(SessionKey session, char* buffer, std::size_t capacity,
                      std::string_view* summary, bool* damaged);

  // ---- sqlite_devices.cpp, for the other files ----
  // Work is scheduled with these properties, which the session does not have.
  Status tighten(SessionKey session, std::string_view name, const SessionUse& more);
  // The device of a dead or leaving owner goes to a standby, or to nobody.
  Status hand_device_over(SessionKey session, std::string_view reason);
  // Work of devices that nobody declared for so long, at most `limit`; adds to *ended.
  Status end_unavailable_work(std::size_t limit, std::size_t* ended);

  // ---- sqlite_devices.cpp, its own ----
  struct Declaration {
    Incarnation worker = 0;
    std::int64_t role = 0;
    FixedText<kNameBytesMax> node;
    std::int64_t pid = 0;
    Claim claim;  // of the worker
  };
  // A session that may move.
  struct Moving {
    SessionKey session = 0;
    bool hard = false;
    bool exclusive = false;
    bool stopping = false;
    bool running = false;  // something of it does
    Incarnation owner = 0;
    // Of a stop.
    Incarnation target = 0;
    bool force = false;
  };
  struct Move {
    Incarnation target = 0;  // 0: away from its owner
    std::int64_t stop_ms = 0;
    bool force = false;
    std::string_view reason;
  };
  struct Target {
    Incarnation worker = 0;  // 0: it may not
    std::int64_t lease_ms = 0;
  };
  Status find_session(InstanceKey scope, std::string_view name, SessionKey* key);
  Status read_moving(SessionKey session, Moving* out);
  Status set_use(SessionKey session, const SessionUse& use);
  Status read_holder(SessionKey session, Declaration* out);
  Status read_role(SessionKey session, Incarnation worker, std::int64_t* role);
  Status put_declaration(SessionKey session, Incarnation worker, std::int64_t role);
  Status drop_declaration(SessionKey session, Incarnation worker);
  Status first_standby(SessionKey session, Incarnation* worker);
  Status has_declarer(SessionKey session, bool* found);
  Status read_target(const Moving& row, Incarnation worker, Target* out);
  Status move_or_stop(const Moving& row, const Move& move);
  Status move_now(const Moving& row, Incarnation worker, std::string_view reason);
  // Of a session that moves though work of it runs: what was cancelled holds it up no longer.
  Status drop_ghosts(SessionKey session);
  Status reopen(SessionKey session);
  Status living_worker(std::string_view node, Incarnation* worker);
  Status stop_failed(const Moving& row, std::string_view name);

  // ---- sqlite_workers.cpp, for the other files ----
  // Node of a registration, living or buried; empty if the row is gone.
  Status node_of(Incarnation worker, FixedText<kNameBytesMax>* node);
  // Does another worker that is not buried (and, to claim a session, not draining) have the handler and
  // serve the tag?
  Status handler_elsewhere(std::string_view activity, std::string_view tag, Incarnation me,
                           bool to_claim, bool* found);

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

  // Keeps the connection's text behind `what`, kills the batch if the status is one that does (the
  // contract's list), and returns the status. kOk: does nothing.
  Status fail(Status status, const char* what);
  // A Walk does not get on: kCorrupt.
  Status no_progress(const char* table);
  // For a call that had written something when it failed: whatever the status, the batch is dead.
  Status written(Status status);
  Status fail_written(Status status, const char* what) { return written(fail(status, what)); }
  // Every call of a batch begins with it: an invariant.
  void require_batch() const;

  Connection connection_;
  port::Port port_;
  ProviderOptions options_;  // path: our copy
  FixedText<kPathBytesMax> path_;
  ChangeSink* sink_ = nullptr;
  std::int64_t apart_until_ = 0;  // Pawl time, of meta
  struct Counters {
    Epoch epoch = 0;
    LockToken token = 0;
  };
  Counters stored_;     // in the row of meta
  Counters committed_;  // what the last batch left to take from
  Counters next_;       // with what the batch took
  ClockRow clock_;      // as of the last begin(); fixed within a batch
  ClockRow clock_now_;  // clock_ with what a commit that happens anyway may add
  BatchInfo batch_;
  Incarnation batch_worker_ = 0;
  std::int64_t writes_before_ = 0;         // of the connection, when the batch began
  port::FileHandle turn_ = port::kNoFile;  // kNoFile: there are none here
  int begun_without_turn_ = 0;             // batches of a loop, since it had one
  bool in_batch_ = false;
  bool last_commit_wrote_ = false;
  bool last_commit_sent_ = false;
  bool batch_sent_ = false;
  bool batch_has_room_ = false;
  int log_frames_ = 0;  // after the last commit; with checkpoint_apart
  bool dead_ = false;   // the batch can only be rolled back
  bool in_read_ = false;
  std::int64_t quota_bytes_ = 0;  // as of the row read last
  std::int64_t reserve_bytes_ = 0;
  std::int64_t log_max_bytes_ = 0;
  FixedText<32> database_id_;
  Diagnostic diagnostic_;
  bool open_ = false;
  bool has_vfs_ = false;
  IoUse io_at_end_;                                          // of a closed one
  std::int64_t home_grace_ms_ = ReadyQuery().home_grace_ms;  // as last asked for
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
  alignas(std::max_align_t) char json_memory_[kJsonMemoryBytes] = {};
  char meta_text_[kMetaBytesMax] = {};
  // Free, owned and claimable candidates; then those of the tags that this worker serves.
  BranchScan scans_[3 + TagFilter::kTagsMax];
  static constexpr int kParkedMax = 64;  // a batch
  int parked_ = 0;                       // items that this batch has set aside
  Waiting waiting_;
  Expired expired_lock_;
  Expired expired_session_;
  std::int64_t messages_stored_ = 0;  // rises with each message that this connection stores
  struct Noted {
    SessionKey session = 0;
    std::int64_t lease_until = 0;
  };
  FixedVector<Noted, 16> noted_;  // sessions whose rows this batch has touched
  struct Checked {
    WorkItemId item = 0;
    bool exclusive = false;
    bool open = false;
  };
  Checked checked_;                 // by check_done(), last
  std::int64_t heads_moved_ = 0;    // rises when a session may have another head
  std::int64_t made_ready_ = 0;     // rises when this connection makes an item ready
  std::uint32_t file_version_ = 0;  // SQLite's, when the last transaction began or its commit ended
  std::int64_t others_ = 0;         // rises when another connection has committed
  std::int64_t schema_version_ = 0;  // SQLite's, when it was found to be ours
  bool schema_is_ours_ = false;
  // True of the rows until forget_known(), or until this connection writes them.
  bool meta_is_known_ = false;    // clock_ and the other columns of meta
  Incarnation known_worker_ = 0;  // has a row, is not buried
  bool known_draining_ = false;   // it
  FirstDue first_due_[kDueKinds];
  Incarnation first_due_of_ = 0;  // for whom; timers of others' instances are due later
};

}  // namespace pawl::sqlite

#endif  // PAWL_PROVIDER_SQLITE_SQLITE_PROVIDER_HPP

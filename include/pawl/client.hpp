// Client: starts, watches, cancels and manages orchestrations from anywhere on the machine.
//
// Purpose: a connection of its own, in the process of the Runtime or in another one on the same
// file. Every call that answers kOk is durable (see Options::synchronous_full); then it rings the
// bell.
// Ownership: memory given to open() belongs to the Client until close(); texts it hands out live
// until its next call, and end the process when they are read later (CallText). Thread rule: one
// thread at a time; one Client a thread.
#ifndef PAWL_CLIENT_HPP
#define PAWL_CLIENT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/call_text.hpp"
#include "pawl/cause.hpp"
#include "pawl/client_options.hpp"
#include "pawl/error.hpp"
#include "pawl/json.hpp"
#include "pawl/kv.hpp"
#include "pawl/management.hpp"
#include "pawl/name.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/progress.hpp"
#include "pawl/session.hpp"
#include "pawl/status.hpp"
#include "pawl/typed.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class [[gnu::visibility("hidden")]] ClientCore;

// Every call answers kStopped before open() and after close(). It answers kBusy, kFull, kIo and
// kCorrupt for the database as open() does, and if it writes, kQuota where it says so. With
// ClientOptions::database, one that writes may answer kInDoubt: the server's answer to its commit
// was lost, and could not be found out within busy_max. Then it was done or not; a message with a
// key (SendOptions::key) may be sent again. error_text() has the text of the last failure.
class Client : public TypedSenderCalls<Client> {
 public:
  // Each of these also takes a definition of pawl/typed.hpp and a value.
  using TypedSenderCalls::complete_activity;
  using TypedSenderCalls::enqueue_event;
  using TypedSenderCalls::offer_event;
  using TypedSenderCalls::raise_event;
  using TypedSenderCalls::start_orchestration;

  Client() = default;
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The number of bytes that open() needs.
  [[nodiscard]] static std::size_t required_memory(const ClientOptions& options);
  // Opens the database, and creates it if the options ask for that.
  // Returns kOk; for the place and the file kCannotOpen, kReadOnly, kForeignDatabase,
  // kNewerDatabase, kOlderDatabase, kNetworkFilesystem, kCorrupt, kIo; kAlreadyExists: it is open.
  // Requires: a started Process (kInvalidArgument); valid options (kInvalidOptions); `bytes` of at
  // least required_memory() (kResourceExhausted).
  Status open(Process& process, const ClientOptions& options, const port::Port& port, void* memory,
              std::size_t bytes, Diagnostic& diagnostic);
  // Ends the connection; does nothing when there is none.
  void close();
  // The text of the last failure.
  [[nodiscard]] std::string_view error_text() const;

  // Creates an instance, or begins the next execution of one that has ended, if the options say so;
  // a worker begins it.
  // Returns kOk; kAlreadyExists: the id is in use, running or ended, the options do not say what
  // that means, and that instance is untouched; kChildInstance: with if_ended, the instance that
  // ended is a child; kQuota: there is no room for anything new (SpaceOptions::quota_bytes,
  // reserve_bytes, log_bytes_max), error_text() has the numbers.
  // Requires: `name` of 1..256 bytes without control characters, an id as InstanceId says, a valid
  // version and trace_id if they are set, start_after not below 0, and a time_limit above 0
  // (kInvalidArgument); `input` of at most payload_bytes_max (kResourceExhausted).
  Status start_orchestration(std::string_view name, const InstanceId& id, std::string_view input,
                             const StartOptions& options = StartOptions());
  // Asks an instance to stop: from now on its awaits answer kCancelled, except in a clean-up scope
  // (OrchestrationContext::clean_up()). Only the first request counts.
  // Returns kOk; kNotFound; kStale: it has ended.
  Status cancel_instance(std::string_view id, std::string_view reason);
  // Raises an event for a wait of this name (schedule_wait()). If none is open, the event waits for
  // one, over continue_as_new() too, until the instance ends. With start_if_ended the call starts
  // an instance that is not there, or the next execution of one that has ended, in the same commit
  // and before the message.
  // Returns kOk; kNotFound: no such instance; kStale: it has ended; with start_if_ended
  // kChildInstance: it is a child that has ended; kQuota; kResourceExhausted:
  // queue_messages_max messages of this instance wait already, or those hold 4 * payload_bytes_max
  // bytes, by the least limits of this Client and the living Runtimes; error_text() says which;
  // kKeyReused: another message came with this SendOptions::key. Unless kOk nothing is written.
  // Requires: `name`, and a key if there is one, as in start_orchestration() (kInvalidArgument);
  // `payload` of at most
  // payload_bytes_max (kResourceExhausted).
  Status raise_event(std::string_view id, std::string_view name, std::string_view payload,
                     const SendOptions& options = SendOptions());
  // Offers an event for now or never: only a wait of this name that is open in the turn that takes
  // the offer gets it. Sleeps until that turn. *received says whether a wait got the event; if not,
  // it is gone.
  // Returns kOk: a turn took it; kTimeout: no turn took it, and the offer is withdrawn, so none
  // will; kStale: the instance has ended, or the record of what became of the offer was removed
  // before this call could read it; else as raise_event().
  // Requires: as raise_event() and wait_for_orchestration().
  Status offer_event(std::string_view id, std::string_view name, std::string_view payload,
                     std::chrono::milliseconds timeout, bool* received);
  // Puts a message into a queue of the instance, where it stays until dequeue_event() takes it or
  // the instance ends.
  // Returns the same as raise_event().
  // Requires: as raise_event().
  Status enqueue_event(std::string_view id, std::string_view queue, std::string_view payload,
                       const SendOptions& options = SendOptions());
  // Puts a message into a queue of the instance and sleeps until its code answers it
  // (OrchestrationContext::reply(), refuse()). The answer is kept as the key of the message is
  // (SendOptions::key; Pawl makes one if none is given), so a call that is made again with the key
  // is not delivered again and gets the same answer, also after a crash of either side. With a
  // timeout of 0 it asks and does not sleep. A Runtime of this Process that is in run() or
  // run_for() on another thread, with the same database_path and synchronous_full, makes the call
  // for the Client if it is not busy: one commit holds message and answer then.
  // Returns kOk: out->error says whether the code refused; kTimeout: no answer yet; out->key is set
  // then, too; kStale: the instance has ended without an answer, now or before this call, or the
  // answer is gone; else as enqueue_event().
  // Requires: as enqueue_event() and, with a timeout above 0, as wait_for_orchestration().
  Status call(std::string_view id, std::string_view queue, std::string_view payload,
              std::chrono::milliseconds timeout, CallAnswer* out,
              const SendOptions& options = SendOptions());
  // Ends the activity that has this completion token (ActivityContext::complete_later()) with its
  // result, as its own ok() would. The first answer counts.
  // Returns kOk, also for the same answer again (the last 256 are remembered); kStale: another one
  // came first; kNotFound: no activity waits for the token: it was retried or cancelled, a limit
  // passed, its session or instance ended, or it is wrong.
  // Requires: a token's form (kInvalidArgument); at most payload_bytes_max (kResourceExhausted).
  Status complete_activity(std::string_view token, std::string_view result);
  // Ends it as fail() or fail_permanently() would; another attempt may follow, with another token.
  // Returns the same as complete_activity().
  Status fail_activity(std::string_view token, std::string_view text, bool permanent = false);
  // Says that the work outside goes on, and stores its progress unless that is empty.
  // Returns kOk; kNotFound: no activity waits for the token any more, and nothing need go on.
  // Requires: a token's form, at most kProgressBytesMax bytes (kInvalidArgument).
  Status heartbeat_activity(std::string_view token, std::string_view progress = {});
  // Reads an instance's state and result.
  // Returns kOk; kNotFound.
  Status get_status(std::string_view id, OrchestrationStatus* out);
  // Sleeps until the instance has ended or stopped; event-driven.
  // Returns kOk; kNotFound; kTimeout: `out` is the last known status.
  // Requires: another thread than that of a Runtime of this database, which would wait for itself
  // (kWouldBlock).
  Status wait_for_orchestration(std::string_view id, std::chrono::milliseconds timeout,
                                OrchestrationStatus* out);
  // The same for an OrchestrationType: end->value is its result, if it has completed.
  // Returns the same; kCorrupt and kResourceExhausted: as from_json() says, end->why names the
  // field.
  // Requires: as above.
  template <typename In, typename Out>
  Status wait_for_orchestration(const OrchestrationType<In, Out>& /*type*/, std::string_view id,
                                std::chrono::milliseconds timeout, OrchestrationStatus* out,
                                TypedEnd<Out>* end) {
    end->value.reset();
    PAWL_TRY(wait_for_orchestration(id, timeout, out));
    return read_end(*out, end);
  }
  // Reads the state and the result of an OrchestrationType, as above.
  // Returns the same as get_status(); kCorrupt and kResourceExhausted: as above.
  template <typename In, typename Out>
  Status get_status(const OrchestrationType<In, Out>& /*type*/, std::string_view id,
                    OrchestrationStatus* out, TypedEnd<Out>* end) {
    end->value.reset();
    PAWL_TRY(get_status(id, out));
    return read_end(*out, end);
  }
  // Sleeps until custom_status_version is above `last_version` (-1: answers at once); event-driven.
  // Returns kOk; kNotFound; kStale: it does not run any more, so no change will come; kTimeout.
  // After all of them but kNotFound `out` is the last known status.
  // Requires: as wait_for_orchestration().
  Status wait_for_status_change(std::string_view id, std::int64_t last_version,
                                std::chrono::milliseconds timeout, OrchestrationStatus* out);

  // Sleeps until an activity of the instance, on this machine, reports a heartbeat with a text that
  // this watch did not have yet. A watch begins with the heartbeats that the workers still keep:
  // each keeps its last 64, of all its activities. Those of one activity come in order.
  // Returns kOk: watch->update() has one; kNotFound; kTimeout: none came; kStale: there is none,
  // and the instance does not run any more.
  // Requires: with a timeout above 0, as wait_for_orchestration().
  Status watch_progress(std::string_view id, std::chrono::milliseconds timeout,
                        ProgressWatch* watch);

  // Reads the value that an instance keeps under `key`, as committed last, also after its end; its
  // views live until the next call. *found is false if there is none.
  // Returns kOk; kNotFound: no such instance; kResourceExhausted: it is longer than
  // payload_bytes_max.
  // Requires: a `key` that is a name (kInvalidArgument).
  Status get_kv_value(std::string_view id, std::string_view key, KvEntry* out, bool* found);
  // The same for a struct with a PAWL_JSON.
  // Returns the same as get_kv_value(); kCorrupt and kResourceExhausted: as from_json() says.
  // Requires: as get_kv_value().
  template <typename T>
  Status get_kv_value_typed(std::string_view id, std::string_view key, T* out, bool* found,
                            Diagnostic* why = nullptr) {
    KvEntry entry;
    PAWL_TRY(get_kv_value(id, key, &entry, found));
    return *found ? from_json(entry.value, out, why) : Status::kOk;
  }
  // Lists all values of an instance, in the order of their keys.
  // Returns kOk; kNotFound.
  // Requires: rows_max of 1 or more (kInvalidArgument).
  Status get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor);
  // Sleeps until there is a value of this key; event-driven.
  // Returns kOk; kNotFound; kStale: there is none and the instance does not run any more; kTimeout.
  // Requires: as get_kv_value() and wait_for_orchestration().
  Status wait_for_kv_value(std::string_view id, std::string_view key,
                           std::chrono::milliseconds timeout, KvEntry* out);
  // The same for a struct with a PAWL_JSON.
  // Returns the same as wait_for_kv_value(); kCorrupt and kResourceExhausted: as from_json() says.
  // Requires: as wait_for_kv_value().
  template <typename T>
  Status wait_for_kv_value_typed(std::string_view id, std::string_view key,
                                 std::chrono::milliseconds timeout, T* out,
                                 Diagnostic* why = nullptr) {
    KvEntry entry;
    PAWL_TRY(wait_for_kv_value(id, key, timeout, &entry));
    return from_json(entry.value, out, why);
  }

  // ---- management ----
  // Ends the instance now as kFailed with ErrorKind::kTerminated: none of its code runs any more.
  // It works, too, if the instance is stopped or suspended, or if no process has registered its
  // name. A Runtime that runs orchestrations writes the end with its next tick; until then the
  // status shows kTerminated.
  // Returns kOk; kNotFound; kStale: it has ended.
  Status terminate_instance(std::string_view id, std::string_view reason);
  // Asks the instances in the next page of list_instances() that have not ended to stop, as
  // cancel_instance() does; in one transaction, for at most 64 instances. *asked counts them. One
  // that has a request already stays as it is, so a page may be repeated; one whose row is damaged
  // is left out.
  // Returns kOk; after any other answer the page is where it was.
  // Requires: as list_instances(); `reason` of at most payload_bytes_max (kResourceExhausted).
  Status cancel_instances(const InstanceFilter& filter, Page* page, std::string_view reason,
                          std::int64_t* asked);
  // Lets an instance that failed or is stopped go on, in a next execution; the failed execution
  // stays as it is. Unread messages go to the next execution; values stay (kLastGoodEvent: as they
  // were at that event). Activities and children that were under way at the cut are scheduled
  // again, timers begin anew, and sessions are opened anew. A stopped instance has nothing to cut:
  // kLastGoodEvent tries it again, as resume_instance() does.
  // Returns kOk; kNotFound; kStillRunning: it runs or is suspended; kNotRestartable: it completed,
  // or, with kLastGoodEvent, was asked to stop, or no activity or child made it fail;
  // kChildInstance: it is a child that failed, and its parent knows that; kAlreadyExists: the child
  // that failed has an id of its own, which is in use; kCorrupt: its history is damaged; kQuota.
  // Requires: a version as in start_orchestration(), only with kStart (kInvalidArgument).
  Status restart_instance(std::string_view id, RestartFrom from,
                          const RestartOptions& options = RestartOptions());
  // Stops turns until resume_instance(): messages and due timers wait, and activities that were
  // already scheduled go on.
  // Returns kOk, also if it was suspended; kNotFound; kStale: it has ended or is being terminated.
  Status suspend_instance(std::string_view id);
  // Lets a suspended or stopped instance go on; does nothing to one that runs.
  // Returns kOk; kNotFound; kStale: it has ended.
  Status resume_instance(std::string_view id);
  // Gives the instance this time limit, which counts from now, in place of the one it has
  // (StartOptions::time_limit). None removes that, and the one of its definition, until a start
  // begins its next execution.
  // Returns kOk; kNotFound; kStale: it has ended, is being terminated, or was asked to stop, which
  // stays so; error_text() says which.
  // Requires: a limit above 0 (kInvalidArgument).
  Status change_time_limit(std::string_view id, std::optional<std::chrono::milliseconds> limit);

  // Lists instances in the order of their creation.
  // Returns kOk.
  // Requires: rows_max of 1 or more (kInvalidArgument).
  Status list_instances(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  // Reads one instance, and how much it holds. Views of `out` live until the next call.
  // Returns kOk; kNotFound.
  Status get_instance_info(std::string_view id, InstanceInfo* out);
  Status get_instance_stats(std::string_view id, InstanceStats* out);
  // Lists the children that the instance started, or the whole tree that it belongs to, root first,
  // in the order of creation. InstanceInfo::parent_id is the parent of each.
  // Returns kOk; kNotFound.
  // Requires: rows_max of 1 or more (kInvalidArgument).
  Status list_children(std::string_view id, Page* page, InstanceVisitor& visitor);
  Status get_instance_tree(std::string_view id, Page* page, InstanceVisitor& visitor);
  // Lists the executions that have a history, oldest first, with the end of each. A damaged end
  // does not stop the list.
  // Returns kOk; kNotFound.
  Status list_executions(std::string_view id, ExecutionVisitor& visitor);
  // Lists the activities of the current execution that have no outcome yet, in the order of their
  // calls.
  // Returns kOk; kNotFound.
  Status list_activities(std::string_view id, ActivityVisitor& visitor);
  // explain() says why an instance does not go on, and explain_session() why a session does not
  // that `instance` opened (empty: a shared one): a cause for each thing that is waited for, and
  // one at least. At most 100 activities, 100 timers and 100 children are reported, and the awaits
  // of the newest 2,048 events.
  // Returns kOk; kNotFound.
  Status explain(std::string_view id, CauseVisitor& visitor);
  Status explain_session(std::string_view instance, std::string_view session,
                         CauseVisitor& visitor);
  // list_work() lists such activities of all instances, in the order of their scheduling;
  // list_messages() lists the messages that an instance has not taken, in the order of their
  // arrival.
  // Returns kOk; kNotFound.
  // Requires: rows_max of 1 or more (kInvalidArgument).
  Status list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor);
  Status list_messages(std::string_view id, Page* page, MessageVisitor& visitor);
  // Reads the events of one execution (0: the current one) in order. The current one has none
  // before its first turn.
  // Returns kOk; kNotFound: the instance or the execution does not exist; kCorrupt: a row is
  // damaged, those before it were reported.
  Status read_history(std::string_view id, std::int64_t execution_id, HistoryVisitor& visitor);
  // Reads the next page of the events: at most rows_max, however long the history is. Page::after
  // is the last event that was reported, and may be kept while the instance goes on.
  // Returns the same.
  // Requires: rows_max of 1 or more, `after` of 0 or more (kInvalidArgument).
  Status read_history(std::string_view id, std::int64_t execution_id, Page* page,
                      HistoryVisitor& visitor);
  // Counts what the database holds.
  // Returns kOk.
  Status get_metrics(Metrics* out);
  // Sets SpaceOptions::quota_bytes for all processes of the database, until a Runtime starts that
  // has a quota. 0: no quota.
  // Returns kOk.
  // Requires: 0, or 256 KiB to 1 << 50 (kInvalidArgument).
  Status set_quota(std::int64_t bytes);
  // Lists the registered workers.
  // Returns kOk.
  Status list_workers(WorkerVisitor& visitor);
  // Lists sessions in the order of their creation.
  // Returns kOk.
  // Requires: rows_max of 1 or more (kInvalidArgument).
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor);
  // Reads a session that this instance opened or, if `instance` is empty, a shared one. Views of
  // `out` live until the next call.
  // Returns kOk; kNotFound.
  Status get_session(std::string_view instance, std::string_view session, SessionInfo* out);
  // Closes a session that this instance opened or, if `instance` is empty, a shared one, as code
  // would, and notifies the code if it asked for that (SessionSettings::notify: "closed").
  // `owner_label` names the caller; empty: an administrator, who may close any session. A shared
  // one begins anew with the next work that names it.
  // Returns kOk; kNotFound; kNotOwner: the session is of another label, which error_text() names;
  // kInvalidArgument: it is a device.
  Status close_session(std::string_view instance, std::string_view session,
                       std::string_view owner_label = {});
  // hold_session(), handoff_session() and change_session() do for an operator what the calls of
  // these names do for code, with a session that this instance opened or, if `instance` is empty,
  // with a shared one. They are not in the history, so replay does not repeat them: the next
  // command of the code about the same thing wins. The log of the next Runtime that looks has each
  // (session_operation).
  //
  // Holds the session for `hold` from now on: it does not idle, is not closed for idleness, and
  // makes no room. Of a shared one the longest hold counts.
  // Returns kOk; kNotFound: there is no such session, or it is not open.
  // Requires: `hold` of 0..kDurationMax (kInvalidArgument).
  Status hold_session(std::string_view instance, std::string_view session,
                      std::chrono::milliseconds hold);
  // Hands the session to the workers that serve `tag` (empty: to those of its work's own tags),
  // with a summary for the next owner.
  // Returns the same as hold_session(); kInvalidArgument: it is a device.
  // Requires: `tag` as a name or empty, at most kSessionSummaryBytesMax bytes of summary
  // (kInvalidArgument).
  Status handoff_session(std::string_view instance, std::string_view session, std::string_view tag,
                         std::string_view summary = {});
  // Changes the settings of the session. Those that its code relies on stay as the code has them:
  // exclusive, fail_on_loss, notify. max_sessions_per_owner does not limit this call.
  // Returns the same as hold_session().
  // Requires: new settings that open_session() would take (kInvalidArgument; the text shows them).
  Status change_session(std::string_view instance, std::string_view session,
                        const SessionUpdate& update);
  // Moves a session to the living worker with this worker_node_id (as list_workers() shows it) or,
  // if `node` is empty, away from its owner. No activity of the session starts any more, and it
  // moves when its running work has ended. The answer does not wait for that.
  // Returns kOk; kNotFound: no such session; kNoEligibleTarget: the worker does not run, is
  // draining, is full or did not declare the device (error_text()).
  // Requires: stop_timeout not below 0 (kInvalidArgument).
  Status transfer_session(std::string_view session, std::string_view node,
                          const TransferOptions& options = TransferOptions());
  // Drains a worker: it takes nothing new, and its sessions move away as with transfer_session(); a
  // device moves only to a worker that stands by for it. WorkerInfo shows the progress. The drain
  // holds until undrain_worker(), or until the worker's process registers anew.
  // Returns kOk; kNotFound: no living worker has this worker_node_id.
  // Requires: as transfer_session().
  Status drain_worker(std::string_view node, const TransferOptions& options = TransferOptions());
  // Ends a drain: the worker takes new work again. Sessions that are to move still do.
  // Returns kOk, also if it was not draining; kNotFound: no living worker has this worker_node_id.
  Status undrain_worker(std::string_view node);
  // Removes the row of a device that no worker declares and no work waits for.
  // Returns kOk; kNotFound; kStillRunning: a worker declares it, or work waits.
  Status forget_device(std::string_view device);

  // Removes an ended instance and all instances below it. From the first transaction on no call
  // finds any of them, and results of their running work are refused. The rows go in transactions
  // of bounded size; then their ids are free again. If a later transaction fails (kBusy, kFull ..),
  // a Runtime finishes the removal.
  // Returns kOk; kNotFound; kChildInstance: delete its root; kStillRunning: it, or one below it,
  // has not ended, and `force` is false.
  Status delete_instance(std::string_view id, bool force, Removed* removed = nullptr);
  // Removes the ended trees in the next page of list_instances(), each by its root. `removed`
  // counts also when the call fails.
  // Returns kOk, also if a tree stayed because one of its children runs.
  // Requires: rows_max of 1 or more (kInvalidArgument).
  Status delete_instances(const InstanceFilter& filter, Page* page, Removed* removed = nullptr);
  // Removes earlier executions of an instance with the children that they started, oldest first. It
  // keeps the last `keep_last` executions (the current one counts and always stays), and stops at
  // the first that ended at `ended_before_ms` (UTC) or later (0: no such limit) or has a child that
  // runs.
  // Returns kOk; kNotFound.
  Status prune_executions(std::string_view id, std::int64_t keep_last, std::int64_t ended_before_ms,
                          Removed* removed = nullptr);
  // Does the same for all instances, running or not, in the next page of list_instances().
  // Returns kOk.
  // Requires: rows_max of 1 or more (kInvalidArgument).
  Status prune_instances(const InstanceFilter& filter, Page* page, std::int64_t keep_last,
                         std::int64_t ended_before_ms, Removed* removed = nullptr);

 private:
  template <typename Out>
  static Status read_end(const OrchestrationStatus& status, TypedEnd<Out>* end) {
    if (status.state != OrchestrationState::kCompleted) return Status::kOk;
    Out value{};
    PAWL_TRY(internal::decode(status.output, &value, &end->why));
    end->value = value;
    return Status::kOk;
  }
  friend class TypedSenderCalls<Client>;
  internal::TypedBytes typed_bytes();
  template <typename Call>
  Status enter(Call&& call);

  ClientCore* core_ = nullptr;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_CLIENT_HPP

// Client: start, watch, cancel and manage orchestrations from anywhere on the machine.
//
// Purpose: a connection of its own, in the process of the Runtime or in another one on the same file.
// Every call that answers kOk is durable (see Options::synchronous_full); then it rings the bell.
// Ownership: memory given to open() belongs to the Client until close(); views it hands out live until
// its next call. Thread rule: one thread at a time; one Client a thread.
#ifndef PAWL_CLIENT_HPP
#define PAWL_CLIENT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/error.hpp"
#include "pawl/json.hpp"
#include "pawl/kv.hpp"
#include "pawl/management.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/status.hpp"

namespace pawl {

class ClientCore;

struct ClientOptions {
  const char* database_path = nullptr;  // required
  bool create = true;                   // false: kCannotOpen when there is no database yet
  bool synchronous_full = true;
  std::int64_t busy_ms_max = 5'000;           // longest wait for the write lock, then kBusy
  std::size_t payload_bytes_max = 64 * 1024;  // of inputs and messages given, and outputs read
  std::uint32_t queue_messages_max = 256;     // as in Options
  int cache_pages = 128;
};

struct StartOptions {
  // Exactly this one, in the form of Registry. None: the one that the worker that begins it takes by default.
  std::optional<std::string_view> version = std::nullopt;
  // Waits so long before its first turn, in ms, 0 or more; off time counts as it does for timers. Until
  // then the instance is kRunning and takes messages; a cancel request waits with it.
  std::int64_t start_after_ms = 0;
};

struct TransferOptions {
  // Running work has so long to end, in ms, 0 or more. Then a session moves all the same and what still
  // runs is refused; but an exclusive one stays where it is, unless `force`.
  std::int64_t stop_ms = 20'000;
  bool force = false;
  // Of transfer_session(): the session is one that this instance opened; empty: one that is shared.
  std::string_view instance;
};

struct OrchestrationStatus {
  OrchestrationState state = OrchestrationState::kRunning;
  std::int64_t execution_id = 0;  // rises by one at every continue-as-new
  ErrorKind error = ErrorKind::kNone;
  std::string_view output;      // the result, or the error's text; valid until the next call
  std::int64_t created_ms = 0;  // stamps, UTC as known then
  std::int64_t updated_ms = 0;
  // What the code set with set_custom_status(); empty: nothing, or reset. Valid until the next call.
  std::string_view custom_status;
  std::int64_t custom_status_version = 0;  // rises by one with every set and reset
};

class Client {
 public:
  Client() = default;
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] static std::size_t required_memory(const ClientOptions& options);
  // Errors of the place and the file: kCannotOpen, kReadOnly, kForeignDatabase, kNewerDatabase,
  // kNetworkFilesystem, kCorrupt, kIo; kResourceExhausted: memory; kInvalidOptions.
  Status open(Process& process, const ClientOptions& options, const port::Port& port, void* memory,
              std::size_t bytes, Diagnostic& diagnostic);
  void close();
  // Text of the last failure.
  [[nodiscard]] std::string_view error_text() const;

  // `id`, `name`: 1..256 bytes; kInvalidArgument: they are not, or the id has "::", as children's have.
  // kQuota: no room for anything new (Options::quota_bytes, reserve_bytes, log_bytes_max), error_text() has
  // the numbers; kAlreadyExists: the id is in use, running or ended; that instance is untouched, whatever name, input and options were given now. kResourceExhausted: the input is over
  // payload_bytes_max; kBusy; kFull; kIo.
  Status start_orchestration(std::string_view id, std::string_view name, std::string_view input,
                             const StartOptions& options = StartOptions());
  // Asks the instance to stop: its code sees a cancelled await. kNotFound; kStale: it has ended.
  Status cancel_instance(std::string_view id, std::string_view reason);
  // For whoever waits for an event of this name now (schedule_wait()); nobody: it is gone, and counted in
  // RuntimeStats::messages_dropped. `name`: as of an instance, else kInvalidArgument. kNotFound: no such
  // instance; kStale: it has ended; kResourceExhausted: over payload_bytes_max, or queue_messages_max
  // messages of this instance wait already, or those hold 4 * payload_bytes_max; kQuota. Then nothing is written.
  Status raise_event(std::string_view id, std::string_view name, std::string_view payload);
  // Into a queue of the instance, until dequeue_event() takes it or the instance ends. Errors as above.
  Status enqueue_event(std::string_view id, std::string_view queue, std::string_view payload);
  // kNotFound.
  Status get_status(std::string_view id, OrchestrationStatus* out);
  // Sleeps until the instance has ended or stopped; event-driven. kTimeout: `out` is the last known status;
  // kWouldBlock: on the thread of a Runtime of this database, which would wait for itself.
  Status wait_for_orchestration(std::string_view id, std::int64_t timeout_ms,
                                OrchestrationStatus* out);
  // Sleeps until custom_status_version is above `last_version` (-1: answers at once); event-driven.
  // kStale: it does not run any more, so no change is to come; kTimeout, kWouldBlock: as above. `out`
  // is the last known status in all of them but kWouldBlock.
  Status wait_for_status_change(std::string_view id, std::int64_t last_version,
                                std::int64_t timeout_ms, OrchestrationStatus* out);

  // The value an instance keeps under `key`, as committed last, also after its end; its views live until the
  // next call. *found is false if there is none. kNotFound: no such instance; kInvalidArgument: the key;
  // kResourceExhausted: it is longer than payload_bytes_max; kCorrupt.
  Status get_kv_value(std::string_view id, std::string_view key, KvEntry* out, bool* found);
  // Of a struct with a PAWL_JSON: also kCorrupt and kResourceExhausted, as from_json() says.
  template <typename T>
  Status get_kv_value_typed(std::string_view id, std::string_view key, T* out, bool* found,
                            Diagnostic* why = nullptr) {
    KvEntry entry;
    PAWL_TRY(get_kv_value(id, key, &entry, found));
    return *found ? from_json(entry.value, out, why) : Status::kOk;
  }
  // All of them, in order of their keys. kNotFound; kInvalidArgument: rows_max is 0; kCorrupt.
  Status get_all_kv_values(std::string_view id, KvPage* page, KvVisitor& visitor);
  // Sleeps until there is a value of this key; event-driven. kStale: there is none and the instance does not
  // run any more; kTimeout, kWouldBlock, kNotFound, kInvalidArgument.
  Status wait_for_kv_value(std::string_view id, std::string_view key, std::int64_t timeout_ms,
                           KvEntry* out);
  template <typename T>
  Status wait_for_kv_value_typed(std::string_view id, std::string_view key, std::int64_t timeout_ms,
                                 T* out, Diagnostic* why = nullptr) {
    KvEntry entry;
    PAWL_TRY(wait_for_kv_value(id, key, timeout_ms, &entry));
    return from_json(entry.value, out, why);
  }

  // --- management ---------------------------------------------------------------------------------
  // Ends the instance now as kFailed with ErrorKind::kTerminated: none of its code runs any more. Also
  // one that is stopped, suspended or of a name that nobody knows. A Runtime that runs orchestrations
  // writes the end with its next tick; until then the status shows kTerminated. kNotFound; kStale: it
  // has ended.
  Status terminate_instance(std::string_view id, std::string_view reason);
  // No turn runs until resume_instance(): messages and due timers wait, activities that were asked for
  // go on. kOk also if it was suspended. kNotFound; kStale: it has ended or is being terminated.
  Status suspend_instance(std::string_view id);
  // Lets a suspended or stopped instance go on; kOk and nothing else for one that runs. kNotFound;
  // kStale: it has ended.
  Status resume_instance(std::string_view id);

  // Instances in order of creation. kInvalidArgument: rows_max is 0.
  Status list_instances(const InstanceFilter& filter, Page* page, InstanceVisitor& visitor);
  // Views of `out` live until the next call. kNotFound.
  Status get_instance_info(std::string_view id, InstanceInfo* out);
  // How much it holds. kNotFound.
  Status get_instance_stats(std::string_view id, InstanceStats* out);
  // The children it started, and the whole tree it belongs to with its root first, in order of creation.
  // (Its own parent: InstanceInfo::parent_id.) kNotFound; kInvalidArgument: rows_max is 0.
  Status list_children(std::string_view id, Page* page, InstanceVisitor& visitor);
  Status get_instance_tree(std::string_view id, Page* page, InstanceVisitor& visitor);
  // Those with history, oldest first. kNotFound: the instance.
  Status list_executions(std::string_view id, ExecutionVisitor& visitor);
  // Activities of the current execution that have no outcome yet, in order of their calls. kNotFound.
  Status list_activities(std::string_view id, ActivityVisitor& visitor);
  // Events of one execution (0: the current one) in order. kNotFound: the instance, or an execution
  // that is not there or has no history yet; kCorrupt: a row is damaged, those before it were told.
  Status read_history(std::string_view id, std::int64_t execution_id, HistoryVisitor& visitor);
  Status get_metrics(Metrics* out);
  // Options::quota_bytes for all processes of the database, until a Runtime with one starts. 0: none;
  // kInvalidArgument: below 256 KiB or above 1 << 50.
  Status set_quota(std::int64_t bytes);
  Status list_workers(WorkerVisitor& visitor);
  // In order of their making. kInvalidArgument: rows_max is 0.
  Status list_sessions(const SessionFilter& filter, Page* page, SessionVisitor& visitor);
  // One that this instance opened, or, without an instance, one that is shared. Views of `out` live until
  // the next call. kNotFound.
  Status get_session(std::string_view instance, std::string_view session, SessionInfo* out);
  // Closes one that this instance opened, as its code would, and tells the code if it asked for that
  // (SessionSettings::notify: "closed"). `owner_label` is who asks, and must be that of the session:
  // kNotOwner, and error_text() names it. Empty: an administrator, who may close any. kNotFound.
  Status close_session(std::string_view instance, std::string_view session,
                       std::string_view owner_label = {});
  // Moves a session to the living worker with this worker_node_id (as list_workers() shows it), or, empty,
  // away from its owner: nothing of it starts any more, and when its running work has ended it moves. The
  // answer does not wait for that. kNotFound: no such session; kNoEligibleTarget: the worker does not
  // run, is draining, is full or did not declare the device (error_text()). kInvalidArgument: stop_ms.
  Status transfer_session(std::string_view session, std::string_view node,
                          const TransferOptions& options = TransferOptions());
  // The worker takes nothing new and its sessions move away likewise, devices only to who stands by for
  // them; until its process registers anew. kNotFound: no living worker has this worker_node_id.
  Status drain_worker(std::string_view node, const TransferOptions& options = TransferOptions());
  // Removes the row of a device that nobody declares and no work waits for. kNotFound; kStillRunning.
  Status forget_device(std::string_view device);

  // Removes an ended instance and all below it; kStillRunning: it, or one below it, has not ended, and
  // `force` is false; kChildInstance: delete its root; kNotFound. From the first transaction on nobody finds
  // any of them, and work in flight is refused when it comes back; the rows go in transactions of bounded
  // size, then their ids are free again. If one of those fails (kBusy, kFull ..), a Runtime goes on with it.
  Status delete_instance(std::string_view id, bool force, Removed* removed = nullptr);
  // The trees that have ended among the next page of list_instances(), by their roots. kOk also when a
  // tree was left for a child that runs. `removed` also counts when it fails.
  Status delete_instances(const InstanceFilter& filter, Page* page, Removed* removed = nullptr);
  // Removes earlier executions with the children they started, oldest first: all but the last `keep_last`
  // (the current one counts and always stays), up to the first that ended at `ended_before_ms` or later
  // (0: no such limit) or has a child that runs. kNotFound.
  Status prune_executions(std::string_view id, std::int64_t keep_last, std::int64_t ended_before_ms,
                          Removed* removed = nullptr);
  // Likewise of all instances, running or not, of the next page of list_instances().
  Status prune_instances(const InstanceFilter& filter, Page* page, std::int64_t keep_last,
                         std::int64_t ended_before_ms, Removed* removed = nullptr);

 private:
  ClientCore* core_ = nullptr;
};

}  // namespace pawl

#endif  // PAWL_CLIENT_HPP

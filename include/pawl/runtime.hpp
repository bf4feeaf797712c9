// Runtime: the loop that runs orchestrations and activities.
//
// Purpose: one cooperative loop; one tick is one write transaction, and no user code runs in it.
// Threads: one thread owns a Runtime and calls everything; only wake() and request_stop() may come
// from other threads or a signal handler. Activities registered as kThreaded run on pool threads
// made at start. Ownership: the block given to start() holds everything the Runtime will ever use;
// registry, options' pointers, process and port must outlive it. After start() its threads never
// call malloc (bodies of user activities are their own business). Embedding: run() is enough for a
// program that has nothing else to do. A host's own loop watches fd(), calls tick() when it is
// readable, and may look at next_due().
#ifndef PAWL_RUNTIME_HPP
#define PAWL_RUNTIME_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/client.hpp"
#include "pawl/name_stats.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/options.hpp"
#include "pawl/port.hpp"
#include "pawl/process.hpp"
#include "pawl/registry.hpp"
#include "pawl/session_stats.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class [[gnu::visibility("hidden")]] RuntimeCore;
struct [[gnu::visibility("hidden")]] Request;

// The room that the database has. kLittle: it is over seven eighths of its quota, or the disk was
// full; complete instances are removed. kRejectingNew: it is over its quota, or the disk was full
// and not enough could be removed, or the log is longer than log_bytes_max; starts and messages are
// refused.
enum class Room : std::uint8_t { kEnough, kLittle, kRejectingNew };

// Counters since start; all but the last ones only rise.
struct RuntimeStats {
  std::uint64_t ticks = 0;
  std::uint64_t commits = 0;  // those that wrote: flushes, but for those of checkpoints
  // Flushes of the database's files, by all connections of this process over the same port: they
  // wear a card.
  std::uint64_t flushes = 0;
  Durations written;  // transactions that wrote, from the wait for the write lock to their commit
  Durations flushed;  // their commits alone: the time of the disk for the log
  std::uint64_t bytes_written = 0;
  // How often the loop waited for an answer of the server that has the database; 0 on a file.
  std::uint64_t server_trips = 0;
  std::uint64_t turns = 0;
  std::uint64_t turns_refused = 0;  // another worker was first, or the turn was stale
  std::uint64_t cold_loads = 0;     // histories read from the database
  std::uint64_t orchestrations_completed = 0;
  std::uint64_t orchestrations_failed = 0;
  std::uint64_t continued_as_new = 0;
  std::uint64_t activities_started = 0;
  std::uint64_t activities_completed = 0;  // results accepted
  // Activities given back into the queue by ActivityContext::hand_back(), or when this worker
  // stopped.
  std::uint64_t activities_handed_back = 0;
  std::uint64_t activities_retried = 0;    // failed attempts that are followed by another
  std::uint64_t activities_refused = 0;    // results of work that was taken over or cancelled
  std::uint64_t activities_overlong = 0;   // inline ones beyond TimingOptions::inline_max
  std::uint64_t activities_abandoned = 0;  // cancelled, and not back within timing.activity_grace
  std::uint64_t messages_dropped = 0;      // duplicates, late ones, offers without a wait
  std::uint64_t traces_lost = 0;
  std::uint64_t log_lines_left_out = 0;  // about starts and ends, beyond a hundred a second
  std::uint64_t busy_ticks = 0;          // the write lock was not free in time
  std::uint64_t failed_ticks = 0;        // rolled back by an error of the disk or of memory
  std::uint64_t sessions_opened = 0;     // by orchestrations, reopened ones included
  std::uint64_t sessions_refused = 0;    // there were too many
  std::uint64_t sessions_closed = 0;
  std::uint64_t sessions_expired = 0;  // by SessionSettings::max_age
  std::uint64_t sessions_claimed = 0;
  std::uint64_t sessions_migrated = 0;
  std::uint64_t sessions_released = 0;
  std::uint64_t sessions_lost = 0;
  std::uint64_t sessions_evicted = 0;  // released because an activity did not come back
  // Sessions released at max_sessions_per_worker, for one that waited: the state that this worker
  // kept of them is cold now (SessionOptions::evict_idle).
  std::uint64_t sessions_evicted_idle = 0;
  std::uint64_t session_folders_removed = 0;
  // How often a folder could not be made, and an activity was put back for it, or not be removed.
  std::uint64_t session_folders_failed = 0;
  // How often a look for work met a session with work for this worker, which had
  // max_sessions_per_worker already.
  std::uint64_t capacity_exhausted = 0;
  std::uint64_t session_leaks = 0;  // reported by this Runtime: SessionOptions::leak_open
  SessionEnds session_ends;         // of the sessions whose end this Runtime wrote
  std::uint64_t poisoned = 0;
  std::uint64_t rows_quarantined = 0;  // damaged rows that were moved out of the way
  // Instances marked as unregistered, and activities put back, because this process or all that
  // live lack the name.
  std::uint64_t unregistered = 0;
  std::uint64_t instances_removed = 0;            // children included
  std::uint64_t instances_removed_for_space = 0;  // for SpaceOptions::remove_completed
  std::uint64_t executions_removed = 0;
  std::uint64_t events_removed = 0;
  std::uint64_t wakeups = 0;  // returns from sleep
  std::uint64_t clock_steps = 0;
  // Sessions with work and without an owner, at the last look, if this worker is at its limit and
  // could run some of the work; counted up to 256.
  std::uint32_t sessions_waiting = 0;
  // The part of sessions_evicted_idle in the last minute that is over and had any; 0: the minute
  // behind it had none.
  std::uint32_t sessions_evicted_idle_minute = 0;
  // Sessions of this worker, with and without work in the queue, at the last change of an owner or
  // the last renewal of leases.
  std::uint32_t sessions_active = 0;
  std::uint32_t sessions_idle = 0;
  // Counted at the last commit of this Runtime that wrote, while there is a quota, the disk is full
  // or the log is long (Client::get_metrics() counts at any time).
  std::int64_t used_bytes = 0;  // pages in use
  std::int64_t log_bytes = 0;
  std::int64_t quota_bytes = 0;  // 0: none
  Room room = Room::kEnough;
  std::uint32_t warm_instances = 0;
  std::uint32_t activities_running = 0;
  std::uint32_t slots_abandoned = 0;  // held by abandoned activities now
  std::size_t warm_bytes_used = 0;
};

// The answer of a piggybacked call. It is called on the Runtime's thread after the commit; `user`
// is the one that the call was given.
using Answer = void (*)(void* user, Status status) noexcept;
// The answer of offer_event(), likewise; `received`: a wait of the instance received it.
using OfferAnswer = void (*)(void* user, Status status, bool received) noexcept;

class Runtime : public TypedSenderCalls<Runtime> {
 public:
  // Each of these also takes a definition of pawl/typed.hpp and a value.
  using TypedSenderCalls::enqueue_event;
  using TypedSenderCalls::offer_event;
  using TypedSenderCalls::raise_event;
  using TypedSenderCalls::start_orchestration;

  Runtime() = default;
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // The number of bytes that start() needs.
  // Returns 0 for options that are not valid.
  [[nodiscard]] static std::size_t required_memory(const Options& options);
  // Opens or creates the database, and registers the worker.
  // Returns kOk; the errors of Client::open() about the place and the file; kNodeIdInUse: a living
  // process has this worker_node_id, the diagnostic has its pid; kForeignBoot; kBusy: another
  // process held the write lock for timing.busy_max, or the file was replaced while it was opened;
  // nothing was written, start it again; kAlreadyExists: it is started.
  // Requires: a started Process (kInvalidArgument); options that are valid and agree with each
  // other and with the Registry (kInvalidOptions, with both values); a port of this interface's
  // version (kVersionMismatch); `bytes` of at least required_memory() (kResourceExhausted).
  Status start(Process& process, const Registry& registry, const Options& options,
               const port::Port& port, void* memory, std::size_t bytes, Diagnostic& diagnostic);

  // Does the work that is ready, for about `limit` and the time of a commit at most; never sleeps.
  // Returns true: more is ready now; kStopped: it is not started, or has stopped; an error of the
  // database that does not pass by itself.
  Result<bool> tick(std::chrono::milliseconds limit);
  // The time when tick() has work next, as Clock::boot_ms counts. A time that has passed means now;
  // none: only an event brings work.
  [[nodiscard]] OptionalMs next_due() const;
  // A descriptor that is readable when tick() has work; -1: the port has none.
  [[nodiscard]] int fd() const;
  // Ticks and sleeps until request_stop(), then stops with `grace` for running activities.
  // Returns the same as stop(), or the error of the tick that failed.
  Status run(std::chrono::milliseconds grace = std::chrono::seconds(10));
  // Ticks and sleeps for at most this long, or until `until` answers true after a tick.
  // Returns kOk: `until` did; kTimeout: the time is over; kStopped: request_stop() was called; the
  // error of a tick.
  Status run_for(std::chrono::milliseconds duration, bool (*until)(void*) noexcept = nullptr,
                 void* user = nullptr);

  // True while a watchdog may be fed. False: the Runtime is not started or is stopping; the storage
  // is in trouble (a full or failing disk, or another process has had the write lock for 10 s); or
  // cancelled activities that did not return hold all thread slots, so that only a restart helps.
  [[nodiscard]] bool ready() const;

  // wake() makes the loop look for work, and request_stop() ends run(). Both may be called from any
  // thread, or from a signal handler. stop_requested() says whether request_stop() was called.
  void wake();
  void request_stop();
  [[nodiscard]] bool stop_requested() const;

  // Stops in order: takes no new work, waits at most `grace` for running activities, commits their
  // results, releases its sessions and closes the database.
  // Returns kOk, also when it is not started; kTimeout: some thread did not come back, and the log
  // has "thread_runs" with its name and activity. Nothing is freed then: the object, the Process
  // and the memory given to start() must live until the process ends.
  Status stop(std::chrono::milliseconds grace);

  // ---- the Client's calls on the Runtime's own thread: piggybacked on the next tick ----
  // Does what Client's call of the same name does, with the next tick. The answer has the status
  // that the Client's call would return; null: no answer is wanted.
  // Returns kOk: it was asked; kStopped.
  // Requires: fewer than requests_max calls that wait, and texts that fit (kResourceExhausted); a
  // valid version, start_after not below 0, and a time_limit above 0 (kInvalidArgument).
  Status start_orchestration(std::string_view name, const InstanceId& id, std::string_view input,
                             const StartOptions& options = StartOptions(), Answer answer = nullptr,
                             void* user = nullptr);
  Status cancel_instance(std::string_view id, std::string_view reason, Answer answer = nullptr,
                         void* user = nullptr);
  Status raise_event(std::string_view id, std::string_view name, std::string_view payload,
                     const SendOptions& options = SendOptions(), Answer answer = nullptr,
                     void* user = nullptr);
  // Does so with an offer, with the next tick or never: one that cannot be piggybacked on a turn of
  // it is not stored.
  // Returns as those above. The answer: kOk, and whether a wait received it; kTimeout: the instance
  // has no turn here in that tick (it is suspended, or warm in another process, or more messages
  // wait for it than a turn reads), so no code saw the offer; else as those above.
  // Requires: as those above.
  Status offer_event(std::string_view id, std::string_view name, std::string_view payload,
                     OfferAnswer answer, void* user = nullptr);
  // Does what Client's call of the same name does, with the next tick.
  // Returns as those above.
  // Requires: as those above.
  Status enqueue_event(std::string_view id, std::string_view queue, std::string_view payload,
                       const SendOptions& options = SendOptions(), Answer answer = nullptr,
                       void* user = nullptr);
  Status complete_activity(std::string_view token, std::string_view result, Answer answer = nullptr,
                           void* user = nullptr);
  Status fail_activity(std::string_view token, std::string_view text, bool permanent = false,
                       Answer answer = nullptr, void* user = nullptr);
  Status heartbeat_activity(std::string_view token, std::string_view progress = {},
                            Answer answer = nullptr, void* user = nullptr);
  Status terminate_instance(std::string_view id, std::string_view reason, Answer answer = nullptr,
                            void* user = nullptr);
  Status suspend_instance(std::string_view id, Answer answer = nullptr, void* user = nullptr);
  Status resume_instance(std::string_view id, Answer answer = nullptr, void* user = nullptr);
  Status change_time_limit(std::string_view id, std::optional<std::chrono::milliseconds> limit,
                           Answer answer = nullptr, void* user = nullptr);
  // Does what Client's call of the same name does. Both calls may take several ticks when there is
  // much to remove; later requests wait for them.
  // Returns as those above.
  // Requires: as those above.
  Status delete_instance(std::string_view id, bool force, Answer answer = nullptr,
                         void* user = nullptr);
  Status prune_executions(std::string_view id, std::int64_t keep_last, std::int64_t ended_before_ms,
                          Answer answer = nullptr, void* user = nullptr);
  // Declares that this worker holds the hardware of `device`: from now on only this worker owns the
  // session of that name (see Target::device()), also after it registered anew, until it withdraws
  // the device or ends. With `standby` it takes over when a living holder is gone. If another owner
  // of the session is running work, that may end first, within 20 s.
  // Returns kOk: it was asked. The answer: kOk; kDeviceHeld: a living worker has declared it, the
  // log's "device_refused" names it, and this one is no standby; kResourceExhausted: more than
  // limits.devices_max, and the log has "device_refused".
  // Requires: a plain id (is_plain_id()) of 1..256 bytes (kInvalidArgument); as those above.
  Status declare_session(std::string_view device, bool standby, Answer answer = nullptr,
                         void* user = nullptr);
  // Withdraws a device. Work that runs on it may end first, within 20 s. If work of an exclusive
  // session does not end, the declaration stands again, and the log has "session_stop_failed".
  // Returns kOk: it was asked. The answer: kOk; kNotFound: not declared here.
  // Requires: as those above.
  Status withdraw_session(std::string_view device, Answer answer = nullptr, void* user = nullptr);
  // Listings, histories and removal in bulk cannot be piggybacked. A Client may be used for them on
  // this thread between ticks; only its calls that wait answer kWouldBlock.

  // Reads the status of an instance at once.
  // Returns kOk; kNotFound; kStopped; kBusy, kIo, kCorrupt.
  Status get_status(std::string_view id, OrchestrationStatus* out);

  // The counts so far.
  [[nodiscard]] const RuntimeStats& stats() const;
  // The counts of one name. Null: it is not registered, or nothing was ever started. An empty
  // `version` means the Registry's default.
  [[nodiscard]] const OrchestrationStats* orchestration_stats(std::string_view name,
                                                              std::string_view version = {}) const;
  [[nodiscard]] const ActivityStats* activity_stats(std::string_view name) const;
  // The worker_node_id of its options, or its generated name.
  [[nodiscard]] std::string_view worker_id() const;
  // The text of the last failure.
  [[nodiscard]] std::string_view error_text() const;

 private:
  friend class TypedSenderCalls<Runtime>;
  Status start_new(std::string_view name, std::string_view id, std::string_view input,
                   const StartOptions& options, Answer answer, void* user);
  Status start_limited(std::string_view name, std::string_view id, std::string_view input,
                       const StartOptions& options, Answer answer, void* user);
  Status start_used(std::string_view name, std::string_view id, std::string_view input,
                    const StartOptions& options, Answer answer, void* user);
  Status piggyback(const Request& request);
  Status send_message(Request request, const SendOptions& options);
  internal::TypedBytes typed_bytes();
  RuntimeCore* core_ = nullptr;
};

// Three calls, so that a program whose ids are all new does not link the code for those in use, and
// one without time limits that for them.
inline Status Runtime::start_orchestration(std::string_view name, const InstanceId& id,
                                           std::string_view input, const StartOptions& options,
                                           Answer answer, void* user) {
  const bool is_new =
      options.if_running == IfRunning::kRefuse && options.if_ended == IfEnded::kRefuse;
  if (!is_new) return start_used(name, id, input, options, answer, user);
  return options.time_limit.has_value() ? start_limited(name, id, input, options, answer, user)
                                        : start_new(name, id, input, options, answer, user);
}

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_RUNTIME_HPP

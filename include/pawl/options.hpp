// Options: every number of a Runtime, with its unit, range and default.
//
// Purpose: one value type, validated as a whole before anything starts. A violated rule is answered
// with kInvalidOptions and a diagnostic that names both values. docs/limits.md leads to all
// numbers.
// Ownership: names and paths are copied into it; pointers must outlive the Runtime. Thread rule:
// plain values.
#ifndef PAWL_OPTIONS_HPP
#define PAWL_OPTIONS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "pawl/log.hpp"
#include "pawl/name.hpp"
#include "pawl/server_database.hpp"
#include "pawl/session_listener.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

class RuntimeBoard;  // pawl/runtime_board.hpp

// Sizes and counts. Running out is a named error that loses nothing.
struct LimitOptions {
  std::uint32_t batch = 64;               // instances a tick, and as many that start here, 1..1024
  std::uint32_t instance_batch_max = 64;  // messages of one instance a tick, 1..1024
  std::uint32_t requests_max = 256;       // calls of the Runtime's own thread that wait for a tick
  std::size_t payload_bytes_max = 64 * 1024;  // input, result or output, 256 B .. 1 MiB
  std::uint32_t history_events_max = 2'048;   // in one execution; continue_as_new() is the answer
  std::uint32_t commands_a_turn_max = 1'024;
  std::uint32_t traces_a_turn_max = 64;
  // The most that the Registry may have; a start with more is refused (kInvalidOptions). For more
  // than 64 orchestrations it needs Registry::give_room(); a Host that is made with these options
  // has it.
  std::uint32_t orchestrations_max = 64;  // 1..1024
  std::uint32_t activities_max = 128;     // 0..128
  // The most lines of the log about sessions, poisonings and damage in one tick, 1..64; further
  // ones are counted ("notices_lost").
  std::uint32_t notices_max = 64;
  // The number of living workers of the database that are watched for their death, 2..64. Work of a
  // worker beyond that is taken when its lease ends.
  std::uint32_t workers_max = 64;
  // Devices that this Runtime declares, 0..1024; one more is refused (kResourceExhausted).
  std::uint32_t devices_max = 32;
  // Raised events and queue messages of one instance that no turn took, 1..1024; together they hold
  // at most 4 * payload_bytes_max. The number sizes this Runtime's memory for them and is stored
  // with its registration: senders of all processes keep to the least of the Runtimes that live. An
  // instance for which more messages wait already is left to a larger Runtime.
  std::uint32_t queue_messages_max = 256;
  // Keys of one instance, 1..10000. Keys and values together hold at most warm_bytes / 4, and one
  // value at most payload_bytes_max. A call beyond that is answered with kLimit.
  std::uint32_t kv_keys_max = 150;
  std::uint32_t warm_instances = 256;   // decoded histories kept between turns
  std::size_t warm_bytes = 832 * 1024;  // memory for them; one history must fit
  // How often an instance or activity may be charged before it is poisoned. Each cause is counted
  // by itself; the counts are never added.
  std::int32_t crashes_max = 10;   // the process died while it ran
  std::int32_t strikes_max = 10;   // locks taken over, abandons
  std::int32_t reboots_max = 100;  // the machine went down while it ran
};

// The number of activities that run at once, and their memory.
struct SlotOptions {
  std::uint32_t inline_activities = 64;  // handed over a tick; 0: none; up to 1024
  std::uint32_t threads = 4;             // blocking activities at once, 0..128
  std::uint32_t cooperative = 8;         // cooperative activities at once, 0..256
  std::size_t thread_stack_bytes = 256 * 1024;
  std::size_t cooperative_scratch_bytes = 256;  // state of each, 0..64 KiB
};

// How long a worker owns something without renewing it. docs/sessions.md explains each of them.
struct LeaseOptions {
  std::chrono::milliseconds session_lock_timeout{30'000};        // lease of a session, at least 1 s
  std::chrono::milliseconds session_lock_renewal_buffer{5'000};  // renewed this long before its end
  std::chrono::milliseconds worker_lock_timeout{30'000};         // lease of a handed-over activity
  std::chrono::milliseconds worker_lock_renewal_buffer{5'000};
  // Other workers leave an instance's messages to its home for this long.
  std::chrono::milliseconds home_grace{2'000};
  // Takes over at once from a process whose kernel lock is free; false: only leases count.
  bool fast_handoff = true;
};

// docs/sessions.md explains each of them.
struct SessionOptions {
  // A session is released after this long without work.
  std::chrono::milliseconds session_idle_timeout{300'000};
  std::chrono::milliseconds session_cleanup_interval{300'000};  // sweep of rows that are not needed
  std::uint32_t max_sessions_per_worker = 128;  // 0: this worker never claims a session
  // At that limit, when a session without an owner has work for this worker, the worker releases
  // the session that has been idle for longest, if it has been for at least this long. The default
  // is longer than the turn between two activities takes on a slow card, and shorter than people
  // wait. 0: it releases none, so a session may wait for ever.
  std::chrono::milliseconds evict_idle{2'000};
  // The number of sessions that one instance may have open, 1..1000. The Runtime that runs the turn
  // decides.
  std::uint32_t max_sessions_per_orchestration = 10;
  // The number of sessions of one SessionSettings::owner_label that all instances together may have
  // open, 0..1000000; 0: no limit. The Runtime that runs the turn decides.
  std::uint32_t max_sessions_per_owner = 0;
  // A session that an instance opened is reported once, in the log ("session_leak"), when it is
  // open for this long, or for this long without any activity; the sweep finds it. 0: never.
  std::chrono::milliseconds leak_open{86'400'000};
  std::chrono::milliseconds leak_unused{3'600'000};
  // Each activity of a session that is handed over to this worker makes a line in the log
  // ("session_prompt"), with its instance, session, owner label and kind.
  bool audit_activities = false;
  // The absolute path of an existing folder. Each session has a folder of its own in it, from its
  // first activity to its end (ActivityContext::session_folder()). Several workers and several
  // databases may share it. None: sessions have no folders.
  std::optional<Path> work_root = std::nullopt;
  // Called when this worker gets a session and when it loses one; null: not called.
  SessionListener* listener = nullptr;
  // Names of sessions that this worker claims when it starts, if no worker owns them then, so that
  // their first work finds them ready. At most max_sessions_per_worker; no devices; plain ids.
  const Name* claim_at_start = nullptr;
  std::size_t claim_at_start_count = 0;
};

// The times when the loop acts, and how long it waits.
struct TimingOptions {
  // A tick starts no inline activity after this time, in which that of its commit does not count.
  std::chrono::milliseconds tick_max{50};
  // After a commit that wrote, further results, messages and due timers wait up to this long, so
  // that they share a flush. 0: they do not wait. Calls on this Runtime's thread never wait, nor do
  // results of activities that called ActivityContext::commit_now(). At most 10 s.
  std::chrono::milliseconds commit_window{0};
  std::chrono::milliseconds busy_max{1'000};  // longest wait for the database's write lock
  // A longer inline activity or step is counted and logged by name.
  std::chrono::milliseconds inline_max{20};
  // The least time between two writes of an activity's heartbeats (ActivityContext::heartbeat()).
  // If no other commit comes along, a write is a commit and a flush of its own, for each activity
  // that uses it.
  std::chrono::milliseconds heartbeat_interval{10'000};
  // An activity that was cancelled (ActivityContext::is_cancelled()) has this long to come back. A
  // thread that does not is counted and logged, and keeps its slot.
  std::chrono::milliseconds activity_grace{10'000};
  // After a cancel request the instance has this long to end, over executions, restarts and
  // reboots; then it fails with kCancelled. 0: no limit.
  std::chrono::milliseconds cancel_grace{60'000};
};

// The rows that are deleted without a call. Trees are deleted as Client::delete_instance() does it.
struct RetentionOptions {
  // Ended instances that are no children are removed, with all instances below them: this long
  // after their end, in Pawl time (time without power does not count), and the oldest beyond a
  // count. 0: never.
  std::chrono::milliseconds age{0};
  std::uint32_t count = 0;
  // At continue_as_new() this many executions of the instance stay, the next one included. 0: all.
  std::uint32_t executions = 0;
  // The keys of messages (SendOptions::key) that an instance knows: the last so many, 1..1024, and
  // those not older than this in Pawl time, 1 s to a year. They are numbers of the database, so the
  // Runtime that started last decides for all processes.
  std::uint32_t message_keys = 64;
  std::chrono::milliseconds message_key_age{86'400'000};
};

// The database file and its log.
struct SpaceOptions {
  // The bytes that pages in use and the log may take. It is a number of the database, so the
  // Runtime that started last decides for all processes. Near it complete instances are removed,
  // the oldest first, unless remove_completed is false. Over it new instances and messages from
  // outside are refused (kQuota), and running work goes on. 0: the stored quota stays, none at
  // first; Client::set_quota() removes it.
  std::int64_t quota_bytes = 0;
  // The size of a file beside the database that is deleted when the disk is full, so that there is
  // room to remove rows and to go on. It has at least as much as the log of checkpoint_pages holds,
  // and twice as much if nothing is given: one part to write that log back, one to remove rows. 0:
  // no such file.
  std::optional<std::size_t> reserve_bytes;
  // Whether completed instances and earlier executions may be removed, the oldest first, near the
  // quota and on a full disk. false: nothing is removed, and new things are refused until there is
  // room.
  bool remove_completed = true;
  // The bytes of SQLite's log beyond which new instances and messages from outside are refused
  // (kQuota); work that runs goes on. The log grows while a process reads one view of the database
  // for long. At least 4 times the bytes that checkpoint_pages hold.
  std::int64_t log_bytes_max = 16 * 1024 * 1024;
  int cache_pages = 256;         // of this connection, 512 B each, 16..65536
  int checkpoint_pages = 1'000;  // the log is written back when it is this long
};

// The activities that a worker takes, by ActivityOptions::tag. At start the set has 1..5 different
// tags of 1..256 bytes without control characters, or is empty if the mode has none.
struct TagFilter {  // NOLINT(bugprone-reserved-identifier): in the compiler's copy of the set
  enum class Mode : std::uint8_t {
    kDefaultOnly,  // those without a tag
    kTags,         // those of the set
    kDefaultAnd,   // those of the set, and those without a tag
    kAny,          // all
    kNone,         // no activities at all
  };
  static constexpr std::size_t kTagsMax = 5;

  static TagFilter default_only() { return of(Mode::kDefaultOnly, {}); }
  static TagFilter tags(std::initializer_list<std::string_view> set) {
    return of(Mode::kTags, set);
  }
  static TagFilter default_and(std::initializer_list<std::string_view> set) {
    return of(Mode::kDefaultAnd, set);
  }
  static TagFilter any() { return of(Mode::kAny, {}); }
  static TagFilter none() { return of(Mode::kNone, {}); }

  // Whether it takes work with this tag; empty: without a tag.
  [[nodiscard]] bool serves(std::string_view tag) const {
    if (mode == Mode::kAny) return true;
    if (tag.empty()) return mode == Mode::kDefaultOnly || mode == Mode::kDefaultAnd;
    for (std::size_t i = 0; i < count && i < kTagsMax; ++i)
      if (set[i] == tag) return true;
    return false;
  }

  Mode mode = Mode::kDefaultOnly;
  std::size_t count = 0;
  Name set[kTagsMax];

 private:
  // Tags that do not fit are counted, so that start refuses them.
  static TagFilter of(Mode mode, std::initializer_list<std::string_view> set) {
    TagFilter filter;
    filter.mode = mode;
    for (const std::string_view tag : set) {
      if (filter.count < kTagsMax) filter.set[filter.count] = tag;
      ++filter.count;
    }
    return filter;
  }
};

struct Options {
  // For a small board: 0.6 MB, payloads of 4 KiB, histories of 1,024 events, eight activities on
  // the loop, two that wait and one on a thread. Its other values are the defaults.
  static Options small();
  // The least of everything that memory depends on, with ProcessOptions::smallest(): one instance a
  // tick, one inline activity, payloads of 256 bytes. Its other values are those of small(). A
  // program raises the values of which it needs more.
  static Options smallest();

  // The file of the database; with `database`, what lies beside it on this machine begins with this
  // path: locks, notes and folders.
  Path database_path;                        // required
  const ServerDatabase* database = nullptr;  // null: the file
  // A stable identity over restarts, a plain id (is_plain_id()); none: a new one at each start.
  std::optional<Name> worker_node_id = std::nullopt;
  bool run_orchestrations = true;  // false: worker-only
  TagFilter worker_tag_filter;     // by default only activities without a tag
  LogSink* log = nullptr;          // null: silent
  RuntimeBoard* board = nullptr;   // shows other threads the Runtime's state; null: it does not
  // false: WAL with synchronous=NORMAL. A power cut may then lose work that was acknowledged since
  // the last checkpoint; a killed process still loses nothing.
  bool synchronous_full = true;
  bool verify_turns =  // run every turn twice and compare
#ifdef NDEBUG
      false;
#else
      true;
#endif

  LimitOptions limits;
  SlotOptions slots;
  LeaseOptions leases;
  SessionOptions sessions;
  TimingOptions timing;
  RetentionOptions retention;
  SpaceOptions space;
};

inline Options Options::small() {
  Options options;
  options.limits.payload_bytes_max = 4'096;
  options.limits.history_events_max = 1'024;
  options.limits.batch = 8;
  options.limits.instance_batch_max = 16;
  options.limits.warm_instances = 16;
  options.limits.warm_bytes = std::size_t{128} * 1024;
  options.limits.requests_max = 32;
  options.limits.commands_a_turn_max = 64;
  options.limits.traces_a_turn_max = 8;
  options.limits.orchestrations_max = 16;
  options.limits.activities_max = 32;
  options.limits.notices_max = 8;
  options.limits.workers_max = 8;
  options.limits.devices_max = 8;
  options.limits.queue_messages_max = 16;
  options.sessions.max_sessions_per_worker = 16;
  options.slots.inline_activities = 8;
  options.slots.threads = 1;
  options.slots.cooperative = 2;
  return options;
}

inline Options Options::smallest() {
  Options options = small();
  options.limits.batch = 1;
  options.limits.instance_batch_max = 1;
  options.limits.requests_max = 1;
  options.limits.payload_bytes_max = 256;
  options.limits.history_events_max = 16;
  options.limits.commands_a_turn_max = 4;
  options.limits.traces_a_turn_max = 0;
  options.limits.orchestrations_max = 1;
  options.limits.activities_max = 1;
  options.limits.notices_max = 1;
  options.limits.workers_max = 2;
  options.limits.devices_max = 1;
  options.limits.queue_messages_max = 1;
  options.limits.kv_keys_max = 1;
  options.limits.warm_instances = 1;
  options.limits.warm_bytes = std::size_t{16} * 1024;
  options.sessions.max_sessions_per_worker = 10;
  options.slots.inline_activities = 1;
  options.slots.threads = 0;
  options.slots.cooperative = 0;
  options.slots.cooperative_scratch_bytes = 0;
  options.space.cache_pages = 16;
  options.space.checkpoint_pages = 64;
  options.space.log_bytes_max = 512 * 1024;
  return options;
}

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_OPTIONS_HPP

// Agenda: the jobs of the loop, and when each is due.
//
// Purpose: "is there work?" and "when does the loop wake next?" are one question to one array. A
// part of the loop states what it wants in its own entries. A part that makes work for another part
// sets the entry of that work and knows nothing of the other part. A new feature adds a job here
// and no further condition anywhere. Rejected: a flag and a due time in each part. The question was
// then asked in three places, each had to name every part, and they could disagree.
// Ownership: a plain value. Thread rule: the loop's thread. Units: boot time in milliseconds.
#ifndef PAWL_RUNTIME_AGENDA_HPP
#define PAWL_RUNTIME_AGENDA_HPP

#include <cstddef>
#include <cstdint>

#include "pawl/optional_ms.hpp"

namespace pawl {

enum class Job : std::uint8_t {
  kRegister,  // this worker has no row: it was not registered yet, or another worker buried it
  kBury,      // a process that this worker watches has ended
  kRenew,     // leases are to be renewed
  kDeclare,   // devices whose sessions were given up are to be declared again
  kCleanUp,   // sessions without work, and rows that dead workers left
  kRequests,  // calls of the application wait
  kResults,   // results of activities are to be stored
  kPressingResults,   // results that cannot wait for company
  kProgress,          // progress of activities is to be written
  kCheckHeld,         // activities in hand may have lost their lock
  kTurns,             // instances may be ready
  kFetch,             // work may be ready
  kMakeRoom,          // a session is idle for long enough to make room for one that waits
  kWakeUnregistered,  // work without a handler waited for a worker like this one
  kStoredDue,         // the earliest time in the database, and limits of activities in hand
  kConfirmClock,      // the wall clock can be trusted now
  kRetention,         // instances that have ended for long enough
  kSweep,             // rows of deleted trees
  kRelief,            // the quota or the disk is nearly used up
  kReserve,           // the reserve has to be made again
  kLeftToOthers,      // instances that are left to other workers will have waited for long enough
  kLookAtClock,       // is the wall clock trusted by now?
  kLook,              // did another process commit?
  kMachines,          // the connections of other machines' workers
  kObserve,           // an expired lease is watched
  kCutLog,            // a reader kept the log from being cut
  kInline,            // inline activities that are left
  kLeaseEnd,          // exclusive work may not go on
  kSteps,             // cooperative activities, and activities that overstay their grace
  kFolders,           // folders of ended sessions are to be looked for
  kListFolders,       // folders are being listed, or one is being removed
};
inline constexpr std::size_t kJobs = static_cast<std::size_t>(Job::kListFolders) + 1;

class Agenda {
 public:
  static constexpr std::int64_t kAtOnce = 0;

  // Reasons that hold jobs back; none: no job is held back.
  struct Holds {
    OptionalMs trouble;  // boot time; the storage failed, and is left alone until then
    OptionalMs pace;     // boot time; the loop gets nothing done (pace.hpp)
    OptionalMs company;  // boot time; end of TimingOptions::commit_window
  };
  enum class Which : std::uint8_t {
    kAll,
    kInBatch,     // done in a write transaction
    kBeforeNews,  // done before this worker looks for commits of others
  };

  void do_now(Job job) { of(job).due = kAtOnce; }
  void plan(Job job, OptionalMs boot_ms) { of(job).due = boot_ms; }
  void plan_earlier(Job job, OptionalMs boot_ms) { of(job).due.keep_earlier(boot_ms); }
  void set(Job job, bool now) { of(job).due = now ? OptionalMs(kAtOnce) : OptionalMs(); }
  void clear(Job job) { of(job).due.clear(); }
  // A blocked job stays planned, and is never due.
  void block(Job job, bool blocked) { of(job).blocked = blocked; }

  // Is the job planned, blocked or not?
  [[nodiscard]] bool wants(Job job) const { return of(job).due.has_value(); }
  [[nodiscard]] OptionalMs due(Job job) const { return of(job).due; }
  [[nodiscard]] bool is_due(Job job, std::int64_t now) const {
    return !of(job).blocked && of(job).due.has_passed(now);
  }

  // Time of the first due job; none: there is nothing to do.
  [[nodiscard]] OptionalMs next(Which which, const Holds& holds) const;
  // Name, for the log, of the first due job in the order of Job; null: no job is due.
  [[nodiscard]] const char* first_due(std::int64_t now) const;

 private:
  struct Entry {
    OptionalMs due;
    bool blocked = false;
  };
  [[nodiscard]] Entry& of(Job job) { return entries_[static_cast<std::size_t>(job)]; }
  [[nodiscard]] const Entry& of(Job job) const { return entries_[static_cast<std::size_t>(job)]; }

  Entry entries_[kJobs];
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_AGENDA_HPP

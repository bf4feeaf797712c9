// Agenda: what the loop has to do, and when.
//
// Purpose: "is there work?" and "when does the loop wake next?" are one question to one array. A
// part of the loop states what it wants in its entries; a part that makes work for another one sets
// the entry of that work and knows nothing of the part. A new feature adds a job here and no
// further condition anywhere. Rejected: a flag and a due time in each part. The question was then
// asked in three places, each had to name every part, and they could disagree.
// Ownership: a plain value. Thread rule: the loop's thread. Units: boot time in milliseconds.
#ifndef PAWL_RUNTIME_AGENDA_HPP
#define PAWL_RUNTIME_AGENDA_HPP

#include <cstddef>
#include <cstdint>

#include "pawl/optional_ms.hpp"

namespace pawl {

enum class Job : std::uint8_t {
  kRegister,           // this worker has no row: it was buried by others, or has not begun
  kBury,               // a process that we watch has ended
  kRenew,              // leases
  kCleanUp,            // sessions without work, and what others left
  kRequests,           // calls of the application
  kResults,            // of activities
  kPressingResults,    // that cannot wait for company
  kProgress,           // of activities, to be written
  kCheckHeld,          // activities in hand may have lost their lock
  kTurns,              // instances may be ready
  kFetch,              // work may be ready
  kMakeRoom,           // a session is idle for long enough to make room for one that waits
  kWakeUnregistered,   // work that waited for a worker that has its activity
  kStoredDue,          // the earliest time in the database, and limits of activities in hand
  kConfirmClock,       // the wall clock can be trusted now
  kRetention,          // instances that have ended for long enough
  kSweep,              // rows of deleted trees
  kRelief,             // the quota or the disk is nearly used up
  kReserve,            // the reserve has to be made again
  kYoungUnregistered,  // then instances without code here are old enough to be looked at
  kLookAtClock,        // is the wall clock trusted by now?
  kLook,               // did others commit?
  kObserve,            // an expired lease is watched
  kCutLog,             // a reader kept the log from being cut
  kInline,             // inline activities that are left
  kSteps,              // cooperative activities, and activities that overstay their grace
  kFolders,            // of sessions that have ended are to be looked for
  kListFolders,        // they are being listed, or one is being removed
};
inline constexpr std::size_t kJobs = static_cast<std::size_t>(Job::kListFolders) + 1;

class Agenda {
 public:
  static constexpr std::int64_t kAtOnce = 0;

  // The reason why jobs are blocked; none: no job is blocked.
  struct Holds {
    OptionalMs trouble;  // the store failed: it is left alone until then
    OptionalMs pace;     // the loop gets nothing done (pace.hpp)
    OptionalMs company;  // TimingOptions::commit_window
  };
  enum class Which : std::uint8_t {
    kAll,
    kInBatch,     // done in a write transaction
    kBeforeNews,  // done before this worker looks at what others committed
  };

  void do_now(Job job) { of(job).due = kAtOnce; }
  void plan(Job job, OptionalMs boot_ms) { of(job).due = boot_ms; }
  void plan_earlier(Job job, OptionalMs boot_ms) { of(job).due.keep_earlier(boot_ms); }
  void set(Job job, bool now) { of(job).due = now ? OptionalMs(kAtOnce) : OptionalMs(); }
  void clear(Job job) { of(job).due.clear(); }
  // A blocked job stays planned and is due at no time.
  void block(Job job, bool blocked) { of(job).blocked = blocked; }

  // Is it planned, blocked or not?
  [[nodiscard]] bool wants(Job job) const { return of(job).due.has_value(); }
  [[nodiscard]] OptionalMs due(Job job) const { return of(job).due; }
  [[nodiscard]] bool is_due(Job job, std::int64_t now) const {
    return !of(job).blocked && of(job).due.has_passed(now);
  }

  // When is the first job due? None: there is nothing to do.
  [[nodiscard]] OptionalMs next(Which which, const Holds& holds) const;
  // For the log: the name of the first job, in the order of Job, that is due; null: none.
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

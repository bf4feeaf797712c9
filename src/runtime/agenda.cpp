#include "runtime/agenda.hpp"

namespace pawl {
namespace {

struct Kind {
  const char* name;  // in the log
  Job job;
  bool before_news;        // done before this worker looks for commits of others
  bool in_batch;           // done in a write transaction
  bool waits_for_company;  // the commit window gathers it with other jobs
  bool is_pressing;        // done at once even in a loop that is slowed down
  bool needs_store;        // not done while the storage is in trouble
};

constexpr bool kYes = true;
constexpr bool kNo = false;

// In the order of Job.
constexpr Kind kKinds[] = {
    // name, job, before_news, in_batch, waits_for_company, is_pressing, needs_store
    {"register", Job::kRegister, kYes, kYes, kNo, kYes, kYes},
    {"bury", Job::kBury, kYes, kYes, kNo, kNo, kYes},
    {"renew", Job::kRenew, kYes, kYes, kNo, kNo, kYes},
    {"declare", Job::kDeclare, kYes, kYes, kNo, kNo, kYes},
    {"clean_up", Job::kCleanUp, kYes, kYes, kNo, kNo, kYes},
    {"requests", Job::kRequests, kYes, kYes, kNo, kYes, kYes},
    {"results", Job::kResults, kYes, kYes, kYes, kYes, kYes},
    {"pressing_results", Job::kPressingResults, kYes, kYes, kNo, kYes, kYes},
    {"progress", Job::kProgress, kYes, kYes, kNo, kYes, kYes},
    {"check_held", Job::kCheckHeld, kYes, kYes, kYes, kNo, kYes},
    {"turns", Job::kTurns, kNo, kYes, kYes, kNo, kYes},
    {"fetch", Job::kFetch, kNo, kYes, kYes, kNo, kYes},
    {"make_room", Job::kMakeRoom, kNo, kYes, kYes, kNo, kYes},
    {"wake_unregistered", Job::kWakeUnregistered, kNo, kYes, kYes, kNo, kYes},
    {"stored_due", Job::kStoredDue, kYes, kYes, kYes, kNo, kYes},
    {"confirm_clock", Job::kConfirmClock, kYes, kYes, kYes, kNo, kYes},
    {"retention", Job::kRetention, kNo, kYes, kYes, kNo, kYes},
    {"sweep", Job::kSweep, kNo, kYes, kYes, kNo, kYes},
    {"relief", Job::kRelief, kNo, kYes, kYes, kNo, kYes},
    {"reserve", Job::kReserve, kNo, kYes, kYes, kNo, kYes},
    {"left_to_others", Job::kLeftToOthers, kNo, kNo, kYes, kNo, kYes},
    {"look_at_clock", Job::kLookAtClock, kNo, kNo, kYes, kNo, kYes},
    {"look", Job::kLook, kNo, kNo, kYes, kNo, kYes},
    {"machines", Job::kMachines, kNo, kNo, kYes, kNo, kYes},
    {"observe", Job::kObserve, kNo, kNo, kYes, kNo, kYes},
    {"cut_log", Job::kCutLog, kNo, kNo, kYes, kNo, kYes},
    {"inline", Job::kInline, kNo, kNo, kNo, kYes, kNo},
    {"lease_end", Job::kLeaseEnd, kNo, kNo, kNo, kYes, kNo},
    {"steps", Job::kSteps, kNo, kNo, kNo, kYes, kNo},
    {"folders", Job::kFolders, kNo, kNo, kYes, kNo, kYes},
    {"list_folders", Job::kListFolders, kNo, kNo, kNo, kYes, kNo},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kJobs; ++i)
    if (static_cast<std::size_t>(kKinds[i].job) != i) return false;
  return true;
}
static_assert(sizeof kKinds / sizeof kKinds[0] == kJobs && is_in_order(), "one row a job");

void hold(OptionalMs until, std::int64_t* at) {
  if (until.has_value() && until.value() > *at) *at = until.value();
}

}  // namespace

OptionalMs Agenda::next(Which which, const Holds& holds) const {
  OptionalMs first;
  for (std::size_t i = 0; i < kJobs; ++i) {
    const Entry& entry = entries_[i];
    const Kind& kind = kKinds[i];
    if (!entry.due.has_value() || entry.blocked) continue;
    if ((which == Which::kInBatch && !kind.in_batch) ||
        (which == Which::kBeforeNews && !kind.before_news))
      continue;
    std::int64_t at = entry.due.value();
    if (kind.needs_store) hold(holds.trouble, &at);
    if (!kind.is_pressing) hold(holds.pace, &at);
    if (kind.waits_for_company) hold(holds.company, &at);
    first.keep_earlier(at);
  }
  return first;
}

const char* Agenda::first_due(std::int64_t now) const {
  for (const Kind& kind : kKinds)
    if (is_due(kind.job, now)) return kind.name;
  return nullptr;
}

}  // namespace pawl

#include "agenda.hpp"

namespace pawl {
namespace {

struct Kind {
  Job job;
  const char* name;        // in the log
  bool before_news;        // done before this worker looks at what others committed
  bool in_batch;           // done in a write transaction
  bool waits_for_company;  // a commit window gathers it with others
  bool is_pressing;        // done in a loop that is slowed down, too
  bool needs_store;        // left while the store is in trouble
};

constexpr bool kYes = true;
constexpr bool kNo = false;

// In the order of Job.
constexpr Kind kKinds[] = {
    // job, name, before_news, in_batch, waits_for_company, is_pressing, needs_store
    {Job::kRegister, "register", kYes, kYes, kNo, kYes, kYes},
    {Job::kBury, "bury", kYes, kYes, kNo, kNo, kYes},
    {Job::kRenew, "renew", kYes, kYes, kNo, kNo, kYes},
    {Job::kCleanUp, "clean_up", kYes, kYes, kNo, kNo, kYes},
    {Job::kRequests, "requests", kYes, kYes, kNo, kYes, kYes},
    {Job::kResults, "results", kYes, kYes, kYes, kYes, kYes},
    {Job::kPressingResults, "pressing_results", kYes, kYes, kNo, kYes, kYes},
    {Job::kProgress, "progress", kYes, kYes, kNo, kYes, kYes},
    {Job::kCheckHeld, "check_held", kYes, kYes, kYes, kNo, kYes},
    {Job::kTurns, "turns", kNo, kYes, kYes, kNo, kYes},
    {Job::kFetch, "fetch", kNo, kYes, kYes, kNo, kYes},
    {Job::kWakeUnregistered, "wake_unregistered", kNo, kYes, kYes, kNo, kYes},
    {Job::kStoredDue, "stored_due", kYes, kYes, kYes, kNo, kYes},
    {Job::kConfirmClock, "confirm_clock", kYes, kYes, kYes, kNo, kYes},
    {Job::kRetention, "retention", kNo, kYes, kYes, kNo, kYes},
    {Job::kSweep, "sweep", kNo, kYes, kYes, kNo, kYes},
    {Job::kRelief, "relief", kNo, kYes, kYes, kNo, kYes},
    {Job::kReserve, "reserve", kNo, kYes, kYes, kNo, kYes},
    {Job::kYoungUnregistered, "young_unregistered", kNo, kNo, kYes, kNo, kYes},
    {Job::kLookAtClock, "look_at_clock", kNo, kNo, kYes, kNo, kYes},
    {Job::kLook, "look", kNo, kNo, kYes, kNo, kYes},
    {Job::kObserve, "observe", kNo, kNo, kYes, kNo, kYes},
    {Job::kCutLog, "cut_log", kNo, kNo, kYes, kNo, kYes},
    {Job::kInline, "inline", kNo, kNo, kNo, kYes, kNo},
    {Job::kSteps, "steps", kNo, kNo, kNo, kYes, kNo},
    {Job::kFolders, "folders", kNo, kNo, kYes, kNo, kYes},
    {Job::kListFolders, "list_folders", kNo, kNo, kNo, kYes, kNo},
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

#include "agenda.hpp"

namespace pawl {
namespace {

struct Kind {
  Job job;
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
    // job, before_news, in_batch, waits_for_company, is_pressing, needs_store
    {Job::kRegister, kYes, kYes, kNo, kYes, kYes},
    {Job::kBury, kYes, kYes, kNo, kNo, kYes},
    {Job::kRenew, kYes, kYes, kNo, kNo, kYes},
    {Job::kCleanUp, kYes, kYes, kNo, kNo, kYes},
    {Job::kRequests, kYes, kYes, kNo, kYes, kYes},
    {Job::kResults, kYes, kYes, kYes, kYes, kYes},
    {Job::kPressingResults, kYes, kYes, kNo, kYes, kYes},
    {Job::kProgress, kYes, kYes, kNo, kYes, kYes},
    {Job::kCheckHeld, kYes, kYes, kYes, kNo, kYes},
    {Job::kTurns, kNo, kYes, kYes, kNo, kYes},
    {Job::kFetch, kNo, kYes, kYes, kNo, kYes},
    {Job::kWakeUnregistered, kNo, kYes, kYes, kNo, kYes},
    {Job::kStoredDue, kYes, kYes, kYes, kNo, kYes},
    {Job::kConfirmClock, kYes, kYes, kYes, kNo, kYes},
    {Job::kRetention, kNo, kYes, kYes, kNo, kYes},
    {Job::kSweep, kNo, kYes, kYes, kNo, kYes},
    {Job::kRelief, kNo, kYes, kYes, kNo, kYes},
    {Job::kReserve, kNo, kYes, kYes, kNo, kYes},
    {Job::kYoungUnregistered, kNo, kNo, kYes, kNo, kYes},
    {Job::kLookAtClock, kNo, kNo, kYes, kNo, kYes},
    {Job::kLook, kNo, kNo, kYes, kNo, kYes},
    {Job::kObserve, kNo, kNo, kYes, kNo, kYes},
    {Job::kCutLog, kNo, kNo, kYes, kNo, kYes},
    {Job::kInline, kNo, kNo, kNo, kYes, kNo},
    {Job::kSteps, kNo, kNo, kNo, kYes, kNo},
    {Job::kFolders, kNo, kNo, kYes, kNo, kYes},
    {Job::kListFolders, kNo, kNo, kNo, kYes, kNo},
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

}  // namespace pawl

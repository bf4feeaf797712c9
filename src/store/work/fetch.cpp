#include "store/work/fetch.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string_view>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "pawl/activity.hpp"
#include "store/session/moving_rules.hpp"
#include "store/sql/damage.hpp"
#include "store/work/eligibility_rules.hpp"
#include "store/work/work_sql.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::store {
namespace {

constexpr unsigned kExpiredLooksMax = 8;  // looks at locks, and at sessions, in one call

// Copies texts one after the other into a buffer of the caller.
struct TextsOut {
  char* at;
  std::size_t left;
  bool full = false;

  std::string_view put(std::string_view text) {
    full = full || text.size() > left;
    if (full) return {};
    if (!text.empty()) std::memcpy(at, text.data(), text.size());
    const std::string_view copy(at, text.size());
    at += text.size();
    left -= text.size();
    return copy;
  }
};

}  // namespace

// The state of one call of fetch_work_item().
struct WorkFetch::Fetch {
  enum class Verdict { kHandler, kInvalid, kNoRoom, kCorrupt, kDeleted, kTooLarge };
  const FetchWork& how;
  char* buffer;
  std::size_t capacity;
  WorkItem* out;
  bool* found;
  bool claims_open;  // not draining, and not yet found at capacity
  Verdict verdict = Verdict::kHandler;
  FixedText<kNameBytesMax> tag = {};  // the candidate's, or its session's
  std::size_t texts_bytes = 0;        // bytes of the buffer that the texts take
  bool strike = false;                // the takeover rests on suspicion, so it counts as a strike
  bool at_capacity = false;           // there is work that it could run but may not claim
  OptionalMs room_at = {};            // at_capacity lasts at least until then
  bool passed_over = false;           // a candidate was left where it is

  [[nodiscard]] int tag_branches() const {
    return how.tags.mode == TagFilter::Mode::kAny ? 1 : static_cast<int>(how.tags.count);
  }
  [[nodiscard]] bool is_open(int branch) const {
    // A draining worker takes nothing new, and serves the sessions that it could not hand away.
    if (how.draining) return branch == kOwned;
    return branch == kClaimable ? claims_open : branch != kFree || how.tags.serves({});
  }
};

struct WorkFetch::Candidate {
  WorkItemId id = 0;
  SessionKey session = 0;  // of a takeover
  int branch = kFree;
};

// NOLINTNEXTLINE(readability-non-const-parameter): what is handed over is written to it
Status WorkFetch::fetch_work_item(const FetchWork& how, char* buffer, std::size_t capacity,
                                  WorkItem* out, bool* found) {
  *found = false;
  if (how.look_again != nullptr) *how.look_again = false;
  const bool may_claim = !how.draining && how.options->max_sessions_per_worker > 0;
  Fetch fetch{how, buffer, capacity, out, found, may_claim};
  begin_scans();
  if (how.evidence != nullptr) {
    PAWL_TRY(take_expired_locks(fetch));
    if (!*found) PAWL_TRY(take_expired_sessions(fetch));
  }
  while (!*found) {
    Candidate candidate;
    PAWL_TRY(next_candidate(fetch, &candidate));
    if (candidate.id == 0) break;
    PAWL_TRY(try_candidate(fetch, candidate));
    Ahead& ahead = ahead_.in(context_);
    if (*found && candidate.branch == kFree)
      ++ahead.at;
    else
      ahead.holds = false;
  }
  PAWL_TRY(end_scans());
  if (how.look_again != nullptr) *how.look_again = rows_.unregistered.is_full();
  for (const BranchScan& scan : scans_)
    if (!*found && how.look_again != nullptr && scan.look_again()) *how.look_again = true;
  if (!*found && how.passed_over != nullptr) *how.passed_over = passes_over(fetch);
  if (*found || how.waiting == nullptr) return Status::kOk;
  *how.waiting = WaitingSessions();
  if (!fetch.at_capacity) return Status::kOk;
  how.waiting->room_at = fetch.room_at;
  return rows_.sessions.read_waiting(how.waiting);
}

void WorkFetch::begin_scans() {
  const ScanVersion version = {context_.others, context_.made_ready};
  for (BranchScan& scan : scans_)
    scan.begin_call(version);
}

constexpr auto kNewest =
    PAWL_QUERY("SELECT id FROM worker_queue WHERE id<?1 ORDER BY id DESC LIMIT 1");

// Work that comes from now on, and work that this batch has brought, has higher ids than all older
// work.
Status WorkFetch::end_scans() {
  WorkItemId newest = 0;
  for (BranchScan& scan : scans_) {
    if (!scan.crowded()) continue;
    if (newest == 0) {
      Statement read = connection_.use(kNewest);
      if (read.bind(kIndexedWorkFrom + context_.committed.token).row()) newest = read.integer(0);
      PAWL_TRY(fail(read.status(), "find the newest work"));
    }
    scan.leave_to_sweep(newest);
  }
  return Status::kOk;
}

bool WorkFetch::passes_over(const Fetch& fetch) const {
  bool any = fetch.at_capacity || fetch.passed_over;
  for (const BranchScan& scan : scans_)
    any = any || scan.in_use();
  return any;
}

// Takes the lowest id of all branches, so that no tag waits behind another.
Status WorkFetch::next_candidate(Fetch& fetch, Candidate* candidate) {
  bool goes_on = true;
  while (goes_on) {
    PAWL_TRY(first_untagged(fetch, candidate));
    for (int branch = kTagged; branch < kTagged + fetch.tag_branches(); ++branch)
      if (fetch.is_open(branch)) PAWL_TRY(first_tagged(fetch, branch, candidate));
    if (candidate->id != 0) return Status::kOk;
    goes_on = false;
    for (int branch = kFree; branch < kTagged + fetch.tag_branches(); ++branch)
      if (fetch.is_open(branch)) goes_on = scans_[branch].exhausted() || goes_on;
  }
  return Status::kOk;
}

Status WorkFetch::first_untagged(const Fetch& fetch, Candidate* candidate) {
  constexpr BranchScan::Range kNothing = {BranchScan::kIdMax, BranchScan::kIdMax};
  BranchScan::Range ranges[kSessionBranches];
  for (int branch = kFree; branch < kSessionBranches; ++branch)
    ranges[branch] = fetch.is_open(branch) ? scans_[branch].range() : kNothing;
  Ahead& ahead = ahead_.in(context_);
  const bool holds = ahead.holds && ahead.made_ready == made_ready() &&
                     ahead.claims_open == fetch.claims_open &&
                     (ahead.at < ahead.count || !ahead.more) &&
                     std::equal(std::begin(ranges), std::end(ranges), std::begin(ahead.ranges));
  if (!holds) PAWL_TRY(look_ahead(fetch, ranges, &ahead));
  ahead.heads[kFree] = ahead.at < ahead.count ? ahead.free[ahead.at] : 0;
  for (int branch = kFree; branch < kSessionBranches; ++branch) {
    const WorkItemId id = ahead.heads[branch];
    if (id != 0 && (candidate->id == 0 || id < candidate->id)) *candidate = {id, 0, branch};
  }
  return Status::kOk;
}

// One look finds items for all slots that are free, since nothing comes before them while they are
// handed over.
Status WorkFetch::look_ahead(const Fetch& fetch, const BranchScan::Range* ranges, Ahead* ahead) {
  *ahead = Ahead();
  ahead->claims_open = fetch.claims_open;
  ahead->made_ready = made_ready();
  std::copy_n(ranges, kSessionBranches, ahead->ranges);
  const std::size_t wanted = std::min(std::max<std::size_t>(fetch.how.wanted, 1), Ahead::kFreeMax);
  Statement next = connection_.use(kFetchSql);
  next.bind(fetch.how.me).bind(fetch.claims_open ? 1 : 0);
  for (int branch = kFree; branch < kSessionBranches; ++branch)
    next.bind(ranges[branch].after);
  for (int branch = kFree; branch < kSessionBranches; ++branch)
    next.bind(ranges[branch].until);
  next.bind(static_cast<std::int64_t>(wanted));
  while (next.row()) {
    const std::int64_t branch = next.integer(PAWL_COLUMN(kFetchSql, branch));
    const WorkItemId id = next.integer(PAWL_COLUMN(kFetchSql, id));  // 0 if null
    if (branch != kFree)
      ahead->heads[branch] = id;
    else
      ahead->free[ahead->count++] = id;
  }
  ahead->more = ahead->count == wanted;
  ahead->holds = true;
  PAWL_TRY(fail(next.status(), "find work"));
  read_candidates_ahead(*ahead);
  return Status::kOk;
}

Status WorkFetch::first_tagged(const Fetch& fetch, int branch, Candidate* candidate) {
  const bool any = fetch.how.tags.mode == TagFilter::Mode::kAny;
  const BranchScan::Range range = scans_[branch].range();
  Statement next = any ? connection_.use(kFetchTaggedSql) : connection_.use(kFetchTagSql);
  if (!any) next.bind_text(fetch.how.tags.set[branch - kTagged]);
  next.bind(range.after).bind(range.until);
  if (!next.row()) return fail(next.status(), "find tagged work");
  const WorkItemId id = next.integer(0);
  if (candidate->id == 0 || id < candidate->id) *candidate = {id, 0, branch};
  return Status::kOk;
}

// The candidate is not for this process, or not now: the branch offers another item.
void WorkFetch::pass_over(Fetch& fetch, const Candidate& candidate, bool waits) {
  fetch.passed_over = fetch.passed_over || waits;
  if (candidate.branch < kBranches) scans_[candidate.branch].passed_over(candidate.id, waits);
}

void WorkFetch::moved_away(const Candidate& candidate) {
  if (candidate.branch < kBranches) scans_[candidate.branch].moved_away();
}

// Hands the candidate over, or makes the next look find another.
Status WorkFetch::try_candidate(Fetch& fetch, const Candidate& candidate) {
  const Suspicion work(connection_, RowRef::Table::kWork, candidate.id);
  WorkRow row;
  const Status read = rows_.work.read_work(candidate.id, &row);
  if (read == Status::kNotFound) return repair_head(candidate);
  PAWL_TRY(read);
  rules::Take take = rules::Take::kYes;
  PAWL_TRY(may_take(fetch, candidate, row, &take));
  if (is_no_head(candidate, take)) return repair_head(candidate);
  if (row.damaged) {
    moved_away(candidate);
    return rows_.work.give_up_damaged(row);
  }
  switch (take) {
    case rules::Take::kYes:
    case rules::Take::kAfterClaim: return take_up(fetch, candidate, row, take);
    case rules::Take::kLetsGo:
      moved_away(candidate);
      return owners_.evict(row.session, SessionChange::Eviction::kBlocked);
    default: pass_over(fetch, candidate, true); return Status::kOk;
  }
}

Status WorkFetch::may_take(const Fetch& fetch, const Candidate& candidate, const WorkRow& row,
                           rules::Take* take) {
  const WorkFilter& filter = *fetch.how.filter;
  const rules::QueuedWork work = row.queued();
  const rules::SessionRow* const its = row.session == 0 ? nullptr : &row.its_session;
  const bool takes_over = candidate.branch == kTakeover && its != nullptr;
  rules::AskingWorker worker;
  worker.me = fetch.how.me;
  worker.runs_item = filter.runs_item(row.id);
  worker.may_run_beside = filter.may_run_with(row.crashes);
  *take =
      takes_over ? rules::may_take_over(work, *its, worker) : rules::may_take(work, its, worker);
  if (!rules::hangs_on_own_runs(*take, work, its)) return Status::kOk;
  PAWL_TRY(runs_here(filter, row, &worker.runs_session));
  *take =
      takes_over ? rules::may_take_over(work, *its, worker) : rules::may_take(work, its, worker);
  return Status::kOk;
}

// This worker may take the item, if it can run it.
Status WorkFetch::take_up(Fetch& fetch, const Candidate& candidate, const WorkRow& row,
                          rules::Take take) {
  PAWL_TRY(read_activity(fetch, row));
  if (fetch.verdict == Fetch::Verdict::kCorrupt) {
    moved_away(candidate);
    return rows_.work.complete_work(row, ErrorKind::kCorrupt, context_.diagnostic.text());
  }
  if (fetch.verdict == Fetch::Verdict::kDeleted) {
    moved_away(candidate);
    return rows_.work.delete_work(row.id, row.session);
  }
  if (fetch.verdict == Fetch::Verdict::kInvalid) return unhandled(fetch, candidate, row);
  if (fetch.verdict == Fetch::Verdict::kTooLarge) return stop_too_large(fetch, candidate, row);
  const bool is_held = take == rules::Take::kAfterClaim && batch_.moves_are_held &&
                       row.its_session.exclusive;  // F15a
  if (fetch.verdict == Fetch::Verdict::kNoRoom || is_held) {
    pass_over(fetch, candidate, true);
    return Status::kOk;
  }
  return take == rules::Take::kAfterClaim ? claim(fetch, candidate, row) : hand_over(fetch, row);
}

constexpr auto kSessionOfOwnedHead = PAWL_QUERY(
    "SELECT sid FROM sessions\fINDEXED BY s_owned\rWHERE owner=?2"
    " AND head_id=?1 AND head_id IS NOT NULL AND state=",
    sql::number<rules::State::kOpen>, " LIMIT 1");
constexpr auto kSessionOfHead = PAWL_QUERY(
    "SELECT sid FROM sessions\fINDEXED BY s_claim\rWHERE head_id=?1"
    " AND head_id IS NOT NULL AND owner IS NULL AND hard=0 AND state=",
    sql::number<rules::State::kOpen>, " LIMIT 1");

// The row's head_id does not name the head of the session.
bool WorkFetch::is_no_head(const Candidate& candidate, rules::Take take) {
  if (candidate.branch != kOwned && candidate.branch != kClaimable) return false;
  switch (take) {
    case rules::Take::kNotNext:
    case rules::Take::kNotMine:
    case rules::Take::kNotOpen: return true;
    case rules::Take::kAfterClaim: return candidate.branch == kOwned;
    default: return false;
  }
}

// For a session whose row names a head that is not its work, or is not ready.
Status WorkFetch::repair_head(const Candidate& candidate) {
  moved_away(candidate);
  SessionKey session = candidate.session;
  if (session == 0) {
    Statement find = candidate.branch == kOwned ? connection_.use(kSessionOfOwnedHead)
                                                : connection_.use(kSessionOfHead);
    find.bind(candidate.id);
    if (candidate.branch == kOwned) find.bind(context_.batch_worker);
    if (!find.row()) return fail(find.status(), "find the session of a head");
    session = find.integer(0);
  }
  return rows_.sessions.recompute_head(session);
}

// Compares by name: while the old work still runs, the session's row may have been closed or swept,
// and made anew.
Status WorkFetch::runs_here(const WorkFilter& filter, const WorkRow& row, bool* runs) {
  SessionTexts texts;
  PAWL_TRY(rows_.events.describe(row.session, &texts));
  *runs = filter.runs_session(row.session_scope, texts.name.view());
  return Status::kOk;
}

constexpr auto kActivity = PAWL_QUERY(
    "SELECT "
    "h.prev,h.kind,h.branch,h.ordinal,h.ref,h.time,h.meta,h.crc,i.id,i.name,s.name,h.payload,"
    "i.version,q.progress," PAWL_IS_THERE
    " AS is_there,s.tag,i.trace"
    " FROM worker_queue q LEFT JOIN instances i ON i.key=q.instance" PAWL_EVENT_OF(
        "q") " LEFT JOIN sessions s ON s.sid=q.sid WHERE q.id=?1");

void WorkFetch::read_candidates_ahead(const Ahead& ahead) {
  for (std::size_t at = 0; at < ahead.count; ++at) {
    rows_.work.read_work_ahead(ahead.free[at]);
    sql::read_ahead(connection_, kActivity, ahead.free[at]);
  }
}

// Reads the verdict on a row and its texts. The input is touched only for a process that can run
// it.
Status WorkFetch::read_activity(Fetch& fetch, const WorkRow& row) {
  Statement read = connection_.use(kActivity);
  read.bind(row.id);
  if (!read.row()) return no_row(read, Status::kCorrupt, "read activity");
  if (read.integer(PAWL_COLUMN(kActivity, is_there)) == 0) {
    fetch.verdict = Fetch::Verdict::kDeleted;
    return Status::kOk;
  }
  Event event;
  event.id = row.event;
  event.kind = static_cast<EventKind>(read.integer(PAWL_COLUMN(kActivity, h.kind)));
  event.branch = static_cast<BranchId>(read.integer(PAWL_COLUMN(kActivity, h.branch)));
  event.ordinal = static_cast<Ordinal>(read.integer(PAWL_COLUMN(kActivity, h.ordinal)));
  event.ref = static_cast<EventId>(read.integer(PAWL_COLUMN(kActivity, h.ref)));
  event.time_ms = read.integer(PAWL_COLUMN(kActivity, h.time));
  std::optional<HistoryRow> prev;
  if (!read.is_null(PAWL_COLUMN(kActivity, h.prev)))
    prev = read.integer(PAWL_COLUMN(kActivity, h.prev));
  Status decoded = Status::kCorrupt;
  if (event.kind == EventKind::kActivity)
    decoded = context_.read_meta(read.bytes(PAWL_COLUMN(kActivity, h.meta)), &event);
  fetch.verdict = Fetch::Verdict::kInvalid;
  if (decoded == Status::kOk)
    fetch.tag.assign_cut(event.tag.empty() ? read.bytes(PAWL_COLUMN(kActivity, s.tag)) : event.tag);
  if (decoded == Status::kOk &&
      !(fetch.how.tags.serves(fetch.tag.view()) && fetch.how.filter->has_handler(event.name))) {
    fetch.out->activity_name = event.name;  // points into meta_text
    fetch.out->tag = fetch.tag.view();
    return Status::kOk;
  }
  if (decoded == Status::kOk && !fetch.how.filter->has_room(event.name)) {
    fetch.verdict = Fetch::Verdict::kNoRoom;
    return Status::kOk;
  }
  event.payload = read.bytes(PAWL_COLUMN(kActivity, h.payload));
  if (decoded != Status::kOk ||
      event_crc(row.instance, row.execution, prev, event,
                read.bytes(PAWL_COLUMN(kActivity, h.meta))) !=
          static_cast<std::uint32_t>(read.integer(PAWL_COLUMN(kActivity, h.crc)))) {
    fetch.verdict = Fetch::Verdict::kCorrupt;
    context_.diagnostic.format(
        "the stored event %" PRIu32 " of execution %" PRId64
        " of the instance, an activity, cannot be read: its form or checksum is wrong",
        row.event, row.execution);
    return Status::kOk;
  }
  for (const int name : {PAWL_COLUMN(kActivity, i.id), PAWL_COLUMN(kActivity, i.name),
                         PAWL_COLUMN(kActivity, s.name), PAWL_COLUMN(kActivity, i.version)})
    if (read.bytes(name).size() > kNameBytesMax) fetch.verdict = Fetch::Verdict::kCorrupt;
  if (read.bytes(PAWL_COLUMN(kActivity, q.progress)).size() > kProgressBytesMax)
    fetch.verdict = Fetch::Verdict::kCorrupt;
  if (fetch.verdict == Fetch::Verdict::kCorrupt) {
    context_.diagnostic.format(
        "a stored name, or the stored progress of the activity, is too long");
    return Status::kOk;
  }
  fetch.verdict = Fetch::Verdict::kHandler;
  TextsOut texts{fetch.buffer, fetch.capacity};
  fetch.out->instance_id = texts.put(read.bytes(PAWL_COLUMN(kActivity, i.id)));
  fetch.out->orchestration_name = texts.put(read.bytes(PAWL_COLUMN(kActivity, i.name)));
  fetch.out->orchestration_version = texts.put(read.bytes(PAWL_COLUMN(kActivity, i.version)));
  fetch.out->trace =
      texts.put(cut_text(read.bytes(PAWL_COLUMN(kActivity, i.trace)), kTraceIdBytesMax));
  fetch.out->activity_name = texts.put(event.name);
  fetch.out->session_info.name = texts.put(read.bytes(PAWL_COLUMN(kActivity, s.name)));
  fetch.out->tag = texts.put(fetch.tag.view());
  fetch.out->input = texts.put(event.payload);
  fetch.out->last_progress = texts.put(read.bytes(PAWL_COLUMN(kActivity, q.progress)));
  fetch.texts_bytes = fetch.capacity - texts.left;
  if (!texts.full) return Status::kOk;
  fetch.verdict = Fetch::Verdict::kTooLarge;
  fetch.out->activity_name = event.name;  // points into meta_text
  context_.diagnostic.format("the input of activity %.*s (event %" PRIu32
                             ") has %zu bytes, more than this worker's payload_bytes_max allows",
                             static_cast<int>(event.name.size()), event.name.data(), row.event,
                             event.payload.size());
  return Status::kOk;
}

// This process has no handler for the item, or does not serve its tag. A worker that can run it
// gets it; if there is none, the item waits out of the way until such a worker registers. It waits
// there too if others could run it, but none of them has its device.
Status WorkFetch::unhandled(Fetch& fetch, const Candidate& candidate, const WorkRow& row) {
  const std::string_view name = fetch.out->activity_name;
  const std::string_view tag = fetch.out->tag;
  rules::Unhandled facts;
  facts.takes_over = candidate.branch == kTakeover;
  facts.is_owned = candidate.branch == kOwned;
  facts.device = row.its_session.device;
  facts.unregistered = row.unregistered;
  facts.may_mark_unregistered = !rows_.unregistered.is_full();
  if (!facts.takes_over)
    PAWL_TRY(rows_.workers.handler_elsewhere(name, tag, fetch.how.me, row.session != 0,
                                             &facts.is_elsewhere));
  if (rules::needs_session_runs(facts)) {
    rules::Running running;
    PAWL_TRY(rows_.sessions.has_running(row.session, &running));
    facts.session_runs = running.any();
  }
  switch (rules::unhandled(facts)) {
    case rules::UnhandledTurn::kLeave: return Status::kOk;
    case rules::UnhandledTurn::kPassOver: pass_over(fetch, candidate, false); return Status::kOk;
    case rules::UnhandledTurn::kWait: pass_over(fetch, candidate, true); return Status::kOk;
    case rules::UnhandledTurn::kRelease:
      moved_away(candidate);
      return owners_.release(row.session, "no_handler");
    case rules::UnhandledTurn::kPutBack: {
      moved_away(candidate);
      PutBack how;
      how.delay_ms = rules::unregistered_delay_ms(row.unregistered);
      how.unregistered = true;
      return rows_.work.put_back(row, how);
    }
    case rules::UnhandledTurn::kMarkUnregistered: break;
  }
  // The item has left its branch, so it does not count as one of the branch's bounded looks.
  if (!facts.is_elsewhere && context_.sink != nullptr)
    context_.sink->on_unregistered(name, tag, row.instance, row.event);
  return rows_.unregistered.park_work(row, name);
}

// The process that scheduled the item had a larger limit. The instance stops until a worker with a
// larger limit registers; the item waits for that under the activity's name, outside of the queue.
Status WorkFetch::stop_too_large(Fetch& fetch, const Candidate& candidate, const WorkRow& row) {
  const Diagnostic why = context_.diagnostic;
  moved_away(candidate);
  PAWL_TRY(rows_.unregistered.park_work(row, fetch.out->activity_name));
  const Status stopped = batches_.quarantine_instance(row.instance, ErrorKind::kLimit, why.text());
  return stopped == Status::kNotFound ? Status::kOk : stopped;
}

// Capacity limits claims only. Expired sessions that this worker still owns count.
Status WorkFetch::may_claim(Fetch& fetch, const WorkRow& row, bool* may) {
  *may = false;
  if (!fetch.claims_open) return Status::kOk;
  const std::int64_t most = fetch.how.options->max_sessions_per_worker;
  std::int64_t owned = 0;
  PAWL_TRY(rows_.sessions.count_owned(fetch.how.me, most, &owned));
  if (!rules::has_room(owned, most) && fetch.how.options->evict_idle_ms > 0) {
    bool released = false;
    PAWL_TRY(make_room(fetch, row, &released));
    if (released) PAWL_TRY(rows_.sessions.count_owned(fetch.how.me, most, &owned));
  }
  fetch.claims_open = rules::has_room(owned, most);
  fetch.at_capacity = !fetch.claims_open;
  *may = fetch.claims_open;
  return Status::kOk;
}

// Every look meets the first waiting item, until a worker takes it; so only that one is noted.
Status WorkFetch::make_room(Fetch& fetch, const WorkRow& row, bool* released) {
  const std::int64_t idle_ms = fetch.how.options->evict_idle_ms;
  if (met_.item != row.id) met_ = {row.id, batch_.now};
  bool is_elsewhere = false;
  PAWL_TRY(rows_.workers.room_elsewhere(fetch.out->activity_name, fetch.tag.view(), fetch.how.me,
                                        &is_elsewhere));
  const OptionalMs until = rules::left_to_others_until(is_elsewhere, met_.at, idle_ms);
  if (until.has_value() && !until.has_passed(batch_.now)) {
    fetch.room_at = until;
    return Status::kOk;
  }
  return owners_.make_room(fetch.how.me, idle_ms, released, &fetch.room_at);
}

constexpr auto kReadHead = PAWL_QUERY("SELECT head_id FROM sessions WHERE sid=?1");

Status WorkFetch::claim(Fetch& fetch, const Candidate& candidate, const WorkRow& row) {
  bool may = false;
  PAWL_TRY(may_claim(fetch, row, &may));
  if (!may) return Status::kOk;
  OwnerChange change;
  change.session = row.session;
  change.to = fetch.how.me;
  change.lease_ms = fetch.how.options->session_lock_timeout_ms;
  change.strike = fetch.strike;
  change.limits = fetch.how.limits;
  WorkRow claimed = row;
  PAWL_TRY(owners_.change_owner(change, &claimed.session_epoch));
  if (claimed.session_epoch == 0) return Status::kOk;  // the session was lost, and its work with it
  if (candidate.branch != kTakeover) return hand_over(fetch, claimed);
  // Locks of the session have ended, so its head may be another item now, or the item was poisoned.
  Candidate head{0, row.session, kOwned};
  {
    Statement read = connection_.use(kReadHead);
    read.bind(row.session);
    if (!read.row()) return fail(read.status(), "read a session's head");
    head.id = read.integer(0);
  }
  return head.id == 0 ? Status::kOk : try_candidate(fetch, head);
}

constexpr auto kTouchSession = PAWL_QUERY(
    "UPDATE sessions SET last_activity_at=?2,activities=activities+1,epoch_used=epoch,"
    "folder_root=coalesce(?3,folder_root) WHERE sid=?1");

Status WorkFetch::hand_over(Fetch& fetch, const WorkRow& row) {
  const WorkerTerms& options = *fetch.how.options;
  WorkItem& out = *fetch.out;
  out.session_info.summary = {};
  out.claimed_now = row.session != 0 && row.epoch_used != row.session_epoch;
  if (out.claimed_now) {
    bool damaged = false;
    PAWL_TRY(rows_.sessions.read_summary(row.session, fetch.buffer + fetch.texts_bytes,
                                         fetch.capacity - fetch.texts_bytes,
                                         &out.session_info.summary, &damaged));
    if (damaged)
      return rows_.work.complete_work(row, ErrorKind::kCorrupt, context_.diagnostic.text());
  }
  out.token = context_.next_token();
  out.locked_until = rules::lease_until(batch_.now, options.worker_lock_timeout_ms);
  const std::int64_t run_ms = row.policy.start_to_close_ms;
  const OptionalMs run_due = run_ms == 0 ? OptionalMs() : make_due(batch_.now, run_ms);
  out.deadline = run_due;
  out.deadline.keep_earlier(row.limits.close_due);
  out.silence_ms = row.policy.heartbeat_timeout_ms;
  const WorkLock lock = {out.token, fetch.how.me, row.session_epoch, out.locked_until};
  WorkWrite write;
  write.state = rules::WorkState::kLocked;
  write.lock = &lock;
  write.run_due = run_due;
  if (out.silence_ms != 0) write.silent_due = make_due(batch_.now, out.silence_ms);
  write.ends_start_due = true;
  write.attempts = 1;
  write.unregistered = -row.unregistered;
  Sha256 token_hash;
  if (fetch.how.filter->draw_token(out.activity_name, row.id, &token_hash))
    write.token_hash = token_hash.view();
  PAWL_TRY(rows_.work.write_state(row.id, write));
  if (out.claimed_now && row.session_scope != 0) PAWL_TRY(rows_.events.report_use(row.session));
  if (row.session != 0) {
    {
      Statement touch = connection_.use(kTouchSession);
      touch.bind(row.session).bind(batch_.now);
      touch.bind_text_or_null(fetch.how.folder_root);
      PAWL_TRY(fail(touch.run(), "note a session's activity"));
    }
    PAWL_TRY(rows_.sessions.recompute_head(row.session));
  }
  out.id = row.id;
  out.instance = row.instance;
  out.execution = row.execution;
  out.event = row.event;
  out.session = row.session;
  out.session_info.scope = row.session_scope;
  out.session_info.generation = row.session_generation;
  out.epoch = row.session_epoch;
  out.exclusive = row.its_session.exclusive;
  out.session_info.ends_with_lease = context_.file.shared_clock() != nullptr &&
                                     (row.its_session.exclusive || row.its_session.device);
  out.attempt = row.attempt + 1;
  out.retry_attempt = static_cast<std::int32_t>(row.failures) + 1;
  out.may_retry = row.may_retry();
  out.crashes = row.crashes;
  *fetch.found = true;
  return Status::kOk;
}

#define PAWL_LOCK_COLUMNS                                                                  \
  "q.id,q.inc,q.state,(w.buried<>0) IS NOT FALSE AS buried,(w.lock_visible=1) IS TRUE AS " \
  "lock_visible,q.locked_until,coalesce(w.locked_until,0) AS worker_until,q.boot_seq,q.token"
// A lock lasts as long as the lease of its worker, at least. The lock of a cancelled item has a
// lease of its own, and so has one of this worker: if this process does not run the item, only the
// answer to its commit was lost.
#define PAWL_LOCK_EXPIRED                                                                \
  "q.locked_until<=?1 AND (q.inc=?4 OR w.inc IS NULL OR w.buried<>0 OR w.locked_until<=" \
  "?1 OR q.state=",                                                                      \
      sql::number<rules::WorkState::kCancelledRunning>, ")"
constexpr auto kLockColumns = sql::Columns(PAWL_LOCK_COLUMNS);
constexpr auto kNextExpiredLock = PAWL_QUERY(
    "SELECT " PAWL_LOCK_COLUMNS
    " FROM worker_queue q\fINDEXED BY wq_locked\r"
    "LEFT JOIN workers w ON w.inc=q.inc WHERE q.id>=",
    sql::number<kIndexedWorkFrom>, " AND q.state IN (",
    sql::number<rules::WorkState::kLocked, rules::WorkState::kCancelledRunning>,
    ") AND " PAWL_LOCK_EXPIRED " AND (q.locked_until,q.id)>(?2,?3) ORDER BY q.locked_until,q.id");
// The same for items below kIndexedWorkFrom, which wq_locked does not hold; the order is by id.
constexpr auto kNextExpiredAtOnce = PAWL_QUERY(
    "SELECT " PAWL_LOCK_COLUMNS
    " FROM worker_queue q LEFT JOIN workers w ON w.inc=q.inc WHERE q.id>?3 AND q.id<",
    sql::number<kIndexedWorkFrom>, " AND q.state=", sql::number<rules::WorkState::kLocked>,
    " AND " PAWL_LOCK_EXPIRED " AND ?2 IS NOT NULL ORDER BY q.id");

// Ends locks, also those of cancelled running items, that are past their lease: of holders that are
// gone, and this worker's own if this process does not run the item (the answer to a commit was
// lost). At most kExpiredLooksMax looks a call, in rotation, and each lock once a batch: no time
// passes within a batch, so neither the locks nor the evidence get older.
Status WorkFetch::take_expired_locks(Fetch& fetch) {
  unsigned looks = 0;
  PAWL_TRY(take_expired_locks_of(fetch, kNextExpiredAtOnce, expired_at_once_, looks));
  return take_expired_locks_of(fetch, kNextExpiredLock, expired_lock_, looks);
}

Status WorkFetch::take_expired_locks_of(Fetch& fetch, sql::QueryRef query, ExpiredLocks& scan,
                                        unsigned& looks) {
  for (; looks < kExpiredLooksMax && !scan.all_seen.in(context_) && !*fetch.found; ++looks) {
    Claim lock;
    WorkItemId item = 0;
    {
      Statement next = connection_.use(query);
      next.bind(batch_.now).bind(scan.until).bind(scan.item).bind(fetch.how.me);
      // An item that runs here is no look: a worker may have long work in all its slots.
      do {
        if (!next.row()) {
          scan.until = kBeforeAll;
          scan.item = 0;
          scan.all_seen.in(context_) = true;
          return fail(next.status(), "find expired locks");
        }
        item = next.integer(PAWL_COLUMN(kLockColumns, q.id));
        lock.holder = next.integer(PAWL_COLUMN(kLockColumns, q.inc));
      } while (lock.holder == fetch.how.me && fetch.how.filter->runs_item(item));
      lock.buried = next.integer(PAWL_COLUMN(kLockColumns, buried)) != 0;
      lock.lock_visible = next.integer(PAWL_COLUMN(kLockColumns, lock_visible)) != 0;
      lock.boot_seq = next.integer(PAWL_COLUMN(kLockColumns, q.boot_seq));
      lock.version = next.integer(PAWL_COLUMN(kLockColumns, q.token));
      scan.until = next.integer(PAWL_COLUMN(kLockColumns, q.locked_until));
      scan.item = item;
      lock.locked_until =
          rules::lock_lease(rules::work_state_of(next.integer(PAWL_COLUMN(kLockColumns, q.state))),
                            scan.until, next.integer(PAWL_COLUMN(kLockColumns, worker_until)));
    }
    PAWL_TRY(take_expired_lock(fetch, lock, item));
  }
  return Status::kOk;
}

Status WorkFetch::take_expired_lock(Fetch& fetch, const Claim& lock, WorkItemId item) {
  WorkRow row;
  PAWL_TRY(rows_.work.read_work(item, &row));
  rules::ExpiredLockFacts facts;
  facts.state = row.state;
  facts.has_session = row.session != 0;
  facts.is_own = lock.holder == fetch.how.me;
  facts.runs_here = fetch.how.filter->runs_item(item);
  Gone gone = Gone::kNo;
  if (rules::needs_evidence(facts))
    gone = fetch.how.evidence->gone(lock, fetch.how.me, batch_.now, batch_.boot_seq);
  const rules::ExpiredLock verdict = rules::look_at_expired_lock(facts, gone);
  switch (verdict) {
    case rules::ExpiredLock::kStays: return Status::kOk;
    case rules::ExpiredLock::kGoesWithSession:
      return take_expired_session(fetch, Candidate{item, row.session, kTakeover});
    case rules::ExpiredLock::kDelete: return rows_.work.delete_work(item, row.session);
    case rules::ExpiredLock::kUnlock:
    case rules::ExpiredLock::kUnlockWithStrike: break;
  }
  return rows_.work.unlock_work(item, row.session, verdict == rules::ExpiredLock::kUnlockWithStrike,
                                fetch.how.limits);
}

// Goes along the workers whose leases have ended, which are few, and along the sessions of each
// that have work.
constexpr auto kNextExpiredSession = PAWL_QUERY(
    "SELECT s.head_id,s.sid,w.inc FROM workers w\fINDEXED BY w_living\r\fCROSS\r"
    "JOIN sessions s\fINDEXED BY s_owned\rON s.owner=w.inc WHERE w.buried=0 AND w.inc>=?2"
    " AND w.inc<>?4 AND w.sessions_until<=?1 AND s.head_id IS NOT NULL AND s.state=",
    sql::number<rules::State::kOpen>,
    " AND s.head_id>iif(w.inc=?2,?3,0) AND s.locked_until<=?1 AND s.hard=0"
    " ORDER BY w.inc,s.head_id LIMIT 1");

Status WorkFetch::take_expired_sessions(Fetch& fetch) {
  ExpiredSessions& scan = expired_session_;
  for (unsigned looks = 0; looks < kExpiredLooksMax && !scan.all_seen.in(context_) &&
                           fetch.claims_open && !*fetch.found;
       ++looks) {
    Candidate candidate{0, 0, kTakeover};
    {
      Statement next = connection_.use(kNextExpiredSession);
      next.bind(batch_.now).bind(scan.owner).bind(scan.head).bind(fetch.how.me);
      if (!next.row()) {
        scan.owner = 0;
        scan.head = 0;
        scan.all_seen.in(context_) = true;
        return fail(next.status(), "find expired sessions");
      }
      candidate.id = next.integer(0);
      candidate.session = next.integer(1);
      scan.owner = next.integer(2);
      scan.head = candidate.id;
    }
    PAWL_TRY(take_expired_session(fetch, candidate));
  }
  return Status::kOk;
}

// Takes the session over if its owner is gone and this process can run the candidate.
Status WorkFetch::take_expired_session(Fetch& fetch, const Candidate& candidate) {
  Claim claim;
  const Status read = rows_.sessions.session_claim(candidate.session, &claim);
  if (read == Status::kNotFound) return Status::kOk;
  PAWL_TRY(read);
  const Gone gone = fetch.how.evidence->gone(claim, fetch.how.me, batch_.now, batch_.boot_seq);
  if (gone == Gone::kNo) return Status::kOk;
  // A session that is lost needs neither room nor a handler.
  rules::SessionRow row;
  PAWL_TRY(rows_.sessions.read_row(candidate.session, &row));
  if (rules::fails_on_owner_loss(row)) return owners_.release(candidate.session, "taken over");
  fetch.strike = gone == Gone::kSuspicion;
  return try_candidate(fetch, candidate);
}

}  // namespace pawl::store

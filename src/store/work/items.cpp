#include "store/work/items.hpp"

#include <cstddef>
#include <cstdint>

#include "codec/policy.hpp"
#include "core/check.hpp"
#include "core/clock_rules.hpp"
#include "store/instance/rows.hpp"
#include "store/row_rules.hpp"
#include "store/session/admission_rules.hpp"
#include "store/work/arguments.hpp"
#include "store/work/eligibility_rules.hpp"
#include "store/work/work_row.hpp"
#include "store/work/work_sql.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl::store {
constexpr auto kInsert = PAWL_QUERY(
    "INSERT INTO worker_queue(instance,execution,event,event_row,sid,gen,state,attempt,crashes,"
    "strikes,reboots,unregistered,id,tag,due,waits_for)"
    " VALUES(?1,?2,?3,?10,?4,(SELECT gen FROM sessions WHERE sid=?4),?7,0,0,0,0,0,?5,?6,?8,?9)");

Status WorkItems::insert_work(InstanceKey instance, ExecutionId execution, const NewWork& work,
                              HistoryRow row) {
  if (work.handed_over != nullptr) {
    PAWL_TRY(insert_handed_over(instance, execution, work, row));
    if (work.handed_over->id != 0) return Status::kOk;
  }
  ActivityPolicy options;
  if (!work.policy.empty() && !decode_policy(work.policy, &options))
    return fail(Status::kInvalidArgument, "read a policy");
  AdmittedWork to;
  PAWL_TRY(session_of_work(instance, work, options, &to));
  if (to.why != ErrorKind::kNone) {
    // The refusal is the activity's outcome; the next turn takes it.
    WorkRow refused;
    refused.instance = instance;
    refused.execution = execution;
    refused.event = work.event;
    return rows_.work.store_outcome(refused, to.why, to.text.view());
  }
  bool waits = false;
  if (!work.unregistered_name.empty() && !to.due.has_value())
    PAWL_TRY(rows_.unregistered.must_wait(instance, work, to.session, &waits));
  // The id comes from the counter of tokens, whose row is written ahead; AUTOINCREMENT would touch
  // one more page.
  const WorkItemId id = kIndexedWorkFrom + context_.next_token();
  {
    Statement insert = connection_.use(kInsert);
    insert.bind(instance).bind(execution).bind(work.event);
    to.session == 0 ? insert.bind_null() : insert.bind(to.session);
    const bool is_ready = !to.due.has_value() && !waits;
    insert.bind(id).bind_text_or_null(work.tag).bind(
        stored(is_ready ? rules::WorkState::kReady : rules::WorkState::kDelayed));
    insert.bind_due(to.due, kWorkComes);
    insert.bind_text_or_null(waits ? work.unregistered_name : std::string_view());
    insert.bind(row);
    PAWL_TRY(fail(insert.run(), "schedule an activity"));
  }
  if (!work.policy.empty()) PAWL_TRY(set_policy(id, work.policy, options));
  ++context_.made_ready;
  return to.session == 0 ? Status::kOk : rows_.sessions.recompute_head(to.session);
}

constexpr auto kFindHeld = PAWL_QUERY(
    "SELECT sid,epoch,gen,state,hard,excl,owner,head_id,epoch_used,tag,EXISTS(SELECT 1 FROM"
    " worker_queue q\fINDEXED BY wq_barrier\rWHERE q.sid=sessions.sid AND q.barrier IS NOT NULL)"
    " AS has_barrier,limits IS NOT NULL AS has_limits FROM sessions WHERE scope=0 AND name=?1");
constexpr auto kInsertHandedOver = PAWL_QUERY(
    "INSERT INTO worker_queue(instance,execution,event,state,attempt,crashes,strikes,reboots,"
    "unregistered,id,token,inc,epoch,locked_until,boot_seq,sid,gen,event_row)"
    " VALUES(?1,?2,?3,",
    sql::number<rules::WorkState::kLocked>, ",1,0,0,0,0,?4,?5,?6,?7,?8,?9,?10,?11,?12)");

// Does in one write what a fetch would do next. The item is never ready, so no index of ready items
// gets it.
Status WorkItems::insert_handed_over(InstanceKey instance, ExecutionId execution,
                                     const NewWork& work, HistoryRow event_row) {
  PAWL_CHECK("store-33", work.policy.empty() && work.tag.empty());
  WorkItem& item = *work.handed_over;
  std::int64_t generation = 0;
  if (!work.session.empty()) {
    Statement find = connection_.use(kFindHeld);
    find.bind_text(work.session);
    if (!find.row()) return fail(find.status(), "find a session");
    rules::SessionRow row;
    row.state = rules::state_of(find.integer(PAWL_COLUMN(kFindHeld, state)));
    row.device = find.integer(PAWL_COLUMN(kFindHeld, hard)) != 0;
    row.exclusive = find.integer(PAWL_COLUMN(kFindHeld, excl)) != 0;
    if (!find.is_null(PAWL_COLUMN(kFindHeld, owner)))
      row.owner = find.integer(PAWL_COLUMN(kFindHeld, owner));
    rules::AtOnce facts;
    facts.has_head = !find.is_null(PAWL_COLUMN(kFindHeld, head_id));
    facts.is_first_use = find.integer(PAWL_COLUMN(kFindHeld, epoch_used)) !=
                         find.integer(PAWL_COLUMN(kFindHeld, epoch));
    facts.has_tag = !find.is_null(PAWL_COLUMN(kFindHeld, tag));
    facts.has_barrier = find.integer(PAWL_COLUMN(kFindHeld, has_barrier)) != 0;
    facts.has_limits = find.integer(PAWL_COLUMN(kFindHeld, has_limits)) != 0;
    if (!rules::may_hand_over_at_once(row, facts, context_.batch_worker)) return Status::kOk;
    item.session_info.ends_with_lease =
        context_.file.shared_clock() != nullptr && (row.exclusive || row.device);
    item.session = find.integer(PAWL_COLUMN(kFindHeld, sid));
    item.epoch = find.integer(PAWL_COLUMN(kFindHeld, epoch));
    generation = find.integer(PAWL_COLUMN(kFindHeld, gen));
  }
  item.id = context_.next_token();
  // Items of a session are found by its index, in the order of scheduling, so their ids lie in the
  // indexed range.
  if (item.session != 0) item.id += kIndexedWorkFrom;
  item.token = context_.next_token();
  {
    Statement insert = connection_.use(kInsertHandedOver);
    insert.bind(instance).bind(execution).bind(work.event).bind(item.id).bind(item.token);
    insert.bind(context_.batch_worker)
        .bind(item.epoch)
        .bind(item.locked_until)
        .bind(batch_.boot_seq);
    insert.bind_or_null(item.session).bind_or_null(generation).bind(event_row);
    PAWL_TRY(fail(insert.run(), "hand an activity over"));
  }
  return item.session == 0 ? Status::kOk : rows_.sessions.count_activity(item.session);
}

Status WorkItems::session_of_work(InstanceKey instance, const NewWork& work,
                                  const ActivityPolicy& options, AdmittedWork* out) {
  if (work.session.empty()) return Status::kOk;
  InstanceKey scope = options.own_session ? instance : 0;
  if (!options.own_session) {
    SharedRow shared;
    PAWL_TRY(
        moves_.session_for(instance, work.session, {options.device, options.exclusive}, &shared));
    out->session = shared.session;
    if (shared.is_open && !shared.has_limits) return Status::kOk;
  } else if (!work.opened_by.empty()) {
    PAWL_TRY(rows_.sessions.find_opener(work.opened_by, &scope));
  }
  Opened row;
  const Status found = rows_.sessions.read_opened(scope, work.session, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  out->session = row.session;
  PAWL_TRY(rows_.events.describe_refusal(row, found == Status::kOk, &out->why, &out->text));
  if (out->why != ErrorKind::kNone) return Status::kOk;
  const rules::LimitOf limit =
      options.own_session ? rules::LimitOf::kItself : limit_of(row.limited_by, instance);
  PAWL_TRY(openings_.admit_work(row, limit, out));
  if (!out->begins_anew) return Status::kOk;
  PAWL_TRY(openings_.begin_anew_after_limit(row.session, "the session has had max_activities"));
  PAWL_TRY(rows_.sessions.read_opened(scope, work.session, &row));
  return openings_.admit_work(row, limit, out);
}

constexpr auto kSetPolicy = PAWL_QUERY(
    "UPDATE worker_queue SET policy=?2,failures=0,start_due=?3,close_due=?4,unavailable_due=?5,"
    "barrier=?6 WHERE id=?1",
    kWorkComes);

Status WorkItems::set_policy(WorkItemId item, std::string_view policy,
                             const ActivityPolicy& options) {
  Statement set = connection_.use(kSetPolicy);
  set.bind(item).bind_text(policy);
  for (const std::int64_t limit_ms :
       {options.schedule_to_start_ms, options.schedule_to_close_ms, options.unavailable_ms})
    limit_ms == 0 ? set.bind_null() : set.bind(make_due(batch_.now, limit_ms));
  options.barrier ? set.bind(1) : set.bind_null();
  return fail(set.run(), "keep a policy");
}

Status WorkItems::check_work_item(const WorkDone& done) {
  WorkRow row;
  PAWL_TRY(rows_.work.read_work(done.item, &row));
  if (row.state == rules::WorkState::kCancelledRunning) return Status::kNotFound;
  return check_row(row, done, 0);
}

void WorkItems::read_done_ahead(const WorkDone& done) {
  if (done.session == 0)
    rows_.work.read_hand_over_ahead(done.item);
  else
    rows_.work.read_work_ahead(done.item);
}

Status WorkItems::check_done(const WorkDone& done, InstanceKey instance) {
  if (done.session == 0) return check_plain(done, instance);
  WorkRow row;
  const Status read = rows_.work.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  return check_row(row, done, instance);
}

// Work without a session is most work, and four columns of its row say all.
Status WorkItems::check_plain(const WorkDone& done, InstanceKey instance) {
  InstanceKey of = 0;
  rules::LastHandOver last;
  const Status read = rows_.work.read_hand_over(done.item, &of, &last);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  const bool fits = rules::accepts(last, returned(done)) && of == instance;
  return fits ? Status::kOk : Status::kStale;
}

Status WorkItems::check_row(const WorkRow& row, const WorkDone& done, InstanceKey instance) {
  checked_.in(context_) = {row.id, row.its_session.exclusive || row.policy.barrier,
                           rules::is_open(row.its_session.state)};
  const bool fits = rules::accepts(row.handed_over(), returned(done)) &&
                    (instance == 0 || row.instance == instance);
  return fits ? Status::kOk : Status::kStale;
}

Status WorkItems::ack_work_item(const WorkDone& done, const WorkResult& result) {
  WorkRow row;
  const Status read = rows_.work.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  const rules::AttemptResult how = {{result.error, result.permanent}, done.abort_session};
  const rules::Acknowledged verdict =
      rules::acknowledge(row.handed_over(), returned(done), how, row.policy.retry, row.failures);
  if (verdict == rules::Acknowledged::kStale) return Status::kStale;
  if (verdict == rules::Acknowledged::kCancelledEnded)
    return rows_.work.delete_work(row.id, row.session);
  PAWL_TRY(rows_.sessions.note_activity(row.session));
  if (verdict == rules::Acknowledged::kRetries) return rows_.work.retry_work(row, result.payload);
  PAWL_TRY(rows_.work.complete_work(row, result.error, result.payload));
  return verdict == rules::Acknowledged::kAborts ? owners_.abort_session(row.session) : Status::kOk;
}

Status WorkItems::take_work(Span<const WorkDone> done) {
  for (const WorkDone& one : done)
    PAWL_TRY(take_item(one));
  // An abort takes the next epoch, under which no other result of the session would be current.
  for (std::size_t i = 0; i < done.size(); ++i) {
    bool aborts = done[i].abort_session && done[i].session != 0;
    for (std::size_t before = 0; before < i && aborts; ++before)
      aborts = !(done[before].abort_session && done[before].session == done[i].session);
    if (aborts) PAWL_TRY(owners_.abort_session(done[i].session));
  }
  return Status::kOk;
}

Status WorkItems::take_item(const WorkDone& done) {
  if (done.session == 0) return rows_.work.delete_work(done.item, 0);
  if (checked_.in(context_).item != done.item) PAWL_TRY(check_done(done, 0));
  PAWL_TRY(rows_.sessions.note_activity(done.session));
  // In an open session that is not exclusive, nothing depends on the row of a handed-over item.
  const bool stands_alone = !checked_.in(context_).exclusive && checked_.in(context_).open;
  return stands_alone ? rows_.work.delete_row(done.item)
                      : rows_.work.delete_work(done.item, done.session);
}

constexpr auto kNoteProgress =
    PAWL_QUERY("UPDATE worker_queue SET progress=coalesce(?2,progress),silent_due=?3 WHERE id=?1");

Status WorkItems::note_progress(const WorkDone& done, std::string_view progress, std::int64_t at) {
  WorkRow row;
  const Status read = rows_.work.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (!rules::accepts(row.handed_over(), returned(done))) return Status::kStale;
  Statement note = connection_.use(kNoteProgress);
  note.bind(row.id);
  note.bind_blob_or_null(progress);
  const std::int64_t silence_ms = row.policy.heartbeat_timeout_ms;
  note.bind_due(silence_ms == 0 ? OptionalMs() : make_due(at, silence_ms), kWorkComes);
  return fail(note.run(), "note the progress of work");
}

Status WorkItems::abandon_work_item(const WorkDone& done, std::int64_t delay_ms, bool strike,
                                    const CrashLimits& limits) {
  WorkRow row;
  const Status read = rows_.work.read_work(done.item, &row);
  if (read == Status::kNotFound) return Status::kStale;
  PAWL_TRY(read);
  if (rules::ends_cancelled(row.handed_over(), returned(done)))
    return rows_.work.delete_work(row.id, row.session);
  if (!rules::accepts(row.handed_over(), returned(done))) return Status::kStale;
  PutBack how;
  how.delay_ms = delay_ms;
  how.strike = strike;
  PAWL_TRY(rows_.work.put_back(row, how));
  return strike ? rows_.work.poison_if_at_limit(row.id, limits) : Status::kOk;
}

namespace {

bool passes(const WorkInfo& info, const WorkListFilter& filter) {
  return (filter.name.empty() || info.name == filter.name.view()) &&
         (filter.tag.empty() || info.tag == filter.tag.view()) &&
         (filter.session.empty() || info.session == filter.session.view()) &&
         (filter.instance_id.empty() || info.instance_id == filter.instance_id.view()) &&
         (!filter.state.has_value() || info.state == *filter.state);
}

}  // namespace

constexpr auto kListWork = PAWL_QUERY(
    "SELECT q.id,i.id,q.execution,q.event,q.state,q.attempt,s.name,q.tag,w.node,"
    "q.waits_for IS NOT NULL AS is_unserved,h.meta,q.outside_stamp," PAWL_IS_THERE
    " AS is_there FROM worker_queue AS q"
    " LEFT JOIN instances AS i ON i.key=q.instance LEFT JOIN sessions AS s ON s.sid=q.sid"
    " LEFT JOIN workers AS w ON w.inc=q.inc" PAWL_EVENT_OF("q") " WHERE q.id>?1 AND q.state<>",
    sql::number<rules::WorkState::kCancelledRunning>, " ORDER BY q.id");

Status WorkItems::list_work(const WorkListFilter& filter, Page* page, WorkVisitor& visitor) {
  if (page->rows_max == 0) {
    context_.diagnostic.format("a page of no work");
    return Status::kInvalidArgument;
  }
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  Statement row = connection_.use(kListWork);
  row.bind(page->after);
  page->more = true;
  std::size_t reported = 0;
  for (std::size_t looks = 0; looks < kListLooksMax && reported < page->rows_max; ++looks) {
    if (!row.row()) {
      page->more = false;
      break;
    }
    if (row.integer(PAWL_COLUMN(kListWork, q.id)) <= page->after) return no_progress("work");
    page->after = row.integer(PAWL_COLUMN(kListWork, q.id));
    // This check is not in the statement, so that a page looks at a bounded number of rows however
    // large a deleted tree is.
    if (row.integer(PAWL_COLUMN(kListWork, is_there)) == 0) continue;
    WorkInfo info;
    info.key = row.integer(PAWL_COLUMN(kListWork, q.id));
    info.instance_id = row.bytes(PAWL_COLUMN(kListWork, i.id));
    info.execution_id = row.integer(PAWL_COLUMN(kListWork, q.execution));
    info.activity_id = row.integer(PAWL_COLUMN(kListWork, q.event));
    info.name = context_.activity_name(row.bytes(PAWL_COLUMN(kListWork, h.meta)));
    info.state = public_state(row.integer(PAWL_COLUMN(kListWork, q.state)));
    info.outside_since_ms = row.integer(PAWL_COLUMN(kListWork, q.outside_stamp));
    info.attempt = row.integer(PAWL_COLUMN(kListWork, q.attempt));
    info.session = row.bytes(PAWL_COLUMN(kListWork, s.name));
    info.tag = row.bytes(PAWL_COLUMN(kListWork, q.tag));
    if (info.state == ActivityState::kRunning)
      info.node = row.bytes(PAWL_COLUMN(kListWork, w.node));
    info.is_unserved = row.integer(PAWL_COLUMN(kListWork, is_unserved)) != 0;
    if (!passes(info, filter)) continue;
    visitor.on_work(info);
    ++reported;
  }
  return fail(row.status(), "list work");
}

}  // namespace pawl::store

#include "work_schedule.hpp"

#include <cstdint>

#include "admission.hpp"
#include "check.hpp"
#include "clock_rules.hpp"
#include "eligibility.hpp"
#include "evidence.hpp"
#include "policy.hpp"
#include "work_queue.hpp"
#include "work_row.hpp"
#include "work_sql.hpp"

namespace pawl::store {

constexpr sql::Query kInsert{
    "INSERT INTO worker_queue(instance,execution,event,sid,gen,state,attempt,crashes,strikes,"
    "reboots,unregistered,id,tag,due,waits_for)"
    " VALUES(?1,?2,?3,?4,(SELECT gen FROM sessions WHERE sid=?4),?7,0,0,0,0,0,?5,?6,?8,?9)"};

Status WorkSchedule::insert_work(InstanceKey instance, ExecutionId execution, const NewWork& work) {
  if (work.handed_over != nullptr) {
    PAWL_TRY(insert_handed_over(instance, execution, work));
    if (work.handed_over->id != 0) return Status::kOk;
  }
  ActivityPolicy options;
  if (!work.policy.empty() && !decode_policy(work.policy, &options))
    return fail(Status::kInvalidArgument, "read a policy");
  Admission to;
  PAWL_TRY(session_of_work(instance, work, options, &to));
  if (to.why != ErrorKind::kNone) {
    // The refusal is the activity's outcome; the next turn takes it.
    WorkRow row;
    row.instance = instance;
    row.execution = execution;
    row.event = work.event;
    return outcomes_.store_outcome(row, to.why, to.text.view());
  }
  bool waits = false;
  if (!work.unregistered_name.empty() && !to.due.has_value())
    PAWL_TRY(unregistered_.must_wait(instance, work, to.session, &waits));
  // The id comes from the counter of tokens, whose row is written ahead; AUTOINCREMENT would touch
  // one more page.
  const WorkItemId id = kIndexedWorkFrom + context_.next_token();
  {
    Statement insert = connection_.use(kInsert);
    insert.bind(instance).bind(execution).bind(work.event);
    to.session == 0 ? insert.bind_null() : insert.bind(to.session);
    const bool is_ready = !to.due.has_value() && !waits;
    insert.bind(id).bind_text_or_null(work.tag).bind(
        stored(is_ready ? session::WorkState::kReady : session::WorkState::kDelayed));
    insert.bind_due(to.due, kWorkComes);
    waits ? insert.bind_text(work.unregistered_name) : insert.bind_null();
    PAWL_TRY(fail(insert.run(), "schedule an activity"));
  }
  if (!work.policy.empty()) PAWL_TRY(set_policy(id, work.policy, options));
  ++context_.made_ready;
  return to.session == 0 ? Status::kOk : sessions_.recompute_head(to.session);
}

constexpr sql::Query kFindHeld{
    "SELECT sid,epoch,gen,state,hard,excl,owner,head_id,epoch_used,tag,EXISTS(SELECT 1 FROM"
    " worker_queue q\fINDEXED BY wq_barrier\rWHERE q.sid=sessions.sid AND q.barrier IS NOT NULL),"
    "limits IS NOT NULL FROM sessions WHERE scope=0 AND name=?1"};
constexpr auto kInsertHandedOverText = sql::join(
    "INSERT INTO worker_queue(instance,execution,event,state,attempt,crashes,strikes,reboots,"
    "unregistered,id,token,inc,epoch,locked_until,boot_seq,sid,gen)"
    " VALUES(?1,?2,?3,",
    sql::number<session::WorkState::kLocked>, ",1,0,0,0,0,?4,?5,?6,?7,?8,?9,?10,?11)");
constexpr sql::Query kInsertHandedOver{kInsertHandedOverText};

// Does in one write what a fetch would do next. The item is never ready, so no index of ready items
// gets it.
Status WorkSchedule::insert_handed_over(InstanceKey instance, ExecutionId execution,
                                        const NewWork& work) {
  PAWL_CHECK("store-33", work.policy.empty() && work.tag.empty());
  WorkItem& item = *work.handed_over;
  std::int64_t generation = 0;
  if (!work.session.empty()) {
    Statement find = connection_.use(kFindHeld);
    find.bind_text(work.session);
    if (!find.row()) return fail(find.status(), "find a session");
    session::SessionRow row;
    row.state = session::state_of(find.integer(3));
    row.device = find.integer(4) != 0;
    row.exclusive = find.integer(5) != 0;
    if (!find.is_null(6)) row.owner = find.integer(6);
    session::AtOnce facts;
    facts.has_head = !find.is_null(7);
    facts.is_first_use = find.integer(8) != find.integer(1);
    facts.has_tag = !find.is_null(9);
    facts.has_barrier = find.integer(10) != 0;
    facts.has_limits = find.integer(11) != 0;
    if (!session::may_hand_over_at_once(row, facts, context_.batch_worker)) return Status::kOk;
    item.session = find.integer(0);
    item.epoch = find.integer(1);
    generation = find.integer(2);
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
    insert.bind_or_null(item.session).bind_or_null(generation);
    PAWL_TRY(fail(insert.run(), "hand an activity over"));
  }
  return item.session == 0 ? Status::kOk
                           : sessions_.count_activity(item.session, work.session_lease_until);
}

Status WorkSchedule::session_of_work(InstanceKey instance, const NewWork& work,
                                     const ActivityPolicy& options, Admission* out) {
  if (work.session.empty()) return Status::kOk;
  InstanceKey scope = options.own_session ? instance : 0;
  if (!options.own_session) {
    SharedRow shared;
    PAWL_TRY(
        moves_.session_for(instance, work.session, {options.device, options.exclusive}, &shared));
    out->session = shared.session;
    if (shared.is_open && !shared.has_limits) return Status::kOk;
  } else if (!work.opened_by.empty()) {
    PAWL_TRY(sessions_.find_opener(work.opened_by, &scope));
  }
  Opened row;
  const Status found = sessions_.read_opened(scope, work.session, &row);
  if (found != Status::kNotFound) PAWL_TRY(found);
  out->session = row.session;
  PAWL_TRY(events_.describe_refusal(row, found == Status::kOk, &out->why, &out->text));
  if (out->why != ErrorKind::kNone) return Status::kOk;
  const session::LimitOf limit =
      options.own_session ? session::LimitOf::kItself : limit_of(row.limited_by, instance);
  PAWL_TRY(session_limits_.admit_work(row, limit, out));
  if (!out->begins_anew) return Status::kOk;
  PAWL_TRY(openings_.begin_anew_after_limit(row.session, "the session has had max_activities"));
  PAWL_TRY(sessions_.read_opened(scope, work.session, &row));
  return session_limits_.admit_work(row, limit, out);
}

constexpr sql::Query kSetPolicy{
    "UPDATE worker_queue SET policy=?2,failures=0,start_due=?3,close_due=?4,unavailable_due=?5,"
    "barrier=?6 WHERE id=?1",
    kWorkComes};

Status WorkSchedule::set_policy(WorkItemId item, std::string_view policy,
                                const ActivityPolicy& options) {
  Statement set = connection_.use(kSetPolicy);
  set.bind(item).bind_text(policy);
  for (const std::int64_t limit_ms :
       {options.schedule_to_start_ms, options.schedule_to_close_ms, options.unavailable_ms})
    limit_ms == 0 ? set.bind_null() : set.bind(make_due(batch_.now, limit_ms));
  options.barrier ? set.bind(1) : set.bind_null();
  return fail(set.run(), "keep a policy");
}

}  // namespace pawl::store

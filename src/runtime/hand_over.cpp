#include "runtime/hand_over.hpp"

#include "core/check.hpp"
#include "runtime/outside.hpp"

namespace pawl {
namespace {

constexpr std::size_t kWokenMax = 64;  // items in one tick
constexpr std::int64_t kLogWaitingMs = 60'000;
constexpr std::int64_t kEvictionsMs = 60'000;

}  // namespace

void HandOver::plan() {
  const bool takes_none = loop_.draining || !loop_.takes_activities() || slots_.rooms() == 0;
  loop_.agenda.block(Job::kFetch, takes_none);
  loop_.agenda.block(Job::kMakeRoom, takes_none);
  loop_.agenda.block(Job::kWakeUnregistered, takes_none);
}

Status HandOver::write() {
  if (loop_.draining || loop_.wants_quiet || !loop_.takes_activities()) return Status::kOk;
  look_for_room();
  // Work that waited for its handlers may begin here again after a drain.
  if (was_draining_ && !loop_.batch.draining) loop_.agenda.do_now(Job::kWakeUnregistered);
  was_draining_ = loop_.batch.draining;
  if (loop_.agenda.wants(Job::kFetch)) PAWL_TRY(fill_slots());
  return loop_.agenda.wants(Job::kWakeUnregistered) ? wake_unregistered() : Status::kOk;
}

// Sessions wait, and a session of this worker has been idle for long enough by now. A session that
// ended needs no such look: its end makes waiting work ready.
void HandOver::look_for_room() {
  if (!loop_.agenda.is_due(Job::kMakeRoom, loop_.boot_ms())) return;
  loop_.agenda.clear(Job::kMakeRoom);
  loop_.agenda.do_now(Job::kFetch);
}

// Ready work comes first, but at least one waiting item wakes, so that both get their share.
Status HandOver::wake_unregistered() {
  loop_.agenda.clear(Job::kWakeUnregistered);
  if (loop_.batch.draining) return Status::kOk;  // until this worker registers anew
  std::size_t woken = 0;
  bool more = false;
  PAWL_TRY(loop_.work().unregistered.wake_unregistered(loop_.me, passed_over_ ? 1 : kWokenMax,
                                                       &woken, &more));
  loop_.agenda.set(Job::kWakeUnregistered, more);
  if (woken > 0) loop_.agenda.do_now(Job::kFetch);
  return Status::kOk;
}

Status HandOver::fill_slots() {
  has_looked_ = true;
  FetchWork how;
  how.me = loop_.me;
  how.draining = loop_.batch.draining;
  how.options = &loop_.terms;
  how.filter = this;
  how.tags = loop_.options.worker_tag_filter;
  how.evidence = &loop_.evidence;
  how.limits = loop_.crash_limits();
  if (loop_.options.sessions.work_root.has_value())
    how.folder_root = loop_.options.sessions.work_root->view();
  bool more = false;
  how.look_again = &more;
  how.waiting = &waiting_;
  how.passed_over = &passed_over_;
  passed_over_ = true;
  for (how.wanted = slots_.rooms(); how.wanted > 0; how.wanted = slots_.rooms()) {
    WorkItem item;
    bool found = false;
    PAWL_TRY(loop_.work().fetch.fetch_work_item(how, slots_.buffer(), slots_.buffer_bytes(), &item,
                                                &found));
    if (!found) {
      loop_.agenda.set(Job::kFetch, more);
      break;
    }
    const Registry::ActivityEntry* const entry = loop_.registry.find_activity(item.activity_name);
    PAWL_CHECK("runtime-40", entry != nullptr);  // has_handler() accepted the name
    FixedText<kFolderPathBytesMax> folder;
    folders_.put_path(item, &folder);
    item.session_info.folder = folder.view();
    internal::Slot& slot = take_slot(item, *entry);
    slot.result.secret = drawn_;
    if (item.silence_ms > 0)
      slot.silent_boot_ms = loop_.place().boot_ms_of(loop_.batch.now + item.silence_ms);
    if (item.deadline.has_value())
      slot.deadline_boot_ms = loop_.place().boot_ms_of(item.deadline.value());
  }
  // A loop that ended for want of slots sets no job: the later call that finds nothing reports what
  // was passed over.
  return Status::kOk;
}

internal::Slot& HandOver::take_slot(const WorkItem& item, const Registry::ActivityEntry& entry) {
  internal::Slot& slot = slots_.take(item, entry, loop_.store->database_id());
  slot.in_batch.fetched = true;
  return slot;
}

bool HandOver::may_hand_over(const Turn& turn, const NewWork& work, const Event& event,
                             const Registry::ActivityEntry* entry) const {
  if (loop_.agenda.wants(Job::kFetch) || passed_over_ || loop_.draining || loop_.batch.draining ||
      loop_.wants_quiet || turn.commit.end != EndKind::kNone || !turn.commit.closed.empty())
    return false;
  // The folder of a session has to exist first, and its name is in a row that is not read here.
  const bool is_plain = work.policy.empty() && work.tag.empty() &&
                        (work.session.empty() || !loop_.options.sessions.work_root.has_value()) &&
                        event.payload.size() <= loop_.options.limits.payload_bytes_max;
  // A token's hash is written with a fetch.
  return is_plain && entry != nullptr && entry->outside == nullptr &&
         loop_.options.worker_tag_filter.serves({}) && slots_.room(entry->mode) && may_run_with(0);
}

// If this worker need not look for work, and passed over none for want of a slot, then no work
// waits that it could take, and newly scheduled work is the first. After an item that is not handed
// over here, this worker looks for work as usual.
void HandOver::hand_over_at_once(Turn& turn) {
  for (std::size_t i = 0; i < turn.commit.work.size(); ++i) {
    NewWork& work = turn.work[i];
    const Event& event = turn.commit.events->event(work.event);
    const Registry::ActivityEntry* const entry = loop_.registry.find_activity(event.name);
    if (!may_hand_over(turn, work, event, entry)) {
      loop_.agenda.do_now(Job::kFetch);
      return queue_rest(turn, i);
    }
    WorkItem item;
    item.locked_until = loop_.batch.now + loop_.terms.worker_lock_timeout_ms;
    item.instance = turn.commit.key;
    item.execution = turn.commit.execution;
    item.event = work.event;
    item.attempt = 1;
    item.may_retry = ActivityOptions().retry.max_attempts > 1;
    item.instance_id = turn.commit.id;
    item.orchestration_name = turn.item->name.view();
    item.orchestration_version =
        turn.commit.begun.version.empty() ? turn.item->version.view() : turn.commit.begun.version;
    item.trace = turn.commit.trace;
    item.activity_name = event.name;
    item.session_info.name = work.session;
    item.input = event.payload;
    work.handed_over = &take_slot(item, *entry).item;
  }
}

// Marks work without a handler here, so that it does not block this worker's queue. A worker that
// takes no activities marks none.
void HandOver::queue_rest(Turn& turn, std::size_t first) {
  if (!loop_.takes_activities()) return;
  for (std::size_t i = first; i < turn.commit.work.size(); ++i) {
    const Event& event = turn.commit.events->event(turn.work[i].event);
    if (!has_handler(event.name)) turn.work[i].unregistered_name = event.name;
  }
}

// A turn that was not written has handed nothing over. In a written turn, an item has no id if
// another worker owns its session.
void HandOver::settle(const Turn& turn) {
  for (std::size_t i = 0; !turn.written && i < turn.result_count; ++i)
    turn.results[i]->in_batch.leaving = false;
  for (std::size_t i = 0; i < turn.commit.work.size(); ++i) {
    const WorkItem* const item = turn.work[i].handed_over;
    if (item == nullptr || (turn.written && item->id != 0)) continue;
    slots_.for_each([&](internal::Slot& slot) {
      if (&slot.item == item) slots_.release(slot);
    });
  }
}

// Leaves out an activity without its folder: it does not run.
void HandOver::audit() {
  if (!loop_.options.sessions.audit_activities) return;
  slots_.for_each([&](const internal::Slot& slot) {
    if (!slot.in_batch.fetched || slot.item.session == 0 || slot.lacks_folder) return;
    SessionLabels labels;
    const Status read = loop_.session().rows.read_labels(slot.item.session, &labels);
    if (read != Status::kOk) loop_.log_status(LogLevel::kWarning, "session_labels_unread", read);
    loop_.log(LogLevel::kInfo, "session_prompt",
              {{"session", slot.item.session_info.name},
               {"instance", slot.item.instance_id},
               {"activity", slot.item.activity_name},
               {"owner", labels.owner.view()},
               {"kind", labels.kind.view()},
               {"epoch", slot.item.epoch},
               {"attempt", slot.item.attempt}},
              slot.item.trace);
  });
}

// capacity_exhausted counts each look that leaves sessions waiting.
void HandOver::committed() {
  loop_.stats.sessions_waiting = static_cast<std::uint32_t>(waiting_.count);
  if (waiting_.count > 0 && has_looked_) ++loop_.stats.capacity_exhausted;
  if (has_looked_) {
    OptionalMs room_at;
    if (waiting_.count > 0 && waiting_.room_at.has_value())
      room_at = loop_.place().boot_ms_of(waiting_.room_at.value());
    loop_.agenda.plan(Job::kMakeRoom, room_at);
  }
  has_looked_ = false;
  log_waiting();
  count_evictions();
}

// An evicted session must warm up again, so many evictions in a minute mean that the limit is too
// low. The loop wakes for its leases anyway, so the minute needs no wake-up of its own.
void HandOver::count_evictions() {
  const std::int64_t now = loop_.boot_ms();
  if (!evictions_until_.has_value()) {
    if (loop_.stats.sessions_evicted_idle != evictions_before_)
      evictions_until_ = now + kEvictionsMs;
    return;
  }
  if (!evictions_until_.has_passed(now)) return;
  const std::uint64_t count = loop_.stats.sessions_evicted_idle - evictions_before_;
  evictions_before_ = loop_.stats.sessions_evicted_idle;
  loop_.stats.sessions_evicted_idle_minute = static_cast<std::uint32_t>(count);
  if (count == 0) return evictions_until_.clear();
  evictions_until_ = now + kEvictionsMs;
  loop_.log(LogLevel::kWarning, "sessions_evicted_idle",
            {{"count", static_cast<std::int64_t>(count)},
             {"max_sessions_per_worker",
              static_cast<std::int64_t>(loop_.options.sessions.max_sessions_per_worker)}});
}

// Logs when waiting begins, each minute while it lasts, and when it ends. The loop wakes for its
// leases anyway, so a line needs no wake-up of its own.
void HandOver::log_waiting() {
  const bool waits = waiting_.count > 0;
  const std::int64_t now = loop_.boot_ms();
  const bool is_new = waits != log_waiting_at_.has_value();
  if (!is_new && !log_waiting_at_.has_passed(now)) return;
  if (is_new && !waits) log_waiting_at_.clear();
  if (waits) log_waiting_at_ = now + kLogWaitingMs;
  const LogField fields[] = {
      {"sessions", static_cast<std::int64_t>(waiting_.count)},
      {"max_sessions_per_worker",
       static_cast<std::int64_t>(loop_.options.sessions.max_sessions_per_worker)},
      {"session", waiting_.session.view()},
      {"instance", waiting_.instance.view()},
      {"waits_ms", waiting_.for_ms}};
  loop_.log(LogLevel::kWarning, waits ? "waiting_for_capacity" : "capacity_again", fields,
            waits ? 5 : 2);
}

bool HandOver::has_handler(std::string_view activity_name) const {
  if (!loop_.takes_activities()) return false;
  const Registry::ActivityEntry* const entry = loop_.registry.find_activity(activity_name);
  if (entry == nullptr) return false;
  return slots_.slots_of(entry->mode) > 0;
}

bool HandOver::has_room(std::string_view activity_name) const {
  const Registry::ActivityEntry* const entry = loop_.registry.find_activity(activity_name);
  return entry != nullptr && slots_.room(entry->mode);
}

bool HandOver::draw_token(std::string_view activity_name, WorkItemId id, Sha256* hash) const {
  const Registry::ActivityEntry* const entry = loop_.registry.find_activity(activity_name);
  if (entry == nullptr || entry->outside == nullptr) return false;
  entry->outside->draw(*loop_.port.clock, id, &drawn_, hash);
  return true;
}

bool HandOver::runs_item(WorkItemId id) const { return slots_.find(id) != nullptr; }

bool HandOver::runs_session(InstanceKey scope, std::string_view name) const {
  return slots_.holds_session(scope, name);
}

bool HandOver::may_run_with(std::int32_t crashes) const {
  std::size_t crashed = 0;
  std::int32_t highest = 0;
  slots_.crashed_in_hand(&crashed, &highest);
  if (crashed > 0 && highest >= loop_.options.limits.crashes_max - 1) return false;
  if (crashes >= loop_.options.limits.crashes_max - 1) return slots_.in_hand() == slots_.finished();
  return crashes == 0 || crashed == 0;
}

}  // namespace pawl

#include "model_store.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/clock_rules.hpp"
#include "core/hash.hpp"
#include "store/session/admission_rules.hpp"
#include "store/session/lifetime_rules.hpp"
#include "store/session/moving_rules.hpp"
#include "store/work/count_rules.hpp"
#include "store/worker/lease_rules.hpp"

namespace pawl::test {
namespace {

using rules::State;
using rules::Trigger;
using rules::WorkState;

constexpr std::int64_t kSessionsOfInstanceMax = 10;  // the same as in TurnCommit
constexpr rules::CountLimits kCountLimits = {1'000, 1'000, 1'000};
constexpr std::int64_t kBootSeq = 1;  // a model has no reboots

bool is_in_hand(const ModelStore::Item& item) {
  return item.state == WorkState::kLocked || item.state == WorkState::kCancelledRunning;
}

std::string name_of(const ModelStore::Item& item) {
  return std::to_string(item.instance) + "/" + std::to_string(item.event);
}

std::string kept_text(const SessionSettings& settings) {
  PolicyText text;
  const bool keeps = rules::keeps_settings(settings) && encode_settings(settings, &text);
  return keeps ? std::string(text.view()) : std::string();
}

std::string number(const OptionalMs& time) {
  return time.has_value() ? std::to_string(time.value()) : "-";
}

}  // namespace

// ---- rules, less the one that is left out ----

rules::Transition ModelStore::transition(const Session& session, Trigger cause,
                                         const rules::Facts& facts) const {
  rules::SessionRow row = session.row;
  if (lacks(PureRule::kFailsOnLoss)) row.fails_on_loss = false;
  rules::Transition change = rules::transition(row, cause, facts);
  change.next.fails_on_loss = session.row.fails_on_loss;
  const bool unlocks = change.work == rules::WorkEffect::kUnlock;
  if (lacks(PureRule::kUnlock) && unlocks) change.work = rules::WorkEffect::kNone;
  if (lacks(PureRule::kFailsWork) && !unlocks) change.work = rules::WorkEffect::kNone;
  if (lacks(PureRule::kClosingStays) && change.next.state == State::kClosed)
    change.deletes_row = true;
  if (lacks(PureRule::kNextEpoch) && session.epoch != 0) change.epoch = rules::EpochEffect::kKeep;
  return change;
}

rules::Take ModelStore::may_take(const Fetcher& who, const Item& item, bool takes_over) const {
  rules::QueuedWork work;
  work.state = item.state;
  work.barrier = item.barrier;
  rules::AskingWorker worker;
  worker.me = who.me;
  worker.runs_item = !lacks(PureRule::kRunsItem) && who.runs_item(item.id);
  if (item.session == 0) return rules::may_take(work, nullptr, worker);
  const Session& its = sessions_.at(item.session);
  work.is_head = its.head == item.id || lacks(PureRule::kHead);
  worker.runs_session = !lacks(PureRule::kRunsSession) && who.runs_session(its.scope, its.name);
  rules::SessionRow row = its.row;
  if (lacks(PureRule::kOwner) && row.owner != who.me) row.owner.reset();
  if (lacks(PureRule::kState)) row.state = State::kOpen;
  return takes_over ? rules::may_take_over(work, row, worker) : rules::may_take(work, &row, worker);
}

rules::LastHandOver ModelStore::handed_over(const Item& item, const HandedOver& done) const {
  rules::LastHandOver out;
  out.state = item.state;
  out.token = item.token;
  out.epoch = item.epoch;
  out.session = item.session;
  if (item.session != 0) out.session_epoch = sessions_.at(item.session).epoch;
  if (lacks(PureRule::kToken)) out.token = done.token;
  return out;
}

bool ModelStore::has_room(Incarnation worker, std::int64_t most) const {
  std::int64_t owned = 0;
  for (const auto& [key, session] : sessions_)
    if (session.row.owner == worker && owned < most) ++owned;
  return rules::has_room(lacks(PureRule::kRoom) ? 0 : owned, most);
}

std::int64_t ModelStore::lease_until(std::int64_t lease_ms) const {
  return rules::lease_until(now_, lacks(PureRule::kLease) ? 0 : lease_ms);
}

Gone ModelStore::gone(Evidence& evidence, const Claim& claim, Incarnation me) const {
  const Gone verdict = evidence.gone(claim, me, now_, kBootSeq);
  if (lacks(PureRule::kEvidence) && claim.holder != me && claim.locked_until <= now_)
    return Gone::kSuspicion;
  return verdict;
}

Retry ModelStore::retry_of(const Item& item) const {
  Retry retry = item.retry;
  if (lacks(PureRule::kRetry)) retry.max_attempts = 1;
  if (lacks(PureRule::kRetryEnds) && retry.max_attempts > 1) retry.max_attempts = 1'000'000;
  return retry;
}

// ---- the rows ----

rules::Running ModelStore::running(SessionKey session) const {
  rules::Running out;
  for (const auto& [id, item] : items_) {
    if (item.session != session) continue;
    out.handed_over = out.handed_over || item.state == WorkState::kLocked;
    out.cancelled = out.cancelled || item.state == WorkState::kCancelledRunning;
  }
  return out;
}

bool ModelStore::has_work(SessionKey session) const {
  return std::any_of(items_.begin(), items_.end(),
                     [session](const auto& one) { return one.second.session == session; });
}

bool ModelStore::has_work_for_owner(const Session& session) const {
  return std::any_of(items_.begin(), items_.end(), [&session](const auto& one) {
    return one.second.session == session.key &&
           (one.second.state != WorkState::kOutside || session.row.fails_on_loss);
  });
}

bool ModelStore::is_held(SessionKey session) const {
  return std::any_of(items_.begin(), items_.end(), [session](const auto& one) {
    return one.second.session == session && one.second.state == WorkState::kOutsideHolding;
  });
}

ModelStore::Session* ModelStore::find_session(InstanceKey scope, const std::string& name) {
  for (auto& [key, session] : sessions_)
    if (session.scope == scope && session.name == name) return &session;
  return nullptr;
}

const ModelStore::Registered* ModelStore::living(const std::string& node) const {
  const Registered* found = nullptr;
  for (const auto& [key, worker] : workers_)
    if (!worker.buried && worker.node == node) found = &worker;
  return found;
}

std::int64_t ModelStore::lease_of(const Session& session) const {
  const auto owner = workers_.find(session.row.owner.value_or(0));
  if (owner == workers_.end()) return session.locked_until;
  return std::max(session.locked_until, owner->second.sessions_until);
}

std::int64_t ModelStore::lease_of(const Item& item) const {
  const auto holder = workers_.find(item.holder);
  return rules::lock_lease(item.state, item.locked_until,
                           holder == workers_.end() ? 0 : holder->second.locked_until);
}

Claim ModelStore::claim_of(const Session& session) const {
  Claim claim;
  claim.holder = session.row.owner.value_or(0);
  const auto worker = workers_.find(claim.holder);
  claim.buried = worker == workers_.end() || worker->second.buried;
  claim.lock_visible = worker != workers_.end();
  claim.locked_until = lease_of(session);
  claim.boot_seq = kBootSeq;
  claim.subject = session.key;
  claim.version = session.epoch;
  return claim;
}

// Sets the item that the session hands over next, as the statement computes it.
void ModelStore::recompute_head(SessionKey key) {
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return;
  WorkItemId barrier = 0;
  WorkItemId ready = 0;
  WorkItemId delayed = 0;
  bool runs = false;
  const bool held = is_held(key);
  for (const auto& [id, item] : items_) {
    if (item.session != key) continue;
    if (item.barrier && barrier == 0) barrier = id;
    if (item.state == WorkState::kReady && ready == 0) ready = id;
    if (item.state == WorkState::kDelayed && delayed == 0) delayed = id;
    runs = runs || is_in_hand(item);
  }
  const bool exclusive = found->second.row.exclusive;
  const bool waits = (barrier != 0 && barrier < ready) ||
                     (held && (exclusive || (ready != 0 && items_.at(ready).barrier))) ||
                     (exclusive && (runs || (delayed != 0 && delayed < ready)));
  found->second.head = waits ? 0 : ready;
}

void ModelStore::store_outcome(const Item& item) { ++outcomes_[{item.instance, item.event}]; }

void ModelStore::erase_work(WorkItemId id) {
  ++changes_;
  const SessionKey key = items_.at(id).session;
  items_.erase(id);
  const auto its = sessions_.find(key);
  if (its == sessions_.end()) return;
  its->second.last_activity_at = now_;
  recompute_head(key);
  if (its->second.row.state == State::kClosed && !its->second.look_at.has_value() && !has_work(key))
    sessions_.erase(its);
}

void ModelStore::cancel(WorkItemId id, rules::Ended how) {
  ++changes_;
  if (how == rules::Ended::kKeepUntilEnd && lacks(PureRule::kKeptUntilEnd))
    how = rules::Ended::kDelete;
  if (how == rules::Ended::kDelete) return erase_work(id);
  items_.at(id).answerable.reset();
  if (how == rules::Ended::kKeepUntilEnd) {
    Item& item = items_.at(id);
    item.locked_until = lease_of(item);
    item.state = WorkState::kCancelledRunning;
  }
}

void ModelStore::end_work(WorkItemId id) {
  const Item& item = items_.at(id);
  store_outcome(item);
  cancel(id, rules::end_with_outcome(
                 item.state, item.session != 0 && sessions_.at(item.session).row.exclusive));
}

void ModelStore::fail_work_of(SessionKey session, InstanceKey instance) {
  std::vector<std::pair<WorkState, WorkItemId>> work;
  for (const auto& [id, item] : items_)
    if (item.session == session && item.instance == instance &&
        item.state != WorkState::kCancelledRunning)
      work.emplace_back(item.state, id);
  std::sort(work.begin(), work.end());
  for (const auto& [state, id] : work)
    end_work(id);
}

void ModelStore::unlock(WorkItemId id, bool strike) {
  const auto found = items_.find(id);
  if (found == items_.end() || found->second.state != WorkState::kLocked) return;
  Item& item = found->second;
  const rules::Counts counts =
      rules::after_unlock({0, item.strikes, 0}, kBootSeq, kBootSeq, strike);
  if (rules::is_poison(counts, kCountLimits)) {
    store_outcome(item);
    return erase_work(id);
  }
  item.strikes = counts.strikes;
  put_back(item, 0, false);
}

void ModelStore::put_back(Item& item, std::int64_t delay_ms, bool strike) {
  ++changes_;
  if (lacks(PureRule::kDelay)) delay_ms = 0;
  item.state = delay_ms > 0 ? WorkState::kDelayed : WorkState::kReady;
  item.due = delay_ms > 0 ? OptionalMs(make_due(now_, delay_ms)) : OptionalMs();
  item.strikes += strike ? 1 : 0;
  item.token.reset();
  item.answerable.reset();
  item.holder = 0;
  item.epoch = 0;
  item.locked_until = 0;
  recompute_head(item.session);
}

void ModelStore::retry(Item& item) {
  ++item.failures;
  Hash64 seed;
  seed.add(database_id_).add(static_cast<std::uint64_t>(item.instance));
  seed.add(std::uint64_t{1}).add(item.event);
  put_back(item, rules::retry_delay_ms(item.retry, item.failures, seed.value()), false);
}

Epoch ModelStore::apply(SessionKey key, const rules::Transition& change, std::int64_t lease_ms,
                        bool strike) {
  ++changes_;
  const Epoch taken = change.epoch == rules::EpochEffect::kKeep ? 0 : next_epoch_++;
  std::vector<std::pair<WorkState, WorkItemId>> work;
  for (const auto& [id, item] : items_)
    if (item.session == key) work.emplace_back(item.state, id);
  std::sort(work.begin(), work.end());
  for (const auto& [state, id] : work) {
    if (change.work == rules::WorkEffect::kUnlock && state == WorkState::kLocked) {
      unlock(id, strike);
    } else if (change.work == rules::WorkEffect::kFailLost ||
               change.work == rules::WorkEffect::kFailClosed) {
      if (state != WorkState::kCancelledRunning) end_work(id);
    }
  }
  const auto found = sessions_.find(key);
  if (found == sessions_.end()) return taken;
  if (change.deletes_row) {
    sessions_.erase(found);
    return taken;
  }
  Session& session = found->second;
  session.row = change.next;
  if (change.epoch == rules::EpochEffect::kTake) session.epoch = taken;
  if (change.begins_lease) session.locked_until = lease_until(lease_ms);
  if (change.clears_head) session.head = 0;
  if (change.recomputes_head) recompute_head(key);
  return taken;
}

// Returns 0 if the session has no owner now.
Epoch ModelStore::change_owner(SessionKey key, Incarnation to, std::int64_t lease_ms, bool strike) {
  rules::Facts facts;
  if (to != 0) facts.to = to;
  const rules::Transition change = transition(sessions_.at(key), Trigger::kChangeOwner, facts);
  const Epoch taken = apply(key, change, lease_ms, strike);
  if (!change.next.owner.has_value()) return 0;
  return lacks(PureRule::kNextEpoch) ? sessions_.at(key).epoch : taken;
}

// ---- workers ----

Incarnation ModelStore::register_worker(const std::string& node, const WorkerTerms& options,
                                        Evidence& evidence, Incarnation asking) {
  ++changes_;
  const std::int64_t lease_ms = options.session_lock_timeout_ms;
  Incarnation former = 0;
  for (const auto& [key, worker] : workers_) {
    if (worker.buried || worker.node != node) continue;
    Claim claim;
    claim.holder = key;
    claim.is_own_node = true;
    claim.locked_until = worker.locked_until;
    claim.boot_seq = kBootSeq;
    claim.subject = -key;
    const Gone gone = evidence.gone(claim, asking, now_, kBootSeq);
    if (!rules::may_take_node(gone, worker.locked_until, lease_ms, now_)) return 0;
    former = key;
  }
  Registered row;
  row.me = ++last_worker_;
  row.node = node;
  row.locked_until = add_saturating(now_, lease_ms);
  workers_[row.me] = row;
  if (former != 0) bury(former, row.me);
  return row.me;
}

Status ModelStore::renew_worker(Incarnation me, std::int64_t lease_ms) {
  Registered& row = workers_.at(me);
  if (row.buried) return Status::kBuried;
  row.locked_until = std::max(row.locked_until, add_saturating(now_, lease_ms));
  return Status::kOk;
}

void ModelStore::renew_sessions(Incarnation me, const WorkerTerms& options) {
  release_idle(me, options.session_idle_timeout_ms);
  const bool owns = std::any_of(sessions_.begin(), sessions_.end(),
                                [me](const auto& one) { return one.second.row.owner == me; });
  std::int64_t& until = workers_.at(me).sessions_until;
  if (owns) until = std::max(until, lease_until(options.session_lock_timeout_ms));
}

namespace {

rules::IdleRow idle_row(const ModelStore::Session& session, bool has_work, bool runs) {
  rules::IdleRow row;
  row.state = session.row.state;
  row.fails_on_loss = session.row.fails_on_loss;
  row.is_opened = session.is_opened;
  row.has_work = has_work;
  row.is_busy = runs || session.head != 0;
  row.last_activity_at = session.last_activity_at;
  return row;
}

}  // namespace

void ModelStore::release_idle(Incarnation me, std::int64_t default_ms) {
  std::vector<SessionKey> idle;
  for (const auto& [key, session] : sessions_) {
    const bool has = !lacks(PureRule::kIdle) && has_work_for_owner(session);
    if (session.row.owner == me && rules::is_idle(idle_row(session, has, has), now_, default_ms))
      idle.push_back(key);
  }
  for (const SessionKey key : idle)
    change_owner(key, 0, 0, false);
}

bool ModelStore::release_longest_idle(Incarnation me, std::int64_t idle_ms) {
  const Session* longest = nullptr;
  for (const auto& [key, session] : sessions_) {
    if (session.row.owner != me) continue;
    const rules::IdleRow row = idle_row(session, has_work(key), running(key).any() || is_held(key));
    if (!rules::makes_room_at(row, idle_ms).has_passed(now_)) continue;
    const bool is_longer =
        longest != nullptr &&
        (lacks(PureRule::kLongestIdle) ? session.last_activity_at > longest->last_activity_at
                                       : session.last_activity_at < longest->last_activity_at);
    if (longest == nullptr || is_longer) longest = &session;
  }
  if (longest == nullptr) return false;
  change_owner(longest->key, 0, 0, false);
  return true;
}

void ModelStore::bury(Incarnation worker, Incarnation heir) {
  Registered& row = workers_.at(worker);
  if (row.buried) return;
  row.buried = true;
  hand_sessions_over(worker, heir);
  free_locks_of(worker);
}

void ModelStore::unregister(Incarnation me) {
  ++changes_;
  workers_.at(me).buried = true;
  hand_sessions_over(me, 0);
  free_locks_of(me);
}

void ModelStore::hand_sessions_over(Incarnation from, Incarnation heir) {
  std::int64_t lease_ms = 0;
  if (heir != 0) lease_ms = rules::lease_left_ms(workers_.at(heir).locked_until, now_);
  std::vector<SessionKey> owned;
  for (const auto& [key, session] : sessions_)
    if (session.row.owner == from) owned.push_back(key);
  for (const SessionKey key : owned)
    change_owner(key, heir, lease_ms, false);
}

void ModelStore::free_locks_of(Incarnation worker) {
  std::vector<std::pair<std::int64_t, WorkItemId>> locks;
  for (const auto& [id, item] : items_)
    if (is_in_hand(item) && item.holder == worker) locks.emplace_back(item.locked_until, id);
  std::sort(locks.begin(), locks.end());
  for (const auto& [until, id] : locks) {
    if (items_.at(id).state == WorkState::kCancelledRunning) {
      erase_work(id);
    } else {
      unlock(id, false);
    }
  }
}

// ---- moving ----

bool ModelStore::may_have(const Session& session, const Registered& worker,
                          const WorkerTerms& options) const {
  rules::TargetFacts facts;
  const std::int64_t most = options.max_sessions_per_worker;
  facts.worker = rules::TargetWorker{worker.draining, worker.locked_until, most};
  for (const auto& [key, one] : sessions_)
    if (one.row.owner == worker.me && facts.owned < most) ++facts.owned;
  return lacks(PureRule::kMayHave) || rules::may_have(session.row, facts);
}

void ModelStore::move_now(SessionKey key, std::optional<Incarnation> to,
                          const WorkerTerms& options) {
  const Session& session = sessions_.at(key);
  std::int64_t lease_ms = 0;
  if (to.has_value()) {
    const auto worker = workers_.find(*to);
    const bool lives = worker != workers_.end() && !worker->second.buried;
    if (lives) lease_ms = rules::lease_left_ms(worker->second.locked_until, now_);
    if (!lives || !may_have(session, worker->second, options)) to.reset();
  }
  if (rules::changes_owner(session.row, to)) {
    change_owner(key, to.value_or(0), lease_ms, false);
  } else if (session.row.state == State::kStopping) {
    apply(key, transition(session, Trigger::kEndStop, {}), 0, false);
  }
}

void ModelStore::move_or_stop(SessionKey key, std::optional<Incarnation> to, std::int64_t stop_ms,
                              bool force, const WorkerTerms& options) {
  if (!rules::must_stop_first(running(key)) || lacks(PureRule::kStopsFirst))
    return move_now(key, to, options);
  rules::Facts facts;
  facts.stop = {to, make_due(now_, stop_ms), force};
  apply(key, transition(sessions_.at(key), Trigger::kStop, facts), 0, false);
}

Status ModelStore::drain(const std::string& node, std::int64_t stop_ms) {
  ++changes_;
  const Registered* const found = living(node);
  if (found == nullptr) return Status::kNotFound;
  workers_.at(found->me).draining = true;
  std::vector<SessionKey> owned;
  for (const auto& [key, session] : sessions_)
    if (session.row.owner == found->me) owned.push_back(key);
  for (const SessionKey key : owned)
    move_or_stop(key, std::nullopt, stop_ms, false, WorkerTerms());
  return Status::kOk;
}

Status ModelStore::transfer(const std::string& name, const std::string& node, std::int64_t stop_ms,
                            bool force, const WorkerTerms& options) {
  const Session* const session = find_session(0, name);
  if (session == nullptr || !rules::is_open(session->row.state)) return Status::kNotFound;
  std::optional<Incarnation> to;
  if (!node.empty()) {
    const Registered* const worker = living(node);
    if (worker != nullptr && session->row.owner == worker->me) return Status::kOk;
    if (worker == nullptr || !may_have(*session, *worker, options))
      return Status::kNoEligibleTarget;
    to = worker->me;
  }
  move_or_stop(session->key, to, stop_ms, force, options);
  return Status::kOk;
}

void ModelStore::end_stops(const WorkerTerms& options) {
  if (lacks(PureRule::kEndStop)) return;
  std::vector<std::pair<std::int64_t, SessionKey>> stops;
  for (const auto& [key, session] : sessions_)
    if (session.row.state == State::kStopping) stops.emplace_back(session.row.stop->due_ms, key);
  std::sort(stops.begin(), stops.end());
  for (const auto& [due, key] : stops) {
    const rules::SessionRow row = sessions_.at(key).row;
    rules::Running runs = running(key);
    if (lacks(PureRule::kStopWaits)) runs = {};
    switch (rules::look_at_stop(row, runs, now_)) {
      case rules::StopEnd::kGoesOn: break;
      case rules::StopEnd::kMovesLate:
        for (auto at = items_.begin(); at != items_.end();) {
          const auto next = std::next(at);
          if (at->second.session == key && at->second.state == WorkState::kCancelledRunning)
            erase_work(at->first);
          at = next;
        }
        move_now(key, row.stop->to, options);
        break;
      case rules::StopEnd::kMoves: move_now(key, row.stop->to, options); break;
      case rules::StopEnd::kFails:
        apply(key, transition(sessions_.at(key), Trigger::kEndStop, {}), 0, false);
        break;
    }
  }
}

// ---- orchestrations ----

void ModelStore::open(InstanceKey instance, const std::string& name,
                      const SessionSettings& settings) {
  ++changes_;
  Session* row = find_session(instance, name);
  if (row != nullptr && rules::is_open(row->row.state)) return;
  rules::OpenCounts counts;
  counts.instance_max = kSessionsOfInstanceMax;
  for (const auto& [key, one] : sessions_)
    if (one.scope == instance && &one != row && rules::counts_as_open(one.row.state))
      ++counts.of_instance;
  const bool admitted = rules::admit_opening(counts) == rules::Opening::kAdmitted;
  if (row == nullptr) {
    row = &sessions_[++last_session_];
    row->key = last_session_;
    row->scope = instance;
    row->name = name;
    row->is_opened = true;
    row->row.state = admitted ? State::kOpen : State::kRefused;
    return begin(*row, settings, admitted);
  }
  begin_anew(*row, settings, admitted);
}

void ModelStore::begin_anew(Session& row, const SessionSettings& settings, bool admitted) {
  const Session former = row;
  const Trigger cause = !admitted                          ? Trigger::kRefuse
                        : rules::is_open(former.row.state) ? Trigger::kBeginAnew
                                                           : Trigger::kOpenAgain;
  ++row.opening;
  apply(row.key, transition(former, cause, {}), 0, false);
  row.given = 0;
  row.rate_at = OptionalMs();
  row.limited_by = 0;
  begin(row, settings, admitted);
}

void ModelStore::begin_anew_after_limit(Session& row) {
  SessionSettings stay = rules::settings_that_stay(row.limits);
  stay.exclusive = row.row.exclusive;
  if (lacks(PureRule::kStays)) stay = SessionSettings();
  const bool keeps_rate = rules::limits_work(stay);
  const OptionalMs rate_at = row.rate_at;
  const InstanceKey limited_by = row.limited_by;
  begin_anew(row, stay, true);
  if (!keeps_rate) return;
  row.rate_at = rate_at;
  row.limited_by = limited_by;
}

bool ModelStore::has_work_of_others(const Session& session) const {
  return std::any_of(items_.begin(), items_.end(), [&](const auto& one) {
    const Item& item = one.second;
    return session.scope == 0 && item.session == session.key &&
           item.state != WorkState::kCancelledRunning && item.instance != session.limited_by;
  });
}

void ModelStore::begin(Session& row, const SessionSettings& settings, bool admitted) {
  row.row.exclusive = settings.exclusive;
  row.row.fails_on_loss = settings.fail_on_loss;
  recompute_head(row.key);
  row.last_activity_at = row.opened_at = now_;
  row.expires_at = row.look_at = OptionalMs();
  row.has_limits = false;
  if (!admitted) return;
  const rules::Expiry expiry = rules::expiry_of(settings, now_);
  row.expires_at = expiry.expires_at;
  row.look_at = expiry.look_at;
  row.look_at.keep_earlier(rules::first_idle_look(settings, now_));
  row.has_limits = rules::limits_work(settings);
  row.limits = settings;
}

void ModelStore::use(InstanceKey instance, const std::string& name,
                     const SessionSettings& settings) {
  ++changes_;
  Session* row = find_session(0, name);
  if (row == nullptr) {
    row = &shared_session(instance, name, settings.exclusive);
    begin(*row, settings, true);
    row->limited_by = instance;
    return;
  }
  if (!rules::is_open(row->row.state)) {
    begin_anew(*row, settings, true);
    row->limited_by = instance;
    return;
  }
  row->limited_by = instance;
  row->row.exclusive = row->row.exclusive || settings.exclusive;
  row->row.fails_on_loss = settings.fail_on_loss;
  const rules::Expiry expiry = rules::expiry_of(settings, row->opened_at);
  if (!(expiry.expires_at == row->expires_at)) {
    row->expires_at = expiry.expires_at;
    row->look_at = expiry.look_at;
  }
  if (kept_text(row->limits) != kept_text(settings)) row->rate_at = OptionalMs();
  row->has_limits = rules::limits_work(settings);
  row->limits = settings;
  recompute_head(row->key);
}

Status ModelStore::close_from_outside(const std::string& name) {
  const Session* const row = find_session(0, name);
  if (row == nullptr) return Status::kNotFound;
  const SessionKey key = row->key;
  switch (rules::end_from_outside(row->row.state, true)) {
    case rules::Ending::kNotFound:
    case rules::Ending::kNotOwner: return Status::kNotFound;
    case rules::Ending::kRemove: close_row(key, Trigger::kDrop); return Status::kOk;
    case rules::Ending::kEnds: break;
  }
  apply(key, transition(*row, Trigger::kEnd, {}), 0, false);
  const auto found = sessions_.find(key);
  if (found != sessions_.end()) found->second.look_at = now_;
  return Status::kOk;
}

void ModelStore::close_row(SessionKey key, Trigger cause) {
  rules::Facts facts;
  facts.running = running(key);
  const rules::Transition change = transition(sessions_.at(key), cause, facts);
  apply(key, change, 0, false);
  const auto found = sessions_.find(key);
  if (found != sessions_.end() && change.clears_look) found->second.look_at = OptionalMs();
}

void ModelStore::close(InstanceKey instance, const std::string& name) {
  const Session* const row = find_session(instance, name);
  if (row != nullptr && row->row.state != State::kClosed) close_row(row->key, Trigger::kClose);
}

ModelStore::Session& ModelStore::shared_session(InstanceKey instance, const std::string& name,
                                                bool exclusive) {
  Session* row = find_session(0, name);
  if (row == nullptr) {
    row = &sessions_[++last_session_];
    row->key = last_session_;
    row->name = name;
    row->row.exclusive = exclusive;
    row->last_activity_at = row->opened_at = now_;
    return *row;
  }
  switch (rules::shared_state_of(row->row.state, limit_of(*row, instance))) {
    case rules::SharedState::kOpen: break;
    case rules::SharedState::kRefuses: return *row;
    case rules::SharedState::kBeginsAnew:
      if (lacks(PureRule::kBeginsAnew)) return *row;
      begin_anew(*row, {}, true);
      break;
    case rules::SharedState::kBeginsAnewAfterLimit:
      if (lacks(PureRule::kOutlivesEnd)) return *row;
      begin_anew_after_limit(*row);
      break;
  }
  const rules::Use more = rules::added_use({false, row->row.exclusive}, {false, exclusive});
  row->row.exclusive = row->row.exclusive || more.exclusive;
  if (more.exclusive) recompute_head(row->key);
  return *row;
}

rules::LimitOf ModelStore::limit_of(const Session& session, InstanceKey instance) {
  return session.scope != 0 || session.limited_by == instance ? rules::LimitOf::kItself
                                                              : rules::LimitOf::kAnother;
}

rules::Admission ModelStore::admission_of(const Session& session, rules::LimitOf limit) const {
  SessionSettings limits = session.limits;
  if (lacks(PureRule::kActivities)) limits.max_activities = 0;
  if (lacks(PureRule::kRate)) limits.rate_interval = std::chrono::milliseconds(0);
  const bool is_full = limits.max_activities != 0 && session.given >= limits.max_activities;
  if (lacks(is_full ? PureRule::kOutlivesNumber : PureRule::kWaitsForRate))
    limit = rules::LimitOf::kItself;
  return rules::admit_work(limits, {session.given, session.rate_at}, limit, now_);
}

bool ModelStore::admit(Session* own, Item& item) {
  if (own == nullptr) return false;
  if (own->scope == 0 && lacks(PureRule::kBeginsAnew)) return true;
  const rules::OpenedState its = lacks(PureRule::kOpenedState)
                                     ? rules::OpenedState::kOpen
                                     : rules::opened_state_of(own->row.state);
  if (its != rules::OpenedState::kOpen) return false;
  if (!own->has_limits) return true;
  const rules::LimitOf limit = limit_of(*own, item.instance);
  rules::Admission admission = admission_of(*own, limit);
  if (admission.verdict == rules::Admitted::kBeginsAnew) {
    begin_anew_after_limit(*own);
    if (!own->has_limits) return true;
    admission = admission_of(*own, limit);
  }
  if (admission.verdict == rules::Admitted::kTooMany ||
      admission.verdict == rules::Admitted::kTooFast)
    return false;
  if (admission.verdict == rules::Admitted::kLater) {
    item.due = admission.due;
    item.state = WorkState::kDelayed;
  }
  own->given = admission.next.given;
  own->rate_at = admission.next.rate_at;
  return true;
}

void ModelStore::schedule(InstanceKey instance, EventId event, const std::string& name, bool own,
                          bool exclusive, bool barrier, const Retry& retry) {
  ++changes_;
  Item item;
  item.instance = instance;
  item.event = event;
  item.barrier = barrier;
  item.retry = retry;
  if (own) {
    Session* const row = find_session(instance, name);
    if (!admit(row, item)) return store_outcome(item);
    item.session = row->key;
  } else if (!name.empty()) {
    Session& row = shared_session(instance, name, exclusive);
    if (!admit(&row, item)) return store_outcome(item);
    item.session = row.key;
  }
  item.id = next_token_++;
  items_[item.id] = item;
  recompute_head(item.session);
}

void ModelStore::end_instance(InstanceKey instance) {
  std::vector<std::pair<EventId, WorkItemId>> work;
  for (const auto& [id, item] : items_)
    if (item.instance == instance) work.emplace_back(item.event, id);
  std::sort(work.begin(), work.end());
  for (const auto& [event, id] : work) {
    const Item& item = items_.at(id);
    cancel(id, rules::cancel(item.state,
                             item.session != 0 && sessions_.at(item.session).row.exclusive));
  }
  std::vector<std::pair<std::string, SessionKey>> opened;
  for (const auto& [key, session] : sessions_)
    if (session.scope == instance && session.row.state != State::kClosed)
      opened.emplace_back(session.name, key);
  std::sort(opened.begin(), opened.end());
  for (const auto& [name, key] : opened)
    close_row(key, Trigger::kInstanceEnds);
}

// ---- due work and looks ----

void ModelStore::look_at_session(SessionKey key) {
  Session& session = sessions_.at(key);
  rules::LookRow row;
  row.state = session.row.state;
  row.has_work = has_work(key) && !lacks(PureRule::kIdleHasNoWork);
  row.has_work_of_others = has_work_of_others(session) && !lacks(PureRule::kOutlivesAge);
  row.planned_at = session.look_at.value();
  if (!lacks(PureRule::kExpires)) row.expires_at = session.expires_at;
  row.last_activity_at = session.last_activity_at;
  rules::EndTerms terms = rules::end_terms(session.limits);
  if (lacks(PureRule::kClosesIdle)) terms.idle_close_ms = 0;
  const rules::Looked found = rules::look_at(row, terms, now_);
  switch (found.what) {
    case rules::Look::kWaits: session.look_at = found.next; return;
    case rules::Look::kExpires: break;
    case rules::Look::kBeginsAnew:
      fail_work_of(key, session.limited_by);
      return begin_anew_after_limit(session);
    case rules::Look::kCloses: return close_row(key, Trigger::kClose);
    case rules::Look::kLogClosing:
    case rules::Look::kRemove: return close_row(key, Trigger::kDrop);
  }
  apply(key, transition(session, Trigger::kExpire, {}), 0, false);
  const auto expired = sessions_.find(key);
  if (expired == sessions_.end()) return;
  expired->second.look_at = add_saturating(now_, rules::kExpiredKeptMs);
}

void ModelStore::wake() {
  while (true) {
    const Session* first = nullptr;
    for (const auto& [key, session] : sessions_) {
      if (!session.look_at.has_passed(now_)) continue;
      if (first == nullptr || session.look_at.value() < first->look_at.value()) first = &session;
    }
    if (first == nullptr) break;
    look_at_session(first->key);
  }
  for (auto& [id, item] : items_)
    if (item.state == WorkState::kDelayed && item.due.has_passed(now_)) put_back(item, 0, false);
}

// ---- work ----

Status ModelStore::acknowledge(const HandedOver& done, ErrorKind error, bool aborts) {
  const auto found = items_.find(done.item);
  if (found == items_.end()) return Status::kStale;
  Item& item = found->second;
  const rules::Returned returned = {done.token, done.epoch, done.session};
  const rules::Acknowledged verdict = rules::acknowledge(
      handed_over(item, done), returned, {{error, false}, aborts}, retry_of(item), item.failures);
  if (verdict == rules::Acknowledged::kStale) return Status::kStale;
  if (verdict == rules::Acknowledged::kCancelledEnded) {
    erase_work(item.id);
    return Status::kOk;
  }
  const SessionKey key = item.session;
  if (key != 0) sessions_.at(key).last_activity_at = now_;
  if (verdict == rules::Acknowledged::kRetries) {
    retry(item);
    return Status::kOk;
  }
  store_outcome(item);
  erase_work(item.id);
  if (verdict == rules::Acknowledged::kAborts) change_owner(key, 0, 0, false);
  return Status::kOk;
}

Status ModelStore::abandon(const HandedOver& done, std::int64_t delay_ms, bool strike) {
  const auto found = items_.find(done.item);
  if (found == items_.end()) return Status::kStale;
  const rules::Returned returned = {done.token, done.epoch, done.session};
  const rules::LastHandOver row = handed_over(found->second, done);
  if (rules::ends_cancelled(row, returned)) {
    erase_work(done.item);
    return Status::kOk;
  }
  if (!rules::accepts(row, returned)) return Status::kStale;
  put_back(found->second, delay_ms, strike);
  return Status::kOk;
}

Status ModelStore::renew(const HandedOver& done, Incarnation me, const WorkerTerms& options) {
  const auto found = items_.find(done.item);
  if (found == items_.end()) return Status::kStale;
  Item& item = found->second;
  if (item.token != done.token || item.holder != me || item.epoch != done.epoch ||
      !is_in_hand(item))
    return Status::kStale;
  if (item.state == WorkState::kCancelledRunning)
    item.locked_until = std::max(item.locked_until, lease_until(options.worker_lock_timeout_ms));
  return Status::kOk;
}

Status ModelStore::leave(const HandedOver& done, bool holds, bool aborts) {
  const auto found = items_.find(done.item);
  if (found == items_.end()) return Status::kStale;
  Item& item = found->second;
  const rules::Returned returned = {done.token, done.epoch, done.session};
  if (rules::ends_cancelled(handed_over(item, done), returned)) {
    erase_work(item.id);
    return Status::kOk;
  }
  if (!rules::accepts(handed_over(item, done), returned)) return Status::kStale;
  ++changes_;
  item.state = holds ? WorkState::kOutsideHolding : WorkState::kOutside;
  item.token.reset();
  item.holder = 0;
  item.epoch = 0;
  item.locked_until = 0;
  if (item.session == 0) return Status::kOk;
  sessions_.at(item.session).last_activity_at = now_;
  recompute_head(item.session);
  if (aborts) change_owner(item.session, 0, 0, false);
  return Status::kOk;
}

Status ModelStore::answer(const HandedOver& token, ErrorKind error) {
  const auto found = items_.find(token.item);
  const bool waits = found != items_.end() && found->second.answerable == token.token &&
                     rules::may_be_answered(found->second.state);
  if (!waits) {
    constexpr std::size_t kKept = 256;
    const std::size_t first = answers_.size() > kKept ? answers_.size() - kKept : 0;
    for (std::size_t i = first; i < answers_.size(); ++i)
      if (answers_[i].first == token.token)
        return answers_[i].second == error ? Status::kOk : Status::kStale;
    return Status::kNotFound;
  }
  answers_.emplace_back(token.token, error);
  Item& item = found->second;
  const bool exclusive = item.session != 0 && sessions_.at(item.session).row.exclusive;
  if (item.session != 0) sessions_.at(item.session).last_activity_at = now_;
  const rules::AfterFailure next =
      rules::after_answer(item.state, exclusive, {error, false}, retry_of(item), item.failures);
  next == rules::AfterFailure::kRetry ? retry(item) : end_work(item.id);
  return Status::kOk;
}

// ---- fetching ----

std::optional<ModelStore::HandedOver> ModelStore::fetch(const Fetcher& who, Looks& looks) {
  std::optional<HandedOver> found;
  std::set<WorkItemId> passed_over;
  claims_open_ = !who.draining && who.options->max_sessions_per_worker > 0;
  take_expired_locks(who, looks, found);
  if (!found) take_expired_sessions(who, looks, found);
  while (!found) {
    const WorkItemId id = next_candidate(who, passed_over);
    if (id == 0) break;
    try_candidate(who, {id, items_.at(id).session}, false, false, looks, passed_over, found);
  }
  return found;
}

// The lowest id among items without a session, of the worker's own sessions, and of sessions that
// it may claim.
WorkItemId ModelStore::next_candidate(const Fetcher& who,
                                      const std::set<WorkItemId>& passed_over) const {
  WorkItemId latest = 0;
  for (const auto& [id, item] : items_) {
    if (item.state != WorkState::kReady || passed_over.count(id) != 0) continue;
    if (item.session == 0 && !who.draining) return id;
    if (item.session == 0) continue;
    switch (may_take(who, item, false)) {
      case rules::Take::kNotNext:
      case rules::Take::kNotMine:
      case rules::Take::kNotOpen: break;
      case rules::Take::kAfterClaim:
        if (claims_open_ && !lacks(PureRule::kWaitsLongest)) return id;
        if (claims_open_) latest = id;
        break;
      default:
        if (sessions_.at(item.session).row.owner == who.me || claims_open_) return id;
    }
  }
  return latest;
}

void ModelStore::try_candidate(const Fetcher& who, Candidate candidate, bool takes_over,
                               bool strike, Looks& looks, std::set<WorkItemId>& passed_over,
                               std::optional<HandedOver>& found) {
  const auto at = items_.find(candidate.first);
  if (at == items_.end()) return;
  Item& item = at->second;
  switch (may_take(who, item, takes_over)) {
    case rules::Take::kYes: found = hand_over(who, item); return;
    case rules::Take::kAfterClaim: break;
    case rules::Take::kLetsGo: change_owner(item.session, 0, 0, false); return;
    default: passed_over.insert(item.id); return;
  }
  if (!may_claim(who, looks, candidate.first)) return;
  const std::int64_t lease_ms = who.options->session_lock_timeout_ms;
  if (change_owner(item.session, who.me, lease_ms, strike) == 0) return;
  if (!takes_over) {
    found = hand_over(who, item);
    return;
  }
  // Locks of the session have ended, so its head may be another item now.
  const WorkItemId head = sessions_.at(candidate.second).head;
  if (head != 0)
    try_candidate(who, {head, candidate.second}, false, false, looks, passed_over, found);
}

bool ModelStore::is_room_elsewhere(Incarnation me, std::int64_t most) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& one) {
    return one.first != me && !one.second.buried && !one.second.draining &&
           has_room(one.first, most);
  });
}

bool ModelStore::may_claim(const Fetcher& who, Looks& looks, WorkItemId item) {
  if (!claims_open_) return false;
  const std::int64_t most = who.options->max_sessions_per_worker;
  bool has = has_room(who.me, most);
  const std::int64_t idle_ms = who.options->evict_idle_ms;
  if (!has && idle_ms > 0) {
    if (looks.met != item) {
      looks.met = item;
      looks.met_at = now_;
    }
    const bool is_elsewhere = !lacks(PureRule::kRoomElsewhere) && is_room_elsewhere(who.me, most);
    const OptionalMs until = rules::left_to_others_until(is_elsewhere, looks.met_at, idle_ms);
    if ((!until.has_value() || until.has_passed(now_)) && !lacks(PureRule::kMakesRoom) &&
        release_longest_idle(who.me, idle_ms))
      has = has_room(who.me, most);
  }
  claims_open_ = has;
  return has;
}

ModelStore::HandedOver ModelStore::hand_over(const Fetcher& who, Item& item) {
  ++changes_;
  item.token = item.answerable = next_token_++;
  item.holder = who.me;
  item.state = WorkState::kLocked;
  item.locked_until = lease_until(who.options->worker_lock_timeout_ms);
  item.due = OptionalMs();
  ++item.attempts;
  HandedOver out = {item.id, *item.token, 0, item.session};
  if (item.session == 0) return out;
  Session& its = sessions_.at(item.session);
  item.epoch = out.epoch = its.epoch;
  its.epoch_used = its.epoch;
  its.last_activity_at = now_;
  recompute_head(item.session);
  return out;
}

namespace {

constexpr unsigned kExpiredLooksMax = 8;

}  // namespace

void ModelStore::take_expired_locks(const Fetcher& who, Looks& looks,
                                    std::optional<HandedOver>& found) {
  for (unsigned look = 0; look < kExpiredLooksMax && !found; ++look) {
    std::pair<std::int64_t, std::int64_t> next = {INT64_MAX, 0};
    for (const auto& [id, item] : items_) {
      const std::pair<std::int64_t, std::int64_t> one = {item.locked_until, id};
      const bool is_own = item.holder == who.me;
      if (!is_in_hand(item) || (is_own ? item.locked_until : lease_of(item)) > now_) continue;
      if (is_own && who.runs_item(id)) continue;
      if (one > looks.lock && one < next) next = one;
    }
    looks.lock = next;
    if (next.second == 0) {
      looks.lock = {};
      return;
    }
    const WorkItemId id = next.second;
    const Item& item = items_.at(id);
    rules::ExpiredLockFacts facts;
    facts.state = item.state;
    facts.has_session = item.session != 0;
    facts.is_own = item.holder == who.me;
    facts.runs_here = who.runs_item(id);
    Gone verdict = Gone::kNo;
    if (rules::needs_evidence(facts)) {
      Claim claim;
      claim.holder = item.holder;
      const auto worker = workers_.find(item.holder);
      claim.buried = worker == workers_.end() || worker->second.buried;
      claim.locked_until = lease_of(item);
      claim.boot_seq = kBootSeq;
      claim.version = *item.token;
      verdict = gone(*who.evidence, claim, who.me);
    }
    switch (rules::look_at_expired_lock(facts, verdict)) {
      case rules::ExpiredLock::kStays: break;
      case rules::ExpiredLock::kGoesWithSession:
        take_expired_session(who, {id, item.session}, looks, found);
        break;
      case rules::ExpiredLock::kDelete: erase_work(id); break;
      case rules::ExpiredLock::kUnlock: unlock(id, false); break;
      case rules::ExpiredLock::kUnlockWithStrike: unlock(id, true); break;
    }
  }
}

void ModelStore::take_expired_sessions(const Fetcher& who, Looks& looks,
                                       std::optional<HandedOver>& found) {
  for (unsigned look = 0; look < kExpiredLooksMax && claims_open_ && !found; ++look) {
    std::pair<std::int64_t, std::int64_t> next = {INT64_MAX, 0};
    SessionKey session = 0;
    for (const auto& [key, one] : sessions_) {
      const std::pair<std::int64_t, std::int64_t> place = {one.row.owner.value_or(0), one.head};
      const bool is_there = one.row.owner.has_value() && one.row.owner != who.me && one.head != 0 &&
                            one.row.state == State::kOpen && lease_of(one) <= now_;
      if (!is_there || place <= looks.session || place >= next) continue;
      next = place;
      session = key;
    }
    looks.session = next;
    if (next.second == 0) {
      looks.session = {};
      return;
    }
    take_expired_session(who, {next.second, session}, looks, found);
  }
}

void ModelStore::take_expired_session(const Fetcher& who, Candidate candidate, Looks& looks,
                                      std::optional<HandedOver>& found) {
  const Session& session = sessions_.at(candidate.second);
  if (!session.row.owner.has_value() || session.row.state != State::kOpen) return;
  const Gone verdict = gone(*who.evidence, claim_of(session), who.me);
  if (verdict == Gone::kNo) return;
  if (rules::fails_on_owner_loss(session.row)) {
    change_owner(candidate.second, 0, 0, false);
    return;
  }
  std::set<WorkItemId> passed_over;
  try_candidate(who, candidate, true, verdict == Gone::kSuspicion, looks, passed_over, found);
}

// ---- text ----

std::string ModelStore::text() const {
  std::string out;
  for (const auto& [key, one] : sessions_) {
    out += "s" + std::to_string(key) + " " + std::to_string(one.scope) + "/" + one.name;
    out += " state=" + std::to_string(static_cast<int>(one.row.state));
    out += " owner=" + (one.row.owner ? std::to_string(*one.row.owner) : "-");
    out += " epoch=" + std::to_string(one.epoch);
    const auto head = items_.find(one.head);
    out += " head=" + (head == items_.end() ? "-" : name_of(head->second));
    out += " lease=" + std::to_string(one.locked_until);
    const bool stops = one.row.stop.has_value();
    out += " stop=" + (stops && one.row.stop->to ? std::to_string(*one.row.stop->to) : "-");
    out += "," + (stops ? std::to_string(one.row.stop->due_ms) : "-");
    out += " active=" + std::to_string(one.last_activity_at);
    out += " given=" + std::to_string(one.given) + "," + number(one.rate_at);
    out += " by=" + std::to_string(one.limited_by);
    out += " look=" + number(one.look_at) + "\n";
  }
  for (const auto& [id, item] : items_) {
    out += "w" + name_of(item) + " s" + std::to_string(item.session);
    out += " state=" + std::to_string(static_cast<int>(item.state));
    out += item.token ? " token" : " -";
    out += " inc=" + (item.token ? std::to_string(item.holder) : "-");
    out += " epoch=" + (item.token ? std::to_string(item.epoch) : "-");
    out += " until=" + (item.token ? std::to_string(item.locked_until) : "-");
    out += " due=" + number(item.due);
    out += " counts=" + std::to_string(item.attempts) + "," + std::to_string(item.failures) + "," +
           std::to_string(item.strikes) + "\n";
  }
  for (const auto& [key, one] : workers_)
    if (!one.buried)
      out += "i" + std::to_string(key) + " " + one.node + " " + std::to_string(one.locked_until) +
             "," + std::to_string(one.sessions_until) + (one.draining ? " draining" : "") + "\n";
  return out;
}

}  // namespace pawl::test

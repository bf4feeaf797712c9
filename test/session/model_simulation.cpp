#include "model_simulation.hpp"

#include <algorithm>

#include "store/session/lifetime_rules.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl::test {
namespace {

using rules::State;
using rules::WorkState;

constexpr std::int64_t kRenewMs = 20'000;
constexpr std::int64_t kHealthyAfterMs =
    90'000;  // after so long without trouble no worker suspects it
constexpr std::size_t kSlots = 3;
constexpr std::size_t kOpenersMax = 3;
constexpr std::size_t kOpenersMaxCrowded = 12;
constexpr std::uint32_t kSessionsMax = 3;
constexpr std::uint32_t kSessionsMaxCrowded = 2;
constexpr std::int64_t kBootSeq = 1;
constexpr std::int64_t kPaceMs = 60'000;  // rate interval of the paced opening
constexpr std::int64_t kIdleCloseMs = 20'000;
constexpr std::int64_t kSharedPaceMs = 15'000;

struct Place {
  const char* session;
  bool exclusive;
};
constexpr Place kPlaces[] = {{"", false}, {"s", false}, {"t", false}, {"u", false}, {"bus", true}};

SessionSettings settings_of(int which) {
  SessionSettings out;
  out.exclusive = which == 1 || which == 3;
  out.fail_on_loss = which == 2 || which == 3;
  if (which == 4) out.max_age = std::chrono::milliseconds(60'000);
  if (which == 5) {
    out.max_activities = 4;
    out.rate_interval = std::chrono::milliseconds(kPaceMs);
    out.rate_wait = std::chrono::milliseconds(90'000);
  }
  if (which == 6) out.idle_close = std::chrono::milliseconds(kIdleCloseMs);
  return out;
}

std::string node_of(int index) { return std::string(1, static_cast<char>('A' + index)); }

// The rows of a database in the form of ModelStore::text(). Ids and tokens are left out: a
// connection takes them from its own range, so they rise in the same order but differ.
constexpr char kRows[] =
    "SELECT coalesce((SELECT group_concat(line,'') FROM (SELECT 's'||sid||' '||scope||'/'||name||"
    "' state='||state||' owner='||coalesce(owner,'-')||' epoch='||epoch||' head='||coalesce((SELECT"
    " q.instance||'/'||q.event FROM worker_queue q WHERE q.id=head_id),'-')||' lease='||"
    "locked_until||' stop='||coalesce(stop_to,'-')||','||coalesce(stop_due,'-')||' active='||"
    "last_activity_at||' given='||coalesce(given,0)||','||coalesce(rate_at,'-')||' by='||"
    "coalesce(limited_by,0)||' look='||"
    "coalesce(look_at,'-')||char(10) AS line FROM sessions ORDER BY sid)),'')"
    "||coalesce((SELECT group_concat(line,'') FROM (SELECT 'w'||instance||'/'||event||"
    "' s'||coalesce(sid,0)||' state='||state||iif(token IS NULL,' -',' token')||' inc='||"
    "coalesce(inc,'-')||' epoch='||coalesce(epoch,'-')||' until='||coalesce(locked_until,'-')||"
    "' due='||coalesce(due,'-')||' counts='||attempt||','||coalesce(failures,0)||','||strikes||"
    "char(10) AS line FROM worker_queue ORDER BY id)),'')"
    "||coalesce((SELECT group_concat(line,'') FROM (SELECT 'i'||inc||' '||node||' '||locked_until||"
    "','||sessions_until||"
    "iif(draining,' draining','')||char(10) AS line FROM workers WHERE buried=0 ORDER BY inc)),'')";

// Returns the first line in which two texts differ, from both.
std::string difference(const std::string& a, const std::string& b) {
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at])
    ++at;
  const std::size_t begin = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
  return a.substr(begin, a.find('\n', at) - begin) + " | " +
         b.substr(begin, b.find('\n', at) - begin);
}

}  // namespace

ModelSimulation::ModelSimulation(std::uint64_t seed, Beside beside, PureRule without)
    : random_(seed), machine_(seed) {
  const bool is_crowded = seed % 3 == 0;
  options_.max_sessions_per_worker = is_crowded ? kSessionsMaxCrowded : kSessionsMax;
  options_.session_idle_timeout_ms = 60'000;
  options_.evict_idle_ms = is_crowded ? 3'000 : 0;
  uses_shared_ = seed % 2 == 0;
  openers_max_ = is_crowded ? kOpenersMaxCrowded : kOpenersMax;
  if (beside == Beside::kDatabase) {
    world_ = std::make_unique<World>(seed);
    model_ = std::make_unique<ModelStore>(world_->number("SELECT next_epoch FROM meta"),
                                          world_->number("SELECT next_token FROM meta"),
                                          world_->text("SELECT database_id FROM meta"), without);
  } else {
    model_ = std::make_unique<ModelStore>(1, 1, "", without);
  }
  for (int i = 0; i < kNodes; ++i)
    start(i);
}

ModelSimulation::~ModelSimulation() = default;

std::int64_t ModelSimulation::now() { return world_ ? world_->now() : clock_; }

void ModelSimulation::run(int steps) {
  for (int i = 0; i < steps && !broken(); ++i) {
    trouble();
    pass(chance(20) ? 100 : 1'000 * pick(1, 5));
  }
}

void ModelSimulation::settle() {
  calm_ = true;
  for (Process& process : processes_)
    process.frozen_until = 0;
  for (int i = 0; i < 600 && !broken(); ++i) {
    pass(2'000);
    for (std::size_t at = 0; at < outside_.size() && !broken(); ++at)
      answer(outside_[at], ErrorKind::kNone);
    outside_.clear();
    if (i > 20 && model_->items().empty()) break;
  }
  expect(model_->items().empty(), "work was stranded");
  if (broken()) return;
  for (const auto& [activity, count] : model_->outcomes())
    expect(count == 1, "an activity with two outcomes");
  for (const auto& [instance, events] : open_)
    for (const EventId event : events)
      expect(model_->outcomes().count({instance, event}) == 1, "an activity without an outcome");
}

// ---- trouble ----

void ModelSimulation::trouble() {
  const int index = pick(0, kNodes - 1);
  Process& process = processes_[index];
  const int what = pick(0, 199);
  model_->set_now(now());
  if (chance(15)) answer_one();
  if (what < 60) {
    schedule();
  } else if (what < 68) {
    kill(index);
  } else if (what < 76 && process.lives) {
    process.frozen_until = clock_ + 1'000 * pick(10, chance(30) ? 300 : 120);
  } else if (what < 79) {
    cancel();
  } else if (what < 81 && alive(process)) {
    leave(index);
  } else if (what < 82 && alive(process) && !process.draining) {
    drain(index);
  } else if (what < 94) {
    move_one();
  } else if (what < 98 && !past_.empty()) {
    const auto& [who, one] =
        past_[static_cast<std::size_t>(pick(0, static_cast<int>(past_.size()) - 1))];
    if (alive(processes_[who])) acknowledge(processes_[who], one, ErrorKind::kNone, false);
  } else if (uses_shared_ && what < 101) {
    use_shared();
  } else if (uses_shared_ && what < 104) {
    close_shared();
  } else if (what < (options_.evict_idle_ms != 0 ? 199 : 130)) {
    use_opener();
  }
}

void ModelSimulation::schedule() {
  const Place& place = kPlaces[pick(0, 4)];
  ActivityPolicy policy;
  policy.session = place.session;
  policy.exclusive = place.exclusive;
  policy.barrier = place.session[0] != '\0' && chance(10);
  if (chance(40)) {
    policy.retry.max_attempts = pick(2, 4);
    policy.retry.base = std::chrono::milliseconds(1'000 * pick(1, 20));
    policy.retry.jitter_percent = 50;
  }
  PolicyText text;
  expect(encode_policy(policy, &text), "a policy");
  const InstanceKey instance = world_ ? world_->instance() : ++last_instance_;
  std::vector<World::Command> turn;
  if (uses_shared_ && place.session[0] != '\0' && chance(15))
    give_settings(instance, place.session, &turn);
  for (int count = pick(1, 3); count > 0; --count) {
    const auto event = static_cast<EventId>(2 + turn.size());
    const bool is_unlimited = this->is_unlimited(instance, place.session);
    model_->schedule(instance, event, place.session, false, place.exclusive, policy.barrier,
                     policy.retry);
    expect(!is_unlimited || model_->outcomes().count({instance, event}) == 0,
           "work failed by a limit that another instance set");
    open_[instance].push_back(event);
    retries_[{instance, event}] = policy.retry;
    turn.push_back({EventKind::kActivity, "a", place.session, std::string(text.view())});
  }
  if (world_) world_->commit(instance, turn);
  called("schedule");
}

// One turn that opens, schedules or closes, or several of these.
void ModelSimulation::use_opener() {
  if (openers_.size() < openers_max_ && chance(30)) {
    Opener opener;
    opener.instance = world_ ? world_->instance() : ++last_instance_;
    opener.settings = pick(0, 6);
    open_[opener.instance];
    openers_.push_back(opener);
    return;
  }
  if (openers_.empty()) return;
  Opener& opener =
      openers_[static_cast<std::size_t>(pick(0, static_cast<int>(openers_.size()) - 1))];
  const SessionSettings settings = settings_of(opener.settings);
  PolicyText opening;
  PolicyText own;
  ActivityPolicy policy;
  policy.own_session = true;
  policy.session = "own";
  policy.barrier = chance(10);
  expect(encode_settings(settings, &opening) && encode_policy(policy, &own), "a policy");
  std::vector<World::Command> turn;
  for (int i = pick(1, 3); i > 0; --i) {
    if (!opener.is_open || chance(5)) {
      turn.push_back({EventKind::kSessionOpen, "own", {}, std::string(opening.view())});
      model_->open(opener.instance, "own", settings);
      opener.is_open = true;
    } else if (chance(15)) {
      turn.push_back({EventKind::kSessionClose, "own", {}, {}});
      model_->close(opener.instance, "own");
      opener.is_open = false;
    } else {
      const EventId event = opener.next + static_cast<EventId>(turn.size());
      turn.push_back({EventKind::kActivity, "a", "own", std::string(own.view())});
      model_->schedule(opener.instance, event, "own", true, false, policy.barrier, {});
      open_[opener.instance].push_back(event);
    }
  }
  opener.next += static_cast<EventId>(turn.size());
  if (world_) world_->commit(opener.instance, turn);
  called("a turn with sessions");
}

// These settings hold from now on, for all instances that name the session.
void ModelSimulation::give_settings(InstanceKey instance, const std::string& name,
                                    std::vector<World::Command>* turn) {
  SessionSettings settings;
  settings.exclusive = name == "bus";
  settings.fail_on_loss = name == "t";
  if (name == "s") settings.max_age = std::chrono::milliseconds(chance(50) ? 60'000 : 200'000);
  if (name == "bus" && chance(50)) settings.max_age = std::chrono::milliseconds(60'000);
  if (name == "u" || (name == "bus" && chance(50))) {
    if (chance(70)) settings.max_activities = pick(1, 4);
    if (chance(70)) settings.rate_interval = std::chrono::milliseconds(kSharedPaceMs);
    if (settings.rate_interval.count() != 0 && chance(50))
      settings.rate_wait = std::chrono::milliseconds(kSharedPaceMs);
  }
  PolicyText text;
  expect(encode_settings(settings, &text), "settings");
  const ModelStore::Session* const before = shared(name);
  const bool goes_on = before != nullptr && rules::is_open(before->row.state);
  Asked& asked = asked_[name];
  if (!goes_on) asked = {};
  asked.by = instance;
  asked.exclusive = settings.exclusive || (goes_on && before->row.exclusive);
  asked.has_rate = settings.rate_interval.count() != 0;
  asked.since = now();
  asked.handed = 0;
  asked.from = model_->items().empty() ? 0 : model_->items().rbegin()->first + 1;
  model_->use(instance, name, settings);
  turn->push_back({EventKind::kSessionSettings, name, {}, std::string(text.view())});
  moved_[shared(name)->key] = clock_;
}

void ModelSimulation::use_shared() {
  const std::string name = kPlaces[pick(1, 4)].session;
  const InstanceKey instance = world_ ? world_->instance() : ++last_instance_;
  std::vector<World::Command> turn;
  give_settings(instance, name, &turn);
  if (world_) world_->commit(instance, turn);
  called("settings of a shared session");
}

void ModelSimulation::close_shared() {
  const int index = pick(0, kNodes - 1);
  const std::string name = kPlaces[pick(1, 4)].session;
  if (!alive(processes_[index])) return;
  if (shared(name) != nullptr) moved_[shared(name)->key] = clock_;
  asked_.erase(name);
  const Status status = model_->close_from_outside(name);
  if (world_)
    expect(processes_[index].worker->batch([&](Store& store) {
      return store.session().expiry.close_session("", name, "");
    }) == status,
           "the answers to a closing differ");
  called("a closing from outside");
}

void ModelSimulation::cancel() {
  if (open_.empty()) return;
  const auto victim = std::next(open_.begin(), pick(0, static_cast<int>(open_.size()) - 1));
  const InstanceKey instance = victim->first;
  model_->end_instance(instance);
  if (world_) world_->end(instance);
  open_.erase(victim);
  openers_.erase(std::remove_if(openers_.begin(), openers_.end(),
                                [&](const Opener& one) { return one.instance == instance; }),
                 openers_.end());
  called("the end of an instance");
}

void ModelSimulation::move_one() {
  const int index = pick(0, kNodes - 1);
  const Place& place = kPlaces[pick(1, 4)];
  const bool force = chance(40);
  const std::string to = chance(30) ? "" : node_of(pick(0, kNodes - 1));
  if (!alive(processes_[index])) return;
  const ModelStore::Session* before = nullptr;
  for (const auto& [key, one] : model_->sessions())
    if (one.scope == 0 && one.name == place.session) before = &one;
  const Incarnation owner = before == nullptr ? 0 : before->row.owner.value_or(0);
  bool runs = false;
  for (const auto& [id, item] : model_->items())
    runs = runs || (before != nullptr && item.session == before->key && item.token.has_value());
  const Status status = model_->transfer(place.session, to, kStopMs, force, options_);
  if (world_)
    expect(processes_[index].worker->transfer(place.session, to, force) == status,
           "the answers to a transfer differ");
  if (status == Status::kOk && before != nullptr) {
    moved_[before->key] = clock_;
    ++counts_.moved;
    const Incarnation target = before->row.owner.value_or(0);
    expect(!runs || target == owner, "a session moved under running work");
    if (target != 0 && target != owner)
      expect(!model_->workers().at(target).draining, "a session was given to who drains");
  }
  called("a transfer");
}

void ModelSimulation::drain(int index) {
  Process& process = processes_[index];
  process.draining = true;
  for (const auto& [key, one] : model_->sessions())
    if (one.row.owner == process.me) moved_[key] = clock_;
  expect(model_->drain(node_of(index), kStopMs) == Status::kOk, "a drain failed");
  if (world_) process.worker->drain();
  called("a drain");
}

// ---- processes ----

void ModelSimulation::start(int index) {
  Process& process = processes_[index];
  process = Process();
  process.lives = true;
  Evidence::Options observer;
  observer.renewal_interval_ms = options_.renewal_interval_ms();
  if (world_) {
    process.worker = std::make_unique<Worker>(*world_);
    process.worker->handlers = {"a"};
    process.worker->draws_tokens = true;
    process.worker->options = options_;
    process.worker->limits = {1'000, 1'000, 1'000};
    process.storage = process.worker->node.port().storage;
  } else {
    process.node = std::make_unique<sim::Node>(machine_);
    process.storage = process.node->port().storage;
  }
  process.seen_leases = std::make_unique<FixedVector<Evidence::Seen, 256>>();
  process.evidence =
      std::make_unique<Evidence>(*process.storage, kPath, observer, *process.seen_leases);
  process.unwell_at = process.renewed_at = clock_;
  register_worker(index);
}

void ModelSimulation::register_worker(int index) {
  Process& process = processes_[index];
  const Incarnation former = process.me;
  model_->set_now(now());
  process.evidence->observe_tick(now());
  process.me = model_->register_worker(node_of(index), options_, *process.evidence, 0);
  expect(process.me > former, "a worker could not register, or incarnations do not rise");
  if (broken()) return;
  if (world_) {
    expect(process.worker->try_join(node_of(index)) == Status::kOk, "it could in the model");
    expect(process.worker->me() == process.me, "incarnations differ");
  } else {
    if (former != 0) process.storage->worker_close(kPath, former, process.lock);
    const auto lock = process.storage->worker_create(kPath, process.me, 64);
    expect(lock.ok(), "a lock of a worker");
    if (lock.ok()) process.lock = lock.value();
  }
  process.draining = false;
  called("a registration");
}

void ModelSimulation::kill(int index) {
  Process& process = processes_[index];
  if (!process.lives) return;
  if (process.worker) process.worker->kill();
  if (process.node) process.node->kill();
  process = Process();
  process.unwell_at = clock_;
  process.starts_at = clock_ + 1'000 * pick(0, 120);
}

void ModelSimulation::leave(int index) {
  Process& process = processes_[index];
  if (!process.executions.empty()) return;
  model_->unregister(process.me);
  if (process.worker) process.worker->leave();
  if (process.node) process.storage->worker_close(kPath, process.me, process.lock);
  process = Process();
  process.unwell_at = clock_;
  process.starts_at = clock_ + 1'000 * pick(0, 60);
  called("a worker that leaves");
}

void ModelSimulation::pass(std::int64_t ms) {
  world_ ? world_->machine.advance(ms) : machine_.advance(ms);
  clock_ += ms;
  for (const auto& [key, one] : model_->sessions())
    if (one.row.owner.has_value() && model_->lease_of(one) <= now())
      expired_.emplace(std::make_pair(one.epoch, model_->lease_of(one)), now());
  for (int index = 0; index < kNodes && !broken(); ++index) {
    Process& process = processes_[index];
    if (!process.lives) {
      if (clock_ >= process.starts_at) start(index);
    } else if (clock_ < process.frozen_until) {
      process.unwell_at = clock_;
    } else {
      tick(index);
    }
  }
}

void ModelSimulation::tick(int index) {
  Process& process = processes_[index];
  model_->set_now(now());
  process.evidence->observe_tick(now());
  if (world_) process.worker->observe();
  const bool renews = clock_ - process.renewed_at >= kRenewMs;
  bool is_buried = model_->workers().at(process.me).buried;
  if (renews) {
    const Status renewed = model_->renew_worker(process.me, options_.session_lock_timeout_ms);
    if (world_) expect(process.worker->renew_self() == renewed, "the answers to a renewal differ");
    is_buried = renewed == Status::kBuried;
  }
  if (is_buried) {
    // Everything that it held is lost; its executions run on until they end.
    process.unwell_at = clock_;
    for (Execution& one : process.executions)
      one.lost = true;
    if (world_) process.worker->draining = false;
    return register_worker(index);
  }
  if (renews) renew(index);
  end_executions(index);
  bury_dead(index);
  const std::map<SessionKey, std::int64_t> idle = idle_since();
  const std::vector<WorkItemId> unlimited = work_beside_age();
  model_->wake();
  if (world_) process.worker->wake();
  check_outlived(unlimited);
  check_closed(idle);
  for (const auto& [key, one] : model_->sessions())
    expect(!rules::counts_as_open(one.row.state) || !one.expires_at.has_passed(now()),
           "a session older than its maximum age");
  called("what is due");
  end_stops(index);
  for (int i = 0; i < 20 && process.executions.size() < kSlots && !broken(); ++i)
    if (!fetch(index)) break;
  if (process.draining && process.executions.empty() && !broken()) leave(index);
}

void ModelSimulation::end_stops(int index) {
  std::set<SessionKey> wait;
  for (const auto& [key, one] : model_->sessions())
    if (one.row.state == State::kStopping && one.row.stop->due_ms > now() && runs(key))
      wait.insert(key);
  model_->end_stops(options_);
  if (world_) processes_[index].worker->end_stops();
  for (const SessionKey key : wait) {
    const auto session = model_->sessions().find(key);
    expect(session != model_->sessions().end() && session->second.row.state == State::kStopping,
           "a session moved under running work");
  }
  check_stops();
  called("the end of stops");
}

void ModelSimulation::renew(int index) {
  Process& process = processes_[index];
  process.renewed_at = clock_;
  for (Execution& one : process.executions) {
    const Status status = model_->renew(one.done, process.me, options_);
    one.lost = one.lost || status == Status::kStale;
    if (world_)
      expect(process.worker->renew(one.job) == status, "the answers to a renewal of work differ");
  }
  std::vector<SessionKey> owned;
  for (const auto& [key, one] : model_->sessions())
    if (one.row.owner == process.me) owned.push_back(key);
  model_->renew_sessions(process.me, options_);
  if (world_) process.worker->renew_sessions();
  check_idle(owned);
  called("a renewal");
}

void ModelSimulation::end_executions(int index) {
  Process& process = processes_[index];
  for (std::size_t i = process.executions.size(); i-- > 0 && !broken();) {
    if (process.executions[i].ends_at > clock_) continue;
    const Execution one = process.executions[i];
    process.executions.erase(process.executions.begin() + static_cast<std::ptrdiff_t>(i));
    const auto retry = retries_.find({one.job.item.instance, one.job.item.event});
    const bool fails = retry != retries_.end() && retry->second.max_attempts > 1 && chance(40);
    if (!calm_ && chance(10)) {
      const std::int64_t delay_ms = chance(50) ? 2'000 : 0;
      const bool strike = chance(50);
      const Status status = model_->abandon(one.done, delay_ms, strike);
      if (status == Status::kOk) put_off_[one.done.item] = clock_ + delay_ms;
      if (world_)
        expect(process.worker->abandon(one.job, delay_ms, strike) == status,
               "the answers to work that is given back differ");
      called("work that is given back");
    } else if (!calm_ && chance(20)) {
      leave_outside(process, one);
    } else {
      acknowledge(process, one, fails ? ErrorKind::kApplication : ErrorKind::kNone,
                  !calm_ && chance(4));
    }
    past_.push_back({index, one});
  }
}

void ModelSimulation::acknowledge(Process& process, const Execution& one, ErrorKind error,
                                  bool aborts) {
  const auto row = model_->items().find(one.done.item);
  const bool is_there = row != model_->items().end();
  const bool counts = is_there && row->second.state == WorkState::kLocked;
  const std::int64_t failures = is_there ? row->second.failures : 0;
  const std::pair<InstanceKey, EventId> activity = {one.job.item.instance, one.job.item.event};
  const SessionKey session = one.done.session;
  const auto its = model_->sessions().find(session);
  const bool stale =
      last_token_[one.done.item] != one.done.token ||
      (session != 0 && (its == model_->sessions().end() || its->second.epoch != one.done.epoch));
  const auto had = model_->outcomes().find(activity);
  const int outcomes = had == model_->outcomes().end() ? 0 : had->second;
  const Status status = model_->acknowledge(one.done, error, aborts);
  if (aborts && session != 0) moved_[session] = clock_;
  if (status == Status::kOk && counts) {
    ++counts_.accepted;
    expect(!stale, "a result was accepted of a hand-over that was not the last");
    const auto now_has = model_->outcomes().find(activity);
    const bool is_over = now_has != model_->outcomes().end() && now_has->second > outcomes;
    if (error != ErrorKind::kNone) {
      const std::int64_t most = retries_[activity].max_attempts;
      if (!aborts) expect(is_over == (failures + 1 >= most), "tried more or less often than asked");
      if (!is_over) {
        ++counts_.retries;
        put_off_[one.done.item] = clock_ + retries_[activity].base.count() / 2;
      }
    }
  } else if (status == Status::kStale) {
    ++counts_.refused;
  }
  if (world_) {
    const Status other = process.worker->batch([&](Store& store) {
      WorkResult result;
      result.payload = "done";
      result.error = error;
      WorkDone done = one.job.done();
      done.abort_session = aborts;
      return store.work().items.ack_work_item(done, result);
    });
    expect(other == status, "the answers to a result differ");
  }
  called("a result");
}

void ModelSimulation::leave_outside(Process& process, const Execution& one) {
  const bool holds = chance(50);
  const bool aborts = chance(4);
  const Status status = model_->leave(one.done, holds, aborts);
  if (aborts && one.done.session != 0) moved_[one.done.session] = clock_;
  if (status == Status::kOk) ++counts_.left;
  outside_.push_back(one);
  if (world_) {
    const Status other = process.worker->batch([&](Store& store) {
      WorkDone done = one.job.done();
      done.abort_session = aborts;
      return store.work().outside.leave(
          done, holds ? WhileOutside::kHoldsSession : WhileOutside::kFreesSession);
    });
    expect(other == status, "the answers to work that goes outside differ");
  }
  called("work that goes outside");
}

// Answers some activity of the last ones that went outside, or one that still runs.
void ModelSimulation::answer_one() {
  const int index = pick(0, kNodes - 1);
  std::vector<Execution>& running = processes_[index].executions;
  const ErrorKind error = chance(30) ? ErrorKind::kApplication : ErrorKind::kNone;
  if (!running.empty() && chance(20)) {
    Execution& one =
        running[static_cast<std::size_t>(pick(0, static_cast<int>(running.size()) - 1))];
    one.lost = true;
    outside_.push_back(one);
    return answer(Execution(one), error);
  }
  if (outside_.empty()) return;
  const int last = static_cast<int>(outside_.size()) - 1;
  answer(Execution(outside_[static_cast<std::size_t>(pick(std::max(0, last - 9), last))]), error);
}

// Any process may answer: here it is a worker that lives, with a batch of its own.
void ModelSimulation::answer(const Execution& one, ErrorKind error) {
  int index = 0;
  while (index < kNodes && !alive(processes_[index]))
    ++index;
  if (index == kNodes) return;
  const std::pair<InstanceKey, EventId> activity = {one.job.item.instance, one.job.item.event};
  const auto count = [&] {
    const auto had = model_->outcomes().find(activity);
    return had == model_->outcomes().end() ? 0 : had->second;
  };
  const auto row = model_->items().find(one.done.item);
  const bool is_last = row != model_->items().end() && last_token_[one.done.item] == one.done.token;
  const int before = count();
  const std::int64_t changes = model_->changes();
  model_->set_now(now());
  const Status status = model_->answer(one.done, error);
  if (model_->changes() != changes) {
    ++counts_.answered;
    expect(status == Status::kOk && is_last, "an answer to an attempt that is over counts");
    if (error == ErrorKind::kNone) expect(count() == before + 1, "an answer without an outcome");
    if (count() == before) put_off_[one.done.item] = clock_ + retries_[activity].base.count() / 2;
  }
  if (world_) {
    const Status other = processes_[index].worker->batch([&](Store& store) {
      return store.work().outside.answer(one.job.token, {error, "answer", false});
    });
    expect(other == status, "the answers to an answer differ");
  }
  called("an answer");
}

void ModelSimulation::bury_dead(int index) {
  Process& process = processes_[index];
  std::vector<ModelStore::Registered> living;
  for (const auto& [key, worker] : model_->workers())
    if (!worker.buried) living.push_back(worker);
  for (const ModelStore::Registered& worker : living) {
    Claim claim;
    claim.holder = worker.me;
    claim.locked_until = worker.locked_until;
    claim.boot_seq = kBootSeq;
    claim.subject = -worker.me;
    const Gone gone = process.evidence->gone(claim, process.me, now(), kBootSeq);
    if (world_)
      expect(process.worker->evidence().gone(claim, process.me, now(), kBootSeq) == gone,
             "the evidence differs");
    if (gone == Gone::kNo) continue;
    if (gone == Gone::kSuspicion && now() < worker.locked_until + 60'000) continue;
    model_->bury(worker.me, 0);
    if (world_) process.worker->bury(worker.me);
    called("a burial");
  }
}

bool ModelSimulation::fetch(int index) {
  Process& process = processes_[index];
  ModelStore::Fetcher who;
  who.me = process.me;
  who.draining = process.draining;
  who.options = &options_;
  who.evidence = process.evidence.get();
  const auto& all = process.executions;
  who.runs_item = [&all](WorkItemId id) {
    return std::any_of(all.begin(), all.end(),
                       [id](const Execution& one) { return one.done.item == id; });
  };
  who.runs_session = [&all](InstanceKey scope, std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const Execution& one) {
      return one.done.session != 0 && one.scope == scope && one.session == name;
    });
  };
  std::vector<Owned> before;
  for (const auto& [key, one] : model_->sessions())
    if (one.row.owner.has_value() && one.row.owner != process.me)
      before.push_back({key, *one.row.owner, one.epoch, model_->lease_of(one)});
  const Room room = room_of(process);
  const ModelStore::Looks looks = process.looks;
  const auto taken = model_->fetch(who, process.looks);
  check_taken_over(before);
  check_room(process, room, looks, taken);
  std::optional<Job> job;
  if (world_) {
    process.worker->running.clear();
    for (const Execution& one : all)
      process.worker->running.push_back(one.job);
    job = process.worker->fetch();
    while (!job && process.worker->look_again())
      job = process.worker->fetch();
    expect(job.has_value() == taken.has_value(),
           "one side hands work over, and the other does not");
    if (job && taken) {
      const ModelStore::Item& item = model_->items().at(taken->item);
      expect(job->item.instance == item.instance && job->item.event == item.event &&
                 job->item.epoch == taken->epoch && job->item.session == taken->session,
             "what is handed over differs");
      expect(job->item.token > last_of_database_, "tokens do not rise");
      last_of_database_ = job->item.token;
    }
  }
  called("a fetch");
  if (!taken || broken()) return false;
  check_handed_over(index, *taken);
  Execution one;
  one.done = *taken;
  if (job) one.job = *job;
  const ModelStore::Item& item = model_->items().at(taken->item);
  one.job.item.instance = item.instance;
  one.job.item.event = item.event;
  if (taken->session != 0) {
    one.scope = model_->sessions().at(taken->session).scope;
    one.session = model_->sessions().at(taken->session).name;
  }
  const bool is_crowded = options_.evict_idle_ms != 0;
  const std::int64_t longest = calm_ ? 3 : chance(20) ? 400 : is_crowded ? 4 : 60;
  one.ends_at = clock_ + 1'000 * pick(0, static_cast<int>(longest));
  process.executions.push_back(one);
  ++counts_.handed_over;
  return true;
}

// ---- invariants ----

void ModelSimulation::called(const char* what) {
  ++calls_;
  if (model_->changes() != checked_) note_work();
  if (!broken() && model_->changes() != checked_) check_rows();
  checked_ = model_->changes();
  if (!broken() && world_) agree(what);
}

void ModelSimulation::agree(const char* what) {
  const std::string rows = world_->text(kRows);
  const std::string model = model_->text();
  if (rows == model) return;
  violation_ = std::string("the rows differ after ") + what + ": " + difference(rows, model);
}

void ModelSimulation::check_handed_over(int index, const ModelStore::HandedOver& one) {
  const Process& process = processes_[index];
  expect(tokens_.insert(one.token).second, "a token came twice");
  last_token_[one.item] = one.token;
  for (const Execution& other : process.executions)
    expect(other.done.item != one.item, "one item twice in one process");
  const auto put_off = put_off_.find(one.item);
  expect(put_off == put_off_.end() || put_off->second <= clock_,
         "handed over before its pause ended");
  if (one.session == 0) return;
  const ModelStore::Session& session = model_->sessions().at(one.session);
  const ModelStore::Item& item = model_->items().at(one.item);
  expect(session.row.state == State::kOpen, "work handed over of a session that is not open");
  expect(owners_.emplace(one.epoch, process.me).first->second == process.me,
         "two owners of one epoch");
  if (session.row.fails_on_loss)
    expect(
        keepers_.emplace(std::make_pair(one.session, session.opening), process.me).first->second ==
            process.me,
        "a session that fails on loss went to another owner");
  for (const auto& [id, other] : model_->items()) {
    if (other.session != one.session || id >= one.item) continue;
    expect(!other.barrier, "work handed over before the barrier in front of it has ended");
    if (session.row.exclusive)
      expect(other.state == WorkState::kCancelledRunning || other.state == WorkState::kOutside,
             "exclusive work out of order");
  }
  if (session.row.exclusive) check_exclusive(index, session);
  for (const Execution& other : process.executions)
    if (session.row.exclusive || item.barrier)
      expect(other.scope != session.scope || other.session != session.name,
             "an exclusive session twice in one process");
  if (item.attempts == 1 && session.scope == 0) check_pace(session, item);
  if (item.attempts != 1 || session.scope == 0 || !session.has_limits ||
      session.limits.max_activities == 0)
    return;
  const std::int64_t count = ++paced_[{one.session, session.opening}];
  expect(count <= session.limits.max_activities, "more activities than its opening allows");
  expect(count <= 1 + (now() - session.opened_at) / kPaceMs,
         "activities faster than its opening allows");
}

bool ModelSimulation::runs(SessionKey session) const {
  return std::any_of(model_->items().begin(), model_->items().end(), [&](const auto& one) {
    return one.second.session == session && one.second.token.has_value();
  });
}

// An exclusive session may run beside an execution of another process only if that process was away
// or the session was made to move.
void ModelSimulation::check_exclusive(int index, const ModelStore::Session& session) {
  for (int other = 0; other < kNodes; ++other) {
    const Process& process = processes_[other];
    if (other == index || clock_ - process.unwell_at < kHealthyAfterMs) continue;
    if (moved_.count(session.key) != 0) continue;
    for (const Execution& one : process.executions)
      expect(one.lost || one.scope != session.scope || one.session != session.name,
             "an exclusive session twice");
  }
}

// A session may be taken from a living process only an interval after this same lease ended.
void ModelSimulation::check_taken_over(const std::vector<Owned>& before) {
  for (const Owned& was : before) {
    const auto is = model_->sessions().find(was.session);
    if (is == model_->sessions().end() || is->second.row.owner == was.owner) continue;
    ++counts_.taken_over;
    const auto first = expired_.find({was.epoch, was.locked_until});
    const bool is_seen =
        first != expired_.end() && first->second + options_.renewal_interval_ms() <= now();
    for (const Process& process : processes_)
      expect(!process.lives || process.me != was.owner || is_seen,
             "taken over before its owner was observed");
  }
}

ModelSimulation::Room ModelSimulation::room_of(const Process& process) const {
  Room out;
  for (const auto& [key, one] : model_->sessions()) {
    if (one.row.state != State::kOpen) continue;
    const bool runs_here =
        std::any_of(process.executions.begin(), process.executions.end(),
                    [&one = one](const Execution& execution) {
                      return execution.scope == one.scope && execution.session == one.name;
                    });
    if (!one.row.owner.has_value() && one.head != 0 && !runs_here) out.waiting[key] = one.head;
    if (one.row.owner != process.me || one.row.fails_on_loss) continue;
    const bool is_busy =
        one.head != 0 ||
        std::any_of(model_->items().begin(), model_->items().end(), [key = key](const auto& item) {
          return item.second.session == key && (item.second.state == WorkState::kLocked ||
                                                item.second.state == WorkState::kCancelledRunning ||
                                                item.second.state == WorkState::kOutsideHolding);
        });
    if (!is_busy && one.last_activity_at + options_.evict_idle_ms <= model_->now())
      out.idle[key] = one.last_activity_at;
  }
  return out;
}

// The session that waits longest is claimed first, and none waits beside a session that has been
// idle for long enough.
void ModelSimulation::check_room(const Process& process, const Room& before,
                                 const ModelStore::Looks& looks,
                                 const std::optional<ModelStore::HandedOver>& taken) {
  if (taken && before.waiting.count(taken->session) != 0)
    for (const auto& [key, head] : before.waiting)
      expect(head >= taken->item, "a session was claimed before one that has waited longer");
  if (options_.evict_idle_ms == 0 || process.draining) return;
  const Room after = room_of(process);
  const std::int64_t most = options_.max_sessions_per_worker;
  const bool is_elsewhere = model_->is_room_elsewhere(process.me, most);
  for (const auto& [key, since] : before.idle) {
    const auto session = model_->sessions().find(key);
    if (session == model_->sessions().end() || session->second.row.owner.has_value()) continue;
    ++counts_.made_room;
    for (const auto& [other, longer] : after.idle)
      expect(longer >= since, "not the session made room that has been idle for longest");
    const auto first =
        std::min_element(before.waiting.begin(), before.waiting.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    expect(!is_elsewhere || first == before.waiting.end() || looks.met != first->second ||
               looks.met_at + options_.evict_idle_ms <= model_->now(),
           "a session made room though another worker has some");
  }
  if (taken || (is_elsewhere && process.looks.met_at + options_.evict_idle_ms > model_->now()))
    return;
  expect(after.waiting.empty() || after.idle.empty(), "a session waits beside one that is idle");
}

// For each open session that closes when idle: since when no call has found work of it.
std::map<SessionKey, std::int64_t> ModelSimulation::idle_since() const {
  std::map<SessionKey, std::int64_t> out;
  for (const auto& [key, one] : model_->sessions())
    if (rules::is_open(one.row.state) && one.limits.idle_close.count() != 0)
      out[key] = had_work_.count(key) != 0 ? model_->now() : last_work_.at(key);
  return out;
}

void ModelSimulation::check_closed(const std::map<SessionKey, std::int64_t>& before) {
  for (const auto& [key, since] : before) {
    const auto is = model_->sessions().find(key);
    const bool is_open = is != model_->sessions().end() && rules::is_open(is->second.row.state);
    const std::int64_t idle_ms = now() - since;
    expect(is_open || idle_ms >= kIdleCloseMs, "closed as idle though it had work");
    expect(!is_open || idle_ms < kIdleCloseMs, "open though it was idle for long enough");
  }
}

void ModelSimulation::note_work() {
  std::set<SessionKey> with_work;
  for (const auto& [id, item] : model_->items())
    with_work.insert(item.session);
  for (const auto& [key, one] : model_->sessions()) {
    const bool has = with_work.count(key) != 0;
    const bool is_new = openings_.emplace(key, 0).first->second != one.opening + 1;
    if (has || is_new || had_work_.count(key) != 0) last_work_[key] = model_->now();
    openings_[key] = one.opening + 1;
  }
  had_work_ = std::move(with_work);
}

const ModelStore::Session* ModelSimulation::shared(const std::string& name) const {
  for (const auto& [key, one] : model_->sessions())
    if (one.scope == 0 && one.name == name) return &one;
  return nullptr;
}

bool ModelSimulation::is_unlimited(InstanceKey instance, const std::string& name) const {
  const ModelStore::Session* const session = shared(name);
  const bool is_lost = session != nullptr && session->row.state == State::kLost;
  const auto asked = asked_.find(name);
  return !is_lost && (asked == asked_.end() || asked->second.by != instance);
}

std::vector<WorkItemId> ModelSimulation::work_beside_age() const {
  std::vector<WorkItemId> out;
  for (const auto& [id, item] : model_->items()) {
    if (item.session == 0 || item.state == WorkState::kCancelledRunning) continue;
    const ModelStore::Session& session = model_->sessions().at(item.session);
    if (session.scope == 0 && is_unlimited(item.instance, session.name)) out.push_back(id);
  }
  return out;
}

void ModelSimulation::check_outlived(const std::vector<WorkItemId>& before) {
  for (const WorkItemId id : before)
    expect(model_->items().count(id) != 0, "work ended with an age that another instance set");
}

// A shared session stays as strict as an instance asked for, whichever limit ends meanwhile.
void ModelSimulation::check_strictness() {
  for (auto asked = asked_.begin(); asked != asked_.end();) {
    const ModelStore::Session* const session = shared(asked->first);
    const bool is_over = session == nullptr || session->row.state == State::kLost ||
                         session->row.state == State::kClosed;
    if (!is_over)
      expect(session->row.exclusive || !asked->second.exclusive,
             "a session that another limit ended is not exclusive any more");
    asked = is_over ? asked_.erase(asked) : std::next(asked);
  }
}

void ModelSimulation::check_pace(const ModelStore::Session& session, const ModelStore::Item& item) {
  const auto found = asked_.find(session.name);
  if (found == asked_.end() || !found->second.has_rate || item.id < found->second.from) return;
  Asked& asked = found->second;
  expect(++asked.handed <= 1 + (now() - asked.since) / kSharedPaceMs,
         "activities faster than the rate of a shared session allows");
}

void ModelSimulation::check_stops() {
  for (const auto& [key, one] : model_->sessions()) {
    if (one.row.state != State::kStopping) continue;
    expect(runs(key), "a stop goes on though nothing runs");
    expect(one.row.stop->due_ms > now(), "a stop goes on beyond its limit");
  }
}

// Checks the sessions that a renewal could have released.
void ModelSimulation::check_idle(const std::vector<SessionKey>& owned) {
  for (const SessionKey key : owned) {
    const auto session = model_->sessions().find(key);
    if (session == model_->sessions().end() || session->second.row.owner.has_value()) continue;
    for (const auto& [id, item] : model_->items())
      expect(item.session != key ||
                 (item.state == WorkState::kOutside && !session->second.row.fails_on_loss),
             "released as idle with work queued");
  }
}

void ModelSimulation::check_rows() {
  std::map<Incarnation, std::int64_t> owned;
  for (const auto& [key, one] : model_->sessions()) {
    Epoch& last = last_epoch_[key];
    expect(one.epoch >= last, "epochs do not rise");
    last = one.epoch;
    if (!one.row.owner.has_value()) continue;
    if (model_->lease_of(one) <= now())
      expired_.emplace(std::make_pair(one.epoch, model_->lease_of(one)), now());
    const auto owner = model_->workers().find(*one.row.owner);
    expect(owner != model_->workers().end() && !owner->second.buried,
           "a session owned by the dead");
    expect(++owned[*one.row.owner] <= options_.max_sessions_per_worker,
           "more sessions than its capacity");
    expect(rules::is_open(one.row.state), "a session that is not open has an owner");
    expect(owners_.emplace(one.epoch, *one.row.owner).first->second == *one.row.owner,
           "two owners of one epoch");
  }
  std::set<SessionKey> locked;
  for (const auto& [id, item] : model_->items()) {
    const bool in_hand =
        item.state == WorkState::kLocked || item.state == WorkState::kCancelledRunning;
    expect(in_hand == item.token.has_value(), "a token of what is not handed over");
    if (in_hand) expect(!model_->workers().at(item.holder).buried, "a lock of the dead");
    if (item.session == 0) continue;
    const auto its = model_->sessions().find(item.session);
    expect(its != model_->sessions().end(), "work of a session that is not there");
    if (broken()) return;
    const ModelStore::Session& session = its->second;
    const bool is_over = !rules::is_open(session.row.state);
    expect(!is_over || item.state == WorkState::kCancelledRunning,
           "work left of a session that is not open");
    if (item.state != WorkState::kLocked) continue;
    expect(session.row.owner == item.holder && session.epoch == item.epoch,
           "a lock that is not its session's owner's");
    expect(!session.row.exclusive || locked.insert(item.session).second,
           "an exclusive session locked twice");
  }
  check_strictness();
  check_executions();
}

// The row still has the token of an execution that its process kept alive.
void ModelSimulation::check_executions() {
  for (const Process& process : processes_) {
    if (!process.lives || clock_ - process.unwell_at < kHealthyAfterMs) continue;
    for (const Execution& one : process.executions) {
      if (one.lost || one.scope != 0 || open_.count(one.job.item.instance) == 0) continue;
      const auto moved = moved_.find(one.done.session);
      if (moved != moved_.end()) continue;
      const auto row = model_->items().find(one.done.item);
      expect(row != model_->items().end() && row->second.token == one.done.token,
             "work was taken from a worker that came round in time");
    }
  }
}

}  // namespace pawl::test

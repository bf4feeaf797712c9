#include "session_simulation.hpp"

#include <algorithm>

#include "codec/policy.hpp"

namespace pawl::test {
namespace {

constexpr std::int64_t kTickMs = 5'000;  // interval between the ticks of a living worker
constexpr std::int64_t kRenewMs = 20'000;
constexpr std::int64_t kHealthyAfterMs =
    90'000;  // after so long without trouble no worker suspects it
constexpr std::size_t kSlots = 3;
constexpr std::int64_t kSessionsMax = 3;
constexpr std::int64_t kSessionsMaxCrowded = 1;
constexpr std::size_t kOpenersMax = 3;
constexpr int kWithoutLocks = 3;  // this node cannot test whether another worker lives

// Sessions that all instances share, and the policy of the work on them.
struct Place {
  const char* session;
  const char* policy;
  int nodes;  // for a device: a bit for each node that has the hardware
};
constexpr Place kPlaces[] = {{"s", "", 0},
                             {"t", "", 0},
                             {"bus", "exclusive=1", 0},
                             {"bed", "device=1,exclusive=1", 1 | 2},
                             {"tank", "device=1", 2 | 4}};
constexpr char kPaced[] = "max_activities=4,rate_interval_ms=60000,rate_wait_ms=90000";
constexpr const char* kOpenings[] = {"",
                                     "exclusive=1",
                                     "fail_on_loss=1,notify=1",
                                     "exclusive=1,fail_on_loss=1",
                                     "exclusive=1,notify=1,max_age_ms=60000,expiry_notice_ms=5000",
                                     kPaced,
                                     "notify=1,close=30000,notice=5000"};
// Settings of shared sessions, given by an instance that has no work on them.
constexpr const char* kSharedSettings[] = {"notify=1", "max_age_ms=60000", "max_activities=2",
                                           "max_activities=3,rate_interval_ms=5000"};
constexpr std::int64_t kIdleCloseMs = 30'000;
// Limits of the paced session.
constexpr std::int64_t kPaceMs = 60'000;
constexpr std::int64_t kBurst = 1;
constexpr std::int64_t kActivitiesMax = 4;

std::string own_session(bool barrier) {
  ActivityPolicy options;
  options.barrier = barrier;
  options.session = "own";
  options.own_session = true;
  PolicyText text;
  return encode_policy(options, &text) ? std::string(text.view()) : std::string();
}

const Place* device(std::string_view session) {
  for (const Place& place : kPlaces)
    if (place.nodes != 0 && session == place.session) return &place;
  return nullptr;
}

std::string node_of(int index) { return std::string(1, static_cast<char>('A' + index)); }

}  // namespace

Simulation::Simulation(std::uint64_t seed, WorkerRule without, bool crowded)
    : without_(without), crowded_(crowded), random_(seed), world_(seed) {
  world_.machine.set_synced(true);
  for (int i = 0; i < kNodes; ++i)
    start(i);
}

void Simulation::run(int steps) {
  for (int i = 0; i < steps && !broken(); ++i, ++steps_) {
    trouble();
    pass(chance(20) ? 100 : 1'000 * pick(1, 5));
    check_rows();
  }
}

void Simulation::settle() {
  calm_ = true;
  for (Process& process : processes_)
    process.frozen_until = 0;
  for (int i = 0; i < 600 && !broken(); ++i, ++steps_) {
    if (i % 30 == 0)
      for (int index = 0; index < kNodes; ++index)
        if (alive(processes_[index])) declare(index);
    pass(2'000);
    check_rows();
    if (i > 20 && world_.number("SELECT count(*) FROM worker_queue") == 0) break;
  }
  expect_none("work was stranded", "SELECT count(*) FROM worker_queue");
  if (broken()) return;
  for (const auto& [instance, events] : open_) {
    take(instance, world_.completions(instance));
    for (const EventId event : events)
      expect(outcomes_.count({instance, event}) == 1, "an activity without an outcome");
    expect(expired_[instance] == 0, "an expiry of which its instance was not told once");
    expect(closed_idle_[instance] == 0, "an idle close of which its instance was not told once");
    expect(closings_[instance] >= 0, "an idle close without a notice before it");
  }
  expect(world_.number("SELECT count(*) FROM sessions WHERE state<3 AND expires_at+10000<?1",
                       {world_.now()}) == 0,
         "a session older than its maximum age");
  expect(world_.number("SELECT count(*) FROM sessions WHERE state<2 AND instr(limits,'close=')>0"
                       " AND last_activity_at+?1<?2",
                       {2 * kIdleCloseMs, world_.now()}) == 0,
         "open though it was idle for long enough");
}

void Simulation::expect(bool holds, const std::string& what) {
  if (!holds && violation_.empty()) violation_ = what;
}

void Simulation::expect_none(const char* what, const char* sql) {
  if (!broken()) expect(world_.number(sql) == 0, what);
}

bool Simulation::alive(const Process& process) const {
  return process.worker != nullptr && clock_ >= process.frozen_until;
}

// ---- trouble ----

void Simulation::trouble() {
  const int index = pick(0, kNodes - 1);
  Process& process = processes_[index];
  const int what = pick(0, 219);
  if (what < 60) {
    schedule();
  } else if (what < 66) {
    kill(index);
  } else if (what < 74 && process.worker) {
    process.frozen_until = clock_ + 1'000 * pick(10, chance(30) ? 300 : 120);
  } else if (what < 77) {
    suspend(1'000 * pick(13, 500));
  } else if (what < 78) {
    reboot();
  } else if (what < 82) {
    world_.machine.set_wall(1'000LL * pick(0, 2'000'000'000));
  } else if (what < 86 && !open_.empty()) {
    cancel();
    if (alive(process) && chance(50)) move_one(index);
  } else if (what < 90 && !past_.empty()) {
    acknowledge_again();
  } else if (what < 92 && alive(process)) {
    leave(index);
  } else if (what < 93 && alive(process)) {
    process.draining = true;
    if (without_ != WorkerRule::kDrain) {
      process.worker->drain();
      for (const Execution& one : process.executions)
        moved_[one.session] = clock_;
    }
  } else if (what < 102 && alive(process)) {
    move_one(index);
  } else if (what < 106 && alive(process)) {
    device_trouble(index);
  } else if (what < 110) {
    open_one();
  } else if (what < 134 && !openers_.empty()) {
    use_opener();
  } else if (what < 140 && alive(process)) {
    use_shared(index);
  }
}

// Gives settings to a shared session, or closes it as an operator.
void Simulation::use_shared(int index) {
  const std::string session = kPlaces[pick(0, 2)].session;
  moved_[session] = forced_[session] = clock_;
  if (chance(50)) {
    const char* const settings = session == "t" ? "fail_on_loss=1" : kSharedSettings[pick(0, 3)];
    take(0,
         world_.commit(world_.instance(), {{EventKind::kSessionSettings, session, {}, settings}}));
    return;
  }
  const Status status = processes_[index].worker->batch(
      [&](Store& store) { return store.session().expiry.close_session("", session, ""); });
  expect(status == Status::kOk || status == Status::kNotFound || status == Status::kBuried,
         "a closing from outside failed");
}

void Simulation::schedule() {
  const int count = pick(1, 3);
  const Place none = {"", "", 0};
  const Place& place = chance(20) ? none : kPlaces[pick(0, 4)];
  const bool common = chance(85) || place.nodes != 0;
  const std::int64_t before = generation(place.session);
  const InstanceKey key = world_.schedule(common ? "a" : "b", place.session, count, place.policy);
  if (before != 0 && generation(place.session) != before) let_begin_anew(place.session);
  unlimited_.insert(key);
  for (int i = 0; i < count; ++i)
    open_[key].push_back(static_cast<EventId>(2 + i));
}

std::int64_t Simulation::generation(const std::string& session) {
  return world_.number(
      ("SELECT coalesce(max(gen),0) FROM sessions WHERE scope=0 AND name='" + session + "'")
          .c_str());
}

// A shared session gets another opening: work handed over in the previous one is no longer
// accepted.
void Simulation::let_begin_anew(const std::string& session) {
  moved_[session] = clock_;
  ++counts_.begun_anew;
}

void Simulation::cancel() {
  const auto victim = std::next(open_.begin(), pick(0, static_cast<int>(open_.size()) - 1));
  const InstanceKey instance = victim->first;
  moved_["own@" + std::to_string(instance)] = clock_;
  world_.end(instance);
  open_.erase(victim);
  openers_.erase(std::remove_if(openers_.begin(), openers_.end(),
                                [&](const Opener& one) { return one.instance == instance; }),
                 openers_.end());
}

void Simulation::open_one() {
  if (openers_.size() >= (crowded_ ? 1 : kOpenersMax)) return;
  Opener opener;
  opener.instance = world_.instance();
  opener.policy = kOpenings[pick(0, 6)];
  open_[opener.instance];
  openers_.push_back(opener);
}

// One turn that opens, schedules or closes, or several of these.
void Simulation::use_opener() {
  Opener& opener =
      openers_[static_cast<std::size_t>(pick(0, static_cast<int>(openers_.size()) - 1))];
  std::vector<World::Command> turn;
  for (int i = pick(1, 3); i > 0; --i) {
    if (!opener.open || chance(5)) {
      turn.push_back({EventKind::kSessionOpen, "own", {}, opener.policy});
      opener.open = true;
    } else if (chance(15)) {
      turn.push_back({EventKind::kSessionClose, "own", {}, {}});
      opener.open = false;
      ++counts_.closed;
      moved_["own@" + std::to_string(opener.instance)] = clock_;
    } else {
      open_[opener.instance].push_back(opener.next + static_cast<EventId>(turn.size()));
      turn.push_back({EventKind::kActivity, "a", "own", own_session(crowded_ && chance(20))});
    }
  }
  opener.next += static_cast<EventId>(turn.size());
  take(opener.instance, world_.commit(opener.instance, turn));
}

void Simulation::move_one(int index) {
  const Place& place = kPlaces[chance(50) ? 2 : pick(0, 4)];
  const bool force = chance(40);
  const std::string to = chance(30) ? "" : node_of(pick(0, kNodes - 1));
  if (processes_[index].worker->transfer(place.session, to, force) != Status::kOk) return;
  moved_[place.session] = clock_;
  ++counts_.moved;
  if (force) forced_[place.session] = clock_;
}

void Simulation::device_trouble(int index) {
  if (chance(50)) return declare(index);
  const Place& place = kPlaces[pick(3, 4)];
  if (processes_[index].worker->withdraw(place.session) == Status::kOk)
    moved_[place.session] = clock_;
}

void Simulation::declare(int index) {
  for (const Place& place : kPlaces) {
    if ((place.nodes & (1 << index)) == 0 || processes_[index].draining) continue;
    const Status status = processes_[index].worker->declare(place.session, chance(70) || calm_);
    expect(status == Status::kOk || status == Status::kDeviceHeld || status == Status::kBuried,
           "a declaration failed");
    moved_[place.session] = clock_;
  }
}

void Simulation::start(int index) {
  Process& process = processes_[index];
  process = Process();
  process.worker = std::make_unique<Worker>(world_);
  Worker& worker = *process.worker;
  worker.handlers = index == 0 ? std::set<std::string>{"a", "b"}
                               : std::set<std::string>{"a", index == 1 ? "b" : "a"};
  worker.options.max_sessions_per_worker =
      static_cast<std::uint32_t>(crowded_ ? kSessionsMaxCrowded : kSessionsMax);
  worker.options.evict_idle_ms = crowded_ ? 3'000 : 0;
  worker.options.session_idle_timeout_ms = 60'000;
  worker.limits = {1'000, 1'000, 1'000};  // high, because poison has its own tests
  if (without_ == WorkerRule::kObserve) worker.observe_ms = 0;
  if (without_ == WorkerRule::kOversleep) worker.oversleep_ms = 1'000'000'000;
  process.unwell_at = process.ticked_at = process.renewed_at = clock_;
  register_worker(index);
}

void Simulation::register_worker(int index) {
  Process& process = processes_[index];
  const Incarnation before = process.worker->me();
  const auto notes = notes_.find(former_[index]);
  process.worker->node.set_locks_testable(true);
  const Status joined = process.worker->try_join(
      node_of(index), notes == notes_.end() ? std::vector<CrashNote>() : notes->second);
  expect(joined == Status::kOk, "a worker could not register");
  expect(process.worker->me() > before, "incarnations do not rise");
  if (broken()) return;
  // A worker can always register under its own old name. About other workers this node knows only
  // their leases.
  process.worker->node.set_locks_testable(index != kWithoutLocks);
  former_[index] = process.worker->me();
  if (calm_ || chance(70)) declare(index);
  note_changes(index);
}

void Simulation::kill(int index) {
  Process& process = processes_[index];
  if (!process.worker) return;
  std::vector<CrashNote> notes;
  for (const Execution& one : process.executions)
    notes.push_back({0, one.job.item.id});
  notes_[process.worker->me()] = notes;
  process.worker->kill();
  process = Process();
  process.unwell_at = clock_;
  process.starts_at = clock_ + 1'000 * pick(0, 120);
}

void Simulation::leave(int index) {
  Process& process = processes_[index];
  if (!process.executions.empty() && without_ != WorkerRule::kKeepUntilEnd) return;
  process.worker->leave();
  note_changes(index);
  if (!process.executions.empty()) return register_worker(index);  // its work goes on
  process = Process();
  process.unwell_at = clock_;
  process.starts_at = clock_ + 1'000 * pick(0, 60);
}

// The test's clock stands still meanwhile, so that no worker is blamed for this time.
void Simulation::suspend(std::int64_t ms) {
  world_.machine.suspend(ms);
  for (Process& process : processes_)
    process.renewed_at -= ms;
}

void Simulation::reboot() {
  for (Process& process : processes_) {
    process = Process();
    process.unwell_at = clock_;
    process.starts_at = clock_ + 1'000 * pick(0, 20);
  }
  world_.reboot(1'000 * pick(1, 10'000), chance(50));
  notes_.clear();
}

// ---- time and ticks ----

void Simulation::pass(std::int64_t ms) {
  world_.machine.advance(ms);
  clock_ += ms;
  for (int index = 0; index < kNodes && !broken(); ++index) {
    Process& process = processes_[index];
    if (!process.worker) {
      if (clock_ >= process.starts_at) start(index);
      continue;
    }
    if (clock_ < process.frozen_until) {
      process.unwell_at = clock_;
      continue;
    }
    if (clock_ - process.ticked_at >= kTickMs || chance(40)) tick(index);
  }
}

void Simulation::tick(int index) {
  Process& process = processes_[index];
  Worker& worker = *process.worker;
  process.ticked_at = clock_;
  worker.observe();
  if (worker.renew_self() == Status::kBuried) {
    // Everything that it held is lost; its executions run on until they end.
    for (Execution& one : process.executions)
      one.lost = true;
    process.unwell_at = clock_;
    process.draining = false;
    worker.draining = false;
    return register_worker(index);
  }
  if (clock_ - process.renewed_at >= kRenewMs && without_ != WorkerRule::kRenew) renew(index);
  end_executions(index);
  bury_dead(index);
  worker.wake();
  expect(world_.number("SELECT count(*) FROM sessions WHERE state<3 AND expires_at<=?1",
                       {world_.now()}) == 0,
         "a session older than its maximum age");
  worker.end_stops();
  worker.take_devices_over();
  if (chance(5)) worker.cleanup(3);
  bool more = true;
  for (int i = 0; i < 20 && process.executions.size() < kSlots && more && !broken(); ++i)
    more = fetch(index) || worker.look_again();
  if (!more && !broken()) all_is_served(index);
  note_changes(index);
  if (process.draining && process.executions.empty()) leave(index);
}

void Simulation::renew(int index) {
  Process& process = processes_[index];
  process.renewed_at = clock_;
  for (Execution& one : process.executions) {
    if (one.lost || process.worker->renew(one.job) != Status::kStale) continue;
    one.lost = true;
    expect(is_excused(process, one), "taken over, though it came round in time: " + one.session);
  }
  note_changes(index);
  process.worker->renew_sessions();
  let_go(index, " idle");
}

// Checks the sessions that were released just now.
void Simulation::let_go(int index, const char* reason) {
  const Process& process = processes_[index];
  const auto& events = process.worker->events;
  for (std::size_t i = process.reported; i < events.size(); ++i) {
    const std::size_t name = std::string("released ").size();
    if (events[i].rfind("released ", 0) != 0 || events[i].find(reason) == std::string::npos)
      continue;
    const std::string session = events[i].substr(name, events[i].find('@') - name);
    const bool makes_room = events[i].find(" capacity") != std::string::npos;
    expect(session != "own" || makes_room, "one that never idles was released as idle");
    expect(device(session) == nullptr, "a device was released as idle");
    counts_.evicted += makes_room ? 1 : 0;
    // A session with only delayed work, or work that waits behind it, keeps no room.
    const char* const in_use = makes_room ? " AND (q.state IN (1,3) OR s.head_id IS NOT NULL)" : "";
    expect(world_.text(("SELECT count(*) FROM worker_queue q JOIN sessions s ON s.sid=q.sid"
                        " WHERE s.scope=0 AND s.name='" +
                        session + "'" + in_use)
                           .c_str()) == "0",
           makes_room ? "work ran, or waited to, of what made room"
                      : "released as idle with work queued");
  }
  note_changes(index);
}

void Simulation::bury_dead(int index) {
  Worker& worker = *processes_[index].worker;
  WorkerRow rows[64];
  std::size_t count = 0;
  expect(worker.store().worker().list_workers(rows, 64, &count) == Status::kOk,
         "workers are listed");
  for (std::size_t i = 0; i < count; ++i) {
    Claim claim;
    claim.holder = rows[i].incarnation;
    claim.locked_until = rows[i].locked_until;
    claim.boot_seq = rows[i].boot_seq;
    claim.subject = -rows[i].incarnation;
    const std::int64_t now = world_.now();
    const std::int64_t boot = world_.number("SELECT boot_seq FROM meta");
    const Gone gone = worker.evidence().gone(claim, worker.me(), now, boot);
    if (gone == Gone::kNo) continue;
    if (gone == Gone::kSuspicion && now < rows[i].locked_until + 60'000) continue;
    worker.bury(rows[i].incarnation, notes_[rows[i].incarnation]);
  }
}

// Some activities outlast every freeze, so that a process meets work that it has lost.
std::int64_t Simulation::duration() {
  if (calm_) return 1'000 * pick(0, 3);
  return 1'000 * pick(0, chance(20) ? 400 : 60);
}

bool Simulation::fetch(int index) {
  Process& process = processes_[index];
  process.worker->running.clear();
  for (const Execution& one : process.executions) {
    Job known = one.job;
    if (without_ == WorkerRule::kRunsItem) known.item.id = 0;
    if (without_ == WorkerRule::kRunsSession) known.session.clear();
    process.worker->running.push_back(known);
  }
  note_changes(index);
  const auto job = process.worker->fetch();
  let_go(index, " capacity");
  if (!job) return false;
  handed_over(index, *job);
  process.executions.push_back({*job, session_of(*job), clock_, clock_ + duration(), false});
  return true;
}

void Simulation::end_executions(int index) {
  Process& process = processes_[index];
  auto& all = process.executions;
  for (std::size_t i = all.size(); i-- > 0 && !broken();) {
    if (all[i].ends_at > clock_) continue;
    const Execution one = all[i];
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    if (!one.lost && chance(10)) {
      const bool delayed = chance(50);
      static_cast<void>(process.worker->abandon(one.job, delayed ? 2'000 : 0, chance(50)));
    } else {
      acknowledge(index, one.job, !calm_ && chance(4));
    }
    past_.push_back({index, one.job});
  }
}

// Repeats an acknowledgement, from the worker that has the node now.
void Simulation::acknowledge_again() {
  const auto& [index, job] =
      past_[static_cast<std::size_t>(pick(0, static_cast<int>(past_.size()) - 1))];
  if (alive(processes_[index])) acknowledge(index, job, false);
}

// ---- invariants ----

std::string Simulation::session_of(const Job& job) {
  if (job.session != "own") return job.session;
  return job.session + "@" + std::to_string(job.item.instance);
}

void Simulation::handed_over(int index, const Job& job) {
  const Process& process = processes_[index];
  const Incarnation me = process.worker->me();
  expect(tokens_.insert(job.item.token).second, "a token came twice");
  last_token_[job.item.id] = job.item.token;
  for (const Execution& one : process.executions)
    expect(one.job.item.id != job.item.id, "one item twice in one process");
  if (job.session.empty()) return expect(!process.draining, "a draining worker took new work");
  const std::string session = session_of(job);
  Epoch& last = last_epoch_[session];
  expect(job.item.epoch >= last, "epochs do not rise");
  last = job.item.epoch;
  expect(owner_.emplace(job.item.epoch, me).first->second == me, "two owners of one epoch");
  const Place* const place = device(job.session);
  expect(place == nullptr || (place->nodes & (1 << index)) != 0,
         "work of a device on a worker that does not have it");
  expect(!job.item.claimed_now || !process.draining || place != nullptr,
         "a draining worker claimed a session");
  expect(world_.number("SELECT coalesce((SELECT state FROM sessions WHERE sid=?1),-1)",
                       {job.item.session}) == 0,
         "work handed over of a session that is stopping, lost or closed");
  if (world_.number("SELECT fail FROM sessions WHERE sid=?1", {job.item.session}) != 0) {
    const std::int64_t opening =
        world_.number("SELECT gen FROM sessions WHERE sid=?1", {job.item.session});
    const std::string key =
        session + "#" + std::to_string(job.item.session) + "." + std::to_string(opening);
    expect(keeper_.emplace(key, me).first->second == me,
           "a session that fails on loss went to another owner");
  }
  if (job.item.attempt == 1) paced_handed_over(job);
  if (job.item.exclusive) exclusive_handed_over(index, job, session);
  expect(world_.number("SELECT count(*) FROM worker_queue WHERE sid=?1 AND id<?2 AND barrier=1",
                       {job.item.session, job.item.id}) == 0,
         "work handed over before the barrier in front of it has ended");
  if (world_.number("SELECT count(*) FROM worker_queue WHERE id=?1 AND barrier=1", {job.item.id}) ==
      0)
    return;
  for (const Execution& one : process.executions)
    expect(one.session != session, "a barrier beside other work in one process");
}

// The session gets no more work and no faster than its opening allows.
void Simulation::paced_handed_over(const Job& job) {
  const SessionKey session = job.item.session;
  if (world_.number("SELECT coalesce(instr(limits,'rate_'),0)*(scope<>0) FROM sessions"
                    " WHERE sid=?1",
                    {session}) == 0)
    return;
  const std::int64_t opening = world_.number("SELECT gen FROM sessions WHERE sid=?1", {session});
  const std::int64_t age =
      world_.now() - world_.number("SELECT created_at FROM sessions WHERE sid=?1", {session});
  const std::int64_t count = ++paced_[{session, opening}];
  expect(count <= kActivitiesMax, "more activities than its opening allows");
  expect(count <= kBurst + age / kPaceMs, "activities faster than its opening allows");
}

void Simulation::exclusive_handed_over(int index, const Job& job, const std::string& session) {
  expect(world_.number("SELECT count(*) FROM worker_queue WHERE sid=?1 AND id<?2 AND state<>3",
                       {job.item.session, job.item.id}) == 0,
         "exclusive work out of order");
  for (int other = 0; other < kNodes; ++other) {
    const Process& process = processes_[other];
    for (const Execution& one : process.executions) {
      if (one.session != session) continue;
      expect(other != index, "an exclusive session twice in one process");
      const bool was_away = process.unwell_at >= one.since;
      const auto force = forced_.find(session);
      const bool forced = force != forced_.end() && force->second >= one.since;
      expect(was_away || forced, "an exclusive session twice, though its first owner came round: " +
                                     session + " since " + std::to_string(one.since) + " at " +
                                     node_of(other) + ", now at " + node_of(index));
      ++counts_.overlaps;
    }
  }
}

void Simulation::acknowledge(int index, const Job& given, bool abort) {
  Job job = given;
  if (without_ == WorkerRule::kToken) {
    job.item.token = world_.number(
        "SELECT coalesce((SELECT token FROM worker_queue WHERE id=?1),-1)", {job.item.id});
    job.item.epoch = world_.number(
        "SELECT coalesce((SELECT epoch FROM worker_queue WHERE id=?1),-1)", {job.item.id});
  }
  const bool stale_epoch =
      given.item.session != 0 &&
      world_.number("SELECT coalesce((SELECT epoch FROM sessions WHERE sid=?1),-1)",
                    {given.item.session}) != given.item.epoch;
  const bool stale_token = last_token_[given.item.id] != given.item.token;
  const std::int64_t rows =
      world_.number("SELECT count(*) FROM worker_queue WHERE id=?1 AND state<>3", {given.item.id});
  if (abort) moved_[session_of(job)] = clock_;
  const Status status = processes_[index].worker->ack(job, "done", abort);
  if (status == Status::kBuried) return;
  counts_.refused += status == Status::kStale ? 1 : 0;
  if (status != Status::kOk || rows == 0) return;
  ++counts_.accepted;
  expect(!stale_epoch, "a result accepted under an epoch that had passed");
  expect(!stale_token, "a result accepted for a hand-over that was not the last");
  expect(accepted_.insert({job.item.instance, job.item.event}).second, "a result accepted twice");
}

// A worker with free slots that found nothing has no ready work in its own sessions.
void Simulation::all_is_served(int index) {
  const Process& process = processes_[index];
  const bool has_all = process.worker->handlers.size() == 2;
  const bool has_lost =
      std::any_of(process.executions.begin(), process.executions.end(), [&](const Execution& one) {
        return world_.number("SELECT count(*) FROM worker_queue WHERE id=?1 AND token=?2",
                             {one.job.item.id, one.job.item.token}) == 0;
      });
  if (!has_all || has_lost || process.executions.size() >= kSlots) return;
  expect(world_.number("SELECT count(*) FROM sessions WHERE owner=?1 AND state=0 AND excl=0"
                       " AND head_id IS NOT NULL AND NOT EXISTS(SELECT 1 FROM worker_queue b"
                       "  WHERE b.id=head_id AND b.barrier=1)",  // a barrier waits
                       {process.worker->me()}) == 0,
         "an owned session was not served");
  if (!crowded_ || process.draining) return;
  // An execution here may hold back an exclusive session, and a worker that has room comes first.
  if (!process.executions.empty() ||
      world_.number(
          "SELECT count(*) FROM workers w WHERE buried=0 AND draining=0 AND inc<>?1 AND"
          " sessions_max>(SELECT count(*) FROM sessions s WHERE s.owner=w.inc AND hard=0)",
          {process.worker->me()}) != 0)
    return;
  expect(world_.number(
             "SELECT EXISTS(SELECT 1 FROM sessions WHERE owner IS NULL AND hard=0 AND"
             " state=0 AND head_id IS NOT NULL) AND EXISTS(SELECT 1 FROM sessions s WHERE"
             " owner=?1 AND hard=0 AND state=0 AND fail=0 AND last_activity_at+?2<=?3 AND"
             " head_id IS NULL AND NOT EXISTS(SELECT 1 FROM worker_queue q WHERE q.sid=s.sid AND"
             " q.state IN (1,3)))",
             {process.worker->me(), process.worker->options.evict_idle_ms, world_.now()}) == 0,
         "a session waits beside one that is idle");
}

void Simulation::note_changes(int index) {
  Process& process = processes_[index];
  const auto& events = process.worker->events;
  for (; process.reported < events.size(); ++process.reported) {
    const std::string& event = events[process.reported];
    counts_.migrations += event.rfind("migrated", 0) == 0 ? 1 : 0;
    counts_.losses += event.rfind("lost", 0) == 0 ? 1 : 0;
    if (event.rfind("expired shared ", 0) == 0) {
      let_begin_anew(event.substr(std::string("expired shared ").size()));
    } else if (event.rfind("expired ", 0) == 0) {
      const std::string id = event.substr(std::string("expired ").size());
      const InstanceKey instance =
          world_.number(("SELECT key FROM instances WHERE id='" + id + "'").c_str());
      moved_["own@" + std::to_string(instance)] = clock_;
      ++expired_[instance];
      ++counts_.expired;
    }
    if (event.rfind("closed idle ", 0) == 0) note_idle_close(event.substr(12));
    const std::size_t at = event.find('@');
    if (at == std::string::npos) continue;
    expect(reported_.insert(std::atoll(event.c_str() + at + 1)).second, "a change reported twice");
  }
}

void Simulation::note_idle_close(const std::string& id) {
  const InstanceKey instance =
      world_.number(("SELECT key FROM instances WHERE id='" + id + "'").c_str());
  moved_["own@" + std::to_string(instance)] = clock_;
  const auto work = last_work_.find(instance);
  expect(work == last_work_.end() || world_.now() - work->second >= kIdleCloseMs,
         "closed as idle though it had work");
  ++closed_idle_[instance];
  --closings_[instance];
  ++counts_.closed_idle;
}

// Called at the end of a step. Each opener has only one session.
void Simulation::note_work() {
  for (const Opener& one : openers_)
    if (world_.number("SELECT EXISTS(SELECT 1 FROM worker_queue q JOIN sessions s ON s.sid=q.sid"
                      " WHERE s.scope=?1)",
                      {one.instance}) != 0)
      last_work_[one.instance] = world_.now();
}

void Simulation::take(InstanceKey instance, const std::vector<Message>& messages) {
  for (const Message& one : messages) {
    if (one.ref == 0) {  // a notice of a session
      if (one.payload.find("\"idle\"") != std::string::npos) --closed_idle_[instance];
      if (one.payload.find("\"closing\"") != std::string::npos) ++closings_[instance];
      if (one.payload.find("\"expired\"") != std::string::npos) --expired_[instance];
      continue;
    }
    expect(outcomes_.insert({instance, one.ref}).second, "an activity with two outcomes");
    const bool is_of_limit = one.error == ErrorKind::kLimit ||
                             one.error == ErrorKind::kRateLimited ||
                             (one.error == ErrorKind::kSessionClosed &&
                              one.payload.find("expired") != std::string::npos);
    expect(!is_of_limit || unlimited_.count(instance) == 0,
           "work failed by a limit that another instance set");
  }
}

void Simulation::check_rows() {
  expect_none("sessions owned by the dead",
              "SELECT count(*) FROM sessions s LEFT JOIN workers w ON w.inc=s.owner"
              " WHERE s.owner IS NOT NULL AND coalesce(w.buried,1)=1");
  expect_none("locks that are not their session's owner's",
              "SELECT count(*) FROM worker_queue q JOIN sessions s ON s.sid=q.sid WHERE q.state=1"
              " AND (s.owner IS NULL OR q.inc<>s.owner OR q.epoch<>s.epoch)");
  expect_none("locks of the dead",
              "SELECT count(*) FROM worker_queue q LEFT JOIN workers w ON w.inc=q.inc"
              " WHERE q.state IN (1,3) AND coalesce(w.buried,1)=1");
  expect_none("tokens of what is not handed over",
              "SELECT count(*) FROM worker_queue WHERE state IN (0,2) AND (token IS NOT NULL OR"
              " inc IS NOT NULL)");
  expect_none("exclusive sessions locked twice",
              "SELECT count(*) FROM (SELECT 1 FROM worker_queue q JOIN sessions s ON s.sid=q.sid"
              " WHERE s.excl=1 AND q.state=1 GROUP BY q.sid HAVING count(*)>1)");
  expect_none("wrong heads",
              "SELECT count(*) FROM sessions s WHERE state IN (0,1) AND head_id IS NOT CASE WHEN"
              " excl=0 THEN (SELECT min(id) FROM worker_queue q WHERE sid=s.sid AND state=0"
              "  AND NOT EXISTS(SELECT 1 FROM worker_queue b WHERE b.sid=s.sid AND b.barrier=1"
              "  AND b.id<q.id))"
              " ELSE (SELECT id FROM worker_queue q WHERE sid=s.sid AND state=0"
              "  AND id=(SELECT min(id) FROM worker_queue WHERE sid=s.sid AND state<>3)"
              "  AND NOT EXISTS(SELECT 1 FROM worker_queue WHERE sid=s.sid AND state IN (1,3)))"
              " END");
  expect_none("work of a session that is not there",
              "SELECT count(*) FROM worker_queue q LEFT JOIN sessions s ON s.sid=q.sid"
              " WHERE q.sid IS NOT NULL AND s.sid IS NULL");
  expect_none("work left of a session that is lost or closed",
              "SELECT count(*) FROM worker_queue q JOIN sessions s ON s.sid=q.sid"
              " WHERE s.state IN (2,3,5) AND q.state<>3");
  expect_none("sessions of an instance that has ended",
              "SELECT count(*) FROM sessions s LEFT JOIN instances i ON i.key=s.scope"
              " WHERE s.scope<>0 AND s.state<>3 AND coalesce(i.state,1)<>0");
  expect_none("two holders of one device",
              "SELECT count(*) FROM (SELECT 1 FROM devices WHERE role<>1 GROUP BY sid"
              " HAVING count(*)>1)");
  expect_none("a device owned by who has not declared it",
              "SELECT count(*) FROM sessions s WHERE s.hard=1 AND s.owner IS NOT NULL AND s.state=0"
              " AND NOT EXISTS(SELECT 1 FROM devices d WHERE d.sid=s.sid AND d.inc=s.owner)");
  if (!broken())
    expect(world_.number("SELECT count(*) FROM (SELECT 1 FROM sessions WHERE owner IS NOT NULL AND"
                         " hard=0 GROUP BY owner HAVING count(*)>?1)",
                         {crowded_ ? kSessionsMaxCrowded : kSessionsMax}) == 0,
           "more sessions than its capacity");
  check_healthy();
  note_work();
}

// True if the process was away, the instance has ended, or the session was closed or is to move.
bool Simulation::is_excused(const Process& process, const Execution& one) const {
  if (clock_ - process.unwell_at < kHealthyAfterMs || open_.count(one.job.item.instance) == 0)
    return true;
  const auto moved = moved_.find(one.session);
  return moved != moved_.end() && moved->second >= one.since - kHealthyAfterMs;
}

// The row still has the token of an execution that its process kept alive.
void Simulation::check_healthy() {
  for (const Process& process : processes_) {
    if (broken() || !process.worker) continue;
    for (const Execution& one : process.executions) {
      if (one.lost || is_excused(process, one)) continue;
      const std::int64_t token = world_.number(
          "SELECT coalesce((SELECT token FROM worker_queue WHERE id=?1),-1)", {one.job.item.id});
      expect(token == one.job.item.token,
             "taken over, though it came round in time: " + one.session);
    }
  }
}

}  // namespace pawl::test

// Several workers under random trouble, from a seed: kills, freezes past every lease and waking again,
// suspends, reboots, clock steps, cancelled instances, duplicate and late acknowledgements, handlers
// that not everybody has, an exclusive session.
//
// Held after every step: one owner an epoch, epochs rise, only the last hand-over of an item under the
// present epoch is accepted, locks belong to their session's owner and epoch, heads are right, nobody
// is robbed who came round in time, and no process runs an exclusive session twice. Held at the end,
// when the trouble stops: all work is done. PAWL_SOAK=1 runs a thousand seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "session_world.hpp"

namespace pawl::test {
namespace {

constexpr std::int64_t kTickMs = 5'000;  // a living worker comes round so often
constexpr std::int64_t kRenewMs = 20'000;
constexpr std::int64_t kHealthyAfterMs = 90'000;  // since it last was not: nobody suspects it then
constexpr std::size_t kSlots = 3;
constexpr int kNodes = 4;
const char* const kSessions[] = {"s", "t", "u", "exclusive"};

struct Execution {
  Job job;
  std::int64_t ends_at = 0;  // boot time of the test
  bool lost = false;         // was told so
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed), world_(seed) {
    world_.machine.set_synced(true);
    for (int i = 0; i < kNodes; ++i)
      start(i);
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      trouble();
      pass(chance(20) ? 100 : 1'000 * pick(1, 5));
      check_rows();
    }
    settle();
  }

  [[nodiscard]] int accepted() const { return static_cast<int>(completed_.size()); }
  [[nodiscard]] int refused() const { return refused_; }
  [[nodiscard]] int migrations() const { return migrations_; }

 private:
  struct Process {
    std::unique_ptr<Worker> worker;
    std::vector<Execution> executions;
    std::int64_t frozen_until = 0;
    std::int64_t unwell_at = -kHealthyAfterMs;  // last time it was away, dead or just started
    std::int64_t ticked_at = 0;
    std::int64_t renewed_at = 0;
    std::size_t told = 0;  // events already looked at
    std::int64_t starts_at = 0;
  };

  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  static std::string node_of(int index) { return std::string(1, static_cast<char>('A' + index)); }

  // ---- trouble ----

  void trouble() {
    const int index = pick(0, kNodes - 1);
    Process& process = processes_[index];
    const int what = pick(0, 199);
    if (what < 60) {
      schedule();
    } else if (what < 66) {
      kill(index);
    } else if (what < 74 && process.worker) {
      process.frozen_until = clock_ + 1'000 * pick(10, 150);
    } else if (what < 77) {
      suspend(1'000 * pick(13, 500));
    } else if (what < 78) {
      reboot();
    } else if (what < 82) {
      world_.machine.set_wall(1'000LL * pick(0, 2'000'000'000));
    } else if (what < 86 && !open_.empty()) {
      cancel();
    } else if (what < 90 && !past_.empty()) {
      acknowledge_again();
    } else if (what < 92 && alive(process)) {
      leave(index);
    }
  }

  bool alive(const Process& process) const {
    return process.worker != nullptr && clock_ >= process.frozen_until;
  }

  void schedule() {
    const int count = pick(1, 3);
    const char* const session = chance(25) ? "" : kSessions[pick(0, 3)];
    const InstanceKey key = world_.schedule(chance(85) ? "a" : "b", session, count);
    world_.execute("UPDATE sessions SET excl=1 WHERE name='exclusive' AND excl=0");
    open_[key] = count;
  }

  void cancel() {
    const auto victim = std::next(open_.begin(), pick(0, static_cast<int>(open_.size()) - 1));
    world_.end(victim->first);
    open_.erase(victim);
  }

  void start(int index) {
    Process& process = processes_[index];
    process = Process();
    process.worker = std::make_unique<Worker>(world_);
    process.worker->handlers = index == 0 ? std::set<std::string>{"a", "b"}
                                          : std::set<std::string>{"a", index == 1 ? "b" : "a"};
    process.worker->options.max_sessions_per_worker = 3;
    process.worker->limits = {1'000, 1'000, 1'000};  // poison has its own tests
    process.unwell_at = process.ticked_at = process.renewed_at = clock_;
    register_worker(index);
  }

  void register_worker(int index) {
    Process& process = processes_[index];
    const Incarnation before = process.worker->me();
    const auto notes = notes_.find(former_[index]);
    const Status joined = process.worker->try_join(
        node_of(index), notes == notes_.end() ? std::vector<CrashNote>() : notes->second);
    ASSERT_EQ(joined, Status::kOk) << process.worker->refusal();
    former_[index] = process.worker->me();
    ASSERT_GT(process.worker->me(), before);
    note_changes(index);
  }

  void kill(int index) {
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

  void leave(int index) {
    Process& process = processes_[index];
    if (!process.executions.empty()) return;
    process.worker->leave();
    note_changes(index);
    process = Process();
    process.unwell_at = clock_;
    process.starts_at = clock_ + 1'000 * pick(0, 60);
  }

  void suspend(std::int64_t ms) {
    world_.machine.suspend(ms);
    clock_ += ms;  // everybody is late by it, and nobody is to blame
    for (Process& process : processes_) {
      process.ticked_at += ms;
      process.renewed_at -= ms;
    }
  }

  void reboot() {
    for (Process& process : processes_) {
      process = Process();
      process.unwell_at = clock_;
      process.starts_at = clock_ + 1'000 * pick(0, 20);
    }
    world_.reboot(1'000 * pick(1, 10'000), chance(50));
    notes_.clear();
  }

  // ---- time and ticks ----

  void pass(std::int64_t ms) {
    world_.machine.advance(ms);
    clock_ += ms;
    for (int index = 0; index < kNodes && !::testing::Test::HasFailure(); ++index) {
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

  void tick(int index) {
    Process& process = processes_[index];
    Worker& worker = *process.worker;
    process.ticked_at = clock_;
    worker.observe();
    if (worker.renew_self() == Status::kBuried) {
      // Everything it held is lost; what runs goes on until it ends.
      for (Execution& one : process.executions)
        one.lost = true;
      process.unwell_at = clock_;
      register_worker(index);
      return;
    }
    if (clock_ - process.renewed_at >= kRenewMs) renew(process);
    end_executions(index);
    bury_dead(index);
    worker.wake();
    if (chance(5)) worker.cleanup(3);
    for (int i = 0; i < 20 && process.executions.size() < kSlots; ++i)
      if (!fetch(index) && !worker.look_again()) break;
    note_changes(index);
  }

  void renew(Process& process) {
    process.renewed_at = clock_;
    for (Execution& one : process.executions)
      if (!one.lost && process.worker->renew(one.job) == Status::kStale) one.lost = true;
    process.worker->renew_sessions(true);
  }

  void bury_dead(int index) {
    Worker& worker = *processes_[index].worker;
    WorkerRow rows[64];
    std::size_t count = 0;
    ASSERT_EQ(worker.provider().list_workers(rows, 64, &count), Status::kOk);
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

  // Some outlive every freeze, so that a process meets what it lost.
  std::int64_t duration() {
    if (calm_) return 1'000 * pick(0, 3);
    return 1'000 * pick(0, chance(20) ? 400 : 90);
  }

  bool fetch(int index) {
    Process& process = processes_[index];
    process.worker->running.clear();
    for (const Execution& one : process.executions)
      process.worker->running.push_back(one.job);
    const auto job = process.worker->fetch();
    if (!job) return false;
    handed_over(index, *job);
    process.executions.push_back({*job, clock_ + duration(), false});
    return true;
  }

  void end_executions(int index) {
    Process& process = processes_[index];
    auto& all = process.executions;
    for (std::size_t i = all.size(); i-- > 0;) {
      if (all[i].ends_at > clock_) continue;
      const Execution one = all[i];
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      if (!one.lost && chance(10)) {
        const bool delayed = chance(50);
        static_cast<void>(process.worker->abandon(one.job, delayed ? 2'000 : 0, chance(50)));
      } else {
        acknowledge(index, one.job);
      }
      past_.push_back({index, one.job});
    }
  }

  // A repeat of an acknowledgement, from whichever worker has the node now.
  void acknowledge_again() {
    const auto& [index, job] =
        past_[static_cast<std::size_t>(pick(0, static_cast<int>(past_.size()) - 1))];
    if (alive(processes_[index])) acknowledge(index, job);
  }

  // ---- what must hold ----

  void handed_over(int index, const Job& job) {
    const Incarnation me = processes_[index].worker->me();
    ASSERT_TRUE(tokens_.insert(job.item.token).second) << "a token came twice";
    last_token_[job.item.id] = job.item.token;
    if (job.session.empty()) return;
    Epoch& last = last_epoch_[job.session];
    ASSERT_GE(job.item.epoch, last) << job.session;
    last = job.item.epoch;
    const auto owner = owner_.emplace(job.item.epoch, me).first;
    ASSERT_EQ(owner->second, me) << "two owners of epoch " << job.item.epoch;
    if (!job.item.exclusive) return;
    for (const Execution& one : processes_[index].executions)
      ASSERT_NE(one.job.session, job.session) << "an exclusive session twice in one process";
  }

  void acknowledge(int index, const Job& job) {
    const bool stale_epoch =
        job.item.session != 0 &&
        world_.number("SELECT coalesce((SELECT epoch FROM sessions WHERE sid=?1),-1)",
                      {job.item.session}) != job.item.epoch;
    const bool stale_token = last_token_[job.item.id] != job.item.token;
    const std::int64_t rows = world_.number("SELECT count(*) FROM orchestrator_queue");
    const Status status = processes_[index].worker->ack(job);
    if (status == Status::kBuried) return;
    const bool message = world_.number("SELECT count(*) FROM orchestrator_queue") != rows;
    if (!message) {
      refused_ += status == Status::kStale ? 1 : 0;
      return;
    }
    ASSERT_EQ(status, Status::kOk);
    ASSERT_FALSE(stale_epoch) << "accepted under an epoch that had passed";
    ASSERT_FALSE(stale_token) << "accepted for a hand-over that was not the last";
    ASSERT_TRUE(completed_.insert({job.item.instance, job.item.event}).second) << "accepted twice";
  }

  void note_changes(int index) {
    Process& process = processes_[index];
    const auto& events = process.worker->events;
    for (; process.told < events.size(); ++process.told) {
      const std::string& event = events[process.told];
      if (event.rfind("migrated", 0) != 0) continue;
      ++migrations_;
    }
    process.told = events.size();
  }

  void check_rows() {
    if (::testing::Test::HasFailure()) return;
    check_none("sessions owned by the dead",
               "SELECT count(*) FROM sessions s LEFT JOIN workers w ON w.inc=s.owner"
               " WHERE s.owner IS NOT NULL AND coalesce(w.buried,1)=1");
    check_none("locks that are not their session's owner's",
               "SELECT count(*) FROM worker_queue q JOIN sessions s ON s.sid=q.sid WHERE q.state=1"
               " AND (s.owner IS NULL OR q.inc<>s.owner OR q.epoch<>s.epoch)");
    check_none("locks of the dead",
               "SELECT count(*) FROM worker_queue q LEFT JOIN workers w ON w.inc=q.inc"
               " WHERE q.state IN (1,3) AND coalesce(w.buried,1)=1");
    check_none("tokens of what is not handed over",
               "SELECT count(*) FROM worker_queue WHERE state IN (0,2) AND (token IS NOT NULL OR"
               " inc IS NOT NULL)");
    check_none("exclusive sessions locked twice",
               "SELECT count(*) FROM (SELECT 1 FROM worker_queue q JOIN sessions s ON s.sid=q.sid"
               " WHERE s.excl=1 AND q.state=1 GROUP BY q.sid HAVING count(*)>1)");
    check_none("wrong heads",
               "SELECT count(*) FROM sessions s WHERE head_id IS NOT CASE WHEN excl=0"
               " THEN (SELECT min(id) FROM worker_queue WHERE sid=s.sid AND state=0)"
               " ELSE (SELECT id FROM worker_queue q WHERE sid=s.sid AND state=0"
               "  AND id=(SELECT min(id) FROM worker_queue WHERE sid=s.sid AND state<>3)"
               "  AND NOT EXISTS(SELECT 1 FROM worker_queue WHERE sid=s.sid AND state IN (1,3)))"
               " END");
    check_healthy();
  }

  void check_none(const char* what, const char* sql) { ASSERT_EQ(world_.number(sql), 0) << what; }

  // The token of an execution that its process kept alive is still the row's, unless it was cancelled.
  void check_healthy() {
    for (const Process& process : processes_) {
      if (!process.worker || clock_ - process.unwell_at < kHealthyAfterMs) continue;
      for (const Execution& one : process.executions) {
        if (one.lost || open_.count(one.job.item.instance) == 0) continue;
        const std::int64_t token = world_.number(
            "SELECT coalesce((SELECT token FROM worker_queue WHERE id=?1),-1)", {one.job.item.id});
        ASSERT_EQ(token, one.job.item.token) << "robbed, though it came round in time";
      }
    }
  }

  // No more trouble: everything that is not cancelled gets done.
  void settle() {
    calm_ = true;
    for (Process& process : processes_)
      process.frozen_until = 0;
    for (int i = 0; i < 400 && !::testing::Test::HasFailure(); ++i) {
      pass(2'000);
      check_rows();
      if (i > 20 && world_.number("SELECT count(*) FROM worker_queue") == 0) break;
    }
    if (::testing::Test::HasFailure()) return;
    EXPECT_EQ(world_.number("SELECT count(*) FROM worker_queue"), 0) << "work was stranded";
    for (const auto& [instance, count] : open_)
      for (int event = 2; event < 2 + count; ++event)
        EXPECT_EQ(completed_.count({instance, static_cast<EventId>(event)}), 1u)
            << instance << "/" << event;
  }

  std::mt19937_64 random_;
  World world_;
  Process processes_[kNodes];
  Incarnation former_[kNodes] = {};
  std::int64_t clock_ = 0;
  bool calm_ = false;
  std::map<InstanceKey, int> open_;
  std::map<Incarnation, std::vector<CrashNote>> notes_;
  std::vector<std::pair<int, Job>> past_;
  std::set<LockToken> tokens_;
  std::map<WorkItemId, LockToken> last_token_;
  std::map<std::string, Epoch> last_epoch_;
  std::map<Epoch, Incarnation> owner_;
  std::set<std::pair<InstanceKey, EventId>> completed_;
  int refused_ = 0;
  int migrations_ = 0;
};

TEST(SessionSimulation, trouble_from_a_seed) {
  const bool soak = std::getenv("PAWL_SOAK") != nullptr;
  const char* const only = std::getenv("PAWL_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t usual = sizeof(void*) == 4 ? 5 : 30;  // an emulated board is slow
  const std::uint64_t seeds = only != nullptr ? 1 : soak ? 1'000 : usual;
  int accepted = 0;
  int refused = 0;
  int migrations = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("PAWL_SEED=" + std::to_string(seed));
    Simulation simulation(seed);
    simulation.run(400);
    if (HasFailure()) return;
    accepted += simulation.accepted();
    refused += simulation.refused();
    migrations += simulation.migrations();
  }
  // The trouble was real.
  if (only != nullptr) return;
  EXPECT_GT(accepted, 100 * static_cast<int>(seeds));
  EXPECT_GT(refused, 10 * static_cast<int>(seeds));
  EXPECT_GT(migrations, 10 * static_cast<int>(seeds));
}

}  // namespace
}  // namespace pawl::test

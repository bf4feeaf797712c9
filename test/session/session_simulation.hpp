// Several workers under random trouble, from a seed, on the real storage: kills with work in hand,
// freezes past every lease and waking again, suspends, oversleeping, reboots, clock steps, drains,
// transfers, withdrawals, cancelled instances, sessions opened, closed, expired, lost and aborted,
// duplicate and late acknowledgements, handlers that not every worker has.
//
// What docs/sessions.md promises is checked at every step; the first thing broken is kept in
// violation().
#ifndef PAWL_TEST_SESSION_SIMULATION_HPP
#define PAWL_TEST_SESSION_SIMULATION_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "session_world.hpp"

namespace pawl::test {

// Rules that workers keep and not the storage; each can be left out.
enum class WorkerRule {
  kNone,
  kToken,         // a result is handed in with the token it was handed over with
  kObserve,       // suspicion takes one interval of observation
  kOversleep,     // who overslept forgets what it saw
  kRunsItem,      // what runs here is not taken again
  kRunsSession,   // nor anything of an exclusive session that still runs here
  kDrain,         // who drains claims nothing
  kRenew,         // leases are renewed before they end
  kKeepUntilEnd,  // a stopping worker keeps its sessions until its work has ended
};

class Simulation {
 public:
  // Crowded: less room than sessions, of which the longest idle make some, and barriers in those
  // opened.
  explicit Simulation(std::uint64_t seed, WorkerRule without = WorkerRule::kNone,
                      bool crowded = false);

  // Ends early with the first violation.
  void run(int steps);
  // No more trouble: everything that is not cancelled gets done.
  void settle();

  // Empty: none.
  [[nodiscard]] const std::string& violation() const { return violation_; }
  [[nodiscard]] int steps() const { return steps_; }

  // How real the trouble was.
  struct Counts {
    int accepted = 0;
    int refused = 0;
    int migrations = 0;
    int losses = 0;
    int overlaps = 0;  // of exclusive sessions, in the cases that are allowed
    int closed = 0;
    int expired = 0;
    int moved = 0;
    int evicted = 0;  // idle ones, for want of room
    int closed_idle = 0;
    int begun_anew = 0;  // shared ones, after a limit or a closing
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  static constexpr int kNodes = 4;
  struct Execution {
    Job job;
    std::string session;     // with its instance, if that opened it
    std::int64_t since = 0;  // times of the test
    std::int64_t ends_at = 0;
    bool lost = false;  // it was answered so
  };
  struct Process {
    std::unique_ptr<Worker> worker;
    std::vector<Execution> executions;
    std::int64_t frozen_until = 0;
    std::int64_t unwell_at = 0;  // last time it was away, dead or just started
    std::int64_t ticked_at = 0;
    std::int64_t renewed_at = 0;
    std::int64_t starts_at = 0;
    std::size_t reported = 0;  // events already looked at
    bool draining = false;
  };
  // An instance that opens sessions.
  struct Opener {
    InstanceKey instance = 0;
    std::string policy;  // of its session
    EventId next = 2;
    bool open = false;
  };

  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  void expect(bool holds, const std::string& what);
  void expect_none(const char* what, const char* sql);
  [[nodiscard]] bool broken() const { return !violation_.empty(); }
  [[nodiscard]] bool alive(const Process& process) const;

  void trouble();
  void schedule();
  void cancel();
  [[nodiscard]] std::int64_t generation(const std::string& session);
  void let_begin_anew(const std::string& session);
  void open_one();
  void use_opener();
  void use_shared(int index);
  void move_one(int index);
  void device_trouble(int index);
  void start(int index);
  void register_worker(int index);
  void declare(int index);
  void kill(int index);
  void leave(int index);
  void suspend(std::int64_t ms);
  void reboot();

  void pass(std::int64_t ms);
  void tick(int index);
  void renew(int index);
  void bury_dead(int index);
  bool fetch(int index);
  void end_executions(int index);
  void acknowledge_again();
  [[nodiscard]] std::int64_t duration();

  void handed_over(int index, const Job& job);
  void paced_handed_over(const Job& job);
  void exclusive_handed_over(int index, const Job& job, const std::string& session);
  void acknowledge(int index, const Job& job, bool abort);
  void all_is_served(int index);
  void note_changes(int index);
  void let_go(int index, const char* reason);
  void check_rows();
  void check_healthy();
  [[nodiscard]] bool is_excused(const Process& process, const Execution& one) const;
  void note_idle_close(const std::string& id);
  void note_work();
  void take(InstanceKey instance, const std::vector<Message>& messages);
  static std::string session_of(const Job& job);

  WorkerRule without_;
  bool crowded_;
  std::mt19937_64 random_;
  World world_;
  Process processes_[kNodes];
  Incarnation former_[kNodes] = {};
  std::int64_t clock_ = 0;
  bool calm_ = false;
  int steps_ = 0;
  std::string violation_;
  std::map<InstanceKey, std::vector<EventId>> open_;  // instances and what they wait for
  std::vector<Opener> openers_;
  std::set<InstanceKey> unlimited_;  // without settings of its own: no limit fails its work
  std::map<Incarnation, std::vector<CrashNote>> notes_;
  std::vector<std::pair<int, Job>> past_;
  std::set<LockToken> tokens_;
  std::map<WorkItemId, LockToken> last_token_;
  std::map<std::string, Epoch> last_epoch_;
  std::map<Epoch, Incarnation> owner_;
  std::map<std::string, std::int64_t> moved_;   // when a session was last asked to move
  std::map<std::string, std::int64_t> forced_;  // and that by force
  std::map<std::string, Incarnation> keeper_;   // of sessions that fail on loss, by opening
  std::set<Epoch> reported_;
  std::set<std::pair<InstanceKey, EventId>> accepted_;
  std::set<std::pair<InstanceKey, EventId>> outcomes_;
  std::map<InstanceKey, int> expired_;             // less what the instance was notified of
  std::map<InstanceKey, int> closed_idle_;         // likewise
  std::map<InstanceKey, int> closings_;            // notices of them, less those that came to pass
  std::map<InstanceKey, std::int64_t> last_work_;  // when its session was seen with work last
  std::map<std::pair<SessionKey, std::int64_t>, std::int64_t> paced_;  // handed over, by opening
  Counts counts_;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_SESSION_SIMULATION_HPP

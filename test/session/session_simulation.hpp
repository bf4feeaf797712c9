// A simulation of several workers under random trouble, from a seed, on the real storage. The
// trouble: kills during work, freezes longer than every lease, suspends, oversleeping, reboots,
// clock steps, drains, transfers, withdrawals, cancelled instances; sessions opened, closed,
// expired, lost and aborted; duplicate and late acknowledgements; handlers that not every worker
// has.
//
// Every step checks what docs/sessions.md promises. violation() keeps the first broken promise.
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

// Rules that the workers keep, not the storage. A simulation can leave out one of them.
enum class WorkerRule {
  kNone,
  kToken,         // a result is returned with the token of its hand-over
  kObserve,       // suspicion takes one interval of observation
  kOversleep,     // a worker that overslept forgets what it has observed
  kRunsItem,      // an item that runs here is not taken again
  kRunsSession,   // neither is any item of an exclusive session that still runs here
  kDrain,         // a draining worker claims nothing
  kRenew,         // leases are renewed before they end
  kKeepUntilEnd,  // a stopping worker keeps its sessions until its work has ended
};

class Simulation {
 public:
  // Crowded: workers have less capacity than there are sessions, so sessions idle for longest make
  // room, and the sessions that instances open get barriers.
  explicit Simulation(std::uint64_t seed, WorkerRule without = WorkerRule::kNone,
                      bool crowded = false);

  // Ends early with the first violation.
  void run(int steps);
  // Stops the trouble and runs until all work that is not cancelled is done.
  void settle();

  // Empty: no violation.
  [[nodiscard]] const std::string& violation() const { return violation_; }
  [[nodiscard]] int steps() const { return steps_; }

  // Counts that show how real the trouble was.
  struct Counts {
    int accepted = 0;
    int refused = 0;
    int migrations = 0;
    int losses = 0;
    int overlaps = 0;  // overlaps of exclusive sessions, where allowed
    int closed = 0;
    int expired = 0;
    int moved = 0;
    int evicted = 0;  // idle sessions that made room
    int closed_idle = 0;
    int begun_anew = 0;  // shared sessions that began anew after a limit or a closing
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  static constexpr int kNodes = 4;
  struct Execution {
    Job job;
    std::string session;     // for a session that an instance opened: with the instance, "own@KEY"
    std::int64_t since = 0;  // simulated time
    std::int64_t ends_at = 0;
    bool lost = false;  // a call was answered that the work is lost
  };
  struct Process {
    std::unique_ptr<Worker> worker;
    std::vector<Execution> executions;
    std::int64_t frozen_until = 0;
    std::int64_t unwell_at = 0;  // the last time it was away, dead or just started
    std::int64_t ticked_at = 0;
    std::int64_t renewed_at = 0;
    std::int64_t starts_at = 0;
    std::size_t reported = 0;  // number of events already looked at
    bool draining = false;
  };
  // An instance that opens sessions.
  struct Opener {
    InstanceKey instance = 0;
    std::string policy;  // settings of its session
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
  std::map<InstanceKey, std::vector<EventId>> open_;  // instances, and the activities they wait for
  std::vector<Opener> openers_;
  std::set<InstanceKey> unlimited_;  // without limits of their own: none fails their work
  std::map<Incarnation, std::vector<CrashNote>> notes_;
  std::vector<std::pair<int, Job>> past_;
  std::set<LockToken> tokens_;
  std::map<WorkItemId, LockToken> last_token_;
  std::map<std::string, Epoch> last_epoch_;
  std::map<Epoch, Incarnation> owner_;
  std::map<std::string, std::int64_t> moved_;   // when a session was last asked to move
  std::map<std::string, std::int64_t> forced_;  // when it was last asked to move by force
  std::map<std::string, Incarnation> keeper_;   // owners of sessions that fail on loss
  std::set<Epoch> reported_;
  std::set<std::pair<InstanceKey, EventId>> accepted_;
  std::set<std::pair<InstanceKey, EventId>> outcomes_;
  std::map<InstanceKey, int> expired_;             // expiries, minus their notices
  std::map<InstanceKey, int> closed_idle_;         // closings for idleness, minus their notices
  std::map<InstanceKey, int> closings_;            // notices of closings, minus closings
  std::map<InstanceKey, std::int64_t> last_work_;  // when last seen with work
  std::map<std::pair<SessionKey, std::int64_t>, std::int64_t> paced_;  // count, by opening
  Counts counts_;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_SESSION_SIMULATION_HPP

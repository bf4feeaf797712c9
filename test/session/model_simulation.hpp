// A simulation of several workers under random trouble, from a seed, on the pure rules of
// src/store/*_rules.cpp: a ModelStore alone, or beside a real database that gets the same calls.
//
// After every call those promises of docs/rules are checked that can be seen in the rows.
// Beside a database, each answer must be the same on both sides, and after each call all rows of
// sessions, work and workers. violation() keeps the first broken promise or disagreement.
#ifndef PAWL_TEST_SESSION_MODEL_SIMULATION_HPP
#define PAWL_TEST_SESSION_MODEL_SIMULATION_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model_store.hpp"
#include "session_world.hpp"

namespace pawl::test {

enum class Beside { kNothing, kDatabase };

class ModelSimulation {
 public:
  ModelSimulation(std::uint64_t seed, Beside beside, PureRule without = PureRule::kNone);
  ~ModelSimulation();

  // Ends early with the first violation.
  void run(int steps);
  // Stops the trouble and runs until all work that is not cancelled is done.
  void settle();

  // Empty: no violation.
  [[nodiscard]] const std::string& violation() const { return violation_; }
  // Number of calls of the store.
  [[nodiscard]] std::int64_t calls() const { return calls_; }

  // Counts that show how real the trouble was.
  struct Counts {
    int handed_over = 0;
    int accepted = 0;
    int refused = 0;
    int retries = 0;
    int moved = 0;
    int taken_over = 0;  // from a process that was away
    int made_room = 0;   // for a session that waited
    int left = 0;        // to an answer from outside
    int answered = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  static constexpr int kNodes = 4;
  struct Execution {
    ModelStore::HandedOver done;
    Job job;  // in the database
    InstanceKey scope = 0;
    std::string session;
    std::int64_t ends_at = 0;
    bool lost = false;  // the process knows that the result is not wanted
  };
  struct Process {
    bool lives = false;
    Incarnation me = 0;
    std::unique_ptr<Worker> worker;   // in the database
    std::unique_ptr<sim::Node> node;  // without a database
    std::unique_ptr<FixedVector<Evidence::Seen, 256>> seen_leases;
    std::unique_ptr<Evidence> evidence;
    port::Storage* storage = nullptr;
    port::Storage::WorkerFile lock;
    ModelStore::Looks looks;
    std::vector<Execution> executions;
    std::int64_t frozen_until = 0;
    std::int64_t unwell_at = 0;
    std::int64_t renewed_at = 0;
    std::int64_t starts_at = 0;
    bool draining = false;
  };
  struct Owned {
    SessionKey session = 0;
    Incarnation owner = 0;
    Epoch epoch = 0;
    std::int64_t locked_until = 0;
  };
  // An instance that opens sessions.
  struct Opener {
    InstanceKey instance = 0;
    int settings = 0;
    EventId next = 2;
    bool is_open = false;
  };

  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  void expect(bool holds, const char* what) {
    if (!holds && violation_.empty()) violation_ = what;
  }
  [[nodiscard]] bool broken() const { return !violation_.empty(); }
  [[nodiscard]] bool alive(const Process& process) const {
    return process.lives && clock_ >= process.frozen_until;
  }
  [[nodiscard]] std::int64_t now();

  void trouble();
  void schedule();
  void use_opener();
  void cancel();
  // Gives settings to a shared session, by an instance that may go on with its own work.
  void give_settings(InstanceKey instance, const std::string& name,
                     std::vector<World::Command>* turn);
  void use_shared();
  void close_shared();
  void move_one();
  void start(int index);
  void register_worker(int index);
  void kill(int index);
  void leave(int index);
  void drain(int index);
  void pass(std::int64_t ms);
  void tick(int index);
  void renew(int index);
  void end_executions(int index);
  void acknowledge(Process& process, const Execution& one, ErrorKind error, bool aborts);
  // The execution leaves its activity to an answer, which may come at any time, or twice.
  void leave_outside(Process& process, const Execution& one);
  void answer_one();
  void answer(const Execution& one, ErrorKind error);
  void bury_dead(int index);
  bool fetch(int index);

  // Called after each call of the store: checks the rows.
  void called(const char* what);
  void agree(const char* what);
  [[nodiscard]] bool runs(SessionKey session) const;
  void check_rows();
  void check_handed_over(int index, const ModelStore::HandedOver& one);
  void end_stops(int index);
  void check_stops();
  void check_exclusive(int index, const ModelStore::Session& session);
  void check_taken_over(const std::vector<Owned>& before);
  // The sessions that the fetching worker could claim, with the work each would begin with; and its
  // own sessions that have been idle for long enough to make room, and since when.
  struct Room {
    std::map<SessionKey, WorkItemId> waiting;
    std::map<SessionKey, std::int64_t> idle;
  };
  [[nodiscard]] Room room_of(const Process& process) const;
  void check_room(const Process& process, const Room& before, const ModelStore::Looks& looks,
                  const std::optional<ModelStore::HandedOver>& taken);
  void check_idle(const std::vector<SessionKey>& owned);
  [[nodiscard]] std::map<SessionKey, std::int64_t> idle_since() const;
  void check_closed(const std::map<SessionKey, std::int64_t>& before);
  void note_work();
  [[nodiscard]] const ModelStore::Session* shared(const std::string& name) const;
  // True if no limit may end this instance's work on the session.
  [[nodiscard]] bool is_unlimited(InstanceKey instance, const std::string& name) const;
  [[nodiscard]] std::vector<WorkItemId> work_beside_age() const;
  void check_outlived(const std::vector<WorkItemId>& before);
  void check_strictness();
  void check_pace(const ModelStore::Session& session, const ModelStore::Item& item);
  void check_executions();

  std::mt19937_64 random_;
  std::unique_ptr<World> world_;
  sim::Machine machine_;
  std::unique_ptr<ModelStore> model_;
  Process processes_[kNodes];
  WorkerTerms options_;
  std::int64_t clock_ = 0;
  bool calm_ = false;
  std::int64_t calls_ = 0;
  std::int64_t checked_ = 0;  // value of changes() when the rows were last checked
  std::string violation_;
  InstanceKey last_instance_ = 0;
  std::size_t openers_max_ = 0;
  bool uses_shared_ = false;
  std::vector<Opener> openers_;
  std::map<InstanceKey, std::vector<EventId>> open_;  // instances, and the activities they wait for
  std::map<std::pair<InstanceKey, EventId>, Retry> retries_;
  std::vector<std::pair<int, Execution>> past_;
  std::vector<Execution> outside_;  // also those that were answered or have ended
  std::set<LockToken> tokens_;
  std::map<WorkItemId, LockToken> last_token_;
  std::map<SessionKey, Epoch> last_epoch_;
  std::map<Epoch, Incarnation> owners_;
  std::map<std::pair<SessionKey, std::int64_t>, Incarnation> keepers_;
  std::map<std::pair<SessionKey, std::int64_t>, std::int64_t> paced_;  // handed over, by opening
  // When this lease was first seen to have ended; a renewed lease is another one.
  std::map<std::pair<Epoch, std::int64_t>, std::int64_t> expired_;
  std::map<SessionKey, std::int64_t> moved_;    // when last asked to move, closed or aborted
  std::map<WorkItemId, std::int64_t> put_off_;  // when delayed work is due
  // State after the last call that changed something: sessions that had work, the openings, and
  // when each session's work or opening was last seen.
  std::set<SessionKey> had_work_;
  std::map<SessionKey, std::int64_t> openings_;
  std::map<SessionKey, std::int64_t> last_work_;
  // The requests of instances to shared sessions, by name, until a closing or a loss.
  struct Asked {
    InstanceKey by = 0;  // the last instance that asked
    bool exclusive = false;
    bool has_rate = false;
    std::int64_t since = 0;   // when this rate was asked for
    WorkItemId from = 0;      // the first work item that the rate counts for
    std::int64_t handed = 0;  // handed over since then
  };
  std::map<std::string, Asked> asked_;
  LockToken last_of_database_ = 0;
  Counts counts_;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_SESSION_MODEL_SIMULATION_HPP

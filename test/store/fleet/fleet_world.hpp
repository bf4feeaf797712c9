// A fleet under trouble: nodes that share one store, simulated from a seed, with a true time that
// the rules cannot see.
//
// Three nodes, and at times a fourth with the id of another one, have clocks that drift and stop
// for nothing, wall clocks that may be wrong, networks that are cut, and machines that freeze,
// crash and reboot. Two nodes may be on one machine, with one clock; they crash apart. The server
// fails over, may lose its last commits, and has a wall clock that steps. A batch takes time on its
// way; its connection may break before it arrives, in the middle of it, during its commit, or
// before its answer; and it may arrive after that.
//
// All decisions are those of src/store/postgres/*_rules.hpp (removable_rules.hpp).
// Units: ms of true time, if no name says another clock.
#ifndef PAWL_TEST_FLEET_WORLD_HPP
#define PAWL_TEST_FLEET_WORLD_HPP

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "fleet_scenario.hpp"
#include "removable_rules.hpp"

namespace pawl::fleet_test {

inline constexpr int kNodes = 3;
inline constexpr int kSlots = kNodes + 1;  // the last one is a clone
inline constexpr int kSessions = 4;
inline constexpr int kExclusive = 2;  // the first ones

// ---- the rows of the store ----

struct Session {
  std::optional<Incarnation> owner;
  Epoch epoch = 0;
  Ms locked_until_ms = 0;  // store time
  std::optional<LockToken> token;
  Epoch token_epoch = 0;
  int item = 0;
};
struct Worker {
  Incarnation incarnation = 0;
  int life = 0;  // of its process
  int node_id = 0;
  int boot = 0;
  fleet::BatchRow batch;
  fleet::MarkAnswer answer;
  std::int64_t segment = 0;  // of its anchor; 0: it has said that it has none
  Ms k_ms = 0;               // of its anchor, too: store time less boot time
  Ms compared_boot_ms = 0;
  bool is_client = false;
};
struct Timer {
  Ms due_ms = 0;  // store time
  int id = 0;
};
struct Rows {
  fleet::StoreMark mark;
  OptionalMs moves_held_until_ms;  // store time
  std::int64_t timeline = 1;
  std::int64_t next_epoch = 1;
  std::int64_t next_token = 1;
  std::array<Session, kSessions> sessions;
  std::vector<Worker> workers;
  std::vector<Timer> timers;

  [[nodiscard]] Worker* find(Incarnation incarnation);
};

// ---- a batch on its way ----

struct BootClock {
  Ms base = 0;
  Ms since = 0;
  Ms ppm = 0;

  [[nodiscard]] Ms read(Ms now) const {
    return base + (now - since) + (now - since) * ppm / 1'000'000;
  }
};
// The anchor that a node takes on with a batch; it counts from the commit on.
struct NewAnchor {
  std::optional<fleet::TimeAnchor> anchor;
  bool is_siblings = false;  // it is that of another node of this boot
  bool begins_segment = false;
};
struct Work {
  int session = 0;
  LockToken token = 0;
  Epoch epoch = 0;
  int item = 0;
  bool has_ended = false;  // its result waits to be sent
};
struct Batch;
// The change of the rows by a batch, at its store time. False: nothing to do, undo it.
using Body = std::function<bool(Rows&, Ms, Batch&)>;
enum class Kind { kMark, kRegister, kRenew, kStart, kResult, kCall, kTimers };
enum class Fate { kUsual, kNeverArrives, kNoAnswer, kLands, kHalf, kLate };
enum class Verdict { kGood, kNothing, kOtherSegment, kLost, kEnded, kDisorder };
using Owned = std::array<std::optional<Epoch>, kSessions>;

struct Batch {
  int slot = 0;
  int life = 0;
  int connection = 0;
  int server = 0;
  int attempt = 0;
  Kind kind = Kind::kCall;
  Fate fate = Fate::kUsual;
  Incarnation incarnation = 0;
  std::int64_t number = 0;
  std::int64_t acknowledged = 0;
  fleet::TimedBatch timed;
  BootClock clock;  // of its sender
  NewAnchor takes;
  std::int64_t seen_request = 0;
  bool lease_is_unbroken = false;  // the sender's, when it sent the batch
  OptionalMs wall_ms;
  std::int64_t segment = 0;  // that it was made for, and then that of its anchor
  Body body;
  // Its effects.
  Verdict verdict = Verdict::kNothing;
  Ms batch_ms = 0;  // store time
  bool is_credited = false;
  fleet::TimeAnchor anchor;
  Owned owned;
  std::optional<int> claimed;
  Work work;
  std::vector<std::int64_t> issued;
  std::vector<int> made;
  std::vector<int> fired;
};
using BatchPtr = std::shared_ptr<Batch>;

// ---- machines ----

struct Machine {
  int boot = 0;
  BootClock clock;
  Ms wall_error_ms = 0;
};
struct Node {
  int slot = 0;
  int life = 0;  // of the process; what was planned for another one does not happen
  int node_id = 0;
  bool is_up = false;
  Ms cut_until = 0;
  Ms frozen_until = 0;

  bool is_connected = false;
  int connection = 0;
  std::optional<std::int64_t> seen_timeline;
  std::optional<fleet::TimeAnchor> anchor;
  std::optional<fleet::MarkRequest> request;
  std::int64_t seen_request = 0;  // of another node
  NewAnchor takes;                // with the next batch
  std::optional<fleet::LockWait> wait;
  bool is_stuck = false;                         // counted
  std::map<Incarnation, Ms> free_since_boot_ms;  // locks of connections that it sees free

  Incarnation incarnation = 0;  // 0: not registered
  std::int64_t last_number = 0;
  std::int64_t acknowledged = 0;
  std::optional<int> known_attempt;  // the last one that was acknowledged
  Ms renew_at_boot_ms = 0;
  OptionalMs own_lease_end_boot_ms;
  Owned owned;
  std::array<std::optional<Work>, kSessions> running;
  BatchPtr flight;
  BatchPtr doubt;
};

class FleetWorld {
 public:
  FleetWorld(std::uint64_t seed, const Scenario& scenario, RemovableRules::Set without);
  void run();

  [[nodiscard]] const Violations& violations() const { return violations_; }
  [[nodiscard]] const Activity& activity() const { return activity_; }

 private:
  struct Event {
    Ms at;
    std::int64_t order;
    std::function<void()> run;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  enum class AttemptState { kOpen, kCommitted, kLost };
  struct Attempt {
    AttemptState state = AttemptState::kOpen;
    std::optional<bool> word;  // what its caller was answered
  };
  struct Snapshot {
    Ms at;
    std::optional<int> attempt;
    Rows rows;
  };
  struct Holder {
    fleet::LockHolder name;
    BatchPtr batch;  // whose commit is under way; none: half a batch
    Rows draft;
  };
  struct TimerTruth {
    Ms made_at;
    Ms duration_ms;
  };
  struct OtherServer {
    Ms until = 0;
    fleet::ServerFacts facts;
  };

  // Machinery.
  void at(Ms delay, std::function<void()> run);
  Ms pick(Ms from, Ms to);
  bool chance(int percent) { return pick(0, 99) < percent; }
  Ms one_of(std::initializer_list<Ms> values);
  Node* alive(int slot, int life);
  Machine& machine_of(const Node& node);
  const Machine& machine_of(const Node& node) const;
  int machine_number(int slot) const;
  bool share_machine(const Node& a, const Node& b) const;
  Ms boot(const Node& node) const { return machine_of(node).clock.read(now_); }
  Ms server_clock() const { return 1'000'000'000 + now_ + server_step_ms_; }
  bool reaches(const Node& node) const;
  Fate draw_fate();

  // The server.
  void arrive(const BatchPtr& batch);
  Verdict execute(Rows& draft, Batch& batch);
  Verdict check(Rows& draft, const Batch& batch);
  Ms give_time(Rows& draft, Batch& batch);
  void commit(Rows&& draft, const BatchPtr& batch);
  void look_at_timers(const Batch& batch);
  void hold(const BatchPtr& batch, const Rows* draft);
  void let_go(std::int64_t backend, bool commits);
  void fail_over();
  void keep_snapshot(std::optional<int> attempt);

  // A node: its connection, batches and time.
  void start_machine(int number);
  void start_process(Node& old);
  void connect(Node& node);
  void break_connection(Node& node, Ms server_notices);
  bool may_send(const Node& node) const;
  BatchPtr make_batch(const Node& node, Kind kind, Body body);
  bool send(Node& node, Kind kind, Body body);
  void look_at_count(const Node& node, Ms count_ms);
  void answer(const BatchPtr& batch);
  void hear(Node& node, const BatchPtr& batch);
  void hear_good(Node& node, const BatchPtr& batch);
  void resolve(Node& node);
  void say(const Batch& batch, bool done);
  void watch(Node& node);
  bool has_time(Node& node);
  std::optional<fleet::TimeAnchor> sibling_of(const Node& node);
  void compare(Node& node);
  void ask(Node& node, bool has_anchor);
  void answer_request(int slot, int life, int tries);
  bool all_answered(const Node& node);
  [[nodiscard]] bool is_asked(const Worker* worker, const Node& asking) const;
  [[nodiscard]] bool is_client(const Node& node) const;
  bool others_connected(const Node& node);

  // A node: its work.
  void tick(int slot, int life);
  void look_at_leases(Node& node);
  void observe(Node& node);
  void work(Node& node);
  void enroll(Node& node);
  bool take_node_id(Rows& rows, const Node& node);
  void renew(Node& node);
  static void extend(Rows& rows, Ms batch_ms, Batch& batch);
  void claim(Node& node);
  bool claim_one(Rows& rows, Ms batch_ms, Batch& batch, Node& node);
  std::optional<fleet::OwnerView> view_of(Rows& rows, const Session& session, const Node& node);
  void start(Node& node);
  void start_item(Node& node, int index, Epoch epoch);
  void begin_work(Node& node, const Work& work);
  void finish(int slot, int life, int session, LockToken token);
  void hand_in(Node& node, int index);
  void use_timers(Node& node);
  void forget(Node& node);
  bool is_acting(const Node& node, int session) const;
  void look_for_overlap(const Node& node, int session);

  // Trouble.
  void trouble();
  void cut(Node& node, Ms duration);
  void freeze(Node& node);
  void freeze_process(Node& node, Ms duration);
  void thaw(int slot, int life);
  void end_process(Node& node);
  void crash(Node& node);
  void reboot(Node& node, Ms again_in);
  void clone();
  void upgrade();

  std::mt19937_64 random_;
  Scenario scenario_;
  RemovableRules rules_;
  Violations violations_;
  Activity activity_;
  Ms now_ = 0;
  std::int64_t order_ = 0;
  std::vector<Event> events_;  // a heap
  std::array<Machine, kSlots> machines_;
  std::array<Node, kSlots> nodes_;
  int lives_ = 0;
  int boots_ = 0;
  Incarnation next_incarnation_ = 1;
  std::map<Incarnation, bool> process_lives_;

  bool server_is_up_ = true;
  int server_ = 0;  // counts failovers
  std::int64_t timeline_ = 1;
  std::int64_t backends_ = 0;
  std::int64_t requests_ = 0;
  Ms server_step_ms_ = 0;
  Ms lost_ms_ = 0;
  Ms unknown_schema_until_ = 0;
  OtherServer other_server_;
  Rows rows_;
  std::deque<Snapshot> snapshots_;
  std::optional<Holder> holder_;
  std::deque<BatchPtr> waiting_;
  std::map<Incarnation, int> connections_;  // whose locks are held, by which connection

  std::vector<Attempt> attempts_;
  std::vector<TimerTruth> timers_;
  OptionalMs least_ahead_ms_;  // store time, of what passed by the fastest clock
  std::map<std::int64_t, std::pair<int, Incarnation>> issued_;
};

}  // namespace pawl::fleet_test

#endif  // PAWL_TEST_FLEET_WORLD_HPP

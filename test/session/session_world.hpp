// A simulated machine with several workers on one database: the environment of the session tests.
//
// A Worker is one process: its own node, connection, evidence and lock file. A World schedules work
// like an orchestration, and reads rows over its own connection. Nothing sleeps; only World::pass()
// moves the time.
#ifndef PAWL_TEST_SESSION_WORLD_HPP
#define PAWL_TEST_SESSION_WORLD_HPP

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine_beside.hpp"
#include "expect_ok.hpp"
#include "pawl/port_sim.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/store.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl::test {

inline constexpr char kPath[] = "pawl.db";

// The default terms of a worker.
inline constexpr std::int64_t kLease = 30'000;
inline constexpr std::int64_t kInterval = 25'000;
inline constexpr std::int64_t kIdle = 300'000;
inline constexpr std::int64_t kStopMs = 20'000;

// A copy of a work item that was handed over.
struct Job {
  WorkItem item;
  std::string instance;
  std::string activity;
  std::string session;
  std::string tag;
  std::string input;
  std::string token;  // to complete it from outside; empty: none
  [[nodiscard]] WorkDone done() const { return {item.id, item.token, item.epoch, item.session}; }
};

struct Message {
  EventId ref = 0;
  ErrorKind error = ErrorKind::kNone;
  std::string payload;
};

class World;

class Worker final : private ChangeSink, private WorkFilter {
 public:
  explicit Worker(World& world);
  // A worker that has joined.
  Worker(World& world, std::string_view node, const std::vector<CrashNote>& notes = {});
  ~Worker();

  // Registers the worker. `notes` are those of the node's former process.
  Status try_join(std::string_view node, const std::vector<CrashNote>& notes = {});
  void join(std::string_view node, const std::vector<CrashNote>& notes = {});
  // Ends the process like SIGKILL.
  void kill();

  // Each of these calls runs in its own batch, as a tick does.
  std::optional<Job> fetch();
  Status ack(const Job& job, std::string_view payload = "done", bool abort_session = false);
  Status check(const Job& job);
  Status abandon(const Job& job, std::int64_t delay_ms = 0, bool strike = false);
  Status renew(const Job& job);
  std::size_t renew_sessions(std::size_t* released = nullptr);
  Status renew_self();
  std::size_t cleanup(std::size_t limit = 100);
  std::size_t wake();
  void bury(Incarnation incarnation, const std::vector<CrashNote>& notes = {},
            Incarnation heir = 0);
  void leave();
  void drain();
  Status declare(std::string_view device, bool standby = false, bool* held = nullptr);
  Status withdraw(std::string_view device);
  void take_devices_over();
  Status transfer(std::string_view session, std::string_view to, bool force = false);
  std::size_t end_stops();
  // Moves the observer's clock, as a runtime does before its ticks.
  void observe();
  // Runs any other call in a batch.
  Status batch(const std::function<Status(Store&)>& call);

  // ---- steps that must succeed: else the test fails at the line that made them ----
  Job take(Here here = {});  // fetches an item: there must be one
  // Schedules an activity, takes it and acknowledges it.
  Job run_one(std::string_view session = {}, Here here = {});
  void acked(const Job& job, std::string_view payload = "done", Here here = {});
  void abandoned(const Job& job, std::int64_t delay_ms = 0, bool strike = false, Here here = {});
  // Returns whether the worker holds the device now.
  bool declared(std::string_view device, bool standby = false, Here here = {});

  [[nodiscard]] Incarnation me() const { return me_; }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] Evidence& evidence() { return *evidence_; }
  [[nodiscard]] std::string refusal() const;
  [[nodiscard]] bool look_again() const { return look_again_; }
  // Whether there was an event that begins so.
  [[nodiscard]] bool logged(std::string_view what) const;
  // The storage's own connection, so that a test can count its steps.
  [[nodiscard]] sqlite3* handle() { return handle_; }
  // Rows that this worker has written; on an engine that has the rows alone, batches that wrote.
  [[nodiscard]] std::int64_t writes();

  WorkerTerms options;
  CrashLimits limits;
  bool draining = false;
  std::set<std::string> handlers;  // empty: has all handlers
  TagFilter tags;
  std::vector<Job> running;  // the executions that the filter sees here
  bool one_crashed_at_a_time = false;
  bool draws_tokens = false;     // its work may be completed from outside
  std::int64_t observe_ms = -1;  // observation interval for expired leases; -1: from the options
  std::int64_t oversleep_ms = 12'000;
  std::int64_t pid = 0;             // 0: its real process id
  std::vector<std::string> events;  // "claimed s@3 by A", "released s@4 idle", ...
  sim::Node node;

 private:
  void on_session_change(const SessionChange& change) override;
  void on_poison(InstanceKey instance, EventId event, std::string_view why) override;
  void on_unregistered(std::string_view activity, std::string_view tag, InstanceKey instance,
                       EventId event) override;
  bool has_handler(std::string_view activity_name) const override;
  bool runs_item(WorkItemId id) const override;
  bool runs_session(InstanceKey scope, std::string_view name) const override;
  bool may_run_with(std::int32_t crashes) const override;
  bool draw_token(std::string_view activity_name, WorkItemId id, Sha256* hash) const override;

  World& world_;
  mutable store::OutsideWork::Secret drawn_;  // for the item that is fetched
  port::Port port_;
  EngineBeside::OwnedStore store_;
  FixedVector<Evidence::Seen, 256> seen_leases_;
  std::unique_ptr<Evidence> evidence_;
  port::Storage::WorkerFile file_;
  sqlite3* handle_ = nullptr;
  Incarnation me_ = 0;
  std::string name_;
  bool look_again_ = false;
  bool wakes_ = false;  // since it registered: work that waited for its names must be woken
};

class World {
 public:
  explicit World(std::uint64_t seed = 1);
  ~World();

  // ---- scheduling: one instance, one turn, `count` activities as events 2, 3, ... ----
  InstanceKey schedule(std::string_view activity, std::string_view session = {}, int count = 1,
                       std::string_view policy = {}, std::string_view tag = {});
  // The same in parts: an instance, and turns of it with commands in order. An activity names its
  // session; an opening or a closing has the session as its name.
  struct Command {
    EventKind kind = EventKind::kActivity;
    std::string name;
    std::string session;
    std::string policy;
    std::string tag = {};
  };
  InstanceKey instance();
  // Returns and removes the messages that had come meanwhile.
  std::vector<Message> commit(InstanceKey instance, const std::vector<Command>& commands);
  // Returns and removes the completions that reached the instance.
  std::vector<Message> completions(InstanceKey instance);
  // The same for exactly one.
  Message completion(InstanceKey instance, Here here = {});
  // Ends the instance; its work is cancelled.
  void end(InstanceKey instance);
  // Commits another turn that closes a command.
  void close(InstanceKey instance, EventId command);

  // ---- time ----
  // Passes `ms` in steps that no observer oversleeps; the observers of all living workers tick.
  void pass(std::int64_t ms);
  [[nodiscard]] std::int64_t now();
  // Switches the power off and on: all workers are dead, the scheduler and the reader start anew.
  void reboot(std::int64_t off_ms, bool rtc = true);

  // ---- rows ----
  std::int64_t number(const char* sql, const std::vector<std::int64_t>& values = {});
  std::string text(const char* sql);
  std::int64_t rows(const char* table);
  std::int64_t sum(const char* table, const char* column);  // -1: there is no row
  void execute(const char* sql);
  std::int64_t session_number(const char* column, std::string_view session);
  // The end of its lease.
  std::int64_t session_lease(std::string_view session) { return session_number(kLease, session); }
  static constexpr char kLease[] =
      "max(locked_until,coalesce((SELECT w.sessions_until FROM workers w WHERE w.inc=owner),0))";

  sim::Machine machine;
  std::vector<Worker*> workers;

 private:
  struct Turn;
  void turn(InstanceKey key, const std::function<void(TurnCommit&)>& fill,
            std::vector<Message>* messages);

  InstanceKey create();
  void open_client();
  void close_client();

  EngineBeside::OfWorld beside_;
  std::unique_ptr<sim::Node> client_node_;
  EngineBeside::OwnedStore client_{nullptr, nullptr};
  sqlite3* raw_ = nullptr;
  int next_instance_ = 1;
};

// A world with workers A and B.
class TwoWorkers : public ::testing::Test {
 protected:
  // From here on no worker can ask the kernel whether another lives: its lease alone counts.
  void lease_alone() {
    a_.node.set_locks_testable(false);
    b_.node.set_locks_testable(false);
  }

  World world_;
  Worker a_{world_, "A"};
  Worker b_{world_, "B"};
};

}  // namespace pawl::test

#endif  // PAWL_TEST_SESSION_WORLD_HPP

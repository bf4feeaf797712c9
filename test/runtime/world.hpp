// The world of the runtime's tests: a simulated machine with one database (pawl/testing.hpp),
// workers that come and go, and one client.
//
// A test starts workers and instances, lets time pass and looks at ends. Each helper fails the test
// at the line that called it, and names the call.
#ifndef PAWL_TEST_RUNTIME_WORLD_HPP
#define PAWL_TEST_RUNTIME_WORLD_HPP

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expect_ok.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_sim.hpp"
#include "pawl/testing.hpp"
#include "server_beside.hpp"

namespace pawl::testing {

using test::expect_ok;
using test::Here;

inline constexpr char kPath[] = "/data/pawl.db";

Process& shared_process();

class TestClient {
 public:
  TestClient(sim::Machine& machine, const char* path, ClientOptions options = {}, Here here = {});
  Client* operator->() { return &client; }
  OrchestrationStatus status(std::string_view id, Here here = {});

  sim::Node node;
  std::unique_ptr<Block> memory;
  Client client;
};

// One event of an execution.
struct KeptEvent {
  std::string kind, name, payload;
  ErrorKind error = ErrorKind::kNone;
  std::int64_t ref = 0;
  std::int64_t time_ms = 0;
};

// One machine whose clock is set. A fixture is one; a test that needs several makes them.
class Gateway {
 public:
  explicit Gateway(std::uint64_t seed = 11);
  ~Gateway() { workers.clear(); }

  // ---- what the workers know ----
  void add(const char* name, Orchestration function, const char* version = "1.0.0", Here here = {});
  void add(const char* name, Activity function, ActivityMode mode = ActivityMode::kInline,
           void* user = nullptr, Here here = {});
  // A further registry, which lives as long as the workers.
  Registry& another_registry() { return more_registries_.emplace_back(); }
  template <typename State>
  void add(const char* name, ActivityStep (*step)(ActivityContext&, State&), Here here = {}) {
    expect_ok(registry.add_cooperative(name, step), "add_cooperative", name, here);
  }

  // ---- workers ----
  // The options let instances go on at once after any number of kills; poison has tests of its own.
  void kills_are_many();
  // Without arguments: one that knows the registry and has the options.
  Worker& start_worker(Here here = {}) { return start_worker(registry, options, here); }
  Worker& start_worker(const char* node, Here here = {}) {
    return start_worker(registry, named(node), here);
  }
  Worker& start_worker(const Options& how, Here here = {}) {
    return start_worker(registry, how, here);
  }
  Worker& start_worker(const Registry& known, const Options& how, Here here = {});
  // Kills all workers (SIGKILL), and starts one with the registry as it is now.
  Worker& restart(Here here = {});
  // The options with the name of a worker.
  [[nodiscard]] Options named(const char* node) const;

  // Makes a call that a worker answers by keep_answer(), and drives it until the answer comes.
  template <typename Call>
  Status answer_of(Worker& worker, Call&& call, Here here = {}) {
    Status answer = Status::kTimeout;
    expect_ok(call(&answer), "the call", "was not accepted", here);
    drive_until(
        {&worker}, [&] { return answer != Status::kTimeout; }, 100);
    return answer;
  }
  static void keep_answer(void* user, Status status) noexcept {
    *static_cast<Status*>(user) = status;
  }
  Status declare(Worker& worker, std::string_view device, bool standby = false, Here here = {});
  Status withdraw(Worker& worker, std::string_view device, Here here = {});

  // ---- instances ----
  TestClient& client(Here here = {});
  // The client's process ended with the machine.
  void forget_client() { client_ = nullptr; }
  void start(std::string_view id, std::string_view name, std::string_view input = "",
             Here here = {});
  // The same at a worker, in its next commit.
  static void start_at(Worker& worker, std::string_view id, std::string_view name,
                       std::string_view input = "", Here here = {});
  void cancel_instance(std::string_view id, std::string_view reason, Here here = {});
  void raise_event(std::string_view id, std::string_view name, std::string_view data = "",
                   Here here = {});
  void enqueue_event(std::string_view id, std::string_view queue, std::string_view data,
                     Here here = {});
  [[nodiscard]] bool is_there(std::string_view id);
  [[nodiscard]] bool is_running(std::string_view id, Here here = {});
  [[nodiscard]] bool has_ended(std::string_view id);  // false: it runs, or is not there yet
  // The state, the kind of the error and the output: "completed output", "failed application text".
  [[nodiscard]] std::string outcome_of(std::string_view id, Here here = {});
  [[nodiscard]] std::string shown(std::string_view id, Here here = {});
  std::vector<KeptEvent> history(std::string_view id, std::int64_t execution = 0, Here here = {});
  static std::size_t count(const std::vector<KeptEvent>& events, std::string_view kind);

  // ---- time ----
  // Drives all workers, or these alone, until it holds; false: it did not within `ms`, or within
  // patience_ms if no time is given.
  bool drive_until(const std::function<bool()>& until, OptionalMs ms = {});
  bool drive_until(const std::vector<Worker*>& only, const std::function<bool()>& until,
                   OptionalMs ms = {});
  // Ticks each worker once that lives and is not this one. An activity that blocks its thread calls
  // it while it moves the time.
  void tick_all(const Worker* except = nullptr);
  // Ticks these by hand, so that no thread runs, until the first of them has begun an activity.
  static void tick_until_it_works(const std::vector<Worker*>& these, Here here = {});
  void pass(std::int64_t ms);
  void pass(const std::vector<Worker*>& only, std::int64_t ms);
  // Drives until the instance has ended; false: it has not.
  bool ends(std::string_view id, OptionalMs ms = {});
  bool ends(const std::vector<Worker*>& only, std::string_view id, OptionalMs ms = {});
  // Drives until it has ended; returns its outcome.
  std::string end_of(std::string_view id, OptionalMs ms = {}, Here here = {});
  // The same, with a kill after one, two and three ticks in turn: with a kill after every tick, no
  // result of an activity would ever be committed.
  std::string end_with_kills(std::string_view id, Here here = {});

  test::ServerBeside::OfWorld on_server;  // first, for the processes use it
  sim::Machine machine;
  Registry registry;
  Options options;
  ClientOptions client_options;
  // clear() ends those that run, in order.
  std::vector<std::unique_ptr<Worker>> workers;
  std::int64_t patience_ms = 60'000;

 private:
  std::deque<Registry> more_registries_;
  std::unique_ptr<TestClient> client_;
};

// Its workers end before what a fixture adds to them: registries, listeners, boards.
class GatewayTest : public ::testing::Test, public Gateway {
 protected:
  using Gateway::Gateway;
  void TearDown() override { workers.clear(); }
};

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_WORLD_HPP

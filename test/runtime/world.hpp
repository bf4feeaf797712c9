// A simulated machine with workers and clients (pawl/testing.hpp), in the form that GoogleTest
// tests use.
#ifndef PAWL_TEST_RUNTIME_WORLD_HPP
#define PAWL_TEST_RUNTIME_WORLD_HPP

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/pawl.hpp"
#include "pawl/port_sim.hpp"
#include "pawl/testing.hpp"

namespace pawl::testing {

Process& shared_process();

class TestClient {
 public:
  TestClient(sim::Machine& machine, const char* path, ClientOptions options = {});
  Client* operator->() { return &client; }
  OrchestrationStatus status(std::string_view id);

  sim::Node node;
  Block memory;
  Client client;
};

// Drives for at most a minute.
inline bool drive(sim::Machine& machine, const std::vector<Worker*>& workers,
                  const std::function<bool()>& until) {
  return drive(machine, workers, until, 60'000);
}

// One database on one machine whose clock is set.
class MachineTest : public ::testing::Test {
 protected:
  static constexpr char kPath[] = "/data/pawl.db";
  MachineTest() {
    machine.set_wall(1'800'000'000'000);
    machine.set_synced(true);
  }
  static Options options(const char* node) {
    Options out;
    out.database_path = kPath;
    out.worker_node_id = node;
    out.verify_turns = true;
    return out;
  }
  static bool ended(TestClient& client, std::string_view id) {
    return client.status(id).state != OrchestrationState::kRunning;
  }

  sim::Machine machine{11};
};

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_WORLD_HPP

// A simulated machine with workers and clients (pawl/testing.hpp), as the tests of GoogleTest use it.
#ifndef PAWL_TEST_RUNTIME_WORLD_HPP
#define PAWL_TEST_RUNTIME_WORLD_HPP

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

// For a minute, if nothing is said.
inline bool drive(sim::Machine& machine, const std::vector<Worker*>& workers,
                  const std::function<bool()>& until) {
  return drive(machine, workers, until, 60'000);
}

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_WORLD_HPP

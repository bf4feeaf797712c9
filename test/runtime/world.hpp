// A simulated machine with workers and clients, driven by one thread: nothing here sleeps.
#ifndef PAWL_TEST_RUNTIME_WORLD_HPP
#define PAWL_TEST_RUNTIME_WORLD_HPP

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/pawl.hpp"
#include "pawl/port_sim.hpp"

namespace pawl::testing {

// Memory of a test's object; released with it.
class Block {
 public:
  explicit Block(std::size_t bytes)
      : bytes_(bytes), data_(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {}
  ~Block() { std::free(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] void* data() { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// SQLite's memory is global: one Process for the whole test program.
Process& shared_process();

// Keeps every line as "level event key=value ...".
class Lines final : public LogSink {
 public:
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) override;
  [[nodiscard]] std::size_t count(std::string_view part) const;
  [[nodiscard]] std::string all() const;

 private:
  std::vector<std::string> lines_;
};

// One simulated process with a Runtime.
class Worker {
 public:
  Worker(sim::Machine& machine, const Registry& registry, Options options);
  ~Worker();
  Status start();
  // SIGKILL: the machine forgets the process; the object is only freed.
  void kill();
  void stop() { static_cast<void>(runtime->stop(1'000)); }

  sim::Node node;
  Options options;
  const Registry& registry;
  Lines lines;
  Diagnostic diagnostic;
  std::unique_ptr<Block> memory;
  std::unique_ptr<Runtime> runtime;
  bool killed = false;
};

class TestClient {
 public:
  TestClient(sim::Machine& machine, const char* path, ClientOptions options = {});
  Client* operator->() { return &client; }
  OrchestrationStatus status(std::string_view id);

  sim::Node node;
  Block memory;
  Client client;
};

// Ticks the workers in turn until nothing is ready; then moves time to the next due and goes on, until
// `until` holds or `ms` of simulated time have passed. True: it holds.
bool drive(sim::Machine& machine, const std::vector<Worker*>& workers,
           const std::function<bool()>& until, std::int64_t ms = 60'000);

}  // namespace pawl::testing

#endif  // PAWL_TEST_RUNTIME_WORLD_HPP

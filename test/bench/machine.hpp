// Machine: a Process, one Runtime at a time, and a view of what the Runtime has committed.
#ifndef PAWL_BENCH_MACHINE_HPP
#define PAWL_BENCH_MACHINE_HPP

#include <memory>
#include <string>
#include <string_view>

#include "measure.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"

namespace bench {

// Pages that were never touched do not count as resident, so a generous block costs nothing.
class Block {
 public:
  explicit Block(std::size_t bytes);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] void* get() const;
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::size_t bytes_;
  void* memory_;
};

// The server that `setup` names; an empty value if it names none.
[[nodiscard]] pawl::ServerDatabase find_server(const Setup& setup);

class Machine {
 public:
  Machine(const Setup& what, Figures& found)
      : setup(what), figures(found), server_(find_server(what)) {}

  // On failure both leave the reason in error().
  pawl::Status start_process();
  pawl::Status start(const pawl::Options& options);
  pawl::Status stop();
  [[nodiscard]] pawl::Options default_options() const;
  [[nodiscard]] const pawl::ServerDatabase* server() const {  // null: SQLite
    return setup.server.empty() ? nullptr : &server_;
  }
  [[nodiscard]] pawl::Runtime& runtime() { return *runtime_; }
  [[nodiscard]] pawl::Process& process() { return process_; }
  [[nodiscard]] const pawl::RuntimeStats& stats() const { return runtime_->stats(); }
  [[nodiscard]] const std::string& error() const { return error_; }
  // Keeps the first reason.
  pawl::Status explain(const char* what, pawl::Status status, std::string_view text);

  // begin() and end() enclose what is measured, once; end() fills in the figures.
  void begin();
  void end();

  // A piggybacked call: when as many wait as allowed, a tick takes them. The id is "name-number".
  pawl::Status start_one(std::uint64_t number, const char* name, std::string_view input);
  pawl::Status start_many(std::uint64_t count, const char* name, std::string_view input);
  // Runs until so many orchestrations have ended since start(), or so many turns have run. If
  // `keep_latencies` is set, every end adds the time since `since_ms` to the latencies.
  pawl::Status run_to_ends(std::uint64_t ends);
  pawl::Status run_to_turns(std::uint64_t turns);
  [[nodiscard]] std::uint64_t ends() const {
    return stats().orchestrations_completed + stats().orchestrations_failed;
  }
  bool keep_latencies = false;
  double since_ms = 0;

  const Setup& setup;
  Figures& figures;

 private:
  pawl::Status run_to(std::uint64_t pawl::RuntimeStats::*count, std::uint64_t wanted);
  bool note_ends();

  pawl::ProcessOptions process_options_;
  pawl::Process process_;
  pawl::Registry registry_;
  pawl::posix::SystemPort port_;
  std::unique_ptr<Block> process_block_;
  std::unique_ptr<Block> block_;
  std::unique_ptr<pawl::Runtime> runtime_;
  std::unique_ptr<Measurement> measurement_;
  pawl::RuntimeStats before_;
  std::uint64_t seen_ = 0;
  std::uint64_t wanted_ = 0;
  std::uint64_t pawl::RuntimeStats::*count_ = nullptr;
  std::string error_;
  pawl::ServerDatabase server_;
};

}  // namespace bench

#endif  // PAWL_BENCH_MACHINE_HPP

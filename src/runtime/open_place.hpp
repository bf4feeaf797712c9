// open_place: a database that a call of pawl/maintenance.hpp opens in the memory that it is given.
//
// Ownership: the place is a part of the caller's memory. Thread rule: that of the calls.
#ifndef PAWL_RUNTIME_OPEN_PLACE_HPP
#define PAWL_RUNTIME_OPEN_PLACE_HPP

#include <cstddef>
#include <cstdint>

#include "core/arena.hpp"
#include "pawl/maintenance.hpp"
#include "runtime/runtime_limits.hpp"
#include "store/store.hpp"
#include "store/store_factory.hpp"

namespace pawl {

inline Status check_process(const Process& process, const port::Port& port,
                            Diagnostic& diagnostic) {
  diagnostic.clear();
  if (process.started()) return check_port(port, diagnostic);
  diagnostic.format("the Process is not started");
  return Status::kInvalidArgument;
}

class OpenPlace {
 public:
  enum class For : std::uint8_t { kMove, kReading };

  OpenPlace(const DatabasePlace& at, void* place)
      : at_(at), engine_(StoreFactory::engine_of(at.database)), store_(*engine_.make(place)) {}
  ~OpenPlace() { engine_.destroy(&store_); }
  OpenPlace(const OpenPlace&) = delete;
  OpenPlace& operator=(const OpenPlace&) = delete;

  Status open(For what, bool create, const port::Port& port, Diagnostic& diagnostic) {
    constexpr std::int64_t kBusyMs = 5'000;  // longest wait for a lock
    StoreOptions options = StoreFactory::options_of(at_.path, at_.database);
    options.create = create;
    options.moves = what == For::kMove;
    options.read_only = what == For::kReading;
    options.busy_ms_max = kBusyMs;
    return store_.open(options, port, diagnostic);
  }
  [[nodiscard]] Store& store() { return store_; }

 private:
  const DatabasePlace& at_;
  const StoreEngine& engine_;
  Store& store_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_OPEN_PLACE_HPP

// Apart from maintenance.cpp, so that a program that copies databases moves none.
#include "core/arena.hpp"
#include "pawl/maintenance.hpp"
#include "runtime/runtime_limits.hpp"
#include "store/store_factory.hpp"
#include "store/store_move.hpp"

namespace pawl {
namespace {

constexpr std::int64_t kBusyMs = 5'000;  // longest wait for a lock

// A Store in the caller's memory.
class OpenPlace {
 public:
  OpenPlace(const DatabasePlace& at, void* place)
      : at_(at), engine_(StoreFactory::engine_of(at.database)), store_(*engine_.make(place)) {}
  ~OpenPlace() { engine_.destroy(&store_); }
  OpenPlace(const OpenPlace&) = delete;
  OpenPlace& operator=(const OpenPlace&) = delete;

  Status open(bool create, const port::Port& port, Diagnostic& diagnostic) {
    StoreOptions options = StoreFactory::options_of(at_.path, at_.database);
    options.create = create;
    options.moves = true;
    options.busy_ms_max = kBusyMs;
    return store_.open(options, port, diagnostic);
  }
  [[nodiscard]] Store& store() { return store_; }

 private:
  const DatabasePlace& at_;
  const StoreEngine& engine_;
  Store& store_;
};

}  // namespace

std::size_t move_memory(const DatabasePlace& from, const DatabasePlace& to) {
  ArenaPlan plan;
  for (const DatabasePlace* const place : {&from, &to})
    static_cast<void>(
        plan.allocate(StoreFactory::engine_of(place->database).bytes, StoreFactory::kAlign));
  return plan.required_memory();
}

Status move_database(Process& process, const DatabasePlace& from, const DatabasePlace& to,
                     const port::Port& port, void* memory, std::size_t bytes, MoveVisitor& visitor,
                     std::int64_t* rows, Diagnostic& diagnostic) {
  *rows = 0;
  diagnostic.clear();
  if (!process.started()) {
    diagnostic.format("the Process is not started");
    return Status::kInvalidArgument;
  }
  PAWL_TRY(check_port(port, diagnostic));
  Arena arena(memory, memory == nullptr ? 0 : bytes);
  void* const first =
      arena.allocate(StoreFactory::engine_of(from.database).bytes, StoreFactory::kAlign);
  void* const second =
      arena.allocate(StoreFactory::engine_of(to.database).bytes, StoreFactory::kAlign);
  if (first == nullptr || second == nullptr) {
    diagnostic.format("%zu bytes were given and %zu are needed", bytes, move_memory(from, to));
    return Status::kResourceExhausted;
  }
  OpenPlace old(from, first);
  PAWL_TRY(old.open(false, port, diagnostic));
  // A database that was moved before goes nowhere else, so nothing is made for it.
  bool was_moved = false;
  PAWL_TRY(store::StoreMove::was_moved(old.store(), &was_moved, diagnostic));
  OpenPlace made(to, second);
  PAWL_TRY(made.open(!was_moved, port, diagnostic));
  return store::StoreMove(old.store(), made.store(), visitor, diagnostic).run(rows);
}

}  // namespace pawl

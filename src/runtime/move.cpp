// Apart from maintenance.cpp, so that a program that copies databases moves none.
#include "runtime/open_place.hpp"
#include "store/store_move.hpp"

namespace pawl {
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
  PAWL_TRY(check_process(process, port, diagnostic));
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
  PAWL_TRY(old.open(OpenPlace::For::kMove, false, port, diagnostic));
  // A database that was moved before goes nowhere else, so nothing is made for it.
  bool was_moved = false;
  PAWL_TRY(store::StoreMove::was_moved(old.store(), &was_moved, diagnostic));
  OpenPlace made(to, second);
  PAWL_TRY(made.open(OpenPlace::For::kMove, !was_moved, port, diagnostic));
  return store::StoreMove(old.store(), made.store(), visitor, diagnostic).run(rows);
}

}  // namespace pawl

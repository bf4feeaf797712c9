// maintenance_place: checks what the calls of pawl/maintenance.hpp require, and lays out the memory
// that they are given.
//
// Ownership: the place is a part of the caller's memory. Thread rule: that of the calls.
#ifndef PAWL_RUNTIME_MAINTENANCE_PLACE_HPP
#define PAWL_RUNTIME_MAINTENANCE_PLACE_HPP

#include <cstddef>

#include "core/arena.hpp"
#include "pawl/maintenance.hpp"
#include "runtime/runtime_limits.hpp"
#include "store/database_copy.hpp"
#include "store/store_factory.hpp"

namespace pawl {

inline Status take_place(const Process& process, const port::Port& port, void* memory,
                         std::size_t bytes, void** place, Diagnostic& diagnostic) {
  diagnostic.clear();
  if (!process.started()) {
    diagnostic.format("the Process is not started");
    return Status::kInvalidArgument;
  }
  PAWL_TRY(check_port(port, diagnostic));
  Arena arena(memory, memory == nullptr ? 0 : bytes);
  *place = arena.allocate(DatabaseCopy::bytes(), StoreFactory::kAlign);
  if (*place != nullptr) return Status::kOk;
  diagnostic.format("%zu bytes were given and %zu are needed", bytes, maintenance_memory());
  return Status::kResourceExhausted;
}

}  // namespace pawl

#endif  // PAWL_RUNTIME_MAINTENANCE_PLACE_HPP

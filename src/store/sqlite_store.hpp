// SqliteStore: the SQLite provider for who must not know SQLite.
//
// Purpose: the runtime holds a provider by contract; only src/store/sqlite sees sqlite3.h.
// Ownership: the caller gives the place and destroys what it made. Thread rule: as provider.hpp.
#ifndef PAWL_STORE_SQLITE_STORE_HPP
#define PAWL_STORE_SQLITE_STORE_HPP

#include <cstddef>

#include "provider.hpp"

namespace pawl {

struct SqliteStore {
  static constexpr std::size_t kAlign = alignof(std::max_align_t);
  [[nodiscard]] static std::size_t bytes();
  // `place` has bytes() bytes at kAlign.
  [[nodiscard]] static Provider* make(void* place);
  static void destroy(Provider* provider);

  // SQLite's memory, global to the process (sqlite/sqlite_memory.hpp).
  struct HeapUse {
    std::size_t used = 0;
    std::size_t high_water = 0;
    std::size_t failures = 0;
    std::size_t pages_touched = 0;
  };
  static Status install_memory(void* block, std::size_t bytes, int page_count,
                               std::size_t payload_bytes, Diagnostic& diagnostic);
  [[nodiscard]] static std::size_t row_slots_memory(std::size_t payload_bytes);
  static void remove_memory();
  [[nodiscard]] static HeapUse heap_use();
};

}  // namespace pawl

#endif  // PAWL_STORE_SQLITE_STORE_HPP

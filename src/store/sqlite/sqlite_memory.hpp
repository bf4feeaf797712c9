// SQLite's global memory: one fixed heap for the whole process.
//
// Purpose: sqlite3_config(SQLITE_CONFIG_MALLOC / PAGECACHE) over a block that the host gave, before
// SQLite's first use. Source: sqlite.org/malloc.html. Thread rule: install once, before any
// connection; the heap then locks for itself.
#ifndef PAWL_STORE_SQLITE_SQLITE_MEMORY_HPP
#define PAWL_STORE_SQLITE_SQLITE_MEMORY_HPP

#include <cstddef>

#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl::sqlite {

struct HeapUse {
  std::size_t used = 0;
  std::size_t high_water = 0;
  std::size_t failures = 0;
  std::size_t pages_touched = 0;  // page slots that were in use at some time
};

// kSqliteAlreadyInitialised if SQLite was used before (the diagnostic names sqlite_memory = host);
// kResourceExhausted if the block is too small. `page_count` page-cache slots are cut from the
// block, and row_slots_memory() bytes for rows with payloads of up to `payload_bytes` (0: none;
// then those come from the heap).
Status install_memory(void* block, std::size_t size, int page_count, std::size_t payload_bytes,
                      Diagnostic& diagnostic);
[[nodiscard]] std::size_t row_slots_memory(std::size_t payload_bytes);
// After the last connection closed: SQLite is shut down and its own allocator stands again.
void remove_memory();
[[nodiscard]] HeapUse heap_use();

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_SQLITE_MEMORY_HPP

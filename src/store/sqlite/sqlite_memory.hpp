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
#include "store_factory.hpp"

namespace pawl::sqlite {

using HeapUse = StoreFactory::HeapUse;
using HeapPlan = StoreFactory::HeapPlan;

// A heap that remove_memory() had to leave is used again, and the new block is not needed, if this
// one may overflow, too.
// kSqliteAlreadyInitialised if SQLite was used before (the diagnostic names the other ways);
// kAlreadyExists if another heap is installed; kResourceExhausted if the block is too small.
Status install_memory(void* block, std::size_t size, const HeapPlan& plan, Diagnostic& diagnostic);
[[nodiscard]] std::size_t row_slots_memory(std::size_t payload_bytes);
// After the last connection of ours closed: SQLite is shut down and its own allocator stands again.
// False: a heap that may overflow is in use by connections of the host, and stays.
[[nodiscard]] bool remove_memory();
[[nodiscard]] HeapUse heap_use();

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_SQLITE_MEMORY_HPP

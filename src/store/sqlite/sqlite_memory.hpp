// sqlite_memory: SQLite's global memory, one fixed heap for the whole process.
//
// Purpose: sqlite3_config(SQLITE_CONFIG_MALLOC / PAGECACHE) over a block that the host gave, before
// SQLite's first use. Source: sqlite.org/malloc.html. Thread rule: install once, before any
// connection; the heap then locks for itself.
#ifndef PAWL_STORE_SQLITE_SQLITE_MEMORY_HPP
#define PAWL_STORE_SQLITE_SQLITE_MEMORY_HPP

#include <cstddef>

#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "store/store_factory.hpp"

namespace pawl::sqlite {

using HeapUse = StoreFactory::HeapUse;
using HeapPlan = StoreFactory::HeapPlan;

// If remove_memory() had to leave a heap and this plan may overflow, too, that heap is used again
// and the new block is not needed. kSqliteAlreadyInitialised if SQLite was used before (the
// diagnostic names the other ways); kAlreadyExists if another heap is installed; kResourceExhausted
// if the block is too small.
Status install_memory(void* block, std::size_t size, const HeapPlan& plan, Diagnostic& diagnostic);
[[nodiscard]] std::size_t row_slots_memory(std::size_t payload_bytes);
// Call it after Pawl's last connection closed. True: SQLite is shut down and has its own allocator
// again. False: connections of the host use a heap that may overflow, and it stays.
[[nodiscard]] bool remove_memory();
[[nodiscard]] HeapUse heap_use();

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_SQLITE_MEMORY_HPP

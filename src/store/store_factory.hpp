// StoreFactory: makes the storage for code that must not know its engine.
//
// Purpose: the loop and the client hold a Store by contract; only src/store/sqlite sees sqlite3.h.
// Without a ServerDatabase the engine is SQLite. Another engine is named by a pointer that only its
// own component gives out, so a program links an engine only if it uses it.
// Ownership: the caller gives the place and destroys what it made. Thread rule: as store.hpp.
#ifndef PAWL_STORE_STORE_FACTORY_HPP
#define PAWL_STORE_STORE_FACTORY_HPP

#include <cstddef>

#include "pawl/server_database.hpp"
#include "store/store.hpp"

namespace pawl {

// Makes a Store in `place`, which has `bytes` at StoreFactory::kAlign.
struct StoreEngine {
  std::size_t bytes = 0;
  Store* (*make)(void* place) = nullptr;
  void (*destroy)(Store* store) = nullptr;
};

struct StoreFactory {
  static constexpr std::size_t kAlign = alignof(std::max_align_t);
  [[nodiscard]] static const StoreEngine& engine_of(const ServerDatabase* database);
  // The options of a Store at this path, or of this database. Both outlive it.
  [[nodiscard]] static StoreOptions options_of(const Path& path, const ServerDatabase* database);

  // SQLite's memory, global to the process (sqlite/sqlite_memory.hpp).
  struct HeapUse {
    std::size_t used = 0;  // pages and rows in slots are not counted
    std::size_t high_water = 0;
    std::size_t failures = 0;
    std::size_t overflow_bytes = 0;  // taken from the host's allocator and in use
    std::size_t pages_touched = 0;   // page slots that were in use at some time
  };
  struct HeapPlan {
    int page_count = 0;             // slots for pages, cut from the block
    std::size_t payload_bytes = 0;  // payload size whose row_slots_memory() is cut, too; 0: none
    // A request that does not fit goes to the allocator that SQLite had before; false: it is
    // refused.
    bool may_overflow = false;
  };
  static Status install_memory(void* block, std::size_t bytes, const HeapPlan& plan,
                               Diagnostic& diagnostic);
  [[nodiscard]] static std::size_t row_slots_memory(std::size_t payload_bytes);
  // The bytes that a connection takes for the statements that it keeps.
  [[nodiscard]] static std::size_t statements_memory(std::size_t statement_bytes);
  // The bytes that a connection with so many pages in its cache takes for writes to the log.
  [[nodiscard]] static std::size_t log_buffer_memory(int cache_pages);
  [[nodiscard]] static bool remove_memory();
  [[nodiscard]] static HeapUse heap_use();
};

}  // namespace pawl

#endif  // PAWL_STORE_STORE_FACTORY_HPP

#include "sqlite_store.hpp"

#include <new>

#include "sqlite_memory.hpp"
#include "sqlite_provider.hpp"

namespace pawl {

static_assert(alignof(store::SqliteProvider) <= SqliteStore::kAlign);

std::size_t SqliteStore::bytes() { return sizeof(store::SqliteProvider); }

Provider* SqliteStore::make(void* place) { return ::new (place) store::SqliteProvider(); }

void SqliteStore::destroy(Provider* provider) {
  static_cast<store::SqliteProvider*>(provider)->~SqliteProvider();
}

Status SqliteStore::install_memory(void* block, std::size_t bytes, int page_count,
                                   std::size_t payload_bytes, Diagnostic& diagnostic) {
  return sqlite::install_memory(block, bytes, page_count, payload_bytes, diagnostic);
}

std::size_t SqliteStore::row_slots_memory(std::size_t payload_bytes) {
  return sqlite::row_slots_memory(payload_bytes);
}

void SqliteStore::remove_memory() { sqlite::remove_memory(); }

SqliteStore::HeapUse SqliteStore::heap_use() {
  const sqlite::HeapUse use = sqlite::heap_use();
  return {use.used, use.high_water, use.failures, use.pages_touched};
}

}  // namespace pawl

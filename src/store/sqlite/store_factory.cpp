#include "store/store_factory.hpp"

#include <new>

#include "store/sqlite/gathered_log.hpp"
#include "store/sqlite/kept_statements.hpp"
#include "store/sqlite/sqlite_memory.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace pawl {

static_assert(alignof(store::SqliteStore) <= StoreFactory::kAlign);

constexpr StoreEngine kSqlite = {
    sizeof(store::SqliteStore),
    [](void* place) -> Store* { return ::new (place) store::SqliteStore(); },
    [](Store* store) { static_cast<store::SqliteStore*>(store)->~SqliteStore(); }};

const StoreEngine& StoreFactory::engine_of(const ServerDatabase* database) {
  return database == nullptr || database->engine == nullptr ? kSqlite : *database->engine;
}

StoreOptions StoreFactory::options_of(const Path& path, const ServerDatabase* database) {
  StoreOptions options;
  options.path = path.c_str();
  if (database == nullptr) return options;
  options.server = database->address.c_str();
  options.schema = database->schema.view();
  return options;
}

Status StoreFactory::install_memory(void* block, std::size_t bytes, const HeapPlan& plan,
                                    Diagnostic& diagnostic) {
  return sqlite::install_memory(block, bytes, plan, diagnostic);
}

std::size_t StoreFactory::row_slots_memory(std::size_t payload_bytes) {
  return sqlite::row_slots_memory(payload_bytes);
}

std::size_t StoreFactory::statements_memory(std::size_t statement_bytes) {
  return sqlite::KeptStatements::memory(statement_bytes);
}

std::size_t StoreFactory::log_buffer_memory(int cache_pages) {
  return sqlite::log_buffer_bytes(cache_pages);
}

bool StoreFactory::remove_memory() { return sqlite::remove_memory(); }

StoreFactory::HeapUse StoreFactory::heap_use() { return sqlite::heap_use(); }

}  // namespace pawl

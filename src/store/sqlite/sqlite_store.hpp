// SqliteStore: a Store on one SQLite connection.
//
// Ownership: it owns the connection and the file. Thread rule: as store.hpp.
#ifndef PAWL_STORE_SQLITE_SQLITE_STORE_HPP
#define PAWL_STORE_SQLITE_SQLITE_STORE_HPP

#include "store/sqlite/database_file.hpp"
#include "store/sqlite/sqlite_connection.hpp"
#include "store/store.hpp"

namespace pawl::store {

// A base before Store, since the engine must outlive it.
class SqliteEngine {
 protected:
  explicit SqliteEngine(sqlite::Connection* engine)
      : engine_(engine == nullptr ? own_ : *engine), file_(engine_) {}
  ~SqliteEngine() = default;

  sqlite::Connection own_;
  sqlite::Connection& engine_;
  DatabaseFile file_;
};

class SqliteStore final : private SqliteEngine, public Store {
 public:
  SqliteStore() : SqliteStore(nullptr) {}
  // Uses the given connection, which outlives it; null: its own.
  explicit SqliteStore(sqlite::Connection* engine) : SqliteEngine(engine), Store(engine_, file_) {}
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SQLITE_SQLITE_STORE_HPP

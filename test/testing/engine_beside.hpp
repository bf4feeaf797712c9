// EngineBeside: lets the worlds of the storage's tests run each statement on a second engine, too
// (store/postgres/both_engines.cpp), or on another one alone (store/postgres/postgres_alone.cpp).
#ifndef PAWL_TEST_ENGINE_BESIDE_HPP
#define PAWL_TEST_ENGINE_BESIDE_HPP

#include <memory>
#include <string>

#include "store/sqlite/sqlite_connection.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "store/store.hpp"

namespace pawl::test {

// An engine that keeps the rows in the place of SQLite.
class EngineAlone {
 public:
  virtual ~EngineAlone() = default;
  virtual Store* make() = 0;
  virtual void destroy(Store* store) = 0;
  virtual void complete(StoreOptions* options) = 0;
  // How many batches have written so far.
  virtual std::int64_t batches() = 0;
  // Direct access to the rows. The answer has a line for each row, and | between columns.
  virtual std::string ask(const std::string& sql) = 0;
};

// Another engine beside SQLite, for a program whose tests all have it.
class EngineBeside {
 public:
  virtual ~EngineBeside() = default;
  // A world begins, with a database that is empty.
  virtual void begin() = 0;
  // The connection that a storage is to use; it lives until end().
  virtual sqlite::Connection& connect() = 0;
  // The test has changed rows by itself.
  virtual void changed(const std::string& sql) = 0;
  virtual void end() = 0;
  // Null: SQLite has the rows.
  virtual EngineAlone* alone() { return nullptr; }

  static inline EngineBeside* current = nullptr;  // null: there is none

  // The connection for a new storage; null: its own.
  static sqlite::Connection* next() { return current == nullptr ? nullptr : &current->connect(); }
  static EngineAlone* current_alone() { return current == nullptr ? nullptr : current->alone(); }
  // A storage of the engine that has the rows.
  using OwnedStore = std::unique_ptr<Store, void (*)(Store*)>;
  static OwnedStore make_store() {
    if (current_alone() != nullptr)
      return {current_alone()->make(), [](Store* store) { current_alone()->destroy(store); }};
    return {new store::SqliteStore(next()),
            [](Store* store) { delete static_cast<store::SqliteStore*>(store); }};
  }
  // For a member of a world that is made before all that use the database, and destroyed after.
  struct OfWorld {
    OfWorld() {
      if (current != nullptr) current->begin();
    }
    ~OfWorld() {
      if (current != nullptr) current->end();
    }
    OfWorld(const OfWorld&) = delete;
    OfWorld& operator=(const OfWorld&) = delete;
  };
};

}  // namespace pawl::test

#endif  // PAWL_TEST_ENGINE_BESIDE_HPP

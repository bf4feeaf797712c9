// EngineBeside: lets the worlds of the storage's tests run each statement on a second engine, too
// (store/postgres/both_engines.cpp).
#ifndef PAWL_TEST_ENGINE_BESIDE_HPP
#define PAWL_TEST_ENGINE_BESIDE_HPP

#include <string>

#include "store/sqlite/sqlite_connection.hpp"

namespace pawl::test {

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

  static inline EngineBeside* current = nullptr;  // null: there is none

  // The connection for a new storage; null: its own.
  static sqlite::Connection* next() { return current == nullptr ? nullptr : &current->connect(); }
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

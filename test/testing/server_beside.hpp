// ServerBeside: lets the worlds of the runtime's tests keep their rows on a server, in place of the
// simulated disk (store/postgres/runtime_alone.cpp).
#ifndef PAWL_TEST_SERVER_BESIDE_HPP
#define PAWL_TEST_SERVER_BESIDE_HPP

#include "pawl/server_database.hpp"

namespace pawl::test {

class ServerBeside {
 public:
  virtual ~ServerBeside() = default;
  // A world begins, with a database of its own that is empty, until end().
  virtual const ServerDatabase* begin() = 0;
  virtual void end(const ServerDatabase* database) = 0;

  static inline ServerBeside* current = nullptr;  // null: there is none

  // For a member of a world that is made before all that use the database, and destroyed after.
  struct OfWorld {
    const ServerDatabase* database = current == nullptr ? nullptr : current->begin();

    OfWorld() = default;
    ~OfWorld() {
      if (current != nullptr) current->end(database);
    }
    OfWorld(const OfWorld&) = delete;
    OfWorld& operator=(const OfWorld&) = delete;
  };
};

// One database for the world that begins next.
class OnServer final : public ServerBeside {
 public:
  explicit OnServer(const ServerDatabase& database) : database_(database) { current = this; }
  ~OnServer() override { current = nullptr; }
  OnServer(const OnServer&) = delete;
  OnServer& operator=(const OnServer&) = delete;
  const ServerDatabase* begin() override { return &database_; }
  void end(const ServerDatabase* /*database*/) override {}

 private:
  const ServerDatabase& database_;
};

}  // namespace pawl::test

#endif  // PAWL_TEST_SERVER_BESIDE_HPP

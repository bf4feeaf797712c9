// Goal: the runtime keeps its promises on PostgreSQL alone. Method: the tests of the runtime, whose
// processes and time are simulated, with their rows on a server.
#include <deque>
#include <new>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "pawl/postgres.hpp"
#include "server_beside.hpp"
#include "server_by_hand.hpp"
#include "store/postgres/postgres_database.hpp"
#include "store/store_factory.hpp"

namespace pawl::test {
namespace {

// A connection ends with its process. The server does not know of a simulated process that was
// killed, so its connection sends no statement any more.
class ConnectionOfProcess final : public postgres::Connection {
 public:
  port::Storage* process = nullptr;

  [[nodiscard]] bool in_transaction() const override {
    return !has_ended() && Connection::in_transaction();
  }

 protected:
  Step step(void* of, int* slices, int* failure) override {
    if (!has_ended()) return Connection::step(of, slices, failure);
    *failure = kEnded;
    return Step::kFailed;
  }
  Status explain(void* of, int failure) override {
    if (failure != kEnded) return Connection::explain(of, failure);
    diagnostic_.format("the process was killed");
    return Status::kIo;
  }

 private:
  static constexpr int kEnded = 100;
  [[nodiscard]] bool has_ended() const { return process->exists("").status() == Status::kIo; }
};

class DatabaseOfProcess final : public postgres::Database {
 public:
  explicit DatabaseOfProcess(ConnectionOfProcess& connection)
      : Database(connection), connection_(connection) {}
  Status connect(Diagnostic& diagnostic) override {
    connection_.process = port_.storage;
    return Database::connect(diagnostic);
  }

 private:
  ConnectionOfProcess& connection_;
};

class EngineOfProcess {
 protected:
  ConnectionOfProcess connection_;
  DatabaseOfProcess database_{connection_};
};

class StoreOfProcess final : private EngineOfProcess, public Store {
 public:
  StoreOfProcess() : Store(connection_, database_) {}
};

constexpr StoreEngine kEngine = {
    sizeof(StoreOfProcess), [](void* place) -> Store* { return ::new (place) StoreOfProcess(); },
    [](Store* store) { static_cast<StoreOfProcess*>(store)->~StoreOfProcess(); }};

class Alone final : public ServerBeside {
 public:
  const ServerDatabase* begin() override {
    if (!by_hand_.has_value()) by_hand_.emplace();
    bool is_first = true;
    for (const Place& one : places_)
      is_first = is_first && !one.is_taken;
    // Only a process that was killed in a batch leaves a connection with a lock.
    if (is_first)
      by_hand_->ask(
          "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
          "WHERE pid<>pg_backend_pid() AND backend_type='client backend') ended");
    for (Place& one : places_)
      if (!one.is_taken) return take(one);
    Place& made = places_.emplace_back();
    make_tables(made);
    return take(made);
  }
  void end(const ServerDatabase* database) override {
    for (Place& one : places_)
      if (&one.database == database) one.is_taken = false;
  }

 private:
  // A schema for one world at a time.
  struct Place {
    ServerDatabase database;
    std::string empty_all;
    bool is_taken = false;
  };

  const ServerDatabase* take(Place& place) {
    by_hand_->execute(place.empty_all);
    place.is_taken = true;
    return &place.database;
  }
  // A store makes them once. Then each world begins with the rows that these had.
  void make_tables(Place& place) {
    const std::string schema = "pawl_" + std::to_string(places_.size());
    place.database = postgresql(ServerByHand::address(), schema);
    by_hand_->execute("DROP SCHEMA IF EXISTS " + schema + " CASCADE;DROP TABLE IF EXISTS public." +
                      schema);
    posix::SystemPort system;
    postgres::PostgresStore store;
    const Path path = "test.db";
    Diagnostic diagnostic;
    EXPECT_EQ(
        store.open(StoreFactory::options_of(path, &place.database), system.port(), diagnostic),
        Status::kOk)
        << diagnostic.text();
    place.database.engine = &kEngine;
    by_hand_->execute("CREATE TABLE public." + schema + " AS SELECT * FROM " + schema + ".meta");
    place.empty_all = by_hand_->ask("SELECT string_agg('DELETE FROM " + schema +
                                    ".'||relname,';') FROM pg_class WHERE relnamespace='" + schema +
                                    "'::regnamespace AND relkind='r'") +
                      ";INSERT INTO " + schema + ".meta SELECT * FROM public." + schema;
  }

  std::optional<ServerByHand> by_hand_;
  std::deque<Place> places_;
};

Alone g_alone;
const bool g_is_set = [] {
  ServerBeside::current = &g_alone;
  return true;
}();

}  // namespace
}  // namespace pawl::test

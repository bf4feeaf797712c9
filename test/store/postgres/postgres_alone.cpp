// Goal: the storage keeps its contract on PostgreSQL alone. Method: the tests of the contract, with
// a store of this engine in the place of SQLite's; what a test does to the rows by itself, it does
// on the server.
#include <cstdlib>
#include <optional>
#include <string>

#include "engine_beside.hpp"
#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "server_by_hand.hpp"
#include "store/postgres/postgres_database.hpp"

namespace pawl::test {
namespace {

class Alone final : public EngineBeside, public EngineAlone {
 public:
  void begin() override {
    if (!by_hand_.has_value()) make_tables();
    // Only a test that failed leaves a connection with a lock.
    ask("SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid<>pg_backend_pid() AND backend_type='client backend') ended");
    changed(empty_all_);
  }
  sqlite::Connection& connect() override {
    ADD_FAILURE() << "SQLite has no part in this";
    std::abort();
  }
  void changed(const std::string& sql) override {
    by_hand_->execute(sql);
    if (!empty_all_.empty()) by_hand_->execute("UPDATE meta SET seq=seq+1");
  }
  void end() override {}
  EngineAlone* alone() override { return this; }

  Store* make() override { return new postgres::PostgresStore(); }
  void destroy(Store* store) override { delete static_cast<postgres::PostgresStore*>(store); }
  void complete(StoreOptions* options) override { options->server = ServerByHand::address(); }
  std::string ask(const std::string& sql) override { return by_hand_->ask(sql); }
  std::int64_t batches() override {
    return std::strtoll(ask("SELECT seq FROM meta").c_str(), nullptr, 10);
  }

 private:
  // A store makes them once. Then each test begins with the rows that these had.
  void make_tables() {
    by_hand_.emplace();
    changed(
        "DROP SCHEMA IF EXISTS pawl CASCADE;DROP TABLE IF EXISTS public.first_meta;"
        "SET search_path=pawl,pg_catalog");
    posix::SystemPort system;
    postgres::PostgresStore store;
    StoreOptions options;
    options.path = "test.db";
    complete(&options);
    Diagnostic diagnostic;
    EXPECT_EQ(store.open(options, system.port(), diagnostic), Status::kOk) << diagnostic.text();
    changed("CREATE TABLE public.first_meta AS SELECT * FROM meta");
    empty_all_ = ask("SELECT string_agg('DELETE FROM '||relname,';') FROM pg_class "
                     "WHERE relnamespace='pawl'::regnamespace AND relkind='r'") +
                 ";INSERT INTO meta SELECT * FROM public.first_meta";
  }

  std::optional<ServerByHand> by_hand_;
  std::string empty_all_;
};

Alone g_alone;
const bool g_is_set = [] {
  EngineBeside::current = &g_alone;
  return true;
}();

}  // namespace
}  // namespace pawl::test

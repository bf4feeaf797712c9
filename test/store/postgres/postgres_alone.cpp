// Goal: the storage keeps its contract on PostgreSQL alone. Method: the tests of the contract, with
// a store of this engine in the place of SQLite's; what a test does to the rows by itself, it does
// on the server.
#include <libpq-fe.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "engine_beside.hpp"
#include "gtest/gtest.h"
#include "pawl/port_posix.hpp"
#include "store/postgres/postgres_database.hpp"

namespace pawl::test {
namespace {

constexpr Oid kBool = 16;
constexpr Oid kBytes = 17;
constexpr Oid kText = 25;

const char* address() {
  const char* const given = std::getenv("PAWL_POSTGRES");
  return given == nullptr ? "" : given;
}

class Alone final : public EngineBeside, public EngineAlone {
 public:
  void begin() override {
    if (handle_ == nullptr) make_tables();
    // Only a test that failed leaves a connection with a lock.
    ask("SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid<>pg_backend_pid() AND backend_type='client backend') ended");
    changed(empty_all_);
  }
  sqlite::Connection& connect() override {
    ADD_FAILURE() << "SQLite has no part in this";
    std::abort();
  }
  // There may be several statements.
  void changed(const std::string& sql) override {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(PQexec(handle_, sql.c_str()),
                                                               &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQerrorMessage(handle_);
  }
  void end() override {}
  EngineAlone* alone() override { return this; }

  Store* make() override { return new postgres::PostgresStore(); }
  void destroy(Store* store) override { delete static_cast<postgres::PostgresStore*>(store); }
  void complete(StoreOptions* options) override { options->server = address(); }
  std::string ask(const std::string& sql) override {
    constexpr int kBinary = 1;
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexecParams(handle_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, kBinary),
        &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
        << sql << ": " << PQerrorMessage(handle_);
    std::string rows;
    for (int row = 0; row < PQntuples(result.get()); ++row) {
      if (row > 0) rows += '\n';
      for (int column = 0; column < PQnfields(result.get()); ++column) {
        if (column > 0) rows += '|';
        if (PQgetisnull(result.get(), row, column) == 0)
          rows += text_of(PQftype(result.get(), column), PQgetvalue(result.get(), row, column),
                          static_cast<std::size_t>(PQgetlength(result.get(), row, column)));
      }
    }
    return rows;
  }

 private:
  static std::string text_of(Oid type, const char* value, std::size_t size) {
    if (type == kText || type == kBytes) return {value, size};
    std::uint64_t number = type != kBool && (value[0] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = 0; i < size; ++i)
      number = number << 8U | static_cast<unsigned char>(value[i]);
    return std::to_string(static_cast<std::int64_t>(number));
  }

  // A store makes them once. Then each test begins with the rows that these had.
  void make_tables() {
    handle_ = PQconnectdb(address());
    changed(
        "SET client_min_messages=error;DROP SCHEMA IF EXISTS pawl CASCADE;"
        "DROP TABLE IF EXISTS public.first_meta;SET search_path=pawl,pg_catalog");
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

  PGconn* handle_ = nullptr;
  std::string empty_all_;
};

Alone g_alone;
const bool g_is_set = [] {
  EngineBeside::current = &g_alone;
  return true;
}();

}  // namespace
}  // namespace pawl::test

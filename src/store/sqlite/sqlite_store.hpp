// SqliteStore: the storage contract on one SQLite connection.
//
// Purpose: makes connection, file, tables and facets, opens the database and closes it. Ownership:
// it owns them all. Thread rule: one thread.
#ifndef PAWL_STORE_SQLITE_SQLITE_STORE_HPP
#define PAWL_STORE_SQLITE_SQLITE_STORE_HPP

#include <string_view>

#include "database_file.hpp"
#include "facets/admin_facet.hpp"
#include "facets/batch_facet.hpp"
#include "facets/housekeeping_facet.hpp"
#include "facets/instance_facet.hpp"
#include "facets/session_facet.hpp"
#include "facets/work_facet.hpp"
#include "facets/worker_facet.hpp"
#include "sqlite_connection.hpp"
#include "store.hpp"
#include "tables/context.hpp"
#include "tables/schema_check.hpp"
#include "tables/tables.hpp"

namespace pawl::store {

class SqliteStore final : public Store {
 public:
  SqliteStore() : SqliteStore(nullptr) {}
  // Uses the given engine, which outlives it; null: its own connection.
  explicit SqliteStore(sqlite::Connection* engine);
  ~SqliteStore() { close(); }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  Status open(const StoreOptions& options, const port::Port& port, Diagnostic& diagnostic) override;
  void close() override;
  void set_change_sink(ChangeSink* sink) override { context_.sink = sink; }
  [[nodiscard]] const Diagnostic& diagnostic() const override { return context_.diagnostic; }
  [[nodiscard]] std::string_view database_id() const override {
    return context_.database_id.view();
  }

 private:
  sqlite::Connection own_;
  sqlite::Connection& engine_;
  StoreContext context_;
  SchemaCheck schema_;
  DatabaseFile file_;
  Tables tables_;
  BatchFacet batch_;
  InstanceFacet instances_;
  WorkFacet work_;
  SessionFacet sessions_;
  WorkerFacet workers_;
  AdminFacet admin_;
  HousekeepingFacet housekeeping_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SQLITE_SQLITE_STORE_HPP

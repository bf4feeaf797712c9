// Database: our tables in a schema of a PostgreSQL server.
//
// Purpose: finds the tables or makes them, and refuses a schema that is another program's, of
// another Pawl's format, or changed by hand. What a file has and a server's database has not, as a
// log and a reserve, is answered as if it were empty, or kUnsupported.
//
// Ownership: the connection is its store's. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_POSTGRES_DATABASE_HPP
#define PAWL_STORE_POSTGRES_POSTGRES_DATABASE_HPP

#include <cstdint>

#include "core/text.hpp"
#include "pawl/port.hpp"
#include "store/postgres/other_workers.hpp"
#include "store/postgres/postgres_connection.hpp"
#include "store/postgres/postgres_schema.hpp"
#include "store/sql/database.hpp"
#include "store/store.hpp"

namespace pawl::postgres {

class Database : public sql::Database, public Reconnecting {
 public:
  explicit Database(Connection& connection) : connection_(connection) {}
  virtual ~Database() = default;

  Status prepare(const StoreOptions& options, const port::Port& port,
                 Diagnostic& diagnostic) override;
  Status connect(Diagnostic& diagnostic) override;
  Status set_up(Diagnostic& diagnostic) override;
  void disconnect() override;
  void leave() override { open_ = false; }
  Status check_schema_again(Diagnostic& diagnostic) override;
  Status count_on(const ClockRow& row) override;
  Status restore() override;
  void limit_commit(OptionalMs most_ms) override { connection_.link().limit_commit(most_ms); }
  [[nodiscard]] bool outcome_comes() const override { return connection_.link().is_under_way(); }
  Status outcome(Diagnostic& diagnostic) override;
  [[nodiscard]] std::int64_t next_number(std::int64_t stored) const override {
    return connection_.transaction().next_number(stored);
  }
  [[nodiscard]] sql::SharedClock* shared_clock() override {
    return &connection_.transaction().time();
  }
  [[nodiscard]] OtherMachines* other_machines() override { return &others_; }
  void wake(port::Threads* threads) override;
  [[nodiscard]] bool has_our_schema() const override;
  // PostgreSQL queues those that wait for a row.
  [[nodiscard]] bool has_fair_lock() const override { return true; }
  void wait_for_locks(std::int64_t ms) override {
    connection_.transaction().lock().set_waits(ms > 0 ? waits_ : 0);
  }
  void pause(int ms) override;

  [[nodiscard]] IoUse io_use() const override { return {0, 0, connection_.link().trips()}; }
  [[nodiscard]] std::int64_t log_bytes() override { return 0; }
  Status empty_log() override { return Status::kOk; }
  Status write_back_log() override { return Status::kOk; }
  Status find_reserve(bool* there) override;
  Status make_reserve_file(std::int64_t /*bytes*/) override { return Status::kUnsupported; }
  Status remove_reserve_file() override { return Status::kOk; }

 private:
  // The server has the schema, and this has our tables.
  struct Found {
    bool schema = false;
    bool tables = false;
  };
  // Sets the connection up, which is new.
  Status enter(Diagnostic& diagnostic);
  Status listen();
  // Tries so often, with kTryPauseMs between.
  Status reconnect(Diagnostic& diagnostic, int tries);
  Status come_back(Diagnostic& diagnostic);
  Status look(Found* found, Diagnostic& diagnostic);
  Status create(const Found& found, Diagnostic& diagnostic);
  Status fill(const Found& found, Diagnostic& diagnostic);
  // Takes over the text of the connection's last failure.
  Status fail(Status status, Diagnostic& diagnostic);

  Connection& connection_;
  OtherWorkers others_{connection_.link(), connection_.transaction().time()};
  FixedText<kSchemaBytesMax> schema_;
  int waits_ = 0;  // for the lock, each of kLockSliceMs
};

// A base before Store, since the engine must outlive it.
class PostgresEngine {
 protected:
  PostgresEngine() = default;
  ~PostgresEngine() = default;

  Connection connection_;
  Database database_{connection_};
};

class PostgresStore final : private PostgresEngine, public Store {
 public:
  PostgresStore() : Store(connection_, database_) {}
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_POSTGRES_DATABASE_HPP

// Connection: implements sql::Connection with PostgreSQL.
//
// Purpose: in a batch, statements that only write are sent without waiting for their answers, which
// come with those of the next statement that has rows, or of the commit. Reads that are named ahead
// come together. So a batch takes two trips to the server, and one for each read that was not
// named. A statement is prepared at its first use with the types that are bound: bigint, text,
// bytea. The rows of a list come in pages, each of which is held in memory of libpq.
//
// Ownership: a Connection owns its link and its statements. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_POSTGRES_CONNECTION_HPP
#define PAWL_STORE_POSTGRES_POSTGRES_CONNECTION_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/status.hpp"
#include "store/postgres/batch_queue.hpp"
#include "store/postgres/server_link.hpp"
#include "store/postgres/statement_use.hpp"
#include "store/postgres/store_transaction.hpp"
#include "store/sql/connection.hpp"

namespace pawl::postgres {

class Connection : public sql::Connection {
 public:
  Connection() = default;
  ~Connection() override { close(); }

  [[nodiscard]] ServerLink& link() { return link_; }
  // Connects, or goes on with that (ServerLink::connect()). The text of a failure is in
  // diagnostic(). Requires: no statement is in use.
  Status connect(std::int64_t wait_ms);
  void close();
  // For statements without parameters, separated by semicolons; their rows are thrown away.
  Status execute(const char* sql) { return link_.ask(sql, nullptr); }

  [[nodiscard]] StoreTransaction& transaction() { return transaction_; }

  [[nodiscard]] std::int64_t total_changes() override { return queue_.total_changes(); }
  [[nodiscard]] bool makes_ids() const override { return false; }
  [[nodiscard]] std::int64_t last_insert_id() const override { return 0; }
  [[nodiscard]] bool in_transaction() const override { return link_.in_transaction(); }
  [[nodiscard]] std::uint32_t version() const override { return transaction_.version(); }
  bool end_later() override;
  [[nodiscard]] bool reads_ahead() const override { return !link_.is_lost() && !ahead_.rests(); }

 protected:
  void* prepare(sql::QueryRef query, int* failure) override;
  void release(void* of) override;
  int bind_integer(void* of, int at, std::int64_t value) override;
  int bind_nothing(void* of, int at, sql::ValueType type) override;
  int bind_characters(void* of, int at, std::string_view value) override;
  int bind_bytes(void* of, int at, std::string_view value) override;
  void read_ahead(void* of) override;
  Step step(void* of, int* slices, int* failure) override;
  int count_changes(std::int64_t* out) override;
  Status explain(void* of, int failure) override;
  bool read_integer(void* of, int column, std::int64_t* out) override;
  bool is_nothing(void* of, int column) override;
  bool is_integer(void* of, int column) override;
  std::string_view read_bytes(void* of, int column) override;
  const char* column_name(void* of, int column) override;

 private:
  static constexpr int kUsesMax = 16;  // at the same time

  Status run(StatementUse& use);
  Status run_own(StatementUse& use, std::string_view text);
  Status end(StatementUse& use, bool commits);

  ServerLink link_{diagnostic_};
  ReadsAhead ahead_{link_};
  StoreTransaction transaction_{link_, ahead_, diagnostic_};
  BatchQueue queue_{link_, ahead_};
  Status failed_ = Status::kOk;  // the last failure of a statement
  bool fails_again_ = false;     // the transaction had failed before the last statement
  KnownStatements known_;
  StatementUse uses_[kUsesMax];
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_POSTGRES_CONNECTION_HPP

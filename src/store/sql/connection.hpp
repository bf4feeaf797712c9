// Connection and Statement: the view that the tables have of a database engine.
//
// Purpose: gives prepared statements only, each for a sql::Query; no SQL is built from strings at
// run time. An engine derives from Connection and implements the few calls that are protected here:
// bind, step, read a column. Tasks that all engines need in the same way (damage, the text of the
// last error) are here. Ownership: a Connection owns its statements. Thread rule: one thread.
#ifndef PAWL_STORE_SQL_CONNECTION_HPP
#define PAWL_STORE_SQL_CONNECTION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "pawl/optional_ms.hpp"
#include "pawl/status.hpp"
#include "store/sql/damage.hpp"
#include "store/sql/query.hpp"

namespace pawl::sql {

class Connection;

// The type of a column or a parameter. An engine with typed columns needs that of NULL, too.
enum class ValueType : std::uint8_t { kInteger, kText, kBytes };

// One use of one prepared statement: bind, step, read; the destructor resets it. A binding error
// surfaces at the next step. The first bind call sets parameter 1, the next one parameter 2, and so
// on.
class Statement {
 public:
  // A null `prepared` means that preparing failed; `failure`, the engine's number, says why and
  // surfaces at the first step.
  Statement(Connection& connection, void* prepared, int failure = 0)
      : connection_(connection), prepared_(prepared), failure_(failure) {}
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t value);
  Statement& bind_null(ValueType type = ValueType::kInteger);
  Statement& bind_text(std::string_view value);  // must live until the statement's end
  Statement& bind_blob(std::string_view value);  // the same
  Statement& bind_optional(OptionalMs value) {
    return value.has_value() ? bind(value.value()) : bind_null();
  }
  // Binds a due time. If there is one, the connection gets the mark, as it does from a query with
  // this mark.
  Statement& bind_due(OptionalMs due, unsigned mark);
  // A default value (0, or an empty text) is NULL in the database.
  Statement& bind_or_null(std::int64_t value) { return value == 0 ? bind_null() : bind(value); }
  Statement& bind_or_null(std::optional<std::int64_t> value) {
    return value.has_value() ? bind(*value) : bind_null();
  }
  Statement& bind_text_or_null(std::string_view value) {
    return value.empty() ? bind_null(ValueType::kText) : bind_text(value);
  }
  Statement& bind_blob_or_null(std::string_view value) {
    return value.empty() ? bind_null(ValueType::kBytes) : bind_blob(value);
  }
  // True: a row. False: done, or an error that status() has.
  bool row();
  // Runs to the end without rows. kOk or the error. An engine may say kOk of a statement that only
  // writes before it has run it; then the next one that has rows, or the commit, fails for it.
  Status run();
  // In place of row(): says that this transaction, or the one that begins next, will read it with
  // these values. An engine on a server has the answer then, in one trip with others.
  void read_ahead();
  // Also waits for the count of the rows that it changed.
  Status run(std::int64_t* changed);
  [[nodiscard]] Status status() const { return status_; }

  // NULL reads as 0. Any other value that is not an integer is damage of the suspected row
  // (Suspicion) and also reads as 0. An engine might convert it to some number, but the row is not
  // found by that number, so a loop could meet the row for ever.
  [[nodiscard]] std::int64_t integer(int column) const;
  // The same for callers that judge the row themselves: *whole becomes false, and no row is blamed.
  [[nodiscard]] std::int64_t integer(int column, bool* whole) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  [[nodiscard]] OptionalMs optional_ms(int column) const {
    return is_null(column) ? OptionalMs() : OptionalMs(integer(column));
  }
  // Text or blob; lives until the next step or the end.
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  Statement& bound(int failure) {
    if (failure_ == 0) failure_ = failure;
    ++next_bind_;
    return *this;
  }
  bool failed(int failure);

  Connection& connection_;
  void* prepared_;
  int slices_ = 0;  // slices of the engine's work that its steps have taken
  int next_bind_ = 1;
  int failure_;  // the first one of prepare, bind or step
  Status status_ = Status::kOk;
};

class Connection {
 public:
  // While it lives, failures and damage are blamed on this row; the innermost one counts.
  class Suspicion {
   public:
    Suspicion(Connection& connection, RowRef::Table table, std::int64_t key);
    ~Suspicion();
    Suspicion(const Suspicion&) = delete;
    Suspicion& operator=(const Suspicion&) = delete;

   private:
    Connection& connection_;
    Suspects before_;
  };
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Prepares the statement on first use and keeps it. Invariant: it is not used again while a
  // Statement for it lives. The query is a static object. `marks`: of this use, beside its own.
  Statement use(QueryRef query, unsigned marks = 0);
  // The marks of all queries used since the last call, and the marks that were added.
  unsigned take_marks() { return std::exchange(marks_, 0U); }
  void add_marks(unsigned marks) { marks_ |= marks; }
  // Rises with each use of a statement that is marked kOfInstances, and by note_instance_changes().
  [[nodiscard]] std::int64_t instance_changes() const { return instance_changes_; }
  // For changes that no statement of this connection makes: those of others, and a rollback.
  void note_instance_changes() { ++instance_changes_; }
  // Rises when a statement has changed rows.
  [[nodiscard]] virtual std::int64_t total_changes() = 0;
  // Whether a row that is inserted with NULL for its key gets a new one from the engine, which
  // last_insert_id() names.
  [[nodiscard]] virtual bool makes_ids() const = 0;
  [[nodiscard]] virtual std::int64_t last_insert_id() const = 0;
  // False after begin, too, if an error has ended the transaction.
  [[nodiscard]] virtual bool in_transaction() const = 0;
  // Ends a view together with the next statement. False: the engine gains nothing by that.
  virtual bool end_later() { return false; }
  // Whether the engine gains by Statement::read_ahead().
  [[nodiscard]] virtual bool reads_ahead() const { return false; }
  // Every commit changes it; other connections' commits are seen when a transaction begins.
  [[nodiscard]] virtual std::uint32_t version() const = 0;
  // Holds the text of the last error, too.
  [[nodiscard]] Diagnostic& diagnostic() { return diagnostic_; }

  // The first damage found since forget_damage().
  [[nodiscard]] const std::optional<Damage>& damage() const { return damage_; }
  void forget_damage() { damage_.reset(); }
  // Notes kCorrupt and kResourceExhausted only, and nothing without a suspect.
  void blame(Status status, std::string_view text) { blame(suspects_, status, text); }

 protected:
  friend class Statement;
  enum class Step : std::uint8_t { kRow, kDone, kFailed };

  // Failures here and below are the engine's own numbers; 0: none. Null: it could not be prepared.
  virtual void* prepare(QueryRef query, int* failure) = 0;
  // Makes the statement usable again, with nothing bound.
  virtual void release(void* prepared) = 0;
  virtual int bind_integer(void* prepared, int at, std::int64_t value) = 0;
  virtual int bind_nothing(void* prepared, int at, ValueType type) = 0;
  virtual int bind_characters(void* prepared, int at, std::string_view value) = 0;
  virtual int bind_bytes(void* prepared, int at, std::string_view value) = 0;
  virtual void read_ahead(void* /*prepared*/) {}
  virtual Step step(void* prepared, int* slices, int* failure) = 0;
  // The rows that the last statement changed.
  virtual int count_changes(std::int64_t* out) = 0;
  // Translates a failure, and puts its text into diagnostic().
  virtual Status explain(void* prepared, int failure) = 0;
  // False: the value is neither an integer nor NULL, and *out is 0.
  virtual bool read_integer(void* prepared, int column, std::int64_t* out) = 0;
  virtual bool is_nothing(void* prepared, int column) = 0;
  virtual bool is_integer(void* prepared, int column) = 0;
  virtual std::string_view read_bytes(void* prepared, int column) = 0;
  virtual const char* column_name(void* prepared, int column) = 0;

  [[nodiscard]] const Suspects& suspects() const { return suspects_; }
  void blame(const Suspects& suspects, Status status, std::string_view text);

  Diagnostic diagnostic_;

 private:
  Suspects suspects_;
  std::optional<Damage> damage_;
  unsigned marks_ = 0;
  std::int64_t instance_changes_ = 0;
};

// Statement::read_ahead() for a query with this value for its only parameter, if the engine gains
// by it.
void read_ahead(Connection& connection, QueryRef query, std::int64_t value);
void read_ahead(Connection& connection, QueryRef query, std::string_view text);

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_CONNECTION_HPP

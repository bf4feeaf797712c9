#include "store/store_move.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <limits>

#include "core/crc32c.hpp"
#include "pawl/printable.hpp"

namespace pawl::store {
namespace {

constexpr int kKeysMax = 3;
constexpr std::size_t kKeyBytesMax = 1'024;

constexpr auto kBegin = PAWL_QUERY("BEGIN EXCLUSIVE", sql::kEnginesOwn);
constexpr auto kBeginRead = PAWL_QUERY("BEGIN");
constexpr auto kCommit = PAWL_QUERY("COMMIT");
constexpr auto kRollback = PAWL_QUERY("ROLLBACK");

constexpr auto kReadForm = PAWL_QUERY("PRAGMA user_version", sql::kEnginesOwn);
constexpr auto kIsArriving = PAWL_QUERY("PRAGMA user_version=-1", sql::kEnginesOwn);
constexpr auto kIsMoved = PAWL_QUERY("PRAGMA user_version=-2", sql::kEnginesOwn);
constexpr auto kIsInUse = PAWL_QUERY("PRAGMA user_version=2", sql::kEnginesOwn);

// The contents of rows, whatever engine holds them.
class Digest {
 public:
  void add(std::int64_t number) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; ++i)
      bytes[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (8 * i));
    sum_ = crc32c(bytes, sizeof bytes, sum_);
  }
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    sum_ = crc32c(text.data(), text.size(), sum_);
  }
  void add_null() { add(-1); }
  [[nodiscard]] std::uint32_t sum() const { return sum_; }

 private:
  std::uint32_t sum_ = 0;
};

}  // namespace

// Where a table is read, and what was read.
struct StoreMove::Page {
  std::int64_t numbers[kKeysMax];
  FixedText<kKeyBytesMax> texts[kKeysMax];
  std::int64_t rows = 0;  // of this page
  Digest digest;          // of all rows so far

  Page() { std::fill_n(numbers, kKeysMax, std::numeric_limits<std::int64_t>::min()); }

  void bind(const TableCopy& table, Statement& read) const {
    int key = 0;
    for (std::size_t i = 0; i < table.columns_count; ++i) {
      if (!table.columns[i].is_key) continue;
      if (table.columns[i].type == sql::ValueType::kText) {
        read.bind_text(texts[key++].view());
      } else {
        read.bind(numbers[key++]);
      }
    }
  }
  // Takes over one row, and binds it to `to` unless that is null. kCorrupt: a value that its column
  // cannot have.
  Status take(const TableCopy& table, const Statement& row, Statement* to) {
    int key = 0;
    for (std::size_t i = 0; i < table.columns_count; ++i) {
      const CopiedColumn& column = table.columns[i];
      Statement* const bound = column.is_key && table.is_meta ? nullptr : to;
      if (row.is_null(static_cast<int>(i))) {
        digest.add_null();
        if (bound != nullptr) bound->bind_null(column.type);
      } else if (column.type == sql::ValueType::kInteger) {
        PAWL_TRY(take_number(row, static_cast<int>(i), column.is_boot_of_lease, bound));
        if (column.is_key) numbers[key] = row.integer(static_cast<int>(i));
      } else {
        const std::string_view text = row.bytes(static_cast<int>(i));
        digest.add(text);
        if (column.is_key) PAWL_TRY(texts[key].assign(text));
        if (bound != nullptr) bind_bytes(column.type, text, bound);
      }
      key += column.is_key ? 1 : 0;
    }
    ++rows;
    return Status::kOk;
  }

 private:
  Status take_number(const Statement& row, int column, bool is_boot, Statement* to) {
    bool whole = true;
    std::int64_t number = row.integer(column, &whole);
    if (!whole) return Status::kCorrupt;
    if (is_boot) number = 0;
    digest.add(number);
    if (to != nullptr) to->bind(number);
    return Status::kOk;
  }
  // An engine may take an empty view for NULL.
  static void bind_bytes(sql::ValueType type, std::string_view bytes, Statement* to) {
    const std::string_view value = bytes.empty() ? std::string_view("") : bytes;
    if (type == sql::ValueType::kText) {
      to->bind_text(value);
    } else {
      to->bind_blob(value);
    }
  }
};

// ---- the steps of a move ----

Status StoreMove::run(std::int64_t* rows) {
  bool is_copied = false;
  PAWL_TRY(look(&is_copied));
  if (!is_copied) {
    PAWL_TRY(copy(rows));
    PAWL_TRY(in_transaction(from_, [&] {
      // Between its rows' view and this lock another connection may have written.
      if (from_.connection.version() == version_) return change_stage(from_, kIsMoved);
      diagnostic_.format("the database was changed while it was read; stop what uses it");
      return Status::kBusy;
    }));
  }
  return in_transaction(to_, [&] { return change_stage(to_, kIsInUse); });
}

// Finds out how far an earlier move came.
Status StoreMove::look(bool* is_copied) {
  PAWL_TRY(read_stage(from_, diagnostic_));
  PAWL_TRY(read_stage(to_, diagnostic_));
  const bool is_one = from_.database.database_id() == to_.database.database_id();
  if (from_.stage == sql::MoveStage::kArriving) {
    diagnostic_.format("a move into the database that is to be moved has not ended");
    return Status::kCannotOpen;
  }
  if (from_.stage == sql::MoveStage::kMoved) {
    *is_copied = is_one && to_.stage != sql::MoveStage::kMoved;
    if (*is_copied) return Status::kOk;
    diagnostic_.format("the database was moved before, and to another place");
    return Status::kCannotOpen;
  }
  if (to_.stage == sql::MoveStage::kArriving && is_one) return Status::kOk;
  if (to_.stage == sql::MoveStage::kInUse && !is_one) return Status::kOk;
  diagnostic_.format(to_.stage == sql::MoveStage::kMoved
                         ? "the place was moved from before; remove what is left there first"
                     : is_one ? "both are one database, or copies of one"
                              : "another database is being moved to that place");
  return Status::kAlreadyExists;
}

Status StoreMove::copy(std::int64_t* rows) {
  PAWL_TRY(in_transaction(to_, [&] { return prepare(); }));
  for (std::size_t number = 0;; ++number) {
    const TableCopy* const table = table_copy(number);
    if (table == nullptr) break;
    std::uint32_t digest = 0;
    PAWL_TRY(in_view(from_, [&] {
      const std::uint32_t version = from_.connection.version();
      if (number == 0) version_ = version;
      return copy_table(*table, &digest, rows);
    }));
    PAWL_TRY(in_view(to_, [&] { return compare_table(*table, digest); }));
  }
  return in_transaction(to_, [&] { return count_on(); });
}

constexpr auto kHasWork = PAWL_QUERY(
    "SELECT EXISTS(SELECT 1 FROM instances) OR EXISTS(SELECT 1 FROM sessions) AS has_work");
constexpr auto kTakeId = PAWL_QUERY("UPDATE meta SET database_id=?1 WHERE id=1");

// A place where only workers have registered is as good as an empty one.
Status StoreMove::prepare() {
  if (to_.stage == sql::MoveStage::kInUse) {
    Statement row = to_.connection.use(kHasWork);
    if (!row.row()) return fail(to_, row.status(), "look for work");
    if (row.integer(0) != 0) {
      diagnostic_.format("the place holds instances or sessions of another database");
      return Status::kAlreadyExists;
    }
  }
  PAWL_TRY(change_stage(to_, kIsArriving));
  for (std::size_t number = 0; const TableCopy* const table = table_copy(number); ++number)
    PAWL_TRY(fail(to_, to_.connection.use(table->clear).run(), "clear a table"));
  return fail(to_, to_.connection.use(kTakeId).bind_text(from_.database.database_id()).run(),
              "name the database");
}

Status StoreMove::copy_table(const TableCopy& table, std::uint32_t* digest, std::int64_t* rows) {
  Page page;
  do {
    page.rows = 0;
    PAWL_TRY(in_transaction(to_, [&] { return copy_page(table, &page); }));
    *rows += page.rows;
    if (!visitor_.on_rows(*rows)) return Status::kStopped;
  } while (page.rows == kCopiedRows);
  *digest = page.digest.sum();
  return Status::kOk;
}

Status StoreMove::copy_page(const TableCopy& table, Page* page) {
  Statement read = from_.connection.use(table.read);
  page->bind(table, read);
  while (read.row()) {
    Statement write = to_.connection.use(table.write);
    Status status = page->take(table, read, &write);
    if (status != Status::kOk) return fail_row(from_, status, table, page->numbers[0]);
    status = write.run();
    if (status != Status::kOk) return fail_row(to_, status, table, page->numbers[0]);
  }
  return fail(from_, read.status(), "read a table");
}

Status StoreMove::compare_table(const TableCopy& table, std::uint32_t digest) {
  Page page;
  do {
    page.rows = 0;
    Statement read = to_.connection.use(table.read);
    page.bind(table, read);
    while (read.row()) {
      const Status status = page.take(table, read, nullptr);
      if (status != Status::kOk) return fail_row(to_, status, table, page.numbers[0]);
    }
    PAWL_TRY(fail(to_, read.status(), "read a table again"));
  } while (page.rows == kCopiedRows);
  if (page.digest.sum() == digest) return Status::kOk;
  diagnostic_.format("table %s is not the same in both", table.name);
  return Status::kCorrupt;
}

// ---- time and numbers ----

Status StoreMove::count_on() {
  PAWL_TRY(in_view(from_, [&] {
    return fail(from_, from_.store.place().carry_clock(to_.store.place()), "carry the clock");
  }));
  return take_numbers();
}

// All numbers that were ever given to a row or a token, on the engines that count rows by the
// counter of tokens. The other one has the numbers of its own counters in sqlite_sequence.
constexpr auto kHighestNumber = PAWL_QUERY(
    "SELECT max(number) AS number FROM (SELECT next_token-1 AS number FROM meta UNION ALL "
    "SELECT max(key) AS number FROM instances UNION ALL "
    "SELECT max(row_number) AS number FROM history UNION ALL "
    "SELECT max(id) AS number FROM orchestrator_queue UNION ALL "
    "SELECT max(id) AS number FROM message_keys UNION ALL "
    "SELECT max(inc) AS number FROM workers UNION ALL "
    "SELECT max(sid) AS number FROM sessions UNION ALL "
    "SELECT max(id) AS number FROM answers) AS numbers");
constexpr auto kHighestSequence =
    PAWL_QUERY("SELECT max(seq) FROM sqlite_sequence", sql::kEnginesOwn);
constexpr auto kBeginSequences = PAWL_QUERY(
    "INSERT INTO sqlite_sequence(name,seq) SELECT t.name,0 FROM (SELECT 'instances' AS name "
    "UNION ALL SELECT 'sessions' UNION ALL SELECT 'workers') AS t WHERE NOT EXISTS"
    "(SELECT 1 FROM sqlite_sequence AS s WHERE s.name=t.name)",
    sql::kEnginesOwn);
constexpr auto kRaiseSequences = PAWL_QUERY("UPDATE sqlite_sequence SET seq=?1", sql::kEnginesOwn);
constexpr auto kTakeToken = PAWL_QUERY("UPDATE meta SET next_token=?1 WHERE id=1");

Status StoreMove::highest_number(std::int64_t* out) {
  {
    Statement row = from_.connection.use(kHighestNumber);
    if (!row.row()) return fail(from_, row.status(), "find the highest number");
    *out = row.integer(PAWL_COLUMN(kHighestNumber, number));
  }
  if (!from_.connection.makes_ids()) return Status::kOk;
  Statement row = from_.connection.use(kHighestSequence);
  if (!row.row()) return fail(from_, row.status(), "find the highest number");
  *out = std::max(*out, row.integer(0));
  return Status::kOk;
}

// A number that was given out once is never given out again, even if its row is gone.
Status StoreMove::take_numbers() {
  std::int64_t number = 0;
  PAWL_TRY(in_view(from_, [&] { return highest_number(&number); }));
  PAWL_TRY(fail(to_, to_.connection.use(kTakeToken).bind(number + 1).run(), "take the numbers"));
  if (!to_.connection.makes_ids()) return Status::kOk;
  PAWL_TRY(fail(to_, to_.connection.use(kBeginSequences).run(), "take the numbers"));
  return fail(to_, to_.connection.use(kRaiseSequences).bind(number).run(), "take the numbers");
}

// ---- statements ----

Status StoreMove::was_moved(Store& from, bool* out, Diagnostic& diagnostic) {
  Side side(from);
  PAWL_TRY(read_stage(side, diagnostic));
  *out = side.stage == sql::MoveStage::kMoved;
  return Status::kOk;
}

Status StoreMove::read_stage(Side& side, Diagnostic& diagnostic) {
  Statement row = side.connection.use(kReadForm);
  if (!row.row()) return explain(side, row.status(), "read the stage", diagnostic);
  const std::int64_t form = row.integer(0);
  side.stage =
      sql::is_move_stage(form) ? static_cast<sql::MoveStage>(form) : sql::MoveStage::kInUse;
  return Status::kOk;
}

Status StoreMove::change_stage(Side& side, sql::QueryRef to) {
  return fail(side, side.connection.use(to).run(), "change the stage");
}

template <typename Body>
Status StoreMove::in_transaction(Side& side, Body&& body) {
  return between(side, kBegin, body);
}

template <typename Body>
Status StoreMove::in_view(Side& side, Body&& body) {
  return between(side, kBeginRead, body);
}

template <typename Body>
Status StoreMove::between(Side& side, sql::QueryRef query, Body&& body) {
  Status status = fail(side, side.connection.use(query).run(), "begin");
  if (status == Status::kOk) status = body();
  if (status == Status::kOk) status = fail(side, side.connection.use(kCommit).run(), "commit");
  if (side.connection.in_transaction()) static_cast<void>(side.connection.use(kRollback).run());
  return status;
}

Status StoreMove::explain(const Side& side, Status status, const char* what,
                          Diagnostic& diagnostic) {
  if (status == Status::kOk) return status;
  const std::string_view of_connection = side.connection.diagnostic().text();
  diagnostic.format(
      "%s: %s: %.*s", side.database.path().c_str(), what,
      PAWL_TEXT(of_connection.empty() ? side.store.diagnostic().text() : of_connection));
  return status;
}

Status StoreMove::fail_row(Side& side, Status status, const TableCopy& table, std::int64_t key) {
  const std::string_view why = side.connection.diagnostic().text();
  diagnostic_.format("%s: table %s, the row of key %" PRId64 ": %.*s", side.database.path().c_str(),
                     table.name, key,
                     PAWL_TEXT(why.empty() ? "a value is not of its column's type" : why));
  return status;
}

}  // namespace pawl::store

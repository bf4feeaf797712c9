#include "store/postgres/postgres_connection.hpp"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/check.hpp"
#include "core/utf8.hpp"
#include "store/postgres/postgres_text.hpp"

namespace pawl::postgres {
namespace {

// The numbers of types: src/include/catalog/pg_type.dat of PostgreSQL. They never change.
constexpr Oid kBool = 16;
constexpr Oid kBytes = 17;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;

constexpr int kBinary = 1;

// Failures that explain() makes a Status of.
constexpr int kOfServer = 1;
constexpr int kTooLong = 2;

std::int64_t take_number(const char* at, int bytes) {
  std::uint64_t number = 0;
  for (int i = 0; i < bytes; ++i)
    number = number << 8 | static_cast<unsigned char>(at[i]);
  const int shift = 64 - 8 * bytes;  // what is shorter keeps its sign
  return static_cast<std::int64_t>(number << shift) >> shift;
}

bool is_number(Oid type) {
  return type == kInt8 || type == kInt4 || type == kInt2 || type == kBool;
}

std::size_t slot_of(const char* text, std::size_t count) {
  return (reinterpret_cast<std::uintptr_t>(text) * 0x9e3779b97f4a7c15U >> 32U) & (count - 1);
}

}  // namespace

Status Connection::connect(std::int64_t wait_ms) {
  const Status status = link_.connect(wait_ms);
  for (KnownStatement& known : known_)
    known.is_prepared = false;
  return status;
}

void Connection::close() {
  for (StatementUse& use : uses_) {
    PQclear(use.result);
    use = StatementUse();
  }
  for (KnownStatement& known : known_)
    known = KnownStatement();
  link_.close();
}

Status Connection::explain(void* /*use*/, int failure) {
  if (failure == kTooLong) {
    diagnostic_.format("a text is longer than the server takes");
    return Status::kResourceExhausted;
  }
  blame(failed_, diagnostic_.text());
  return failed_;
}

// ---- one use of a statement ----

KnownStatement& Connection::known_of(const char* text) {
  std::size_t at = slot_of(text, kStatementsMax);
  for (int looks = 0; looks < kStatementsMax; ++looks, at = (at + 1) % kStatementsMax) {
    if (known_[at].text == nullptr) known_[at].text = text;
    if (known_[at].text == text) return known_[at];
  }
  PAWL_CHECK("postgres-8", false);
  return known_[0];
}

void* Connection::prepare(sql::QueryRef query, int* failure) {
  *failure = 0;
  for (StatementUse& use : uses_) {
    if (use.known != nullptr) continue;
    use.known = &known_of(query.encoded());
    use.query = query;
    return &use;
  }
  PAWL_CHECK("postgres-9", false);
  return nullptr;
}

void Connection::release(void* of) {
  StatementUse& use = use_of(of);
  PQclear(use.result);
  use.result = nullptr;
  use.known = nullptr;
  use.bound = 0;
  use.row = -1;
}

int Connection::bind(StatementUse& use, int at, Oid type, const char* value, std::size_t size) {
  PAWL_CHECK("postgres-10", at == use.bound + 1 && at <= kParametersMax);
  if (size > INT_MAX) return kTooLong;
  use.types[use.bound] = type;
  use.values[use.bound] = value;
  use.sizes[use.bound] = static_cast<int>(size);
  ++use.bound;
  return 0;
}

int Connection::bind_integer(void* of, int at, std::int64_t value) {
  char(&bytes)[8] = use_of(of).integers[at - 1];
  put_number(bytes, value);
  return bind(use_of(of), at, kInt8, bytes, sizeof bytes);
}

int Connection::bind_nothing(void* of, int at, sql::ValueType type) {
  constexpr Oid kTypes[] = {kInt8, kText, kBytes};
  return bind(use_of(of), at, kTypes[static_cast<std::size_t>(type)], nullptr, 0);
}

// The server takes no other text than UTF-8 without a zero byte. None of Pawl's rows holds one, so
// a statement that looks for one finds nothing.
int Connection::bind_characters(void* of, int at, std::string_view value) {
  if (!is_utf8(value) || value.find('\0') != std::string_view::npos)
    return bind(use_of(of), at, kText, nullptr, 0);
  return bind(use_of(of), at, kText, value.data() == nullptr ? "" : value.data(), value.size());
}

int Connection::bind_bytes(void* of, int at, std::string_view value) {
  return bind(use_of(of), at, kBytes, value.data() == nullptr ? "" : value.data(), value.size());
}

sql::Connection::Step Connection::step(void* of, int* /*slices*/, int* failure) {
  StatementUse& use = use_of(of);
  if (use.result == nullptr) {
    failed_ = run(use);
    *failure = failed_ == Status::kOk ? 0 : kOfServer;
    if (*failure != 0) return Step::kFailed;
  }
  ++use.row;
  return use.row < PQntuples(use.result) ? Step::kRow : Step::kDone;
}

Status Connection::run(StatementUse& use) {
  char text[sql::kTextBytesMax];
  const std::string_view whole(text, sql::expand(use.query.encoded(), text));
  const bool is_own = (use.query.marks() & sql::kEnginesOwn) != 0 || whole == "COMMIT" ||
                      whole == "ROLLBACK" || whole == "BEGIN";
  return is_own ? run_own(use, whole) : run_prepared(use);
}

// ---- statements that each engine has of its own ----

namespace {

struct OwnText {
  std::string_view begins;  // the text of SQLite
  const char* text;
};
// The space of a database is that of its tables, in pages of the size that SQLite has. What a
// vacuum gave back to a table is in use.
constexpr OwnText kOwnTexts[] = {
    {"PRAGMA page_count",
     "SELECT (sum(pg_total_relation_size(c.oid))/512)::bigint FROM pg_class c JOIN pg_namespace n "
     "ON n.oid=c.relnamespace WHERE n.nspname=current_schema() AND c.relkind='r'"},
    {"PRAGMA freelist_count", "SELECT 0::bigint"},
    {"SELECT (SELECT max(key)",
     "SELECT (SELECT max(key) FROM instances) AS instances,"
     "(SELECT max(id) FROM orchestrator_queue) AS orchestrator_queue,"
     "(SELECT max(inc) FROM workers) AS workers,(SELECT max(sid) FROM sessions) AS sessions,"
     "NULL::bigint AS sqlite_sequence"},
};

}  // namespace

Status Connection::run_own(StatementUse& use, std::string_view text) {
  const bool writes = total_changes_ != changes_at_begin_;
  changes_at_begin_ = total_changes_;
  if (text == "COMMIT") return transaction_.commit(writes, &use.result);
  if (text == "ROLLBACK") return transaction_.rollback(&use.result);
  if (text == "BEGIN") return transaction_.begin_read(&use.result);
  if (text == "PRAGMA data_version") return transaction_.read_version(&use.result);
  if (text == "BEGIN IMMEDIATE") {
    PAWL_TRY(transaction_.begin(&use.result));
    use.row = PQntuples(use.result);  // the row of meta is no answer
    return Status::kOk;
  }
  for (const OwnText& own : kOwnTexts)
    if (text.substr(0, own.begins.size()) == own.begins)
      return link_.ask_binary(own.text, &use.result);
  diagnostic_.format("only SQLite has this: %.100s", text.data());
  return Status::kUnsupported;
}

// ---- statements of Pawl ----

Status Connection::run_prepared(StatementUse& use) {
  KnownStatement& known = *use.known;
  char name[16];
  static_cast<void>(std::snprintf(name, sizeof name, "p%d", static_cast<int>(&known - known_)));
  if (!known.is_prepared) {
    char text[sql::kTextBytesMax];
    char ours[kPostgresTextBytesMax];
    static_cast<void>(translate({text, sql::expand(use.query.encoded(), text)}, ours));
    PAWL_TRY(link_.prepare(name, ours, use.bound, use.types));
    known.is_prepared = true;
    known.parameters = use.bound;
    std::memcpy(known.types, use.types, sizeof use.types);
  }
  // A parameter has one type wherever it is bound.
  const std::size_t types_bytes = static_cast<std::size_t>(use.bound) * sizeof(Oid);
  PAWL_CHECK("postgres-11", use.bound == known.parameters &&
                                std::memcmp(use.types, known.types, types_bytes) == 0);
  PAWL_TRY(link_.run(name, use.bound, use.values, use.sizes, &use.result));
  if (std::strncmp(PQcmdStatus(use.result), "SELECT", 6) == 0) return Status::kOk;
  changes_ = std::strtoll(PQcmdTuples(use.result), nullptr, 10);
  total_changes_ += changes_;
  return Status::kOk;
}

// ---- columns ----

bool Connection::read_integer(void* of, int column, std::int64_t* out) {
  const StatementUse& use = use_of(of);
  *out = 0;
  if (PQgetisnull(use.result, use.row, column) != 0) return true;
  if (PQfformat(use.result, column) != kBinary || !is_number(PQftype(use.result, column)))
    return false;
  *out = take_number(PQgetvalue(use.result, use.row, column),
                     PQgetlength(use.result, use.row, column));
  return true;
}

bool Connection::is_nothing(void* of, int column) {
  const StatementUse& use = use_of(of);
  return PQgetisnull(use.result, use.row, column) != 0;
}

bool Connection::is_integer(void* of, int column) {
  return !is_nothing(of, column) && is_number(PQftype(use_of(of).result, column));
}

std::string_view Connection::read_bytes(void* of, int column) {
  const StatementUse& use = use_of(of);
  return {PQgetvalue(use.result, use.row, column),
          static_cast<std::size_t>(PQgetlength(use.result, use.row, column))};
}

const char* Connection::column_name(void* of, int column) {
  const char* const name = PQfname(use_of(of).result, column);
  return name == nullptr ? "?" : name;
}

}  // namespace pawl::postgres

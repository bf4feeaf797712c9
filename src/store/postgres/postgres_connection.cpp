#include "store/postgres/postgres_connection.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "core/check.hpp"
#include "core/utf8.hpp"
#include "store/postgres/postgres_text.hpp"
#include "store/postgres/rows_bytes.hpp"

namespace pawl::postgres {
namespace {

// The numbers of types: src/include/catalog/pg_type.dat of PostgreSQL. They never change.
constexpr Oid kBool = 16;
constexpr Oid kBytes = 17;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kText = 25;
constexpr Oid kTypes[] = {kInt8, kText, kBytes};  // by ValueType

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

StatementUse& use_of(void* of) { return *static_cast<StatementUse*>(of); }

int bind_value(StatementUse& use, sql::ValueType type, std::string_view value) {
  if (value.size() > INT_MAX) return kTooLong;
  use.bind(type, value.data() == nullptr ? "" : value.data(), value.size());
  return 0;
}

}  // namespace

Status Connection::connect(std::int64_t wait_ms) {
  ahead_.forget(false);
  const Status status = link_.connect(wait_ms);
  known_.forget_prepared();
  return status;
}

void Connection::close() {
  for (StatementUse& use : uses_) {
    use.release();
  }
  known_ = KnownStatements();
  ahead_.forget(false);
  link_.close();
}

Status Connection::explain(void* /*use*/, int failure) {
  if (failure == kTooLong) {
    diagnostic_.format("a text is longer than the server takes");
    return Status::kResourceExhausted;
  }
  const Suspects* const queued = queue_.failed_suspects();
  if (queued != nullptr) {
    blame(*queued, failed_, diagnostic_.text());
  } else if (!fails_again_) {
    blame(suspects(), failed_, diagnostic_.text());
  }
  return failed_;
}

// ---- one use of a statement ----

void* Connection::prepare(sql::QueryRef query, int* failure) {
  *failure = 0;
  for (StatementUse& use : uses_) {
    if (use.known != nullptr) continue;
    use.known = &known_.find(query.encoded());
    use.query = query;
    return &use;
  }
  PAWL_CHECK("postgres-9", false);
  return nullptr;
}

void Connection::release(void* of) { use_of(of).release(); }

int Connection::bind_integer(void* of, int /*at*/, std::int64_t value) {
  use_of(of).bind_number(value);
  return 0;
}

int Connection::bind_nothing(void* of, int /*at*/, sql::ValueType type) {
  use_of(of).bind(type, nullptr, 0);
  return 0;
}

// The server takes no other text than UTF-8 without a zero byte. None of Pawl's rows holds one, so
// a statement that looks for one finds nothing.
int Connection::bind_characters(void* of, int at, std::string_view value) {
  if (!is_utf8(value) || value.find('\0') != std::string_view::npos)
    return bind_nothing(of, at, sql::ValueType::kText);
  return bind_value(use_of(of), sql::ValueType::kText, value);
}

int Connection::bind_bytes(void* of, int /*at*/, std::string_view value) {
  return bind_value(use_of(of), sql::ValueType::kBytes, value);
}

sql::Connection::Step Connection::step(void* of, int* slices, int* failure) {
  StatementUse& use = use_of(of);
  if (use.result == nullptr) {
    failed_ = run(use);
    *failure = failed_ == Status::kOk ? 0 : kOfServer;
    if (*failure != 0) return Step::kFailed;
    if (use.result == nullptr) return Step::kDone;  // it is queued
  }
  ++use.row;
  if (use.row < PQntuples(use.result)) return Step::kRow;
  if (!use.known->is_paged || use.row < use.page_rows) return Step::kDone;
  PQclear(std::exchange(use.result, nullptr));
  use.rows_before += std::exchange(use.row, -1);
  return step(of, slices, failure);
}

namespace {

Status prepare_known(ServerLink& link, StatementUse& use, std::string_view text) {
  KnownStatement& known = *use.known;
  if (known.is_prepared) return Status::kOk;
  char ours[kPostgresTextBytesMax];
  known.is_paged = is_unlimited(text);
  const std::size_t size = known.is_paged ? translate_page(text, ours) : translate(text, ours);
  Oid types[kParametersMax + 2];
  for (int at = 0; at < use.bound; ++at)
    types[at] = kTypes[static_cast<std::size_t>(use.types[at])];
  types[use.bound] = types[use.bound + 1] = kInt8;
  PAWL_TRY(link.prepare(name_of(known).text, ours, use.bound + (known.is_paged ? 2 : 0), types));
  known.is_prepared = true;
  known.parameters = use.bound;
  std::memcpy(known.types, use.types, sizeof use.types);
  known.shape = shape_of({ours, size});
  const bool reads = text.front() == 'S' || text.front() == 'W';  // SELECT or WITH
  known.has_rows = reads || text.find(" RETURNING ") != std::string_view::npos;
  known.inserts_always = text.front() == 'I' && text.find(" SELECT ") == std::string_view::npos &&
                         text.find(" ON CONFLICT") == std::string_view::npos;
  return Status::kOk;
}

}  // namespace

Status Connection::run(StatementUse& use) {
  char text[sql::kTextBytesMax];
  const std::string_view whole(text, sql::expand(use.query.encoded(), text));
  const bool ends = whole == "COMMIT" || whole == "ROLLBACK";
  const bool is_batch = queue_.is_in_batch() || whole.substr(0, 6) == "BEGIN ";
  if (!link_.in_transaction()) queue_.end();  // a lost link ends a batch
  fails_again_ = link_.failure() != Status::kOk;
  if (fails_again_ && !(ends && (whole == "ROLLBACK" || !queue_.is_in_batch())))
    return link_.failure();
  const bool is_own = ends || (use.query.marks() & sql::kEnginesOwn) != 0 || whole == "BEGIN";
  Status status = Status::kOk;
  if (is_own) {
    status = run_own(use, whole);
  } else {
    status = prepare_known(link_, use, whole);
    if (status == Status::kOk) status = queue_.run(use, suspects());
  }
  if (status != Status::kOk && status != Status::kBusy) ahead_.note_failure();
  const bool has_not_begun = status != Status::kOk && whole.substr(0, 5) == "BEGIN";
  if (ends || has_not_begun) ahead_.forget(is_batch);
  return status;
}

bool Connection::end_later() {
  static_cast<void>(link_.settle());
  ahead_.forget(false);
  if (link_.failure() != Status::kOk) return false;
  link_.end_later();
  return true;
}

int Connection::count_changes(std::int64_t* out) {
  failed_ = queue_.settle();
  *out = link_.changes();
  return failed_ == Status::kOk ? 0 : kOfServer;
}

// ---- statements that each engine has of its own ----

namespace {

struct OwnText {
  std::string_view begins;  // the text of SQLite
  const char* text;
};
constexpr OwnText kOwnTexts[] = {
    {"PRAGMA page_count", kPages},
    {"PRAGMA freelist_count", kUnusedPages},
    {"PRAGMA user_version=2", "UPDATE meta SET seq=seq+1,form=1 WHERE id=1"},
    {"PRAGMA user_version=-1", "UPDATE meta SET seq=seq+1,form=-1 WHERE id=1"},
    {"PRAGMA user_version=-2", "UPDATE meta SET seq=seq+1,form=-2 WHERE id=1"},
    {"PRAGMA user_version", "SELECT form FROM meta WHERE id=1"},
    {"SELECT (SELECT max(key)",
     "SELECT (SELECT max(key) FROM instances) AS instances,"
     "(SELECT max(id) FROM orchestrator_queue) AS orchestrator_queue,"
     "(SELECT max(inc) FROM workers) AS workers,(SELECT max(sid) FROM sessions) AS sessions,"
     "NULL::bigint AS sqlite_sequence"},
};

}  // namespace

// A batch ends here whatever the server answers, and so does a view that failed.
Status Connection::end(StatementUse& use, bool commits) {
  const bool is_batch = queue_.is_in_batch();
  if (!commits || (!is_batch && link_.failure() != Status::kOk)) {
    queue_.end();
    return link_.roll_back(&use.result);
  }
  if (!is_batch || queue_.is_alone()) {
    PAWL_TRY(queue_.settle());
    queue_.end();
    return link_.ask("COMMIT", nullptr);
  }
  const bool writes = queue_.has_written();
  PAWL_TRY(link_.failure());
  queue_.end();
  return transaction_.commit(writes);
}

Status Connection::run_own(StatementUse& use, std::string_view text) {
  if (text == "COMMIT" || text == "ROLLBACK") return end(use, text == "COMMIT");
  if (text == "BEGIN") return transaction_.begin_read();
  if (text == "PRAGMA data_version") return transaction_.read_version();
  const bool is_alone = text == "BEGIN EXCLUSIVE";
  if (is_alone || text == "BEGIN IMMEDIATE") {
    PAWL_TRY(transaction_.begin(is_alone, &use.result));
    queue_.begin(is_alone);
    use.row = PQntuples(use.result);  // the row of meta is no answer
    return Status::kOk;
  }
  for (const OwnText& own : kOwnTexts)
    if (text.substr(0, own.begins.size()) == own.begins)
      return link_.ask_binary(own.text, &use.result);
  diagnostic_.format("only SQLite has this: %.100s", text.data());
  return Status::kUnsupported;
}

// Most that read a list want few of its rows, so of one that is read ahead its first page comes.
void Connection::read_ahead(void* of) {
  StatementUse& use = use_of(of);
  if (link_.is_lost() || link_.failure() != Status::kOk) return;
  char text[sql::kTextBytesMax];
  const std::string_view whole(text, sql::expand(use.query.encoded(), text));
  if (prepare_known(link_, use, whole) == Status::kOk) static_cast<void>(queue_.read_ahead(use));
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

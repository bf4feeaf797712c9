#include "store/sqlite/sqlite_connection.hpp"

#include <climits>
#include <cstring>

#include "core/check.hpp"

namespace pawl::sqlite {

Status status_of(int result_code) {
  // SQLite reports lack of memory in two forms: plain, and as an I/O error below the VFS.
  if (result_code == SQLITE_IOERR_NOMEM) return Status::kResourceExhausted;
  // A full disk has two forms, too: this one appears when the index of the log is created.
  if (result_code == SQLITE_IOERR_SHMSIZE) return Status::kFull;
  switch (result_code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE: return Status::kOk;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:  // it lost the race for the log's index too often
      return Status::kBusy;
    case SQLITE_FULL: return Status::kFull;
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG: return Status::kResourceExhausted;
    case SQLITE_READONLY:
    case SQLITE_PERM: return Status::kReadOnly;
    case SQLITE_CANTOPEN: return Status::kCannotOpen;
    case SQLITE_CONSTRAINT: return Status::kAlreadyExists;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_INTERRUPT:  // interrupted by Connection::on_slice()
    case SQLITE_ERROR:      // Pawl's statements are fixed, so the schema is not Pawl's any more
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_FORMAT: return Status::kCorrupt;
    default: return Status::kIo;
  }
}

// ---- one statement ----

sqlite3_stmt* Connection::statement_of(void* prepared) {
  return prepared == nullptr ? nullptr : static_cast<Prepared*>(prepared)->statement;
}

void Connection::release(void* prepared) {
  // The result of the reset repeats that of the last step, which has been reported.
  static_cast<void>(sqlite3_reset(statement_of(prepared)));
  // Bound views end with the caller's data.
  static_cast<void>(sqlite3_clear_bindings(statement_of(prepared)));
  static_cast<Prepared*>(prepared)->is_held = false;
}

int Connection::bind_integer(void* prepared, int at, std::int64_t value) {
  return sqlite3_bind_int64(statement_of(prepared), at, value);
}

int Connection::bind_nothing(void* prepared, int at, sql::ValueType /*type*/) {
  return sqlite3_bind_null(statement_of(prepared), at);
}

int Connection::bind_characters(void* prepared, int at, std::string_view value) {
  if (value.size() > INT_MAX) return SQLITE_TOOBIG;
  // A null pointer would bind NULL, which differs from an empty text. The null destructor is
  // SQLITE_STATIC: nothing is copied.
  const char* const data = value.data() == nullptr ? "" : value.data();
  return sqlite3_bind_text(statement_of(prepared), at, data, static_cast<int>(value.size()),
                           nullptr);
}

int Connection::bind_bytes(void* prepared, int at, std::string_view value) {
  if (value.size() > INT_MAX) return SQLITE_TOOBIG;
  const char* const data = value.data() == nullptr ? "" : value.data();
  return sqlite3_bind_blob(statement_of(prepared), at, data, static_cast<int>(value.size()),
                           nullptr);
}

sql::Connection::Step Connection::step(void* prepared, int* slices, int* failure) {
  slices_ = slices;
  const int result = sqlite3_step(statement_of(prepared));
  slices_ = nullptr;
  if (result == SQLITE_ROW) return Step::kRow;
  if (result == SQLITE_DONE) return Step::kDone;
  *failure = result;
  return Step::kFailed;
}

Status Connection::explain(void* prepared, int failure) {
  const Status status = status_of(failure);
  // The next prepare drops all kept statements, so the next try has their room.
  if (status == Status::kResourceExhausted) is_short_ = true;
  if (failure == SQLITE_INTERRUPT) {
    diagnostic_.format(
        "stopped after %lld steps, more than it can need, so the file is damaged (PRAGMA "
        "integrity_check): %.100s",
        static_cast<long long>(steps_max_), sqlite3_sql(statement_of(prepared)));
    return status;
  }
  diagnostic_.format("%s (sqlite %d)", sqlite3_errmsg(handle_), failure);
  blame(status, diagnostic_.text());
  return status;
}

bool Connection::read_integer(void* prepared, int column, std::int64_t* out) {
  const int type = sqlite3_column_type(statement_of(prepared), column);
  *out = type == SQLITE_INTEGER ? sqlite3_column_int64(statement_of(prepared), column) : 0;
  return type == SQLITE_INTEGER || type == SQLITE_NULL;
}

bool Connection::is_integer(void* prepared, int column) {
  return sqlite3_column_type(statement_of(prepared), column) == SQLITE_INTEGER;
}

bool Connection::is_nothing(void* prepared, int column) {
  return sqlite3_column_type(statement_of(prepared), column) == SQLITE_NULL;
}

std::string_view Connection::read_bytes(void* prepared, int column) {
  // The database is UTF-8, so a text read as a blob gives its bytes.
  const void* const data = sqlite3_column_blob(statement_of(prepared), column);
  if (data == nullptr) return {};
  const int size = sqlite3_column_bytes(statement_of(prepared), column);
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

const char* Connection::column_name(void* prepared, int column) {
  return sqlite3_column_name(statement_of(prepared), column);
}

// ---- Connection ----

Status Connection::open(const char* path, int flags, const char* vfs, Diagnostic& diagnostic) {
  PAWL_CHECK("store-1", handle_ == nullptr);
  const int result = sqlite3_open_v2(path, &handle_, flags, vfs);
  if (result != SQLITE_OK) {
    // SQLite gives no handle if there was no memory even for that.
    const int extended = handle_ == nullptr ? result : sqlite3_extended_errcode(handle_);
    const char* const text = handle_ == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(handle_);
    diagnostic.format("%s: %s (sqlite %d)", path, text, extended);
    close();
    return status_of(extended);
  }
  static_cast<void>(sqlite3_extended_result_codes(handle_, 1));
  if (!kept_.open(statement_bytes_max_)) {
    diagnostic.format("%s: no memory for the places of statements", path);
    close();
    return Status::kResourceExhausted;
  }
  const Status status = protect(diagnostic);
  if (status != Status::kOk) close();
  return status;
}

// A process that can write the file can put more into it than rows. Here none of its triggers and
// views runs, no function or virtual table that an index or a column names, and no statement runs
// without end.
Status Connection::protect(Diagnostic& diagnostic) {
  struct Setting {
    int id;
    int value;
  };
  constexpr Setting kSettings[] = {
      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0}, {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
      {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
      {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
      {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
  };
  for (const Setting& setting : kSettings) {
    const int result =
        sqlite3_db_config(handle_, setting.id, setting.value, static_cast<int*>(nullptr));
    if (result == SQLITE_OK) continue;
    diagnostic.format("this SQLite (%s) has no setting %d, which Pawl needs", sqlite3_libversion(),
                      setting.id);
    return Status::kUnsupported;
  }
  for (const Limit& limit : kLimits)
    static_cast<void>(sqlite3_limit(handle_, limit.id, limit.value));
  sqlite3_progress_handler(handle_, kStepsASlice, on_slice, this);
  return Status::kOk;
}

// SQLite counts the steps of a prepared statement over all its uses, so the first slice of one use
// may be short.
int Connection::on_slice(void* self) {
  const Connection& connection = *static_cast<Connection*>(self);
  if (connection.slices_ == nullptr) return 0;
  return ++*connection.slices_ > connection.steps_max_ / kStepsASlice ? 1 : 0;
}

void Connection::close() {
  if (handle_ == nullptr) return;
  kept_.close();
  is_short_ = false;
  // SQLite refuses to close only while statements live, and all of them belong to this connection.
  const int result = sqlite3_close(handle_);
  PAWL_CHECK("store-2", result == SQLITE_OK);
  handle_ = nullptr;
}

// ---- the statements that stay prepared ----

void* Connection::prepare(sql::QueryRef query, int* failure) {
  PAWL_CHECK("store-3", handle_ != nullptr);
  if (is_short_) forget_statements();
  is_short_ = false;
  const char* const text = query.encoded();
  Prepared* prepared = kept_.find(text);
  if (prepared == nullptr) {
    sqlite3_stmt* statement = nullptr;
    *failure = prepare_new(text, &statement);
    if (*failure != SQLITE_OK) return nullptr;
    prepared = &kept_.add(text, statement);
  }
  PAWL_CHECK("store-5", !prepared->is_held);
  prepared->is_held = true;
  return prepared;
}

// Room is made first, as much as a large statement takes, since the new one needs it while it is
// being prepared.
int Connection::prepare_new(const char* encoded, sqlite3_stmt** statement) {
  char text[sql::kTextBytesMax];
  static_cast<void>(sql::expand(encoded, text));
  kept_.make_room(kStatementBytesLarge);
  int result = SQLITE_OK;
  do {
    result = sqlite3_prepare_v3(handle_, text, -1, SQLITE_PREPARE_PERSISTENT, statement, nullptr);
  } while (result == SQLITE_NOMEM && kept_.forget_oldest());
  return result;
}

Status Connection::execute(const char* sql, Diagnostic& diagnostic) {
  int slices = 0;
  slices_ = &slices;
  const int result = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  slices_ = nullptr;
  if (result == SQLITE_OK) return Status::kOk;
  diagnostic.format("%s (sqlite %d)", sqlite3_errmsg(handle_), result);
  return status_of(result);
}

std::int64_t Connection::changes() const { return sqlite3_changes(handle_); }

int Connection::count_changes(std::int64_t* out) {
  *out = changes();
  return SQLITE_OK;
}

std::int64_t Connection::total_changes() { return sqlite3_total_changes(handle_); }

bool Connection::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

std::uint32_t Connection::version() const {
  unsigned version = 0;
  static_cast<void>(sqlite3_file_control(handle_, nullptr, SQLITE_FCNTL_DATA_VERSION, &version));
  return version;
}

std::int64_t Connection::last_insert_id() const { return sqlite3_last_insert_rowid(handle_); }

}  // namespace pawl::sqlite

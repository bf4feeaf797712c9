#include "store/sqlite/database_file.hpp"

#include <sqlite3.h>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/check.hpp"
#include "store/sql/schema.hpp"
#include "store/sqlite/database_uri.hpp"
#include "store/sqlite/form.hpp"
#include "store/sqlite/gathered_log.hpp"
#include "store/sqlite/reserve_file.hpp"
#include "store/sqlite/sqlite_vfs.hpp"

namespace pawl::store {
namespace {

static_assert(kSchemaVersion == 2 && kApplicationId == 0x5061776c, "as in create_schema()");

static_assert(kPageBytes == kLogPageBytes, "StoreOptions counts the log in pages");

constexpr int kPauseMs = 5;  // between tries where SQLite does not wait

// A checkpoint sorts the log's pages in memory, two bytes a page, and the log is long where a
// process has read for long. Statements can be prepared again; a log that cannot be cut only grows.
int checkpoint(sqlite::Connection& sqlite, int mode) {
  int result = SQLITE_OK;
  do {
    result = sqlite3_wal_checkpoint_v2(sqlite.handle(), "main", mode, nullptr, nullptr);
  } while (sqlite::status_of(result) == Status::kResourceExhausted && sqlite.forget_statements());
  return result;
}

}  // namespace

// Takes over what the file needs to know of the options, and checks the place.
Status DatabaseFile::prepare(const StoreOptions& options, const port::Port& port,
                             Diagnostic& diagnostic) {
  if (options.path == nullptr || path_.assign(options.path) != Status::kOk ||
      options.busy_ms_max < 0 || options.cache_pages < 0 || options.checkpoint_pages < 0) {
    diagnostic.format("a database needs a path of at most %zu bytes and no negative options",
                      path_.capacity());
    return Status::kInvalidArgument;
  }
  options_ = options;
  options_.path = path_.c_str();
  port_ = port;
  return port_.storage->check_place(path_.c_str(), diagnostic);
}

Status DatabaseFile::connect(Diagnostic& diagnostic) {
  const char* const native = port_.storage->native_vfs();
  const char* vfs = nullptr;
  const Status found = sqlite::vfs_for(port_, &vfs);
  if (found != Status::kOk) {
    diagnostic.format("%s: SQLite has no VFS \"%s\", or no room for one more", path_.c_str(),
                      native == nullptr ? "pawl" : native);
    return found;
  }
  has_vfs_ = true;
  sqlite_.set_statement_bytes_max(options_.statement_bytes);
  if (options_.read_only)
    return sqlite_.open(path_.c_str(), SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs, diagnostic);
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  const Status status = sqlite_.open(path_.c_str(), kFlags, vfs, diagnostic);
  if (status != Status::kCannotOpen || !options_.create) return status;
  const Status made = make_database(vfs, diagnostic);
  if (made == Status::kOk || made == Status::kAlreadyExists)
    return sqlite_.open(path_.c_str(), kFlags, vfs, diagnostic);
  // A small heap cannot hold the whole image; then SQLite creates the file page by page.
  if (made != Status::kUnsupported && made != Status::kResourceExhausted) return made;
  if (native == nullptr)
    return sqlite_.open(path_.c_str(), kFlags | SQLITE_OPEN_CREATE, vfs, diagnostic);
  return make_file(vfs, diagnostic);
}

Status DatabaseFile::set_up(Diagnostic& diagnostic) {
  if (!options_.read_only && sqlite3_db_readonly(sqlite_.handle(), "main") == 1) {
    diagnostic.format("%s: the file cannot be written", path_.c_str());
    return Status::kReadOnly;
  }
  wait_for_locks(options_.busy_ms_max);
  // Set before SQLite reads the file: then it has the file locked as a whole.
  PAWL_TRY(execute(options_.moves ? "PRAGMA locking_mode=EXCLUSIVE" : "PRAGMA locking_mode=NORMAL",
                   diagnostic));
  // SQLite opens the log when it first reads the database.
  if (!options_.read_only)
    sqlite::gather_log(sqlite_.handle(), sqlite::log_buffer_bytes(options_.cache_pages));
  bool empty = false;
  // Looks in one view, since another process may be creating the database at this moment.
  PAWL_TRY(execute("BEGIN", diagnostic));
  Status looked = look_at_file(&empty, diagnostic);
  if (!is_in_place(diagnostic)) looked = Status::kBusy;
  end_transaction();
  PAWL_TRY(looked);
  if (empty && (!options_.create || options_.read_only)) {
    diagnostic.format("%s: holds no Pawl database", path_.c_str());
    return Status::kCannotOpen;
  }
  PAWL_TRY(set_pragmas(diagnostic));
  // The last connection to close writes the log back and removes it; a connection that only reads
  // leaves it unchanged.
  if (options_.read_only)
    static_cast<void>(sqlite3_db_config(sqlite_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                        static_cast<int*>(nullptr)));
  else
    PAWL_TRY(use_log(diagnostic));
  if (empty) PAWL_TRY(create_schema(diagnostic));
  return load_database_id(sqlite_, diagnostic);
}

// A process that puts another database in this one's place holds a lock on the old file meanwhile.
// A connection that waited for that lock has opened the replaced file, beside the log of the new
// one. From here on this connection's own lock prevents such a change.
bool DatabaseFile::is_in_place(Diagnostic& diagnostic) {
  int has_moved = 0;
  const int asked =
      sqlite3_file_control(sqlite_.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  if (asked != SQLITE_OK || has_moved == 0) return true;
  diagnostic.format("%s: was replaced by another file while it was opened", path_.c_str());
  return false;
}

void DatabaseFile::leave() {
  io_at_end_ = io_use();
  if (has_vfs_) sqlite::forget_vfs(*port_.storage);
  has_vfs_ = false;
  open_ = false;
}

IoUse DatabaseFile::io_use() const {
  if (!has_vfs_) return io_at_end_;
  const sqlite::IoCounts& counts = sqlite::io_counts(*port_.storage);
  return {counts.flushes.read(), counts.bytes.read(), 0};
}

Status DatabaseFile::empty_log() {
  // A process that reads for a long time must not hold up the loop.
  wait_for_locks(0);
  const int result = checkpoint(sqlite_, SQLITE_CHECKPOINT_TRUNCATE);
  wait_for_locks(options_.busy_ms_max);
  log_frames_ = 0;
  return sqlite::status_of(result);
}

Status DatabaseFile::write_back_log() {
  if (log_frames_ < options_.checkpoint_pages) return Status::kOk;
  log_frames_ = 0;
  return sqlite::status_of(checkpoint(sqlite_, SQLITE_CHECKPOINT_PASSIVE));
}

// The file of the log is written again from the front. Only empty_log() and journal_size_limit make
// it shorter.
std::int64_t DatabaseFile::log_bytes() {
  sqlite3_file* log = nullptr;
  sqlite3_int64 bytes = 0;
  const int found =
      sqlite3_file_control(sqlite_.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (found != SQLITE_OK || log == nullptr || log->pMethods == nullptr) return 0;
  return log->pMethods->xFileSize(log, &bytes) == SQLITE_OK ? bytes : 0;
}

// Where SQLite can sleep, it waits for locks. A port without a native VFS can wait only in its
// owner, so there a held lock answers kBusy at once, and the owner tries again at its next tick.
void DatabaseFile::wait_for_locks(std::int64_t ms) {
  if (port_.storage->native_vfs() == nullptr) return;
  static_cast<void>(
      sqlite3_busy_timeout(sqlite_.handle(), static_cast<int>(ms < INT_MAX ? ms : INT_MAX)));
}

// Creates the database in one piece with one flush, where the port can. In place SQLite needs seven
// flushes: four to turn its log on, since an empty file has another kind of journal, and three to
// begin the log with the tables.
Status DatabaseFile::make_database(const char* vfs, Diagnostic& diagnostic) {
  const bool may_wait = port_.storage->native_vfs() != nullptr;
  const std::int64_t until = port_.clock->boot_ms() + options_.busy_ms_max;
  Status status = try_to_make(vfs, diagnostic);
  while (status == Status::kBusy && may_wait && port_.clock->boot_ms() < until) {
    static_cast<void>(sqlite3_sleep(kPauseMs));
    status = try_to_make(vfs, diagnostic);
  }
  return status;
}

Status DatabaseFile::try_to_make(const char* vfs, Diagnostic& diagnostic) {
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  PAWL_TRY(sqlite_.open(":memory:", kFlags, vfs, diagnostic));
  const Status status = make_image(diagnostic);
  sqlite_.close();
  return status;
}

// SQLite writes the pages into one piece of its heap, which is allocated while the heap is empty:
// copying pages that lie in the heap would need the room twice, and a small machine does not have
// it.
Status DatabaseFile::make_image(Diagnostic& diagnostic) {
  constexpr sqlite3_uint64 kImageBytes = 65'536;  // the image takes 41,472; grows if it must
  sqlite3* const handle = sqlite_.handle();
  auto* const room = static_cast<unsigned char*>(sqlite3_malloc64(kImageBytes));
  if (room == nullptr) return Status::kResourceExhausted;
  const int opened =
      sqlite3_deserialize(handle, "main", room, 0, kImageBytes,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (opened != SQLITE_OK) return sqlite::status_of(opened);
  static_assert(kPageBytes == 512, "as in the pragma");
  // The journal is in memory: there are no files here.
  PAWL_TRY(execute("PRAGMA page_size=512;PRAGMA journal_mode=MEMORY;PRAGMA cache_size=16;BEGIN",
                   diagnostic));
  PAWL_TRY(fill_schema(diagnostic));
  PAWL_TRY(execute("COMMIT", diagnostic));
  sqlite3_int64 bytes = 0;
  unsigned char* const image = sqlite3_serialize(handle, "main", &bytes, SQLITE_SERIALIZE_NOCOPY);
  const auto size = static_cast<std::size_t>(bytes);
  // sqlite.org/fileformat2.html, "file format version numbers": 2 is a database with a log.
  constexpr std::size_t kWriteVersion = 18;
  constexpr std::size_t kReadVersion = 19;
  PAWL_CHECK("store-40", image != nullptr && size > kPageBytes && image[kReadVersion] == 1);
  image[kWriteVersion] = image[kReadVersion] = 2;
  const Status status = port_.storage->create_whole(path_.c_str(), image, size);
  if (status == Status::kOk) {
    sqlite::note_io(*port_.storage, 1, size);
  } else {
    diagnostic.format("%s: cannot be made: %s", path_.c_str(), status_name(status));
  }
  return status;
}

// SQLite creates a file with the mode 0644 less the umask, and its log and index with the mode of
// the database. The parameter `modeof` of its URIs names a file to take the mode from instead. Here
// this is the bell, which the port has created with 0600, so at no time is there an open file that
// others may read.
Status DatabaseFile::make_file(const char* vfs, Diagnostic& diagnostic) {
  port_.storage->ring(path_.c_str());
  FixedText<2 * (3 * sql::kPathBytesMax) + 64> uri;
  PAWL_TRY(sqlite::begin_uri(uri, path_.view()));
  PAWL_TRY(uri.append("?modeof="));
  PAWL_TRY(sqlite::append_escaped(uri, path_.view()));
  PAWL_TRY(uri.append("-bell"));
  return sqlite_.open(
      uri.c_str(),
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, vfs,
      diagnostic);
}

// Finds out which program wrote the database. Nothing is written before that is known.
Status DatabaseFile::look_at_file(bool* empty, Diagnostic& diagnostic) {
  std::int64_t application = 0;
  std::int64_t version = 0;
  std::int64_t tables = 0;
  PAWL_TRY(read_number("PRAGMA application_id", &application, diagnostic));
  PAWL_TRY(read_number("PRAGMA user_version", &version, diagnostic));
  PAWL_TRY(read_number("SELECT EXISTS(SELECT 1 FROM sqlite_schema)", &tables, diagnostic));
  *empty = application == 0 && version == 0 && tables == 0;
  if (*empty) return Status::kOk;
  if (application != kApplicationId) {
    diagnostic.format("%s: a database of another program (application id %lld)", path_.c_str(),
                      static_cast<long long>(application));
    return Status::kForeignDatabase;
  }
  if (version > kSchemaVersion) {
    diagnostic.format("%s: written by a newer Pawl: format %lld, this one knows up to %d",
                      path_.c_str(), static_cast<long long>(version), kSchemaVersion);
    return Status::kNewerDatabase;
  }
  if (version < kSchemaVersion && version > 0)
    return refuse_older(path_.c_str(), version, diagnostic);
  if (sql::is_move_stage(version)) {
    if (!options_.moves) return sql::refuse_stage(version, path_.c_str(), diagnostic);
  } else if (version <= 0) {  // no format came before the first
    diagnostic.format("%s: no Pawl wrote format %lld", path_.c_str(),
                      static_cast<long long>(version));
    return Status::kCorrupt;
  }
  const Status checked = schema_.check_schema(path_, diagnostic);
  std::int64_t lacking = 0;
  Diagnostic ignored;
  if (checked == Status::kCorrupt && read_number(kIsEarlyForm, &lacking, ignored) == Status::kOk &&
      lacking != 0)
    return refuse_older(path_.c_str(), version, diagnostic);
  PAWL_TRY(checked);
  std::int64_t schema_version = 0;
  PAWL_TRY(read_number("PRAGMA schema_version", &schema_version, diagnostic));
  schema_.note_schema(schema_version);
  return Status::kOk;
}

Status DatabaseFile::set_pragmas(Diagnostic& diagnostic) {
  PAWL_TRY(
      execute("PRAGMA temp_store=MEMORY;"
              "PRAGMA foreign_keys=OFF;"
              "PRAGMA trusted_schema=OFF;"
              "PRAGMA mmap_size=0;"
              "PRAGMA cell_size_check=ON",
              diagnostic));
  PAWL_TRY(
      execute(options_.synchronous_full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
              diagnostic));
  // These are the only SQL texts made at run time: a pragma takes no parameters, and no function
  // sets these values.
  char cache_size[48];
  static_cast<void>(
      std::snprintf(cache_size, sizeof(cache_size), "PRAGMA cache_size=%d", options_.cache_pages));
  PAWL_TRY(execute(cache_size, diagnostic));
  // A log that is longer, since a process read for long, is cut when the log starts again from its
  // beginning.
  char log_size[64];
  static_cast<void>(
      std::snprintf(log_size, sizeof(log_size), "PRAGMA journal_size_limit=%lld",
                    2 * kLogPageBytes * static_cast<long long>(options_.checkpoint_pages)));
  PAWL_TRY(execute(log_size, diagnostic));
  if (!options_.checkpoint_after_commit)
    return sqlite::status_of(
        sqlite3_wal_autocheckpoint(sqlite_.handle(), options_.checkpoint_pages));
  static_cast<void>(sqlite3_wal_hook(sqlite_.handle(), note_log, this));
  return Status::kOk;
}

// Turning the log on needs the file exclusively for a moment, and SQLite does not wait for that.
Status DatabaseFile::use_log(Diagnostic& diagnostic) {
  const bool may_wait = port_.storage->native_vfs() != nullptr;
  const std::int64_t until = port_.clock->boot_ms() + options_.busy_ms_max;
  Status status = try_log(diagnostic);
  while (status == Status::kBusy && may_wait && port_.clock->boot_ms() < until) {
    static_cast<void>(sqlite3_sleep(kPauseMs));
    status = try_log(diagnostic);
  }
  return status;
}

Status DatabaseFile::try_log(Diagnostic& diagnostic) {
  FixedText<32> mode;
  // Takes effect in a new database only.
  static_assert(kPageBytes == 512, "as in the pragma");
  PAWL_TRY(execute("PRAGMA page_size=512", diagnostic));
  PAWL_TRY(read_first("PRAGMA journal_mode=WAL", mode, diagnostic));
  if (mode == "wal") return Status::kOk;
  diagnostic.format("%s: SQLite cannot keep a write-ahead log here", path_.c_str());
  return Status::kUnsupported;
}

// Looks again inside the one transaction: if two processes create at once, only one fills the file.
Status DatabaseFile::create_schema(Diagnostic& diagnostic) {
  PAWL_TRY(execute("BEGIN IMMEDIATE", diagnostic));
  bool empty = false;
  Status status = look_at_file(&empty, diagnostic);
  if (status == Status::kOk && empty) status = fill_schema(diagnostic);
  if (status == Status::kOk) status = execute("COMMIT", diagnostic);
  end_transaction();
  return status;
}

Status DatabaseFile::fill_schema(Diagnostic& diagnostic) {
  SchemaTexts schema;
  while (schema.next())
    PAWL_TRY(execute(schema.text().data(), diagnostic));
  PAWL_TRY(
      execute("PRAGMA application_id=0x5061776c;"
              "PRAGMA user_version=2",
              diagnostic));
  return insert_meta(sqlite_, diagnostic);
}

// Does nothing if SQLite has ended the transaction itself.
void DatabaseFile::end_transaction() {
  if (sqlite3_get_autocommit(sqlite_.handle()) != 0) return;
  Diagnostic ignored;
  static_cast<void>(execute("ROLLBACK", ignored));
}

// Reads the first column of the first row of a statement that is needed only at open.
Status DatabaseFile::read_first(const char* sql, Text& out, Diagnostic& diagnostic) {
  sqlite3_stmt* statement = nullptr;
  int result = sqlite3_prepare_v2(sqlite_.handle(), sql, -1, &statement, nullptr);
  if (result == SQLITE_OK) result = sqlite3_step(statement);
  if (result == SQLITE_ROW) {
    const void* const text = sqlite3_column_blob(statement, 0);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, 0));
    if (text != nullptr) out.assign_cut({static_cast<const char*>(text), size});
  } else {
    diagnostic.format("%s: %s (sqlite %d)", path_.c_str(), sqlite3_errmsg(sqlite_.handle()),
                      result);
  }
  static_cast<void>(sqlite3_finalize(statement));
  if (result == SQLITE_ROW) return Status::kOk;
  return (result & 0xff) == SQLITE_NOTADB ? Status::kForeignDatabase : sqlite::status_of(result);
}

Status DatabaseFile::read_number(const char* sql, std::int64_t* out, Diagnostic& diagnostic) {
  FixedText<32> text;
  PAWL_TRY(read_first(sql, text, diagnostic));
  const char* const end = text.c_str() + text.size();
  static_cast<void>(std::from_chars(text.c_str(), end, *out));
  return Status::kOk;
}

Status DatabaseFile::execute(const char* sql, Diagnostic& diagnostic) {
  Diagnostic text;
  const Status status = sqlite_.execute(sql, text);
  if (status == Status::kOk) return status;
  diagnostic.format("%s: %.*s", path_.c_str(), static_cast<int>(text.text().size()),
                    text.text().data());
  return status;
}

int DatabaseFile::note_log(void* self, sqlite3* /*handle*/, const char* /*schema*/, int frames) {
  static_cast<DatabaseFile*>(self)->log_frames_ = frames;
  return SQLITE_OK;
}

// ---- waits and the reserve ----

void DatabaseFile::pause(int ms) { static_cast<void>(sqlite3_sleep(ms)); }

Status DatabaseFile::find_reserve(bool* there) {
  return sqlite::ReserveFile(sqlite_, path_).exists(there);
}

Status DatabaseFile::make_reserve_file(std::int64_t bytes) {
  sqlite::ReserveFile file(sqlite_, path_);
  if (file.path() == nullptr) return Status::kResourceExhausted;
  // The port comes first: it knows which files it may open, while SQLite opens any file of that
  // name.
  Status status = port_.storage->allocate(file.path(), bytes);
  if (status == Status::kUnsupported) status = write_reserve(file, bytes);
  file.close();
  // A partial file would take room and look like a whole one.
  if (status != Status::kOk) static_cast<void>(file.remove());
  return status;
}

Status DatabaseFile::write_reserve(sqlite::ReserveFile& file, std::int64_t bytes) {
  std::int64_t size = 0;
  PAWL_TRY(file.open());
  PAWL_TRY(file.size(&size));
  if (size == bytes) return Status::kOk;
  std::uint64_t seed = 0;
  port_.clock->random(&seed, sizeof(seed));
  return file.fill(bytes, seed);
}

Status DatabaseFile::remove_reserve_file() { return sqlite::ReserveFile(sqlite_, path_).remove(); }

}  // namespace pawl::store

#include "sqlite_provider.hpp"

#include <charconv>
#include <climits>
#include <cstdio>

#include "check.hpp"
#include "sqlite_memory.hpp"
#include "sqlite_vfs.hpp"

namespace pawl::store {

using sqlite::forget_vfs;
using sqlite::io_counts;
using sqlite::IoCounts;
using sqlite::note_io;
using sqlite::vfs_for;

namespace {

static_assert(kSchemaVersion == 1 && kApplicationId == 0x5061776c, "as in create_schema()");

// A wall clock that moved less against boot time drifted; one that moved more was set.
constexpr std::int64_t kStepMs = 1000;
constexpr int kPauseMs = 5;      // between tries for what SQLite does not wait for
constexpr int kTurnPauseMs = 1;  // between tries for the turn, and for the write lock
constexpr int kWithoutTurnMax = 3;
constexpr LockToken kTokensAhead = 1'000;
constexpr std::size_t kBootIdBytes = sizeof(port::BootId::bytes);

std::string_view bytes_of(const port::BootId& id) {
  return {reinterpret_cast<const char*>(id.bytes), kBootIdBytes};
}

constexpr std::size_t kDatabaseIdDigits = 32;

bool is_database_id(std::string_view id) {
  return id.size() == kDatabaseIdDigits &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// For a URI: whatever could mean something there as %XX.
Status append_escaped(Text& uri, std::string_view path) {
  for (const char character : path) {
    const bool plain = (character >= 'a' && character <= 'z') ||
                       (character >= 'A' && character <= 'Z') ||
                       (character >= '0' && character <= '9') || character == '/' ||
                       character == '.' || character == '-' || character == '_';
    if (plain) {
      PAWL_TRY(uri.append(character));
    } else {
      PAWL_TRY(uri.append('%'));
      PAWL_TRY(uri.append_hex(static_cast<unsigned char>(character), 2));
    }
  }
  return Status::kOk;
}

}  // namespace

// ---- open ---------------------------------------------------------------------------------------

Status SqliteProvider::open(const ProviderOptions& options, const port::Port& port,
                            Diagnostic& diagnostic) {
  PAWL_CHECK("provider-10", !open_);
  if (options.path == nullptr || path_.assign(options.path) != Status::kOk ||
      options.busy_ms_max < 0 || options.cache_pages < 0 || options.checkpoint_pages < 0) {
    diagnostic.format("a database needs a path of at most %zu bytes and no negative options",
                      path_.capacity());
    return Status::kInvalidArgument;
  }
  forget_known();
  options_ = options;
  options_.path = path_.c_str();
  port_ = port;
  PAWL_TRY(port_.storage->check_place(path_.c_str(), diagnostic));
  Status status = connect(diagnostic);
  if (status == Status::kOk) status = set_up(diagnostic);
  if (status == Status::kFull && options_.may_take_reserve && remove_reserve() == Status::kOk)
    status = set_up(diagnostic);
  open_ = true;
  if (status != Status::kOk) {
    close();
    return status;
  }
  if (options_.read_only) return Status::kOk;
  const Result<port::FileHandle> turn = port_.storage->turn_open(path_.c_str());
  turn_ = turn.ok() ? turn.value() : port::kNoFile;  // without it nothing is lost but fairness
  return Status::kOk;
}

void SqliteProvider::close() {
  if (!open_) return;
  if (context_.in_batch) rollback();
  if (context_.in_read) end_read();
  connection_.close();
  if (turn_ != port::kNoFile) port_.storage->turn_close(turn_);
  turn_ = port::kNoFile;
  io_at_end_ = io_use();
  if (has_vfs_) forget_vfs(*port_.storage);
  has_vfs_ = false;
  open_ = false;
}

Status SqliteProvider::connect(Diagnostic& diagnostic) {
  const char* const native = port_.storage->native_vfs();
  const char* vfs = nullptr;
  const Status found = vfs_for(port_, &vfs);
  if (found != Status::kOk) {
    diagnostic.format("%s: SQLite has no VFS \"%s\", or no room for one more", path_.c_str(),
                      native == nullptr ? "pawl" : native);
    return found;
  }
  has_vfs_ = true;
  if (options_.read_only)
    return connection_.open(path_.c_str(), SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, vfs,
                            diagnostic);
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  const Status status = connection_.open(path_.c_str(), kFlags, vfs, diagnostic);
  if (status != Status::kCannotOpen || !options_.create) return status;
  const Status made = make_database(vfs, diagnostic);
  if (made == Status::kOk || made == Status::kAlreadyExists)
    return connection_.open(path_.c_str(), kFlags, vfs, diagnostic);
  if (made != Status::kUnsupported) return made;
  if (native == nullptr)
    return connection_.open(path_.c_str(), kFlags | SQLITE_OPEN_CREATE, vfs, diagnostic);
  return make_file(vfs, diagnostic);
}

// Of SQLite's heap.
class SqliteProvider::Image {
 public:
  Image() = default;
  ~Image() { sqlite3_free(bytes_); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  Status take(sqlite3* from) {
    sqlite3_int64 size = 0;
    bytes_ = sqlite3_serialize(from, "main", &size, 0);
    size_ = static_cast<std::size_t>(size);
    return bytes_ == nullptr ? Status::kResourceExhausted : Status::kOk;
  }
  [[nodiscard]] unsigned char* bytes() { return bytes_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  unsigned char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

// In one piece with one flush, where the port can. In place SQLite needs seven: four to turn its log on, since
// an empty file has another kind of journal, and three to begin the log with the tables.
Status SqliteProvider::make_database(const char* vfs, Diagnostic& diagnostic) {
  const bool may_wait = port_.storage->native_vfs() != nullptr;
  const std::int64_t until = port_.clock->boot_ms() + options_.busy_ms_max;
  Status status = try_to_make(vfs, diagnostic);
  while (status == Status::kBusy && may_wait && port_.clock->boot_ms() < until) {
    static_cast<void>(sqlite3_sleep(kPauseMs));
    status = try_to_make(vfs, diagnostic);
  }
  return status;
}

Status SqliteProvider::try_to_make(const char* vfs, Diagnostic& diagnostic) {
  Image image;
  Status status = make_image(vfs, image, diagnostic);
  connection_.close();
  if (status != Status::kOk) return status;
  status = port_.storage->create_whole(path_.c_str(), image.bytes(), image.size());
  if (status == Status::kOk) {
    note_io(*port_.storage, 1, image.size());
  } else {
    diagnostic.format("%s: cannot be made: %s", path_.c_str(), status_name(status));
  }
  return status;
}

Status SqliteProvider::make_image(const char* vfs, Image& image, Diagnostic& diagnostic) {
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  PAWL_TRY(connection_.open(":memory:", kFlags, vfs, diagnostic));
  static_assert(kPageBytes == 1024, "as in the pragma");
  PAWL_TRY(execute("PRAGMA page_size=1024;BEGIN", diagnostic));
  PAWL_TRY(fill_schema(diagnostic));
  PAWL_TRY(execute("COMMIT", diagnostic));
  PAWL_TRY(image.take(connection_.handle()));
  // sqlite.org/fileformat2.html, "file format version numbers": 2 is a database with a log.
  constexpr std::size_t kWriteVersion = 18;
  constexpr std::size_t kReadVersion = 19;
  PAWL_CHECK("provider-40", image.size() > kPageBytes && image.bytes()[kReadVersion] == 1);
  image.bytes()[kWriteVersion] = image.bytes()[kReadVersion] = 2;
  return Status::kOk;
}

// SQLite makes a file with the mode 0644 less the umask, its log and index with the mode of the
// database. The parameter `modeof` of its URIs names a file to take the mode from instead: the bell,
// which the port has made 0600, so that at no time there is an open file that others may read.
Status SqliteProvider::make_file(const char* vfs, Diagnostic& diagnostic) {
  port_.storage->ring(path_.c_str());
  FixedText<2 * (3 * kPathBytesMax) + 64> uri;
  // With an authority, which is empty, a path that begins with two slashes is one, too.
  PAWL_TRY(uri.assign(path_.view().front() == '/' ? "file://" : "file:"));
  PAWL_TRY(append_escaped(uri, path_.view()));
  PAWL_TRY(uri.append("?modeof="));
  PAWL_TRY(append_escaped(uri, path_.view()));
  PAWL_TRY(uri.append("-bell"));
  return connection_.open(
      uri.c_str(),
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, vfs,
      diagnostic);
}

Status SqliteProvider::set_up(Diagnostic& diagnostic) {
  if (!options_.read_only && sqlite3_db_readonly(connection_.handle(), "main") == 1) {
    diagnostic.format("%s: the file cannot be written", path_.c_str());
    return Status::kReadOnly;
  }
  wait_for_locks(options_.busy_ms_max);
  bool empty = false;
  // In one view: another process may be creating it just now.
  PAWL_TRY(execute("BEGIN", diagnostic));
  const Status looked = look_at_file(&empty, diagnostic);
  end_transaction();
  PAWL_TRY(looked);
  if (empty && (!options_.create || options_.read_only)) {
    diagnostic.format("%s: holds no Pawl database", path_.c_str());
    return Status::kCannotOpen;
  }
  PAWL_TRY(set_pragmas(diagnostic));
  // The last to leave writes the log back and removes it; whoever only reads leaves it as it is.
  if (options_.read_only)
    static_cast<void>(sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                        static_cast<int*>(nullptr)));
  else
    PAWL_TRY(use_log(diagnostic));
  if (empty) PAWL_TRY(create_schema(diagnostic));
  return load_database_id(diagnostic);
}

// Where SQLite can sleep it waits for locks. A port without a native VFS has no wait but its owner's, so
// there a lock that is held answers kBusy at once, and the owner tries at its next tick.
void SqliteProvider::wait_for_locks(std::int64_t ms) {
  if (port_.storage->native_vfs() == nullptr) return;
  static_cast<void>(
      sqlite3_busy_timeout(connection_.handle(), static_cast<int>(ms < INT_MAX ? ms : INT_MAX)));
}

// The first column of the first row, of a statement that is needed only at open.
Status SqliteProvider::read_first(const char* sql, Text& out, Diagnostic& diagnostic) {
  sqlite3_stmt* statement = nullptr;
  int result = sqlite3_prepare_v2(connection_.handle(), sql, -1, &statement, nullptr);
  if (result == SQLITE_OK) result = sqlite3_step(statement);
  if (result == SQLITE_ROW) {
    const void* const text = sqlite3_column_blob(statement, 0);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, 0));
    if (text != nullptr) out.assign_cut({static_cast<const char*>(text), size});
  } else {
    diagnostic.format("%s: %s (sqlite %d)", path_.c_str(), sqlite3_errmsg(connection_.handle()),
                      result);
  }
  static_cast<void>(sqlite3_finalize(statement));
  if (result == SQLITE_ROW) return Status::kOk;
  return (result & 0xff) == SQLITE_NOTADB ? Status::kForeignDatabase : status_of(result);
}

Status SqliteProvider::read_number(const char* sql, std::int64_t* out, Diagnostic& diagnostic) {
  FixedText<32> text;
  PAWL_TRY(read_first(sql, text, diagnostic));
  const char* const end = text.c_str() + text.size();
  static_cast<void>(std::from_chars(text.c_str(), end, *out));
  return Status::kOk;
}

// Whose database is it? Nothing is written before that is known.
Status SqliteProvider::look_at_file(bool* empty, Diagnostic& diagnostic) {
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
  if (version < kSchemaVersion) {  // there was none before the first
    diagnostic.format("%s: no Pawl wrote format %lld", path_.c_str(),
                      static_cast<long long>(version));
    return Status::kCorrupt;
  }
  PAWL_TRY(check_schema(diagnostic));
  schema_is_ours_ = true;
  return read_number("PRAGMA schema_version", &schema_version_, diagnostic);
}

Status SqliteProvider::execute(const char* sql, Diagnostic& diagnostic) {
  Diagnostic text;
  const Status status = connection_.execute(sql, text);
  if (status == Status::kOk) return status;
  diagnostic.format("%s: %.*s", path_.c_str(), static_cast<int>(text.text().size()),
                    text.text().data());
  return status;
}

Status SqliteProvider::set_pragmas(Diagnostic& diagnostic) {
  PAWL_TRY(
      execute("PRAGMA locking_mode=NORMAL;"
              "PRAGMA temp_store=MEMORY;"
              "PRAGMA foreign_keys=OFF;"
              "PRAGMA trusted_schema=OFF;"
              "PRAGMA mmap_size=0;"
              "PRAGMA cell_size_check=ON",
              diagnostic));
  PAWL_TRY(
      execute(options_.synchronous_full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
              diagnostic));
  // The only texts made at run time: a pragma takes no parameters, and these have no function.
  char cache_size[48];
  static_cast<void>(
      std::snprintf(cache_size, sizeof(cache_size), "PRAGMA cache_size=%d", options_.cache_pages));
  PAWL_TRY(execute(cache_size, diagnostic));
  // What was longer, as somebody read for long, is cut when the log begins anew.
  char log_size[64];
  static_cast<void>(
      std::snprintf(log_size, sizeof(log_size), "PRAGMA journal_size_limit=%lld",
                    2 * kLogPageBytes * static_cast<long long>(options_.checkpoint_pages)));
  PAWL_TRY(execute(log_size, diagnostic));
  if (!options_.checkpoint_apart)
    return status_of(sqlite3_wal_autocheckpoint(connection_.handle(), options_.checkpoint_pages));
  static_cast<void>(sqlite3_wal_hook(connection_.handle(), note_log, this));
  return Status::kOk;
}

// Turning the log on needs the file for itself for a moment, and SQLite does not wait for that.
Status SqliteProvider::use_log(Diagnostic& diagnostic) {
  const bool may_wait = port_.storage->native_vfs() != nullptr;
  const std::int64_t until = port_.clock->boot_ms() + options_.busy_ms_max;
  Status status = try_log(diagnostic);
  while (status == Status::kBusy && may_wait && port_.clock->boot_ms() < until) {
    static_cast<void>(sqlite3_sleep(kPauseMs));
    status = try_log(diagnostic);
  }
  return status;
}

Status SqliteProvider::try_log(Diagnostic& diagnostic) {
  FixedText<32> mode;
  // Takes effect in a new database only.
  static_assert(kPageBytes == 1024, "as in the pragma");
  PAWL_TRY(execute("PRAGMA page_size=1024", diagnostic));
  PAWL_TRY(read_first("PRAGMA journal_mode=WAL", mode, diagnostic));
  if (mode == "wal") return Status::kOk;
  diagnostic.format("%s: SQLite cannot keep a write-ahead log here", path_.c_str());
  return Status::kUnsupported;
}

// In one transaction, looked at again inside: of two that create at once one does it.
Status SqliteProvider::create_schema(Diagnostic& diagnostic) {
  PAWL_TRY(execute("BEGIN IMMEDIATE", diagnostic));
  bool empty = false;
  Status status = look_at_file(&empty, diagnostic);
  if (status == Status::kOk && empty) status = fill_schema(diagnostic);
  if (status == Status::kOk) status = execute("COMMIT", diagnostic);
  end_transaction();
  return status;
}

// Unless SQLite has done so itself.
void SqliteProvider::end_transaction() {
  if (sqlite3_get_autocommit(connection_.handle()) != 0) return;
  Diagnostic ignored;
  static_cast<void>(execute("ROLLBACK", ignored));
}

constexpr sql::Query kInsertMeta{
    "INSERT INTO meta(id,database_id,next_epoch,next_token,boot_seq,k,mark,off_seq,"
    "adopted) VALUES(1,?,1,1,0,0,0,0,0)"};

Status SqliteProvider::fill_schema(Diagnostic& diagnostic) {
  PAWL_TRY(execute(kSchema, diagnostic));
  PAWL_TRY(
      execute("PRAGMA application_id=0x5061776c;"
              "PRAGMA user_version=1",
              diagnostic));
  std::uint64_t random[2] = {};
  port_.clock->random(random, sizeof(random));
  FixedText<32> id;
  PAWL_TRY(id.append_hex(random[0], 16));
  PAWL_TRY(id.append_hex(random[1], 16));
  const Status status = connection_.use(kInsertMeta).bind_text(id.view()).run();
  if (status != Status::kOk) diagnostic = connection_.diagnostic();
  return status;
}

constexpr sql::Query kReadDatabaseId{"SELECT database_id FROM meta WHERE id=1"};

Status SqliteProvider::load_database_id(Diagnostic& diagnostic) {
  Statement row = connection_.use(kReadDatabaseId);
  if (!row.row()) {
    const Status status = row.status() == Status::kOk ? Status::kCorrupt : row.status();
    diagnostic.format("%s: table meta cannot be read", path_.c_str());
    return status;
  }
  // It begins the names of folders, and so leads nowhere else only as we wrote it.
  if (is_database_id(row.bytes(0))) return context_.database_id.assign(row.bytes(0));
  diagnostic.format("%s: meta.database_id is not %zu lower-case hex digits", path_.c_str(),
                    kDatabaseIdDigits);
  return Status::kCorrupt;
}

// ---- transactions -------------------------------------------------------------------------------

Status SqliteProvider::begin(Incarnation me, BatchInfo* info) {
  PAWL_CHECK("provider-12", open_ && !context_.in_batch && !context_.in_read);
  Status status = take_write_lock(me != 0);
  if (status != Status::kOk) return fail(status, "begin");
  status = note_others();
  context_.in_batch = true;
  context_.dead = false;
  context_.batch_worker = me;
  batch_ = BatchInfo();
  unregistered_.begin_batch();
  fetch_.begin_batch();
  context_.batch_sent = false;
  sessions_.begin_batch();
  results_.begin_batch();
  batch_has_room_ = false;
  writes_before_ = sqlite3_total_changes(connection_.handle());
  if (status == Status::kOk) status = start_clock();
  if (status == Status::kOk && me != 0) status = workers_.check_worker(me);
  if (status != Status::kOk) {
    rollback();
    return status;
  }
  batch_.starts_apart = batch_.now < apart_until_;
  batch_.quota_bytes = quota_bytes_;
  batch_.data_version = context_.others;
  *info = batch_;
  return Status::kOk;
}

constexpr sql::Query kBegin{"BEGIN IMMEDIATE"};

// SQLite's own wait sleeps longer and longer between its tries, so whoever writes again at once would always be
// first. So who wants to write waits for its turn before it, and only one waits for the lock. A loop, which
// has far more to write, goes through that only now and then, and when the lock is held: so a tick
// that nobody disturbs makes no system call for it.
Status SqliteProvider::take_write_lock(bool is_loop) {
  if (turn_ == port::kNoFile) return connection_.use(kBegin).run();
  wait_for_locks(0);
  Status status = Status::kBusy;
  if (is_loop && begun_without_turn_ < kWithoutTurnMax) {
    status = connection_.use(kBegin).run();
    if (status == Status::kOk) ++begun_without_turn_;
  }
  if (status == Status::kBusy) status = wait_for_write_lock();
  wait_for_locks(options_.busy_ms_max);
  return status;
}

Status SqliteProvider::wait_for_write_lock() {
  const std::int64_t until = port_.clock->boot_ms() + options_.busy_ms_max;
  Status status = port_.storage->turn_take(turn_);
  while (status == Status::kBusy && port_.clock->boot_ms() < until) {
    static_cast<void>(sqlite3_sleep(kTurnPauseMs));
    status = port_.storage->turn_take(turn_);
  }
  if (status == Status::kBusy) return status;
  const bool has_turn = status == Status::kOk;  // else the file system has no such locks
  begun_without_turn_ = 0;
  status = connection_.use(kBegin).run();
  while (status == Status::kBusy && port_.clock->boot_ms() < until) {
    static_cast<void>(sqlite3_sleep(kTurnPauseMs));
    status = connection_.use(kBegin).run();
  }
  if (has_turn) port_.storage->turn_give(turn_);
  if (status == Status::kOk) connection_.diagnostic().clear();  // of the tries
  return status;
}

void SqliteProvider::end_batch() {
  context_.in_batch = false;
  context_.dead = false;
  context_.batch_worker = 0;
}

std::optional<Damage> SqliteProvider::take_damage() {
  const std::optional<Damage> found = connection_.damage();
  connection_.forget_damage();
  return found;
}

constexpr sql::Query kCommit{"COMMIT"};

Status SqliteProvider::commit() {
  require_batch();
  if (connection_.damage().has_value() && connection_.damage()->status == Status::kCorrupt) {
    // A column was read as a number that it is not. What was made of it must not be written.
    context_.diagnostic = connection_.damage()->text;
    rollback();
    return Status::kCorrupt;
  }
  // A batch that wrote nothing costs no flush and wakes nobody; so the mark never makes it one.
  const bool wrote = sqlite3_total_changes(connection_.handle()) != writes_before_;
  Status status = Status::kOk;
  if (wrote && needs_mark(context_.clock, batch_.now)) {
    context_.clock = mark(clock_now_, batch_.now);
    status = write_meta();
  }
  if (status == Status::kOk && wrote) status = store_counters();
  if (status == Status::kOk) status = fail(connection_.use(kCommit).run(), "commit");
  if (status != Status::kOk) {
    rollback();
    return status;
  }
  file_version_ = file_version();  // ours alone: others had to wait
  if (wrote) context_.committed = context_.next;
  connection_.forget_damage();  // memory was short somewhere, and enough elsewhere
  end_batch();
  last_commit_wrote_ = wrote;
  last_commit_sent_ = context_.batch_sent;
  // Only now others can see it; a bell before would wake them for nothing, once.
  if (wrote) port_.storage->ring(path_.c_str());
  return Status::kOk;
}

constexpr sql::Query kRollback{"ROLLBACK"};

void SqliteProvider::rollback() {
  if (!context_.in_batch) return;
  // After FULL, NOMEM and IOERR SQLite has rolled back itself.
  if (sqlite3_get_autocommit(connection_.handle()) == 0)
    static_cast<void>(connection_.use(kRollback).run());
  forget_known();
  unregistered_.start_over();
  end_batch();
}

// Every commit changes the version that SQLite's pager has of the file, and it learns of those of others
// when a transaction begins.
std::uint32_t SqliteProvider::file_version() {
  unsigned version = 0;
  static_cast<void>(
      sqlite3_file_control(connection_.handle(), nullptr, SQLITE_FCNTL_DATA_VERSION, &version));
  return version;
}

Status SqliteProvider::note_others() {
  const std::uint32_t version = file_version();
  if (version == file_version_ && schema_is_ours_) return Status::kOk;
  file_version_ = version;
  ++context_.others;
  forget_known();
  return check_schema_again();
}

void SqliteProvider::forget_known() {
  meta_is_known_ = false;
  workers_.forget_known();
  due_.forget_known();
}

IoUse SqliteProvider::io_use() const {
  if (!has_vfs_) return io_at_end_;
  const IoCounts& counts = io_counts(*port_.storage);
  return {counts.flushes.load(std::memory_order_relaxed),
          counts.bytes.load(std::memory_order_relaxed)};
}

constexpr sql::Query kBeginRead{"BEGIN"};

Status SqliteProvider::begin_read() {
  PAWL_CHECK("provider-13", open_ && !context_.in_batch && !context_.in_read);
  Status status = connection_.use(kBeginRead).run();
  if (status != Status::kOk) return fail(status, "begin read");
  context_.in_read = true;
  // The first read fixes the view.
  status = look_at_others();
  if (status != Status::kOk) {
    end_read();
    return status;
  }
  if (meta_is_known_) return Status::kOk;
  // It also tells of a sync by another process.
  ClockRow row;
  status = read_meta(&row);
  if (status != Status::kOk) {
    end_read();
    return status;
  }
  // A row of an earlier boot is one whose adoption by us was rolled back.
  if (row.boot_seq >= context_.clock.boot_seq) {
    context_.clock = row;
  } else {
    meta_is_known_ = false;  // clock_ is not what it says
  }
  return Status::kOk;
}

constexpr sql::Query kEndRead{"COMMIT"};

void SqliteProvider::end_read() {
  PAWL_CHECK("provider-14", context_.in_read);
  // An error may have ended it, and ending a view has nothing to lose.
  if (sqlite3_get_autocommit(connection_.handle()) == 0)
    static_cast<void>(connection_.use(kEndRead).run());
  context_.in_read = false;
}

Result<std::int64_t> SqliteProvider::data_version() {
  PAWL_CHECK("provider-15", open_ && !context_.in_batch);
  if (!context_.in_read) {
    const Status status = look_at_others();
    if (status != Status::kOk) return status;
  }
  return context_.others;
}

constexpr sql::Query kDataVersion{"PRAGMA data_version"};

// The cheapest statement that begins to read; its answer would do, but cannot be had of a batch for
// nothing, as the pager's can.
Status SqliteProvider::look_at_others() {
  Statement row = connection_.use(kDataVersion);
  if (!row.row())
    return fail(row.status() == Status::kOk ? Status::kCorrupt : row.status(), "data_version");
  return note_others();
}

constexpr sql::Query kStoreCounters{"UPDATE meta SET next_epoch=?,next_token=? WHERE id=1"};

// Nobody else can take from the counters while the batch has the write lock; so they are written once
// for all that a batch took. What it took without writing anything is nowhere and may be taken again.
// Tokens are stored ahead, so that not every commit writes them. As soon as another has committed, both go
// on where the row says: so whatever is taken later is higher, whoever takes it.
Status SqliteProvider::store_counters() {
  if (context_.next.epoch == context_.stored.epoch && context_.next.token <= context_.stored.token)
    return Status::kOk;
  const StoreContext::Counters ahead = {context_.next.epoch,
                                        context_.next.token <= context_.stored.token
                                            ? context_.stored.token
                                            : context_.next.token + kTokensAhead};
  PAWL_TRY(
      fail(connection_.use(kStoreCounters).bind(ahead.epoch).bind(ahead.token).run(), "counters"));
  context_.stored = ahead;
  return Status::kOk;
}

// ---- the clock ----------------------------------------------------------------------------------

std::int64_t SqliteProvider::pawl_now() {
  return pawl_time(context_.clock, port_.clock->boot_ms());
}

std::int64_t SqliteProvider::boot_ms_of(std::int64_t pawl_time) const {
  return boot_time(context_.clock, pawl_time);
}

ClockSample SqliteProvider::sample_clock() {
  ClockSample sample;
  sample.boot_ms = port_.clock->boot_ms();
  sample.wall_ms = port_.clock->wall_ms();
  sample.synced = port_.clock->synced();
  sample.boot_id = port_.clock->boot_id();
  return sample;
}

constexpr sql::Query kReadMeta{
    "SELECT boot_id,boot_seq,k,mark,off,off_seq,adopted,apart_until,next_epoch,next_token,quota,"
    "reserve,log_max FROM meta WHERE id=1"};

Status SqliteProvider::read_meta(ClockRow* out) {
  Statement row = connection_.use(kReadMeta);
  if (!row.row())
    return fail(row.status() == Status::kOk ? Status::kCorrupt : row.status(), "meta");
  PAWL_TRY(check_meta(row));
  *out = ClockRow();
  const std::string_view id = row.bytes(0);
  out->boot_id.known = id.size() == kBootIdBytes;
  for (std::size_t i = 0; out->boot_id.known && i < kBootIdBytes; ++i)
    out->boot_id.bytes[i] = static_cast<std::uint8_t>(id[i]);
  out->boot_seq = row.integer(1);
  out->k = row.integer(2);
  out->mark = row.integer(3);
  out->off_known = !row.is_null(4);
  out->off = row.integer(4);
  out->off_seq = row.integer(5);
  out->adopted = row.integer(6) != 0;
  apart_until_ = row.integer(7);
  context_.stored = {row.integer(8), row.integer(9)};
  context_.next = context_.committed = context_.stored;
  quota_bytes_ = row.integer(10);
  reserve_bytes_ = row.integer(11);
  log_max_bytes_ = row.integer(12);
  meta_is_known_ = true;
  return Status::kOk;
}

// All verdicts hang on these numbers. Within their ranges no sum of them overflows.
Status SqliteProvider::check_meta(const Statement& row) {
  constexpr std::int64_t kTimeMax = std::int64_t{1} << 53;  // 285,000 years
  constexpr std::int64_t kCountMax = std::int64_t{1} << 62;
  struct Range {
    const char* name;
    std::int64_t least;
    std::int64_t most;
    int column;
    bool may_be_null;
  };
  constexpr Range kRanges[] = {
      {"boot_seq", 0, kTimeMax, 1, false},    {"k", -kTimeMax, kTimeMax, 2, false},
      {"mark", 0, kTimeMax, 3, false},        {"off", -kTimeMax, kTimeMax, 4, true},
      {"off_seq", -1, kTimeMax, 5, false},    {"adopted", 0, 1, 6, false},
      {"apart_until", 0, kTimeMax, 7, false}, {"next_epoch", 1, kCountMax, 8, false},
      {"next_token", 1, kCountMax, 9, false}, {"quota", 0, kCountMax, 10, false},
      {"reserve", 0, kCountMax, 11, false},
  };
  for (const Range& range : kRanges) {
    if (range.may_be_null && row.is_null(range.column)) continue;
    bool whole = !row.is_null(range.column);
    const std::int64_t number = row.integer(range.column, &whole);
    if (whole && number >= range.least && number <= range.most) continue;
    connection_.diagnostic().format("meta.%s is damaged: no number from %lld to %lld", range.name,
                                    static_cast<long long>(range.least),
                                    static_cast<long long>(range.most));
    return fail(Status::kCorrupt, "meta");
  }
  return Status::kOk;
}

constexpr sql::Query kWriteMeta{
    "UPDATE meta SET boot_id=?,boot_seq=?,k=?,mark=?,off=?,off_seq=?,adopted=? WHERE id=1"};

Status SqliteProvider::write_meta() {
  due_.moves(DueKind::kTimer);  // one in UTC is due by the clock
  Statement statement = connection_.use(kWriteMeta);
  if (context_.clock.boot_id.known) {
    statement.bind_blob(bytes_of(context_.clock.boot_id));
  } else {
    statement.bind_null();
  }
  statement.bind(context_.clock.boot_seq).bind(context_.clock.k).bind(context_.clock.mark);
  if (context_.clock.off_known) {
    statement.bind(context_.clock.off);
  } else {
    statement.bind_null();
  }
  return fail(statement.bind(context_.clock.off_seq).bind(context_.clock.adopted ? 1 : 0).run(),
              "meta");
}

// R1, R3 and what the batch will see. The sample is taken now, with the lock held: an older one could
// lie before a mark of another process.
Status SqliteProvider::start_clock() {
  if (meta_is_known_) {
    context_.next = context_.committed;  // a batch that wrote nothing took of them in vain
  } else {
    PAWL_TRY(read_meta(&context_.clock));
  }
  const ClockSample sample = sample_clock();
  PAWL_TRY(adopt_boot(sample));
  clock_now_ = context_.clock;
  PAWL_TRY(sync_clock(sample));
  batch_.now = pawl_time(context_.clock, sample.boot_ms);
  batch_.stamp_ms = stamp(context_.clock, sample).utc_ms;
  batch_.boot_seq = context_.clock.boot_seq;
  batch_.clock_confirmed =
      context_.clock.off_known && context_.clock.off_seq == context_.clock.boot_seq;
  batch_.utc_known = context_.clock.off_known;
  batch_.utc_ms = context_.clock.off_known ? add_saturating(batch_.now, context_.clock.off) : 0;
  return Status::kOk;
}

Status SqliteProvider::adopt_boot(const ClockSample& sample) {
  const AdoptResult result = adopt(context_.clock, sample);
  if (result.kind == Adoption::kNone) return Status::kOk;
  context_.clock = result.row;
  PAWL_TRY(write_meta());
  if (result.kind == Adoption::kSameBoot) return Status::kOk;
  batch_.clock_adopted = true;
  return note_clock("adopted", sample,
                    static_cast<std::int64_t>(stamp(context_.clock, sample).quality));
}

constexpr sql::Query kCredit{
    "UPDATE orchestrator_queue INDEXED BY oq_due SET due=due-?1 "
    "WHERE base=0 AND due IS NOT NULL AND due<9223372036854775807 AND seg<=?2"};

Status SqliteProvider::sync_clock(const ClockSample& sample) {
  const SyncResult result = sync(context_.clock, sample, SyncLimits());
  if (!result.changed) return Status::kOk;
  const bool confirmed =
      !context_.clock.off_known || context_.clock.off_seq != context_.clock.boot_seq;
  const bool stepped = result.step >= kStepMs || result.step <= -kStepMs;
  if (!confirmed && !stepped) {
    // Drift of a few ms is no reason to write; it rides with the next mark.
    clock_now_ = result.row;
    return Status::kOk;
  }
  context_.clock = result.row;
  clock_now_ = context_.clock;
  PAWL_TRY(write_meta());
  if (stepped) return note_clock("stepped", sample, result.step);
  batch_.clock_synced = true;
  PAWL_TRY(note_clock("synced", sample, result.gap));
  if (result.refused) return note_clock("refused", sample, result.gap);
  if (!result.credited) return Status::kOk;
  batch_.clock_credit_ms = result.gap;
  PAWL_TRY(note_clock("credited", sample, result.gap));
  // Due times that mean "never" stay so.
  return fail(connection_.use(kCredit).bind(result.gap).bind(result.credit_seg_max).run(),
              "credit");
}

constexpr sql::Query kNoteClock{
    "INSERT OR REPLACE INTO clock_ring(slot,seq,kind,boot_seq,at,wall_stamp,"
    "detail) SELECT n%64,n,?1,?2,?3,?4,?5 FROM "
    "(SELECT coalesce(max(seq),0)+1 AS n FROM clock_ring)"};

// For people: the last 64 happenings.
Status SqliteProvider::note_clock(std::string_view kind, const ClockSample& sample,
                                  std::int64_t detail) {
  return fail(connection_.use(kNoteClock)
                  .bind_text(kind)
                  .bind(context_.clock.boot_seq)
                  .bind(pawl_time(context_.clock, sample.boot_ms))
                  .bind(sample.wall_ms)
                  .bind(detail)
                  .run(),
              "clock_ring");
}

}  // namespace pawl::store

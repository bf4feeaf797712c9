// How much room the database takes, who is refused for it, and the reserve.
//
// Removing rows in a log needs room itself: the changed pages go to the log first. So a file beside the
// database holds some; when the disk is full it is given up, and made again once there is room. While it
// is missing, all processes refuse what is new.
#include <cstring>

#include "check.hpp"
#include "sqlite_provider.hpp"

namespace pawl::store {
namespace {

static_assert(kPageBytes == kLogPageBytes);

constexpr std::size_t kChunkBytes = 4096;

}  // namespace

// The file, by SQLite's own way to files, whatever the port.
class SqliteProvider::ReserveFile {
 public:
  explicit ReserveFile(SqliteProvider& provider) {
    static_cast<void>(sqlite3_file_control(provider.connection_.handle(), "main",
                                           SQLITE_FCNTL_VFS_POINTER, &vfs_));
    FixedText<kPathBytesMax + 16> path;
    FixedText<kPathBytesMax + 16> bell;  // whose mode it takes, as the database did
    if (path.assign(provider.path_.view()) != Status::kOk ||
        path.append("-reserve") != Status::kOk ||
        bell.assign(provider.path_.view()) != Status::kOk || bell.append("-bell") != Status::kOk)
      return;
    const char* parameters[] = {"modeof", bell.c_str()};
    name_ = sqlite3_create_filename(path.c_str(), "", "", 1, parameters);
  }
  ~ReserveFile() {
    close();
    sqlite3_free_filename(name_);
  }
  ReserveFile(const ReserveFile&) = delete;
  ReserveFile& operator=(const ReserveFile&) = delete;

  [[nodiscard]] const char* path() const { return name_; }
  [[nodiscard]] Status exists(bool* out) const {
    int found = 0;
    if (name_ == nullptr) return Status::kResourceExhausted;
    const int result = vfs_->xAccess(vfs_, name_, SQLITE_ACCESS_EXISTS, &found);
    *out = found != 0;
    return status_of(result);
  }
  Status open() {
    if (name_ == nullptr) return Status::kResourceExhausted;
    file_ = static_cast<sqlite3_file*>(sqlite3_malloc(vfs_->szOsFile));
    if (file_ == nullptr) return Status::kResourceExhausted;
    std::memset(file_, 0, static_cast<std::size_t>(vfs_->szOsFile));
    constexpr int kFlags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_URI;
    return status_of(vfs_->xOpen(vfs_, name_, file_, kFlags, nullptr));
  }
  Status size(std::int64_t* out) {
    sqlite3_int64 bytes = 0;
    const int result = file_->pMethods->xFileSize(file_, &bytes);
    *out = bytes;
    return status_of(result);
  }
  // With bytes that no file system takes for nothing.
  Status fill(std::int64_t bytes, std::uint64_t seed) {
    unsigned char chunk[kChunkBytes];
    for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(kChunkBytes)) {
      for (unsigned char& byte : chunk) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        byte = static_cast<unsigned char>(seed >> 56U);
      }
      const std::int64_t left = bytes - at;
      const int size = left < static_cast<std::int64_t>(kChunkBytes)
                           ? static_cast<int>(left)
                           : static_cast<int>(kChunkBytes);
      PAWL_TRY(status_of(file_->pMethods->xWrite(file_, chunk, size, at)));
    }
    PAWL_TRY(status_of(file_->pMethods->xTruncate(file_, bytes)));
    return status_of(file_->pMethods->xSync(file_, SQLITE_SYNC_NORMAL));
  }
  void close() {
    if (file_ != nullptr && file_->pMethods != nullptr)
      static_cast<void>(file_->pMethods->xClose(file_));
    sqlite3_free(file_);
    file_ = nullptr;
  }
  Status remove() {
    if (name_ == nullptr) return Status::kResourceExhausted;
    const int result = vfs_->xDelete(vfs_, name_, 0);
    return result == SQLITE_IOERR_DELETE_NOENT ? Status::kOk : status_of(result);
  }

 private:
  sqlite3_vfs* vfs_ = nullptr;
  sqlite3_file* file_ = nullptr;
  sqlite3_filename name_ = nullptr;
};

// ---- what is taken --------------------------------------------------------------------------------

constexpr sql::Query kPageCount{"PRAGMA page_count"};
constexpr sql::Query kFreeCount{"PRAGMA freelist_count"};

Status SqliteProvider::read_pragma(const sql::Query& query, std::int64_t* out) {
  Statement row = connection_.use(query);
  if (!row.row())
    return fail(row.status() == Status::kOk ? Status::kCorrupt : row.status(), query.text());
  *out = row.integer(0);
  return Status::kOk;
}

// Its file is written anew from the front, and is not made shorter but by empty_log() and journal_size_limit.
std::int64_t SqliteProvider::log_bytes() {
  sqlite3_file* log = nullptr;
  sqlite3_int64 bytes = 0;
  const int found =
      sqlite3_file_control(connection_.handle(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (found != SQLITE_OK || log == nullptr || log->pMethods == nullptr) return 0;
  return log->pMethods->xFileSize(log, &bytes) == SQLITE_OK ? bytes : 0;
}

Status SqliteProvider::read_use(SpaceUse* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  std::int64_t pages = 0;
  std::int64_t free = 0;
  PAWL_TRY(read_pragma(kPageCount, &pages));
  PAWL_TRY(read_pragma(kFreeCount, &free));
  out->used_bytes = (pages - free) * kPageBytes;
  out->free_bytes = free * kPageBytes;
  out->log_bytes = log_bytes();
  out->quota_bytes = quota_bytes_;
  return Status::kOk;
}

constexpr sql::Query kSetSpace{"UPDATE meta SET quota=?1,reserve=?2 WHERE id=1"};

Status SqliteProvider::set_space(std::int64_t quota_bytes, std::int64_t reserve_bytes) {
  require_batch();
  const std::int64_t quota = quota_bytes < 0 ? quota_bytes_ : quota_bytes;
  const std::int64_t reserve = reserve_bytes < 0 ? reserve_bytes_ : reserve_bytes;
  if (quota == quota_bytes_ && reserve == reserve_bytes_) return Status::kOk;
  PAWL_TRY(fail_written(connection_.use(kSetSpace).bind(quota).bind(reserve).run(), "meta"));
  quota_bytes_ = quota;
  reserve_bytes_ = reserve;
  batch_has_room_ = false;
  return Status::kOk;
}

constexpr sql::Query kSetLogMax{"UPDATE meta SET log_max=?1 WHERE id=1"};

Status SqliteProvider::set_log_max(std::int64_t bytes) {
  require_batch();
  if (bytes == log_max_bytes_) return Status::kOk;
  PAWL_TRY(fail_written(connection_.use(kSetLogMax).bind(bytes).run(), "meta"));
  log_max_bytes_ = bytes;
  batch_has_room_ = false;
  return Status::kOk;
}

// Found once, there is room for the whole batch.
Status SqliteProvider::room_for_new() {
  if (!batch_has_room_) PAWL_TRY(look_for_room());
  batch_has_room_ = true;
  return Status::kOk;
}

Status SqliteProvider::look_for_room() {
  const LogUse log = log_use();
  if (log.most > 0 && log.bytes > log.most) {
    const Result<std::int64_t> reader =
        port_.storage->lock_holder(options_.path, port::LogLock::kRead);
    Diagnostic process;
    if (reader.ok()) process.format(": process %lld", static_cast<long long>(reader.value()));
    context_.diagnostic.format(
        "the log has %lld bytes, and log_bytes_max is %lld: it cannot be written back while "
        "somebody reads one view for long%.*s",
        static_cast<long long>(log.bytes), static_cast<long long>(log.most),
        static_cast<int>(process.text().size()), process.text().data());
    return Status::kQuota;
  }
  if (quota_bytes_ > 0) {
    SpaceUse use;
    PAWL_TRY(read_use(&use));
    if (use.total() > quota_bytes_) {
      context_.diagnostic.format(
          "over the quota of %lld bytes: %lld in pages and %lld in the log are used",
          static_cast<long long>(quota_bytes_), static_cast<long long>(use.used_bytes),
          static_cast<long long>(use.log_bytes));
      return Status::kQuota;
    }
  }
  const Result<bool> missing = reserve_missing();
  PAWL_TRY(missing.status());
  if (!missing.value()) return Status::kOk;
  // What was removed serves as well: work that runs finds free pages and needs none of the disk.
  SpaceUse use;
  PAWL_TRY(read_use(&use));
  if (use.free_bytes >= reserve_bytes_) return Status::kOk;
  context_.diagnostic.format(
      "the disk was full, and there is room neither for the reserve of %lld bytes nor for as much "
      "in "
      "free pages, of which there are %lld bytes",
      static_cast<long long>(reserve_bytes_), static_cast<long long>(use.free_bytes));
  return Status::kQuota;
}

// ---- the reserve and the log ------------------------------------------------------------------------

Result<bool> SqliteProvider::reserve_missing() {
  if (reserve_bytes_ == 0) return false;
  bool there = false;
  const Status status = ReserveFile(*this).exists(&there);
  if (status != Status::kOk) return fail(status, "reserve");
  return !there;
}

Status SqliteProvider::write_reserve(ReserveFile& file, std::int64_t bytes) {
  std::int64_t size = 0;
  PAWL_TRY(file.open());
  PAWL_TRY(file.size(&size));
  if (size == bytes) return Status::kOk;
  std::uint64_t seed = 0;
  port_.clock->random(&seed, sizeof(seed));
  return file.fill(bytes, seed);
}

Status SqliteProvider::make_reserve(std::int64_t bytes) {
  PAWL_CHECK("provider-16", open_ && !context_.in_batch && !context_.in_read);
  if (bytes == 0) return release_reserve();
  ReserveFile file(*this);
  if (file.path() == nullptr) return fail(Status::kResourceExhausted, "reserve");
  // The port comes first: it knows what it may open, and SQLite opens whatever has the name.
  Status status = port_.storage->allocate(file.path(), bytes);
  if (status == Status::kUnsupported) status = write_reserve(file, bytes);
  file.close();
  // A part of it would hold room and tell that all is well.
  if (status != Status::kOk) static_cast<void>(file.remove());
  return fail(status, "reserve");
}

Status SqliteProvider::release_reserve() {
  PAWL_CHECK("provider-17", open_ && !context_.in_batch && !context_.in_read);
  return remove_reserve();
}

Status SqliteProvider::remove_reserve() { return fail(ReserveFile(*this).remove(), "reserve"); }

Status SqliteProvider::empty_log() {
  PAWL_CHECK("provider-18", open_ && !context_.in_batch && !context_.in_read);
  // Who reads for long must not hold up the loop.
  wait_for_locks(0);
  const int result = sqlite3_wal_checkpoint_v2(connection_.handle(), "main",
                                               SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
  wait_for_locks(options_.busy_ms_max);
  log_frames_ = 0;
  return fail(status_of(result), "checkpoint");
}

int SqliteProvider::note_log(void* self, sqlite3* /*handle*/, const char* /*schema*/, int frames) {
  static_cast<SqliteProvider*>(self)->log_frames_ = frames;
  return SQLITE_OK;
}

Status SqliteProvider::write_back_log() {
  PAWL_CHECK("provider-19", open_ && !context_.in_batch && !context_.in_read);
  if (log_frames_ < options_.checkpoint_pages) return Status::kOk;
  log_frames_ = 0;
  return fail(status_of(sqlite3_wal_checkpoint_v2(connection_.handle(), "main",
                                                  SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr)),
              "checkpoint");
}

}  // namespace pawl::store

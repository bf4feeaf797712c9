#include "store_space.hpp"

#include <sqlite3.h>
#include <cstddef>
#include <cstring>

#include "check.hpp"
#include "pawl/port.hpp"
#include "text.hpp"

namespace pawl::store {
namespace {

static_assert(kPageBytes == kLogPageBytes);

constexpr std::size_t kChunkBytes = 4096;

}  // namespace

// The file, by SQLite's own way to files, whatever the port.
class StoreSpace::ReserveFile {
 public:
  ReserveFile(Connection& connection, const FixedText<kPathBytesMax>& database) {
    static_cast<void>(
        sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_VFS_POINTER, &vfs_));
    FixedText<kPathBytesMax + 16> path;
    FixedText<kPathBytesMax + 16> bell;  // whose mode it takes, as the database did
    if (path.assign(database.view()) != Status::kOk || path.append("-reserve") != Status::kOk ||
        bell.assign(database.view()) != Status::kOk || bell.append("-bell") != Status::kOk)
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
constexpr sql::Query kPageCount{"PRAGMA page_count"};
constexpr sql::Query kFreeCount{"PRAGMA freelist_count"};

Status StoreSpace::read_use(SpaceUse* out) {
  const ReadScope scope(context_);
  PAWL_TRY(scope.status());
  std::int64_t pages = 0;
  std::int64_t free = 0;
  PAWL_TRY(read_pragma(kPageCount, &pages));
  PAWL_TRY(read_pragma(kFreeCount, &free));
  out->used_bytes = (pages - free) * kPageBytes;
  out->free_bytes = free * kPageBytes;
  out->log_bytes = file_.log_bytes();
  out->quota_bytes = context_.quota_bytes;
  return Status::kOk;
}

constexpr sql::Query kSetSpace{"UPDATE meta SET quota=?1,reserve=?2 WHERE id=1"};

Status StoreSpace::set_space(std::int64_t quota_bytes, std::int64_t reserve_bytes) {
  require_batch();
  const std::int64_t quota = quota_bytes < 0 ? context_.quota_bytes : quota_bytes;
  const std::int64_t reserve = reserve_bytes < 0 ? context_.reserve_bytes : reserve_bytes;
  if (quota == context_.quota_bytes && reserve == context_.reserve_bytes) return Status::kOk;
  PAWL_TRY(fail_written(connection_.use(kSetSpace).bind(quota).bind(reserve).run(), "meta"));
  context_.quota_bytes = quota;
  context_.reserve_bytes = reserve;
  batch_has_room_ = false;
  return Status::kOk;
}

constexpr sql::Query kSetLogMax{"UPDATE meta SET log_max=?1 WHERE id=1"};

Status StoreSpace::set_log_max(std::int64_t bytes) {
  require_batch();
  if (bytes == context_.log_max_bytes) return Status::kOk;
  PAWL_TRY(fail_written(connection_.use(kSetLogMax).bind(bytes).run(), "meta"));
  context_.log_max_bytes = bytes;
  batch_has_room_ = false;
  return Status::kOk;
}

LogUse StoreSpace::log_use() { return {file_.log_bytes(), context_.log_max_bytes}; }

Result<bool> StoreSpace::reserve_missing() {
  if (context_.reserve_bytes == 0) return false;
  bool there = false;
  const Status status = ReserveFile(connection_, file_.path()).exists(&there);
  if (status != Status::kOk) return fail(status, "reserve");
  return !there;
}

Status StoreSpace::make_reserve(std::int64_t bytes) {
  PAWL_CHECK("provider-16", file_.is_open() && !context_.in_batch && !context_.in_read);
  if (bytes == 0) return release_reserve();
  ReserveFile file(connection_, file_.path());
  if (file.path() == nullptr) return fail(Status::kResourceExhausted, "reserve");
  // The port comes first: it knows what it may open, and SQLite opens whatever has the name.
  Status status = file_.port().storage->allocate(file.path(), bytes);
  if (status == Status::kUnsupported) status = write_reserve(file, bytes);
  file.close();
  // A part of it would hold room and tell that all is well.
  if (status != Status::kOk) static_cast<void>(file.remove());
  return fail(status, "reserve");
}

Status StoreSpace::release_reserve() {
  PAWL_CHECK("provider-17", file_.is_open() && !context_.in_batch && !context_.in_read);
  return remove_reserve();
}

// Found once, there is room for the whole batch.
Status StoreSpace::room_for_new() {
  if (!batch_has_room_) PAWL_TRY(look_for_room());
  batch_has_room_ = true;
  return Status::kOk;
}

Status StoreSpace::look_for_room() {
  const LogUse log = log_use();
  if (log.most > 0 && log.bytes > log.most) {
    const Result<std::int64_t> reader =
        file_.port().storage->lock_holder(file_.options().path, port::LogLock::kRead);
    Diagnostic process;
    if (reader.ok()) process.format(": process %lld", static_cast<long long>(reader.value()));
    context_.diagnostic.format(
        "the log has %lld bytes, and log_bytes_max is %lld: it cannot be written back while "
        "somebody reads one view for long%.*s",
        static_cast<long long>(log.bytes), static_cast<long long>(log.most),
        static_cast<int>(process.text().size()), process.text().data());
    return Status::kQuota;
  }
  if (context_.quota_bytes > 0) {
    SpaceUse use;
    PAWL_TRY(read_use(&use));
    if (use.total() > context_.quota_bytes) {
      context_.diagnostic.format(
          "over the quota of %lld bytes: %lld in pages and %lld in the log are used",
          static_cast<long long>(context_.quota_bytes), static_cast<long long>(use.used_bytes),
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
  if (use.free_bytes >= context_.reserve_bytes) return Status::kOk;
  context_.diagnostic.format(
      "the disk was full, and there is room neither for the reserve of %lld bytes nor for as much "
      "in "
      "free pages, of which there are %lld bytes",
      static_cast<long long>(context_.reserve_bytes), static_cast<long long>(use.free_bytes));
  return Status::kQuota;
}

Status StoreSpace::remove_reserve() {
  return fail(ReserveFile(connection_, file_.path()).remove(), "reserve");
}

Status StoreSpace::write_reserve(ReserveFile& file, std::int64_t bytes) {
  std::int64_t size = 0;
  PAWL_TRY(file.open());
  PAWL_TRY(file.size(&size));
  if (size == bytes) return Status::kOk;
  std::uint64_t seed = 0;
  file_.port().clock->random(&seed, sizeof(seed));
  return file.fill(bytes, seed);
}

Status StoreSpace::read_pragma(const sql::Query& query, std::int64_t* out) {
  Statement row = connection_.use(query);
  if (!row.row())
    return fail(row.status() == Status::kOk ? Status::kCorrupt : row.status(), query.text());
  *out = row.integer(0);
  return Status::kOk;
}

}  // namespace pawl::store

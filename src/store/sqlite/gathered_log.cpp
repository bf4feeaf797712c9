#include "store/sqlite/gathered_log.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace pawl::sqlite {
namespace {

constexpr int kHeaderBytes = 24;
// The first eight locks of the index are SQLite's; this one is the turn to write.
constexpr int kWriteLock = 0;
// SQLite leaves numbers from 100 on to VFSs.
constexpr int kGatherLog = 20'577;

// Bytes 4 to 7 of a header: the size of the database after a commit, or 0.
bool marks_commit(const void* header) {
  constexpr unsigned char kNone[4] = {};
  return std::memcmp(static_cast<const unsigned char*>(header) + 4, kNone, sizeof(kNone)) != 0;
}

}  // namespace

// ---- one log ----

bool GatheredLog::begins_frame(const void* data, int size, sqlite3_int64 offset) const {
  if (size != kHeaderBytes || phase_ == Phase::kThrough) return false;
  return phase_ == Phase::kGathers || (offset == end_ && marks_commit(data));
}

int GatheredLog::write(const void* data, int size, sqlite3_int64 offset) {
  if (failure_ != SQLITE_OK) return failure_;
  if (awaits_page_ && offset == end_) {
    awaits_page_ = false;
    PAWL_TRY_SQLITE(keep(data, size));
    if (!marks_commit_) return SQLITE_OK;
    phase_ = Phase::kRepeatsCommit;
    return write_kept();
  }
  awaits_page_ = begins_frame(data, size, offset);
  if (!awaits_page_ || offset != end_) PAWL_TRY_SQLITE(write_kept());
  if (!awaits_page_) return below_(file_, data, size, offset);
  end_ = offset;
  marks_commit_ = marks_commit(data);
  return keep(data, size);
}

int GatheredLog::keep(const void* data, int size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  while (size > 0) {
    const int piece = std::min(size, buffer_bytes_ - kept_bytes_);
    std::memcpy(buffer_ + kept_bytes_, bytes, static_cast<std::size_t>(piece));
    kept_bytes_ += piece;
    end_ += piece;
    bytes += piece;
    size -= piece;
    if (kept_bytes_ == buffer_bytes_) PAWL_TRY_SQLITE(write_kept());
  }
  return SQLITE_OK;
}

int GatheredLog::write_kept() {
  if (failure_ == SQLITE_OK && kept_bytes_ > 0)
    failure_ = below_(file_, buffer_, kept_bytes_, end_ - kept_bytes_);
  kept_bytes_ = 0;
  return failure_;
}

int GatheredLog::before_flush() {
  if (phase_ == Phase::kRepeatsCommit) phase_ = Phase::kThrough;
  awaits_page_ = false;
  return write_kept();
}

void GatheredLog::begin() { phase_ = Phase::kGathers; }

void GatheredLog::end() {
  static_cast<void>(write_kept());
  failure_ = SQLITE_OK;
  phase_ = Phase::kThrough;
  awaits_page_ = false;
}

// ---- the files of a log and of its database ----

void FileOfLog::open(FileOfLog& database, sqlite3_file* file, GatheredLog::WriteBelow below) {
  constexpr int kObjectBytes = static_cast<int>(sizeof(GatheredLog));
  if (database.buffer_bytes_ <= kObjectBytes) return;
  auto* const piece = static_cast<unsigned char*>(sqlite3_malloc(database.buffer_bytes_));
  if (piece == nullptr) return;
  own_ = ::new (piece)
      GatheredLog(file, below, piece + kObjectBytes, database.buffer_bytes_ - kObjectBytes);
  database_ = &database;
  database.log_ = own_;
}

void FileOfLog::close() {
  if (own_ == nullptr) return;
  database_->log_ = nullptr;
  sqlite3_free(own_);
  own_ = nullptr;
}

int FileOfLog::before_shm_lock(int first, int flags) {
  if (log_ == nullptr) return SQLITE_OK;
  if ((flags & SQLITE_SHM_LOCK) != 0) return log_->write_kept();
  if (first == kWriteLock) {
    log_->end();
  } else {
    static_cast<void>(log_->write_kept());
  }
  return SQLITE_OK;
}

void FileOfLog::after_shm_lock(int first, int flags) {
  const bool is_taken = (flags & SQLITE_SHM_LOCK) != 0 && first == kWriteLock;
  if (log_ != nullptr && is_taken) log_->begin();
}

bool FileOfLog::control(int operation, const void* argument) {
  if (operation != kGatherLog) return false;
  buffer_bytes_ = *static_cast<const int*>(argument);
  return true;
}

std::size_t log_buffer_bytes(int cache_pages) {
  constexpr std::size_t kLeast = 2 * 1024;   // three frames
  constexpr std::size_t kMost = 16 * 1024;   // thirty frames: a sample of a sensor has nineteen
  constexpr std::size_t kBytesForPage = 64;  // an eighth of the cache
  std::size_t bytes = kLeast;
  while (bytes < kMost && 2 * bytes <= static_cast<std::size_t>(cache_pages) * kBytesForPage)
    bytes *= 2;
  return bytes;
}

void gather_log(sqlite3* connection, std::size_t buffer_bytes) {
  int bytes = static_cast<int>(buffer_bytes);
  static_cast<void>(sqlite3_file_control(connection, "main", kGatherLog, &bytes));
}

}  // namespace pawl::sqlite

// ReserveFile: a file beside the database that holds room (Place).
//
// Purpose: reaches the file by SQLite's own VFS, so that it works with every port.
// Ownership: it owns what it has open. Thread rule: one thread.
#ifndef PAWL_STORE_SQLITE_RESERVE_FILE_HPP
#define PAWL_STORE_SQLITE_RESERVE_FILE_HPP

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/text.hpp"
#include "store/sql/database.hpp"
#include "store/sqlite/sqlite_connection.hpp"

namespace pawl::sqlite {

class ReserveFile {
 public:
  ReserveFile(Connection& connection, const FixedText<sql::kPathBytesMax>& database) {
    static_cast<void>(
        sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_VFS_POINTER, &vfs_));
    FixedText<sql::kPathBytesMax + 16> path;
    FixedText<sql::kPathBytesMax + 16> bell;  // gives the file its mode, as it did for the database
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
  // Fills it with pseudo-random bytes, for which every file system must take room.
  Status fill(std::int64_t bytes, std::uint64_t seed) {
    constexpr std::size_t kChunkBytes = 4096;
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

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_RESERVE_FILE_HPP

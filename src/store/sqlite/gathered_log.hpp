// gathered_log: writes to the log, gathered so that a commit is about one call.
//
// Purpose: SQLite writes each frame of its log (sqlite.org/walformat.html) in two calls, the header
// and the page behind it. Here frames that lie behind each other are kept in a buffer, and are
// written with the page of the frame whose header marks the commit. Both VFSs use this class.
//
// The rules, and why each is needed:
// - Only between taking and dropping the log's write lock is anything kept, and only a header of 24
//   bytes and the write directly behind it, its page. All else goes through, behind what is kept.
// - The page of a commit is written in its own call, with all that is kept. So a disk that is full
//   is reported before SQLite acknowledges the commit. With `synchronous` normal no flush follows
//   that could report it.
// - What is kept is written before each call that could see that it is missing, or that orders it:
//   a read, the size, a truncation, a lock or a flush of the log, a write elsewhere in it, and each
//   call on the index in shared memory, through which others find frames. A full buffer is written,
//   too, and may end in the middle of a frame: a log may hold any beginning of a transaction.
// - After the page of a commit nothing is kept until the write lock is taken again: SQLite then
//   rewrites checksums of frames that it wrote twice, ends with a header without a page, and calls
//   nothing more that could report a failure. A commit frame directly behind the commit is the
//   exception, since its page follows: SQLite repeats it up to the end of a sector. A flush ends
//   the exception, since SQLite cuts the last repeat in two there, at any byte.
// - If a write of what is kept fails, it is dropped, and each call on the log fails until the write
//   lock is dropped. Some callers of SQLite ignore a failed size or barrier; if they went on, the
//   commit would stand behind a hole. The transaction can only be rolled back. Nothing is written
//   later: by then another connection may have written there.
// - A process that dies with bytes that are kept loses nothing, since they were not committed. A
//   file that is closed drops them for the same reason, and because the lock may be another's.
//
// Rejected: to write at the flush, which `synchronous` normal does not have; to keep the bytes
// after a failure and to try again, since SQLite may roll back meanwhile; the buffer as a part of
// SQLite's file objects, of which a connection has four; a list of open files to find the log of a
// database, since SQLite says which file belongs to the name of a log
// (sqlite3_database_file_object()).
//
// Memory: one piece of SQLite's heap for each log, from its opening until it is closed; without
// room for it every write goes through. Thread rule: as the connection, one thread.
#ifndef PAWL_STORE_SQLITE_GATHERED_LOG_HPP
#define PAWL_STORE_SQLITE_GATHERED_LOG_HPP

#include <sqlite3.h>

#include <cstddef>

namespace pawl::sqlite {

class GatheredLog {
 public:
  // Writes to the file itself; returns an SQLite result.
  using WriteBelow = int (*)(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset);

  // `buffer` has `buffer_bytes` and outlives the object.
  GatheredLog(sqlite3_file* file, WriteBelow below, unsigned char* buffer, int buffer_bytes)
      : file_(file), below_(below), buffer_(buffer), buffer_bytes_(buffer_bytes) {}

  int write(const void* data, int size, sqlite3_int64 offset);
  // For every other call on the log, before it. Returns the failure that this call has to report.
  int write_kept();
  int before_flush();
  // The write lock was taken.
  void begin();
  // The write lock is about to be dropped. What is still kept belongs to a transaction that is
  // rolled back, so no caller needs to know of a failure.
  void end();

 private:
  enum class Phase { kThrough, kGathers, kRepeatsCommit };
  [[nodiscard]] bool begins_frame(const void* data, int size, sqlite3_int64 offset) const;
  int keep(const void* data, int size);

  sqlite3_file* file_;
  WriteBelow below_;
  unsigned char* buffer_;
  int buffer_bytes_;
  int kept_bytes_ = 0;     // they end at end_
  sqlite3_int64 end_ = 0;  // of what was kept or written last by keep()
  int failure_ = SQLITE_OK;
  Phase phase_ = Phase::kThrough;
  bool awaits_page_ = false;   // the last write was a header
  bool marks_commit_ = false;  // that header
};

// A part of each file of a VFS: the file of a log holds its gathering, that of a database finds the
// gathering of its log.
class FileOfLog {
 public:
  // ---- the log ----
  // Requires: `path` is what SQLite opens a log with. `database` belongs to the file that
  // sqlite3_database_file_object() names.
  void open(FileOfLog& database, sqlite3_file* file, GatheredLog::WriteBelow below);
  void close();
  [[nodiscard]] bool gathers() const { return own_ != nullptr; }
  int write(const void* data, int size, sqlite3_int64 offset) {
    return own_->write(data, size, offset);
  }
  int before_call() { return own_ == nullptr ? SQLITE_OK : own_->write_kept(); }
  int before_flush() { return own_ == nullptr ? SQLITE_OK : own_->before_flush(); }

  // ---- its database ----
  int before_shm() { return log_ == nullptr ? SQLITE_OK : log_->write_kept(); }
  // A lock is dropped whatever happens to the log.
  int before_shm_lock(int first, int flags);
  void after_shm_lock(int first, int flags);
  // False: another operation.
  bool control(int operation, const void* argument);

 private:
  GatheredLog* own_ = nullptr;
  GatheredLog* log_ = nullptr;
  FileOfLog* database_ = nullptr;
  int buffer_bytes_ = 0;  // for the log of this database
};

// How much a connection with so many pages in its cache keeps of its log: a power of two, since
// SQLite's heap would take as much. A transaction with more is written in pieces.
[[nodiscard]] std::size_t log_buffer_bytes(int cache_pages);
// Has the log of this connection gathered. Requires: it was not opened yet.
void gather_log(sqlite3* connection, std::size_t buffer_bytes);

// PAWL_TRY for a result of SQLite.
#define PAWL_TRY_SQLITE(...)                                    \
  do {                                                          \
    const int pawl_try_result_ = (__VA_ARGS__);                 \
    if (pawl_try_result_ != SQLITE_OK) return pawl_try_result_; \
  } while (false)

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_GATHERED_LOG_HPP

// sqlite_native_vfs: a VFS over one that SQLite brings, which counts writes and flushes, gathers
// those to the log (gathered_log.hpp), and passes every other call on.
//
// Source: sqlite.org/vfs.html, "VFS shims". SQLite's own counters count pages, not flushes, and
// leave out the header of the log and what a checkpoint writes; on a memory card flushes and
// written bytes are what matters.
#include <sqlite3.h>

#include <cerrno>

#include "store/sqlite/gathered_log.hpp"
#include "store/sqlite/sqlite_vfs.hpp"

namespace pawl::sqlite {
namespace {

struct NativeFile {
  sqlite3_file base = {};  // must be first: SQLite knows only this
  IoCounts* counts = nullptr;
  FileOfLog log;
  // The file of the VFS below follows.
};

NativeFile& file_of(sqlite3_file* base) { return *reinterpret_cast<NativeFile*>(base); }
sqlite3_file* below(sqlite3_file* base) {
  return static_cast<sqlite3_file*>(static_cast<void*>(&file_of(base) + 1));
}
const sqlite3_io_methods& methods_below(sqlite3_file* base) { return *below(base)->pMethods; }

// SQLite knows only ENOSPC as a full disk. A user whose quota is used up can make room, too.
int full_or(int result) {
  const bool is_quota = result != SQLITE_OK && errno == EDQUOT;
  return is_quota ? SQLITE_FULL : result;
}

int file_close(sqlite3_file* base) {
  file_of(base).log.close();
  return methods_below(base).xClose(below(base));
}
int file_read(sqlite3_file* base, void* out, int size, sqlite3_int64 offset) {
  PAWL_TRY_SQLITE(file_of(base).log.before_call());
  return methods_below(base).xRead(below(base), out, size, offset);
}
int write_through(sqlite3_file* base, const void* data, int size, sqlite3_int64 offset) {
  const int result = methods_below(base).xWrite(below(base), data, size, offset);
  if (result == SQLITE_OK) file_of(base).counts->bytes.add(static_cast<std::uint64_t>(size));
  return full_or(result);
}
int file_write(sqlite3_file* base, const void* data, int size, sqlite3_int64 offset) {
  FileOfLog& log = file_of(base).log;
  return log.gathers() ? log.write(data, size, offset) : write_through(base, data, size, offset);
}
int file_truncate(sqlite3_file* base, sqlite3_int64 size) {
  PAWL_TRY_SQLITE(file_of(base).log.before_call());
  return full_or(methods_below(base).xTruncate(below(base), size));
}
int file_sync(sqlite3_file* base, int flags) {
  PAWL_TRY_SQLITE(file_of(base).log.before_flush());
  file_of(base).counts->flushes.add(1);
  return full_or(methods_below(base).xSync(below(base), flags));
}
int file_size(sqlite3_file* base, sqlite3_int64* out) {
  PAWL_TRY_SQLITE(file_of(base).log.before_call());
  return methods_below(base).xFileSize(below(base), out);
}
int file_lock(sqlite3_file* base, int level) {
  PAWL_TRY_SQLITE(file_of(base).log.before_call());
  return methods_below(base).xLock(below(base), level);
}
int file_unlock(sqlite3_file* base, int level) {
  const int kept = file_of(base).log.before_call();
  const int result = methods_below(base).xUnlock(below(base), level);
  return kept != SQLITE_OK ? kept : result;
}
int file_reserved(sqlite3_file* base, int* out) {
  PAWL_TRY_SQLITE(file_of(base).log.before_call());
  return methods_below(base).xCheckReservedLock(below(base), out);
}
int file_control(sqlite3_file* base, int operation, void* argument) {
  if (file_of(base).log.control(operation, argument)) return SQLITE_OK;
  return methods_below(base).xFileControl(below(base), operation, argument);
}
int file_sector_size(sqlite3_file* base) { return methods_below(base).xSectorSize(below(base)); }
int file_characteristics(sqlite3_file* base) {
  return methods_below(base).xDeviceCharacteristics(below(base));
}
int shm_map(sqlite3_file* base, int index, int size, int extend, void volatile** out) {
  *out = nullptr;
  PAWL_TRY_SQLITE(file_of(base).log.before_shm());
  return methods_below(base).xShmMap(below(base), index, size, extend, out);
}
int shm_lock(sqlite3_file* base, int first, int count, int flags) {
  PAWL_TRY_SQLITE(file_of(base).log.before_shm_lock(first, flags));
  PAWL_TRY_SQLITE(methods_below(base).xShmLock(below(base), first, count, flags));
  file_of(base).log.after_shm_lock(first, flags);
  return SQLITE_OK;
}
void shm_barrier(sqlite3_file* base) {
  static_cast<void>(file_of(base).log.before_shm());  // a failure is reported by the next call
  methods_below(base).xShmBarrier(below(base));
}
int shm_unmap(sqlite3_file* base, int remove) {
  const int kept = file_of(base).log.before_shm();
  const int result = methods_below(base).xShmUnmap(below(base), remove);
  return kept != SQLITE_OK ? kept : result;
}

// Version 2, without memory-mapped access: Pawl does not use it, and writes through it would not be
// counted.
constexpr sqlite3_io_methods kFileMethods = {2,
                                             file_close,
                                             file_read,
                                             file_write,
                                             file_truncate,
                                             file_sync,
                                             file_size,
                                             file_lock,
                                             file_unlock,
                                             file_reserved,
                                             file_control,
                                             file_sector_size,
                                             file_characteristics,
                                             shm_map,
                                             shm_lock,
                                             shm_barrier,
                                             shm_unmap,
                                             nullptr,
                                             nullptr};

NativeVfs& vfs_of(sqlite3_vfs* methods) { return *static_cast<NativeVfs*>(methods->pAppData); }

int vfs_open(sqlite3_vfs* methods, const char* path, sqlite3_file* base, int flags,
             int* flags_out) {
  const NativeVfs& vfs = vfs_of(methods);
  NativeFile& file = file_of(base);
  file = NativeFile();
  file.counts = vfs.counts;
  const int result = vfs.native->xOpen(vfs.native, path, below(base), flags, flags_out);
  // SQLite closes a file that failed to open if it has methods.
  if (below(base)->pMethods != nullptr) file.base.pMethods = &kFileMethods;
  if (result == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0)
    file.log.open(file_of(sqlite3_database_file_object(path)).log, base, write_through);
  return result;
}
int vfs_delete(sqlite3_vfs* methods, const char* path, int sync_folder) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xDelete(native, path, sync_folder);
}
int vfs_access(sqlite3_vfs* methods, const char* path, int flags, int* out) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xAccess(native, path, flags, out);
}
int vfs_full_path(sqlite3_vfs* methods, const char* path, int capacity, char* out) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xFullPathname(native, path, capacity, out);
}
int vfs_random(sqlite3_vfs* methods, int size, char* out) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xRandomness(native, size, out);
}
int vfs_sleep(sqlite3_vfs* methods, int microseconds) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xSleep(native, microseconds);
}
int vfs_time(sqlite3_vfs* methods, double* out) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xCurrentTime(native, out);
}
int vfs_time_ms(sqlite3_vfs* methods, sqlite3_int64* out) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xCurrentTimeInt64(native, out);
}
int vfs_last_error(sqlite3_vfs* methods, int capacity, char* out) {
  sqlite3_vfs* const native = vfs_of(methods).native;
  return native->xGetLastError(native, capacity, out);
}

}  // namespace

void fill_native(NativeVfs& vfs, sqlite3_vfs& methods) {
  methods.iVersion = 2;
  methods.szOsFile = static_cast<int>(sizeof(NativeFile)) + vfs.native->szOsFile;
  methods.mxPathname = vfs.native->mxPathname;
  methods.pAppData = &vfs;
  methods.xOpen = vfs_open;
  methods.xDelete = vfs_delete;
  methods.xAccess = vfs_access;
  methods.xFullPathname = vfs_full_path;
  methods.xRandomness = vfs_random;
  methods.xSleep = vfs_sleep;
  methods.xCurrentTime = vfs_time;
  methods.xGetLastError = vfs_last_error;
  methods.xCurrentTimeInt64 = vfs_time_ms;
}

}  // namespace pawl::sqlite

// sqlite_vfs: the table of VFSs, and an SQLite VFS over port::Storage, for ports that bring none of
// their own.
//
// Source: sqlite.org/c3ref/vfs.html and io_methods.html. There are no temporary files here: every
// connection of Pawl keeps them in memory.
#include "store/sqlite/sqlite_vfs.hpp"

#include <atomic>
#include <cstring>

#include "core/check.hpp"
#include "store/sqlite/gathered_log.hpp"
#include "store/sqlite/late_files.hpp"

namespace pawl::sqlite {
namespace {

constexpr std::size_t kVfsMax = 32;
constexpr int kPathBytesMax = 600;  // includes the endings of log and index
// 1970-01-01 as a Julian day in ms, which is how SQLite counts time.
constexpr sqlite3_int64 kJulianEpochMs = 210'866'760'000'000;

struct Vfs {
  sqlite3_vfs methods = {};
  char name[16] = {};
  port::Storage* storage = nullptr;  // null: a free entry
  port::Clock* clock = nullptr;
  NativeVfs native;
  IoCounts counts;
  int users = 0;
};
Vfs table[kVfsMax];

// Connections are opened and closed on any thread, and without an operating system there is no
// mutex. The lock is held only for one look at the table, at open and at close.
class TableLock {
 public:
  TableLock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~TableLock() { flag_.clear(std::memory_order_release); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  static std::atomic_flag flag_;
};
std::atomic_flag TableLock::flag_ = ATOMIC_FLAG_INIT;

struct File {
  sqlite3_file base = {};  // must be first: SQLite knows only this
  port::Storage* storage = nullptr;
  IoCounts* counts = nullptr;
  port::FileHandle handle = port::kNoFile;
  FileOfLog log;
};

File& file_of(sqlite3_file* base) { return *reinterpret_cast<File*>(base); }
Vfs& vfs_of(sqlite3_vfs* methods) { return *static_cast<Vfs*>(methods->pAppData); }

// The extended code says which call failed; a cause matters only if SQLite treats it in its own
// way.
int code_of(Status status, int otherwise) {
  switch (status) {
    case Status::kOk: return SQLITE_OK;
    case Status::kBusy: return SQLITE_BUSY;
    case Status::kFull: return SQLITE_FULL;
    case Status::kReadOnly: return SQLITE_READONLY;
    case Status::kResourceExhausted: return SQLITE_IOERR_NOMEM;
    default: return otherwise;
  }
}

// ---- files ----

int file_close(sqlite3_file* base) {
  File& file = file_of(base);
  file.log.close();
  return code_of(file.storage->close(file.handle), SQLITE_IOERR_CLOSE);
}

int file_read(sqlite3_file* base, void* out, int size, sqlite3_int64 offset) {
  File& file = file_of(base);
  PAWL_TRY_SQLITE(file.log.before_call());
  const auto wanted = static_cast<std::size_t>(size);
  const Result<std::size_t> got = file.storage->read(file.handle, out, wanted, offset);
  if (!got.ok()) return code_of(got.status(), SQLITE_IOERR_READ);
  if (got.value() >= wanted) return SQLITE_OK;
  // SQLite requires zeros behind the end of the file.
  std::memset(static_cast<unsigned char*>(out) + got.value(), 0, wanted - got.value());
  return SQLITE_IOERR_SHORT_READ;
}

int write_through(sqlite3_file* base, const void* data, int size, sqlite3_int64 offset) {
  File& file = file_of(base);
  const auto bytes = static_cast<std::size_t>(size);
  const Status status = file.storage->write(file.handle, data, bytes, offset);
  if (status == Status::kOk) file.counts->bytes.add(bytes);
  return code_of(status, SQLITE_IOERR_WRITE);
}

int file_write(sqlite3_file* base, const void* data, int size, sqlite3_int64 offset) {
  File& file = file_of(base);
  return file.log.gathers() ? file.log.write(data, size, offset)
                            : write_through(base, data, size, offset);
}

int file_truncate(sqlite3_file* base, sqlite3_int64 size) {
  File& file = file_of(base);
  PAWL_TRY_SQLITE(file.log.before_call());
  return code_of(file.storage->truncate(file.handle, size), SQLITE_IOERR_TRUNCATE);
}

int file_sync(sqlite3_file* base, int) {
  File& file = file_of(base);
  PAWL_TRY_SQLITE(file.log.before_flush());
  file.counts->flushes.add(1);
  return code_of(file.storage->sync(file.handle), SQLITE_IOERR_FSYNC);
}

int file_size(sqlite3_file* base, sqlite3_int64* out) {
  File& file = file_of(base);
  PAWL_TRY_SQLITE(file.log.before_call());
  const Result<std::int64_t> size = file.storage->size(file.handle);
  *out = size.value_or(0);
  return code_of(size.status(), SQLITE_IOERR_FSTAT);
}

int file_lock(sqlite3_file* base, int level) {
  File& file = file_of(base);
  PAWL_TRY_SQLITE(file.log.before_call());
  return code_of(file.storage->lock(file.handle, level), SQLITE_IOERR_LOCK);
}

int file_unlock(sqlite3_file* base, int level) {
  File& file = file_of(base);
  const int kept = file.log.before_call();
  const Status status = file.storage->unlock(file.handle, level);
  return kept != SQLITE_OK ? kept : code_of(status, SQLITE_IOERR_UNLOCK);
}

int file_reserved(sqlite3_file* base, int* out) {
  File& file = file_of(base);
  PAWL_TRY_SQLITE(file.log.before_call());
  const Result<bool> reserved = file.storage->reserved(file.handle);
  *out = reserved.value_or(false) ? 1 : 0;
  return code_of(reserved.status(), SQLITE_IOERR_CHECKRESERVEDLOCK);
}

int file_control(sqlite3_file* base, int operation, void* argument) {
  return file_of(base).log.control(operation, argument) ? SQLITE_OK : SQLITE_NOTFOUND;
}

// SQLite then assumes that a write may change other bytes in the same 4096-byte sector. The
// characteristics are 0, since nothing is promised about the device behind a port.
int file_sector_size(sqlite3_file*) { return 4096; }
int file_characteristics(sqlite3_file*) { return 0; }

int shm_map(sqlite3_file* base, int index, int size, int extend, void volatile** out) {
  File& file = file_of(base);
  *out = nullptr;
  PAWL_TRY_SQLITE(file.log.before_shm());
  return code_of(
      file.storage->shm_map(file.handle, index, static_cast<std::size_t>(size), extend != 0, out),
      SQLITE_IOERR_SHMMAP);
}

int shm_lock(sqlite3_file* base, int first, int count, int flags) {
  File& file = file_of(base);
  PAWL_TRY_SQLITE(file.log.before_shm_lock(first, flags));
  PAWL_TRY_SQLITE(
      code_of(file.storage->shm_lock(file.handle, first, count, (flags & SQLITE_SHM_LOCK) != 0,
                                     (flags & SQLITE_SHM_EXCLUSIVE) != 0),
              SQLITE_IOERR_SHMLOCK));
  file.log.after_shm_lock(first, flags);
  return SQLITE_OK;
}

void shm_barrier(sqlite3_file* base) {
  File& file = file_of(base);
  static_cast<void>(file.log.before_shm());  // a failure is reported by the next call
  file.storage->shm_barrier(file.handle);
}

int shm_unmap(sqlite3_file* base, int remove) {
  File& file = file_of(base);
  const int kept = file.log.before_shm();
  const Status status = file.storage->shm_unmap(file.handle, remove != 0);
  return kept != SQLITE_OK ? kept : code_of(status, SQLITE_IOERR_SHMMAP);
}

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

// ---- the file system ----

int vfs_open(sqlite3_vfs* methods, const char* path, sqlite3_file* base, int flags,
             int* flags_out) {
  Vfs& vfs = vfs_of(methods);
  File& file = file_of(base);
  file = File();
  if (path == nullptr) return SQLITE_CANTOPEN;  // a temporary file
  port::Storage::OpenMode mode;
  mode.create = (flags & SQLITE_OPEN_CREATE) != 0;
  mode.read_only = (flags & SQLITE_OPEN_READONLY) != 0;
  mode.delete_on_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  const Result<port::FileHandle> handle = vfs.storage->open(path, mode);
  if (!handle.ok()) return code_of(handle.status(), SQLITE_CANTOPEN);
  file.storage = vfs.storage;
  file.counts = &vfs.counts;
  file.handle = handle.value();
  file.base.pMethods = &kFileMethods;
  if ((flags & SQLITE_OPEN_WAL) != 0)
    file.log.open(file_of(sqlite3_database_file_object(path)).log, base, write_through);
  if (flags_out != nullptr) *flags_out = flags;
  return SQLITE_OK;
}

int vfs_delete(sqlite3_vfs* methods, const char* path, int) {
  const Status status = vfs_of(methods).storage->remove(path);
  return status == Status::kNotFound ? SQLITE_IOERR_DELETE_NOENT
                                     : code_of(status, SQLITE_IOERR_DELETE);
}

int vfs_access(sqlite3_vfs* methods, const char* path, int, int* out) {
  const Result<bool> exists = vfs_of(methods).storage->exists(path);
  *out = exists.value_or(false) ? 1 : 0;
  return code_of(exists.status(), SQLITE_IOERR_ACCESS);
}

int vfs_full_path(sqlite3_vfs*, const char* path, int capacity, char* out) {
  const std::size_t size = std::strlen(path) + 1;
  if (size > static_cast<std::size_t>(capacity)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, size);
  return SQLITE_OK;
}

int vfs_random(sqlite3_vfs* methods, int size, char* out) {
  vfs_of(methods).clock->random(out, static_cast<std::size_t>(size));
  return size;
}

// A port can wait only in its owner's wait, whose wake-ups SQLite must not consume.
int vfs_sleep(sqlite3_vfs*, int) { return 0; }

int vfs_time_ms(sqlite3_vfs* methods, sqlite3_int64* out) {
  *out = kJulianEpochMs + vfs_of(methods).clock->wall_ms();
  return SQLITE_OK;
}

int vfs_time(sqlite3_vfs* methods, double* out) {
  sqlite3_int64 ms = 0;
  static_cast<void>(vfs_time_ms(methods, &ms));
  *out = static_cast<double>(ms) / 86'400'000.0;
  return SQLITE_OK;
}

int vfs_last_error(sqlite3_vfs*, int, char*) { return 0; }

void fill_own(Vfs& vfs) {
  sqlite3_vfs& methods = vfs.methods;
  methods.iVersion = 2;
  methods.szOsFile = static_cast<int>(sizeof(File));
  methods.mxPathname = kPathBytesMax;
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

Status fill(Vfs& vfs, const port::Port& port) {
  static_cast<void>(
      sqlite3_snprintf(sizeof(vfs.name), vfs.name, "pawl-%d", static_cast<int>(&vfs - table)));
  vfs.methods = sqlite3_vfs();
  vfs.methods.zName = vfs.name;
  vfs.clock = port.clock;
  vfs.counts.flushes.clear();
  vfs.counts.bytes.clear();
  const char* const native = port.storage->native_vfs();
  if (native == nullptr) {
    fill_own(vfs);
  } else {
    vfs.native = {sqlite3_vfs_find(native), &vfs.counts};
    if (vfs.native.native == nullptr) return Status::kCannotOpen;
    allow_late_files(*vfs.native.native);
    fill_native(vfs.native, vfs.methods);
  }
  return sqlite3_vfs_register(&vfs.methods, 0) == SQLITE_OK ? Status::kOk
                                                            : Status::kResourceExhausted;
}

Vfs* find(const port::Storage* storage) {
  for (Vfs& vfs : table) {
    if (vfs.storage == storage) return &vfs;
  }
  return nullptr;
}

}  // namespace

Status vfs_for(const port::Port& port, const char** name) {
  const TableLock lock;
  Vfs* vfs = find(port.storage);
  if (vfs == nullptr) {
    vfs = find(nullptr);
    if (vfs == nullptr) return Status::kResourceExhausted;
    const Status filled = fill(*vfs, port);
    if (filled != Status::kOk) return filled;
    vfs->storage = port.storage;
  }
  ++vfs->users;
  *name = vfs->name;
  return Status::kOk;
}

void forget_vfs(port::Storage& storage) {
  const TableLock lock;
  Vfs* const vfs = find(&storage);
  PAWL_CHECK("store-6", vfs != nullptr && vfs->users > 0);
  if (--vfs->users > 0) return;
  static_cast<void>(sqlite3_vfs_unregister(&vfs->methods));
  vfs->storage = nullptr;
}

const IoCounts& io_counts(const port::Storage& storage) {
  const TableLock lock;
  const Vfs* const vfs = find(&storage);
  PAWL_CHECK("store-31", vfs != nullptr && vfs->users > 0);
  return vfs->counts;
}

void note_io(const port::Storage& storage, std::uint64_t flushes, std::uint64_t bytes) {
  const TableLock lock;
  Vfs* const vfs = find(&storage);
  PAWL_CHECK("store-42", vfs != nullptr && vfs->users > 0);
  vfs->counts.flushes.add(flushes);
  vfs->counts.bytes.add(bytes);
}

void random_of_a_port(void* out, std::size_t size) {
  const TableLock lock;
  std::memset(out, 0, size);
  for (const Vfs& vfs : table) {
    if (vfs.storage == nullptr) continue;
    vfs.clock->random(out, size);
    return;
  }
}

}  // namespace pawl::sqlite

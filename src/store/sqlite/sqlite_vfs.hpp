// sqlite_vfs: the VFS that connections open with, either SQLite's own, with counting, or one over
// port::Storage.
//
// Purpose: every write and flush of the database's files goes through here. There is one VFS a
// Storage, at most 32. Callable from any thread.
#ifndef PAWL_STORE_SQLITE_SQLITE_VFS_HPP
#define PAWL_STORE_SQLITE_SQLITE_VFS_HPP

#include <sqlite3.h>

#include <cstdint>

#include "core/wide_words.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl::sqlite {

// Counts of all connections over one Storage.
struct IoCounts {
  WideCounter<> flushes;
  WideCounter<> bytes;  // number written
};

struct NativeVfs {
  sqlite3_vfs* native = nullptr;
  IoCounts* counts = nullptr;
};

// Sets everything that a VFS over `vfs.native` needs except its name; `vfs` outlives the
// registration.
void fill_native(NativeVfs& vfs, sqlite3_vfs& methods);

// Gives the name to open with. Each kOk needs one forget_vfs(). kCannotOpen: SQLite has no VFS of
// the name that the Storage gives; kResourceExhausted: there are 32 already.
Status vfs_for(const port::Port& port, const char** name);
void forget_vfs(port::Storage& storage);
// Requires: between vfs_for() and forget_vfs().
[[nodiscard]] const IoCounts& io_counts(const port::Storage& storage);
// Counts what the port wrote without a VFS. Requires: as io_counts().
void note_io(const port::Storage& storage, std::uint64_t flushes, std::uint64_t bytes);

// Random bytes of any port that has a VFS now; zeros if none has.
void random_of_a_port(void* out, std::size_t size);

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_SQLITE_VFS_HPP

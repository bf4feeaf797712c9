// sqlite_no_system: the default VFS that SQLite needs to start when it was compiled for no
// operating system (SQLITE_OS_OTHER, sqlite.org/c3ref/initialize.html).
//
// Pawl's connections name their VFS, over port::Storage, so the default one opens nothing. But
// SQLite draws the seed of all its random numbers from it. The salts of the log are made of these
// numbers, and they distinguish the pages of one round of the log from earlier ones. Therefore the
// default VFS asks a port for random bytes.
#ifdef PAWL_NO_SYSTEM
#include <sqlite3.h>

#include <cstddef>
#include <ctime>

#include "store/sqlite/sqlite_vfs.hpp"

namespace pawl::sqlite {
namespace {

int open_nothing(sqlite3_vfs*, const char*, sqlite3_file* file, int, int*) {
  file->pMethods = nullptr;
  return SQLITE_CANTOPEN;
}
int delete_nothing(sqlite3_vfs*, const char*, int) { return SQLITE_IOERR_DELETE_NOENT; }
int find_nothing(sqlite3_vfs*, const char*, int, int* out) {
  *out = 0;
  return SQLITE_OK;
}
int name_nothing(sqlite3_vfs*, const char*, int, char*) { return SQLITE_CANTOPEN; }
int draw(sqlite3_vfs*, int size, char* out) {
  random_of_a_port(out, static_cast<std::size_t>(size));
  return size;
}
int sleep_not(sqlite3_vfs*, int) { return 0; }
int know_no_time(sqlite3_vfs*, double* out) {
  *out = 0;
  return SQLITE_ERROR;
}
int say_no_error(sqlite3_vfs*, int, char*) { return 0; }

sqlite3_vfs no_files;

}  // namespace
}  // namespace pawl::sqlite

extern "C" {

SQLITE_API int sqlite3_os_init() {
  using namespace pawl::sqlite;
  no_files = sqlite3_vfs();
  no_files.iVersion = 1;
  no_files.szOsFile = static_cast<int>(sizeof(sqlite3_file));
  no_files.mxPathname = 16;
  no_files.zName = "pawl-none";
  no_files.xOpen = open_nothing;
  no_files.xDelete = delete_nothing;
  no_files.xAccess = find_nothing;
  no_files.xFullPathname = name_nothing;
  no_files.xRandomness = draw;
  no_files.xSleep = sleep_not;
  no_files.xCurrentTime = know_no_time;
  no_files.xGetLastError = say_no_error;
  return sqlite3_vfs_register(&no_files, 1);
}

SQLITE_API int sqlite3_os_end() { return SQLITE_OK; }

// SQLite's CURRENT_TIME calls these in place of gmtime() and strftime()
// (toolchains/compact_sqlite.cmake). No statement of Pawl uses CURRENT_TIME, and a C library's
// functions bring 6 KB of calendar.
std::tm* pawl_sqlite_gmtime(const std::time_t*);
std::size_t pawl_sqlite_strftime(char*, std::size_t, const char*, const std::tm*);
std::tm* pawl_sqlite_gmtime(const std::time_t*) { return nullptr; }  // CURRENT_TIME is then NULL
std::size_t pawl_sqlite_strftime(char*, std::size_t, const char*, const std::tm*) { return 0; }

}  // extern "C"

#endif  // PAWL_NO_SYSTEM

// late_files: files dated after 19 January 2038, for an SQLite that was built with times of 32
// bits.
//
// Purpose: without it, such an SQLite cannot open, measure or find a file that was changed or read
// since. Callable from any thread, by one at a time.
#ifndef PAWL_STORE_SQLITE_LATE_FILES_HPP
#define PAWL_STORE_SQLITE_LATE_FILES_HPP

#include <sqlite3.h>

namespace pawl::sqlite {

// Replaces the calls of `native`, and so of every VFS of SQLite for POSIX in this process, by calls
// for files of any date. Nothing changes where SQLite already has such calls, or calls that another
// library has put there.
void allow_late_files(sqlite3_vfs& native);

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_LATE_FILES_HPP

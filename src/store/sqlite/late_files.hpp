// Files of after 19 January 2038, for an SQLite that was built with times of 32 bits.
//
// Purpose: such an SQLite can open, measure and find no file that was changed or read since. Callable
// from any thread, by one at a time.
#ifndef PAWL_STORE_SQLITE_LATE_FILES_HPP
#define PAWL_STORE_SQLITE_LATE_FILES_HPP

#include <sqlite3.h>

namespace pawl::sqlite {

// Gives `native`, and with it every VFS of SQLite for POSIX in this process, calls for files of any
// date. Nothing changes where SQLite has such calls, or calls that another has put there.
void allow_late_files(sqlite3_vfs& native);

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_LATE_FILES_HPP

// DatabaseCopy: the files of databases, copied and checked, for code that must not know SQLite.
//
// Purpose: implements what pawl/maintenance.hpp promises. Ownership: the caller gives the place.
// Thread rule: as store.hpp.
#ifndef PAWL_STORE_DATABASE_COPY_HPP
#define PAWL_STORE_DATABASE_COPY_HPP

#include <cstddef>

#include "pawl/maintenance.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl {

struct DatabaseCopy {
  // `place` has bytes() bytes at StoreFactory::kAlign.
  [[nodiscard]] static std::size_t bytes();
  static Status copy(void* place, const char* from, const char* to, const port::Port& port,
                     CopyVisitor& visitor, Diagnostic& diagnostic);
  static Status check(void* place, const char* path, bool quick, const port::Port& port,
                      FindingVisitor& visitor, DatabaseReport* report, Diagnostic& diagnostic);
  static Status renew(void* place, const char* path, const port::Port& port,
                      Diagnostic& diagnostic);
  static Status skip_numbers(void* place, const char* path, const port::Port& port,
                             Diagnostic& diagnostic);
};

}  // namespace pawl

#endif  // PAWL_STORE_DATABASE_COPY_HPP

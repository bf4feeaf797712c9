// DatabaseUpgrade: carries a database of an earlier form over into a new file, for code that must
// not know SQLite.
//
// Purpose: implements what pawl/maintenance.hpp promises of upgrade_database(). Only a program that
// calls it has it. Ownership: the caller gives the place. Thread rule: as store.hpp.
#ifndef PAWL_STORE_DATABASE_UPGRADE_HPP
#define PAWL_STORE_DATABASE_UPGRADE_HPP

#include "pawl/maintenance.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl {

struct DatabaseUpgrade {
  // `place` has DatabaseCopy::bytes() bytes at StoreFactory::kAlign.
  static Status upgrade(void* place, const char* path, const char* made, const port::Port& port,
                        UpgradeVisitor& visitor, Diagnostic& diagnostic);
};

}  // namespace pawl

#endif  // PAWL_STORE_DATABASE_UPGRADE_HPP

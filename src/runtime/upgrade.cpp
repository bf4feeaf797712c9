// Apart from maintenance.cpp, so that a program that copies databases has no converter.
#include "pawl/maintenance.hpp"
#include "runtime/maintenance_place.hpp"
#include "store/database_upgrade.hpp"

namespace pawl {

Status upgrade_database(Process& process, const Path& path, const Path& made,
                        const port::Port& port, void* memory, std::size_t bytes,
                        UpgradeVisitor& visitor, Diagnostic& diagnostic) {
  void* place = nullptr;
  PAWL_TRY(take_place(process, port, memory, bytes, &place, diagnostic));
  return DatabaseUpgrade::upgrade(place, path.c_str(), made.c_str(), port, visitor, diagnostic);
}

}  // namespace pawl

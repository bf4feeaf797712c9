#include "pawl/maintenance.hpp"

#include "runtime/maintenance_place.hpp"
#include "store/database_copy.hpp"
#include "store/store_factory.hpp"

namespace pawl {

std::size_t maintenance_memory() {
  ArenaPlan plan;
  static_cast<void>(plan.allocate(DatabaseCopy::bytes(), StoreFactory::kAlign));
  return plan.required_memory();
}

Status copy_database(Process& process, const Path& from, const Path& to, const port::Port& port,
                     void* memory, std::size_t bytes, CopyVisitor& visitor,
                     Diagnostic& diagnostic) {
  void* place = nullptr;
  PAWL_TRY(take_place(process, port, memory, bytes, &place, diagnostic));
  return DatabaseCopy::copy(place, from.c_str(), to.c_str(), port, visitor, diagnostic);
}

Status check_database(Process& process, const Path& path, bool quick, const port::Port& port,
                      void* memory, std::size_t bytes, FindingVisitor& visitor,
                      DatabaseReport* report, Diagnostic& diagnostic) {
  *report = DatabaseReport();
  void* place = nullptr;
  PAWL_TRY(take_place(process, port, memory, bytes, &place, diagnostic));
  return DatabaseCopy::check(place, path.c_str(), quick, port, visitor, report, diagnostic);
}

Status renew_identity(Process& process, const Path& path, const port::Port& port, void* memory,
                      std::size_t bytes, Diagnostic& diagnostic) {
  void* place = nullptr;
  PAWL_TRY(take_place(process, port, memory, bytes, &place, diagnostic));
  return DatabaseCopy::renew(place, path.c_str(), port, diagnostic);
}

Status skip_numbers(Process& process, const Path& path, const port::Port& port, void* memory,
                    std::size_t bytes, Diagnostic& diagnostic) {
  void* place = nullptr;
  PAWL_TRY(take_place(process, port, memory, bytes, &place, diagnostic));
  return DatabaseCopy::skip_numbers(place, path.c_str(), port, diagnostic);
}

}  // namespace pawl

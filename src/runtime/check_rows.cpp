// Apart from maintenance.cpp, so that a program that copies files does not contain it.
#include "runtime/open_place.hpp"
#include "store/store_check.hpp"

namespace pawl {

std::size_t check_rows_memory(const DatabasePlace& at) {
  ArenaPlan plan;
  static_cast<void>(
      plan.allocate(StoreFactory::engine_of(at.database).bytes, StoreFactory::kAlign));
  return plan.required_memory();
}

Status check_rows(Process& process, const DatabasePlace& at, const port::Port& port, void* memory,
                  std::size_t bytes, FindingVisitor& visitor, DatabaseReport* report,
                  Diagnostic& diagnostic) {
  *report = DatabaseReport();
  PAWL_TRY(check_process(process, port, diagnostic));
  Arena arena(memory, memory == nullptr ? 0 : bytes);
  void* const place =
      arena.allocate(StoreFactory::engine_of(at.database).bytes, StoreFactory::kAlign);
  if (place == nullptr) {
    diagnostic.format("%zu bytes were given and %zu are needed", bytes, check_rows_memory(at));
    return Status::kResourceExhausted;
  }
  OpenPlace opened(at, place);
  PAWL_TRY(opened.open(OpenPlace::For::kReading, false, port, diagnostic));
  return store::StoreCheck::run(opened.store(), visitor, report, diagnostic);
}

}  // namespace pawl

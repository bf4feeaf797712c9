// ProcessPlace: one connection's place in a Process, and its part of the memory.
//
// Purpose: a Process sizes SQLite's memory for a number of connections, so one more is refused by
// name and does not run out of memory later. Ownership: the destructor gives the place back; the
// owner closes its storage before. Thread rule: one thread an object; objects of one Process may be
// on several threads.
#ifndef PAWL_RUNTIME_PROCESS_PLACE_HPP
#define PAWL_RUNTIME_PROCESS_PLACE_HPP

#include "pawl/process.hpp"
#include "store/store.hpp"

namespace pawl {

class ProcessPlace {
 public:
  explicit ProcessPlace(Process& process) : process_(process) {}
  ~ProcessPlace() { leave(); }
  ProcessPlace(const ProcessPlace&) = delete;
  ProcessPlace& operator=(const ProcessPlace&) = delete;

  // Cuts the storage's options to this connection's part of the memory. kResourceExhausted: the
  // Process has no memory for one more open connection.
  Status take(StoreOptions& options, Diagnostic& diagnostic) {
    PAWL_TRY(process_.take_connection(diagnostic));
    is_taken_ = true;
    options.cache_pages = process_.cache_pages(options.cache_pages);
    options.statement_bytes = process_.statement_bytes_;
    return Status::kOk;
  }
  void leave() {
    if (is_taken_) process_.give_back_connection();
    is_taken_ = false;
  }

 private:
  Process& process_;
  bool is_taken_ = false;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_PROCESS_PLACE_HPP

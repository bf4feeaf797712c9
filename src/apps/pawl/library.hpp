// Library: pawl/maintenance.hpp with everything that its calls need.
//
// Purpose: commands on files need a Process, a port and memory, but no Client. Ownership: it owns
// them. Thread rule: one thread.
#ifndef PAWL_APPS_PAWL_LIBRARY_HPP
#define PAWL_APPS_PAWL_LIBRARY_HPP

#include <memory>
#include <string>
#include <vector>

#include "apps/pawl/tool.hpp"
#include "pawl/maintenance.hpp"
#include "pawl/port_posix.hpp"

namespace pawl::tool {

// Requires: no other Process, so the Tool's database is closed.
class Library {
 public:
  Library();
  // All functions throw unless the status is kOk.
  void copy(const std::string& from, const std::string& to, CopyVisitor& visitor);
  DatabaseReport check(const std::string& path, bool quick, FindingVisitor& visitor);
  DatabaseReport check_rows(const DatabasePlace& at, FindingVisitor& visitor);
  void renew_identity(const std::string& path);
  void skip_numbers(const std::string& path);
  // Returns how many rows were carried.
  std::int64_t move(const DatabasePlace& from, const DatabasePlace& to, MoveVisitor& visitor);
  [[nodiscard]] bool clock_is_trusted() { return port_.port().clock->synced(); }

 private:
  void must(Status status) const;
  posix::SystemPort port_;
  Process process_;
  std::vector<unsigned char> for_sqlite_;
  std::vector<unsigned char> memory_;
  Diagnostic why_;
};

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_LIBRARY_HPP

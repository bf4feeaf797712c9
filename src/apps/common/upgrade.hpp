// upgrade: converts a database of an earlier form, for `pawl upgrade` and for pawld at its start.
//
// Purpose: the file names of a conversion; the library handles the contents. The old file has its
// name until the new one is whole and flushed, and no process has it open meanwhile. Ownership:
// nothing is kept. Thread rule: one thread.
#ifndef PAWL_APPS_COMMON_UPGRADE_HPP
#define PAWL_APPS_COMMON_UPGRADE_HPP

#include <cstdint>
#include <string>

#include "pawl/port_posix.hpp"
#include "pawl/status.hpp"

namespace pawl::programs {

class UpgradeListener {
 public:
  // Called before anything is changed: the conversion needs so many free bytes beside the database,
  // and these are there. It ends here if that is too few.
  virtual void on_begin(std::int64_t format, std::int64_t needed,
                        std::int64_t available) noexcept = 0;
  // Called after each thousand rows.
  virtual void on_rows(std::int64_t rows) noexcept = 0;

 protected:
  ~UpgradeListener() = default;
};

struct Upgrade {
  Status status = Status::kOk;
  bool was_older = false;   // false: it has today's form, or it could not be seen which it has
  std::int64_t format = 0;  // which it had; `was_older`
  std::int64_t bytes = 0;   // of the new file
  std::string why;          // unless kOk
};

// Requires: no Process in this process.
[[nodiscard]] Upgrade upgrade(const std::string& path, const posix::PortOptions& options,
                              UpgradeListener& listener);

// Says that a file is in use, by which process if the kernel knows, and what to do. `descriptor` is
// of that file; closing it drops all locks that this process has on it.
[[nodiscard]] std::string in_use(const std::string& path, int descriptor);

}  // namespace pawl::programs

#endif  // PAWL_APPS_COMMON_UPGRADE_HPP

// SessionLook: devices that no living worker serves, and session folders that differ from their
// rows.
//
// Purpose: doctor's findings from rows, workers' locks and names of folders, which it only reads.
// Ownership: plain values. Thread rule: one thread.
#ifndef PAWL_APPS_PAWL_SESSION_LOOK_HPP
#define PAWL_APPS_PAWL_SESSION_LOOK_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/pawl/tool.hpp"

namespace pawl::tool {

// Counts all texts, and keeps the first kKept.
struct Counted {
  static constexpr std::size_t kKept = 20;
  std::int64_t count = 0;
  std::vector<std::string> first;
  void add(std::string text) {
    if (++count <= static_cast<std::int64_t>(kKept)) first.push_back(std::move(text));
  }
};

struct SessionLook {
  Counted waiting_devices;   // names
  std::int64_t unowned = 0;  // devices among them that Metrics::sessions_waiting counts, too
  Counted orphaned_folders;  // paths; no open session has them
  Counted missing_folders;   // paths; the session is open
  Counted unread_roots;      // "path: why"
  std::int64_t roots = 0;
  std::int64_t foreign_folders = 0;  // those of databases with other ids
  bool complete = true;              // false: a root has more folders than are examined
};

// `path`: of the database. `roots`: folders to search besides those that the sessions' rows name.
// Throws as Tool::must() does.
[[nodiscard]] SessionLook look_at_sessions(Tool& tool, const std::string& path,
                                           const std::string& database_id,
                                           const std::vector<std::string>& roots);

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_SESSION_LOOK_HPP

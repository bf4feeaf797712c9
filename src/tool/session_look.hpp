// SessionLook: devices that no living worker serves, and session folders that are not as their rows
// say.
//
// Purpose: what doctor can learn of these from rows, workers' locks and names of folders, without
// touching any. Ownership: plain values. Thread rule: one thread.
#ifndef PAWL_TOOL_SESSION_LOOK_HPP
#define PAWL_TOOL_SESSION_LOOK_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tool.hpp"

namespace pawl::tool {

// All are counted, and the first are kept.
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
  std::int64_t unowned = 0;  // of them: Metrics::sessions_waiting counts these, too
  Counted orphaned_folders;  // paths; no open session has them
  Counted missing_folders;   // paths; the session is open
  Counted unread_roots;      // "path: why"
  std::int64_t roots = 0;
  std::int64_t foreign_folders = 0;  // of databases with other ids
  bool complete = true;              // false: a root has more folders than are looked at
};

// `roots`: where folders may be, beside those that rows of sessions name.
// Throws as Tool::must() does.
[[nodiscard]] SessionLook look_at_sessions(Tool& tool, const std::string& database_id,
                                           const std::vector<std::string>& roots);

}  // namespace pawl::tool

#endif  // PAWL_TOOL_SESSION_LOOK_HPP

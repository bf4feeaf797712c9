// Damage: which row of the database made a call fail.
//
// Purpose: a row that cannot be read, or whose columns have impossible values, must cost only its
// own instance, work item or session. A failed tick learns from a Damage which row to move out of
// the way (Batch::quarantine()). Ownership: plain values. Thread rule: one thread.
#ifndef PAWL_STORE_SQL_DAMAGE_HPP
#define PAWL_STORE_SQL_DAMAGE_HPP

#include <cstdint>
#include <optional>

#include "pawl/status.hpp"

namespace pawl {

struct RowRef {
  enum class Table : std::uint8_t { kInstances, kMessages, kWork, kSessions, kTotals };
  Table table = Table::kInstances;
  std::int64_t key = 0;
  friend bool operator==(const RowRef& a, const RowRef& b) {
    return a.table == b.table && a.key == b.key;
  }
};

// The names are those of docs/format/instances.md and docs/format/work.md.
[[nodiscard]] constexpr const char* table_name(RowRef::Table table) {
  switch (table) {
    case RowRef::Table::kInstances: return "instances";
    case RowRef::Table::kMessages: return "orchestrator_queue";
    case RowRef::Table::kWork: return "worker_queue";
    case RowRef::Table::kSessions: return "sessions";
    case RowRef::Table::kTotals: return "session_totals";
  }
  return "unknown";
}

// The row that is blamed if a statement fails, and the row that named it.
struct Suspects {
  std::optional<RowRef> suspect;
  std::optional<RowRef> named_by;
};

struct Damage {
  RowRef row;
  // The row that names `row`, if there is one. The name itself may be wrong, and then `row` does
  // not exist.
  std::optional<RowRef> named_by;
  Status status =
      Status::kCorrupt;  // or kResourceExhausted: a value is larger than the memory available
  Diagnostic text;
};

}  // namespace pawl

#endif  // PAWL_STORE_SQL_DAMAGE_HPP

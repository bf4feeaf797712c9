// Due: the marks of statements that change when something is due.
//
// Purpose: a row has its due time in a column. A statement that changes such a column has a mark
// that names the kind of row, and binds a due time that may be absent with Statement::bind_due().
// DueIndex takes the marks from the connection, so no table calls it. Test build.sql_texts reads
// the statements and names each one without a mark.
// Ownership: constants. Thread rule: any.
#ifndef PAWL_STORE_PLACE_DUE_HPP
#define PAWL_STORE_PLACE_DUE_HPP

#include <cstdint>

namespace pawl::store {

// The columns, in this order: orchestrator_queue.due and instances.timer_due,
// instances.parked_until, instances.limit_due, the due times of worker_queue, sessions.stop_due,
// sessions.look_at.
enum class DueKind : std::uint8_t { kTimer, kParked, kLimit, kWork, kStop, kLook };
inline constexpr int kDueKinds = 6;

// Marks of a sql::Query. Comes: a row of the kind got a due time. Moves: rows of the kind may have
// lost their due time, or have another one.
[[nodiscard]] constexpr unsigned comes(DueKind kind) {
  return 1U << (2U * static_cast<unsigned>(kind));
}
[[nodiscard]] constexpr unsigned moves(DueKind kind) {
  return 2U << (2U * static_cast<unsigned>(kind));
}

inline constexpr unsigned kTimerComes = comes(DueKind::kTimer);
inline constexpr unsigned kTimerMoves = moves(DueKind::kTimer);
inline constexpr unsigned kParkedComes = comes(DueKind::kParked);
inline constexpr unsigned kParkedMoves = moves(DueKind::kParked);
inline constexpr unsigned kLimitComes = comes(DueKind::kLimit);
inline constexpr unsigned kLimitMoves = moves(DueKind::kLimit);
inline constexpr unsigned kWorkComes = comes(DueKind::kWork);
inline constexpr unsigned kWorkMoves = moves(DueKind::kWork);
inline constexpr unsigned kStopComes = comes(DueKind::kStop);
inline constexpr unsigned kStopMoves = moves(DueKind::kStop);
inline constexpr unsigned kLookComes = comes(DueKind::kLook);
inline constexpr unsigned kLookMoves = moves(DueKind::kLook);

}  // namespace pawl::store

#endif  // PAWL_STORE_PLACE_DUE_HPP

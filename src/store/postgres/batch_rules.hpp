// Batches on a server: what one is checked against, what became of one in doubt, and numbers that
// no failover gives out twice.
//
// Purpose: the server decides each batch alone, and its answer may be lost with the connection. A
// batch has a name, its worker and a number, which its worker's row shows as soon as it is
// committed. One in doubt may still arrive, so a node that looks for it and does not find it takes
// its number away. A failover may lose commits that were acknowledged: the row is then behind what
// the worker knows. The rules: docs/rules/fleet.md, F10a to F12. F9, that a result is accepted by
// its token and epoch, is rules::accepts().
// Ownership: plain values. Thread rule: pure functions. Errors: none.
#ifndef PAWL_STORE_POSTGRES_BATCH_RULES_HPP
#define PAWL_STORE_POSTGRES_BATCH_RULES_HPP

#include <cstdint>
#include <optional>

namespace pawl::fleet {

// The columns of a worker's row that are about its batches.
struct BatchRow {
  std::int64_t number = 0;     // of its last batch that was committed or refused
  std::int64_t committed = 0;  // of its last batch that was committed
  bool has_ended = false;      // the registration was ended
};

// ---- a batch under the lock: F10a, F12 ----

struct BatchName {
  std::int64_t number = 0;
  std::int64_t acknowledged = 0;  // the last one of this worker that the server acknowledged
};
enum class BatchVerdict : std::uint8_t {
  kGood,
  kCommitsLost,  // what was acknowledged is missing: report it, drop what is held, register anew
  kEnded,        // another node ended the registration: drop what is held, register anew
  // It came late: its number was taken away, or later batches of its worker are committed. Its
  // sender knows that it is not committed.
  kRefused,
};
// `row`: none if the worker has no row. A worker has one batch under way at a time, and none while
// one is in doubt. The numbers need no order without gaps: a failover may lose that one was taken
// away.
[[nodiscard]] BatchVerdict check_batch(const BatchName& batch, const std::optional<BatchRow>& row);

// ---- a batch in doubt: F10a, F10b, F10c ----

enum class BatchOutcome : std::uint8_t {
  kUnknown,  // ask again, with the lock
  kCommitted,
  kNotCommitted,
  // It is not there, and may arrive yet: write its number to the row, in this transaction. After
  // that commit the batch is not committed and never will be.
  kRefuse,
};
// `row`: none if the worker has no row; a batch without one is never committed. `lock_is_ours`: the
// row was read while this node held the store's lock. Without it the old connection may still be
// committing.
[[nodiscard]] BatchOutcome outcome_of(std::int64_t number, const std::optional<BatchRow>& row,
                                      bool lock_is_ours);

// ---- numbers: F11 ----

// The next epoch, token or segment, of a counter in the row. `timeline`: the server's, from 1 to
// kTimelineMax. A number that was given out before a failover is below all later ones, also if the
// commit that gave it out was lost.
[[nodiscard]] std::int64_t next_number(std::int64_t stored_next, std::int64_t timeline);
inline constexpr std::int64_t kTimelineMax = (std::int64_t{1} << 23) - 1;

}  // namespace pawl::fleet

#endif  // PAWL_STORE_POSTGRES_BATCH_RULES_HPP

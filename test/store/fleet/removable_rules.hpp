// The rules of a fleet, of which a simulation can leave some out.
//
// Purpose: each function asks the rule of the same name in src/store/postgres. Without the rule it
// answers as a store would that had never thought of it. The product contains none of this.
// Units: ms; a name says of which clock.
#ifndef PAWL_TEST_FLEET_REMOVABLE_RULES_HPP
#define PAWL_TEST_FLEET_REMOVABLE_RULES_HPP

#include <cstdint>
#include <optional>

#include "core/ids.hpp"
#include "pawl/optional_ms.hpp"
#include "store/postgres/batch_rules.hpp"
#include "store/postgres/fleet_lease_rules.hpp"
#include "store/postgres/server_rules.hpp"
#include "store/postgres/store_time_rules.hpp"
#include "store/row_rules.hpp"

namespace pawl::fleet_test {

using Ms = std::int64_t;

inline constexpr Ms kLeaseMs = 60'000;
inline constexpr Ms kRenewMs = 20'000;
inline constexpr Ms kLatenessMs = 2'000;
inline constexpr std::int64_t kSchemaVersion = 1;

// Rules: F1 to F17 and A1. F4e can be wrong in two ways.
enum class Rule : std::uint8_t {
  kF1,
  kF2,
  kF3,
  kF4a,
  kF4b,
  kF4c,
  kF4d,
  kF4eAge,   // an anchor is taken over whatever its age
  kF4eBoot,  // and that of a node of another boot, too
  kF5a,
  kF5b,
  kF6,
  kF7,
  kF8,
  kF9,
  kF10a,
  kF10b,
  kF10c,
  kF11,
  kF12,
  kF13,
  kF14,
  kF15a,
  kF15b,
  kF16,
  kF17,
  kA1,
};

class RemovableRules {
 public:
  // A set of rules: the sum of these.
  using Set = std::uint32_t;
  static constexpr Set bit(Rule rule) { return Set{1} << static_cast<unsigned>(rule); }

  explicit RemovableRules(Set without) : without_(without) {}
  [[nodiscard]] bool has(Rule rule) const { return (without_ & bit(rule)) == 0; }

  // ---- store time ----

  [[nodiscard]] bool is_good(const fleet::TimeAnchor& anchor, std::int64_t segment,
                             Ms boot_ms) const;
  [[nodiscard]] bool same_segment(std::int64_t a, std::int64_t b) const;
  [[nodiscard]] bool needs_comparing(const fleet::TimeAnchor& anchor, Ms boot_ms) const;
  [[nodiscard]] fleet::ComparisonStep comparison_step(const fleet::ComparisonView& view,
                                                      Ms boot_ms) const;
  // `last_request`: the last one that was made before the batch was executed.
  [[nodiscard]] std::optional<fleet::MarkAnswer> answer_of(const fleet::TimedBatch& batch,
                                                           const fleet::MarkAnswer& seen,
                                                           std::int64_t last_request) const;
  [[nodiscard]] bool is_sibling(int boot, int other_boot) const;
  [[nodiscard]] bool may_take_sibling(const fleet::TimeAnchor& sibling, std::int64_t segment,
                                      Ms boot_ms, bool takes_any) const;
  // `server_ms`: the wall clock of the server when the batch was sent.
  [[nodiscard]] Ms own_count(const fleet::TimeAnchor& anchor, Ms boot_ms, Ms server_ms) const;
  [[nodiscard]] Ms batch_time(Ms mark_ms, OptionalMs count_ms) const;
  [[nodiscard]] fleet::TimeAnchor anchor_after(const fleet::TimedBatch& batch, Ms batch_ms,
                                               std::int64_t segment, Ms heard_boot_ms) const;
  [[nodiscard]] fleet::NewSegment begin_segment(const fleet::StoreMark& mark, OptionalMs count_ms,
                                                const fleet::WallClocks& now) const;
  [[nodiscard]] std::int64_t segment_after(std::int64_t segment, std::int64_t timeline) const;

  // ---- leases ----

  [[nodiscard]] Ms own_lease_end(Ms sent_boot_ms, Ms heard_boot_ms) const;
  [[nodiscard]] bool may_run_exclusive(OptionalMs end_boot_ms, Ms boot_ms) const;
  [[nodiscard]] bool keeps_exclusive(OptionalMs end_boot_ms, Ms sent_boot_ms) const;
  [[nodiscard]] bool may_become_owner(bool exclusive, std::optional<fleet::OwnerView> owner,
                                      fleet::TakeoverTime now) const;
  [[nodiscard]] bool may_take_node_id(const fleet::SameNode& other, bool is_same_boot,
                                      Ms boot_ms) const;

  // ---- batches and the server ----

  [[nodiscard]] bool accepts(std::optional<LockToken> token, Epoch token_epoch, Epoch epoch,
                             LockToken done, Epoch done_epoch) const;
  [[nodiscard]] fleet::BatchVerdict check_batch(const fleet::BatchName& batch,
                                                const std::optional<fleet::BatchRow>& row) const;
  [[nodiscard]] fleet::BatchOutcome outcome_of(std::int64_t number,
                                               const std::optional<fleet::BatchRow>& row,
                                               bool lock_is_ours) const;
  [[nodiscard]] std::int64_t next_number(std::int64_t stored_next, std::int64_t timeline) const;
  [[nodiscard]] bool must_end_holder(const fleet::LockWait& wait, Ms boot_ms) const;
  [[nodiscard]] bool counts(const fleet::ServerFacts& server,
                            std::optional<std::int64_t> seen_timeline) const;

 private:
  Set without_;
};

}  // namespace pawl::fleet_test

#endif  // PAWL_TEST_FLEET_REMOVABLE_RULES_HPP

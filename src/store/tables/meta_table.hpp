// MetaTable: the row of meta: the clock that all processes share, the counters, and the operator's
// limits of space.
//
// Purpose: keeps the time that a batch sees as now, and the epochs and tokens not given out yet.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_META_TABLE_HPP
#define PAWL_STORE_TABLES_META_TABLE_HPP

#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "instance_store.hpp"
#include "sql/database.hpp"

namespace pawl::store {

class MetaTable : private Table {
 public:
  MetaTable(StoreContext& context, sql::Database& file) : Table(context), file_(file) {}

  // ---- calls of the contract ----
  [[nodiscard]] std::int64_t pawl_now();
  [[nodiscard]] std::int64_t boot_ms_of(std::int64_t pawl_time) const;

  // ---- for the other tables ----
  Status start_clock();
  // In a view: reads the clock as the row has it.
  Status refresh_clock();
  // Adds to a commit that happens anyway: the mark of the clock, if it is old, and the counters.
  Status write_mark();
  Status require_persisted_starts();
  // Keeps the limits for senders, for when no runtime lives.
  Status keep_mailbox_limits(const MailboxLimits& limits);
  void forget_meta();

 private:
  Status read_meta(ClockRow* out);
  Status check_meta(const Statement& row);
  Status write_meta();
  Status store_counters();
  [[nodiscard]] ClockSample sample_clock();
  Status adopt_boot(const ClockSample& sample);
  Status sync_clock(const ClockSample& sample);
  Status note_clock(std::string_view kind, const ClockSample& sample, std::int64_t detail);

  sql::Database& file_;
  std::int64_t persist_starts_until_ = 0;  // Pawl time, from meta
  ClockRow clock_now_;  // context_.clock with changes that wait for a commit that happens anyway
  // Holds until forget_meta(), or until this connection writes the row.
  bool meta_is_known_ = false;  // context_.clock and the other columns of meta
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_META_TABLE_HPP

// MetaTable: the row of meta: the clock that all processes share, the counters, and what people set
// of the room.
//
// Purpose: what a batch sees as now, and which epochs and tokens were never given out. Ownership
// and thread rule: as context.hpp.
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
  // In a view: the clock as the row has it.
  Status refresh_clock();
  // What a commit that happens anyway adds: the mark of the clock, if it is old, and the counters.
  Status write_mark();
  Status require_persisted_starts();
  // For senders, when no runtime lives.
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
  std::int64_t persist_starts_until_ = 0;  // Pawl time, of meta
  ClockRow clock_now_;                     // clock_ with what a commit that happens anyway may add
  // True of the rows until forget_known(), or until this connection writes them.
  bool meta_is_known_ = false;  // clock_ and the other columns of meta
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_META_TABLE_HPP

// Place: the row of meta, which all processes share, and the room that the database takes.
//
// Purpose: keeps the time that a batch sees as now, and the epochs and tokens not given out yet. It
// says how much space the database takes and which writes are refused for it. Removing rows needs
// room itself, because the changed pages go to the log first. Therefore a file beside the database
// reserves some (space.cpp): when the disk is full it is deleted, and it is made again once there
// is room. While it is missing, all processes reject new work. Ownership and thread rule: as
// context.hpp.
#ifndef PAWL_STORE_PLACE_PLACE_HPP
#define PAWL_STORE_PLACE_PLACE_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "store/context.hpp"
#include "store/instance/arguments.hpp"
#include "store/place/arguments.hpp"
#include "store/sql/database.hpp"
#include "store/sql/shared_clock.hpp"

namespace pawl::store {

class Place : private Table {
 public:
  explicit Place(StoreContext& context) : Table(context), shared_(context.file.shared_clock()) {}

  // The Pawl time now, by the clock row that was read last; only after the first begin().
  [[nodiscard]] std::int64_t pawl_now();
  [[nodiscard]] std::int64_t boot_ms_of(std::int64_t pawl_time) const;
  // Until when, in boot time, this worker may count on a lease that the last batch has renewed.
  [[nodiscard]] std::int64_t own_lease_end(std::int64_t lease_ms) const;
  // A read; callable anywhere.
  Status read_use(SpaceUse* out);
  // In a batch, for all processes: start_orchestration() and send_message() answer kQuota while
  // more than the quota is used (0: no limit), or while the reserve is missing and the free pages
  // hold fewer bytes than it has. None: the stored value stays.
  Status set_quota_and_reserve(std::optional<std::int64_t> quota_bytes,
                               std::optional<std::int64_t> reserve_bytes);
  // In a batch, for all processes: start_orchestration() and send_message() answer kQuota while the
  // log is longer.
  Status set_log_max(std::int64_t bytes);
  // In a batch, for all processes: how many keys of messages an instance knows, and for how long.
  Status set_key_window(std::int64_t keys_max, std::int64_t keys_ms);
  // Cheap; callable anywhere.
  [[nodiscard]] LogUse log_use();
  // Whether there should be a reserve but is none; callable anywhere.
  Result<bool> reserve_missing();
  // Creates the file of the reserve unless it exists; a file that could not be made whole is
  // removed. Callable anywhere.
  Status make_reserve(std::int64_t bytes);
  // The calls from here on run outside a batch and a view. release_reserve() removes the file,
  // whatever size is stored.
  Status release_reserve();
  // In a batch: removes the file if the stored size is 0.
  Status remove_unwanted_reserve();
  // Write the log back (sql/database.hpp); outside a batch and a view.
  Status empty_log();
  Status write_back_log();

  // ---- for the other classes of the storage ----
  Status start_clock();
  // In a view: reads the clock as the row has it.
  Status refresh_clock();
  // Adds to a commit that happens anyway: the mark of the clock, if it is old, and the counters.
  Status write_mark();
  Status require_persisted_starts();
  // Keeps the limits for senders, for when no runtime lives.
  Status keep_mailbox_limits(const MailboxLimits& limits);
  void forget_meta();
  // For a move: the place of another database counts on from this one's time. Requires: a view
  // here, and a transaction there.
  Status carry_clock(Place& to);
  // kQuota: refused, because a new instance or message from outside must not take the room that
  // running work needs.
  Status room_for_new();
  Status look_for_room();
  Status remove_reserve();

 private:
  Status read_meta(ClockRow* out);
  Status check_meta(const Statement& row);
  Status write_meta();
  Status store_counters();
  Status adopt_boot(const ClockSample& sample);
  Status begin_shared(const ClockSample& sample);
  Status credit(std::int64_t gap_ms, std::int64_t segment_max, const ClockSample& sample);
  Status sync_clock(const ClockSample& sample);
  Status note_clock(std::string_view kind, const ClockSample& sample, std::int64_t detail);

  sql::SharedClock* const shared_;         // null: all processes are of one machine
  std::int64_t persist_starts_until_ = 0;  // Pawl time, from meta
  ClockRow clock_now_;  // context_.clock with changes that wait for a commit that happens anyway
  // Holds until forget_meta(), or until this connection writes the row.
  bool meta_is_known_ = false;  // context_.clock and the other columns of meta
  Status read_pragma(sql::QueryRef query, const char* what, std::int64_t* out);

  OfBatch<bool> has_room_;  // a look has found room
};

}  // namespace pawl::store

#endif  // PAWL_STORE_PLACE_PLACE_HPP

// Batches: batches and views, and the damage that they meet.
//
// Purpose: a batch begins with the write lock, the clock and a look at whether others have
// committed; it ends with one commit, or with nothing. A damaged row is taken out of the way, so
// that all others go on (quarantine.cpp). Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_PLACE_BATCHES_HPP
#define PAWL_STORE_PLACE_BATCHES_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/port.hpp"
#include "store/context.hpp"
#include "store/instance/rows.hpp"
#include "store/place/arguments.hpp"
#include "store/place/due_index.hpp"
#include "store/rows.hpp"
#include "store/session/owners.hpp"
#include "store/session/rows.hpp"
#include "store/sql/damage.hpp"
#include "store/sql/database.hpp"
#include "store/work/arguments.hpp"
#include "store/work/fetch.hpp"
#include "store/work/items.hpp"
#include "store/work/rows.hpp"
#include "store/work/unregistered.hpp"
#include "store/worker/rows.hpp"

namespace pawl::store {

// RowRef::key of a row of session_totals: what * kTotalsKeys + bucket.
inline constexpr std::int64_t kTotalsKeys = 1'000;

class Batches : private Table {
 public:
  Batches(StoreContext& context, Rows& rows, SessionOwners& owners)
      : Table(context), rows_(rows), owners_(owners) {}

  // kBusy after busy_ms_max, and while the last batch is in doubt. kBuried if `me` is not 0 and
  // another worker buried it, or the server lost commits (the batch is over).
  Status begin(Incarnation me, BatchInfo* info);
  // kInDoubt: it may be committed or not, and the batch goes on until find_outcome() or rollback().
  // `most_ms`: a server that has not answered by then is not waited for; none: it is.
  Status commit(OptionalMs most_ms = OptionalMs());
  // kOk: it is committed; kInDoubt; else it is not, and never will be, and the batch is over.
  Status find_outcome();
  // In doubt: it is not asked for any more.
  void rollback();
  // Whether the last committed batch wrote anything. A batch that did not costs no flush and rings
  // no bell.
  [[nodiscard]] bool last_commit_wrote() const;
  // Whether it put messages into instances' queues. If so, there are turns to look for.
  [[nodiscard]] bool last_commit_sent() const;
  // Begins a consistent view for several reads; not nested, not inside a batch.
  Status begin_read();
  void end_read();
  // Rises when another connection committed (not by own commits). Cheap; outside of batches.
  Result<std::int64_t> data_version();
  // Another machine waits for a commit of this worker, whatever it writes: renewing its leases will
  // do.
  [[nodiscard]] bool owes_commit();
  // The row that made a call fail since the last take_damage(). Until it is taken, commit() answers
  // kCorrupt.
  std::optional<Damage> take_damage();
  // In a batch: moves the row out of the way, so that all others go on. A damaged instance, or the
  // instance of a damaged message, stops; a damaged work item fails; a session loses its owner.
  // ChangeSink::on_damage() names the row.
  Status quarantine(const Damage& damage);
  // kCorrupt: a table has no keys left for new rows, since one row has the highest possible key.
  // SQLite reports this with the same code as a full disk. The diagnostic names the table.
  Status check_keys();
  // In a batch: stops for good, with kCorrupt, an instance that fetch_orchestration_item() called
  // broken. No column of its row is trusted. kStale: it was parked since.
  Status stop_broken(InstanceKey key, std::string_view text);

  // ---- for the other classes of the storage ----
  // For a process that writes often: it takes turns at the write lock with others.
  void take_turns();
  void leave_turns();
  // Forgets what is known of rows without reading them: others have committed, or what was written
  // was rolled back.
  void forget_known();
  Status quarantine_instance(InstanceKey key, ErrorKind kind, std::string_view text);

 private:
  Status take_write_lock(bool is_loop);
  Status wait_for_write_lock();
  Status find_outcome(bool wrote, Status failed);
  Status conclude(bool wrote);
  void end_batch();
  // Requires: a transaction has begun. Notes whether another connection has committed since the
  // last one.
  Status note_others();
  Status look_at_others();

  port::FileHandle turn_ = port::kNoFile;  // kNoFile: this process takes no turns
  int begun_without_turn_ = 0;             // batches of the loop since it last waited for its turn
  bool is_in_doubt_ = false;
  bool last_commit_wrote_ = false;
  bool last_commit_sent_ = false;
  std::int64_t writes_before_ = 0;  // the connection's changes when the batch began
  std::uint32_t file_version_ = 0;  // SQLite's, when the last transaction began or its commit ended
  Status quarantine_row(const RowRef& row, const Damage& damage);
  Status quarantine_message(MessageId id, ErrorKind kind, std::string_view text);
  Status quarantine_session(SessionKey session, std::string_view text);
  Status drop_session(SessionKey session, std::string_view text);
  Status drop_totals(std::int64_t key, std::string_view text);

  Rows& rows_;
  SessionOwners& owners_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_PLACE_BATCHES_HPP

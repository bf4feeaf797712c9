// Batch: a transaction of the storage, its time, and the damage it meets.
//
// Purpose: every call of a facet under "in a batch" stands between begin() and commit() or
// rollback(), which are one write transaction. If a call answers kIo, kFull, kCorrupt or
// kResourceExhausted the batch is dead: roll it back. kStale, kNotFound and kAlreadyExists leave it
// alive and unchanged. Ownership and thread rule: as store.hpp. Times: Pawl time in ms
// (clock_rules.hpp) unless a name says otherwise.
#ifndef PAWL_STORE_BATCH_HPP
#define PAWL_STORE_BATCH_HPP

#include <cstdint>
#include <optional>

#include "damage.hpp"
#include "ids.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"

namespace pawl {

// The facts that a batch found when it began; the same for all calls in it.
struct BatchInfo {
  std::int64_t now = 0;       // Pawl time, read after the lock was held
  std::int64_t stamp_ms = 0;  // for people (T9)
  std::int64_t boot_seq = 0;
  bool utc_known = false;
  std::int64_t utc_ms = 0;
  bool draining = false;  // `me` is draining: it claims nothing
  std::int64_t data_version = 0;
  // A process died in the first turn of an instance that had no row yet. For some time starts are
  // stored before their first turn, so that a crash in it can be charged.
  bool persist_starts_first = false;
  std::int64_t quota_bytes = 0;      // set by set_space()
  bool clock_adopted = false;        // this batch adopted a new boot
  bool clock_synced = false;         // this batch confirmed the offset
  bool clock_confirmed = false;      // the offset is confirmed for this boot
  std::int64_t clock_credit_ms = 0;  // off time credited to older timers
};

struct IoUse {
  std::uint64_t flushes = 0;
  std::uint64_t bytes = 0;  // written, to database, log and journal
};

class Batch {
 public:
  // kBusy after busy_ms_max; kBuried if `me` is not 0 and another worker buried it (the batch is
  // over).
  virtual Status begin(Incarnation me, BatchInfo* info) = 0;
  virtual Status commit() = 0;
  virtual void rollback() = 0;
  // Whether the last committed batch wrote anything. A batch that did not costs no flush and rings
  // no bell.
  [[nodiscard]] virtual bool last_commit_wrote() const = 0;
  // Whether it put messages into instances' queues. If so, there are turns to look for.
  [[nodiscard]] virtual bool last_commit_sent() const = 0;
  // The input and output of all connections of this process over the same Storage, since the first
  // of them was opened. Other work of the port (the bell, the folder of a new file) is not counted.
  [[nodiscard]] virtual IoUse io_use() const = 0;
  // Begins a consistent view for several reads; not nested, not inside a batch.
  virtual Status begin_read() = 0;
  virtual void end_read() = 0;
  // Rises when another connection committed (not by own commits). Cheap; outside of batches.
  virtual Result<std::int64_t> data_version() = 0;
  // The Pawl time now, by the clock row that was read last; only after the first begin().
  [[nodiscard]] virtual std::int64_t pawl_now() = 0;
  [[nodiscard]] virtual std::int64_t boot_ms_of(std::int64_t pawl_time) const = 0;

  // ---- damage ----
  // kCorrupt: a table has no keys left for new rows, since one row has the highest possible key.
  // SQLite reports this with the same code as a full disk. The diagnostic names the table.
  virtual Status check_keys() = 0;
  // The row that made a call fail since the last take_damage(). Until it is taken, commit() answers
  // kCorrupt.
  virtual std::optional<Damage> take_damage() = 0;
  // In a batch: moves the row out of the way, so that all others go on. A damaged instance, or the
  // instance of a damaged message, stops; a damaged work item fails; a session loses its owner.
  // ChangeSink::on_damage() names the row.
  virtual Status quarantine(const Damage& damage) = 0;

 protected:
  ~Batch() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_BATCH_HPP

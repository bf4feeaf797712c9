// SharedClock: Pawl time of a store that several machines share.
//
// Purpose: on one machine a number in the row of meta turns boot time into Pawl time (T1). Machines
// have boot clocks of their own, so an engine that they share counts in another way
// (docs/rules/fleet.md, F1 to F5b), and writes the clock's columns of meta with each commit itself.
// Ownership: the engine owns it. Thread rule: that of its connection.
#ifndef PAWL_STORE_SQL_SHARED_CLOCK_HPP
#define PAWL_STORE_SQL_SHARED_CLOCK_HPP

#include <cstdint>

#include "core/clock_rules.hpp"
#include "core/ids.hpp"

namespace pawl::sql {

class SharedClock {
 public:
  struct Begun {
    bool adopted = false;  // the batch begins a segment, and something passed before it uncounted
    bool refused = false;  // so much is not known
    std::int64_t credit_ms = 0;
  };
  // Sets the clock of a batch whose lock is held: `boot_seq`, which is the segment, and `k`.
  virtual Begun begin(const ClockSample& now, ClockRow* row) = 0;
  // Sets `k`, outside of a batch, in the row as it was read.
  virtual void count(ClockRow* row) = 0;
  // The offset that the commit of the batch is to write. It writes the mark by itself.
  virtual void keep(const ClockRow& row) = 0;
  // In a batch: it registers this worker, whose connection this is.
  virtual void set_worker(Incarnation worker) = 0;
  // Another machine waits for a commit of this connection's worker, whatever it writes (F4a).
  [[nodiscard]] virtual bool owes_commit() const = 0;
  // No exclusive session gets another owner before this time (F15a).
  [[nodiscard]] virtual OptionalMs moves_held_until() const = 0;
  // Until when, in boot time, a worker may count on a lease that the batch renews (F6).
  [[nodiscard]] virtual std::int64_t own_lease_end(std::int64_t lease_ms) const = 0;
  // In the place of the boot's number in rows of workers, locks and leases. Equal numbers are of
  // one boot of one machine; others say nothing.
  [[nodiscard]] virtual std::int64_t boot_number() const = 0;

 protected:
  ~SharedClock() = default;
};

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_SHARED_CLOCK_HPP

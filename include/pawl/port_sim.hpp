// The simulated machine: virtual clocks and storage in memory, for tests without sleeping.
//
// Purpose: a Machine is one computer: its kernel clock, wall clock, files and processes. A Node is
// one simulated process on it; node.port() goes to a Runtime or Client. Time moves only when the
// test moves it, or when a Node waits with a due time (then the clock jumps there). Nothing is
// random but by seed. It is deterministic as long as one thread drives everything. A new machine
// has been up for a minute; its wall clock says 2040-01-01 00:01 and is trusted.
// Ownership: the Machine outlives its Nodes. Memory: files live on the heap; the simulator is for
// tests and is exempt from the no-allocation rule.
// Thread rule: one thread.
#ifndef PAWL_PORT_SIM_HPP
#define PAWL_PORT_SIM_HPP

#include <cstddef>
#include <cstdint>

#include "pawl/port.hpp"
#pragma GCC visibility push(default)

namespace pawl::sim {

struct [[gnu::visibility("hidden")]] MachineImpl;
struct [[gnu::visibility("hidden")]] NodeImpl;

class Machine {
 public:
  explicit Machine(std::uint64_t seed = 1);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // ---- time ----
  void advance(std::int64_t ms);  // boot time and wall clock go on together
  void suspend(std::int64_t ms);  // advances; every node's next wait() finds that it overslept
  void set_wall(std::int64_t wall_ms);  // a step: boot time is untouched, nodes see `clock`
  void set_synced(bool synced);
  [[nodiscard]] std::int64_t boot_ms() const;
  [[nodiscard]] std::int64_t wall_ms() const;
  // Turns the power off for `off_ms` and starts a new kernel: boot time from 0, a new boot id, all
  // nodes dead, their locks free. The wall clock goes on by off_ms if `rtc`, else it starts at
  // `wall_without_rtc_ms`, unsynced.
  void reboot(std::int64_t off_ms, bool rtc = true, std::int64_t wall_without_rtc_ms = 0);
  void set_boot_id_known(bool known);

  // ---- files ----
  // The n-th write or sync from now on fails with `status`, once or from then on; 0: none. A write
  // of more than 512 bytes to a log counts as several and is torn between them: at each 512 bytes
  // of the file, and between any two frames.
  void fail_write(std::uint64_t nth, Status status, bool for_ever);
  // A sync call takes this long from now on. 0, as at first: no time.
  void set_sync_ms(std::int64_t ms);
  // All files together hold at most this many bytes; a write beyond that fails with kFull. 0: no
  // limit.
  void set_disk_bytes(std::int64_t bytes);
  [[nodiscard]] std::int64_t stored_bytes() const;
  [[nodiscard]] std::uint64_t writes() const;
  [[nodiscard]] std::uint64_t syncs() const;
  // Off at first: every write is on the disk at once. On: a reboot keeps, loses or tears (at 512
  // bytes) each write since the last sync of its file, by the seed.
  void set_power_cut_losses(bool losses);
  // Flips one byte of a file; kNotFound if there is no such file.
  Status damage(const char* path, std::int64_t offset);

  // ---- folders of port::Folders: apart from the database's files, and without contents ----
  enum class Entry : std::uint8_t { kNone, kFolder, kFile };
  // Puts an entry there, with the folders above it; kNone: takes it away, with everything below it.
  void put_entry(const char* path, Entry entry);
  [[nodiscard]] Entry entry(const char* path) const;
  // The number of entries below a folder, however deep.
  [[nodiscard]] std::size_t entries_below(const char* path) const;
  // Making and removing folders fails from now on; kOk: it works again.
  void fail_folders(Status status);

  MachineImpl* impl() { return impl_; }

 private:
  MachineImpl* impl_;
};

// One simulated process. Its executor jobs run inside its own wait(), in order of submission,
// unless hold_jobs(true).
class Node {
 public:
  explicit Node(Machine& machine);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  [[nodiscard]] port::Port port();
  // Kills the process (SIGKILL): its file locks, worker locks and shared-memory locks are free from
  // now on, its watchers reported. The C++ objects using it must not be used any more (destroying
  // them is allowed).
  void kill();
  [[nodiscard]] bool killed() const;
  void hold_jobs(bool hold);
  // Runs submitted jobs now; answers how many ran.
  unsigned run_jobs();
  // A descriptor is any number from 0; all are unreadable at first.
  void set_readable(int fd, bool is_readable);
  // The number of times that wait() would have slept (an idle runtime's wake-ups).
  [[nodiscard]] std::uint64_t sleeps() const;
  // false: this process cannot test others' locks (a container with its own mount).
  void set_locks_testable(bool testable);

 private:
  NodeImpl* impl_;
};

}  // namespace pawl::sim
#pragma GCC visibility pop

#endif  // PAWL_PORT_SIM_HPP

// ProcessIo: bytes that processes wrote, as Linux counts them.
//
// Purpose: from outside only /proc/PID/io shows how much a worker writes. The kernel counts there
// what a process sent to the block device: the whole process, not Pawl alone.
// Ownership: plain values. Thread rule: one thread.
#ifndef PAWL_APPS_PAWL_PROCESS_IO_HPP
#define PAWL_APPS_PAWL_PROCESS_IO_HPP

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pawl::tool {

// The number after "write_bytes:".
[[nodiscard]] std::optional<std::int64_t> parse_write_bytes(std::string_view io);
// None: no such process, or another user's.
[[nodiscard]] std::optional<std::int64_t> written_by(std::int64_t pid);
// The time of CLOCK_BOOTTIME.
[[nodiscard]] std::int64_t boot_ms();

// Two readings of the same processes.
class WriteRate {
 public:
  // Counts from here; a process that comes later counts from its first reading.
  void read(const std::vector<std::int64_t>& pids);
  // Bytes between the last two readings; ms() is the time between them. None if no process could be
  // read both times.
  [[nodiscard]] std::optional<std::int64_t> bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t ms() const { return ms_; }
  // 0 if there are no bytes, or no time between the readings.
  [[nodiscard]] std::int64_t bytes_a_day() const;

 private:
  struct Seen {
    std::int64_t pid;
    std::int64_t bytes;
  };
  std::vector<Seen> seen_;
  std::optional<std::int64_t> bytes_;
  std::int64_t at_ms_ = 0;
  std::int64_t ms_ = 0;
};

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_PROCESS_IO_HPP

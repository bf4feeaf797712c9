// ProcessIo: what processes wrote, as Linux counts it.
//
// Purpose: how much a worker writes can be seen from outside only in /proc/PID/io, where the kernel
// counts what a process had sent to the block device. It is of the whole process, not of Pawl alone.
// Ownership: plain values. Thread rule: one thread.
#ifndef PAWL_TOOL_PROCESS_IO_HPP
#define PAWL_TOOL_PROCESS_IO_HPP

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pawl::tool {

// The number behind "write_bytes:".
[[nodiscard]] std::optional<std::int64_t> parse_write_bytes(std::string_view io);
// None: there is no such process, or another user's.
[[nodiscard]] std::optional<std::int64_t> written_by(std::int64_t pid);
// CLOCK_BOOTTIME.
[[nodiscard]] std::int64_t boot_ms();

// Two readings of the same processes.
class WriteRate {
 public:
  // Counts from here; of processes that come later, from their first reading.
  void read(const std::vector<std::int64_t>& pids);
  // Bytes since the reading before the last, and over how long; no bytes where none of them could be
  // read both times.
  [[nodiscard]] std::optional<std::int64_t> bytes() const { return bytes_; }
  [[nodiscard]] std::int64_t ms() const { return ms_; }
  // 0 without bytes, or without time between the readings.
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

#endif  // PAWL_TOOL_PROCESS_IO_HPP

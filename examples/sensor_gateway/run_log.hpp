// RunLog: an append-only file of lines, the gateway's own account of what it did.
//
// It does not use Pawl, so it is an independent witness: check.py compares it with the database. A
// line is one write(2), so lines of several threads and processes never mix.
#ifndef GATEWAY_RUN_LOG_HPP
#define GATEWAY_RUN_LOG_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace gateway {

class RunLog {
 public:
  RunLog() = default;
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  bool open(const char* path);
  // Writes `line` and a newline. On return the line has reached the disk.
  bool append(std::string line) const;
  // Whether the file contains `text`.
  [[nodiscard]] bool contains(std::string_view text) const;

 private:
  int fd_ = -1;
};

// Microseconds since the kernel started. All processes share this clock, and it cannot be set.
[[nodiscard]] std::int64_t boot_us();

}  // namespace gateway

#endif  // GATEWAY_RUN_LOG_HPP

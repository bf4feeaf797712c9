// RunLog: an append-only file of lines, the gateway's own account of what it did.
//
// It knows nothing of Pawl, so that it can bear witness: check.py holds it against the database.
// A line is one write(2), so lines of several threads and processes never mix.
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
  // Adds the end of line itself; on return the line has reached the disk.
  bool append(std::string line) const;
  // Is this text in the file?
  [[nodiscard]] bool contains(std::string_view text) const;

 private:
  int fd_ = -1;
};

// Microseconds since the kernel started: one clock for all processes, which cannot be set.
[[nodiscard]] std::int64_t boot_us();

}  // namespace gateway

#endif  // GATEWAY_RUN_LOG_HPP

// LogOutput: the target of pawld's log lines, as the configuration says.
//
// Purpose: standard error for a terminal and for other supervisors, the journal with native fields
// under systemd, syslog. Ownership: the configuration outlives it. Thread rule: as pawl::LogSink.
#ifndef PAWL_APPS_PAWLD_LOG_OUTPUT_HPP
#define PAWL_APPS_PAWLD_LOG_OUTPUT_HPP

#include <optional>

#include "apps/pawld/config.hpp"
#include "pawl/log_sinks.hpp"

namespace pawld {

class LogOutput {
 public:
  explicit LogOutput(const Config& config);
  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;

  [[nodiscard]] pawl::LogSink& sink() { return *sink_; }

 private:
  std::optional<pawl::posix::FdLogSink> standard_error_;
  std::optional<pawl::posix::JournalLogSink> journal_;
  std::optional<pawl::posix::SyslogLogSink> syslog_;
  pawl::LogSink* sink_ = nullptr;
};

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_LOG_OUTPUT_HPP

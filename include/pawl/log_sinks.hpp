// Log sinks for Linux: a descriptor as text or as JSON lines, the journal of systemd, syslog.
//
// Purpose: sinks for Options::log in a program that has no log of its own. None of them allocates
// or waits after it was made, so a log that hangs does not block a tick.
// Ownership: a sink outlives every object that it is given to. Thread rule: write() from any
// thread; the rest from the thread that owns the sink.
#ifndef PAWL_LOG_SINKS_HPP
#define PAWL_LOG_SINKS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/log.hpp"
#include "pawl/name.hpp"
#pragma GCC visibility push(default)

namespace pawl::posix {

enum class LogForm : std::uint8_t {
  kText,       // level event key=value ..
  kTimedText,  // 2026-11-23T10:31:07.123Z level event key=value ..
  kJson,       // {"time":"2026-11-23T10:31:07.123Z","level":"info","event":"..","key":..}
};

// Writes each line to a descriptor, with one write(2). A text line has at most 512 bytes and is cut
// there; a JSON line has at most 4096, which a pipe takes whole: fields that do not fit are left
// out, a text of more than 1024 bytes is cut, and then "cut" is true. Characters that a terminal
// would obey are escaped. Times are those of the machine's clock, in UTC. Lines below `least` are
// dropped.
class FdLogSink final : public LogSink {
 public:
  // The descriptor stays the caller's, and outlives the sink.
  explicit FdLogSink(int fd, LogLevel least = LogLevel::kInfo, LogForm form = LogForm::kText);
  // Implements LogSink.
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override;
  [[nodiscard]] bool takes(LogLevel level) const noexcept override { return level >= least_; }

 private:
  int fd_;
  LogLevel least_;
  LogForm form_;
};

// A log that takes datagrams at a socket of this machine. A message that the socket does not take
// at once, or at all, is dropped and counted; the next that it takes comes after a
// "log_lines_dropped" with their number. When the log is started anew, the next message finds it.
class DatagramLogSink : public LogSink {
 public:
  DatagramLogSink(const DatagramLogSink&) = delete;
  DatagramLogSink& operator=(const DatagramLogSink&) = delete;
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept final;
  [[nodiscard]] bool takes(LogLevel level) const noexcept final { return level >= least_; }
  // The number of messages that were dropped so far. Callable from any thread.
  [[nodiscard]] std::uint32_t dropped() const { return dropped_; }

 protected:
  static constexpr std::size_t kMessageBytes = 8192;
  DatagramLogSink(std::string_view identifier, LogLevel least, const Path& socket);
  ~DatagramLogSink();
  [[nodiscard]] std::string_view identifier() const { return {identifier_, identifier_size_}; }

 private:
  // Answers the size of the message.
  virtual std::size_t format(LogLevel level, std::string_view event, const LogField* fields,
                             std::size_t count, char (&out)[kMessageBytes]) const noexcept = 0;
  bool send(LogLevel level, std::string_view event, const LogField* fields,
            std::size_t count) noexcept;

  int fd_;  // -1: there is none, and every message is dropped
  LogLevel least_;
  std::atomic<std::uint32_t> dropped_{0};
  std::atomic<std::uint32_t> unreported_{0};
  char socket_[108];  // in the form of sockaddr_un; empty: the path does not fit
  char identifier_[64];
  std::size_t identifier_size_;
};

// A sink for the journal of systemd, with native fields (systemd's "Native Journal Protocol"):
// MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, PAWL_EVENT and each field as PAWL_<KEY>, so `journalctl
// PAWL_INSTANCE=bed-7` finds an instance. Fields that do not fit into 8 KiB are left out.
class JournalLogSink final : public DatagramLogSink {
 public:
  // `identifier` is the program's name in the log; `socket` is where the log listens.
  explicit JournalLogSink(std::string_view identifier, LogLevel least = LogLevel::kInfo,
                          const Path& socket = "/run/systemd/journal/socket")
      : DatagramLogSink(identifier, least, socket) {}

 private:
  std::size_t format(LogLevel level, std::string_view event, const LogField* fields,
                     std::size_t count, char (&out)[kMessageBytes]) const noexcept override;
};

// A sink for syslog, facility "daemon", with the line of LogForm::kText.
class SyslogLogSink final : public DatagramLogSink {
 public:
  // The arguments are those of JournalLogSink().
  explicit SyslogLogSink(std::string_view identifier, LogLevel least = LogLevel::kInfo,
                         const Path& socket = "/dev/log")
      : DatagramLogSink(identifier, least, socket) {}

 private:
  std::size_t format(LogLevel level, std::string_view event, const LogField* fields,
                     std::size_t count, char (&out)[kMessageBytes]) const noexcept override;
};

}  // namespace pawl::posix
#pragma GCC visibility pop

#endif  // PAWL_LOG_SINKS_HPP

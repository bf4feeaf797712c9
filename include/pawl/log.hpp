// LogSink: where Pawl logs what happens, for people.
//
// Purpose: structured lines (level, event name, fields) without allocation; a host forwards them to
// its own log. Ownership: the sink belongs to the caller and must outlive every object given it;
// all views passed to write() end with the call. Thread rule: write() is called on the thread that
// owns the Runtime or Client, and on activity threads; a sink shared by several must lock for
// itself.
#ifndef PAWL_LOG_HPP
#define PAWL_LOG_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

// How much a line matters; in rising order.
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

[[nodiscard]] const char* log_level_name(LogLevel level);

// One key and either a text or a number.
struct LogField {
  std::string_view key;     // lower case, as "instance"
  std::string_view text;    // unless is_number
  std::int64_t number = 0;  // if is_number
  bool is_number = false;   // which of the two it has
  // Each makes a field of what it is given.
  LogField() = default;
  LogField(std::string_view k, std::string_view v) : key(k), text(v) {}
  LogField(std::string_view k, std::int64_t v) : key(k), number(v), is_number(true) {}
};

class LogSink {
 public:
  // `event` is a stable lower-case name ("session_claimed"). Must not call back into Pawl.
  virtual void write(LogLevel level, std::string_view event, const LogField* fields,
                     std::size_t count) noexcept = 0;
  // Asked before lines that come often: those of a level that is not taken are not even put
  // together. What was asked for and not taken must be dropped by write().
  [[nodiscard]] virtual bool takes(LogLevel /*level*/) const noexcept { return true; }

 protected:
  ~LogSink() = default;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_LOG_HPP

// LogSink: the place where Pawl logs what happens, for people.
//
// Purpose: structured lines (level, event name, fields) without allocation; a host forwards them to
// its own log. Ownership: the sink belongs to the caller and must outlive every object that has it;
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

// The importance of a line, in rising order.
enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

[[nodiscard]] const char* log_level_name(LogLevel level);

// A key with either a text or a number.
struct LogField {
  std::string_view key;     // lower case, as "instance"
  std::string_view text;    // unless is_number
  std::int64_t number = 0;  // if is_number
  bool is_number = false;   // true: it has a number
  // Each makes a field of its arguments.
  LogField() = default;
  LogField(std::string_view k, std::string_view v) : key(k), text(v) {}
  LogField(std::string_view k, std::int64_t v) : key(k), number(v), is_number(true) {}
};

class LogSink {
 public:
  // `event` is a stable lower-case name ("session_claimed"). The function must not call back into
  // Pawl.
  virtual void write(LogLevel level, std::string_view event, const LogField* fields,
                     std::size_t count) noexcept = 0;
  // Calls the one above with all of `fields`, which may stand in braces.
  template <std::size_t kCount>
  void write(LogLevel level, const std::string_view& event,
             const LogField (&fields)[kCount]) noexcept {
    write(level, event, fields, kCount);
  }
  // Whether the sink takes lines of this level. Pawl asks before frequent lines, and does not even
  // compose those that are not taken. Not all lines are asked for; write() must drop those of such
  // a level.
  [[nodiscard]] virtual bool takes(LogLevel /*level*/) const noexcept { return true; }

 protected:
  ~LogSink() = default;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_LOG_HPP

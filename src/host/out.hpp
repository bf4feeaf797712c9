// What a program prints: the one way out for all of its text.
//
// Purpose: texts of others (out of a database, or off the command line) are escaped, those of the
// program are not; which is which is said at each call. Thread rule: one thread.
#ifndef PAWL_HOST_OUT_HPP
#define PAWL_HOST_OUT_HPP

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "pawl/printable.hpp"

namespace pawl {

class Out final : private TextSink {
 public:
  explicit Out(std::FILE* to) : to_(to) {}

  // A text of this program, as it is: a word, a separator, a line end.
  Out& own(std::string_view text) {
    write(text);
    return *this;
  }
  // Any text from outside, so that a terminal shows it and does nothing else.
  Out& text(std::string_view text) {
    write_printable(text, *this);
    return *this;
  }
  Out& number(std::int64_t number) {
    char digits[24];
    const int size = std::snprintf(digits, sizeof digits, "%" PRId64, number);
    return own({digits, static_cast<std::size_t>(size)});
  }
  // False: something could not be written.
  [[nodiscard]] bool flush() { return std::fflush(to_) == 0 && std::ferror(to_) == 0; }

 private:
  // Failures stay in the stream until flush().
  bool write(std::string_view text) noexcept override {
    return text.empty() || std::fwrite(text.data(), 1, text.size(), to_) == text.size();
  }
  std::FILE* to_;
};

}  // namespace pawl

#endif  // PAWL_HOST_OUT_HPP

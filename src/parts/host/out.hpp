// Out: the one way out for all text that a program prints.
//
// Purpose: texts from outside (a database, the command line) are escaped, the program's own are
// not; each call says which it has. Thread rule: one thread.
#ifndef PAWL_PARTS_HOST_OUT_HPP
#define PAWL_PARTS_HOST_OUT_HPP

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "pawl/printable.hpp"

namespace pawl {

class Out final : private TextSink {
 public:
  explicit Out(std::FILE* to) : to_(to) {}

  // Prints a text of this program unchanged: a word, a separator, a line end.
  Out& own(std::string_view text) {
    write(text);
    return *this;
  }
  // Prints any text from outside, so that a terminal shows it and does nothing else.
  Out& text(std::string_view text) {
    write_printable(text, *this);
    return *this;
  }
  Out& number(std::int64_t number) {
    char digits[24];
    const int size = std::snprintf(digits, sizeof digits, "%" PRId64, number);
    return own({digits, static_cast<std::size_t>(size)});
  }
  // False: a text could not be written.
  [[nodiscard]] bool flush() { return std::fflush(to_) == 0 && std::ferror(to_) == 0; }

 private:
  // Failures stay in the stream until flush().
  bool write(std::string_view text) noexcept override {
    return text.empty() || std::fwrite(text.data(), 1, text.size(), to_) == text.size();
  }
  std::FILE* to_;
};

}  // namespace pawl

#endif  // PAWL_PARTS_HOST_OUT_HPP

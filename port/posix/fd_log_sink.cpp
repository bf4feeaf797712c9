#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "pawl/port_posix.hpp"
#include "posix_descriptor.hpp"

namespace pawl::posix {
namespace {

// One line, cut at its end: a log must never make a second write or allocate.
class Line {
 public:
  void add(std::string_view text) {
    for (const char c : text)
      put(c);
  }
  // Quoted where a reader could not find the end of the value; never a line break of its own.
  void add_value(std::string_view text) {
    const bool plain = !text.empty() && text.find_first_of(" =\"\\") == std::string_view::npos;
    if (!plain) put('"');
    for (const char c : text) {
      if (!plain && (c == '"' || c == '\\')) put('\\');
      put(static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c);
    }
    if (!plain) put('"');
  }
  void add_number(std::int64_t number) {
    char digits[24];
    const int size = std::snprintf(digits, sizeof(digits), "%" PRId64, number);
    add({digits, static_cast<std::size_t>(size)});
  }
  void write_to(int fd) {
    text_[size_++] = '\n';
    // A log that cannot be written has nobody to tell.
    (void)retried([&] { return ::write(fd, text_, size_); });
  }

 private:
  static constexpr std::size_t kLineBytes = 512;
  void put(char c) {
    if (size_ + 1 < kLineBytes) text_[size_++] = c;
  }
  char text_[kLineBytes];
  std::size_t size_ = 0;
};

}  // namespace

void FdLogSink::write(LogLevel level, std::string_view event, const LogField* fields,
                      std::size_t count) {
  if (level < least_) return;
  Line line;
  line.add(log_level_name(level));
  line.add(" ");
  line.add(event);
  for (std::size_t i = 0; i < count; ++i) {
    line.add(" ");
    line.add(fields[i].key);
    line.add("=");
    if (fields[i].is_number) {
      line.add_number(fields[i].number);
    } else {
      line.add_value(fields[i].text);
    }
  }
  line.write_to(fd_);
}

}  // namespace pawl::posix

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "pawl/port_posix.hpp"
#include "pawl/printable.hpp"
#include "posix_descriptor.hpp"

namespace pawl::posix {
namespace {

// One line, cut at its end: a log must never make a second write or allocate.
class Line final : public TextSink {
 public:
  void add(std::string_view text) { write(text); }
  // Quoted where a reader could not find the end of the value; with nothing in it that a terminal
  // obeys, nor a line break of its own.
  void add_value(std::string_view text) {
    const bool plain = !text.empty() && text.find_first_of(" =\"\\") == std::string_view::npos;
    if (!plain) add("\"");
    while (!text.empty()) {
      const std::size_t quote = text.find('"');
      write_printable(text.substr(0, quote), *this);
      text.remove_prefix(quote == std::string_view::npos ? text.size() : quote + 1);
      if (quote != std::string_view::npos) add("\\\"");
    }
    if (!plain) add("\"");
  }
  void add_number(std::int64_t number) {
    char digits[24];
    const int size = std::snprintf(digits, sizeof(digits), "%" PRId64, number);
    add({digits, static_cast<std::size_t>(size)});
  }
  void write_to(int fd) {
    text_[size_++] = '\n';
    // A log that cannot be written cannot report that.
    (void)retried([&] { return ::write(fd, text_, size_); });
  }
  // What does not fit whole is cut between two characters, or left out if it is an escape; nothing
  // follows it.
  bool write(std::string_view piece) noexcept override {
    std::size_t fits = full_ ? 0 : kLineBytes - 1 - size_;
    if (piece.size() <= fits) {
      fits = piece.size();
    } else {
      full_ = true;
      if (!piece.empty() && piece[0] == '\\') fits = 0;
      while (fits > 0 && (static_cast<unsigned char>(piece[fits]) & 0xc0U) == 0x80U)
        --fits;
    }
    std::memcpy(text_ + size_, piece.data(), fits);
    size_ += fits;
    return !full_;
  }

 private:
  static constexpr std::size_t kLineBytes = 512;
  char text_[kLineBytes];
  std::size_t size_ = 0;
  bool full_ = false;
};

}  // namespace

void FdLogSink::write(LogLevel level, std::string_view event, const LogField* fields,
                      std::size_t count) noexcept {
  if (!takes(level)) return;
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

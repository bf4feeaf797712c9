#include "pawl/log_sinks.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "pawl/json_out.hpp"
#include "pawl/printable.hpp"
#include "port/posix/posix_descriptor.hpp"

namespace pawl::posix {
namespace {

// A text of fixed size, cut at its end: a log must never make a second write or allocate.
template <std::size_t kBytes>
class Buffer final : public TextSink {
 public:
  void add(std::string_view text) { write(text); }
  void add_number(std::int64_t number) {
    char digits[24];
    const int size = std::snprintf(digits, sizeof(digits), "%" PRId64, number);
    add({digits, static_cast<std::size_t>(size)});
  }
  // A piece that does not fit is cut between two characters, or left out if it is an escape;
  // nothing follows it. Returns true even then: the writer goes on, and full() says that the text
  // was cut.
  bool write(std::string_view piece) noexcept override {
    std::size_t fits = full_ ? 0 : kBytes - 1 - size_;
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
    return true;
  }
  // Adds all bytes or none, whatever they are.
  void add_bytes(std::string_view bytes) {
    if (full_ || bytes.size() > kBytes - 1 - size_) {
      full_ = true;
    } else if (!bytes.empty()) {
      std::memcpy(text_ + size_, bytes.data(), bytes.size());
      size_ += bytes.size();
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool full() const { return full_; }
  // Forgets everything written after the buffer had this size.
  void cut_to(std::size_t size) {
    size_ = size;
    full_ = false;
  }
  // Uses the byte that the buffer keeps free.
  void end_line() { text_[size_++] = '\n'; }
  [[nodiscard]] const char* data() const { return text_; }

 private:
  char text_[kBytes];
  std::size_t size_ = 0;
  bool full_ = false;
};

constexpr std::size_t kLineBytes = 512;
constexpr std::size_t kJsonLineBytes =
    4096;  // PIPE_BUF of Linux: a pipe takes this much in one piece
constexpr std::size_t kJsonTextBytesMax = 1024;

using Line = Buffer<kLineBytes>;
using JsonLine = Buffer<kJsonLineBytes>;

// Quotes a value if a reader could not find its end otherwise. Escapes line breaks and everything
// that a terminal obeys.
void add_value(std::string_view text, Line& line) {
  const bool plain = !text.empty() && text.find_first_of(" =\"\\") == std::string_view::npos;
  if (!plain) line.add("\"");
  while (!text.empty()) {
    const std::size_t quote = text.find('"');
    write_printable(text.substr(0, quote), line);
    text.remove_prefix(quote == std::string_view::npos ? text.size() : quote + 1);
    if (quote != std::string_view::npos) line.add("\\\"");
  }
  if (!plain) line.add("\"");
}

void add_event(std::string_view event, const LogField* fields, std::size_t count, Line& line) {
  line.add(event);
  for (std::size_t i = 0; i < count; ++i) {
    line.add(" ");
    line.add(fields[i].key);
    line.add("=");
    if (fields[i].is_number) {
      line.add_number(fields[i].number);
    } else {
      add_value(fields[i].text, line);
    }
  }
}

struct TimeText {
  char text[40];
  std::size_t size;
};

// The time by ISO 8601 in UTC, with milliseconds.
TimeText time_text(const timespec& now) {
  tm date = {};
  ::gmtime_r(&now.tv_sec, &date);
  TimeText out;
  const int size =
      std::snprintf(out.text, sizeof out.text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                    date.tm_year + 1900, date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min,
                    date.tm_sec, static_cast<int>(now.tv_nsec / 1'000'000));
  out.size = size < 0 ? 0 : static_cast<std::size_t>(size);
  return out;
}

TimeText time_text_of_now() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return time_text(now);
}

// The first `bytes` bytes at most, cut between two characters.
std::string_view front_of(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80U)
    --bytes;
  return text.substr(0, bytes);
}

// The line is JSON whatever the fields hold: a field that does not fit is left out as a whole.
void add_json(LogLevel level, std::string_view event, const LogField* fields, std::size_t count,
              JsonLine& line) {
  constexpr std::string_view kEnd = ",\"cut\":true}\n";
  const TimeText time = time_text_of_now();
  JsonOut out(line);
  out.begin_object().text("time", {time.text, time.size});
  out.text("level", log_level_name(level)).text("event", event);
  bool cut = false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t before = line.size();
    const std::string_view text = front_of(fields[i].text, kJsonTextBytesMax);
    if (fields[i].is_number) {
      out.number(fields[i].key, fields[i].number);
    } else {
      out.text(fields[i].key, text);
    }
    const bool fits = !line.full() && line.size() + kEnd.size() < kJsonLineBytes;
    if (!fits) line.cut_to(before);
    cut = cut || !fits || text.size() < fields[i].text.size();
  }
  if (cut) out.flag("cut", true);
  out.end_object();
}

// ---- the journal ----

int severity_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return 7;
    case LogLevel::kInfo: return 6;
    case LogLevel::kWarning: return 4;
    case LogLevel::kError: break;
  }
  return 3;
}

// "=value", or, for a value with line ends: a line end, the size in 64 bits, and the value.
template <std::size_t kSize>
void add_journal_field(std::string_view value, Buffer<kSize>& out) {
  if (value.find('\n') == std::string_view::npos) {
    out.add("=");
  } else {
    out.add("\n");
    char size[8];
    for (std::size_t i = 0; i < sizeof size; ++i)
      size[i] = static_cast<char>(static_cast<std::uint64_t>(value.size()) >> (8 * i) & 0xffU);
    out.add({size, sizeof size});
  }
  out.add_bytes(value);
  out.add("\n");
}

// The key with Pawl's prefix, in the characters that the journal takes.
template <std::size_t kSize>
void add_journal_key(std::string_view key, Buffer<kSize>& out) {
  out.add("PAWL_");
  for (const char c : key.substr(0, 48)) {
    const bool small = c >= 'a' && c <= 'z';
    const bool taken = small || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const char as = small ? static_cast<char>(c - 'a' + 'A') : taken ? c : '_';
    out.add({&as, 1});
  }
}

}  // namespace

FdLogSink::FdLogSink(int fd, LogLevel least, LogForm form) : fd_(fd), least_(least), form_(form) {
  // The C library may read the time zone at the first use of a date, which allocates memory.
  if (form != LogForm::kText) (void)time_text_of_now();
}

void FdLogSink::write(LogLevel level, std::string_view event, const LogField* fields,
                      std::size_t count) noexcept {
  if (!takes(level)) return;
  // A log that cannot be written cannot report its own failure.
  const auto put = [this](auto& line) {
    line.end_line();
    (void)retried([&] { return ::write(fd_, line.data(), line.size()); });
  };
  if (form_ == LogForm::kJson) {
    JsonLine line;
    add_json(level, event, fields, count, line);
    put(line);
    return;
  }
  Line line;
  if (form_ == LogForm::kTimedText) {
    const TimeText time = time_text_of_now();
    line.add({time.text, time.size});
    line.add(" ");
  }
  line.add(log_level_name(level));
  line.add(" ");
  add_event(event, fields, count, line);
  put(line);
}

// ---- logs that take datagrams ----

DatagramLogSink::DatagramLogSink(std::string_view identifier, LogLevel least, const Path& socket)
    : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)), least_(least) {
  const std::string_view path = socket.view();
  static_assert(sizeof socket_ == sizeof(sockaddr_un::sun_path));
  const std::size_t path_size = path.size() < sizeof socket_ ? path.size() : 0;
  if (path_size > 0) std::memcpy(socket_, path.data(), path_size);
  socket_[path_size] = '\0';
  const std::string_view kept = front_of(identifier, sizeof identifier_);
  identifier_size_ = kept.size();
  if (!kept.empty()) std::memcpy(identifier_, kept.data(), kept.size());
}

DatagramLogSink::~DatagramLogSink() {
  if (fd_ >= 0) ::close(fd_);
}

// Sends to the path, not over a connection, so that a restarted log is found.
bool DatagramLogSink::send(LogLevel level, std::string_view event, const LogField* fields,
                           std::size_t count) noexcept {
  char message[kMessageBytes];
  const std::size_t size = format(level, event, fields, count, message);
  sockaddr_un to = {};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, socket_, sizeof socket_);
  return retried([&] {
           return ::sendto(fd_, message, size, MSG_DONTWAIT | MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&to), sizeof to);
         }) >= 0;
}

void DatagramLogSink::write(LogLevel level, std::string_view event, const LogField* fields,
                            std::size_t count) noexcept {
  if (!takes(level)) return;
  const std::uint32_t missing = unreported_.exchange(0);
  const LogField number("count", static_cast<std::int64_t>(missing));
  if (missing > 0 && !send(LogLevel::kWarning, "log_lines_dropped", &number, 1)) {
    unreported_ += missing + 1;
    ++dropped_;
  } else if (!send(level, event, fields, count)) {
    ++unreported_;
    ++dropped_;
  }
}

// Adds each field as a whole or not at all.
std::size_t JournalLogSink::format(LogLevel level, std::string_view event, const LogField* fields,
                                   std::size_t count, char (&out)[kMessageBytes]) const noexcept {
  Line line;
  add_event(event, fields, count, line);
  Buffer<kMessageBytes> message;
  message.add("MESSAGE");
  add_journal_field({line.data(), line.size()}, message);
  message.add("PRIORITY=");
  message.add_number(severity_of(level));
  message.add("\nSYSLOG_IDENTIFIER");
  add_journal_field(identifier(), message);
  message.add("PAWL_EVENT");
  add_journal_field(event, message);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t before = message.size();
    add_journal_key(fields[i].key, message);
    if (fields[i].is_number) {
      message.add("=");
      message.add_number(fields[i].number);
      message.add("\n");
    } else {
      add_journal_field(fields[i].text, message);
    }
    if (message.full()) message.cut_to(before);
  }
  std::memcpy(out, message.data(), message.size());
  return message.size();
}

std::size_t SyslogLogSink::format(LogLevel level, std::string_view event, const LogField* fields,
                                  std::size_t count, char (&out)[kMessageBytes]) const noexcept {
  constexpr int kDaemon = 3;
  Line line;
  line.add("<");
  line.add_number(kDaemon * 8 + severity_of(level));
  line.add(">");
  line.add(identifier());
  line.add("[");
  line.add_number(::getpid());
  line.add("]: ");
  line.add(log_level_name(level));
  line.add(" ");
  add_event(event, fields, count, line);
  std::memcpy(out, line.data(), line.size());
  return line.size();
}

}  // namespace pawl::posix

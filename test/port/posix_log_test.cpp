// Output of the Linux port's log sinks, and the parts that they leave out.
#include "pawl/log_sinks.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string>

#include "folder.hpp"

namespace pawl {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] std::string read() const {
    char text[8192];
    const ssize_t got = ::read(ends[0], text, sizeof text);
    return {text, got < 0 ? 0 : static_cast<std::size_t>(got)};
  }
  int ends[2] = {-1, -1};
};

TEST(FdLogSink, WritesOneLineAndQuotesWhatNeedsIt) {
  Pipe pipe;
  posix::FdLogSink sink(pipe.ends[1]);
  const LogField fields[] = {{"session", "bed-7"},
                             {"text", "two words \"x\"\nno line"},
                             {"empty", ""},
                             {"epoch", std::int64_t{-12}}};
  sink.write(LogLevel::kDebug, "dropped", nullptr, 0);
  sink.write(LogLevel::kInfo, "session_claimed", fields, 4);
  char text[600] = {};
  const ssize_t got = ::read(pipe.ends[0], text, sizeof(text) - 1);
  EXPECT_EQ(std::string(text),
            std::string(log_level_name(LogLevel::kInfo)) +
                " session_claimed session=bed-7 text=\"two words \\\"x\\\"\\nno line\" empty=\"\" "
                "epoch=-12\n");
  EXPECT_EQ(static_cast<std::size_t>(got), std::strlen(text));
}

// Text of an activity or a client must neither move a terminal's cursor nor begin a line.
TEST(FdLogSink, ShowsWhatATerminalWouldObey) {
  Pipe pipe;
  posix::FdLogSink sink(pipe.ends[1]);
  const LogField fields[] = {{"a", "\x1b]0;t\x07"},
                             {"b", "\xc2\x9b\x9b\x7f\xe2\x80\xae"},
                             {"c", "\x1b \\\r"},
                             {"d",
                              "S\xc3\xbc"
                              "d"}};
  sink.write(LogLevel::kInfo, "e", fields, 4);
  char text[600] = {};
  ASSERT_GT(::read(pipe.ends[0], text, sizeof(text) - 1), 0);
  EXPECT_EQ(std::string(text), std::string(log_level_name(LogLevel::kInfo)) +
                                   " e a=\\x1b]0;t\\x07 b=\\u009b\\x9b\\x7f\\u202e "
                                   "c=\"\\x1b \\\\\\r\" d=S\xc3\xbc"
                                   "d\n");
}

// At any length: no half character, no half escape, and nothing after the part that did not fit.
TEST(FdLogSink, LongLineIsCutBetweenCharacters) {
  for (std::size_t before = 480; before < 512; ++before) {
    Pipe pipe;
    posix::FdLogSink sink(pipe.ends[1]);
    const std::string value =
        std::string(before, 'v') + "\xe2\x82\xac\x1b\xc2\x9b" + std::string(40, 'w');
    const LogField field("k", value);
    sink.write(LogLevel::kInfo, "e", &field, 1);
    char text[600] = {};
    const ssize_t got = ::read(pipe.ends[0], text, sizeof(text) - 1);
    ASSERT_GT(got, 0);
    ASSERT_LE(got, 512);
    const std::string line(text, static_cast<std::size_t>(got));
    const std::string whole = std::string(log_level_name(LogLevel::kInfo)) +
                              " e k=" + std::string(before, 'v') + "\xe2\x82\xac\\x1b\\u009b" +
                              std::string(40, 'w');
    ASSERT_EQ(line.back(), '\n');
    ASSERT_EQ(whole.substr(0, line.size() - 1), line.substr(0, line.size() - 1));
    const std::string next = whole.substr(line.size() - 1);
    EXPECT_NE(static_cast<unsigned char>(next[0]) & 0xc0U, 0x80U) << before;
    const std::size_t slash = line.rfind('\\');
    EXPECT_TRUE(slash == std::string::npos || line.substr(slash, 4) == "\\x1b" ||
                line.substr(slash, 6) == "\\u009b")
        << line;
  }
}

TEST(FdLogSink, LongLineIsCutAt512Bytes) {
  Pipe pipe;
  posix::FdLogSink sink(pipe.ends[1], LogLevel::kDebug);
  const std::string value(2000, 'v');
  const LogField field("key", value);
  sink.write(LogLevel::kDebug, "long", &field, 1);
  char text[600] = {};
  EXPECT_EQ(::read(pipe.ends[0], text, sizeof(text)), 512);
  EXPECT_EQ(text[511], '\n');
}

// ---- times and JSON ----

// Whether the text has this form; 0 stands for any digit.
bool is_time(const std::string& text) {
  const std::string form = "2000-00-00T00:00:00.000Z";
  bool fits = text.size() == form.size();
  for (std::size_t i = 0; fits && i < form.size(); ++i)
    fits = form[i] == '0' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
  return fits;
}

TEST(FdLogSink, TimedTextBeginsWithTheTimeInUtc) {
  ASSERT_EQ(::setenv("TZ", "XXX-5", 1), 0);
  Pipe pipe;
  posix::FdLogSink sink(pipe.ends[1], LogLevel::kInfo, posix::LogForm::kTimedText);
  const std::time_t before = std::time(nullptr);
  const LogField field("k", "v");
  sink.write(LogLevel::kWarning, "e", &field, 1);
  ::unsetenv("TZ");
  const std::string line = pipe.read();
  ASSERT_EQ(line.substr(24), " warning e k=v\n");
  EXPECT_TRUE(is_time(line.substr(0, 24))) << line;
  std::tm date = {};
  ASSERT_NE(::strptime(line.c_str(), "%Y-%m-%dT%H:%M:%S", &date), nullptr);
  const std::time_t at = ::timegm(&date);
  EXPECT_GE(at, before);
  EXPECT_LE(at, std::time(nullptr));
}

// Escapes have the form \uHHHH, so every quote belongs to JSON.
bool is_closed(const std::string& line) {
  return std::count(line.begin(), line.end(), '"') % 2 == 0 && line.front() == '{' &&
         line.substr(line.size() - 2) == "}\n" && std::count(line.begin(), line.end(), '\n') == 1;
}

TEST(FdLogSink, JsonHasEachFieldInItsType) {
  Pipe pipe;
  posix::FdLogSink sink(pipe.ends[1], LogLevel::kInfo, posix::LogForm::kJson);
  const LogField fields[] = {{"instance", "bed\"7\n"}, {"n", std::int64_t{-12}}, {"bytes", "\xff"}};
  sink.write(LogLevel::kError, "e", fields, 3);
  const std::string line = pipe.read();
  ASSERT_EQ(line.substr(0, 9), "{\"time\":\"");
  EXPECT_TRUE(is_time(line.substr(9, 24))) << line;
  EXPECT_EQ(line.substr(33),
            "\",\"level\":\"error\",\"event\":\"e\",\"instance\":\"bed\\u00227\\u000a\",\"n\":-12,"
            "\"bytes_base64\":\"/w==\"}\n");
}

TEST(FdLogSink, JsonIsWholeHoweverLongItsTextsAre) {
  for (std::size_t size = 0; size < 1100; size += 7) {
    Pipe pipe;
    posix::FdLogSink sink(pipe.ends[1], LogLevel::kInfo, posix::LogForm::kJson);
    const std::string plain(size, 'v');
    const std::string escaped(size, '\x1b');
    std::string wide;
    while (wide.size() < size)
      wide += "\xe2\x82\xac";
    const LogField fields[] = {{"a", plain}, {"b", escaped}, {"c", wide}, {"d", std::int64_t{1}}};
    sink.write(LogLevel::kInfo, "e", fields, 4);
    const std::string line = pipe.read();
    ASSERT_LE(line.size(), 4096U);
    ASSERT_TRUE(is_closed(line)) << line;
    const bool whole = line.find("\"cut\":true") == std::string::npos;
    const std::size_t needed = 90 + plain.size() + 6 * escaped.size() + wide.size();
    if (needed < 4000 && size < 1000) {
      EXPECT_TRUE(whole) << size;
    }
    if (needed > 4100 || wide.size() > 1024) {
      EXPECT_FALSE(whole) << size;
    }
    // Fields after one that was left out are still there.
    ASSERT_NE(line.find(",\"d\":1"), std::string::npos) << size;
    ASSERT_EQ(line.find(",,"), std::string::npos);
  }
}

// ---- datagrams ----

class Log {
 public:
  explicit Log(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un at = {};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    ::unlink(path.c_str());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  }
  ~Log() { ::close(fd_); }
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  // Empty: no message is there.
  [[nodiscard]] std::string next() const {
    char text[9000];
    const ssize_t got = ::recv(fd_, text, sizeof text, MSG_DONTWAIT);
    return {text, got < 0 ? 0 : static_cast<std::size_t>(got)};
  }

 private:
  int fd_;
};

class LogSocket : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return folder_.file("log"); }

 private:
  test::Folder folder_;
};

TEST_F(LogSocket, JournalHasNativeFields) {
  using namespace std::string_literals;
  const Log log(path());
  posix::JournalLogSink sink("gateway", LogLevel::kInfo, path());
  const LogField fields[] = {
      {"instance", "bed-7"}, {"text", "two\nlines"}, {"epoch", std::int64_t{-12}}, {"a=b", "x"}};
  sink.write(LogLevel::kDebug, "not_taken", nullptr, 0);
  sink.write(LogLevel::kWarning, "session_lost", fields, 4);
  EXPECT_EQ(log.next(),
            "MESSAGE=session_lost instance=bed-7 text=two\\nlines epoch=-12 a=b=x\n"
            "PRIORITY=4\nSYSLOG_IDENTIFIER=gateway\nPAWL_EVENT=session_lost\n"
            "PAWL_INSTANCE=bed-7\nPAWL_TEXT\n"
            "\x09\0\0\0\0\0\0\0two\nlines\nPAWL_EPOCH=-12\nPAWL_A_B=x\n"s);
  EXPECT_EQ(log.next(), "") << "lines below the level are not sent";
}

TEST_F(LogSocket, PrioritiesAreThoseOfSyslog) {
  const Log log(path());
  posix::JournalLogSink sink("gateway", LogLevel::kDebug, path());
  const struct {
    LogLevel level;
    const char* priority;
  } rows[] = {{LogLevel::kDebug, "\nPRIORITY=7\n"},
              {LogLevel::kInfo, "\nPRIORITY=6\n"},
              {LogLevel::kWarning, "\nPRIORITY=4\n"},
              {LogLevel::kError, "\nPRIORITY=3\n"}};
  for (const auto& row : rows) {
    sink.write(row.level, "e", nullptr, 0);
    EXPECT_NE(log.next().find(row.priority), std::string::npos) << row.priority;
  }
}

TEST_F(LogSocket, JournalLeavesOutFieldsThatDoNotFit) {
  const Log log(path());
  posix::JournalLogSink sink("gateway", LogLevel::kInfo, path());
  const std::string large(6000, 'v');
  const LogField fields[] = {{"a", large}, {"b", large}, {"c", "small"}};
  sink.write(LogLevel::kInfo, "e", fields, 3);
  const std::string message = log.next();
  EXPECT_LE(message.size(), 8192U);
  EXPECT_NE(message.find("PAWL_A=" + large + "\n"), std::string::npos);
  EXPECT_EQ(message.find("PAWL_B"), std::string::npos);
  EXPECT_EQ(message.substr(message.size() - 13), "PAWL_C=small\n");
}

TEST_F(LogSocket, SyslogHasTheLineBehindItsPriority) {
  const Log log(path());
  posix::SyslogLogSink sink("gateway", LogLevel::kInfo, path());
  const LogField field("k", "a b\n");
  sink.write(LogLevel::kError, "e", &field, 1);
  EXPECT_EQ(log.next(), "<27>gateway[" + std::to_string(::getpid()) + "]: error e k=\"a b\\n\"");
}

// A full log costs lines and no time; when it takes lines again, it gets the number of lost ones.
TEST_F(LogSocket, WhatALogDoesNotTakeIsCounted) {
  posix::SyslogLogSink sink("gateway", LogLevel::kInfo, path());
  sink.write(LogLevel::kInfo, "no_log_yet", nullptr, 0);
  EXPECT_EQ(sink.dropped(), 1U);
  std::uint32_t taken = 0;
  {
    const Log full(path());
    for (; sink.dropped() < 5; ++taken)
      sink.write(LogLevel::kInfo, "line", nullptr, 0);
    taken -= 4;
    EXPECT_NE(full.next().find("log_lines_dropped count=1"), std::string::npos);
  }
  EXPECT_GT(taken, 0U);
  sink.write(LogLevel::kInfo, "log_is_gone", nullptr, 0);
  EXPECT_EQ(sink.dropped(), 6U);
  const Log again(path());
  sink.write(LogLevel::kInfo, "back", nullptr, 0);
  EXPECT_NE(again.next().find("log_lines_dropped count=5"), std::string::npos);
  EXPECT_NE(again.next().find("info back"), std::string::npos);
  EXPECT_EQ(sink.dropped(), 6U);
  sink.write(LogLevel::kInfo, "and_on", nullptr, 0);
  EXPECT_NE(again.next().find("and_on"), std::string::npos);
}

TEST_F(LogSocket, APathThatDoesNotFitDropsAll) {
  posix::JournalLogSink sink(std::string(200, 'i'), LogLevel::kInfo, std::string(200, 'p'));
  sink.write(LogLevel::kInfo, "e", nullptr, 0);
  EXPECT_EQ(sink.dropped(), 1U);
}

}  // namespace
}  // namespace pawl

#include "apps/pawl/console.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "apps/pawl/process_io.hpp"

namespace pawl::tool {
namespace {

Screen terminal_of(std::size_t width) {
  Screen screen;
  screen.terminal = true;
  screen.width = width;
  return screen;
}

std::string printed(const Screen& screen, const std::vector<std::vector<std::string>>& rows) {
  testing::internal::CaptureStdout();
  {
    TextTable table(screen, {"A", "LONG", "C"});
    for (const auto& row : rows)
      table.row(row);
  }
  static_cast<void>(std::fflush(stdout));
  return testing::internal::GetCapturedStdout();
}

TEST(Console, CellsIntoAPipeAreWholeAndHaveNoTitles) {
  EXPECT_EQ(printed(Screen(), {{"1", std::string(300, 'x'), ""}, {"2", "y\tz\n", "\x1b[31m"}}),
            "1\t" + std::string(300, 'x') + "\t\n2\ty\\tz\\n\t\\x1b[31m\n");
  EXPECT_EQ(printed(Screen(), {}), "");
}

TEST(Console, ColumnsFitTheTerminal) {
  EXPECT_EQ(printed(terminal_of(20), {{"1", "abcdefghijklmnopqrstuvwxyz", "c"}}),
            "A  LONG            C\n1  abcdefghijklm…  c\n");
}

TEST(Console, TheWidestColumnGivesWay) {
  const std::string out =
      printed(terminal_of(24), {{std::string(40, 'a'), std::string(30, 'b'), "cc"}});
  EXPECT_EQ(out, "A          LONG       C\n" + std::string(8, 'a') + "…  " + std::string(8, 'b') +
                     "…  cc\n");
}

TEST(Console, WideLettersTakeTwoColumns) {
  EXPECT_EQ(columns_of("añ"), 2U);
  EXPECT_EQ(columns_of("日本"), 4U);
  EXPECT_EQ(columns_of("e\xcc\x81"), 1U);
  EXPECT_EQ(cut_to("日本語", 5), "日本…");
  EXPECT_EQ(cut_to("日本語", 4), "日…");
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("abc", 0), "");
}

TEST(Console, NothingATerminalObeysIsPrinted) {
  EXPECT_EQ(printable("\x1b]0;t\x07\xff\xe2\x80\xae\\"), "\\x1b]0;t\\x07\\xff\\u202e\\\\");
}

TEST(ProcessIo, BytesAreThoseThatWereNotCancelled) {
  EXPECT_EQ(parse_write_bytes("wchar: 1\nwrite_bytes: 4096\ncancelled_write_bytes: 7\n"), 4096);
  EXPECT_EQ(parse_write_bytes("cancelled_write_bytes: 7\nwrite_bytes: 12"), 12);
  for (const char* text :
       {"", "\n", "cancelled_write_bytes: 7\n", "write_bytes: x\n", "write_bytes:"})
    EXPECT_FALSE(parse_write_bytes(text).has_value()) << text;
}

TEST(ProcessIo, ARateNeedsTwoReadingsOfOneProcess) {
  WriteRate rate;
  EXPECT_FALSE(rate.bytes().has_value());
  rate.read({::getpid()});
  EXPECT_FALSE(rate.bytes().has_value());
  EXPECT_EQ(rate.bytes_a_day(), 0);
  rate.read({::getpid()});
  EXPECT_EQ(rate.bytes().has_value(), written_by(::getpid()).has_value());
  rate.read({1'000'000'000});  // no such process
  EXPECT_FALSE(rate.bytes().has_value());
  EXPECT_EQ(rate.bytes_a_day(), 0);
}

}  // namespace
}  // namespace pawl::tool

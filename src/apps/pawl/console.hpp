// Console: the tool's output for people: tables, and values under names.
//
// Purpose: on a terminal, aligned columns with titles that fit its width, and local and relative
// times. For any other output, a line for each row with tabs between the cells, UTC, and nothing
// cut, so that other programs can read it. Every cell goes through write_printable(), so a terminal
// shows it and obeys nothing in it. Ownership: rows are copied. Thread rule: one thread.
#ifndef PAWL_APPS_PAWL_CONSOLE_HPP
#define PAWL_APPS_PAWL_CONSOLE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/common/message.hpp"
#include "pawl/optional_ms.hpp"
#include "pawl/printable.hpp"

namespace pawl::tool {

using programs::printable;
// Columns that the text takes on a terminal: wide letters take two, combining marks none.
[[nodiscard]] std::size_t columns_of(std::string_view text);
// The front of the text that fits, with a mark at the end if it was cut.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

struct Screen {
  // The screen of standard output. PAWL_COLUMNS makes any output a terminal of that width.
  static Screen of_stdout();
  bool terminal = false;
  std::size_t width = 80;
  std::int64_t now_ms = 0;

  [[nodiscard]] std::string time(std::int64_t ms) const;
  [[nodiscard]] std::string duration(std::int64_t ms) const;  // always with its unit
  [[nodiscard]] std::string duration(OptionalMs ms) const;
  [[nodiscard]] std::string size(std::int64_t bytes) const;
};

// Rows under titles. The widths are those of the first rows, and grow with later rows.
class TextTable {
 public:
  TextTable(const Screen& screen, std::vector<std::string> titles)
      : screen_(screen), titles_(std::move(titles)), widths_(titles_.size(), 0) {}
  ~TextTable() { flush(); }
  TextTable(const TextTable&) = delete;
  TextTable& operator=(const TextTable&) = delete;
  // Adds a row; `cells` has one text for each title.
  void row(const std::vector<std::string>& cells);
  void flush();
  [[nodiscard]] std::size_t printed() const { return printed_; }

 private:
  static constexpr std::size_t kRowsTogether = 100;
  void fit();
  void print(const std::vector<std::string>& cells) const;
  const Screen& screen_;
  std::vector<std::string> titles_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  std::size_t printed_ = 0;
  bool titled_ = false;
};

// Prints "name value" on a line of its own; an empty value is left out.
void print_field(const Screen& screen, std::string_view name, std::string_view value);

// Writes with fwrite(). A failure stays in the stream.
class StdoutSink final : public TextSink {
 public:
  bool write(std::string_view text) noexcept override;
};

}  // namespace pawl::tool

#endif  // PAWL_APPS_PAWL_CONSOLE_HPP

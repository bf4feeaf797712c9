#include "apps/pawl/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>

#include "apps/pawl/units.hpp"

namespace pawl::tool {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
constexpr Range kWide[] = {
    {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};
constexpr Range kNoWidth[] = {
    {0x0300, 0x036f}, {0x200b, 0x200d}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

template <std::size_t kCount>
bool is_in(const Range (&ranges)[kCount], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

std::size_t columns_of(std::uint32_t code) {
  if (is_in(kNoWidth, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

// Takes the first character of UTF-8 text; all printable text is UTF-8.
std::uint32_t take_code(std::string_view* rest, std::size_t* bytes) {
  const auto first = static_cast<unsigned char>(rest->front());
  std::size_t size = 1;
  if (first >= 0xf0)
    size = 4;
  else if (first >= 0xe0)
    size = 3;
  else if (first >= 0xc0)
    size = 2;
  size = std::min(size, rest->size());
  std::uint32_t code = size == 1 ? first : first & (0xffU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i)
    code = code << 6U | (static_cast<unsigned char>((*rest)[i]) & 0x3fU);
  rest->remove_prefix(size);
  *bytes = size;
  return code;
}

std::size_t terminal_width() {
  struct winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

void put(std::string_view text) { StdoutSink().write(text); }

}  // namespace

bool StdoutSink::write(std::string_view text) noexcept {
  return text.empty() || std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
}

std::size_t columns_of(std::string_view text) {
  std::size_t sum = 0;
  std::size_t bytes = 0;
  while (!text.empty())
    sum += columns_of(take_code(&text, &bytes));
  return sum;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string_view rest = text;
  std::size_t used = 0;
  std::size_t kept = 0;
  while (!rest.empty()) {
    std::size_t bytes = 0;
    used += columns_of(take_code(&rest, &bytes));
    if (used > columns - 1) break;
    kept += bytes;
  }
  return std::string(text.substr(0, kept)) + "…";
}

Screen Screen::of_stdout() {
  Screen screen;
  // Not std::chrono: the compiler's own library may have times of 32 bits.
  std::timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  screen.now_ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  screen.terminal = ::isatty(STDOUT_FILENO) == 1;
  if (screen.terminal) screen.width = terminal_width();
  const char* const columns = std::getenv("PAWL_COLUMNS");
  const auto width = parse_number(columns == nullptr ? "" : columns);
  if (!width.has_value() || *width < 20 || *width > 10'000) return screen;
  screen.terminal = true;
  screen.width = static_cast<std::size_t>(*width);
  return screen;
}

std::string Screen::time(std::int64_t ms) const {
  return terminal ? local_text(ms, now_ms) : utc_text(ms);
}

std::string Screen::duration(std::int64_t ms) const {
  return terminal ? duration_text(ms) : std::to_string(ms) + "ms";
}

std::string Screen::duration(OptionalMs ms) const {
  return ms.has_value() ? duration(ms.value()) : std::string();
}

std::string Screen::size(std::int64_t bytes) const {
  return terminal ? size_text(bytes) : std::to_string(bytes);
}

void TextTable::row(const std::vector<std::string>& cells) {
  std::vector<std::string> shown;
  shown.reserve(cells.size());
  for (const std::string& cell : cells)
    shown.push_back(printable(cell));
  rows_.push_back(std::move(shown));
  if (rows_.size() == kRowsTogether) flush();
}

// Narrows the widest column, one letter after another, until the row fits.
void TextTable::fit() {
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    widths_[i] = std::max(widths_[i], titles_[i].size());
    for (const std::vector<std::string>& row : rows_)
      widths_[i] = std::max(widths_[i], columns_of(row[i]));
  }
  const std::size_t between = 2 * (widths_.size() - 1);
  std::size_t sum = std::accumulate(widths_.begin(), widths_.end(), between);
  while (sum > screen_.width) {
    const auto widest = std::max_element(widths_.begin(), widths_.end());
    if (*widest <= 1) break;
    const auto second = [&] {
      std::size_t next = 1;
      for (auto at = widths_.begin(); at != widths_.end(); ++at)
        if (at != widest) next = std::max(next, *at);
      return std::min(next, *widest - 1);
    }();
    const std::size_t less = std::min(sum - screen_.width, *widest - second);
    *widest -= less;
    sum -= less;
  }
}

void TextTable::print(const std::vector<std::string>& cells) const {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!screen_.terminal) {
      put(i == 0 ? "" : "\t");
      put(cells[i]);
      continue;
    }
    const std::string cell = cut_to(cells[i], widths_[i]);
    put(cell);
    if (i + 1 < cells.size()) put(std::string(widths_[i] - columns_of(cell) + 2, ' '));
  }
  put("\n");
}

void TextTable::flush() {
  if (rows_.empty()) return;
  if (screen_.terminal) {
    fit();
    if (!titled_) print(titles_);
    titled_ = true;
  }
  for (const std::vector<std::string>& row : rows_)
    print(row);
  printed_ += rows_.size();
  rows_.clear();
}

void print_field(const Screen& screen, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  put(name);
  put(screen.terminal ? std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') : "\t");
  put(printable(value));
  put("\n");
}

}  // namespace pawl::tool

// Texts for a format, a terminal or a log.
//
// Purpose: PAWL_TEXT gives a string_view to printf() in one word. A text of a database or of a user
// may hold control sequences that move a terminal's cursor, line ends that forge a row, or marks
// that turn the order of letters round; write_printable() shows these and makes them harmless.
// Ownership: nothing is kept. Thread rule: the sink's.
#ifndef PAWL_PRINTABLE_HPP
#define PAWL_PRINTABLE_HPP

#include <climits>
#include <string_view>
#pragma GCC visibility push(default)

namespace pawl {

// Takes text in pieces of any size.
class TextSink {
 public:
  // False: it can take no more.
  virtual bool write(std::string_view text) noexcept = 0;

 protected:
  ~TextSink() = default;
};

// Writes `text` and escapes every character that a terminal would obey: \n, \r, \t, \\ and \xHH for
// control characters, for the delete character and for bytes that are no UTF-8; \uHHHH for the
// control characters above them (U+0080 to U+009F), line and paragraph separators, and the marks
// that change the direction of text. So the output has no line end of its own, and two different
// texts never look the same because of an escape. An escape is one piece, so a sink that cuts
// between pieces never leaves a part of one. False: the sink took no more.
bool write_printable(std::string_view text, TextSink& sink);

namespace internal {
[[nodiscard]] inline int printf_size(std::string_view text) {
  return text.size() < INT_MAX ? static_cast<int>(text.size()) : INT_MAX;
}
// An empty view may have no address, which a format must not be given.
[[nodiscard]] inline const char* printf_data(std::string_view text) {
  return text.empty() ? "" : text.data();
}
}  // namespace internal

}  // namespace pawl

// A text for a format: std::printf("%.*s\n", PAWL_TEXT(ctx.input())). The expression is evaluated
// twice. A text that others have written goes through write_printable() before it reaches a
// terminal.
#define PAWL_TEXT(text) ::pawl::internal::printf_size(text), ::pawl::internal::printf_data(text)
#pragma GCC visibility pop

#endif  // PAWL_PRINTABLE_HPP

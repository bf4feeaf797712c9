// utf8: reads UTF-8 character by character, and knows which characters are safe to show.
#ifndef PAWL_CORE_UTF8_HPP
#define PAWL_CORE_UTF8_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pawl {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

// The well-formed character at the front of `text` (RFC 3629); none: the first byte belongs to no
// such character. Requires: `text` is not empty.
[[nodiscard]] std::optional<Character> first_character(std::string_view text);
// The bytes of a character.
struct Utf8 {
  char bytes[4] = {};
  std::size_t size = 0;
};
// Requires: `code` is a character, below U+110000.
[[nodiscard]] Utf8 utf8(std::uint32_t code);
[[nodiscard]] bool is_utf8(std::string_view text);
// How many of the first `most` bytes to keep, so that a cut is between two characters.
[[nodiscard]] std::size_t bytes_to_keep(std::string_view text, std::size_t most);
// False for characters that a terminal obeys instead of showing: control characters below U+00A0,
// line and paragraph separators, and all with Unicode's property Bidi_Control.
[[nodiscard]] bool is_shown(std::uint32_t code);

}  // namespace pawl

#endif  // PAWL_CORE_UTF8_HPP

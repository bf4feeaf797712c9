#include "pawl/printable.hpp"

#include "core/check.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"

namespace pawl {
namespace {

using Escape = FixedText<8>;

Escape escape_of(std::string_view text, const std::optional<Character>& next) {
  Escape out;
  bool fits = out.append('\\') == Status::kOk;
  switch (text[0]) {
    case '\n': fits = fits && out.append('n') == Status::kOk; break;
    case '\r': fits = fits && out.append('r') == Status::kOk; break;
    case '\t': fits = fits && out.append('t') == Status::kOk; break;
    case '\\': fits = fits && out.append('\\') == Status::kOk; break;
    default:
      if (next && next->code >= 0x80) {
        fits =
            fits && out.append('u') == Status::kOk && out.append_hex(next->code, 4) == Status::kOk;
      } else {
        const auto byte = static_cast<unsigned char>(text[0]);
        fits = fits && out.append('x') == Status::kOk && out.append_hex(byte, 2) == Status::kOk;
      }
  }
  PAWL_CHECK("core-42", fits);
  return out;
}

}  // namespace

bool write_printable(std::string_view text, TextSink& sink) {
  std::size_t plain = 0;  // bytes at the front that are not written yet
  while (plain < text.size()) {
    const std::optional<Character> next = first_character(text.substr(plain));
    if (next && is_shown(next->code) && next->code != '\\') {
      plain += next->bytes;
      continue;
    }
    if (plain > 0 && !sink.write(text.substr(0, plain))) return false;
    text.remove_prefix(plain);
    if (!sink.write(escape_of(text, next).view())) return false;
    text.remove_prefix(next ? next->bytes : 1);
    plain = 0;
  }
  return text.empty() || sink.write(text);
}

}  // namespace pawl

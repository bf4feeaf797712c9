#include "pawl/json_out.hpp"

#include "core/check.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"

namespace pawl {
namespace {

enum class Escapes : std::uint8_t {
  kNeeded,   // what JSON cannot hold; stored payloads have these
  kUnshown,  // also what a terminal would obey
};

// Says how a character stands in a text of JSON, for all that write JSON. Empty: as it is. All
// characters that are escaped lie below U+10000.
std::string_view escape_of(std::uint32_t code, Escapes escapes, char (&room)[6]) {
  constexpr char kDigits[] = "0123456789abcdef";
  const bool ends_text = code == '"' || code == '\\';
  const bool is_shown_only = escapes == Escapes::kUnshown;
  if (code >= 0x20 && !ends_text && !(is_shown_only && !is_shown(code))) return {};
  room[0] = '\\';
  if (ends_text && !is_shown_only) {
    room[1] = static_cast<char>(code);
    return {room, 2};
  }
  room[1] = 'u';
  for (std::size_t i = 0; i < 4; ++i)
    room[2 + i] = kDigits[code >> (12 - 4 * i) & 0xfU];
  return {room, sizeof room};
}

// An escape is one piece. With kUnshown the text is UTF-8.
bool write_quoted(std::string_view text, Escapes escapes, TextSink& sink) {
  if (!sink.write("\"")) return false;
  std::size_t plain = 0;  // bytes at the front that are not written yet
  while (plain < text.size()) {
    Character next = {static_cast<unsigned char>(text[plain]), 1};
    if (escapes == Escapes::kUnshown) {
      const std::optional<Character> whole = first_character(text.substr(plain));
      PAWL_CHECK("core-64", whole.has_value());  // the callers have checked it
      next = *whole;
    }
    char room[6];
    const std::string_view escape = escape_of(next.code, escapes, room);
    if (escape.empty()) {
      plain += next.bytes;
      continue;
    }
    if (plain > 0 && !sink.write(text.substr(0, plain))) return false;
    if (!sink.write(escape)) return false;
    text.remove_prefix(plain + next.bytes);
    plain = 0;
  }
  return (text.empty() || sink.write(text)) && sink.write("\"");
}

}  // namespace

bool write_json_text(std::string_view text, TextSink& sink) {
  return write_quoted(text, Escapes::kNeeded, sink);
}

JsonOut& JsonOut::separate() {
  if (!first_) put(",");
  first_ = false;
  return *this;
}

JsonOut& JsonOut::open(char bracket) {
  put({&bracket, 1});
  first_ = true;
  return *this;
}

// The value that ends was an element of the enclosing one, which is therefore not empty: no stack
// is needed.
JsonOut& JsonOut::end(char bracket) {
  put({&bracket, 1});
  first_ = false;
  return *this;
}

JsonOut& JsonOut::end_line() {
  put("\n");
  first_ = true;
  return *this;
}

JsonOut& JsonOut::put_key(std::string_view key, std::string_view ending) {
  separate();
  put("\"");
  put(key);
  put(ending);
  put("\":");
  return *this;
}

JsonOut& JsonOut::number(std::int64_t value) { return separate().put_number(value); }

JsonOut& JsonOut::number(std::string_view key, std::int64_t value) {
  return put_key(key).put_number(value);
}

JsonOut& JsonOut::flag(std::string_view key, bool value) {
  put_key(key);
  put(value ? "true" : "false");
  return *this;
}

JsonOut& JsonOut::text(std::string_view value) {
  if (!is_utf8(value)) return begin_object().text("", value).end_object();
  return separate().put_quoted(value);
}

JsonOut& JsonOut::text(std::string_view key, std::string_view value) {
  if (is_utf8(value)) return put_key(key).put_quoted(value);
  put_key(key, key.empty() ? "base64" : "_base64");
  put("\"");
  put_base64(value);
  put("\"");
  return *this;
}

JsonOut& JsonOut::put_number(std::int64_t value) {
  FixedText<24> digits;
  if (digits.append_number(value) == Status::kOk) put(digits.view());
  return *this;
}

JsonOut& JsonOut::put_quoted(std::string_view value) {
  if (!refused_) refused_ = !write_quoted(value, Escapes::kUnshown, sink_);
  return *this;
}

void JsonOut::put_base64(std::string_view value) {
  static constexpr char kBase64[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (; !value.empty(); value.remove_prefix(value.size() < 3 ? value.size() : 3)) {
    const auto byte = [&](std::size_t i) {
      return i < value.size() ? static_cast<unsigned char>(value[i]) : 0U;
    };
    const unsigned bits = byte(0) << 16U | byte(1) << 8U | byte(2);
    const char code[] = {kBase64[bits >> 18U], kBase64[bits >> 12U & 63U],
                         value.size() < 2 ? '=' : kBase64[bits >> 6U & 63U],
                         value.size() < 3 ? '=' : kBase64[bits & 63U]};
    put({code, sizeof code});
  }
}

}  // namespace pawl

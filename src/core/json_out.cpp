#include "pawl/json_out.hpp"

#include "core/check.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"

namespace pawl {

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
  put("\"");
  std::size_t done = 0;
  for (std::size_t i = 0; i < value.size();) {
    const std::optional<Character> next = first_character(value.substr(i));
    PAWL_CHECK("core-64", next.has_value());  // the callers have checked it
    const std::size_t end = i + next->bytes;
    if (!is_shown(next->code) || next->code == '"' || next->code == '\\') {
      put(value.substr(done, i - done));
      put_code(next->code);
      done = end;
    }
    i = end;
  }
  put(value.substr(done));
  put("\"");
  return *this;
}

// All characters that are escaped lie below U+10000.
void JsonOut::put_code(std::uint32_t code) {
  FixedText<8> digits;
  if (digits.append("\\u") == Status::kOk && digits.append_hex(code, 4) == Status::kOk)
    put(digits.view());
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

#include "core/utf8.hpp"

namespace pawl {
namespace {

// The length of a character by its first byte, and the bounds of its second byte, which exclude
// overlong forms, surrogates and characters beyond U+10FFFF.
struct Lead {
  std::size_t bytes = 0;  // 0: no character begins with this byte
  unsigned char low = 0x80;
  unsigned char high = 0xbf;
};

Lead lead_of(unsigned char first) {
  if (first < 0x80) return {1};
  if (first >= 0xc2 && first <= 0xdf) return {2};
  if (first == 0xe0) return {3, 0xa0, 0xbf};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {3};
  if (first == 0xf0) return {4, 0x90, 0xbf};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  if (first >= 0xf1 && first <= 0xf3) return {4};
  return {};
}

}  // namespace

std::optional<Character> first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const Lead lead = lead_of(first);
  if (lead.bytes == 0 || text.size() < lead.bytes) return std::nullopt;
  if (lead.bytes == 1) return Character{first, 1};
  std::uint32_t code = first & (0x7fU >> lead.bytes);
  for (std::size_t i = 1; i < lead.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? lead.low : 0x80;
    const unsigned char high = i == 1 ? lead.high : 0xbf;
    if (byte < low || byte > high) return std::nullopt;
    code = code << 6U | (byte & 0x3fU);
  }
  return Character{code, lead.bytes};
}

Utf8 utf8(std::uint32_t code) {
  Utf8 out;
  const auto put = [&out](std::uint32_t byte) { out.bytes[out.size++] = static_cast<char>(byte); };
  const auto put_low = [&put, code](unsigned shift) { put(0x80U | (code >> shift & 0x3fU)); };
  if (code < 0x80) {
    put(code);
    return out;
  }
  if (code < 0x800) {
    put(0xc0U | code >> 6U);
  } else if (code < 0x10000) {
    put(0xe0U | code >> 12U);
    put_low(6);
  } else {
    put(0xf0U | code >> 18U);
    put_low(12);
    put_low(6);
  }
  put_low(0);
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::optional<Character> next = first_character(text);
    if (!next) return false;
    text.remove_prefix(next->bytes);
  }
  return true;
}

std::size_t bytes_to_keep(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text.size();
  // Bytes 10xxxxxx continue a character: steps back to the first byte of the one that is cut.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U)
    --most;
  return most;
}

bool is_shown(std::uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool is_separator = code == 0x2028 || code == 0x2029;
  const bool turns_text = code == 0x061c || code == 0x200e || code == 0x200f ||
                          (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !is_control && !is_separator && !turns_text;
}

}  // namespace pawl

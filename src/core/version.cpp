#include "core/version.hpp"

namespace pawl {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

bool is_identifier_character(char character) {
  return is_digit(character) || character == '-' || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z');
}

bool is_numeric(std::string_view text) {
  for (const char character : text)
    if (!is_digit(character)) return false;
  return !text.empty();
}

bool is_valid_number(std::string_view text) {
  return is_numeric(text) && (text.size() == 1 || text[0] != '0');
}

bool is_valid_identifier(std::string_view text) {
  for (const char character : text)
    if (!is_identifier_character(character)) return false;
  return is_numeric(text) ? is_valid_number(text) : !text.empty();
}

// Takes the part before the next dot.
std::string_view take_part(std::string_view* rest) {
  const std::size_t dot = rest->find('.');
  const std::string_view part = rest->substr(0, dot);
  *rest = dot == std::string_view::npos ? std::string_view() : rest->substr(dot + 1);
  return part;
}

struct Halves {
  std::string_view core;
  std::string_view pre;
};

Halves halves_of(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {text, {}};
  return {text.substr(0, dash), text.substr(dash + 1)};
}

// Without leading zeros the longer number is the larger one, at any length.
int compare_numbers(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

int compare_identifiers(std::string_view a, std::string_view b) {
  if (is_numeric(a) != is_numeric(b)) return is_numeric(a) ? -1 : 1;
  return is_numeric(a) ? compare_numbers(a, b) : a.compare(b);
}

// If all identifiers of one list match, the list with fewer of them is older.
int compare_lists(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const int order = compare_identifiers(take_part(&a), take_part(&b));
    if (order != 0) return order;
  }
  return static_cast<int>(!a.empty()) - static_cast<int>(!b.empty());
}

bool ends_in_dot(std::string_view text) { return !text.empty() && text.back() == '.'; }

}  // namespace

bool is_valid_version(std::string_view text) {
  if (text.size() > kVersionBytesMax) return false;
  Halves halves = halves_of(text);
  if (ends_in_dot(halves.core) || ends_in_dot(halves.pre)) return false;
  for (int i = 0; i < 3; ++i)
    if (!is_valid_number(take_part(&halves.core))) return false;
  if (!halves.core.empty()) return false;
  if (text.find('-') == std::string_view::npos) return true;
  do {
    if (!is_valid_identifier(take_part(&halves.pre))) return false;
  } while (!halves.pre.empty());
  return true;
}

int compare_versions(std::string_view a, std::string_view b) {
  const Halves left = halves_of(a);
  const Halves right = halves_of(b);
  const int core = compare_lists(left.core, right.core);
  if (core != 0) return core;
  // A pre-release is older than its release.
  if (left.pre.empty() != right.pre.empty()) return left.pre.empty() ? 1 : -1;
  return compare_lists(left.pre, right.pre);
}

}  // namespace pawl

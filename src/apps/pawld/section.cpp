#include "apps/pawld/section.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "apps/common/message.hpp"

namespace pawld {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr Unit kDurations[] = {
    {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
constexpr Unit kSizes[] = {
    {"B", 1}, {"KiB", 1'024}, {"MiB", std::int64_t{1} << 20}, {"GiB", std::int64_t{1} << 30}};

// Reads a whole number and a unit, such as "10s".
template <std::size_t N>
std::optional<std::int64_t> with_unit(std::string_view text, const Unit (&units)[N]) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || number < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(read.ptr - text.data()));
  for (const Unit& one : units) {
    if (unit != one.name) continue;
    if (number > INT64_MAX / one.factor) return std::nullopt;
    return number * one.factor;
  }
  return std::nullopt;
}

// The value in the largest unit that leaves a whole number.
template <std::size_t N>
std::string shown_with_unit(std::int64_t value, const Unit (&units)[N]) {
  const Unit* best = units;
  for (const Unit& one : units)
    if (value != 0 && value % one.factor == 0) best = &one;
  return std::to_string(value / best->factor).append(best->name);
}

}  // namespace

std::string quoted(std::string_view text) {
  constexpr std::size_t kShown = 60;
  return "\"" + std::string(text.substr(0, kShown)) + (text.size() > kShown ? "...\"" : "\"");
}

std::string suggestion(std::string_view wrong, const std::vector<std::string>& names) {
  const std::optional<std::string> meant = pawl::programs::nearest(wrong, names);
  return meant.has_value() ? "; did you mean " + quoted(*meant) + "?" : std::string();
}

void Problems::add(JsonPosition at, std::string_view path, std::string_view what) {
  if (lines_.size() > kMost) return;
  if (lines_.size() == kMost) {
    lines_.push_back(file_ + ": and more");
    return;
  }
  std::string line = file_;
  line.append(":").append(std::to_string(at.line));
  line.append(":").append(std::to_string(at.column)).append(": ");
  if (!path.empty()) line.append(path).append(": ");
  line.append(what);
  // Text from the file may hold characters that a terminal obeys.
  lines_.push_back(pawl::programs::printable(line));
}

Section::Section(const JsonDocument& document, Id object, std::string path, Problems& problems)
    : document_(document),
      object_(object),
      is_object_(document.type(object) == JsonType::kObject),
      path_(std::move(path)),
      problems_(problems) {
  if (!is_object_)
    problem_at(
        object, path_,
        std::string("is ") + json_type_name(document.type(object)) + ", expected an object {...}");
}

std::string Section::path_of(std::string_view name) const {
  const std::string text(name.substr(0, 64));
  return path_.empty() ? text : path_ + "." + text;
}

void Section::problem_at(Id value, std::string_view path, std::string_view what) {
  problems_.add(document_.position(value), path, what);
}

void Section::problem(const char* name, std::string_view what) {
  const auto value = is_object_ ? document_.member(object_, name) : std::nullopt;
  problem_at(value.value_or(object_), path_of(name), what);
}

std::optional<Section::Id> Section::find(const char* name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) asked_.emplace_back(name);
  return is_object_ ? document_.member(object_, name) : std::nullopt;
}

bool Section::is_a(Id value, JsonType type, const char* name, const char* example) {
  if (document_.type(value) == type) return true;
  problem(name,
          std::string("is ") + json_type_name(document_.type(value)) + ", expected " + example);
  return false;
}

std::optional<std::string> Section::find_text(const char* name, const char* example) {
  const auto value = find(name);
  if (!value.has_value() || !is_a(*value, JsonType::kText, name, example)) return std::nullopt;
  std::string text = document_.text(*value);
  if (text.find('\0') == std::string::npos) return text;
  problem(name, "has a zero character in it");
  return std::nullopt;
}

void Section::read(const char* name, std::string* out) {
  auto text = find_text(name, "a text");
  if (text.has_value()) *out = std::move(*text);
}

void Section::read(const char* name, bool* out) {
  const auto value = find(name);
  if (value.has_value() && is_a(*value, JsonType::kBool, name, "true or false"))
    *out = document_.is_true(*value);
}

void Section::read_number(const char* name, std::int64_t least, std::int64_t most,
                          std::int64_t* out) {
  const auto value = find(name);
  if (!value.has_value()) return;
  const std::string range =
      "a whole number, " + std::to_string(least) + " to " + std::to_string(most);
  if (!is_a(*value, JsonType::kNumber, name, range.c_str())) return;
  const std::string_view raw = document_.raw(*value);
  std::int64_t number = 0;
  const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (read.ec != std::errc() || read.ptr != raw.data() + raw.size() || number < least ||
      number > most)
    return problem(name, "is " + std::string(raw.substr(0, 32)) + ", expected " + range);
  *out = number;
}

void Section::read_decimal(const char* name, std::optional<double>* out) {
  const auto value = find(name);
  if (!value.has_value() || !is_a(*value, JsonType::kNumber, name, "a number")) return;
  const std::string raw(document_.raw(*value));
  const double number = std::strtod(raw.c_str(), nullptr);
  if (!std::isfinite(number)) return problem(name, "is too large a number");
  *out = number;
}

void Section::read_duration(const char* name, std::int64_t least_ms, std::int64_t most_ms,
                            std::int64_t* out_ms) {
  constexpr char kExample[] = "a duration such as \"30s\" (ms, s, m, h or d)";
  const auto text = find_text(name, kExample);
  if (!text.has_value()) return;
  const auto value = with_unit(*text, kDurations);
  if (!value.has_value()) return problem(name, "is " + quoted(*text) + ", expected " + kExample);
  if (*value < least_ms || *value > most_ms)
    return problem(name, "is " + quoted(*text) + ", expected " +
                             shown_with_unit(least_ms, kDurations) + " to " +
                             shown_with_unit(most_ms, kDurations));
  *out_ms = *value;
}

void Section::read_size(const char* name, std::int64_t least, std::int64_t most,
                        std::int64_t* out) {
  constexpr char kExample[] = "a size such as \"64KiB\" (B, KiB, MiB or GiB)";
  const auto text = find_text(name, kExample);
  if (!text.has_value()) return;
  const auto value = with_unit(*text, kSizes);
  if (!value.has_value()) return problem(name, "is " + quoted(*text) + ", expected " + kExample);
  if (*value < least || *value > most)
    return problem(name, "is " + quoted(*text) + ", expected " + shown_with_unit(least, kSizes) +
                             " to " + shown_with_unit(most, kSizes));
  *out = *value;
}

void Section::read_choice(const char* name, const std::vector<std::string>& names,
                          std::size_t* out) {
  std::string all;
  for (const std::string& one : names)
    all.append(all.empty() ? "" : ", ").append(quoted(one));
  const auto text = find_text(name, ("one of " + all).c_str());
  if (!text.has_value()) return;
  const auto at = std::find(names.begin(), names.end(), *text);
  if (at == names.end())
    return problem(name,
                   "is " + quoted(*text) + ", expected one of " + all + suggestion(*text, names));
  *out = static_cast<std::size_t>(at - names.begin());
}

std::vector<Section::Id> Section::children(const char* name, std::size_t most, JsonType type,
                                           const char* what) {
  std::vector<Id> found;
  const auto value = find(name);
  if (!value.has_value() || !is_a(*value, type, name, what)) return found;
  if (document_.size(*value) > most) {
    problem(name, "has " + std::to_string(document_.size(*value)) + " entries, at most " +
                      std::to_string(most) + " are possible");
    return found;
  }
  for (auto at = document_.first(*value); at.has_value(); at = document_.next(*at))
    found.push_back(*at);
  return found;
}

std::vector<Section::Id> Section::members(const char* name, std::size_t most) {
  std::vector<Id> found = children(name, most, JsonType::kObject, "an object {...}");
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string key = document_.key(found[i]);
    for (std::size_t j = 0; j < i; ++j)
      if (document_.key(found[j]) == key)
        problem_at(found[i], path_of(name) + "." + key, "is there twice");
  }
  return found;
}

std::vector<Section::Id> Section::elements(const char* name, std::size_t most) {
  return children(name, most, JsonType::kArray, "an array [...]");
}

bool Section::require(const char* name, const char* what) {
  if (has(name)) return true;
  if (is_object_) problem_at(object_, path_of(name), std::string("is missing: ") + what);
  return false;
}

void Section::finish() {
  if (!is_object_) return;
  std::vector<std::string> seen;
  for (auto at = document_.first(object_); at.has_value(); at = document_.next(*at)) {
    const std::string name = document_.key(*at);
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
      problem_at(*at, path_of(name), "is not known here" + suggestion(name, asked_));
    } else if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      problem_at(*at, path_of(name), "is there twice");
    } else {
      seen.push_back(name);
    }
    if (problems_.lines().size() > Problems::kMost) return;
  }
}

}  // namespace pawld

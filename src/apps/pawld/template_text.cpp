#include "apps/pawld/template_text.hpp"

#include <charconv>
#include <optional>

#include "apps/pawld/json_document.hpp"

namespace pawld {
namespace {

struct Piece {
  bool is_path = false;
  std::string text;
};

bool split(std::string_view text, std::vector<Piece>* pieces, std::string* why) {
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) pieces->push_back({false, literal});
    literal.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      literal.push_back(c);
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      literal.push_back(c);
      ++i;
    } else if (c == '}') {
      *why = "a \"}\" without its \"{\"; a brace itself is written \"}}\"";
      return false;
    } else {
      const std::size_t end = text.find_first_of("{}", i + 1);
      if (end == std::string_view::npos || text[end] == '{') {
        *why = "a \"{\" without its \"}\"; a brace itself is written \"{{\"";
        return false;
      }
      end_literal();
      pieces->push_back({true, std::string(text.substr(i + 1, end - i - 1))});
      i = end;
    }
  }
  end_literal();
  return true;
}

// Walks a JSON text from one text in quotes to the next: `between` gets the characters between
// them, `quoted` gets each text and whether it is a member's name.
template <typename Between, typename Quoted>
bool walk_texts(std::string_view json, Between between, Quoted quoted) {
  std::size_t at = 0;
  while (at < json.size()) {
    const std::size_t begin = json.find('"', at);
    between(json.substr(at, begin == std::string_view::npos ? begin : begin - at));
    if (begin == std::string_view::npos) return true;
    std::size_t end = begin + 1;
    while (end < json.size() && json[end] != '"')
      end += json[end] == '\\' ? 2U : 1U;
    if (end >= json.size()) return false;
    at = end + 1;
    const std::size_t behind = json.find_first_not_of(" \t\r\n", at);
    const bool is_name = behind != std::string_view::npos && json[behind] == ':';
    if (!quoted(json.substr(begin, at - begin), is_name)) return false;
  }
  return true;
}

std::optional<std::size_t> index_of(std::string_view part) {
  std::size_t index = 0;
  const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
  if (read.ec != std::errc() || read.ptr != part.data() + part.size()) return std::nullopt;
  return index;
}

std::optional<JsonDocument::Id> child(const JsonDocument& document, JsonDocument::Id value,
                                      std::string_view part) {
  if (document.type(value) != JsonType::kArray) return document.member(value, part);
  const auto index = index_of(part);
  if (!index.has_value()) return std::nullopt;
  auto at = document.first(value);
  for (std::size_t i = 0; i < *index && at.has_value(); ++i)
    at = document.next(*at);
  return at;
}

// Begins a message: "{input.bed}: ...".
std::string about(std::string_view path, std::string_view what) {
  return std::string("{").append(path).append("}: ").append(what);
}

}  // namespace

void Scope::set(std::string name, std::string json) {
  for (auto& [known, value] : values_) {
    if (known != name) continue;
    value = std::move(json);
    return;
  }
  values_.emplace_back(std::move(name), std::move(json));
}

bool Scope::find(std::string_view path, std::string* json, std::string* why) const {
  std::string_view rest;
  const std::string* value = nullptr;
  for (const auto& [name, known] : values_) {
    const bool is_it = name.empty() || path == name ||
                       (path.size() > name.size() && path.substr(0, name.size()) == name &&
                        path[name.size()] == '.');
    if (!is_it) continue;
    value = &known;
    rest = path.substr(name.empty() || path == name ? name.size() : name.size() + 1);
    break;
  }
  if (value == nullptr) {
    *why = about(path, "there is no such value");
    return false;
  }
  JsonDocument document;
  if (!document.parse(*value)) {
    *why = about(path, "is no JSON");
    return false;
  }
  JsonDocument::Id at = document.root();
  while (!rest.empty()) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const auto found = child(document, at, part);
    if (!found.has_value()) {
      *why = about(path, std::string(json_type_name(document.type(at))) + " without \"" +
                             std::string(part) + "\"");
      return false;
    }
    at = *found;
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  *json = document.raw(at);
  return true;
}

std::string as_json(std::string_view bytes) {
  JsonDocument document;
  if (document.parse(bytes)) return std::string(document.raw(document.root()));
  std::string quoted;
  append_json_text(bytes, &quoted);
  return quoted;
}

std::string plain_text(std::string_view json) {
  return !json.empty() && json.front() == '"' ? decode_json_text(json) : std::string(json);
}

namespace {

// Checked after each part, so that the text that is too long ends with the part that made it so.
bool is_within(const Scope& scope, const std::string& out, std::string* why) {
  if (out.size() <= scope.bytes_max()) return true;
  *why = "becomes longer than " + std::to_string(scope.bytes_max()) + " bytes";
  return false;
}

}  // namespace

bool render_text(std::string_view text, const Scope& scope, std::string* out, std::string* why) {
  std::vector<Piece> pieces;
  if (!split(text, &pieces, why)) return false;
  out->clear();
  for (const Piece& piece : pieces) {
    std::string value;
    if (piece.is_path && !scope.find(piece.text, &value, why)) return false;
    out->append(piece.is_path ? plain_text(value) : piece.text);
    if (!is_within(scope, *out, why)) return false;
  }
  return true;
}

bool render_json(std::string_view json, const Scope& scope, std::string* out, std::string* why) {
  out->clear();
  const auto between = [out](std::string_view part) { out->append(part); };
  const auto quoted = [&](std::string_view part, bool is_name) {
    if (is_name) {
      out->append(part);
      return true;
    }
    const std::string text = decode_json_text(part);
    std::vector<Piece> pieces;
    if (!split(text, &pieces, why)) return false;
    std::string value;
    if (pieces.size() == 1 && pieces[0].is_path) {
      if (!scope.find(pieces[0].text, &value, why)) return false;
      out->append(value);
    } else {
      if (!render_text(text, scope, &value, why)) return false;
      append_json_text(value, out);
    }
    return is_within(scope, *out, why);
  };
  return walk_texts(json, between, quoted) && is_within(scope, *out, why);
}

bool paths_of_text(std::string_view text, std::vector<std::string>* paths, std::string* why) {
  std::vector<Piece> pieces;
  if (!split(text, &pieces, why)) return false;
  for (Piece& piece : pieces)
    if (piece.is_path) paths->push_back(std::move(piece.text));
  return true;
}

bool paths_of_json(std::string_view json, std::vector<std::string>* paths, std::string* why) {
  return walk_texts(
      json, [](std::string_view) {},
      [&](std::string_view part, bool is_name) {
        return is_name || paths_of_text(decode_json_text(part), paths, why);
      });
}

}  // namespace pawld

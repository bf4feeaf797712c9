#include "apps/pawld/json_document.hpp"

#include <utility>

#include "pawl/json_out.hpp"

namespace pawld {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

unsigned hex_unit(std::string_view four) {
  unsigned unit = 0;
  for (const char c : four.substr(0, 4))
    unit = unit * 16 + static_cast<unsigned>(hex_value(c));
  return unit;
}

bool is_high(unsigned unit) { return unit >= 0xd800 && unit <= 0xdbff; }
bool is_low(unsigned unit) { return unit >= 0xdc00 && unit <= 0xdfff; }

class Appended final : public pawl::TextSink {
 public:
  explicit Appended(std::string* out) : out_(out) {}
  bool write(std::string_view text) noexcept override {
    out_->append(text);
    return true;
  }

 private:
  std::string* out_;
};

// Shows any character in a message.
std::string shown(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte > 0x20 && byte < 0x7f) return std::string("\"") + c + "\"";
  return "byte " + std::to_string(byte);
}

}  // namespace

const char* json_type_name(JsonType type) {
  switch (type) {
    case JsonType::kNull: return "null";
    case JsonType::kBool: return "true or false";
    case JsonType::kNumber: return "a number";
    case JsonType::kText: return "a text";
    case JsonType::kArray: return "an array";
    case JsonType::kObject: return "an object";
  }
  return "";
}

std::string decode_json_text(std::string_view quoted) {
  std::string out;
  Appended sink(&out);
  static_cast<void>(pawl::read_json_text(quoted, sink));
  return out;
}

void append_json_text(std::string_view text, std::string* out) {
  Appended sink(out);
  static_cast<void>(pawl::write_json_text(text, sink));
}

std::string compact_json(std::string_view json) {
  std::string out;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool blank = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!in_text && blank) continue;
    if (c == '"') in_text = !in_text;
    out.push_back(c);
    if (in_text && c == '\\' && i + 1 < json.size()) out.push_back(json[++i]);
  }
  return out;
}

// ---- the tree ----

std::string_view JsonDocument::raw(Id value) const {
  const Node& node = nodes_[value];
  return text_.substr(node.begin, node.end - node.begin);
}

std::optional<JsonDocument::Id> JsonDocument::first(Id value) const {
  if (nodes_[value].count == 0) return std::nullopt;
  return value + 1;  // nodes are in the order of the text
}

std::optional<JsonDocument::Id> JsonDocument::next(Id value) const {
  if (nodes_[value].next == kNone) return std::nullopt;
  return nodes_[value].next;
}

std::string JsonDocument::key(Id member) const {
  const Node& node = nodes_[member];
  if (node.key_begin == kNone) return {};
  return decode_json_text(text_.substr(node.key_begin, node.key_end - node.key_begin));
}

std::optional<JsonDocument::Id> JsonDocument::member(Id object, std::string_view name) const {
  std::optional<Id> found;
  if (type(object) != JsonType::kObject) return found;
  for (auto at = first(object); at.has_value(); at = next(*at))
    if (key(*at) == name) found = at;
  return found;
}

std::string JsonDocument::text(Id value) const {
  return type(value) == JsonType::kText ? decode_json_text(raw(value)) : std::string();
}

JsonPosition JsonDocument::position_of(std::size_t offset) const {
  JsonPosition position;
  for (const char c : text_.substr(0, offset)) {
    ++position.column;
    if (c != '\n') continue;
    ++position.line;
    position.column = 1;
  }
  return position;
}

// ---- the parser ----

bool JsonDocument::fail(std::string why) {
  error_ = std::move(why);
  error_offset_ = at_;
  return false;
}

void JsonDocument::skip_blanks() {
  while (here() == ' ' || here() == '\n' || here() == '\r' || here() == '\t')
    ++at_;
}

bool JsonDocument::parse(std::string_view text) {
  text_ = text;
  nodes_.clear();
  open_.clear();
  at_ = 0;
  if (text.size() > kBytesMax) return fail("the text is longer than 4 MiB");
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    return fail("it begins with a byte order mark; save it as UTF-8 without one");
  if (!read_values()) return false;
  skip_blanks();
  return at_end() || fail("there is something behind the end: " + shown(here()));
}

// Each round reads a value: its name if it is a member, its beginning, and the ends that follow it.
bool JsonDocument::read_values() {
  for (bool done = false; !done;) {
    Node node;
    skip_blanks();
    const bool in_object =
        !open_.empty() && nodes_[open_.back().container].type == JsonType::kObject;
    if (in_object && !read_key(&node)) return false;
    const auto id = static_cast<Id>(nodes_.size());
    if (!open_.empty()) {
      Open& parent = open_.back();
      if (parent.last != kNone) nodes_[parent.last].next = id;
      parent.last = id;
      ++nodes_[parent.container].count;
    }
    if (!begin_value(&node)) return false;
    nodes_.push_back(node);
    const bool is_container = node.type == JsonType::kArray || node.type == JsonType::kObject;
    if (is_container) {
      if (open_.size() == kLevelsMax) return fail("more than 32 levels");
      open_.push_back({id, kNone});
      skip_blanks();
      if (here() != (node.type == JsonType::kArray ? ']' : '}')) continue;
    }
    if (!close_and_go_on(&done)) return false;
  }
  return true;
}

bool JsonDocument::begin_value(Node* node) {
  node->begin = static_cast<std::uint32_t>(at_);
  if (here() == '{' || here() == '[') {
    node->type = here() == '{' ? JsonType::kObject : JsonType::kArray;
    ++at_;
    return true;
  }
  if (!read_scalar(node)) return false;
  node->end = static_cast<std::uint32_t>(at_);
  return true;
}

bool JsonDocument::read_key(Node* node) {
  if (here() == '}') return fail("a comma too many before \"}\"");
  if (here() != '"') return fail("expected the name of a member in quotes");
  node->key_begin = static_cast<std::uint32_t>(at_);
  if (!read_text()) return false;
  node->key_end = static_cast<std::uint32_t>(at_);
  skip_blanks();
  if (here() != ':') return fail("expected \":\" behind the name of a member");
  ++at_;
  skip_blanks();
  return true;
}

bool JsonDocument::read_scalar(Node* node) {
  const char c = here();
  if (at_end()) return fail("the text ends too early");
  if (c == '"') {
    node->type = JsonType::kText;
    return read_text();
  }
  if (c == '-' || is_digit(c)) {
    node->type = JsonType::kNumber;
    return read_number();
  }
  if (c == 't' || c == 'f') {
    node->type = JsonType::kBool;
    return read_word(c == 't' ? "true" : "false");
  }
  if (c == 'n') return read_word("null");
  if (c == ']') return fail("a comma too many before \"]\"");
  if (c == '/' || c == '#') return fail("JSON has no comments");
  if (c == '\'') return fail("texts stand in double quotes");
  return fail("expected a value, found " + shown(c));
}

// After a value: reads ends of containers, then a comma or the end of the text.
bool JsonDocument::close_and_go_on(bool* done) {
  while (!open_.empty()) {
    Node& container = nodes_[open_.back().container];
    const char end = container.type == JsonType::kArray ? ']' : '}';
    skip_blanks();
    if (here() == ',') {
      ++at_;
      return true;
    }
    if (at_end()) return fail(std::string("the text ends too early: \"") + end + "\" is missing");
    if (here() != end)
      return fail(std::string("expected \",\" or \"") + end + "\", found " + shown(here()));
    ++at_;
    container.end = static_cast<std::uint32_t>(at_);
    open_.pop_back();
  }
  *done = true;
  return true;
}

bool JsonDocument::read_text() {
  for (++at_; !at_end(); ++at_) {
    const char c = here();
    if (c == '"') {
      ++at_;
      return true;
    }
    if (static_cast<unsigned char>(c) < 0x20)
      return fail("a line end or control character in a text; write it as \\n or \\u00XX");
    if (c == '\\' && !read_escape()) return false;
  }
  return fail("the text ends too early: a quote is missing");
}

// Leaves at_ on the last character of the escape.
bool JsonDocument::read_escape() {
  ++at_;
  if (here() != 'u') {
    constexpr std::string_view kAfterBackslash = "\"\\/bfnrt";
    if (!at_end() && kAfterBackslash.find(here()) != std::string_view::npos) return true;
    return fail("an escape that JSON does not have");
  }
  unsigned unit = 0;
  if (!read_hex(&unit)) return false;
  if (is_low(unit)) return fail("half a surrogate pair");
  if (!is_high(unit)) return true;
  if (text_.substr(at_ + 1, 2) != "\\u") return fail("half a surrogate pair");
  at_ += 2;
  if (!read_hex(&unit)) return false;
  return is_low(unit) || fail("half a surrogate pair");
}

bool JsonDocument::read_hex(unsigned* unit) {
  const std::string_view digits = text_.substr(at_ + 1, 4);
  for (const char c : digits)
    if (hex_value(c) < 0) return fail("\\u needs four hexadecimal digits");
  if (digits.size() < 4) return fail("\\u needs four hexadecimal digits");
  *unit = hex_unit(digits);
  at_ += 4;
  return true;
}

bool JsonDocument::read_number() {
  const auto digits = [this] {
    const std::size_t from = at_;
    while (is_digit(here()))
      ++at_;
    return at_ > from;
  };
  if (here() == '-') ++at_;
  const bool zero_first = here() == '0';
  const std::size_t from = at_;
  if (!digits()) return fail("a number needs a digit here");
  if (zero_first && at_ - from > 1) return fail("a number does not begin with 0");
  if (here() == '.') {
    ++at_;
    if (!digits()) return fail("a number needs a digit here");
  }
  if (here() != 'e' && here() != 'E') return true;
  ++at_;
  if (here() == '+' || here() == '-') ++at_;
  return digits() || fail("a number needs a digit here");
}

bool JsonDocument::read_word(std::string_view word) {
  if (text_.substr(at_, word.size()) != word)
    return fail("expected " + std::string(word) + "; texts stand in double quotes");
  at_ += word.size();
  return true;
}

}  // namespace pawld

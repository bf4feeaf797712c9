// JsonDocument: a parsed JSON text that knows the position of each value.
//
// Purpose: the configuration file, and payloads that templates read. pawl/json.hpp reads structs of
// known fields, up to 16 KiB and without positions. A file that people write needs lines in its
// errors, and only the configuration knows the members of a payload.
//
// The parser keeps a stack of its own, so no text makes it recurse; it takes kLevelsMax levels, and
// 28 bytes for each value. Ownership: values are views of the text given to parse(), which must
// outlive the document. Thread rule: none.
#ifndef PAWL_APPS_PAWLD_JSON_DOCUMENT_HPP
#define PAWL_APPS_PAWLD_JSON_DOCUMENT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawld {

enum class JsonType : std::uint8_t { kNull, kBool, kNumber, kText, kArray, kObject };

// "text", "object": for messages.
[[nodiscard]] const char* json_type_name(JsonType type);

struct JsonPosition {
  std::size_t line = 1;    // from 1
  std::size_t column = 1;  // in bytes, from 1
};

class JsonDocument {
 public:
  static constexpr std::size_t kLevelsMax = 32;
  static constexpr std::size_t kBytesMax = std::size_t{4} * 1024 * 1024;

  // Names a value of the document that returned it.
  using Id = std::uint32_t;

  // Returns whether the text is JSON; if not, error() says why and error_at() where.
  [[nodiscard]] bool parse(std::string_view text);
  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] JsonPosition error_at() const { return position_of(error_offset_); }

  [[nodiscard]] Id root() const { return 0; }
  [[nodiscard]] JsonType type(Id value) const { return nodes_[value].type; }
  // The value's text, quotes and brackets included.
  [[nodiscard]] std::string_view raw(Id value) const;
  [[nodiscard]] JsonPosition position(Id value) const { return position_of(nodes_[value].begin); }
  // Number of members or elements.
  [[nodiscard]] std::size_t size(Id value) const { return nodes_[value].count; }
  [[nodiscard]] std::optional<Id> first(Id value) const;
  [[nodiscard]] std::optional<Id> next(Id value) const;
  // The name of a member, without escapes.
  [[nodiscard]] std::string key(Id member) const;
  // The last member with this name; none: no such member, or the value is no object.
  [[nodiscard]] std::optional<Id> member(Id object, std::string_view name) const;
  // The characters of a text value, without escapes.
  [[nodiscard]] std::string text(Id value) const;
  [[nodiscard]] bool is_true(Id value) const { return text_[nodes_[value].begin] == 't'; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Node {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t key_begin = kNone;  // with its quotes
    std::uint32_t key_end = 0;
    std::uint32_t next = kNone;
    std::uint32_t count = 0;
    JsonType type = JsonType::kNull;
  };
  struct Open {
    Id container;
    std::uint32_t last;  // its last child so far
  };

  bool fail(std::string why);
  void skip_blanks();
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
  [[nodiscard]] char here() const { return at_end() ? '\0' : text_[at_]; }
  bool read_values();
  bool begin_value(Node* node);
  bool read_key(Node* node);
  bool read_scalar(Node* node);
  bool read_text();
  bool read_escape();
  bool read_hex(unsigned* unit);
  bool read_number();
  bool read_word(std::string_view word);
  bool close_and_go_on(bool* done);
  [[nodiscard]] JsonPosition position_of(std::size_t offset) const;

  std::string_view text_;
  std::vector<Node> nodes_;
  std::vector<Open> open_;
  std::size_t at_ = 0;
  std::string error_;
  std::size_t error_offset_ = 0;
};

// The characters of a text that the parser accepted, given with its quotes.
[[nodiscard]] std::string decode_json_text(std::string_view quoted);
// Appends a text with its quotes.
void append_json_text(std::string_view text, std::string* out);
// The JSON without blanks and line ends between its parts.
[[nodiscard]] std::string compact_json(std::string_view json);

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_JSON_DOCUMENT_HPP

// Fields: "key=number key=number ...", the text in which this example keeps inputs, results and
// state.
//
// Payloads are bytes to Pawl. Whole numbers in plain text are the same on every machine and can be
// read in the sqlite3 shell.
#ifndef GATEWAY_FIELDS_HPP
#define GATEWAY_FIELDS_HPP

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace gateway {

class Fields {
 public:
  Fields& add(std::string_view key, std::int64_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    if (!text_.empty()) text_ += ' ';
    text_.append(key).append(1, '=').append(digits, end);
    return *this;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// False, and `number` untouched, if there is no such field.
inline bool read_field(std::string_view text, std::string_view key, std::int64_t* number) {
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view field = text.substr(0, space);
    if (field.size() > key.size() && field[key.size()] == '=' &&
        field.substr(0, key.size()) == key) {
      const char* const end = field.data() + field.size();
      const auto read = std::from_chars(field.data() + key.size() + 1, end, *number);
      return read.ec == std::errc() && read.ptr == end;
    }
    if (space == std::string_view::npos) break;
    text.remove_prefix(space + 1);
  }
  return false;
}

}  // namespace gateway

#endif  // GATEWAY_FIELDS_HPP

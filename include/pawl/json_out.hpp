// JsonOut: JSON text written piece by piece into a sink.
//
// Purpose: writes objects and lists of any length without memory of their own, for tools, endpoints
// and logs that print for other programs. Structs have PAWL_JSON (pawl/json.hpp) instead.
// Ownership: the sink is the caller's and outlives this. Thread rule: the sink's.
//
// A text that is not UTF-8 stands under its key with "_base64" appended. Characters that a terminal
// would obey (write_printable()) are escaped as JSON has it, \u009b, so the text is safe to show
// and a reader of JSON gets what was given. Integers are written in full: read them as 64-bit ones.
#ifndef PAWL_JSON_OUT_HPP
#define PAWL_JSON_OUT_HPP

#include <cstdint>
#include <string_view>

#include "pawl/printable.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The caller ends what it begins. Keys are texts of the program: they are written as they are.
class JsonOut {
 public:
  explicit JsonOut(TextSink& sink) : sink_(sink) {}
  JsonOut(const JsonOut&) = delete;
  JsonOut& operator=(const JsonOut&) = delete;

  // Writes an element of a list, or the whole text.
  JsonOut& begin_object() { return begin('{'); }
  JsonOut& begin_list() { return begin('['); }
  JsonOut& text(std::string_view value);  // not UTF-8: an object with the one member "base64"
  JsonOut& number(std::int64_t value);
  // Writes a member of an object.
  JsonOut& begin_object(std::string_view key) { return put_key(key).open('{'); }
  JsonOut& begin_list(std::string_view key) { return put_key(key).open('['); }
  JsonOut& text(std::string_view key, std::string_view value);
  JsonOut& text_unless_empty(std::string_view key, std::string_view value) {
    return value.empty() ? *this : text(key, value);
  }
  JsonOut& number(std::string_view key, std::int64_t value);
  // Writes the key of a member; write_json(), for example, then writes its value as an element.
  JsonOut& key(std::string_view key) {
    put_key(key).first_ = true;
    return *this;
  }
  JsonOut& flag(std::string_view key, bool value);

  JsonOut& end_object() { return end('}'); }
  JsonOut& end_list() { return end(']'); }
  // Stands between two texts of their own: the next begins on a line of its own.
  JsonOut& end_line();

  // False: the sink took no more, and got no more.
  [[nodiscard]] bool ok() const { return !refused_; }

 private:
  JsonOut& begin(char bracket) { return separate().open(bracket); }
  JsonOut& open(char bracket);
  JsonOut& end(char bracket);
  JsonOut& separate();
  JsonOut& put_key(std::string_view key, std::string_view ending = {});
  JsonOut& put_number(std::int64_t value);
  JsonOut& put_quoted(std::string_view value);
  void put_base64(std::string_view value);
  void put(std::string_view piece) {
    if (!refused_ && !piece.empty()) refused_ = !sink_.write(piece);
  }

  TextSink& sink_;
  bool first_ = true;  // nothing was written into the innermost object or list yet
  bool refused_ = false;
};

// Writes a text of JSON with its quotes, and with no escapes but those that JSON needs: for a
// payload that is put together by hand. Bytes that are no UTF-8 stand as they are.
// Returns false: the sink took no more.
bool write_json_text(std::string_view text, TextSink& sink);
// Writes the characters of a text of JSON that stands between quotes.
// Returns false: the sink took no more.
// Requires: `quoted` is a text of JSON, from its first quote to its last.
bool read_json_text(std::string_view quoted, TextSink& sink);

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_JSON_OUT_HPP

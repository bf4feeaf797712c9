// The writer into a buffer and the reader over a parsed text that PAWL_JSON uses.
//
// Purpose: the part of pawl/json.hpp that is no template. Ownership: nothing is kept. Thread rule:
// callable from any thread.
#ifndef PAWL_JSON_IO_HPP
#define PAWL_JSON_IO_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "pawl/json_types.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl::internal {

// The part that both directions share: the current place, and the first error.
class JsonPlace {
 public:
  explicit JsonPlace(Diagnostic* why) : why_(why) {}
  [[nodiscard]] Status status() const { return status_; }
  bool fail(Status status, const char* what);
  struct Level {
    const char* name = nullptr;  // null: the place is an element
    std::size_t index = 0;
  };
  bool enter(Level level);
  void leave() { --depth_; }

 private:
  static constexpr std::size_t kLevelsMax = 16;
  Diagnostic* why_;
  Status status_ = Status::kOk;
  Level levels_[kLevelsMax];
  std::size_t depth_ = 0;
};

class JsonWriter : public JsonPlace {
 public:
  JsonWriter(char* out, std::size_t capacity, Diagnostic* why)
      : JsonPlace(why), out_(out), capacity_(capacity) {}
  [[nodiscard]] std::size_t size() const { return size_; }
  bool put(std::string_view text);
  bool begin_member(const char* name, bool first);
  bool put_integer(std::int64_t number);
  bool put_unsigned(std::uint64_t number);
  bool put_double(double number);
  bool put_float(float number);
  bool put_text(std::string_view text);

 private:
  bool put_quoted(std::string_view text);
  char* out_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

// A value in a text that has been checked; only JsonReader reads it.
struct JsonNode {
  const char* at;  // its first character
};

// Reads values of a text, which must live as long as this.
class JsonReader : public JsonPlace {
 public:
  // read() answers kOk unless the text is no JSON or `use` failed.
  using Use = bool (*)(JsonReader& reader, JsonNode root, void* value);
  static Status read(std::string_view text, Use use, void* value, Diagnostic* why);

  bool is_object(JsonNode node);
  // None: the member is there twice, which is an error, or is missing, which is one only if it is
  // `required`.
  std::optional<JsonNode> member(JsonNode object, const char* name, bool required);
  // None: the array is empty, or has another number of elements than `count`.
  std::optional<JsonNode> first_element(JsonNode array, std::size_t count);
  [[nodiscard]] std::optional<JsonNode> next_element(JsonNode element) const;
  bool element_count(JsonNode array, std::size_t most, std::size_t* count);
  static bool is_null(JsonNode node);
  // get_rest() gets the text of the members whose names `fields` does not know.
  using Knows = bool (*)(const void* fields, std::string_view name);
  bool get_rest(JsonNode object, Knows knows, const void* fields, const JsonRoom& into);
  bool get_bool(JsonNode node, bool* value);
  bool get_integer(JsonNode node, std::int64_t least, std::int64_t most, std::int64_t* value);
  bool get_unsigned(JsonNode node, std::uint64_t most, std::uint64_t* value);
  bool get_double(JsonNode node, double* value);
  bool get_float(JsonNode node, float* value);
  bool is_text(JsonNode node);
  [[nodiscard]] bool has_text(JsonNode node, std::string_view text) const;
  bool get_text(JsonNode node, const JsonRoom& into);

 private:
  JsonReader(std::string_view text, Diagnostic* why)
      : JsonPlace(why), end_(text.data() + text.size()) {}
  bool count_elements(JsonNode array, std::size_t* count);
  const char* end_;
};

}  // namespace pawl::internal
#pragma GCC visibility pop

#endif  // PAWL_JSON_IO_HPP

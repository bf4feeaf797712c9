// What PAWL_JSON reads and writes with: a writer into a buffer, and a reader over a parsed text.
//
// Purpose: the part of pawl/json.hpp that is no template. Ownership: nothing is kept. Thread rule:
// callable from any.
#ifndef PAWL_JSON_IO_HPP
#define PAWL_JSON_IO_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl::internal {

// What both directions share: where we are, and what went wrong first.
class JsonPlace {
 public:
  explicit JsonPlace(Diagnostic* why) : why_(why) {}
  [[nodiscard]] Status status() const { return status_; }
  bool fail(Status status, const char* what);
  struct Level {
    const char* name = nullptr;  // null: an element
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

// A value of a parsed text; only JsonReader looks inside.
struct [[gnu::visibility("hidden")]] JsonNode;

class JsonReader : public JsonPlace {
 public:
  // Null: it cannot be parsed, and status() says why.
  using Use = bool (*)(JsonReader& reader, const JsonNode& root, void* value);
  static Status read(std::string_view text, Use use, void* value, Diagnostic* why);

  bool is_object(const JsonNode& node);
  // Null: it is there twice, or missing. Only if it is `required`, that is an error.
  const JsonNode* member(const JsonNode& object, const char* name, bool required);
  // Null: there is none at all, or it has another number of elements.
  const JsonNode* first_element(const JsonNode& array, std::size_t count);
  static const JsonNode* next_element(const JsonNode& element);
  bool element_count(const JsonNode& array, std::size_t most, std::size_t* count);
  static bool is_null(const JsonNode& node);
  // The members whose names `fields` does not know, as text.
  using Knows = bool (*)(const void* fields, const char* name);
  bool get_rest(const JsonNode& object, Knows knows, const void* fields, char* out,
                std::size_t capacity, std::size_t* size);
  bool get_bool(const JsonNode& node, bool* value);
  bool get_integer(const JsonNode& node, std::int64_t least, std::int64_t most,
                   std::int64_t* value);
  bool get_unsigned(const JsonNode& node, std::uint64_t most, std::uint64_t* value);
  bool get_double(const JsonNode& node, double* value);
  bool get_float(const JsonNode& node, float* value);
  bool get_text(const JsonNode& node, std::string_view* value);

 private:
  using JsonPlace::JsonPlace;
};

}  // namespace pawl::internal
#pragma GCC visibility pop

#endif  // PAWL_JSON_IO_HPP

// Typed payloads: a struct as JSON text, by a list of its fields.
//
// Purpose: inputs, results and states are bytes; PAWL_JSON(Type, field, ...), beside the struct and
// in its namespace, makes to_json() and from_json() work for it. Fields: bool; integers of up to 64
// bits, exact; double; JsonText<N>; structs with a PAWL_JSON of their own; arrays of fixed size of
// any of these. At most 24 fields a struct and 16 levels. Reading is strict: every field must be
// there once, of its type and in its range; members that the struct lacks are passed over, so that
// a newer writer can be read. Integers beyond 2^53 are written as texts, since most readers of JSON
// have doubles.
// Ownership: nothing is kept and nothing allocated; from_json() takes 16 KiB of the stack. Thread
// rule: callable from any.
#ifndef PAWL_JSON_HPP
#define PAWL_JSON_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "pawl/status.hpp"

namespace pawl {

// A text of at most N bytes, without zero bytes.
template <std::size_t N>
class JsonText {
 public:
  // Takes a copy; unless kOk the old text stays.
  // Returns kOk.
  // Requires: at most N bytes (kResourceExhausted), none of which is zero (kInvalidArgument).
  Status assign(std::string_view text) {
    if (text.size() > N) return Status::kResourceExhausted;
    if (text.find('\0') != std::string_view::npos) return Status::kInvalidArgument;
    if (!text.empty()) std::memcpy(bytes_, text.data(), text.size());
    size_ = text.size();
    return Status::kOk;
  }
  [[nodiscard]] std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[N] = {};
  std::size_t size_ = 0;
};

namespace internal {

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
  bool put_text(std::string_view text);

 private:
  bool put_quoted(std::string_view text);
  char* out_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

// A value of a parsed text; only JsonReader looks inside.
struct JsonNode;

class JsonReader : public JsonPlace {
 public:
  // Null: it cannot be parsed, and status() says why.
  using Use = bool (*)(JsonReader& reader, const JsonNode& root, void* value);
  static Status read(std::string_view text, Use use, void* value, Diagnostic* why);

  bool is_object(const JsonNode& node);
  // Null: it is missing or there twice.
  const JsonNode* member(const JsonNode& object, const char* name);
  // Null: there is none at all, or it has another number of elements.
  const JsonNode* first_element(const JsonNode& array, std::size_t count);
  static const JsonNode* next_element(const JsonNode& element);
  bool get_bool(const JsonNode& node, bool* value);
  bool get_integer(const JsonNode& node, std::int64_t least, std::int64_t most,
                   std::int64_t* value);
  bool get_unsigned(const JsonNode& node, std::uint64_t most, std::uint64_t* value);
  bool get_double(const JsonNode& node, double* value);
  bool get_text(const JsonNode& node, std::string_view* value);

 private:
  using JsonPlace::JsonPlace;
};

template <typename T>
bool json_put(JsonWriter& out, const T& value);
template <typename T>
bool json_get(JsonReader& in, const JsonNode& node, T& value);

struct JsonPutFields {
  JsonWriter& out;
  bool first = true;
  template <typename T>
  bool operator()(const char* name, const T& value) {
    if (!out.enter({name}) || !out.begin_member(name, first) || !json_put(out, value)) return false;
    first = false;
    out.leave();
    return true;
  }
};

struct JsonGetFields {
  JsonReader& in;
  const JsonNode& object;
  template <typename T>
  bool operator()(const char* name, T& value) {
    if (!in.enter({name})) return false;
    const JsonNode* const node = in.member(object, name);
    if (node == nullptr || !json_get(in, *node, value)) return false;
    in.leave();
    return true;
  }
};

template <typename T, typename = void>
struct HasJsonFields : std::false_type {};
template <typename T>
struct HasJsonFields<T, std::void_t<decltype(pawl_json_fields(std::declval<JsonPutFields&>(),
                                                              std::declval<const T&>()))>>
    : std::true_type {};
template <typename T>
constexpr bool has_json_fields() {
  static_assert(
      HasJsonFields<T>::value,
      "no JSON for this type: a field is bool, an integer, double, JsonText<N>, an array of "
      "these or a struct with a PAWL_JSON of its own");
  return HasJsonFields<T>::value;
}

template <std::size_t N>
bool json_put(JsonWriter& out, const JsonText<N>& value) {
  return out.put_text(value.view());
}

template <typename T, std::size_t N>
bool json_put(JsonWriter& out, const T (&values)[N]) {
  if (!out.put("[")) return false;
  for (std::size_t i = 0; i < N; ++i) {
    if (!out.enter({nullptr, i})) return false;
    if ((i > 0 && !out.put(",")) || !json_put(out, values[i])) return false;
    out.leave();
  }
  return out.put("]");
}

template <typename T>
bool json_put(JsonWriter& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return out.put(value ? "true" : "false");
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) return out.put_integer(value);
    return out.put_unsigned(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return out.put_double(value);
  } else if constexpr (has_json_fields<T>()) {
    JsonPutFields fields{out};
    return out.put("{") && pawl_json_fields(fields, value) && out.put("}");
  } else {
    return false;
  }
}

template <std::size_t N>
bool json_get(JsonReader& in, const JsonNode& node, JsonText<N>& value) {
  std::string_view text;
  if (!in.get_text(node, &text)) return false;
  return value.assign(text) == Status::kOk ||
         in.fail(Status::kResourceExhausted, "is a longer text than its field");
}

template <typename T, std::size_t N>
bool json_get(JsonReader& in, const JsonNode& node, T (&values)[N]) {
  const JsonNode* element = in.first_element(node, N);
  for (std::size_t i = 0; i < N; ++i, element = JsonReader::next_element(*element)) {
    if (element == nullptr || !in.enter({nullptr, i}) || !json_get(in, *element, values[i]))
      return false;
    in.leave();
  }
  return true;
}

template <typename T>
bool json_get_integer(JsonReader& in, const JsonNode& node, T& value) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_signed_v<T>) {
    std::int64_t number = 0;
    if (!in.get_integer(node, Limits::min(), Limits::max(), &number)) return false;
    value = static_cast<T>(number);
  } else {
    std::uint64_t number = 0;
    if (!in.get_unsigned(node, Limits::max(), &number)) return false;
    value = static_cast<T>(number);
  }
  return true;
}

template <typename T>
bool json_get(JsonReader& in, const JsonNode& node, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return in.get_bool(node, &value);
  } else if constexpr (std::is_integral_v<T>) {
    return json_get_integer(in, node, value);
  } else if constexpr (std::is_same_v<T, double>) {
    return in.get_double(node, &value);
  } else if constexpr (has_json_fields<T>()) {
    JsonGetFields fields{in, node};
    return in.is_object(node) && pawl_json_fields(fields, value);
  } else {
    return false;
  }
}

}  // namespace internal

// Writes at most `capacity` bytes, without a zero behind them. `why`, if not null, names the field
// that does not go.
// Returns kOk; unless kOk, what is in `out` is of no use.
// Requires: room for all of it, and at most 16 levels (kResourceExhausted); doubles that are finite
// numbers (kInvalidArgument).
template <typename T>
Status to_json(const T& value, char* out, std::size_t capacity, std::size_t* size,
               Diagnostic* why = nullptr) {
  internal::JsonWriter writer(out, capacity, why);
  if (!internal::json_put(writer, value)) return writer.status();
  *size = writer.size();
  return Status::kOk;
}

// Reads a struct with a PAWL_JSON. `why`, if not null, names the field that does not go. Unless
// kOk, `out` is as it was.
// Returns kOk; kCorrupt: no JSON, one of more than 16 levels or with a zero character, or a field
// is missing, there twice, of another type or out of its range; kResourceExhausted: a text is too
// long for its field, or the whole needs more than 16 KiB when parsed.
template <typename T>
Status from_json(std::string_view text, T* out, Diagnostic* why = nullptr) {
  T value{};
  const auto use = [](internal::JsonReader& reader, const internal::JsonNode& root, void* into) {
    return internal::json_get(reader, root, *static_cast<T*>(into));
  };
  PAWL_TRY(internal::JsonReader::read(text, use, &value, why));
  *out = value;
  return Status::kOk;
}

}  // namespace pawl

#define PAWL_JSON_1(f) fields(#f, value.f)
#define PAWL_JSON_2(f, ...) PAWL_JSON_1(f) && PAWL_JSON_1(__VA_ARGS__)
#define PAWL_JSON_3(f, ...) PAWL_JSON_1(f) && PAWL_JSON_2(__VA_ARGS__)
#define PAWL_JSON_4(f, ...) PAWL_JSON_1(f) && PAWL_JSON_3(__VA_ARGS__)
#define PAWL_JSON_5(f, ...) PAWL_JSON_1(f) && PAWL_JSON_4(__VA_ARGS__)
#define PAWL_JSON_6(f, ...) PAWL_JSON_1(f) && PAWL_JSON_5(__VA_ARGS__)
#define PAWL_JSON_7(f, ...) PAWL_JSON_1(f) && PAWL_JSON_6(__VA_ARGS__)
#define PAWL_JSON_8(f, ...) PAWL_JSON_1(f) && PAWL_JSON_7(__VA_ARGS__)
#define PAWL_JSON_9(f, ...) PAWL_JSON_1(f) && PAWL_JSON_8(__VA_ARGS__)
#define PAWL_JSON_10(f, ...) PAWL_JSON_1(f) && PAWL_JSON_9(__VA_ARGS__)
#define PAWL_JSON_11(f, ...) PAWL_JSON_1(f) && PAWL_JSON_10(__VA_ARGS__)
#define PAWL_JSON_12(f, ...) PAWL_JSON_1(f) && PAWL_JSON_11(__VA_ARGS__)
#define PAWL_JSON_13(f, ...) PAWL_JSON_1(f) && PAWL_JSON_12(__VA_ARGS__)
#define PAWL_JSON_14(f, ...) PAWL_JSON_1(f) && PAWL_JSON_13(__VA_ARGS__)
#define PAWL_JSON_15(f, ...) PAWL_JSON_1(f) && PAWL_JSON_14(__VA_ARGS__)
#define PAWL_JSON_16(f, ...) PAWL_JSON_1(f) && PAWL_JSON_15(__VA_ARGS__)
#define PAWL_JSON_17(f, ...) PAWL_JSON_1(f) && PAWL_JSON_16(__VA_ARGS__)
#define PAWL_JSON_18(f, ...) PAWL_JSON_1(f) && PAWL_JSON_17(__VA_ARGS__)
#define PAWL_JSON_19(f, ...) PAWL_JSON_1(f) && PAWL_JSON_18(__VA_ARGS__)
#define PAWL_JSON_20(f, ...) PAWL_JSON_1(f) && PAWL_JSON_19(__VA_ARGS__)
#define PAWL_JSON_21(f, ...) PAWL_JSON_1(f) && PAWL_JSON_20(__VA_ARGS__)
#define PAWL_JSON_22(f, ...) PAWL_JSON_1(f) && PAWL_JSON_21(__VA_ARGS__)
#define PAWL_JSON_23(f, ...) PAWL_JSON_1(f) && PAWL_JSON_22(__VA_ARGS__)
#define PAWL_JSON_24(f, ...) PAWL_JSON_1(f) && PAWL_JSON_23(__VA_ARGS__)
#define PAWL_JSON_PICK(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
                       a18, a19, a20, a21, a22, a23, a24, name, ...)                               \
  name
#define PAWL_JSON_LIST(...)                                                                     \
  PAWL_JSON_PICK(__VA_ARGS__, PAWL_JSON_24, PAWL_JSON_23, PAWL_JSON_22, PAWL_JSON_21,           \
                 PAWL_JSON_20, PAWL_JSON_19, PAWL_JSON_18, PAWL_JSON_17, PAWL_JSON_16,          \
                 PAWL_JSON_15, PAWL_JSON_14, PAWL_JSON_13, PAWL_JSON_12, PAWL_JSON_11,          \
                 PAWL_JSON_10, PAWL_JSON_9, PAWL_JSON_8, PAWL_JSON_7, PAWL_JSON_6, PAWL_JSON_5, \
                 PAWL_JSON_4, PAWL_JSON_3, PAWL_JSON_2, PAWL_JSON_1, 0)                         \
  (__VA_ARGS__)

// PAWL_JSON(Valve, number, is_open, label): in the namespace of the struct, behind it.
#define PAWL_JSON(Type, ...)                                 \
  template <typename Fields>                                 \
  bool pawl_json_fields(Fields& fields, const Type& value) { \
    return PAWL_JSON_LIST(__VA_ARGS__);                      \
  }                                                          \
  template <typename Fields>                                 \
  bool pawl_json_fields(Fields& fields, Type& value) {       \
    return PAWL_JSON_LIST(__VA_ARGS__);                      \
  }

#endif  // PAWL_JSON_HPP

// Typed payloads: a struct as JSON text, by a list of its fields.
//
// Purpose: inputs, results and states are bytes; PAWL_JSON(Type, field, ...), beside the struct and
// in its namespace, makes to_json() and from_json() work for it. Fields: bool; integers of up to 64
// bits, exact; float and double; enums; JsonText<N>; structs with a PAWL_JSON of their own; arrays
// of any of these: T[N] and std::array of fixed size, JsonArray<T, N> of a bounded one; and
// std::optional of any of these. A struct has at most 24 fields and 16 levels. Reading is strict:
// every field must be there once, of its type and in its range. The struct says what may change
// between two versions of a program:
// - a std::optional without a value is not written, and is read where it is absent or null;
// - a field of PAWL_JSON_DEFAULTS(Type, field, ...) may be absent: it keeps the value that the
//   struct gives it by default;
// - members that the struct lacks are passed over, or kept in a JsonRest<N>.
// Integers beyond 2^53 are written as texts, since most readers of JSON have doubles.
// Ownership: nothing is kept and nothing allocated; from_json() takes the stack that a T needs, and
// 2 KiB. It goes through the text of an object once for each field. Thread rule: callable from any
// thread.
#ifndef PAWL_JSON_HPP
#define PAWL_JSON_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "pawl/json_io.hpp"
#include "pawl/json_list.hpp"
#include "pawl/json_literal.hpp"
#include "pawl/json_types.hpp"
#include "pawl/status.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {

template <typename T>
bool json_put(JsonWriter& out, const T& value);
template <typename T>
bool json_get(JsonReader& in, JsonNode node, T& value);

template <typename T>
struct IsJsonOptional : std::false_type {};
template <typename T>
struct IsJsonOptional<std::optional<T>> : std::true_type {};
template <typename T>
struct IsJsonRest : std::false_type {};
template <std::size_t N>
struct IsJsonRest<JsonRest<N>> : std::true_type {};

struct JsonPutFields {
  JsonWriter& out;
  bool first = true;
  template <typename T>
  bool operator()(const char* name, const T& value) {
    if constexpr (IsJsonOptional<T>::value) {
      if (!value.has_value()) return true;
    }
    if (!out.enter({name})) return false;
    if constexpr (IsJsonRest<T>::value) {
      if (!value.view().empty() && ((!first && !out.put(",")) || !out.put(value.view())))
        return false;
      first = first && value.view().empty();
    } else {
      if (!out.begin_member(name, first) || !json_put(out, value)) return false;
      first = false;
    }
    out.leave();
    return true;
  }
};

// Looks for one name among fields or enumerators; goes on while it is another.
struct JsonFindName {
  std::string_view wanted;
  bool found = false;
  template <typename T>
  bool operator()(const char* name, const T&) {
    found = !IsJsonRest<T>::value && wanted == name;
    return !found;
  }
};

// No field of a struct may be absent unless PAWL_JSON_DEFAULTS says so.
template <typename T>
bool pawl_json_defaults(JsonFindName&, const T&) {
  return true;
}

template <typename Struct>
struct JsonGetFields {
  JsonReader& in;
  JsonNode object;
  Struct& into;
  static bool knows(const void* fields, std::string_view name) {
    JsonFindName find{name};
    static_cast<void>(pawl_json_fields(find, *static_cast<const Struct*>(fields)));
    return find.found;
  }
  bool may_lack(const char* name) {
    JsonFindName find{name};
    static_cast<void>(pawl_json_defaults(find, into));
    return find.found;
  }
  template <typename T>
  bool operator()(const char* name, T& value) {
    if (!in.enter({name})) return false;
    if constexpr (IsJsonRest<T>::value) {
      if (!in.get_rest(object, knows, &into, value.room())) return false;
    } else {
      const bool required = !IsJsonOptional<T>::value && !may_lack(name);
      const std::optional<JsonNode> node = in.member(object, name, required);
      if (node.has_value() ? !json_get(in, *node, value) : in.status() != Status::kOk) return false;
    }
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
      "no JSON for this type: a field is bool, an integer, double, float, an enum, JsonText<N>, an "
      "array, a JsonArray or an optional of these, or a struct with a PAWL_JSON of its own");
  return HasJsonFields<T>::value;
}

struct JsonNameOf {
  long long wanted;
  const char* name = nullptr;
  template <typename T>
  bool operator()(const char* text, T value) {
    if (static_cast<long long>(value) == wanted) name = text;
    return name == nullptr;
  }
};
template <typename T>
struct JsonValueOf {
  const JsonReader& in;
  JsonNode node;
  std::optional<T> value;
  bool operator()(const char* text, T of) {
    if (in.has_text(node, text)) value = of;
    return !value.has_value();
  }
};
template <typename T, typename = void>
struct HasJsonNames : std::false_type {};
template <typename T>
struct HasJsonNames<T, std::void_t<decltype(pawl_json_names(std::declval<JsonNameOf&>(), T()))>>
    : std::true_type {};

template <typename T>
bool json_put_enum(JsonWriter& out, T value) {
  if constexpr (HasJsonNames<T>::value) {
    JsonNameOf find{static_cast<long long>(value)};
    static_cast<void>(pawl_json_names(find, value));
    if (find.name == nullptr) return out.fail(Status::kInvalidArgument, "has no name");
    return out.put_text(find.name);
  } else {
    return json_put(out, static_cast<std::underlying_type_t<T>>(value));
  }
}

template <typename T>
bool json_get_enum(JsonReader& in, JsonNode node, T& value) {
  if constexpr (HasJsonNames<T>::value) {
    if (!in.is_text(node)) return false;
    JsonValueOf<T> find{in, node, {}};
    static_cast<void>(pawl_json_names(find, value));
    if (!find.value.has_value()) return in.fail(Status::kCorrupt, "is no name of its enum");
    value = *find.value;
    return true;
  } else {
    std::underlying_type_t<T> number{};
    if (!json_get(in, node, number)) return false;
    value = static_cast<T>(number);
    return true;
  }
}

template <std::size_t N>
bool json_put(JsonWriter& out, const JsonText<N>& value) {
  return out.put_text(value.view());
}

template <typename T>
bool json_put_list(JsonWriter& out, const T* values, std::size_t count) {
  if (!out.put("[")) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!out.enter({nullptr, i})) return false;
    if ((i > 0 && !out.put(",")) || !json_put(out, values[i])) return false;
    out.leave();
  }
  return out.put("]");
}
template <typename T, std::size_t N>
bool json_put(JsonWriter& out, const T (&values)[N]) {
  return json_put_list(out, values, N);
}
template <typename T, std::size_t N>
bool json_put(JsonWriter& out, const std::array<T, N>& values) {
  return json_put_list(out, values.data(), N);
}
template <typename T, std::size_t N>
bool json_put(JsonWriter& out, const JsonArray<T, N>& values) {
  return json_put_list(out, values.begin(), values.size());
}
template <typename T>
bool json_put(JsonWriter& out, const std::optional<T>& value) {
  return value.has_value() ? json_put(out, *value) : out.put("null");
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
  } else if constexpr (std::is_same_v<T, float>) {
    return out.put_float(value);
  } else if constexpr (std::is_enum_v<T>) {
    return json_put_enum(out, value);
  } else if constexpr (has_json_fields<T>()) {
    JsonPutFields fields{out};
    return out.put("{") && pawl_json_fields(fields, value) && out.put("}");
  } else {
    return false;
  }
}

template <std::size_t N>
bool json_get(JsonReader& in, JsonNode node, JsonText<N>& value) {
  return in.get_text(node, value.room());
}

template <typename T>
bool json_get_list(JsonReader& in, JsonNode node, T* values, std::size_t count) {
  std::optional<JsonNode> element = in.first_element(node, count);
  for (std::size_t i = 0; i < count; ++i, element = in.next_element(*element)) {
    if (!element.has_value() || !in.enter({nullptr, i}) || !json_get(in, *element, values[i]))
      return false;
    in.leave();
  }
  return in.status() == Status::kOk;
}
template <typename T, std::size_t N>
bool json_get(JsonReader& in, JsonNode node, T (&values)[N]) {
  return json_get_list(in, node, values, N);
}
template <typename T, std::size_t N>
bool json_get(JsonReader& in, JsonNode node, std::array<T, N>& values) {
  return json_get_list(in, node, values.data(), N);
}
template <typename T, std::size_t N>
bool json_get(JsonReader& in, JsonNode node, JsonArray<T, N>& values) {
  std::size_t count = 0;
  if (!in.element_count(node, N, &count)) return false;
  values.clear();
  while (values.size() < count)
    static_cast<void>(values.push_back(T{}));
  return json_get_list(in, node, values.begin(), count);
}
template <typename T>
bool json_get(JsonReader& in, JsonNode node, std::optional<T>& value) {
  value.reset();
  return JsonReader::is_null(node) || json_get(in, node, value.emplace());
}

template <typename T>
bool json_get_integer(JsonReader& in, JsonNode node, T& value) {
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
bool json_get(JsonReader& in, JsonNode node, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return in.get_bool(node, &value);
  } else if constexpr (std::is_integral_v<T>) {
    return json_get_integer(in, node, value);
  } else if constexpr (std::is_same_v<T, double>) {
    return in.get_double(node, &value);
  } else if constexpr (std::is_same_v<T, float>) {
    return in.get_float(node, &value);
  } else if constexpr (std::is_enum_v<T>) {
    return json_get_enum(in, node, value);
  } else if constexpr (has_json_fields<T>()) {
    JsonGetFields<T> fields{in, node, value};
    return in.is_object(node) && pawl_json_fields(fields, value);
  } else {
    return false;
  }
}

}  // namespace internal

// Writes at most `capacity` bytes, without a zero byte behind them. `why`, if not null, names the
// field that cannot be written.
// Returns kOk; after any other answer the bytes in `out` are of no use.
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

// Reads a struct with a PAWL_JSON. `why`, if not null, names the field that cannot be read. Unless
// kOk, `out` is as it was.
// Returns kOk; kCorrupt: the text is no JSON, has more than 16 levels or a zero character, or a
// field is missing, there twice, of another type or out of its range; kResourceExhausted: a text or
// an array is too long for its field.
template <typename T>
Status from_json(std::string_view text, T* out, Diagnostic* why = nullptr) {
  T value{};
  const auto use = [](internal::JsonReader& reader, internal::JsonNode root, void* into) {
    return internal::json_get(reader, root, *static_cast<T*>(into));
  };
  PAWL_TRY(internal::JsonReader::read(text, use, &value, why));
  *out = value;
  return Status::kOk;
}

}  // namespace pawl

#define PAWL_JSON_FIELD(Type, f) fields(#f, value.f)
#define PAWL_JSON_NAME(Type, e) names(#e, Type::e)

// PAWL_JSON(Valve, number, is_open, label) stands in the namespace of the struct, behind it.
#define PAWL_JSON(Type, ...)                                   \
  template <typename Fields>                                   \
  bool pawl_json_fields(Fields& fields, const Type& value) {   \
    return PAWL_JSON_LIST(PAWL_JSON_FIELD, Type, __VA_ARGS__); \
  }                                                            \
  template <typename Fields>                                   \
  bool pawl_json_fields(Fields& fields, Type& value) {         \
    return PAWL_JSON_LIST(PAWL_JSON_FIELD, Type, __VA_ARGS__); \
  }

// PAWL_JSON_DEFAULTS(Valve, label) stands behind PAWL_JSON(Valve, ..) and names fields that were
// added later.
#define PAWL_JSON_DEFAULTS(Type, ...)                                                         \
  inline bool pawl_json_defaults(::pawl::internal::JsonFindName& fields, const Type& value) { \
    return PAWL_JSON_LIST(PAWL_JSON_FIELD, Type, __VA_ARGS__);                                \
  }

// PAWL_JSON_ENUM(Mode, kOff, kOn) stands in the namespace of the enum, behind it. Its values are
// written by these names, and no other is read; without it, they are numbers of its underlying
// type.
#define PAWL_JSON_ENUM(Type, ...)                             \
  template <typename Names>                                   \
  bool pawl_json_names(Names& names, Type) {                  \
    return PAWL_JSON_LIST(PAWL_JSON_NAME, Type, __VA_ARGS__); \
  }
#pragma GCC visibility pop

#endif  // PAWL_JSON_HPP

// JSON of structs that have a table of fields.
//
// Ownership: nothing is kept. Thread rule: that of the sink. Everything here is inline, so that the
// library and the endpoint, which is a library of its own, need no common symbol.
#ifndef PAWL_PARTS_FIELDS_JSON_FIELDS_HPP
#define PAWL_PARTS_FIELDS_JSON_FIELDS_HPP

#include <array>

#include "parts/fields/fields.hpp"
#include "pawl/json_out.hpp"

namespace pawl::fields {

// The part of a Field that JSON needs.
struct JsonField {
  const char* name = nullptr;
  std::uint16_t offset = 0;
  FieldKind kind = FieldKind::kInteger;
  Shown shown = Shown::kNever;
};

template <std::size_t kCount>
constexpr std::array<JsonField, kCount> json_fields(const Field (&fields)[kCount]) {
  std::array<JsonField, kCount> found = {};
  for (std::size_t i = 0; i < kCount; ++i)
    found[i] = {fields[i].name, fields[i].offset, fields[i].kind, fields[i].shown};
  return found;
}

// The names of the members of a histogram.
struct HistogramNames {
  const char* up_to;
  const char* counts;
  const char* total;
  const char* most;
};
inline constexpr HistogramNames kHistogramNames = {"up_to", "counts", "total", "most"};
inline constexpr HistogramNames kDurationsNames = {"up_to_ms", "counts", "total_ms", "longest_ms"};

inline void write_histogram(const char* key, const HistogramView& value,
                            const HistogramNames& names, JsonOut& out) {
  out.begin_object(key).begin_list(names.up_to);
  for (std::size_t i = 0; i < value.bound_count; ++i)
    out.number(value.bounds[i]);
  out.end_list().begin_list(names.counts);
  for (std::size_t i = 0; i <= value.bound_count; ++i)
    out.number(static_cast<std::int64_t>(value.counts[i]));
  out.end_list().number(names.total, value.total).number(names.most, value.most).end_object();
}

// Writes a list from lines of one name each.
inline void write_lines(const char* key, std::string_view lines, JsonOut& out) {
  out.begin_list(key);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    out.text(lines.substr(0, end));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  out.end_list();
}

inline void write_field(const JsonField& field, const void* at, JsonOut& out) {
  const bool may_be_absent = field.shown == Shown::kUnlessEmpty;
  switch (field.kind) {
    case FieldKind::kInteger:
    case FieldKind::kBytes:
    case FieldKind::kCount:
    case FieldKind::kCount32: {
      const std::int64_t number = number_at(field.kind, at);
      if (number != 0 || !may_be_absent) out.number(field.name, number);
      return;
    }
    case FieldKind::kFlag: out.flag(field.name, value_at<bool>(at)); return;
    case FieldKind::kMs:
      if (value_at<OptionalMs>(at).has_value())
        out.number(field.name, value_at<OptionalMs>(at).value());
      return;
    case FieldKind::kLines: return write_lines(field.name, text_at(field.kind, at), out);
    case FieldKind::kDurations:
      return write_histogram(field.name, histogram_at(field.kind, at), kDurationsNames, out);
    case FieldKind::kHistoryLengths:
    case FieldKind::kSessionLasted:
    case FieldKind::kSessionActivities:
      return write_histogram(field.name, histogram_at(field.kind, at), kHistogramNames, out);
    default: break;
  }
  const std::string_view text = text_at(field.kind, at);
  if (!text.empty() || !may_be_absent) out.text(field.name, text);
}

// One loop for all structs. Copied into a caller, it would be larger, and g++ would take a struct
// without an owner for a SessionInfo.
[[gnu::noinline]] inline void write_members(const JsonField* fields, std::size_t count,
                                            const void* value, JsonOut& out) {
  for (const JsonField* one = fields; one != fields + count; ++one) {
    if (one->shown == Shown::kNever) continue;
    if (one->shown == Shown::kWithOwner && static_cast<const SessionInfo*>(value)->node.empty())
      continue;
    write_field(*one, place_of(one->offset, value), out);
  }
}

template <std::size_t kCount>
constexpr bool asks_for_owner(const std::array<JsonField, kCount>& fields) {
  for (const JsonField& one : fields)
    if (one.shown == Shown::kWithOwner) return true;
  return false;
}

// Writes the members of `value` into the object that has been begun.
template <typename T>
void write_members(const T& value, JsonOut& out) {
  static constexpr auto kFields = json_fields(FieldsOf<T>::kAll);
  static_assert(std::is_same_v<T, SessionInfo> || !asks_for_owner(kFields), "it has no owner");
  write_members(kFields.data(), kFields.size(), &value, out);
}

template <typename T>
void write_object(const T& value, JsonOut& out) {
  out.begin_object();
  write_members(value, out);
  out.end_object();
}

}  // namespace pawl::fields

#endif  // PAWL_PARTS_FIELDS_JSON_FIELDS_HPP

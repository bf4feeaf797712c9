// fits(): turns a number of a column into the type that it stands for.
//
// Purpose: a stored number that no code of Pawl wrote is damage, whatever a checksum says.
// Ownership: plain values.
// Thread rule: any.
#ifndef PAWL_STORE_COLUMN_FITS_HPP
#define PAWL_STORE_COLUMN_FITS_HPP

#include <cstdint>
#include <limits>
#include <string_view>

#include "codec/event.hpp"
#include "pawl/error.hpp"

namespace pawl::store {

// The limit of executions and revisions; it leaves room for one more.
inline constexpr std::int64_t kNumbersMax = std::int64_t{1} << 53;

inline bool is_known(EventKind kind) {
  return std::string_view(event_kind_name(kind)) != "unknown";
}

inline bool is_known(MessageKind kind) {
  return std::string_view(message_kind_name(kind)) != "unknown";
}

// False: the number is no value of this type, whatever the checksum says of the rest.
template <typename T>
bool fits(std::int64_t number, T* out) {
  *out = static_cast<T>(number);
  return number >= 0 &&
         number <= static_cast<std::int64_t>(std::numeric_limits<std::uint32_t>::max()) &&
         static_cast<std::int64_t>(*out) == number;
}

inline bool fits_count(std::int64_t number, std::int32_t* out) {
  constexpr std::int64_t kCountMax = std::int64_t{1} << 30;  // leaves room for one more
  *out = number >= 0 && number <= kCountMax ? static_cast<std::int32_t>(number) : 0;
  return *out == number;
}

template <>
inline bool fits(std::int64_t number, EventKind* out) {
  *out = static_cast<EventKind>(number);
  return static_cast<std::int64_t>(*out) == number && is_known(*out);
}

template <>
inline bool fits(std::int64_t number, MessageKind* out) {
  *out = static_cast<MessageKind>(number);
  return static_cast<std::int64_t>(*out) == number && is_known(*out);
}

template <>
inline bool fits(std::int64_t number, ErrorKind* out) {
  *out = static_cast<ErrorKind>(number);
  return static_cast<std::int64_t>(*out) == number;
}

}  // namespace pawl::store

#endif  // PAWL_STORE_COLUMN_FITS_HPP

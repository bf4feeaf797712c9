// Versions of orchestrations: MAJOR.MINOR.PATCH[-PRE], as in Semantic Versioning 2.0.0.
//
// Purpose: strict form and order. Build metadata ("+...") is refused: the order ignores it, and two
// different versions must never be equal. Thread rule: plain functions. Errors: none.
#ifndef PAWL_CORE_VERSION_HPP
#define PAWL_CORE_VERSION_HPP

#include <cstddef>
#include <string_view>

namespace pawl {

inline constexpr std::size_t kVersionBytesMax = 64;

[[nodiscard]] bool is_valid_version(std::string_view text);
// Below 0, 0 or above 0 if `a` is older than, the same as or newer than `b`. Requires: both are
// valid.
[[nodiscard]] int compare_versions(std::string_view a, std::string_view b);

}  // namespace pawl

#endif  // PAWL_CORE_VERSION_HPP

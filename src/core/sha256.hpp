// Sha256: a one-way hash (FIPS 180-4), for what must be recognised and not be stored itself.
//
// Purpose: completion tokens, and answers that were given with them. The code is libmd's
// (toolchains/libmd.cmake); a program that calls nothing here does not link it. Hash64 is for
// names and inputs, where no attacker tries to find another text of the same hash.
// Thread rule: pure functions. Errors: none.
#ifndef PAWL_CORE_SHA256_HPP
#define PAWL_CORE_SHA256_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace pawl {

struct Sha256 {
  static constexpr std::size_t kBytes = 32;
  std::uint8_t bytes[kBytes] = {};

  [[nodiscard]] std::string_view view() const {
    return {reinterpret_cast<const char*>(bytes), kBytes};
  }
};

// The hash of the texts one after the other, without their lengths.
[[nodiscard]] Sha256 sha256(std::initializer_list<std::string_view> texts);

}  // namespace pawl

#endif  // PAWL_CORE_SHA256_HPP

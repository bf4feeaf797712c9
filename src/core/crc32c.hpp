// CRC-32C (Castagnoli): the checksum of stored rows.
//
// Purpose: distinguishes a damaged row from a whole one. iSCSI and ext4 use the same polynomial, so
// that any tool can check a row. Thread rule: pure functions over constant tables, built by the
// compiler: 8 KiB, or 1 KiB where it optimises for size.
#ifndef PAWL_CORE_CRC32C_HPP
#define PAWL_CORE_CRC32C_HPP

#include <cstddef>
#include <cstdint>

namespace pawl {

// `seed` is 0, or the checksum of the preceding bytes: crc32c(ab) == crc32c(b, crc32c(a)).
[[nodiscard]] std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t seed = 0);

}  // namespace pawl

#endif  // PAWL_CORE_CRC32C_HPP

#include "core/crc32c.hpp"

namespace pawl {

namespace {

constexpr std::uint32_t kPolynomialReversed = 0x82F63B78U;
// Eight bytes a round, with a table of 1 KiB for each. A build for small size has one table: rows
// are short.
#ifdef __OPTIMIZE_SIZE__
constexpr std::size_t kSlices = 1;
#else
constexpr std::size_t kSlices = 8;
#endif

struct Tables {
  std::uint32_t slice[kSlices][256] = {};
};

constexpr Tables make_tables() {
  Tables tables;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kPolynomialReversed : 0U);
    tables.slice[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables.slice[slice - 1][byte];
      tables.slice[slice][byte] = (before >> 8) ^ tables.slice[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

// Reads byte by byte in a fixed order: correct on every machine, and compiled to one load where
// that is allowed.
[[maybe_unused]] std::uint32_t load_le32(const unsigned char* from) {
  return static_cast<std::uint32_t>(from[0]) | static_cast<std::uint32_t>(from[1]) << 8 |
         static_cast<std::uint32_t>(from[2]) << 16 | static_cast<std::uint32_t>(from[3]) << 24;
}

// Processes whole rounds of eight bytes if there are eight tables; the caller processes the rest.
template <std::size_t kCount>
std::uint32_t eight_at_once(const std::uint32_t (&t)[kCount][256], std::uint32_t crc,
                            const unsigned char*& at, std::size_t& size) {
  if constexpr (kCount == 8) {
    for (; size >= 8; size -= 8, at += 8) {
      const std::uint32_t low = load_le32(at) ^ crc;
      const std::uint32_t high = load_le32(at + 4);
      crc = t[7][low & 0xFFU] ^ t[6][(low >> 8) & 0xFFU] ^ t[5][(low >> 16) & 0xFFU] ^
            t[4][low >> 24] ^ t[3][high & 0xFFU] ^ t[2][(high >> 8) & 0xFFU] ^
            t[1][(high >> 16) & 0xFFU] ^ t[0][high >> 24];
    }
  }
  return crc;
}

}  // namespace

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t seed) {
  const unsigned char* at = static_cast<const unsigned char*>(data);
  const auto& t = kTables.slice;
  std::uint32_t crc = eight_at_once(t, ~seed, at, size);
  for (; size > 0; --size, ++at)
    crc = (crc >> 8) ^ t[0][(crc ^ *at) & 0xFFU];
  return ~crc;
}

}  // namespace pawl

// NorFlash: a driver of a NOR flash, the only thing below the storage of this port.
//
// Purpose: a chip, or the part of one that holds the database. Addresses begin at 0 in that part.
// docs/porting/bare-metal.md has the rules for a chip, and the states that a power cut may leave.
// Ownership: the driver belongs to the application and outlives the Machine.
// Thread rule: the thread of the Runtime. Units: bytes.
#ifndef PAWL_PORT_BARE_METAL_NOR_FLASH_HPP
#define PAWL_PORT_BARE_METAL_NOR_FLASH_HPP

#include <cstddef>
#include <cstdint>

#include "pawl/status.hpp"

namespace pawl::bare_metal {

// Smallest unit of a program operation, and its alignment. Each unit is programmed once between two
// erases, as chips with an error code over a unit require.
inline constexpr std::size_t kProgramBytes = 32;

class NorFlash {
 public:
  struct Geometry {
    // Bytes of one erase, 4 KiB to 1 MiB. A driver of a chip with small blocks may join several to
    // one.
    std::uint32_t block_bytes = 0;
    std::uint32_t block_count = 0;
  };
  [[nodiscard]] virtual Geometry geometry() const = 0;
  // kIo: the chip reports an error.
  virtual Status read(std::uint32_t address, void* out, std::size_t size) = 0;
  // Clears bits and sets none. Address and size are multiples of kProgramBytes, and all of it lies
  // in one block. Returns when the bytes survive a power cut. kIo: the chip reports an error.
  virtual Status program(std::uint32_t address, const void* data, std::size_t size) = 0;
  // All bytes of the block become 0xff. Returns as program() does.
  virtual Status erase(std::uint32_t block) = 0;

 protected:
  ~NorFlash() = default;
};

}  // namespace pawl::bare_metal

#endif  // PAWL_PORT_BARE_METAL_NOR_FLASH_HPP

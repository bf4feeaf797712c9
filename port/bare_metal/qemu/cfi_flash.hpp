// A flash that the program itself runs from: two chips of 16 bits side by side, with commands of
// Intel's.
//
// Purpose: an example of such a driver. From a command to the end of its operation a read anywhere
// in the chips gives their status. So no instruction, constant or handler of an interrupt may lie
// there meanwhile: the operation is one function in RAM, with interrupts off.
// Source: "Common Flash Memory Interface", command set 1. Thread rule: as NorFlash.
#ifndef PAWL_PORT_BARE_METAL_QEMU_CFI_FLASH_HPP
#define PAWL_PORT_BARE_METAL_QEMU_CFI_FLASH_HPP

#include <cstddef>
#include <cstdint>

#include "port/bare_metal/nor_flash.hpp"

namespace pawl::qemu {

class CfiFlash final : public bare_metal::NorFlash {
 public:
  // `begin`: where the part of the database begins, a block that has nothing of the program.
  // `geometry` counts the blocks of both chips as one.
  CfiFlash(std::uint32_t* begin, Geometry geometry) : begin_(begin), geometry_(geometry) {}

  [[nodiscard]] std::uint32_t operations() const { return operations_; }

  [[nodiscard]] Geometry geometry() const override { return geometry_; }
  Status read(std::uint32_t address, void* out, std::size_t size) override;
  Status program(std::uint32_t address, const void* data, std::size_t size) override;
  Status erase(std::uint32_t block) override;

 private:
  std::uint32_t* begin_;
  Geometry geometry_;
  std::uint32_t operations_ = 0;
};

}  // namespace pawl::qemu

#endif  // PAWL_PORT_BARE_METAL_QEMU_CFI_FLASH_HPP

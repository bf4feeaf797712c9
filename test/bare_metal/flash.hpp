// The flash of a program on the board, of which there are two kinds: played_flash.cpp and
// own_flash.cpp.
#ifndef PAWL_TEST_BARE_METAL_FLASH_HPP
#define PAWL_TEST_BARE_METAL_FLASH_HPP

#include <cstddef>
#include <cstdint>

#include "port/bare_metal/nor_flash.hpp"

namespace pawl::metal_test {

struct Flash {
  bare_metal::NorFlash& chip;
  std::uint32_t (*operations)();
  // Enough for a Machine over this chip.
  void* memory;
  std::size_t bytes;
};
// Null: there is none.
[[nodiscard]] const Flash* start_flash();

}  // namespace pawl::metal_test

#endif  // PAWL_TEST_BARE_METAL_FLASH_HPP

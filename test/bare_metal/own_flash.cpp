// The flash that the program runs from, behind the program.
#include "flash.hpp"
#include "port/bare_metal/qemu/cfi_flash.hpp"

// Symbol of the linker script.
extern "C" std::uint32_t pawl_medium_begin[];

namespace pawl::metal_test {
namespace {

constexpr std::uint32_t kBlockBytes = 256 * 1024;
constexpr std::uint32_t kBlockCount = 16;
constexpr std::size_t kMachineBytes = 32'000;

qemu::CfiFlash chip(pawl_medium_begin, {kBlockBytes, kBlockCount});
alignas(8) unsigned char for_machine[kMachineBytes];

// To the processor the status of the chips is an instruction without effect. So a driver that reads
// it in the place of its own instructions runs on, and ends here, by a fault: behind the program
// nothing is executed.
void forbid_code() {
  constexpr std::uint32_t kLockedRangeOfData = 0x8b;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(pawl_medium_begin);
  __asm__ volatile("csrw pmpaddr0, %0" ::"r"(begin >> 2U));
  __asm__ volatile("csrw pmpaddr1, %0" ::"r"((begin + kBlockBytes * kBlockCount) >> 2U));
  __asm__ volatile("csrw pmpcfg0, %0" ::"r"(kLockedRangeOfData << 8U));
}

}  // namespace

const Flash* start_flash() {
  forbid_code();
  static const Flash flash = {chip, [] { return chip.operations(); }, for_machine, kMachineBytes};
  return &flash;
}

}  // namespace pawl::metal_test

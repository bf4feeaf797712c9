// A flash in memory and a file. The argument "cut=N" cuts the power at the n-th operation.
#include "flash.hpp"
#include "port/bare_metal/qemu/board.hpp"
#include "port/bare_metal/qemu/file_flash.hpp"

namespace pawl::metal_test {
namespace {

constexpr std::size_t kMachineBytes = 28'672;

qemu::FileFlash chip;
alignas(8) unsigned char for_machine[kMachineBytes];

}  // namespace

const Flash* start_flash() {
  static const Flash flash = {chip, [] { return chip.operations(); }, for_machine, kMachineBytes};
  if (!chip.start("flash.bin")) return nullptr;
  const std::optional<std::uint32_t> cut = qemu::argument("cut");
  if (cut.has_value()) chip.cut_at(*cut);
  return &flash;
}

}  // namespace pawl::metal_test

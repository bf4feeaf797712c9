// A NOR flash that is played: memory beyond the RAM that programs use, and a file of the host.
//
// Purpose: a flash for boards of QEMU that have none. Each operation is written to the file, and
// the next run finds it. The power may be cut in the middle of an operation.
// Thread rule: one thread.
#ifndef PAWL_PORT_BARE_METAL_QEMU_FILE_FLASH_HPP
#define PAWL_PORT_BARE_METAL_QEMU_FILE_FLASH_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "port/bare_metal/nor_flash.hpp"
#include "port/bare_metal/qemu/semihosting.hpp"

namespace pawl::qemu {

// 1 MiB: 64 blocks of 16 KiB.
class FileFlash final : public bare_metal::NorFlash {
 public:
  static constexpr std::uint32_t kBlockBytes = 16'384;
  static constexpr std::uint32_t kBlockCount = 64;
  // Exit status of a program after a power cut.
  static constexpr int kPowerCut = 42;

  // Reads the file. If it does not exist, makes one for an erased flash. False: it cannot be made.
  bool start(const char* path);
  // The power goes in the middle of the n-th operation from now; 1 is the next.
  void cut_at(std::uint32_t operation) { operations_left_ = operation; }
  [[nodiscard]] std::uint32_t operations() const { return operations_; }

  [[nodiscard]] Geometry geometry() const override { return {kBlockBytes, kBlockCount}; }
  Status read(std::uint32_t address, void* out, std::size_t size) override;
  Status program(std::uint32_t address, const void* data, std::size_t size) override;
  Status erase(std::uint32_t block) override;

 private:
  // True: the power goes during this operation.
  bool is_cut();
  Status store(std::uint32_t address, std::size_t size);
  HostFile file_;
  std::uint32_t operations_ = 0;
  std::optional<std::uint32_t> operations_left_;
};

}  // namespace pawl::qemu

#endif  // PAWL_PORT_BARE_METAL_QEMU_FILE_FLASH_HPP

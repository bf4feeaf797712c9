// The board mps2-an500 of QEMU: Cortex-M7, a timer of one millisecond, semihosting.
//
// Purpose: a Board and a NorFlash for one machine, to read and to test with. QEMU has no NOR flash
// on this board. So the flash is memory beyond the RAM that programs use, and a file of the host
// machine: each operation is written to the file, and the next run finds it.
// Thread rule: one thread. The interrupt of the timer only counts.
#ifndef PAWL_PORT_BARE_METAL_MPS2_MPS2_BOARD_HPP
#define PAWL_PORT_BARE_METAL_MPS2_MPS2_BOARD_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "port/bare_metal/bare_metal_port.hpp"
#include "port/bare_metal/mps2/semihosting.hpp"

namespace pawl::mps2 {

class Mps2Board final : public bare_metal::Board {
 public:
  // Starts the timer.
  void start();
  [[nodiscard]] std::int64_t boot_ms() override;
  [[nodiscard]] std::int64_t wall_ms() override;
  [[nodiscard]] bool is_wall_trusted() override { return true; }
  void random(void* out, std::size_t size) override;
  void sleep(OptionalMs until_boot_ms) override;

 private:
  std::int64_t wall_at_start_ms_ = 0;
};

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

// Highest use of the stack since its painting at start, in bytes.
[[nodiscard]] std::size_t stack_used();

// Prints a line, printf-style, at most 255 bytes.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// The number after `name` among the program's arguments ("cut=7"); nothing: no such argument.
[[nodiscard]] std::optional<std::uint32_t> argument(const char* name);

}  // namespace pawl::mps2

#endif  // PAWL_PORT_BARE_METAL_MPS2_MPS2_BOARD_HPP

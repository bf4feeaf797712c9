// The board mps2-an500 of QEMU: Cortex-M7, a timer of one millisecond, semihosting.
//
// Purpose: what a Board and a NorFlash are for one machine, to read and to test with. QEMU has no
// NOR flash on this board, so the flash is memory beyond the RAM that programs count on, and a file
// of the machine that emulates, which each operation is written to: the next run finds it.
// Thread rule: one thread. The interrupt of the timer only counts.
#ifndef PAWL_PORT_BARE_METAL_MPS2_BOARD_HPP
#define PAWL_PORT_BARE_METAL_MPS2_BOARD_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bare_metal_port.hpp"
#include "semihosting.hpp"

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
  // Exit status of a program whose power was cut.
  static constexpr int kPowerCut = 42;

  // Reads the file; one that is not there is a flash that was erased. False: it cannot be made.
  bool start(const char* path);
  // The power goes during the n-th operation from now, 1 is the next, half of which is done.
  void cut_at(std::uint32_t operation) { operations_left_ = operation; }
  [[nodiscard]] std::uint32_t operations() const { return operations_; }

  [[nodiscard]] Geometry geometry() const override { return {kBlockBytes, kBlockCount}; }
  Status read(std::uint32_t address, void* out, std::size_t size) override;
  Status program(std::uint32_t address, const void* data, std::size_t size) override;
  Status erase(std::uint32_t block) override;

 private:
  // True: the power goes during this one.
  bool is_cut();
  Status store(std::uint32_t address, std::size_t size);
  HostFile file_;
  std::uint32_t operations_ = 0;
  std::optional<std::uint32_t> operations_left_;
};

// Bytes of the stack that were ever used, since it was painted at start.
[[nodiscard]] std::size_t stack_used();

// A line of output, printf-style, at most 255 bytes.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// The number after `name` among the program's arguments ("cut=7"); nothing: it is not there.
[[nodiscard]] std::optional<std::uint32_t> argument(const char* name);

}  // namespace pawl::mps2

#endif  // PAWL_PORT_BARE_METAL_MPS2_BOARD_HPP

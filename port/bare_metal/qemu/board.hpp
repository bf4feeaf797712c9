// A board that QEMU emulates: its clock, its random bytes, and what programs say and are asked.
//
// Purpose: a Board for machines of QEMU, to read and to test with; core.hpp has what differs
// between them.
// Thread rule: one thread. The interrupt of the clock wakes it and does no more.
#ifndef PAWL_PORT_BARE_METAL_QEMU_BOARD_HPP
#define PAWL_PORT_BARE_METAL_QEMU_BOARD_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "port/bare_metal/bare_metal_port.hpp"

namespace pawl::qemu {

class EmulatedBoard final : public bare_metal::Board {
 public:
  // Starts the clock.
  void start();
  [[nodiscard]] std::int64_t boot_ms() override;
  [[nodiscard]] std::int64_t wall_ms() override;
  [[nodiscard]] bool is_wall_trusted() override { return true; }
  void random(void* out, std::size_t size) override;
  void sleep(OptionalMs until_boot_ms) override;

 private:
  std::int64_t wall_at_start_ms_ = 0;
};

// Bytes of the stack that no program may have used at its end. They are for ways that no test goes.
inline constexpr std::size_t kStackMargin = 2'048;
// Writes the highest use of the stack since its painting at start. False: the margin was used.
[[nodiscard]] bool report_stack();

// Prints a line, printf-style, at most 255 bytes.
__attribute__((format(printf, 1, 2))) void say(const char* format, ...);

// The number after `name` among the program's arguments ("cut=7"); nothing: no such argument.
[[nodiscard]] std::optional<std::uint32_t> argument(const char* name);

}  // namespace pawl::qemu

#endif  // PAWL_PORT_BARE_METAL_QEMU_BOARD_HPP

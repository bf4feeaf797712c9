// Calls of the emulator or debugger that runs this program: output, arguments, files, the end.
//
// Source: "Semihosting for AArch32 and AArch64" of ARM; RISC-V has it, too.
// Thread rule: one thread.
#ifndef PAWL_PORT_BARE_METAL_QEMU_SEMIHOSTING_HPP
#define PAWL_PORT_BARE_METAL_QEMU_SEMIHOSTING_HPP

#include <cstddef>
#include <cstdint>

namespace pawl::qemu {

// `text` ends with a zero byte.
void put(const char* text);
// Ends the emulator with this exit status.
[[noreturn]] void end(int status);
// Arguments, separated by blanks; cut to what fits.
void arguments(char* out, std::size_t size);
// Seconds since 1970 UTC by the host machine's clock.
[[nodiscard]] std::uint32_t seconds();

// A file of the host machine, on which the emulator runs.
class HostFile {
 public:
  enum class Mode : std::uint8_t { kRead = 1, kChange = 3, kMake = 7 };
  // False: the file does not exist, or cannot be made.
  bool open(const char* path, Mode mode);
  // Bytes read.
  std::size_t read(std::uint32_t offset, void* out, std::size_t size);
  // False: not all of it was written.
  bool write(std::uint32_t offset, const void* data, std::size_t size);
  void close();

 private:
  bool seek(std::uint32_t offset);
  int handle_ = -1;
};

}  // namespace pawl::qemu

#endif  // PAWL_PORT_BARE_METAL_QEMU_SEMIHOSTING_HPP

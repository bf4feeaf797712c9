#include "port/bare_metal/qemu/semihosting.hpp"

#include <cstring>

#include "port/bare_metal/qemu/core.hpp"

namespace pawl::qemu {
namespace {

enum Operation : std::uint32_t {
  kOpen = 0x01,
  kClose = 0x02,
  kWriteText = 0x04,
  kWrite = 0x05,
  kRead = 0x06,
  kSeek = 0x0a,
  kTime = 0x11,
  kArguments = 0x15,
  kExit = 0x20,
};

PAWL_RAM_CODE int call(Operation operation, const void* parameters) {
  return core::call_emulator(operation, parameters);
}

std::uint32_t word(const void* pointer) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace

PAWL_RAM_CODE void put(const char* text) { call(kWriteText, text); }

PAWL_RAM_CODE void end(int status) {
  constexpr std::uint32_t kApplicationExit = 0x20026;
  const std::uint32_t parameters[] = {kApplicationExit, static_cast<std::uint32_t>(status)};
  for (;;)
    call(kExit, parameters);
}

void arguments(char* out, std::size_t size) {
  const std::uint32_t parameters[] = {word(out), static_cast<std::uint32_t>(size)};
  out[0] = '\0';
  if (call(kArguments, parameters) != 0) out[0] = '\0';
}

std::uint32_t seconds() { return static_cast<std::uint32_t>(call(kTime, nullptr)); }

bool HostFile::open(const char* path, Mode mode) {
  const std::uint32_t parameters[] = {word(path), static_cast<std::uint32_t>(mode),
                                      static_cast<std::uint32_t>(std::strlen(path))};
  handle_ = call(kOpen, parameters);
  return handle_ >= 0;
}

bool HostFile::seek(std::uint32_t offset) {
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_), offset};
  return call(kSeek, parameters) == 0;
}

// The call returns how many bytes are missing.
std::size_t HostFile::read(std::uint32_t offset, void* out, std::size_t size) {
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_), word(out),
                                      static_cast<std::uint32_t>(size)};
  if (!seek(offset)) return 0;
  const int missing = call(kRead, parameters);
  return missing < 0 ? 0 : size - static_cast<std::size_t>(missing);
}

bool HostFile::write(std::uint32_t offset, const void* data, std::size_t size) {
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_), word(data),
                                      static_cast<std::uint32_t>(size)};
  return seek(offset) && call(kWrite, parameters) == 0;
}

void HostFile::close() {
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_)};
  if (handle_ >= 0) call(kClose, parameters);
  handle_ = -1;
}

}  // namespace pawl::qemu

#include "port/bare_metal/qemu/cfi_flash.hpp"

#include <cstring>

#include "port/bare_metal/qemu/core.hpp"
#include "port/bare_metal/qemu/interrupts.hpp"

namespace pawl::qemu {
namespace {

// A command or status for each of the two chips.
constexpr std::uint32_t both(std::uint32_t value) { return value << 16U | value; }
constexpr std::uint32_t kErase = both(0x20);
constexpr std::uint32_t kProgram = both(0xe8);
constexpr std::uint32_t kConfirm = both(0xd0);
constexpr std::uint32_t kClearStatus = both(0x50);
constexpr std::uint32_t kReadMemory = both(0xff);
constexpr std::uint32_t kReady = both(0x80);
// Erasing failed, programming failed, no voltage for it, the block is locked.
constexpr std::uint32_t kErrors = both(0x3a);

constexpr std::size_t kWords = bare_metal::kProgramBytes / sizeof(std::uint32_t);

[[gnu::always_inline]] inline std::uint32_t status_when_ready(volatile std::uint32_t* place) {
  std::uint32_t status = 0;
  do
    status = *place;
  while ((status & kReady) != kReady);
  return status;
}

// An operation: of the words in memory (null: none), which go to `place` by way of the chips'
// buffers. Calls nothing, and names no constant that has an address. False: a chip reports an
// error.
PAWL_RAM_CODE bool operate(volatile std::uint32_t* place, std::uint32_t command,
                           const std::uint32_t* words) {
  const std::uint32_t before = core::interrupts_off();
  *place = command;
  if (words != nullptr) {
    static_cast<void>(status_when_ready(place));  // of the buffers
    *place = both(kWords - 1);
    for (std::size_t i = 0; i < kWords; ++i)
      place[i] = words[i];
  }
  *place = kConfirm;
  const std::uint32_t status = status_when_ready(place);
  *place = kClearStatus;
  *place = kReadMemory;
  core::interrupts_on(before);
  return (status & kErrors) == 0;
}

}  // namespace

Status CfiFlash::read(std::uint32_t address, void* out, std::size_t size) {
  std::memcpy(out, begin_ + address / sizeof(std::uint32_t), size);
  return Status::kOk;
}

Status CfiFlash::program(std::uint32_t address, const void* data, std::size_t size) {
  ++operations_;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (std::size_t at = 0; at < size; at += bare_metal::kProgramBytes) {
    std::uint32_t words[kWords];  // in memory, since the data may be in the flash
    std::memcpy(words, bytes + at, sizeof(words));
    if (!operate(begin_ + (address + at) / sizeof(words[0]), kProgram, words)) return Status::kIo;
  }
  return Status::kOk;
}

Status CfiFlash::erase(std::uint32_t block) {
  ++operations_;
  std::uint32_t* const place = begin_ + block * (geometry_.block_bytes / sizeof(std::uint32_t));
  const bool erased = operate(place, kErase, nullptr);
  return erased ? Status::kOk : Status::kIo;
}

}  // namespace pawl::qemu

#include "port/bare_metal/qemu/file_flash.hpp"

#include <cstring>

// Symbol of the linker script.
extern "C" unsigned char pawl_medium_begin[];

namespace pawl::qemu {
namespace {

unsigned char* medium() { return pawl_medium_begin; }

}  // namespace

bool FileFlash::start(const char* path) {
  constexpr std::size_t kBytes = std::size_t{kBlockBytes} * kBlockCount;
  if (file_.open(path, HostFile::Mode::kChange)) return file_.read(0, medium(), kBytes) == kBytes;
  std::memset(medium(), 0xff, kBytes);
  return file_.open(path, HostFile::Mode::kMake) && file_.write(0, medium(), kBytes);
}

bool FileFlash::is_cut() {
  ++operations_;
  return operations_left_.has_value() && --*operations_left_ == 0;
}

Status FileFlash::store(std::uint32_t address, std::size_t size) {
  return file_.write(address, medium() + address, size) ? Status::kOk : Status::kIo;
}

Status FileFlash::read(std::uint32_t address, void* out, std::size_t size) {
  std::memcpy(out, medium() + address, size);
  return Status::kOk;
}

Status FileFlash::program(std::uint32_t address, const void* data, std::size_t size) {
  const bool cut = is_cut();
  const std::size_t done = cut ? size / 2 : size;
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < done; ++i)
    medium()[address + i] = static_cast<unsigned char>(medium()[address + i] & bytes[i]);
  const Status stored = store(address, done);
  if (cut) end(kPowerCut);
  return stored;
}

Status FileFlash::erase(std::uint32_t block) {
  const bool cut = is_cut();
  const std::size_t done = cut ? kBlockBytes / 2 : kBlockBytes;
  std::memset(medium() + block * kBlockBytes, 0xff, done);
  const Status stored = store(block * kBlockBytes, done);
  if (cut) end(kPowerCut);
  return stored;
}

}  // namespace pawl::qemu

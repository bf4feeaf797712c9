#include "port/bare_metal/mps2/mps2_board.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
// Symbols of the linker script.
extern unsigned char pawl_stack_begin[];
extern unsigned char pawl_stack_end[];
extern unsigned char pawl_medium_begin[];
void pawl_count_millisecond();
}

namespace pawl::mps2 {
namespace {

// ARMv7-M Architecture Reference Manual, "The system timer, SysTick".
struct SysTick {
  std::uint32_t control;
  std::uint32_t reload;
  std::uint32_t current;
};
SysTick volatile& timer() { return *reinterpret_cast<SysTick volatile*>(0xe000e010U); }
constexpr std::uint32_t kClockHz = 25'000'000;

// Two words, since a 64-bit one would be written in two steps. The upper one rises every 49 days.
volatile std::uint32_t milliseconds = 0;
volatile std::uint32_t milliseconds_upper = 0;

unsigned char* medium() { return pawl_medium_begin; }

}  // namespace

// ---- the board ----

void Mps2Board::start() {
  constexpr std::uint32_t kCountWithInterrupt = 7;
  wall_at_start_ms_ = std::int64_t{seconds()} * 1'000;
  timer().reload = kClockHz / 1'000 - 1;
  timer().current = 0;
  timer().control = kCountWithInterrupt;
}

std::int64_t Mps2Board::boot_ms() {
  std::uint32_t upper = 0;
  std::uint32_t lower = 0;
  do {
    upper = milliseconds_upper;
    lower = milliseconds;
  } while (upper != milliseconds_upper);
  return static_cast<std::int64_t>((std::uint64_t{upper} << 32U) | lower);
}

std::int64_t Mps2Board::wall_ms() { return wall_at_start_ms_ + boot_ms(); }

void Mps2Board::random(void* out, std::size_t size) {
  HostFile source;
  std::size_t got = 0;
  if (source.open("/dev/urandom", HostFile::Mode::kRead)) got = source.read(0, out, size);
  source.close();
  if (got < size) end(2);
}

void Mps2Board::sleep(OptionalMs) { __asm__ volatile("wfi" ::: "memory"); }

// ---- the flash ----

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

// ---- for programs ----

std::size_t stack_used() {
  constexpr unsigned char kPaint = 0xa5;
  const unsigned char* deepest = pawl_stack_begin;
  while (deepest < pawl_stack_end && *deepest == kPaint)
    ++deepest;
  return static_cast<std::size_t>(pawl_stack_end - deepest);
}

void say(const char* format, ...) {
  char text[256];
  va_list parameters;
  va_start(parameters, format);
  const int size = std::vsnprintf(text, sizeof(text) - 1, format, parameters);
  va_end(parameters);
  if (size < 0) return;
  const std::size_t end = std::strlen(text);
  text[end] = '\n';
  text[end + 1] = '\0';
  put(text);
}

std::optional<std::uint32_t> argument(const char* name) {
  char all[128];
  arguments(all, sizeof(all));
  const char* const found = std::strstr(all, name);
  if (found == nullptr || found[std::strlen(name)] != '=') return std::nullopt;
  return static_cast<std::uint32_t>(std::strtoul(found + std::strlen(name) + 1, nullptr, 10));
}

}  // namespace pawl::mps2

void pawl_count_millisecond() {
  const std::uint32_t next = pawl::mps2::milliseconds + 1;
  pawl::mps2::milliseconds = next;
  if (next == 0) pawl::mps2::milliseconds_upper = pawl::mps2::milliseconds_upper + 1;
}

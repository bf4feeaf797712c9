#include "port/bare_metal/qemu/board.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "port/bare_metal/qemu/core.hpp"
#include "port/bare_metal/qemu/semihosting.hpp"

extern "C" {
// Symbols of the linker script.
extern unsigned char pawl_stack_begin[];
extern unsigned char pawl_stack_end[];
}

namespace pawl::qemu {

// ---- the board ----

void EmulatedBoard::start() {
  wall_at_start_ms_ = std::int64_t{seconds()} * 1'000;
  core::start_clock();
}

std::int64_t EmulatedBoard::boot_ms() { return core::milliseconds(); }

std::int64_t EmulatedBoard::wall_ms() { return wall_at_start_ms_ + boot_ms(); }

void EmulatedBoard::random(void* out, std::size_t size) {
  HostFile source;
  std::size_t got = 0;
  if (source.open("/dev/urandom", HostFile::Mode::kRead)) got = source.read(0, out, size);
  source.close();
  if (got < size) end(2);
}

void EmulatedBoard::sleep(OptionalMs) { core::sleep(); }

// ---- for programs ----

bool report_stack() {
  constexpr unsigned char kPaint = 0xa5;
  const unsigned char* deepest = pawl_stack_begin;
  while (deepest < pawl_stack_end && *deepest == kPaint)
    ++deepest;
  const auto used = static_cast<std::size_t>(pawl_stack_end - deepest);
  const auto given = static_cast<std::size_t>(pawl_stack_end - pawl_stack_begin);
  say("stack: %zu of %zu bytes", used, given);
  return used + kStackMargin <= given;
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

}  // namespace pawl::qemu

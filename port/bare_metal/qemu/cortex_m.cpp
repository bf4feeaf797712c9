// The core of a Cortex-M7 or M33: vectors, SysTick, and calls of the emulator by a breakpoint.
//
// Source: "ARMv7-M Architecture Reference Manual", which ARMv8-M keeps in all of this. The M33
// stays in its secure state.
#include <cstddef>

#include "port/bare_metal/qemu/core.hpp"

extern "C" {
// Symbols of the linker script. The address of the second one is the number.
extern unsigned char pawl_stack_end[];
extern unsigned char pawl_clock_hz[];

[[noreturn]] void pawl_reset();
void pawl_count_millisecond();
}

namespace pawl::qemu::core {
namespace {

struct SysTick {
  std::uint32_t control;
  std::uint32_t reload;
  std::uint32_t current;
};
SysTick volatile& timer() { return *reinterpret_cast<SysTick volatile*>(0xe000e010U); }

// Two words, since a 64-bit one would be written in two steps. The upper one rises every 49 days.
volatile std::uint32_t count = 0;
volatile std::uint32_t count_upper = 0;

struct Vectors {
  unsigned char* stack_end;
  void (*handlers[15])();
};
extern const Vectors vectors;
__attribute__((section(".vectors"), used)) const Vectors vectors = {
    pawl_stack_end,
    {pawl_reset, pawl_fault, pawl_fault, pawl_fault, pawl_fault, pawl_fault, pawl_fault, nullptr,
     nullptr, nullptr, pawl_fault, pawl_fault, nullptr, pawl_fault, pawl_count_millisecond}};

}  // namespace

void start_clock() {
  constexpr std::uint32_t kCountWithInterrupt = 7;
  timer().reload = reinterpret_cast<std::uintptr_t>(pawl_clock_hz) / 1'000 - 1;
  timer().current = 0;
  timer().control = kCountWithInterrupt;
}

std::int64_t milliseconds() {
  std::uint32_t upper = 0;
  std::uint32_t lower = 0;
  do {
    upper = count_upper;
    lower = count;
  } while (upper != count_upper);
  return static_cast<std::int64_t>((std::uint64_t{upper} << 32U) | lower);
}

void sleep() { __asm__ volatile("wfi" ::: "memory"); }

int call_emulator(std::uint32_t operation, const void* parameters) {
  register std::uint32_t r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = parameters;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return static_cast<int>(r0);
}

}  // namespace pawl::qemu::core

void pawl_reset() {
  constexpr std::uintptr_t kCoprocessors = 0xe000ed88U;
  constexpr std::uint32_t kFloatUnit = 0xfU << 20U;
  *reinterpret_cast<volatile std::uint32_t*>(kCoprocessors) |= kFloatUnit;
  __asm__ volatile("dsb\n\tisb" ::: "memory");
  pawl_start();
}

void pawl_count_millisecond() {
  using namespace pawl::qemu::core;
  const std::uint32_t next = count + 1;
  count = next;
  if (next == 0) count_upper = count_upper + 1;
}

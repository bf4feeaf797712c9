// The core of a 32-bit RISC-V in machine mode: reset, traps, the timer of the CLINT, and calls of
// the emulator by a breakpoint between two marks.
//
// Sources: "The RISC-V Instruction Set Manual, Volume II", and "RISC-V Semihosting".
#include <cstddef>

#include "port/bare_metal/qemu/core.hpp"
#include "port/bare_metal/qemu/interrupts.hpp"

extern "C" {
// Symbol of the linker script. The address is the number.
extern unsigned char pawl_clock_hz[];

[[noreturn, gnu::naked]] void pawl_reset();
[[gnu::interrupt("machine"), gnu::aligned(4)]] void pawl_trap();
}

namespace pawl::qemu::core {
namespace {

// Words, since the registers have 64 bits and the bus has 32.
volatile std::uint32_t& clint(std::uintptr_t offset) {
  return *reinterpret_cast<volatile std::uint32_t*>(0x02000000U + offset);
}
constexpr std::uintptr_t kDue = 0x4000;
constexpr std::uintptr_t kTime = 0xbff8;

std::uint64_t ticks_at_start = 0;

std::uint64_t ticks() {
  std::uint32_t upper = 0;
  std::uint32_t lower = 0;
  do {
    upper = clint(kTime + 4);
    lower = clint(kTime);
  } while (upper != clint(kTime + 4));
  return (std::uint64_t{upper} << 32U) | lower;
}

std::uint32_t ticks_a_millisecond() {
  return reinterpret_cast<std::uintptr_t>(pawl_clock_hz) / 1'000;
}

// In an order that makes no interrupt by a half of the new time.
[[gnu::noinline]] void ask_for_interrupt() {
  const std::uint64_t due = ticks() + ticks_a_millisecond();
  clint(kDue) = ~std::uint32_t{0};
  clint(kDue + 4) = static_cast<std::uint32_t>(due >> 32U);
  clint(kDue) = static_cast<std::uint32_t>(due);
}

}  // namespace

// The time is read from the timer, so it goes on while interrupts are off.
void start_clock() {
  constexpr std::uint32_t kTimerInterrupt = 1U << 7U;
  ticks_at_start = ticks();
  ask_for_interrupt();
  __asm__ volatile("csrs mie, %0" ::"r"(kTimerInterrupt));
  interrupts_on(kInterrupts);
}

std::int64_t milliseconds() {
  return static_cast<std::int64_t>((ticks() - ticks_at_start) / ticks_a_millisecond());
}

void sleep() { __asm__ volatile("wfi" ::: "memory"); }

// The emulator looks for the three instructions, uncompressed and in one page.
int call_emulator(std::uint32_t operation, const void* parameters) {
  register std::uint32_t a0 __asm__("a0") = operation;
  register const void* a1 __asm__("a1") = parameters;
  __asm__ volatile(
      ".option push\n\t.option norvc\n\t.balign 16\n\t"
      "slli zero, zero, 0x1f\n\tebreak\n\tsrai zero, zero, 7\n\t.option pop"
      : "+r"(a0)
      : "r"(a1)
      : "memory");
  return static_cast<int>(a0);
}

}  // namespace pawl::qemu::core

// picolibc finds errno by the thread pointer, and constants near the global one.
__attribute__((section(".vectors"), used)) void pawl_reset() {
  __asm__ volatile(
      ".option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t.option pop\n\t"
      "la sp, pawl_stack_end\n\tla tp, pawl_tls_begin\n\t"
      "la t0, pawl_trap\n\tcsrw mtvec, t0\n\tj pawl_start");
}

// In RAM, so that a fault ends the program also while the flash is busy. An interrupt goes on to
// the flash, as that of any application would, and is a fault then.
PAWL_RAM_CODE void pawl_trap() {
  constexpr std::uint32_t kTimerInterrupt = 0x80000007U;
  std::uint32_t cause = 0;
  __asm__ volatile("csrr %0, mcause" : "=r"(cause));
  if (cause != kTimerInterrupt) pawl_fault();
  pawl::qemu::core::ask_for_interrupt();
}

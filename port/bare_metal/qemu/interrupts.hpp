// Interrupts of a RISC-V in machine mode, for code that runs while no handler of one may.
//
// Inline, so that they lie where that code lies. Thread rule: one thread.
#ifndef PAWL_PORT_BARE_METAL_QEMU_INTERRUPTS_HPP
#define PAWL_PORT_BARE_METAL_QEMU_INTERRUPTS_HPP

#include <cstdint>

namespace pawl::qemu::core {

// The bit of mstatus that lets interrupts come.
inline constexpr std::uint32_t kInterrupts = 1U << 3U;

// Returns what interrupts_on() takes: whether they were on before.
[[gnu::always_inline]] inline std::uint32_t interrupts_off() {
  std::uint32_t before = 0;
  __asm__ volatile("csrrc %0, mstatus, %1" : "=r"(before) : "r"(kInterrupts) : "memory");
  return before & kInterrupts;
}

[[gnu::always_inline]] inline void interrupts_on(std::uint32_t wanted) {
  __asm__ volatile("csrs mstatus, %0" ::"r"(wanted) : "memory");
}

}  // namespace pawl::qemu::core

#endif  // PAWL_PORT_BARE_METAL_QEMU_INTERRUPTS_HPP

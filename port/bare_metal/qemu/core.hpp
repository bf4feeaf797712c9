// The core of an emulated board, for the parts that all of these boards share.
//
// Purpose: all that differs between the boards but their memory maps, which are linker scripts.
// cortex_m.cpp and riscv.cpp implement it. Each also brings pawl_reset(), which has a stack from
// its first line or makes one, and calls pawl_start(); and a fault calls pawl_fault().
// Thread rule: one thread. The clock has an interrupt of its own.
#ifndef PAWL_PORT_BARE_METAL_QEMU_CORE_HPP
#define PAWL_PORT_BARE_METAL_QEMU_CORE_HPP

#include <cstdint>

// A function in RAM, to which startup copies it. What it calls has to lie there, too.
#define PAWL_RAM_CODE [[gnu::section(".ram_code"), gnu::noinline]]

namespace pawl::qemu::core {

// The time begins at 0, and an interrupt comes each millisecond from now on.
void start_clock();
[[nodiscard]] std::int64_t milliseconds();
// Returns after an interrupt, so at the latest a millisecond from now.
void sleep();

// Asks the emulator for an operation of semihosting.hpp, and returns its answer.
PAWL_RAM_CODE int call_emulator(std::uint32_t operation, const void* parameters);

}  // namespace pawl::qemu::core

extern "C" {
// Fills the memory, runs main(), and ends the program with its result. In startup.cpp.
[[noreturn]] void pawl_start();
// Writes the line "fault", and ends the program.
[[noreturn]] void pawl_fault();
}

#endif  // PAWL_PORT_BARE_METAL_QEMU_CORE_HPP

// The driver of the flash that the program runs from, with interrupts on, whose handler is in that
// flash.
#include "port/bare_metal/qemu/interrupts.hpp"

namespace pawl::qemu::core {
namespace {

std::uint32_t interrupts_left_on() { return kInterrupts; }

}  // namespace
}  // namespace pawl::qemu::core

#define interrupts_off interrupts_left_on
#include "port/bare_metal/qemu/cfi_flash.cpp"

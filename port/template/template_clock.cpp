// First step: time. If open() refuses, no other function is called.
#include <cstring>

#include "port/template/template_port.hpp"

namespace pawl::port_template {

// Read here what never changes while the kernel runs: the boot id, and the offset between this
// process's boot time and the machine's. Refuse with a text if no clock counts suspend.
Status TemplateClock::open(Diagnostic& diagnostic) {
  diagnostic.format("this port is the template: TemplateClock::open() is not written");
  return Status::kUnsupported;
}

// The time since the kernel started, in milliseconds, suspend included (Linux: CLOCK_BOOTTIME). It
// must be the same in all processes of the machine and must never go back. A 32-bit tick counter
// must be widened here.
std::int64_t TemplateClock::boot_ms() { return 0; }

// The wall clock, UTC since 1970. It may be wrong; never correct it here.
std::int64_t TemplateClock::wall_ms() { return 0; }

// True only while something vouches for the wall clock: NTP, GPS, an RTC that was set. When in
// doubt, false.
bool TemplateClock::synced() { return false; }

// Sixteen bytes that are the same in all processes of a boot and differ at the next boot. If the
// machine has none, leave `known` false; then a new boot is noticed only when boot time went back.
port::BootId TemplateClock::boot_id() { return {}; }

// Fill from the machine's generator. Equal bytes in two processes make equal ids, so a fixed seed
// is not allowed.
void TemplateClock::random(void* out, std::size_t size) {
  if (size > 0) std::memset(out, 0, size);
}

}  // namespace pawl::port_template

// The way from the first stack to main().
#include <cstddef>
#include <cstdint>
#include <new>

#include "port/bare_metal/qemu/core.hpp"
#include "port/bare_metal/qemu/semihosting.hpp"

// Parts of libstdc++ that the compiler and inline functions of its headers name; its archive is not
// linked. Pawl deletes nothing, and asks for no part of a text beyond its end. A program that does
// brings its own functions, which replace these.
namespace {
[[noreturn]] void stop_at(const char* what) {
  pawl::qemu::put(what);
  pawl::qemu::end(3);
}
}  // namespace
[[gnu::weak]] void operator delete(void*) noexcept { stop_at("operator delete was called\n"); }
[[gnu::weak]] void operator delete(void*, std::size_t) noexcept {
  stop_at("operator delete was called\n");
}
extern "C" [[noreturn]] void __cxa_pure_virtual();
void __cxa_pure_virtual() { stop_at("a pure virtual function was called\n"); }
namespace std {
[[noreturn]] void __throw_out_of_range_fmt(const char* format, ...);
void __throw_out_of_range_fmt(const char* format, ...) { stop_at(format); }
}  // namespace std

extern "C" {

// Symbols of the linker script.
extern std::uint32_t pawl_data_source[];
extern std::uint32_t pawl_data_begin[];
extern std::uint32_t pawl_data_end[];
extern std::uint32_t pawl_bss_begin[];
extern std::uint32_t pawl_bss_end[];
extern std::uint32_t pawl_stack_begin[];

int pawl_main() __asm__("main");  // C++ forbids calling main() by its name
void __libc_init_array();
void _init();
void _fini();
void* __dso_handle = nullptr;

void _init() {}
void _fini() {}

void pawl_start() {
  constexpr std::uint32_t kPaint = 0xa5a5a5a5U;
  const std::uint32_t* source = pawl_data_source;
  for (std::uint32_t* at = pawl_data_begin; at < pawl_data_end; ++at, ++source)
    *at = *source;
  for (std::uint32_t* at = pawl_bss_begin; at < pawl_bss_end; ++at)
    *at = 0;
  const auto* const frame = static_cast<std::uint32_t*>(__builtin_frame_address(0));
  constexpr std::ptrdiff_t kOwnFrameWords = 32;
  for (std::uint32_t* at = pawl_stack_begin; at < frame - kOwnFrameWords; ++at)
    *at = kPaint;
  __libc_init_array();
  pawl::qemu::end(pawl_main());
}

// In RAM, with its text and all that it calls: a program that runs from its flash may have faulted
// because that cannot be read.
PAWL_RAM_CODE void pawl_fault() {
  static char text[] = "fault\n";
  pawl::qemu::put(text);
  pawl::qemu::end(3);
}

}  // extern "C"

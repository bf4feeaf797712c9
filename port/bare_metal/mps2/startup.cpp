// The way from reset to main(), and what newlib asks of a system.
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "port/bare_metal/mps2/semihosting.hpp"

// Parts of libstdc++ that the compiler and inline functions of its headers name; its archive is not
// linked. Pawl deletes nothing, and asks for no part of a text beyond its end. A program that does
// brings its own functions, which replace these.
namespace {
[[noreturn]] void stop_at(const char* what) {
  pawl::mps2::put(what);
  pawl::mps2::end(3);
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
extern std::uint32_t pawl_stack_end[];

int pawl_main() __asm__("main");  // C++ forbids calling main() by its name
void __libc_init_array();
void pawl_count_millisecond();
[[noreturn]] void pawl_reset();
[[noreturn]] void pawl_fault();
void _init();
void _fini();
void* __dso_handle = nullptr;

void _init() {}
void _fini() {}

void pawl_reset() {
  constexpr std::uint32_t kPaint = 0xa5a5a5a5U;
  constexpr std::uintptr_t kCoprocessors = 0xe000ed88U;
  constexpr std::uint32_t kFloatUnit = 0xfU << 20U;
  *reinterpret_cast<volatile std::uint32_t*>(kCoprocessors) |= kFloatUnit;
  __asm__ volatile("dsb\n\tisb" ::: "memory");
  const std::uint32_t* source = pawl_data_source;
  for (std::uint32_t* at = pawl_data_begin; at < pawl_data_end; ++at, ++source)
    *at = *source;
  for (std::uint32_t* at = pawl_bss_begin; at < pawl_bss_end; ++at)
    *at = 0;
  std::uint32_t* stack_pointer = nullptr;
  __asm__ volatile("mov %0, sp" : "=r"(stack_pointer));
  constexpr std::ptrdiff_t kOwnFrameWords = 16;
  for (std::uint32_t* at = pawl_stack_begin; at < stack_pointer - kOwnFrameWords; ++at)
    *at = kPaint;
  __libc_init_array();
  pawl::mps2::end(pawl_main());
}

void pawl_fault() {
  pawl::mps2::put("fault\n");
  pawl::mps2::end(3);
}

using Handler = void (*)();
extern const Handler pawl_handlers[15];
// The vectors after the first word, which is the stack's end and comes from the linker script.
__attribute__((section(".vectors"), used)) const Handler pawl_handlers[15] = {
    pawl_reset, pawl_fault, pawl_fault, pawl_fault, pawl_fault,
    pawl_fault, nullptr,    nullptr,    nullptr,    nullptr,
    pawl_fault, pawl_fault, nullptr,    pawl_fault, pawl_count_millisecond,
};

// ---- newlib ----

// newlib's formatting of fractions takes memory from malloc(), which has this pool and no more.
void* _sbrk(std::ptrdiff_t bytes);
int _write(int file, const char* data, int size);
int _read(int file, char* out, int size);
int _close(int file);
int _fstat(int file, struct stat* out);
int _isatty(int file);
int _lseek(int file, int offset, int from);
int _kill(int process, int signal);
int _getpid();
[[noreturn]] void _exit(int status);

void* _sbrk(std::ptrdiff_t bytes) {
  constexpr std::ptrdiff_t kBytes = 4'096;
  alignas(8) static unsigned char pool[kBytes];
  static std::ptrdiff_t used = 0;
  if (bytes < 0 || bytes > kBytes - used) {
    errno = ENOMEM;
    return reinterpret_cast<void*>(-1);
  }
  unsigned char* const begin = pool + used;
  used += bytes;
  return begin;
}

int _write(int, const char* data, int size) {
  char text[64];
  for (int at = 0; at < size;) {
    const int left = size - at;
    const int piece = left < static_cast<int>(sizeof(text)) - 1 ? left : int{sizeof(text)} - 1;
    std::memcpy(text, data + at, static_cast<std::size_t>(piece));
    text[piece] = '\0';
    pawl::mps2::put(text);
    at += piece;
  }
  return size;
}

int _read(int, char*, int) { return 0; }
int _close(int) { return -1; }
int _fstat(int, struct stat* out) {
  out->st_mode = S_IFCHR;
  return 0;
}
int _isatty(int) { return 1; }
int _lseek(int, int, int) { return 0; }
int _kill(int, int) { return -1; }
int _getpid() { return 1; }
void _exit(int status) { pawl::mps2::end(status); }

}  // extern "C"

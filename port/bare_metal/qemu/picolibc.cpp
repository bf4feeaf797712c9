// The system that picolibc asks for. Its formatting of fractions takes no memory, so malloc() has
// none.
#include <cerrno>
#include <cstddef>
#include <cstdio>

#include "port/bare_metal/qemu/semihosting.hpp"

namespace {

int put_character(char character, FILE*) {
  const char text[] = {character, '\0'};
  pawl::qemu::put(text);
  return 0;
}
FILE screen = FDEV_SETUP_STREAM(put_character, nullptr, nullptr, _FDEV_SETUP_WRITE);

}  // namespace

FILE* const stderr = &screen;

extern "C" {

void* sbrk(std::ptrdiff_t bytes);
int kill(int process, int signal);
int getpid();
[[noreturn]] void _exit(int status);

void* sbrk(std::ptrdiff_t) {
  errno = ENOMEM;
  return reinterpret_cast<void*>(-1);
}
int kill(int, int) { return -1; }
int getpid() { return 1; }
void _exit(int status) { pawl::qemu::end(status); }

}  // extern "C"

// The system that newlib asks for.
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "port/bare_metal/qemu/semihosting.hpp"

extern "C" {

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
    pawl::qemu::put(text);
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
void _exit(int status) { pawl::qemu::end(status); }

}  // extern "C"

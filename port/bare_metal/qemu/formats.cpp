// snprintf() and vsnprintf() on SQLite's formatter, which every program here contains anyway.
//
// newlib's formatter takes 30 KB, and as Debian builds it prints %zu literally; newlib's small one
// has no 64 bits either. The linker puts these functions in their place (--wrap). Pawl formats
// texts and whole numbers only; the "z" of %zu is left out, since a size is an unsigned int here.
#include <sqlite3.h>

#include <cstdarg>
#include <cstddef>
#include <cstring>

static_assert(sizeof(std::size_t) == sizeof(unsigned), "%zu is %u");

extern "C" {

int __wrap_vsnprintf(char* out, std::size_t size, const char* format, va_list arguments);
int __wrap_snprintf(char* out, std::size_t size, const char* format, ...);

// Returns the length written, not the length wanted: a text or format that does not fit is cut.
int __wrap_vsnprintf(char* out, std::size_t size, const char* format, va_list arguments) {
  char plain[400];
  std::size_t used = 0;
  for (; *format != '\0' && used + 1 < sizeof(plain); ++format) {
    const bool is_size = *format == 'z' && used > 0 && plain[used - 1] == '%';
    if (!is_size) plain[used++] = *format;
  }
  plain[used] = '\0';
  if (size == 0) return 0;
  sqlite3_vsnprintf(static_cast<int>(size), out, plain, arguments);
  return static_cast<int>(std::strlen(out));
}

int __wrap_snprintf(char* out, std::size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int written = __wrap_vsnprintf(out, size, format, arguments);
  va_end(arguments);
  return written;
}

}  // extern "C"

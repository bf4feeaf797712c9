// snprintf() and vsnprintf() by SQLite's formatter, which is in every program here.
//
// newlib's takes 30 KB, and as Debian builds it prints %zu as it stands; the small one of newlib
// knows no 64 bits either. The linker puts these in their place (--wrap). What Pawl formats is
// texts and whole numbers; of sizes the letter is left out, since they are unsigned int.
#include <sqlite3.h>

#include <cstdarg>
#include <cstddef>
#include <cstring>

static_assert(sizeof(std::size_t) == sizeof(unsigned), "%zu is %u");

extern "C" {

int __wrap_vsnprintf(char* out, std::size_t size, const char* format, va_list arguments);
int __wrap_snprintf(char* out, std::size_t size, const char* format, ...);

// Returns the length of what was written: a text that does not fit is cut, as is a format.
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

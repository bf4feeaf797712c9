// vsnprintf() with %zu, %zd and %zx, which Debian's newlib prints as they stand.
//
// Diagnostics name sizes so. The linker puts this in the place of the function (--wrap). A size is
// an unsigned int there, so the letter is left out.
#include <cstdarg>
#include <cstddef>

static_assert(sizeof(std::size_t) == sizeof(unsigned), "%zu is %u");

extern "C" {

int __real_vsnprintf(char* out, std::size_t size, const char* format, va_list arguments);
int __wrap_vsnprintf(char* out, std::size_t size, const char* format, va_list arguments);

// A format that is longer than the buffer is cut, as a text would be.
int __wrap_vsnprintf(char* out, std::size_t size, const char* format, va_list arguments) {
  char plain[400];
  std::size_t used = 0;
  bool in_conversion = false;
  for (; *format != '\0' && used + 1 < sizeof(plain); ++format) {
    if (in_conversion && *format == 'z') continue;
    if (*format == '%') {
      in_conversion = !in_conversion;
    } else if ((*format >= 'a' && *format <= 'z' && *format != 'l') ||
               (*format >= 'A' && *format <= 'Z')) {
      in_conversion = false;
    }
    plain[used++] = *format;
  }
  plain[used] = '\0';
  return __real_vsnprintf(out, size, plain, arguments);
}

}  // extern "C"

// The parts of libstdc++ that programs with std::string and std::vector need, since its archive is
// not linked: a heap in static memory, and a program end instead of exceptions. For suites that
// also run on the building machine; Pawl and its port use none of it.
#include <cstddef>
#include <cstdio>
#include <new>
#include <string>

#include "core/buddy.hpp"
#include "port/bare_metal/qemu/semihosting.hpp"

namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;
alignas(64) unsigned char block[kBytes];

// Made at the first use: static objects of other files need memory before this file's are made.
pawl::BuddyPool& pool() {
  static pawl::BuddyPool instance(block, sizeof(block));
  return instance;
}

[[noreturn]] void stop_at(const char* what) {
  pawl::qemu::put(what);
  pawl::qemu::put(": an exception of the library\n");
  pawl::qemu::end(3);
}

}  // namespace

void* operator new(std::size_t size) {
  void* const place = pool().allocate(size == 0 ? 1 : size);
  if (place == nullptr) stop_at("out of memory");
  return place;
}
void operator delete(void* place) noexcept { pool().release(place); }
void operator delete(void* place, std::size_t) noexcept { pool().release(place); }

template class std::basic_string<char>;

// There are no files. A suite that names some asks the port first whether it has them.
std::FILE* fopen(const char*, const char*) { return nullptr; }
int remove(const char*) { return -1; }

namespace std {
[[noreturn]] void __throw_bad_alloc();
[[noreturn]] void __throw_bad_array_new_length();
[[noreturn]] void __throw_invalid_argument(const char* what);
[[noreturn]] void __throw_length_error(const char* what);
[[noreturn]] void __throw_logic_error(const char* what);
[[noreturn]] void __throw_out_of_range(const char* what);
void __throw_bad_alloc() { stop_at("bad_alloc"); }
void __throw_bad_array_new_length() { stop_at("bad_array_new_length"); }
void __throw_invalid_argument(const char* what) { stop_at(what); }
void __throw_length_error(const char* what) { stop_at(what); }
void __throw_logic_error(const char* what) { stop_at(what); }
void __throw_out_of_range(const char* what) { stop_at(what); }
}  // namespace std

#include "every_header.hpp"

#include <cstdio>
#include <stdexcept>

#if __has_include("arena.hpp") || __has_include("ids.hpp") || __has_include("engine.hpp")
#error "a header of src/ is within reach of a user"
#endif

int main() {
  try {
    throw std::runtime_error("exceptions are on here");
  } catch (const std::exception& error) {
    std::puts(error.what());
  }
  return 0;
}

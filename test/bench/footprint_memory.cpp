// Prints the memory that must be given at start, in bytes, for footprint.py.
#include <cstdio>

#include "pawl/process.hpp"
#include "pawl/runtime.hpp"

namespace {

void print(const char* name, const pawl::ProcessOptions& process, const pawl::Options& runtime) {
  const std::size_t shared = pawl::Process::required_memory(process);
  const std::size_t own = pawl::Runtime::required_memory(runtime);
  std::printf("%lu memory at start, %s options\n", static_cast<unsigned long>(shared + own), name);
}

}  // namespace

int main() {
  print("default", {}, {});
  print("small", pawl::ProcessOptions::small(), pawl::Options::small());
  return 0;
}

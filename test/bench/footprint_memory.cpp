// Prints the memory that must be given at start, in bytes, for footprint.py.
#include <cstdio>

#include "pawl/host.hpp"
#include "pawl/process.hpp"
#include "pawl/runtime.hpp"

namespace {

// False: one of the blocks cannot be made with these options.
bool print(const char* name, const pawl::ProcessOptions& process, pawl::Options runtime) {
  runtime.database_path = "pawl.db";
  const std::size_t shared = pawl::Process::required_memory(process);
  const std::size_t own = pawl::Runtime::required_memory(runtime);
  std::printf("%lu memory at start, %s options\n", static_cast<unsigned long>(shared + own), name);
  return shared != 0 && own != 0;
}

}  // namespace

int main() {
  const pawl::HostOptions host;
  const bool all = print("a Host's default", host.process, host.runtime) &&
                   print("small", pawl::ProcessOptions::small(), pawl::Options::small()) &&
                   print("smallest", pawl::ProcessOptions::smallest(), pawl::Options::smallest());
  return all ? 0 : 1;
}

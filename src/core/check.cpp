#include "check.hpp"

#include <cstdio>
#include <cstdlib>

namespace pawl {

// Standard error is unbuffered, so nothing is lost with the abort and nothing is allocated.
void invariant_broken(const char* id) {
  std::fputs("pawl: invariant ", stderr);
  std::fputs(id, stderr);
  std::fputs(" broken\n", stderr);
  std::abort();
}

}  // namespace pawl

#include "core/check.hpp"

#include <cstdio>
#include <cstdlib>

#include "pawl/call_text.hpp"

namespace pawl {

// Standard error is unbuffered, so the abort loses nothing and nothing is allocated.
void invariant_broken(const char* id) {
  std::fputs("pawl: invariant ", stderr);
  std::fputs(id, stderr);
  std::fputs(" broken\n", stderr);
  std::abort();
}

// Defined here, because every layer handles answers of a Client.
void internal::refuse_stale_text() { invariant_broken("client-1"); }

}  // namespace pawl

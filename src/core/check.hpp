// PAWL_CHECK: broken internal invariants stop the process, in every build, with a stable id.
//
// Only for conditions that input, stored data, the clock, the disk or the network can never cause:
// those are reported as values. An id is "<module>-<number>" and is never reused, so that a report
// from the field names the place in any version.
#ifndef PAWL_CORE_CHECK_HPP
#define PAWL_CORE_CHECK_HPP

namespace pawl {

// Writes "pawl: invariant <id> broken" to the descriptor of standard error and aborts.
[[noreturn]] void invariant_broken(const char* id);

}  // namespace pawl

#define PAWL_CHECK(id, condition)                   \
  do {                                              \
    if (!(condition)) ::pawl::invariant_broken(id); \
  } while (false)

#endif  // PAWL_CORE_CHECK_HPP

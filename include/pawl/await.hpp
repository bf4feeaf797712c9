// PAWL_AWAIT, PAWL_AWAIT_DONE and PAWL_CALL: how an orchestration waits.
//
// Purpose: each leaves the function with "pending" until there is a result; Pawl then runs the
// function again from its top. Ownership and thread rule: as orchestration.hpp.
#ifndef PAWL_AWAIT_HPP
#define PAWL_AWAIT_HPP

#include <type_traits>

#include "pawl/error.hpp"
#include "pawl/handle.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
template <typename T>
bool is_pending_poll(const T& poll) {
  static_assert(std::is_same_v<T, Poll>,
                "PAWL_CALL takes the call of a function that returns Poll");
  if constexpr (std::is_same_v<T, Poll>) return poll.is_pending();
  return false;
}
}  // namespace internal

}  // namespace pawl

// Declares `name` as the Outcome (or TypedOutcome) of the handle, or leaves the function with
// "pending". It is two statements and no expression, so under an `if` it must stand in a block.
#define PAWL_AWAIT(name, ...)              \
  const auto name = (__VA_ARGS__).await(); \
  if (name.is_pending()) return ::pawl::Poll::pending()

// Awaits and drops the result.
#define PAWL_AWAIT_DONE(...)                                                \
  do {                                                                      \
    if ((__VA_ARGS__).await().is_pending()) return ::pawl::Poll::pending(); \
  } while (false)

// Calls a helper function that awaits, and leaves with its Poll while it is pending.
#define PAWL_CALL(...)                                                                  \
  do {                                                                                  \
    if (::pawl::internal::is_pending_poll(__VA_ARGS__)) return ::pawl::Poll::pending(); \
  } while (false)
#pragma GCC visibility pop

#endif  // PAWL_AWAIT_HPP

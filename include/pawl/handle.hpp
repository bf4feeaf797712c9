// The answers of an orchestration's calls: a Handle to await, a Selection, a Poll to return, a
// CleanUpScope, a Guid.
//
// Purpose: plain values between the code and PAWL_AWAIT. Ownership: they live until the function
// returns; a handle that was kept from another run is refused. Thread rule: as the context.
#ifndef PAWL_HANDLE_HPP
#define PAWL_HANDLE_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "pawl/error.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
class [[gnu::visibility("hidden")]] Awaits;
class [[gnu::visibility("hidden")]] Pass;
class [[gnu::visibility("hidden")]] Run;
struct [[gnu::visibility("hidden")]] BranchRun;
}  // namespace internal

// The end of one run of the function. complete(), fail(), continue_as_new() and PAWL_AWAIT make it.
class [[nodiscard]] Poll {
 public:
  // Whether the run waits, or has come to its end. A helper for PAWL_CALL answers done().
  enum class State : std::uint8_t { kPending, kDone };
  static Poll pending() { return Poll(State::kPending); }
  static Poll done() { return Poll(State::kDone); }
  [[nodiscard]] bool is_pending() const { return state_ == State::kPending; }

 private:
  explicit Poll(State state) : state_(state) {}
  State state_;
};

// One thing to wait for: a command that can complete, a branch, or a join of several. A plain
// value: dropping it does nothing, awaiting it twice gives the same result. A command may be
// awaited by the branch that issued it and by the branches below; a branch only by the one that
// opened it.
class [[nodiscard]] Handle {
 public:
  Handle() = default;
  // For PAWL_AWAIT: the result, or pending. A join has a success without a value, once all its
  // handles have a result.
  Outcome await() const;

 private:
  friend class internal::Awaits;
  Handle(internal::Awaits* awaits, std::uint32_t run, std::uint32_t form, void* target)
      : awaits_(awaits), target_(target), run_(run), form_(form) {}
  internal::Awaits* awaits_ = nullptr;
  void* target_ = nullptr;
  std::uint32_t run_ = 0;   // the function's run; a handle of another run is refused
  std::uint32_t form_ = 0;  // the kind of the target, or why there is none
};

// The handle of a message that code sends: no one has to await it.
class SendHandle : public Handle {
 public:
  SendHandle() = default;
  explicit SendHandle(const Handle& handle) : Handle(handle) {}
};

// Waits for the first of several handles. For PAWL_AWAIT only; a second await makes a new select.
class [[nodiscard]] Selection {
 public:
  // The result that came first in history, or pending; Outcome::index() says whose it is. The other
  // handles are closed.
  Outcome await() const;

 private:
  friend class internal::Awaits;
  Selection(internal::Awaits* awaits, std::uint32_t run, const Handle* handles, std::size_t count)
      : awaits_(awaits), handles_(handles), count_(count), run_(run) {}
  internal::Awaits* awaits_;
  const Handle* handles_;
  std::size_t count_;
  std::uint32_t run_;
};

// While a scope lives, the awaits of its context work as usual, although the instance was asked to
// cancel. It belongs to the branch that made it, and to those that are opened meanwhile. Scopes
// nest.
class [[nodiscard]] CleanUpScope {
 public:
  ~CleanUpScope();
  CleanUpScope(const CleanUpScope&) = delete;
  CleanUpScope& operator=(const CleanUpScope&) = delete;

 private:
  friend class internal::Pass;
  CleanUpScope(internal::Run* run, internal::BranchRun* branch, std::uint32_t number)
      : run_(run), branch_(branch), number_(number) {}
  internal::Run* run_;
  internal::BranchRun* branch_;
  std::uint32_t number_;  // the run's number
};

namespace internal {
// True for std::array, a C array and std::vector, which hold Handles one behind the other.
template <typename T, typename = void>
inline constexpr bool kIsHandles = false;
template <typename T>
inline constexpr bool kIsHandles<T, std::void_t<decltype(std::data(std::declval<const T&>()))>> =
    std::is_base_of_v<Handle,
                      std::remove_pointer_t<decltype(std::data(std::declval<const T&>()))>> &&
    sizeof(*std::data(std::declval<const T&>())) == sizeof(Handle);
}  // namespace internal

// A random id, stable over replay: 36 characters, version 4 of RFC 9562.
struct Guid {
  // The id; view() is the same without the zero byte at its end.
  char text[37] = "00000000-0000-0000-0000-000000000000";
  [[nodiscard]] std::string_view view() const { return {text, 36}; }
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_HANDLE_HPP

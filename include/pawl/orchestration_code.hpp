// OrchestrationCode: the function of an orchestration, as it is registered.
//
// Purpose: holds a function with the code that calls it, and the pointer that goes with it.
// Ownership: a plain value. Thread rule: the Runtime's.
#ifndef PAWL_ORCHESTRATION_CODE_HPP
#define PAWL_ORCHESTRATION_CODE_HPP

#include <type_traits>

#include "pawl/exceptions.hpp"
#include "pawl/orchestration.hpp"
#pragma GCC visibility push(default)

namespace pawl {

using Orchestration = Poll (*)(OrchestrationContext&);

// An orchestration and the code that calls it. That code is compiled where this value is made, and
// lets no exception out.
class OrchestrationCode {
 public:
  OrchestrationCode() = default;
  // Implicit. `function` is a function, or a lambda without captures.
  template <typename Function, typename Mode = internal::ExceptionMode,
            typename = std::enable_if_t<std::is_convertible_v<Function, Orchestration>>>
  // NOLINTNEXTLINE(google-explicit-constructor)
  OrchestrationCode(Function function) : function_(function), call_(call<Mode>) {}
  // Takes a function of another type, with a `caller` that knows the type.
  OrchestrationCode(Orchestration function, Poll (*caller)(Orchestration, OrchestrationContext&))
      : function_(function), call_(caller) {}
  // Calls the function; an exception that it throws stops the instance.
  // Returns what the function returned.
  // Requires: it is not empty.
  Poll operator()(OrchestrationContext& context) const { return call_(function_, context); }
  explicit operator bool() const { return function_ != nullptr; }
  // The pointer for OrchestrationContext::user().
  [[nodiscard]] void* user() const { return user_; }
  void set_user(void* user) { user_ = user; }

 private:
  template <typename Mode>
  static Poll call(Orchestration function, OrchestrationContext& context) {
    return internal::call_application<Mode>(
        [&] { return function(context); },
        [&](const char* what) { return internal::stop_with_exception(context, what); });
  }
  Orchestration function_ = nullptr;
  Poll (*call_)(Orchestration, OrchestrationContext&) = nullptr;
  void* user_ = nullptr;
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_ORCHESTRATION_CODE_HPP

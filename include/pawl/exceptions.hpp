// Exceptions of the application: caught where its code is called, before they reach Pawl.
//
// Purpose: Pawl is compiled without exceptions, so none may unwind through it. A template of these
// headers calls each activity, orchestration and branch; it is compiled in the application's own
// translation unit. An exception of an activity fails its attempt with ErrorKind::kApplication, as
// ActivityContext::fail() does; one of an orchestration or a branch stops the instance with
// ErrorKind::kException, as code that does not match its history does. Both errors have the text of
// what(). In a unit that is compiled without exceptions the template is the call alone. All other
// functions of the application that Pawl calls are noexcept by their type. The compiler refuses a
// function that is not declared so, and an exception in one that is ends the process there.
// Ownership: none. Thread rule: none.
#ifndef PAWL_EXCEPTIONS_HPP
#define PAWL_EXCEPTIONS_HPP

#if defined(__cpp_exceptions)
#include <exception>
#endif
#pragma GCC visibility push(default)

namespace pawl {

class ActivityContext;
class ActivityResult;
class OrchestrationContext;
class Poll;

namespace internal {

// The mode that this translation unit is compiled in: a parameter of every template that calls the
// application. Units of both modes may be linked to one program. Without the parameter their
// functions would have one name, and the linker would keep only one of them.
struct WithExceptions;
struct WithoutExceptions;
#if defined(__cpp_exceptions)
using ExceptionMode = WithExceptions;
#else
using ExceptionMode = WithoutExceptions;
#endif

// `what`: the text of the exception; null: it is no std::exception.
ActivityResult fail_with_exception(ActivityContext& context, const char* what);
Poll stop_with_exception(OrchestrationContext& context, const char* what);

// Answers call(); if that throws, answers caught(what).
template <typename Mode, typename Call, typename Caught>
auto call_application(const Call& call, [[maybe_unused]] const Caught& caught) -> decltype(call()) {
#if defined(__cpp_exceptions)
  try {
    return call();
  } catch (const std::exception& exception) {
    return caught(exception.what());
  } catch (...) {
    return caught(nullptr);
  }
#else
  return call();
#endif
}

}  // namespace internal

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_EXCEPTIONS_HPP

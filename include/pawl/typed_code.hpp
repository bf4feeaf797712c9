// The functions of typed activities and orchestrations, and how they are registered.
//
// Purpose: beside pawl/typed.hpp, for the side that runs them. Ownership, thread rule: as Registry.
#ifndef PAWL_TYPED_CODE_HPP
#define PAWL_TYPED_CODE_HPP

#include <optional>
#include <utility>

#include "pawl/activity.hpp"
#include "pawl/orchestration_code.hpp"
#include "pawl/typed.hpp"

namespace pawl {

namespace internal {
template <typename In, typename Out, typename Mode>
struct TypedCode;
}  // namespace internal

// What the function of an ActivityType<In, Out> returns: an Out, or ActivityContext::fail() and its
// like.
template <typename Out>
class [[nodiscard]] Reply {
 public:
  // Implicit, as both are returned.
  // NOLINTBEGIN(google-explicit-constructor)
  Reply(const Out& value) : value_(value) {}
  Reply(const ActivityResult& failure) : failure_(failure) {}
  Reply(ActivityResult&& failure) : failure_(failure) {}
  Reply(internal::Refused<ActivityResult, Out>&&) = delete;  // a text, and the definition has none
  // NOLINTEND(google-explicit-constructor)

 private:
  template <typename In, typename AnyOut, typename Mode>
  friend struct internal::TypedCode;
  Out value_{};
  std::optional<ActivityResult> failure_;
};

namespace internal {

// Between types of functions; it is called as what it was made of only.
template <typename To, typename From>
To function_cast(From function) {
  return reinterpret_cast<To>(reinterpret_cast<void (*)()>(function));
}

template <typename In, typename Out, typename Mode>
struct TypedCode {
  using ActivityFunction = Reply<Out> (*)(ActivityContext&, const In&);
  using OrchestrationFunction = PollOf<In, Out> (*)(OrchestrationContext&, const In&);

  static ActivityResult run(Activity erased, ActivityContext& ctx) {
    return call_application<Mode>(
        [&] { return decode_and_run(function_cast<ActivityFunction>(erased), ctx); },
        [&](const char* what) { return fail_with_exception(ctx, what); });
  }
  static Poll run(Orchestration erased, OrchestrationContext& ctx) {
    return call_application<Mode>(
        [&]() -> Poll {
          In input{};
          Diagnostic why;
          if (decode(ctx.input(), &input, &why) != Status::kOk)
            return ctx.fail({ErrorKind::kBadPayload, why.text()});
          return function_cast<OrchestrationFunction>(erased)(ctx, input);
        },
        [&](const char* what) { return stop_with_exception(ctx, what); });
  }

 private:
  static ActivityResult decode_and_run(ActivityFunction function, ActivityContext& ctx) {
    In input{};
    Diagnostic why;
    if (decode(ctx.input(), &input, &why) != Status::kOk)
      return bad_payload(ctx, "input", why.text());
    const Reply<Out> reply = function(ctx, input);
    if (reply.failure_.has_value()) return *reply.failure_;
    const Encoded<Out> encoded(reply.value_);
    return encoded.status() == Status::kOk ? ctx.ok(encoded.text())
                                           : bad_payload(ctx, "result", encoded.why());
  }
  // Another attempt would have the same.
  static ActivityResult bad_payload(ActivityContext& ctx, const char* what, std::string_view why) {
    Diagnostic text;
    text.format("the %s: %.*s", what, static_cast<int>(why.size()), why.data());
    return ctx.fail_permanently(text.text());
  }
};

}  // namespace internal

// The typed calls of Registry and Host. Each does what the call of this name does; the function
// must be of the types of the definition. One whose input is none of these types does not run: the
// activity fails without a retry, the orchestration with kBadPayload.
template <typename Self>
class TypedRegistration {
 public:
  template <typename In, typename Out, typename Mode = internal::ExceptionMode, typename... Rest>
  decltype(auto) add_activity(const ActivityType<In, Out>& type,
                              internal::Same<Reply<Out> (*)(ActivityContext&, const In&)> function,
                              const Rest&... rest) {
    using Code = internal::TypedCode<In, Out, Mode>;
    return static_cast<Self&>(*this).add_activity(
        type.name(), ActivityCode(internal::function_cast<Activity>(function), Code::run), rest...);
  }
  template <typename In, typename Out, typename Mode = internal::ExceptionMode, typename... Rest>
  decltype(auto) add_orchestration(
      const OrchestrationType<In, Out>& type,
      internal::Same<PollOf<In, Out> (*)(OrchestrationContext&, const In&)> function,
      const Rest&... rest) {
    using Code = internal::TypedCode<In, Out, Mode>;
    return static_cast<Self&>(*this).add_orchestration(
        type.name(), OrchestrationCode(internal::function_cast<Orchestration>(function), Code::run),
        rest...);
  }
};

}  // namespace pawl

#endif  // PAWL_TYPED_CODE_HPP

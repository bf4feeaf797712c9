// The functions of typed activities and orchestrations, and how they are registered.
//
// Purpose: stands beside pawl/typed.hpp, for the side that runs them. Ownership, thread rule: as
// Registry.
#ifndef PAWL_TYPED_CODE_HPP
#define PAWL_TYPED_CODE_HPP

#include <optional>
#include <utility>

#include "pawl/activity.hpp"
#include "pawl/orchestration_code.hpp"
#include "pawl/typed.hpp"
#pragma GCC visibility push(default)

namespace pawl {

namespace internal {
template <typename In, typename Out, typename Mode>
struct TypedCode;
}  // namespace internal

// The answer of an ActivityType<In, Out>'s function: an Out, or that of ActivityContext::fail() and
// its like.
template <typename Out>
class [[nodiscard]] Reply {
 public:
  // Implicit, since functions return both.
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

// The answer of a step of a cooperative ActivityType<In, Out>: an Out, that of
// ActivityContext::fail() and its like, or the time of the next step.
template <typename Out>
class [[nodiscard]] StepReply {
 public:
  // Implicit, since steps return all of them.
  // NOLINTBEGIN(google-explicit-constructor)
  StepReply(const Out& value) : value_(value) {}
  StepReply(const ActivityStep& step) : step_(step) {}
  StepReply(const ActivityResult& failure) : step_(failure) {}
  StepReply(ActivityResult&& failure) : step_(failure) {}
  StepReply(internal::Refused<ActivityResult, Out>&&) =
      delete;  // a text, and the definition has none
               // NOLINTEND(google-explicit-constructor)

 private:
  template <typename In, typename AnyOut, typename Mode>
  friend struct internal::TypedCode;
  Out value_{};
  std::optional<ActivityStep> step_;
};

namespace internal {

// Casts a function to another type; it is only called after it was cast back.
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
  template <typename State>
  static CooperativeCode in_steps(StepReply<Out> (*step)(ActivityContext&, const In&, State&)) {
    return CooperativeCode::of<Kept<State>, Mode>(
        function_cast<CooperativeCode::Any>(step),
        [](CooperativeCode::Any erased, ActivityContext& ctx, Kept<State>& kept) {
          return decode_and_step(
              function_cast<StepReply<Out> (*)(ActivityContext&, const In&, State&)>(erased), ctx,
              kept);
        });
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
  // The input is read with the first step of an attempt.
  template <typename State>
  struct Kept {
    In input{};
    bool is_read = false;
    State state{};
  };
  template <typename State>
  static ActivityStep decode_and_step(StepReply<Out> (*step)(ActivityContext&, const In&, State&),
                                      ActivityContext& ctx, Kept<State>& kept) {
    Diagnostic why;
    if (!kept.is_read && decode(ctx.input(), &kept.input, &why) != Status::kOk)
      return bad_payload(ctx, "input", why.text());
    kept.is_read = true;
    const StepReply<Out> reply = step(ctx, kept.input, kept.state);
    return reply.step_.has_value() ? *reply.step_ : ActivityStep(answer(ctx, reply.value_));
  }
  static ActivityResult answer(ActivityContext& ctx, const Out& value) {
    const Encoded<Out> encoded(ctx.typed_bytes(), value);
    return encoded.status() == Status::kOk ? ctx.ok(encoded.text())
                                           : bad_payload(ctx, "result", encoded.why());
  }
  static ActivityResult decode_and_run(ActivityFunction function, ActivityContext& ctx) {
    In input{};
    Diagnostic why;
    if (decode(ctx.input(), &input, &why) != Status::kOk)
      return bad_payload(ctx, "input", why.text());
    const Reply<Out> reply = function(ctx, input);
    return reply.failure_.has_value() ? *reply.failure_ : answer(ctx, reply.value_);
  }
  // Fails without a retry, since another attempt would have the same payload.
  static ActivityResult bad_payload(ActivityContext& ctx, const char* what, std::string_view why) {
    Diagnostic text;
    text.format("the %s: %.*s", what, static_cast<int>(why.size()), why.data());
    return ctx.fail_permanently(text.text());
  }
};

}  // namespace internal

// The typed calls of Registry and Host. Each does what the call of this name does; the function
// must be of the types of the definition. Code whose input is not of these types does not run: the
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
  // Registers a long activity in short steps.
  template <typename In, typename Out, typename State, typename Mode = internal::ExceptionMode>
  decltype(auto) add_cooperative(const ActivityType<In, Out>& type,
                                 StepReply<Out> (*step)(ActivityContext&, const In&, State&),
                                 void* user = nullptr) {
    using Code = internal::TypedCode<In, Out, Mode>;
    return static_cast<Self&>(*this).add_cooperative(type.name(), Code::in_steps(step), user);
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
#pragma GCC visibility pop

#endif  // PAWL_TYPED_CODE_HPP

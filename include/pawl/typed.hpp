// Typed calls: definitions that both sides share, so that a wrong type does not compile.
//
// Purpose: a name and the types behind it are one constant, for example
//   inline constexpr pawl::ActivityType<ReadRequest, Reading> kRead{"read_sensor"};
// and stand in every call where the name as text may stand. Values go as JSON (PAWL_JSON); a
// std::string_view goes as it is, and Nothing as an empty text.
// Limits: payload_bytes_max bytes of JSON, for which a Runtime and a Client have memory. The stored
// form is the same as with texts, so either side may use those.
// Ownership: nothing is allocated; names must outlive what they are given to, as string literals
// do. Thread rule: as the call.
#ifndef PAWL_TYPED_HPP
#define PAWL_TYPED_HPP

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

#include "pawl/handle.hpp"
#include "pawl/json.hpp"
#include "pawl/message_calls.hpp"
#include "pawl/name.hpp"
#pragma GCC visibility push(default)

namespace pawl {

// The input or the result of code that has none.
struct Nothing {};

// ---- definitions ----

namespace internal {
class TypedName {
 public:
  constexpr explicit TypedName(const char* name) : name_(name) {}
  [[nodiscard]] constexpr std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};
}  // namespace internal

// The name of an activity, or of an orchestration, with the types of its input and its result.
template <typename In, typename Out>
class ActivityType : public internal::TypedName {
 public:
  using TypedName::TypedName;
};
template <typename In, typename Out>
class OrchestrationType : public internal::TypedName {
 public:
  using TypedName::TypedName;
};
// The name of an event, for raise_event() and schedule_wait(), with the type of its payload.
template <typename T>
class EventType : public internal::TypedName {
 public:
  using TypedName::TypedName;
};
// The name of a queue, for enqueue_event() and dequeue_event(), with the type of its payloads.
template <typename T>
class QueueType : public internal::TypedName {
 public:
  using TypedName::TypedName;
};

// ---- values and their bytes ----

namespace internal {

// The place where the value of a typed call becomes JSON: memory of the called object, for one call
// at a time.
struct TypedBytes {
  char* data = nullptr;  // null: the object is not open, or not started
  std::size_t size = 0;
};

// The bytes of a value.
template <typename T>
class Encoded {
 public:
  Encoded(const TypedBytes& memory, const T& value)
      : bytes_(memory.data),
        status_(memory.data == nullptr ? Status::kStopped
                                       : to_json(value, memory.data, memory.size, &size_, &why_)) {}
  [[nodiscard]] Status status() const { return status_; }
  [[nodiscard]] std::string_view text() const { return {bytes_, size_}; }
  [[nodiscard]] std::string_view why() const { return why_.text(); }

 private:
  const char* bytes_;
  std::size_t size_ = 0;
  Diagnostic why_;
  Status status_;
};
template <>
class Encoded<std::string_view> {
 public:
  Encoded(const TypedBytes& /*memory*/, std::string_view text) : text_(text) {}
  [[nodiscard]] static Status status() { return Status::kOk; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] static std::string_view why() { return {}; }

 private:
  std::string_view text_;
};
template <>
class Encoded<Nothing> : public Encoded<std::string_view> {
 public:
  Encoded(const TypedBytes& memory, Nothing) : Encoded<std::string_view>(memory, "") {}
};

template <typename T>
Status decode(std::string_view text, T* out, Diagnostic* why) {
  return from_json(text, out, why);
}
inline Status decode(std::string_view text, std::string_view* out, Diagnostic*) {
  *out = text;
  return Status::kOk;
}
inline Status decode(std::string_view, Nothing*, Diagnostic*) { return Status::kOk; }

// A parameter of this type does not decide the T of a template: the definition does, and the value
// may be written as {..}.
template <typename T>
struct SameType {
  using type = T;
};
template <typename T>
using Same = typename SameType<T>::type;

}  // namespace internal

// The answer of a TypedHandle's await: an Outcome whose value is a T. A result that is no T is an
// error of kind kBadPayload, whose text names the field.
template <typename T>
class [[nodiscard]] TypedOutcome {
 public:
  explicit TypedOutcome(const Outcome& outcome) : outcome_(outcome) {
    if (outcome.is_pending() || !outcome.ok()) return;
    is_read_ = internal::decode(outcome.value(), &value_, &why_) == Status::kOk;
  }
  [[nodiscard]] bool ok() const { return is_read_; }
  // The result; a T() when !ok(). It lives as long as this object.
  [[nodiscard]] const T& value() const { return value_; }
  // The error; its kind is kNone when ok(). The text lives as long as this object.
  [[nodiscard]] Error error() const {
    if (ok() || !outcome_.ok()) return outcome_.error();
    return {ErrorKind::kBadPayload, why_.text()};
  }
  [[nodiscard]] bool cancelled() const { return outcome_.cancelled(); }
  [[nodiscard]] bool closed() const { return outcome_.closed(); }
  // The result as it is stored.
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  // For PAWL_AWAIT only.
  [[nodiscard]] bool is_pending() const { return outcome_.is_pending(); }

 private:
  Outcome outcome_;
  bool is_read_ = false;
  T value_{};
  Diagnostic why_;
};

// A Handle whose result is a T. It is a Handle in joins and selects; await it again for its value.
template <typename T>
class [[nodiscard]] TypedHandle : public Handle {
 public:
  TypedHandle() = default;
  explicit TypedHandle(const Handle& handle) : Handle(handle) {}
  [[nodiscard]] TypedOutcome<T> await() const { return TypedOutcome<T>(Handle::await()); }
};

// ---- endings ----

// The answer of complete() and continue_as_new() with a value: a Poll that knows the type.
template <typename T>
class [[nodiscard]] Completed : public Poll {
 public:
  explicit Completed(Poll poll) : Poll(poll) {}
};
template <typename T>
class [[nodiscard]] Continued : public Poll {
 public:
  explicit Continued(Poll poll) : Poll(poll) {}
};

namespace internal {
// The answer of complete() and continue_as_new() with a text, and of an activity's ok(). If a
// definition has no text, nothing can be made of it. A type of its own would do that, too, but a
// lambda with several endings must return one type, and its type has no const.
template <typename Ending, bool takes_text>
struct RefusedEnding {
  using type = const Ending;
};
template <typename Ending>
struct RefusedEnding<Ending, true> {
  class type {};
};
template <typename Ending, typename... Types>
using Refused =
    typename RefusedEnding<Ending, (std::is_same_v<Types, std::string_view> || ...)>::type;
}  // namespace internal

// The answer of an OrchestrationType<In, Out>'s function: pending, a failure, an end with an Out,
// or a next execution with an In. Others do not compile; but if one of the two is a text, a text
// may be given for either.
template <typename In, typename Out>
class [[nodiscard]] PollOf : public Poll {
 public:
  // Implicit, since a returned value is a Poll or knows its type.
  // NOLINTBEGIN(google-explicit-constructor)
  PollOf(const Poll& poll) : Poll(poll) {}
  PollOf(Poll&& poll) : Poll(poll) {}
  PollOf(internal::Refused<Poll, In, Out>&&) = delete;  // a text, and the definition has none
  PollOf(const Completed<Out>& poll) : Poll(poll) {}
  PollOf(const Continued<In>& poll) : Poll(poll) {}
  template <typename Other>
  PollOf(const Completed<Other>&) = delete;  // the orchestration completes with another type
  template <typename Other>
  PollOf(const Continued<Other>&) = delete;  // the orchestration goes on with another type
  // NOLINTEND(google-explicit-constructor)
};

// The result that Client::wait_for_orchestration() writes for an OrchestrationType.
template <typename Out>
struct TypedEnd {
  std::optional<Out> value;  // set if it has completed with one
  Diagnostic why;            // it has completed with no Out: kCorrupt, and why
};

// ---- the calls ----

// The typed calls of OrchestrationContext. Each does what the call of this name does with a text; a
// value that cannot become JSON is kBadPayload, at the await or as the answer.
template <typename Self>
class TypedContextCalls : public MessageCalls<Self> {
 public:
  using MessageCalls<Self>::enqueue_event;
  using MessageCalls<Self>::raise_event;
  template <typename In, typename Out>
  TypedHandle<Out> schedule_activity(const ActivityType<In, Out>& type,
                                     const internal::Same<In>& input) {
    return schedule<Out, In>(input, [&](Self& self, std::string_view text) {
      return self.schedule_activity(type.name(), text);
    });
  }
  // `options` are ActivityOptions or a Target.
  template <typename In, typename Out, typename Options>
  TypedHandle<Out> schedule_activity(const ActivityType<In, Out>& type,
                                     const internal::Same<In>& input, const Options& options) {
    return schedule<Out, In>(input, [&](Self& self, std::string_view text) {
      return self.schedule_activity(type.name(), text, options);
    });
  }
  template <typename In, typename Out, typename... Options>
  TypedHandle<Out> schedule_sub_orchestration(const OrchestrationType<In, Out>& type,
                                              const internal::Same<In>& input,
                                              const Options&... options) {
    return schedule<Out, In>(input, [&](Self& self, std::string_view text) {
      return self.schedule_sub_orchestration(type.name(), text, options...);
    });
  }
  // Starts an instance without a parent.
  // Returns the same as the call with a text; kBadPayload.
  template <typename In, typename Out, typename... Options>
  ErrorKind start_orchestration(const OrchestrationType<In, Out>& type, const InstanceId& id,
                                const internal::Same<In>& input, const Options&... options) {
    const internal::Encoded<In> encoded(self().typed_bytes(), input);
    if (encoded.status() != Status::kOk) return ErrorKind::kBadPayload;
    return self().start_orchestration(type.name(), id, encoded.text(), options...);
  }
  // Sends a message to an instance.
  // Returns the handle of the call with a text, or kBadPayload at the await.
  template <typename T, typename... Options>
  SendHandle enqueue_event(std::string_view id, const QueueType<T>& type,
                           const internal::Same<T>& payload, const Options&... options) {
    const internal::Encoded<T> encoded(self().typed_bytes(), payload);
    if (encoded.status() != Status::kOk) return SendHandle(self().refuse_payload());
    return self().enqueue_event(id, type.name(), encoded.text(), options...);
  }
  template <typename T, typename... Options>
  SendHandle raise_event(std::string_view id, const EventType<T>& type,
                         const internal::Same<T>& payload, const Options&... options) {
    const internal::Encoded<T> encoded(self().typed_bytes(), payload);
    if (encoded.status() != Status::kOk) return SendHandle(self().refuse_payload());
    return self().raise_event(id, type.name(), encoded.text(), options...);
  }
  template <typename T>
  TypedHandle<T> schedule_wait(const EventType<T>& type) {
    return TypedHandle<T>(self().schedule_wait(type.name()));
  }
  template <typename T>
  TypedHandle<T> dequeue_event(const QueueType<T>& type) {
    return TypedHandle<T>(self().dequeue_event(type.name()));
  }
  template <typename T>
  TypedHandle<T> try_dequeue_event(const QueueType<T>& type) {
    return TypedHandle<T>(self().try_dequeue_event(type.name()));
  }
  template <typename T, typename = std::enable_if_t<!internal::kIsText<T>>>
  Completed<T> complete(const T& output) {
    const internal::Encoded<T> encoded(self().typed_bytes(), output);
    return Completed<T>(encoded.status() == Status::kOk
                            ? self().complete(encoded.text())
                            : self().fail({ErrorKind::kBadPayload, encoded.why()}));
  }
  template <typename T, typename... Version, typename = std::enable_if_t<!internal::kIsText<T>>>
  Continued<T> continue_as_new(const T& input, const Version&... version) {
    const internal::Encoded<T> encoded(self().typed_bytes(), input);
    return Continued<T>(encoded.status() == Status::kOk
                            ? self().continue_as_new(encoded.text(), version...)
                            : self().fail({ErrorKind::kBadPayload, encoded.why()}));
  }

 private:
  template <typename Out, typename In, typename Call>
  TypedHandle<Out> schedule(const In& input, Call&& call) {
    const internal::Encoded<In> encoded(self().typed_bytes(), input);
    return TypedHandle<Out>(encoded.status() == Status::kOk ? call(self(), encoded.text())
                                                            : self().refuse_payload());
  }
  Self& self() { return static_cast<Self&>(*this); }
};

// The typed calls of Client and Runtime. Each does what the call of this name does with a text, and
// takes the same arguments behind it. A value that cannot become JSON is kInvalidArgument, or
// kResourceExhausted if it is too long.
template <typename Self>
class TypedSenderCalls {
 public:
  // Creates an instance.
  // Returns the same as the call with a text.
  template <typename In, typename Out, typename... Rest>
  Status start_orchestration(const OrchestrationType<In, Out>& type, const InstanceId& id,
                             const internal::Same<In>& input, const Rest&... rest) {
    const internal::Encoded<In> encoded(self().typed_bytes(), input);
    PAWL_TRY(encoded.status());
    return self().start_orchestration(type.name(), id, encoded.text(), rest...);
  }
  // Raises an event.
  // Returns the same as the call with a text.
  template <typename T, typename... Rest>
  Status raise_event(std::string_view id, const EventType<T>& type,
                     const internal::Same<T>& payload, const Rest&... rest) {
    const internal::Encoded<T> encoded(self().typed_bytes(), payload);
    PAWL_TRY(encoded.status());
    return self().raise_event(id, type.name(), encoded.text(), rest...);
  }
  // Offers an event for now or never.
  // Returns the same as the call with a text.
  template <typename T, typename... Rest>
  Status offer_event(std::string_view id, const EventType<T>& type,
                     const internal::Same<T>& payload, const Rest&... rest) {
    const internal::Encoded<T> encoded(self().typed_bytes(), payload);
    PAWL_TRY(encoded.status());
    return self().offer_event(id, type.name(), encoded.text(), rest...);
  }
  // Ends an activity by its token (a Client's).
  // Returns the same as the call with a text.
  template <typename In, typename Out>
  Status complete_activity(std::string_view token, const ActivityType<In, Out>& /*type*/,
                           const internal::Same<Out>& result) {
    const internal::Encoded<Out> encoded(self().typed_bytes(), result);
    PAWL_TRY(encoded.status());
    return self().complete_activity(token, encoded.text());
  }
  // Puts a message into a queue.
  // Returns the same as the call with a text.
  template <typename T, typename... Rest>
  Status enqueue_event(std::string_view id, const QueueType<T>& type,
                       const internal::Same<T>& payload, const Rest&... rest) {
    const internal::Encoded<T> encoded(self().typed_bytes(), payload);
    PAWL_TRY(encoded.status());
    return self().enqueue_event(id, type.name(), encoded.text(), rest...);
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_TYPED_HPP

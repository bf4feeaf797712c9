// visit(): a visitor from a lambda, for a listing that is read in one place.
//
//   std::size_t stopped = 0;
//   client.list_instances(filter, &page, visit([&](const InstanceInfo& instance) {
//     if (instance.state == OrchestrationState::kStopped) ++stopped;
//   }));
//
// Ownership: the visitor holds the lambda and allocates nothing. Thread rule: the Client's.
#ifndef PAWL_VISIT_HPP
#define PAWL_VISIT_HPP

#include <string_view>
#include <type_traits>
#include <utility>

#include "pawl/cause.hpp"
#include "pawl/kv.hpp"
#include "pawl/maintenance.hpp"
#include "pawl/management.hpp"

namespace pawl {

namespace internal {

template <typename Call, typename Result, typename Argument>
std::decay_t<Argument> argument_of(Result (Call::*)(Argument) const);
template <typename Call, typename Result, typename Argument>
std::decay_t<Argument> argument_of(Result (Call::*)(Argument));

// The visitor that is shown an Argument, and calls a lambda with it.
template <typename Argument, typename Call>
class LambdaVisitor;

// NOLINTBEGIN(bugprone-macro-parentheses): types
#define PAWL_LAMBDA_VISITOR(Visitor, function, Argument, Shown)                       \
  template <typename Call>                                                            \
  class LambdaVisitor<Argument, Call> final : public Visitor {                        \
   public:                                                                            \
    using Base = Visitor;                                                             \
    explicit LambdaVisitor(Call call) : call_(std::move(call)) {}                     \
    void function(Shown shown) noexcept override { static_cast<void>(call_(shown)); } \
                                                                                      \
   private:                                                                           \
    Call call_;                                                                       \
  }
PAWL_LAMBDA_VISITOR(InstanceVisitor, on_instance, InstanceInfo, const InstanceInfo&);
PAWL_LAMBDA_VISITOR(ExecutionVisitor, on_execution, ExecutionInfo, const ExecutionInfo&);
PAWL_LAMBDA_VISITOR(ActivityVisitor, on_activity, ActivityInfo, const ActivityInfo&);
PAWL_LAMBDA_VISITOR(WorkVisitor, on_work, WorkInfo, const WorkInfo&);
PAWL_LAMBDA_VISITOR(MessageVisitor, on_message, MessageInfo, const MessageInfo&);
PAWL_LAMBDA_VISITOR(HistoryVisitor, on_event, HistoryEvent, const HistoryEvent&);
PAWL_LAMBDA_VISITOR(WorkerVisitor, on_worker, WorkerInfo, const WorkerInfo&);
PAWL_LAMBDA_VISITOR(SessionVisitor, on_session, SessionInfo, const SessionInfo&);
PAWL_LAMBDA_VISITOR(KvVisitor, on_value, KvEntry, const KvEntry&);
PAWL_LAMBDA_VISITOR(CauseVisitor, on_cause, Cause, const Cause&);
PAWL_LAMBDA_VISITOR(FindingVisitor, on_finding, std::string_view, std::string_view);
#undef PAWL_LAMBDA_VISITOR
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace internal

// The result of visit(): a call takes it where it takes the visitor.
template <typename Call>
class Visit {
 public:
  using Visitor = internal::LambdaVisitor<decltype(internal::argument_of(&Call::operator())), Call>;

  explicit Visit(Call call) : visitor_(std::move(call)) {}
  // Implicit, so that it stands in the place of the visitor.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator typename Visitor::Base &() { return visitor_; }

 private:
  Visitor visitor_;
};

// Makes a visitor that calls `call` with what it is shown. The type of its one parameter says which
// visitor: that of a `const InstanceInfo&` is an InstanceVisitor.
template <typename Call>
[[nodiscard]] Visit<std::decay_t<Call>> visit(Call&& call) {
  return Visit<std::decay_t<Call>>(std::forward<Call>(call));
}

}  // namespace pawl

#endif  // PAWL_VISIT_HPP

#include "runtime/time_limits.hpp"

namespace pawl {
namespace {

// An execution that goes on as new has the limit of the one before.
bool begins(const Turn& turn) {
  const OrchestrationItem& item = *turn.item;
  return item.last_event == 0 && item.message_count > 0 &&
         item.messages[0].kind != MessageKind::kContinue;
}

Status write(const Registry& registry, const Turn& turn, store::InstanceRows& rows) {
  const EndKind end = turn.commit.end;
  if (!begins(turn) || (end != EndKind::kNone && end != EndKind::kContinuedAsNew) ||
      turn.warm->history.cancel_id() != 0)
    return Status::kOk;
  const OptionalMs limit_ms = registry.time_limit_ms(turn.item->name.view());
  return limit_ms.has_value() ? rows.write_time_limit(turn.key, {limit_ms, 0, true}) : Status::kOk;
}

constexpr internal::TimeLimitSteps kSteps = {write};

}  // namespace

Status Registry::set_time_limits(const TimeLimit* limits, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (limits[i].limit.count() <= 0) return Status::kInvalidArgument;
    if (find_orchestration(limits[i].name) == nullptr) return Status::kNotFound;
  }
  time_limits_ = limits;
  time_limit_count_ = count;
  time_limit_steps_ = &kSteps;
  return Status::kOk;
}

OptionalMs Registry::time_limit_ms(std::string_view name) const {
  for (std::size_t i = 0; i < time_limit_count_; ++i)
    if (time_limits_[i].name == name) return time_limits_[i].limit.count();
  return {};
}

}  // namespace pawl

#include "apps/pawld/orchestrations.hpp"

#include "apps/pawld/flows.hpp"

namespace pawld {
namespace {

constexpr char kDefinition[] = "pawld.definition";
// Version of the code in this folder. A version that makes other calls gets another number, and
// this one stays registered.
constexpr char kVersion[] = "1.0.0";

}  // namespace

pawl::Status Orchestrations::add_to(pawl::Registry& registry) {
  PAWL_TRY(registry.add_activity(kDefinition, give_definition, pawl::ActivityMode::kInline, this));
  for (const NamedDefinition& one : config_.definitions) {
    PAWL_TRY(registry.add_orchestration(one.name, run, kVersion, this));
    const std::int64_t limit_ms = one.definition.time_limit_ms;
    if (limit_ms > 0) limits_.push_back({one.name, std::chrono::milliseconds(limit_ms)});
  }
  return registry.set_time_limits(limits_.data(), limits_.size());
}

pawl::ActivityResult Orchestrations::give_definition(pawl::ActivityContext& ctx) {
  const auto& self = *static_cast<const Orchestrations*>(ctx.user());
  const NamedDefinition* const found = self.config_.find_definition(ctx.input());
  if (found != nullptr) return ctx.ok(found->record);
  return ctx.fail_permanently("the configuration has no such orchestration any more");
}

pawl::Poll Orchestrations::run(pawl::OrchestrationContext& ctx) {
  const auto& self = *static_cast<const Orchestrations*>(ctx.user());
  PAWL_AWAIT(record, ctx.schedule_activity(kDefinition, ctx.orchestration_name()));
  if (!record.ok()) return ctx.fail(record.error());
  Definition definition;
  std::string why;
  if (!read_record(record.value(), &definition, &why)) return ctx.fail(why);
  if (self.listener_ != nullptr) self.listener_->on_definition(definition);
  Scope scope(static_cast<std::size_t>(self.config_.payload_max));
  scope.set("input", as_json(ctx.input()));
  std::string instance;
  append_json_text(ctx.instance_id(), &instance);
  scope.set("instance", instance);
  switch (definition.type) {
    case Definition::Type::kSequence: return run_sequence(ctx, definition.sequence, scope);
    case Definition::Type::kFanOut: return run_fan_out(ctx, definition.fan_out, scope);
    case Definition::Type::kWatch: return run_watch(ctx, definition.watch, scope);
    case Definition::Type::kSchedule: break;
  }
  return run_schedule(ctx, definition.schedule);
}

}  // namespace pawld

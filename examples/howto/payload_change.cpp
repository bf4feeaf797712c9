// A payload changes, while inputs and messages of last year are still in the database.
#include <cstdio>
#include <string>

#include "pawl/host.hpp"

enum class Mode { kDrip, kFlood };
PAWL_JSON_ENUM(Mode, kDrip, kFlood)  // by name: numbers may be given anew, names stay

// Last year's had `bed` only.
struct Plan {
  int bed = 0;
  Mode mode = Mode::kDrip;               // added: kDrip where it is absent
  std::optional<std::int64_t> until_ms;  // added: may be absent
  pawl::JsonRest<128> rest;              // members that a newer program added are kept
};
PAWL_JSON(Plan, bed, mode, until_ms, rest)
PAWL_JSON_DEFAULTS(Plan, mode)

pawl::ActivityResult show(pawl::ActivityContext& ctx) {
  std::printf("%.*s\n", PAWL_TEXT(ctx.input()));
  return ctx.ok("");
}

pawl::Poll water(pawl::OrchestrationContext& ctx) {
  Plan plan;
  pawl::Diagnostic why;
  if (pawl::from_json(ctx.input(), &plan, &why) != pawl::Status::kOk) return ctx.fail(why.text());
  const std::string mode = plan.mode == Mode::kDrip ? "drip" : "flood";
  PAWL_AWAIT(shown, ctx.schedule_activity("show", "bed " + std::to_string(plan.bed) + ": " + mode));
  return shown.ok() ? ctx.complete("") : ctx.fail(shown.error());
}

int main() {
  pawl::Host host("payload_change.db");
  host.add_orchestration("water", water).add_activity("show", show);
  host.start_once("water", pawl::InstanceId("last-year"), PAWL_JSON_LITERAL(R"({"bed":1})"));
  host.start_once("water", pawl::InstanceId("this-year"),
                  PAWL_JSON_LITERAL(R"({"bed":2,"mode":"kFlood"})"));
  host.start_once("water", pawl::InstanceId("next-year"),
                  PAWL_JSON_LITERAL(R"({"bed":3,"mode":"kDrip","gate":7})"));
  host.start_once("water", pawl::InstanceId("wrong"), PAWL_JSON_LITERAL(R"({"bed":"four"})"));
  if (host.status() != pawl::Status::kOk) return host.run();
  return host.run_until_done("wrong") == 1 ? 0 : 1;  // the last one fails, and says why
}

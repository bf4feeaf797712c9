// The flows of a definition: sequence, fan-out, watch-and-alarm, schedule.
//
// Purpose: pure functions over the calls of a context, as in any orchestration. Ownership: the
// definition lives until the function returns. Thread rule: the Runtime's thread.
#ifndef PAWL_APPS_PAWLD_FLOWS_HPP
#define PAWL_APPS_PAWLD_FLOWS_HPP

#include <string>

#include "apps/pawld/definition.hpp"
#include "apps/pawld/template_text.hpp"
#include "pawl/pawl.hpp"

namespace pawld {

// Makes the options of a call with this input. Returns false, with `why`: its session has no name.
[[nodiscard]] bool options_of(const Policy& policy, std::string_view input,
                              pawl::ActivityOptions* out, std::string* why);
// Runs one activity: the scope gives its input and its place; its result is JSON. On failure
// `error` has the kind, and `result` the text.
pawl::Poll run_call(pawl::OrchestrationContext& ctx, const ActivityCall& call, const Scope& scope,
                    pawl::ErrorKind* error, std::string* result);

pawl::Poll run_sequence(pawl::OrchestrationContext& ctx, const Sequence& sequence, Scope& scope);
pawl::Poll run_fan_out(pawl::OrchestrationContext& ctx, const FanOut& fan_out, Scope& scope);
pawl::Poll run_watch(pawl::OrchestrationContext& ctx, const Watch& watch, const Scope& scope);
pawl::Poll run_schedule(pawl::OrchestrationContext& ctx, const pawl::Schedule& schedule);

}  // namespace pawld

#endif  // PAWL_APPS_PAWLD_FLOWS_HPP

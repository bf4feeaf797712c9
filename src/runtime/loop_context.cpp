#include "runtime/loop_context.hpp"

#include <algorithm>
#include <cstring>

#include "core/check.hpp"
#include "core/clock_rules.hpp"

namespace pawl {
namespace {

Evidence::Options evidence_options(const WorkerTerms& terms) {
  Evidence::Options out;
  out.fast_handoff = terms.fast_handoff;
  out.renewal_interval_ms = terms.renewal_interval_ms();
  return out;
}

WorkerTerms terms_of(const Options& options) {
  WorkerTerms terms(options.leases, options.sessions);
  if (options.database != nullptr) terms.leave_margin();
  return terms;
}

}  // namespace

bool LineBudget::take(std::int64_t now_ms) {
  if (now_ms >= window_end_ms_) {
    window_end_ms_ = add_saturating(now_ms, kWindowMs);
    lines_ = 0;
  }
  if (lines_ == kLinesMax) {
    ++left_out_;
    return false;
  }
  ++lines_;
  return true;
}

LoopContext::LoopContext(Process& the_process, const Registry& the_registry,
                         const Options& the_options, const port::Port& the_port)
    : process(the_process),
      registry(the_registry),
      options(the_options),
      terms(terms_of(the_options)),
      port(the_port),
      evidence(*port.storage, options.database_path.c_str(), evidence_options(terms), seen_leases) {
}

CrashLimits LoopContext::crash_limits() const {
  CrashLimits limits;
  limits.crashes_max = options.limits.crashes_max;
  limits.strikes_max = options.limits.strikes_max;
  limits.reboots_max = options.limits.reboots_max;
  return limits;
}

std::string_view LoopContext::keep_text(std::string_view text) {
  char* const kept = arena.buffer(text.size() + 1);
  if (kept == nullptr) return {};
  if (!text.empty()) std::memcpy(kept, text.data(), text.size());
  return {kept, text.size()};
}

void LoopContext::count(const Removed& removed) {
  stats.instances_removed += static_cast<std::uint64_t>(removed.instances);
  stats.executions_removed += static_cast<std::uint64_t>(removed.executions);
  stats.events_removed += static_cast<std::uint64_t>(removed.events);
}

OrchestrationStats* LoopContext::stats_of(std::string_view orchestration,
                                          std::string_view version) {
  const Registry::OrchestrationEntry* const entry =
      registry.find_orchestration(orchestration, version);
  return entry == nullptr ? nullptr : &names.of(*entry);
}

void LoopContext::log(LogLevel level, std::string_view event, const LogField* fields,
                      std::size_t count, std::string_view trace) const {
  if (options.log == nullptr) return;
  if (trace.empty()) return options.log->write(level, event, fields, count);
  constexpr std::size_t kFieldsMax = 10;
  PAWL_CHECK("runtime-95", count < kFieldsMax);
  LogField all[kFieldsMax];
  std::copy_n(fields, count, all);
  all[count] = {"trace", trace};
  options.log->write(level, event, all, count + 1);
}

// Uses the batch's time, so that no clock is read for a line.
void LoopContext::log_often(LogLevel level, std::string_view event, const LogField* fields,
                            std::size_t count, std::string_view trace) {
  LineBudget& budget = often[static_cast<std::size_t>(level)];
  if (!budget.take(batch.now)) {
    ++stats.log_lines_left_out;
    return;
  }
  const auto left_out = static_cast<std::int64_t>(budget.reset_left_out());
  if (left_out > 0) log(level, "log_lines_left_out", {{"count", left_out}});
  log(level, event, fields, count, trace);
}

void LoopContext::log_status(LogLevel level, std::string_view event, Status status) const {
  log(level, event, {{"status", status_name(status)}, {"text", store->diagnostic().text()}});
}

}  // namespace pawl

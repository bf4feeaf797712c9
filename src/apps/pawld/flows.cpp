#include "apps/pawld/flows.hpp"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "apps/pawld/json_document.hpp"

namespace pawld {
namespace {

using pawl::ErrorKind;
using pawl::OrchestrationContext;
using pawl::Poll;
using std::chrono::milliseconds;

// Fails with the same kind; the text names the part that failed.
Poll fail_in(OrchestrationContext& ctx, const std::string& part, ErrorKind kind,
             std::string_view text) {
  const std::string all = part + ": " + std::string(text);
  return ctx.fail({kind, all});
}

}  // namespace

bool options_of(const Policy& policy, std::string_view input, pawl::ActivityOptions* out,
                std::string* why) {
  out->retry = policy.retry;
  out->start_to_close = milliseconds(policy.timeout_ms);
  out->schedule_to_close = milliseconds(policy.total_timeout_ms);
  if (!policy.device.empty()) {
    out->target = pawl::Target::device(policy.device, milliseconds(policy.device_wait_ms));
    return true;
  }
  if (policy.session.empty()) return true;
  Scope scope(pawl::kNameBytesMax);
  scope.set("", std::string(input));
  std::string session;
  if (!render_text(policy.session, scope, &session, why)) {
    *why = "session: " + *why;
    return false;
  }
  out->target =
      policy.exclusive ? pawl::Target::exclusive_session(session) : pawl::Target::session(session);
  return true;
}

Poll run_call(OrchestrationContext& ctx, const ActivityCall& call, const Scope& scope,
              ErrorKind* error, std::string* result) {
  *error = ErrorKind::kInvalidArgument;
  std::string input;
  pawl::ActivityOptions options;
  if (!render_json(call.input, scope, &input, result)) {
    *result = "input: " + *result;
    return Poll::done();
  }
  if (!options_of(call.policy, input, &options, result)) return Poll::done();
  PAWL_AWAIT(answer, ctx.schedule_activity(call.activity, input, options));
  *error = answer.error().kind;
  *result = answer.ok() ? as_json(answer.value()) : std::string(answer.error().text);
  return Poll::done();
}

// ---- sequence ----

namespace {

enum class When { kRun, kSkip, kWrong };

When decide(const Step& step, const Scope& scope, std::string* why) {
  if (step.when.empty()) return When::kRun;
  std::string value;
  if (!render_text(step.when, scope, &value, why)) return When::kWrong;
  if (value == "true") return When::kRun;
  if (value == "false") return When::kSkip;
  *why = "is " + quoted(value) + ", expected true or false";
  return When::kWrong;
}

}  // namespace

Poll run_sequence(OrchestrationContext& ctx, const Sequence& sequence, Scope& scope) {
  std::string result = "null";
  std::size_t number = 0;
  for (const Step& step : sequence.steps) {
    const std::string part =
        "steps[" + std::to_string(number++) + "]" + (step.name.empty() ? "" : " " + step.name);
    std::string why;
    const When when = decide(step, scope, &why);
    if (when == When::kWrong)
      return fail_in(ctx, part + ": when", ErrorKind::kInvalidArgument, why);
    std::string value = "null";
    if (when == When::kRun && step.call.has_value()) {
      ErrorKind error = ErrorKind::kNone;
      PAWL_CALL(run_call(ctx, *step.call, scope, &error, &value));
      if (error != ErrorKind::kNone) return fail_in(ctx, part, error, value);
      result = value;
    } else if (when == When::kRun) {
      PAWL_AWAIT(pause, ctx.schedule_timer(milliseconds(step.pause_ms)));
      if (!pause.ok()) return fail_in(ctx, part, pause.error().kind, pause.error().text);
    }
    if (step.call.has_value()) scope.set("steps." + step.name, value);
  }
  if (sequence.output.empty()) return ctx.complete(result);
  std::string output;
  std::string why;
  if (!render_json(sequence.output, scope, &output, &why))
    return fail_in(ctx, "output", ErrorKind::kInvalidArgument, why);
  return ctx.complete(output);
}

// ---- fan-out ----

namespace {

struct Item {
  std::string json;
  ErrorKind error = ErrorKind::kNone;
  std::string result;
};

// Runs every `stride`-th item from `first` on, one after the other. A lane writes only its own
// items.
struct Lane {
  const FanOut* fan_out;
  const Scope* scope;
  std::vector<Item>* items;
  std::size_t first;
  std::size_t stride;

  Poll operator()(OrchestrationContext& branch) const {
    for (std::size_t i = first; i < items->size(); i += stride) {
      Item& item = (*items)[i];
      Scope own = *scope;
      own.set("item", item.json);
      own.set("index", std::to_string(i));
      PAWL_CALL(run_call(branch, fan_out->call, own, &item.error, &item.result));
      if (item.error == ErrorKind::kCancelled) break;
    }
    return branch.complete("");
  }
};

bool items_of(const FanOut& fan_out, const Scope& scope, std::vector<Item>* items,
              std::string* why) {
  std::string array;
  if (!render_text(fan_out.over, scope, &array, why)) return false;
  JsonDocument document;
  if (!document.parse(array) || document.type(document.root()) != JsonType::kArray) {
    *why = "is no array";
    return false;
  }
  if (document.size(document.root()) > static_cast<std::size_t>(fan_out.items_max)) {
    *why = "has " + std::to_string(document.size(document.root())) + " items, items_max is " +
           std::to_string(fan_out.items_max);
    return false;
  }
  for (auto at = document.first(document.root()); at.has_value(); at = document.next(*at))
    items->push_back({std::string(document.raw(*at)), ErrorKind::kNone, {}});
  return true;
}

// False: the output is longer than allowed.
bool write_output(const std::vector<Item>& items, std::size_t bytes_max, std::string* out) {
  std::string& output = *out = "[";
  for (const Item& item : items) {
    if (output.size() > 1) output.push_back(',');
    if (item.error == ErrorKind::kNone) {
      output.append(item.result);
    } else {
      output.append("{\"error\":");
      append_json_text(item.result, &output);
      output.push_back('}');
    }
    if (output.size() >= bytes_max) return false;
  }
  output.append("]");
  return true;
}

}  // namespace

Poll run_fan_out(OrchestrationContext& ctx, const FanOut& fan_out, Scope& scope) {
  std::vector<Item> items;
  std::string why;
  if (!items_of(fan_out, scope, &items, &why))
    return fail_in(ctx, "over", ErrorKind::kInvalidArgument, why);
  std::vector<pawl::Handle> lanes;
  const auto stride = static_cast<std::size_t>(fan_out.at_once);
  for (std::size_t i = 0; i < stride && i < items.size(); ++i)
    lanes.push_back(ctx.open_branch(Lane{&fan_out, &scope, &items, i, stride}));
  PAWL_AWAIT(all, ctx.join_all(lanes.data(), lanes.size()));
  if (!all.ok()) return ctx.fail(all.error());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool counts = !fan_out.collects_errors || items[i].error == ErrorKind::kCancelled;
    if (counts && items[i].error != ErrorKind::kNone)
      return fail_in(ctx, "item " + std::to_string(i), items[i].error, items[i].result);
  }
  std::string output;
  if (!write_output(items, scope.bytes_max(), &output))
    return fail_in(ctx, "output", ErrorKind::kLimit,
                   "becomes longer than " + std::to_string(scope.bytes_max()) + " bytes");
  return ctx.complete(output);
}

// ---- watch-and-alarm ----

namespace {

constexpr std::int64_t kExecutionMs = 600'000;  // how long an edited definition waits at most
constexpr std::int64_t kSamplesMax = 50;        // in one execution

// State that one execution leaves to the next, as a value of the instance. A value, not an input,
// since only the instance's code writes values, while an input is any text that a caller sends.
struct WatchState {
  bool alarmed = false;
  std::int64_t failures = 0;
};
PAWL_JSON(WatchState, alarmed, failures)
constexpr std::string_view kWatchState = "pawld.watch";

// The alarm's threshold, above or below, and the value at which the alarm clears.
struct Threshold {
  explicit Threshold(const Watch& watch)
      : above(watch.alarm_above.has_value()),
        alarm(above ? *watch.alarm_above : *watch.alarm_below),
        clear((above ? watch.clear_below : watch.clear_above).value_or(alarm)) {}
  [[nodiscard]] bool is_alarm(double value) const { return above ? value > alarm : value < alarm; }
  // Without hysteresis strictly on the good side of the threshold, so never alarm and clear at
  // once.
  [[nodiscard]] bool is_clear(double value) const {
    return above ? value <= clear : value >= clear;
  }
  bool above;
  double alarm;
  double clear;
};

struct Sampled {
  std::optional<double> number;
  std::string value = "null";  // JSON
  std::string sample = "null";
  std::string why;  // reason if there is no number
};

void find_number(const Watch& watch, Sampled* out) {
  Scope result(out->sample.size());
  result.set("", out->sample);
  if (!result.find(watch.value, &out->value, &out->why)) {
    out->value = "null";
    return;
  }
  // "21.5" in quotes is no number. JSON's numbers are, and strtod() reads all of them.
  const char first = out->value.front();
  const double number = std::strtod(out->value.c_str(), nullptr);
  if (first == '-' || (first >= '0' && first <= '9')) {
    if (std::isfinite(number)) out->number = number;
  }
  if (!out->number.has_value()) out->why = quoted(out->value) + " is no number";
}

class Watcher {
 public:
  Watcher(OrchestrationContext& ctx, const Watch& watch, const Scope& scope)
      : ctx_(ctx), watch_(watch), limit_(watch), scope_(scope) {
    static_cast<void>(
        ctx_.get_kv_value_typed(kWatchState, &state_));  // none in the first execution
  }

  Poll run() {
    const std::int64_t samples = std::max<std::int64_t>(
        1, std::min(kSamplesMax, kExecutionMs / std::max<std::int64_t>(1, watch_.every_ms)));
    for (std::int64_t i = 0; i < samples; ++i) {
      Sampled sampled;
      PAWL_CALL(sample(&sampled));
      if (cancelled_) return ctx_.fail({ErrorKind::kCancelled, "cancelled"});
      PAWL_CALL(judge(sampled));
      if (cancelled_) return ctx_.fail({ErrorKind::kCancelled, "cancelled"});
      PAWL_AWAIT(pause, ctx_.schedule_timer(milliseconds(watch_.every_ms)));
      if (!pause.ok()) return ctx_.fail(pause.error());
    }
    const ErrorKind kept = ctx_.set_kv_value_typed(kWatchState, state_);
    if (kept != ErrorKind::kNone) return fail_in(ctx_, "state", kept, "there is no room for it");
    return ctx_.continue_as_new(ctx_.input());
  }

 private:
  Poll sample(Sampled* out) {
    ErrorKind error = ErrorKind::kNone;
    std::string result;
    PAWL_CALL(run_call(ctx_, watch_.sample, scope_, &error, &result));
    cancelled_ = error == ErrorKind::kCancelled;
    if (error == ErrorKind::kNone) {
      out->sample = result;
      find_number(watch_, out);
    } else {
      out->why = result;
    }
    return Poll::done();
  }

  Poll judge(const Sampled& sampled) {
    show(sampled);
    if (!sampled.number.has_value()) {
      // Logs the first failure of a series, so that a sensor that is missing for a month does not
      // fill the log.
      if (state_.failures++ == 0) ctx_.trace(pawl::LogLevel::kWarning, "no sample: " + sampled.why);
      const bool silent_too_long =
          watch_.alarm_after_failures > 0 && state_.failures >= watch_.alarm_after_failures;
      if (silent_too_long && !state_.alarmed) {
        state_.alarmed = true;
        PAWL_CALL(report(watch_.alarm, sampled, "no_sample"));
      }
      return Poll::done();
    }
    state_.failures = 0;
    if (!state_.alarmed && limit_.is_alarm(*sampled.number)) {
      state_.alarmed = true;
      PAWL_CALL(report(watch_.alarm, sampled, limit_.above ? "above" : "below"));
    } else if (state_.alarmed && limit_.is_clear(*sampled.number)) {
      state_.alarmed = false;
      if (watch_.clear.has_value()) PAWL_CALL(report(*watch_.clear, sampled, "clear"));
    }
    return Poll::done();
  }

  // An alarm that cannot be raised does not end the watch; the log has it.
  Poll report(const ActivityCall& call, const Sampled& sampled, const char* reason) {
    Scope scope = scope_;
    scope.set("value", sampled.value);
    scope.set("sample", sampled.sample);
    scope.set("reason", std::string("\"") + reason + "\"");
    ErrorKind error = ErrorKind::kNone;
    std::string result;
    PAWL_CALL(run_call(ctx_, call, scope, &error, &result));
    cancelled_ = error == ErrorKind::kCancelled;
    if (error != ErrorKind::kNone)
      ctx_.trace(pawl::LogLevel::kError, call.activity + " failed: " + result);
    return Poll::done();
  }

  void show(const Sampled& sampled) {
    std::string status = "{\"value\":" + sampled.value.substr(0, 256);
    if (sampled.value.size() > 256) status = "{\"value\":null";
    status.append(",\"alarmed\":").append(state_.alarmed ? "true" : "false");
    status.append(",\"failures\":").append(std::to_string(state_.failures)).append("}");
    if (ctx_.get_custom_status() != status) static_cast<void>(ctx_.set_custom_status(status));
  }

  OrchestrationContext& ctx_;
  const Watch& watch_;
  Threshold limit_;
  WatchState state_;
  const Scope& scope_;
  bool cancelled_ = false;
};

}  // namespace

Poll run_watch(OrchestrationContext& ctx, const Watch& watch, const Scope& scope) {
  return Watcher(ctx, watch, scope).run();
}

// ---- schedule ----

// The times are those of the definition that this execution recorded; the input is not used.
Poll run_schedule(OrchestrationContext& ctx, const pawl::Schedule& schedule) {
  return pawl::run_schedule(ctx, {schedule});
}

}  // namespace pawld

#include "apps/pawld/definition.hpp"

#include <algorithm>

#include "apps/pawld/template_text.hpp"

namespace pawld {
namespace {

constexpr std::size_t kStepsMax = 100;
constexpr std::int64_t kFormat = 1;  // version of the record's format

using Id = JsonDocument::Id;
using Names = std::vector<std::string>;

bool is_step_name(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !name.empty() && name.size() <= 64 &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

// Reads a definition, and checks that its placeholders name values that exist.
class Reader {
 public:
  Reader(const Policies& policies, const Names& orchestrations)
      : policies_(policies), orchestrations_(orchestrations) {}

  void read_sequence(Section& section, Sequence* out);
  void read_fan_out(Section& section, FanOut* out);
  void read_watch(Section& section, Watch* out);
  void read_schedule(Section& section, pawl::Schedule* out);

 private:
  void read_step(const JsonDocument& document, Id value, const std::string& path,
                 Problems& problems, Step* out);
  void read_call(Section& section, const Names& roots, ActivityCall* out);
  void read_call_of(Section& section, const char* name, const Names& roots, ActivityCall* out);
  void read_template(Section& section, const char* name, const Names& roots, std::string* out);
  void read_text_template(Section& section, const char* name, const Names& roots, std::string* out);
  static void check_paths(Section& section, const char* name, const Names& paths,
                          const Names& roots);

  const Policies& policies_;
  const Names& orchestrations_;
  Names roots_{"input", "instance"};
};

void Reader::check_paths(Section& section, const char* name, const Names& paths,
                         const Names& roots) {
  for (const std::string& path : paths) {
    const bool known = std::any_of(roots.begin(), roots.end(), [&](const std::string& root) {
      return path == root || path.compare(0, root.size() + 1, root + ".") == 0;
    });
    if (known) continue;
    std::string all;
    for (const std::string& root : roots)
      all.append(all.empty() ? "{" : ", {").append(root).append("}");
    // "inptu.bed" gives "input", "steps.siol.dry" gives "steps.soil".
    const std::size_t dot = path.find('.');
    std::string meant = suggestion(path.substr(0, dot), roots);
    if (meant.empty() && dot != std::string::npos)
      meant = suggestion(path.substr(0, path.find('.', dot + 1)), roots);
    std::string what = "{";
    what.append(path, 0, 64).append("} is not known here, expected one of ").append(all);
    section.problem(name, what.append(meant));
  }
}

void Reader::read_template(Section& section, const char* name, const Names& roots,
                           std::string* out) {
  const auto value = section.find(name);
  if (!value.has_value()) return;
  *out = compact_json(section.document().raw(*value));
  Names paths;
  std::string why;
  if (!paths_of_json(*out, &paths, &why)) return section.problem(name, why);
  check_paths(section, name, paths, roots);
}

void Reader::read_text_template(Section& section, const char* name, const Names& roots,
                                std::string* out) {
  section.read(name, out);
  Names paths;
  std::string why;
  if (!paths_of_text(*out, &paths, &why)) return section.problem(name, why);
  check_paths(section, name, paths, roots);
}

void Reader::read_call(Section& section, const Names& roots, ActivityCall* out) {
  if (section.require("activity", "the name of an activity")) {
    section.read("activity", &out->activity);
    const Policy* const policy = policies_.find(out->activity);
    if (policy != nullptr) {
      out->policy = *policy;
    } else if (!out->activity.empty()) {
      section.problem("activity", "there is no activity " + quoted(out->activity) +
                                      suggestion(out->activity, policies_.names()));
    }
  }
  read_template(section, "input", roots, &out->input);
}

void Reader::read_call_of(Section& section, const char* name, const Names& roots,
                          ActivityCall* out) {
  const auto value = section.find(name);
  if (!value.has_value()) return;
  Section call(section.document(), *value, section.path_of(name), section.problems());
  read_call(call, roots, out);
  call.finish();
}

void Reader::read_step(const JsonDocument& document, Id value, const std::string& path,
                       Problems& problems, Step* out) {
  Section step(document, value, path, problems);
  step.read("name", &out->name);
  read_text_template(step, "when", roots_, &out->when);
  step.read_duration("pause", 1, kDurationMostMs, &out->pause_ms);
  if (step.has("activity")) {
    out->call.emplace();
    read_call(step, roots_, &*out->call);
    if (out->name.empty()) out->name = out->call->activity;
    if (step.has("pause")) step.problem("pause", "stands beside an activity; make two steps of it");
  } else if (!step.has("pause") && document.type(value) == JsonType::kObject) {
    step.problem_at(value, path, "has neither \"activity\" nor \"pause\"");
  }
  step.finish();
}

void Reader::read_sequence(Section& section, Sequence* out) {
  section.require("steps", "an array of {\"activity\": ..} or {\"pause\": \"10s\"}");
  std::size_t number = 0;
  for (const Id value : section.elements("steps", kStepsMax)) {
    const std::string path = section.path_of("steps") + "[" + std::to_string(number++) + "]";
    Step step;
    read_step(section.document(), value, path, section.problems(), &step);
    if (step.call.has_value()) {
      const std::string root = "steps." + step.name;
      if (std::find(roots_.begin(), roots_.end(), root) != roots_.end()) {
        section.problem_at(value, path,
                           "is the second step of the name " + quoted(step.name) +
                               "; give it a \"name\" of its own");
      } else if (!is_step_name(step.name)) {
        section.problem_at(value, path, "needs a \"name\" of letters, digits, \"-\" and \"_\"");
      } else {
        roots_.push_back(root);
      }
    }
    out->steps.push_back(std::move(step));
  }
  if (section.has("steps") && number == 0 && section.problems().empty())
    section.problem("steps", "has no step");
  read_template(section, "output", roots_, &out->output);
}

void Reader::read_fan_out(Section& section, FanOut* out) {
  if (section.require("over", "a placeholder for an array, such as \"{input.beds}\""))
    read_text_template(section, "over", roots_, &out->over);
  Names roots = roots_;
  roots.insert(roots.end(), {"item", "index"});
  out->call.input = "\"{item}\"";
  read_call(section, roots, &out->call);
  section.read_number("at_once", 1, 64, &out->at_once);
  section.read_number("items_max", 1, 1'000, &out->items_max);
  std::size_t choice = 0;
  section.read_choice("on_error", {"fail", "collect"}, &choice);
  out->collects_errors = choice == 1;
}

void Reader::read_watch(Section& section, Watch* out) {
  if (section.require("sample", "the activity that is asked, {\"activity\": ..}"))
    read_call_of(section, "sample", roots_, &out->sample);
  section.read("value", &out->value);
  section.require("every", "a duration such as \"30s\"");
  section.read_duration("every", 100, kDurationMostMs, &out->every_ms);
  section.read_decimal("alarm_above", &out->alarm_above);
  section.read_decimal("alarm_below", &out->alarm_below);
  section.read_decimal("clear_below", &out->clear_below);
  section.read_decimal("clear_above", &out->clear_above);
  section.read_number("alarm_after_failures", 0, 1'000, &out->alarm_after_failures);
  Names roots = roots_;
  roots.insert(roots.end(), {"value", "sample", "reason"});
  constexpr char kReport[] = "{\"value\":\"{value}\",\"reason\":\"{reason}\"}";
  out->alarm.input = kReport;
  if (section.require("alarm", "the activity that raises the alarm, {\"activity\": ..}"))
    read_call_of(section, "alarm", roots, &out->alarm);
  if (section.has("clear")) {
    out->clear.emplace();
    out->clear->input = kReport;
    read_call_of(section, "clear", roots, &*out->clear);
  }
  if (out->alarm_above.has_value() == out->alarm_below.has_value())
    return section.problem("alarm_above",
                           "exactly one of \"alarm_above\" and \"alarm_below\" is needed");
  const bool above = out->alarm_above.has_value();
  if (above && out->clear_above.has_value())
    return section.problem("clear_above",
                           "goes with \"alarm_below\"; this watch has \"alarm_above\"");
  if (!above && out->clear_below.has_value())
    return section.problem("clear_below",
                           "goes with \"alarm_above\"; this watch has \"alarm_below\"");
  if (above && out->clear_below.value_or(*out->alarm_above) > *out->alarm_above)
    return section.problem("clear_below", "is above \"alarm_above\"");
  if (!above && out->clear_above.value_or(*out->alarm_below) < *out->alarm_below)
    return section.problem("clear_above", "is below \"alarm_below\"");
}

void Reader::read_schedule(Section& section, pawl::Schedule* out) {
  std::string cron;
  std::string zone;
  std::string run;
  std::string input = "null";
  if (!section.require("cron", "five fields, such as \"30 6 * * *\"") ||
      !section.require("run", "the name of an orchestration"))
    return;
  section.read("cron", &cron);
  section.read("zone", &zone);
  section.read("run", &run);
  const bool is_known =
      orchestrations_.empty() ||
      std::find(orchestrations_.begin(), orchestrations_.end(), run) != orchestrations_.end();
  if (!is_known)
    section.problem("run",
                    "there is no orchestration " + quoted(run) + suggestion(run, orchestrations_));
  const auto value = section.find("input");
  if (value.has_value()) input = compact_json(section.document().raw(*value));
  pawl::Diagnostic why;
  if (pawl::fill_schedule(out, cron, zone, run, input, why) != pawl::Status::kOk) {
    section.problem("cron", std::string(why.text()));
    return;
  }
  std::size_t missed = 0;
  section.read_choice("missed", {"skip", "run_once", "run_all"}, &missed);
  out->missed = static_cast<pawl::MissedRuns>(missed);
  std::size_t overlap = 0;
  section.read_choice("overlap", {"skip", "wait", "start_beside"}, &overlap);
  out->overlap = static_cast<pawl::RunOverlap>(overlap);
  std::int64_t missed_max = out->missed_max;
  section.read_number("missed_max", 1, pawl::kMissedRunsMax, &missed_max);
  out->missed_max = static_cast<std::uint32_t>(missed_max);
  section.read_duration("late", 0, kDurationMostMs, &out->late_ms);
  if (section.problems().empty() && pawl::check_schedule(*out, why) != pawl::Status::kOk)
    section.problem("cron", std::string(why.text()));
}

void read_retry(Section& section, pawl::Retry* out) {
  const auto value = section.find("retry");
  if (!value.has_value()) return;
  Section retry(section.document(), *value, section.path_of("retry"), section.problems());
  std::int64_t attempts = out->max_attempts;
  std::int64_t base = out->base.count();
  std::int64_t cap = out->cap.count();
  std::int64_t jitter = out->jitter_percent;
  auto backoff = static_cast<std::size_t>(out->backoff);
  retry.read_number("attempts", 1, 1'000'000, &attempts);
  retry.read_choice("backoff", {"none", "fixed", "linear", "exponential"}, &backoff);
  retry.read_duration("base", 0, kDurationMostMs, &base);
  if (!retry.has("cap")) cap = std::max(cap, base);
  retry.read_duration("cap", 0, kDurationMostMs, &cap);
  retry.read_number("jitter_percent", 0, 100, &jitter);
  if (cap < base) retry.problem("cap", "is shorter than \"base\"");
  retry.finish();
  out->max_attempts = static_cast<std::int32_t>(attempts);
  out->backoff = static_cast<pawl::Backoff>(backoff);
  out->base = std::chrono::milliseconds(base);
  out->cap = std::chrono::milliseconds(cap);
  out->jitter_percent = static_cast<std::int32_t>(jitter);
}

constexpr const char* kPolicyMembers[] = {"timeout",   "total_timeout", "retry",      "session",
                                          "exclusive", "device",        "device_wait"};

void add_name(const ActivityCall& call, Names* names) {
  if (std::find(names->begin(), names->end(), call.activity) == names->end())
    names->push_back(call.activity);
}

}  // namespace

void read_policy(Section& section, Policy* out) {
  section.read_duration("timeout", 0, kDurationMostMs, &out->timeout_ms);
  section.read_duration("total_timeout", 0, kDurationMostMs, &out->total_timeout_ms);
  read_retry(section, &out->retry);
  section.read("session", &out->session);
  Names paths;
  std::string why;
  if (!paths_of_text(out->session, &paths, &why)) section.problem("session", why);
  section.read("exclusive", &out->exclusive);
  section.read("device", &out->device);
  section.read_duration("device_wait", 0, kDurationMostMs, &out->device_wait_ms);
  if (section.has("device") && (out->device.empty() || out->device.front() != '/'))
    section.problem("device", "is " + quoted(out->device) + ", expected an absolute path");
  if (out->device.size() > pawl::kNameBytesMax)
    section.problem("device", "is longer than 256 bytes");
  if (section.has("device") && section.has("session"))
    section.problem("session", "stands beside \"device\", which is a session of its own");
  if (section.has("device_wait") && !section.has("device"))
    section.problem("device_wait", "needs a \"device\"");
  if (section.has("exclusive") && !section.has("session"))
    section.problem("exclusive", "needs a \"session\"");
}

const Policy* Policies::find(std::string_view name) const {
  for (const Entry& entry : entries)
    if (entry.name == name) return &entry.policy;
  return nullptr;
}

Names Policies::names() const {
  Names names;
  for (const Entry& entry : entries)
    names.push_back(entry.name);
  return names;
}

Definition read_definition(Section& section, const Policies& policies,
                           const Names& orchestrations) {
  Definition out;
  std::size_t type = 0;
  const bool has_type = section.require(
      "type", "one of \"sequence\", \"fan-out\", \"watch-and-alarm\", \"schedule\"");
  const std::size_t before = section.problems().lines().size();
  section.read_choice("type", {"sequence", "fan-out", "watch-and-alarm", "schedule"}, &type);
  // With an unknown type all members would be unknown, too.
  if (!has_type || section.problems().lines().size() != before) return out;
  out.type = static_cast<Definition::Type>(type);
  // A schedule has none of its own: the runs that it starts have that of their orchestration.
  if (out.type != Definition::Type::kSchedule)
    section.read_duration("time_limit", 1, kDurationMostMs, &out.time_limit_ms);
  Reader reader(policies, orchestrations);
  switch (out.type) {
    case Definition::Type::kSequence: reader.read_sequence(section, &out.sequence); break;
    case Definition::Type::kFanOut: reader.read_fan_out(section, &out.fan_out); break;
    case Definition::Type::kWatch: reader.read_watch(section, &out.watch); break;
    case Definition::Type::kSchedule: reader.read_schedule(section, &out.schedule); break;
  }
  section.finish();
  return out;
}

Names activities_of(const Definition& definition) {
  Names names;
  switch (definition.type) {
    case Definition::Type::kSequence:
      for (const Step& step : definition.sequence.steps)
        if (step.call.has_value()) add_name(*step.call, &names);
      break;
    case Definition::Type::kFanOut: add_name(definition.fan_out.call, &names); break;
    case Definition::Type::kWatch:
      add_name(definition.watch.sample, &names);
      add_name(definition.watch.alarm, &names);
      if (definition.watch.clear.has_value()) add_name(*definition.watch.clear, &names);
      break;
    case Definition::Type::kSchedule: break;
  }
  return names;
}

std::string record_of(const JsonDocument& document, Id definition, std::optional<Id> activities) {
  // The definition was found correct before; it is read again for the names of its activities.
  Problems none("");
  Section section(document, definition, "", none);
  Policies policies;
  for (auto at = activities.has_value() ? document.first(*activities) : std::nullopt;
       at.has_value(); at = document.next(*at))
    policies.entries.push_back({document.key(*at), Policy()});
  const Names names = activities_of(read_definition(section, policies, {}));
  std::string out = "{\"format\":" + std::to_string(kFormat) + ",\"definition\":";
  out.append(compact_json(document.raw(definition))).append(",\"activities\":{");
  for (const std::string& name : names) {
    if (out.back() != '{') out.push_back(',');
    append_json_text(name, &out);
    out.append(":{");
    const auto activity = document.member(*activities, name);
    for (const char* member : kPolicyMembers) {
      const auto value = document.member(activity.value_or(definition), member);
      if (!activity.has_value() || !value.has_value()) continue;
      if (out.back() != '{') out.push_back(',');
      append_json_text(member, &out);
      out.append(":").append(compact_json(document.raw(*value)));
    }
    out.push_back('}');
  }
  return out.append("}}");
}

bool read_record(std::string_view record, Definition* out, std::string* why) {
  JsonDocument document;
  if (!document.parse(record)) {
    *why = "the recorded definition is no JSON: " + document.error();
    return false;
  }
  Problems problems("recorded definition");
  Section top(document, document.root(), "", problems);
  std::int64_t format = 0;
  top.read_number("format", 1, INT64_MAX, &format);
  if (format != kFormat) {
    *why = "the definition was recorded by another pawld, in format " + std::to_string(format);
    return false;
  }
  Policies policies;
  for (const Id value : top.members("activities", 1'000)) {
    Policies::Entry entry;
    entry.name = document.key(value);
    Section activity(document, value, "activities." + entry.name, problems);
    read_policy(activity, &entry.policy);
    activity.finish();
    policies.entries.push_back(std::move(entry));
  }
  const auto definition = top.find("definition");
  if (definition.has_value()) {
    Section section(document, *definition, "definition", problems);
    *out = read_definition(section, policies, {});
  } else {
    top.problem("definition", "is missing");
  }
  if (problems.empty()) return true;
  *why = problems.lines().front();
  return false;
}

}  // namespace pawld

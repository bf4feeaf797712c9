#include "program.hpp"

#include <algorithm>
#include <chrono>

namespace pawl::test {
namespace {

using Kind = Step::Kind;

constexpr std::pair<const char*, Kind> kWords[] = {
    {"act", Kind::kActivity},    {"timer", Kind::kTimer},    {"wait", Kind::kWait},
    {"deq", Kind::kDequeue},     {"try", Kind::kTryDequeue}, {"child", Kind::kChild},
    {"detach", Kind::kDetach},   {"guid", Kind::kGuid},      {"utc", Kind::kUtc},
    {"now", Kind::kNow},         {"status", Kind::kStatus},  {"set", Kind::kSet},
    {"get", Kind::kGet},         {"trace", Kind::kTrace},    {"open", Kind::kOpen},
    {"await", Kind::kAwait},     {"join", Kind::kJoin},      {"sel", Kind::kSelect},
    {"selj", Kind::kSelectJoin}, {"cancel", Kind::kCancel},  {"if", Kind::kIf},
    {"loop", Kind::kLoop},       {"shield", Kind::kShield},  {"end", Kind::kEnd}};

// ---- text ----

class Parser {
 public:
  explicit Parser(const std::string& text) : words_(words_of(text)) {}

  Program parse() {
    Program program;
    program.steps = steps(&program);
    return program;
  }

 private:
  std::vector<Step> steps(Program* program) {
    std::vector<Step> list;
    int bodies = 0;
    while (next_ < words_.size()) {
      const std::string& word = words_[next_++];
      if (word == "}") break;
      const std::size_t equals = word.find('=');
      if (const auto* kind = kind_of(word)) {
        list.emplace_back();
        list.back().kind = *kind;
        bodies = 0;
      } else if (word == "{") {
        std::vector<Step> body = steps(program);
        (bodies++ == 0 ? list.back().body : list.back().other) = std::move(body);
      } else if (equals != std::string::npos) {
        set(&list.back(), word.substr(0, equals), word.substr(equals + 1));
      } else if (word != "|") {
        list.back().handles.push_back(handle(word, program));
      }
    }
    return list;
  }

  static void set(Step* step, const std::string& key, const std::string& value) {
    if (key == "name") step->name = value;
    if (key == "in") step->input = value;
    if (key == "on") step->on = value;
    if (key == "v") step->version = value;
    if (key == "n") step->number = std::stoi(value);
  }

  static const Kind* kind_of(const std::string& word) {
    for (const auto& known : kWords)
      if (word == known.first) return &known.second;
    return nullptr;
  }

  static std::size_t handle(const std::string& name, Program* program) {
    auto& names = program->names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    names.push_back(name);
    return names.size() - 1;
  }

  const std::vector<std::string> words_;
  std::size_t next_ = 0;
};

void print_steps(const Program& program, const std::vector<Step>& steps, std::string indent,
                 std::string* out);

void print_step(const Program& program, const Step& step, const std::string& indent,
                std::string* out) {
  *out += indent + kWords[static_cast<std::size_t>(step.kind)].first;
  for (const std::size_t handle : step.handles)
    *out += " " + program.names[handle];
  if (!step.name.empty()) *out += " name=" + step.name;
  if (!step.input.empty()) *out += " in=" + step.input;
  if (!step.on.empty()) *out += " on=" + step.on;
  if (!step.version.empty()) *out += " v=" + step.version;
  if (step.number != 0) *out += " n=" + std::to_string(step.number);
  const bool has_body = step.kind == Kind::kOpen || step.kind == Kind::kIf ||
                        step.kind == Kind::kLoop || step.kind == Kind::kShield;
  if (has_body) {
    *out += " {\n";
    print_steps(program, step.body, indent + "  ", out);
    *out += indent + "}";
  }
  if (!step.other.empty()) {
    *out += " {\n";
    print_steps(program, step.other, indent + "  ", out);
    *out += indent + "}";
  }
  *out += "\n";
}

void print_steps(const Program& program, const std::vector<Step>& steps, std::string indent,
                 std::string* out) {
  for (const Step& step : steps)
    print_step(program, step, indent, out);
}

// ---- observations of a run ----

const Program* current = nullptr;
bool texts_wanted = true;
std::vector<std::string> observed;
std::vector<Trail> trail_list;
std::size_t trail_count = 0;
std::vector<std::string> trace_list;
std::vector<std::int64_t> receipt_list;
std::vector<Answer> answer_list;
std::vector<unsigned> issue_list;

constexpr std::uint64_t kRootTrail = 0xcbf29ce484222325U;

std::string last_value;  // value of the last await

std::uint64_t mix(std::uint64_t hash, std::uint64_t number) {
  hash ^= number + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U);
  return hash * 0x100000001b3U;
}

std::uint64_t mix(std::uint64_t hash, std::string_view text) {
  for (const char byte : text)
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return mix(hash, text.size());
}

std::size_t new_trail(std::uint64_t branch) {
  if (trail_count == trail_list.size()) trail_list.emplace_back();
  trail_list[trail_count].branch = branch;
  trail_list[trail_count].seen.clear();
  return trail_count++;
}

// The state of one branch in one run.
struct Me {
  const std::string& name;
  std::uint64_t path;
  std::size_t trail;
  std::uint32_t openings = 0;
  std::uint32_t traces = 0;
  bool ok = true;
  bool cancelled = false;
  std::size_t index = 0;
  std::uint64_t value = 0;  // a hash of all that it saw
  unsigned shields = 0;
  bool is_asked = false;  // a cancel request was reported to it
};

void see(Me& me, std::uint64_t what) {
  me.value = mix(me.value, what);
  trail_list[me.trail].seen.push_back(what);
}

void see(Me& me, const char* what, const Outcome& result, const std::string& name) {
  me.ok = result.ok();
  me.cancelled = result.cancelled();
  me.is_asked = me.is_asked || (me.cancelled && me.shields == 0);
  me.index = result.index();
  const std::string_view value = result.ok() ? result.value() : result.error().text;
  last_value = value;
  see(me, mix(mix(mix(kRootTrail, result.index()), static_cast<std::uint64_t>(result.error().kind)),
              value));
  // "m17" is a queue message, "e17" a raised event.
  if (value.size() > 1 && (value[0] == 'm' || value[0] == 'e') && result.ok() && value[1] <= '9')
    receipt_list.push_back(std::stoll(std::string(value.substr(1))));
  if (!texts_wanted) return;
  const std::string shown =
      result.ok() ? std::string(result.value()) : error_kind_name(result.error().kind);
  observed.push_back(me.name + " " + what + name + " -> " + shown);
}

// ---- the interpreter ----

enum class Flow { kGoOn, kPending, kEnded };

ActivityOptions options_of(const Step& step) {
  static const Retry kRetries[] = {
      {},
      {3, Backoff::kFixed, std::chrono::milliseconds(500), std::chrono::seconds(60), 0},
      {5, Backoff::kExponential, std::chrono::seconds(1), std::chrono::seconds(8), 20},
      {}};
  ActivityOptions options;
  if (!step.on.empty()) options.target = Target::session(step.on);
  options.tag = step.version;
  options.retry = kRetries[step.number % 4];
  if (step.number % 4 == 2) options.start_to_close = std::chrono::seconds(4);
  if (step.number % 4 == 3) options.schedule_to_close = std::chrono::seconds(90);
  return options;
}

class Run {
 public:
  explicit Run(OrchestrationContext& ctx)
      : handles_(current->names.size()),
        issuers_(current->names.size()),
        execution_(ctx.execution_id()) {}

  Flow steps(OrchestrationContext& ctx, const std::vector<Step>& list, Me& me) {
    for (const Step& step : list) {
      const Flow flow = one(ctx, step, me);
      if (flow != Flow::kGoOn) return flow;
    }
    return Flow::kGoOn;
  }
  [[nodiscard]] Poll end() const { return end_; }

 private:
  Flow one(OrchestrationContext& ctx, const Step& step, Me& me) {
    switch (step.kind) {
      case Kind::kActivity:
      case Kind::kTimer:
      case Kind::kWait:
      case Kind::kDequeue:
      case Kind::kTryDequeue:
      case Kind::kChild: issue(ctx, step, me); break;
      case Kind::kDetach:
      case Kind::kGuid:
      case Kind::kUtc:
      case Kind::kNow:
      case Kind::kStatus:
      case Kind::kSet:
      case Kind::kGet:
      case Kind::kTrace: note(ctx, step, me); break;
      case Kind::kOpen: open(ctx, step, me); break;
      case Kind::kCancel: ctx.cancel(handles_[step.handles[0]]); break;
      case Kind::kAwait: return receive_one(step.handles[0], me);
      case Kind::kJoin:
      case Kind::kSelect:
      case Kind::kSelectJoin: return receive_several(ctx, step, me);
      case Kind::kIf: return steps(ctx, holds(ctx, step, me) ? step.body : step.other, me);
      case Kind::kShield: {
        const CleanUpScope scope = ctx.clean_up();
        ++me.shields;
        const Flow flow = steps(ctx, step.body, me);
        --me.shields;
        return flow;
      }
      case Kind::kLoop:
        for (int i = 0; i < step.number; ++i) {
          const Flow flow = steps(ctx, step.body, me);
          if (flow != Flow::kGoOn) return flow;
        }
        break;
      case Kind::kEnd: return leave(ctx, step, me);
    }
    return Flow::kGoOn;
  }

  static std::string text_of(const Step& step, const Me& me) {
    return step.input == "$" ? std::to_string(me.value % 1000) : step.input;
  }
  static std::string_view name_of(const Step& step, const char* otherwise) {
    return step.name.empty() ? std::string_view(otherwise) : std::string_view(step.name);
  }

  void issue(OrchestrationContext& ctx, const Step& step, const Me& me) {
    Handle& handle = handles_[step.handles[0]];
    const bool is_let = !(ctx.cancel_requested() || me.is_asked) || me.shields > 0;
    issuers_[step.handles[0]] = {me.path, is_let};
    if (is_let && !ctx.is_suspended()) ++issue_list[step.handles[0]];
    const std::string& own = current->names[step.handles[0]];
    const std::string input = text_of(step, me);
    const std::string_view name = name_of(step, own.c_str());
    switch (step.kind) {
      case Kind::kActivity: handle = ctx.schedule_activity(name, input, options_of(step)); break;
      case Kind::kTimer:
        handle = step.on == "utc" ? ctx.schedule_timer_at(step.number)
                                  : ctx.schedule_timer(std::chrono::seconds(1 + step.number));
        break;
      case Kind::kWait: handle = ctx.schedule_wait(name_of(step, "e")); break;
      case Kind::kDequeue: handle = ctx.dequeue_event(name_of(step, "q")); break;
      case Kind::kTryDequeue: handle = ctx.try_dequeue_event(name_of(step, "q")); break;
      default:
        if (step.version.empty() && step.on.empty()) {
          handle = ctx.schedule_sub_orchestration(name, input);
        } else if (step.version.empty()) {
          handle = ctx.schedule_sub_orchestration(name, input, {InstanceId(step.on)});
        } else if (step.on.empty()) {
          handle = ctx.schedule_sub_orchestration(name, input, {std::nullopt, step.version});
        } else {
          handle = ctx.schedule_sub_orchestration(name, input, {InstanceId(step.on), step.version});
        }
        break;
    }
  }

  void note(OrchestrationContext& ctx, const Step& step, Me& me) const {
    const std::string input = text_of(step, me);
    switch (step.kind) {
      case Kind::kDetach:
        static_cast<void>(
            step.version.empty()
                ? ctx.start_orchestration(step.name, InstanceId(step.on), input)
                : ctx.start_orchestration(step.name, InstanceId(step.on), input, {step.version}));
        break;
      case Kind::kGuid: {
        const Guid guid = ctx.new_guid();
        see(me, mix(kRootTrail, guid.view()));
        break;
      }
      case Kind::kUtc: see(me, static_cast<std::uint64_t>(ctx.utc_now_ms())); break;
      case Kind::kNow: see(me, static_cast<std::uint64_t>(ctx.now_ms())); break;
      case Kind::kStatus:
        if (step.input.empty()) {
          ctx.reset_custom_status();
        } else {
          static_cast<void>(ctx.set_custom_status(input));
        }
        break;
      case Kind::kSet: static_cast<void>(ctx.set_kv_value(step.name, input)); break;
      case Kind::kGet: {
        const std::string_view value = ctx.get_kv_value(step.name).value_or("");
        see(me, mix(kRootTrail, value));
        if (texts_wanted)
          observed.push_back(me.name + " get " + step.name + " -> " + std::string(value));
        break;
      }
      default: {
        trace_list.push_back(std::to_string(me.path) + "/" + std::to_string(me.traces++));
        ctx.trace(LogLevel::kInfo, trace_list.back());
        break;
      }
    }
  }

  [[nodiscard]] bool holds(OrchestrationContext& ctx, const Step& step, const Me& me) const {
    if (step.name == "asked") return ctx.cancel_requested();
    if (step.name == "ok") return me.ok;
    if (step.name == "odd") return me.value % 2 == 1;
    if (step.name == "first") return me.index == 0;
    if (step.name == "cancelled") return me.cancelled;
    return execution_ <= step.number;
  }

  // A handle in the body must not keep its value from an earlier round.
  void forget(const std::vector<Step>& list) {
    for (const Step& step : list) {
      if (step.kind <= Kind::kChild || step.kind == Kind::kOpen) {
        handles_[step.handles[0]] = Handle();
        issuers_[step.handles[0]] = {};
      }
      forget(step.body);
      forget(step.other);
    }
  }

  void open(OrchestrationContext& ctx, const Step& step, Me& me) {
    const std::string& name = current->names[step.handles[0]];
    const std::uint64_t path = mix(me.path, ++me.openings);
    forget(step.body);
    // Only the opener may use the handle, so it is set when the body has run.
    const Handle opened = ctx.open_branch([&](OrchestrationContext& own) -> Poll {
      Me branch{name, path, new_trail(path)};
      branch.shields = me.shields;
      branch.is_asked = me.is_asked;
      const Flow flow = steps(own, step.body, branch);
      if (flow == Flow::kPending) return Poll::pending();
      if (flow == Flow::kEnded) return end_;
      return own.complete("of " + name + ": " + std::to_string(branch.value));
    });
    handles_[step.handles[0]] = opened;
  }

  Flow receive_one(std::size_t index, Me& me) {
    const Flow flow = receive(handles_[index], me, "await ", current->names[index]);
    if (flow != Flow::kGoOn || issuers_[index].first == 0) return flow;
    answer_list.push_back({index, issuers_[index].first == me.path, issuers_[index].second,
                           me.shields > 0, me.cancelled, last_value});
    return flow;
  }

  static Flow receive(const Handle& handle, Me& me, const char* what, const std::string& name) {
    const Outcome result = handle.await();
    if (result.is_pending()) return Flow::kPending;
    see(me, what, result, name);
    return Flow::kGoOn;
  }

  // Receives one by one what a join has received.
  static Flow each(const std::vector<Handle>& list, std::size_t from, Me& me) {
    for (std::size_t i = from; i < list.size(); ++i) {
      const Flow flow = receive(list[i], me, "each", {});
      if (flow != Flow::kGoOn) return flow;
    }
    return Flow::kGoOn;
  }

  Flow receive_several(OrchestrationContext& ctx, const Step& step, Me& me) {
    const std::vector<Handle> list = all_of(step);
    if (step.kind == Kind::kJoin) {
      const Handle joined = ctx.join_all(list.data(), list.size());
      const Flow flow = receive(joined, me, "join", {});
      return flow == Flow::kGoOn && me.ok ? each(list, 0, me) : flow;
    }
    const Outcome result =
        step.kind == Kind::kSelect
            ? ctx.select_of(list.data(), list.size()).await()
            : ctx.select(list[0], ctx.join_all(list.data() + 1, list.size() - 1)).await();
    if (result.is_pending()) return Flow::kPending;
    const char* const what = step.kind == Kind::kSelect ? "sel " : "selj ";
    see(me, what, result, texts_wanted ? std::to_string(result.index()) : std::string());
    if (step.kind == Kind::kSelect || !result.ok() || result.index() == 0) return Flow::kGoOn;
    return each(list, 1, me);
  }

  Flow leave(OrchestrationContext& ctx, const Step& step, const Me& me) {
    const std::string output = std::to_string(me.value);
    if (step.name == "fail") {
      end_ = ctx.fail(output);
    } else if (step.name == "can") {
      end_ = step.version.empty() ? ctx.continue_as_new(output)
                                  : ctx.continue_as_new(output, step.version);
    } else {
      end_ = ctx.complete(output);
    }
    return Flow::kEnded;
  }

  [[nodiscard]] std::vector<Handle> all_of(const Step& step) const {
    std::vector<Handle> list;
    for (const std::size_t handle : step.handles)
      list.push_back(handles_[handle]);
    return list;
  }

  std::vector<Handle> handles_;
  // For each handle: the path of the branch that issued it (0: none), and whether R8.4 allowed
  // that.
  std::vector<std::pair<std::uint64_t, bool>> issuers_;
  std::int64_t execution_;
  Poll end_ = Poll::done();
};

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n";
  std::vector<std::string> words;
  std::size_t end = 0;
  for (std::size_t begin = text.find_first_not_of(kBlanks); begin != std::string::npos;
       begin = text.find_first_not_of(kBlanks, end)) {
    end = text.find_first_of(kBlanks, begin);
    words.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) break;
  }
  return words;
}

Program parse(const std::string& text) { return Parser(text).parse(); }

std::string print(const Program& program) {
  std::string text;
  print_steps(program, program.steps, "  ", &text);
  return text;
}

void set_program(const Program* program, bool with_texts) {
  current = program;
  texts_wanted = with_texts;
}

Poll run_program(OrchestrationContext& ctx) {
  static const std::string kRoot = "root";
  observed.clear();
  trace_list.clear();
  receipt_list.clear();
  answer_list.clear();
  issue_list.assign(current->names.size(), 0);
  trail_count = 0;
  Run run(ctx);
  Me me{kRoot, kRootTrail, new_trail(kRootTrail)};
  const Flow flow = run.steps(ctx, current->steps, me);
  if (flow == Flow::kPending) return Poll::pending();
  return flow == Flow::kEnded ? run.end() : ctx.complete("end");
}

const std::vector<std::string>& observations() { return observed; }

const std::vector<Trail>& trails() {
  for (std::size_t i = trail_count; i < trail_list.size(); ++i)
    trail_list[i].seen.clear();
  return trail_list;
}
const std::vector<Answer>& answers() { return answer_list; }
const std::vector<unsigned>& issued() { return issue_list; }
const std::vector<std::string>& traced() { return trace_list; }
const std::vector<std::int64_t>& received() { return receipt_list; }

}  // namespace pawl::test

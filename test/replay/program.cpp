#include "program.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>

namespace pawl::test {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : words_(text) {}

  Program parse() {
    Program program;
    program.steps = steps(&program);
    return program;
  }

 private:
  std::vector<Step> steps(Program* program) {
    std::vector<Step> list;
    for (std::string word; words_ >> word && word != "}";) {
      if (const auto* kind = kind_of(word)) {
        list.emplace_back();
        list.back().kind = *kind;
      } else if (word == "{") {
        list.back().body = steps(program);
      } else if (word != "|") {
        list.back().handles.push_back(handle(word, program));
      }
    }
    return list;
  }

  static const Step::Kind* kind_of(const std::string& word) {
    using Kind = Step::Kind;
    static const std::pair<const char*, Kind> kWords[] = {
        {"act", Kind::kActivity},  {"timer", Kind::kTimer},     {"open", Kind::kOpen},
        {"await", Kind::kAwait},   {"join", Kind::kJoin},       {"sel", Kind::kSelect},
        {"cancel", Kind::kCancel}, {"selj", Kind::kSelectJoin}, {"wait", Kind::kWait},
        {"deq", Kind::kDequeue},   {"try", Kind::kTry},         {"set", Kind::kSet},
        {"get", Kind::kGet}};
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

  std::istringstream words_;
};

const Program* current = nullptr;
std::vector<std::string> observed;

class Run {
 public:
  Run() : handles_(current->names.size()) {}

  Poll steps(OrchestrationContext& ctx, const std::vector<Step>& list, const std::string& who) {
    for (const Step& step : list)
      PAWL_CALL(one(ctx, step, who));
    return Poll::done();
  }

 private:
  Poll one(OrchestrationContext& ctx, const Step& step, const std::string& who) {
    const std::string& name = current->names[step.handles[0]];
    Handle& handle = handles_[step.handles[0]];
    switch (step.kind) {
      case Step::Kind::kActivity: handle = ctx.schedule_activity(name, ""); break;
      case Step::Kind::kTimer: handle = ctx.schedule_timer(std::chrono::seconds(1)); break;
      case Step::Kind::kWait: handle = ctx.schedule_wait("e"); break;
      case Step::Kind::kDequeue: handle = ctx.dequeue_event("q"); break;
      case Step::Kind::kTry: handle = ctx.try_dequeue_event("q"); break;
      case Step::Kind::kSet: ctx.set_kv_value(name, current->names[step.handles[1]]); break;
      case Step::Kind::kGet:
        observed.push_back(who + " get " + name + " -> " +
                           std::string(ctx.get_kv_value(name).value_or("")));
        break;
      case Step::Kind::kOpen: open(ctx, step, name); break;
      case Step::Kind::kCancel: ctx.cancel(handle); break;
      case Step::Kind::kAwait: {
        PAWL_AWAIT(result, handle);
        note(who + " await " + name, result);
        break;
      }
      case Step::Kind::kJoin: {
        const std::vector<Handle> list = all_of(step);
        PAWL_AWAIT(result, ctx.join_all(list.data(), list.size()));
        note(who + " join", result);
        if (result.ok()) PAWL_CALL(each(list, who));
        break;
      }
      case Step::Kind::kSelect: {
        const std::vector<Handle> list = all_of(step);
        PAWL_AWAIT(result, ctx.select_of(list.data(), list.size()));
        note(who + " sel " + std::to_string(result.index()), result);
        break;
      }
      case Step::Kind::kSelectJoin: {
        const std::vector<Handle> list = all_of(step);
        PAWL_AWAIT(result, ctx.select(handle, ctx.join_all(list.data() + 1, list.size() - 1)));
        note(who + " selj " + std::to_string(result.index()), result);
        if (result.ok() && result.index() == 1)
          PAWL_CALL(each({list.begin() + 1, list.end()}, who));
        break;
      }
    }
    return Poll::done();
  }

  // What a join has received, one by one.
  static Poll each(const std::vector<Handle>& list, const std::string& who) {
    for (const Handle& handle : list) {
      PAWL_AWAIT(result, handle);
      note(who + " each", result);
    }
    return Poll::done();
  }

  void open(OrchestrationContext& ctx, const Step& step, const std::string& name) {
    // The handle is the opener's alone: set only when the body has run.
    const Handle opened = ctx.open_branch([this, &step, &name](OrchestrationContext& own) {
      PAWL_CALL(steps(own, step.body, name));
      return own.complete("of " + name);
    });
    handles_[step.handles[0]] = opened;
  }

  std::vector<Handle> all_of(const Step& step) const {
    std::vector<Handle> list;
    for (const std::size_t handle : step.handles)
      list.push_back(handles_[handle]);
    return list;
  }

  static void note(const std::string& what, const Outcome& result) {
    const std::string value = result.ok() ? std::string(result.value())
                                          : std::string(error_kind_name(result.error().kind));
    observed.push_back(what + " -> " + value);
  }

  std::vector<Handle> handles_;
};

}  // namespace

Program parse(const std::string& text) { return Parser(text).parse(); }

void set_program(const Program* program) { current = program; }

Poll run_program(OrchestrationContext& ctx) {
  observed.clear();
  Run run;
  PAWL_CALL(run.steps(ctx, current->steps, "root"));
  return ctx.complete("end");
}

const std::vector<std::string>& observations() { return observed; }

std::vector<std::string> root_observations() {
  std::vector<std::string> list;
  for (const std::string& line : observed)
    if (line.compare(0, 5, "root ") == 0) list.push_back(line);
  return list;
}

}  // namespace pawl::test

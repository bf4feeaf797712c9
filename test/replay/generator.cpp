#include "generator.hpp"

#include <algorithm>
#include <utility>

namespace pawl::test {
namespace {

using Kind = Step::Kind;
using Handles = std::vector<std::size_t>;

// ---- programs ----

class Generator {
 public:
  Generator(Random& random, Style style) : random_(random), style_(style) {}

  Program program() {
    Scope root;
    program_.steps = steps(root, 6 + random_.below(13));
    if (random_.chance(3)) program_.steps.push_back(again());
    if (random_.chance(2))
      program_.steps.push_back(ending(random_.chance(6) ? "fail" : "complete"));
    return std::move(program_);
  }

 private:
  struct Scope {
    unsigned depth = 0;  // depth of branches
    bool in_loop = false;
    Handles above;   // leaves of ancestors, which may be awaited here
    Handles leaves;  // leaves of this branch
    Handles own;     // leaves and branches of this branch
  };

  [[nodiscard]] bool is_all() const { return style_ == Style::kAll; }

  std::vector<Step> steps(Scope& scope, unsigned count) {
    std::vector<Step> list;
    for (; count > 0 && budget_ > 0; --count, --budget_) {
      list.push_back(step(scope));
      const bool has_handle = list.back().kind <= Kind::kChild || list.back().kind == Kind::kOpen;
      if (!has_handle || !random_.chance(4)) continue;
      Step await;
      await.kind = Kind::kAwait;
      await.handles = {list.back().handles[0]};
      list.push_back(await);
    }
    return list;
  }

  Step step(Scope& scope) {
    const unsigned choice = random_.below(20);
    if (choice < 6 || (scope.own.empty() && scope.above.empty()))
      return choice >= (scope.depth == 0 ? 4U : 5U) && scope.depth < 3 ? open(scope) : leaf(scope);
    if (choice < 15) return use(scope);
    if (choice < 18) return random_.chance(3) ? shield(scope) : side(scope);
    if (choice < 19 || scope.in_loop || !is_all()) return condition(scope);
    return loop(scope);
  }

  std::size_t new_handle() {
    program_.names.push_back("h" + std::to_string(program_.names.size()));
    return program_.names.size() - 1;
  }
  const char* one_of(const char* a, const char* b) { return random_.chance(2) ? a : b; }
  std::string input() { return random_.chance(4) ? "$" : std::to_string(random_.below(100)); }

  Step leaf(Scope& scope) {
    static constexpr Kind kKinds[] = {Kind::kActivity, Kind::kActivity,  Kind::kTimer,
                                      Kind::kChild,    Kind::kDequeue,   Kind::kDequeue,
                                      Kind::kWait,     Kind::kTryDequeue};
    Step step;
    step.kind = kKinds[random_.below(is_all() ? 8 : 4)];
    step.handles = {new_handle()};
    if (step.kind == Kind::kActivity || step.kind == Kind::kChild) step.input = input();
    if (step.kind == Kind::kActivity) {
      if (random_.chance(3)) step.number = 1 + static_cast<int>(random_.below(3));
      if (random_.chance(4)) step.on = one_of("bed-1", "bed-2");
      if (random_.chance(5)) step.version = "camera";
    }
    if (step.kind == Kind::kTimer) {
      // In the grouped style the number identifies the timer.
      step.number =
          is_all() ? static_cast<int>(random_.below(50)) : static_cast<int>(step.handles[0]);
      if (random_.chance(5)) step.on = "utc";
    }
    if (step.kind == Kind::kChild) {
      if (random_.chance(3)) step.on = "child-" + std::to_string(step.handles[0]);
      if (random_.chance(3)) step.version = one_of("1.0.0", "2.0.0");
    }
    if (step.kind == Kind::kDequeue || step.kind == Kind::kTryDequeue)
      step.name = random_.chance(4) ? "q2" : "q";
    if (step.kind == Kind::kWait) step.name = random_.chance(4) ? "e2" : "e";
    scope.leaves.push_back(step.handles[0]);
    scope.own.push_back(step.handles[0]);
    return step;
  }

  Step open(Scope& scope) {
    Step step;
    step.kind = Kind::kOpen;
    step.handles = {new_handle()};
    Scope inner;
    inner.depth = scope.depth + 1;
    inner.in_loop = scope.in_loop;
    if (is_all()) {
      inner.above = scope.above;
      inner.above.insert(inner.above.end(), scope.leaves.begin(), scope.leaves.end());
    }
    step.body = steps(inner, 2 + random_.below(5));
    if (random_.chance(6)) step.body.push_back(ending("fail"));
    scope.own.push_back(step.handles[0]);
    return step;
  }

  Step use(Scope& scope) {
    static constexpr Kind kUses[] = {Kind::kAwait,      Kind::kAwait,  Kind::kJoin,
                                     Kind::kSelect,     Kind::kSelect, Kind::kSelect,
                                     Kind::kSelectJoin, Kind::kCancel};
    Handles usable = scope.own;
    usable.insert(usable.end(), scope.above.begin(), scope.above.end());
    Step step;
    step.kind = kUses[random_.below(8)];
    unsigned count = 1 + random_.below(3);
    if (step.kind == Kind::kAwait || step.kind == Kind::kCancel) count = 1;
    if (step.kind == Kind::kSelectJoin) ++count;
    for (; count > 0; --count)
      step.handles.push_back(usable[random_.below(usable.size())]);
    return step;
  }

  // A step without a handle.
  Step side(Scope& /*scope*/) {
    static constexpr Kind kKinds[] = {Kind::kStatus, Kind::kDetach, Kind::kTrace, Kind::kGuid,
                                      Kind::kSet,    Kind::kSet,    Kind::kGet,   Kind::kGet,
                                      Kind::kUtc,    Kind::kNow};
    Step step;
    step.kind = kKinds[random_.below(is_all() ? 10 : 3)];
    if (step.kind == Kind::kStatus && !random_.chance(4)) step.input = input();
    if (step.kind == Kind::kSet || step.kind == Kind::kGet) step.name = one_of("k0", "k1");
    // Every write has its own value.
    if (step.kind == Kind::kSet) step.input = "v" + std::to_string(++values_);
    if (step.kind == Kind::kDetach) {
      step.name = "logger";
      step.on = "log-" + std::to_string(++values_);
      step.input = input();
      if (random_.chance(3)) step.version = "1.0.0";
    }
    return step;
  }

  Step condition(Scope& scope) {
    static const char* const kNames[] = {"ok",    "odd",       "odd",       "first",
                                         "first", "cancelled", "cancelled", "asked"};
    Step step;
    step.kind = Kind::kIf;
    step.name = kNames[random_.below(8)];
    step.body = steps(scope, 1 + random_.below(3));
    if (random_.chance(2)) step.other = steps(scope, 1 + random_.below(2));
    // The root may also end here.
    if (scope.depth == 0 && random_.chance(8)) step.body.push_back(ending("complete"));
    return step;
  }

  Step loop(Scope& scope) {
    Step step;
    step.kind = Kind::kLoop;
    step.number = 2 + static_cast<int>(random_.below(2));
    scope.in_loop = true;
    step.body = steps(scope, 2 + random_.below(3));
    scope.in_loop = false;
    return step;
  }

  Step shield(Scope& scope) {
    Step step;
    step.kind = Kind::kShield;
    step.body = steps(scope, 1 + random_.below(4));
    return step;
  }

  Step ending(const char* how) {
    Step step;
    step.kind = Kind::kEnd;
    step.name = how;
    return step;
  }

  Step again() {
    Step step;
    step.kind = Kind::kIf;
    step.name = "exec";
    step.number = 1 + static_cast<int>(random_.below(3));
    step.body.push_back(ending("can"));
    if (random_.chance(3)) step.body.back().version = "2.0.0";
    return step;
  }

  Random& random_;
  Style style_;
  Program program_;
  unsigned budget_ = 55;  // steps left
  unsigned values_ = 0;
};

// ---- changes ----

struct Place {
  std::vector<Step>* list;
  std::size_t at;
  [[nodiscard]] Step& step() const { return (*list)[at]; }
};

void collect(std::vector<Step>& list, std::vector<Place>* places) {
  for (std::size_t at = 0; at < list.size(); ++at) {
    places->push_back({&list, at});
    collect(list[at].body, places);
    collect(list[at].other, places);
  }
}

bool is_command_step(const Step& step) {
  switch (step.kind) {
    case Kind::kNow:
    case Kind::kGet:
    case Kind::kTrace:
    case Kind::kAwait:
    case Kind::kJoin:
    case Kind::kSelect:
    case Kind::kSelectJoin:
    case Kind::kCancel:
    case Kind::kIf:
    case Kind::kLoop:
    case Kind::kShield:
    case Kind::kEnd: return false;
    default: return true;
  }
}

bool is_leaf(const Step& step) { return step.kind <= Kind::kChild; }

// True if this step can be changed in this way.
bool fits(const Place& place, Change change) {
  const Step& step = place.step();
  const bool has_next = place.at + 1 < place.list->size();
  switch (change) {
    case Change::kName: return is_leaf(step) && step.kind != Kind::kTimer;
    case Change::kInput:
      return step.kind == Kind::kActivity || step.kind == Kind::kChild ||
             step.kind == Kind::kDetach || step.kind == Kind::kSet;
    case Change::kOrder:
      return has_next && is_command_step(step) && is_command_step((*place.list)[place.at + 1]);
    case Change::kAdded:
    case Change::kFinishedEarly:
    case Change::kShieldAdded: return true;
    case Change::kShieldMissing: return step.kind == Kind::kShield;
    case Change::kRemoved: return is_command_step(step);
    case Change::kWinner: return step.kind == Kind::kIf || step.kind == Kind::kSelect;
    case Change::kTimer: return step.kind == Kind::kTimer;
    case Change::kChildVersion: return step.kind == Kind::kChild || step.kind == Kind::kDetach;
    case Change::kChildId: return step.kind == Kind::kChild || step.kind == Kind::kDetach;
    case Change::kStatusMissing: return step.kind == Kind::kStatus;
    case Change::kStateMissing: return step.kind == Kind::kSet;
    case Change::kEventMissing:
      return step.kind == Kind::kWait || step.kind == Kind::kDequeue ||
             step.kind == Kind::kTryDequeue;
    case Change::kRetryPolicy:
    case Change::kSession:
    case Change::kTag: return step.kind == Kind::kActivity;
    case Change::kBranchMissing: return step.kind == Kind::kOpen;
    case Change::kAwaitMissing: return step.kind >= Kind::kAwait && step.kind <= Kind::kSelectJoin;
    default: return false;
  }
}

Step extra_activity(Program* program) {
  Step step;
  step.kind = Kind::kActivity;
  step.handles = {program->names.size()};
  program->names.emplace_back("extra");
  step.name = "extra";
  return step;
}

void apply(Program* program, Change change, const Place& place) {
  Step& step = place.step();
  const auto here = place.list->begin() + static_cast<std::ptrdiff_t>(place.at);
  switch (change) {
    case Change::kName: step.name += step.name.empty() ? "renamed" : "2"; break;
    case Change::kInput: step.input += "0"; break;
    case Change::kOrder: std::swap(*here, *(here + 1)); break;
    case Change::kAdded: place.list->insert(here, extra_activity(program)); break;
    case Change::kWinner:
      if (step.kind == Kind::kIf) {
        std::swap(step.body, step.other);
      } else {
        std::reverse(step.handles.begin(), step.handles.end());
      }
      break;
    case Change::kFinishedEarly: {
      Step end;
      end.kind = Kind::kEnd;
      end.name = "complete";
      place.list->insert(here, end);
      break;
    }
    case Change::kShieldAdded: {
      // The scope takes in all steps that follow.
      Step shield;
      shield.kind = Kind::kShield;
      shield.body.assign(here, place.list->end());
      place.list->erase(here, place.list->end());
      place.list->push_back(std::move(shield));
      break;
    }
    case Change::kShieldMissing: {
      const std::vector<Step> body = std::move(step.body);
      place.list->insert(place.list->erase(here), body.begin(), body.end());
      break;
    }
    case Change::kTimer: step.number += 1; break;
    case Change::kChildVersion: step.version = step.version == "3.0.0" ? "" : "3.0.0"; break;
    case Change::kChildId: step.on = step.on == "another" ? "other" : "another"; break;
    case Change::kRetryPolicy: step.number = (step.number + 1) % 4; break;
    case Change::kTag: step.version = step.version.empty() ? "gpu" : ""; break;
    case Change::kSession: step.on = step.on.empty() ? "bed-9" : ""; break;
    default: place.list->erase(here); break;
  }
}

}  // namespace

Program random_program(Random& random, Style style) { return Generator(random, style).program(); }

const char* change_name(Change change) {
  static const char* const kNames[] = {"none",
                                       "name",
                                       "input",
                                       "order",
                                       "added",
                                       "removed",
                                       "winner",
                                       "finished early",
                                       "timer",
                                       "child version",
                                       "child id",
                                       "status missing",
                                       "state missing",
                                       "event missing",
                                       "retry policy",
                                       "session",
                                       "tag",
                                       "branch missing",
                                       "await missing",
                                       "shield added",
                                       "shield missing",
                                       "tail"};
  return kNames[static_cast<std::size_t>(change)];
}

bool change_program(Program* program, Change change, Random& random) {
  if (change == Change::kNone) return true;
  if (change == Change::kTail) {
    // Inserted before an end that the code has not reached.
    const auto at = program->steps.end() -
                    ((!program->steps.empty() && program->steps.back().kind == Kind::kEnd) ? 1 : 0);
    program->steps.insert(at, extra_activity(program));
    return true;
  }
  std::vector<Place> places;
  collect(program->steps, &places);
  const auto unfit = [change](const Place& place) { return !fits(place, change); };
  places.erase(std::remove_if(places.begin(), places.end(), unfit), places.end());
  if (places.empty()) return false;
  apply(program, change, places[random.below(places.size())]);
  return true;
}

}  // namespace pawl::test

#!/usr/bin/env python3
"""Misuse of the public interface that must not compile, with a message that says what is wrong.

usage: misuse.py PROJECT COMPILER...    a compiler that is not installed is skipped, unless it is the first
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# What every case stands behind; with CONTROL, each of its things used as it is meant.
COMMON = """
#include <string>
#include "pawl/json.hpp"
#include "pawl/pawl.hpp"
using namespace pawl;
struct Valve { int number; bool is_open; };
PAWL_JSON(Valve, number, is_open)
[[maybe_unused]] static ActivityResult activity(ActivityContext& ctx) { return ctx.ok(""); }
struct Bus { explicit Bus(int fd_) : fd(fd_) {} int fd; };
using Buses = SessionCache<Bus, 4>;
struct Flow { double rate; };
PAWL_JSON(Flow, rate)
[[maybe_unused]] constexpr ActivityType<Valve, Flow> kMove{"move"};
[[maybe_unused]] constexpr OrchestrationType<Valve, Flow> kWater{"water"};
[[maybe_unused]] constexpr EventType<Valve> kOpened{"opened"};
[[maybe_unused]] constexpr QueueType<Valve> kOrders{"orders"};
[[maybe_unused]] static Reply<Flow> move_valve(ActivityContext& ctx, const Valve& valve) {
  if (valve.number < 0) return ctx.fail("no such valve");
  return Flow{1.5};
}
[[maybe_unused]] static PollOf<Valve, Flow> water(OrchestrationContext& ctx, const Valve& valve) {
  PAWL_AWAIT(flow, ctx.schedule_activity(kMove, valve));
  if (!flow.ok()) return ctx.continue_as_new(valve);
  return ctx.complete(flow.value());
}
[[maybe_unused]] static Poll helper(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));
  return Poll::done();
}
"""
CONTROL = """
Poll flow(OrchestrationContext& ctx) {
  const Handle a = ctx.schedule_activity("a", "");
  PAWL_AWAIT(first, ctx.select(a, ctx.schedule_timer(std::chrono::seconds(1))));
  PAWL_CALL(helper(ctx));
  if (first.ok()) {
    PAWL_AWAIT(second, ctx.open_branch([](OrchestrationContext& own) { return own.complete(""); }));
    if (second.ok()) return ctx.complete(second.value());
  }
  PAWL_AWAIT_DONE(ctx.join(a, a));
  return ctx.fail("");
}
PollOf<std::string_view, std::string_view> says(OrchestrationContext& ctx, const std::string_view& text) {
  const auto ends = [](OrchestrationContext& own) {
    if (own.is_replaying()) return own.fail("");
    return own.complete("");
  };
  PAWL_AWAIT_DONE(ctx.open_branch(ends));
  if (text.empty()) return ctx.fail("");
  return text == "a" ? ctx.complete(text) : ctx.continue_as_new(text);
}
Reply<std::string_view> echoes(ActivityContext& ctx, const std::string_view& text) {
  return text.empty() ? ctx.fail("") : ctx.ok(text);
}
Status all(Registry& registry, char* out, std::size_t* size) {
  PAWL_TRY(registry.add_orchestration("flow", flow));
  PAWL_TRY(registry.add_activity("a", activity));
  PAWL_TRY(registry.add_activity(kMove, move_valve));
  PAWL_TRY(registry.add_orchestration(kWater, water));
  return to_json(Valve(), out, 100, size);
}
struct Plan { JsonText<8> mode = "drip"; JsonText<1> none = ""; };
constexpr Plan kPlan;
static_assert(kPlan.mode.view() == "drip" && kPlan.none.view().empty());
constexpr std::string_view kOpen = PAWL_JSON_LITERAL(R"({"number": 7, "is_open": true})");
static_assert(PAWL_JSON_LITERAL("[1,"
                                "2]").size() == 5);
[[maybe_unused]] static Status opens(Client& client) {
  Plan plan;
  plan.mode = "flood";
  PAWL_TRY(client.raise_event("i", "mode", plan.mode.view()));
  return client.raise_event("i", "opened", kOpen);
}
ActivityResult keeps(ActivityContext& ctx) {
  Buses& buses = *static_cast<Buses*>(ctx.user());
  Buses::Lease bus = buses.acquire(ctx, 3);
  const Buses::Lease moved = std::move(bus);
  return moved && moved->fd == 3 && (*moved).fd == 3 ? ctx.ok("") : ctx.fail("");
}
"""


def flow(text):
    return f"Poll flow(OrchestrationContext& ctx) {{ {text} }}"


def json(text):
    return f'constexpr auto text = PAWL_JSON_LITERAL(R"~({text})~");'


# name: (code, what the message says: a pattern for every compiler)
CASES = {
    "await as an expression":
        (flow('const auto x = PAWL_AWAIT(a, ctx.schedule_activity("a", "")); return ctx.complete("");'),
         r"expected (primary-)?expression"),
    "await in a function that returns an int":
        ('int f(OrchestrationContext& ctx) { PAWL_AWAIT(a, ctx.schedule_activity("a", "")); return a.ok(); }',
         r"cannot convert '\S*Poll' to 'int'|no viable conversion from returned value of type '\S*Poll' to"),
    "await in a function that returns nothing":
        ('void f(OrchestrationContext& ctx) { PAWL_AWAIT_DONE(ctx.schedule_activity("a", "")); }',
         r"return-statement with a value, in function returning 'void'|void function 'f' should not return a value"),
    "one name for two awaits":
        (flow('PAWL_AWAIT(a, ctx.schedule_activity("a", "")); PAWL_AWAIT(a, ctx.schedule_activity("b", ""));'
              'return ctx.complete(a.value());'),
         r"redeclaration of '(const \S*Outcome|const auto|auto) a'|conflicting declaration 'const auto a'|redefinition of 'a'"),
    "await under an if, without a block of its own":
        (flow('if (ctx.is_replaying()) PAWL_AWAIT(a, ctx.schedule_activity("a", "")); return ctx.complete("");'),
         r"'a' was not declared|use of undeclared identifier 'a'"),
    "await of what is no handle":
        (flow('PAWL_AWAIT(a, helper(ctx)); return ctx.complete(a.value());'),
         r"'class pawl::Poll' has no member named 'await'|no member named 'await' in 'pawl::Poll'"),
    "call of what returns no Poll":
        (flow('PAWL_CALL(ctx.execution_id()); return ctx.complete("");'),
         r"PAWL_CALL takes the call of a function that returns Poll"),
    "call of an outcome":
        (flow('PAWL_CALL(ctx.schedule_activity("a", "").await()); return ctx.complete("");'),
         r"PAWL_CALL takes the call of a function that returns Poll"),
    "call of a function that returns nothing":
        ('void nothing(); ' + flow('PAWL_CALL(nothing()); return ctx.complete("");'),
         r"void"),
    "join of what is no handle":
        (flow('PAWL_AWAIT_DONE(ctx.join(1)); return ctx.complete("");'),
         r"'const int' to (non-scalar type )?'(const )?(pawl::)?Handle'"),
    "branch without a result":
        (flow('PAWL_AWAIT_DONE(ctx.open_branch([](OrchestrationContext&) {})); return ctx.complete("");'),
         r"a branch is a callable Poll\(OrchestrationContext&\)"),
    "branch without a context":
        (flow('PAWL_AWAIT_DONE(ctx.open_branch([&ctx] { return ctx.complete(""); })); return ctx.complete("");'),
         r"a branch is a callable Poll\(OrchestrationContext&\)"),
    "JSON of a field that is not there":
        ("struct Pump { int number; }; PAWL_JSON(Pump, numbre)",
         r"no member named 'numbre'"),
    "JSON of a type that has none, written":
        ("struct Pump { long double rate; }; PAWL_JSON(Pump, rate)"
         "Status f(char* out, std::size_t* size) { return to_json(Pump(), out, 100, size); }",
         r"no JSON for this type: a field is bool, an integer, double"),
    "JSON of a type that has none, read":
        ("struct Pump { const char* name; }; PAWL_JSON(Pump, name)"
         "Status f(Pump* out) { return from_json(\"\", out); }",
         r"no JSON for this type: a field is bool, an integer, double"),
    "an activity registered as an orchestration":
        ('Status f(Registry& registry) { return registry.add_orchestration("a", activity); }',
         r"ActivityResult ?\(.*Orchestration"),
    "an orchestration registered as an activity":
        ('Status f(Registry& registry) { return registry.add_activity("a", helper); }',
         r"Poll ?\(.*Activity"),
    "a callable with captures registered":
        ('Status f(Registry& registry, int n) { return registry.add_orchestration("a", [n](OrchestrationContext& ctx) '
         '{ return n == 0 ? ctx.complete("") : ctx.fail(""); }); }',
         r"lambda.*Orchestration"),
    "an ending that is not returned":
        (flow('ctx.complete(""); return ctx.fail("");'),
         r"ignoring return(ed)? value of .*(type '(const )?\S*Poll'|'nodiscard' attribute)"),
    "an outcome that is dropped":
        (flow('ctx.schedule_activity("a", "").await(); return ctx.complete("");'),
         r"ignoring return(ed)? value of .*(type '\S*Outcome'|'nodiscard' attribute)"),
    "the result of an activity that is not returned":
        ('ActivityResult f(ActivityContext& ctx) { ctx.fail("no"); return ctx.ok(""); }',
         r"ignoring return(ed)? value of .*(type '\S*ActivityResult'|'nodiscard' attribute)"),
    "a status that is dropped":
        ('void f(Registry& registry) { registry.add_activity("a", activity); }',
         r"ignoring return(ed)? value of .*(type '\S*Status'|'nodiscard' attribute)"),
    "an error kind that is dropped":
        (flow('ctx.set_custom_status("open"); return ctx.complete("");'),
         r"ignoring return(ed)? value of .*(type '\S*ErrorKind'|'nodiscard' attribute)"),
    "the id and the name of a start, swapped":
        ('Status f(Client& client, const InstanceId& id) { return client.start_orchestration(id, "irrigate", ""); }',
         r"const char ?\[9\].*InstanceId|InstanceId.*const char ?\[9\]"),
    "an id that is only a text":
        ('Status f(Runtime& runtime) { return runtime.start_orchestration("irrigate", "bed-7", ""); }',
         r"InstanceId"),
    "a child's id that is only a text":
        ('ChildOptions f() { ChildOptions options; options.id = "bed-7"; return options; }',
         r"InstanceId"),
    "the bytes of an id that is gone":
        ('std::string_view f() { return InstanceId("bed-7"); }',
         r"deleted"),
    "the bytes of a path that is gone":
        ('const char* f(const std::string& folder) { return Path(folder + "/x.db").c_str(); }',
         r"deleted"),
    "a path that is no text":
        ('void f(Options& options) { options.database_path = nullptr; }',
         r"deleted|no viable overloaded '='|ambiguous"),
    "a node's name that is no text":
        ('void f(Options& options) { options.worker_node_id = nullptr; }',
         r"no match for .operator=|no viable overloaded '='|deleted"),
    "a handle that is dropped":
        (flow('ctx.schedule_activity("a", ""); return ctx.complete("");'),
         r"ignoring return(ed)? value of .*(type '\S*Handle'|'nodiscard' attribute)"),
    "a selection that is dropped":
        (flow('ctx.select(ctx.schedule_activity("a", "")); return ctx.complete("");'),
         r"ignoring return(ed)? value of .*(type '\S*Selection'|'nodiscard' attribute)"),
    "a session that is dropped":
        (flow('ctx.open_session(); return ctx.complete("");'),
         r"ignoring return(ed)? value of .*(type '\S*Session'|'nodiscard' attribute)"),
    "a start that is dropped":
        (flow('ctx.start_orchestration("n", InstanceId("i"), ""); return ctx.complete("");'),
         r"ignoring return(ed)? value of .*(type '\S*ErrorKind'|'nodiscard' attribute)"),
    "an event that may not have been sent":
        ('void f(Client& client) { client.raise_event("i", "go", ""); }',
         r"ignoring return(ed)? value of .*(type '\S*Status'|'nodiscard' attribute)"),
    "an activity registered by a name that is made in the call":
        ('Status f(Registry& registry, std::string s) { return registry.add_activity("a" + s, activity); }',
         r"deleted"),
    "an input of a rebuilding that is made in place":
        ('SessionRecovery f(std::string s) { SessionRecovery how; how.rebuild_input = "a" + s; return how; }',
         r"deleted"),
    "an input of another type":
        (flow('PAWL_AWAIT(a, ctx.schedule_activity(kMove, Flow())); return ctx.complete("");'),
         r"Flow.*Valve|no matching"),
    "a text in the place of a typed input":
        (flow('PAWL_AWAIT(a, ctx.schedule_activity(kMove, "7")); return ctx.complete("");'),
         r"Valve|no matching"),
    "a result of another type":
        (flow('PAWL_AWAIT(a, ctx.schedule_activity(kMove, {7, true})); const Valve& v = a.value(); '
              'return ctx.complete(v);'),
         r"Flow.*Valve|Valve.*Flow"),
    "a typed activity with a function of another type":
        ('Status f(Registry& registry) { return registry.add_activity(kMove, activity); }',
         r"no matching|cannot convert|invalid conversion"),
    "a typed orchestration with a function of another type":
        ('Status f(Registry& registry) { return registry.add_orchestration(kWater, helper); }',
         r"no matching|cannot convert|invalid conversion"),
    "an orchestration that completes with another type":
        ('PollOf<Valve, Flow> f(OrchestrationContext& ctx, const Valve& valve) { return ctx.complete(valve); }',
         r"deleted"),
    "an orchestration that completes with a text in the place of a value":
        ('PollOf<Valve, Flow> f(OrchestrationContext& ctx, const Valve&) { return ctx.complete("done"); }',
         r"deleted"),
    "an orchestration that returns a text in the place of a value":
        ('PollOf<Valve, Flow> f(OrchestrationContext&, const Valve&) { return "done"; }',
         r"PollOf"),
    "an orchestration that goes on with a text in the place of a value":
        ('PollOf<Valve, Flow> f(OrchestrationContext& ctx, const Valve&) { return ctx.continue_as_new("{}"); }',
         r"deleted"),
    "an orchestration that completes with a text, and has nothing to say":
        ('PollOf<Valve, Nothing> f(OrchestrationContext& ctx, const Valve&) { return ctx.complete(""); }',
         r"deleted"),
    "a typed activity that answers with a text":
        ('Reply<Flow> f(ActivityContext& ctx, const Valve&) { return ctx.ok("1.5"); }',
         r"deleted"),
    "an orchestration that goes on with another type":
        ('PollOf<Valve, Flow> f(OrchestrationContext& ctx, const Valve&) { return ctx.continue_as_new(Flow()); }',
         r"deleted"),
    "an event of another type":
        ('Status f(Client& client) { return client.raise_event("i", kOpened, Flow()); }',
         r"Flow.*Valve|no matching"),
    "an event in the place of a queue":
        ('Status f(Client& client) { return client.enqueue_event("i", kOpened, Valve()); }',
         r"no matching|EventType"),
    "a start with an input of another type":
        ('Status f(Client& client) { return client.start_orchestration(kWater, InstanceId("i"), Flow()); }',
         r"Flow.*Valve|no matching"),
    "a barrier of no session":
        (flow('PAWL_AWAIT_DONE(ctx.schedule_activity("a", "", Target().barrier())); return ctx.complete("");'),
         r"has no member named 'barrier'|no member named 'barrier' in"),
    "a session of one's own as a device":
        (flow('PAWL_AWAIT_DONE(ctx.schedule_activity("a", "", Target::device(ctx.open_session()))); '
              'return ctx.complete("");'),
         r"'(pawl::)?Session' to '(const )?std::string_view|no viable conversion from '(pawl::)?Session'"),
    "a session of one's own that is exclusive by the call":
        (flow('PAWL_AWAIT_DONE(ctx.schedule_activity("a", "", Target::exclusive_session(ctx.open_session()))); '
              'return ctx.complete("");'),
         r"'(pawl::)?Session' to '(const )?std::string_view|no viable conversion from '(pawl::)?Session'"),
    "a session that is unavailable":
        (flow('PAWL_AWAIT_DONE(ctx.schedule_activity("a", "", Target::session("s", 1000))); return ctx.complete("");'),
         r"no matching function for call to '(pawl::Target::)?session|too many arguments to function call"),
    "a listener that may throw":
        ("struct Hears final : SessionListener { void on_session_claimed(std::string_view, std::int64_t) override {} "
         "void on_session_lost(std::string_view, std::int64_t) noexcept override {} };",
         r"looser exception specification|exception specification of overriding function is more lax"),
    "an answer that may throw":
        ('void told(void*, Status); Status f(Runtime& runtime) { return runtime.resume_instance("i", told); }',
         r"'(pawl::)?Answer'"),
    "a lease that is dropped":
        ("void f(ActivityContext& ctx, Buses& buses) { buses.acquire(ctx, 3); }",
         r"ignoring return(ed)? value of .*(type '.*Lease'|'nodiscard' attribute)"),
    "a state that outlives its lease":
        ("Bus& f(ActivityContext& ctx, Buses& buses) { return *buses.find(ctx); }",
         r"deleted"),
    "a member of a state without a lease":
        ("int f(ActivityContext& ctx, Buses& buses) { return buses.find(ctx)->fd; }",
         r"deleted"),
    "two leases out of one":
        ("void f(Buses::Lease& one) { Buses::Lease two = one; }",
         r"deleted"),
    "a cache that is copied":
        ("void f(Buses& one) { Buses two = one; }",
         r"deleted"),
    "a cache without room":
        ("int f(SessionCache<Bus, 0>& cache) { return static_cast<int>(cache.size()); }",
         r"a SessionCache has room for at least one state"),
    "a cache of references":
        ("int f(SessionCache<Bus&, 1>& cache) { return static_cast<int>(cache.size()); }",
         r"a SessionCache keeps objects"),
    "a state made from what it cannot be made from":
        ("bool f(ActivityContext& ctx, Buses& buses) { return static_cast<bool>(buses.acquire(ctx)); }",
         r"T is not constructible from these arguments"),
    "a JSON literal with a comma too many":
        (json('{"bed": 7,}'), r"a JSON literal has a byte that may not stand here"),
    "a JSON literal that ends early":
        (json('{"bed": [7, 8'), r"a JSON literal ends before its value does"),
    "a JSON literal with something behind its value":
        (json('{} 7'), r"a JSON literal has a byte that may not stand here"),
    "a JSON literal of no value":
        (json(''), r"a JSON literal ends before its value does"),
    "a JSON literal with a name that is no text":
        (json('{bed: 7}'), r"a JSON literal has a byte that may not stand here"),
    "a JSON literal with a number of another form":
        (json('[1, 007]'), r"a JSON literal has a number of another form than JSON's"),
    "a JSON literal with an escape of C":
        (json('"\\x41"'), r"a JSON literal has an escape that JSON does not know"),
    "a JSON literal with half of a surrogate pair":
        (json('"\\ud83d!"'), r"a JSON literal has one half of a surrogate pair"),
    "a JSON literal with an escaped zero character":
        (json('"\\u0000"'), r"a JSON literal has a zero character"),
    "a JSON literal with a zero character":
        ('constexpr auto text = PAWL_JSON_LITERAL("\\"a\\0b\\"");', r"a JSON literal has a zero character"),
    "a JSON literal with a line end in a text":
        ('constexpr auto text = PAWL_JSON_LITERAL("\\"a\\n\\"");', r"a JSON literal has a control character in a text"),
    "a JSON literal that is no UTF-8":
        ('constexpr auto text = PAWL_JSON_LITERAL("\\"\\xc0\\xaf\\"");', r"a JSON literal is no UTF-8"),
    "a JSON literal of too many levels":
        (json("[" * 17 + "]" * 17), r"a JSON literal has at most 16 levels"),
    "a JSON literal that is too long":
        (json(" " * 16384 + "7"), r"a JSON literal has at most 16 KiB"),
    "a JSON literal that is wrong, in a call":
        ('Status f(Client& client) { return client.raise_event("i", "go", PAWL_JSON_LITERAL("{")); }',
         r"a JSON literal ends before its value does"),
    "a JSON literal that is no literal":
        ('std::string_view f(const char* text) { return PAWL_JSON_LITERAL(text); }',
         r"no matching function for call to '(pawl::internal::)?check_json"),
    "a literal that is longer than its JsonText":
        ('JsonText<4> f() { return "flood"; }', r"the literal is longer than this JsonText"),
    "a default that is longer than its JsonText":
        ('struct Plan { JsonText<4> mode = "flood"; }; Plan f() { return Plan(); }',
         r"the literal is longer than this JsonText"),
    "a buffer in the place of a literal":
        ('JsonText<8> f() { char buffer[8] = {}; JsonText<8> text = buffer; return text; }', r"deleted"),
    "the end of an orchestration without an ending":
        (flow('PAWL_AWAIT_DONE(ctx.schedule_activity("a", ""));'),
         r"no return statement in function|control reaches end of non-void function|non-void function does not return"),
}

# Not -fsyntax-only: a missing return is found only behind it.
# With exceptions, as applications are: without them clang does not compare what functions say of them.
FLAGS = ["-std=c++17", "-fexceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror"]
RESULT = ["-S", "-o", os.devnull]


def main(project, *compilers):
    with tempfile.TemporaryDirectory() as folder:
        return look(pathlib.Path(folder), project, compilers)


def look(folder, project, compilers):
    used = [compilers[0], *(compiler for compiler in compilers[1:] if shutil.which(compiler))]
    # Compiled once for all cases: headers take four fifths of the time of a case.
    flags = [*FLAGS, f"-I{pathlib.Path(project) / 'include'}"]
    compiled = {}
    for compiler in used:
        place = folder / pathlib.Path(compiler).name
        place.mkdir()
        (place / "common.hpp").write_text(COMMON)
        subprocess.run([compiler, *flags, "-x", "c++-header", place / "common.hpp", "-o", place / "common.hpp.gch"], check=True)
        compiled[compiler] = place / "common.hpp"

    def attempt(job):
        compiler, name = job
        code, pattern = CASES[name] if name else (CONTROL, "")
        command = [compiler, *flags, *RESULT, "-include", compiled[compiler], "-x", "c++", "-"]
        run = subprocess.run(command, input=code, capture_output=True, text=True,
                             env={**os.environ, "LC_ALL": "C"})
        if not name:
            return "" if run.returncode == 0 else f"{compiler}: the control does not compile:\n{run.stderr}"
        if run.returncode == 0:
            return f"{compiler}: {name}: compiles"
        errors = "\n".join(line for line in run.stderr.splitlines() if re.search(r"error|note", line))
        return "" if re.search(pattern, errors) else f"{compiler}: {name}: does not say {pattern}:\n{run.stderr}"

    jobs = [(compiler, name) for compiler in used for name in ["", *CASES]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [text for text in pool.map(attempt, jobs) if text]
    print("\n".join(problems))
    print(f"{len(CASES)} misuses and a control with {', '.join(used)}, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

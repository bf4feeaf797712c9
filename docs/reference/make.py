#!/usr/bin/env python3
"""Writes the reference: for each task the calls, with the words of the headers' comments.

usage: make.py           writes docs/reference/*.md
       make.py --check   fails if a page is not what the headers say, or if a public call has no task

TASKS has the tasks and the order. What a page says comes from include/pawl alone.
"""
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parent.parent / "include" / "pawl"
WIDTH = 118

# Page -> title; then (task, names). A name is Class::call or a free name; Class::* is what no other task has.
TASKS = {
    "orchestrations": ("Writing an orchestration", [
        ("Know who I am and how far I am", "OrchestrationContext::instance_id execution_id orchestration_name "
         "orchestration_version input user trace_id is_replaying is_suspended history_length is_continue_as_new_due"),
        ("Wait for a result", "PAWL_AWAIT PAWL_AWAIT_DONE PAWL_CALL Handle Selection Outcome Error Poll"),
        ("Run an activity", "OrchestrationContext::schedule_activity"),
        ("Wait for a time, or ask for it", "OrchestrationContext::schedule_timer schedule_timer_at now_ms utc_now_ms"),
        ("Run several at once", "OrchestrationContext::open_branch join join_all select select_of cancel"),
        ("Clean up when asked to stop", "OrchestrationContext::clean_up cancel_requested cancel_reason CleanUpScope"),
        ("Make an id", "OrchestrationContext::new_guid Guid"),
        ("End, or go round", "OrchestrationContext::complete fail continue_as_new"),
    ]),
    "messages": ("Messages, children and values of an orchestration", [
        ("Receive messages", "OrchestrationContext::schedule_wait dequeue_event try_dequeue_event"),
        ("Send messages", "MessageCalls::enqueue_event raise_event"),
        ("Answer calls", "MessageCalls::reply refuse call_address"),
        ("Start other orchestrations", "OrchestrationContext::schedule_sub_orchestration start_orchestration ChildOptions "
         "DetachedOptions"),
        ("Show what I do", "OrchestrationContext::set_custom_status reset_custom_status get_custom_status trace"),
        ("Keep values", "OrchestrationContext::set_kv_value get_kv_value has_kv_value get_kv_length next_kv_value "
         "clear_kv_value clear_all_kv_values prune_kv_values_updated_before get_kv_value_from_instance set_kv_value_typed "
         "get_kv_value_typed KvEntry"),
    ]),
    "sessions": ("Sessions", [
        ("Say where an activity runs", "Target SessionTarget"),
        ("Open, use and close a session", "OrchestrationContext::open_session use_session adopt_session session_opened "
         "change_session close_session hold_session handoff_session session_events Session SessionSettings SessionEvent"),
    ]),
    "session-state": ("State of a session: caches, hardware, recovery", [
        ("Keep state for a session in the worker", "SessionCache SessionCacheSettings SessionCacheEnd SessionListener"),
        ("Declare hardware", "Runtime::declare_session withdraw_session"),
        ("Rebuild what was lost", "SessionRecovery open_rebuilt_session run_on_session SessionLoss"),
    ]),
    "activities": ("Writing an activity", [
        ("Know who I am", "ActivityContext::input activity_name instance_id execution_id orchestration_name "
         "orchestration_version activity_id tag worker_id user trace_id attempt retry_attempt idempotency_key"),
        ("Know my session", "ActivityContext::session_id session_epoch claimed_now session_summary session_folder "
         "session_lease_left_ms abort_session"),
        ("Return", "ActivityContext::ok fail fail_permanently hand_back commit_now"),
        ("Be completed later", "ActivityContext::completion_token complete_later CompletionToken WhileOutside"),
        ("Be cancelled in time", "ActivityContext::is_cancelled cancel_reason time_left_ms CancelReason"),
        ("Say how far I am", "ActivityContext::heartbeat last_progress trace"),
        ("Run in steps", "ActivityContext::again_after when_readable is_readable"),
        ("Repeat and bound an activity", "ActivityOptions Retry Backoff"),
    ]),
    "programs": ("Running a program", [
        ("Run a whole program", "Host::* HostOptions"),
        ("Register code", "Registry::* ActivityMode"),
        ("Start, run and stop a loop", "Runtime::required_memory start run run_for tick fd next_due wake request_stop "
         "stop_requested stop ready error_text"),
    ]),
    "watching": ("Watching a program", [
        ("Count", "Runtime::stats orchestration_stats activity_stats"),
        ("Let other threads and Prometheus look", "RuntimeBoard count_for_prometheus write_prometheus"),
        ("Serve HTTP", "Endpoint EndpointOptions"),
        ("Speak to a service manager", "ServiceNotify::send is_asked watchdog_ms"),
        ("Take the log", "LogSink LogField LogLevel FdLogSink JournalLogSink SyslogLogSink LogForm"),
    ]),
    "opening": ("Opening a client", [
        ("Open one with memory of the heap", "HostClient HostClientOptions"),
        ("Open one in memory of your own", "Client::required_memory open close error_text"),
        ("Give SQLite its memory", "Process::*"),
    ]),
    "clients": ("Starting, sending, watching", [
        ("Start", "Client::start_orchestration StartOptions"),
        ("Send, and ask", "Client::raise_event offer_event enqueue_event call"),
        ("Watch one", "Client::get_status wait_for_orchestration wait_for_status_change watch_progress OrchestrationStatus "
         "OrchestrationState"),
        ("Read values", "Client::get_kv_value get_all_kv_values wait_for_kv_value get_kv_value_typed "
         "wait_for_kv_value_typed"),
    ]),
    "calls": ("Calls of a runtime's own thread", [
        ("Do so on the thread of a runtime", "Runtime::*"),
    ]),
    "managing": ("Managing instances", [
        ("Cancel, suspend, terminate, restart", "Client::cancel_instance cancel_instances terminate_instance "
         "suspend_instance resume_instance change_time_limit restart_instance RestartOptions RestartFrom"),
        ("List and look into", "Client::explain explain_session list_instances get_instance_info list_executions read_history "
         "list_activities list_work list_messages list_children get_instance_tree get_instance_stats get_metrics export_history InstanceFilter Page visit"),
        ("Complete an activity", "Client::complete_activity fail_activity heartbeat_activity"),
        ("Remove", "Client::delete_instance delete_instances prune_executions prune_instances set_quota"),
    ]),
    "operating": ("Operating sessions and workers", [
        ("Sessions and workers", "Client::list_workers list_sessions get_session close_session transfer_session drain_worker "
         "undrain_worker forget_device hold_session handoff_session change_session SessionFilter"),
    ]),
    "files": ("Database files", [
        ("Copy and check a database", "copy_database check_database check_rows renew_identity skip_numbers"),
        ("Convert an older database", "upgrade_database UpgradeVisitor"),
        ("Move a database", "move_database move_memory DatabasePlace MoveVisitor"),
        ("Write and read files at given paths", "check_output NewFile open_own open_trusted"),
    ]),
    "payloads": ("Payloads and errors", [
        ("Make structs of bytes", "PAWL_JSON PAWL_JSON_ENUM PAWL_JSON_DEFAULTS PAWL_JSON_LITERAL to_json from_json JsonText JsonArray JsonRest"),
        ("Define names with types", "ActivityType OrchestrationType EventType QueueType Nothing Reply StepReply"),
        ("Know what went wrong", "Status status_name Diagnostic ErrorKind error_kind_name PAWL_TRY"),
        ("Quote a text by hand", "write_json_text read_json_text"),
        ("Print what others wrote", "write_printable"),
    ]),
    "schedules": ("Schedules", [
        ("Make a schedule", "fill_schedule Schedule MissedRuns RunOverlap kSchedule run_schedule"),
        ("Command and watch one", "ScheduleCommand ScheduleAction kScheduleCommand ScheduleStatus scheduled_run"),
        ("Compute times", "Timetable"),
    ]),
    "tests": ("Testing", [
        ("Run in virtual time", "World::* WorldOptions"),
        ("Crash at each write", "for_each_crash PlannedCrash"),
        ("Fake activities", "FakeActivity"),
        ("Look at the log", "Lines"),
        ("Check new code against a database", "replay_check replay_check_main ReplayVisitor ReplayAnswer ReplayTotals"),
    ]),
}
# Classes whose every public call has a task.
WHOLE = ("OrchestrationContext", "ActivityContext", "Host", "Registry", "Process", "Runtime", "Client", "World")
# Names that one comment is for, because it says what each of them does. Any other name needs words of its own, or it
# would have those of the call that happens to stand above it.
SHARED = (
    "instance_id execution_id orchestration_name", "success failure pending", "State pending done is_pending", "text view",
    "schedule_timer schedule_timer_at", "join join_all", "select select_of", "complete fail",
    "get_kv_value has_kv_value get_kv_length", "rate_interval rate_burst rate_wait",
    "on_session_claimed on_session_lost on_session_ending",
    "input activity_name instance_id execution_id orchestration_name orchestration_version", "ok fail fail_permanently",
    "add_orchestration add_activity add_cooperative", "enqueue_event raise_event", "reply refuse", "explain explain_session", "options registry runtime process", "status error_text",
    "kOrchestrationsMax kActivitiesMax", "OrchestrationEntry ActivityEntry", "find_orchestration find_activity",
    "orchestration_count orchestration activity_count activity", "wake request_stop stop_requested",
    "orchestration_stats activity_stats", "metrics_file metrics_interval", "write takes",
    "start_orchestration cancel_instance raise_event",
    "enqueue_event complete_activity fail_activity heartbeat_activity terminate_instance suspend_instance resume_instance "
    "change_time_limit",
    "delete_instance prune_executions", "list_work list_messages", "list_children get_instance_tree",
    "get_instance_info get_instance_stats", "size empty capacity", "begin end", "ActivityType OrchestrationType",
    "declare_device withdraw_device", "returns fails",
)
HEADERS = [path for path in sorted(INCLUDE.glob("*.hpp")) if path.name not in ("port.hpp", "port_sim.hpp")]


# ---- reading headers ----


def blank(text):
    """The same length, with comments and texts blanked, so that brackets can be counted."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'',
                  lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)


def statements(text):
    """(comment, statement) of one scope. The statements up to an empty line or another comment have the same list, and
    whose words it has is for entries() to say."""
    bare, at, comment, fresh = blank(text), 0, [], True
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end].strip()
        if not line:
            comment, fresh, at = [], True, end + 1
        elif line.startswith("//"):
            if not fresh:
                comment, fresh = [], True
            words = line[2:].strip()
            if not re.match(r"---|NOLINT|namespace|namespaces", words):
                comment = comment + [words]
            elif words.startswith("---"):
                comment = []
            at = end + 1
        elif re.match(r"(public|private|protected):", line):
            comment, fresh, at = [], True, end + 1
            yield None, line
        elif line.startswith("#"):
            while text[at:end].endswith("\\"):
                end = text.find("\n", end + 1)
            fresh = False
            yield comment, text[at:end]
            at = end + 1
        else:
            depth, i = 0, at
            while i < len(bare):
                depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(bare[i], 0)
                if depth == 0 and (bare[i] == ";" or bare[i] == ")" and re.match(r"PAWL_[A-Z_]+\(", line)):
                    break
                if depth == 0 and bare[i] == "}" and not re.match(r"\s*[;,{)]", bare[i + 1:]):
                    break
                i += 1
            stop = text.find("\n", i)
            stop = len(text) if stop < 0 else stop
            fresh = False
            yield comment, text[at:stop]
            at = stop + 1


def for_users(statement):
    """Without what is for the compiler alone: parameters of a template and bases that are `internal`."""
    def parameters(found):
        kept = [one for one in re.split(r",(?![^<]*>)", found[1]) if "internal::" not in one]
        return f"template <{','.join(kept).strip()}>" if kept else ""
    statement = re.sub(r"template <((?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*)>", parameters, statement, count=1)
    statement = re.sub(r"^\s*__attribute__\(.*\)\n(#.*\n)*", "", statement)
    statement = re.sub(r"\binternal::Same<(\w+)>", r"\1", statement)
    return re.sub(r" : (?:public )?internal::\w+(?=\s*\{|\s*$)", "", statement)


def signature(statement):
    """Without its body."""
    statement = for_users(statement)
    bare = blank(statement)
    if re.match(r"\s*#define", statement):
        return re.match(r"\s*#\s*define ([A-Z_]+(?:\([^)]*\))?)", statement)[1]
    if re.match(r"\s*(template <.*?>\s*)?(class|struct|union)\b", bare):
        return statement.split("{")[0].strip() if "{" in bare else statement.strip()
    body = re.search(r"\)[\w\s]*(?:->[^{]*)?(?::[^:{][^{]*(?:\{[^{}]*\}[^{]*)*)?\{", bare)
    # What is behind the "=" of a value is no body; one in a parameter of the template is.
    values = re.sub(r"template <(?:[^<>]|<[^<>]*>)*>", "", bare[:body.start()]) if body else ""
    if body and "=" not in values.split("(")[0]:
        tail = re.match(r"\)[\w\s]*", bare[body.start():])[0]
        statement = statement[:body.start()] + tail.rstrip() + ";"
    return textwrap.dedent(" " * (len(statement) - len(statement.lstrip())) + statement.lstrip()).rstrip()


def name_of(statement):
    bare = blank(for_users(statement))
    found = re.match(r"\s*#define ([A-Z_]+)", bare)
    if found:
        return found[1]
    found = re.match(r"\s*(?:template <.*?>\s*)?(?:class|struct|enum class|enum|union) (?:\[\[\w+\]\] )?(\w+)", bare, re.S)
    if found:
        return found[1]
    found = re.search(r"\(\*(\w+)\)\(", bare) if re.match(r"\s*[\w:]+ \(\*", bare) else None
    if found:
        return found[1]
    found = re.search(r"(~?\w+|operator\S+)\s*\(", bare)
    if found and not re.match(r"\s*(inline )?constexpr [\w: ]+ \w+\s*[={]", bare):
        return found[1]
    found = re.search(r"(\w+)\s*(?:\[[^]]*\])?\s*(?:=|\{|;)", bare)
    return found[1] if found else ""


class Entry:
    def __init__(self, owner, name, comment, text):
        self.owner, self.name, self.comment, self.text = owner, name, comment, text

    def has_words(self):
        return bool(self.comment) or "//" in (whole_type(self) or signature(self.text) if is_type(self) else signature(self.text))


def shares(first, name):
    return name == first or any({first, name} <= set(names.split()) for names in SHARED)


def about(header):
    """What a header says of the type that it is named for: (name, its words)."""
    found = re.match(r"// (?:pawl::)?(\w+): (.*\n(?:// .*\n)*)", header)
    return (found[1], [line.removeprefix("// ") for line in (found[2][0].upper() + found[2][1:]).splitlines()]) if found else ("", [])


def entries():
    found = []

    def scope(owner, text, is_public, of_header=("", [])):
        said, first = None, ""  # the last comment, and the name that it stands above
        for comment, statement in statements(text):
            if comment is None:
                is_public = statement.startswith("public")
                continue
            bare = blank(statement)
            opened = re.match(r"\s*namespace (\w+(?:::\w+)*)? ?\{", bare)
            if opened:
                if opened[1] and opened[1].split("::")[-1] not in ("internal",):
                    scope("", statement[bare.index("{") + 1:bare.rindex("}")], True, of_header)
                continue
            if not is_public or re.match(r"\s*(friend|using|static_assert|#(?!define)|\}|typedef|PAWL_)", bare):
                continue
            is_type_here = re.match(r"\s*(template <.*?>\s*)?(class|struct|union)\b", bare, re.S)
            if "= delete" in bare and not is_type_here or is_type_here and "{" not in bare:
                continue
            name = name_of(statement)
            if comment is not said:
                said, first = comment, name
            elif not shares(first, name):
                comment = []
            if not name or "internal::" in signature(statement) or name.startswith(("PAWL_INTERNAL", "PAWL_PP")) or name.endswith("_HPP") or name.startswith("operator"):
                continue
            kind = re.match(r"\s*(?:template <.*?>\s*)?(class|struct|union) ", bare, re.S)
            if not owner and not comment and name == of_header[0]:
                comment = of_header[1]
            if kind and "{" in bare and not owner:
                found.append(Entry("", name, comment, statement))
                body = statement[bare.index("{") + 1:bare.rindex("}")]
                scope(name, body, kind[1] != "class")
            elif name == owner and (re.search(rf"= default|const {owner}&|{owner}&&|\(\)", bare)):
                continue  # a constructor that says nothing
            elif not name.startswith("~"):
                found.append(Entry(owner, name, comment, statement))

    for path in HEADERS:
        text = path.read_text(encoding="utf-8")
        first = re.search(r"^namespace pawl", text, re.M)
        scope("", text[first.start():] if first else "", True, about(text))
    return found


# ---- writing pages ----


def prose(lines):
    """The comment as paragraphs: what it does; Returns; Requires."""
    paragraphs, current = [], []
    for line in lines:
        if not line or re.match(r"Returns\b|Requires:", line):
            if current:
                paragraphs.append(" ".join(current))
            current = []
        if line:
            current.append(line)
    if current:
        paragraphs.append(" ".join(current))
    code = re.compile(r"`[^`]*`|[\w/-]*\w+\.(?:hpp|md|cpp)\b|(?:\w+::)+~?\w+(?:\(\))?|\b\w+\(\)|\bk[A-Z]\w+|\bPAWL_[A-Z_]+|\b[a-z]\w*_\w+\b|\*\w+")
    marked = []
    for paragraph in paragraphs:
        pieces, at = [], 0
        for found in code.finditer(paragraph):
            pieces.append(re.sub(r"([*_<>|\[\]])", r"\\\1", paragraph[at:found.start()]))
            pieces.append(found[0] if found[0].startswith("`") else f"`{found[0]}`")
            at = found.end()
        pieces.append(re.sub(r"([*_<>|\[\]])", r"\\\1", paragraph[at:]))
        text = "".join(pieces)
        text = re.sub(r"^(Returns|Requires)\b", r"*\1*", text)
        marked.append("\n".join(textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)))
    return "\n\n".join(marked)


def is_type(entry):
    return not entry.owner and re.match(r"\s*(template <.*?>\s*)?(class|struct|union)\b", blank(entry.text), re.S)


def whole_type(entry):
    """Of a small struct or enum all of it, as it stands; of a class its name, and its calls follow."""
    bare = blank(entry.text)
    if "using " in bare:
        return None
    if re.match(r"\s*enum", bare) or entry.text.count("\n") < 45 and not re.search(r"^ (private|protected):", entry.text, re.M) \
            and "(" not in re.sub(r"\[\[\w+\]\]|\{[^{}]*\}|=[^;]*;", "", bare.partition("{")[2]):
        return textwrap.dedent(entry.text).strip()
    return None


def block(entry_list):
    head = entry_list[0]
    names = list(dict.fromkeys(one.name for one in entry_list))
    is_call = lambda one: "(" in blank(signature(one.text))
    prefix = "" if head.owner in ("", "OrchestrationContext", "ActivityContext") else f"{head.owner}::"
    title = ", ".join(f"`{prefix}{name}{'()' if is_call(next(one for one in entry_list if one.name == name)) else ''}`" for name in names[:4])
    lines = [f"### {title}{' ..' if len(names) > 4 else ''}", "", "```cpp declaration"]
    for one in entry_list:
        lines.append(whole_type(one) or signature(one.text).strip("\n") if is_type(one) else signature(one.text).strip("\n"))
    lines += ["```", ""]
    words = prose(head.comment)
    if words:
        lines += [words, ""]
    return lines


def anchor(text):
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def make_pages():
    known = entries()
    taken, problems, pages = set(), [], {}
    wanted_by_name = set()
    parsed = {}
    for page, (title, tasks) in TASKS.items():
        for task, names in tasks:
            owner, chosen = "", []
            for word in names.split():
                if "::" in word:
                    owner, _, word = word.partition("::")
                chosen.append((owner, word))
            parsed[page, task] = chosen
            wanted_by_name |= set(chosen)
    following = dict(zip(list(TASKS), list(TASKS)[1:]))
    for page, (title, tasks) in TASKS.items():
        lines = [f"# Reference: {title[0].lower()}{title[1:]}", "",
                 "Made from the headers by `docs/reference/make.py`: the calls of each task, with the words of their comments. Change",
                 "those, and run it. Defaults and ranges of options: [limits](../limits.md).", ""]
        links = ", ".join(f"[{task}](#{anchor(task)})".replace(" ", "\0") for task, _ in tasks)  # a link is not broken
        wrapped = textwrap.wrap(f"On this page: {links}.", WIDTH, break_long_words=False, break_on_hyphens=False)
        lines += [line.replace("\0", " ") for line in wrapped] + [""]
        for task, _ in tasks:
            lines += [f"## {task}", ""]
            picked = []
            for owner, word in parsed[page, task]:
                if word == "*":
                    picked += [one for one in known if one.owner == owner and (owner, one.name) not in wanted_by_name]
                    continue
                here = [one for one in known if one.owner == owner and one.name == word]
                free = [one for one in known if not one.owner and one.name == word]
                if not here and not free:
                    problems.append(f"{page}.md: the headers have no {owner}::{word}")
                for one in here or free:
                    picked.append(one)
                    if is_type(one) and not whole_type(one):
                        picked += [each for each in known if each.owner == word]
            picked = list(dict.fromkeys(picked))
            groups = []
            for one in picked:
                taken.add((one.owner, one.name))
                same = groups and not is_type(one) and groups[-1][0].owner == one.owner and (
                    groups[-1][0].comment == one.comment and not is_type(groups[-1][0]) and
                    (one.comment or groups[-1][0].name == one.name or not groups[-1][0].comment))
                if same and len(groups[-1]) < 12:
                    groups[-1].append(one)
                else:
                    groups.append([one])
            for group in groups:
                lines += block(group)
                problems += [f"{page}.md: {one.owner}::{one.name} has no word of its own in its header; or add it to SHARED, if the "
                             "comment above speaks of it" for one in group if not one.has_words()]
        if page in following:
            title = TASKS[following[page]][0]
            lines += [f"Next: [{title[0].lower()}{title[1:]}]({following[page]}.md)."]
        pages[f"{page}.md"] = "\n".join(lines).rstrip() + "\n"
        problems += [f"{page}.md shows what is internal: {line.strip()}" for line in lines if "internal::" in line]
    for one in known:
        if one.owner in WHOLE and (one.owner, one.name) not in taken:
            problems.append(f"{one.owner}::{one.name}() has no task: name it in TASKS of docs/reference/make.py")
    return pages, list(dict.fromkeys(problems)), len(taken)


def main():
    pages, problems, number = make_pages()
    for name, text in pages.items():
        path = HERE / name
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            problems.append(f"docs/reference/{name} is not what the headers say: run docs/reference/make.py")
    problems += [f"docs/reference/{path.name} is made by nothing" for path in HERE.glob("*.md") if path.name not in pages]
    print("\n".join(problems + [f"{len(pages)} pages, {number} names, {len(problems)} problems"]))
    return 1 if problems or number < 250 else 0


if __name__ == "__main__":
    sys.exit(main())

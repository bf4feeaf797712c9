// The table of routes, with the parameters that they take.
#include <iterator>

#include "parts/endpoint/routes.hpp"
#include "pawl/session.hpp"

namespace pawl::http {
namespace {

using fields::FieldKind;
using fields::Words;
using fields::words_of;

constexpr std::int64_t kRowsDefault = 50;
constexpr std::int64_t kRowsMax = 200;
constexpr std::int64_t kWatchMs = 25'000;
constexpr std::int64_t kWatchMsMax = 30'000;
constexpr std::int64_t kMsMax = std::chrono::milliseconds(kDurationMax).count();
constexpr std::int64_t kStopTimeoutMs = TransferOptions::kStopTimeoutDefault.count();

// ---- parameters ----

const char* flag_word(std::size_t index) { return index == 0 ? "false" : "true"; }
const char* if_running_word(std::size_t index) { return index == 0 ? "refuse" : "take"; }
const char* if_ended_word(std::size_t index) {
  return index == 0 ? "refuse" : index == 1 ? "next_execution" : "next_if_failed";
}
const char* restart_word(std::size_t index) { return index == 0 ? "start" : "last_good_event"; }

constexpr Parameter text(const char* name, const char* help) { return {name, help}; }
constexpr Parameter name_of(const char* name, const char* help) {
  Parameter made = {name, help};
  made.most = kNameBytesMax;
  return made;
}
constexpr Parameter number(const char* name, const char* help, std::int64_t least,
                           std::int64_t most, std::int64_t absent) {
  return {name, help, Parameter::Form::kNumber, false, least, most, absent};
}
constexpr Parameter time(const char* name, const char* help) {
  return number(name, help, 0, INT64_MAX, 0);
}
constexpr Parameter span(const char* name, const char* help, std::int64_t absent = 0) {
  return number(name, help, 0, kMsMax, absent);
}
constexpr Parameter flag(const char* name, const char* help) {
  return {name, help, Parameter::Form::kFlag, false, 0, 1, 0, {flag_word, 2}};
}
constexpr Parameter word(const char* name, const char* help, const Words& words,
                         std::optional<std::int64_t> absent = std::nullopt) {
  return {name, help, Parameter::Form::kWord, false, 0, INT64_MAX, absent, words};
}
constexpr Parameter required(const Parameter& is) {
  return {is.name, is.help, is.form, true, is.least, is.most, std::nullopt, is.words};
}

constexpr Parameter kAfter =
    number("after", "Go on behind this; 0: from the first.", 0, INT64_MAX, 0);
constexpr Parameter kLimit = number("limit", "Rows of the page.", 1, kRowsMax, kRowsDefault);
constexpr Parameter kOpener =
    name_of("instance", "The instance that opened the session; none: it is shared by all.");
constexpr Parameter kStopTimeout =
    span("stop_timeout_ms", "Running work has so long to end.", kStopTimeoutMs);
constexpr Parameter kForce = flag("force", "Move an exclusive session whose work does not end.");
constexpr char kAnyState[] = "None: any.";

constexpr Parameter kOfPage[] = {kAfter, kLimit};
constexpr Parameter kOfInstances[] = {
    name_of("name", "Of the orchestration."),
    name_of("id_prefix", "How the id begins."),
    word("state", kAnyState, words_of(FieldKind::kOrchestrationState)),
    time("created_from_ms", "UTC."),
    time("created_before_ms", "UTC; 0: open."),
    time("updated_from_ms", "UTC."),
    time("updated_before_ms", "UTC; 0: open."),
    flag("roots_only", "No children."),
    kAfter,
    kLimit};
constexpr Parameter kOfStart[] = {required(name_of("name", "Of the orchestration.")),
                                  required(name_of("id", "Of the instance.")),
                                  text("version", "Of the code; none: the default."),
                                  span("start_after_ms", "The first turn comes so much later."),
                                  span("time_limit_ms", "How long it may take; 0: as defined."),
                                  word("if_running", "The id is in use.", {if_running_word, 2}, 0),
                                  word("if_ended", "It has ended.", {if_ended_word, 3}, 0)};
constexpr Parameter kOfMessage[] = {
    name_of("start", "Starts this orchestration, if the instance is not there or has ended."),
    text("input", "Of the start."), name_of("key", "A message with this key is delivered once.")};
constexpr Parameter kOfCall[] = {
    required(name_of("key", "Of the call: asked again with it, it is the same one.")),
    number("timeout_ms", "How long it waits.", 0, kWatchMsMax, kWatchMs), kOfMessage[0],
    kOfMessage[1]};
constexpr Parameter kOfFailure[] = {flag("permanent", "No other attempt follows.")};
constexpr Parameter kOfDelete[] = {flag("force", "Also one that runs.")};
constexpr Parameter kOfHistory[] = {
    number("execution", "0: the current one.", 0, INT64_MAX, 0),
    number("after", "The last event that is known.", 0, INT64_MAX, 0), kLimit};
constexpr Parameter kOfValues[] = {name_of("after", "The last key that is known."), kLimit};
constexpr Parameter kOfWatch[] = {
    text("revision", "Of an answer before; none: answer at once."),
    number("timeout_ms", "How long it waits.", 0, kWatchMsMax, kWatchMs)};
constexpr Parameter kOfEnd[] = {text("reason", "Stays in the history.")};
constexpr Parameter kOfTimeLimit[] = {span("time_limit_ms", "From now on; 0: no limit.")};
constexpr Parameter kOfRestart[] = {word("from", "Where it begins.", {restart_word, 2}, 0),
                                    text("version", "For start."),
                                    name_of("by", "Who asked; none: operator.")};
constexpr Parameter kOfQueue[] = {name_of("name", "Of the activity."),
                                  name_of("tag", "For the workers of this tag."),
                                  name_of("session", "On this session."),
                                  name_of("instance", "That asked for it."),
                                  word("state", kAnyState, words_of(FieldKind::kActivityState)),
                                  kAfter,
                                  kLimit};
constexpr Parameter kOfSessions[] = {name_of("node", "Of the owner."),
                                     name_of("instance", "That opened it."),
                                     name_of("owner_label", "Of its settings."),
                                     name_of("kind", "Of its settings."),
                                     word("state", kAnyState, words_of(FieldKind::kSessionState)),
                                     span("open_for_ms", "Leaks: open for so long."),
                                     span("unused_for_ms", "Leaks: not used for so long."),
                                     kAfter,
                                     kLimit};
constexpr Parameter kOfSession[] = {kOpener};
constexpr Parameter kOfClose[] = {kOpener,
                                  name_of("owner_label", "Who asks; none: an administrator.")};
constexpr Parameter kOfTransfer[] = {kOpener, name_of("node", "None: away from its owner."),
                                     kStopTimeout, kForce};
constexpr Parameter kOfHold[] = {kOpener, required(span("hold_ms", "From now on."))};
constexpr Parameter kOfHandoff[] = {kOpener, name_of("tag", "None: those of its work.")};
constexpr Parameter kOfDrain[] = {kStopTimeout, kForce};

// ---- routes ----

// Builds a row of the table: what most routes have, and then the differences.
class Row {
 public:
  using Answer = void (*)(Call& call);
  constexpr Row(Method method, const char* path, const char* id, Answer answer, const char* summary)
      : route_{path, id, summary, answer} {
    route_.method = method;
  }
  [[nodiscard]] constexpr Row gives(const AnswerSchema& schema) const {
    Row row = *this;
    row.route_.schema = &schema;
    return row;
  }
  [[nodiscard]] constexpr Row gives(const char* content) const {
    Row row = *this;
    row.route_.content = content;
    return row;
  }
  template <std::size_t kCount>
  [[nodiscard]] constexpr Row takes(const Parameter (&parameters)[kCount]) const {
    Row row = *this;
    row.route_.parameters = parameters;
    row.route_.parameter_count = kCount;
    return row;
  }
  [[nodiscard]] constexpr Row takes_body(const char* what) const {
    Row row = *this;
    row.route_.body = what;
    return row;
  }
  [[nodiscard]] constexpr Row creates() const {
    Row row = *this;
    row.route_.success = 201;
    return row;
  }
  [[nodiscard]] constexpr Row fails(const char* errors) const {
    Row row = *this;
    row.route_.errors = errors;
    return row;
  }
  [[nodiscard]] constexpr Row unavailable(const char* why) const {
    Row row = *this;
    row.route_.unavailable = why;
    return row;
  }
  [[nodiscard]] constexpr Row for_all(Access access) const {
    Row row = *this;
    row.route_.access = access;
    return row;
  }
  [[nodiscard]] constexpr Row without_database() const {
    Row row = *this;
    row.route_.needs = Needs::kNothing;
    return row;
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator Route() const { return route_; }

 private:
  Route route_;
};

constexpr Row get(const char* path, const char* id, Row::Answer answer, const char* summary) {
  return {Method::kGet, path, id, answer, summary};
}
// A call that changes something, and answers that it has.
constexpr Row post(const char* path, const char* id, Row::Answer answer, const char* summary) {
  return Row(Method::kPost, path, id, answer, summary).gives(schema::kDone);
}
constexpr Row remove(const char* path, const char* id, Row::Answer answer, const char* summary) {
  return Row(Method::kDelete, path, id, answer, summary).gives(schema::kDone);
}

}  // namespace

// The order is that of the description. Routes of one path stand in a sequence.
constexpr Route kRoutes[] = {
    get("/", "page", get_page, "The page for people.")
        .gives("text/html")
        .for_all(Access::kOpen)
        .without_database(),
    get("/page/{file}", "page_file", get_page_file, "A file of the page.")
        .gives("*/*")
        .fails("404")
        .for_all(Access::kOpen)
        .without_database(),
    get("/health", "health", get_health, "200 while the loop goes round, 503 when it is stuck.")
        .gives(schema::kHealth)
        .unavailable("The loop is overdue.")
        .for_all(Access::kProbe)
        .without_database(),
    get("/ready", "ready", get_ready, "200 when the process may be given work, 503 when not.")
        .gives(schema::kReadiness)
        .unavailable("Not now.")
        .for_all(Access::kProbe)
        .without_database(),
    get("/metrics", "metrics_text", get_metrics_text, "For Prometheus.").gives("text/plain"),
    get("/v1/openapi.json", "openapi", get_openapi, "This file.")
        .for_all(Access::kOpen)
        .without_database(),
    get("/v1/endpoint", "endpoint", get_endpoint, "What this endpoint takes.")
        .gives(schema::kModes)
        .without_database(),
    get("/v1/metrics", "metrics", get_metrics, "What the database holds.").gives(schema::kMetrics),
    get("/v1/runtime", "runtime", get_runtime, "Counters of the Runtime of this process.")
        .gives(schema::kRuntime)
        .fails("404")
        .without_database(),
    get("/v1/instances", "list_instances", list_instances,
        "A page of instances. All that is given must hold.")
        .takes(kOfInstances)
        .gives(schema::kInstances),
    post("/v1/instances", "start", start_instance,
         "Starts an instance. The body is its input, as it is.")
        .takes(kOfStart)
        .takes_body("The input, as it is.")
        .gives(schema::kStarted)
        .creates()
        .fails("409 413 507"),
    get("/v1/instances/{id}", "get_instance", get_instance,
        "One instance with its activities, its last executions and its first values.")
        .gives(schema::kDetail)
        .fails("404"),
    remove("/v1/instances/{id}", "delete_instance", delete_instance,
           "Removes an ended instance with all below it.")
        .takes(kOfDelete)
        .gives(schema::kRemoved)
        .fails("404 409"),
    get("/v1/instances/{id}/causes", "explain", explain_instance, "Why it does not go on.")
        .gives(schema::kCauses)
        .fails("404"),
    get("/v1/instances/{id}/history", "history", get_history, "A page of events.")
        .takes(kOfHistory)
        .gives(schema::kHistory)
        .fails("404"),
    get("/v1/instances/{id}/executions", "executions", list_executions,
        "A page of executions, oldest first.")
        .takes(kOfPage)
        .gives(schema::kExecutions)
        .fails("404"),
    get("/v1/instances/{id}/children", "children", list_children, "The instances that it started.")
        .takes(kOfPage)
        .gives(schema::kInstances)
        .fails("404"),
    get("/v1/instances/{id}/tree", "tree", get_tree,
        "The whole tree that it belongs to, root first.")
        .takes(kOfPage)
        .gives(schema::kInstances)
        .fails("404"),
    get("/v1/instances/{id}/values", "values", list_values, "A page of values, in order of keys.")
        .takes(kOfValues)
        .gives(schema::kValues)
        .fails("404"),
    get("/v1/instances/{id}/values/{key}", "value", get_value, "One value.")
        .gives(schema::kValue)
        .fails("404"),
    get("/v1/instances/{id}/watch", "watch", watch_instance,
        "Waits until the instance is not at `revision` any more.")
        .takes(kOfWatch)
        .gives(schema::kChange)
        .fails("404 503"),
    post("/v1/instances/{id}/events/{name}", "raise_event", raise_event,
         "Raises an event. The body is its payload, as it is.")
        .takes(kOfMessage)
        .takes_body("The payload, as it is.")
        .fails("404 409 413 507"),
    post("/v1/instances/{id}/queues/{name}", "enqueue_event", enqueue_event,
         "Puts a message into a queue. The body is its payload.")
        .takes(kOfMessage)
        .takes_body("The payload, as it is.")
        .fails("404 409 413 507"),
    post("/v1/instances/{id}/calls/{name}", "call", call_instance,
         "Puts a message into a queue, and waits for the answer. The body is its payload.")
        .takes(kOfCall)
        .takes_body("The payload, as it is.")
        .gives(schema::kCalled)
        .fails("404 409 413 503 507"),
    post("/v1/instances/{id}/cancel", "cancel", cancel_instance, "Asks it to stop.")
        .takes(kOfEnd)
        .fails("404 409"),
    post("/v1/instances/{id}/terminate", "terminate", terminate_instance,
         "Ends it; none of its code runs any more.")
        .takes(kOfEnd)
        .fails("404 409"),
    post("/v1/instances/{id}/suspend", "suspend", suspend_instance, "No turn runs until `resume`.")
        .fails("404 409"),
    post("/v1/instances/{id}/resume", "resume", resume_instance,
         "Lets a suspended or stopped one go on.")
        .fails("404 409"),
    post("/v1/instances/{id}/time_limit", "change_time_limit", change_time_limit,
         "Changes how long it may take before it is asked to stop.")
        .takes(kOfTimeLimit)
        .fails("404 409"),
    post("/v1/instances/{id}/restart", "restart", restart_instance,
         "Lets a failed or stopped one go on, in a next execution.")
        .takes(kOfRestart)
        .fails("404 409"),
    get("/v1/instances/{id}/messages", "messages", list_messages,
        "The messages that it has not taken, in order of arrival.")
        .takes(kOfPage)
        .gives(schema::kMessages)
        .fails("404"),
    get("/v1/queue", "list_queue", list_queue,
        "A page of the activities that have no outcome. All that is given must hold.")
        .takes(kOfQueue)
        .gives(schema::kQueue),
    post("/v1/activities/{token}/complete", "complete_activity", complete_activity,
         "Completes an activity from outside. The body is its result, as it is.")
        .takes_body("The result, as it is.")
        .fails("404 409 413"),
    post("/v1/activities/{token}/fail", "fail_activity", fail_activity,
         "Fails one from outside; another attempt may follow. The body is the error's text.")
        .takes(kOfFailure)
        .takes_body("The text of the error.")
        .fails("404 409 413"),
    post("/v1/activities/{token}/heartbeat", "heartbeat_activity", heartbeat_activity,
         "Says that it goes on. The body is its progress.")
        .takes_body("The progress, or nothing.")
        .fails("404 413"),
    get("/v1/sessions", "list_sessions", list_sessions,
        "A page of sessions. All that is given must hold.")
        .takes(kOfSessions)
        .gives(schema::kSessions),
    get("/v1/sessions/{session}", "get_session", get_session, "One session.")
        .takes(kOfSession)
        .gives(schema::kSession)
        .fails("404"),
    remove("/v1/sessions/{session}", "close_session", close_session,
           "Closes it, as its code would.")
        .takes(kOfClose)
        .fails("403 404"),
    get("/v1/sessions/{session}/causes", "explain_session", explain_session,
        "Why it does not go on.")
        .takes(kOfSession)
        .gives(schema::kCauses)
        .fails("404"),
    post("/v1/sessions/{session}/transfer", "transfer", transfer_session,
         "Moves it to another worker.")
        .takes(kOfTransfer)
        .fails("404 409"),
    post("/v1/sessions/{session}/hold", "hold", hold_session, "It does not idle for so long.")
        .takes(kOfHold)
        .fails("404"),
    post("/v1/sessions/{session}/handoff", "handoff", handoff_session,
         "Hands it to the workers of a tag. The body is a summary for the next owner.")
        .takes(kOfHandoff)
        .takes_body("A summary, as it is.")
        .fails("404"),
    get("/v1/workers", "list_workers", list_workers, "The registered workers.")
        .gives(schema::kWorkers),
    post("/v1/workers/{node}/drain", "drain", drain_worker,
         "It takes nothing new, and its sessions move away.")
        .takes(kOfDrain)
        .fails("404"),
    post("/v1/workers/{node}/undrain", "undrain", undrain_worker, "It takes new work again.")
        .fails("404"),
    remove("/v1/devices/{device}", "forget_device", forget_device,
           "Removes a device that no worker declares and no work waits for.")
        .fails("404 409"),
};
const std::size_t kRouteCount = std::size(kRoutes);

}  // namespace pawl::http

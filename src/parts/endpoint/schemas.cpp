#include "parts/endpoint/schemas.hpp"

#include <iterator>

#include "parts/fields/client_fields.hpp"
#include "parts/fields/runtime_fields.hpp"

namespace pawl::http {
namespace {

template <typename T>
constexpr FieldList fields_of() {
  return {fields::FieldsOf<T>::kAll, std::size(fields::FieldsOf<T>::kAll)};
}

template <typename T>
constexpr AnswerSchema plain(const char* name, const char* help) {
  return {name, help, {fields_of<T>(), {}}};
}

template <std::size_t kCount>
constexpr AnswerSchema with_parts(const char* name, const char* help, const Part (&parts)[kCount],
                                  FieldList first, FieldList second = {}) {
  return {name, help, {first, second}, parts, kCount};
}

constexpr AnswerSchema kInstance =
    plain<InstanceInfo>("Instance", "InstanceInfo of pawl/management.hpp.");
constexpr AnswerSchema kInstanceStats =
    plain<InstanceStats>("InstanceStats", "What an instance holds.");
constexpr AnswerSchema kStatus = plain<OrchestrationStatus>(
    "OrchestrationStatus", "OrchestrationStatus of pawl/client_options.hpp.");
constexpr AnswerSchema kExecution = plain<ExecutionInfo>("Execution", "One execution.");
constexpr AnswerSchema kActivity =
    plain<ActivityInfo>("Activity", "An activity without an outcome.");
constexpr AnswerSchema kCause =
    plain<Cause>("Cause", "Why something does not go on, and what could be done.");
constexpr AnswerSchema kEvent = plain<HistoryEvent>(
    "Event", "A recorded event. Members that its kind does not have are left out.");
constexpr AnswerSchema kWork =
    plain<WorkInfo>("Work", "An activity of any instance without an outcome.");
constexpr AnswerSchema kMessage =
    plain<MessageInfo>("Message", "A message that an instance has not taken.");
constexpr AnswerSchema kWorker = plain<WorkerInfo>("Worker", "A registered worker.");
constexpr AnswerSchema kOrchestrationCounts =
    plain<OrchestrationStats>("OrchestrationCounts", "Counters of one name and version.");
constexpr AnswerSchema kActivityCounts =
    plain<ActivityStats>("ActivityCounts", "Counters of one name.");

constexpr Part object(const char* name, const AnswerSchema& schema) {
  return {name, Part::Form::kObject, &schema};
}
constexpr Part list(const char* name, const AnswerSchema& schema) {
  return {name, Part::Form::kList, &schema};
}
constexpr Part cut_list(const char* name, const AnswerSchema& schema) {
  return {name, Part::Form::kCutList, &schema};
}

constexpr Part kRuntimeParts[] = {list("orchestrations", kOrchestrationCounts),
                                  list("activities", kActivityCounts)};
constexpr Part kInstancesParts[] = {list("instances", kInstance)};
constexpr Part kExecutionsParts[] = {list("executions", kExecution)};
constexpr Part kHistoryParts[] = {list("events", kEvent)};
constexpr Part kSessionsParts[] = {list("sessions", schema::kSession)};
constexpr Part kValuesParts[] = {list("values", schema::kValue)};
constexpr Part kWorkersParts[] = {list("workers", kWorker)};
constexpr Part kCausesParts[] = {list("causes", kCause)};
constexpr Part kQueueParts[] = {list("queue", kWork)};
constexpr Part kMessagesParts[] = {list("messages", kMessage)};
constexpr Part kDetailParts[] = {
    object("instance", kInstance),      object("status", kStatus),
    object("stats", kInstanceStats),    cut_list("activities", kActivity),
    cut_list("executions", kExecution), cut_list("values", schema::kValue)};
constexpr Part kChangeParts[] = {object("instance", kInstance), object("status", kStatus),
                                 object("stats", kInstanceStats)};

}  // namespace

namespace schema {

const AnswerSchema kRefusal = plain<Refusal>("Error", "Every answer that is no success.");
const AnswerSchema kDone = plain<Done>("Done", "The call was made, and is durable.");
const AnswerSchema kStarted = plain<Started>("Started", "An instance was created.");
const AnswerSchema kRemoved = plain<Removed>("Removed", "What went.");
const AnswerSchema kHealth = plain<Health>("Health", "Does the loop of this process go round?");
const AnswerSchema kModes = plain<Modes>("Endpoint", "What this endpoint takes.");
const AnswerSchema kReadiness = plain<Readiness>("Ready", "May this process be given work?");
const AnswerSchema kValue = plain<KvEntry>("Value", "A value that an instance keeps.");
const AnswerSchema kSession = plain<SessionInfo>("Session", "SessionInfo of pawl/management.hpp.");
const AnswerSchema kMetrics = plain<Metrics>("Metrics", "What the database holds.");
const AnswerSchema kRuntime =
    with_parts("Runtime", "The Runtime of this process: counters since its start.", kRuntimeParts,
               fields_of<Now>(), fields_of<RuntimeStats>());
const AnswerSchema kInstances =
    with_parts("Instances", "A page, in order of creation.", kInstancesParts, fields_of<RowsEnd>());
const AnswerSchema kExecutions =
    with_parts("Executions", "A page, oldest first.", kExecutionsParts, fields_of<RowsEnd>());
const AnswerSchema kHistory = with_parts("History", "A page of one execution.", kHistoryParts,
                                         fields_of<Executed>(), fields_of<RowsEnd>());
const AnswerSchema kSessions =
    with_parts("Sessions", "A page, in order of creation.", kSessionsParts, fields_of<RowsEnd>());
const AnswerSchema kValues =
    with_parts("Values", "A page, in order of keys.", kValuesParts, fields_of<ValuesEnd>());
const AnswerSchema kWorkers =
    with_parts("Workers", "All workers.", kWorkersParts, fields_of<ListEnd>());
const AnswerSchema kCauses = with_parts("Causes", "One for each thing that it waits for.",
                                        kCausesParts, fields_of<ListEnd>());
const AnswerSchema kQueue =
    with_parts("Queue", "A page, in order of scheduling.", kQueueParts, fields_of<RowsEnd>());
const AnswerSchema kMessages =
    with_parts("Messages", "A page, in order of arrival.", kMessagesParts, fields_of<RowsEnd>());
const AnswerSchema kDetail = with_parts("Detail", "One instance with all that people ask about it.",
                                        kDetailParts, fields_of<Revised>());
const AnswerSchema kChange =
    with_parts("Change", "What a watch saw.", kChangeParts, fields_of<Watched>());
const AnswerSchema kCalled = {
    "Called", "The answer of a call.", {fields_of<Called>(), fields_of<CallAnswer>()}};

}  // namespace schema

const AnswerSchema* const kSchemas[] = {&schema::kRefusal,
                                        &schema::kDone,
                                        &schema::kStarted,
                                        &schema::kRemoved,
                                        &schema::kHealth,
                                        &schema::kModes,
                                        &schema::kReadiness,
                                        &kInstance,
                                        &kInstanceStats,
                                        &kStatus,
                                        &kExecution,
                                        &kActivity,
                                        &kCause,
                                        &schema::kValue,
                                        &kEvent,
                                        &schema::kSession,
                                        &kWork,
                                        &kMessage,
                                        &kWorker,
                                        &schema::kMetrics,
                                        &kOrchestrationCounts,
                                        &kActivityCounts,
                                        &schema::kRuntime,
                                        &schema::kInstances,
                                        &schema::kExecutions,
                                        &schema::kHistory,
                                        &schema::kSessions,
                                        &schema::kValues,
                                        &schema::kWorkers,
                                        &schema::kCauses,
                                        &schema::kQueue,
                                        &schema::kMessages,
                                        &schema::kDetail,
                                        &schema::kChange,
                                        &schema::kCalled};
const std::size_t kSchemaCount = std::size(kSchemas);

}  // namespace pawl::http

// Goal: each value that a Client shows becomes JSON: every member is there, and an absent value is
// left out.
#include "pawl/export.hpp"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

class Text final : public TextSink {
 public:
  bool write(std::string_view piece) noexcept override {
    text += piece;
    return true;
  }
  std::string text;
};

template <typename T>
std::string json(const T& value) {
  Text sink;
  JsonOut out(sink);
  write_json(value, out);
  EXPECT_TRUE(out.ok());
  return sink.text;
}

TEST(Export, Instance) {
  InstanceInfo one;
  one.key = 7;
  one.id = std::string_view("a\nb");
  one.name = std::string_view("greet");
  one.state = OrchestrationState::kSuspended;
  one.execution_id = 2;
  one.created_ms = 3;
  one.updated_ms = 4;
  EXPECT_EQ(json(one), R"({"key":7,"id":"a\u000ab","name":"greet","state":"suspended",)"
                       R"("execution_id":2,"created_ms":3,"updated_ms":4,"timers_without_clock":0,)"
                       R"("unread_messages":0})");
  one.version = std::string_view("1.2.0");
  one.parent_id = std::string_view("p");
  EXPECT_NE(json(one).find(R"("version":"1.2.0","parent_id":"p")"), std::string::npos);
}

TEST(Export, StatsAndRemoved) {
  EXPECT_EQ(
      json(InstanceStats{1, 2, 3, 4, 5}),
      R"({"history_events":1,"history_bytes":2,"messages_waiting":3,"kv_keys":4,"kv_bytes":5})");
  EXPECT_EQ(json(Removed{1, 2, 3}), R"({"instances":1,"executions":2,"events":3})");
}

TEST(Export, Status) {
  OrchestrationStatus one;
  one.custom_status_version = 9;
  EXPECT_EQ(json(one), R"({"state":"running","execution_id":0,"created_ms":0,"updated_ms":0,)"
                       R"("custom_status_version":9,"unread_messages":0})");
  one.unread_messages = 2;
  one.error = ErrorKind::kApplication;
  one.output = std::string_view("out");
  one.custom_status = std::string_view("half");
  EXPECT_EQ(json(one),
            R"({"state":"running","execution_id":0,"error":"application","output":"out",)"
            R"("created_ms":0,"updated_ms":0,"custom_status":"half","custom_status_version":9,)"
            R"("unread_messages":2})");
}

TEST(Export, WorkAndMessage) {
  WorkInfo work;
  work.key = 1;
  work.instance_id = "a";
  work.execution_id = 2;
  work.activity_id = 3;
  EXPECT_EQ(json(work), R"({"key":1,"instance_id":"a","execution_id":2,"activity_id":3,)"
                        R"("state":"ready","attempt":0,"is_unserved":false})");
  work.name = "open";
  work.state = ActivityState::kRunning;
  work.session = "bus";
  work.tag = "t";
  work.node = "n";
  work.is_unserved = true;
  EXPECT_EQ(json(work), R"({"key":1,"instance_id":"a","execution_id":2,"activity_id":3,)"
                        R"("name":"open","state":"running","attempt":0,"session":"bus","tag":"t",)"
                        R"("node":"n","is_unserved":true})");
  EXPECT_EQ(json(MessageInfo{4, "queue", "q", "p", false, true}),
            R"({"number":4,"kind":"queue","name":"q","payload":"p","is_timer":false,)"
            R"("is_unread":true})");
  EXPECT_EQ(json(MessageInfo{5, "timer_fired", "", "", true, false}),
            R"({"number":5,"kind":"timer_fired","is_timer":true,"is_unread":false})");
}

TEST(Export, ExecutionAndActivity) {
  ExecutionInfo execution{1, ExecutionState::kRunning, 2, 3, 0, ErrorKind::kNone, ""};
  EXPECT_EQ(json(execution), R"({"execution_id":1,"state":"running","events":2,"started_ms":3})");
  execution = {1, ExecutionState::kFailed, 2, 3, 4, ErrorKind::kApplication, "why"};
  EXPECT_EQ(json(execution),
            R"({"execution_id":1,"state":"failed","events":2,"started_ms":3,"ended_ms":4,)"
            R"("error":"application","output":"why"})");
  const ActivityInfo activity{5, "say", ActivityState::kDelayed, 1, 2, "n", "half", "no"};
  EXPECT_EQ(json(activity),
            R"({"activity_id":5,"name":"say","state":"delayed","attempt":1,)"
            R"("retry_attempt":2,"node":"n","last_progress":"half","last_error":"no"})");
}

TEST(Export, Worker) {
  WorkerInfo one;
  one.incarnation = 1;
  one.node = "n";
  one.pid = 2;
  one.lease_ends_in_ms = -3;
  one.draining = true;
  one.sessions_max = 4;
  one.sessions = 5;
  one.devices = 6;
  one.sessions_busy = 7;
  one.takes_untagged = true;
  one.tags = "a\nb";
  EXPECT_EQ(json(one),
            R"({"incarnation":1,"node":"n","pid":2,"lease_ends_in_ms":-3,"draining":true,)"
            R"("sessions_max":4,"sessions":5,"devices":6,"sessions_busy":7,"any_tag":false,)"
            R"("takes_untagged":true,"tags":["a","b"],"handlers":[],"disconnected":false})");
  one.address = "10.0.0.3";
  one.disconnected = true;
  const std::string text = json(one);
  EXPECT_NE(text.find(R"("handlers":[],"address":"10.0.0.3","disconnected":true})"),
            std::string::npos)
      << text;
}

TEST(Export, Session) {
  SessionInfo one;
  one.key = 1;
  one.name = std::string_view("s");
  one.lease_ends_in_ms = 77;
  EXPECT_EQ(json(one), R"({"key":1,"name":"s","state":"idle","epoch":0,"created_ms":0,"age_ms":0,)"
                       R"("quiet_for_ms":0,"activities":0,"device":false,"exclusive":false,)"
                       R"("stopping":false})");
  one.node = std::string_view("n");
  one.instance_id = std::string_view("i");
  one.owner_label = std::string_view("ann");
  one.kind = std::string_view("k");
  one.folder = std::string_view("/f");
  one.expires_in_ms = 0;
  one.waits_for_ms = 8;
  EXPECT_EQ(json(one),
            R"({"key":1,"name":"s","instance_id":"i","owner_label":"ann","kind":"k",)"
            R"("state":"idle","node":"n","folder":"/f","epoch":0,"created_ms":0,"age_ms":0,)"
            R"("quiet_for_ms":0,"activities":0,"expires_in_ms":0,"waits_for_ms":8,)"
            R"("lease_ends_in_ms":77,"device":false,"exclusive":false,"stopping":false})");
}

TEST(Export, ValueAndProgress) {
  KvEntry value;
  value.key = std::string_view("k");
  value.value = std::string_view("\xff");
  value.updated_ms = 1;
  EXPECT_EQ(json(value), R"({"key":"k","value_base64":"/w==","updated_ms":1})");
  EXPECT_EQ(json(ProgressUpdate()),
            R"({"execution_id":0,"activity_id":0,"attempt":0,"number":0,"text":""})");
}

TEST(Export, EventLeavesOutWhatIsZero) {
  HistoryEvent event;
  event.id = 1;
  event.kind = "timer";
  EXPECT_EQ(json(event), R"({"id":1,"kind":"timer","time_ms":0})");
  event = {2,      "activity", 3,     4,         5,        6, 7, ErrorKind::kApplication,
           "name", "session",  "tag", "version", "payload"};
  EXPECT_EQ(json(event),
            R"({"id":2,"kind":"activity","time_ms":6,"branch":3,"ordinal":4,"ref":5,"number":7,)"
            R"("error":"application","name":"name","session":"session","tag":"tag",)"
            R"("version":"version","payload":"payload"})");
}

TEST(Export, Metrics) {
  Metrics one;
  std::int64_t n = 0;
  for (std::int64_t* member : {&one.instances_running,
                               &one.instances_completed,
                               &one.instances_failed,
                               &one.instances_stopped,
                               &one.instances_suspended,
                               &one.executions,
                               &one.events,
                               &one.messages_waiting,
                               &one.unread_messages,
                               &one.timers_waiting,
                               &one.activities_ready,
                               &one.activities_running,
                               &one.activities_delayed,
                               &one.activities_outside,
                               &one.sessions_waiting,
                               &one.sessions_active,
                               &one.sessions_idle,
                               &one.sessions_lost,
                               &one.sessions_created,
                               &one.used_bytes,
                               &one.log_bytes,
                               &one.quota_bytes})
    *member = ++n;
  one.session_ends.add(1'000, 1);
  one.session_ends.add(700'000'000, 3);
  EXPECT_EQ(
      json(one),
      R"({"instances_running":1,"instances_completed":2,"instances_failed":3,"instances_stopped":4,)"
      R"("instances_suspended":5,"executions":6,"events":7,"messages_waiting":8,)"
      R"("unread_messages":9,"timers_waiting":10,)"
      R"("activities_ready":11,"activities_running":12,"activities_delayed":13,"activities_outside":14,)"
      R"("sessions_waiting":15,"sessions_active":16,"sessions_idle":17,"sessions_lost":18,)"
      R"("sessions_created":19,"sessions_ended":2,"sessions_lasted_ms":{"up_to":[1000,10000,60000,)"
      R"(600000,3600000,86400000,604800000],"counts":[1,0,0,0,0,0,0,1],"total":700001000,)"
      R"("most":700000000},"sessions_activities":{"up_to":[0,1,10,100,1000,10000,100000],)"
      R"("counts":[0,1,1,0,0,0,0,0],"total":4,"most":3},"used_bytes":20,"log_bytes":21,)"
      R"("quota_bytes":22,"refuses_new":false,"complete":true})");
}

}  // namespace
}  // namespace pawl

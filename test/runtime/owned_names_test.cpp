// Goal: names in options may be made in place, from parts that are gone when the call reads them.
#include <gtest/gtest.h>

#include <string>

#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::Story;
using testing::Worker;

// The text that would overwrite a freed one.
std::string filler() { return std::string(40, '#'); }

ActivityResult where(ActivityContext& ctx) {
  static std::string text;
  text = std::string(ctx.session_id()) + " " + std::string(ctx.tag());
  return ctx.ok(text);
}

Poll on_sensor(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target =
      Target::session("a session that is longer than any small text: " + std::to_string(7));
  options.tag = "a tag that is longer than any small text: " + std::to_string(7);
  const std::string other = filler();
  PAWL_AWAIT(found, ctx.schedule_activity("where", other, options));
  return found.ok() ? ctx.complete(found.value()) : ctx.fail(found.error());
}

Poll opens(OrchestrationContext& ctx) {
  SessionSettings settings;
  settings.owner_label = "an owner that is longer than any small text " + std::to_string(7);
  settings.kind = "a kind that is longer than any small text " + std::to_string(7);
  const std::string other = filler();
  static_cast<void>(ctx.open_session("s", settings));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete(other);
}

Poll parent(OrchestrationContext& ctx) {
  ChildOptions child;
  child.id = InstanceId("a child that is longer than any small text: " + std::to_string(7));
  child.version = std::string("1.0.0-a-version-that-is-longer-than-any-small-text");
  const std::string other = filler();
  PAWL_AWAIT(end, ctx.schedule_sub_orchestration("child", other, child));
  return end.ok() ? ctx.complete(end.value()) : ctx.fail(end.error());
}

Poll child(OrchestrationContext& ctx) {
  static std::string text;
  text = std::string(ctx.instance_id()) + " " + std::string(ctx.orchestration_version());
  return ctx.complete(text);
}

class OwnedNames : public Story {
 protected:
  OwnedNames() {
    add("where", where);
    add("on_sensor", on_sensor);
    add("opens", opens);
    add("parent", parent);
    add("child", child, "1.0.0-a-version-that-is-longer-than-any-small-text");
  }
};

TEST_F(OwnedNames, OfATargetATagAndAWorkersTags) {
  options.worker_tag_filter =
      TagFilter::tags({"a tag that is longer than any small text: " + std::to_string(7)});
  options.worker_node_id = "n";
  start_worker();
  start("i", "on_sensor");
  EXPECT_EQ(end_of("i"),
            "completed a session that is longer than any small text: 7 a tag that is longer than "
            "any small text: 7");
}

TEST_F(OwnedNames, OfSettingsAndAFilter) {
  start_worker();
  start("i", "opens");
  pass(100);
  std::string kind;
  auto seen = visit([&](const SessionInfo& session) { kind = session.kind; });
  SessionFilter filter;
  filter.owner_label = "an owner that is longer than any small text " + std::to_string(7);
  filter.kind = "a kind that is longer than any small text " + std::to_string(7);
  const std::string other = filler();
  Page page;
  ASSERT_EQ(client()->list_sessions(filter, &page, seen), Status::kOk);
  EXPECT_EQ(kind, "a kind that is longer than any small text 7");
}

TEST_F(OwnedNames, OfAChild) {
  start_worker();
  start("i", "parent");
  EXPECT_EQ(end_of("i"),
            "completed a child that is longer than any small text: 7 "
            "1.0.0-a-version-that-is-longer-than-any-small-text");
}

TEST_F(OwnedNames, OfAPathAndANode) {
  const std::string folder(60, 'd');
  options.database_path = folder + "/of-" + std::to_string(7);
  options.worker_node_id = "a node that is longer than any small text: " + std::to_string(7);
  const std::string other = filler();
  Worker worker(machine, registry, options);
  ASSERT_EQ(worker.start(), Status::kOk) << worker.diagnostic.text();
  ClientOptions of_client;
  of_client.database_path = folder + "/of-" + std::to_string(7);
  of_client.create = false;  // the Worker creates it
  sim::Node node(machine);
  testing::Block memory(Client::required_memory(of_client));
  Diagnostic why;
  Client another;
  ASSERT_EQ(another.open(testing::shared_process(), of_client, node.port(), memory.data(),
                         memory.bytes(), why),
            Status::kOk)
      << why.text();
  std::string name;
  auto seen = visit([&](const WorkerInfo& one) { name = one.node; });
  ASSERT_EQ(another.list_workers(seen), Status::kOk);
  EXPECT_EQ(name, "a node that is longer than any small text: 7");
  another.close();
  worker.stop();
}

TEST_F(OwnedNames, OfPathsThatAreTooLongAreRefusedByTheirOption) {
  const auto refused = [&](const Options& given) {
    Worker worker(machine, registry, given);
    EXPECT_EQ(worker.start(), Status::kInvalidOptions);
    return std::string(worker.diagnostic.text());
  };
  Options given = options;
  given.database_path = "/" + std::string(Path::kBytesMax, 'd');
  EXPECT_EQ(refused(given), "database_path has 401 bytes; at most 400 are allowed");
  given.database_path = std::string("/a\0b", 4);
  EXPECT_EQ(refused(given), "database_path has a zero byte inside");
  given.database_path = "";
  EXPECT_EQ(refused(given), "database_path is not set");
  given = options;
  const ServerDatabase none;
  given.database = &none;
  EXPECT_EQ(refused(given), "database has no engine or no address: see pawl/server_database.hpp");
  const ServerDatabase long_one = {nullptr, std::string(Path::kBytesMax + 1, 's'), "pawl"};
  given.database = &long_one;
  EXPECT_EQ(refused(given), "the address of the database has 401 bytes; at most 400 are allowed");
  given = options;
  given.sessions.work_root = "/" + std::string(Path::kBytesMax, 'w');
  EXPECT_EQ(refused(given), "sessions.work_root has 401 bytes; at most 400 are allowed");
  given = options;
  given.worker_node_id = std::string(kNameBytesMax + 1, 'n');
  EXPECT_NE(refused(given).find("worker_node_id has 257 bytes"), std::string::npos);
  given.worker_node_id = "";
  EXPECT_NE(refused(given).find("worker_node_id has 0 bytes"), std::string::npos);

  ClientOptions of_client;
  of_client.database_path = "/" + std::string(Path::kBytesMax, 'd');
  sim::Node node(machine);
  testing::Block memory(Client::required_memory(of_client));
  Diagnostic why;
  Client another;
  EXPECT_EQ(another.open(testing::shared_process(), of_client, node.port(), memory.data(),
                         memory.bytes(), why),
            Status::kInvalidOptions);
  EXPECT_EQ(why.text(), "database_path has 401 bytes; at most 400 are allowed");
}

// A name that is too long is not cut to one that fits, since that might be another's name.
TEST_F(OwnedNames, ThatAreTooLongAreRefused) {
  add("too_long", [](OrchestrationContext& ctx) {
    ActivityOptions tagged;
    tagged.tag = std::string(kNameBytesMax + 1, 't');
    PAWL_AWAIT(by_tag, ctx.schedule_activity("where", "", tagged));
    if (by_tag.error().kind != ErrorKind::kInvalidArgument) return ctx.fail("tag");
    const auto target = Target::session(std::string(kNameBytesMax + 1, 's'));
    PAWL_AWAIT(by_target, ctx.schedule_activity("where", "", target));
    if (by_target.error().kind != ErrorKind::kInvalidArgument) return ctx.fail("target");
    SessionSettings settings;
    settings.kind = std::string(kNameBytesMax + 1, 'k');
    if (!ctx.open_session(settings).id().empty()) return ctx.fail("kind");
    ChildOptions child;
    child.id = InstanceId(std::string(kNameBytesMax + 1, 'i'));
    PAWL_AWAIT(by_id, ctx.schedule_sub_orchestration("child", "", child));
    return by_id.error().kind == ErrorKind::kInvalidArgument ? ctx.complete("") : ctx.fail("id");
  });
  start_worker();
  start("i", "too_long");
  EXPECT_EQ(end_of("i"), "completed ");
  StartOptions versioned;
  versioned.version = std::string(kNameBytesMax + 1, '1');
  EXPECT_EQ(client()->start_orchestration("child", InstanceId("j"), "", versioned),
            Status::kInvalidArgument);
}

}  // namespace
}  // namespace pawl

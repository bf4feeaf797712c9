// Goal: folders of sessions are made before work runs, are there for the next owner of the session,
// and are removed when it has ended.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pawl/visit.hpp"
#include "session_story.hpp"

namespace pawl {
namespace {

using testing::SessionStory;
using testing::Worker;
using Entry = sim::Machine::Entry;

sim::Machine* g_machine = nullptr;
std::vector<std::string> g_folders;  // in the order of the activities that saw them
std::string g_key;

// Puts a file into its folder; its input is the name of the file.
ActivityResult put(ActivityContext& ctx) {
  const std::string folder(ctx.session_folder());
  g_folders.push_back(folder);
  g_key = ctx.idempotency_key();
  if (folder.empty()) return ctx.ok("none");
  EXPECT_EQ(ctx.session_folder().data()[folder.size()], '\0');
  EXPECT_EQ(g_machine->entry(folder.c_str()), Entry::kFolder) << folder;
  const std::size_t found = g_machine->entries_below(folder.c_str());
  if (!ctx.input().empty())
    g_machine->put_entry((folder + "/" + std::string(ctx.input())).c_str(), Entry::kFile);
  return ctx.ok(std::to_string(found));
}

class SessionFolders : public SessionStory {
 protected:
  void SetUp() override {
    g_machine = &machine;
    g_folders.clear();
    machine.put_entry("/dirs", Entry::kFolder);
    options.sessions.work_root = "/dirs";
    add("put", put);
  }
  [[nodiscard]] std::size_t folders() const { return machine.entries_below("/dirs"); }
  // Opens "s", puts `files` files, waits for "go", and then closes the session.
  static Poll opens_and_closes(OrchestrationContext& ctx, int files, const SessionSettings& how) {
    const Session session = ctx.open_session("s", how);
    for (int i = 0; i < files; ++i)
      PAWL_AWAIT_DONE(ctx.schedule_activity("put", std::to_string(i), Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    EXPECT_EQ(ctx.close_session(session.id()), ErrorKind::kNone);
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("closed");
  }
  static Code opening(int files, const SessionSettings& how = SessionSettings()) {
    return [files, how](OrchestrationContext& ctx) { return opens_and_closes(ctx, files, how); };
  }
  void say(std::string_view event) { raise_event("i", event); }
  bool are_put(std::size_t count) {
    return drive_until([&] { return g_folders.size() >= count; }, 60'000);
  }
  bool are_gone(std::int64_t ms = 5'000) {
    return drive_until([&] { return folders() == 0; }, ms);
  }
  // Runs one tick of each worker; the caller moves time.
  void tick_all() {
    for (const auto& worker : workers)
      EXPECT_TRUE(worker->runtime->tick(std::chrono::milliseconds::max()).ok());
  }
};

// Rules: S43.
TEST_F(SessionFolders, is_there_before_the_first_activity_and_gone_after_the_close) {
  code(opening(3));
  Worker& a = start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(3));
  pass(10'000);
  for (const std::string& folder : g_folders)
    EXPECT_EQ(folder, g_folders[0]);
  EXPECT_EQ(g_folders[0].compare(0, 6, "/dirs/"), 0) << g_folders[0];
  EXPECT_EQ(folders(), 4U) << "it and three files";
  say("go");
  EXPECT_TRUE(are_gone());
  EXPECT_EQ(logged("session_folder_removed"), 1U);
  EXPECT_EQ(a.runtime->stats().session_folders_removed, 1U);
  EXPECT_EQ(machine.entry("/dirs"), Entry::kFolder);
}

// A folder that was not made yet, or is being removed, is not shown.
// Rules: S43.
TEST_F(SessionFolders, the_directory_shows_where_it_is) {
  testing::expect_errors("activity_unregistered");
  code(opening(1));
  boss();
  start("i", "code");
  pass(5'000);
  const auto shown = [&] {
    SessionInfo one;
    EXPECT_EQ(client()->get_session("i", "s", &one), Status::kOk);
    return std::string(one.folder.view());
  };
  EXPECT_EQ(shown(), "") << "no worker has run an activity of it";
  hand("a");
  ASSERT_TRUE(are_put(1));
  pass(1'000);
  EXPECT_EQ(shown(), g_folders[0]);
  std::string folder;
  auto keep = visit([&](const SessionInfo& one) { folder = one.folder.view(); });
  Page page;
  ASSERT_EQ(client()->list_sessions(SessionFilter(), &page, keep), Status::kOk);
  EXPECT_EQ(folder, g_folders[0]);
  ASSERT_EQ(client()->close_session("i", "s"), Status::kOk);
  EXPECT_EQ(shown(), "") << "it is closed, so its folder goes";
}

TEST_F(SessionFolders, the_directory_shows_none_without_a_root) {
  options.sessions.work_root = std::nullopt;
  code(opening(1));
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  SessionInfo one;
  ASSERT_EQ(client()->get_session("i", "s", &one), Status::kOk);
  EXPECT_EQ(one.activities, 1);
  EXPECT_EQ(one.folder, "");
}

// No part of a session's id is in a path.
// Rules: S42.
TEST_F(SessionFolders, no_id_leads_out_of_the_root) {
  code([](OrchestrationContext& ctx) {
    for (const char* id : {"../../etc", "../", "/", "a/b", "-rf"})
      PAWL_AWAIT_DONE(ctx.schedule_activity("put", "f", Target::session(id)));
    PAWL_AWAIT_DONE(ctx.schedule_activity("put", "f"));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(6));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(g_folders[static_cast<std::size_t>(i)].find_first_not_of("0123456789abcdef-.", 6),
              std::string::npos);
  }
  EXPECT_EQ(g_folders[5], "") << "without a session there is none";
  EXPECT_EQ(folders(), 10U);
}

TEST_F(SessionFolders, files_survive_the_death_of_the_owner) {
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("put", "kept", Target::session("s")));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    PAWL_AWAIT(found, ctx.schedule_activity("put", "", Target::session("s")));
    return ctx.complete(found.value());
  });
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  pass(1'000);
  a.kill();
  hand("b");
  say("go");
  EXPECT_EQ(end_of("i"), "completed 1") << "what the first one left";
  EXPECT_EQ(g_folders[0], g_folders[1]);
}

// Rules: S42.
TEST_F(SessionFolders, another_opening_has_another_folder) {
  code([](OrchestrationContext& ctx) {
    for (int i = 0; i < 2; ++i) {
      const Session session = ctx.open_session("s");
      PAWL_AWAIT(found, ctx.schedule_activity("put", "f", Target::own(session)));
      if (found.value() != "0") return ctx.fail("not empty");
      EXPECT_EQ(ctx.close_session(session.id()), ErrorKind::kNone);
    }
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed ");
  EXPECT_NE(g_folders[0], g_folders[1]);
  EXPECT_TRUE(are_gone());
}

// Rules: S44.
TEST_F(SessionFolders, goes_when_the_session_is_lost_and_when_its_instance_ends) {
  SessionSettings fragile;
  fragile.fail_on_loss = true;
  code(opening(1, fragile));
  boss();
  Worker& a = hand("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  a.kill();
  hand("b");
  EXPECT_TRUE(are_gone());
  ASSERT_EQ(client()->start_orchestration("code", InstanceId("j"), ""), Status::kOk);
  ASSERT_TRUE(are_put(2));
  EXPECT_EQ(folders(), 2U);
  cancel_instance("j", "enough");
  ASSERT_TRUE(drive_until([&] { return !is_running("j"); }));
  EXPECT_TRUE(are_gone());
}

// A shared session ends when its row is swept; a release by its owner does not end it.
TEST_F(SessionFolders, of_a_shared_session_stays_while_it_idles_and_goes_with_its_row) {
  options.sessions.session_idle_timeout = std::chrono::seconds(40);
  options.sessions.session_cleanup_interval = std::chrono::seconds(200);
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("put", "f", Target::session("s")));
    return ctx.complete("");
  });
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  ASSERT_TRUE(drive_until([&] { return logged("session_released") == 1; }, 180'000));
  pass(10'000);
  EXPECT_EQ(folders(), 2U);
  EXPECT_TRUE(are_gone(400'000));
  EXPECT_EQ(rows().size(), 0U);
}

// The removal runs beside other work, some entries in each tick.
// Rules: S46.
TEST_F(SessionFolders, removing_is_done_in_pieces) {
  code(opening(1));
  Worker& a = start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  for (int i = 0; i < 1'000; ++i)
    machine.put_entry((g_folders[0] + "/d/" + std::to_string(i)).c_str(), Entry::kFile);
  say("go");
  std::size_t before = folders();
  std::size_t pieces = 0;
  ASSERT_TRUE(drive_until(
      [&] {
        EXPECT_LE(before - folders(), 64U);
        pieces += folders() < before ? 1U : 0U;
        before = folders();
        return before == 0;
      },
      10'000));
  EXPECT_GE(pieces, 1'000U / 64U);
  EXPECT_EQ(a.runtime->stats().session_folders_removed, 1U);
}

// The process dies at any point between the close and the last piece; the next one continues.
// Rules: S45.
TEST_F(SessionFolders, removing_survives_crashes) {
  code(opening(1));
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  for (int i = 0; i < 300; ++i)
    machine.put_entry((g_folders[0] + "/" + std::to_string(i)).c_str(), Entry::kFile);
  say("go");
  const auto kill_and_restart = [&] {
    for (const auto& worker : workers)
      worker->kill();
    workers.clear();
    start_worker("a");
  };
  ASSERT_TRUE(drive_until([&] { return rows().empty(); }));
  EXPECT_EQ(folders(), 301U) << "closed, and nothing is removed yet";
  std::size_t lives = 0;
  for (; folders() > 0 && lives < 50; ++lives) {
    kill_and_restart();
    tick_all();
    tick_all();
  }
  EXPECT_EQ(folders(), 0U);
  EXPECT_GE(lives, 3U) << "some died in the middle";
}

// A close that was not committed has removed nothing.
// Rules: S45.
TEST_F(SessionFolders, stays_when_the_close_is_not_committed) {
  testing::expect_errors("tick_rolled_back", 15);
  code(opening(1));
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  pass(5'000);
  say("go");
  machine.fail_write(1, Status::kIo, true);
  pass(60'000);
  EXPECT_GT(logged("tick_rolled_back"), 0U);
  EXPECT_EQ(folders(), 2U);
  machine.fail_write(0, Status::kOk, false);
  EXPECT_TRUE(are_gone(120'000));
}

TEST_F(SessionFolders, only_what_ended_in_this_database_goes) {
  code(opening(1));
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  const std::string mine = g_key.substr(0, 32);
  const std::string live = g_folders[0].substr(6);
  ASSERT_EQ(live.compare(0, 32, mine), 0) << live;
  const std::string other(32, '0');
  const std::vector<std::string> unregistered = {other + "-1.1",
                                                 "notes",
                                                 mine,
                                                 mine + "-1",
                                                 mine + "-01.1",
                                                 mine + "-1.1x",
                                                 mine + "--1.1",
                                                 mine + "-1.1 ",
                                                 mine + "-1.1.1",
                                                 mine + "-.",
                                                 mine + "-9.",
                                                 "x" + mine + "-9.1",
                                                 mine + "_9.1",
                                                 mine + "-99999999999999999999.1"};
  for (const std::string& name : unregistered)
    machine.put_entry(("/dirs/" + name).c_str(), Entry::kFolder);
  for (const char* dead : {"-777.1", "-888.1/file", "-1.99"})
    machine.put_entry(("/dirs/" + mine + dead).c_str(), Entry::kFile);
  restart();
  pass(10'000);
  for (const std::string& name : unregistered)
    EXPECT_EQ(machine.entry(("/dirs/" + name).c_str()), Entry::kFolder) << name;
  for (const char* dead : {"-777.1", "-888.1", "-1.99"})
    EXPECT_EQ(machine.entry(("/dirs/" + mine + dead).c_str()), Entry::kNone) << dead;
  EXPECT_EQ(machine.entry(g_folders[0].c_str()), Entry::kFolder) << "of a session that lives";
}

// A failure of the disk is no answer for an orchestration: the activity waits, and all others
// continue.
// Rules: S43.
TEST_F(SessionFolders, without_its_folder_an_activity_does_not_run) {
  testing::expect_errors("session_folder_failed", 5);
  code(opening(1));
  other([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("put", ""));
    return ctx.complete("went on");
  });
  Worker& a = start_worker("a");
  machine.fail_folders(Status::kFull);
  start("i", "code");
  pass(30'000);
  EXPECT_TRUE(g_folders.empty());
  const std::uint64_t failed = a.runtime->stats().session_folders_failed;
  EXPECT_GE(failed, 4U);
  EXPECT_LE(failed, 7U) << "1, 2, 4 .. s apart";
  EXPECT_EQ(logged("session_folder_failed"), failed);
  EXPECT_EQ(logged("/dirs/"), failed) << "the path is told";
  start("j", "other");
  EXPECT_EQ(end_of("j"), "completed went on");
  g_folders.clear();
  machine.fail_folders(Status::kOk);
  ASSERT_TRUE(are_put(1));
  say("go");
  EXPECT_TRUE(are_gone());
  EXPECT_EQ(a.runtime->stats().activities_retried, 0U);
}

TEST_F(SessionFolders, something_else_in_its_place_is_reported_and_left) {
  testing::expect_errors("session_folder_failed", 2);
  code(opening(1));
  start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  const std::string folder = g_folders[0];
  machine.put_entry(folder.c_str(), Entry::kNone);
  machine.put_entry(folder.c_str(), Entry::kFile);
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT_DONE(ctx.schedule_activity("put", "", Target::session("t")));
    return ctx.complete("");
  });
  restart();
  pass(5'000);
  EXPECT_EQ(machine.entry(folder.c_str()), Entry::kFile) << "its session lives";
}

// A removal that fails is logged once in each look, and tried again with the next one.
// Rules: S46.
TEST_F(SessionFolders, what_cannot_be_removed_is_tried_again) {
  options.sessions.session_cleanup_interval = std::chrono::seconds(60);
  code(opening(1));
  Worker& a = start_worker("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  machine.fail_folders(Status::kReadOnly);
  say("go");
  pass(20'000);
  EXPECT_EQ(folders(), 2U);
  EXPECT_GE(logged("session_folder_not_removed"), 1U);
  EXPECT_LE(logged("session_folder_not_removed"), 3U);
  EXPECT_GE(a.runtime->stats().session_folders_failed, 1U);
  machine.fail_folders(Status::kOk);
  EXPECT_TRUE(are_gone(120'000));
}

// A cancelled activity may still write to the folder.
// Rules: S44.
TEST_F(SessionFolders, is_kept_while_cancelled_work_runs_in_it) {
  code([](OrchestrationContext& ctx) {
    const Session session = ctx.open_session("s");
    static_cast<void>(ctx.schedule_activity("stubborn", "", Target::own(session)));
    PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
    EXPECT_EQ(ctx.close_session(session.id()), ErrorKind::kNone);
    PAWL_AWAIT_DONE(ctx.schedule_wait("end"));
    return ctx.complete("");
  });
  add("stubborn", put, ActivityMode::kThreaded);
  Worker& a = start_worker("a");
  a.node.hold_jobs(true);
  start("i", "code");
  // drive() would let the job return.
  const auto tick_for = [&](std::int64_t ms) {
    for (std::int64_t end = machine.boot_ms() + ms; machine.boot_ms() < end; machine.advance(100))
      tick_all();
  };
  tick_for(1'000);
  ASSERT_EQ(a.runtime->stats().activities_started, 1U);
  say("go");
  tick_for(8'000);
  EXPECT_EQ(rows().size(), 0U);
  EXPECT_EQ(folders(), 1U);
  EXPECT_TRUE(are_gone()) << "it came back";
  EXPECT_EQ(g_folders.size(), 1U);
}

// Another worker, without a root, sees the close; the worker with the folder learns of it.
TEST_F(SessionFolders, goes_when_others_end_its_session) {
  options.sessions.session_cleanup_interval = std::chrono::seconds(3'600);
  code(opening(1));
  Options deciding_alone = options;
  deciding_alone.sessions.work_root = std::nullopt;
  options = deciding_alone;
  boss();
  options.sessions.work_root = "/dirs";
  hand("a");
  start("i", "code");
  ASSERT_TRUE(are_put(1));
  EXPECT_EQ(folders(), 2U);
  say("go");
  EXPECT_TRUE(are_gone());
}

TEST_F(SessionFolders, root_must_be_a_folder_at_the_start) {
  const auto refused = [&](const char* root) {
    options.sessions.work_root = root;
    Worker worker(machine, registry, options);
    const Status status = worker.start();
    EXPECT_NE(worker.diagnostic.text().find(root), std::string_view::npos)
        << worker.diagnostic.text();
    return status;
  };
  EXPECT_EQ(refused("/nowhere"), Status::kCannotOpen);
  EXPECT_EQ(refused("here"), Status::kInvalidArgument);
  EXPECT_EQ(refused(""), Status::kInvalidArgument);
}

TEST_F(SessionFolders, without_a_root_there_are_none) {
  options.sessions.work_root = std::nullopt;
  code([](OrchestrationContext& ctx) {
    PAWL_AWAIT(found, ctx.schedule_activity("put", "f", Target::session("s")));
    return ctx.complete(found.value());
  });
  start_worker("a");
  start("i", "code");
  EXPECT_EQ(end_of("i"), "completed none");
  EXPECT_EQ(folders(), 0U);
}

}  // namespace
}  // namespace pawl

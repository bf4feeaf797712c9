// Whatever is wrong with a file, a row, a name or a host: a clear error names it, nothing is lost,
// and the rest goes on. Runs on real files with the Linux port. Rows are damaged by SQLite alone,
// in a second process, because Pawl's own SQLite memory lives in this one.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "folder.hpp"
#include "pawl/pawl.hpp"
#include "pawl/port_posix.hpp"
#include "pawl/testing.hpp"

namespace pawl {
namespace {

Process& shared_process() {
  static testing::Block* block = nullptr;
  static Process process;
  if (!process.started()) {
    const ProcessOptions options;
    block = new testing::Block(Process::required_memory(options));
    Diagnostic diagnostic;
    EXPECT_EQ(process.start(options, block->data(), block->bytes(), diagnostic), Status::kOk)
        << diagnostic.text();
  }
  return process;
}

// Runs the sqlite3 shell in its own process.
void sql(const std::string& path, const std::string& text) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    execlp("sqlite3", "sqlite3", "-bail", path.c_str(), text.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << text;
}

// A sqlite3 shell that runs `text` and then keeps the database open, in that state, until it is
// ended.
class Shell {
 public:
  Shell(const std::string& path, const std::string& text) {
    int in[2] = {-1, -1};
    int out[2] = {-1, -1};
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      close(in[1]);
      execlp("sqlite3", "sqlite3", "-bail", path.c_str(), nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    const std::string lines = text + "\n.print done\n";
    EXPECT_EQ(write(input_, lines.data(), lines.size()), static_cast<ssize_t>(lines.size()));
    std::string said;
    char c = 0;
    while (said.find("done") == std::string::npos && read(out[0], &c, 1) == 1)
      said += c;
    EXPECT_NE(said.find("done"), std::string::npos) << said;
    close(out[0]);
  }
  ~Shell() { end(); }
  void end() {
    if (input_ < 0) return;
    close(input_);
    input_ = -1;
    EXPECT_EQ(waitpid(pid, nullptr, 0), pid);
  }
  pid_t pid = -1;

 private:
  int input_ = -1;
};

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

ActivityResult big(ActivityContext& ctx) {
  static const std::string kBig(4'000, 'b');
  return ctx.ok(kBig);
}

Poll hello(OrchestrationContext& ctx) {
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", ctx.input()));
  return answer.ok() ? ctx.complete(answer.value()) : ctx.fail(answer.error());
}

// Waits for a timer between two activities, so that a test can step in.
Poll slow(OrchestrationContext& ctx) {
  PAWL_AWAIT(first, ctx.schedule_activity("echo", "one"));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::milliseconds(400)));
  PAWL_AWAIT(second, ctx.schedule_activity("echo", "two"));
  return ctx.complete("slow");
}

Poll too_big_input(OrchestrationContext& ctx) {
  static const std::string kHuge(200'000, 'h');
  PAWL_AWAIT(answer, ctx.schedule_activity("echo", kHuge));
  return ctx.complete(error_kind_name(answer.error().kind));
}

Poll hoarder(OrchestrationContext& ctx) {
  for (int i = 0; i < 1'000; ++i) {
    PAWL_AWAIT(answer, ctx.schedule_activity("big", "{}"));
    if (!answer.ok()) return ctx.fail(answer.error());
  }
  return ctx.complete("hoarded");
}

class Errors : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_.file("gateway.db");
    ASSERT_EQ(registry_.add_orchestration("hello", hello), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("slow", slow), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("too_big_input", too_big_input), Status::kOk);
    ASSERT_EQ(registry_.add_orchestration("hoarder", hoarder), Status::kOk);
    ASSERT_EQ(registry_.add_activity("echo", echo), Status::kOk);
    ASSERT_EQ(registry_.add_activity("big", big), Status::kOk);
  }
  void TearDown() override {
    client_.close();
    runtime_.reset();
  }

  Options options() {
    Options out;
    out.database_path = path_;
    out.log = &watch_;
    return out;
  }
  Status start(const Options& given) {
    runtime_ = std::make_unique<Runtime>();
    memory_ = std::make_unique<testing::Block>(Runtime::required_memory(given));
    return runtime_->start(shared_process(), registry_, given, port_.port(), memory_->data(),
                           memory_->bytes(), diagnostic_);
  }
  void open_client() {
    ClientOptions given;
    given.database_path = path_;
    client_memory_ = std::make_unique<testing::Block>(Client::required_memory(given));
    ASSERT_EQ(client_.open(shared_process(), given, client_port_.port(), client_memory_->data(),
                           client_memory_->bytes(), diagnostic_),
              Status::kOk)
        << diagnostic_.text();
  }
  OrchestrationStatus status(const char* id) {
    OrchestrationStatus out;
    EXPECT_EQ(client_.get_status(id, &out), Status::kOk) << client_.error_text();
    return out;
  }
  bool run_until_ended(const char* id) {
    struct Wanted {
      Errors* test;
      const char* id;
    } wanted{this, id};
    return runtime_->run_for(
               std::chrono::seconds(20),
               [](void* user) noexcept {
                 auto* const what = static_cast<Wanted*>(user);
                 return what->test->status(what->id).state != OrchestrationState::kRunning;
               },
               &wanted) == Status::kOk;
  }
  // Starts "bad" (the orchestration slow) and stops the runtime while it waits for its timer.
  void park_one() {
    ASSERT_EQ(start(options()), Status::kOk) << diagnostic_.text();
    open_client();
    ASSERT_EQ(client_.start_orchestration("slow", InstanceId("bad"), ""), Status::kOk);
    ASSERT_EQ(runtime_->run_for(
                  std::chrono::seconds(5),
                  [](void* user) noexcept {
                    return static_cast<Runtime*>(user)->stats().activities_completed == 1;
                  },
                  runtime_.get()),
              Status::kOk);
    ASSERT_EQ(runtime_->stop(std::chrono::seconds(1)), Status::kOk);
    runtime_.reset();
  }
  // After the damage: another instance completes at once; "bad" is stopped with a text that names
  // `what`.
  void expect_stopped_alone(const char* what) {
    ASSERT_EQ(start(options()), Status::kOk) << diagnostic_.text();
    ASSERT_EQ(client_.start_orchestration("hello", InstanceId("good"), "fine"), Status::kOk);
    ASSERT_TRUE(run_until_ended("good"));
    EXPECT_EQ(status("good").output, "fine");
    ASSERT_TRUE(run_until_ended("bad"));
    EXPECT_EQ(status("bad").state, OrchestrationState::kStopped);
    EXPECT_EQ(status("bad").error, ErrorKind::kCorrupt);
    EXPECT_NE(status("bad").output.find(what), std::string_view::npos) << status("bad").output;
  }

  testing::ErrorWatch watch_;
  test::Folder folder_;
  std::string path_;
  Registry registry_;
  posix::SystemPort port_;
  posix::SystemPort client_port_;
  Diagnostic diagnostic_;
  std::unique_ptr<testing::Block> memory_;
  std::unique_ptr<testing::Block> client_memory_;
  std::unique_ptr<Runtime> runtime_;
  Client client_;
};

TEST_F(Errors, corrupt_event_payload_stops_its_instance_alone) {
  testing::expect_errors("instance_stopped");
  park_one();
  sql(path_, "UPDATE history SET payload='tampered' WHERE kind=32");
  expect_stopped_alone("event");
}

TEST_F(Errors, corrupt_event_meta_stops_its_instance_alone) {
  testing::expect_errors("instance_stopped");
  park_one();
  sql(path_, "UPDATE history SET meta='{\"n\":' WHERE kind=2");
  expect_stopped_alone("event");
}

TEST_F(Errors, missing_event_stops_its_instance_alone) {
  testing::expect_errors("instance_stopped");
  park_one();
  sql(path_, "DELETE FROM history WHERE id=2");
  expect_stopped_alone("event");
}

TEST_F(Errors, event_of_an_unknown_kind_stops_its_instance_alone) {
  testing::expect_errors("instance_stopped");
  park_one();
  sql(path_, "UPDATE history SET kind=200 WHERE id=2");
  expect_stopped_alone("event");
}

TEST_F(Errors, corrupt_message_stops_its_instance_alone) {
  testing::expect_errors("instance_stopped");
  park_one();
  ASSERT_EQ(client_.raise_event("bad", "sign", "now"), Status::kOk) << client_.error_text();
  sql(path_, "UPDATE orchestrator_queue SET crc=crc+1");
  expect_stopped_alone("orchestrator_queue row");
}

TEST_F(Errors, corrupt_timer_stops_its_instance_alone) {
  testing::expect_errors("instance_stopped");
  park_one();
  sql(path_, "UPDATE instances SET timer_ref='x'");
  expect_stopped_alone("instances row");
}

TEST_F(Errors, broken_link_stops_its_instance_alone) {
  testing::expect_errors("instance_stopped");
  park_one();
  sql(path_, "UPDATE history SET prev=prev+1 WHERE prev IS NOT NULL");
  expect_stopped_alone("its link is wrong");
}

TEST_F(Errors, a_mended_row_lets_the_instance_go_on) {
  testing::expect_errors("instance_stopped");
  park_one();
  sql(path_, "UPDATE history SET payload=CAST('onE' AS BLOB) WHERE kind=32");
  expect_stopped_alone("event");
  ASSERT_EQ(runtime_->stop(std::chrono::seconds(1)), Status::kOk);
  sql(path_,
      "UPDATE history SET payload=CAST('one' AS BLOB) WHERE kind=32 AND CAST(payload AS "
      "TEXT)='onE'");
  ASSERT_EQ(start(options()), Status::kOk);
  ASSERT_TRUE(run_until_ended("bad"));
  EXPECT_EQ(status("bad").output, "slow");
}

// Another process plants an endless trigger under a working runtime. The trigger never runs, the
// log names it, and once it is removed all work goes on from where it was.
TEST_F(Errors, a_planted_trigger_is_named_and_does_not_run) {
  testing::Lines lines;
  testing::ErrorWatch watch(&lines);
  Options given = options();
  given.log = &watch;
  ASSERT_EQ(start(given), Status::kOk) << diagnostic_.text();
  open_client();
  ASSERT_EQ(client_.start_orchestration("slow", InstanceId("a"), ""), Status::kOk);
  const auto has_failed = [](void* user) noexcept {
    return static_cast<Runtime*>(user)->stats().failed_ticks > 0;
  };
  ASSERT_EQ(runtime_->tick(std::chrono::milliseconds::max()).status(), Status::kOk);
  sql(path_,
      "CREATE TRIGGER endless AFTER INSERT ON history BEGIN INSERT INTO kv WITH RECURSIVE c(x) AS"
      " (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x,x,1,0,x,0,0 FROM c; END");
  ASSERT_EQ(runtime_->run_for(std::chrono::seconds(20), has_failed, runtime_.get()), Status::kOk);
  EXPECT_FALSE(runtime_->ready());
  EXPECT_GT(lines.count("trigger \"endless\""), 0U) << lines.all();
  EXPECT_EQ(client_.start_orchestration("hello", InstanceId("b"), ""), Status::kCorrupt);
  EXPECT_NE(client_.error_text().find("endless"), std::string_view::npos) << client_.error_text();
  sql(path_, "DROP TRIGGER endless");
  ASSERT_TRUE(run_until_ended("a"));
  EXPECT_EQ(status("a").output, "slow");
  EXPECT_TRUE(runtime_->ready());
  // The number of tries meanwhile depends on the time.
  testing::expect_errors("tick_rolled_back",
                         static_cast<std::size_t>(runtime_->stats().failed_ticks));
}

// The reader is like a person with a shell in the middle of a transaction that reads.
TEST_F(Errors, a_reader_that_stays_is_named_and_the_log_has_a_bound) {
  testing::expect_errors("log_is_full");
  testing::Lines lines;
  testing::ErrorWatch watch(&lines);
  Options given = options();
  given.log = &watch;
  given.space.checkpoint_pages = 64;
  given.space.log_bytes_max = 512 * 1024;
  ASSERT_EQ(start(given), Status::kOk) << diagnostic_.text();
  open_client();
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("first"), "x"), Status::kOk);
  ASSERT_TRUE(run_until_ended("first"));
  Shell shell(path_, "BEGIN; SELECT count(*) FROM history;");
  const std::string process = std::to_string(shell.pid);
  const std::string input(8'000, 'x');
  Status why = Status::kOk;
  for (int i = 0; i < 1'000 && why == Status::kOk; ++i) {
    const std::string id = "q" + std::to_string(i);
    why = client_.start_orchestration("hello", InstanceId(id), input);
    ASSERT_TRUE(why != Status::kOk || run_until_ended(id.c_str()));
  }
  ASSERT_EQ(why, Status::kQuota);
  EXPECT_NE(client_.error_text().find("process " + process), std::string_view::npos)
      << client_.error_text();
  const auto is_reported = [](void* user) noexcept {
    return static_cast<testing::Lines*>(user)->count("log_is_full") > 0;
  };
  ASSERT_EQ(runtime_->run_for(std::chrono::seconds(20), is_reported, &lines), Status::kOk)
      << lines.all();
  EXPECT_EQ(lines.count("process=" + process), 2U) << lines.all();
  shell.end();
  const auto is_cut = [](void* user) noexcept {
    return static_cast<testing::Lines*>(user)->count("log_is_cut") > 0;
  };
  ASSERT_EQ(runtime_->run_for(std::chrono::seconds(20), is_cut, &lines), Status::kOk)
      << lines.all();
  struct stat log {};
  ASSERT_EQ(stat((path_ + "-wal").c_str(), &log), 0);
  EXPECT_LT(log.st_size, given.space.log_bytes_max / 2);
  EXPECT_EQ(client_.start_orchestration("hello", InstanceId("again"), "x"), Status::kOk);
}

TEST_F(Errors, a_writer_that_stays_is_named_and_the_runtime_is_not_ready) {
  testing::expect_errors("write_lock_is_held");
  testing::Lines lines;
  testing::ErrorWatch watch(&lines);
  Options given = options();
  given.log = &watch;
  given.timing.busy_max = std::chrono::milliseconds(10);
  ASSERT_EQ(start(given), Status::kOk) << diagnostic_.text();
  open_client();
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("a"), "x"), Status::kOk);
  Shell shell(path_, "BEGIN IMMEDIATE;");
  const auto is_stuck = [](void* user) noexcept { return !static_cast<Runtime*>(user)->ready(); };
  ASSERT_EQ(runtime_->run_for(std::chrono::seconds(60), is_stuck, runtime_.get()), Status::kOk)
      << lines.all();
  EXPECT_EQ(lines.count("write_lock_is_held"), 1U) << lines.all();
  EXPECT_EQ(lines.count("process=" + std::to_string(shell.pid)), 1U) << lines.all();
  shell.end();
  ASSERT_TRUE(run_until_ended("a"));
  EXPECT_TRUE(runtime_->ready());
  EXPECT_EQ(lines.count("write_lock_is_free"), 1U) << lines.all();
}

TEST_F(Errors, unknown_instances_and_duplicates_are_named_answers) {
  ASSERT_EQ(start(options()), Status::kOk);
  open_client();
  OrchestrationStatus out;
  EXPECT_EQ(client_.get_status("nobody", &out), Status::kNotFound);
  EXPECT_NE(client_.error_text().find("nobody"), std::string_view::npos) << client_.error_text();
  EXPECT_EQ(client_.cancel_instance("nobody", ""), Status::kNotFound);
  EXPECT_NE(client_.error_text().find("nobody"), std::string_view::npos) << client_.error_text();
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("a"), "1"), Status::kOk);
  EXPECT_EQ(client_.start_orchestration("hello", InstanceId("a"), "2"), Status::kAlreadyExists);
  EXPECT_EQ(client_.start_orchestration("hello", InstanceId(""), "2"), Status::kInvalidArgument);
  EXPECT_EQ(client_.start_orchestration("hello", InstanceId(std::string(257, 'i')), "2"),
            Status::kInvalidArgument);
  EXPECT_EQ(client_.start_orchestration("", InstanceId("b"), "2"), Status::kInvalidArgument);
  ASSERT_TRUE(run_until_ended("a"));
  EXPECT_EQ(status("a").output, "1");
}

TEST_F(Errors, oversized_payloads_are_refused_before_anything_is_written) {
  ASSERT_EQ(start(options()), Status::kOk);
  open_client();
  const std::string huge(100'000, 'x');
  EXPECT_EQ(client_.start_orchestration("hello", InstanceId("a"), huge),
            Status::kResourceExhausted);
  EXPECT_NE(client_.error_text().find("100000"), std::string_view::npos) << client_.error_text();
  OrchestrationStatus out;
  EXPECT_EQ(client_.get_status("a", &out), Status::kNotFound);
  EXPECT_EQ(runtime_->start_orchestration("hello", InstanceId("a"), huge),
            Status::kResourceExhausted);
  ASSERT_EQ(client_.start_orchestration("too_big_input", InstanceId("b"), ""), Status::kOk);
  ASSERT_TRUE(run_until_ended("b"));
  EXPECT_EQ(status("b").output, "limit");
}

TEST_F(Errors, an_input_too_large_for_the_worker_waits_alone_for_a_larger_one) {
  ClientOptions large;
  large.database_path = path_;
  large.payload_bytes_max = 1'024 * 1'024;
  Options small = options();
  small.limits.payload_bytes_max = 4 * 1024;
  small.limits.queue_messages_max = 16;
  ASSERT_EQ(start(small), Status::kOk);
  open_client();
  posix::SystemPort port;
  testing::Block memory(Client::required_memory(large));
  Client client;
  ASSERT_EQ(
      client.open(shared_process(), large, port.port(), memory.data(), memory.bytes(), diagnostic_),
      Status::kOk);
  ASSERT_EQ(client.start_orchestration("hello", InstanceId("bad"), std::string(1'000'000, 'x')),
            Status::kOk);
  for (int i = 0; i < 5; ++i) {
    const std::string id = "good" + std::to_string(i);
    ASSERT_EQ(client_.start_orchestration("hello", InstanceId(id), "fine"), Status::kOk);
    ASSERT_TRUE(run_until_ended(id.c_str()));
    EXPECT_EQ(status(id.c_str()).output, "fine");
  }
  EXPECT_EQ(status("bad").state, OrchestrationState::kRunning);
  EXPECT_EQ(status("bad").error, ErrorKind::kLimit);
  runtime_.reset();
  small.limits.payload_bytes_max = large.payload_bytes_max;
  small.limits.warm_bytes = 8 * large.payload_bytes_max;
  ASSERT_EQ(start(small), Status::kOk) << diagnostic_.text();
  EXPECT_EQ(runtime_->run_for(
                std::chrono::seconds(20),
                [](void* user) noexcept {
                  return static_cast<Runtime*>(user)->stats().orchestrations_completed == 1;
                },
                runtime_.get()),
            Status::kOk);
}

TEST_F(Errors, a_stopped_runtime_answers_instead_of_breaking) {
  ASSERT_EQ(start(options()), Status::kOk);
  ASSERT_EQ(runtime_->stop(std::chrono::milliseconds(100)), Status::kOk);
  OrchestrationStatus out;
  EXPECT_EQ(runtime_->get_status("a", &out), Status::kStopped);
  EXPECT_EQ(runtime_->start_orchestration("hello", InstanceId("a"), ""), Status::kStopped);
  EXPECT_EQ(runtime_->tick(std::chrono::milliseconds(10)).status(), Status::kStopped);
}

TEST_F(Errors, a_history_beyond_the_warm_memory_stops_alone_and_the_others_go_on) {
  Options small = options();
  small.limits.payload_bytes_max = 8 * 1024;
  small.limits.warm_bytes = 128 * 1024;
  small.limits.warm_instances = 64;
  ASSERT_EQ(start(small), Status::kOk) << diagnostic_.text();
  open_client();
  ASSERT_EQ(client_.start_orchestration("hoarder", InstanceId("bad"), ""), Status::kOk);
  ASSERT_TRUE(run_until_ended("bad"));
  EXPECT_NE(status("bad").state, OrchestrationState::kCompleted);
  EXPECT_EQ(status("bad").error, ErrorKind::kLimit) << status("bad").output;
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("good"), "fine"), Status::kOk);
  ASSERT_TRUE(run_until_ended("good"));
  EXPECT_EQ(status("good").output, "fine");
}

TEST_F(Errors, missing_folder_is_named) {
  path_ = folder_.file("nowhere/gateway.db");
  EXPECT_EQ(start(options()), Status::kCannotOpen);
  EXPECT_NE(diagnostic_.text().find("nowhere"), std::string_view::npos) << diagnostic_.text();
}

TEST_F(Errors, foreign_database_is_named_and_untouched) {
  sql(path_, "CREATE TABLE theirs(a); INSERT INTO theirs VALUES(1);");
  EXPECT_EQ(start(options()), Status::kForeignDatabase);
  EXPECT_NE(diagnostic_.text().find("gateway.db"), std::string_view::npos) << diagnostic_.text();
  // The insert below would fail its check if the row were gone or doubled.
  sql(path_,
      "CREATE TEMP TABLE check_it(n CHECK(n=1)); INSERT INTO check_it SELECT count(*) FROM "
      "theirs;");
}

TEST_F(Errors, a_file_that_is_no_database_is_named) {
  std::ofstream(path_) << std::string(8'192, 'n');
  const Status refused = start(options());
  EXPECT_TRUE(refused == Status::kForeignDatabase || refused == Status::kCorrupt)
      << status_name(refused);
  EXPECT_NE(diagnostic_.text().find("gateway.db"), std::string_view::npos) << diagnostic_.text();
}

TEST_F(Errors, newer_database_is_named_with_both_versions) {
  ASSERT_EQ(start(options()), Status::kOk);
  ASSERT_EQ(runtime_->stop(std::chrono::milliseconds(100)), Status::kOk);
  sql(path_, "PRAGMA user_version=99");
  EXPECT_EQ(start(options()), Status::kNewerDatabase);
  EXPECT_NE(diagnostic_.text().find("99"), std::string_view::npos) << diagnostic_.text();
}

TEST_F(Errors, older_database_is_named_with_both_versions) {
  ASSERT_EQ(start(options()), Status::kOk);
  ASSERT_EQ(runtime_->stop(std::chrono::milliseconds(100)), Status::kOk);
  sql(path_, "PRAGMA user_version=1");
  EXPECT_EQ(start(options()), Status::kOlderDatabase);
  EXPECT_NE(diagnostic_.text().find("format 1, this one reads only 2"), std::string_view::npos)
      << diagnostic_.text();
}

// The id begins the names of the folders of sessions, so it must be a plain one.
TEST_F(Errors, a_database_id_that_is_none_is_named) {
  ASSERT_EQ(start(options()), Status::kOk);
  ASSERT_EQ(runtime_->stop(std::chrono::milliseconds(100)), Status::kOk);
  const std::string outside = folder_.file("outside");
  const std::string root = folder_.file("root");
  ASSERT_EQ(mkdir(outside.c_str(), 0700), 0);
  ASSERT_EQ(mkdir(root.c_str(), 0700), 0);
  Options given = options();
  given.sessions.work_root = root;
  const std::string good(32, 'a');
  for (const std::string& id :
       {std::string("../outside/evil"), std::string(), std::string(31, 'a'), std::string(33, 'a'),
        std::string(32, 'A'), std::string(32, 'g'), "../" + std::string(29, 'a'),
        std::string(31, 'a') + "/", std::string(31, 'a') + "\n"}) {
    sql(path_, "UPDATE meta SET database_id='" + id + "'");
    EXPECT_EQ(start(given), Status::kCorrupt) << id;
    EXPECT_NE(diagnostic_.text().find("meta.database_id"), std::string_view::npos)
        << diagnostic_.text();
  }
  sql(path_, "UPDATE meta SET database_id=x'00'");
  EXPECT_EQ(start(given), Status::kCorrupt);
  sql(path_, "UPDATE meta SET database_id='" + good + "'");
  EXPECT_EQ(start(given), Status::kOk) << diagnostic_.text();
}

// Two names of one file have two logs: what one log has committed, the other does not know.
TEST_F(Errors, a_second_name_of_the_database_is_refused) {
  ASSERT_EQ(start(options()), Status::kOk);
  open_client();
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("a"), "1"), Status::kOk);
  ASSERT_TRUE(run_until_ended("a"));
  client_.close();
  ASSERT_EQ(runtime_->stop(std::chrono::seconds(1)), Status::kOk);
  const std::string first = path_;
  const std::string second = folder_.file("second.db");
  ASSERT_EQ(link(first.c_str(), second.c_str()), 0);
  for (const std::string& path : {second, first}) {
    path_ = path;
    EXPECT_EQ(start(options()), Status::kCannotOpen);
    EXPECT_EQ(diagnostic_.text().find(path + ": has a second name"), 0U) << diagnostic_.text();
  }
  ASSERT_EQ(unlink(second.c_str()), 0);
  ASSERT_EQ(start(options()), Status::kOk) << diagnostic_.text();
}

// A start with something else in a file's place returns with the file's name; it neither waits nor
// writes.
TEST_F(Errors, what_is_no_file_of_ours_is_named) {
  const std::string target = folder_.file("theirs");
  std::ofstream(target) << "theirs";
  for (const char* suffix : {"", "-journal", "-wal", "-shm", "-bell", "-reserve"}) {
    for (const bool pipe : {true, false}) {
      const std::string hostile = path_ + suffix;
      ASSERT_EQ(pipe ? mkfifo(hostile.c_str(), 0600) : link(target.c_str(), hostile.c_str()), 0);
      EXPECT_EQ(start(options()), Status::kCannotOpen) << suffix;
      EXPECT_EQ(diagnostic_.text().find(hostile + ": "), 0U) << diagnostic_.text();
      ASSERT_EQ(unlink(hostile.c_str()), 0);
    }
  }
  std::ifstream read(target);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(read), {}), "theirs");
  EXPECT_EQ(start(options()), Status::kOk) << diagnostic_.text();
}

// The pipe is put there while a runtime and a client work: neither waits, and only a wake-up is
// lost.
TEST_F(Errors, a_pipe_in_the_place_of_the_bell_holds_up_no_process) {
  ASSERT_EQ(start(options()), Status::kOk);
  open_client();
  ASSERT_EQ(unlink((path_ + "-bell").c_str()), 0);
  ASSERT_EQ(mkfifo((path_ + "-bell").c_str(), 0600), 0);
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("a"), "1"), Status::kOk);
  ASSERT_TRUE(run_until_ended("a"));
  EXPECT_EQ(status("a").output, "1");
  // A pipe in the place of a worker's file holds up no process either.
  ASSERT_EQ(mkfifo((path_ + "-workers/77").c_str(), 0600), 0);
  sql(path_,
      "INSERT INTO workers(inc,node,pid,start_time,boot_seq,lock_visible,locked_until,draining,"
      "buried,any_tag,sessions_max) SELECT 77,'pipe',1,1,boot_seq,1,1,0,0,1,1 FROM meta");
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("b"), "2"), Status::kOk);
  ASSERT_TRUE(run_until_ended("b"));
  EXPECT_EQ(status("b").output, "2");
}

// Other users could put their own files there, so the log warns the operator.
TEST_F(Errors, a_folder_that_others_may_write_is_reported_in_the_log) {
  class Lines final : public LogSink {
   public:
    void write(LogLevel level, std::string_view event, const LogField* fields,
               std::size_t count) noexcept override {
      if (event != "database_folder_open_to_others") return;
      EXPECT_EQ(level, LogLevel::kWarning);
      ASSERT_EQ(count, 1U);
      paths.emplace_back(fields[0].text);
    }
    std::vector<std::string> paths;
  } lines;
  Options given = options();
  given.log = &lines;
  ASSERT_EQ(start(given), Status::kOk);
  EXPECT_TRUE(lines.paths.empty());
  ASSERT_EQ(runtime_->stop(std::chrono::milliseconds(100)), Status::kOk);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  ASSERT_EQ(start(given), Status::kOk);
  EXPECT_EQ(lines.paths, std::vector<std::string>{path_});
  ASSERT_EQ(runtime_->stop(std::chrono::milliseconds(100)), Status::kOk);
}

TEST_F(Errors, read_only_place_is_named) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0555), 0);
  // Root may write everywhere, so the test changes to another user for this call.
  const bool root = geteuid() == 0;
  ASSERT_EQ(seteuid(root ? 65'534 : geteuid()), 0);
  const Status refused = start(options());
  ASSERT_EQ(seteuid(root ? 0 : geteuid()), 0);
  EXPECT_EQ(refused, Status::kReadOnly);
  EXPECT_NE(diagnostic_.text().find(folder_.path()), std::string_view::npos) << diagnostic_.text();
}

TEST_F(Errors, second_process_with_the_same_node_id_is_refused_with_the_pid) {
  Options given = options();
  given.worker_node_id = "gateway-7";
  ASSERT_EQ(start(given), Status::kOk);
  const std::string own_pid = std::to_string(getpid());
  posix::SystemPort other_port;
  Runtime other;
  testing::Block memory(Runtime::required_memory(given));
  Diagnostic diagnostic;
  EXPECT_EQ(other.start(shared_process(), registry_, given, other_port.port(), memory.data(),
                        memory.bytes(), diagnostic),
            Status::kNodeIdInUse);
  EXPECT_NE(std::string(diagnostic.text()).find(own_pid), std::string::npos) << diagnostic.text();
  open_client();
  ASSERT_EQ(client_.start_orchestration("hello", InstanceId("a"), "unharmed"), Status::kOk);
  ASSERT_TRUE(run_until_ended("a"));
  EXPECT_EQ(status("a").output, "unharmed");
}

TEST_F(Errors, files_are_private) {
  ASSERT_EQ(start(options()), Status::kOk);
  for (const char* suffix : {"", "-wal", "-shm", "-bell"}) {
    struct stat found {};
    ASSERT_EQ(stat((path_ + suffix).c_str(), &found), 0) << suffix;
    EXPECT_EQ(found.st_mode & 0777U, 0600U) << suffix;
  }
  struct stat found {};
  ASSERT_EQ(stat((path_ + "-workers").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0700U);
}

}  // namespace
}  // namespace pawl

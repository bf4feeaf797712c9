// Host: what a main() of ten lines relies on.
#include "pawl/host.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "pawl/port_posix.hpp"

namespace pawl {
namespace {

class HostLines final : public LogSink {
 public:
  void write(LogLevel level, std::string_view event, const LogField* fields,
             std::size_t count) noexcept override {
    if (level == LogLevel::kError) errors += std::string(event) + " ";
    text += std::string(event);
    for (std::size_t i = 0; i < count; ++i)
      text += " " + std::string(fields[i].text);
    text += "\n";
  }
  std::string text;
  std::string errors;
};

class HostTest : public ::testing::Test {
 protected:
  // Each test has its own file: tests of one program may run at the same time, in the same folder.
  HostTest()
      : path_(std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
              ".db") {
    remove_files();
    options_.runtime.database_path = path_;
    options_.runtime.log = &lines_;
  }
  ~HostTest() override {
    remove_files();
    EXPECT_EQ(lines_.errors, errors_);
  }

  // Removes the database and the files beside it.
  void remove_files() const {
    std::error_code ignored;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(".", ignored))
      if (entry.path().filename().string().rfind(path_, 0) == 0) files.push_back(entry.path());
    for (const std::filesystem::path& file : files)
      std::filesystem::remove_all(file, ignored);
  }

  const std::string path_;
  HostLines lines_;
  HostOptions options_;
  std::string errors_;  // names of the error events that the test causes
};

ActivityResult says(ActivityContext& ctx) { return ctx.ok("said"); }
ActivityResult sends_term(ActivityContext& ctx) {
  return ::raise(SIGTERM) == 0 ? ctx.ok("") : ctx.fail("raise");
}

// A long activity on its own thread that checks only the flag.
ActivityResult works_long(ActivityContext& ctx) {
  if (ctx.attempt() > 1) return ctx.ok("the second time");
  if (::kill(::getpid(), SIGTERM) != 0) return ctx.fail("kill");
  while (!ctx.is_cancelled())
    std::this_thread::yield();
  return ctx.fail("told to stop");
}
Poll waits_long(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("works_long", ""));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll completes(OrchestrationContext& ctx) {
  PAWL_AWAIT(said, ctx.schedule_activity("says", ""));
  return said.ok() ? ctx.complete(said.value()) : ctx.fail(said.error());
}
Poll fails(OrchestrationContext& ctx) { return ctx.fail("no valve"); }
Poll steps_over(OrchestrationContext& ctx) {
  static_cast<void>(ctx.schedule_activity("says", "").await());
  return ctx.complete("");
}
Poll waits(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("sends_term", ""));
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1)));
  return ctx.complete("");
}

// Never returns, and prints the name under which the system lists its thread.
ActivityResult hangs(ActivityContext& /*ctx*/) {
  char name[16] = {};
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  std::fprintf(stderr, "listed as %s\n", name);
  ::kill(::getpid(), SIGTERM);
  for (;;)
    ::pause();
}
Poll waits_for_hanging(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("hangs", ""));
  return ctx.complete("");
}

using HostDeathTest = HostTest;

TEST_F(HostDeathTest, AThreadThatDoesNotComeBackIsNamedAndTheProgramFails) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  options_.runtime.log = nullptr;
  options_.grace = std::chrono::milliseconds(0);
  const auto end = [&] {
    Host host(options_);
    host.add_orchestration("waits", waits_for_hanging)
        .add_activity("hangs", hangs, ActivityMode::kThreaded);
    ::_exit(host.start_once("waits", InstanceId("one"), "").run());
  };
  EXPECT_EXIT(end(), testing::ExitedWithCode(1),
              "listed as pawl-work-0.*thread_runs.*thread=\"?pawl-work-0.*activity=\"?hangs");
}

TEST_F(HostTest, CompletesOnceAndAnswersZero) {
  for (int times = 0; times < 2; ++times) {
    Host host(options_);
    host.add_orchestration("completes", completes).add_activity("says", says);
    EXPECT_EQ(host.start_once("completes", InstanceId("one"), "").run_until_done("one"), 0)
        << lines_.text;
    EXPECT_EQ(host.status(), Status::kOk);
    EXPECT_EQ(host.runtime().stats().activities_completed, times == 0 ? 1U : 0U);
  }
  EXPECT_EQ(lines_.text.find("host_failed"), std::string::npos) << lines_.text;
}

TEST_F(HostTest, TheFirstErrorStaysAndIsNamed) {
  errors_ = "host_failed ";
  Host host(options_);
  host.add_orchestration("", completes).add_activity("says", says).add_activity("says", says);
  EXPECT_EQ(host.start(), Status::kInvalidArgument);
  EXPECT_EQ(host.start_once("completes", InstanceId("one"), "").run(), 1);
  EXPECT_EQ(host.status(), Status::kInvalidArgument);
  EXPECT_EQ(lines_.text, "host_failed invalid_argument add_orchestration : invalid_argument\n");
  EXPECT_NE(::access(path_.c_str(), F_OK), 0) << "it was not to start";
}

TEST_F(HostTest, AFailedInstanceIsTheExitStatusAndInTheLog) {
  errors_ = "host_failed instance_stopped host_failed ";
  for (const auto& [code, text] : {std::pair{&fails, "failed: application: no valve"},
                                   std::pair{&steps_over, "stopped: await_stepped_over: "}}) {
    ::unlink(path_.c_str());
    lines_.text.clear();
    Host host(options_);
    host.add_orchestration("code", code).add_activity("says", says);
    EXPECT_EQ(host.start_once("code", InstanceId("one"), "").run_until_done("one"), 1);
    EXPECT_NE(lines_.text.find(std::string("run_until_done one: ") + text), std::string::npos)
        << lines_.text;
  }
}

TEST_F(HostTest, NoSuchInstanceNoSuchFolderNoSecondHost) {
  errors_ = "host_failed host_failed ";
  {
    Host host(options_);
    EXPECT_EQ(host.run_until_done("nobody"), 1);
    EXPECT_EQ(host.status(), Status::kNotFound);
  }
  options_.runtime.database_path = "nowhere/host.db";
  Host host(options_);
  EXPECT_EQ(host.run(), 1);
  EXPECT_EQ(host.status(), Status::kCannotOpen) << host.error_text();
  EXPECT_NE(host.error_text().find("nowhere"), std::string_view::npos) << host.error_text();
  options_.runtime.database_path = path_;
  Host second(options_);
  EXPECT_EQ(second.start(), Status::kAlreadyExists) << second.error_text();
}

TEST_F(HostTest, ASignalStopsItInOrderAndItsHandlersGoWithIt) {
  errors_ = "host_failed ";
  Host host(options_);
  host.add_orchestration("waits", waits).add_activity("sends_term", sends_term);
  EXPECT_EQ(host.start_once("waits", InstanceId("one"), "").run(), 0) << lines_.text;
  EXPECT_NE(host.run_until_done("one"), 0) << "it has stopped";
  struct sigaction now = {};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

// A service manager that restarts the program sees a success, and the work goes on as if nothing
// had happened.
TEST_F(HostTest, ASignalReachesAThreadAndItsWorkGoesOnInTheNextProcess) {
  for (const bool is_second : {false, true}) {
    Host host(options_);
    host.add_orchestration("waits_long", waits_long)
        .add_activity("works_long", works_long, ActivityMode::kThreaded);
    host.start_once("waits_long", InstanceId("one"), "");
    EXPECT_EQ(is_second ? host.run_until_done("one") : host.run(), 0) << lines_.text;
  }
  EXPECT_NE(lines_.text.find("activity_handed_back works_long one"), std::string::npos)
      << lines_.text;
  EXPECT_EQ(lines_.text.find("host_failed"), std::string::npos) << lines_.text;
}

TEST_F(HostTest, AnInstanceThatASignalCutsShortIsNotDone) {
  errors_ = "host_failed ";
  Host host(options_);
  host.add_orchestration("waits", waits).add_activity("sends_term", sends_term);
  EXPECT_EQ(host.start_once("waits", InstanceId("one"), "").run_until_done("one"), 1);
  EXPECT_EQ(host.status(), Status::kStopped);
  EXPECT_NE(host.error_text().find("stopped before it was done"), std::string_view::npos);
}

// Options may be set after the Host exists, because a listener among them needs the Host's clock.
TEST_F(HostTest, OptionsMayChangeUntilItStartsAndSmallOnesFit) {
  Host host("another.db");
  host.options().process = ProcessOptions::small();
  host.options().runtime = Options::small();
  host.options().runtime.log = &lines_;
  host.options().runtime.database_path = path_;
  EXPECT_LT(Process::required_memory(host.options().process), 1'400'000U);
  EXPECT_LT(Runtime::required_memory(host.options().runtime), 800'000U);
  host.add_orchestration("completes", completes).add_activity("says", says);
  EXPECT_EQ(host.start_once("completes", InstanceId("one"), "").run_until_done("one"), 0)
      << lines_.text;
  EXPECT_EQ(::access(path_.c_str(), F_OK), 0);
}

// The program has its own database, which outlives one Host and is used during the next.
TEST_F(HostTest, ADatabaseOfTheProgramOutlivesIt) {
  sqlite3* own = nullptr;
  for (int round = 0; round < 2; ++round) {
    Host host(options_);
    host.add_orchestration("completes", completes).add_activity("says", says);
    const std::string id = "one" + std::to_string(round);
    ASSERT_EQ(host.start(), Status::kOk) << host.error_text();
    if (own == nullptr) {
      ASSERT_EQ(sqlite3_open(":memory:", &own), SQLITE_OK);
    }
    EXPECT_EQ(host.start_once("completes", InstanceId(id), "").run_until_done(id), 0)
        << lines_.text;
  }
  EXPECT_EQ(
      sqlite3_exec(own, "CREATE TABLE t(a); INSERT INTO t VALUES(1)", nullptr, nullptr, nullptr),
      SQLITE_OK);
  EXPECT_EQ(sqlite3_close(own), SQLITE_OK);
}

TEST_F(HostTest, AStartThatIsRefusedEndsTheRun) {
  errors_ = "host_failed ";
  Host host(options_);
  host.start_once("completes", InstanceId("a::b"), "");
  EXPECT_EQ(host.run(), 1);
  EXPECT_EQ(host.status(), Status::kInvalidArgument) << host.error_text();
}

// Takes messages without end, fifty in each execution.
Poll takes_messages(OrchestrationContext& ctx) {
  for (int i = 0; i < 50; ++i)
    PAWL_AWAIT_DONE(ctx.dequeue_event("q"));
  return ctx.continue_as_new("");
}

class KeyFrames : public HostTest {
 protected:
  KeyFrames() {
    // Without flushes nothing pads the log, and nothing is written back, so its length counts
    // frames.
    options_.runtime.synchronous_full = false;
    options_.runtime.space.checkpoint_pages = 8'000;
    options_.runtime.limits.requests_max = 300;  // all starts wait for the loop to begin
  }
  // Sends `count` messages to each of `instances`, each when the one before was taken. Returns how
  // many frames the log has for one.
  double frames_of_a_message(int instances, int count, bool with_key) {
    remove_files();
    Host host(options_);
    host.add_orchestration("takes_messages", takes_messages);
    const auto id = [](int i) { return "i" + std::to_string(i); };
    for (int i = 0; i < instances; ++i)
      host.start_once("takes_messages", InstanceId(id(i)), "");
    EXPECT_EQ(host.start(), Status::kOk) << host.error_text();
    const auto settle = [&] {
      while (host.runtime().tick(std::chrono::milliseconds(0)).value_or(false)) {
      }
    };
    settle();
    const std::filesystem::path log = path_ + "-wal";
    const auto before = std::filesystem::file_size(log);
    for (int i = 0; i < instances * count; ++i) {
      const std::string key = "0123456789abcdef-0123456789-" + std::to_string(10'000'000 + i);
      SendOptions how;
      if (with_key) how.key = key;
      EXPECT_EQ(host.runtime().enqueue_event(id(i % instances), "q", "message", how), Status::kOk);
      settle();
    }
    constexpr double kFrameBytes = 24 + 512;
    return static_cast<double>(std::filesystem::file_size(log) - before) / kFrameBytes /
           (instances * count);
  }
};

TEST_F(KeyFrames, AKeyCostsLessThanOneFrame) {
  for (const auto& [instances, count] : {std::pair(1, 10), std::pair(1, 300), std::pair(20, 40),
                                         std::pair(100, 4), std::pair(300, 3)}) {
    const double without = frames_of_a_message(instances, count, false);
    const double with = frames_of_a_message(instances, count, true);
    EXPECT_GT(with, without);
    EXPECT_LE(with, without + 1.0) << instances << " instances, " << count << " messages";
  }
}

constexpr std::size_t kCallers = 4;

// Answers calls until each caller has sent "end", and leaves those unanswered. Its input is the
// ends that executions before it received.
Poll answers_calls(OrchestrationContext& ctx) {
  std::string ends(ctx.input());
  for (int i = 0; i < 50; ++i) {
    const Handle handle = ctx.dequeue_event("q");
    PAWL_AWAIT(message, handle);
    if (!message.ok()) return ctx.fail(message.error());
    if (message.value() == "end")
      ends += '.';
    else if (ctx.reply(handle, message.value()) != ErrorKind::kNone)
      return ctx.fail("not answered");
    if (ends.size() == kCallers) return ctx.complete("");
  }
  return ctx.continue_as_new(ends);
}

// Callers on other threads sleep until the loop of this one has answered them, or has ended what
// they called.
TEST_F(HostTest, ACallSleepsUntilItIsAnswered) {
  options_.process.connections_max = 5;
  Host host(options_);
  host.add_orchestration("answers_calls", answers_calls)
      .start_once("answers_calls", InstanceId("a"), "");
  ASSERT_EQ(host.start(), Status::kOk) << host.error_text();
  // The loop stores the start.
  const auto has_begun = [](void* of) noexcept {
    return static_cast<Host*>(of)->runtime().stats().turns > 0;
  };
  ASSERT_EQ(host.runtime().run_for(std::chrono::minutes(1), has_begun, &host), Status::kOk);
  std::vector<std::string> answers(kCallers);
  std::atomic<std::size_t> left{answers.size()};
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < answers.size(); ++caller)
    callers.emplace_back([&, caller] {
      ClientOptions options;
      options.database_path = path_;
      std::vector<std::max_align_t> block(
          Client::required_memory(options) / sizeof(std::max_align_t) + 1);
      posix::SystemPort port;
      Client client;
      Diagnostic why;
      EXPECT_EQ(client.open(host.process(), options, port.port(), block.data(),
                            block.size() * sizeof(std::max_align_t), why),
                Status::kOk)
          << why.text();
      for (int i = 0; i < 20; ++i) {
        CallAnswer answer;
        const std::string text = std::to_string(caller) + "." + std::to_string(i);
        EXPECT_EQ(client.call("a", "q", text, std::chrono::minutes(1), &answer), Status::kOk)
            << client.error_text();
        EXPECT_EQ(std::string_view(answer.value), text);
      }
      CallAnswer none;
      const Status last = client.call("a", "q", "end", std::chrono::minutes(1), &none);
      answers[caller] = status_name(last);
      --left;
      host.runtime().wake();
    });
  const auto are_done = [](void* of) noexcept {
    return static_cast<std::atomic<std::size_t>*>(of)->load() == 0;
  };
  EXPECT_EQ(host.runtime().run_for(std::chrono::minutes(5), are_done, &left), Status::kOk);
  for (std::thread& caller : callers)
    caller.join();
  for (const std::string& answer : answers)
    EXPECT_EQ(answer, "stale") << "the end is the answer";
}

}  // namespace
}  // namespace pawl

#include "image.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pawl::hostile {
namespace {

using std::chrono::milliseconds;
using testing::Block;
using testing::Worker;

bool g_holds = true;                          // work does not end, or fails
bool g_is_newer = false;                      // the code of "changes" is not what its history says
std::map<std::string, std::string> g_tokens;  // of "ask", the last of each input

// ---- activities ----

ActivityResult note(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

struct Nothing {};

ActivityStep hold(ActivityContext& ctx, Nothing&) {
  static_cast<void>(ctx.heartbeat("half"));
  if (g_holds) return ctx.again_after(std::chrono::seconds(1));
  return ctx.ok("held");
}

ActivityStep slow(ActivityContext& ctx, std::int64_t& steps) {
  return ++steps == 2 ? ActivityStep(ctx.ok("slow")) : ctx.again_after(std::chrono::seconds(8));
}

ActivityResult flaky(ActivityContext& ctx) {
  static_cast<void>(ctx.heartbeat("tried"));
  return g_holds ? ctx.fail("no luck") : ctx.ok("luck");
}

ActivityResult second_time(ActivityContext& ctx) {
  return ctx.retry_attempt() == 1 ? ctx.fail("once") : ctx.ok("twice");
}

ActivityResult ask(ActivityContext& ctx) {
  g_tokens[std::string(ctx.input())] = std::string(ctx.completion_token().view());
  return ctx.complete_later(ctx.input() == "holds" ? WhileOutside::kHoldsSession
                                                   : WhileOutside::kFreesSession);
}

// ---- instances that wait ----

Poll sleeps(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(120'000)));
  return ctx.complete("slept");
}

Poll sleeps_for_ever(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(24 * 400)));
  return ctx.complete("slept");
}

Poll sleeps_until(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer_at(1'800'000'130'000));
  return ctx.complete("slept");
}

// Waits for two queues, so that a message of one of them stays.
Poll waits(OrchestrationContext& ctx) {
  static_cast<void>(ctx.set_custom_status("waiting"));
  const Handle event = ctx.schedule_wait("go");
  PAWL_AWAIT(taken, ctx.dequeue_event("first"));
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(100'000)));
  PAWL_AWAIT_DONE(event);
  PAWL_AWAIT(last, ctx.dequeue_event("last"));
  return ctx.complete(last.value());
}

Poll retries(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry.max_attempts = 1'000;
  options.retry.backoff = Backoff::kExponential;
  options.retry.base = std::chrono::seconds(20);
  options.retry.jitter_percent = 10;
  options.start_to_close = std::chrono::seconds(50);
  options.schedule_to_close = std::chrono::seconds(3'600);
  options.heartbeat_timeout = std::chrono::seconds(40);
  PAWL_AWAIT(done, ctx.schedule_activity("flaky", "in", options));
  return ctx.complete(done.value());
}

Poll holds(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.start_to_close = std::chrono::seconds(3'000);
  options.schedule_to_start = std::chrono::seconds(2'000);
  options.heartbeat_timeout = std::chrono::seconds(1'000);
  PAWL_AWAIT(done, ctx.schedule_activity("hold", "in", options));
  return ctx.complete(done.value());
}

// Its results come while it is suspended.
Poll gathers(OrchestrationContext& ctx) {
  const Handle all[] = {ctx.schedule_activity("slow", ""),
                        ctx.schedule_sub_orchestration("naps", ""),
                        ctx.schedule_timer(milliseconds(8'000))};
  for (const Handle& one : all)
    PAWL_AWAIT_DONE(one);
  return ctx.complete("");
}

Poll naps(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(8'000)));
  return ctx.complete("");
}

Poll asks(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::exclusive_session("x3");
  options.retry.max_attempts = 2;
  options.start_to_close = std::chrono::seconds(200);
  options.heartbeat_timeout = std::chrono::seconds(150);
  const Handle all[] = {ctx.schedule_activity("ask", "answered"),
                        ctx.schedule_activity("ask", "frees", options),
                        ctx.schedule_activity("ask", "holds", options),
                        ctx.schedule_activity("note", "behind it", options)};
  for (const Handle& one : all)
    PAWL_AWAIT_DONE(one);
  return ctx.complete("");
}

// ---- work that no worker takes ----

Poll asks_for_unknown_work(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("nobody knows", "in"));
  return ctx.complete("");
}

Poll asks_for_unserved_tag(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.tag = "unserved";
  options.schedule_to_start = std::chrono::seconds(400);
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "in", options));
  return ctx.complete("");
}

Poll asks_for_absent_device(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::concurrent_device("absent", std::chrono::seconds(200));
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "in", options));
  return ctx.complete("");
}

// ---- sessions ----

// Uses the shared session that the input names: one activity runs on, others wait behind it.
Poll uses_session(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "0", Target::session(ctx.input())));
  static_cast<void>(ctx.hold_session(ctx.input(), std::chrono::seconds(60)));
  const Handle first = ctx.schedule_activity("hold", "1", Target::session(ctx.input()));
  ActivityOptions options;
  options.target = Target::session(ctx.input()).barrier();
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", options));
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "3", Target::session(ctx.input())));
  PAWL_AWAIT_DONE(first);
  return ctx.complete("");
}

Poll visits_session(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "0", Target::session(ctx.input())));
  return ctx.complete("");
}

// The running activity is cancelled, and its row stays for as long as it runs.
Poll leaves_cancelled_running(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::exclusive_session(ctx.input());
  const Handle cancelled = ctx.schedule_activity("hold", "1", options);
  const Handle next = ctx.schedule_activity("note", "2", options);
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(2'000)));
  ctx.cancel(cancelled);
  PAWL_AWAIT_DONE(next);
  return ctx.complete("");
}

Poll uses_device(OrchestrationContext& ctx) {
  const Handle first = ctx.schedule_activity("hold", "1", Target::device(kDevice));
  const Handle second = ctx.schedule_activity("note", "2", Target::device(kDevice));
  PAWL_AWAIT_DONE(first);
  PAWL_AWAIT_DONE(second);
  return ctx.complete("");
}

SessionSettings rich_settings() {
  SessionSettings settings;
  settings.owner_label = "alice";
  settings.kind = "agent";
  settings.notify = true;
  settings.max_age = std::chrono::seconds(300);
  settings.expiry_notice = std::chrono::seconds(60);
  settings.max_activities = 100;
  settings.activity_warning = 3;
  settings.rate_interval = std::chrono::seconds(5);
  settings.rate_burst = 2;
  settings.rate_wait = std::chrono::seconds(60);
  return settings;
}

Poll opens_session(OrchestrationContext& ctx) {
  const Session session = ctx.open_session("rich", rich_settings());
  for (int i = 0; i < 3; ++i)
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
  static_cast<void>(ctx.handoff_session(session, "gpu", "so far"));
  const Handle work[] = {ctx.schedule_activity("hold", "2", Target::own(session)),
                         ctx.schedule_activity("note", "3", Target::own(session)),
                         ctx.schedule_activity("note", "4", Target::own(session))};
  for (const Handle& one : work)
    PAWL_AWAIT_DONE(one);
  return ctx.complete("");
}

// The session ends while its work runs: closed, expired, lost with the owner, or one too many.
Poll ends_session(OrchestrationContext& ctx) {
  SessionSettings settings;
  settings.exclusive = true;
  settings.notify = true;
  if (ctx.input() == "expires") settings.max_age = std::chrono::seconds(10);
  if (ctx.input() == "is lost") settings.fail_on_loss = true;
  const Session session = ctx.open_session("one", settings);
  const Handle work = ctx.schedule_activity("hold", "1", Target::own(session));
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(2'000)));
  if (ctx.input() == "closes") static_cast<void>(ctx.close_session("one"));
  if (ctx.input() == "too many") {
    static_cast<void>(ctx.open_session("two"));
    const Session refused = ctx.open_session("three");
    PAWL_AWAIT_DONE(ctx.schedule_activity("note", "2", Target::own(refused)));
  }
  PAWL_AWAIT_DONE(work);
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(100'000)));
  return ctx.complete("");
}

Poll opens_briefly(OrchestrationContext& ctx) {
  const Session session = ctx.open_session();
  PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1", Target::own(session)));
  static_cast<void>(ctx.close_session(session.id()));
  return ctx.complete("");
}

// ---- trees, executions, values ----

Poll has_children(OrchestrationContext& ctx) {
  const Handle sleeper = ctx.schedule_sub_orchestration("sleeps", "");
  const Handle named = ctx.schedule_sub_orchestration("waits", "", {InstanceId("named child")});
  const Handle unknown = ctx.schedule_sub_orchestration("nobody knows", "");
  PAWL_AWAIT_DONE(ctx.schedule_sub_orchestration("ends", ""));
  static_cast<void>(ctx.start_orchestration("sleeps", InstanceId("detached"), ""));
  PAWL_AWAIT_DONE(sleeper);
  ctx.cancel(named);
  PAWL_AWAIT_DONE(unknown);
  return ctx.complete("");
}

Poll goes_on(OrchestrationContext& ctx) {
  static_cast<void>(ctx.set_kv_value("count", ctx.input()));
  static_cast<void>(ctx.set_kv_value("input " + std::string(ctx.input()), "kept"));
  static_cast<void>(ctx.set_custom_status(ctx.input()));
  if (ctx.input().size() < 3) return ctx.continue_as_new(std::string(ctx.input()) + "i");
  static_cast<void>(ctx.clear_kv_value("input i"));
  PAWL_AWAIT(other, ctx.get_kv_value_from_instance("waits", "none"));
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(110'000)));
  static_cast<void>(ctx.set_kv_value("count", "after"));
  const std::string count = std::to_string(ctx.get_kv_length());
  return ctx.complete(count);
}

Poll ends(OrchestrationContext& ctx) { return ctx.complete(ctx.input()); }
Poll fails(OrchestrationContext& ctx) { return ctx.fail("as it should"); }

Poll changes(OrchestrationContext& ctx) {
  if (g_is_newer) PAWL_AWAIT_DONE(ctx.schedule_activity("note", "1"));
  PAWL_AWAIT_DONE(ctx.schedule_wait("go"));
  return ctx.complete("");
}

// ---- healthy neighbours ----

Poll n_activity(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_activity("note", "hello"));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll n_timer(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(1'000)));
  return ctx.complete("");
}

Poll n_retry(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.retry.max_attempts = 3;
  options.retry.base = std::chrono::milliseconds(500);
  PAWL_AWAIT(done, ctx.schedule_activity("second time", "", options));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll n_session(OrchestrationContext& ctx) {
  PAWL_AWAIT(one, ctx.schedule_activity("note", "1", Target::session("n-shared")));
  PAWL_AWAIT(two, ctx.schedule_activity("note", "2", Target::session("n-shared")));
  return one.ok() && two.ok() ? ctx.complete("") : ctx.fail(two.error());
}

Poll n_opened(OrchestrationContext& ctx) {
  const Session session = ctx.open_session();
  PAWL_AWAIT(done, ctx.schedule_activity("note", "1", Target::own(session)));
  static_cast<void>(ctx.close_session(session.id()));
  return done.ok() ? ctx.complete("") : ctx.fail(done.error());
}

Poll n_queue(OrchestrationContext& ctx) {
  PAWL_AWAIT(message, ctx.dequeue_event("q"));
  return ctx.complete(message.value());
}

Poll n_child(OrchestrationContext& ctx) {
  PAWL_AWAIT(done, ctx.schedule_sub_orchestration("ends", "out"));
  return done.ok() ? ctx.complete(done.value()) : ctx.fail(done.error());
}

Poll n_tag(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.tag = "gpu";
  PAWL_AWAIT(done, ctx.schedule_activity("note", "1", options));
  return done.ok() ? ctx.complete("") : ctx.fail(done.error());
}

Poll n_exclusive(OrchestrationContext& ctx) {
  ActivityOptions options;
  options.target = Target::exclusive_session("n-exclusive");
  const Handle one = ctx.schedule_activity("note", "1", options);
  PAWL_AWAIT(two, ctx.schedule_activity("note", "2", options));
  PAWL_AWAIT_DONE(one);
  return two.ok() ? ctx.complete("") : ctx.fail(two.error());
}

Poll n_values(OrchestrationContext& ctx) {
  if (ctx.input().empty()) {
    static_cast<void>(ctx.set_kv_value("k", "v"));
    return ctx.continue_as_new("next");
  }
  PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(100)));
  return ctx.get_kv_value("k").has_value() ? ctx.complete("") : ctx.fail("no value");
}

struct Code {
  const char* name;
  Orchestration function;
};

constexpr Code kCode[] = {
    {"sleeps", sleeps},
    {"sleeps for ever", sleeps_for_ever},
    {"sleeps until", sleeps_until},
    {"waits", waits},
    {"retries", retries},
    {"holds", holds},
    {"gathers", gathers},
    {"asks", asks},
    {"naps", naps},
    {"asks for unknown work", asks_for_unknown_work},
    {"asks for unserved tag", asks_for_unserved_tag},
    {"asks for absent device", asks_for_absent_device},
    {"uses session", uses_session},
    {"visits session", visits_session},
    {"leaves ghost", leaves_cancelled_running},
    {"uses device", uses_device},
    {"opens session", opens_session},
    {"ends session", ends_session},
    {"opens briefly", opens_briefly},
    {"has children", has_children},
    {"goes on", goes_on},
    {"ends", ends},
    {"fails", fails},
    {"changes", changes},
    {"n-activity", n_activity},
    {"n-timer", n_timer},
    {"n-retry", n_retry},
    {"n-session", n_session},
    {"n-opened", n_opened},
    {"n-queue", n_queue},
    {"n-child", n_child},
    {"n-tag", n_tag},
    {"n-exclusive", n_exclusive},
    {"n-values", n_values},
    {"n-ride", n_activity},
};

struct Start {
  const char* id;
  const char* name;
  const char* input;
};

constexpr Start kStarts[] = {
    {"sleeps", "sleeps", ""},
    {"sleeps for ever", "sleeps for ever", ""},
    {"sleeps until", "sleeps until", ""},
    {"waits", "waits", ""},
    {"retries", "retries", ""},
    {"holds", "holds", ""},
    {"unknown", "nobody knows", ""},
    {"unknown work", "asks for unknown work", ""},
    {"unserved tag", "asks for unserved tag", ""},
    {"absent device", "asks for absent device", ""},
    {"on s1", "uses session", "s1"},
    {"on s2", "uses session", "s2"},
    {"on idle", "visits session", "idle"},
    {"ghost", "leaves ghost", "x1"},
    {"device", "uses device", ""},
    {"rich", "opens session", ""},
    {"closes", "ends session", "closes"},
    {"expires", "ends session", "expires"},
    {"is lost", "ends session", "is lost"},
    {"too many", "ends session", "too many"},
    {"brief", "opens briefly", ""},
    {"tree", "has children", ""},
    {"goes on", "goes on", ""},
    {"ended", "ends", "out"},
    {"failed", "fails", ""},
    {"changes", "changes", ""},
    {"terminated", "sleeps", ""},
    {"suspended", "gathers", ""},
    {"cancelled", "holds", ""},
    {"asks", "asks", ""},
};

// The client of an image, which lives as long as its machine has not rebooted.
struct ImageClient {
  ImageClient(sim::Machine& machine, Process& process)
      : node(machine), memory(Client::required_memory(options())) {
    Diagnostic diagnostic;
    EXPECT_EQ(
        client.open(process, options(), node.port(), memory.data(), memory.bytes(), diagnostic),
        Status::kOk)
        << diagnostic.text();
  }
  static ClientOptions options() {
    ClientOptions out;
    out.database_path = kPath;
    return out;
  }
  sim::Node node;
  Block memory;
  Client client;
};

class ImageMaker {
 public:
  ImageMaker(Process& process, sim::Machine& machine) : process_(process), machine_(machine) {
    machine_.set_wall(1'800'000'000'000);
    machine_.set_synced(true);
  }

  void run(Ending ending) {
    testing::expect_errors("activity_unregistered");  // instance "unknown work"
    testing::expect_errors("instance_stopped");       // instance "changes"
    g_holds = true;
    g_is_newer = false;
    start_worker("a", &a_);
    start_worker("b", &b_);
    declare();
    client_ = std::make_unique<ImageClient>(machine_, process_);
    begin_instances();
    pass(5'000);
    send();
    pass(30'000);
    a_->kill();
    g_is_newer = true;
    pass(3'000);
    start_worker("a", &a_);
    declare_standby(*a_);
    pass(20'000);
    send_late();
    pass(3'000);
    end(ending);
  }

 private:
  void start_worker(const char* node, std::unique_ptr<Worker>* worker) {
    Options options = options_of(node);
    options.timing.activity_grace = std::chrono::seconds(3'600);
    // Nothing is removed while the image is made.
    options.retention.age = std::chrono::milliseconds(0);
    options.sessions.session_cleanup_interval = std::chrono::seconds(3'600);
    *worker = std::make_unique<Worker>(machine_, known_code(), options);
    EXPECT_EQ((*worker)->start(&process_), Status::kOk) << (*worker)->diagnostic.text();
  }
  void declare() {
    EXPECT_EQ(a_->runtime->declare_session(kDevice, false), Status::kOk);
    declare_standby(*b_);
    EXPECT_EQ(b_->runtime->declare_session("unused", false), Status::kOk);
  }
  static void declare_standby(Worker& worker) {
    EXPECT_EQ(worker.runtime->declare_session(kDevice, true), Status::kOk);
  }
  void pass(std::int64_t ms) {
    static_cast<void>(testing::drive(
        machine_, {a_.get(), b_.get()}, [] { return false; }, ms));
  }
  void must(Status status) { EXPECT_EQ(status, Status::kOk) << client().error_text(); }
  Client& client() { return client_->client; }

  void begin_instances() {
    for (const Start& start : kStarts)
      must(client().start_orchestration(start.name, InstanceId(start.id), start.input));
    StartOptions later;
    later.start_after = std::chrono::seconds(90);
    must(client().start_orchestration("ends", InstanceId("delayed"), "", later));
  }
  void send() {
    must(client().enqueue_event("waits", "last", "early"));
    must(client().enqueue_event("waits", "first", "one"));
    must(client().enqueue_event("waits", "nobody asks", "two"));
    must(client().raise_event("waits", "go", "went"));
    // With that of the call below, two rows of keys, and one key that waits for a row.
    for (int i = 0; i < 8; ++i) {
      const std::string key = "key " + std::to_string(i);
      SendOptions keyed;
      keyed.key = key;
      must(client().enqueue_event("waits", "nobody asks", key, keyed));
    }
    CallAnswer answer;
    if (client().call("waits", "nobody asks", "call", std::chrono::milliseconds(0), &answer) !=
        Status::kTimeout)
      must(Status::kIo);
    must(client().suspend_instance("terminated"));
    must(client().suspend_instance("suspended"));
    must(client().change_time_limit("suspended", std::chrono::hours(24)));
    must(client().cancel_instance("cancelled", "enough"));
    must(client().set_quota(std::int64_t{1} << 30));
    must(client().complete_activity(g_tokens["answered"], "yes"));
  }
  // Sends what the workers do not come to any more, and what lasts for long.
  void send_late() {
    must(client().raise_event("changes", "go", ""));
    must(client().start_orchestration("leaves ghost", InstanceId("late ghost"), "x2"));
    must(client().start_orchestration("ends session", InstanceId("closes late"), "closes"));
    must(
        client().transfer_session("s2", "", TransferOptions{std::chrono::seconds(600), false, {}}));
  }

  void end(Ending ending) {
    if (ending == Ending::kStopped) {
      EXPECT_EQ(b_->runtime->stop(std::chrono::seconds(1)), Status::kOk);
      EXPECT_EQ(a_->runtime->stop(std::chrono::seconds(1)), Status::kOk);
    }
    // Calls of a client that no worker has seen.
    must(client().start_orchestration("n-activity", InstanceId("last minute"), ""));
    must(client().enqueue_event("waits", "last", "late"));
    must(client().cancel_instance("holds", "too late"));
    must(client().terminate_instance("terminated", "no more"));
    client_ = nullptr;
    if (ending != Ending::kStopped) {
      a_->kill();
      b_->kill();
    }
    a_ = nullptr;
    b_ = nullptr;
    if (ending == Ending::kRebooted) machine_.reboot(600'000, false);
  }

  Process& process_;
  sim::Machine& machine_;
  std::unique_ptr<Worker> a_;
  std::unique_ptr<Worker> b_;
  std::unique_ptr<ImageClient> client_;
};

Registry filled() {
  Registry registry;
  for (const Code& code : kCode)
    EXPECT_EQ(registry.add_orchestration(code.name, code.function), Status::kOk);
  EXPECT_EQ(registry.add_activity("note", note), Status::kOk);
  EXPECT_EQ(registry.add_activity("flaky", flaky), Status::kOk);
  EXPECT_EQ(registry.add_activity("ask", ask), Status::kOk);
  EXPECT_EQ(registry.allow_complete_later("ask"), Status::kOk);
  EXPECT_EQ(registry.add_activity("second time", second_time), Status::kOk);
  EXPECT_EQ(registry.add_cooperative("hold", hold), Status::kOk);
  EXPECT_EQ(registry.add_cooperative("slow", slow), Status::kOk);
  return registry;
}

}  // namespace

std::vector<std::string> outside_tokens() {
  std::vector<std::string> out;
  for (const auto& [input, token] : g_tokens)
    out.push_back(token);
  return out;
}

const char* ending_name(Ending ending) {
  switch (ending) {
    case Ending::kStopped: return "stopped";
    case Ending::kKilled: return "killed";
    case Ending::kRebooted: return "rebooted";
  }
  return "";
}

Options options_of(const char* node) {
  Options out;
  out.database_path = kPath;
  out.worker_node_id = node;
  out.worker_tag_filter = TagFilter::default_and({"gpu"});
  out.slots.cooperative = 64;
  out.timing.heartbeat_interval = std::chrono::seconds(1);
  out.sessions.max_sessions_per_worker = 64;
  out.sessions.max_sessions_per_orchestration = 2;
  out.sessions.max_sessions_per_owner = 10;
  // Short times, so that all that goes by itself goes within the minutes of a case.
  out.sessions.session_idle_timeout = std::chrono::seconds(60);
  out.sessions.session_cleanup_interval = std::chrono::seconds(30);
  out.sessions.leak_open = std::chrono::seconds(60);
  out.sessions.leak_unused = std::chrono::seconds(30);
  out.retention.age = std::chrono::seconds(200);
  out.retention.executions = 2;
  out.timing.cancel_grace = std::chrono::seconds(5);
  out.timing.activity_grace = std::chrono::seconds(5);
  // Little memory: a case begins with a process of its own.
  out.limits.batch = 32;
  out.limits.warm_instances = 64;
  out.limits.warm_bytes = 512 * 1024;
  out.space.checkpoint_pages = 200;
  out.space.reserve_bytes = 256 * 1024;
  out.slots.threads = 0;
  return out;
}

void make_image(Ending ending, Process& process, sim::Machine& machine) {
  ImageMaker(process, machine).run(ending);
}

void let_work_end() { g_holds = false; }

const Registry& known_code() {
  static const Registry registry = filled();
  return registry;
}

}  // namespace pawl::hostile

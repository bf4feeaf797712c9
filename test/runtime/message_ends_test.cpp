// Goal: a message whose sender was answered kOk is received, unread, or gone with its instance: at
// every moment of the turn in which the instance ends, for a sender of any process, and with kills.
// Method: whole runtimes on the simulated machine. The code itself lets others send while its turn
// runs, from another process or by calls of the same Runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "pawl/visit.hpp"
#include "story.hpp"

namespace pawl {
namespace {

using testing::KeptEvent;
using testing::Story;
using testing::TestClient;
using testing::Worker;
using testing::World;
using testing::WorldOptions;

// Happens while the code runs, one thing in each turn.
std::function<void()> g_meanwhile = [] {};

// Receives all messages that wait, and ends.
Poll drains(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  g_meanwhile();
  std::string all;
  for (;;) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    if (!message.ok()) break;
    all += std::string(message.value()) + ",";
  }
  return ctx.input() == "fail" ? ctx.fail(all) : ctx.complete(all);
}

// Ends in its first turn, and receives the messages of that turn.
Poll drains_at_once(OrchestrationContext& ctx) {
  g_meanwhile();
  std::string all;
  for (;;) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    if (!message.ok()) return ctx.complete(all);
    all += std::string(message.value()) + ",";
  }
}

// Receives nothing.
Poll deaf(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  g_meanwhile();
  return ctx.complete("deaf");
}

Poll deaf_for_ever(OrchestrationContext& ctx) {
  for (;;)
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::hours(1'000)));
}

// Makes more calls than one turn may.
Poll deaf_without_bound(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(2)));
  for (int i = 0; i < 10'000; ++i)
    static_cast<void>(ctx.new_guid());
  return ctx.complete("never");
}

// Completes with the event, if the event comes before the timer.
Poll hears(OrchestrationContext& ctx) {
  const Handle event = ctx.schedule_wait("go");
  const Handle timer = ctx.schedule_timer(std::chrono::seconds(1));
  PAWL_AWAIT(first, ctx.select(event, timer));
  g_meanwhile();
  return ctx.complete(first.index() == 0 ? first.value() : "none");
}

Poll goes_on(OrchestrationContext& ctx) {
  PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
  if (ctx.execution_id() == 1) g_meanwhile();
  return ctx.execution_id() < 2 ? ctx.continue_as_new("") : ctx.complete("new");
}

bool g_is_mended = false;
ActivityResult bad(ActivityContext& ctx) { return g_is_mended ? ctx.ok("") : ctx.fail("jammed"); }

// Has two dequeues open while its activity fails; the message that one of them was given goes back.
Poll fails_with_open_waits(OrchestrationContext& ctx) {
  const Handle first = ctx.dequeue_event("q");
  const Handle second = ctx.dequeue_event("q");
  PAWL_AWAIT(done, ctx.schedule_activity("bad", ""));
  if (!done.ok()) return ctx.fail(done.error());
  PAWL_AWAIT(one, first);
  PAWL_AWAIT(two, second);
  std::string all = std::string(one.value()) + "," + std::string(two.value()) + ",";
  for (;;) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    if (!message.ok()) return ctx.complete(all);
    all += std::string(message.value()) + ",";
  }
}

Poll fails_first(OrchestrationContext& ctx) {
  if (ctx.execution_id() == 1) {
    PAWL_AWAIT_DONE(ctx.schedule_timer(std::chrono::seconds(1)));
    return ctx.fail("first");
  }
  PAWL_CALL(drains(ctx));
  return Poll::done();
}

Poll parent(OrchestrationContext& ctx) {
  PAWL_AWAIT(child, ctx.schedule_sub_orchestration("deaf", "", {InstanceId("child")}));
  return ctx.complete(child.value());
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t step) {
  std::uint64_t all = seed * 0x9e3779b97f4a7c15U + step * 0xbf58476d1ce4e5b9U;
  all = (all ^ (all >> 29U)) * 0x94d049bb133111ebU;
  return all ^ (all >> 32U);
}

ActivityResult echo(ActivityContext& ctx) { return ctx.ok(ctx.input()); }

// Takes some steps that its input chooses, and then one of several ends. "drained": no dequeue was
// open, and it received all messages that waited.
Poll wanders(OrchestrationContext& ctx) {
  using std::chrono::milliseconds;
  const std::uint64_t seed = std::stoull(std::string(ctx.input()));
  bool leaves_open = false;
  for (std::uint64_t step = 0; step < 5; ++step) {
    switch (mixed(seed, step) % 7) {
      case 0:
        PAWL_AWAIT_DONE(ctx.select(ctx.dequeue_event("q"), ctx.schedule_timer(milliseconds(50))));
        break;
      case 1:
        static_cast<void>(ctx.dequeue_event("q"));
        leaves_open = true;
        break;
      case 2:
        PAWL_AWAIT_DONE(ctx.select(ctx.schedule_wait("go"), ctx.schedule_timer(milliseconds(30))));
        break;
      case 3: {
        PAWL_AWAIT(done, ctx.schedule_activity(mixed(seed, step) % 2 == 0 ? "bad" : "echo", "x"));
        if (!done.ok()) return ctx.fail(done.error());
        break;
      }
      case 4: PAWL_AWAIT_DONE(ctx.try_dequeue_event("q")); break;
      default: PAWL_AWAIT_DONE(ctx.schedule_timer(milliseconds(20))); break;
    }
    g_meanwhile();
  }
  const std::uint64_t end = mixed(seed, 99) % 6;
  if (end == 0) return ctx.continue_as_new(std::to_string(mixed(seed, 100) % 1'000'000));
  bool drained = end > 2 && !leaves_open;
  while (drained) {
    PAWL_AWAIT(message, ctx.try_dequeue_event("q"));
    if (message.ok()) continue;
    drained = !message.cancelled();
    break;
  }
  const char* const text = drained ? "drained" : "plain";
  return end % 2 == 0 ? ctx.fail(text) : ctx.complete(text);
}

class MessageEnds : public Story {
 protected:
  void SetUp() override {
    g_meanwhile = [this] {
      const std::uint64_t turn = workers.back()->runtime->stats().turns;
      if (plan.empty() || turn == last_turn) return;
      last_turn = turn;
      const std::function<void()> now = plan.front();
      plan.pop_front();
      now();
    };
    g_is_mended = false;
    add("drains", drains);
    add("drains_at_once", drains_at_once);
    add("deaf", deaf);
    add("deaf_for_ever", deaf_for_ever);
    add("deaf_without_bound", deaf_without_bound);
    add("hears", hears);
    add("goes_on", goes_on);
    add("fails_with_open_waits", fails_with_open_waits);
    add("fails_first", fails_first);
    add("parent", parent);
    add("bad", bad);
  }
  void TearDown() override {
    g_meanwhile = [] {};
  }

  void send(std::string_view id, std::string_view text) {
    enqueue_event(id, "q", text);
    ++sent;
  }
  void meanwhile(const std::function<void()>& what) { plan.push_back(what); }
  void send_meanwhile(const std::string& text) {
    meanwhile([this, text] { send("a", text); });
  }
  // Sends by a call of the Runtime itself, behind all that was posted before the turn ran.
  void post(const std::string& text) {
    ASSERT_EQ(workers.back()->runtime->enqueue_event("a", "q", text, {}, note, this), Status::kOk);
  }
  static void note(void* self, Status status) noexcept {
    EXPECT_EQ(status, Status::kOk);
    ++static_cast<MessageEnds*>(self)->answered;
  }
  std::string end_of(std::string_view id) {
    EXPECT_TRUE(drive_until([&] { return !is_running(id); }));
    return outcome_of(id);
  }
  // The unread messages in their order, as "1,2,".
  std::string unread(std::string_view id) {
    std::string all;
    auto keep = visit([&](const MessageInfo& one) {
      EXPECT_TRUE(one.is_unread);
      all += std::string(one.payload) + ",";
    });
    Page page;
    page.rows_max = 3;
    do {
      EXPECT_EQ(client()->list_messages(id, &page, keep), Status::kOk) << client()->error_text();
    } while (page.more);
    const auto count = std::count(all.begin(), all.end(), ',');
    EXPECT_EQ(client().status(id).unread_messages, count);
    InstanceInfo info;
    EXPECT_EQ(client()->get_instance_info(id, &info), Status::kOk);
    EXPECT_EQ(info.unread_messages, count);
    InstanceStats stats;
    EXPECT_EQ(client()->get_instance_stats(id, &stats), Status::kOk);
    EXPECT_EQ(stats.messages_waiting, 0);
    return all;
  }
  std::int64_t unread_in_all() {
    Metrics all;
    EXPECT_EQ(client()->get_metrics(&all), Status::kOk);
    return all.unread_messages;
  }
  std::size_t logged() {
    std::size_t count = 0;
    for (const auto& one : workers)
      count += one->lines.count("messages_unread");
    return count;
  }
  std::uint64_t put_off() { return workers.back()->runtime->stats().turns_refused; }

  std::deque<std::function<void()>> plan;
  std::uint64_t last_turn = ~std::uint64_t{0};
  int sent = 0;
  int answered = 0;
};

// ---- an end waits for messages (R7.7) ----

// Rules: R7.7.
TEST_F(MessageEnds, SentByAnotherProcessInTheTurnThatEnds_IsReceived) {
  for (const char* how : {"complete", "fail"}) {
    SCOPED_TRACE(how);
    const std::string id = "a";
    if (workers.empty()) start_worker();
    start(id, "drains", how);
    for (const char* text : {"1", "2", "3"})
      send_meanwhile(text);
    const bool fails = std::string_view(how) == "fail";
    EXPECT_EQ(end_of(id), fails ? "failed application 1,2,3," : "completed 1,2,3,");
    EXPECT_EQ(unread(id), "");
    ASSERT_EQ(client()->delete_instance(id, false), Status::kOk);
  }
  EXPECT_EQ(sent, 6);
  EXPECT_EQ(put_off(), 6U) << "each run that received one is asked anew";
  EXPECT_EQ(logged(), 0U);
}

TEST_F(MessageEnds, SentByACallOfTheSameBatch_IsReceived) {
  start_worker();
  start("a", "drains");
  for (const char* text : {"1", "2"})
    meanwhile([this, text] { post(text); });
  EXPECT_EQ(end_of("a"), "completed 1,2,");
  EXPECT_EQ(answered, 2);
  EXPECT_EQ(unread("a"), "");
}

TEST_F(MessageEnds, SentByACallBehindTheStartInOneBatch_IsReceived) {
  Worker& worker = start_worker();
  ASSERT_EQ(
      worker.runtime->start_orchestration("drains_at_once", InstanceId("a"), "", {}, note, this),
      Status::kOk);
  post("1");
  post("2");
  EXPECT_TRUE(drive_until([&] { return answered == 3; }));
  EXPECT_EQ(end_of("a"), "completed 1,2,");
}

TEST_F(MessageEnds, AStartThatEndsWithNothingBehindIt_IsOneCommit) {
  Worker& worker = start_worker();
  pass(5'000);
  const std::uint64_t before = worker.runtime->stats().commits;
  ASSERT_EQ(
      worker.runtime->start_orchestration("drains_at_once", InstanceId("a"), "", {}, note, this),
      Status::kOk);
  EXPECT_TRUE(drive_until([&] { return answered == 1; }));
  EXPECT_EQ(worker.runtime->stats().commits, before + 1);
  EXPECT_EQ(outcome_of("a"), "completed ");
}

TEST_F(MessageEnds, AnEventCountsAsAMessageDoes) {
  start_worker();
  start("a", "hears");
  meanwhile([this] { raise_event("a", "go", "heard"); });
  EXPECT_EQ(end_of("a"), "completed heard")
      << "the event is older than the timer of the same intake";
  EXPECT_EQ(put_off(), 1U);
}

// The run that is asked once more and receives nothing is the last one, however long others go on
// sending.
TEST_F(MessageEnds, ARunThatReceivedNone_IsTheLast) {
  start_worker();
  start("a", "deaf");
  for (int i = 1; i <= 20; ++i)
    send_meanwhile(std::to_string(i));
  EXPECT_EQ(end_of("a"), "completed deaf");
  EXPECT_EQ(put_off(), 1U);
  EXPECT_EQ(sent, 2);
  EXPECT_EQ(unread("a"), "1,2,");
  EXPECT_EQ(unread_in_all(), 2);
  EXPECT_EQ(logged(), 1U);
  EXPECT_EQ(client()->enqueue_event("a", "q", "late"), Status::kStale);
}

// The run reads the whole mailbox, though a tick reads one message.
TEST_F(MessageEnds, ARunThatIsAskedOnceMore_ReadsAllThatWait) {
  options.limits.instance_batch_max = 1;
  options.limits.queue_messages_max = 8;
  Worker& worker = start_worker();
  start("a", "drains");
  meanwhile([this] {
    for (int i = 1; i <= 8; ++i)
      send("a", std::to_string(i));
  });
  pass(900);
  const std::uint64_t turns = worker.runtime->stats().turns;
  EXPECT_EQ(end_of("a"), "completed 1,2,3,4,5,6,7,8,");
  EXPECT_EQ(worker.runtime->stats().turns, turns + 2) << "the first, and one that received all";
  EXPECT_EQ(put_off(), 1U);
}

// A message that a full tick left unread counts as one that came.
TEST_F(MessageEnds, AnEndThatHasNotReadAll_IsPutOff) {
  options.limits.instance_batch_max = 1;
  start_worker();
  start("a", "deaf");
  pass(500);
  for (int i = 1; i <= 3; ++i)
    send("a", std::to_string(i));
  EXPECT_EQ(end_of("a"), "completed deaf");
  EXPECT_EQ(unread("a"), "1,2,3,");
}

TEST_F(MessageEnds, ContinueAsNewIsNotPutOff) {
  start_worker();
  start("a", "goes_on");
  send_meanwhile("1");
  EXPECT_EQ(end_of("a"), "completed new");
  EXPECT_EQ(put_off(), 0U);
  EXPECT_EQ(unread("a"), "1,");
}

// ---- unread messages (R7.8) ----

TEST_F(MessageEnds, LoadedAndPiggybackedOnes_StayUnread) {
  start_worker();
  start("a", "deaf");
  pass(500);
  send("a", "seen");
  pass(100);
  machine.advance(1'000);
  send("a", "loaded");
  post("piggybacked");
  EXPECT_EQ(end_of("a"), "completed deaf");
  EXPECT_EQ(answered, 1);
  EXPECT_EQ(put_off(), 0U);
  EXPECT_EQ(unread("a"), "seen,loaded,piggybacked,");
  EXPECT_EQ(logged(), 1U);
}

TEST_F(MessageEnds, EndsFromOutside_LeaveThemUnread) {
  options.timing.cancel_grace = std::chrono::seconds(1);
  start_worker();
  const std::vector<std::string> ids = {"terminated", "cancelled", "limited"};
  for (const std::string& id : ids) {
    start(id, id == "limited" ? "deaf_without_bound" : "deaf_for_ever");
    send(id, "1");
  }
  pass(1'000);
  for (const std::string& id : ids)
    send(id, "2");
  ASSERT_EQ(client()->terminate_instance("terminated", "by hand"), Status::kOk);
  cancel_instance("cancelled", "too long");
  EXPECT_EQ(end_of("terminated"), "failed terminated by hand");
  EXPECT_EQ(end_of("cancelled").substr(0, 16), "failed cancelled");
  EXPECT_EQ(end_of("limited").substr(0, 12), "failed limit");
  for (const std::string& id : ids)
    EXPECT_EQ(unread(id), "1,2,") << id;
  EXPECT_EQ(unread_in_all(), 6);
  EXPECT_EQ(logged(), 3U);
  EXPECT_EQ(put_off(), 0U);
  ASSERT_EQ(client()->delete_instance("terminated", false), Status::kOk);
  pass(60'000);
  EXPECT_EQ(unread_in_all(), 4) << "they go with their instance";
}

TEST_F(MessageEnds, APoisonedEnd_LeavesThemUnread) {
  options.limits.crashes_max = 2;
  start_worker();
  start("a", "deaf");
  send("a", "1");
  pass(500);
  for (int life = 0; life < options.limits.crashes_max; ++life) {
    testing::expect_errors("tick_rolled_back");
    meanwhile([this, life] {
      send("a", std::to_string(life + 2));
      workers.back()->node.kill();
    });
    machine.advance(1'000);
    while (!workers.back()->node.killed())
      static_cast<void>(workers.back()->runtime->tick(std::chrono::milliseconds::max()));
    restart();
  }
  EXPECT_EQ(end_of("a").substr(0, 13), "failed poison");
  EXPECT_EQ(unread("a"), "1,2,3,");
  EXPECT_EQ(logged(), 1U);
}

TEST_F(MessageEnds, OfAChild_TheyGoWithItsTree) {
  start_worker();
  start("a", "parent");
  pass(500);
  send("child", "1");
  EXPECT_EQ(end_of("a"), "completed deaf");
  EXPECT_EQ(unread("child"), "1,");
  ASSERT_EQ(client()->delete_instance("a", false), Status::kOk);
  pass(60'000);
  EXPECT_EQ(unread_in_all(), 0);
}

TEST_F(MessageEnds, ARestartFromTheStart_GivesThemInOrder) {
  options.limits.instance_batch_max = 1;
  start_worker();
  start("a", "fails_first");
  for (int i = 1; i <= 5; ++i)
    send("a", std::to_string(i));
  EXPECT_EQ(end_of("a"), "failed application first");
  EXPECT_EQ(unread("a"), "1,2,3,4,5,");
  RestartOptions how;
  ASSERT_EQ(client()->restart_instance("a", RestartFrom::kStart, how), Status::kOk);
  send("a", "6");
  EXPECT_EQ(client().status("a").unread_messages, 0);
  EXPECT_EQ(end_of("a"), "completed 1,2,3,4,5,6,");
  EXPECT_EQ(unread("a"), "");
}

// The history that goes on has two of the messages as deliveries again (R10.4).
TEST_F(MessageEnds, ARestartFromTheLastGoodEvent_GivesEachOnce) {
  for (const std::uint32_t batch : {64U, 1U}) {
    SCOPED_TRACE(batch);
    options.limits.instance_batch_max = batch;
    g_is_mended = false;
    restart();
    const std::string id = "a" + std::to_string(batch);
    start(id, "fails_with_open_waits");
    for (int i = 1; i <= 4; ++i)
      send(id, std::to_string(i));
    EXPECT_EQ(end_of(id), "failed application jammed");
    EXPECT_EQ(unread(id), "1,2,3,4,");
    g_is_mended = true;
    ASSERT_EQ(client()->restart_instance(id, RestartFrom::kLastGoodEvent), Status::kOk);
    EXPECT_EQ(end_of(id), "completed 1,2,3,4,");
    EXPECT_EQ(unread(id), "");
  }
}

// ---- crashes and random steps ----

// A kill at each write of the worker and of the client: an acknowledged message is received or
// unread, once. Any other may be there or not.
class KillAtAnyWrite : public MessageEnds, public ::testing::WithParamInterface<const char*> {
 protected:
  struct Said {
    std::string acknowledged;
    std::string unknown;  // no answer: the sender died, or its disk failed
    int count = 0;
  };
  static void say(World& world, Said& said) {
    const std::string text = std::to_string(++said.count) + ",";
    const Status sent =
        world.client().enqueue_event("a", "q", std::string_view(text).substr(0, text.size() - 1));
    (sent == Status::kOk ? said.acknowledged : said.unknown) += text;
  }
  // The texts at the end, received and left, except those whose sender had no answer.
  static std::string kept(World& world, const OrchestrationStatus& is, const Said& said) {
    std::string unread;
    auto keep = visit([&](const MessageInfo& one) {
      EXPECT_TRUE(one.is_unread);
      unread += std::string(one.payload) + ",";
    });
    std::string all(is.output == "deaf" ? "" : is.output.view());
    const std::int64_t left = is.unread_messages;
    Page page;
    EXPECT_EQ(world.client().list_messages("a", &page, keep), Status::kOk);
    EXPECT_EQ(std::count(unread.begin(), unread.end(), ','), left);
    all += unread;
    for (std::size_t at = 0; at < said.unknown.size(); at += 2) {
      const std::size_t found = all.find(said.unknown.substr(at, 2));
      if (found != std::string::npos) all.erase(found, 2);
    }
    return all;
  }
};

TEST_P(KillAtAnyWrite, LosesNone) {
  bool crashed = true;
  for (std::uint64_t nth = 1; crashed; nth += PAWL_SAMPLE) {
    SCOPED_TRACE("write " + std::to_string(nth));
    ASSERT_LT(nth, 500U);
    WorldOptions how;
    how.runtime.verify_turns = true;
    how.runtime.limits.crashes_max = how.runtime.limits.strikes_max = 100;
    World world(registry, how);
    Said said;
    std::uint64_t last = ~std::uint64_t{0};
    g_meanwhile = [&] {
      if (world.stats().turns == last || said.count >= 3) return;
      last = world.stats().turns;
      say(world, said);
    };
    ASSERT_EQ(world.start(), Status::kOk);
    ASSERT_EQ(world.client().start_orchestration(GetParam(), InstanceId("a"), ""), Status::kOk);
    ASSERT_EQ(world.run_until_idle(), Status::kOk);
    world.crash_at_write(nth);
    static_cast<void>(world.advance(1'000));
    crashed = !world.running();
    world.crash_at_write(0);
    if (crashed) world.reboot(10);
    last = ~std::uint64_t{0};
    ASSERT_EQ(world.start(), Status::kOk);
    OrchestrationStatus is;
    ASSERT_EQ(world.run_until_done("a", &is), Status::kOk);
    ASSERT_EQ(is.state, OrchestrationState::kCompleted);
    EXPECT_EQ(kept(world, is, said), said.acknowledged);
    EXPECT_FALSE(said.acknowledged.empty());
    g_meanwhile = [] {};
  }
}
INSTANTIATE_TEST_SUITE_P(Programs, KillAtAnyWrite, ::testing::Values("drains", "deaf"));

// Sends at random moments, two workers that are killed, writes that fail, cancel, terminate and
// restart: each message is where it must be.
class RandomEnds : public MessageEnds, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  // All texts that were sent; true: the sender was answered kOk.
  std::map<std::string, bool> known;
  struct Posted {
    std::map<std::string, bool>* known;
    std::string text;
  };
  std::deque<Posted> posted;
  std::unique_ptr<TestClient> sender;
  std::mt19937_64 random;
  bool carried_over = false;  // a restart continued with deliveries of the previous execution

  void SetUp() override {
    MessageEnds::SetUp();
    random.seed(GetParam());
    add("wanders", wanders);
    add("echo", echo);
    const std::uint32_t batches[] = {1, 2, 64};
    options.limits.instance_batch_max = batches[upto(2)];
    options.limits.queue_messages_max = upto(1) == 0 ? 8 : 64;
  }
  std::uint64_t upto(std::uint64_t most) { return random() % (most + 1); }

  void send_one() {
    const bool is_event = upto(3) == 0;
    const std::string text = (is_event ? "e" : "m") + std::to_string(known.size());
    bool& is_known = known[text];
    if (sender == nullptr) {
      ClientOptions same;
      same.database_path = testing::kPath;
      same.queue_messages_max = options.limits.queue_messages_max;
      sender = std::make_unique<TestClient>(machine, testing::kPath, same);
    }
    TestClient& from = *sender;
    const Status status =
        is_event ? from->raise_event("a", "go", text) : from->enqueue_event("a", "q", text);
    is_known = status == Status::kOk;
    // The message was refused, so it must not be anywhere.
    if (status == Status::kStale || status == Status::kResourceExhausted) known.erase(text);
  }
  // Sends by a call of the Runtime: the answer comes with the commit, if the worker lives until
  // then.
  void post_one(Worker& worker) {
    const std::string text = "m" + std::to_string(known.size());
    posted.push_back({&known, text});
    known[text] = false;
    ASSERT_EQ(worker.runtime->enqueue_event("a", "q", text, {}, note_answer, &posted.back()),
              Status::kOk);
  }
  static void note_answer(void* user, Status status) noexcept {
    const Posted& one = *static_cast<const Posted*>(user);
    if (status == Status::kOk) (*one.known)[one.text] = true;
  }
  void step() {
    const std::size_t which = static_cast<std::size_t>(upto(1));
    Worker& worker = *workers[which];
    switch (upto(15)) {
      case 0:
      case 1: send_one(); break;
      case 2: post_one(worker); break;
      case 3: machine.advance(static_cast<std::int64_t>(upto(40))); break;
      case 4:
        if (upto(5) != 0) break;
        worker.kill();
        workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(which));
        start_worker();
        break;
      case 5:
        if (upto(20) == 0) static_cast<void>(client()->cancel_instance("a", "stop"));
        if (upto(40) == 0) static_cast<void>(client()->terminate_instance("a", "end"));
        break;
      case 6:
        machine.fail_write(upto(20) + 1, Status::kIo, false);
        testing::expect_errors("tick_rolled_back", 0, 1);
        [[fallthrough]];
      default: tick(worker);
    }
  }
  void tick(Worker& worker) {
    g_meanwhile = [&] {
      if (upto(5) == 0) upto(1) == 0 ? send_one() : post_one(worker);
    };
    ASSERT_TRUE(worker.runtime->tick(std::chrono::milliseconds::max()).ok());
    machine.fail_write(0, Status::kOk, false);
    g_meanwhile = [] {};
  }
  // The texts in deliveries of one execution that were not returned.
  std::map<std::string, int> delivered(std::int64_t execution) {
    std::map<std::string, int> found;
    const std::vector<KeptEvent> all = history("a", execution);
    for (const KeptEvent& event : all) {
      if (event.kind == "delivery" && event.error == ErrorKind::kNone) ++found[event.payload];
      if (event.kind == "return") --found[all[static_cast<std::size_t>(event.ref) - 1].payload];
    }
    return found;
  }
  void check() {
    std::map<std::string, int> places;
    const std::int64_t last = client().status("a").execution_id;
    std::map<std::string, int> of_last;
    for (std::int64_t execution = 1; execution <= last; ++execution) {
      of_last = delivered(execution);
      for (const auto& one : of_last) {
        EXPECT_LE(one.second, 1) << one.first << " in execution " << execution;
        places[one.first] += one.second;
      }
    }
    const std::string left = unread("a");
    for (std::size_t at = 0; at < left.size();) {
      const std::size_t end = left.find(',', at);
      const std::string text = left.substr(at, end - at);
      EXPECT_EQ(of_last[text], 0) << text << " is received and unread";
      ++places[text];
      at = end + 1;
    }
    for (const auto& one : known) {
      if (!one.second) continue;
      EXPECT_GE(places[one.first], 1) << one.first << ", unread " << left;
      EXPECT_TRUE(carried_over || places[one.first] == 1) << one.first << ", unread " << left;
    }
    for (const auto& one : places)
      EXPECT_TRUE(one.second == 0 || known.count(one.first) == 1) << one.first << " was not sent";
    if (client().status("a").output != "drained") return;
    EXPECT_EQ(left.find('m'), std::string::npos) << "drained, and unread " << left;
  }
  void live() {
    for (int i = 0; i < 400 && is_running("a"); ++i)
      step();
    if (!drive_until([&] { return !is_running("a"); }, 60'000)) {
      ASSERT_EQ(client()->terminate_instance("a", "at last"), Status::kOk);
      ASSERT_TRUE(drive_until([&] { return !is_running("a"); }));
    }
    pass(1'000);
  }
};

TEST_P(RandomEnds, EachMessageIsReceivedOrUnread) {
  start_worker();
  start_worker();
  start("a", "wanders", std::to_string(upto(1'000'000)));
  live();
  check();
  for (int life = 0; life < 4 && client().status("a").state == OrchestrationState::kFailed;
       ++life) {
    g_is_mended = upto(1) == 0;
    const RestartFrom from = upto(1) == 0 ? RestartFrom::kStart : RestartFrom::kLastGoodEvent;
    Status restarted = client()->restart_instance("a", from);
    carried_over =
        carried_over || (restarted == Status::kOk && from == RestartFrom::kLastGoodEvent);
    if (restarted == Status::kNotRestartable)
      restarted = client()->restart_instance("a", RestartFrom::kStart);
    // The instance was terminated before it began.
    if (restarted == Status::kNotRestartable) return;
    ASSERT_EQ(restarted, Status::kOk) << client()->error_text();
    live();
    check();
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, RandomEnds, ::testing::Range<std::uint64_t>(1, 61, PAWL_SAMPLE));

}  // namespace
}  // namespace pawl

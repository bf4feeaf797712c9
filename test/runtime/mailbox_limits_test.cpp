// Goal: where runtimes and senders have different options for what may wait for an instance,
// senders keep to the least of the runtimes, and messages that already wait are left to a runtime
// that can take them.
#include <cstdlib>
#include <string>

#include "story.hpp"

namespace pawl::testing {
namespace {

// Completes with "go", whatever else waits for it.
Poll hears_go(OrchestrationContext& ctx) {
  PAWL_AWAIT(go, ctx.schedule_wait("go"));
  return ctx.complete(go.value());
}

// Takes as many messages as its input says, of any length.
Poll takes(OrchestrationContext& ctx) {
  std::size_t bytes = 0;
  for (int left = std::atoi(std::string(ctx.input()).c_str()); left > 0; --left) {
    PAWL_AWAIT(message, ctx.dequeue_event("q"));
    bytes += message.value().size();
  }
  return ctx.complete(std::to_string(bytes));
}

class MailboxLimits : public Story {
 protected:
  void SetUp() override {
    add("hears_go", hears_go);
    add("takes", takes);
  }
  Options with(std::uint32_t messages, std::size_t payload_bytes = 64 * 1024) const {
    Options out = options;
    out.limits.queue_messages_max = messages;
    out.limits.payload_bytes_max = payload_bytes;
    return out;
  }
  Options small() const {
    Options out = Options::small();
    out.database_path = options.database_path;
    out.verify_turns = options.verify_turns;
    out.leases = options.leases;
    return out;
  }
  // How many more messages the sender may leave for the instance.
  int room(std::string_view id) {
    int sent = 0;
    while (sent < 2'000 && client()->raise_event(id, "unheard", "x") == Status::kOk)
      ++sent;
    return sent;
  }
  void send(int count, std::string_view payload = "x") {
    for (int i = 0; i < count; ++i)
      enqueue_event("i", "q", payload);
  }
  void stop(Worker& worker) {
    EXPECT_EQ(worker.runtime->stop(std::chrono::seconds(1)), Status::kOk);
    for (auto at = workers.begin(); at != workers.end(); ++at)
      if (at->get() == &worker) {
        workers.erase(at);
        return;
      }
  }
  // Leaves messages that were sent while only a runtime with these options had been there.
  void leave_waiting(const Options& how, int count, std::string_view payload = "x") {
    stop(start_worker(how));
    start("i", "takes", std::to_string(count));
    send(count, payload);
  }
  static std::size_t lines(const Worker& worker, const char* line) {
    return worker.lines.count(line);
  }
};

// ---- senders ----

TEST_F(MailboxLimits, a_default_client_cannot_stop_a_small_gateway) {
  Worker& gateway = start_worker(small());
  start("i", "hears_go");
  EXPECT_EQ(room("i"), 16);
  pass(1'000);
  EXPECT_EQ(room("i"), 0) << "they wait on";
  EXPECT_NE(client()->error_text().find("at most 16 may (queue_messages_max)"),
            std::string_view::npos)
      << client()->error_text();
  EXPECT_TRUE(is_running("i"));
  EXPECT_EQ(lines(gateway, "instance_stopped") + lines(gateway, "instance_parked"), 0U);
  EXPECT_EQ(client()->terminate_instance("i", ""), Status::kOk);
}

TEST_F(MailboxLimits, in_force_is_the_least_of_those_that_live_else_the_last_one_stored) {
  Worker& large = start_worker(with(40));
  Worker& small = start_worker(with(7));
  Options hand = with(2);
  hand.run_orchestrations = false;
  start_worker(hand);
  start("a", "hears_go");
  EXPECT_EQ(room("a"), 7) << "and one that runs no turns takes no messages";
  stop(small);
  EXPECT_EQ(room("a"), 33);
  start("b", "hears_go");
  stop(large);
  EXPECT_EQ(room("b"), 7) << "that registered last";
  start_worker(with(9));
  EXPECT_EQ(room("b"), 2);
}

TEST_F(MailboxLimits, a_sender_may_be_stricter_and_keeps_to_bytes_too) {
  start_worker(with(40, 1'024));
  start("i", "hears_go");
  raise_event("i", "unheard", std::string(3'000, 'p'));
  EXPECT_EQ(client()->raise_event("i", "unheard", std::string(1'100, 'p')),
            Status::kResourceExhausted);
  EXPECT_NE(client()->error_text().find("at most 4096 bytes may (4 * payload_bytes_max)"),
            std::string_view::npos)
      << client()->error_text();
  ClientOptions few = client_options;
  few.queue_messages_max = 1;
  TestClient strict(machine, kPath, few);
  EXPECT_EQ(strict->raise_event("i", "unheard", "x"), Status::kResourceExhausted);
  EXPECT_NE(strict->error_text().find("at most 1 may"), std::string_view::npos);
}

struct Answers {
  int ok = 0;
  int full = 0;
  static void note(void* user, Status status) noexcept {
    auto& all = *static_cast<Answers*>(user);
    all.ok += status == Status::kOk ? 1 : 0;
    all.full += status == Status::kResourceExhausted ? 1 : 0;
  }
};

// A message that a turn takes along is never stored, and waits all the same.
TEST_F(MailboxLimits, a_runtime_keeps_to_the_least_in_its_own_calls) {
  Worker& large = start_worker(with(40));
  start("i", "hears_go");
  pass(1'000);
  start_worker(with(3));
  Answers answers;
  for (int i = 0; i < 6; ++i) {
    ASSERT_EQ(large.runtime->raise_event("i", "unheard", "x", {}, Answers::note, &answers),
              Status::kOk);
    pass(100);
  }
  EXPECT_EQ(answers.ok, 3);
  EXPECT_EQ(answers.full, 3);
}

// ---- messages that already wait ----

TEST_F(MailboxLimits, what_is_too_much_for_one_runtime_is_left_to_a_larger_one) {
  leave_waiting(with(40), 30);
  Worker& small = start_worker(with(4));
  pass(60'000);
  EXPECT_EQ(outcome_of("i"),
            "running limit more messages wait for it than this worker's queue_messages_max allows");
  EXPECT_EQ(lines(small, "instance_parked"), 1U) << small.lines.all();
  EXPECT_EQ(lines(small, "instance_stopped"), 0U);
  const std::uint64_t commits = small.runtime->stats().commits;
  pass(600'000);
  EXPECT_LE(small.runtime->stats().commits, commits + 30) << "its leases, and nothing more";
  start_worker(with(40));
  EXPECT_EQ(end_of("i"), "completed 30");
  EXPECT_EQ(lines(small, "instance_parked"), 1U);
}

TEST_F(MailboxLimits, so_is_a_message_that_is_too_large) {
  leave_waiting(with(40), 1, std::string(60'000, 'p'));
  Options tiny = small();
  const LimitOptions smallest = Options::smallest().limits;
  tiny.limits.batch = smallest.batch;
  tiny.limits.instance_batch_max = smallest.instance_batch_max;
  tiny.limits.payload_bytes_max = smallest.payload_bytes_max;
  tiny.limits.commands_a_turn_max = smallest.commands_a_turn_max;
  Worker& small = start_worker(tiny);
  pass(60'000);
  EXPECT_EQ(outcome_of("i"),
            "running limit a stored message is larger than this worker's payload_bytes_max allows");
  EXPECT_EQ(lines(small, "instance_parked"), 1U) << small.lines.all();
  EXPECT_EQ(lines(small, "instance_stopped"), 0U);
  start_worker(with(4));
  EXPECT_EQ(end_of("i"), "completed 60000") << "who is larger in this is large enough";
}

TEST_F(MailboxLimits, it_waits_for_one_that_is_larger_in_both) {
  leave_waiting(with(40), 30);
  start_worker(with(4));
  start_worker(with(5, 128 * 1024));
  pass(60'000);
  EXPECT_TRUE(is_running("i"));
  EXPECT_EQ(lines(*workers[0], "instance_parked") + lines(*workers[1], "instance_parked"), 2U);
  start_worker(with(15));
  EXPECT_EQ(end_of("i"), "completed 30") << "twice as many as may be sent can wait";
}

TEST_F(MailboxLimits, its_operator_ends_it_and_a_restart_with_more_goes_on) {
  leave_waiting(with(40), 30);
  start_worker(with(4));
  pass(1'000);
  ASSERT_EQ(client()->terminate_instance("i", "enough"), Status::kOk);
  EXPECT_EQ(end_of("i"), "failed terminated enough");
}

// Instances that wait for another runtime do not delay work that this one can run.
TEST_F(MailboxLimits, others_run_beside_it_and_its_timers_wake_no_loop) {
  stop(start_worker(with(40)));
  for (int i = 0; i < 40; ++i) {
    const std::string id = "large-" + std::to_string(i);
    start(id, "takes", "30");
    for (int sent = 0; sent < 30; ++sent)
      enqueue_event(id, "q", "x");
  }
  Worker& small = start_worker(with(4));
  start("j", "takes", "1");
  enqueue_event("j", "q", "yes");
  EXPECT_EQ(end_of("j"), "completed 3");
  EXPECT_EQ(lines(small, "instance_parked"), 40U);
}

}  // namespace
}  // namespace pawl::testing

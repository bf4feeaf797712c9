// Goal and plan: the same as soak_test.cpp. Method: the same code on the simulated machine, where a
// process dies at any write to the disk, power cuts lose what was not flushed, and a seed repeats a
// run exactly. Besides, messages are piggybacked on the ticks of a worker, and workers have other
// limits in each life. PAWL_SOAK=1 runs a thousand seeds, PAWL_SEED=n only seed n.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <random>

#include "gtest/gtest.h"
#include "option_drawer.hpp"
#include "pawl/testing.hpp"
#include "pawl/visit.hpp"
#include "soak_code.hpp"
#include "soak_plan.hpp"

namespace soak {
namespace {

using pawl::Status;
using pawl::testing::Block;
using pawl::testing::Worker;

constexpr char kPath[] = "/data/pawl.db";
constexpr std::size_t kWorkers = 3;
constexpr std::size_t kBytesMax = 16 * 1024 * 1024;
constexpr std::int64_t kPatienceMs = 3'600'000;
constexpr std::chrono::seconds kRenewalEnough(4);  // a process that runs is no later than that

class SimSoak {
 public:
  explicit SimSoak(std::uint64_t seed)
      : seed_(seed),
        plan_(seed, 18, 108),
        driver_(plan_, seed, [](const std::string&) {}),
        random_(seed),
        machine_(seed) {
    machine_.set_power_cut_losses(true);
  }

  void run() {
    while (!driver_.journal().is_done() && !is_late()) {
      if (any(10) == 0) trouble();
      revive(any(3) == 0);
      if (any(3) == 0) act(any(20) == 0 ? 80 : 1 + any(4));
      if (any(8) == 0) answer_outside();
      step(true);
    }
    settle();
  }

  [[nodiscard]] std::vector<std::string> problems() {
    std::vector<std::string> found;
    if (is_late()) found.emplace_back("it does not end");
    for (const std::string& problem :
         wrong_counts(plan_, driver_.journal(), [this](const std::string& id) { return find(id); }))
      found.push_back(problem);
    for (const std::string& problem : runs_.unexplained())
      found.push_back("ran again without a kill: " + problem);
    for (std::size_t i = 0; i < plan_.instances().size(); ++i) {
      const Instance& one = plan_.instances()[i];
      if (one.kind != Kind::kServer) continue;
      for (const Try& sent : driver_.journal().tries(i)) {
        if (one.actions[sent.action] != Verb::kSend) continue;
        const Status status =
            ask(sender_->client, one.id, token_of(sent), std::chrono::milliseconds(0));
        if (status != Status::kOk)
          found.push_back(one.id + ": the answer to " + token_of(sent) + " is " +
                          pawl::status_name(status));
      }
    }
    return found;
  }
  // Some worker renewed its leases late: it slept, or has little time for it.
  [[nodiscard]] bool loses_leases() const { return loses_leases_; }
  [[nodiscard]] std::size_t kills() const { return kills_; }
  [[nodiscard]] const Runs& runs() const { return runs_; }
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }

 private:
  // One life of a worker.
  struct Life final : Witness {
    Life(SimSoak& soak, std::size_t number, int lives)
        : name("w" + std::to_string(number) + "." + std::to_string(lives)),
          runs(soak.runs_),
          journal(soak.driver_.journal()) {}
    void on_run(const std::string& line) override { runs.apply(line); }
    void pause() override {}
    bool is_sent(const std::string& instance) override { return journal.is_sent(instance); }
    [[nodiscard]] std::string worker() const override { return name; }

    std::string name;
    Runs& runs;
    const Journal& journal;
    pawl::Registry registry;
    std::unique_ptr<Worker> process;
    std::int64_t lease_ms = 0;  // the time that its leases have left just before a renewal
    bool is_alive = true;
  };
  // A piggybacked call, until it is answered.
  struct Piggybacked {
    SimSoak* soak = nullptr;
    Life* life = nullptr;
    Call call;
    bool is_over = false;
  };
  struct Sender {
    explicit Sender(pawl::sim::Machine& machine, const pawl::ClientOptions& options)
        : node(machine), memory(pawl::Client::required_memory(options)) {}
    pawl::sim::Node node;
    Block memory;
    pawl::Client client;
  };

  std::size_t any(std::size_t below) { return random_() % below; }
  [[nodiscard]] bool is_late() const { return passed_ms_ > kPatienceMs; }

  // ---- processes ----

  pawl::Options options(std::size_t number) {
    pawl::Options options;
    options.database_path = kPath;
    if (number == 0) options.worker_node_id = "gateway";
    options = pawl::test::draw_options(options, pawl::test::draw_of(seed_), random_, kBytesMax);
    raise_to_the_plan(options, number == 0);
    // A power cut loses what was not flushed, but the plan counts every accepted message.
    options.synchronous_full = true;
    return options;
  }

  void start(std::size_t number) {
    auto life = std::make_unique<Life>(*this, number, ++lives_);
    ASSERT_EQ(fill(life->registry, *life), Status::kOk);
    const pawl::Options drawn = options(number);
    const pawl::LeaseOptions& leases = drawn.leases;
    life->lease_ms = std::min(leases.session_lock_timeout - leases.session_lock_renewal_buffer,
                              leases.worker_lock_timeout - leases.worker_lock_renewal_buffer)
                         .count();
    loses_leases_ = loses_leases_ || std::min(leases.session_lock_renewal_buffer,
                                              leases.worker_lock_renewal_buffer) < kRenewalEnough;
    life->process = std::make_unique<Worker>(machine_, life->registry, drawn);
    life->process->node.hold_jobs(any(2) == 0);
    ASSERT_EQ(life->process->start(), Status::kOk) << life->process->diagnostic.text();
    for (const char* device : kDevices)
      ASSERT_EQ(life->process->runtime->declare_session(device, true), Status::kOk);
    workers_[number] = std::move(life);
  }

  void revive(bool now) {
    for (std::size_t i = 0; i < kWorkers && now; ++i)
      if (workers_[i] == nullptr) start(i);
    if (sender_ != nullptr) return;
    pawl::ClientOptions client;
    client.database_path = kPath;
    client.payload_bytes_max = 4'096;
    client.queue_messages_max = kQueueMessages;
    pawl::Process* process = nullptr;
    pawl::Diagnostic why;
    ASSERT_EQ(pawl::testing::shared_process(&process, why), Status::kOk) << why.text();
    sender_ = std::make_unique<Sender>(machine_, client);
    ASSERT_EQ(sender_->client.open(*process, client, sender_->node.port(), sender_->memory.data(),
                                   sender_->memory.bytes(), why),
              Status::kOk)
        << why.text();
  }

  // Calls piggybacked on the dead worker get no answer.
  void bury(std::unique_ptr<Life>& life) {
    if (life == nullptr) return;
    runs_.apply("killed " + life->name);
    life->is_alive = false;
    for (Piggybacked& piggybacked : piggybacked_calls_)
      if (piggybacked.life == life.get() && !piggybacked.is_over)
        answer(piggybacked, Answer::kUnknown);
    life.reset();
    ++kills_;
  }
  void kill(std::size_t number) {
    if (workers_[number] == nullptr) return;
    workers_[number]->process->kill();
    bury(workers_[number]);
  }

  void trouble() {
    const std::size_t what = any(20);
    if (what == 0) {
      machine_.reboot(static_cast<std::int64_t>(any(5'000)));
      for (std::unique_ptr<Life>& life : workers_) {
        if (life != nullptr) life->process->killed = true;
        bury(life);
      }
      sender_.reset();
    } else if (what < 4) {
      sleep(static_cast<std::int64_t>(any(3'000)));
    } else if (what < 12) {
      kill(any(kWorkers));
    } else {
      dies_at_ = 1 + any(60);  // at one of the next writes of any process
    }
  }

  // Runs `call`. Returns true if its process died in it, at one of its writes.
  template <typename Function>
  bool dies_in(const Function& call) {
    if (dies_at_ == 0) {
      call();
      return false;
    }
    const std::uint64_t before = machine_.writes() + machine_.syncs();
    machine_.fail_write(dies_at_, Status::kIo, true);
    call();
    machine_.fail_write(0, Status::kOk, false);
    const std::uint64_t written = machine_.writes() + machine_.syncs() - before;
    const bool dies = written >= dies_at_;
    dies_at_ = dies ? 0 : dies_at_ - written;
    return dies;
  }

  // ---- the plan ----

  void act(std::size_t calls) {
    for (std::size_t i = 0; i < calls && sender_ != nullptr; ++i) {
      Call call;
      if (!driver_.next([this](std::size_t instance,
                               std::size_t action) { return takes_event(instance, action); },
                        &call))
        return;
      Life* const life = workers_[any(kWorkers)].get();
      const bool waits = call.of->kind == Kind::kServer && call.verb == Verb::kSend;
      if (life != nullptr && !waits && any(2) == 0) {
        piggyback(*life, call);
      } else {
        send(call);
      }
    }
  }

  bool takes_event(std::size_t instance, std::size_t action) {
    const Instance& one = plan_.instances()[instance];
    pawl::OrchestrationStatus status;
    if (sender_->client.get_status(one.id, &status) != Status::kOk) return false;
    return status.state == pawl::OrchestrationState::kCompleted ||
           status.state == pawl::OrchestrationState::kFailed ||
           is_waited_for(one, action, status.custom_status);
  }

  void send(const Call& call) {
    Status status = Status::kOk;
    const bool died =
        dies_in([&] { status = make(sender_->client, call, std::chrono::milliseconds(0)); });
    if (died) lose_sender();
    EXPECT_EQ(driver_.on_answer(call, died ? Answer::kUnknown : answer_of(call.verb, status)), "");
  }

  void lose_sender() {
    sender_->node.kill();
    sender_.reset();
    ++unanswered_;
  }

  void answer_outside() {
    for (const Instance& one : plan_.instances()) {
      if (one.kind != Kind::kOutside || sender_ == nullptr) continue;
      std::string problem;
      if (dies_in([&] { problem = answer_from_outside(sender_->client, one.id); }))
        return lose_sender();
      EXPECT_EQ(problem, "");
    }
  }

  void piggyback(Life& life, const Call& call) {
    piggybacked_calls_.push_back({this, &life, call, false});
    const auto on_answer = [](void* user, Status status) noexcept {
      auto& piggybacked = *static_cast<Piggybacked*>(user);
      piggybacked.soak->answer(piggybacked, answer_of(piggybacked.call.verb, status));
    };
    const Status asked =
        make(*life.process->runtime, call, std::chrono::milliseconds(0), pawl::Answer(on_answer),
             static_cast<void*>(&piggybacked_calls_.back()));
    if (asked != Status::kOk) answer(piggybacked_calls_.back(), answer_of(call.verb, asked));
  }

  void answer(Piggybacked& piggybacked, Answer with) {
    piggybacked.is_over = true;
    unanswered_ += with == Answer::kUnknown ? 1U : 0U;
    EXPECT_EQ(driver_.on_answer(piggybacked.call, with), "");
  }

  // ---- time ----

  void pass(std::int64_t ms) {
    machine_.advance(ms);
    passed_ms_ += ms;
  }

  // No process runs for `ms`. A shorter lease ends, and its work goes to another worker as if its
  // owner had died.
  void sleep(std::int64_t ms) {
    pass(ms);
    for (const std::unique_ptr<Life>& life : workers_)
      if (life != nullptr && ms >= life->lease_ms) {
        runs_.apply("killed " + life->name);
        loses_leases_ = true;
      }
  }

  // Each process makes a tick; time passes when none has more to do.
  void step(bool has_trouble) {
    bool more = false;
    std::int64_t due = machine_.boot_ms() + 40;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      Life* const life = workers_[i].get();
      if (life == nullptr || (has_trouble && any(4) == 0)) continue;
      pawl::Result<bool> ticked(false);
      life->process->watch.hold();
      const bool dies =
          dies_in([&] { ticked = life->process->runtime->tick(std::chrono::milliseconds::max()); });
      if (!dies) life->process->watch.release();
      if (dies) {
        kill(i);
        continue;
      }
      more = more || (ticked.ok() && ticked.value());
      const pawl::OptionalMs next = life->process->runtime->next_due();
      if (next.has_value()) due = std::min(due, next.value());
      if (!has_trouble || any(3) == 0) more = life->process->node.run_jobs() > 0 || more;
    }
    piggybacked_calls_.remove_if(
        [](const Piggybacked& piggybacked) { return piggybacked.is_over; });
    if (!more || any(50) == 0) pass(std::max<std::int64_t>(1, due - machine_.boot_ms()));
  }

  void settle() {
    dies_at_ = 0;
    revive(true);
    passed_ms_ = 0;
    for (int look = 0; !is_late(); ++look) {
      step(false);
      if (look % 16 != 0) continue;
      answer_outside();
      pawl::Metrics metrics;
      ASSERT_EQ(sender_->client.get_metrics(&metrics), Status::kOk);
      if (metrics.instances_running == 0 && metrics.instances_suspended == 0) return;
    }
  }

  Ended find(const std::string& id) {
    pawl::OrchestrationStatus status;
    if (sender_->client.get_status(id, &status) != Status::kOk) return {};
    Ended ended;
    ended.is_there = true;
    ended.has_completed = status.state == pawl::OrchestrationState::kCompleted;
    ended.output = status.output;
    if (!ended.has_completed)
      ended.output =
          std::string(pawl::orchestration_state_name(status.state)) + ": " + ended.output;
    auto unread = pawl::visit([&](const pawl::MessageInfo& message) {
      const bool is_sent = message.name == "in" || message.name == "bell" || message.name == "go";
      if (is_sent && message.is_unread) ended.unread.emplace_back(message.payload);
    });
    pawl::Page page;
    do {
      EXPECT_EQ(sender_->client.list_messages(id, &page, unread), Status::kOk);
    } while (page.more);
    return ended;
  }

  const std::uint64_t seed_;
  Plan plan_;
  Driver driver_;
  std::mt19937_64 random_;
  Runs runs_;
  pawl::sim::Machine machine_;
  std::unique_ptr<Life> workers_[kWorkers];
  std::unique_ptr<Sender> sender_;
  std::list<Piggybacked> piggybacked_calls_;
  std::int64_t passed_ms_ = 0;
  std::uint64_t dies_at_ = 0;  // after so many writes of any process one dies; 0: none
  int lives_ = 0;
  bool loses_leases_ = false;
  std::size_t kills_ = 0;
  std::size_t unanswered_ = 0;
};

TEST(SimulatedSoak, EverythingCountsOnceOverKills) {
  const char* const only = std::getenv("PAWL_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const bool is_long = std::getenv("PAWL_SOAK") != nullptr;
  const std::uint64_t seeds = only != nullptr ? 1 : is_long ? 1'000 : 30;
  std::size_t kills = 0;
  std::size_t repeated = 0;
  std::size_t unanswered = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SimSoak soak(seed);
    soak.run();
    if (soak.loses_leases()) pawl::testing::expect_errors("worker_was_buried", 0, 100);
    for (const std::string& problem : soak.problems())
      ADD_FAILURE() << "PAWL_SEED=" << seed << ": " << problem;
    kills += soak.kills();
    repeated += soak.runs().repeated();
    unanswered += soak.unanswered();
    if (HasFailure()) return;
  }
  std::printf("kills %zu, repeated runs %zu, calls without an answer %zu\n", kills, repeated,
              unanswered);
  if (only != nullptr) return;
  EXPECT_GT(kills, 5 * seeds);
  EXPECT_GT(repeated, seeds / 2);
  EXPECT_GT(unanswered, seeds / 2);
}

}  // namespace
}  // namespace soak

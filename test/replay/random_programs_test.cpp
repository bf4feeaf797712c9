// Random programs under random deliveries: whatever the code does within the rules, a replay decides
// as the live turns did.
//
// Method: from a seed, a program of activities, timers, nested branches, joins, selects and cancels.
// Turns get random batches of completions, with duplicates and a cancel request. Each turn runs
// three times: warm, warm again after a rewind (the commit failed), and cold from the stored events (a crash);
// all with verify. Then plain programs run again with the same completions one a turn: the root must
// see the same.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "program.hpp"
#include "replay_bench.hpp"

namespace pawl::test {
namespace {

class Generator {
 public:
  // `plain`: activities, branches and what waits for them; no timers, messages or state.
  explicit Generator(unsigned seed, bool plain = false) : random_(seed), plain_(plain) {}

  Program program() {
    Program program;
    program_ = &program;
    program.steps = steps(0, {});
    return program;
  }
  unsigned below(std::size_t end) { return static_cast<unsigned>(random_() % end); }
  bool chance(unsigned one_of) { return below(one_of) == 0; }

 private:
  using Handles = std::vector<std::size_t>;

  // `above`: leaves of ancestors, which may be awaited here.
  std::vector<Step> steps(unsigned depth, const Handles& above) {
    std::vector<Step> list;
    Handles leaves;
    Handles own;
    for (unsigned count = 2 + below(6); count > 0; --count) {
      Handles usable = own;
      usable.insert(usable.end(), above.begin(), above.end());
      list.push_back(step(depth, usable, above, &own, &leaves));
    }
    return list;
  }

  Step step(unsigned depth, const Handles& usable, const Handles& above, Handles* own,
            Handles* leaves) {
    Step step;
    if (!plain_ && chance(5)) return state_step();
    const unsigned choice = usable.empty() ? below(4) : below(12);
    if (choice < 4) {
      step.kind = choice == 3 && depth < 3 ? Step::Kind::kOpen : leaf_kind();
      const std::size_t handle = program_->names.size();
      program_->names.push_back("h" + std::to_string(handle));
      step.handles = {handle};
      if (step.kind == Step::Kind::kOpen) {
        Handles visible = above;
        visible.insert(visible.end(), leaves->begin(), leaves->end());
        step.body = steps(depth + 1, visible);
      } else {
        leaves->push_back(handle);
      }
      own->push_back(handle);
      return step;
    }
    using Kind = Step::Kind;
    static constexpr Kind kUses[] = {Kind::kAwait,      Kind::kAwait,  Kind::kJoin,
                                     Kind::kSelect,     Kind::kSelect, Kind::kSelect,
                                     Kind::kSelectJoin, Kind::kCancel};
    step.kind = kUses[choice - 4];
    const bool is_single = step.kind == Kind::kAwait || step.kind == Kind::kCancel;
    for (unsigned count = is_single ? 1 : 1 + below(3); count > 0; --count)
      step.handles.push_back(usable[below(usable.size())]);
    return step;
  }

  Step state_step() {
    Step step;
    step.kind = chance(2) ? Step::Kind::kSet : Step::Kind::kGet;
    // Two keys; a value of its own for every write.
    for (const char* const key : {"k0", "k1"})
      if (std::find(program_->names.begin(), program_->names.end(), key) == program_->names.end())
        program_->names.emplace_back(key);
    const auto key =
        std::find(program_->names.begin(), program_->names.end(), chance(2) ? "k0" : "k1");
    step.handles = {static_cast<std::size_t>(key - program_->names.begin()),
                    program_->names.size()};
    program_->names.push_back("v" + std::to_string(program_->names.size()));
    return step;
  }

  Step::Kind leaf_kind() {
    using Kind = Step::Kind;
    if (plain_) return Kind::kActivity;
    static constexpr Kind kKinds[] = {Kind::kActivity, Kind::kActivity, Kind::kTimer,
                                      Kind::kDequeue,  Kind::kDequeue,  Kind::kWait,
                                      Kind::kTry};
    return kKinds[below(sizeof(kKinds) / sizeof(kKinds[0]))];
  }

  Program* program_ = nullptr;
  std::mt19937 random_;
  bool plain_;
};

// Its payload is its own, so that it is known who received it.
Message queued(MessageId number) {
  static std::set<std::string> payloads;
  return mail(MessageKind::kQueue, number, "q",
              *payloads.insert("m" + std::to_string(number)).first);
}

// What completes a command; of waits, some new message.
Message answer(const Event& command, MessageId* number) {
  switch (command.kind) {
    case EventKind::kTimer: return fired(command.id);
    case EventKind::kWait: return mail(MessageKind::kEvent, ++*number, "e");
    case EventKind::kDequeue: return queued(++*number);
    default: return done(command.id, command.name);
  }
}

std::vector<Message> random_batch(const History& history, Generator& random, MessageId* number) {
  std::vector<Message> batch;
  if (history.last_id() == 0) batch.push_back(start());
  std::vector<EventId> pending;
  for (EventId id = 1; id <= history.last_id(); ++id) {
    if (!history.awaits_completion(id)) {
      if (is_command(history.event(id).kind) && random.chance(20))
        batch.push_back(done(id, "late"));
      continue;
    }
    pending.push_back(id);
  }
  while (!pending.empty() && (batch.empty() || random.chance(2))) {
    const unsigned at = random.below(pending.size());
    const EventId id = pending[at];
    const Event& command = history.event(id);
    batch.push_back(answer(command, number));
    if (random.chance(8))
      batch.push_back(batch.back().id == 0 ? batch.back() : answer(command, number));
    pending[at] = pending.back();
    pending.pop_back();
  }
  if (random.chance(15)) batch.push_back(cancel());
  return batch;
}

bool is_prefix(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// One turn, three ways.
void turn_three_ways(Bench& warm, const std::vector<Message>& batch) {
  Bench cold;
  cold.load(warm, warm.history().last_id());
  cold.set_mail(warm.mail());
  const std::vector<Message> mail = warm.mail();
  const History::Mark mark = warm.history().mark();
  warm.go(run_program, batch);
  const std::string first = warm.all();
  const auto seen = observations();
  warm.history().rewind(mark);
  warm.set_mail(mail);
  warm.go(run_program, batch);
  ASSERT_EQ(warm.all(), first);
  cold.go(run_program, batch);
  ASSERT_EQ(cold.all(), first);
  ASSERT_EQ(observations(), seen);
}

// Every queue message is waiting, or in exactly one delivery that counts.
void expect_each_message_once(const Bench& bench, const std::set<MessageId>& sent) {
  std::multiset<MessageId> found;
  for (const Message& message : bench.mail())
    found.insert(message.id);
  const History& history = bench.history();
  for (EventId id = 1; id <= history.last_id(); ++id) {
    const Event& event = history.event(id);
    if (event.kind == EventKind::kDelivery && event.number != 0 &&
        history.event(event.ref).kind == EventKind::kDequeue)
      found.insert(event.number);
    if (event.kind == EventKind::kReturn) {
      const auto returned = found.find(history.event(event.ref).number);
      if (returned != found.end()) found.erase(returned);
    }
  }
  ASSERT_EQ(found, std::multiset<MessageId>(sent.begin(), sent.end())) << bench.all();
}

bool has_received(std::string_view payload) {
  const std::string end = "-> " + std::string(payload);
  for (const std::string& line : observations())
    if (line.size() > end.size() && line.compare(line.size() - end.size(), end.size(), end) == 0)
      return true;
  return false;
}

// What the code has not received when it ends was given back.
void expect_nothing_lost(const Bench& bench) {
  std::set<EventId> returned;
  for (EventId id = 1; id <= bench.history().last_id(); ++id)
    if (bench.history().event(id).kind == EventKind::kReturn)
      returned.insert(bench.history().event(id).ref);
  for (EventId id = 1; id <= bench.history().last_id(); ++id) {
    const Event& event = bench.history().event(id);
    if (event.kind != EventKind::kDelivery || event.number == 0) continue;
    if (bench.history().event(event.ref).kind != EventKind::kDequeue) continue;
    if (returned.count(id) == 0) {
      ASSERT_TRUE(has_received(event.payload)) << event.payload << "\n" << bench.all();
    }
  }
}

void run_seed(unsigned seed) {
  Generator random(seed);
  const Program program = random.program();
  set_program(&program);
  Bench warm;
  MessageId number = 0;
  std::set<MessageId> sent;
  std::vector<std::string> seen;
  for (int turn = 0; !warm.history().ended(); ++turn) {
    ASSERT_LT(turn, 300) << "it waits for nothing that can come";
    const std::vector<Message> batch = random_batch(warm.history(), random, &number);
    for (const Message& message : batch)
      if (message.kind == MessageKind::kQueue) sent.insert(message.id);
    ASSERT_NO_FATAL_FAILURE(turn_three_ways(warm, batch));
    ASSERT_NO_FATAL_FAILURE(expect_each_message_once(warm, sent));
    ASSERT_TRUE(turn == 0 || is_prefix(seen, root_observations())) << warm.all();
    seen = root_observations();
  }
  ASSERT_NO_FATAL_FAILURE(expect_nothing_lost(warm));
  ASSERT_EQ(warm.pool().used(), warm.history().bytes());
}

TEST(RandomPrograms, ReplayAsTheyRan) {
  const unsigned seeds = std::getenv("PAWL_SOAK") == nullptr ? 2000 : 200000;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    run_seed(seed);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

// Names of what completed, in order; "cancel" for the request. Activities are named after their handles.
std::vector<std::string> order_of(const History& history) {
  std::vector<std::string> order;
  for (EventId id = 1; id <= history.last_id(); ++id) {
    const Event& event = history.event(id);
    if (event.kind == EventKind::kCancelRequested) order.emplace_back("cancel");
    if (event.kind == EventKind::kActivityDone) order.emplace_back(history.event(event.ref).name);
  }
  return order;
}

EventId pending_of_name(const History& history, const std::string& name) {
  for (EventId id = 1; id <= history.last_id(); ++id)
    if (history.event(id).name == name && history.awaits_completion(id)) return id;
  return 0;
}

// The same completions, one a turn.
void run_one_by_one(Bench& bench, const std::vector<std::string>& order) {
  bench.go(run_program, {start()});
  for (const std::string& name : order) {
    if (bench.history().ended()) return;
    const EventId id = pending_of_name(bench.history(), name);
    if (name == "cancel") {
      bench.go(run_program, {cancel()});
    } else if (id != 0) {
      bench.go(run_program, {done(id, bench.history().event(id).name)});
    }
  }
}

TEST(RandomPrograms, GroupingIntoTurnsDoesNotMatter) {
  for (unsigned seed = 1; seed <= 1000; ++seed) {
    Generator random(seed, true);
    const Program program = random.program();
    set_program(&program);
    Bench batches;
    MessageId number = 0;
    batches.go(run_program, {start()});
    while (!batches.history().ended())
      batches.go(run_program, random_batch(batches.history(), random, &number));
    const std::vector<std::string> seen = root_observations();
    Bench singles;
    run_one_by_one(singles, order_of(batches.history()));
    EXPECT_TRUE(singles.history().ended());
    EXPECT_EQ(root_observations(), seen);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << "\n"
                                              << batches.all() << "\n"
                                              << singles.all();
  }
}

}  // namespace
}  // namespace pawl::test

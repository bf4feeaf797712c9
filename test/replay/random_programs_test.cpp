// Random programs under random deliveries: whatever the code does within the rules, a replay decides
// as the live turns did.
//
// Method: from a seed, a program of activities, timers, nested branches, joins, selects and cancels.
// Turns get random batches of completions, with duplicates and a cancel request. Each turn runs
// three times: warm, warm again after a rewind (the commit failed), and cold from the stored events (a crash);
// all with verify.
#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "program.hpp"
#include "replay_bench.hpp"

namespace pawl::test {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

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
    const unsigned choice = usable.empty() ? below(4) : below(12);
    if (choice < 4) {
      step.kind = choice == 3 && depth < 3 ? Step::Kind::kOpen
                  : choice == 2            ? Step::Kind::kTimer
                                           : Step::Kind::kActivity;
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

  Program* program_ = nullptr;
  std::mt19937 random_;
};

std::vector<Message> random_batch(const History& history, Generator& random) {
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
    batch.push_back(command.kind == EventKind::kTimer ? fired(id) : done(id, command.name));
    if (random.chance(8)) batch.push_back(batch.back());
    pending.erase(pending.begin() + at);
  }
  if (random.chance(15)) batch.push_back(cancel());
  return batch;
}

bool is_prefix(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return a.size() <= b.size() && std::equal(a.begin(), a.end(), b.begin());
}

// One turn, three ways. False: something differed.
void turn_three_ways(Bench& warm, const std::vector<Message>& batch) {
  Bench cold;
  cold.load(warm, warm.history().last_id());
  const History::Mark mark = warm.history().mark();
  warm.go(run_program, batch);
  const std::string first = warm.all();
  const auto seen = observations();
  warm.history().rewind(mark);
  warm.go(run_program, batch);
  ASSERT_EQ(warm.all(), first);
  cold.go(run_program, batch);
  ASSERT_EQ(cold.all(), first);
  ASSERT_EQ(observations(), seen);
}

void run_seed(unsigned seed) {
  Generator random(seed);
  const Program program = random.program();
  set_program(&program);
  Bench warm;
  std::vector<std::string> seen;
  for (int turn = 0; !warm.history().ended(); ++turn) {
    ASSERT_LT(turn, 300) << "it waits for nothing that can come";
    const std::vector<Message> batch = random_batch(warm.history(), random);
    ASSERT_NO_FATAL_FAILURE(turn_three_ways(warm, batch));
    const std::vector<std::string> now = root_observations();
    if (!now.empty() || seen.empty()) {
      ASSERT_TRUE(is_prefix(seen, now)) << warm.all();
      seen = now;
    }
  }
  ASSERT_EQ(warm.pool().used(), warm.history().bytes());
}

TEST(RandomPrograms, ReplayAsTheyRan) {
  const unsigned seeds = std::getenv("PAWL_SOAK") == nullptr ? 2000 : 200000;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    run_seed(seed);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pawl::test

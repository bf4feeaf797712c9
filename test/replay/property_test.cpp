// Whatever the code does within the rules and whatever happens around it: a replay decides as the
// live turns did, and nothing is lost or done twice.
//
// Method: random programs (generator.hpp) live in a simulated world (world.hpp). Worlds that do one
// thing wrong show that the test would notice. PAWL_PROGRAMS=1000000 runs so many programs,
// PAWL_SOAK=1 ten times as many; PAWL_SEED=n runs one and prints it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>

#include "replay_bench.hpp"
#include "world.hpp"

namespace pawl::test {
namespace {

#ifdef NDEBUG
constexpr std::uint64_t kPrograms = 160'000;
#else
constexpr std::uint64_t kPrograms = 10'000;
#endif
constexpr std::uint64_t kShards = 4;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Program program_of(std::uint64_t seed) {
  Random random(seed);
  return random_program(random);
}

std::string report(std::uint64_t seed, const std::string& failure) {
  return "PAWL_SEED=" + std::to_string(seed) + "\n" + print(program_of(seed)) + failure;
}

void show(unsigned count, const Life& all) {
  std::printf(
      "%u programs: %u executions, %u turns (%u cut behind each pass too), %u commands withdrawn,"
      " %u messages dropped, %u kept, %u not found, %u put off, %u ends put off, %u ends that"
      " received none, %u ended by the grace timer,"
      " %u requests handed on, %u answers in a clean-up\n",
      count, all.executions, all.turns, all.cuts, all.withdrawn, all.dropped, all.kept,
      all.not_found, all.put_off, all.ends_put_off, all.ends_deaf, all.ended_outside, all.handed_on,
      all.shielded);
  for (std::size_t kind = 0; kind < std::size(all.events); ++kind)
    if (all.events[kind] != 0)
      std::printf("  %s %u", event_kind_name(static_cast<EventKind>(kind)), all.events[kind]);
  std::printf("\n");
}

// A generator or a world that leaves something out would pass every invariant, so each thing must
// occur.
void expect_everything_happened(const Life& all) {
  using Kind = EventKind;
  for (const Kind kind :
       {Kind::kActivity, Kind::kTimer, Kind::kWait, Kind::kDequeue, Kind::kChild, Kind::kDetached,
        Kind::kGuid, Kind::kUtcNow, Kind::kStateWrite, Kind::kCustomStatus, Kind::kBranchOpened,
        Kind::kClose, Kind::kActivityDone, Kind::kTimerFired, Kind::kChildDone, Kind::kDelivery,
        Kind::kReturn, Kind::kCancelRequested, Kind::kEnded})
    EXPECT_GT(all.events[static_cast<std::size_t>(kind)], 20U) << event_kind_name(kind);
  for (const unsigned happened :
       {all.cuts, all.withdrawn, all.dropped, all.kept, all.ended_outside, all.not_found,
        all.put_off, all.ends_put_off, all.ends_deaf, all.handed_on, all.shielded})
    EXPECT_GT(happened, 20U);
  EXPECT_GT(all.executions, all.turns / 100);
}

class RandomWorlds : public testing::TestWithParam<std::uint64_t> {};

// Rules: R7.6, R7.7, R7.8, R9.1.
TEST_P(RandomWorlds, LiveAsTheyReplay) {
  if (const std::uint64_t seed = number_of("PAWL_SEED", 0); seed != 0) {
    if (GetParam() == 0) {
      const Life one = live(program_of(seed), seed);
      std::puts(report(seed, one.failure).c_str());
      EXPECT_EQ(one.failure, "");
    }
    return;
  }
  const std::uint64_t programs =
      number_of("PAWL_PROGRAMS", std::getenv("PAWL_SOAK") == nullptr ? kPrograms : 10 * kPrograms);
  Life all;
  unsigned count = 0;
  for (std::uint64_t seed = 1 + GetParam(); seed <= programs; seed += kShards, ++count) {
    const Life one = live(program_of(seed), seed);
    ASSERT_EQ(one.failure, "") << report(seed, "");
    all.add(one);
  }
  show(count, all);
  if (count >= 1'000) expect_everything_happened(all);
}

INSTANTIATE_TEST_SUITE_P(Shard, RandomWorlds, testing::Range<std::uint64_t>(0, kShards));

// ---- grouping ----

// The kind and name identify every command; a timer has no name, so its number does.
std::string key_of(const Event& command) {
  return std::string(event_kind_name(command.kind)) + " " +
         (command.kind == EventKind::kTimer ? std::to_string(command.number)
                                            : std::string(command.name));
}

Message answer(const Event& command) {
  static std::set<std::string> texts;
  const std::string_view text = *texts.insert("of " + key_of(command)).first;
  if (command.kind == EventKind::kTimer) return fired(command.id);
  const MessageKind kind =
      command.kind == EventKind::kChild ? MessageKind::kChildDone : MessageKind::kActivityDone;
  const bool fails = text.size() % 5 == 0;
  return completion(kind, command.id, fails ? ErrorKind::kApplication : ErrorKind::kNone, text);
}

std::vector<EventId> pending_in(const History& history) {
  std::vector<EventId> ids;
  for (EventId id = 1; id <= history.last_id(); ++id)
    if (history.awaits_completion(id)) ids.push_back(id);
  return ids;
}

void run_in_batches(Bench& bench, Random& random) {
  bench.go(run_program, {start()});
  for (int turn = 0; turn < 300 && !bench.history().ended(); ++turn) {
    std::vector<Message> batch;
    for (const EventId id : pending_in(bench.history()))
      if (random.chance(2)) batch.push_back(answer(bench.history().event(id)));
    for (std::size_t i = batch.size(); i > 1; --i)
      std::swap(batch[i - 1], batch[random.below(i)]);
    if (random.chance(15))
      batch.insert(batch.begin() + static_cast<std::ptrdiff_t>(random.below(batch.size() + 1)),
                   cancel());
    bench.go(run_program, batch);
  }
}

// The completions in order, and the cancel request.
std::vector<std::string> order_of(const History& history) {
  std::vector<std::string> order;
  for (EventId id = 1; id <= history.last_id(); ++id) {
    const Event& event = history.event(id);
    if (event.kind == EventKind::kCancelRequested) order.emplace_back("cancel");
    if (is_completion(event.kind)) order.push_back(key_of(history.event(event.ref)));
  }
  return order;
}

// Runs the same completions, one in each turn.
void run_one_by_one(Bench& bench, const std::vector<std::string>& order) {
  bench.go(run_program, {start()});
  for (const std::string& key : order) {
    if (bench.history().ended()) return;
    if (key == "cancel") bench.go(run_program, {cancel()});
    for (const EventId id : pending_in(bench.history()))
      if (key_of(bench.history().event(id)) == key)
        bench.go(run_program, {answer(bench.history().event(id))});
  }
}

// Rules: R9.2.
TEST(RandomPrograms, GroupingIntoTurnsDoesNotMatter) {
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    Random random(seed);
    const Program program = random_program(random, Style::kGrouped);
    set_program(&program);
    Bench batches;
    run_in_batches(batches, random);
    ASSERT_TRUE(batches.history().ended()) << "seed " << seed << "\n" << print(program);
    const Trail seen = trails()[0];
    Bench singles;
    run_one_by_one(singles, order_of(batches.history()));
    EXPECT_TRUE(singles.history().ended());
    EXPECT_EQ(trails()[0].seen, seen.seen);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << "\n"
                                              << print(program) << batches.all() << "\n"
                                              << singles.all();
  }
}

// ---- worlds that do one thing wrong ----

class WrongWorld : public testing::TestWithParam<int> {};

TEST_P(WrongWorld, IsNoticed) {
  const auto wrong = static_cast<Wrong>(GetParam());
  constexpr std::uint64_t kEnough = 5'000;
  for (std::uint64_t seed = 1; seed <= kEnough; ++seed) {
    const std::string failure = live(program_of(seed), seed, wrong).failure;
    if (failure.empty()) continue;
    std::printf("%s: noticed by program %llu: %s\n", wrong_name(wrong),
                static_cast<unsigned long long>(seed),
                failure.substr(0, failure.find('\n')).c_str());
    return;
  }
  FAIL() << wrong_name(wrong) << ": not noticed";
}

INSTANTIATE_TEST_SUITE_P(Replay, WrongWorld,
                         testing::Range(static_cast<int>(Wrong::kNothing) + 1,
                                        static_cast<int>(Wrong::kCount)),
                         [](const auto& wrong) {
                           std::string name = wrong_name(static_cast<Wrong>(wrong.param));
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace pawl::test

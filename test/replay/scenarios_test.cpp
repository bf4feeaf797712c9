// Runs the worked examples of scenarios.hpp on the engine alone.
#include "scenarios.hpp"

#include <ostream>
#include <string>

#include "program.hpp"
#include "replay_bench.hpp"

namespace pawl::test {

// Without this the bytes of the struct become part of the test's name.
void PrintTo(const Scenario& scenario, std::ostream* out);
void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

namespace {

class Scenarios : public testing::TestWithParam<Scenario> {};

TEST_P(Scenarios, EventByEvent) {
  const Program program = parse(GetParam().program);
  set_program(&program);
  Bench bench;
  for (const ScenarioTurn& turn : GetParam().turns) {
    const EventId first = bench.history().last_id() + 1;
    bench.go(run_program, messages_of(bench.history(), turn.messages));
    const auto number_of = [](const Event& delivery) { return delivery.number; };
    EXPECT_EQ(facts(bench.history(), first, number_of), turn.events) << turn.messages;
    EXPECT_EQ(bench.passes(), turn.passes) << turn.messages;
    EXPECT_EQ(bench.withdrawn(), turn.withdrawn) << turn.messages;
    std::string waiting;
    for (const Message& message : bench.posted())
      waiting += std::to_string(message.id);
    EXPECT_EQ(waiting, turn.waiting) << turn.messages;
  }
  EXPECT_EQ(horizon_of_end(bench.history()), GetParam().end_at);
  EXPECT_EQ(reads_of_last_run(), GetParam().reads);
}

INSTANTIATE_TEST_SUITE_P(Replay, Scenarios,
                         testing::ValuesIn(scenarios().begin(), scenarios().end()),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace pawl::test

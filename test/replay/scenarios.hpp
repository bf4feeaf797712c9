// Worked examples of branches, selects and their losers, horizons, withdrawal and cancellation,
// event by event: a program, then for each turn its messages and exactly what must be appended.
// Messages name a command as branch.ordinal.
//
// scenarios_test.cpp runs them on the engine alone; on a board without an operating system
// board_replay.cpp runs them with a history that lies in the database, and without a test framework.
#ifndef PAWL_TEST_SCENARIOS_HPP
#define PAWL_TEST_SCENARIOS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "engine.hpp"
#include "span.hpp"

namespace pawl::test {

struct ScenarioTurn {
  const char* messages;  // "done 0.1  cancel"
  const char* events;    // those appended
  std::uint32_t passes;
  std::uint32_t withdrawn;
  const char* waiting = "";  // numbers of the messages that wait on
};

struct Scenario {
  const char* name;
  const char* program;
  std::vector<ScenarioTurn> turns;
  EventId end_at;          // horizon of the end; 0: it has not ended
  const char* reads = "";  // of state, in the last turn
};

Span<const Scenario> scenarios();

// Of ScenarioTurn::messages. A command that is not there has the id 0: what is appended then differs.
std::vector<Message> messages_of(const History& history, const char* text);
// The scenario's number of a message that was delivered.
using NumberOf = std::int64_t (*)(const Event& delivery);
// Of the events from `first` on, as in ScenarioTurn::events.
std::string facts(const History& history, EventId first, NumberOf number_of);
// Scenario::reads and Scenario::end_at, as they are.
std::string reads_of_last_run();
EventId horizon_of_end(const History& history);

}  // namespace pawl::test

#endif  // PAWL_TEST_SCENARIOS_HPP

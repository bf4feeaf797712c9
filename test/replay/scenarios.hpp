// Worked examples of branches, selects and their losers, horizons, withdrawal and cancellation,
// event by event: a program, then for each turn its messages and exactly the events that it must
// append. Messages name a command as branch.ordinal.
//
// scenarios_test.cpp runs them on the engine alone. On a board without an operating system
// board_replay.cpp runs them with the history in the database, and without a test framework.
#ifndef PAWL_TEST_SCENARIOS_HPP
#define PAWL_TEST_SCENARIOS_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "core/span.hpp"
#include "replay/engine.hpp"

namespace pawl::test {

struct ScenarioTurn {
  const char* messages;  // for example "done 0.1  cancel"
  const char* events;    // the events that the turn appends
  std::uint32_t passes;
  std::uint32_t withdrawn;
  const char* waiting = "";  // numbers of the messages that go on waiting
};

struct Scenario {
  const char* name;
  const char* program;
  std::vector<ScenarioTurn> turns;
  EventId end_at;          // horizon of the end; 0: it has not ended
  const char* reads = "";  // values of the state that the code read in the last turn
};

Span<const Scenario> scenarios();

// Makes messages from ScenarioTurn::messages. A command that does not exist gets the id 0, and then
// other events are appended.
std::vector<Message> messages_of(const History& history, const char* text);
// Returns the scenario's number of a message that was delivered.
using NumberOf = std::int64_t (*)(const Event& delivery);
// The events from `first` on, in the form of ScenarioTurn::events.
std::string facts(const History& history, EventId first, NumberOf number_of);
// The actual values, for Scenario::reads and Scenario::end_at.
std::string reads_of_last_run();
EventId horizon_of_end(const History& history);

}  // namespace pawl::test

#endif  // PAWL_TEST_SCENARIOS_HPP

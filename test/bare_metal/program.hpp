// Shared parts of the programs on the board: memory, port, and one Runtime.
#ifndef PAWL_TEST_BARE_METAL_PROGRAM_HPP
#define PAWL_TEST_BARE_METAL_PROGRAM_HPP

#include <string_view>

#include "pawl/pawl.hpp"
#include "pawl/port.hpp"

namespace pawl::metal_test {

// Starts board, flash and the memory of SQLite; a line of output says what failed.
bool start_board(const ProcessOptions& of_process);
[[nodiscard]] port::Port board_port();
// Writes the use of memory, stack and flash. False: a request of SQLite did not fit, or too little
// was left of the stack.
bool report();

// Starts all that and a Runtime, and sets the options that the board fixes. Registry and options
// are best static: start() needs most of the stack, and they would lie below it.
bool start(const Registry& registry, Options& options);
[[nodiscard]] Runtime& runtime();
// Starts the instance if it does not exist yet.
void start_once(std::string_view name, const InstanceId& id, std::string_view input);
// Works until the instance has ended, writes the use of memory, and stops.
// Returns the exit status of the program.
int finish(std::string_view id);

}  // namespace pawl::metal_test

#endif  // PAWL_TEST_BARE_METAL_PROGRAM_HPP

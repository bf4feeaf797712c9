// The code of a random world: orchestrations that interpret random programs (test/replay), and the
// activities and children that the programs ask for.
#ifndef PAWL_TEST_RANDOM_CODE_HPP
#define PAWL_TEST_RANDOM_CODE_HPP

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pawl/pawl.hpp"
#include "program.hpp"

namespace pawl::test {

// The programs by the id of the instance. They must live until the next call.
void set_programs(const std::map<std::string, Program>* programs);
// A program whose activities and children have names that fill() registers.
Program make_program(std::uint64_t seed);
Status fill(Registry& registry);
// The tokens that activities gave out since the last call of this, for the world to answer.
std::vector<std::string> take_tokens();

inline constexpr char kRoot[] = "root";

}  // namespace pawl::test

#endif  // PAWL_TEST_RANDOM_CODE_HPP

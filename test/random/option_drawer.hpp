// Draws the options of a random world, each from its whole range: a sixth at its least, a sixth at
// its greatest, a sixth in between, and half at its default, so that the effect of one option shows
// although another has ended most of the world early.
//
// Method: the ranges are those that the code checks. Each option is set to a number outside any
// range, and the diagnostic names the range, so there is no second copy of the ranges here.
// `build.drawn` fails when an option of docs/limits is not drawn.
#ifndef PAWL_TEST_RANDOM_OPTION_DRAWER_HPP
#define PAWL_TEST_RANDOM_OPTION_DRAWER_HPP

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "pawl/pawl.hpp"

namespace pawl::test {

using Rng = std::mt19937_64;

enum class Draw { kLeast, kMost, kAny };
// The first world of a test has the least of everything, the second the most.
inline Draw draw_of(std::uint64_t seed) {
  return seed == 1 ? Draw::kLeast : seed == 2 ? Draw::kMost : Draw::kAny;
}

// Returns options that are accepted and need at most `bytes_max` of memory: options of sizes become
// smaller until they fit. Names and pointers stay as in `base`.
Options draw_options(const Options& base, Draw how, Rng& random, std::size_t bytes_max);
ClientOptions draw_client_options(const ClientOptions& base, Draw how, Rng& random,
                                  std::size_t bytes_max);

// The options that differ from the defaults, for a report: "limits.batch=1 ..".
std::string text_of(const Options& options);

}  // namespace pawl::test

#endif  // PAWL_TEST_RANDOM_OPTION_DRAWER_HPP

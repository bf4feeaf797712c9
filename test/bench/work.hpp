// The orchestrations and activities that the scenarios run.
#ifndef PAWL_BENCH_WORK_HPP
#define PAWL_BENCH_WORK_HPP

#include <vector>

#include "pawl/pawl.hpp"

namespace bench {

constexpr std::uint64_t kPinnedSteps = 5;

// When each activity "step" began; null: not recorded. Room for all is reserved before the start.
extern std::vector<double>* step_times;

// The names: hello; chain and fanout, with as many steps as the input says; pinned and plain,
// five steps with the input as session or without one; chain_on, with the input "SESSION STEPS";
// sleeper, a timer of as many ms; until, a timer to that stamp; listener, one event "go";
// sensor, with the input "SAMPLES PHASE_MS", a sample each second; naps, five activities of 10
// ms at once; answerer, which answers each message of "asked".
bool add_work(pawl::Registry* registry);

}  // namespace bench

#endif  // PAWL_BENCH_WORK_HPP

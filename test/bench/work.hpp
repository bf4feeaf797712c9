// The orchestrations and activities that the scenarios run.
#ifndef PAWL_BENCH_WORK_HPP
#define PAWL_BENCH_WORK_HPP

#include <vector>

#include "pawl/pawl.hpp"

namespace bench {

constexpr std::uint64_t kPinnedSteps = 5;

// When each activity "step" began; null: no caller asks. Room for all is there before the start.
extern std::vector<double>* step_times;

// Names: hello; chain and fanout of as many steps as the input says; pinned and plain, five steps
// with the input as session or with none; chain_on, whose input is "SESSION STEPS"; sleeper, a
// timer of as many ms; until, a timer to that stamp; listener, one event "go"; sensor, as many
// samples as its input "SAMPLES PHASE_MS" says, one a second; naps, five activities of 10 ms at
// once.
bool add_work(pawl::Registry* registry);

}  // namespace bench

#endif  // PAWL_BENCH_WORK_HPP

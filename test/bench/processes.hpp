// The scenarios with several processes, each of which runs this program again.
#ifndef PAWL_BENCH_PROCESSES_HPP
#define PAWL_BENCH_PROCESSES_HPP

#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

[[nodiscard]] std::vector<Name> process_scenario_list();
bool run_processes(const Setup& setup, Figures* figures, std::string* error);

// Runs the part of a started process. `role` is "first" (one hello in a new database) or "worker"
// (until its standard input ends). Prints its figures for the parent.
bool run_role(const Setup& setup, const std::string& role, std::string* error);

}  // namespace bench

#endif  // PAWL_BENCH_PROCESSES_HPP

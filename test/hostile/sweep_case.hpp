// One case of the sweep: one value in one column of a database, and what a worker then does with
// it.
//
// Method: a case runs in a forked process, so the kernel copies the image, and a case that hangs or
// crashes ends alone. Ownership: an Outcome is a plain value. Thread rule: one thread.
#ifndef PAWL_TEST_HOSTILE_SWEEP_CASE_HPP
#define PAWL_TEST_HOSTILE_SWEEP_CASE_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "image.hpp"

namespace pawl::hostile {

enum class Verdict : std::uint8_t {
  kFine,
  kNotApplicable,  // a constraint of the schema refuses the value, or there is no such row
  kRefused,        // start() or Client::open() answered an error with a text
  kSpins,          // far more ticks or commits than without the damage
  kStarves,        // a neighbour whose start was acknowledged has not completed
  kQuits,          // a tick answered an error, which ends Runtime::run()
  kHangs,          // a call did not return, or the case took seconds of processor time
  kCrashes,        // the process died
};
constexpr std::size_t kVerdicts = 8;
[[nodiscard]] const char* verdict_name(Verdict verdict);
[[nodiscard]] constexpr bool is_failure(Verdict verdict) { return verdict > Verdict::kRefused; }

struct Outcome {
  Verdict verdict = Verdict::kFine;
  std::uint64_t ticks = 0;
  std::uint64_t commits = 0;
  std::uint64_t idle_commits = 0;       // in the last minutes, after all has settled
  std::uint64_t warnings = 0;           // unknown ones in the log, errors included
  std::uint64_t calls_failed = 0;       // the client's; these neighbours were not started
  std::uint64_t states = 0;             // a hash of the states of all instances at the end
  std::string text;                     // where and why
  std::string log;                      // its first lines
  std::vector<std::uint64_t> received;  // hashes of the first warnings, by event and first field
};

struct Expectation {
  // A case with more of them spins.
  std::uint64_t ticks = UINT64_MAX;
  std::uint64_t commits = UINT64_MAX;
  std::uint64_t idle_commits = UINT64_MAX;
  std::vector<std::uint64_t> known_warnings;  // hashes as in Outcome::received
};

// Runs one case. `options` are those of the worker that meets the damage; `damage` is SQL that
// changes rows, or empty; `image` is only copied; Outcome::log gets `first_log_lines` lines.
Outcome run_case(sim::Machine& image, const Options& options, const std::string& damage,
                 const Expectation& expected, std::size_t first_log_lines);

}  // namespace pawl::hostile

#endif  // PAWL_TEST_HOSTILE_SWEEP_CASE_HPP

// Setup and Figures: the input of one run of pawl-bench, and its results.
#ifndef PAWL_BENCH_MEASURE_HPP
#define PAWL_BENCH_MEASURE_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io_count.hpp"

namespace bench {

struct Setup {
  std::string program;   // path of this program, to start it again
  std::string scenario;  // a name of scenario_list() or of floor_list()
  bool floor = false;    // the scenario's rows and commits by SQLite or libpq alone
  std::size_t n = 0;
  std::string database;  // canonical path; does not exist yet
  std::string server;    // the address of a server in its place; empty: none
  bool synchronous_full = true;
  std::size_t slots = 8;        // for stress: activities at once
  std::size_t processes = 2;    // for the multi scenarios
  std::size_t window_ms = 0;    // commit_window_ms
  std::size_t tick_ms = 50;     // tick_ms_max
  std::size_t batch = 64;       // also inline_slots
  std::size_t seconds = 10;     // for idle: how long it measures
  std::size_t lead_ms = 2'000;  // for timer and burst: when the first timers are due
};

struct Figures {
  double wall_s = 0;
  const char* step = "";  // name of what `steps` counts
  std::uint64_t steps = 0;
  std::uint64_t orchestrations = 0;
  std::uint64_t activities = 0;
  std::uint64_t commits = 0;
  std::vector<double> latencies_ms;
  IoCounts io;
  std::uint64_t server_trips = 0;
  IoCounts io_reported;  // from RuntimeStats; 0 for the floor
  std::uint64_t allocs_after_start = 0;
  std::uint64_t rss_kib = 0;                         // at the end of the measured time
  std::uint64_t vmhwm_kib = 0;                       // peak until then
  std::vector<std::pair<std::string, double>> more;  // figures of this scenario only
};

[[nodiscard]] double now_ms();  // CLOCK_MONOTONIC
[[nodiscard]] double cpu_ms();  // user and system time of this process
// How often threads of this process gave up the processor because they had nothing to do.
[[nodiscard]] std::uint64_t sleeps();
[[nodiscard]] double boot_now_ms();  // the clock of Runtime::next_due()

// Measures from construction to end(): time, calls of the kernel and of malloc. An outside observer
// sees both ends as writes of kBeginMark and kEndMark to descriptor -1.
class Measurement {
 public:
  Measurement();
  // Fills in all figures except those that the scenario itself counts.
  void end(Figures* figures);

  static constexpr char kBeginMark[] = "pawl-bench: measured from here";
  static constexpr char kEndMark[] = "pawl-bench: measured to here";

 private:
  IoCounts io_before_;
  double begin_ms_;
};

// Sorts the values. Returns the smallest value that at least `percent` of the values do not exceed;
// 0 if there are none.
[[nodiscard]] double percentile(std::vector<double> values, double percent);

struct Name {
  const char* name;
  const char* what;
};
[[nodiscard]] std::vector<Name> scenario_list();
[[nodiscard]] std::vector<Name> floor_list();

// False: `error` gives the reason.
bool run_pawl(const Setup& setup, Figures* figures, std::string* error);
bool run_floor(const Setup& setup, Figures* figures, std::string* error);

}  // namespace bench

#endif  // PAWL_BENCH_MEASURE_HPP

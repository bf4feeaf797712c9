// Setup and Figures: what one run of pawl-bench is given and what it found.
#ifndef PAWL_BENCH_MEASURE_HPP
#define PAWL_BENCH_MEASURE_HPP

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io_count.hpp"

namespace bench {

struct Setup {
  std::string program;   // this one, to be started again
  std::string scenario;  // a name of scenario_list() or of floor_list()
  bool floor = false;    // its rows and commits by SQLite alone
  std::size_t n = 0;
  std::string database;  // canonical; does not exist yet
  bool synchronous_full = true;
  std::size_t slots = 8;        // stress: activities at once
  std::size_t processes = 2;    // multi
  std::size_t window_ms = 0;    // commit_window_ms
  std::size_t tick_ms = 50;     // tick_ms_max
  std::size_t batch = 64;       // and inline_slots
  std::size_t seconds = 10;     // idle: how long it measures
  std::size_t lead_ms = 2'000;  // timer, burst: how long the first timers take to be due
};

struct Figures {
  double wall_s = 0;
  const char* step = "";  // what is counted in `steps`
  std::uint64_t steps = 0;
  std::uint64_t orchestrations = 0;
  std::uint64_t activities = 0;
  std::uint64_t commits = 0;
  std::vector<double> latencies_ms;
  IoCounts io;
  IoCounts io_reported;  // by RuntimeStats; of the floor 0
  std::uint64_t allocs_after_start = 0;
  std::uint64_t rss_kib = 0;                         // at the end of what is measured
  std::uint64_t vmhwm_kib = 0;                       // highest until then
  std::vector<std::pair<std::string, double>> more;  // of this scenario alone
};

[[nodiscard]] double now_ms();  // monotonic
[[nodiscard]] double cpu_ms();  // of this process, user and system
// Switches of all threads of this process away from a processor that they had no more use for.
[[nodiscard]] std::uint64_t sleeps();
[[nodiscard]] double boot_now_ms();  // the clock of Runtime::next_due()

// From construction to end(): time, calls of the kernel and of malloc. An outside observer finds
// both ends as writes of kBeginMark and kEndMark to descriptor -1.
class Measurement {
 public:
  Measurement();
  // Everything but what the scenario itself counts.
  void end(Figures* figures);

  static constexpr char kBeginMark[] = "pawl-bench: measured from here";
  static constexpr char kEndMark[] = "pawl-bench: measured to here";

 private:
  IoCounts io_before_;
  double begin_ms_;
};

// Sorts. The smallest value that at least `percent` of the values do not exceed; 0 of none.
[[nodiscard]] double percentile(std::vector<double> values, double percent);

struct Name {
  const char* name;
  const char* what;
};
[[nodiscard]] std::vector<Name> scenario_list();
[[nodiscard]] std::vector<Name> floor_list();

// False: `error` says why.
bool run_pawl(const Setup& setup, Figures* figures, std::string* error);
bool run_floor(const Setup& setup, Figures* figures, std::string* error);

}  // namespace bench

#endif  // PAWL_BENCH_MEASURE_HPP

#include "measure.hpp"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "alloc_count.hpp"

namespace bench {
namespace {

template <std::size_t N>
void mark(const char (&text)[N]) {
  const ssize_t refused = ::write(-1, text, N - 1);
  static_cast<void>(refused);
}

std::uint64_t read_status_kib(const char* name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    std::uint64_t kib = 0;
    if (word == name && status >> kib) return kib;
  }
  return 0;
}

double read_clock_ms(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

}  // namespace

double now_ms() { return read_clock_ms(CLOCK_MONOTONIC); }
double cpu_ms() { return read_clock_ms(CLOCK_PROCESS_CPUTIME_ID); }
std::uint64_t sleeps() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<std::uint64_t>(used.ru_nvcsw);
}
double boot_now_ms() { return read_clock_ms(CLOCK_BOOTTIME); }

Measurement::Measurement() {
  mark(kBeginMark);
  io_before_ = io_counts();
  with_alloc_counters([](const AllocCounter& counter) { counter.begin(); });
  io_count_pages(true);
  begin_ms_ = now_ms();
}

void Measurement::end(Figures* figures) {
  figures->wall_s = (now_ms() - begin_ms_) / 1e3;
  io_count_pages(false);
  with_alloc_counters([](const AllocCounter& counter) { counter.end(); });
  const IoCounts io = io_counts();
  mark(kEndMark);
  figures->io.fsyncs = io.fsyncs - io_before_.fsyncs;
  figures->io.bytes_written = io.bytes_written - io_before_.bytes_written;
  figures->rss_kib = read_status_kib("VmRSS:");
  figures->vmhwm_kib = read_status_kib("VmHWM:");
  if (alloc_counters.own != nullptr) {
    AllocCounts counts;
    alloc_counters.own->read(&counts);
    figures->allocs_after_start = counts.calls;
  }
}

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

}  // namespace bench

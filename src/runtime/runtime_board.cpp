#include "pawl/runtime_board.hpp"

#include <thread>

namespace pawl {
namespace {

// A write copies some KiB, so a reader that needs more tries waits for a writer that was
// interrupted.
constexpr int kTriesMax = 10'000;

// Copies only the entries in use: the tables of names are large, and mostly empty.
void copy(const RuntimeCounters& from, RuntimeCounters* to) {
  to->taken_ms = from.taken_ms;
  to->worker_id = from.worker_id;
  to->stats = from.stats;
  to->orchestration_count = from.orchestration_count;
  to->orchestrations_left_out = from.orchestrations_left_out;
  for (std::size_t i = 0; i < from.orchestration_count; ++i)
    to->orchestrations[i] = from.orchestrations[i];
  to->activity_count = from.activity_count;
  for (std::size_t i = 0; i < from.activity_count; ++i)
    to->activities[i] = from.activities[i];
}

}  // namespace

RuntimeBoard::Life RuntimeBoard::life() const { return life_.load(); }

bool RuntimeBoard::read(RuntimeCounters* out) const {
  for (int i = 0; i < kTriesMax; ++i) {
    if (busy_.test_and_set(std::memory_order_acquire)) {
      std::this_thread::yield();
      continue;
    }
    const bool written = written_;
    if (written) copy(counters_, out);
    busy_.clear(std::memory_order_release);
    return written;
  }
  return false;
}

RuntimeCounters* RuntimeBoard::begin_write() {
  return busy_.test_and_set(std::memory_order_acquire) ? nullptr : &counters_;
}

void RuntimeBoard::end_write() {
  written_ = true;
  busy_.clear(std::memory_order_release);
}

void RuntimeBoard::write_life(const Life& life) { life_.store(life); }

}  // namespace pawl

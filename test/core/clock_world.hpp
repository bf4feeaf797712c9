// A machine with a hidden true time, a database and some processes that follow the rules of time.
//
// Purpose: the tests of the clock's rules run on it. The world knows the truth (UTC in ms); the
// rules see only samples. After each firing it compares the delay with the table of guarantees in
// docs/architecture/time.md, computed from the truth alone, and records each violation.
#ifndef PAWL_TEST_CORE_CLOCK_WORLD_HPP
#define PAWL_TEST_CORE_CLOCK_WORLD_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock_rules.hpp"

namespace pawl::testing_world {

using Ms = std::int64_t;
inline constexpr Ms kSecond = 1000;
inline constexpr Ms kMinute = 60 * kSecond;
inline constexpr Ms kHour = 60 * kMinute;
inline constexpr Ms kDay = 24 * kHour;
inline constexpr Ms k2000 = 946684800000;
inline constexpr Ms k2027 = 1798761600000;
inline constexpr Ms k2040 = 2208988800000;
inline constexpr Ms k2099 = 4070908800000;

// Rules broken on purpose: the world must notice each.
enum class Variant {
  kRules,
  kCreditPresentBoot,    // the credit also reaches items made after the gap
  kWallDue,              // durations are recomputed from a stored due time of the wall clock
  kLateAdoption,         // a boot's first hour is counted and marked under the id of the last one
  kUnknownIdNotWritten,  // a process with an unknown id leaves a known one in the row
  kCreditUnknownBoot,    // a boot of unknown id is credited as if it were surely one boot
  kNoDoublingOfMarks,    // a mark every clock_mark_ms from the start
};

struct Process {
  bool blind = false;    // never sees the flag that the clock is synchronised
  bool knows_id = true;  // false: in a container
  bool adopted = false;
  bool adopts_late = false;  // for Variant::kLateAdoption
  Ms adopted_boot_ms = 0;
  Ms look_wait = 0;
  Ms next_look_boot_ms = 0;
};

struct Item {
  int id = 0;
  TimeBase base = TimeBase::kPawl;
  Ms due = 0;
  std::int64_t seg = 0;
  // The truth, which the rules do not know.
  std::size_t made_boot = 0;
  Ms made = 0;
  Ms true_due = 0;
  Ms wall_due = 0;  // for Variant::kWallDue
  int credits = 0;
  Ms credit_drift = 0;
};

// One life of the kernel, in true time.
struct BootTruth {
  Ms booted = 0;
  Ms cut = -1;
  Ms first_commit = -1;
  Ms first_sync = -1;
  Ms off_taken = -1;
  Ms gap = 0;  // longest: off and unmarked time; for unknown ids also uptime at the mark
  Ms mark_p_before = 0;
  bool noticed = false;
  bool refused = false;
};

class World {
 public:
  explicit World(Ms start, Variant variant = Variant::kRules);

  // ---- the machine ----
  // Starts the kernel now; the processes look for the first time `delay` later.
  void boot(Ms delay = 0);
  void run(Ms duration);  // including every wake-up in that time
  void look();            // every process runs one transaction
  void cut();             // the power fails
  void off(Ms duration) { truth_ += duration; }
  // The wall clock shows `value` and runs on from there.
  void set_wall(Ms value) { wall_error_ = value - truth_; }
  void set_synced(bool synced) { synced_ = synced; }
  void sync_to_truth(Ms error = 0);  // sets the synchronised flag, too
  void step_notice();
  void restart_process(std::size_t which);
  // The next transaction of a process is lost before its commit.
  void lose_next_commit() { lose_next_commit_ = true; }

  // ---- timers that wait ----
  int make(Ms delay);
  int make_at(Ms utc);
  [[nodiscard]] Ms fired_at(int id) const {
    return fired_[static_cast<std::size_t>(id)];
  }  // -1: not fired
  [[nodiscard]] bool fired(int id) const { return fired_at(id) >= 0; }

  [[nodiscard]] ClockSample sample(const Process& process) const;
  [[nodiscard]] Ms boot_ms() const;
  [[nodiscard]] Ms truth() const { return truth_; }
  [[nodiscard]] bool running() const { return running_; }

  ClockRow row_;
  std::vector<Process> processes_;
  Ms rate_ppm_ = 0;    // error of the crystal's rate
  Ms error_max_ = 0;   // largest error of the wall clock while synced
  bool lies_ = false;  // the wall may lie while synced: checks only what still holds then
  int credits_ = 0;
  int refusals_ = 0;
  int firings_ = 0;
  std::vector<std::string> violations_;

 private:
  struct Draft;  // one transaction before its commit
  void transact(Process& process, Item* made);
  void adopt_row(Process& process, const ClockSample& sample, Draft& draft);
  void add_item(const Item& made, const ClockSample& sample, Draft& draft);
  void apply_sync(Process& process, const ClockSample& sample, Draft& draft);
  void fire(const ClockSample& sample, Draft& draft);
  void commit(Process& process, Draft& draft, const ClockSample& sample);
  void note_commit(const Draft& draft, const ClockSample& sample);
  [[nodiscard]] bool item_due(const Item& item, const ClockRow& row,
                              const ClockSample& sample) const;
  [[nodiscard]] Ms next_wake() const;
  [[nodiscard]] Ms next_mark(const Process& process) const;
  [[nodiscard]] bool could_help() const;
  [[nodiscard]] bool ids_known() const;
  [[nodiscard]] Ms truth_at(Ms boot_ms) const;
  [[nodiscard]] Ms drift(Ms duration) const;
  [[nodiscard]] Ms gaps_since(std::size_t boot) const;
  void check_pawl(const Item& item);
  void check_utc(const Item& item);
  void check_cut();
  void check_order(const Item& item, const std::vector<Item>& left);
  void expect_early(const Item& item, Ms bound, const char* rule);
  void expect_late(const Item& item, Ms bound, const char* rule);
  void violate(const std::string& text);

  Variant variant_;
  Ms truth_;
  Ms wall_error_ = 0;
  bool synced_ = false;
  bool running_ = false;
  bool lose_next_commit_ = false;
  Ms start_delay_ = 0;
  std::size_t looks_ = 0;
  Ms mark_truth_ = 0;
  Ms born_ = -1;              // true time of the first adoption
  std::size_t off_boot_ = 0;  // the boot in which `off` was last confirmed
  Ms off_before_ = 0;         // when it was confirmed, before the current transaction
  bool first_commit_of_boot_ = false;
  std::vector<Item> items_;
  std::vector<Ms> fired_;
  std::vector<BootTruth> boots_;
};

}  // namespace pawl::testing_world

#endif  // PAWL_TEST_CORE_CLOCK_WORLD_HPP

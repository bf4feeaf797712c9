#include "clock_world.hpp"

#include <algorithm>

namespace pawl::testing_world {

namespace {
constexpr Ms kSlack = 5;  // several clocks are rounded to whole milliseconds
}

struct World::Draft {
  ClockRow row;
  std::vector<Item> items;
  std::vector<Item> fired;
  bool work = false;  // false: nothing to commit
  bool new_boot = false;
  bool marked = false;
  SyncResult sync;
};

World::World(Ms start, Variant variant) : processes_(1), variant_(variant), truth_(start) {}

// ---- the machine ----

void World::boot(Ms delay) {
  running_ = true;
  start_delay_ = delay;
  first_commit_of_boot_ = true;
  BootTruth boot;
  boot.booted = truth_;
  boot.mark_p_before = row_.mark;
  boots_.push_back(boot);
  for (Process& process : processes_) {
    process.adopted = false;
    process.adopts_late = false;
    process.look_wait = 0;
  }
  truth_ += delay;
  look();
}

void World::run(Ms duration) {
  const Ms end = truth_ + duration;
  for (Ms wake = next_wake(); wake <= end; wake = next_wake()) {
    truth_ = std::max(truth_ + 1, wake);
    look();
  }
  truth_ = std::max(truth_, end);
}

void World::look() {
  // Another process is the first at each look.
  looks_ += 1;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    transact(processes_[(looks_ + i) % processes_.size()], nullptr);
  }
}

void World::cut() {
  boots_.back().cut = truth_;
  check_cut();
  running_ = false;
}

void World::sync_to_truth(Ms error) {
  wall_error_ = error;
  synced_ = true;
}

void World::step_notice() {
  for (Process& process : processes_)
    process.look_wait = 0;
  look();
}

void World::restart_process(std::size_t which) {
  processes_[which].adopted = false;
  processes_[which].look_wait = 0;
  transact(processes_[which], nullptr);
}

int World::make(Ms delay) {
  Item item;
  item.id = static_cast<int>(fired_.size());
  item.due = delay;
  item.true_due = add_saturating(truth_, delay);
  fired_.push_back(-1);
  transact(processes_[static_cast<std::size_t>(item.id) % processes_.size()], &item);
  return item.id;
}

int World::make_at(Ms utc) {
  Item item;
  item.id = static_cast<int>(fired_.size());
  item.base = TimeBase::kUtc;
  item.due = utc;
  item.true_due = std::max(utc, truth_);
  fired_.push_back(-1);
  transact(processes_[static_cast<std::size_t>(item.id) % processes_.size()], &item);
  return item.id;
}

ClockSample World::sample(const Process& process) const {
  ClockSample sample;
  sample.boot_ms = boot_ms();
  sample.wall_ms = truth_ + wall_error_;
  sample.synced = synced_ && !process.blind;
  sample.boot_id.known = process.knows_id;
  const std::size_t number = process.knows_id ? boots_.size() : 0;
  for (std::size_t i = 0; i < 4; ++i) {
    sample.boot_id.bytes[i] = static_cast<std::uint8_t>(number >> (8 * i) & 0xFFU);
  }
  return sample;
}

Ms World::boot_ms() const {
  const Ms duration = truth_ - boots_.back().booted;
  return duration + duration * rate_ppm_ / 1000000;
}

Ms World::truth_at(Ms boot_ms) const {
  if (boot_ms > 1000000 * kDay) return kNever;
  const Ms duration = boot_ms - boot_ms * rate_ppm_ / 1000000;
  return boots_.back().booted + duration + (rate_ppm_ == 0 ? 0 : 1);
}

// ---- one transaction ----

void World::transact(Process& process, Item* made) {
  const ClockSample now = sample(process);
  Draft draft;
  draft.row = row_;
  draft.items = items_;
  if (!process.adopted || process.adopts_late) adopt_row(process, now, draft);
  apply_sync(process, now, draft);
  fire(now, draft);
  if (made != nullptr) add_item(*made, now, draft);
  if (process.adopted && now.boot_ms >= next_mark(process)) draft.work = true;
  if (!draft.work) return;
  const Ms p = pawl_time(draft.row, now.boot_ms);
  if (needs_mark(draft.row, p)) {
    draft.row = mark(draft.row, p);
    draft.marked = true;
  }
  if (lose_next_commit_) {
    lose_next_commit_ = false;
    return;
  }
  commit(process, draft, now);
}

void World::adopt_row(Process& process, const ClockSample& now, Draft& draft) {
  draft.work = true;  // a process registers itself
  if (!process.adopted) process.adopted_boot_ms = now.boot_ms;
  process.adopts_late = variant_ == Variant::kLateAdoption && row_.adopted && now.boot_ms < kHour;
  if (process.adopts_late) return;
  const AdoptResult adopted = adopt(draft.row, now);
  draft.row = adopted.row;
  draft.new_boot = adopted.kind == Adoption::kFirst || adopted.kind == Adoption::kNewBoot;
  if (variant_ == Variant::kUnknownIdNotWritten && !now.boot_id.known) {
    draft.row.boot_id = row_.boot_id;
  }
  if (variant_ == Variant::kCreditUnknownBoot) draft.row.off_seq = row_.off_seq;
}

void World::add_item(const Item& made, const ClockSample& now, Draft& draft) {
  Item item = made;
  const Ms p = pawl_time(draft.row, now.boot_ms);
  if (item.base == TimeBase::kPawl) item.due = make_due(p, made.due);
  item.seg = draft.row.boot_seq;
  item.made_boot = boots_.size() - 1;
  item.made = truth_;
  item.wall_due = add_saturating(now.wall_ms, made.due);
  draft.items.push_back(item);
  draft.work = true;
}

void World::apply_sync(Process& process, const ClockSample& now, Draft& draft) {
  draft.sync = sync(draft.row, now, SyncLimits());
  draft.row = draft.sync.row;
  if (draft.sync.worth_a_commit) draft.work = true;
  if (variant_ == Variant::kCreditPresentBoot) draft.sync.credit_seg_max = draft.row.boot_seq;
  if (draft.sync.credited) {
    const BootTruth& from = boots_[off_boot_];
    for (Item& item : draft.items) {
      if (item.base != TimeBase::kPawl || item.seg > draft.sync.credit_seg_max) continue;
      item.due = credited_due(draft.sync, item.due, item.seg);
      item.credits += 1;
      item.credit_drift += drift(from.cut - from.off_taken);
    }
  }
  if (now.boot_ms >= process.next_look_boot_ms || process.look_wait == 0) {
    process.look_wait = next_sync_look_ms(process.look_wait);
    process.next_look_boot_ms = now.boot_ms + process.look_wait;
  }
}

bool World::item_due(const Item& item, const ClockRow& row, const ClockSample& now) const {
  if (variant_ == Variant::kWallDue && item.base == TimeBase::kPawl) {
    return item.wall_due <= now.wall_ms;
  }
  return due(item.base, item.due, row, pawl_time(row, now.boot_ms));
}

void World::fire(const ClockSample& now, Draft& draft) {
  const auto split =
      std::stable_partition(draft.items.begin(), draft.items.end(),
                            [&](const Item& item) { return !item_due(item, draft.row, now); });
  draft.fired.assign(split, draft.items.end());
  draft.items.erase(split, draft.items.end());
  std::sort(draft.fired.begin(), draft.fired.end(), [&](const Item& a, const Item& b) {
    const Ms due_a = due_in_pawl_time(a.base, a.due, draft.row);
    const Ms due_b = due_in_pawl_time(b.base, b.due, draft.row);
    return due_a != due_b ? due_a < due_b : a.id < b.id;
  });
  if (!draft.fired.empty()) draft.work = true;
}

void World::commit(Process& process, Draft& draft, const ClockSample& now) {
  process.adopted = true;
  const Ms before = row_.mark;
  note_commit(draft, now);
  row_ = draft.row;
  items_ = draft.items;
  if (pawl_time(row_, now.boot_ms) < before) violate("P ran backwards");
  for (const Item& item : draft.fired) {
    firings_ += 1;
    if (fired(item.id)) violate("fired twice");
    fired_[static_cast<std::size_t>(item.id)] = truth_;
    if (item.base == TimeBase::kPawl) {
      check_pawl(item);
      check_order(item, draft.items);
    } else {
      check_utc(item);
    }
  }
  first_commit_of_boot_ = false;
}

// Records the truth about the commit that was just made.
void World::note_commit(const Draft& draft, const ClockSample& now) {
  BootTruth& boot = boots_.back();
  if (born_ < 0) {
    born_ = truth_;
    mark_truth_ = truth_;
  }
  if (boot.first_commit < 0) {
    boot.first_commit = truth_;
    if (boots_.size() > 1 && mark_truth_ < boot.booted) {
      boot.gap = boot.booted - mark_truth_;
      if (!ids_known()) boot.gap += boot_time(row_, row_.mark);
    }
  }
  off_before_ = boots_[off_boot_].off_taken;
  if (draft.new_boot) boot.noticed = true;
  if (draft.marked) mark_truth_ = truth_;
  if (draft.sync.changed) {
    if (boot.first_sync < 0) boot.first_sync = truth_;
    off_before_ = boot.off_taken < 0 ? truth_ : boot.off_taken;
    boot.off_taken = truth_;
    off_boot_ = boots_.size() - 1;
  }
  if (draft.sync.credited) credits_ += 1;
  if (draft.sync.refused) {
    boot.refused = true;
    refusals_ += 1;
  }
  const Ms uptime = truth_ - std::max(boot.booted, born_);
  const Ms rise = pawl_time(draft.row, now.boot_ms) - boot.mark_p_before;
  if (rise > uptime + drift(uptime) + kSlack) violate("P counted more than passed");
}

// ---- waking up ----

bool World::could_help() const {
  std::int64_t seg_min = kNever;
  bool utc = false;
  for (const Item& item : items_) {
    if (item.base == TimeBase::kUtc) {
      utc = true;
    } else {
      seg_min = std::min(seg_min, item.seg);
    }
  }
  return sync_could_help(row_, seg_min, utc);
}

bool World::ids_known() const {
  return std::all_of(processes_.begin(), processes_.end(),
                     [](const Process& process) { return process.knows_id; });
}

Ms World::next_mark(const Process& process) const {
  const bool waits = std::any_of(items_.begin(), items_.end(),
                                 [](const Item& item) { return item.base == TimeBase::kPawl; });
  if (!waits) return kNever;
  const Ms marked = boot_time(row_, row_.mark);
  if (variant_ == Variant::kNoDoublingOfMarks) return marked + kClockMarkMs;
  return next_mark_boot_ms(process.adopted_boot_ms, marked, kClockMarkMs);
}

Ms World::next_wake() const {
  Ms wake = kNever;
  for (const Item& item : items_) {
    const Ms p = due_in_pawl_time(item.base, item.due, row_);
    wake = std::min(wake, truth_at(boot_time(row_, p)));
  }
  const bool help = could_help();
  for (const Process& process : processes_) {
    wake = std::min(wake, truth_at(next_mark(process)));
    if (help && !process.blind) wake = std::min(wake, truth_at(process.next_look_boot_ms));
  }
  // This variant fires by the wall clock, so it looks once a minute.
  if (variant_ == Variant::kWallDue) wake = std::max(wake, truth_ + kMinute);
  return wake == kNever ? wake : std::max(wake, truth_ + 1);
}

// ---- the table of guarantees ----

Ms World::drift(Ms duration) const {
  const Ms rate = rate_ppm_ < 0 ? -rate_ppm_ : rate_ppm_;
  return duration <= 0 ? 0 : duration * rate / 1000000 + 1;
}

Ms World::gaps_since(std::size_t boot) const {
  Ms sum = 0;
  for (std::size_t i = boot + 1; i < boots_.size(); ++i)
    sum += boots_[i].gap;
  return sum;
}

void World::check_pawl(const Item& item) {
  const std::size_t now = boots_.size() - 1;
  const Ms rate = drift(truth_ - item.made);
  const Ms w = (first_commit_of_boot_ ? start_delay_ : 0) + kSlack;
  if (now == item.made_boot) {
    expect_early(item, rate + kSlack, "one boot");
    expect_late(item, rate + w, "one boot");
    return;
  }
  expect_late(item, gaps_since(item.made_boot) + rate + w, "sum of gaps");
  if (lies_) return;
  // Each credit is the difference of two readings of the wall.
  const Ms early = rate + item.credit_drift + 2 * error_max_ * item.credits + kSlack;
  expect_early(item, early, "several boots");
  bool learnt =
      ids_known() && boots_[item.made_boot].first_sync >= 0 && boots_[now].first_sync >= 0;
  for (std::size_t i = item.made_boot + 1; i <= now; ++i) {
    if (boots_[i].refused || !boots_[i].noticed) learnt = false;
  }
  if (!learnt) return;
  const Ms waited = std::max(Ms{0}, boots_[now].first_sync - item.true_due);
  expect_late(item, waited + early + w, "gap learnt");
}

void World::check_utc(const Item& item) {
  if (lies_) return;
  const std::size_t now = boots_.size() - 1;
  const BootTruth& off = boots_[off_boot_];
  // The wake-up was computed from the offset that the firing transaction found, not from the one it
  // took.
  const Ms rate = drift(truth_ - off_before_) + error_max_ + kSlack;
  const Ms w = (first_commit_of_boot_ ? start_delay_ : 0) + kSlack;
  expect_early(item, rate, "UTC");
  if (off_boot_ == now) {
    const Ms waited = std::max(Ms{0}, off.first_sync - item.true_due);
    // Between two looks the wall clock may have moved within its error.
    expect_late(item, waited + rate + error_max_ + w, "UTC, confirmed in this boot");
  } else {
    expect_late(item, gaps_since(off_boot_) + rate + error_max_ + w, "UTC, of an earlier boot");
  }
}

// T2: a cut loses at most two thirds of an uptime, so Pawl time grows by at least a third of every
// uptime of a minute or more.
void World::check_cut() {
  const BootTruth& boot = boots_.back();
  const bool waits = next_mark(processes_.front()) != kNever;
  if (!waits || boot.first_commit < 0) return;
  const Ms uptime = boot.cut - boot.booted;
  const Ms unmarked = boot.cut - std::max(mark_truth_, boot.booted);
  if (unmarked > kClockMarkMs + drift(kClockMarkMs) + kSlack) violate("unmarked: over the limit");
  if (uptime < kMinute) return;
  if (3 * unmarked > 2 * (uptime + drift(uptime)) + kSlack + 3 * kMarkAgeMs) {
    violate("unmarked: " + std::to_string(unmarked) + " of " + std::to_string(uptime));
  }
  const Ms rise = row_.mark - boot.mark_p_before;
  if (ids_known() && boots_.size() > 1 && 3 * rise + drift(uptime) + 3 * kMarkAgeMs < uptime) {
    violate("P rose by " + std::to_string(rise) + " of " + std::to_string(uptime));
  }
}

void World::check_order(const Item& item, const std::vector<Item>& left) {
  for (const Item& other : left) {
    if (other.base == TimeBase::kPawl && other.seg == item.seg && other.due < item.due) {
      violate("fired before an earlier one of the same boot");
    }
  }
}

void World::expect_early(const Item& item, Ms bound, const char* rule) {
  const Ms early = item.true_due - truth_;
  if (early > bound) {
    violate(std::string(rule) + ": early by " + std::to_string(early) + ", at most " +
            std::to_string(bound));
  }
}

void World::expect_late(const Item& item, Ms bound, const char* rule) {
  const Ms late = truth_ - item.true_due;
  if (late > bound) {
    violate(std::string(rule) + ": late by " + std::to_string(late) + ", at most " +
            std::to_string(bound));
  }
}

void World::violate(const std::string& text) {
  violations_.push_back("boot " + std::to_string(boots_.size()) + ", truth " +
                        std::to_string(truth_) + ": " + text);
}

}  // namespace pawl::testing_world

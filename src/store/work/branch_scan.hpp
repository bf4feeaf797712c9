// BranchScan: where a fetch looks next in one branch of candidates, if it cannot take the first
// ones.
//
// Purpose: any number of items may stand in front that this process has no handler or no free slot
// for. A call looks at kLooksMax of them, in three stretches: from the head, so that items are
// taken in order; from where the sweep over all items passed over has got to, since some of them
// may have become possible; and behind everything ever passed over, so that new items are seen at
// once. If a call cannot look at all of them, they are left to the sweep: the next call begins
// behind all that are there now, and items that come then wait for none of them.
// Ownership: plain values, in memory only; losing them costs looks. Thread rule: one thread.
#ifndef PAWL_STORE_WORK_BRANCH_SCAN_HPP
#define PAWL_STORE_WORK_BRANCH_SCAN_HPP

#include <cstdint>
#include <limits>

namespace pawl::store {

// Changes when anything can have become ready: by commits of others, or by this connection.
struct ScanVersion {
  std::int64_t others = 0;
  std::int64_t own = 0;
  friend bool operator==(const ScanVersion& a, const ScanVersion& b) {
    return a.others == b.others && a.own == b.own;
  }
};

class BranchScan {
 public:
  static constexpr int kLooksMax = 12;
  static constexpr int kHeadLooks = 2;
  static constexpr int kSweepLooks = 4;
  static constexpr std::int64_t kIdMax = std::numeric_limits<std::int64_t>::max();

  // The candidates of interest now: after < id <= until.
  struct Range {
    std::int64_t after = 0;
    std::int64_t until = kIdMax;
    friend bool operator==(const Range& a, const Range& b) {
      return a.after == b.after && a.until == b.until;
    }
  };

  // True if an earlier call passed something over, and not all of it was seen to be gone since.
  [[nodiscard]] bool in_use() const { return hot_ != 0; }

  void begin_call(const ScanVersion& version) {
    crowded_ = false;
    stretch_ = Stretch::kHead;
    looks_ = 0;
    head_ = 0;
    seen_tail_ = false;
    if (clean_ && !(version == since_)) clean_ = false;
    if (!clean_ && sweep_ == 0) since_ = version;
    version_ = version;
  }

  [[nodiscard]] Range range() const {
    switch (stretch_) {
      case Stretch::kHead: return {head_, kIdMax};
      case Stretch::kSweep: return {sweep_, hot_};
      case Stretch::kTail: return {hot_, kIdMax};
      case Stretch::kShut: break;
    }
    return {kIdMax, kIdMax};
  }

  // A candidate of this branch was moved out of the way: it failed, was put off or let go.
  void moved_away() { used_look(true); }

  // The candidate stays where it is. `waits`: only for a slot of this process, which wakes the loop
  // by itself.
  void passed_over(std::int64_t id, bool waits) {
    switch (stretch_) {
      case Stretch::kHead: head_ = id; break;
      case Stretch::kSweep: sweep_ = id; break;
      case Stretch::kTail:
      case Stretch::kShut: break;
    }
    if (hot_ < id) hot_ = id;
    used_look(!waits);
  }

  // range() is empty. False: the branch has nothing more in this call.
  bool exhausted() {
    switch (stretch_) {
      case Stretch::kHead: *this = BranchScan(); break;  // everything was seen
      case Stretch::kSweep:
        end_sweep();
        stretch_ = Stretch::kTail;
        return true;
      case Stretch::kTail: seen_tail_ = true; break;
      case Stretch::kShut: return false;
    }
    stretch_ = Stretch::kShut;
    return false;
  }

  // The call has used all its looks, and did not come to the end.
  [[nodiscard]] bool crowded() const { return crowded_; }

  // Follows a crowded call: no candidate that exists now has a higher id than `newest`.
  void leave_to_sweep(std::int64_t newest) {
    if (hot_ >= newest) return;
    if (clean_) sweep_ = hot_;  // everything up to there was seen, and nothing has changed since
    clean_ = false;
    hot_ = newest;
  }

  // There may be work for this process that it has not seen, and no notice will come.
  [[nodiscard]] bool look_again() const {
    return eager_ && stretch_ == Stretch::kShut && !(seen_tail_ && clean_);
  }

 private:
  enum class Stretch : std::uint8_t { kHead, kSweep, kTail, kShut };

  void used_look(bool eager) {
    eager_ = eager_ || eager;
    ++looks_;
    if (looks_ >= kLooksMax) {
      stretch_ = Stretch::kShut;
      crowded_ = true;
    } else if (stretch_ == Stretch::kHead && looks_ >= kHeadLooks) {
      if (sweep_ < head_) sweep_ = head_;
      stretch_ = clean_ ? Stretch::kTail : Stretch::kSweep;
    } else if (stretch_ == Stretch::kSweep && looks_ >= kHeadLooks + kSweepLooks) {
      stretch_ = Stretch::kTail;
    }
  }

  // Items that became ready since the sweep began may lie behind it.
  void end_sweep() {
    clean_ = version_ == since_;
    sweep_ = 0;
    since_ = version_;
  }

  Stretch stretch_ = Stretch::kHead;
  int looks_ = 0;
  std::int64_t head_ = 0;   // the last one passed over from the head, in this call
  std::int64_t sweep_ = 0;  // the sweep has seen everything up to here
  std::int64_t hot_ = 0;    // the highest id ever passed over, or left to the sweep
  bool seen_tail_ = false;  // nothing lies behind hot_, in this call
  bool clean_ = false;      // a whole sweep found nothing, and nothing changed since
  bool eager_ = false;
  bool crowded_ = false;
  ScanVersion since_;  // when the sweep began
  ScanVersion version_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORK_BRANCH_SCAN_HPP

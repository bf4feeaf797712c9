// Space: the reaction when room runs out. Complete instances are removed, the oldest first; new
// work is refused; running work goes on.
//
// The storage refuses, for all processes alike (Place::set_quota_and_reserve()); the loop removes.
// It does so in a transaction of its own before the tick's, so that the tick finds the room, and a
// tick that fails does not undo the removal. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_SPACE_HPP
#define PAWL_RUNTIME_SPACE_HPP

#include <cstddef>

#include "runtime/loop_context.hpp"

namespace pawl {

class Space {
 public:
  explicit Space(LoopContext& loop) : loop_(loop) {}

  void make_first_reserve();
  // After the commit of the registration.
  void registered();
  // Sets the entry of the agenda: are there rows to remove, and is there a need for it?
  void plan();
  // Before a batch: removes rows if room is needed, and cuts the log of a full disk.
  void prepare();
  // After a batch.
  void committed();
  // TickBatch calls it when a batch found the disk full: the reserve is deleted, so that the next
  // batches find room in the log.
  void disk_is_full();

  // An instance ended, or a clean-up ran: there may be rows to remove.
  void may_relieve() { can_relieve_ = true; }
  // After a sweep of deleted rows: notes those of a tree whose removal began for want of room.
  void swept(const Removed& removed, bool more);
  // Others have committed, and may have deleted the reserve, which they do not make again.
  void look_for_reserve_soon() { looks_for_reserve_ = true; }
  void look_for_reserve_no_more() { looks_for_reserve_ = false; }
  [[nodiscard]] bool looks_for_reserve() const { return looks_for_reserve_; }
  void look_for_reserve();
  // LogWatch says whether the log has reached SpaceOptions::log_bytes_max.
  void set_log_full(bool full);
  [[nodiscard]] bool is_short() const { return is_short_; }

 private:
  static constexpr std::size_t kReliefEventsMax = 512;  // small: removing needs room in the log

  [[nodiscard]] bool lacks_free_pages() const;
  void relieve();
  void not_relieved(Status status);
  void note_relief(const Removed& removed);
  void log_relief();
  void read_use();
  void cut_log();
  void update_stats();
  void lose_reserve();
  void remove_unwanted_reserve();
  // False: there is no room for the reserve.
  bool remake_reserve();

  LoopContext& loop_;
  SpaceUse use_;                        // after the last commit
  bool over_mark_ = false;              // little is left of the quota
  Status first_reserve_ = Status::kOk;  // answer of make_first_reserve(), read by registered()
  bool is_short_ = false;               // the disk was full: there is no reserve
  bool can_relieve_ = false;            // there may be something to remove
  bool looks_for_reserve_ = false;
  bool log_is_full_ = false;
  std::size_t relief_events_ = kReliefEventsMax;
  bool sweeps_ = false;  // sweeping a tree whose removal was begun here
  Removed relieved_;     // removals that are not logged yet
  OptionalMs relieved_since_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_SPACE_HPP

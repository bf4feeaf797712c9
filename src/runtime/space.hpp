// Space: when room runs out, what is complete goes, the oldest first; what is new is refused; what
// runs goes on.
//
// The storage refuses, for all processes alike (Housekeeping::set_space()); the loop removes. It
// does so in a transaction of its own before the tick's, so that the tick finds the room, and a
// tick that fails does not take the removal back with it. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_SPACE_HPP
#define PAWL_RUNTIME_SPACE_HPP

#include <cstddef>

#include "loop_context.hpp"

namespace pawl {

class Space {
 public:
  explicit Space(LoopContext& loop) : loop_(loop) {}

  void make_first_reserve();
  // After that of the registration.
  void registered();
  // Sets the entry of the agenda: is there something to remove, and a need for it?
  void plan();
  // Before a batch: removes what has to go, and cuts the log of a full disk.
  void prepare();
  // After a batch.
  void committed();
  // A batch found the disk full: the reserve is given up, so that the next ones find room in the
  // log.
  void disk_is_full();

  // Something ended or was forgotten: there may be something to remove.
  void may_relieve() { can_relieve_ = true; }
  // After a sweep of what was deleted: the rest of a tree whose removal was begun for want of room.
  void swept(const Removed& removed, bool more);
  // Others have committed, and may have given up the reserve, which they do not make again.
  void look_for_reserve_soon() { looks_for_reserve_ = true; }
  void look_for_reserve_no_more() { looks_for_reserve_ = false; }
  [[nodiscard]] bool looks_for_reserve() const { return looks_for_reserve_; }
  void look_for_reserve();
  // Has the log reached SpaceOptions::log_bytes_max? Known from LogWatch.
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
  // False: there is no room for it.
  bool remake_reserve();

  LoopContext& loop_;
  SpaceUse use_;            // as of the last commit
  bool over_mark_ = false;  // little is left of the quota
  Status first_reserve_ = Status::kOk;
  bool is_short_ = false;     // the disk was full: there is no reserve
  bool can_relieve_ = false;  // there may be something to remove
  bool looks_for_reserve_ = false;
  bool log_is_full_ = false;
  std::size_t relief_events_ = kReliefEventsMax;
  bool sweeps_ = false;  // a tree whose removal it began
  Removed relieved_;     // not logged yet
  OptionalMs relieved_since_;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_SPACE_HPP

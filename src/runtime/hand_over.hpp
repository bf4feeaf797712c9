// HandOver: how work items come to this worker: fetched from the task queue, or handed over by the
// commit that schedules them.
//
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_HAND_OVER_HPP
#define PAWL_RUNTIME_HAND_OVER_HPP

#include "runtime/activities.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/session_folders.hpp"
#include "runtime/slots.hpp"
#include "runtime/turn.hpp"

namespace pawl {

class HandOver final : private WorkFilter {
 public:
  HandOver(LoopContext& loop, Slots& slots, const SessionFolders& folders)
      : loop_(loop), slots_(slots), folders_(folders) {}

  // Blocks the jobs that take work while no slot is free.
  void plan();
  // In the batch: fetches work.
  Status write();
  // In the batch: hands over work that the turn schedules, unless other work waits that would come
  // first.
  void hand_over_at_once(Turn& turn);
  // In the batch, after the attempt to write the turn: releases slots whose work was not stored.
  void settle(const Turn& turn);
  void committed();
  // Logs the session activities that the last batch handed over here, if the options ask for it.
  void audit();
  // There may be work that this worker could take with more free slots.
  [[nodiscard]] bool passed_over() const { return passed_over_; }

  [[nodiscard]] bool has_handler(std::string_view activity_name) const override;

 private:
  [[nodiscard]] bool has_room(std::string_view activity_name) const override;
  [[nodiscard]] bool runs_item(WorkItemId id) const override;
  [[nodiscard]] bool runs_session(InstanceKey scope, std::string_view name) const override;
  [[nodiscard]] bool may_run_with(std::int32_t crashes) const override;
  bool draw_token(std::string_view activity_name, WorkItemId id, Sha256* hash) const override;

  void look_for_room();
  Status fill_slots();
  void log_waiting();
  void count_evictions();
  Status wake_unregistered();
  [[nodiscard]] bool may_hand_over(const Turn& turn, const NewWork& work, const Event& event,
                                   const Registry::ActivityEntry* entry) const;
  void queue_rest(Turn& turn, std::size_t first);
  internal::Slot& take_slot(const WorkItem& item, const Registry::ActivityEntry& entry);

  LoopContext& loop_;
  Slots& slots_;
  const SessionFolders& folders_;
  mutable store::OutsideWork::Secret drawn_;  // for the item that a fetch hands over
  bool passed_over_ = false;
  bool was_draining_ = false;   // in the batch before this one
  bool has_looked_ = false;     // in the batch at hand
  WaitingSessions waiting_;     // FetchWork::waiting of the last look
  OptionalMs log_waiting_at_;   // boot time; none: no session waits
  OptionalMs evictions_until_;  // boot time, end of the counted minute; none: no minute is counted
  std::uint64_t evictions_before_ = 0;  // sessions_evicted_idle when the minute began
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_HAND_OVER_HPP

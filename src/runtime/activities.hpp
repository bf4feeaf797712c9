// Activities: the activities in hand, from their hand-over to the commit of their result.
//
// Purpose: runs them in the loop's own time or on pool threads, renews their locks, and writes
// their results and progress. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_ACTIVITIES_HPP
#define PAWL_RUNTIME_ACTIVITIES_HPP

#include "runtime/loop_context.hpp"
#include "runtime/session_folders.hpp"
#include "runtime/slots.hpp"
#include "runtime/turn.hpp"
#include "runtime/warm.hpp"

namespace pawl {

class Activities {
 public:
  Activities(LoopContext& loop, Slots& slots, WarmCache& warm, SessionFolders& folders)
      : loop_(loop), slots_(slots), warm_(warm), folders_(folders) {}

  // Plans the jobs of the activities in the agenda.
  void plan(std::int64_t now_boot_ms);
  // Earliest limit of the activities in hand, in boot time.
  [[nodiscard]] OptionalMs first_limit() const;

  // ---- outside of any batch ----
  // Runs inline activities; some may be left for the next tick.
  void run_inline(std::int64_t end_boot_ms);
  // Runs one step of each cooperative activity that is due.
  void run_steps();
  void look_at_descriptors() { looks_at_descriptors_ = true; }
  // F14: the own count of the leases is over. Exclusive work hears that it is lost, and none
  // begins.
  void end_lease();
  // Counts and logs cancelled activities that did not return within their grace.
  void abandon();
  // At the stop, these put cooperative activities back, and the next worker begins them anew.
  // put_back_sleepers(), when the stop begins, takes those that have no step before its end: a step
  // that came early would look like the end of their wait. put_back_steps(), when it ends, takes
  // all.
  void put_back_sleepers(std::int64_t end_boot_ms);
  void put_back_steps();

  // ---- in the batch ----
  Status renew();
  Status write_progress();
  // Cancels activities whose work item was ended elsewhere, or whose limit has passed.
  Status check_held();
  // Stores as messages the results that go with no turn. Results of work items that another worker
  // has now are refused.
  Status write_results(const TurnList& turns);
  // Refuses results that this worker may not give any more. They would make the turn stale for
  // ever.
  Status refuse_lost_results(const Turn& turn);
  // Evicts the session of a thread that does not come back: such threads may hold every slot that
  // this worker has for the session.
  Status evict_hung();

  // ---- after the batch ----
  void turn_committed(const Turn& turn);
  void committed();
  void rolled_back();
  // After the commit of a renewal: shows activities the new lease of their session.
  void renew_leases();
  void log_evicted();
  void lose_all();

  // Activities that crashed do not run beside each other. An attempt that could poison its item
  // runs with nothing else in its process, so that no neighbour is charged for its crash.
  [[nodiscard]] bool waits_to_run_alone(std::int32_t crashes) const;

 private:
  template <typename Chosen, typename Visit>
  void for_each_step(const Chosen& chosen, Visit&& visit);
  template <typename Chosen>
  Status put_back(const Chosen& chosen);
  template <typename Chosen>
  void end_put_back(const Chosen& chosen);
  [[nodiscard]] bool is_pressing(const internal::Slot& slot) const;
  [[nodiscard]] bool may_step(const internal::Slot& slot) const;
  void note_duration(const internal::Slot& slot, std::int64_t took_ms);
  void log_refused_renewal(const internal::Slot& slot) const;
  void log_started(const internal::Slot& slot) const;
  void log_ended(const internal::Slot& slot, const char* outcome) const;
  void log_handed_back(const internal::Slot& slot) const;
  [[nodiscard]] bool is_overdue(const internal::Slot& slot) const;
  Status check(internal::Slot& slot) const;
  [[nodiscard]] std::int64_t put_back_delay_ms(const internal::Slot& slot) const;
  [[nodiscard]] bool goes_with_turn(const internal::Slot& slot, const TurnList& turns) const;
  Status write_result(internal::Slot& slot, bool* written);
  void release_result(internal::Slot& slot);
  // Cancels the activities of a command, or those of the whole execution (event 0): their results
  // are not wanted any more.
  void cancel(InstanceKey key, ExecutionId execution, EventId event);

  LoopContext& loop_;
  Slots& slots_;
  WarmCache& warm_;
  SessionFolders& folders_;
  bool looks_at_descriptors_ = false;
  std::size_t sessions_renewed_ = 0;  // in the last batch that renewed
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_ACTIVITIES_HPP

// TickBatch: the write transaction of a tick. It calls the parts in one order: look, run turns,
// write, let effects leave. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_TICK_BATCH_HPP
#define PAWL_RUNTIME_TICK_BATCH_HPP

#include "runtime/loop_parts.hpp"

namespace pawl {

class TickBatch {
 public:
  TickBatch(LoopContext& loop, LoopMemory& memory, LoopParts& parts)
      : loop_(loop), memory_(memory), parts_(parts) {}

  // Requires: not in doubt.
  void run();
  // The server has not said yet whether the last batch is committed. Its effects wait, and no other
  // batch begins.
  [[nodiscard]] bool is_in_doubt() const { return in_doubt_; }
  // Asks again, when Recovery says so. Requires: in doubt.
  void decide();
  // The last batch left items over, or all slots of a kind held results.
  [[nodiscard]] bool was_full() const { return turns_were_full_ || slots_were_full_; }
  // After the commit of a registration.
  void registered();
  // Takes the reasons of a wake-up that came from the machine.
  void note_reasons(const port::WakeReasons& reasons);

 private:
  Status prepare();
  Status read_turns(bool takes_turns);
  void read_ahead();
  void read_rows_ahead();
  Status write_and_commit();
  void settle(Status status);
  // After the commit.
  void finish_commit();
  Status write();
  Status write_due();
  void committed();
  void renewal_committed();
  void plan_checks();
  void rolled_back(Status status);
  // Sets how the next batches run after a failed one.
  void recover(Status status);

  LoopContext& loop_;
  LoopMemory& memory_;
  LoopParts& parts_;
  bool in_doubt_ = false;
  std::int64_t begun_ms_ = 0;    // boot time, of the batch
  std::int64_t written_ms_ = 0;  // when its rows were written
  bool turns_were_full_ = false;
  bool slots_were_full_ = false;  // all slots of a kind held results
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_TICK_BATCH_HPP

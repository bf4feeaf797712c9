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

  // A server that has not answered the commit at `end` is not waited for, if the port can wake the
  // loop when it does. Requires: not in doubt.
  void run(std::int64_t end_boot_ms);
  // The server has not said yet whether the last batch is committed. Its effects wait, and no other
  // batch begins.
  [[nodiscard]] bool is_in_doubt() const { return in_doubt_; }
  // Looks for the answer, or asks again when Recovery says so. Requires: in doubt.
  void decide();
  // When decide() has something to do, whatever the server says. Requires: in doubt.
  [[nodiscard]] OptionalMs decides_at() const;
  // Waits for the answer, if it comes.
  void await_decision(std::int64_t end_boot_ms);
  // In doubt, and the answer comes.
  [[nodiscard]] bool is_deciding() const;
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
  [[nodiscard]] OptionalMs commit_most_ms() const;
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
  std::int64_t end_ms_ = 0;      // of the tick
  bool turns_were_full_ = false;
  bool slots_were_full_ = false;  // all slots of a kind held results
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_TICK_BATCH_HPP

// Recovery: the steps after a batch that failed.
//
// A row that made a batch fail is quarantined in a transaction of its own, and the next tick does
// the work of the failed one. So damage costs no more than its own row. A storage in trouble is
// left alone for a while. Rules: docs/architecture/crashes.md#damage.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_RECOVERY_HPP
#define PAWL_RUNTIME_RECOVERY_HPP

#include <optional>

#include "runtime/loop_context.hpp"
#include "runtime/notices.hpp"

namespace pawl {

class Recovery {
 public:
  Recovery(LoopContext& loop, Notices& notices) : loop_(loop), notices_(notices) {}

  // True: the row that made a transaction fail was quarantined.
  bool quarantine_suspect(Status why);
  // The storage itself is in trouble: it is left alone, first for a short time, then for longer.
  void leave_store_alone();
  void committed();

 private:
  [[nodiscard]] bool is_blamed(const Damage& damage);

  LoopContext& loop_;
  Notices& notices_;
  RowRef short_row_;  // the last row for which memory did not suffice
  std::int64_t short_boot_ms_ = 0;
  int short_count_ = 0;
  std::optional<Damage> quarantined_;  // the last row; the next commit forgets it
  int retry_step_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_RECOVERY_HPP

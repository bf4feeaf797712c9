// Recovery: what follows a batch that failed.
//
// A row that made a batch fail is taken out of the way in a transaction of its own, and the next
// tick does what this one could not; so damage costs no more than its own row. A store in trouble
// is left alone for a while. Rules: docs/architecture/crashes.md#damage.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_RECOVERY_HPP
#define PAWL_RUNTIME_RECOVERY_HPP

#include <optional>

#include "loop_context.hpp"
#include "notices.hpp"

namespace pawl {

class Recovery {
 public:
  Recovery(LoopContext& loop, Notices& notices) : loop_(loop), notices_(notices) {}

  // True: the row that made a transaction fail is out of the way.
  bool quarantine_suspect(Status why);
  // The store itself is in trouble: it is left alone, first for a short time, then for longer.
  void leave_store_alone();
  void committed();

 private:
  [[nodiscard]] bool is_blamed(const Damage& damage);

  LoopContext& loop_;
  Notices& notices_;
  RowRef short_row_;  // the last one that memory did not suffice for
  std::int64_t short_boot_ms_ = 0;
  int short_count_ = 0;
  std::optional<Damage> quarantined_;  // the last one; the next commit forgets it
  int retry_step_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_RECOVERY_HPP

// Others: commits of other connections, which may have brought messages or work.
//
// A wake-up that finds nothing looks again: the notification of the log comes before its commit is
// visible, and a writer may be killed between its commit and the bell. Thread rule: the loop's
// thread.
#ifndef PAWL_RUNTIME_OTHERS_HPP
#define PAWL_RUNTIME_OTHERS_HPP

#include "runtime/loop_context.hpp"
#include "runtime/slots.hpp"

namespace pawl {

// Between two looks at the connections of other machines' workers, while there is work.
inline constexpr std::int64_t kMachinesMs = 500;

class Others {
 public:
  Others(LoopContext& loop, const Slots& slots) : loop_(loop), slots_(slots) {}

  // Did others commit since the last look?
  void look();
  // Looks whether other machines' workers are connected, if that is due.
  void look_at_machines(std::int64_t now_boot_ms);
  // Takes the next look of the chain, if it is due.
  void look_if_due(std::int64_t now_boot_ms) {
    if (loop_.agenda.is_due(Job::kLook, now_boot_ms)) plan_next_look();
  }
  // Begins the chain of looks.
  void look_soon();
  // In the batch: after a commit of others, plans a fetch, because their work comes before this
  // worker's.
  void begin() {
    if (loop_.batch.data_version != data_version_) loop_.agenda.do_now(Job::kFetch);
  }

 private:
  void plan_next_look();

  LoopContext& loop_;
  const Slots& slots_;
  std::int64_t data_version_ = -1;
  int look_step_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_OTHERS_HPP

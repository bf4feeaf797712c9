// SessionWatch: counts the sessions that this worker owns, and calls the SessionListener for them.
//
// Every change of any owner takes an epoch: while there is no new epoch, there is nothing to look
// at.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_SESSION_WATCH_HPP
#define PAWL_RUNTIME_SESSION_WATCH_HPP

#include "pawl/session.hpp"
#include "runtime/devices.hpp"
#include "runtime/loop_context.hpp"
#include "runtime/notices.hpp"

namespace pawl {

class SessionWatch {
 public:
  // Used only with a SessionListener: the sessions it was notified of, and those it has yet to hear
  // of. Names are read when they are needed: they would be most of the memory of a Runtime with
  // many sessions.
  struct Memory {
    OwnedSession* known = nullptr;
    OwnedSession* next = nullptr;
    std::size_t capacity = 0;
    template <typename AnyArena>
    void allocate(AnyArena& arena, const Options& options) {
      if (options.sessions.listener == nullptr) return;
      // An heir may own more sessions than a worker would claim.
      capacity = 2 * options.sessions.max_sessions_per_worker + options.limits.devices_max;
      known = arena.template array<OwnedSession>(capacity);
      next = arena.template array<OwnedSession>(capacity);
    }
  };

  SessionWatch(LoopContext& loop, Memory& memory, const Notices& notices)
      : loop_(loop), memory_(memory), notices_(notices) {}

  // In the batch: begin() before anything is written; write() and end() after everything else.
  Status begin();
  Status write();
  Status end() { return loop_.session().rows.last_epoch(&epoch_of_batch_); }
  // In the batch of a registration.
  Status count();
  Status claim_at_start();
  void committed();
  // Calls the listener, and updates the counts.
  void notify();
  // This worker owns no session any more.
  void lose_all();
  // Called before any session is released. Costs a commit only if an instance asked for a notice.
  void announce_stop();

  // Sessions changed their owner between this worker's batches.
  [[nodiscard]] bool others_claimed() const { return others_claimed_; }

 private:
  Status look();
  // The name of a session that this worker owns or owned, from its row or from a notice of the
  // batch. Empty: another process removed the row.
  [[nodiscard]] FixedText<kNameBytesMax> name_of(const OwnedSession& one) const;

  LoopContext& loop_;
  Memory& memory_;
  const Notices& notices_;
  std::size_t known_count_ = 0;
  std::size_t next_count_ = 0;
  Incarnation known_of_ = 0;  // this worker's incarnation when `known` was filled
  Epoch known_epoch_ = -1;    // the last epoch then
  Epoch next_epoch_ = 0;
  bool is_changed_ = false;
  Epoch epoch_seen_ = 0;      // the last epoch when this worker's last batch ended
  Epoch epoch_of_batch_ = 0;  // the last epoch at the end of the batch at hand
  bool others_claimed_ = false;
  std::uint32_t active_ = 0;  // RuntimeStats::sessions_active, as of the batch at hand
  std::uint32_t idle_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_SESSION_WATCH_HPP

// OwnedSessions: how many sessions this worker owns, and the calls of a SessionListener for them.
//
// Every change of any owner takes an epoch: without a new one there is nothing to look at.
// Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_OWNED_SESSIONS_HPP
#define PAWL_RUNTIME_OWNED_SESSIONS_HPP

#include "devices.hpp"
#include "loop_context.hpp"
#include "notices.hpp"
#include "pawl/session.hpp"

namespace pawl {

class OwnedSessions {
 public:
  // Only with a SessionListener: what it was notified of, and what it is to be notified of. Names are
  // read when they are needed: they would be most of the memory of a Runtime with many sessions.
  struct Memory {
    OwnedSession* known = nullptr;
    OwnedSession* next = nullptr;
    std::size_t capacity = 0;
    template <typename AnyArena>
    void allocate(AnyArena& arena, const Options& options) {
      if (options.sessions.listener == nullptr) return;
      // An heir may have more than it would claim.
      capacity = 2 * options.sessions.max_sessions_per_worker + Devices::kDevicesMax;
      known = arena.template array<OwnedSession>(capacity);
      next = arena.template array<OwnedSession>(capacity);
    }
  };

  OwnedSessions(LoopContext& loop, Memory& memory, const Notices& notices)
      : loop_(loop), memory_(memory), notices_(notices) {}

  // In the batch: before anything is written, and behind all that is.
  Status begin();
  Status write();
  Status end() { return loop_.sessions().last_epoch(&epoch_of_batch_); }
  // In the batch of a registration.
  Status count();
  Status claim_at_start();
  void committed();
  // Calls the listener, and updates the counts.
  void notify();
  // This worker owns no session any more.
  void lose_all();
  // Before any session is released. It costs a commit only if an instance asked for a notice.
  void announce_stop();

  // Sessions changed their owner between our batches.
  [[nodiscard]] bool others_claimed() const { return others_claimed_; }

 private:
  Status look();
  // Of one that this worker owns or owned, from its row or from what the batch reports of it. Empty:
  // another process removed the row.
  [[nodiscard]] FixedText<kNameBytesMax> name_of(const OwnedSession& one) const;

  LoopContext& loop_;
  Memory& memory_;
  const Notices& notices_;
  std::size_t known_count_ = 0;
  std::size_t next_count_ = 0;
  Incarnation known_of_ = 0;  // as which worker
  Epoch known_epoch_ = -1;    // the last one when they were looked at
  Epoch next_epoch_ = 0;
  bool is_changed_ = false;
  Epoch epoch_seen_ = 0;      // the last one when our last batch ended
  Epoch epoch_of_batch_ = 0;  // likewise, of the batch at hand
  bool others_claimed_ = false;
  std::uint32_t active_ = 0;  // RuntimeStats, as of the batch at hand
  std::uint32_t idle_ = 0;
};

}  // namespace pawl

#endif  // PAWL_RUNTIME_OWNED_SESSIONS_HPP

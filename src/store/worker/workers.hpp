// Workers: registration, burial and orderly end of workers. Rules: docs/rules/session.md.
//
// A buried incarnation never writes again, because begin() checks its row. Burial happens once, and
// counts crashes in its one transaction.
// Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_WORKER_WORKERS_HPP
#define PAWL_STORE_WORKER_WORKERS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text.hpp"
#include "store/context.hpp"
#include "store/instance/turn_commit.hpp"
#include "store/place/batches.hpp"
#include "store/rows.hpp"
#include "store/session/moves.hpp"
#include "store/session/owners.hpp"
#include "store/sql/database.hpp"
#include "store/work/crash_limits.hpp"
#include "store/work/rows.hpp"
#include "store/work/unregistered.hpp"
#include "store/worker/arguments.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/rows.hpp"
#include "store/worker/term_rules.hpp"

namespace pawl::store {

class Workers : private Table {
 public:
  Workers(StoreContext& context, Rows& rows, SessionOwners& owners, SessionMoves& moves,
          Batches& batches)
      : Table(context), rows_(rows), owners_(owners), moves_(moves), batches_(batches) {}

  // kNodeIdInUse (the diagnostic has the pid) unless the node's former incarnation is gone by
  // proof, or by suspicion for two leases; its sessions go to the newcomer (NewWorker::former).
  // kForeignBoot: an earlier boot's lock is held. All other workers of earlier boots are buried
  // here. Both refusals write nothing. Take the newcomer's worker lock before the commit: a worker
  // that is registered and holds no lock counts as dead.
  Status register_worker(const NewWorker& worker, Evidence& evidence, const CrashLimits& limits,
                         Incarnation* out);
  Status renew_worker(Incarnation me, std::int64_t lease_ms);
  // Once per incarnation: its sessions go to `heir` (0: unowned), items locked by it become ready,
  // crashes are charged. Notes may be empty. A note with CrashNote::kNotStored sets
  // BatchInfo::persist_starts_first for an hour.
  Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                     std::size_t note_count, const CrashLimits& limits);
  // The connection of a worker on another machine is gone: its sessions that are neither devices
  // nor exclusive become unowned, and items without a session ready. It stays registered.
  Status free_soft_of(Incarnation worker, const CrashLimits& limits);
  // An orderly end: releases all its sessions and removes its row.
  Status unregister_worker(Incarnation me);
  // Describes what a living worker owns and serves, without what WorkerRow has. Texts go to
  // `buffer`.
  Status describe_worker(Incarnation worker, char* buffer, std::size_t capacity, WorkerInfo* out);
  // Lists living registrations; callable anywhere.
  Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count);

 private:
  struct Predecessor {
    Incarnation worker = 0;
    FixedText<kNameBytesMax> node;
    std::int64_t pid = 0;
    bool lock_visible = false;
    std::int64_t locked_until = 0;
    std::int64_t sessions_until = 0;
    std::int64_t boot_seq = 0;
  };
  Status refuse_earlier_boot();
  Status next_earlier(Predecessor* row);
  Status next_of_node(std::string_view node, Predecessor* row);
  Status read_predecessor(Statement& next, Predecessor* row);
  Status check_node(const NewWorker& worker, Evidence& evidence);
  Status insert_worker(const NewWorker& worker, Incarnation* out);
  Status insert_tags(const TagFilter& tags, Incarnation worker);
  Status bury_earlier_boots(Incarnation newcomer, std::string_view node, const CrashLimits& limits);
  Status inherit(const NewWorker& worker, Incarnation newcomer, const CrashLimits& limits);
  enum class Of : std::uint8_t { kAll, kSoft };
  Status take_node_of_owner(const Predecessor& row, Claim claim, Evidence& evidence);
  Status hand_sessions_over(Of of, Incarnation from, Incarnation heir, std::string_view reason,
                            const CrashLimits& limits);
  Status free_handed_over_at_once(Incarnation worker, const CrashLimits& limits);
  Status free_locks_of(Incarnation worker, const CrashLimits& limits);
  Status bury_row(Incarnation worker);
  Status count_turn_crash(InstanceKey instance);
  Rows& rows_;
  SessionOwners& owners_;
  SessionMoves& moves_;
  Batches& batches_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_WORKER_WORKERS_HPP

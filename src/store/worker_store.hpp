// WorkerStore: the processes that share a database.
//
// Purpose: keeps which workers are registered and alive, and decides what happens to the work of
// those that are gone. Ownership: views handed in must live until the call returns. Thread rule: as
// store.hpp.
#ifndef PAWL_STORE_WORKER_STORE_HPP
#define PAWL_STORE_WORKER_STORE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "crash_limits.hpp"
#include "evidence.hpp"
#include "ids.hpp"
#include "instance_store.hpp"
#include "pawl/management.hpp"
#include "pawl/options.hpp"
#include "pawl/status.hpp"
#include "text.hpp"
#include "worker_terms.hpp"

namespace pawl {

struct NewWorker {
  std::string_view node;  // worker_node_id; empty: an ephemeral worker, named by its incarnation
  std::int64_t pid = 0;
  std::int64_t start_time = 0;
  bool lock_visible = true;  // others can test its kernel lock
  std::int64_t lease_ms = 0;
  std::int64_t sessions_max = 0;  // its capacity, for transfers
  // The messages that one turn of the worker can take; none: it runs no turns. Senders must keep to
  // the lowest limits of the living workers, or if none lives, to those of the last one that
  // registered.
  std::optional<MailboxLimits> mailbox;
  const std::string_view* handlers = nullptr;  // activity names it can run
  std::size_t handler_count = 0;
  TagFilter tags;
  // Not null: gets the dead incarnation of the same node and boot (0: none), and the caller must
  // call bury_worker(former, heir = the newcomer, its notes) in the same batch. Null: the former
  // one is buried without notes, so no crash is charged.
  Incarnation* former = nullptr;
};

struct WorkerRow {
  Incarnation incarnation = 0;
  FixedText<kNameBytesMax> node;
  std::int64_t pid = 0;
  std::int64_t start_time = 0;
  std::int64_t boot_seq = 0;
  std::int64_t locked_until = 0;
  bool lock_visible = true;
  bool draining = false;
};

// In a batch, unless a call says otherwise.
class WorkerStore {
 public:
  // kNodeIdInUse (the diagnostic has the pid) unless the node's former incarnation is gone by
  // proof, or by suspicion for two leases; its sessions go to the newcomer (NewWorker::former).
  // kForeignBoot: an earlier boot's lock is held. All other workers of earlier boots are buried
  // here. Both refusals write nothing. Take the newcomer's worker lock before the commit: a worker
  // that is registered and holds no lock counts as dead.
  virtual Status register_worker(const NewWorker& worker, Evidence& evidence,
                                 const CrashLimits& limits, Incarnation* out) = 0;
  virtual Status renew_worker(Incarnation me, std::int64_t lease_ms) = 0;
  // Once per incarnation: its sessions go to `heir` (0: unowned), items locked by it become ready,
  // crashes are charged. Notes may be empty. A note with CrashNote::kNotStored sets
  // BatchInfo::persist_starts_first for an hour.
  virtual Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                             std::size_t note_count, const CrashLimits& limits) = 0;
  // An orderly end: releases all its sessions and removes its row.
  virtual Status unregister_worker(Incarnation me) = 0;
  // Lists living registrations; callable anywhere.
  virtual Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count) = 0;
  // From now on the worker claims nothing, and its sessions move away as in
  // SessionStore::transfer_session(); devices only to a standby.
  virtual Status drain_worker(std::string_view node, std::int64_t stop_ms) = 0;
  virtual Status undrain_worker(std::string_view node) = 0;
  // Describes what a living worker owns and serves, without what WorkerRow has. Texts go to
  // `buffer`.
  virtual Status describe_worker(Incarnation worker, char* buffer, std::size_t capacity,
                                 WorkerInfo* out) = 0;

 protected:
  ~WorkerStore() = default;
};

}  // namespace pawl

#endif  // PAWL_STORE_WORKER_STORE_HPP

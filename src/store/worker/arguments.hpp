// Arguments and answers of the calls about workers: the processes that share a database.
//
// Ownership: views handed in must live until the call returns; views handed out live in the buffer
// that the caller gave. Thread rule: as store.hpp.
#ifndef PAWL_STORE_WORKER_ARGUMENTS_HPP
#define PAWL_STORE_WORKER_ARGUMENTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/ids.hpp"
#include "core/text.hpp"
#include "pawl/management.hpp"
#include "pawl/options.hpp"
#include "pawl/status.hpp"
#include "store/instance/arguments.hpp"
#include "store/work/crash_limits.hpp"
#include "store/worker/evidence_rules.hpp"
#include "store/worker/term_rules.hpp"

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
  std::int64_t sessions_until = 0;  // what it renewed its sessions' leases to last
  std::int64_t boot_seq = 0;
  std::int64_t locked_until = 0;
  bool lock_visible = true;
  bool draining = false;
};

}  // namespace pawl

#endif  // PAWL_STORE_WORKER_ARGUMENTS_HPP

// WorkerRegistry: registration, burial and orderly end of workers. Rules: docs/rules/session.md.
//
// A buried incarnation never writes again, because begin() checks its row. Burial happens once, and
// counts crashes in its one transaction. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_WORKER_REGISTRY_HPP
#define PAWL_STORE_TABLES_WORKER_REGISTRY_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "context.hpp"
#include "crash_limits.hpp"
#include "evidence.hpp"
#include "meta_table.hpp"
#include "row_quarantine.hpp"
#include "session_moves.hpp"
#include "session_owners.hpp"
#include "sql/database.hpp"
#include "text.hpp"
#include "turn_commit.hpp"
#include "unregistered_work.hpp"
#include "work_outcomes.hpp"
#include "work_table.hpp"
#include "worker_store.hpp"
#include "worker_table.hpp"
#include "worker_terms.hpp"

namespace pawl::store {

class WorkerRegistry : private Table {
 public:
  WorkerRegistry(StoreContext& context, WorkerTable& workers, WorkTable& items,
                 WorkOutcomes& outcomes, UnregisteredWork& unregistered, SessionOwners& owners,
                 SessionMoves& moves, RowQuarantine& quarantine, sql::Database& file,
                 MetaTable& meta)
      : Table(context),
        workers_(workers),
        items_(items),
        outcomes_(outcomes),
        unregistered_(unregistered),
        owners_(owners),
        moves_(moves),
        quarantine_(quarantine),
        file_(file),
        meta_(meta) {}

  // ---- calls of the contract ----
  Status register_worker(const NewWorker& worker, Evidence& evidence, const CrashLimits& limits,
                         Incarnation* out);
  Status renew_worker(Incarnation me, std::int64_t lease_ms);
  Status bury_worker(Incarnation incarnation, Incarnation heir, const CrashNote* notes,
                     std::size_t note_count, const CrashLimits& limits);
  Status unregister_worker(Incarnation me);
  Status describe_worker(Incarnation worker, char* buffer, std::size_t capacity, WorkerInfo* out);
  Status list_workers(WorkerRow* out, std::size_t capacity, std::size_t* count);

 private:
  struct Predecessor {
    Incarnation worker = 0;
    FixedText<kNameBytesMax> node;
    std::int64_t pid = 0;
    bool lock_visible = false;
    std::int64_t locked_until = 0;
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
  Status hand_sessions_over(Incarnation from, Incarnation heir, std::string_view reason,
                            const CrashLimits& limits);
  Status free_handed_over_at_once(Incarnation worker, const CrashLimits& limits);
  Status free_locks_of(Incarnation worker, const CrashLimits& limits);
  Status bury_row(Incarnation worker);
  Status count_turn_crash(InstanceKey instance);

  WorkerTable& workers_;
  WorkTable& items_;
  WorkOutcomes& outcomes_;
  UnregisteredWork& unregistered_;
  SessionOwners& owners_;
  SessionMoves& moves_;
  RowQuarantine& quarantine_;
  sql::Database& file_;
  MetaTable& meta_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_WORKER_REGISTRY_HPP

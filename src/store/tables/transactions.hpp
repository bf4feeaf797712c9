// Transactions: batches and views.
//
// Purpose: a batch begins with the write lock, the clock and a look at whether others have
// committed; it ends with one commit, or with nothing. Ownership and thread rule: as context.hpp.
#ifndef PAWL_STORE_TABLES_TRANSACTIONS_HPP
#define PAWL_STORE_TABLES_TRANSACTIONS_HPP

#include <cstdint>
#include <optional>

#include "batch.hpp"
#include "context.hpp"
#include "damage.hpp"
#include "due_index.hpp"
#include "meta_table.hpp"
#include "pawl/port.hpp"
#include "schema_check.hpp"
#include "session_table.hpp"
#include "sql/database.hpp"
#include "store_space.hpp"
#include "unregistered_work.hpp"
#include "work_fetch.hpp"
#include "work_queue.hpp"
#include "work_results.hpp"
#include "worker_table.hpp"

namespace pawl::store {

class Transactions : private Table {
 public:
  Transactions(StoreContext& context, WorkerTable& workers, DueIndex& due, SessionTable& sessions,
               UnregisteredWork& unregistered, WorkResults& results, WorkFetch& fetch,
               SchemaCheck& schema, sql::Database& file, MetaTable& meta, StoreSpace& space)
      : Table(context),
        workers_(workers),
        due_(due),
        sessions_(sessions),
        unregistered_(unregistered),
        results_(results),
        fetch_(fetch),
        schema_(schema),
        file_(file),
        meta_(meta),
        space_(space) {}

  // ---- calls of the contract ----
  Status begin(Incarnation me, BatchInfo* info);
  Status commit();
  void rollback();
  [[nodiscard]] bool last_commit_wrote() const;
  [[nodiscard]] bool last_commit_sent() const;
  Status begin_read();
  void end_read();
  Result<std::int64_t> data_version();
  std::optional<Damage> take_damage();

  // ---- for the other tables ----
  // For a process that writes often: it takes turns at the write lock with others.
  void take_turns();
  void leave_turns();
  // Forgets what is known of rows without reading them: others have committed, or what was written
  // was rolled back.
  void forget_known();

 private:
  Status take_write_lock(bool is_loop);
  Status wait_for_write_lock();
  void end_batch();
  // Requires: a transaction has begun. Notes whether another connection has committed since the
  // last one.
  Status note_others();
  Status look_at_others();

  WorkerTable& workers_;
  DueIndex& due_;
  SessionTable& sessions_;
  UnregisteredWork& unregistered_;
  WorkResults& results_;
  WorkFetch& fetch_;
  SchemaCheck& schema_;
  sql::Database& file_;
  MetaTable& meta_;
  StoreSpace& space_;
  port::FileHandle turn_ = port::kNoFile;  // kNoFile: this process takes no turns
  int begun_without_turn_ = 0;             // batches of the loop since it last waited for its turn
  bool last_commit_wrote_ = false;
  bool last_commit_sent_ = false;
  std::int64_t writes_before_ = 0;  // the connection's changes when the batch began
  std::uint32_t file_version_ = 0;  // SQLite's, when the last transaction began or its commit ended
};

}  // namespace pawl::store

#endif  // PAWL_STORE_TABLES_TRANSACTIONS_HPP

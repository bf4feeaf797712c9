// BatchQueue: runs prepared statements, and keeps those whose answers were not waited for.
//
// Purpose: in a batch, a statement that only writes is sent without waiting. Its answer comes with
// that of the next statement that has rows, or with that of the commit, so the row that was
// suspected when it was sent is kept until then. The rows of a list come in pages.
// Ownership: a BatchQueue uses the link of its connection.
// Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_BATCH_QUEUE_HPP
#define PAWL_STORE_POSTGRES_BATCH_QUEUE_HPP

#include <cstdint>

#include "store/postgres/reads_ahead.hpp"
#include "store/postgres/statement_use.hpp"
#include "store/sql/damage.hpp"

namespace pawl::postgres {

class BatchQueue {
 public:
  BatchQueue(ServerLink& link, ReadsAhead& ahead) : link_(link), ahead_(ahead) {}

  // `is_alone`: the transaction is no batch of a node, so its commit names none.
  void begin(bool is_alone);
  void end();
  [[nodiscard]] bool is_in_batch() const { return is_in_batch_; }
  [[nodiscard]] bool is_alone() const { return is_alone_; }
  // Each requires that the statement is prepared.
  Status run(StatementUse& use, const Suspects& suspects);
  // Sends a read whose answer is asked for later.
  Status read_ahead(const StatementUse& use);
  // Waits for all answers. Of the batch's failure ServerLink::failure() speaks, too.
  Status settle();
  // Rises with them. Waits only if nothing that is queued changes rows for certain.
  [[nodiscard]] std::int64_t total_changes();
  [[nodiscard]] bool has_written() { return total_changes() != changes_at_begin_; }
  // The suspects of that statement in the queue which failed; null: none did.
  [[nodiscard]] const Suspects* failed_suspects() const;

 private:
  Status add(const StatementUse& use, const Suspects& suspects);
  Status take_ahead(StatementUse& use, ReadsAhead::Read& read);
  Status run_page(StatementUse& use, std::int64_t first_rows);
  Status ask(StatementUse& use);

  ServerLink& link_;
  ReadsAhead& ahead_;
  bool is_in_batch_ = false;
  bool is_alone_ = false;
  bool has_inserted_ = false;  // among what is queued
  std::int64_t changes_at_begin_ = 0;
  std::uint64_t added_ = 0;  // statements, so far
  // Those since the link last waited.
  Suspects suspects_[kQueuedMax];
  int suspects_count_ = 0;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_BATCH_QUEUE_HPP

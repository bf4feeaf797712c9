// ReadsAhead: reads that are sent together, before their answers are asked for.
//
// Purpose: a caller that will read by many keys says so first. The reads then take one trip to the
// server, and not one each; those that are named before a transaction begins take the trip of its
// lock. In a view no answer can change. In a batch the lock keeps others away, and each write of
// the batch itself ends the answers that it may have changed (statement_shape.hpp). An answer is
// given out once; those that nothing asks for are thrown away at the end of the transaction.
// Ownership: a ReadsAhead owns parameters and answers, and uses the link of its connection.
// Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_READS_AHEAD_HPP
#define PAWL_STORE_POSTGRES_READS_AHEAD_HPP

#include <cstddef>
#include <cstdint>

#include "store/postgres/statement_use.hpp"

namespace pawl::postgres {

// Rows of the first page of a list that is read ahead, beside many others.
inline constexpr std::int64_t kAheadRows = 4;

class ReadsAhead {
 public:
  struct Read {
    const KnownStatement* known = nullptr;  // null: its answer was given out, or is void
    std::size_t from = 0;                   // where its parameters begin
    int parameters = 0;
    PGresult* answer = nullptr;  // null: not yet here
  };

  explicit ReadsAhead(ServerLink& link) : link_(link) {}
  ~ReadsAhead() { forget(false); }
  ReadsAhead(const ReadsAhead&) = delete;
  ReadsAhead& operator=(const ReadsAhead&) = delete;

  // After a transaction that failed with such reads in it, none has any until a batch has ended: a
  // row that the server cannot read is blamed only when it is read for itself.
  [[nodiscard]] bool rests() const { return rests_ || link_.has_failed_late(); }
  // Keeps a copy of the parameters, as long as there is room. In a transaction it also sends the
  // read. Requires: the statement is prepared, and has rows.
  void add(const StatementUse& use);
  // Sends all, when a transaction begins.
  Status send();
  // Null: there is none for this use.
  [[nodiscard]] Read* find(const StatementUse& use);
  // Requires: the answer is here. The caller owns it.
  [[nodiscard]] static PGresult* take(Read& read);
  // This write was sent, or will be before anything else.
  void note_write(const StatementUse& use);
  // The transaction has failed.
  void note_failure() { has_failed_ = has_failed_ || count_ > 0; }
  // The transaction is over, or the link is lost. Requires: no answer is under way.
  void forget(bool of_batch);

 private:
  static constexpr std::size_t kReadsMax = 240;
  static constexpr std::size_t kParametersBytes = 16 * 1024;
  static_assert(kReadsMax + 8 <= kQueuedMax);

  [[nodiscard]] bool is_same(const Read& read, const StatementUse& use) const;
  Status queue(Read& read);
  void drop(Read& read);

  ServerLink& link_;
  bool rests_ = false;
  bool has_failed_ = false;
  Read reads_[kReadsMax];
  std::size_t count_ = 0;
  std::size_t live_ = 0;  // of these have a statement
  std::size_t next_ = 0;  // most are asked for in the order in which they were named
  // Each parameter: its size, -1 for NULL, and its bytes.
  char bytes_[kParametersBytes];
  std::size_t used_ = 0;
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_READS_AHEAD_HPP

// ReadsAhead: reads of a view that are sent together, before their answers are asked for.
//
// Purpose: a caller that will read by many keys says so first. The reads then take one trip to the
// server, and not one each. A view sees no commit of others, so an answer is as good as one that is
// asked for later. Each is given out once; those that nothing asks for are thrown away at the end
// of the view. Ownership: a ReadsAhead owns the answers, and uses the link of its connection.
// Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_READS_AHEAD_HPP
#define PAWL_STORE_POSTGRES_READS_AHEAD_HPP

#include <cstdint>

#include "store/postgres/statement_use.hpp"

namespace pawl::postgres {

class ReadsAhead {
 public:
  explicit ReadsAhead(ServerLink& link) : link_(link) {}
  ~ReadsAhead() { forget(); }
  ReadsAhead(const ReadsAhead&) = delete;
  ReadsAhead& operator=(const ReadsAhead&) = delete;

  [[nodiscard]] bool full() const { return count_ == kReadsMax; }
  // Sends a read, whose first parameter is a number. Requires: not full().
  void add(const StatementUse& use, const char* name);
  // Waits for the answers of all. A failure is that of the transaction.
  void settle();
  // The answer for this use, which the caller owns then; null: there is none.
  [[nodiscard]] PGresult* take(const StatementUse& use);
  void forget();

 private:
  static constexpr int kReadsMax = 192;
  static_assert(kReadsMax <= kQueuedMax);

  ServerLink& link_;
  const KnownStatement* known_[kReadsMax];
  std::int64_t key_[kReadsMax];
  PGresult* result_[kReadsMax];
  int count_ = 0;
  int settled_ = 0;  // of these the answers have come
  int next_ = 0;     // most are asked for in the order in which they were sent
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_READS_AHEAD_HPP

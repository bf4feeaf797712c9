// History: the decoded events of one execution, with the index that matches commands in constant time.
//
// Purpose: append-only; kept warm between turns or rebuilt from stored rows, with the same result.
// Ownership: bytes come from a BuddyPool that must outlive it; clear() or the destructor gives them
// back. Thread rule: the Runtime's thread.
#ifndef PAWL_REPLAY_HISTORY_HPP
#define PAWL_REPLAY_HISTORY_HPP

#include <cstdint>

#include "buddy.hpp"
#include "event.hpp"

namespace pawl {

class History {
 public:
  explicit History(BuddyPool& pool) : pool_(pool) {}
  ~History() { clear(); }
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void clear();
  // Copies the event and its views; event.id must be last_id() + 1. kResourceExhausted: the pool is
  // short, nothing changed. kCorrupt: it cannot follow what is there (a reference to a command that
  // does not exist, a second completion, an ordinal out of order): `diagnostic` says what.
  Status append(const Event& event, Diagnostic& diagnostic);

  [[nodiscard]] EventId last_id() const { return count_; }
  // Requires: 1 <= id <= last_id().
  [[nodiscard]] const Event& event(EventId id) const;
  [[nodiscard]] bool ended() const { return end_id_ != 0; }
  [[nodiscard]] EventId end_id() const { return end_id_; }
  [[nodiscard]] std::size_t bytes() const;

  struct Mark {
    EventId count = 0;
  };
  [[nodiscard]] Mark mark() const { return {count_}; }
  // Forgets every event after the mark.
  void rewind(Mark mark);

 private:
  friend class internal::Pass;
  // (implementation's own members)
  BuddyPool& pool_;
  EventId count_ = 0;
  EventId end_id_ = 0;
};

}  // namespace pawl

#endif  // PAWL_REPLAY_HISTORY_HPP

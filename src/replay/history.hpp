// History: the decoded events of one execution, with the index that matches commands in constant time.
//
// Purpose: append-only; kept warm between turns or rebuilt from stored rows, with the same result.
// Ownership: bytes come from a BuddyPool that must outlive it; clear() or the destructor gives them
// back. An event keeps its address until it is rewound. Thread rule: the Runtime's thread.
#ifndef PAWL_REPLAY_HISTORY_HPP
#define PAWL_REPLAY_HISTORY_HPP

#include <cstdint>

#include "buddy.hpp"
#include "event.hpp"

namespace pawl {

namespace internal {
class Pass;
}

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
  [[nodiscard]] EventId cancel_id() const { return cancel_id_; }
  // Bytes taken from the pool.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // May the completion of this command still be recorded? No: there is no such command, it cannot
  // complete, it has completed, it is closed, its branch is retired, or the execution has ended.
  [[nodiscard]] bool awaits_completion(EventId command) const;

  struct Mark {
    EventId count = 0;
  };
  [[nodiscard]] Mark mark() const { return {count_}; }
  // Forgets every event after the mark.
  void rewind(Mark mark);

 private:
  friend class internal::Pass;

  // An event with its texts behind it, and its part of the index.
  struct Record {
    Event event;
    std::uint32_t size = 0;      // of record and texts
    Record* next = nullptr;      // command: the next of its branch
    Record* previous = nullptr;  // command: the one before of its branch
    EventId completion = 0;      // command: its completion; a returned delivery does not count
    EventId close = 0;           // command: the close that names it
    EventId returned = 0;        // delivery: its return
  };
  // Memory for records, in a row; the newest first.
  struct Chunk {
    Chunk* previous;
    std::size_t size;
    std::size_t used;
  };
  struct Branch {
    BranchId number = 0;
    std::uint32_t parent = 0;   // place in the list of branches
    Record* opening = nullptr;  // null: the root
    Record* first = nullptr;
    Record* last = nullptr;
    std::uint32_t commands = 0;
  };

  // A copy of the event that is not part of history yet; null when the pool is short.
  Record* stage(const Event& event);
  // Makes a staged record part of history. Its id must be last_id() + 1.
  Status commit(Record* record, Diagnostic& diagnostic);
  // Forgets every staged record.
  void drop_staged();

  [[nodiscard]] Record* record(EventId id) const { return directory_[id - 1]; }
  [[nodiscard]] Branch& branch(std::uint32_t place) {
    return place == 0 ? root_ : branches_[place - 1];
  }
  [[nodiscard]] const Branch& branch(std::uint32_t place) const {
    return place == 0 ? root_ : branches_[place - 1];
  }
  // The branch of this number, or kNoBranch.
  [[nodiscard]] std::uint32_t find_branch(BranchId number) const;
  // Is there a close of this branch or of one above it?
  [[nodiscard]] bool is_retired(std::uint32_t place) const;
  [[nodiscard]] Record* command_of(std::uint32_t place, Ordinal ordinal) const;

  [[nodiscard]] Chunk* add_chunk(std::size_t room);
  void release_chunk();
  template <typename T>
  bool grow(T** list, std::uint32_t* capacity, std::uint32_t count);

  [[nodiscard]] const char* why_not(const Event& event) const;
  [[nodiscard]] const char* why_not_command(const Event& event) const;
  [[nodiscard]] const char* why_not_close(const Event& event, std::uint32_t place) const;
  [[nodiscard]] const char* why_not_completion(const Event& event) const;
  void index(Record* record);
  void unindex(Record* record);
  void index_command(Record* record);
  void unindex_command(Record* record);

  static constexpr std::uint32_t kNoBranch = UINT32_MAX;

  BuddyPool& pool_;
  EventId count_ = 0;
  EventId end_id_ = 0;
  EventId cancel_id_ = 0;
  std::uint32_t command_count_ = 0;
  Record** directory_ = nullptr;
  std::uint32_t directory_capacity_ = 0;
  Branch root_;
  Branch* branches_ = nullptr;  // all but the root, numbers rising
  std::uint32_t branches_capacity_ = 0;
  std::uint32_t branch_count_ = 0;
  Chunk* chunk_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace pawl

#endif  // PAWL_REPLAY_HISTORY_HPP

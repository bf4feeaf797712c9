// History: the decoded events of one execution, with the index that matches commands in constant
// time.
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
class Awaits;
class Calls;
class Commands;
class EndCalls;
class Pass;
class PassEnd;
class Run;
class SessionCalls;
class StateCalls;
struct BranchRun;
}  // namespace internal

// Memory in a row over a BuddyPool, given back from its newest end.
class ChunkList {
 public:
  explicit ChunkList(BuddyPool& pool) : pool_(pool) {}
  ~ChunkList() { clear(); }
  ChunkList(const ChunkList&) = delete;
  ChunkList& operator=(const ChunkList&) = delete;

  // Aligned for any type; null when the pool is short.
  [[nodiscard]] void* allocate(std::size_t size);
  // Gives back all that came after the piece [last, last + size).
  void truncate(const void* last, std::size_t size);
  void clear();
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  struct Chunk {
    Chunk* previous;
    std::size_t size;
    std::size_t used;
  };
  [[nodiscard]] bool add_chunk(std::size_t room);
  void release_chunk();

  BuddyPool& pool_;
  Chunk* chunk_ = nullptr;
  std::size_t bytes_ = 0;
};

class History {
 public:
  explicit History(BuddyPool& pool) : pool_(pool), records_(pool), carried_(pool) {}
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
  [[nodiscard]] std::size_t bytes() const {
    return records_.bytes() + carried_.bytes() + list_bytes_;
  }
  // The command event of (branch, ordinal); 0: none.
  [[nodiscard]] EventId command_id(BranchId branch, Ordinal ordinal) const;
  // May the completion of this command still be recorded? No: there is no such command, it cannot
  // complete, it has completed, it is closed, its branch is retired, or the execution has ended.
  [[nodiscard]] bool awaits_completion(EventId command) const;
  // The oldest open wait of this kind (kWait or kDequeue) and name; 0: none.
  [[nodiscard]] EventId open_wait(EventKind kind, std::string_view name) const;
  // The oldest open wait that must be answered now; 0: none.
  [[nodiscard]] EventId open_try() const;

  struct Mark {
    EventId count = 0;
  };
  [[nodiscard]] Mark mark() const { return {count_}; }
  // Forgets every event after the mark.
  void rewind(Mark mark);

  // A value that the executions before left behind, with the time of its write; an empty key is the
  // custom status. Before the first event, each key once. kResourceExhausted: the pool is short.
  Status carry(std::string_view key, std::string_view value, std::int64_t updated_ms);
  // Has anything been carried, or written by this execution?
  [[nodiscard]] bool has_state() const { return key_count_ > 0; }

 private:
  // A pass and its parts mark and stage records.
  friend class internal::Awaits;
  friend class internal::Calls;
  friend class internal::Commands;
  friend class internal::EndCalls;
  friend class internal::Pass;
  friend class internal::PassEnd;
  friend class internal::Run;
  friend class internal::SessionCalls;
  friend class internal::StateCalls;
  friend struct internal::BranchRun;

  struct Record;
  // A branch took the delivery of a wait.
  struct Receipt {
    const internal::BranchRun* branch;
    EventId position;
    Receipt* next;
  };
  // What one run of the code made of a command.
  struct InPass {
    std::uint32_t run = 0;                  // whose; of another run it counts for nothing
    EventId emitted_at = 0;                 // position of the branch
    EventId closed_at = 0;                  // position for the owner once closed
    internal::BranchRun* owner = nullptr;   // the branch that issued it
    internal::BranchRun* opened = nullptr;  // branch opening: what it opened
    Record* next_own = nullptr;             // what the owner issued next of what it could wait for
    Record* next_staged = nullptr;
    const Record* target = nullptr;   // close: what it closes
    Receipt* receipts = nullptr;      // wait
    std::uint32_t writer = 0;         // state write: number of the branch among those that write
    std::uint32_t write_number = 0;   // state write: which of that branch
    bool received = false;            // by its owner
    bool closed = false;              // by its owner
    bool answered_cancelled = false;  // to an await of its owner
  };
  // An event with its texts behind it, and its part of the index.
  struct Record {
    Event event;
    std::uint32_t size = 0;         // of record and texts
    Record* next = nullptr;         // command: the next of its branch
    Record* previous = nullptr;     // command: the one before of its branch
    EventId completion = 0;         // command: its completion; a returned delivery does not count
    EventId close = 0;              // command: the close that names it
    EventId returned = 0;           // delivery: its return
    std::uint64_t await_path = 0;   // command: path hash after the await of it alone; 0: not known
    Record* older_alike = nullptr;  // wait: the one before; state write: the one before of its key
    InPass pass;
  };
  struct Carried {
    std::string_view value;
    std::int64_t updated_ms;
  };
  // One key of the state, or the custom status.
  struct StateKey {
    std::string_view name;
    const Carried* carried = nullptr;
    Record* newest = nullptr;  // write of this history
    Record* staged = nullptr;  // newest write that is not part of history yet
    std::uint32_t run = 0;     // whose staged ones these are; of another run they count for nothing
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

  // Place of the first key that is not before `name`.
  [[nodiscard]] std::uint32_t key_place(std::string_view name) const;
  [[nodiscard]] const StateKey* find_key(std::string_view name) const;
  // Found or made; null when the pool is short. `name` must live as long as what the key is for.
  StateKey* make_key(std::string_view name);
  void drop_unused_keys();

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
  Record* newest_wait_ = nullptr;
  Record** directory_ = nullptr;
  std::uint32_t directory_capacity_ = 0;
  Branch root_;
  Branch* branches_ = nullptr;  // all but the root, numbers rising
  std::uint32_t branches_capacity_ = 0;
  std::uint32_t branch_count_ = 0;
  StateKey* keys_ = nullptr;  // in order of their names
  std::uint32_t keys_capacity_ = 0;
  std::uint32_t key_count_ = 0;
  ChunkList records_;
  ChunkList carried_;
  std::size_t list_bytes_ = 0;
};

// The number of an execution as its code knows it; `own`: as it is stored (R10.3).
[[nodiscard]] inline ExecutionId execution_of_code(const History& history, ExecutionId own) {
  return history.last_id() == 0 || history.event(1).ref == 0 ? own : history.event(1).ref;
}

}  // namespace pawl

#endif  // PAWL_REPLAY_HISTORY_HPP

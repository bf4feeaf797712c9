// History: the decoded events of one execution, with the index that matches commands in constant
// time.
//
// Purpose: append-only; kept warm between turns or rebuilt from stored rows, with the same result.
// Ownership: bytes come from a BuddyPool that must outlive it; clear() or the destructor gives them
// back. An event keeps its address until it is rewound. Thread rule: the Runtime's thread.
#ifndef PAWL_REPLAY_HISTORY_HPP
#define PAWL_REPLAY_HISTORY_HPP

#include <cstdint>

#include "codec/event.hpp"
#include "core/buddy.hpp"

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

// Consecutive pieces of memory over a BuddyPool, given back from the newest end.
class ChunkList {
 public:
  explicit ChunkList(BuddyPool& pool) : pool_(pool) {}
  ~ChunkList() { clear(); }
  ChunkList(const ChunkList&) = delete;
  ChunkList& operator=(const ChunkList&) = delete;

  // Aligned for any type; null when the pool is short.
  [[nodiscard]] void* allocate(std::size_t size);
  // Gives back all pieces allocated after the piece [last, last + size).
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
  // short, nothing changed. kCorrupt: the event cannot follow the present ones (a reference to a
  // command that does not exist, a second completion, an ordinal out of order), and `diagnostic`
  // has the reason.
  Status append(const Event& event, Diagnostic& diagnostic);

  [[nodiscard]] EventId last_id() const { return count_; }
  // Requires: 1 <= id <= last_id().
  [[nodiscard]] const Event& event(EventId id) const;
  [[nodiscard]] bool ended() const { return end_id_ != 0; }
  [[nodiscard]] EventId end_id() const { return end_id_; }
  [[nodiscard]] EventId cancel_id() const { return cancel_id_; }
  // The bytes taken from the pool.
  [[nodiscard]] std::size_t bytes() const {
    return records_.bytes() + carried_.bytes() + list_bytes_;
  }
  // The command event of (branch, ordinal); 0: none.
  [[nodiscard]] EventId command_id(BranchId branch, Ordinal ordinal) const;
  // Whether the completion of this command may still be recorded. False: there is no such command,
  // it cannot complete, it has completed, it is closed, its branch is retired, or the execution has
  // ended.
  [[nodiscard]] bool awaits_completion(EventId command) const;
  // The oldest open wait of this kind (kWait or kDequeue) and name; 0: none.
  [[nodiscard]] EventId open_wait(EventKind kind, std::string_view name) const;
  // The oldest open wait that must be answered now (a try); 0: none.
  [[nodiscard]] EventId open_try() const;

  struct Mark {
    EventId count = 0;
  };
  [[nodiscard]] Mark mark() const { return {count_}; }
  // Forgets every event after the mark.
  void rewind(Mark mark);

  // Adds a value that earlier executions left, with the time of its write; an empty key is the
  // custom status. Call it before the first event, once for each key. kResourceExhausted: the pool
  // is short.
  Status carry(std::string_view key, std::string_view value, std::int64_t updated_ms);
  // Whether any state was carried, or written by this execution.
  [[nodiscard]] bool has_state() const { return key_count_ > 0; }

 private:
  // These parts of a pass mark and stage records.
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
  // Notes that a branch took the delivery of a wait.
  struct Receipt {
    const internal::BranchRun* branch;
    EventId position;
    Receipt* next;
  };
  // The notes of one run of the code about a command.
  struct InPass {
    std::uint32_t run = 0;                  // the run; notes of another run do not count
    EventId emitted_at = 0;                 // position of the branch at that time
    EventId closed_at = 0;                  // position of the owner at the close
    internal::BranchRun* owner = nullptr;   // the branch that issued it
    internal::BranchRun* opened = nullptr;  // branch opening: the branch it opened
    Record* next_own = nullptr;             // next command of the owner that can be waited for
    Record* next_staged = nullptr;
    const Record* target = nullptr;   // close: the command it closes
    Receipt* receipts = nullptr;      // wait: which branches took its delivery
    std::uint32_t writer = 0;         // state write: number of its branch among the writers
    std::uint32_t write_number = 0;   // state write: its number within that branch
    bool received = false;            // its owner received it
    bool closed = false;              // its owner closed it
    bool answered_cancelled = false;  // an await of its owner got the cancellation as answer
  };
  // An event with its texts behind it, and its part of the index.
  struct Record {
    Event event;
    std::uint32_t size = 0;         // record and texts together
    Record* next = nullptr;         // command: the next one of its branch
    Record* previous = nullptr;     // command: the previous one of its branch
    EventId completion = 0;         // command: its completion; a returned delivery does not count
    EventId close = 0;              // command: the close that names it
    EventId returned = 0;           // delivery: its return
    std::uint64_t await_path = 0;   // command: path hash after an await of it alone; 0: not known
    Record* older_alike = nullptr;  // wait: the previous one; state write: that of its key
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
    Record* newest = nullptr;  // newest write in this history
    Record* staged = nullptr;  // newest write that is not part of history yet
    std::uint32_t run = 0;     // the run of the staged ones; those of another run do not count
  };
  struct Branch {
    BranchId number = 0;
    std::uint32_t parent = 0;   // index in the list of branches
    Record* opening = nullptr;  // null: the root
    Record* first = nullptr;
    Record* last = nullptr;
    std::uint32_t commands = 0;
  };

  // Copies the event into a record that is not part of history yet; null when the pool is short.
  Record* stage(const Event& event);
  // Makes a staged record part of history. Its id must be last_id() + 1.
  Status commit(Record* record, Diagnostic& diagnostic);
  // Forgets every staged record.
  void drop_staged();

  // The index of the first key that is not before `name`.
  [[nodiscard]] std::uint32_t key_place(std::string_view name) const;
  [[nodiscard]] const StateKey* find_key(std::string_view name) const;
  // Finds or makes the key; null when the pool is short. `name` must live as long as the record or
  // carried value that the key is for.
  StateKey* make_key(std::string_view name);
  void drop_unused_keys();

  [[nodiscard]] Record* record(EventId id) const { return directory_[id - 1]; }
  [[nodiscard]] Branch& branch(std::uint32_t place) {
    return place == 0 ? root_ : branches_[place - 1];
  }
  [[nodiscard]] const Branch& branch(std::uint32_t place) const {
    return place == 0 ? root_ : branches_[place - 1];
  }
  // The index of the branch with this number, or kNoBranch.
  [[nodiscard]] std::uint32_t find_branch(BranchId number) const;
  // Whether this branch or one above it was closed.
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

// The execution's number as its code knows it; `own`: its stored number (R10.3).
[[nodiscard]] inline ExecutionId execution_of_code(const History& history, ExecutionId own) {
  return history.last_id() == 0 || history.event(1).ref == 0 ? own : history.event(1).ref;
}

}  // namespace pawl

#endif  // PAWL_REPLAY_HISTORY_HPP

// StoreContext: what all tables of one connection share. Table: the base of each of them.
//
// Purpose: one connection, one batch with its time and counters, one diagnostic. A table has a
// reference to the context and to the tables below it, and to none above. Ownership: the store owns
// the context and every table. Thread rule: that of the connection.
#ifndef PAWL_STORE_CONTEXT_HPP
#define PAWL_STORE_CONTEXT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "codec/event.hpp"
#include "core/clock_rules.hpp"
#include "core/ids.hpp"
#include "core/text.hpp"
#include "pawl/status.hpp"
#include "store/change_sink.hpp"
#include "store/instance/arguments.hpp"
#include "store/place/arguments.hpp"
#include "store/place/due.hpp"
#include "store/sql/connection.hpp"
#include "store/sql/database.hpp"
#include "store/sql/query.hpp"
#include "store/work/crash_limits.hpp"

namespace pawl::store {

using sql::Connection;
using sql::kPathBytesMax;
using sql::Statement;

// For a row i of instances: its tree was not removed. Parts of a sql::Query.
#define PAWL_IS_THERE                                                                      \
  "iif(i.root IS NULL,i.state,(SELECT r.state FROM instances AS r WHERE r.key=i.root))<>", \
      sql::number<InstanceState::kDeleted>, ""

// Joins the event h of a row q of worker_queue, by its row in history. The row is looked up by its
// number alone; the rest keeps damage, and an instance that is being removed, from showing another
// event.
#define PAWL_EVENT_OF(q)                                                      \
  " LEFT JOIN history AS h ON h.row_number=" q ".event_row AND h.instance=" q \
  ".instance"                                                                 \
  " AND h.execution=" q ".execution AND h.id=" q ".event"

// The end of the lease on an owned session, of a row s of sessions and a row w of its owner in
// workers. A claim writes the first lease into the row of the session; from then on it lasts as
// long as the owner's row says, so that a renewal writes one row (S5).
#define PAWL_SESSION_LEASE "max(s.locked_until,coalesce(w.sessions_until,0))"

inline bool has_ended(std::int64_t state) {
  return state == static_cast<std::int64_t>(InstanceState::kCompleted) ||
         state == static_cast<std::int64_t>(InstanceState::kFailed);
}

inline constexpr std::size_t kListLooksMax = 1024;  // rows looked at for one page of a list

class Batches;

struct StoreContext {
  StoreContext(Connection& to, sql::Database& place) : connection(to), file(place) {}
  // Keeps `what` and the connection's text in the diagnostic, kills the batch if the status is one
  // that does so (the contract's list), and returns the status. kOk: does nothing.
  Status fail(Status status, const char* what);
  // For a statement that gave no row: its failure, or `none`. kCorrupt is a failure, too.
  Status no_row(const Statement& row, Status none, const char* what);
  // Reports that a Walk makes no progress: kCorrupt.
  Status no_progress(const char* table);
  // For a call that had written something when it failed: the batch is dead, whatever the status. A
  // status that would be an answer was ruled out before anything was written, so the rows
  // contradict each other: kCorrupt.
  Status written(Status status);
  // Checks the invariant that every call of a batch begins with.
  void require_batch() const;
  // A number that the database has never given out, if the batch is committed.
  LockToken next_token();
  // Takes `count` tokens from `first` on. False: another one was taken already, and these are not.
  bool take_tokens(LockToken first, std::size_t count);
  Epoch next_epoch();
  // The key of a row that is to be inserted, for an engine that makes none.
  std::optional<std::int64_t> new_id();
  // The key of the row that was inserted last, with the id that new_id() gave.
  [[nodiscard]] std::int64_t inserted_id(std::optional<std::int64_t> id) const {
    return id.has_value() ? *id : connection.last_insert_id();
  }
  // The name in the meta of an activity's event, or nothing if the meta cannot be read. It lives
  // until the next meta is read.
  std::string_view activity_name(std::string_view meta);
  // Whether the rows of the instance and of its messages are still as they were.
  [[nodiscard]] bool still_knows(const KnownInstance& known) const {
    return known.is_whole && known.changes == connection.instance_changes();
  }
  // Reads the meta of an event of this kind. Its texts live until the next meta is read.
  Status read_meta(std::string_view meta, Event* event);

  Connection& connection;
  sql::Database& file;
  Batches* batches = nullptr;  // the store's; opens views (ReadScope)
  ChangeSink* sink = nullptr;
  BatchInfo batch;
  Incarnation batch_worker = 0;
  bool in_batch = false;
  bool in_read = false;
  bool read_is_planned = false;  // the view that the next ReadScope opens outlives it
  bool dead = false;             // the batch can only be rolled back
  bool batch_sent = false;
  std::uint64_t batch_number = 0;  // rises with each batch
  ClockRow clock;                  // as of the last begin(); fixed within a batch
  struct Counters {
    Epoch epoch = 0;
    LockToken token = 0;
  };
  Counters stored;     // as the row of meta has them
  Counters committed;  // as the last batch left them
  Counters next;       // with the numbers that this batch took
  // The columns of meta, as read last.
  std::int64_t quota_bytes = 0;
  std::int64_t reserve_bytes = 0;
  std::int64_t log_max_bytes = 0;
  MailboxLimits last_mailbox;        // of the runtime that registered last
  CrashLimits limits;                // as given when this worker registered
  std::int64_t messages_stored = 0;  // rises with each message that this connection stores
  std::int64_t heads_moved = 0;      // rises when a session may have another head
  std::int64_t made_ready = 0;       // rises when this connection makes an item ready
  std::int64_t others = 0;           // rises when another connection has committed
  Diagnostic diagnostic;
  // The texts of the last meta.
  char meta_text[kMetaBytesMax] = {};
};

// Opens one view for all reads of a call, unless the caller has opened or planned one.
class ReadScope {
 public:
  explicit ReadScope(StoreContext& context);
  ~ReadScope();
  ReadScope(const ReadScope&) = delete;
  ReadScope& operator=(const ReadScope&) = delete;
  [[nodiscard]] Status status() const { return status_; }

 private:
  StoreContext& context_;
  Status status_ = Status::kOk;
  bool owns_ = false;
};

// OfBatch: a value that holds for one batch; in the next one it begins as T().
template <typename T>
class OfBatch {
 public:
  [[nodiscard]] T& in(const StoreContext& context) {
    if (number_ != context.batch_number) value_ = T();
    number_ = context.batch_number;
    return value_;
  }

 private:
  T value_ = T();
  std::uint64_t number_ = 0;
};

class Table {
 public:
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

 protected:
  using Suspicion = Connection::Suspicion;

  explicit Table(StoreContext& context)
      : context_(context), connection_(context.connection), batch_(context.batch) {}
  ~Table() = default;

  Status fail(Status status, const char* what) { return context_.fail(status, what); }
  Status no_row(const Statement& row, Status none, const char* what) {
    return context_.no_row(row, none, what);
  }
  Status no_progress(const char* table) { return context_.no_progress(table); }
  Status written(Status status) { return context_.written(status); }
  Status fail_written(Status status, const char* what) { return written(fail(status, what)); }
  void require_batch() const { context_.require_batch(); }

  StoreContext& context_;
  Connection& connection_;
  BatchInfo& batch_;
};

}  // namespace pawl::store

#endif  // PAWL_STORE_CONTEXT_HPP

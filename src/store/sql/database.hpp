// Database: the place of a database, as the tables see it.
//
// Purpose: holds the options and the port that it was opened with, and offers the few calls that
// depend on files: waiting for locks, the length of the log, the file of the reserve. Ownership:
// the engine owns what it has open. Thread rule: one thread.
#ifndef PAWL_STORE_SQL_DATABASE_HPP
#define PAWL_STORE_SQL_DATABASE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock_rules.hpp"
#include "core/text.hpp"
#include "pawl/port.hpp"
#include "pawl/status.hpp"
#include "store/worker/evidence_rules.hpp"

namespace pawl {

// The page that StoreOptions::checkpoint_pages counts the log in, in bytes.
inline constexpr std::int64_t kLogPageBytes = 512;

struct StoreOptions {
  const char* path = nullptr;
  // For an engine on a server: its address, as the engine takes it, and the schema of our tables.
  // `path` then names what lies beside a database and is of one machine: locks, bell, folders.
  const char* server = nullptr;
  std::string_view schema = "pawl";
  bool create = true;               // false: kCannotOpen when there is no database
  bool read_only = false;           // no batches; create is false then
  bool synchronous_full = true;     // false: an acknowledged call may be lost at a power cut
  std::int64_t busy_ms_max = 1000;  // longest wait for the write lock
  int cache_pages = 256;
  std::size_t statement_bytes = 512 * 1024;  // for statements that are kept prepared
  int checkpoint_pages = 1000;
  bool checkpoint_after_commit =
      false;  // write_back_log() writes the log back, not the commit that fills it
  bool may_take_reserve = false;  // release_reserve() if opening finds no room
  // A worker's longest lease, and how often it renews all; 0: not a worker's. For an engine that
  // machines share.
  std::int64_t lease_ms = 0;
  std::int64_t renew_ms = 0;
  // For a move (store_move.hpp): opens a database at any stage of it, unless another connection
  // uses it (kBusy).
  bool moves = false;
};

struct IoUse {
  std::uint64_t flushes = 0;
  std::uint64_t bytes = 0;  // written, to database, log and journal
  std::uint64_t trips = 0;  // waits for an answer of a server
};

}  // namespace pawl

namespace pawl::sql {

class Connection;
class SharedClock;

// How far a move of rows from one database to another has come, for each of them. A number other
// than 0 stands where that of its form does else.
enum class MoveStage : std::int8_t {
  kInUse = 0,
  kArriving = -1,  // rows come from another database, and not all are here
  kMoved = -2,     // another database has taken its place
};
[[nodiscard]] constexpr bool is_move_stage(std::int64_t form) { return form == -1 || form == -2; }
// Says why a database of this stage cannot be used now.
Status refuse_stage(std::int64_t form, const char* name, Diagnostic& diagnostic);

inline constexpr std::size_t kPathBytesMax = 512;

class Database {
 public:
  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] port::Port& port() { return port_; }
  [[nodiscard]] const StoreOptions& options() const { return options_; }
  [[nodiscard]] const FixedText<kPathBytesMax>& path() const { return path_; }
  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] std::string_view database_id() const { return database_id_.view(); }

  // Takes over what it needs to know of the options, and checks the place.
  virtual Status prepare(const StoreOptions& options, const port::Port& port,
                         Diagnostic& diagnostic) = 0;
  virtual Status connect(Diagnostic& diagnostic) = 0;
  // Finds our tables or makes them, and reads the database's id.
  virtual Status set_up(Diagnostic& diagnostic) = 0;
  void mark_open() { open_ = true; }
  virtual void disconnect() = 0;
  // Requires: the connection is closed.
  virtual void leave() = 0;
  // For when another connection has committed. Requires: a transaction has begun, so no connection
  // changes the schema from here on.
  virtual Status check_schema_again(Diagnostic& diagnostic) = 0;
  // False: the last check found another schema.
  [[nodiscard]] virtual bool has_our_schema() const = 0;

  // The next commit of a batch does not wait longer for the engine's answer; none: no such limit.
  // If that is over, it fails, and the answer comes later.
  virtual void limit_commit(OptionalMs /*most_ms*/) {}
  // The answer to the last commit is awaited without blocking.
  [[nodiscard]] virtual bool outcome_comes() const { return false; }
  // Asks about a batch whose commit failed. kOk: it is committed; kInDoubt: that is not known yet;
  // another: it is not, and never will be, and the failure is the commit's (kStale) or this one.
  virtual Status outcome(Diagnostic& /*diagnostic*/) { return Status::kStale; }
  // The next epoch or token, by the counter in the row: beyond all that were given out, also by
  // commits that are lost.
  [[nodiscard]] virtual std::int64_t next_number(std::int64_t stored) const { return stored; }
  // How an engine that machines share counts time; null: as one machine does (T1 to T3).
  virtual SharedClock* shared_clock() { return nullptr; }
  // Counts time on from this row, which came from another database. Requires: a transaction.
  virtual Status count_on(const ClockRow& /*row*/) { return Status::kOk; }
  // The workers of other machines; null: there are none.
  virtual OtherMachines* other_machines() { return nullptr; }
  // From now on commits on other machines end the sleep of these threads; null: no more. Requires:
  // they are open, and outlive that.
  virtual void wake(port::Threads* /*threads*/) {}
  // Whether the engine gives the write lock to those that wait in the order in which they came.
  [[nodiscard]] virtual bool has_fair_lock() const = 0;
  // Sets how long a statement waits for another connection's lock. Where the engine cannot wait,
  // kBusy comes at once.
  virtual void wait_for_locks(std::int64_t ms) = 0;
  virtual void pause(int ms) = 0;
  [[nodiscard]] virtual std::int64_t log_bytes() = 0;
  [[nodiscard]] virtual IoUse io_use() const = 0;
  // Writes the log back and truncates it to nothing. kBusy, at once: others read or write; then as
  // much of it was written back as they allow.
  virtual Status empty_log() = 0;
  // With checkpoint_after_commit: writes the log back if it is at least checkpoint_pages long, as
  // far as other readers allow. A failure is tried again when the log has grown.
  virtual Status write_back_log() = 0;
  // The file of the reserve: looks for it, creates it with this length, removes it.
  virtual Status find_reserve(bool* there) = 0;
  virtual Status make_reserve_file(std::int64_t bytes) = 0;
  virtual Status remove_reserve_file() = 0;

 protected:
  ~Database() = default;

  // The one row of meta, with a new id of the database.
  Status insert_meta(Connection& connection, Diagnostic& diagnostic);
  Status load_database_id(Connection& connection, Diagnostic& diagnostic);

  port::Port port_;
  StoreOptions options_;  // its path is a copy of our own
  FixedText<kPathBytesMax> path_;
  FixedText<32> database_id_;
  bool open_ = false;
};

}  // namespace pawl::sql

#endif  // PAWL_STORE_SQL_DATABASE_HPP

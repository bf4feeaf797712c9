// StoreTransaction: the transaction of a batch or of a view on the server.
//
// Purpose: the lock of the store is the row of meta, which each batch that writes changes. Such a
// batch has a name, by which it is found again if the answer to its commit is lost: a node, and a
// number that rises (F10a). A node is one connection of a process here; its row in `nodes` has the
// number of its last batch. Since a batch holds the lock from its beginning, one that is looked for
// under the lock cannot arrive any more. A holder of the lock that does nothing is ended (F16).
// The rules: docs/rules/fleet.md.
//
// Ownership: a StoreTransaction uses the link of its connection. Thread rule: one thread.
#ifndef PAWL_STORE_POSTGRES_STORE_TRANSACTION_HPP
#define PAWL_STORE_POSTGRES_STORE_TRANSACTION_HPP

#include <cstdint>
#include <optional>

#include "pawl/status.hpp"
#include "store/postgres/batch_rules.hpp"
#include "store/postgres/server_link.hpp"
#include "store/postgres/server_rules.hpp"
#include "store/postgres/store_lock.hpp"
#include "store/postgres/store_time.hpp"

namespace pawl::postgres {

// The format of the tables: of the columns that other engines have, too, and of those of this one.
inline constexpr std::int64_t kPostgresForm = 1;

// Makes a link that was lost work again, or tries to. The text of a failure is in the connection's
// diagnostic(). kIo: not yet.
class Reconnecting {
 public:
  virtual Status restore() = 0;

 protected:
  ~Reconnecting() = default;
};

// The row of a node that has not written for so long, by the store's time, is removed.
inline constexpr std::int64_t kNodeMs = 604'800'000;

class StoreTransaction {
 public:
  StoreTransaction(ServerLink& link, ReadsAhead& ahead, Diagnostic& diagnostic)
      : link_(link), diagnostic_(diagnostic), lock_(link, ahead, diagnostic) {}

  // `node`: chosen at random, so that no other connection has it. `reconnecting` outlives the
  // transaction.
  void set_up(std::int64_t node, const port::BootId& boot, const StoreTime::Terms& terms,
              Reconnecting& reconnecting);
  [[nodiscard]] StoreTime& time() { return time_; }
  [[nodiscard]] StoreLock& lock() { return lock_; }
  // The link has connected, perhaps to another server. kReadOnly: that is a replica; kIo: it is
  // behind one that was seen before (F17); kUnsupported: a pooler answers in its place.
  Status check_server();
  // Shows other nodes that this one is connected.
  Status take_node_lock();
  // Then the schema was entered.
  Status connected();
  // Removes the row of the node.
  void leave();

  // Another one after each commit, and after each connection.
  [[nodiscard]] std::uint32_t version() const { return version_ + link_.connections() * kApart; }
  // The format of the tables, as it was read beside the version.
  [[nodiscard]] std::int64_t form() const { return form_; }

  // A view has the version with its begin. All that begins comes back on a link that was lost.
  Status begin_read();
  Status read_version();
  // Each gives the result of its last statement. begin(): kBusy, another connection has the lock,
  // or other nodes have to say first what the time is; kBuried, which is said once: commits that
  // were acknowledged are missing (F12), or the id of its node was taken (F13).
  // `is_alone`: it counts no time, and ends with a plain commit.
  Status begin(bool is_alone, PGresult** out);
  Status commit(bool writes);

  // F11. Requires: check_server() was called.
  [[nodiscard]] std::int64_t next_number(std::int64_t stored) const {
    return fleet::next_number(stored, *timeline_);
  }
  // The answer to the last commit is under way or was lost, and what became of it was not found out
  // yet.
  [[nodiscard]] bool is_in_doubt() const { return in_doubt_; }
  // Takes the answer that is under way, or finds out under the lock. kOk: it is committed; kStale:
  // it is not, and never will be; another: the same if it is in doubt no more, and that is why.
  // Requires: is_in_doubt(), and an answer is under way or the link is connected anew.
  Status find_outcome();

 private:
  static constexpr std::uint32_t kApart = 0x9e3779b9;  // versions of two connections

  template <typename Begin>
  Status on_link(Begin&& begin);
  void note_version(const PGresult* row);
  Status look_at_version(bool begins_view);
  Status take_lock(PGresult** out);
  Status wait_for_time(PGresult** out);
  void acknowledge();
  Status find_named(bool* committed);
  Status read_row(std::optional<fleet::BatchRow>* row);

  ServerLink& link_;
  Diagnostic& diagnostic_;
  std::uint32_t version_ = 0;
  std::int64_t form_ = 0;
  bool has_version_ = false;  // a view has begun, and read_version() was not called in it
  StoreLock lock_;
  StoreTime time_{link_, diagnostic_};
  std::int64_t node_ = 0;
  std::int64_t number_ = 0;        // of the last batch
  std::int64_t acknowledged_ = 0;  // of the last one whose commit was acknowledged; 0: none
  std::int64_t acknowledged_boot_ms_ = 0;
  bool in_doubt_ = false;
  const char* lost_ = nullptr;  // why the registration is void; null: it is not
  Reconnecting* reconnecting_ = nullptr;
  std::optional<std::int64_t> timeline_;  // the newest that was seen
};

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_STORE_TRANSACTION_HPP

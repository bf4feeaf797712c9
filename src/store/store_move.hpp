// StoreMove: carries all rows of a database over into another one, and lets that one take its
// place. Each may be a file or on a server.
//
// Purpose: at no time can both be used, whatever ends the process: the rows arrive in a database
// that is marked kArriving, are read again there and compared, then the old one is marked kMoved,
// and only then the new one is in use. A move that did not end is ended by the same call again.
//
// Rows are carried as they are, also one whose checksum is wrong. The boot of a lease is no boot of
// the new database, so what its owner had counts as held by a machine that is gone: work in flight
// is given out again, and counts a reboot. Time goes on from the last mark of the old database
// (adopt_moved(), Database::count_on()).
//
// Ownership: it uses two open Stores. Thread rule: one thread.
#ifndef PAWL_STORE_STORE_MOVE_HPP
#define PAWL_STORE_STORE_MOVE_HPP

#include <cstdint>

#include "core/text.hpp"
#include "pawl/maintenance.hpp"
#include "pawl/status.hpp"
#include "store/sql/table_copies.hpp"
#include "store/store.hpp"

namespace pawl::store {

class StoreMove {
 public:
  // Both were opened with StoreOptions::moves.
  StoreMove(Store& from, Store& to, MoveVisitor& visitor, Diagnostic& diagnostic)
      : from_(from), to_(to), visitor_(visitor), diagnostic_(diagnostic) {}

  // Whether another database has taken the place of this one.
  static Status was_moved(Store& from, bool* out, Diagnostic& diagnostic);
  // The promise is that of move_database().
  Status run(std::int64_t* rows);

 private:
  // One of the two.
  struct Side {
    explicit Side(Store& of) : store(of), connection(of.connection()), database(of.database()) {}
    Store& store;
    sql::Connection& connection;
    sql::Database& database;
    sql::MoveStage stage = sql::MoveStage::kInUse;
  };
  struct Page;

  Status look(bool* is_copied);
  Status copy(std::int64_t* rows);
  Status prepare();
  Status copy_table(const TableCopy& table, std::uint32_t* digest, std::int64_t* rows);
  Status copy_page(const TableCopy& table, Page* page);
  Status compare_table(const TableCopy& table, std::uint32_t digest);
  Status count_on();
  Status highest_number(std::int64_t* out);
  Status take_numbers();

  static Status read_stage(Side& side, Diagnostic& diagnostic);
  Status change_stage(Side& side, sql::QueryRef to);
  // `body` in a transaction that no other connection of this database is beside.
  template <typename Body>
  Status in_transaction(Side& side, Body&& body);
  // `body` in a view.
  template <typename Body>
  Status in_view(Side& side, Body&& body);
  template <typename Body>
  Status between(Side& side, sql::QueryRef query, Body&& body);
  Status fail(const Side& side, Status status, const char* what) {
    return explain(side, status, what, diagnostic_);
  }
  static Status explain(const Side& side, Status status, const char* what, Diagnostic& diagnostic);
  Status fail_row(Side& side, Status status, const TableCopy& table, std::int64_t key);

  Side from_;
  Side to_;
  MoveVisitor& visitor_;
  Diagnostic& diagnostic_;
  std::uint32_t version_ = 0;  // of the old database when its rows were read
};

}  // namespace pawl::store

#endif  // PAWL_STORE_STORE_MOVE_HPP

// OneFile: a connection to the file of one database, to copy, check or convert it.
//
// Purpose: says how a file is opened, and runs texts that no Store knows. Ownership: built in the
// caller's place, with the caller's port. Thread rule: as store.hpp.
#ifndef PAWL_STORE_SQLITE_ONE_FILE_HPP
#define PAWL_STORE_SQLITE_ONE_FILE_HPP

#include <sqlite3.h>

#include <cstdint>
#include <new>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "pawl/port.hpp"
#include "pawl/printable.hpp"
#include "pawl/status.hpp"
#include "store/sql/database.hpp"
#include "store/sqlite/database_uri.hpp"
#include "store/sqlite/form.hpp"
#include "store/sqlite/sqlite_connection.hpp"
#include "store/sqlite/sqlite_vfs.hpp"

namespace pawl::sqlite {

// A connection to one file, built in the caller's place.
class OneFile {
 public:
  OneFile(void* place, const port::Port& port)
      : port_(port), connection_(*::new (place) Connection()) {}
  ~OneFile() {
    connection_.~Connection();
    if (has_vfs_) forget_vfs(*port_.storage);
  }
  OneFile(const OneFile&) = delete;
  OneFile& operator=(const OneFile&) = delete;

  // Opens a database that others may use; its log and the log's index stay unchanged.
  Status open_shared(const char* path, Diagnostic& diagnostic) {
    PAWL_TRY(port_.storage->check_place(path, diagnostic));
    PAWL_TRY(open(path, path, SQLITE_OPEN_READONLY, diagnostic));
    static_cast<void>(sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                        static_cast<int*>(nullptr)));
    return check_owner(diagnostic);
  }
  // Opens a copy, which no other process has open: without files beside it.
  Status open_alone(const char* path, Diagnostic& diagnostic) {
    FixedText<3 * sql::kPathBytesMax + 64> uri;
    PAWL_TRY(begin_uri(uri, path));
    PAWL_TRY(uri.append("?immutable=1"));
    PAWL_TRY(open(path, uri.c_str(), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, diagnostic));
    return check_owner(diagnostic);
  }
  Status open_empty(const char* path, Diagnostic& diagnostic) {
    PAWL_TRY(port_.storage->check_place(path, diagnostic));
    PAWL_TRY(open(path, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, diagnostic));
    std::int64_t pages = 0;
    PAWL_TRY(read_number("PRAGMA page_count", &pages, diagnostic));
    if (pages != 0) {
      diagnostic.format("%s: holds something already", path);
      return Status::kAlreadyExists;
    }
    // A new file needs no journal on the disk, and its one commit flushes it.
    return execute("PRAGMA journal_mode=MEMORY;PRAGMA synchronous=FULL", diagnostic);
  }
  // Opens a copy, which no other process has open: closing the connection leaves no file beside it.
  Status open_to_change(const char* path, Diagnostic& diagnostic) {
    PAWL_TRY(port_.storage->check_place(path, diagnostic));
    PAWL_TRY(open(path, path, SQLITE_OPEN_READWRITE, diagnostic));
    PAWL_TRY(check_owner(diagnostic));
    return execute("PRAGMA synchronous=FULL", diagnostic);
  }
  // Opens a database that no other process has open from here on, until this is gone. The mode is
  // set before SQLite reads the file: then it has the file locked as a whole, and the log's index
  // in its own memory. Closing the connection neither writes nor removes a file, since the name may
  // be another file's by then.
  Status open_locked(const char* path, Diagnostic& diagnostic) {
    PAWL_TRY(port_.storage->check_place(path, diagnostic));
    PAWL_TRY(open(path, path, SQLITE_OPEN_READWRITE, diagnostic, "PRAGMA locking_mode=EXCLUSIVE"));
    static_cast<void>(sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1,
                                        static_cast<int*>(nullptr)));
    return execute("PRAGMA synchronous=FULL", diagnostic);
  }
  // Reads the first column of the first row.
  Status read_number(const char* sql, std::int64_t* out, Diagnostic& diagnostic) {
    return each_row(
        sql,
        [out](sqlite3_stmt* row) {
          *out = sqlite3_column_int64(row, 0);
          return false;
        },
        diagnostic);
  }
  // Ends when `visit` returns false.
  template <typename Visit>
  Status each_row(const char* sql, Visit&& visit, Diagnostic& diagnostic) {
    sqlite3_stmt* statement = nullptr;
    int result = sqlite3_prepare_v2(handle(), sql, -1, &statement, nullptr);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    while (result == SQLITE_ROW && visit(statement))
      result = sqlite3_step(statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) explain(result, diagnostic);
    static_cast<void>(sqlite3_finalize(statement));
    if (result == SQLITE_ROW || result == SQLITE_DONE) return Status::kOk;
    return (result & 0xff) == SQLITE_NOTADB ? Status::kForeignDatabase : status_of(result);
  }
  // Runs a statement with one text parameter.
  Status change_text(const char* sql, std::string_view text, Diagnostic& diagnostic) {
    return change(
        sql,
        [text](sqlite3_stmt* row) {
          return sqlite3_bind_text(row, 1, text.data(), static_cast<int>(text.size()),
                                   SQLITE_STATIC);
        },
        diagnostic);
  }
  Status change_number(const char* sql, std::int64_t number, Diagnostic& diagnostic) {
    return change(
        sql, [number](sqlite3_stmt* row) { return sqlite3_bind_int64(row, 1, number); },
        diagnostic);
  }
  void explain(int result, Diagnostic& diagnostic) {
    diagnostic.format("%s: %s (sqlite %d)", path_, sqlite3_errmsg(handle()), result);
  }
  Status execute(const char* sql, Diagnostic& diagnostic) {
    Diagnostic why;
    const Status status = connection_.execute(sql, why);
    if (status != Status::kOk) diagnostic.format("%s: %.*s", path_, PAWL_TEXT(why.text()));
    return status;
  }
  // Refuses a file of another program, or of another format.
  Status check_owner(Diagnostic& diagnostic) {
    std::int64_t application = 0;
    std::int64_t version = 0;
    PAWL_TRY(read_number("PRAGMA application_id", &application, diagnostic));
    PAWL_TRY(read_number("PRAGMA user_version", &version, diagnostic));
    if (application != store::kApplicationId) {
      diagnostic.format("%s: no database of Pawl", path_);
      return Status::kForeignDatabase;
    }
    if (version == store::kSchemaVersion) return Status::kOk;
    if (sql::is_move_stage(version)) return sql::refuse_stage(version, path_, diagnostic);
    if (version < store::kSchemaVersion) return store::refuse_older(path_, version, diagnostic);
    diagnostic.format("%s: written by a newer Pawl: format %lld, this one reads only %d", path_,
                      static_cast<long long>(version), store::kSchemaVersion);
    return Status::kNewerDatabase;
  }
  [[nodiscard]] const char* path() const { return path_; }
  [[nodiscard]] Connection& connection() { return connection_; }
  [[nodiscard]] sqlite3* handle() { return connection_.handle(); }

 private:
  template <typename Bind>
  Status change(const char* sql, Bind bind, Diagnostic& diagnostic) {
    sqlite3_stmt* statement = nullptr;
    int result = sqlite3_prepare_v2(handle(), sql, -1, &statement, nullptr);
    if (result == SQLITE_OK) result = bind(statement);
    if (result == SQLITE_OK) result = sqlite3_step(statement);
    if (result != SQLITE_DONE) explain(result, diagnostic);
    static_cast<void>(sqlite3_finalize(statement));
    return result == SQLITE_DONE ? Status::kOk : status_of(result);
  }
  // `first` runs before anything that reads the file.
  Status open(const char* path, const char* name, int flags, Diagnostic& diagnostic,
              const char* first = "") {
    const char* vfs = nullptr;
    path_ = path;
    const Status found = vfs_for(port_, &vfs);
    if (found != Status::kOk) {
      diagnostic.format("%s: SQLite has no VFS for it", path);
      return found;
    }
    has_vfs_ = true;
    PAWL_TRY(connection_.open(name, flags | SQLITE_OPEN_NOMUTEX, vfs, diagnostic));
    if (port_.storage->native_vfs() != nullptr)
      static_cast<void>(sqlite3_busy_timeout(handle(), kBusyMs));
    PAWL_TRY(execute(first, diagnostic));
    // Each page is read once: a large cache would hold the heap for nothing.
    return execute("PRAGMA cache_size=32;PRAGMA mmap_size=0;PRAGMA temp_store=MEMORY", diagnostic);
  }
  static constexpr int kBusyMs = 5'000;  // longest wait for a lock

  port::Port port_;
  Connection& connection_;
  const char* path_ = "";
  bool has_vfs_ = false;
};

}  // namespace pawl::sqlite

#endif  // PAWL_STORE_SQLITE_ONE_FILE_HPP

// DatabaseFile: finds, creates, opens and leaves the database.
//
// Purpose: a new file appears whole or not at all; an existing file is examined before anything is
// written; the log is turned on, written back and cut here. Ownership: the connection is its
// store's. Thread rule: one thread.
#ifndef PAWL_STORE_SQLITE_DATABASE_FILE_HPP
#define PAWL_STORE_SQLITE_DATABASE_FILE_HPP

#include <cstdint>

#include "core/text.hpp"
#include "pawl/port.hpp"
#include "store/sql/database.hpp"
#include "store/sqlite/schema_check.hpp"
#include "store/sqlite/sqlite_connection.hpp"

namespace pawl::sqlite {
class ReserveFile;
}  // namespace pawl::sqlite

namespace pawl::store {

class DatabaseFile final : public sql::Database {
 public:
  explicit DatabaseFile(sqlite::Connection& sqlite) : sqlite_(sqlite), schema_(sqlite) {}

  Status prepare(const StoreOptions& options, const port::Port& port,
                 Diagnostic& diagnostic) override;
  Status connect(Diagnostic& diagnostic) override;
  Status set_up(Diagnostic& diagnostic) override;
  void disconnect() override { sqlite_.close(); }
  void leave() override;
  Status check_schema_again(Diagnostic& diagnostic) override {
    return schema_.check_schema_again(path_, diagnostic);
  }
  [[nodiscard]] bool has_our_schema() const override { return schema_.is_ours(); }
  [[nodiscard]] bool has_fair_lock() const override { return false; }
  [[nodiscard]] IoUse io_use() const override;
  Status empty_log() override;
  Status write_back_log() override;
  std::int64_t log_bytes() override;
  void wait_for_locks(std::int64_t ms) override;
  void pause(int ms) override;
  Status find_reserve(bool* there) override;
  Status make_reserve_file(std::int64_t bytes) override;
  Status remove_reserve_file() override;

 private:
  Status make_database(const char* vfs, Diagnostic& diagnostic);
  Status try_to_make(const char* vfs, Diagnostic& diagnostic);
  Status make_image(Diagnostic& diagnostic);
  Status make_file(const char* vfs, Diagnostic& diagnostic);
  Status look_at_file(bool* empty, Diagnostic& diagnostic);
  Status set_pragmas(Diagnostic& diagnostic);
  Status use_log(Diagnostic& diagnostic);
  Status try_log(Diagnostic& diagnostic);
  Status create_schema(Diagnostic& diagnostic);
  Status fill_schema(Diagnostic& diagnostic);
  void end_transaction();
  bool is_in_place(Diagnostic& diagnostic);
  Status read_first(const char* sql, Text& out, Diagnostic& diagnostic);
  Status read_number(const char* sql, std::int64_t* out, Diagnostic& diagnostic);
  Status execute(const char* sql, Diagnostic& diagnostic);
  Status write_reserve(sqlite::ReserveFile& file, std::int64_t bytes);
  static int note_log(void* self, sqlite3* handle, const char* schema, int frames);

  sqlite::Connection& sqlite_;
  SchemaCheck schema_;
  int log_frames_ = 0;  // after the last commit; with checkpoint_after_commit
  bool has_vfs_ = false;
  IoUse io_at_end_;  // the counts at the last close
};

}  // namespace pawl::store

#endif  // PAWL_STORE_SQLITE_DATABASE_FILE_HPP

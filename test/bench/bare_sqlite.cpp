#include <sqlite3.h>

#include "bare.hpp"
#include "pawl/options.hpp"
#include "store/sql/schema.hpp"

namespace bench {
namespace {

class BareSqlite final : public Bare {
 public:
  explicit BareSqlite(const Setup& setup) {
    const pawl::Options defaults;
    const std::string pragmas =
        std::string("PRAGMA temp_store=MEMORY;PRAGMA foreign_keys=OFF;PRAGMA trusted_schema=OFF;") +
        "PRAGMA mmap_size=0;PRAGMA cell_size_check=ON;PRAGMA page_size=" +
        std::to_string(pawl::store::kPageBytes) + ";PRAGMA journal_mode=WAL;PRAGMA synchronous=" +
        (setup.synchronous_full ? "FULL" : "NORMAL") +
        ";PRAGMA cache_size=" + std::to_string(defaults.space.cache_pages) +
        ";PRAGMA wal_autocheckpoint=" + std::to_string(defaults.space.checkpoint_pages);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    check(::sqlite3_open_v2(setup.database.c_str(), &handle_, flags, nullptr) == SQLITE_OK);
    execute(pragmas.c_str());
    execute("BEGIN");
    execute(pawl::store::kSchema);
    execute(
        "INSERT INTO meta(id,database_id,next_epoch,next_token,boot_id,boot_seq,k,mark,off_seq,"
        "adopted) VALUES(1,'0123456789abcdef0123456789abcdef',1,1,zeroblob(16),1,0,0,0,0);COMMIT");
    for (int i = 0; well() && i < kSqlCount; ++i)
      check(::sqlite3_prepare_v3(handle_, kTexts[i], -1, SQLITE_PREPARE_PERSISTENT, &statements_[i],
                                 nullptr) == SQLITE_OK);
  }
  ~BareSqlite() override {
    for (sqlite3_stmt* const statement : statements_)
      ::sqlite3_finalize(statement);
    ::sqlite3_close(handle_);
  }

  [[nodiscard]] Value new_row(std::int64_t) const override { return {}; }
  [[nodiscard]] std::int64_t last_row() const override {
    return ::sqlite3_last_insert_rowid(handle_);
  }

 private:
  void run_with(Sql which, const Value* values, int count) override {
    sqlite3_stmt* const statement = statements_[which];
    for (int i = 0; i < count; ++i)
      bind(statement, i + 1, values[i]);
    check(::sqlite3_step(statement) == (which == kTrip ? SQLITE_ROW : SQLITE_DONE));
    ::sqlite3_reset(statement);
    // A statement that should change one row and did not is reported.
    if (changes_one_row(which) && ::sqlite3_changes(handle_) != 1)
      fail(std::string("changed no row: ") + kTexts[which]);
  }
  void check(bool good) {
    if (!good) fail(std::string("SQLite: ") + ::sqlite3_errmsg(handle_));
  }
  void execute(const char* sql) {
    if (well()) check(::sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  static void bind(sqlite3_stmt* statement, int at, const Value& value) {
    switch (value.kind) {
      case Value::kIsNumber: ::sqlite3_bind_int64(statement, at, value.number); break;
      case Value::kIsText:
        ::sqlite3_bind_text(statement, at, value.text.data(), static_cast<int>(value.text.size()),
                            SQLITE_STATIC);
        break;
      default: ::sqlite3_bind_null(statement, at);
    }
  }

  sqlite3* handle_ = nullptr;
  sqlite3_stmt* statements_[kSqlCount] = {};
};

}  // namespace

std::unique_ptr<Bare> open_sqlite(const Setup& setup) {
  return std::make_unique<BareSqlite>(setup);
}

}  // namespace bench

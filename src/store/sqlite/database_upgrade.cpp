#include "store/database_upgrade.hpp"

#include <sqlite3.h>

#include <optional>

#include "codec/event.hpp"
#include "core/text.hpp"
#include "store/column_fits.hpp"
#include "store/sqlite/one_file.hpp"
#include "store/sqlite/schema_check.hpp"

namespace pawl {
namespace {

using sqlite::OneFile;
using Name = FixedText<64>;

constexpr std::int64_t kRowsAReport = 1024;
constexpr std::int64_t kSchemaBytes = 65'536;  // a database without rows has less

// ---- columns that an earlier form lacks ----

// Without an expression here, a column that the old table lacks gets its default.
struct Computed {
  std::string_view table;
  std::string_view column;
  std::string_view from;  // an expression over a row of the old table, called `o`
};
#define PAWL_OLD_ROW(key, event)                            \
  "(SELECT h.rowid FROM history AS h WHERE h.instance=" key \
  " AND h.execution=o.execution AND h.id=" event ")"
// Earlier forms have events in a table whose rowids rise in the order of arrival: an insert takes
// one above all others, and VACUUM and .dump keep the order. So an event keeps its number, its
// execution's events keep rising, and each link is one look into the old table's index. Rejected:
// numbering along that index, which needs a place to note each execution's first row.
//
// A link to an event that is missing stays null. Then the row before does not hold that event,
// which is what a broken link looks like, and a reading names the event.
constexpr Computed kComputed[] = {
    {"history", "row_number", "o.rowid"},
    {"history", "prev", "nullif(" PAWL_OLD_ROW("o.instance", "o.id-1") ",o.rowid-1)"},
    {"instances", "last_row", PAWL_OLD_ROW("o.key", "o.last_event")},
    {"executions", "last_row", PAWL_OLD_ROW("o.instance", "o.last_event")},
    // No event has row 0.
    {"worker_queue", "event_row", "coalesce(" PAWL_OLD_ROW("o.instance", "o.event") ",0)"},
};

std::string_view expression_of(std::string_view table, std::string_view column) {
  for (const Computed& computed : kComputed)
    if (computed.table == table && computed.column == column) return computed.from;
  return {};
}

// ---- rows ----

std::string_view bytes_of(sqlite3_stmt* row, int column) {
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
  return {bytes == nullptr ? "" : bytes,
          static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

// Whatever is stored, as it is. The bytes of the old row stay valid until its statement steps.
int bind_same(sqlite3_stmt* to, sqlite3_stmt* from, int column) {
  switch (sqlite3_column_type(from, column)) {
    case SQLITE_INTEGER:
      return sqlite3_bind_int64(to, column + 1, sqlite3_column_int64(from, column));
    case SQLITE_FLOAT:
      return sqlite3_bind_double(to, column + 1, sqlite3_column_double(from, column));
    case SQLITE_TEXT: {
      const std::string_view text = bytes_of(from, column);
      return sqlite3_bind_text(to, column + 1, text.data(), static_cast<int>(text.size()),
                               SQLITE_STATIC);
    }
    case SQLITE_BLOB: {
      const std::string_view bytes = bytes_of(from, column);
      return sqlite3_bind_blob(to, column + 1, bytes.data(), static_cast<int>(bytes.size()),
                               SQLITE_STATIC);
    }
    default: return sqlite3_bind_null(to, column + 1);
  }
}

// Gives the checksum of an event whose row has got a link. One that was wrong stays wrong: only a
// row that proves whole gets a new one.
class Checksums {
 public:
  explicit Checksums(sqlite3_stmt* row) : row_(row) {
    for (int i = 0; i < sqlite3_column_count(row); ++i) {
      for (int known = 0; known < kKnown; ++known)
        if (std::string_view(sqlite3_column_name(row, i)) == kNames[known]) at_[known] = i;
    }
  }
  // Binds it in place of the old one, if the row has a link.
  int bind(sqlite3_stmt* to) {
    if (is_null(kPrev)) return SQLITE_OK;
    Event event;
    event.time_ms = number(kTime);
    event.payload = bytes_of(row_, at_[kPayload]);
    const bool whole =
        store::fits(number(kId), &event.id) && store::fits(number(kKind), &event.kind) &&
        store::fits(number(kBranch), &event.branch) &&
        store::fits(number(kOrdinal), &event.ordinal) && store::fits(number(kRef), &event.ref);
    const std::int64_t linked = crc_of(event, number(kPrev));
    if (whole && number(kCrc) == crc_of(event, std::nullopt))
      return sqlite3_bind_int64(to, at_[kCrc] + 1, linked);
    // A wrong checksum is the right one of the row with its link by one chance in 2^32.
    return number(kCrc) == linked ? sqlite3_bind_int64(to, at_[kCrc] + 1, linked ^ 1) : SQLITE_OK;
  }

 private:
  enum {
    kInstance,
    kExecution,
    kId,
    kPrev,
    kKind,
    kBranch,
    kOrdinal,
    kRef,
    kTime,
    kMeta,
    kPayload,
    kCrc,
    kKnown
  };
  static constexpr std::string_view kNames[kKnown] = {"instance", "execution", "id",      "prev",
                                                      "kind",     "branch",    "ordinal", "ref",
                                                      "time",     "meta",      "payload", "crc"};

  // A reading counts what is no number as 0, too.
  std::int64_t number(int column) {
    return sqlite3_column_type(row_, at_[column]) == SQLITE_INTEGER
               ? sqlite3_column_int64(row_, at_[column])
               : 0;
  }
  bool is_null(int column) { return sqlite3_column_type(row_, at_[column]) == SQLITE_NULL; }
  std::int64_t crc_of(const Event& event, std::optional<HistoryRow> prev) {
    return event_crc(number(kInstance), number(kExecution), prev, event,
                     bytes_of(row_, at_[kMeta]));
  }

  sqlite3_stmt* row_;
  int at_[kKnown] = {};
};

// A statement of this source, finalized with the scope.
class Prepared {
 public:
  Prepared(OneFile& file, const char* sql) : file_(file) {
    result_ = sqlite3_prepare_v2(file.handle(), sql, -1, &statement_, nullptr);
  }
  ~Prepared() { static_cast<void>(sqlite3_finalize(statement_)); }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  [[nodiscard]] sqlite3_stmt* get() { return statement_; }
  [[nodiscard]] bool row() {
    if (result_ == SQLITE_OK || result_ == SQLITE_ROW) result_ = sqlite3_step(statement_);
    return result_ == SQLITE_ROW;
  }
  // Runs a statement without rows, and makes it ready for the next run.
  Status run(Diagnostic& diagnostic) {
    if (result_ == SQLITE_OK) result_ = sqlite3_step(statement_);
    const Status ran = status(diagnostic);
    if (ran == Status::kOk) result_ = sqlite3_reset(statement_);
    return ran;
  }
  // A row that breaks a rule of its table is damage.
  Status status(Diagnostic& diagnostic) {
    if (result_ == SQLITE_OK || result_ == SQLITE_ROW || result_ == SQLITE_DONE) return Status::kOk;
    file_.explain(result_, diagnostic);
    const bool is_broken = (result_ & 0xff) == SQLITE_CONSTRAINT;
    return is_broken ? Status::kCorrupt : sqlite::status_of(result_);
  }
  void note(int result) {
    if (result_ == SQLITE_OK) result_ = result;
  }

 private:
  OneFile& file_;
  sqlite3_stmt* statement_ = nullptr;
  int result_ = SQLITE_OK;
};

// The columns of a table.
class Names {
 public:
  [[nodiscard]] bool empty() const { return text_.size() == 0; }
  Status add(std::string_view name) {
    PAWL_TRY(text_.append(name));
    return text_.append(',');
  }
  // Gives the names one after the other; `at` begins with 0.
  bool next(std::size_t* at, std::string_view* name) const {
    const std::string_view rest = text_.view().substr(*at);
    if (rest.empty()) return false;
    *name = rest.substr(0, rest.find(','));
    *at += name->size() + 1;
    return true;
  }
  [[nodiscard]] bool has(std::string_view wanted) const {
    std::string_view name;
    for (std::size_t at = 0; next(&at, &name);)
      if (name == wanted) return true;
    return false;
  }

 private:
  FixedText<2048> text_;
};

// The two statements that copy a table.
class CopyTexts {
 public:
  Status begin(std::string_view table) {
    PAWL_TRY(read_.append("SELECT "));
    PAWL_TRY(write_.append("INSERT INTO "));
    PAWL_TRY(write_.append(table));
    return write_.append('(');
  }
  Status add(std::string_view from, std::string_view column) {
    if (marks_.size() != 0) {
      PAWL_TRY(read_.append(','));
      PAWL_TRY(write_.append(','));
      PAWL_TRY(marks_.append(','));
    }
    PAWL_TRY(read_.append(from));
    PAWL_TRY(read_.append(" AS "));
    PAWL_TRY(read_.append(column));
    PAWL_TRY(write_.append(column));
    return marks_.append('?');
  }
  // The reading goes along the table itself: no sort, and no index that might lack a row.
  Status end(std::string_view table) {
    PAWL_TRY(read_.append(" FROM "));
    PAWL_TRY(read_.append(table));
    PAWL_TRY(read_.append(" AS o NOT INDEXED"));
    PAWL_TRY(write_.append(") VALUES("));
    PAWL_TRY(write_.append(marks_.view()));
    return write_.append(')');
  }
  [[nodiscard]] const char* read() const { return read_.c_str(); }
  [[nodiscard]] const char* write() const { return write_.c_str(); }

 private:
  FixedText<4096> read_;
  FixedText<2048> write_;
  FixedText<256> marks_;
};

// ---- the conversion ----

class Conversion {
 public:
  Conversion(OneFile& old, OneFile& made, UpgradeVisitor& visitor, Diagnostic& diagnostic)
      : old_(old), made_(made), visitor_(visitor), diagnostic_(diagnostic) {}

  // The new file has no journal: if this fails or dies, the file is of no use.
  Status run() {
    static_assert(store::kPageBytes == 512, "as in the pragma");
    PAWL_TRY(
        made_.execute("PRAGMA page_size=512;PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
                      "PRAGMA locking_mode=EXCLUSIVE;PRAGMA cache_size=384;BEGIN",
                      diagnostic_));
    store::SchemaTexts schema;
    while (schema.next())
      PAWL_TRY(made_.execute(schema.text().data(), diagnostic_));
    PAWL_TRY(check_tables());
    PAWL_TRY(copy_tables());
    PAWL_TRY(copy_sequences());
    static_assert(store::kSchemaVersion == 2 && store::kApplicationId == 0x5061776c);
    PAWL_TRY(made_.execute("PRAGMA application_id=0x5061776c;PRAGMA user_version=2;COMMIT",
                           diagnostic_));
    return declare_log();
  }

 private:
  // The columns of a table; empty: there is no such table. A compact SQLite has no table-valued
  // functions, so the name is a part of the text; one that is cut is none of Pawl's.
  Status columns_of(OneFile& file, std::string_view table, Names* out) {
    constexpr std::size_t kNameMax = 64;
    constexpr int kName = 1;  // column of the answer
    char sql[2 * kNameMax + 64];
    const int size = static_cast<int>(table.size() < kNameMax ? table.size() : kNameMax);
    sqlite3_snprintf(sizeof sql, sql, "PRAGMA table_info(%.*Q)", size, table.data());
    Prepared row(file, sql);
    while (row.row())
      PAWL_TRY(out->add(bytes_of(row.get(), kName)));
    return row.status(diagnostic_);
  }

  // A table, column, view or trigger that is not Pawl's would be lost. An index holds nothing that
  // its table has not, and is left out.
  Status check_tables() {
    Prepared row(old_,
                 "SELECT name,type FROM sqlite_schema WHERE type<>'index' AND name NOT IN "
                 "('sqlite_sequence','sqlite_stat1','sqlite_stat4')");
    while (row.row()) {
      const std::string_view name = bytes_of(row.get(), 0);
      Names ours;
      Names theirs;
      if (bytes_of(row.get(), 1) == "table") PAWL_TRY(columns_of(made_, name, &ours));
      if (ours.empty()) return refuse("", name);
      PAWL_TRY(columns_of(old_, name, &theirs));
      std::string_view column;
      for (std::size_t at = 0; theirs.next(&at, &column);)
        if (!ours.has(column)) return refuse(column, name);
    }
    return row.status(diagnostic_);
  }
  Status refuse(std::string_view column, std::string_view table) {
    constexpr std::size_t kShown = 64;
    diagnostic_.format("%s: %s%.*s%s\"%.*s\" is not Pawl's; remove it first", old_.path(),
                       column.empty() ? "" : "column ", PAWL_TEXT(column.substr(0, kShown)),
                       column.empty() ? "" : " of ", PAWL_TEXT(table.substr(0, kShown)));
    return Status::kCorrupt;
  }
  Status copy_tables() {
    Prepared row(made_,
                 "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite%'");
    while (row.row()) {
      Name table;
      PAWL_TRY(table.assign(bytes_of(row.get(), 0)));
      PAWL_TRY(copy_table(table.view()));
    }
    return row.status(diagnostic_);
  }

  Status copy_table(std::string_view table) {
    Names ours;
    Names theirs;
    PAWL_TRY(columns_of(made_, table, &ours));
    PAWL_TRY(columns_of(old_, table, &theirs));
    if (theirs.empty()) return Status::kOk;  // the earlier form has no such table
    CopyTexts texts;
    PAWL_TRY(texts.begin(table));
    std::string_view column;
    for (std::size_t at = 0; ours.next(&at, &column);) {
      const bool is_there = theirs.has(column);
      const std::string_view from = is_there ? column : expression_of(table, column);
      if (!from.empty()) PAWL_TRY(texts.add(from, column));
    }
    PAWL_TRY(texts.end(table));
    const bool gets_links = table == "history" && !theirs.has("prev");
    return copy_rows(texts.read(), texts.write(), gets_links);
  }

  Status copy_rows(const char* read, const char* write, bool gets_links) {
    Prepared from(old_, read);
    Prepared to(made_, write);
    PAWL_TRY(from.status(diagnostic_));
    PAWL_TRY(to.status(diagnostic_));
    Checksums checksums(from.get());
    while (from.row()) {
      for (int i = 0; i < sqlite3_column_count(from.get()); ++i)
        to.note(bind_same(to.get(), from.get(), i));
      if (gets_links) to.note(checksums.bind(to.get()));
      PAWL_TRY(to.run(diagnostic_));
      if (++rows_ % kRowsAReport == 0 && !visitor_.on_rows(rows_)) return Status::kStopped;
    }
    return from.status(diagnostic_);
  }

  // A number that was given out once is never given out again, even if its row is gone.
  Status copy_sequences() {
    Prepared row(old_,
                 "SELECT name,seq FROM sqlite_sequence WHERE name IN "
                 "('instances','sessions','workers') AND typeof(seq)='integer'");
    Prepared insert(made_,
                    "INSERT INTO sqlite_sequence(name,seq) SELECT ?1,0 WHERE NOT EXISTS"
                    "(SELECT 1 FROM sqlite_sequence WHERE name=?1)");
    Prepared raise(made_, "UPDATE sqlite_sequence SET seq=max(seq,?2) WHERE name=?1");
    while (row.row()) {
      insert.note(bind_same(insert.get(), row.get(), 0));
      PAWL_TRY(insert.run(diagnostic_));
      raise.note(bind_same(raise.get(), row.get(), 0));
      raise.note(bind_same(raise.get(), row.get(), 1));
      PAWL_TRY(raise.run(diagnostic_));
    }
    return row.status(diagnostic_);
  }

  // Says in the head of the file that its journal is a log, as the head of a database that Pawl
  // makes says. SQLite itself would begin a log beside the file for that.
  Status declare_log() {
    constexpr unsigned char kWithLog[] = {2, 2};  // sqlite.org/fileformat2.html
    constexpr sqlite3_int64 kVersions = 18;
    sqlite3_file* file = nullptr;
    int result = sqlite3_file_control(made_.handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (result == SQLITE_OK)
      result = file->pMethods->xWrite(file, kWithLog, sizeof kWithLog, kVersions);
    if (result != SQLITE_OK) made_.explain(result, diagnostic_);
    return sqlite::status_of(result);
  }

  OneFile& old_;
  OneFile& made_;
  UpgradeVisitor& visitor_;
  Diagnostic& diagnostic_;
  std::int64_t rows_ = 0;
};

// ---- around it ----

Status check_schema(OneFile& file, Diagnostic& diagnostic) {
  FixedText<sql::kPathBytesMax> path;
  PAWL_TRY(path.assign(file.path()));
  return store::SchemaCheck(file.connection()).check_schema(path, diagnostic);
}

// Says which form the database has. None: today's.
Status find_form(OneFile& file, std::optional<std::int64_t>* format, Diagnostic& diagnostic) {
  format->reset();
  const Status status = file.check_owner(diagnostic);
  std::int64_t version = 0;
  std::int64_t lacking = 0;
  if (status == Status::kOlderDatabase) {
    PAWL_TRY(file.read_number("PRAGMA user_version", &version, diagnostic));
    *format = version;
    return version > 0 ? Status::kOk : Status::kCorrupt;  // no format came before the first
  }
  PAWL_TRY(status);
  const Status checked = check_schema(file, diagnostic);
  if (checked != Status::kCorrupt) return checked;
  Diagnostic ignored;
  PAWL_TRY(file.read_number(store::kIsEarlyForm, &lacking, ignored));
  if (lacking != 0) *format = store::kSchemaVersion;
  return lacking != 0 ? Status::kOk : checked;
}

// Writes the log back into the database, and keeps every other process out.
Status take_whole(OneFile& old, Diagnostic& diagnostic) {
  // The answer is a row: 0 (or 1: blocked), frames of the log, frames written back.
  std::int64_t is_blocked = 1;
  PAWL_TRY(old.read_number("PRAGMA wal_checkpoint(TRUNCATE)", &is_blocked, diagnostic));
  int has_moved = 0;
  static_cast<void>(sqlite3_file_control(old.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved));
  if (is_blocked == 0 && has_moved == 0) return old.execute("BEGIN EXCLUSIVE", diagnostic);
  diagnostic.format("%s: %s", old.path(),
                    has_moved != 0 ? "was replaced by another file" : "another process uses it");
  return Status::kBusy;
}

// How large the new file may become: free pages are not copied.
Status bytes_needed(OneFile& old, std::int64_t* out, Diagnostic& diagnostic) {
  std::int64_t pages = 0;
  std::int64_t unused = 0;
  std::int64_t page_bytes = 0;
  PAWL_TRY(old.read_number("PRAGMA page_count", &pages, diagnostic));
  PAWL_TRY(old.read_number("PRAGMA freelist_count", &unused, diagnostic));
  PAWL_TRY(old.read_number("PRAGMA page_size", &page_bytes, diagnostic));
  *out = (pages - unused) * page_bytes + kSchemaBytes;
  return Status::kOk;
}

Status check_made(void* place, const char* made, const port::Port& port, Diagnostic& diagnostic) {
  OneFile file(place, port);
  PAWL_TRY(file.open_alone(made, diagnostic));
  PAWL_TRY(check_schema(file, diagnostic));
  bool is_whole = true;
  const Status status = file.each_row(
      "PRAGMA integrity_check",
      [&](sqlite3_stmt* row) {
        is_whole = bytes_of(row, 0) == "ok";
        if (!is_whole)
          diagnostic.format("the new file is damaged: %.*s", PAWL_TEXT(bytes_of(row, 0)));
        return is_whole;
      },
      diagnostic);
  return status == Status::kOk && !is_whole ? Status::kCorrupt : status;
}

}  // namespace

Status DatabaseUpgrade::upgrade(void* place, const char* path, const char* made,
                                const port::Port& port, UpgradeVisitor& visitor,
                                Diagnostic& diagnostic) {
  void* const second = static_cast<unsigned char*>(place) + sizeof(sqlite::Connection);
  std::optional<std::int64_t> format;
  {
    OneFile look(place, port);
    const Status opened = look.open_shared(path, diagnostic);
    if (opened != Status::kOlderDatabase) PAWL_TRY(opened);
    PAWL_TRY(find_form(look, &format, diagnostic));
  }
  if (!format.has_value()) return Status::kOk;
  PAWL_TRY(visitor.on_older(*format, diagnostic));
  OneFile old(place, port);
  PAWL_TRY(old.open_locked(path, diagnostic));
  PAWL_TRY(find_form(old, &format, diagnostic));
  if (!format.has_value()) return Status::kOk;  // another process was first
  PAWL_TRY(take_whole(old, diagnostic));
  std::int64_t bytes = 0;
  PAWL_TRY(bytes_needed(old, &bytes, diagnostic));
  PAWL_TRY(visitor.on_locked(bytes, diagnostic));
  {
    OneFile file(second, port);
    PAWL_TRY(file.open_empty(made, diagnostic));
    PAWL_TRY(Conversion(old, file, visitor, diagnostic).run());
  }
  PAWL_TRY(check_made(second, made, port, diagnostic));
  return visitor.on_made(diagnostic);
}

}  // namespace pawl

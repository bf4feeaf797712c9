#include "store/database_copy.hpp"

#include <sqlite3.h>

#include <cstring>

#include "core/text.hpp"
#include "pawl/printable.hpp"
#include "pawl/visit.hpp"
#include "store/row_checks.hpp"
#include "store/sqlite/one_file.hpp"
#include "store/sqlite/sqlite_connection.hpp"
#include "store/store_factory.hpp"

namespace pawl {
namespace {

using sqlite::OneFile;

constexpr int kStepPages = 256;  // pages copied between two reports
constexpr std::int64_t kFindingsMax = 100;

std::string_view text_of(sqlite3_stmt* row) {
  const auto* const text = static_cast<const char*>(sqlite3_column_blob(row, 0));
  return {text == nullptr ? "" : text, static_cast<std::size_t>(sqlite3_column_bytes(row, 0))};
}

// Reports each row's text as a finding, if it is not "ok"; rows that cannot be read are one, too.
Status report_rows(OneFile& file, const char* sql, FindingVisitor& visitor, DatabaseReport* report,
                   Diagnostic& diagnostic) {
  const Status status = file.each_row(
      sql,
      [&](sqlite3_stmt* row) {
        const std::string_view text = text_of(row);
        if (text == "ok") return true;
        visitor.on_finding(text);
        return ++report->findings < kFindingsMax;
      },
      diagnostic);
  if (status != Status::kCorrupt) return status;
  visitor.on_finding(diagnostic.text());
  ++report->findings;
  return Status::kOk;
}

Status read_facts(OneFile& file, DatabaseReport* report, Diagnostic& diagnostic) {
  PAWL_TRY(file.read_number("PRAGMA user_version", &report->format, diagnostic));
  PAWL_TRY(file.read_number("PRAGMA page_count", &report->pages, diagnostic));
  PAWL_TRY(file.read_number("PRAGMA freelist_count", &report->free_pages, diagnostic));
  return file.read_number("PRAGMA page_size", &report->page_bytes, diagnostic);
}

Status read_rows(OneFile& file, DatabaseReport* report, Diagnostic& diagnostic) {
  PAWL_TRY(file.each_row(
      "SELECT database_id FROM meta WHERE id=1",
      [report](sqlite3_stmt* row) {
        const std::string_view id = text_of(row).substr(0, sizeof report->id - 1);
        std::memcpy(report->id, id.data(), id.size());
        return false;
      },
      diagnostic));
  std::int64_t number = 0;
  PAWL_TRY(file.read_number(PAWL_CLOCK_WAS_TRUSTED, &number, diagnostic));
  report->clock_was_trusted = number != 0;
  PAWL_TRY(file.read_number(PAWL_ORPHANS, &report->orphans, diagnostic));
  return file.read_number(PAWL_UNFINISHED, &report->unfinished, diagnostic);
}

Status check_file(OneFile& file, bool quick, FindingVisitor& visitor, DatabaseReport* report,
                  Diagnostic& diagnostic) {
  PAWL_TRY(read_facts(file, report, diagnostic));
  PAWL_TRY(report_rows(file, quick ? "PRAGMA quick_check" : "PRAGMA integrity_check", visitor,
                       report, diagnostic));
  const Status read = read_rows(file, report, diagnostic);
  if (read != Status::kCorrupt) return read;
  visitor.on_finding(diagnostic.text());
  ++report->findings;
  return Status::kOk;
}

// Copies in the view that `from` has read since it began: what others write meanwhile changes no
// page of the view, and no step starts anew.
Status copy_pages(OneFile& from, OneFile& to, CopyVisitor& visitor, Diagnostic& diagnostic) {
  sqlite3_backup* const backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (backup == nullptr) {
    const int why = sqlite3_extended_errcode(to.handle());
    to.explain(why, diagnostic);
    return sqlite::status_of(why);
  }
  int result = SQLITE_OK;
  bool goes_on = true;
  while (result == SQLITE_OK && goes_on) {
    result = sqlite3_backup_step(backup, kStepPages);
    const int pages = sqlite3_backup_pagecount(backup);
    goes_on = visitor.on_copied(pages - sqlite3_backup_remaining(backup), pages);
  }
  const int finished = sqlite3_backup_finish(backup);
  if (result == SQLITE_OK) return Status::kStopped;
  if (result == SQLITE_DONE) result = finished;
  if (result == SQLITE_OK) return Status::kOk;
  to.explain(result, diagnostic);
  return sqlite::status_of(result);
}

// The random numbers come from the port: SQLite's own would do here, but they need not be as good.
Status renew_id(OneFile& file, const port::Port& port, Diagnostic& diagnostic) {
  std::uint64_t random[2] = {};
  port.clock->random(random, sizeof(random));
  FixedText<32> id;
  PAWL_TRY(id.append_hex(random[0], 16));
  PAWL_TRY(id.append_hex(random[1], 16));
  PAWL_TRY(file.change_text("UPDATE meta SET database_id=?1 WHERE id=1", id.view(), diagnostic));
  return file.execute("UPDATE sessions SET folder_root=NULL WHERE folder_root IS NOT NULL",
                      diagnostic);
}

// The skipped distance is random, since a backup may be restored twice: the second restore does not
// know what the first one gave out. A table that never had a row inserted has no row in
// sqlite_sequence yet.
Status skip(OneFile& file, const port::Port& port, Diagnostic& diagnostic) {
  constexpr std::int64_t kBlock = std::int64_t{1} << 30;
  constexpr std::uint32_t kBlocks = std::uint32_t{1} << 18;
  std::uint32_t random = 0;
  port.clock->random(&random, sizeof(random));
  const std::int64_t skipped = kBlock * (1 + static_cast<std::int64_t>(random % kBlocks));
  PAWL_TRY(
      file.execute("INSERT INTO sqlite_sequence(name,seq) SELECT t.name,0 FROM"
                   " (SELECT 'instances' AS name UNION ALL SELECT 'sessions'"
                   " UNION ALL SELECT 'workers') AS t WHERE NOT EXISTS"
                   "(SELECT 1 FROM sqlite_sequence AS s WHERE s.name=t.name)",
                   diagnostic));
  PAWL_TRY(file.change_number("UPDATE sqlite_sequence SET seq=seq+?1", skipped, diagnostic));
  return file.change_number(
      "UPDATE meta SET next_epoch=next_epoch+?1,next_token=next_token+?1 WHERE id=1", skipped,
      diagnostic);
}

// Afterwards the whole database is in the one file, and no log is left.
Status change(void* place, const char* path, const port::Port& port,
              Status (*what)(OneFile&, const port::Port&, Diagnostic&), Diagnostic& diagnostic) {
  OneFile file(place, port);
  PAWL_TRY(file.open_to_change(path, diagnostic));
  PAWL_TRY(file.execute("BEGIN IMMEDIATE", diagnostic));
  PAWL_TRY(what(file, port, diagnostic));
  PAWL_TRY(file.execute("COMMIT", diagnostic));
  // The answer is a row: 0 (or 1: blocked), frames of the log, frames written back.
  std::int64_t is_blocked = 1;
  PAWL_TRY(file.read_number("PRAGMA wal_checkpoint(TRUNCATE)", &is_blocked, diagnostic));
  if (is_blocked == 0) return Status::kOk;
  diagnostic.format("%s: another process uses it", path);
  return Status::kBusy;
}

// An empty copy at such a path would pass for a free place. Aliases of these files have two names
// or are links, which the port refuses.
bool lies_beside(std::string_view to, std::string_view database) {
  if (to.substr(0, database.size()) != database) return false;
  const std::string_view ending = to.substr(database.size());
  for (const char* const one : port::kFilesBeside)
    if (ending == one) return true;
  return ending == port::kSocketBeside || ending == port::kWorkersBeside;
}

}  // namespace

static_assert(alignof(sqlite::Connection) <= StoreFactory::kAlign);

std::size_t DatabaseCopy::bytes() { return 2 * sizeof(sqlite::Connection); }

Status DatabaseCopy::copy(void* place, const char* from, const char* to, const port::Port& port,
                          CopyVisitor& visitor, Diagnostic& diagnostic) {
  void* const second = static_cast<unsigned char*>(place) + sizeof(sqlite::Connection);
  if (lies_beside(to, from)) {
    diagnostic.format("%s: would be taken for a file of the database %s", to, from);
    return Status::kInvalidArgument;
  }
  {
    OneFile source(place, port);
    OneFile target(second, port);
    PAWL_TRY(source.open_shared(from, diagnostic));
    PAWL_TRY(target.open_empty(to, diagnostic));
    PAWL_TRY(source.execute("BEGIN;SELECT 1 FROM meta", diagnostic));
    PAWL_TRY(copy_pages(source, target, visitor, diagnostic));
  }
  OneFile copied(second, port);
  PAWL_TRY(copied.open_alone(to, diagnostic));
  auto finding = visit([&diagnostic](std::string_view text) {
    diagnostic.format("the copy is damaged: %.*s", static_cast<int>(text.size()), text.data());
  });
  DatabaseReport report;
  PAWL_TRY(check_file(copied, false, finding, &report, diagnostic));
  return report.findings == 0 ? Status::kOk : Status::kCorrupt;
}

Status DatabaseCopy::check(void* place, const char* path, bool quick, const port::Port& port,
                           FindingVisitor& visitor, DatabaseReport* report,
                           Diagnostic& diagnostic) {
  OneFile file(place, port);
  const Status opened = file.open_shared(path, diagnostic);
  if (opened != Status::kCorrupt) PAWL_TRY(opened);
  if (opened == Status::kOk) {
    PAWL_TRY(check_file(file, quick, visitor, report, diagnostic));
    // A copy of a database with a broken link is as good as that database.
    if (report->findings != 0) return Status::kOk;
    return report_rows(file, PAWL_BROKEN_LINKS, visitor, report, diagnostic);
  }
  visitor.on_finding(diagnostic.text());
  ++report->findings;
  return Status::kOk;
}

Status DatabaseCopy::renew(void* place, const char* path, const port::Port& port,
                           Diagnostic& diagnostic) {
  return change(place, path, port, renew_id, diagnostic);
}

Status DatabaseCopy::skip_numbers(void* place, const char* path, const port::Port& port,
                                  Diagnostic& diagnostic) {
  return change(place, path, port, skip, diagnostic);
}

}  // namespace pawl

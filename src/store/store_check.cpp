#include "store/store_check.hpp"

#include <cstring>

#include "store/row_checks.hpp"

namespace pawl::store {
namespace {

constexpr std::int64_t kFindingsMax = 100;

constexpr auto kBrokenLinks = PAWL_QUERY(PAWL_BROKEN_LINKS " LIMIT ?1");
constexpr auto kOrphans = PAWL_QUERY(PAWL_ORPHANS);
constexpr auto kUnfinished = PAWL_QUERY(PAWL_UNFINISHED);
constexpr auto kClockWasTrusted = PAWL_QUERY(PAWL_CLOCK_WAS_TRUSTED);

Status read_number(sql::Statement row, std::int64_t* out) {
  if (row.row()) *out = row.integer(0);
  return row.status();
}

Status read(sql::Connection& connection, FindingVisitor& visitor, DatabaseReport* report) {
  {
    sql::Statement row = connection.use(kBrokenLinks);
    row.bind(kFindingsMax);
    for (; row.row(); ++report->findings)
      visitor.on_finding(row.bytes(0));
    PAWL_TRY(row.status());
  }
  std::int64_t was_trusted = 0;
  PAWL_TRY(read_number(connection.use(kClockWasTrusted), &was_trusted));
  report->clock_was_trusted = was_trusted != 0;
  PAWL_TRY(read_number(connection.use(kOrphans), &report->orphans));
  return read_number(connection.use(kUnfinished), &report->unfinished);
}

}  // namespace

Status StoreCheck::run(Store& store, FindingVisitor& visitor, DatabaseReport* report,
                       Diagnostic& diagnostic) {
  *report = DatabaseReport();
  const std::string_view id = store.database_id().substr(0, sizeof report->id - 1);
  std::memcpy(report->id, id.data(), id.size());
  Status status = store.batch().begin_read();
  if (status == Status::kOk) {
    status = read(store.connection(), visitor, report);
    store.batch().end_read();
  }
  if (status != Status::kOk) diagnostic = store.diagnostic();
  return status;
}

}  // namespace pawl::store

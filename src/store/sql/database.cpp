#include "store/sql/database.hpp"

#include "store/sql/connection.hpp"

namespace pawl::sql {
namespace {

constexpr std::size_t kDatabaseIdDigits = 32;

bool is_database_id(std::string_view id) {
  return id.size() == kDatabaseIdDigits &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

constexpr auto kInsertMeta = PAWL_QUERY(
    "INSERT INTO meta(id,database_id,next_epoch,next_token,boot_seq,k,mark,off_seq,"
    "adopted) VALUES(1,?,1,1,0,0,0,0,0)");

Status Database::insert_meta(Connection& connection, Diagnostic& diagnostic) {
  std::uint64_t random[2] = {};
  port_.clock->random(random, sizeof(random));
  FixedText<32> id;
  PAWL_TRY(id.append_hex(random[0], 16));
  PAWL_TRY(id.append_hex(random[1], 16));
  const Status status = connection.use(kInsertMeta).bind_text(id.view()).run();
  if (status != Status::kOk) diagnostic = connection.diagnostic();
  return status;
}

constexpr auto kReadDatabaseId = PAWL_QUERY("SELECT database_id FROM meta WHERE id=1");

Status Database::load_database_id(Connection& connection, Diagnostic& diagnostic) {
  Statement row = connection.use(kReadDatabaseId);
  if (!row.row()) {
    const Status status = row.status() == Status::kOk ? Status::kCorrupt : row.status();
    diagnostic.format("%s: table meta cannot be read", path_.c_str());
    return status;
  }
  // The id begins the names of folders, so only an id of this form is certain not to lead out of
  // their root.
  if (is_database_id(row.bytes(0))) return database_id_.assign(row.bytes(0));
  diagnostic.format("%s: meta.database_id is not %zu lower-case hex digits", path_.c_str(),
                    kDatabaseIdDigits);
  return Status::kCorrupt;
}

Status refuse_stage(std::int64_t form, const char* name, Diagnostic& diagnostic) {
  diagnostic.format(form == static_cast<std::int64_t>(MoveStage::kMoved)
                        ? "%s: was moved to another database, which has taken its place"
                        : "%s: a move into it has not ended; the same pawl move again ends it",
                    name);
  return Status::kCannotOpen;
}

}  // namespace pawl::sql

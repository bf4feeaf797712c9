#include "store/sqlite/schema_check.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "store/sql/schema.hpp"

namespace pawl::store {
namespace {

struct Object {
  std::string_view type;
  std::string_view name;
  std::string_view table;
  std::string_view sql;  // empty: an index that SQLite makes for a UNIQUE column
};
// Objects that SQLite adds by itself.
constexpr Object kImplied[] = {
    {"table", "sqlite_sequence", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)"},
    {"index", "sqlite_autoindex_instances_1", "instances", {}},
    {"index", "sqlite_autoindex_sessions_1", "sessions", {}},
};
constexpr std::size_t kImpliedCount = sizeof(kImplied) / sizeof(kImplied[0]);
constexpr std::size_t kObjectsMax = 64;
static_assert(kImpliedCount + schema_count() <= kObjectsMax);
constexpr int kShown = 64;  // bytes of a name in an error's text

std::string_view up_to(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

Object object_of(std::string_view sql) {
  constexpr std::string_view kTable = "CREATE TABLE ";
  constexpr std::string_view kIndex = "CREATE INDEX ";
  constexpr std::string_view kOn = " ON ";
  if (sql.substr(0, kTable.size()) == kTable) {
    const std::string_view name = up_to(sql.substr(kTable.size()), "(");
    return {"table", name, name, sql};
  }
  const std::string_view table = sql.substr(sql.find(kOn) + kOn.size());
  return {"index", up_to(sql.substr(kIndex.size()), " "), up_to(table, "("), sql};
}

// Our objects, one after the other. The texts of one are valid until the next.
class Objects {
 public:
  bool next() {
    ++index_;
    if (index_ <= kImpliedCount) {
      object_ = kImplied[index_ - 1];
      return true;
    }
    if (!texts_.next()) return false;
    object_ = object_of(texts_.text());
    return true;
  }
  [[nodiscard]] const Object& object() const { return object_; }
  [[nodiscard]] std::uint64_t bit() const { return std::uint64_t{1} << (index_ - 1); }

 private:
  SchemaTexts texts_;
  Object object_;
  std::size_t index_ = 0;
};

void report(Diagnostic& diagnostic, const Text& path, std::string_view type, std::string_view name,
            const char* what) {
  const auto shown = [](std::string_view text) {
    return static_cast<int>(text.size() < kShown ? text.size() : kShown);
  };
  diagnostic.format("%s: the schema is not the one that Pawl made: %.*s \"%.*s\" %s", path.c_str(),
                    shown(type), type.data(), shown(name), name.data(), what);
}

void report(Diagnostic& diagnostic, const Text& path, sql::Connection& connection, Status status) {
  const std::string_view text = connection.diagnostic().text();
  diagnostic.format("%s: the schema cannot be read: %s: %.*s", path.c_str(), status_name(status),
                    static_cast<int>(text.size()), text.data());
  connection.diagnostic().clear();
}

constexpr auto kReadSchema =
    PAWL_QUERY("SELECT type,name,tbl_name,sql FROM sqlite_schema", sql::kEnginesOwn);

// Null: the row is one of our objects, which was not `seen` before.
const char* compare(const sql::Statement& row, std::uint64_t* seen) {
  const std::string_view name = row.bytes(PAWL_COLUMN(kReadSchema, name));
  Objects ours;
  while (ours.next()) {
    const Object& object = ours.object();
    if (object.name != name) continue;
    const bool same = row.bytes(PAWL_COLUMN(kReadSchema, type)) == object.type &&
                      row.bytes(PAWL_COLUMN(kReadSchema, tbl_name)) == object.table &&
                      row.bytes(PAWL_COLUMN(kReadSchema, sql)) == object.sql &&
                      row.is_null(PAWL_COLUMN(kReadSchema, sql)) == object.sql.empty();
    if (!same || (*seen & ours.bit()) != 0) return "is another one";
    *seen |= ours.bit();
    return nullptr;
  }
  return "is not Pawl's";
}

}  // namespace

Status SchemaCheck::check_schema(const Text& path, Diagnostic& diagnostic) {
  std::uint64_t seen = 0;
  sql::Statement row = connection_.use(kReadSchema);
  while (row.row()) {
    const char* const wrong = compare(row, &seen);
    if (wrong == nullptr) continue;
    report(diagnostic, path, row.bytes(PAWL_COLUMN(kReadSchema, type)),
           row.bytes(PAWL_COLUMN(kReadSchema, name)), wrong);
    return Status::kCorrupt;
  }
  if (row.status() != Status::kOk) {
    report(diagnostic, path, connection_, row.status());
    return row.status();
  }
  Objects ours;
  while (ours.next()) {
    if ((seen & ours.bit()) != 0) continue;
    report(diagnostic, path, ours.object().type, ours.object().name, "is missing");
    return Status::kCorrupt;
  }
  return Status::kOk;
}

constexpr auto kSchemaVersionOf = PAWL_QUERY("PRAGMA schema_version", sql::kEnginesOwn);

Status SchemaCheck::check_schema_again(const Text& path, Diagnostic& diagnostic) {
  std::int64_t version = 0;
  {
    sql::Statement row = connection_.use(kSchemaVersionOf);
    if (!row.row()) {
      const Status status = row.status() == Status::kOk ? Status::kCorrupt : row.status();
      report(diagnostic, path, connection_, status);
      return status;
    }
    version = row.integer(0);
  }
  if (schema_is_ours_ && version == schema_version_) return Status::kOk;
  schema_is_ours_ = false;
  PAWL_TRY(check_schema(path, diagnostic));
  schema_is_ours_ = true;
  schema_version_ = version;
  return Status::kOk;
}

}  // namespace pawl::store

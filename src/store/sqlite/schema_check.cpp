#include "store/sqlite/schema_check.hpp"

#include <cstddef>
#include <string_view>

#include "core/check.hpp"
#include "store/sqlite/schema.hpp"

namespace pawl::store {
namespace {

struct Object {
  std::string_view type;
  std::string_view name;
  std::string_view table;
  std::string_view sql;  // empty: an index that SQLite makes for a UNIQUE column
  bool seen = false;
};
// Objects that SQLite adds by itself.
constexpr Object kImplied[] = {
    {"table", "sqlite_sequence", "sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)"},
    {"index", "sqlite_autoindex_history_1", "history", {}},
    {"index", "sqlite_autoindex_instances_1", "instances", {}},
    {"index", "sqlite_autoindex_sessions_1", "sessions", {}},
};
constexpr std::size_t kObjectsMax = 64;
constexpr int kShown = 64;  // bytes of a name in an error's text

std::string_view up_to(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

bool begins(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

class Schema {
 public:
  Schema() {
    for (const Object& one : kImplied)
      add(one);
    std::string_view rest = kSchema;
    for (std::size_t end = rest.find(';'); end != std::string_view::npos; end = rest.find(';')) {
      add_statement(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
  }
  Object* find(std::string_view name) {
    for (std::size_t i = 0; i < count_; ++i)
      if (objects_[i].name == name) return &objects_[i];
    return nullptr;
  }
  [[nodiscard]] const Object* first_unseen() const {
    for (std::size_t i = 0; i < count_; ++i)
      if (!objects_[i].seen) return &objects_[i];
    return nullptr;
  }

 private:
  void add_statement(std::string_view sql) {
    constexpr std::string_view kTable = "CREATE TABLE ";
    constexpr std::string_view kIndex = "CREATE INDEX ";
    constexpr std::string_view kOn = " ON ";
    sql.remove_prefix(sql.find_first_not_of('\n'));
    if (begins(sql, kTable)) {
      const std::string_view name = up_to(sql.substr(kTable.size()), "(");
      add({"table", name, name, sql});
    } else if (begins(sql, kIndex)) {
      const std::string_view table = sql.substr(sql.find(kOn) + kOn.size());
      add({"index", up_to(sql.substr(kIndex.size()), " "), up_to(table, "("), sql});
    }
  }
  void add(const Object& one) {
    PAWL_CHECK("store-41", count_ < kObjectsMax);
    objects_[count_++] = one;
  }

  Object objects_[kObjectsMax];
  std::size_t count_ = 0;
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

}  // namespace

constexpr auto kReadSchema =
    PAWL_QUERY("SELECT type,name,tbl_name,sql FROM sqlite_schema", sql::kEnginesOwn);

Status SchemaCheck::check_schema(const Text& path, Diagnostic& diagnostic) {
  Schema ours;
  sql::Statement row = connection_.use(kReadSchema);
  while (row.row()) {
    const std::string_view type = row.bytes(PAWL_COLUMN(kReadSchema, type));
    const std::string_view name = row.bytes(PAWL_COLUMN(kReadSchema, name));
    Object* const object = ours.find(name);
    const char* wrong = nullptr;
    if (object == nullptr) {
      wrong = "is not Pawl's";
    } else if (object->seen || type != object->type ||
               row.bytes(PAWL_COLUMN(kReadSchema, tbl_name)) != object->table ||
               row.bytes(PAWL_COLUMN(kReadSchema, sql)) != object->sql ||
               row.is_null(PAWL_COLUMN(kReadSchema, sql)) != object->sql.empty()) {
      wrong = "is another one";
    }
    if (wrong != nullptr) {
      report(diagnostic, path, type, name, wrong);
      return Status::kCorrupt;
    }
    object->seen = true;
  }
  if (row.status() != Status::kOk) {
    report(diagnostic, path, connection_, row.status());
    return row.status();
  }
  const Object* const missing = ours.first_unseen();
  if (missing == nullptr) return Status::kOk;
  report(diagnostic, path, missing->type, missing->name, "is missing");
  return Status::kCorrupt;
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

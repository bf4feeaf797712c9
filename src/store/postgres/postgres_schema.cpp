#include "store/postgres/postgres_schema.hpp"

#include <cinttypes>

#include "core/text.hpp"
#include "store/postgres/postgres_text.hpp"
#include "store/sql/database.hpp"
#include "store/sql/schema_texts.hpp"

namespace pawl::postgres {
namespace {

// SQLite's max() and min() of several values are NULL if one of them is. Its sum() of integers is
// an integer, and that of nothing is NULL. The planner writes such functions into the statement.
constexpr char kFunctions[] =
    "CREATE FUNCTION max(a bigint,b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS "
    "'SELECT CASE WHEN a>=b THEN a WHEN a<b THEN b END';"
    "CREATE FUNCTION min(a bigint,b bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS "
    "'SELECT CASE WHEN a<=b THEN a WHEN a>b THEN b END';"
    "CREATE FUNCTION min(a bigint,b bigint,c bigint,d bigint) RETURNS bigint LANGUAGE sql "
    "IMMUTABLE "
    "PARALLEL SAFE AS 'SELECT CASE WHEN a IS NOT NULL AND b IS NOT NULL AND c IS NOT NULL AND d IS "
    "NOT NULL THEN least(a,b,c,d) END';"
    "CREATE AGGREGATE sum(bigint)(sfunc=int8pl,stype=bigint)";

// `seq` rises with each batch that writes; its row is the lock of the store. `form` is
// kPostgresForm, and `digest` that of the objects as they were made. The other columns of meta are
// for the rules of a fleet, and `boot_seq` is the segment. `nodes` has a row for each connection
// that writes (store_transaction.hpp, store_time.hpp): its last batch, the mark then, the worker
// and its anchor.
constexpr char kColumns[] =
    "ALTER TABLE meta ADD COLUMN seq bigint NOT NULL DEFAULT 0,"
    "ADD COLUMN form bigint NOT NULL DEFAULT 1,ADD COLUMN digest text COLLATE \"C\","
    "ADD COLUMN mark_server_ms bigint NOT NULL DEFAULT 0,ADD COLUMN mark_wall_ms bigint,"
    "ADD COLUMN request bigint NOT NULL DEFAULT 0,ADD COLUMN timeline bigint NOT NULL DEFAULT 0,"
    "ADD COLUMN moves_held_until bigint,ADD COLUMN lease_ms bigint NOT NULL DEFAULT 0;"
    "CREATE TABLE nodes(id bigint PRIMARY KEY,number bigint NOT NULL,committed bigint NOT NULL,"
    "at bigint NOT NULL,inc bigint,renew_ms bigint NOT NULL DEFAULT 0,boot bigint,k bigint,"
    "compared bigint,request bigint NOT NULL DEFAULT 0,segment bigint NOT NULL DEFAULT 0)";
static_assert(kPostgresForm == 1, "as in the text");

// SQLite ends each index with the key of the row, and sorts NULL before all values. An index that
// gives the order of a statement must do both here, or the planner takes another one. While the
// tables are empty, or new to the planner, every way costs the same to it. A partial index is not
// for statements that do not imply its condition, so one on its first column keeps it from those
// that would read it from end to end.
constexpr char kIndices[] =
    "DROP INDEX oq_instance;"
    "CREATE INDEX oq_instance ON orchestrator_queue(instance,waiting,due NULLS FIRST,id) WHERE "
    "instance IS NOT NULL;"
    "DROP INDEX oq_due;"
    "CREATE INDEX oq_due ON orchestrator_queue(base,due) WHERE due IS NOT NULL AND base IS NOT "
    "NULL;"
    "DROP INDEX i_tree;"
    "CREATE INDEX i_tree ON instances(root,key) WHERE root IS NOT NULL";

// A statement names the index that it takes on SQLite. Without the other ways to find rows the
// planner takes it here, too, whatever it believes of the tables. What is switched off counts as
// very dear, so the server would compile each such plan (jit), which takes longer than it runs. The
// server asks after 10 s of silence whether the machine is still there, since its lock says so.
constexpr char kSettings[] =
    "SET enable_seqscan=off;SET enable_bitmapscan=off;SET enable_hashjoin=off;"
    "SET enable_mergejoin=off;SET jit=off;SET plan_cache_mode=force_generic_plan;"
    "SET tcp_keepalives_idle=10;SET tcp_keepalives_interval=5;SET tcp_keepalives_count=3;"
    "SET tcp_user_timeout=25000";

}  // namespace

Status add_schema(Connection& connection, std::string_view schema) {
  FixedText<160> text;
  PAWL_TRY(text.assign("CREATE SCHEMA "));
  PAWL_TRY(text.append(schema));
  return connection.execute(text.c_str());
}

Status enter_schema(Connection& connection, std::string_view schema) {
  FixedText<160> path;
  PAWL_TRY(path.assign("SET search_path="));
  PAWL_TRY(path.append(schema));
  PAWL_TRY(path.append(",pg_catalog"));
  PAWL_TRY(connection.execute(path.c_str()));
  return connection.execute(kSettings);
}

Status make_schema(Connection& connection) {
  PAWL_TRY(connection.execute(kFunctions));
  store::SchemaTexts schema;
  char text[kPostgresTextBytesMax];
  while (schema.next()) {
    static_cast<void>(translate_schema(schema.text(), text));
    PAWL_TRY(connection.execute(text));
  }
  PAWL_TRY(connection.execute(kIndices));
  return connection.execute(kColumns);
}

// ---- tables that are there ----

Status fail(Connection& connection, const char* schema, Status status, Diagnostic& diagnostic) {
  diagnostic.format("schema %s: %s", schema, connection.diagnostic().text().data());
  return status;
}

constexpr auto kReadForm = PAWL_QUERY("SELECT form,digest FROM meta WHERE id=1");

Status judge_format(Connection& connection, const char* schema, bool moves,
                    Diagnostic& diagnostic) {
  sql::Statement row = connection.use(kReadForm);
  if (!row.row()) {
    if (row.status() != Status::kOk) return fail(connection, schema, row.status(), diagnostic);
    diagnostic.format("schema %s: table meta has no row", schema);
    return Status::kCorrupt;
  }
  const std::int64_t form = row.integer(0);
  if (form == kPostgresForm || (moves && sql::is_move_stage(form))) return Status::kOk;
  if (sql::is_move_stage(form)) return sql::refuse_stage(form, schema, diagnostic);
  diagnostic.format("schema %s: written by %s Pawl: format %" PRId64
                    ", this one reads only %" PRId64,
                    schema, form > kPostgresForm ? "a newer" : "an older", form, kPostgresForm);
  return form > kPostgresForm ? Status::kNewerDatabase : Status::kOlderDatabase;
}

// Columns, indices and functions by what they are, and not by a text that another release of
// PostgreSQL may write in another way.
#define PAWL_DIGEST_OF_SCHEMA                                                                     \
  "(SELECT md5(string_agg(line,',' ORDER BY line COLLATE \"C\")) FROM ("                          \
  "SELECT c.relname||'.'||a.attname||' '||t.typname||' '||a.attnotnull||' '||"                    \
  "coalesce(l.collname,'') AS line FROM pg_class c "                                              \
  "JOIN pg_namespace n ON n.oid=c.relnamespace JOIN pg_attribute a ON a.attrelid=c.oid "          \
  "JOIN pg_type t ON t.oid=a.atttypid LEFT JOIN pg_collation l ON l.oid=a.attcollation "          \
  "WHERE n.nspname=current_schema() AND c.relkind='r' AND a.attnum>0 AND NOT a.attisdropped "     \
  "UNION ALL SELECT c.relname||'('||a.attname||') '||i.indisunique||' '||(i.indpred IS NOT NULL)" \
  "||' '||i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid=i.indexrelid "                    \
  "JOIN pg_namespace n ON n.oid=c.relnamespace JOIN pg_attribute a ON a.attrelid=c.oid "          \
  "WHERE n.nspname=current_schema() "                                                             \
  "UNION ALL SELECT p.proname||' '||p.pronargs FROM pg_proc p "                                   \
  "JOIN pg_namespace n ON n.oid=p.pronamespace WHERE n.nspname=current_schema()) lines)"

constexpr auto kJudgeObjects =
    PAWL_QUERY("SELECT digest=" PAWL_DIGEST_OF_SCHEMA " FROM meta WHERE id=1");

Status judge_objects(Connection& connection, const char* schema, Diagnostic& diagnostic) {
  sql::Statement row = connection.use(kJudgeObjects);
  if (!row.row())
    return fail(connection, schema, row.status() == Status::kOk ? Status::kCorrupt : row.status(),
                diagnostic);
  if (row.integer(0) == 1) return Status::kOk;
  diagnostic.format("schema %s: a table, an index or a function is not as Pawl made it", schema);
  return Status::kCorrupt;
}

constexpr auto kNoteDigest =
    PAWL_QUERY("UPDATE meta SET digest=" PAWL_DIGEST_OF_SCHEMA " WHERE id=1");

Status note_digest(Connection& connection) { return connection.use(kNoteDigest).run(); }

}  // namespace pawl::postgres

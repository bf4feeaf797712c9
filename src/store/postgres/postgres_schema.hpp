// postgres_schema: makes our tables in a schema of PostgreSQL, and finds out whether they are ours.
//
// Purpose: the tables are those of sql/schema.hpp, translated (postgres_text.hpp). Beside them
// stand the functions that statements use and PostgreSQL lacks, and the columns that only a store
// of several machines needs. Ownership: the caller's connection. Thread rule: as the connection.
#ifndef PAWL_STORE_POSTGRES_POSTGRES_SCHEMA_HPP
#define PAWL_STORE_POSTGRES_POSTGRES_SCHEMA_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "pawl/status.hpp"
#include "store/postgres/postgres_connection.hpp"

namespace pawl::postgres {

// The longest name that PostgreSQL keeps whole.
inline constexpr std::size_t kSchemaBytesMax = 63;

// The texts of failures are in the connection's diagnostic(). `schema` is a name of lower-case
// letters, digits and underscores: it stands in a text, since names are no parameters.

Status add_schema(Connection& connection, std::string_view schema);

// Has the connection find the names of this schema first, and plan as Pawl's statements need it.
Status enter_schema(Connection& connection, std::string_view schema);
// Requires: the schema is there, empty, and was entered; a transaction has begun.
Status make_schema(Connection& connection);
// Notes how the objects were made. Requires: their row of meta is there.
Status note_digest(Connection& connection);

// ---- for a schema that was entered and has tables; each names it in `diagnostic` ----

// Takes over the text of the connection's last failure, and returns `status`.
Status fail(Connection& connection, const char* schema, Status status, Diagnostic& diagnostic);
// kOk: this Pawl reads the format; `moves`: or it is a stage of a move.
Status judge_format(Connection& connection, const char* schema, bool moves, Diagnostic& diagnostic);
// kCorrupt: an object is not as it was made.
Status judge_objects(Connection& connection, const char* schema, Diagnostic& diagnostic);

}  // namespace pawl::postgres

#endif  // PAWL_STORE_POSTGRES_POSTGRES_SCHEMA_HPP

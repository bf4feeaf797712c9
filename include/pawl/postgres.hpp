// postgresql(): a database of a PostgreSQL server, for Options::database and ClientOptions.
//
// Purpose: a program changes its engine by this one option. The tables of a store lie in one schema
// of the server, which is made at the first opening, if the role may. Libpq connects: TLS,
// passwords and several hosts are options of the address, of its environment and of its files.
// Machines may share it: docs/architecture/server.md.
// Thread rule: any thread. Link pawl::postgres.
#ifndef PAWL_POSTGRES_HPP
#define PAWL_POSTGRES_HPP

#include <string_view>

#include "pawl/server_database.hpp"

namespace pawl {

// `address`: "postgresql://…", or "host=… dbname=…"; at most Path::kBytesMax bytes, else opening
// answers kInvalidOptions. `schema`: of lower-case letters, digits and underscores, at most 63, and
// begins with neither a digit nor pg_; else opening answers kInvalidArgument.
//   const pawl::ServerDatabase plant = pawl::postgresql("postgresql://db.plant/pawl");
//   options.database = &plant;
[[nodiscard]] ServerDatabase postgresql(std::string_view address, std::string_view schema = "pawl");

}  // namespace pawl

#endif  // PAWL_POSTGRES_HPP

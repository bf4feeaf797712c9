// ServerDatabase: a database on a server, which takes the place of the file of a database.
//
// Purpose: an engine makes the value, so that a program links the client library of a server only
// if it names its engine: postgresql() (pawl/postgres.hpp). Options and ClientOptions point to it.
// Ownership: it owns its texts, and outlives the Runtimes and Clients whose options point to it.
// Thread rule: any thread may read it. The address may hold a password: it is in no log, no title
// and no error.
#ifndef PAWL_SERVER_DATABASE_HPP
#define PAWL_SERVER_DATABASE_HPP

#include "pawl/name.hpp"
#pragma GCC visibility push(default)

namespace pawl {

struct StoreEngine;

struct ServerDatabase {
  const StoreEngine* engine = nullptr;  // required
  Path address;                         // required, as the engine takes it
  Name schema;                          // required
};

}  // namespace pawl
#pragma GCC visibility pop

#endif  // PAWL_SERVER_DATABASE_HPP

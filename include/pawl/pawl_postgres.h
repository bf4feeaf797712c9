/* pawl_postgres.h: a database of a PostgreSQL server, for the options of a host and a client of C.
 * pawl.h does not include it: a program that does not call it links no libpq.
 *
 * Link pawl::postgres. The rules are those of pawl/postgres.hpp. Any thread may call it. */
#ifndef PAWL_PAWL_POSTGRES_H
#define PAWL_PAWL_POSTGRES_H

#include "pawl/pawl_types.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* `address`: "postgresql://..", or "host=.. dbname=..". `schema`: null: "pawl". Neither is copied
 * or looked at before it is opened. */
pawl_server_database pawl_postgresql(const char* address, const char* schema);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

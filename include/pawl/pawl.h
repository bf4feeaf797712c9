/* pawl.h: Pawl for C, and for languages that bind to C.
 *
 * Purpose: a host that runs orchestrations and activities, a client that starts, watches and
 * manages them, and the calls of their code: all that the C++ headers have but what needs types or
 * templates, by the same rules (docs/guide.md). The page is docs/guide/c-api.md.
 *
 * An orchestration is a function that runs again from its top at each turn. An await either has its
 * result, or says PAWL_PENDING: then return that at once, after freeing everything that the
 * function holds. Between two awaits: no clock, no random, no I/O, no static state. Call only
 * functions that take a pawl_ctx.
 *
 * Ownership: Pawl copies its arguments; only names and user pointers of registrations must live as
 * long as the host. Texts of a pawl_ctx, an outcome or a pawl_activity live until the callback
 * returns; texts of a struct that a visitor is shown until the visitor returns, and those of a
 * struct that a client fills in until its next call. Handles are freed by the close function, once.
 * Threads: one thread at a time for a host or a client; a callback runs on the host's thread, but a
 * PAWL_THREADED activity on a pool thread. A function says so if more is allowed.
 * Units: ms; absolute times are ms since 1970 UTC. Names: 1 to 256 bytes without control
 * characters, a zero byte behind them; new ids of instances, sessions, devices and workers are
 * neither "." nor ".." and have no blank at their ends. Payloads: any bytes, by address and length.
 * Structs with a `size` only grow. One that is given to Pawl gets its size and its defaults from
 * its init function; where a pointer to one may be null, null means the defaults. Pawl reads no
 * more than the size covers and takes the default of the rest, so a program that was compiled with
 * an older header goes on. One with more members than this library knows is taken if those are
 * zero; else the answer is PAWL_UNSUPPORTED (for code PAWL_ERROR_INVALID_ARGUMENT). A size that
 * ends within a member is PAWL_INVALID_ARGUMENT. One that Pawl fills in gets its size by the
 * caller; Pawl writes no more than that, and zero into members that it does not know. One that a
 * visitor is shown has the size of this library.
 * Errors: every function that may fail returns a pawl_status and says which; a null pointer where
 * none is allowed is PAWL_INVALID_ARGUMENT, too, but a pawl_ctx and a pawl_activity are always
 * those that the callback was given. PAWL_BUSY, PAWL_FULL, PAWL_IO and PAWL_CORRUPT may come from
 * each that reads or writes the database.
 * Enumerations are int in members and parameters: a number that is none of theirs is refused.
 * Callbacks: they must not throw nor longjmp into or over Pawl.
 */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H

#include "pawl/pawl_activity.h"
#include "pawl/pawl_client.h"
#include "pawl/pawl_host.h"
#include "pawl/pawl_manage.h"
#include "pawl/pawl_operate.h"
#include "pawl/pawl_orchestration.h"
#include "pawl/pawl_session.h"
#include "pawl/pawl_types.h"

#endif

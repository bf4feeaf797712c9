/* pawl.h: Pawl for C, and for languages that bind to C.
 *
 * Purpose: a host that runs orchestrations and activities, a client that starts and watches them,
 * and the calls of their code. It is a part of what the C++ headers have, by the same rules:
 * docs/guide.md.
 *
 * An orchestration is a function that runs again from its top at each turn. An await either has its
 * result, or says PAWL_PENDING: then return that at once, after freeing everything that the
 * function holds. Between two awaits: no clock, no random, no I/O, no static state. Call only
 * functions that take a pawl_ctx.
 *
 * Ownership: Pawl copies its arguments; only names and user pointers of registrations must live as
 * long as the host. Texts of a pawl_ctx, an outcome or a pawl_activity live until the callback
 * returns; texts of a client are copied into buffers of the caller. Handles are freed by the close
 * function, once.
 * Threads: one thread at a time for a host or a client; a callback runs on the host's thread, but a
 * PAWL_THREADED activity on a pool thread. A function says so if more is allowed.
 * Units: ms; absolute times are ms since 1970 UTC. Names: 1 to 256 bytes without control
 * characters, a zero byte behind them; new ids of instances, sessions, devices and workers are
 * neither "." nor ".." and have no blank at their ends. Payloads: any bytes, by address and length.
 * Options and answers with a `size`: set it by the init function, or to sizeof. A size of an
 * earlier release is taken as that release, and any other is PAWL_INVALID_ARGUMENT.
 * Errors: every function that may fail returns a pawl_status and says which; a null pointer where
 * none is allowed is PAWL_INVALID_ARGUMENT, too, but a pawl_ctx and a pawl_activity are always
 * those that the callback was given. PAWL_BUSY, PAWL_FULL, PAWL_IO and PAWL_CORRUPT may come from
 * each that reads or writes the database.
 * Enumerations that are given to Pawl are int in members and parameters: a number that is none of
 * theirs is refused.
 * Callbacks: they must not throw nor longjmp into or over Pawl.
 */
#ifndef PAWL_PAWL_H
#define PAWL_PAWL_H

#include <stddef.h>
#include <stdint.h>

#include "pawl/version.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* Rises when something is added. Nothing that exists changes. */
#define PAWL_C_API_VERSION 1

/* The statuses of pawl::Status (pawl/status.hpp), with the same numbers. */
typedef enum pawl_status {
  PAWL_OK = 0,
  PAWL_INVALID_ARGUMENT,
  PAWL_INVALID_OPTIONS,
  PAWL_NOT_FOUND,
  PAWL_ALREADY_EXISTS,
  PAWL_RESOURCE_EXHAUSTED,
  PAWL_BUSY,
  PAWL_STALE,
  PAWL_WOULD_BLOCK,
  PAWL_TIMEOUT,
  PAWL_CORRUPT,
  PAWL_IO,
  PAWL_FULL,
  PAWL_READ_ONLY,
  PAWL_CANNOT_OPEN,
  PAWL_FOREIGN_DATABASE,
  PAWL_NEWER_DATABASE,
  PAWL_NODE_ID_IN_USE,
  PAWL_FOREIGN_BOOT,
  PAWL_NETWORK_FILESYSTEM,
  PAWL_SQLITE_ALREADY_INITIALISED,
  PAWL_UNSUPPORTED,
  PAWL_NONDETERMINISM,
  PAWL_AWAIT_STEPPED_OVER,
  PAWL_BURIED,
  PAWL_STOPPED,
  PAWL_VERSION_MISMATCH,
  PAWL_STILL_RUNNING,
  PAWL_DEVICE_HELD,
  PAWL_NO_ELIGIBLE_TARGET,
  PAWL_CHILD_INSTANCE,
  PAWL_QUOTA,
  PAWL_NOT_OWNER,
  PAWL_EXCEPTION,
  PAWL_NOT_RESTARTABLE,
  PAWL_OLDER_DATABASE,
  PAWL_KEY_REUSED
} pawl_status;
/* The stable name ("not_found"); "unknown" for a number that is no pawl_status. Any thread. */
const char* pawl_status_name(pawl_status status);

/* Some of the errors of pawl::ErrorKind (pawl/error.hpp), with the same numbers. */
enum {
  PAWL_ERROR_NONE = 0,
  PAWL_ERROR_APPLICATION = 1,
  PAWL_ERROR_CANCELLED = 2,
  PAWL_ERROR_CLOSED = 3,
  PAWL_ERROR_TIMEOUT = 4,
  PAWL_ERROR_LIMIT = 8,
  PAWL_ERROR_SESSION_LOST = 11,
  PAWL_ERROR_SESSION_CLOSED = 12,
  PAWL_ERROR_INVALID_ARGUMENT = 14,
  PAWL_ERROR_NOT_FOUND = 17
};
/* The stable name ("application"); "unknown" for a number that is none. Any thread. */
const char* pawl_error_name(int error);

typedef struct pawl_text {
  const char* data; /* never null if it comes from Pawl; no zero byte behind it */
  size_t size;
} pawl_text;

/* A place where a client copies a text. `size` is the length of the whole text; when it is more
 * than `capacity`, nothing was copied and the call answers PAWL_RESOURCE_EXHAUSTED, with all its
 * other answers filled in. */
typedef struct pawl_buffer {
  char* data;
  size_t capacity;
  size_t size;
} pawl_buffer;

typedef struct pawl_host pawl_host;
typedef struct pawl_client pawl_client;
typedef struct pawl_ctx pawl_ctx;
typedef struct pawl_activity pawl_activity;

/* ---- activities ---- */

typedef enum pawl_mode {
  PAWL_INLINE = 0,  /* short: runs on the host's thread */
  PAWL_THREADED = 1 /* may block: runs on a pool thread */
} pawl_mode;

typedef enum pawl_cancel_reason {
  PAWL_NOT_CANCELLED = 0,
  PAWL_CANCELLED = 1,
  PAWL_DEADLINE = 2,
  PAWL_LOST = 3,
  PAWL_SHUTDOWN = 4
} pawl_cancel_reason;

/* Runs at least once, and again after a crash, so use the idempotency key where that matters. It
 * ends with pawl_activity_ok() or one of its like; without one it fails and is not tried again. */
typedef void (*pawl_activity_fn)(pawl_activity* activity, void* user);

/* Call all of these on the thread of the activity. */
pawl_text pawl_activity_input(const pawl_activity* activity);
pawl_text pawl_activity_instance_id(const pawl_activity* activity);
/* The trace_id of pawl_start_options, for the activity to hand on to whatever it calls. Empty:
 * none. */
pawl_text pawl_activity_trace_id(const pawl_activity* activity);
pawl_text pawl_activity_session_id(const pawl_activity* activity); /* empty: no session */
pawl_text pawl_activity_idempotency_key(const pawl_activity* activity);
int64_t pawl_activity_attempt(const pawl_activity* activity); /* from 1 */
/* The reason why it should return early, if there is one. Its result is not taken then; for
 * PAWL_SHUTDOWN see "Stopped" in docs/guide/activities.md. */
pawl_cancel_reason pawl_activity_cancel_reason(const pawl_activity* activity);
/* Says that it is alive, with at most 256 bytes of progress. PAWL_RESOURCE_EXHAUSTED: more. */
pawl_status pawl_activity_heartbeat(pawl_activity* activity, const void* progress, size_t size);
pawl_text pawl_activity_last_progress(const pawl_activity* activity); /* an earlier attempt's */
/* These end the activity, in order: with its result, of at most payload_bytes_max bytes (else it
 * fails); with an error, after which another attempt may follow; with an error that none follows;
 * without an outcome, and the work goes back into the queue. The last call counts. */
void pawl_activity_ok(pawl_activity* activity, const void* result, size_t size);
void pawl_activity_fail(pawl_activity* activity, const char* text);
void pawl_activity_fail_permanently(pawl_activity* activity, const char* text);
void pawl_activity_hand_back(pawl_activity* activity);

/* A long activity in short steps on the host's thread. `state` is the same for all steps of an
 * attempt: PAWL_STEP_STATE_BYTES bytes, all zero before the first, aligned for any type, and gone
 * with the attempt. Nothing is called when that ends, so keep nothing there that must be freed. A
 * step ends the activity as above, or asks for the next step: after wait_ms (0: with the next
 * tick), or when `fd` is readable, or after limit_ms. One that does neither fails the activity. */
#define PAWL_STEP_STATE_BYTES 256
typedef void (*pawl_step_fn)(pawl_activity* activity, void* state, void* user);
void pawl_step_again_after(pawl_activity* activity, int64_t wait_ms);
void pawl_step_when_readable(pawl_activity* activity, int fd, int64_t limit_ms);

/* ---- orchestrations ---- */

typedef int pawl_poll;
enum {
  PAWL_PENDING = 0,
  PAWL_DONE = 1 /* only pawl_complete() and its like answer it */
};
typedef pawl_poll (*pawl_orchestration_fn)(pawl_ctx* ctx, void* user);

/* One thing to wait for. Zeroed, it is empty: its await answers PAWL_ERROR_INVALID_ARGUMENT. It may
 * be copied; in another run of the function it is no handle. Do not use its members. */
typedef struct pawl_handle {
  void* opaque[2];
  uint32_t numbers[2];
} pawl_handle;

typedef struct pawl_outcome {
  int error;       /* PAWL_ERROR_NONE: there is a result */
  pawl_text value; /* the result, or the text of the error */
  size_t index;    /* after pawl_select(): which one won */
} pawl_outcome;

typedef enum pawl_where {
  PAWL_ANY_WORKER = 0,
  PAWL_SHARED_SESSION = 1,    /* `session` is its name */
  PAWL_EXCLUSIVE_SESSION = 2, /* the same with one activity at a time, in order */
  PAWL_DEVICE = 3,            /* `session` is the device; unavailable_ms counts */
  PAWL_OWN_SESSION = 4        /* `session` is the id given to pawl_open_session() */
} pawl_where;

typedef enum pawl_backoff {
  PAWL_BACKOFF_NONE = 0,
  PAWL_BACKOFF_FIXED = 1,
  PAWL_BACKOFF_LINEAR = 2,
  PAWL_BACKOFF_EXPONENTIAL = 3
} pawl_backoff;

/* The members of pawl::ActivityOptions; a limit of 0 is none. */
typedef struct pawl_activity_options {
  size_t size;
  int where; /* pawl_where */
  const char* session;
  int barrier; /* in a session: alone, before all that is scheduled later */
  int64_t unavailable_ms;
  const char* tag; /* null: none */
  int32_t max_attempts;
  int backoff; /* pawl_backoff */
  int64_t backoff_base_ms;
  int64_t backoff_cap_ms;
  int32_t jitter_percent;
  int64_t start_to_close_ms;
  int64_t schedule_to_close_ms;
  int64_t schedule_to_start_ms;
  int64_t heartbeat_timeout_ms;
} pawl_activity_options;
void pawl_activity_options_init(pawl_activity_options* options);

/* The input and the identity of the instance, and the time in ms of the event that the code has
 * come to. */
pawl_text pawl_input(const pawl_ctx* ctx);
pawl_text pawl_instance_id(const pawl_ctx* ctx);
int64_t pawl_execution_id(const pawl_ctx* ctx);
pawl_text pawl_trace_id(const pawl_ctx* ctx); /* pawl_start_options::trace_id; empty: none */
int64_t pawl_now_ms(const pawl_ctx* ctx);
int pawl_is_replaying(const pawl_ctx* ctx);
int pawl_is_continue_as_new_due(const pawl_ctx* ctx);
int pawl_cancel_requested(const pawl_ctx* ctx);

/* Each schedules something and gives its handle; a bad argument makes the outcome an error
 * (PAWL_ERROR_INVALID_ARGUMENT, PAWL_ERROR_LIMIT). `options` may be null. */
pawl_handle pawl_schedule_activity(pawl_ctx* ctx, const char* name, const void* input, size_t size,
                                   const pawl_activity_options* options);
pawl_handle pawl_schedule_timer(pawl_ctx* ctx, int64_t delay_ms);
pawl_handle pawl_schedule_timer_at(pawl_ctx* ctx, int64_t utc_ms);
pawl_handle pawl_schedule_wait(pawl_ctx* ctx, const char* event);
pawl_handle pawl_dequeue_event(pawl_ctx* ctx, const char* queue);
/* Schedules a child; `id` and `version` may be null. */
pawl_handle pawl_schedule_child(pawl_ctx* ctx, const char* name, const char* id,
                                const char* version, const void* input, size_t size);
/* Wait for all of them, or for the first; a select closes the losers. `out` may be null. At most 64
 * handles. */
pawl_handle pawl_join(pawl_ctx* ctx, const pawl_handle* handles, size_t count);
pawl_poll pawl_select(pawl_ctx* ctx, const pawl_handle* handles, size_t count, pawl_outcome* out);
/* PAWL_DONE: *out is the outcome. PAWL_PENDING: return that. */
pawl_poll pawl_await(pawl_handle handle, pawl_outcome* out);
#define PAWL_AWAIT_C(handle, out)                                         \
  do {                                                                    \
    if (pawl_await((handle), (out)) == PAWL_PENDING) return PAWL_PENDING; \
  } while (0)
/* Closes the command of a handle that has no outcome yet. */
void pawl_close_handle(pawl_ctx* ctx, pawl_handle handle);
/* Runs `body` now as a branch, with a context of its own: pawl_complete() or pawl_fail() with that
 * context ends it. `user` must live until the function that called returns. */
pawl_handle pawl_open_branch(pawl_ctx* ctx, pawl_orchestration_fn body, void* user);
/* Runs `body` so that its awaits work after a cancel request, and answers what `body` answers. If
 * that is PAWL_PENDING, return it. */
pawl_poll pawl_clean_up(pawl_ctx* ctx, pawl_orchestration_fn body, void* user);

/* These answer PAWL_ERROR_NONE, or the error; nothing is recorded then. */
int pawl_start_detached(pawl_ctx* ctx, const char* name, const char* id, const char* version,
                        const void* input, size_t size);
int pawl_set_custom_status(pawl_ctx* ctx, const void* text, size_t size); /* at most 4096 bytes */
int pawl_set_value(pawl_ctx* ctx, const char* key, const void* value, size_t size);
int pawl_clear_value(pawl_ctx* ctx, const char* key);
/* 1: *out is the value; 0: there is none. */
int pawl_get_value(pawl_ctx* ctx, const char* key, pawl_text* out);
/* Opens a session of this instance under an id, or finds it open; PAWL_OWN_SESSION uses it. */
int pawl_open_session(pawl_ctx* ctx, const char* id);
int pawl_close_session(pawl_ctx* ctx, const char* id);
/* These are recorded, and so the same in every replay. `out` takes 36 characters and a zero
 * byte. */
void pawl_new_guid(pawl_ctx* ctx, char out[37]);
int64_t pawl_utc_now_ms(pawl_ctx* ctx);

/* These end the execution, or the branch. Return what they return. */
pawl_poll pawl_complete(pawl_ctx* ctx, const void* output, size_t size);
pawl_poll pawl_fail(pawl_ctx* ctx, const char* text);
pawl_poll pawl_fail_with(pawl_ctx* ctx, const pawl_outcome* outcome); /* hands an error on */
pawl_poll pawl_continue_as_new(pawl_ctx* ctx, const void* input, size_t size); /* not in a branch */

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#include "pawl/pawl_host.h"

#endif

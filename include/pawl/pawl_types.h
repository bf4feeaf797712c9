/* pawl_types.h: the values that all parts of pawl.h share. Include pawl.h, which has the rules. */
#ifndef PAWL_PAWL_TYPES_H
#define PAWL_PAWL_TYPES_H

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
  PAWL_KEY_REUSED,
  PAWL_IN_DOUBT
} pawl_status;
/* The stable name ("not_found"); "unknown" for a number that is no pawl_status. Any thread. */
const char* pawl_status_name(pawl_status status);

/* The errors of pawl::ErrorKind (pawl/error.hpp), with the same numbers. */
enum {
  PAWL_ERROR_NONE = 0,
  PAWL_ERROR_APPLICATION = 1,
  PAWL_ERROR_CANCELLED = 2,
  PAWL_ERROR_CLOSED = 3,
  PAWL_ERROR_TIMEOUT = 4,
  PAWL_ERROR_POISON = 5,
  PAWL_ERROR_NONDETERMINISM = 6,
  PAWL_ERROR_AWAIT_STEPPED_OVER = 7,
  PAWL_ERROR_LIMIT = 8,
  PAWL_ERROR_CORRUPT = 9,
  PAWL_ERROR_UNREGISTERED = 10,
  PAWL_ERROR_SESSION_LOST = 11, /* pawl_read_session_loss() reads its text */
  PAWL_ERROR_SESSION_CLOSED = 12,
  PAWL_ERROR_SESSION_UNAVAILABLE = 13,
  PAWL_ERROR_INVALID_ARGUMENT = 14,
  PAWL_ERROR_TERMINATED = 15,
  PAWL_ERROR_NOT_STARTED = 16,
  PAWL_ERROR_NOT_FOUND = 17,
  PAWL_ERROR_NO_INSTANCE = 18,
  PAWL_ERROR_HEARTBEAT_TIMEOUT = 19,
  PAWL_ERROR_RATE_LIMITED = 20,
  PAWL_ERROR_EXCEPTION = 21,
  PAWL_ERROR_BAD_PAYLOAD = 22
};
/* The stable name ("application"); "unknown" for a number that is none. Any thread. */
const char* pawl_error_name(int error);

/* ---- values that never grow ---- */

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

/* A time in ms that may be absent. */
typedef struct pawl_optional_ms {
  int64_t ms;
  int has_value; /* 0: there is none, and `ms` is 0 */
} pawl_optional_ms;

/* The place where a listing goes on. A page may hold fewer than rows_max rows, even none, though
 * there are more. */
typedef struct pawl_page {
  int64_t after;   /* 0: from the first; the call moves it */
  size_t rows_max; /* of this page, 1 or more */
  int more;        /* answer; 1: ask again with this page */
} pawl_page;

typedef struct pawl_host pawl_host;
typedef struct pawl_client pawl_client;
typedef struct pawl_ctx pawl_ctx;
typedef struct pawl_activity pawl_activity;

/* ---- structs that grow ---- */

/* Fills in the defaults of a struct of options: `which` is its number below, `size` its sizeof. The
 * inline function behind each struct does so; only a binding calls this one. An unknown number does
 * nothing but set the size. Any thread. */
void pawl_init(int which, void* options, size_t size);
enum {
  PAWL_STRUCT_HOST_OPTIONS = 0,
  PAWL_STRUCT_SMALL_HOST_OPTIONS = 1,
  PAWL_STRUCT_CLIENT_OPTIONS = 2,
  PAWL_STRUCT_START_OPTIONS = 3,
  PAWL_STRUCT_SEND_OPTIONS = 4,
  PAWL_STRUCT_ACTIVITY_OPTIONS = 5,
  PAWL_STRUCT_CHILD_OPTIONS = 6,
  PAWL_STRUCT_DETACHED_OPTIONS = 7,
  PAWL_STRUCT_SESSION_SETTINGS = 8,
  PAWL_STRUCT_TRANSFER_OPTIONS = 9,
  PAWL_STRUCT_RESTART_OPTIONS = 10,
  PAWL_STRUCT_INSTANCE_FILTER = 11,
  PAWL_STRUCT_SESSION_FILTER = 12,
  PAWL_STRUCT_WORK_FILTER = 13
};

/* How a start treats an instance of its id that runs, is stopped or is suspended. */
typedef enum pawl_if_running {
  PAWL_RUNNING_REFUSE = 0, /* PAWL_ALREADY_EXISTS */
  PAWL_RUNNING_TAKE = 1    /* PAWL_OK: nothing is written, the input is not used */
} pawl_if_running;

/* How it treats one that has ended. */
typedef enum pawl_if_ended {
  PAWL_ENDED_REFUSE = 0,         /* PAWL_ALREADY_EXISTS */
  PAWL_ENDED_NEXT_EXECUTION = 1, /* begins the next execution */
  PAWL_ENDED_NEXT_IF_FAILED = 2  /* does so if it failed */
} pawl_if_ended;

/* The options of an instance's start. */
typedef struct pawl_start_options {
  size_t size;
  const char* version;    /* null: the worker's default */
  const char* trace_id;   /* in its log lines, and for its activities and children: a
                             W3C traceparent, a request id; at most 64 bytes, null: none */
  int64_t start_after_ms; /* the first turn comes this much later */
  int if_running;         /* pawl_if_running */
  int if_ended;           /* pawl_if_ended */
  int64_t time_limit_ms;  /* the longest that it may take, from this call or the end of that delay,
                             until it is asked to stop (rule R8.9); 0: that of its definition
                             (pawl_host_set_time_limit()), or none */
} pawl_start_options;
static inline void pawl_start_options_init(pawl_start_options* options) {
  pawl_init(PAWL_STRUCT_START_OPTIONS, options, sizeof *options);
}

/* The options of an event or a queue message. */
typedef struct pawl_send_options {
  size_t size;
  /* Starts this orchestration in the same commit and before the message, if there is no instance of
   * the id, or it has ended; null: it does not. */
  const char* start_if_ended;
  const void* input; /* of that start, with input_size bytes */
  size_t input_size;
  const pawl_start_options* start; /* null: the defaults; if_running and if_ended do not count */
  const char* key; /* makes repeated sends one message, while the instance knows it; null: none */
} pawl_send_options;
static inline void pawl_send_options_init(pawl_send_options* options) {
  pawl_init(PAWL_STRUCT_SEND_OPTIONS, options, sizeof *options);
}

/* A database on a server, which takes the place of the file. A function of its engine makes it:
 * pawl_postgresql() (pawl/pawl_postgres.h). */
typedef struct pawl_server_database {
  const void* engine;
  const char* address; /* may hold a password: it is in no log, no title and no error */
  const char* schema;
} pawl_server_database;

typedef enum pawl_state {
  PAWL_RUNNING = 0,
  PAWL_COMPLETED = 1,
  PAWL_FAILED = 2,
  PAWL_STOPPED_STATE = 3, /* the code does not match its history, or a row is damaged */
  PAWL_SUSPENDED = 4
} pawl_state;

typedef struct pawl_instance_status {
  size_t size;
  int state; /* pawl_state */
  int error; /* if PAWL_FAILED */
  int64_t execution_id;
  int64_t created_ms;
  int64_t updated_ms;
  int64_t custom_status_version;
  int64_t unread_messages; /* events and queue messages that no code had received by its end */
} pawl_instance_status;

/* The importance of a line of the log. */
typedef enum pawl_level {
  PAWL_LEVEL_DEBUG = 0,
  PAWL_LEVEL_INFO = 1,
  PAWL_LEVEL_WARNING = 2,
  PAWL_LEVEL_ERROR = 3
} pawl_level;

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

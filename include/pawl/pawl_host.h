/* pawl_host.h: the part of pawl.h for hosts and clients, which run and watch. Include pawl.h. */
#ifndef PAWL_PAWL_HOST_H
#define PAWL_PAWL_HOST_H

#include "pawl/pawl.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- host ---- */

typedef enum pawl_wall_trust { /* when the wall clock is trusted; UTC timers need it */
                               PAWL_TRUST_KERNEL = 0, /* the kernel says that it is synchronised */
                               PAWL_TRUST_ALWAYS = 3,
                               PAWL_TRUST_NEVER = 4
} pawl_wall_trust;

/* `level`: 0 debug, 1 info, 2 warning, 3 error. `line` is one line without its end, and no zero
 * byte is behind it. The call comes on the host's thread and on pool threads. The function
 * must not call Pawl. */
typedef void (*pawl_log_fn)(void* user, int level, const char* line, size_t size);

typedef struct pawl_host_options {
  size_t size;
  const char* database_path;  /* required; its folder exists */
  const char* worker_node_id; /* null: a new one at each start */
  int run_orchestrations;     /* 0: activities only */
  int small;                  /* 1: every other limit is that of Options::small() */
  uint32_t clients_max;       /* clients of this process, 0 to 31; sizes memory */
  int catch_signals;          /* 1: SIGINT and SIGTERM end pawl_host_run() in order */
  int64_t grace_ms;           /* running activities have this long at the stop */
  uint32_t threads;           /* for PAWL_THREADED activities */
  uint32_t payload_bytes_max;
  uint32_t history_events_max;
  int wall_trust;  /* pawl_wall_trust */
  pawl_log_fn log; /* null: warnings and errors go to standard error */
  void* log_user;
} pawl_host_options;
/* Fill in the defaults. With those of the second the whole needs some 2 MiB. */
void pawl_host_options_init(pawl_host_options* options);
void pawl_host_options_init_small(pawl_host_options* options);

/* Makes a host; nothing is opened yet. A process has one at a time, and none beside a client
 * without a host. The only allocations of a host are here, in pawl_host_add_steps() and in
 * pawl_host_start().
 * Returns PAWL_OK; PAWL_RESOURCE_EXHAUSTED: no memory. Unless PAWL_OK, *out is null. */
pawl_status pawl_host_open(const pawl_host_options* options, pawl_host** out);
/* These register code; call them before the start.
 * Returns PAWL_OK; PAWL_ALREADY_EXISTS: the name exists; PAWL_RESOURCE_EXHAUSTED: there are too
 * many; PAWL_STALE: the host has started. `version` is "1.2.3"; null: "1.0.0". */
pawl_status pawl_host_add_orchestration(pawl_host* host, const char* name, const char* version,
                                        pawl_orchestration_fn function, void* user);
pawl_status pawl_host_add_activity(pawl_host* host, const char* name, int mode,
                                   pawl_activity_fn function, void* user);
pawl_status pawl_host_add_steps(pawl_host* host, const char* name, pawl_step_fn step, void* user);
/* Takes the memory, opens or creates the database, registers the worker.
 * Returns PAWL_OK, also if it has started; else as Runtime::start(): PAWL_INVALID_OPTIONS,
 * PAWL_CANNOT_OPEN, PAWL_READ_ONLY, PAWL_FOREIGN_DATABASE, PAWL_NEWER_DATABASE,
 * PAWL_OLDER_DATABASE, PAWL_NODE_ID_IN_USE, PAWL_FOREIGN_BOOT, PAWL_NETWORK_FILESYSTEM,
 * PAWL_RESOURCE_EXHAUSTED. pawl_host_error() names the thing. A host whose start failed serves only
 * for that text and pawl_host_close(). */
pawl_status pawl_host_start(pawl_host* host);
/* Ticks and sleeps until pawl_host_request_stop(), a signal, or for limit_ms (below 0: no limit).
 * Returns PAWL_TIMEOUT: the time is over; PAWL_STOPPED: the host should stop; the error of a
 * tick. */
pawl_status pawl_host_run(pawl_host* host, int64_t limit_ms);
/* For a loop of the caller's: does the work that is ready, for about limit_ms, and never sleeps.
 * *more: 1 when more is ready now. Call it when the descriptor is readable or the due time has
 * come.
 * Returns PAWL_OK; PAWL_STOPPED: it is not started, or has stopped; an error that does not pass by
 * itself. */
pawl_status pawl_host_tick(pawl_host* host, int64_t limit_ms, int* more);
/* A descriptor that is readable when a tick has work; -1: not started. It stays the host's. */
int pawl_host_fd(const pawl_host* host);
/* The time in ms until a tick has work; 0: now; -1: only the descriptor will say so. */
int64_t pawl_host_next_due_ms(pawl_host* host);
/* Makes the host stop. Any thread, and signal handlers. The host must have started and not be
 * closed meanwhile. */
void pawl_host_request_stop(pawl_host* host);
/* Stops in order, with grace_ms for running activities.
 * Returns PAWL_OK; PAWL_TIMEOUT: an activity did not come back. */
pawl_status pawl_host_stop(pawl_host* host);
/* Stops the host and frees it; null does nothing.
 * Returns PAWL_OK; PAWL_STILL_RUNNING: a client of it is open, and nothing happened; PAWL_TIMEOUT:
 * the stop timed out, and the host's memory stays until the process ends, since a thread uses
 * it. */
pawl_status pawl_host_close(pawl_host* host);
/* The last error as text with a zero byte; lives until the next call of the host. Never null. */
const char* pawl_host_error(pawl_host* host);

/* The options of an instance's start. */
typedef struct pawl_start_options {
  size_t size;
  const char* version;    /* null: the worker's default */
  int64_t start_after_ms; /* the first turn comes this much later */
  const char* trace_id;   /* in its log lines, and for its activities and children: a
                             W3C traceparent, a request id; at most 64 bytes, null: none */
} pawl_start_options;
void pawl_start_options_init(pawl_start_options* options);

/* These do what the calls of pawl_client_ do, with the next tick. `answer`, which may be null,
 * comes then, on the host's thread. Returns PAWL_OK: it was asked; PAWL_STOPPED;
 * PAWL_RESOURCE_EXHAUSTED: too many calls wait. */
typedef void (*pawl_answer_fn)(void* user, pawl_status status);
pawl_status pawl_host_start_orchestration(pawl_host* host, const char* name, const char* id,
                                          const void* input, size_t size, pawl_answer_fn answer,
                                          void* user);
pawl_status pawl_host_start_with(pawl_host* host, const char* name, const char* id,
                                 const void* input, size_t size, const pawl_start_options* options,
                                 pawl_answer_fn answer, void* user);
pawl_status pawl_host_raise_event(pawl_host* host, const char* id, const char* event,
                                  const void* payload, size_t size, pawl_answer_fn answer,
                                  void* user);
pawl_status pawl_host_cancel(pawl_host* host, const char* id, const char* reason,
                             pawl_answer_fn answer, void* user);

/* ---- client ---- */

typedef struct pawl_client_options {
  size_t size;
  const char* database_path; /* required */
  int create;                /* 1: makes the database if there is none */
  uint32_t payload_bytes_max;
  uint32_t queue_messages_max;
  int64_t busy_max_ms; /* longest wait for the write lock */
} pawl_client_options;
void pawl_client_options_init(pawl_client_options* options);

typedef enum pawl_state {
  PAWL_RUNNING = 0,
  PAWL_COMPLETED = 1,
  PAWL_FAILED = 2,
  PAWL_STOPPED_STATE = 3, /* the code does not match its history, or a row is damaged */
  PAWL_SUSPENDED = 4
} pawl_state;

typedef struct pawl_instance_status {
  size_t size;
  pawl_state state;
  int error; /* if PAWL_FAILED */
  int64_t execution_id;
  int64_t created_ms;
  int64_t updated_ms;
  int64_t custom_status_version;
  int64_t unread_messages; /* events and queue messages that no code had received by its end */
} pawl_instance_status;

/* Connects to a database: with a started host in the memory of that process, or with null as the
 * only client of a process without a host. It may be used on another thread than the host's.
 * Returns PAWL_OK; PAWL_STALE: the host has not started; PAWL_INVALID_OPTIONS;
 * PAWL_RESOURCE_EXHAUSTED: no memory, or more than clients_max; else the errors of Client::open(),
 * which pawl_host_start() names. `why`, which may be null, takes the text. Unless PAWL_OK, *out is
 * null. */
pawl_status pawl_client_open(const pawl_client_options* options, pawl_host* host, pawl_client** out,
                             pawl_buffer* why);
/* Closes the client and frees it; null does nothing. */
void pawl_client_close(pawl_client* client);
/* The last error as text with a zero byte; lives until the next call of the client. Never null. */
const char* pawl_client_error(pawl_client* client);

/* These create an instance. PAWL_OK: it is durable. `version` may be null. PAWL_ALREADY_EXISTS: the
 * id is in use; PAWL_QUOTA: there is no room; PAWL_RESOURCE_EXHAUSTED: the input is too long. */
pawl_status pawl_client_start(pawl_client* client, const char* name, const char* id,
                              const char* version, const void* input, size_t size);
pawl_status pawl_client_start_with(pawl_client* client, const char* name, const char* id,
                                   const void* input, size_t size,
                                   const pawl_start_options* options);
/* Asks an instance to stop. PAWL_NOT_FOUND; PAWL_STALE: it has ended. */
pawl_status pawl_client_cancel(pawl_client* client, const char* id, const char* reason);
/* Send an event for a wait, or a message for a queue; both wait until they are taken.
 * PAWL_NOT_FOUND; PAWL_STALE: it has ended; PAWL_QUOTA; PAWL_RESOURCE_EXHAUSTED: it is too long, or
 * too many wait. */
pawl_status pawl_client_raise_event(pawl_client* client, const char* id, const char* event,
                                    const void* payload, size_t size);
pawl_status pawl_client_enqueue(pawl_client* client, const char* id, const char* queue,
                                const void* payload, size_t size);
/* Reads an instance's state. `output` (the result, or the text of the error) and `custom_status`
 * may be null. PAWL_NOT_FOUND; PAWL_RESOURCE_EXHAUSTED: a buffer is too small. */
pawl_status pawl_client_get_status(pawl_client* client, const char* id, pawl_instance_status* out,
                                   pawl_buffer* output, pawl_buffer* custom_status);
/* Sleeps until the instance has ended or stopped; else as above. PAWL_TIMEOUT: not in timeout_ms,
 * and `out` is its state now; PAWL_WOULD_BLOCK: this thread has to do the work. */
pawl_status pawl_client_wait(pawl_client* client, const char* id, int64_t timeout_ms,
                             pawl_instance_status* out, pawl_buffer* output);
/* Reads a value that the instance keeps. PAWL_NOT_FOUND: no such instance or key;
 * PAWL_RESOURCE_EXHAUSTED: the buffer is too small. */
pawl_status pawl_client_get_value(pawl_client* client, const char* id, const char* key,
                                  pawl_buffer* out);
/* Removes an ended instance and all below it; with `force` also one that runs. PAWL_NOT_FOUND;
 * PAWL_CHILD_INSTANCE: delete its root; PAWL_STILL_RUNNING. */
pawl_status pawl_client_delete(pawl_client* client, const char* id, int force);

typedef struct pawl_instance_info {
  pawl_text id; /* texts live until the visitor returns */
  pawl_text name;
  pawl_text version;
  pawl_text parent_id; /* empty: a root */
  pawl_state state;
  int64_t execution_id;
  int64_t created_ms;
  int64_t updated_ms;
  pawl_text trace_id; /* pawl_start_options::trace_id; empty: none */
  int64_t unread_messages;
} pawl_instance_info;
/* The visitor must not call the client. */
typedef void (*pawl_instance_fn)(void* user, const pawl_instance_info* info);
/* Lists a page of the instances whose id begins with `prefix` (null: all), in order of their
 * creation. *after: 0 at first, moved by the call; *more: 1, ask again. rows_max: 1 or more. */
pawl_status pawl_client_list(pawl_client* client, const char* prefix, size_t rows_max,
                             int64_t* after, int* more, pawl_instance_fn visit, void* user);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

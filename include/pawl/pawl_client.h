/* pawl_client.h: the part of pawl.h for clients, which start, send and watch. Include pawl.h, which
 * has the rules; pawl_manage.h has the calls of operators. */
#ifndef PAWL_PAWL_CLIENT_H
#define PAWL_PAWL_CLIENT_H

#include "pawl/pawl_orchestration.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pawl_client_options {
  size_t size;
  const char* database_path;            /* required */
  const pawl_server_database* database; /* as pawl_host_options has it */
  int create;                           /* 1: makes the database if there is none */
  int synchronous_full;                 /* 0: a power cut may lose acknowledged work */
  uint32_t payload_bytes_max;           /* with a host at most that of the host */
  uint32_t queue_messages_max;
  int64_t busy_max_ms; /* longest wait for the write lock */
} pawl_client_options;
static inline void pawl_client_options_init(pawl_client_options* options) {
  pawl_init(PAWL_STRUCT_CLIENT_OPTIONS, options, sizeof *options);
}

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

/* ---- start and send ---- */

/* Creates an instance, or does with an id in use as the options say. PAWL_OK: it is durable.
 * PAWL_ALREADY_EXISTS: the id is in use; PAWL_CHILD_INSTANCE: with if_ended, it is a child;
 * PAWL_QUOTA: there is no room; PAWL_RESOURCE_EXHAUSTED: the input is too long. */
pawl_status pawl_client_start(pawl_client* client, const char* name, const char* id,
                              const void* input, size_t size, const pawl_start_options* options);
/* Send an event for a wait, or a message for a queue; both wait until they are taken.
 * PAWL_NOT_FOUND; PAWL_STALE: it has ended; PAWL_CHILD_INSTANCE: with start_if_ended, a child has;
 * PAWL_QUOTA; PAWL_RESOURCE_EXHAUSTED: it is too long, or too many wait; PAWL_KEY_REUSED: another
 * message came with this key. */
pawl_status pawl_client_raise_event(pawl_client* client, const char* id, const char* event,
                                    const void* payload, size_t size,
                                    const pawl_send_options* options);
pawl_status pawl_client_enqueue(pawl_client* client, const char* id, const char* queue,
                                const void* payload, size_t size, const pawl_send_options* options);
/* Puts a message into a queue and sleeps until the code answers it (pawl_reply(), pawl_refuse()).
 * Made again with its key, a call is the same one, and has the same answer; `key`, which may be
 * null, takes it. *error: PAWL_ERROR_NONE, or the code refused, with the text in `answer`.
 * PAWL_TIMEOUT: no answer yet; PAWL_STALE: the instance has ended without one, or the answer is
 * gone; PAWL_RESOURCE_EXHAUSTED: also, a buffer is too small; PAWL_WOULD_BLOCK: as below; else as
 * those above. */
pawl_status pawl_client_call(pawl_client* client, const char* id, const char* queue,
                             const void* payload, size_t size, int64_t timeout_ms,
                             const pawl_send_options* options, int* error, pawl_buffer* answer,
                             pawl_buffer* key);
/* Offers an event for now or never, and sleeps until a turn took it. *received: 1 if a wait of this
 * name was open and got it. PAWL_TIMEOUT: no turn took it, and none will; PAWL_WOULD_BLOCK: this
 * thread has to do the work; else as those above. */
pawl_status pawl_client_offer_event(pawl_client* client, const char* id, const char* event,
                                    const void* payload, size_t size, int64_t timeout_ms,
                                    int* received);
/* Asks an instance to stop. PAWL_NOT_FOUND; PAWL_STALE: it has ended. */
pawl_status pawl_client_cancel(pawl_client* client, const char* id, const char* reason);

/* ---- completed from outside ---- */

/* Ends the activity that has this token (pawl_activity_completion_token()) with its result, as its
 * own pawl_activity_ok() would. PAWL_OK: the first answer, or the same again (the last 256 are
 * remembered); PAWL_STALE: another one came first; PAWL_NOT_FOUND: no activity waits for the token:
 * it was retried or cancelled, a limit passed, its session or instance ended, or it is wrong;
 * PAWL_INVALID_ARGUMENT: the text cannot be a token; PAWL_RESOURCE_EXHAUSTED: the result is too
 * long. */
pawl_status pawl_client_complete_activity(pawl_client* client, const char* token,
                                          const void* result, size_t size);
/* Ends it as pawl_activity_fail() would; another attempt, with another token, may follow unless
 * `permanent` is 1. Else as above. */
pawl_status pawl_client_fail_activity(pawl_client* client, const char* token, const char* text,
                                      int permanent);
/* Says that the work outside goes on, for heartbeat_timeout_ms, with at most 256 bytes of progress
 * (PAWL_INVALID_ARGUMENT); without any the last one stays. PAWL_NOT_FOUND: it need not go on. */
pawl_status pawl_client_heartbeat_activity(pawl_client* client, const char* token,
                                           const void* progress, size_t size);

/* ---- watch ---- */

/* Reads an instance's state. `output` (the result, or the text of the error) and `custom_status`
 * may be null. PAWL_NOT_FOUND; PAWL_RESOURCE_EXHAUSTED: a buffer is too small. */
pawl_status pawl_client_get_status(pawl_client* client, const char* id, pawl_instance_status* out,
                                   pawl_buffer* output, pawl_buffer* custom_status);
/* Sleeps until the instance has ended or stopped; else as above. PAWL_TIMEOUT: not in timeout_ms,
 * and `out` is its state now; PAWL_WOULD_BLOCK: this thread has to do the work. */
pawl_status pawl_client_wait(pawl_client* client, const char* id, int64_t timeout_ms,
                             pawl_instance_status* out, pawl_buffer* output);
/* Sleeps until custom_status_version is above last_version (-1: answers at once); else as above.
 * PAWL_STALE: it does not run any more, so no change will come, and `out` is its state. */
pawl_status pawl_client_wait_status_change(pawl_client* client, const char* id,
                                           int64_t last_version, int64_t timeout_ms,
                                           pawl_instance_status* out, pawl_buffer* custom_status);

/* The heartbeats of an instance's activities, as they come. */
typedef struct pawl_watch pawl_watch;
typedef struct pawl_progress {
  size_t size;
  int64_t execution_id;
  int64_t activity_id; /* the event that scheduled it */
  int64_t attempt;     /* hand-overs so far; the next attempt begins anew */
  int64_t number;      /* 1, 2, 3 .. in this attempt; a gap: some came too fast */
  pawl_text text;      /* lives until the next call with this watch */
} pawl_progress;
/* Makes a watch, for one instance. PAWL_RESOURCE_EXHAUSTED: no memory, and *out is null. */
pawl_status pawl_watch_open(pawl_watch** out);
void pawl_watch_close(pawl_watch* watch); /* null does nothing */
/* Sleeps until an activity of the instance reports a heartbeat that this watch did not have yet.
 * PAWL_OK: *out is one; PAWL_NOT_FOUND; PAWL_TIMEOUT: none came; PAWL_STALE: there is none, and the
 * instance does not run any more; PAWL_WOULD_BLOCK: as above, with a timeout above 0. */
pawl_status pawl_client_watch_progress(pawl_client* client, const char* id, int64_t timeout_ms,
                                       pawl_watch* watch, pawl_progress* out);

/* ---- values ---- */

/* Reads a value that the instance keeps. PAWL_NOT_FOUND: no such instance or key;
 * PAWL_RESOURCE_EXHAUSTED: the buffer is too small. */
pawl_status pawl_client_get_value(pawl_client* client, const char* id, const char* key,
                                  pawl_buffer* out);
/* Sleeps until there is a value of this key; else as above. PAWL_STALE: there is none, and the
 * instance does not run any more; PAWL_TIMEOUT; PAWL_WOULD_BLOCK. */
pawl_status pawl_client_wait_value(pawl_client* client, const char* id, const char* key,
                                   int64_t timeout_ms, pawl_buffer* out);
/* Lists a page of the values, in the order of their keys, behind `after_key` (null: from the
 * first). *more: 1, ask again with the last key that was shown. rows_max: 1 or more. The visitor
 * must not call the client; texts live until it returns. PAWL_NOT_FOUND. */
typedef void (*pawl_value_fn)(void* user, const pawl_value* value);
pawl_status pawl_client_list_values(pawl_client* client, const char* id, const char* after_key,
                                    size_t rows_max, int* more, pawl_value_fn visit, void* user);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

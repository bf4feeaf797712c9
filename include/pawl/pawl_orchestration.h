/* pawl_orchestration.h: the part of pawl.h for the code of orchestrations. Include pawl.h, which
 * has the rules. */
#ifndef PAWL_PAWL_ORCHESTRATION_H
#define PAWL_PAWL_ORCHESTRATION_H

#include "pawl/pawl_types.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

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

/* A session that this code opened, uses or adopted (pawl_session.h). Zeroed, it is empty. It may be
 * copied, and lives until the function returns. Do not use its members. */
typedef struct pawl_session {
  void* opaque[6];
} pawl_session;

typedef struct pawl_outcome {
  int error;       /* PAWL_ERROR_NONE: there is a result */
  pawl_text value; /* the result, or the text of the error */
  size_t index;    /* after pawl_select(): which one won */
} pawl_outcome;

typedef enum pawl_where {
  PAWL_ANY_WORKER = 0,
  PAWL_SHARED_SESSION = 1,    /* `session` is its name */
  PAWL_EXCLUSIVE_SESSION = 2, /* the same with one activity at a time, in order */
  PAWL_DEVICE = 3,            /* `session` is the device, with one activity at a time, in order */
  PAWL_OWN_SESSION = 4,       /* `opened`, or `session` is the id given to pawl_open_session() */
  PAWL_CONCURRENT_DEVICE = 5  /* the same device with several activities at a time */
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
  const char* session;
  const pawl_session* opened; /* for PAWL_OWN_SESSION, in place of `session` */
  const char* tag;            /* null: none */
  int where;                  /* pawl_where */
  int barrier;                /* in a session: alone, before all that is scheduled later */
  int64_t unavailable_ms;     /* for a device: the longest time without one that is declared */
  int32_t max_attempts;
  int32_t jitter_percent;
  int backoff; /* pawl_backoff */
  int64_t backoff_base_ms;
  int64_t backoff_cap_ms;
  int64_t start_to_close_ms;
  int64_t schedule_to_close_ms;
  int64_t schedule_to_start_ms;
  int64_t heartbeat_timeout_ms;
} pawl_activity_options;
static inline void pawl_activity_options_init(pawl_activity_options* options) {
  pawl_init(PAWL_STRUCT_ACTIVITY_OPTIONS, options, sizeof *options);
}

typedef struct pawl_child_options {
  size_t size;
  const char* id;      /* null: Pawl makes one */
  const char* version; /* null: the worker's default */
} pawl_child_options;
static inline void pawl_child_options_init(pawl_child_options* options) {
  pawl_init(PAWL_STRUCT_CHILD_OPTIONS, options, sizeof *options);
}

typedef struct pawl_detached_options {
  size_t size;
  const char* version; /* null: the worker's default */
} pawl_detached_options;
static inline void pawl_detached_options_init(pawl_detached_options* options) {
  pawl_init(PAWL_STRUCT_DETACHED_OPTIONS, options, sizeof *options);
}

/* The input and the identity of the instance and of its code, and the time in ms of the event that
 * the code has come to. */
pawl_text pawl_input(const pawl_ctx* ctx);
pawl_text pawl_instance_id(const pawl_ctx* ctx);
int64_t pawl_execution_id(const pawl_ctx* ctx);
pawl_text pawl_orchestration_name(const pawl_ctx* ctx);
pawl_text pawl_orchestration_version(const pawl_ctx* ctx);
pawl_text pawl_trace_id(const pawl_ctx* ctx); /* pawl_start_options::trace_id; empty: none */
int64_t pawl_now_ms(const pawl_ctx* ctx);
int pawl_is_replaying(const pawl_ctx* ctx);
int pawl_is_suspended(const pawl_ctx* ctx); /* 1: an await answered PAWL_PENDING */
uint32_t pawl_history_length(const pawl_ctx* ctx);
int pawl_is_continue_as_new_due(const pawl_ctx* ctx);
int pawl_cancel_requested(const pawl_ctx* ctx);
/* 1: *out is the reason of the request; 0: there is none. `out` may be null. */
int pawl_get_cancel_reason(const pawl_ctx* ctx, pawl_text* out);

/* ---- commands ---- */

/* Each schedules something and gives its handle; a bad argument makes the outcome an error
 * (PAWL_ERROR_INVALID_ARGUMENT, PAWL_ERROR_LIMIT). `options` may be null. */
pawl_handle pawl_schedule_activity(pawl_ctx* ctx, const char* name, const void* input, size_t size,
                                   const pawl_activity_options* options);
pawl_handle pawl_schedule_timer(pawl_ctx* ctx, int64_t delay_ms);
pawl_handle pawl_schedule_timer_at(pawl_ctx* ctx, int64_t utc_ms);
pawl_handle pawl_schedule_wait(pawl_ctx* ctx, const char* event);
pawl_handle pawl_dequeue_event(pawl_ctx* ctx, const char* queue);
/* The same, answered within this turn: PAWL_ERROR_NOT_FOUND if no message waits. */
pawl_handle pawl_try_dequeue_event(pawl_ctx* ctx, const char* queue);
pawl_handle pawl_schedule_child(pawl_ctx* ctx, const char* name, const void* input, size_t size,
                                const pawl_child_options* options);
/* Reads a value of another instance: PAWL_ERROR_NO_INSTANCE, PAWL_ERROR_NOT_FOUND. */
pawl_handle pawl_get_value_from(pawl_ctx* ctx, const char* instance, const char* key);

/* Send a message to an instance, also to this one, in the commit of this turn; the answer need not
 * be awaited: PAWL_ERROR_NO_INSTANCE, PAWL_ERROR_LIMIT, PAWL_ERROR_APPLICATION. */
pawl_handle pawl_enqueue_event(pawl_ctx* ctx, const char* id, const char* queue,
                               const void* payload, size_t size, const pawl_send_options* options);
pawl_handle pawl_raise_event(pawl_ctx* ctx, const char* id, const char* event, const void* payload,
                             size_t size, const pawl_send_options* options);

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
int pawl_start_detached(pawl_ctx* ctx, const char* name, const char* id, const void* input,
                        size_t size, const pawl_detached_options* options);
/* Answer the call that this awaited handle of pawl_dequeue_event() took: with a value, or with the
 * text of a refusal. PAWL_ERROR_NOT_FOUND: the message is no call, or was not received here. */
int pawl_reply(pawl_ctx* ctx, pawl_handle message, const void* value, size_t size);
int pawl_refuse(pawl_ctx* ctx, pawl_handle message, const char* text);
/* 1: *number names that call, for a later turn or execution of this instance; 0: it is none. */
int pawl_get_call_number(pawl_ctx* ctx, pawl_handle message, int64_t* number);
int pawl_reply_to(pawl_ctx* ctx, int64_t number, const void* value, size_t size);
int pawl_refuse_to(pawl_ctx* ctx, int64_t number, const char* text);
int pawl_set_custom_status(pawl_ctx* ctx, const void* text, size_t size); /* at most 4096 bytes */
void pawl_reset_custom_status(pawl_ctx* ctx);
pawl_text pawl_get_custom_status(pawl_ctx* ctx); /* empty: none */

/* ---- values that the instance keeps ---- */

int pawl_set_value(pawl_ctx* ctx, const char* key, const void* value, size_t size);
int pawl_clear_value(pawl_ctx* ctx, const char* key);
/* 1: *out is the value; 0: there is none. `out` may be null. */
int pawl_get_value(pawl_ctx* ctx, const char* key, pawl_text* out);
size_t pawl_count_values(pawl_ctx* ctx);
/* One value. Zeroed, it stands before the first. */
typedef struct pawl_value {
  pawl_text key;
  pawl_text value;
  int64_t updated_ms; /* UTC of the last write, as it was known then */
} pawl_value;
/* Goes on to the next value, in the order of keys. 1: *value is that; 0: there is none. */
int pawl_next_value(pawl_ctx* ctx, pawl_value* value);
/* Remove values: all, or those that were written last before this time. They answer how many. */
size_t pawl_clear_values(pawl_ctx* ctx);
size_t pawl_prune_values(pawl_ctx* ctx, int64_t updated_before_ms);

/* These are recorded, and so the same in every replay. `out` takes 36 characters and a zero
 * byte. */
void pawl_new_guid(pawl_ctx* ctx, char out[37]);
int64_t pawl_utc_now_ms(pawl_ctx* ctx);
/* Writes to the log once, after the commit of the turn that first came here. `level` is a
 * pawl_level. Answers PAWL_ERROR_NONE; PAWL_ERROR_INVALID_ARGUMENT: it is none. */
int pawl_trace(pawl_ctx* ctx, int level, const char* text);

/* ---- endings ---- */

/* These end the execution, or the branch. Return what they return. */
pawl_poll pawl_complete(pawl_ctx* ctx, const void* output, size_t size);
pawl_poll pawl_fail(pawl_ctx* ctx, const char* text);
pawl_poll pawl_fail_with(pawl_ctx* ctx, const pawl_outcome* outcome); /* hands an error on */
/* Not in a branch. `version`: of the next execution; null: the worker's default. */
pawl_poll pawl_continue_as_new(pawl_ctx* ctx, const void* input, size_t size, const char* version);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

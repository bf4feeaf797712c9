/* pawl_activity.h: the part of pawl.h for activities. Include pawl.h, which has the rules. */
#ifndef PAWL_PAWL_ACTIVITY_H
#define PAWL_PAWL_ACTIVITY_H

#include "pawl/pawl_types.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_mode {
  PAWL_INLINE = 0,  /* short: runs on the host's thread */
  PAWL_THREADED = 1 /* may block: runs on a pool thread */
} pawl_mode;

typedef enum pawl_cancel_reason {
  PAWL_NOT_CANCELLED = 0,
  PAWL_CANCELLED = 1, /* by its code, which closed its session, cancelled it, or has ended */
  PAWL_DEADLINE = 2,  /* a limit of pawl_activity_options has passed */
  PAWL_LOST = 3,      /* another worker has the work, or may have it */
  PAWL_SHUTDOWN = 4   /* this host stops in order */
} pawl_cancel_reason;

/* Runs at least once, and again after a crash, so use the idempotency key where that matters. It
 * ends with pawl_activity_ok() or one of its like; without one it fails and is not tried again. */
typedef void (*pawl_activity_fn)(pawl_activity* activity, void* user);

/* Call all of these on the thread of the activity. */
pawl_text pawl_activity_input(const pawl_activity* activity);
pawl_text pawl_activity_name(const pawl_activity* activity);
/* The instance, the execution and the orchestration that scheduled it. */
pawl_text pawl_activity_instance_id(const pawl_activity* activity);
int64_t pawl_activity_execution_id(const pawl_activity* activity);
pawl_text pawl_activity_orchestration_name(const pawl_activity* activity);
pawl_text pawl_activity_orchestration_version(const pawl_activity* activity);
/* The event that scheduled it: the same for every attempt, and unique in its execution. */
int64_t pawl_activity_id(const pawl_activity* activity);
/* The trace_id of pawl_start_options, for the activity to hand on to whatever it calls. Empty:
 * none. */
pawl_text pawl_activity_trace_id(const pawl_activity* activity);
pawl_text pawl_activity_tag(const pawl_activity* activity);       /* empty: none */
pawl_text pawl_activity_worker_id(const pawl_activity* activity); /* worker_node_id of the host */
pawl_text pawl_activity_idempotency_key(const pawl_activity* activity);
int64_t pawl_activity_attempt(const pawl_activity* activity);       /* hand-overs, from 1 */
int64_t pawl_activity_retry_attempt(const pawl_activity* activity); /* 1 and failed attempts */

/* ---- its session ---- */

pawl_text pawl_activity_session_id(const pawl_activity* activity); /* empty: no session */
/* Rises at every change of the session's owner; 0: no session. Give it to devices that can refuse
 * an older one. */
int64_t pawl_activity_session_epoch(const pawl_activity* activity);
/* 1 for the first hand-over of this epoch: whatever this process kept for the session before is
 * invalid. */
int pawl_activity_claimed_now(const pawl_activity* activity);
/* The summary of pawl_handoff_session(), for the first activity of each later ownership. */
pawl_text pawl_activity_session_summary(const pawl_activity* activity);
/* The path of the session's folder (pawl_host_options::work_root), with a zero byte behind it;
 * empty: none. */
pawl_text pawl_activity_session_folder(const pawl_activity* activity);
int64_t pawl_activity_session_lease_left_ms(const pawl_activity* activity); /* 0: no session */
/* Ends the session's ownership with the result of this activity, because the state that this
 * process kept for it is of no use any more: one that fails on loss is lost ("aborted"), any other
 * is released. No retry follows. Without a session the call does nothing. */
void pawl_activity_abort_session(pawl_activity* activity);

/* ---- while it runs ---- */

/* The reason why it should return early, if there is one. Its result is not taken then; for
 * PAWL_SHUTDOWN see "Stopped" in docs/guide/activities.md. */
pawl_cancel_reason pawl_activity_cancel_reason(const pawl_activity* activity);
/* The time until the first limit of this attempt, or the end of a stopping host's grace; 0 ms: it
 * has passed; none: no limit. */
pawl_optional_ms pawl_activity_time_left(const pawl_activity* activity);
/* Says that it is alive, with at most 256 bytes of progress, which clients that watch get at once.
 * PAWL_RESOURCE_EXHAUSTED: more. */
pawl_status pawl_activity_heartbeat(pawl_activity* activity, const void* progress, size_t size);
pawl_text pawl_activity_last_progress(const pawl_activity* activity); /* an earlier attempt's */
/* Commits the result without waiting for commit_window_ms: for activities that moved something. */
void pawl_activity_commit_now(pawl_activity* activity);
/* Writes to the log at once. `level` is a pawl_level.
 * Returns PAWL_OK; PAWL_INVALID_ARGUMENT: it is none. */
pawl_status pawl_activity_trace(pawl_activity* activity, int level, const char* text);

/* ---- its end ---- */

/* These end the activity, in order: with its result, of at most payload_bytes_max bytes (else it
 * fails); with an error, after which another attempt may follow; with an error that none follows;
 * without an outcome, and the work goes back into the queue. The last call counts. */
void pawl_activity_ok(pawl_activity* activity, const void* result, size_t size);
void pawl_activity_fail(pawl_activity* activity, const char* text);
void pawl_activity_fail_permanently(pawl_activity* activity, const char* text);
void pawl_activity_hand_back(pawl_activity* activity);

/* ---- in steps ---- */

/* A long activity in short steps on the host's thread. `state` is the same for all steps of an
 * attempt: PAWL_STEP_STATE_BYTES bytes, all zero before the first, aligned for any type, and gone
 * with the attempt. Nothing is called when that ends, so keep nothing there that must be freed. A
 * step ends the activity as above, or asks for the next step: after wait_ms (0: with the next
 * tick), or when `fd` is readable, or after limit_ms. One that does neither fails the activity. */
#define PAWL_STEP_STATE_BYTES 256
typedef void (*pawl_step_fn)(pawl_activity* activity, void* state, void* user);
void pawl_step_again_after(pawl_activity* activity, int64_t wait_ms);
void pawl_step_when_readable(pawl_activity* activity, int fd, int64_t limit_ms);
/* 1: this step runs because its descriptor is readable; 0: its limit has passed. */
int pawl_step_is_readable(const pawl_activity* activity);

/* ---- completed from outside ---- */

/* Copies the token of this hand-over, with a zero byte behind it, for a link or a device: it
 * completes the activity (pawl_client_complete_activity()). It is valid at once: an answer
 * that comes before the activity has returned counts, and asks it to return. It is good for this
 * attempt alone: after a failure that is retried, a cancellation, a limit or a crash of this
 * attempt no activity waits for it. Empty: pawl_host_allow_complete_later() was not called. */
#define PAWL_TOKEN_BYTES 53
void pawl_activity_completion_token(const pawl_activity* activity, char out[PAWL_TOKEN_BYTES]);

typedef enum pawl_while_outside {
  PAWL_FREES_SESSION = 0, /* its session goes on as if the activity had ended */
  PAWL_HOLDS_SESSION = 1  /* as if it ran: nothing else of an exclusive session starts */
} pawl_while_outside;
/* Ends this execution, as those above, and leaves the activity to an answer from outside. Until
 * then it has neither slot nor lease; limits of pawl_activity_options go on. `session` is a
 * pawl_while_outside. Without a token, or with a number that is none, the activity fails. */
void pawl_activity_complete_later(pawl_activity* activity, int session);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

/* pawl_session.h: the part of pawl.h for sessions in the code of orchestrations. Include pawl.h,
 * which has the rules; docs/guide/sessions.md says how sessions work. */
#ifndef PAWL_PAWL_SESSION_H
#define PAWL_PAWL_SESSION_H

#include "pawl/pawl_orchestration.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* The members of pawl::SessionSettings (pawl/session.hpp), which has their ranges; a limit of 0 is
 * none. */
typedef struct pawl_session_settings {
  size_t size;
  const char* owner_label; /* null: none */
  const char* kind;        /* null: none */
  int exclusive;           /* one activity at a time, in the order of scheduling */
  int fail_on_loss;        /* lost with its owner, instead of moving */
  int notify;              /* each change is a message: pawl_session_events() */
  int64_t idle_timeout_ms;
  int64_t idle_close_ms;
  int64_t idle_close_notice_ms;
  int64_t max_age_ms;
  int64_t expiry_notice_ms;
  int64_t max_activities;
  int64_t activity_warning;
  int64_t rate_interval_ms;
  int64_t rate_burst; /* 1 by default */
  int64_t rate_wait_ms;
} pawl_session_settings;
static inline void pawl_session_settings_init(pawl_session_settings* settings) {
  pawl_init(PAWL_STRUCT_SESSION_SETTINGS, settings, sizeof *settings);
}

/* Opens a session of this instance, in the commit of this turn. With an id an open one is found
 * again as it is, also after pawl_continue_as_new(); without one (null) its identity is the place
 * of this call in the code. `settings` may be null.
 * Returns the session; an empty one if id or settings are refused: its activities answer
 * PAWL_ERROR_INVALID_ARGUMENT. */
pawl_session pawl_open_session(pawl_ctx* ctx, const char* id,
                               const pawl_session_settings* settings);
/* Gives settings to the shared session of this name, and makes it if there is none, or it has
 * ended. Returns the session, or an empty one. */
pawl_session pawl_use_session(pawl_ctx* ctx, const char* name,
                              const pawl_session_settings* settings);
/* A session that another instance opened, to work on it until that closes it or ends. Nothing is
 * recorded. Both texts must live until the function returns. Returns the session, or an empty
 * one. */
pawl_session pawl_adopt_session(pawl_ctx* ctx, const char* instance, const char* session);
/* The session of an id, for the calls below but pawl_change_session(), pawl_session_opened() and
 * pawl_session_events(): one that this instance opened, in this execution or an earlier one; for
 * holds and handoffs a shared one of this name comes first. The text must live until the function
 * returns. Nothing is recorded. */
pawl_session pawl_session_of(const char* id);
/* Its id; empty: the session is empty. It lives until the function returns. */
pawl_text pawl_session_id(const pawl_session* session);

/* Asks whether the session is open when the commit of this turn comes to this place. The outcome is
 * empty, or PAWL_ERROR_LIMIT (too many are open), PAWL_ERROR_SESSION_LOST,
 * PAWL_ERROR_SESSION_CLOSED. */
pawl_handle pawl_session_opened(pawl_ctx* ctx, const pawl_session* session);
/* Waits for the next message about a session that notifies; pawl_read_session_event() reads the
 * value of the outcome. */
pawl_handle pawl_session_events(pawl_ctx* ctx, const pawl_session* session);

/* These answer PAWL_ERROR_NONE, or the error; nothing is recorded then. None takes an adopted
 * session or an empty one: PAWL_ERROR_INVALID_ARGUMENT. */

/* Changes the settings of an open session, all of them; the last change wins. Null settings are the
 * defaults. */
int pawl_change_session(pawl_ctx* ctx, const pawl_session* session,
                        const pawl_session_settings* settings);
/* Closes it: its activities without a result fail with PAWL_ERROR_SESSION_CLOSED, and those that
 * run are cancelled. */
int pawl_close_session(pawl_ctx* ctx, const pawl_session* session);
/* Keeps it with its owner for hold_ms without work; 0 ends the hold. */
int pawl_hold_session(pawl_ctx* ctx, const pawl_session* session, int64_t hold_ms);
/* Gives it to the workers that serve `tag` (null or "": to those that take work without a tag),
 * with a summary of at most 4096 bytes for its next owners (PAWL_ERROR_LIMIT): see
 * pawl_activity_session_summary(). */
int pawl_handoff_session(pawl_ctx* ctx, const pawl_session* session, const char* tag,
                         const void* summary, size_t size);

/* ---- texts about sessions ---- */

/* A message of pawl_session_events(), or with `change` "lost" the text of a
 * PAWL_ERROR_SESSION_LOST. Texts end with a zero byte; empty: there is none. */
typedef struct pawl_session_event {
  size_t size;
  int64_t epoch;
  char change[24];   /* "claimed", "migrated", "released", "lost", "ending", "closing", "closed",
                        "expiring", "expired", "near_limit" */
  char from[264];    /* nodes of owners */
  char to[264];      /* of a loss: empty */
  char session[264]; /* of a loss: its id; else empty */
  char reason[520];  /* of a loss: "buried", "shutdown", "taken over", "aborted", .. */
} pawl_session_event;
/* Returns PAWL_OK; PAWL_CORRUPT: the text is none of these; PAWL_RESOURCE_EXHAUSTED: a member is
 * longer than Pawl writes it. Any thread, and code. */
pawl_status pawl_read_session_event(pawl_text text, pawl_session_event* out);
pawl_status pawl_read_session_loss(pawl_text text, pawl_session_event* out);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

/* pawl_host.h: the part of pawl.h for hosts, which run orchestrations and activities. Include
 * pawl.h, which has the rules. */
#ifndef PAWL_PAWL_HOST_H
#define PAWL_PAWL_HOST_H

#include "pawl/pawl_activity.h"
#include "pawl/pawl_orchestration.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pawl_wall_trust { /* when the wall clock is trusted; UTC timers need it */
                               PAWL_TRUST_KERNEL = 0, /* the kernel says that it is synchronised */
                               PAWL_TRUST_ALWAYS = 3,
                               PAWL_TRUST_NEVER = 4
} pawl_wall_trust;

typedef enum pawl_tag_mode { /* which activities a host takes, by their tag */
                             PAWL_TAGS_DEFAULT_ONLY = 0, /* those without a tag */
                             PAWL_TAGS_ONLY = 1,         /* those with one of `tags` */
                             PAWL_TAGS_DEFAULT_AND = 2,  /* both */
                             PAWL_TAGS_ANY = 3,          /* all */
                             PAWL_TAGS_NONE = 4          /* no activities at all */
} pawl_tag_mode;

/* `level` is a pawl_level. `line` is one line without its end, and no zero byte is behind it. The
 * call comes on the host's thread and on pool threads. The function must not call Pawl. */
typedef void (*pawl_log_fn)(void* user, int level, const char* line, size_t size);

typedef enum pawl_owner_change {
  PAWL_OWNER_CLAIMED = 0, /* this host owns the session, before its first activity begins */
  PAWL_OWNER_LOST = 1,    /* it does not own it any more; `session` is empty if its row is gone */
  PAWL_OWNER_ENDING = 2   /* it stops in order, and releases it when its running work has ended */
} pawl_owner_change;
/* The host gets a session, or loses one: open and close what belongs to it. It comes on the host's
 * thread and must neither block nor call Pawl. */
typedef void (*pawl_owner_fn)(void* user, pawl_owner_change change, pawl_text session,
                              int64_t epoch);

/* The options of pawl::Options (pawl/options.hpp) that a host of C may change, with their ranges
 * and defaults. */
typedef struct pawl_host_options {
  size_t size;
  const char* database_path; /* required; its folder exists */
  /* Null: the file. Copied by pawl_host_open(); then what lies beside it on this machine begins
   * with database_path. */
  const pawl_server_database* database;
  const char* worker_node_id; /* null: a new one at each start */
  int small;                  /* 1: every limit that is not here is that of Options::small() */
  int run_orchestrations;     /* 0: activities only */
  int catch_signals;          /* 1: SIGINT and SIGTERM end pawl_host_run() in order */
  int wall_trust;             /* pawl_wall_trust */
  int synchronous_full;       /* 0: a power cut may lose acknowledged work */
  uint32_t clients_max;       /* clients of this process, 0 to 31; sizes memory */
  int64_t grace_ms;           /* running activities have this long at the stop */
  pawl_log_fn log;            /* null: warnings and errors go to standard error */
  void* log_user;
  /* ---- work ---- */
  int tag_mode;            /* pawl_tag_mode */
  uint32_t tag_count;      /* 1 to 5, or 0 for a mode that has none */
  const char* const* tags; /* copied by pawl_host_open() */
  uint32_t threads;        /* for PAWL_THREADED activities at once */
  uint32_t inline_activities;
  uint32_t cooperative; /* activities in steps at once */
  uint32_t payload_bytes_max;
  uint32_t history_events_max;
  uint32_t queue_messages_max;
  uint32_t kv_keys_max;
  /* ---- sessions ---- */
  uint32_t max_sessions_per_worker;
  uint32_t max_sessions_per_orchestration;
  uint32_t max_sessions_per_owner;
  int audit_activities;
  const char* work_root;      /* an existing folder for folders of sessions; null: none */
  pawl_owner_fn owner_change; /* null: not called */
  void* owner_user;
  int64_t session_lock_timeout_ms;
  int64_t session_lock_renewal_buffer_ms;
  int64_t session_idle_timeout_ms;
  int64_t session_cleanup_interval_ms;
  int64_t evict_idle_ms;
  int64_t leak_open_ms;
  int64_t leak_unused_ms;
  /* ---- times ---- */
  int64_t worker_lock_timeout_ms;
  int64_t worker_lock_renewal_buffer_ms;
  int64_t commit_window_ms;
  int64_t busy_max_ms;
  int64_t heartbeat_interval_ms;
  int64_t activity_grace_ms;
  int64_t cancel_grace_ms;
  /* ---- what is kept ---- */
  int64_t retention_age_ms;
  uint32_t retention_count;
  uint32_t retention_executions;
  int64_t quota_bytes;
  int64_t log_bytes_max;
} pawl_host_options;
/* Fill in the defaults. With those of the second the whole needs some 2 MiB. */
static inline void pawl_host_options_init(pawl_host_options* options) {
  pawl_init(PAWL_STRUCT_HOST_OPTIONS, options, sizeof *options);
}
static inline void pawl_host_options_init_small(pawl_host_options* options) {
  pawl_init(PAWL_STRUCT_SMALL_HOST_OPTIONS, options, sizeof *options);
}

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
/* Allows an activity to call pawl_activity_complete_later(): each of its hand-overs gets a token.
 * Returns PAWL_OK; PAWL_NOT_FOUND: it is not registered; PAWL_STALE: as above. */
pawl_status pawl_host_allow_complete_later(pawl_host* host, const char* name);
/* Sets the version that an execution begins with when none was asked for; null: the latest.
 * Returns PAWL_OK; PAWL_NOT_FOUND: it is not registered; PAWL_STALE: as above. */
pawl_status pawl_host_set_default_version(pawl_host* host, const char* name, const char* version);
/* Gives a time limit to instances of an orchestration whose start gives none, children and detached
 * ones included; it counts from the first turn. A later call for the name replaces it. limit_ms:
 * above 0.
 * Returns PAWL_OK; PAWL_NOT_FOUND: it is not registered; PAWL_STALE: as above. */
pawl_status pawl_host_set_time_limit(pawl_host* host, const char* name, int64_t limit_ms);
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
/* 1: a watchdog may be fed (Runtime::ready()); 0 also before the start and for null. */
int pawl_host_is_ready(const pawl_host* host);
/* The worker_node_id, or the generated name; empty: not started. It lives as long as the host
 * runs. */
pawl_text pawl_host_worker_id(const pawl_host* host);
/* Make the host stop, or look for work now. Any thread, and signal handlers. The host must have
 * started and not be closed meanwhile. */
void pawl_host_request_stop(pawl_host* host);
void pawl_host_wake(pawl_host* host);
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

/* ---- calls on the host's thread, with the next tick ---- */

/* Each does what the call of pawl_client_ does, with the next tick. `answer`, which may be null,
 * comes then, on the host's thread. Returns PAWL_OK: it was asked; PAWL_STOPPED;
 * PAWL_RESOURCE_EXHAUSTED: too many calls wait. */
typedef void (*pawl_answer_fn)(void* user, pawl_status status);
pawl_status pawl_host_start_orchestration(pawl_host* host, const char* name, const char* id,
                                          const void* input, size_t size,
                                          const pawl_start_options* options, pawl_answer_fn answer,
                                          void* user);
pawl_status pawl_host_raise_event(pawl_host* host, const char* id, const char* event,
                                  const void* payload, size_t size,
                                  const pawl_send_options* options, pawl_answer_fn answer,
                                  void* user);
pawl_status pawl_host_enqueue(pawl_host* host, const char* id, const char* queue,
                              const void* payload, size_t size, const pawl_send_options* options,
                              pawl_answer_fn answer, void* user);
pawl_status pawl_host_cancel(pawl_host* host, const char* id, const char* reason,
                             pawl_answer_fn answer, void* user);
pawl_status pawl_host_terminate(pawl_host* host, const char* id, const char* reason,
                                pawl_answer_fn answer, void* user);
pawl_status pawl_host_suspend(pawl_host* host, const char* id, pawl_answer_fn answer, void* user);
pawl_status pawl_host_resume(pawl_host* host, const char* id, pawl_answer_fn answer, void* user);
pawl_status pawl_host_change_time_limit(pawl_host* host, const char* id, int64_t limit_ms,
                                        pawl_answer_fn answer, void* user);
pawl_status pawl_host_complete_activity(pawl_host* host, const char* token, const void* result,
                                        size_t size, pawl_answer_fn answer, void* user);
pawl_status pawl_host_fail_activity(pawl_host* host, const char* token, const char* text,
                                    int permanent, pawl_answer_fn answer, void* user);
pawl_status pawl_host_heartbeat_activity(pawl_host* host, const char* token, const void* progress,
                                         size_t size, pawl_answer_fn answer, void* user);
pawl_status pawl_host_delete(pawl_host* host, const char* id, int force, pawl_answer_fn answer,
                             void* user);
pawl_status pawl_host_prune(pawl_host* host, const char* id, int64_t keep_last,
                            int64_t ended_before_ms, pawl_answer_fn answer, void* user);

/* ---- devices ---- */

/* Declares that this host holds the hardware of `device`: only it owns the session of that name
 * from now on (PAWL_DEVICE), until it withdraws the device or ends. With `standby` it takes over
 * when a living holder is gone.
 * Returns as those above. The answer: PAWL_OK; PAWL_DEVICE_HELD: a living worker has declared it,
 * and this one is no standby; PAWL_RESOURCE_EXHAUSTED: more than 32. */
pawl_status pawl_host_declare_session(pawl_host* host, const char* device, int standby,
                                      pawl_answer_fn answer, void* user);
/* Withdraws it; work that runs on it may end first, within 20 s.
 * Returns as those above. The answer: PAWL_OK; PAWL_NOT_FOUND: not declared here. */
pawl_status pawl_host_withdraw_session(pawl_host* host, const char* device, pawl_answer_fn answer,
                                       void* user);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

/* pawl_manage.h: the part of pawl.h for managing instances: verbs, listings, removal. Include
 * pawl.h, which has the rules.
 *
 * Visitors: a listing shows each row to a function, which must not call the client. Numbers and
 * texts of a row mean what the structs of the same names in pawl/management.hpp say; an empty text
 * is none. */
#ifndef PAWL_PAWL_MANAGE_H
#define PAWL_PAWL_MANAGE_H

#include "pawl/pawl_client.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- instances ---- */

/* Ends the instance now as failed, with PAWL_ERROR_TERMINATED. PAWL_NOT_FOUND; PAWL_STALE: it has
 * ended. */
pawl_status pawl_client_terminate(pawl_client* client, const char* id, const char* reason);
/* Stop turns until the resume; let a suspended or stopped instance go on. PAWL_NOT_FOUND;
 * PAWL_STALE: it has ended. */
pawl_status pawl_client_suspend(pawl_client* client, const char* id);
pawl_status pawl_client_resume(pawl_client* client, const char* id);
/* Gives the instance this time limit, which counts from now, in place of the one it has
 * (pawl_start_options). 0 removes that, and the one of its definition, until a start begins its
 * next execution. limit_ms: 0 or more. PAWL_NOT_FOUND; PAWL_STALE: it has ended, is being
 * terminated, or was asked to stop, which stays so. */
pawl_status pawl_client_change_time_limit(pawl_client* client, const char* id, int64_t limit_ms);

typedef enum pawl_restart_from {
  PAWL_FROM_START = 0,          /* with the input of the last execution, and nothing else */
  PAWL_FROM_LAST_GOOD_EVENT = 1 /* up to before the activity or child that led to the failure */
} pawl_restart_from;
typedef struct pawl_restart_options {
  size_t size;
  const char* version; /* for PAWL_FROM_START; null: the worker's default */
  const char* by;      /* the person who asked; null: "operator" */
} pawl_restart_options;
static inline void pawl_restart_options_init(pawl_restart_options* options) {
  pawl_init(PAWL_STRUCT_RESTART_OPTIONS, options, sizeof *options);
}
/* Lets an instance that failed or is stopped go on in a next execution. `from` is a
 * pawl_restart_from. PAWL_NOT_FOUND; PAWL_STILL_RUNNING; PAWL_NOT_RESTARTABLE;
 * PAWL_CHILD_INSTANCE; PAWL_ALREADY_EXISTS; PAWL_CORRUPT; PAWL_QUOTA: as
 * Client::restart_instance(). */
pawl_status pawl_client_restart(pawl_client* client, const char* id, int from,
                                const pawl_restart_options* options);

typedef struct pawl_instance_info {
  size_t size;
  int64_t key; /* order of creation; never reused */
  pawl_text id;
  pawl_text name;
  pawl_text version;
  pawl_text parent_id; /* empty: a root */
  pawl_text trace_id;
  int state; /* pawl_state */
  int64_t execution_id;
  int64_t created_ms;
  int64_t updated_ms;
  int64_t timers_without_clock;
  int64_t unread_messages;
  pawl_optional_ms time_limit;
  pawl_optional_ms time_left; /* 0 ms: it is over, and the next tick asks the instance to stop */
} pawl_instance_info;
typedef void (*pawl_instance_fn)(void* user, const pawl_instance_info* info);

/* An instance must match all members that are set; of a range [from, before) 0 is open. */
typedef struct pawl_instance_filter {
  size_t size;
  const char* name;      /* the orchestration's; null: any */
  const char* id_prefix; /* null: any */
  int any_state;         /* 1 by default */
  int state;             /* pawl_state, unless any_state */
  int roots_only;        /* no children */
  int64_t created_from_ms;
  int64_t created_before_ms;
  int64_t updated_from_ms;
  int64_t updated_before_ms;
} pawl_instance_filter;
static inline void pawl_instance_filter_init(pawl_instance_filter* filter) {
  pawl_init(PAWL_STRUCT_INSTANCE_FILTER, filter, sizeof *filter);
}
/* Lists a page of the instances in order of their creation. A null filter: all. */
pawl_status pawl_client_list(pawl_client* client, const pawl_instance_filter* filter,
                             pawl_page* page, pawl_instance_fn visit, void* user);
/* Lists the children of an instance, or its whole tree, root first. PAWL_NOT_FOUND. */
pawl_status pawl_client_list_children(pawl_client* client, const char* id, pawl_page* page,
                                      pawl_instance_fn visit, void* user);
pawl_status pawl_client_list_tree(pawl_client* client, const char* id, pawl_page* page,
                                  pawl_instance_fn visit, void* user);
/* Reads one instance. PAWL_NOT_FOUND. */
pawl_status pawl_client_get_info(pawl_client* client, const char* id, pawl_instance_info* out);
/* Asks the instances of a page that have not ended to stop; *asked, which may be null, counts
 * them. */
pawl_status pawl_client_cancel_all(pawl_client* client, const pawl_instance_filter* filter,
                                   pawl_page* page, const char* reason, int64_t* asked);

typedef struct pawl_instance_stats {
  size_t size;
  int64_t history_events;
  int64_t history_bytes;
  int64_t messages_waiting;
  int64_t kv_keys;
  int64_t kv_bytes;
} pawl_instance_stats;
/* Reads how much an instance holds. PAWL_NOT_FOUND. */
pawl_status pawl_client_get_stats(pawl_client* client, const char* id, pawl_instance_stats* out);

typedef enum pawl_execution_state {
  PAWL_EXECUTION_RUNNING = 0,
  PAWL_EXECUTION_COMPLETED = 1,
  PAWL_EXECUTION_FAILED = 2,
  PAWL_EXECUTION_CONTINUED_AS_NEW = 3
} pawl_execution_state;
typedef struct pawl_execution_info {
  size_t size;
  int64_t execution_id;
  int64_t events;
  int64_t started_ms;
  int64_t ended_ms; /* 0 while it runs */
  int state;        /* pawl_execution_state */
  int error;
  pawl_text output; /* the result, the text of the error, or the input of the next execution */
} pawl_execution_info;
typedef void (*pawl_execution_fn)(void* user, const pawl_execution_info* info);
/* Lists the executions that have a history, oldest first. PAWL_NOT_FOUND. */
pawl_status pawl_client_list_executions(pawl_client* client, const char* id,
                                        pawl_execution_fn visit, void* user);

typedef struct pawl_history_event {
  size_t size;
  const char* kind; /* "activity", "activity_done" .. (docs/format/numbers.md); stays for ever */
  int error;        /* PAWL_ERROR_NONE and its like */
  int64_t id;
  int64_t branch;
  int64_t ordinal;
  int64_t ref; /* a completion's: the event that asked */
  int64_t time_ms;
  int64_t number;
  pawl_text name;
  pawl_text session;
  pawl_text tag;
  pawl_text version;
  pawl_text payload;
} pawl_history_event;
typedef void (*pawl_history_fn)(void* user, const pawl_history_event* event);
/* Reads a page of the events of an execution (0: the current one). PAWL_NOT_FOUND; PAWL_CORRUPT:
 * a row is damaged, those before it were shown. */
pawl_status pawl_client_read_history(pawl_client* client, const char* id, int64_t execution_id,
                                     pawl_page* page, pawl_history_fn visit, void* user);

typedef enum pawl_activity_state {
  PAWL_ACTIVITY_READY = 0,
  PAWL_ACTIVITY_RUNNING = 1,
  PAWL_ACTIVITY_DELAYED = 2, /* it pauses before an attempt, or no worker has its name */
  PAWL_ACTIVITY_OUTSIDE = 3  /* it will be completed from outside */
} pawl_activity_state;
typedef struct pawl_activity_info {
  size_t size;
  pawl_text name;
  pawl_text node; /* PAWL_ACTIVITY_RUNNING: the worker's */
  pawl_text last_progress;
  pawl_text last_error;
  int state;           /* pawl_activity_state */
  int64_t activity_id; /* the event that scheduled it */
  int64_t attempt;
  int64_t retry_attempt;
  int64_t outside_since_ms; /* PAWL_ACTIVITY_OUTSIDE: UTC; else 0 */
} pawl_activity_info;
typedef void (*pawl_activity_info_fn)(void* user, const pawl_activity_info* info);
/* Lists the activities of the current execution without an outcome. PAWL_NOT_FOUND. */
pawl_status pawl_client_list_activities(pawl_client* client, const char* id,
                                        pawl_activity_info_fn visit, void* user);

/* An activity of any instance that has no outcome yet. */
typedef struct pawl_work_info {
  size_t size;
  int64_t key; /* order of scheduling */
  pawl_text instance_id;
  int64_t execution_id;
  int64_t activity_id;
  pawl_text name;
  pawl_text session;
  pawl_text tag;
  pawl_text node;
  int64_t attempt;
  int state;       /* pawl_activity_state */
  int is_unserved; /* it waits for a worker that has its name */
  int64_t outside_since_ms;
} pawl_work_info;
typedef void (*pawl_work_fn)(void* user, const pawl_work_info* info);
/* An activity must match all members that are set. */
typedef struct pawl_work_filter {
  size_t size;
  const char* name; /* the activity's; null: any */
  const char* tag;
  const char* session;
  const char* instance_id;
  int any_state; /* 1 by default */
  int state;     /* pawl_activity_state, unless any_state */
} pawl_work_filter;
static inline void pawl_work_filter_init(pawl_work_filter* filter) {
  pawl_init(PAWL_STRUCT_WORK_FILTER, filter, sizeof *filter);
}
/* Lists such activities in the order of their scheduling. A null filter: all. */
pawl_status pawl_client_list_work(pawl_client* client, const pawl_work_filter* filter,
                                  pawl_page* page, pawl_work_fn visit, void* user);

typedef struct pawl_message_info {
  size_t size;
  const char* kind; /* "event", "queue", "timer_fired" .. ; stays for ever */
  pawl_text name;
  pawl_text payload;
  int is_timer;
  int is_unread;  /* its instance ended without it */
  int64_t number; /* order of arrival */
} pawl_message_info;
typedef void (*pawl_message_fn)(void* user, const pawl_message_info* info);
/* Lists the messages that an instance has not taken, in the order of arrival. PAWL_NOT_FOUND. */
pawl_status pawl_client_list_messages(pawl_client* client, const char* id, pawl_page* page,
                                      pawl_message_fn visit, void* user);

/* ---- why something does not go on ---- */

/* Keeps an instance, an activity or a session from going on: pawl/cause.hpp has a line about each.
 */
typedef enum pawl_cause_kind {
  PAWL_CAUSE_ENDED = 0,
  PAWL_CAUSE_STOPPED = 1,
  PAWL_CAUSE_SUSPENDED = 2,
  PAWL_CAUSE_UNKNOWN = 3,
  PAWL_CAUSE_NO_WORKER = 4,
  PAWL_CAUSE_NO_ORCHESTRATION = 5,
  PAWL_CAUSE_PAUSE = 6,
  PAWL_CAUSE_TURN = 7,
  PAWL_CAUSE_TIMER = 8,
  PAWL_CAUSE_NO_CLOCK = 9,
  PAWL_CAUSE_EVENT = 10,
  PAWL_CAUSE_QUEUE = 11,
  PAWL_CAUSE_CHILD = 12,
  PAWL_CAUSE_ANSWER = 13,
  PAWL_CAUSE_RUNS = 14,
  PAWL_CAUSE_ENDING = 15,
  PAWL_CAUSE_OUTSIDE = 16,
  PAWL_CAUSE_RETRY = 17,
  PAWL_CAUSE_NO_ACTIVITY = 18,
  PAWL_CAUSE_NO_TAG = 19,
  PAWL_CAUSE_NO_DEVICE = 20,
  PAWL_CAUSE_MOVING = 21,
  PAWL_CAUSE_HELD = 22,
  PAWL_CAUSE_PACED = 23,
  PAWL_CAUSE_BEHIND = 24,
  PAWL_CAUSE_NO_ROOM = 25,
  PAWL_CAUSE_IDLE = 26,
  PAWL_CAUSE_SESSION_ENDED = 27
} pawl_cause_kind;
/* "no_device"; for a number of a later release "unknown". */
const char* pawl_cause_kind_name(int kind);
/* One sentence: what could be done. */
const char* pawl_cause_help(int kind);
typedef struct pawl_cause {
  size_t size;
  pawl_text instance_id; /* of an activity */
  pawl_text name;        /* of the activity, orchestration, event or queue */
  pawl_text subject;     /* the device, session, tag, child or version */
  pawl_text node;        /* the worker that has it */
  pawl_text error;
  int kind;         /* pawl_cause_kind */
  int64_t event_id; /* of the await or the activity; 0: the whole instance */
  int64_t attempt;
  int64_t since_ms;            /* UTC; 0: not known */
  pawl_optional_ms ends_in_ms; /* when it goes on or fails by itself */
} pawl_cause;
typedef void (*pawl_cause_fn)(void* user, const pawl_cause* cause);
/* Says why an instance, or a session that `instance` opened (null: a shared one), does not go on:
 * at least one cause. PAWL_NOT_FOUND. */
pawl_status pawl_client_explain(pawl_client* client, const char* id, pawl_cause_fn visit,
                                void* user);
pawl_status pawl_client_explain_session(pawl_client* client, const char* instance,
                                        const char* session, pawl_cause_fn visit, void* user);

/* ---- removal ---- */

/* How much a removal removed, children included; it counts also when the call fails. It never
 * grows. Where a pointer to one may be given, null is allowed. */
typedef struct pawl_removed {
  int64_t instances;
  int64_t executions;
  int64_t events;
} pawl_removed;
/* Removes an ended instance and all below it; with `force` also one that runs. PAWL_NOT_FOUND;
 * PAWL_CHILD_INSTANCE: delete its root; PAWL_STILL_RUNNING. */
pawl_status pawl_client_delete(pawl_client* client, const char* id, int force,
                               pawl_removed* removed);
/* Removes the ended trees in a page of pawl_client_list(). */
pawl_status pawl_client_delete_all(pawl_client* client, const pawl_instance_filter* filter,
                                   pawl_page* page, pawl_removed* removed);
/* Remove earlier executions: all but the last keep_last, up to the first that ended at
 * ended_before_ms or later (0: no such limit). PAWL_NOT_FOUND. */
pawl_status pawl_client_prune(pawl_client* client, const char* id, int64_t keep_last,
                              int64_t ended_before_ms, pawl_removed* removed);
pawl_status pawl_client_prune_all(pawl_client* client, const pawl_instance_filter* filter,
                                  pawl_page* page, int64_t keep_last, int64_t ended_before_ms,
                                  pawl_removed* removed);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

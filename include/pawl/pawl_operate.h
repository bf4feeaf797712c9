/* pawl_operate.h: the part of pawl.h for operating sessions, workers and the database. Include
 * pawl.h, which has the rules; for visitors and rows see pawl_manage.h. */
#ifndef PAWL_PAWL_OPERATE_H
#define PAWL_PAWL_OPERATE_H

#include "pawl/pawl_client.h"
#include "pawl/pawl_session.h"
#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sessions and workers ---- */

typedef enum pawl_session_state {
  PAWL_SESSION_IDLE = 0,
  PAWL_SESSION_ACTIVE = 1,
  PAWL_SESSION_LOST = 2,
  PAWL_SESSION_CLOSED = 3,
  PAWL_SESSION_REFUSED = 4,
  PAWL_SESSION_EXPIRED = 5
} pawl_session_state;
typedef struct pawl_session_info {
  size_t size;
  int64_t key;
  pawl_text name;
  pawl_text instance_id; /* the opener; empty: shared by all */
  pawl_text owner_label;
  pawl_text kind;
  pawl_text node; /* the owner's; empty: no owner */
  pawl_text folder;
  int64_t epoch;
  int64_t created_ms;
  int64_t age_ms;
  int64_t quiet_for_ms;
  int64_t activities;
  pawl_optional_ms expires_in;
  pawl_optional_ms waits_for; /* it has work and no owner for so long */
  int64_t lease_ends_in_ms;
  int state;     /* pawl_session_state */
  int device;    /* only the worker that declared it may own it */
  int exclusive; /* one activity at a time */
  int stopping;  /* it moves when its running work has ended */
} pawl_session_info;
typedef void (*pawl_session_fn)(void* user, const pawl_session_info* info);
/* A session must match all members that are set. */
typedef struct pawl_session_filter {
  size_t size;
  const char* node;        /* the owner's; null: any, or none */
  const char* instance_id; /* the opener; null: any, or shared by all */
  const char* owner_label;
  const char* kind;
  int any_state;       /* 1 by default */
  int state;           /* pawl_session_state, unless any_state */
  int64_t open_for_ms; /* leaks: see SessionFilter; 0: not asked for */
  int64_t unused_for_ms;
} pawl_session_filter;
static inline void pawl_session_filter_init(pawl_session_filter* filter) {
  pawl_init(PAWL_STRUCT_SESSION_FILTER, filter, sizeof *filter);
}
/* Lists sessions in the order of their creation. A null filter: all. */
pawl_status pawl_client_list_sessions(pawl_client* client, const pawl_session_filter* filter,
                                      pawl_page* page, pawl_session_fn visit, void* user);

/* In the calls below `instance` is the one that opened the session; null or "": it is shared. */

/* Reads one session. PAWL_NOT_FOUND. */
pawl_status pawl_client_get_session(pawl_client* client, const char* instance, const char* session,
                                    pawl_session_info* out);
/* Closes it as code would. `owner_label` names the caller; null: an administrator. PAWL_NOT_FOUND;
 * PAWL_NOT_OWNER: it is of another label. */
pawl_status pawl_client_close_session(pawl_client* client, const char* instance,
                                      const char* session, const char* owner_label);
/* These do what the calls of code do. PAWL_NOT_FOUND: it is not there, or not open. */
pawl_status pawl_client_hold_session(pawl_client* client, const char* instance, const char* session,
                                     int64_t hold_ms);
pawl_status pawl_client_handoff_session(pawl_client* client, const char* instance,
                                        const char* session, const char* tag, const void* summary,
                                        size_t size);
/* Changes those settings that `which` has the bits of; the others stay. */
enum {
  PAWL_CHANGE_OWNER_LABEL = 1 << 0,
  PAWL_CHANGE_KIND = 1 << 1,
  PAWL_CHANGE_IDLE_TIMEOUT = 1 << 2,
  PAWL_CHANGE_IDLE_CLOSE = 1 << 3,
  PAWL_CHANGE_IDLE_CLOSE_NOTICE = 1 << 4,
  PAWL_CHANGE_MAX_AGE = 1 << 5,
  PAWL_CHANGE_EXPIRY_NOTICE = 1 << 6,
  PAWL_CHANGE_MAX_ACTIVITIES = 1 << 7,
  PAWL_CHANGE_ACTIVITY_WARNING = 1 << 8,
  PAWL_CHANGE_RATE_INTERVAL = 1 << 9,
  PAWL_CHANGE_RATE_BURST = 1 << 10,
  PAWL_CHANGE_RATE_WAIT = 1 << 11
};
pawl_status pawl_client_change_session(pawl_client* client, const char* instance,
                                       const char* session, const pawl_session_settings* settings,
                                       uint32_t which);

typedef struct pawl_transfer_options {
  size_t size;
  const char* instance;    /* the opener, for a transfer; null: it is shared */
  int force;               /* 1: an exclusive session moves, too, when that time is over */
  int64_t stop_timeout_ms; /* running work has so long to end */
} pawl_transfer_options;
static inline void pawl_transfer_options_init(pawl_transfer_options* options) {
  pawl_init(PAWL_STRUCT_TRANSFER_OPTIONS, options, sizeof *options);
}
/* Moves a session to the worker with this worker_node_id; null or "": away from its owner.
 * PAWL_NOT_FOUND; PAWL_NO_ELIGIBLE_TARGET. */
pawl_status pawl_client_transfer_session(pawl_client* client, const char* session, const char* node,
                                         const pawl_transfer_options* options);
/* A draining worker takes nothing new, and its sessions move away. PAWL_NOT_FOUND: no living
 * worker has this worker_node_id. */
pawl_status pawl_client_drain_worker(pawl_client* client, const char* node,
                                     const pawl_transfer_options* options);
pawl_status pawl_client_undrain_worker(pawl_client* client, const char* node);
/* Removes a device that no worker declares and no work waits for. PAWL_NOT_FOUND;
 * PAWL_STILL_RUNNING. */
pawl_status pawl_client_forget_device(pawl_client* client, const char* device);

typedef struct pawl_worker_info {
  size_t size;
  pawl_text node;
  pawl_text tags;     /* one name a line */
  pawl_text handlers; /* names of activities, one a line */
  pawl_text address;  /* on a server: where its connection comes from */
  int draining;
  int any_tag;
  int takes_untagged;
  int disconnected; /* on a server, which has no connection of it */
  int64_t incarnation;
  int64_t pid;
  int64_t lease_ends_in_ms; /* below 0: it is overdue */
  int64_t sessions_max;
  int64_t sessions; /* owned, without devices */
  int64_t devices;
  int64_t sessions_busy;
} pawl_worker_info;
typedef void (*pawl_worker_fn)(void* user, const pawl_worker_info* info);
/* Lists the registered workers. */
pawl_status pawl_client_list_workers(pawl_client* client, pawl_worker_fn visit, void* user);

/* ---- the database ---- */

/* Counts: those up to 1 s, 10 s, 1 min, 10 min, 1 h, 1 d, 7 d and beyond, or up to 0, 1, 10, 100,
 * 1000, 10000, 100000 activities and beyond; the sum, and the most. It never grows. */
typedef struct pawl_histogram {
  uint64_t counts[8];
  int64_t total;
  int64_t most;
} pawl_histogram;
typedef struct pawl_metrics {
  size_t size;
  int64_t instances_running;
  int64_t instances_completed;
  int64_t instances_failed;
  int64_t instances_stopped;
  int64_t instances_suspended;
  int64_t executions;
  int64_t events;
  int64_t messages_waiting;
  int64_t unread_messages;
  int64_t timers_waiting;
  int64_t activities_ready;
  int64_t activities_running;
  int64_t activities_delayed;
  int64_t sessions_waiting;
  int64_t sessions_active;
  int64_t sessions_idle;
  int64_t sessions_lost;
  int64_t sessions_created;
  uint64_t sessions_ended;
  pawl_histogram sessions_lasted_ms;
  pawl_histogram sessions_activities;
  int64_t used_bytes;
  int64_t log_bytes;
  int64_t quota_bytes;
  int refuses_new; /* over the quota, or the disk was full */
  int complete;    /* 0: a table has more rows than were read */
  int64_t activities_outside;
} pawl_metrics;
/* Counts what the database holds. */
pawl_status pawl_client_get_metrics(pawl_client* client, pawl_metrics* out);
/* Sets the quota of the database; 0: none, else 256 KiB to 1 << 50. */
pawl_status pawl_client_set_quota(pawl_client* client, int64_t bytes);

#ifdef __cplusplus
} /* extern "C" */
#endif
#pragma GCC visibility pop

#endif

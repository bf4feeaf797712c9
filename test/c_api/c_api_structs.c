/* Structs that only grow: each size that a release may have had, and each that none had. */
#include "c_api_test.h"

#define END(type, member) (offsetof(type, member) + sizeof(((type*)0)->member))

/* A struct of Pawl, the ends of all its members behind `size`, and a call with it. */
typedef struct grown {
  const char* name;
  size_t bytes;
  const size_t* ends;
  size_t count;
  int which;                             /* for pawl_init(); answers have none: -1 */
  pawl_status (*call)(const void* with); /* PAWL_INVALID_ARGUMENT and PAWL_UNSUPPORTED: refused */
} grown;

static pawl_client* g_client;
static pawl_ctx* g_ctx;

/* ---- options ---- */

static pawl_status start(const void* with) {
  const pawl_status status = pawl_client_start(g_client, "nothing", "grown", NULL, 0, with);
  return status == PAWL_ALREADY_EXISTS ? PAWL_OK : status;
}
static const size_t start_ends[] = {
    END(pawl_start_options, version),        END(pawl_start_options, trace_id),
    END(pawl_start_options, start_after_ms), END(pawl_start_options, if_running),
    END(pawl_start_options, if_ended),       END(pawl_start_options, time_limit_ms)};
static pawl_status send(const void* with) {
  return pawl_client_enqueue(g_client, "nobody", "q", NULL, 0, with);
}
static const size_t send_ends[] = {
    END(pawl_send_options, start_if_ended), END(pawl_send_options, input),
    END(pawl_send_options, input_size), END(pawl_send_options, start), END(pawl_send_options, key)};
static pawl_status list(const void* with) {
  pawl_page page = first_page(1);
  return pawl_client_cancel_all(g_client, with, &page, "test", NULL);
}
static const size_t filter_ends[] = {END(pawl_instance_filter, name),
                                     END(pawl_instance_filter, id_prefix),
                                     END(pawl_instance_filter, any_state),
                                     END(pawl_instance_filter, state),
                                     END(pawl_instance_filter, roots_only),
                                     END(pawl_instance_filter, created_from_ms),
                                     END(pawl_instance_filter, created_before_ms),
                                     END(pawl_instance_filter, updated_from_ms),
                                     END(pawl_instance_filter, updated_before_ms)};
static void no_session(void* user, const pawl_session_info* info) {
  (void)user;
  CHECK(info->size == sizeof *info);
}
static pawl_status sessions(const void* with) {
  pawl_page page = first_page(1);
  return pawl_client_list_sessions(g_client, with, &page, no_session, NULL);
}
static const size_t session_filter_ends[] = {
    END(pawl_session_filter, node),        END(pawl_session_filter, instance_id),
    END(pawl_session_filter, owner_label), END(pawl_session_filter, kind),
    END(pawl_session_filter, any_state),   END(pawl_session_filter, state),
    END(pawl_session_filter, open_for_ms), END(pawl_session_filter, unused_for_ms)};
static void no_work(void* user, const pawl_work_info* info) {
  (void)user;
  (void)info;
}
static pawl_status work(const void* with) {
  pawl_page page = first_page(1);
  return pawl_client_list_work(g_client, with, &page, no_work, NULL);
}
static const size_t work_ends[] = {
    END(pawl_work_filter, name),      END(pawl_work_filter, tag),
    END(pawl_work_filter, session),   END(pawl_work_filter, instance_id),
    END(pawl_work_filter, any_state), END(pawl_work_filter, state)};
static pawl_status transfer(const void* with) {
  return pawl_client_drain_worker(g_client, "nobody", with);
}
static const size_t transfer_ends[] = {END(pawl_transfer_options, instance),
                                       END(pawl_transfer_options, force),
                                       END(pawl_transfer_options, stop_timeout_ms)};
static pawl_status restart(const void* with) {
  return pawl_client_restart(g_client, "nobody", PAWL_FROM_START, with);
}
static const size_t restart_ends[] = {END(pawl_restart_options, version),
                                      END(pawl_restart_options, by)};
static pawl_status settings(const void* with) {
  return pawl_client_change_session(g_client, NULL, "nobody", with, PAWL_CHANGE_MAX_AGE);
}
static const size_t settings_ends[] = {
    END(pawl_session_settings, owner_label),      END(pawl_session_settings, kind),
    END(pawl_session_settings, exclusive),        END(pawl_session_settings, fail_on_loss),
    END(pawl_session_settings, notify),           END(pawl_session_settings, idle_timeout_ms),
    END(pawl_session_settings, idle_close_ms),    END(pawl_session_settings, idle_close_notice_ms),
    END(pawl_session_settings, max_age_ms),       END(pawl_session_settings, expiry_notice_ms),
    END(pawl_session_settings, max_activities),   END(pawl_session_settings, activity_warning),
    END(pawl_session_settings, rate_interval_ms), END(pawl_session_settings, rate_burst),
    END(pawl_session_settings, rate_wait_ms)};
/* These are refused later, since a process has one host and one client. */
static pawl_status client_of(const void* with) {
  pawl_client* second = NULL;
  const pawl_status status = pawl_client_open(with, NULL, &second, NULL);
  CHECK(second == NULL);
  return status;
}
static const size_t client_ends[] = {END(pawl_client_options, database_path),
                                     END(pawl_client_options, database),
                                     END(pawl_client_options, create),
                                     END(pawl_client_options, synchronous_full),
                                     END(pawl_client_options, payload_bytes_max),
                                     END(pawl_client_options, queue_messages_max),
                                     END(pawl_client_options, busy_max_ms)};
static pawl_status host_of(const void* with) {
  pawl_host* host = NULL;
  const pawl_status status = pawl_host_open(with, &host);
  CHECK((status == PAWL_OK) == (host != NULL));
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
  return status;
}
static const size_t host_ends[] = {END(pawl_host_options, database_path),
                                   END(pawl_host_options, database),
                                   END(pawl_host_options, worker_node_id),
                                   END(pawl_host_options, small),
                                   END(pawl_host_options, run_orchestrations),
                                   END(pawl_host_options, catch_signals),
                                   END(pawl_host_options, wall_trust),
                                   END(pawl_host_options, synchronous_full),
                                   END(pawl_host_options, clients_max),
                                   END(pawl_host_options, grace_ms),
                                   END(pawl_host_options, log),
                                   END(pawl_host_options, log_user),
                                   END(pawl_host_options, tag_mode),
                                   END(pawl_host_options, tag_count),
                                   END(pawl_host_options, tags),
                                   END(pawl_host_options, threads),
                                   END(pawl_host_options, inline_activities),
                                   END(pawl_host_options, cooperative),
                                   END(pawl_host_options, payload_bytes_max),
                                   END(pawl_host_options, history_events_max),
                                   END(pawl_host_options, queue_messages_max),
                                   END(pawl_host_options, kv_keys_max),
                                   END(pawl_host_options, max_sessions_per_worker),
                                   END(pawl_host_options, max_sessions_per_orchestration),
                                   END(pawl_host_options, max_sessions_per_owner),
                                   END(pawl_host_options, audit_activities),
                                   END(pawl_host_options, work_root),
                                   END(pawl_host_options, owner_change),
                                   END(pawl_host_options, owner_user),
                                   END(pawl_host_options, session_lock_timeout_ms),
                                   END(pawl_host_options, session_lock_renewal_buffer_ms),
                                   END(pawl_host_options, session_idle_timeout_ms),
                                   END(pawl_host_options, session_cleanup_interval_ms),
                                   END(pawl_host_options, evict_idle_ms),
                                   END(pawl_host_options, leak_open_ms),
                                   END(pawl_host_options, leak_unused_ms),
                                   END(pawl_host_options, worker_lock_timeout_ms),
                                   END(pawl_host_options, worker_lock_renewal_buffer_ms),
                                   END(pawl_host_options, commit_window_ms),
                                   END(pawl_host_options, busy_max_ms),
                                   END(pawl_host_options, heartbeat_interval_ms),
                                   END(pawl_host_options, activity_grace_ms),
                                   END(pawl_host_options, cancel_grace_ms),
                                   END(pawl_host_options, retention_age_ms),
                                   END(pawl_host_options, retention_count),
                                   END(pawl_host_options, retention_executions),
                                   END(pawl_host_options, quota_bytes),
                                   END(pawl_host_options, log_bytes_max)};

/* ---- options of code; what is scheduled is closed at once ---- */

static pawl_status of_error(int error) {
  return error == PAWL_ERROR_INVALID_ARGUMENT ? PAWL_INVALID_ARGUMENT : PAWL_OK;
}
static pawl_status of_handle(pawl_handle handle) {
  pawl_outcome outcome;
  pawl_close_handle(g_ctx, handle);
  CHECK(pawl_await(handle, &outcome) == PAWL_DONE);
  return of_error(outcome.error);
}
static pawl_status activity(const void* with) {
  return of_handle(pawl_schedule_activity(g_ctx, "work", NULL, 0, with));
}
static const size_t activity_ends[] = {END(pawl_activity_options, session),
                                       END(pawl_activity_options, opened),
                                       END(pawl_activity_options, tag),
                                       END(pawl_activity_options, where),
                                       END(pawl_activity_options, barrier),
                                       END(pawl_activity_options, unavailable_ms),
                                       END(pawl_activity_options, max_attempts),
                                       END(pawl_activity_options, jitter_percent),
                                       END(pawl_activity_options, backoff),
                                       END(pawl_activity_options, backoff_base_ms),
                                       END(pawl_activity_options, backoff_cap_ms),
                                       END(pawl_activity_options, start_to_close_ms),
                                       END(pawl_activity_options, schedule_to_close_ms),
                                       END(pawl_activity_options, schedule_to_start_ms),
                                       END(pawl_activity_options, heartbeat_timeout_ms)};
static pawl_status child(const void* with) {
  return of_handle(pawl_schedule_child(g_ctx, "nothing", NULL, 0, with));
}
static const size_t child_ends[] = {END(pawl_child_options, id), END(pawl_child_options, version)};
static pawl_status detached(const void* with) {
  return of_error(pawl_start_detached(g_ctx, "nothing", "grown", NULL, 0, with));
}
static const size_t detached_ends[] = {END(pawl_detached_options, version)};
static pawl_status opened(const void* with) {
  const pawl_session session = pawl_open_session(g_ctx, "grown", with);
  return pawl_session_id(&session).size == 0 ? PAWL_INVALID_ARGUMENT : PAWL_OK;
}

/* ---- answers ---- */

static pawl_status status_of(const void* with) {
  return pawl_client_get_status(g_client, "grown", (pawl_instance_status*)with, NULL, NULL);
}
static const size_t status_ends[] = {
    END(pawl_instance_status, state),          END(pawl_instance_status, error),
    END(pawl_instance_status, execution_id),   END(pawl_instance_status, created_ms),
    END(pawl_instance_status, updated_ms),     END(pawl_instance_status, custom_status_version),
    END(pawl_instance_status, unread_messages)};
static pawl_status info_of(const void* with) {
  return pawl_client_get_info(g_client, "grown", (pawl_instance_info*)with);
}
static const size_t info_ends[] = {END(pawl_instance_info, key),
                                   END(pawl_instance_info, id),
                                   END(pawl_instance_info, name),
                                   END(pawl_instance_info, version),
                                   END(pawl_instance_info, parent_id),
                                   END(pawl_instance_info, trace_id),
                                   END(pawl_instance_info, state),
                                   END(pawl_instance_info, execution_id),
                                   END(pawl_instance_info, created_ms),
                                   END(pawl_instance_info, updated_ms),
                                   END(pawl_instance_info, timers_without_clock),
                                   END(pawl_instance_info, unread_messages),
                                   END(pawl_instance_info, time_limit),
                                   END(pawl_instance_info, time_left)};
static pawl_status stats_of(const void* with) {
  return pawl_client_get_stats(g_client, "grown", (pawl_instance_stats*)with);
}
static const size_t stats_ends[] = {
    END(pawl_instance_stats, history_events), END(pawl_instance_stats, history_bytes),
    END(pawl_instance_stats, messages_waiting), END(pawl_instance_stats, kv_keys),
    END(pawl_instance_stats, kv_bytes)};
static pawl_status event_of(const void* with) {
  static const char text[] =
      "{\"change\":\"claimed\",\"epoch\":3,\"from\":\"\",\"to\":\"a\",\"reason\":\"\"}";
  const pawl_text payload = {text, sizeof text - 1};
  return pawl_read_session_event(payload, (pawl_session_event*)with);
}
static const size_t event_ends[] = {
    END(pawl_session_event, epoch),   END(pawl_session_event, change),
    END(pawl_session_event, from),    END(pawl_session_event, to),
    END(pawl_session_event, session), END(pawl_session_event, reason)};

#define GROWN(call, type, ends, which) \
  { #type, sizeof(type), ends, sizeof ends / sizeof ends[0], which, call }
static const grown kOptions[] = {
    GROWN(start, pawl_start_options, start_ends, PAWL_STRUCT_START_OPTIONS),
    GROWN(send, pawl_send_options, send_ends, PAWL_STRUCT_SEND_OPTIONS),
    GROWN(list, pawl_instance_filter, filter_ends, PAWL_STRUCT_INSTANCE_FILTER),
    GROWN(sessions, pawl_session_filter, session_filter_ends, PAWL_STRUCT_SESSION_FILTER),
    GROWN(work, pawl_work_filter, work_ends, PAWL_STRUCT_WORK_FILTER),
    GROWN(transfer, pawl_transfer_options, transfer_ends, PAWL_STRUCT_TRANSFER_OPTIONS),
    GROWN(restart, pawl_restart_options, restart_ends, PAWL_STRUCT_RESTART_OPTIONS),
    GROWN(settings, pawl_session_settings, settings_ends, PAWL_STRUCT_SESSION_SETTINGS),
    GROWN(client_of, pawl_client_options, client_ends, PAWL_STRUCT_CLIENT_OPTIONS),
    GROWN(host_of, pawl_host_options, host_ends, PAWL_STRUCT_HOST_OPTIONS),
    GROWN(host_of, pawl_host_options, host_ends, PAWL_STRUCT_SMALL_HOST_OPTIONS)};
static const grown kOptionsOfCode[] = {
    GROWN(activity, pawl_activity_options, activity_ends, PAWL_STRUCT_ACTIVITY_OPTIONS),
    GROWN(child, pawl_child_options, child_ends, PAWL_STRUCT_CHILD_OPTIONS),
    GROWN(detached, pawl_detached_options, detached_ends, PAWL_STRUCT_DETACHED_OPTIONS),
    GROWN(opened, pawl_session_settings, settings_ends, PAWL_STRUCT_SESSION_SETTINGS)};
static const grown kAnswers[] = {GROWN(status_of, pawl_instance_status, status_ends, -1),
                                 GROWN(info_of, pawl_instance_info, info_ends, -1),
                                 GROWN(stats_of, pawl_instance_stats, stats_ends, -1),
                                 GROWN(event_of, pawl_session_event, event_ends, -1)};
#undef GROWN

static int is_refused(pawl_status status) {
  return status == PAWL_INVALID_ARGUMENT || status == PAWL_UNSUPPORTED;
}
static int is_end(const grown* of, size_t bytes) {
  size_t i;
  for (i = 0; i < of->count; ++i)
    if (of->ends[i] == bytes) return 1;
  return 0;
}
static void expect(const grown* of, size_t bytes, pawl_status got, int is_good) {
  if (is_refused(got) != is_good) return;
  fprintf(stderr, "%s with %d bytes: %s\n", of->name, (int)bytes, pawl_status_name(got));
  exit(1);
}
/* A block of the heap with exactly these bytes, so that a sanitizer sees a byte that is read or
 * written behind them. */
static char* block_of(const grown* of, size_t bytes) {
  char* const block = malloc(bytes < sizeof bytes ? sizeof bytes : bytes);
  CHECK(block != NULL);
  memset(block, 0x5a, bytes);
  if (of->which >= 0) pawl_init(of->which, block, bytes);
  memcpy(block, &bytes, sizeof bytes);
  if (of->which == PAWL_STRUCT_HOST_OPTIONS || of->which == PAWL_STRUCT_SMALL_HOST_OPTIONS ||
      of->which == PAWL_STRUCT_CLIENT_OPTIONS) {
    if (bytes >= of->ends[0]) memcpy(block + sizeof bytes, &g_path, sizeof g_path);
  }
  return block;
}

/* Each size up to the whole one, and those of a newer release. */
static void cut_and_grow(const grown* of) {
  size_t bytes;
  char* block;
  for (bytes = sizeof bytes; bytes <= of->bytes; ++bytes) {
    block = block_of(of, bytes);
    expect(of, bytes, of->call(block), is_end(of, bytes));
    free(block);
  }
  for (bytes = of->bytes + 1; bytes <= of->bytes + 256; bytes += 51) {
    block = block_of(of, bytes);
    expect(of, bytes, of->call(block), 1);
    if (of->which >= 0) {
      block[bytes - 1] = 1; /* a member that this library does not know is not the default */
      expect(of, bytes, of->call(block), 0);
    } else {
      CHECK(block[bytes - 1] == 0);
    }
    free(block);
  }
  block = block_of(of, of->bytes + 257);
  expect(of, of->bytes + 257, of->call(block), 0);
  free(block);
}

static pawl_poll in_code(pawl_ctx* ctx, void* user) {
  size_t i;
  (void)user;
  g_ctx = ctx;
  for (i = 0; i < sizeof kOptionsOfCode / sizeof kOptionsOfCode[0]; ++i)
    cut_and_grow(&kOptionsOfCode[i]);
  return pawl_complete(ctx, NULL, 0);
}
static pawl_poll nothing(pawl_ctx* ctx, void* user) {
  (void)user;
  return pawl_complete(ctx, NULL, 0);
}

void sizes_of_each_release(void) {
  size_t i;
  pawl_start_options how;
  pawl_client_options client_options;
  g_client = open_client(NULL);
  for (i = 0; i < sizeof kOptions / sizeof kOptions[0]; ++i)
    cut_and_grow(&kOptions[i]);
  for (i = 0; i < sizeof kAnswers / sizeof kAnswers[0]; ++i)
    cut_and_grow(&kAnswers[i]);

  /* Members behind the size are not looked at: this one would be refused. */
  pawl_start_options_init(&how);
  how.if_ended = 77;
  CHECK_STATUS(pawl_client_start(g_client, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  CHECK(strstr(pawl_client_error(g_client), "none of its enumeration") != NULL);
  how.size = offsetof(pawl_start_options, if_ended);
  CHECK_STATUS(pawl_client_start(g_client, "n", "i", NULL, 0, &how), PAWL_OK);
  pawl_init(99, &how, sizeof how);
  CHECK(how.size == sizeof how && how.if_ended == 0);
  pawl_init(PAWL_STRUCT_START_OPTIONS, NULL, 8);
  pawl_init(PAWL_STRUCT_START_OPTIONS, &how, 1); /* no size: nothing is written */
  CHECK(how.size == sizeof how);
  /* Defaults of members that the caller does not have. */
  pawl_client_options_init(&client_options);
  CHECK(client_options.create == 1 && client_options.payload_bytes_max == 65536 &&
        client_options.busy_max_ms == 5000);
  pawl_client_close(g_client);
}

void sizes_in_code(void) {
  pawl_host_options options;
  pawl_host* host = NULL;
  pawl_client* client;
  /* The code is run twice to compare, and it closes more than a turn's commands of a small host. */
  pawl_host_options_init(&options);
  options.database_path = g_path;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "in_code", NULL, in_code, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "nothing", NULL, nothing, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  expect_end(host, client, "in_code", "", PAWL_COMPLETED, "");
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* Wrong arguments: each has an answer, and nothing is done. */
#include "c_api_test.h"

static char g_long_name[300];

static void set_long_name(void) { memset(g_long_name, 'n', sizeof g_long_name - 1); }

static pawl_poll nothing(pawl_ctx* ctx, void* user) {
  (void)user;
  return pawl_complete(ctx, NULL, 0);
}
static void no_work(pawl_activity* activity, void* user) {
  (void)user;
  pawl_activity_ok(activity, NULL, 7); /* a length without an address */
}
static void no_step(pawl_activity* activity, void* state, void* user) {
  (void)state;
  (void)user;
  pawl_activity_ok(activity, NULL, 0);
}
static void no_instance(void* user, const pawl_instance_info* info) {
  CHECK(text_is(info->id, "there"));
  if (user != NULL) ++*(int*)user;
}

static void null_hosts(void) {
  int more = 0;
  CHECK_STATUS(pawl_host_add_orchestration(NULL, "a", NULL, nothing, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_activity(NULL, "a", PAWL_INLINE, no_work, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_steps(NULL, "a", no_step, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_start(NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_run(NULL, 0), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_tick(NULL, 0, &more), PAWL_INVALID_ARGUMENT);
  CHECK(pawl_host_fd(NULL) == -1 && pawl_host_next_due_ms(NULL) == -1);
  pawl_host_request_stop(NULL);
  CHECK_STATUS(pawl_host_stop(NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_close(NULL), PAWL_OK);
  CHECK(strlen(pawl_host_error(NULL)) > 0);
  CHECK_STATUS(pawl_host_start_orchestration(NULL, "a", "b", NULL, 0, NULL, NULL, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_raise_event(NULL, "a", "b", NULL, 0, NULL, NULL, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_cancel(NULL, "a", "b", NULL, NULL), PAWL_INVALID_ARGUMENT);
}

static void null_clients(void) {
  pawl_instance_status status;
  char bytes[4];
  pawl_buffer buffer = {bytes, sizeof bytes, 0};
  pawl_page page = first_page(1);
  status.size = sizeof status;
  CHECK_STATUS(pawl_client_start(NULL, "a", "b", NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_cancel(NULL, "a", "b"), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_raise_event(NULL, "a", "b", NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_enqueue(NULL, "a", "b", NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_get_status(NULL, "a", &status, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_wait(NULL, "a", 0, &status, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_get_value(NULL, "a", "b", &buffer), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_delete(NULL, "a", 1, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_list(NULL, NULL, &page, no_instance, NULL), PAWL_INVALID_ARGUMENT);
  CHECK(strlen(pawl_client_error(NULL)) > 0);
  pawl_client_close(NULL);
  pawl_host_options_init(NULL);
  pawl_host_options_init_small(NULL);
  pawl_client_options_init(NULL);
  pawl_activity_options_init(NULL);
  /* No status of Pawl is missing here. */
  CHECK(strcmp(pawl_status_name(PAWL_KEY_REUSED), "key_reused") == 0);
  CHECK(strcmp(pawl_status_name(PAWL_IN_DOUBT), "in_doubt") == 0);
  CHECK(strcmp(pawl_status_name((pawl_status)(PAWL_IN_DOUBT + 1)), "unknown") == 0);
  /* This holds, too, if an enumeration of C++ has no room for the number. */
  CHECK(strcmp(pawl_status_name((pawl_status)63), "unknown") == 0 &&
        strcmp(pawl_status_name((pawl_status)64), "unknown") == 0);
  CHECK(strcmp(pawl_status_name((pawl_status)-1), "unknown") == 0 &&
        strcmp(pawl_status_name((pawl_status)1000), "unknown") == 0);
  CHECK(strcmp(pawl_error_name(-1), "unknown") == 0 &&
        strcmp(pawl_error_name(255), "unknown") == 0);
  CHECK(strcmp(pawl_status_name(PAWL_NOT_FOUND), "not_found") == 0);
  CHECK(strcmp(pawl_error_name(PAWL_ERROR_CANCELLED), "cancelled") == 0);
}

/* Wrong options and trace ids of a start. */
static void wrong_starts(pawl_client* client) {
  char long_trace[66];
  pawl_start_options how;
  memset(long_trace, 'x', sizeof long_trace);
  long_trace[65] = 0;
  pawl_start_options_init(NULL);
  pawl_start_options_init(&how);
  CHECK_STATUS(pawl_client_start(NULL, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 1, &how), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_start_orchestration(NULL, "n", "i", NULL, 0, &how, NULL, NULL),
               PAWL_INVALID_ARGUMENT);
  how.trace_id = long_trace;
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  how.trace_id = NULL;
  how.start_after_ms = -1;
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  how.start_after_ms = 0;
  how.if_running = 2;
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  how.if_running = PAWL_RUNNING_REFUSE;
  how.if_ended = -1;
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  how.if_ended = PAWL_ENDED_REFUSE;
  how.size = sizeof how + 257;
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  how.size = sizeof how - 1;
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
}

static void calls_of_a_client(pawl_client* client) {
  pawl_instance_status status;
  char bytes[4];
  pawl_buffer buffer = {bytes, sizeof bytes, 0};
  pawl_page page = first_page(10);
  int instances = 0;
  status.size = sizeof status;
  CHECK_STATUS(pawl_client_start(client, "n", "there", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_start(client, NULL, "i", NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_start(client, "n", NULL, NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_start(client, "n", "i", NULL, 1, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(start_version(client, "n", "i", "one", NULL, 0), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_start(client, "n", "a::b", NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  wrong_starts(client);
  CHECK_STATUS(pawl_client_start(client, g_long_name, "i", NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_start(client, "n", g_long_name, NULL, 0, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_raise_event(client, "there", NULL, NULL, 0, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_raise_event(client, "there", "e", NULL, 1, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_raise_event(client, "i", "e", NULL, 0, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_enqueue(client, "there", "q", NULL, 1, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_get_status(client, "i", NULL, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_get_status(client, NULL, &status, NULL, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_wait(client, "i", 0, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_raise_event(client, "there", g_long_name, NULL, 0, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_get_value(client, "i", "k", NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_get_value(client, "there", NULL, &buffer), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_list(client, NULL, NULL, no_instance, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_list(client, NULL, &page, NULL, NULL), PAWL_INVALID_ARGUMENT);
  /* None of these calls did anything. */
  CHECK_STATUS(pawl_client_list(client, NULL, &page, no_instance, &instances), PAWL_OK);
  CHECK(instances == 1 && page.more == 0);
}

void wrong_arguments(void) {
  pawl_host* host = open_host();
  pawl_client* client = NULL;
  pawl_client_options options;
  int more = 0;
  set_long_name();
  null_hosts();
  null_clients();
  CHECK_STATUS(pawl_host_add_orchestration(host, NULL, NULL, nothing, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_orchestration(host, "a", NULL, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_orchestration(host, "a", "1", nothing, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_orchestration(host, g_long_name, NULL, nothing, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_activity(host, NULL, PAWL_INLINE, no_work, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_activity(host, "a", PAWL_INLINE, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_activity(host, "a", 7, no_work, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_steps(host, "a", NULL, NULL), PAWL_INVALID_ARGUMENT);

  /* These calls come before the start. */
  CHECK_STATUS(pawl_host_run(host, 0), PAWL_STOPPED);
  CHECK_STATUS(pawl_host_tick(host, 0, &more), PAWL_STOPPED);
  CHECK_STATUS(pawl_host_cancel(host, "i", NULL, NULL, NULL), PAWL_STOPPED);
  CHECK(pawl_host_fd(host) == -1 && pawl_host_next_due_ms(host) == -1);
  pawl_client_options_init(&options);
  options.database_path = g_path;
  CHECK_STATUS(pawl_client_open(&options, host, &client, NULL), PAWL_STALE);
  CHECK_STATUS(pawl_client_open(&options, NULL, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_open(NULL, NULL, &client, NULL), PAWL_INVALID_ARGUMENT);

  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "late", NULL, nothing, NULL), PAWL_STALE);
  CHECK_STATUS(pawl_host_tick(host, -1, &more), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_tick(host, 1, NULL), PAWL_INVALID_ARGUMENT);
  client = open_client(host);
  calls_of_a_client(client);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

void wrong_sizes(void) {
  pawl_host_options host_options;
  pawl_client_options client_options;
  pawl_instance_status status;
  pawl_host* host = (pawl_host*)&host_options;
  pawl_client* client = (pawl_client*)&host_options;
  static const int by[] = {-1, 257, 4096};
  size_t i;
  for (i = 0; i < sizeof by / sizeof by[0]; ++i) {
    pawl_host_options_init(&host_options);
    host_options.database_path = g_path;
    host_options.size = sizeof host_options + (size_t)by[i];
    host = (pawl_host*)&host_options;
    CHECK_STATUS(pawl_host_open(&host_options, &host), PAWL_INVALID_ARGUMENT);
    CHECK(host == NULL);
    pawl_client_options_init(&client_options);
    client_options.database_path = g_path;
    client_options.size = sizeof client_options + (size_t)by[i];
    CHECK_STATUS(pawl_client_open(&client_options, NULL, &client, NULL), PAWL_INVALID_ARGUMENT);
    CHECK(client == NULL);
  }
  host_options.size = 0;
  CHECK_STATUS(pawl_host_open(&host_options, &host), PAWL_INVALID_ARGUMENT);
  client = open_client(NULL);
  status.size = 0;
  CHECK_STATUS(pawl_client_get_status(client, "i", &status, NULL, NULL), PAWL_INVALID_ARGUMENT);
  status.size = sizeof status + 257;
  CHECK_STATUS(pawl_client_wait(client, "i", 0, &status, NULL), PAWL_INVALID_ARGUMENT);
  pawl_client_close(client);
}

void wrong_options(void) {
  pawl_host_options options;
  pawl_client_options client_options;
  pawl_client* client = NULL;
  pawl_host* host = NULL;
  char text[400];
  pawl_buffer why = {text, sizeof text, 0};
  CHECK_STATUS(pawl_host_open(NULL, &host), PAWL_INVALID_ARGUMENT);
  pawl_host_options_init(&options);
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT); /* no path */
  options.database_path = g_path;
  CHECK_STATUS(pawl_host_open(&options, NULL), PAWL_INVALID_ARGUMENT);
  options.clients_max = 32;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT);
  options.clients_max = 1;
  options.grace_ms = -1;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT);
  options.grace_ms = 0;
  options.wall_trust = 2;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT);
  options.wall_trust = PAWL_TRUST_ALWAYS;

  /* The start names the option that it refuses. */
  options.payload_bytes_max = 1;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_INVALID_OPTIONS);
  CHECK(strstr(pawl_host_error(host), "payload_bytes_max") != NULL);
  CHECK_STATUS(pawl_host_run(host, 1), PAWL_STOPPED);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
  pawl_host_options_init_small(&options);
  options.database_path = "/nowhere at all/c.db";
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_CANNOT_OPEN);
  CHECK(strstr(pawl_host_error(host), "nowhere at all") != NULL);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);

  pawl_client_options_init(&client_options);
  client_options.database_path = g_path;
  client_options.create = 0;
  CHECK_STATUS(pawl_client_open(&client_options, NULL, &client, &why), PAWL_CANNOT_OPEN);
  CHECK(why.size > 0 && client == NULL);
  client_options.create = 1;
  client_options.payload_bytes_max = 1;
  CHECK_STATUS(pawl_client_open(&client_options, NULL, &client, &why), PAWL_INVALID_OPTIONS);

  /* The small host works. */
  options.database_path = g_path;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- by the code ---- */

static void expect_invalid(pawl_ctx* ctx, pawl_handle handle) {
  pawl_outcome outcome;
  (void)ctx;
  CHECK(pawl_await(handle, &outcome) == PAWL_DONE);
  CHECK(outcome.error == PAWL_ERROR_INVALID_ARGUMENT);
}

static void careless_with_sessions(pawl_ctx* ctx) {
  pawl_session_settings settings;
  pawl_activity_options options;
  pawl_session empty;
  pawl_session adopted = pawl_adopt_session(ctx, "i", "s");
  memset(&empty, 0, sizeof empty);
  pawl_session_settings_init(&settings);
  pawl_activity_options_init(&options);
  CHECK(pawl_session_id(NULL).size == 0 && pawl_session_id(&empty).size == 0);
  settings.size = 3;
  empty = pawl_open_session(ctx, "s", &settings);
  CHECK(pawl_session_id(&empty).size == 0);
  empty = pawl_use_session(ctx, "s", &settings);
  CHECK(pawl_session_id(&empty).size == 0);
  pawl_session_settings_init(&settings);
  settings.rate_burst = 0;
  empty = pawl_open_session(ctx, "s", &settings);
  CHECK(pawl_session_id(&empty).size == 0);
  settings.rate_burst = 1;
  settings.owner_label = g_long_name;
  empty = pawl_use_session(ctx, "s", &settings);
  CHECK(pawl_session_id(&empty).size == 0);
  empty = pawl_use_session(ctx, NULL, NULL);
  CHECK(pawl_session_id(&empty).size == 0);
  empty = pawl_open_session(ctx, "..", NULL);
  CHECK(pawl_session_id(&empty).size == 0);
  empty = pawl_adopt_session(ctx, NULL, NULL);
  CHECK(pawl_session_id(&empty).size == 0);
  empty = pawl_session_of(NULL);
  CHECK(pawl_session_id(&empty).size == 0);
  CHECK(pawl_close_session(ctx, NULL) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_close_session(ctx, &empty) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_close_session(ctx, &adopted) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_hold_session(ctx, &empty, 1) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_handoff_session(ctx, &empty, "t", NULL, 0) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_change_session(ctx, &empty, NULL) == PAWL_ERROR_INVALID_ARGUMENT);
  empty = pawl_session_of("s");
  CHECK(text_is(pawl_session_id(&empty), "s"));
  CHECK(pawl_hold_session(ctx, &empty, -1) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_handoff_session(ctx, &empty, g_long_name, NULL, 0) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_handoff_session(ctx, &empty, "t", NULL, 1) == PAWL_ERROR_INVALID_ARGUMENT);
  settings.size = 1;
  CHECK(pawl_change_session(ctx, &empty, &settings) == PAWL_ERROR_INVALID_ARGUMENT);
  expect_invalid(ctx, pawl_session_opened(ctx, &empty));
  expect_invalid(ctx, pawl_session_events(ctx, NULL));
  /* An activity is on one session, which is said once. */
  options.opened = &empty;
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  options.where = PAWL_OWN_SESSION;
  options.session = "s";
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  options.session = NULL;
  memset(&empty, 0, sizeof empty);
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
}

static pawl_poll careless(pawl_ctx* ctx, void* user) {
  pawl_handle empty;
  pawl_handle many[65];
  pawl_activity_options options;
  pawl_outcome outcome;
  char big[5000];
  (void)user;
  memset(&empty, 0, sizeof empty);
  memset(many, 0, sizeof many);
  memset(big, 'b', sizeof big);
  expect_invalid(ctx, empty);
  expect_invalid(ctx, pawl_schedule_activity(ctx, NULL, NULL, 0, NULL));
  expect_invalid(ctx, pawl_schedule_activity(ctx, g_long_name, NULL, 0, NULL));
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 1, NULL));
  pawl_activity_options_init(&options);
  options.size = 3;
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  pawl_activity_options_init(&options);
  options.where = 9;
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  options.where = PAWL_ANY_WORKER;
  options.session = "s"; /* no worker would look at it */
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  options.where = PAWL_DEVICE;
  options.session = NULL;
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  pawl_activity_options_init(&options);
  options.backoff = 4;
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  pawl_activity_options_init(&options);
  options.max_attempts = 0;
  expect_invalid(ctx, pawl_schedule_activity(ctx, "work", NULL, 0, &options));
  expect_invalid(ctx, pawl_schedule_wait(ctx, NULL));
  expect_invalid(ctx, pawl_dequeue_event(ctx, ""));
  expect_invalid(ctx, pawl_schedule_child(ctx, NULL, NULL, 0, NULL));
  expect_invalid(ctx, schedule_child(ctx, "n", "a::b", NULL, NULL, 0));
  expect_invalid(ctx, schedule_child(ctx, "n", NULL, "one", NULL, 0));
  expect_invalid(ctx, pawl_schedule_child(ctx, "n", NULL, 1, NULL));
  expect_invalid(ctx, pawl_join(ctx, NULL, 1));
  expect_invalid(ctx, pawl_join(ctx, many, 65));
  expect_invalid(ctx, pawl_open_branch(ctx, NULL, NULL));
  CHECK(pawl_select(ctx, many, 65, &outcome) == PAWL_DONE);
  CHECK(outcome.error == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_select(ctx, NULL, 2, NULL) == PAWL_DONE);
  CHECK(pawl_start_detached(ctx, "n", NULL, NULL, 0, NULL) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_start_detached(ctx, "n", "i", NULL, 1, NULL) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_set_custom_status(ctx, big, sizeof big) == PAWL_ERROR_LIMIT);
  CHECK(pawl_set_custom_status(ctx, NULL, 1) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_set_value(ctx, NULL, NULL, 0) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_set_value(ctx, "k", NULL, 1) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_clear_value(ctx, NULL) == PAWL_ERROR_INVALID_ARGUMENT);
  CHECK(pawl_clean_up(ctx, NULL, NULL) == PAWL_DONE);
  careless_with_sessions(ctx);
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "work", NULL, 0, NULL), &outcome);
  CHECK(outcome.error == PAWL_ERROR_APPLICATION);
  CHECK(text_is(outcome.value, "the result is a null pointer"));
  return pawl_fail_with(ctx, NULL);
}

void wrong_calls_of_code(void) {
  pawl_host* const host = open_host();
  pawl_client* client;
  set_long_name();
  CHECK_STATUS(pawl_host_add_orchestration(host, "careless", NULL, careless, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "work", PAWL_INLINE, no_work, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  expect_end(host, client, "careless", "", PAWL_FAILED, "no outcome with an error");
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- calls of a host, and its log ---- */

static void keep_status(void* user, pawl_status status) { *(int*)user = (int)status; }
static void keep_log(void* user, int level, const char* line, size_t size) {
  char* const log = user;
  CHECK(level >= 0 && level <= 3 && memchr(line, '\n', size) == NULL);
  if (strlen(log) + size + 2 < 20000) {
    strncat(log, line, size);
    strcat(log, "\n");
  }
}

void answers_of_a_host(void) {
  static char log[20000];
  pawl_host_options options;
  pawl_host* host = NULL;
  pawl_client* client;
  int first = -1;
  int second = -1;
  int third = -1;
  pawl_host_options_init(&options);
  options.database_path = g_path;
  options.log = keep_log;
  options.log_user = log;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "nothing", NULL, nothing, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(
      pawl_host_start_orchestration(host, "nothing", "i", NULL, 0, NULL, keep_status, &first),
      PAWL_OK);
  CHECK(first == -1);
  CHECK_STATUS(pawl_host_run(host, 50), PAWL_TIMEOUT);
  CHECK(first == PAWL_OK);
  CHECK_STATUS(
      pawl_host_start_orchestration(host, "nothing", "i", NULL, 0, NULL, keep_status, &first),
      PAWL_OK);
  CHECK_STATUS(pawl_host_raise_event(host, "i", "e", "x", 1, NULL, keep_status, &second), PAWL_OK);
  CHECK_STATUS(pawl_host_cancel(host, "nobody", "why", keep_status, &third), PAWL_OK);
  CHECK_STATUS(pawl_host_cancel(host, "nobody", NULL, NULL, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_raise_event(host, "i", "e", NULL, 1, NULL, NULL, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_run(host, 50), PAWL_TIMEOUT);
  CHECK(first == PAWL_ALREADY_EXISTS && second == PAWL_STALE && third == PAWL_NOT_FOUND);
  client = open_client(host);
  run_until(host, client, "i", PAWL_COMPLETED, NULL);
  CHECK(strstr(log, "worker_registered") != NULL || strlen(log) > 0);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

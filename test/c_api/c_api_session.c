/* Goal: devices, sessions of every kind, and operators, from C. */
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>

#include "c_api_test.h"

/* ---- the host ---- */

typedef struct seen {
  int claimed;
  int lost;
  int ending;
  int64_t epoch;
} seen;
static seen g_seen;

static void owner_changed(void* user, pawl_owner_change change, pawl_text session, int64_t epoch) {
  seen* const of = user;
  if (change == PAWL_OWNER_CLAIMED) {
    CHECK(session.size > 0 && epoch > 0);
    ++of->claimed;
    of->epoch = epoch;
  } else if (change == PAWL_OWNER_LOST) {
    ++of->lost;
  } else {
    ++of->ending;
  }
}

/* Answers "<session> <claimed now> <tag> <summary> <folder>"; with the input "abort" it gives the
 * session up. */
static void on_session(pawl_activity* activity, void* user) {
  char text[400];
  const pawl_text session = pawl_activity_session_id(activity);
  const pawl_text tag = pawl_activity_tag(activity);
  const pawl_text summary = pawl_activity_session_summary(activity);
  const pawl_text folder = pawl_activity_session_folder(activity);
  struct stat info;
  (void)user;
  CHECK(pawl_activity_session_epoch(activity) > 0);
  CHECK(pawl_activity_session_lease_left_ms(activity) > 0);
  CHECK(text_is(pawl_activity_name(activity), "on_session"));
  CHECK(pawl_activity_id(activity) > 0 && pawl_activity_execution_id(activity) == 1);
  CHECK(text_is(pawl_activity_orchestration_version(activity), "1.0.0"));
  CHECK(pawl_activity_orchestration_name(activity).size > 0);
  CHECK(text_is(pawl_activity_worker_id(activity), "c"));
  CHECK(pawl_activity_retry_attempt(activity) == 1);
  CHECK(pawl_activity_time_left(activity).has_value == 0);
  CHECK_STATUS(pawl_activity_trace(activity, PAWL_LEVEL_DEBUG, "here"), PAWL_OK);
  CHECK_STATUS(pawl_activity_trace(activity, 4, "here"), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_activity_trace(activity, -1, NULL), PAWL_INVALID_ARGUMENT);
  if (folder.size > 0) CHECK(stat(folder.data, &info) == 0 && S_ISDIR(info.st_mode));
  if (pawl_activity_input(activity).size > 0) pawl_activity_abort_session(activity);
  pawl_activity_commit_now(activity);
  snprintf(text, sizeof text, "%.*s %d %.*s %.*s %s", (int)session.size, session.data,
           pawl_activity_claimed_now(activity), (int)tag.size, tag.data, (int)summary.size,
           summary.data, folder.size > 0 ? "folder" : "");
  pawl_activity_ok(activity, text, strlen(text));
}

static pawl_host* session_host(pawl_orchestration_fn code, void* user) {
  static char root[320];
  static const char* const tags[] = {"deep", "wide"};
  pawl_host_options options;
  pawl_host* host = NULL;
  snprintf(root, sizeof root, "%s-folders", g_path);
  CHECK(mkdir(root, 0700) == 0);
  pawl_host_options_init(&options);
  options.database_path = g_path;
  options.worker_node_id = "c";
  options.tag_mode = PAWL_TAGS_DEFAULT_AND;
  options.tags = tags;
  options.tag_count = 2;
  options.work_root = root;
  options.owner_change = owner_changed;
  options.owner_user = &g_seen;
  options.max_sessions_per_orchestration = 3;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "code", NULL, code, user), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "on_session", PAWL_THREADED, on_session, NULL),
               PAWL_OK);
  CHECK(pawl_host_is_ready(host) == 0 && pawl_host_worker_id(host).size == 0);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK(pawl_host_is_ready(host) == 1 && text_is(pawl_host_worker_id(host), "c"));
  return host;
}

static void keep_status(void* user, pawl_status status) { *(int*)user = (int)status; }

/* Runs the host until an answer is there. */
static void expect_answer(pawl_host* host, const int* answer, pawl_status expected) {
  int rounds = 0;
  while (*answer < 0 && rounds++ < 3000)
    CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
  CHECK(*answer == (int)expected);
}

static pawl_handle at_device(pawl_ctx* ctx, const char* device, int64_t unavailable_ms) {
  pawl_activity_options options;
  pawl_activity_options_init(&options);
  options.where = PAWL_DEVICE;
  options.session = device;
  options.unavailable_ms = unavailable_ms;
  return pawl_schedule_activity(ctx, "on_session", NULL, 0, &options);
}

static pawl_handle at_session(pawl_ctx* ctx, const pawl_session* session, const char* input) {
  pawl_activity_options options;
  pawl_activity_options_init(&options);
  options.where = PAWL_OWN_SESSION;
  options.opened = session;
  return pawl_schedule_activity(ctx, "on_session", input, strlen(input), &options);
}

/* ---- devices ---- */

static pawl_poll measure(pawl_ctx* ctx, void* user) {
  pawl_outcome first;
  pawl_outcome second;
  pawl_outcome absent;
  pawl_activity_options options;
  char text[300];
  (void)user;
  PAWL_AWAIT_C(at_device(ctx, "probe-1", 0), &first);
  pawl_activity_options_init(&options);
  options.where = PAWL_CONCURRENT_DEVICE;
  options.session = "probe-1";
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "on_session", NULL, 0, &options), &second);
  PAWL_AWAIT_C(at_device(ctx, "probe-2", 1), &absent);
  CHECK(absent.error == PAWL_ERROR_SESSION_UNAVAILABLE);
  snprintf(text, sizeof text, "%.*s, %.*s", (int)first.value.size, first.value.data,
           (int)second.value.size, second.value.data);
  return pawl_complete(ctx, text, strlen(text));
}

static void expect_device(void* user, const pawl_session_info* info) {
  CHECK(text_is(info->name, "probe-1") && info->device == 1 && info->exclusive == 1);
  CHECK(text_is(info->node, "c") && info->epoch > 0 && info->expires_in.has_value == 0);
  ++*(int*)user;
}

void devices_are_declared(void) {
  pawl_host* const host = session_host(measure, NULL);
  pawl_client* const client = open_client(host);
  pawl_session_filter filter;
  pawl_page page = first_page(10);
  int answer = -1;
  int again = -1;
  int gone = -1;
  int twice = -1;
  int devices = 0;
  CHECK_STATUS(pawl_host_declare_session(NULL, "probe-1", 0, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_withdraw_session(NULL, "probe-1", NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_declare_session(host, NULL, 0, keep_status, &answer), PAWL_OK);
  expect_answer(host, &answer, PAWL_INVALID_ARGUMENT);
  answer = -1;
  CHECK_STATUS(pawl_host_declare_session(host, "..", 0, keep_status, &answer), PAWL_OK);
  expect_answer(host, &answer, PAWL_INVALID_ARGUMENT);
  answer = -1;
  CHECK_STATUS(pawl_host_declare_session(host, "probe-1", 0, keep_status, &answer), PAWL_OK);
  expect_answer(host, &answer, PAWL_OK);
  CHECK_STATUS(pawl_host_declare_session(host, "probe-1", 1, keep_status, &again), PAWL_OK);
  expect_answer(host, &again, PAWL_OK);
  expect_end(host, client, "code", "", PAWL_COMPLETED, "probe-1 1   folder, probe-1 0   folder");
  CHECK(g_seen.claimed == 1 && g_seen.epoch > 0);
  pawl_session_filter_init(&filter);
  filter.node = "c";
  CHECK_STATUS(pawl_client_list_sessions(client, &filter, &page, expect_device, &devices), PAWL_OK);
  CHECK(devices == 1 && page.more == 0);
  CHECK_STATUS(pawl_client_forget_device(client, "probe-1"), PAWL_STILL_RUNNING);
  CHECK_STATUS(pawl_client_close_session(client, NULL, "probe-1", NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_withdraw_session(host, "probe-1", keep_status, &gone), PAWL_OK);
  expect_answer(host, &gone, PAWL_OK);
  CHECK_STATUS(pawl_host_withdraw_session(host, "probe-1", keep_status, &twice), PAWL_OK);
  expect_answer(host, &twice, PAWL_NOT_FOUND);
  CHECK(g_seen.lost == 1);
  CHECK_STATUS(pawl_client_forget_device(client, "probe-1"), PAWL_OK);
  CHECK_STATUS(pawl_client_forget_device(client, "probe-1"), PAWL_NOT_FOUND);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- sessions of code ---- */

static void expect_loss(const pawl_outcome* outcome, const char* session, const char* reason) {
  pawl_session_event loss;
  loss.size = sizeof loss;
  CHECK(outcome->error == PAWL_ERROR_SESSION_LOST);
  CHECK_STATUS(pawl_read_session_loss(outcome->value, &loss), PAWL_OK);
  CHECK(strcmp(loss.change, "lost") == 0 && strcmp(loss.session, session) == 0);
  CHECK(strcmp(loss.reason, reason) == 0 && loss.epoch > 1);
  CHECK_STATUS(pawl_read_session_event(outcome->value, &loss), PAWL_CORRUPT);
}

/* Opens, hands off, loses and closes a session, and says what came of each. */
static pawl_poll keeps_sessions(pawl_ctx* ctx, void* user) {
  pawl_session_settings settings;
  pawl_session one;
  pawl_session named;
  pawl_session anonymous;
  pawl_session shared;
  pawl_session_event event;
  pawl_outcome outcome;
  pawl_outcome said;
  pawl_outcome others;
  pawl_handle aborting;
  pawl_handle behind;
  (void)user;
  event.size = sizeof event;
  CHECK(text_is(pawl_orchestration_name(ctx), "code"));
  CHECK(text_is(pawl_orchestration_version(ctx), "1.0.0"));
  CHECK(pawl_is_suspended(ctx) == 0 && pawl_history_length(ctx) > 0);
  CHECK(pawl_trace(ctx, PAWL_LEVEL_INFO, "begins") == PAWL_ERROR_NONE);
  CHECK(pawl_trace(ctx, 9, "begins") == PAWL_ERROR_INVALID_ARGUMENT);
  pawl_session_settings_init(&settings);
  CHECK(settings.rate_burst == 1);
  settings.owner_label = "alice";
  settings.kind = "agent";
  settings.exclusive = 1;
  settings.fail_on_loss = 1;
  settings.notify = 1;
  settings.max_activities = 100;
  one = pawl_open_session(ctx, "one", &settings);
  CHECK(text_is(pawl_session_id(&one), "one"));
  PAWL_AWAIT_C(pawl_session_opened(ctx, &one), &outcome);
  CHECK(outcome.error == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(at_session(ctx, &one, ""), &said);
  CHECK(text_is(said.value, "one 1   folder"));
  PAWL_AWAIT_C(pawl_session_events(ctx, &one), &outcome);
  CHECK_STATUS(pawl_read_session_event(outcome.value, &event), PAWL_OK);
  CHECK(strcmp(event.change, "claimed") == 0 && strcmp(event.to, "c") == 0 && event.epoch == 1);
  CHECK_STATUS(pawl_read_session_loss(outcome.value, &event), PAWL_CORRUPT);

  /* It is given up by its activity, and lost. */
  aborting = at_session(ctx, &one, "abort");
  behind = at_session(ctx, &one, "");
  PAWL_AWAIT_C(aborting, &said);
  CHECK(text_is(said.value, "one 0   folder"));
  PAWL_AWAIT_C(behind, &outcome);
  expect_loss(&outcome, "one", "aborted");
  PAWL_AWAIT_C(at_session(ctx, &one, ""), &outcome);
  expect_loss(&outcome, "one", "not opened again");

  /* One that moves: a summary reaches its next owner, which is this one again. */
  anonymous = pawl_open_session(ctx, NULL, NULL);
  CHECK(pawl_session_id(&anonymous).size > 0);
  PAWL_AWAIT_C(at_session(ctx, &anonymous, ""), NULL);
  CHECK(pawl_hold_session(ctx, &anonymous, 1000) == PAWL_ERROR_NONE);
  CHECK(pawl_handoff_session(ctx, &anonymous, "deep", "so far", 6) == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(at_session(ctx, &anonymous, ""), &said);
  CHECK(strstr(said.value.data, " 1 deep so far folder") != NULL);
  pawl_session_settings_init(&settings);
  settings.idle_timeout_ms = 60000;
  CHECK(pawl_change_session(ctx, &anonymous, &settings) == PAWL_ERROR_NONE);
  CHECK(pawl_close_session(ctx, &anonymous) == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(at_session(ctx, &anonymous, ""), &outcome);
  CHECK(outcome.error == PAWL_ERROR_SESSION_CLOSED);

  /* Its id alone says which it is. */
  one = pawl_open_session(ctx, "two", NULL);
  named = pawl_session_of("two");
  CHECK(pawl_hold_session(ctx, &named, 0) == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(at_session(ctx, &named, ""), &said);
  CHECK(text_is(said.value, "two 1   folder"));
  CHECK(pawl_close_session(ctx, &named) == PAWL_ERROR_NONE);

  /* A shared one, and one of another instance. */
  settings.idle_close_ms = 100000;
  shared = pawl_use_session(ctx, "shared", &settings);
  PAWL_AWAIT_C(at_session(ctx, &shared, ""), &said);
  CHECK(text_is(said.value, "shared 1   folder"));
  CHECK(pawl_close_session(ctx, &shared) == PAWL_ERROR_NONE);
  one = pawl_adopt_session(ctx, "nobody", "two");
  PAWL_AWAIT_C(at_session(ctx, &one, ""), &others);
  CHECK(others.error == PAWL_ERROR_SESSION_CLOSED);
  return pawl_complete(ctx, "kept", 4);
}

void sessions_of_code(void) {
  pawl_host* const host = session_host(keeps_sessions, NULL);
  pawl_client* const client = open_client(host);
  expect_end(host, client, "code", "", PAWL_COMPLETED, "kept");
  CHECK(g_seen.claimed >= 5);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
  CHECK(g_seen.lost == g_seen.claimed);
}

/* ---- operators ---- */

/* Keeps a session open until it is told to end. */
static pawl_poll holds_one(pawl_ctx* ctx, void* user) {
  pawl_session_settings settings;
  pawl_session session;
  pawl_session_event event;
  pawl_outcome outcome;
  (void)user;
  event.size = sizeof event;
  pawl_session_settings_init(&settings);
  settings.owner_label = "alice";
  settings.kind = "agent";
  settings.notify = 1;
  session = pawl_open_session(ctx, "desk", &settings);
  PAWL_AWAIT_C(at_session(ctx, &session, ""), NULL);
  CHECK(pawl_set_custom_status(ctx, "open", 4) == PAWL_ERROR_NONE);
  do {
    PAWL_AWAIT_C(pawl_session_events(ctx, &session), &outcome);
    CHECK_STATUS(pawl_read_session_event(outcome.value, &event), PAWL_OK);
  } while (strcmp(event.change, "closed") != 0);
  return pawl_complete(ctx, event.change, strlen(event.change));
}

static void keep_session(void* user, const pawl_session_info* info) {
  pawl_session_info* const kept = user;
  CHECK(info->size == sizeof *info && kept->key == 0);
  *kept = *info;
}
static void expect_worker(void* user, const pawl_worker_info* info) {
  CHECK(text_is(info->node, "c") && text_is(info->tags, "deep\nwide"));
  CHECK(text_is(info->handlers, "on_session") && info->takes_untagged == 1 && info->any_tag == 0);
  CHECK(info->sessions_max == 128 && info->pid > 0);
  *(int*)user = info->draining;
}

static void wait_open(pawl_host* host, pawl_client* client) {
  char bytes[20];
  pawl_buffer custom = {bytes, sizeof bytes, 0};
  pawl_instance_status status;
  int rounds = 0;
  status.size = sizeof status;
  do {
    CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
    CHECK_STATUS(pawl_client_get_status(client, "i", &status, NULL, &custom), PAWL_OK);
    CHECK(status.state == PAWL_RUNNING && rounds++ < 3000);
  } while (!buffer_is(&custom, "open"));
}

static void change_and_move(pawl_client* client) {
  pawl_session_settings settings;
  pawl_transfer_options how;
  pawl_session_info info;
  char long_tag[300];
  memset(long_tag, 't', sizeof long_tag);
  long_tag[299] = 0;
  memset(&info, 0, sizeof info);
  info.size = sizeof info;
  pawl_session_settings_init(&settings);
  settings.max_age_ms = 3600000;
  settings.owner_label = "bob";
  settings.kind = "ignored";
  CHECK_STATUS(pawl_client_change_session(client, "i", "desk", &settings,
                                          PAWL_CHANGE_MAX_AGE | PAWL_CHANGE_OWNER_LABEL),
               PAWL_OK);
  CHECK_STATUS(pawl_client_get_session(client, "i", "desk", &info), PAWL_OK);
  CHECK(text_is(info.owner_label, "bob") && text_is(info.kind, "agent"));
  CHECK(info.expires_in.has_value == 1 && info.expires_in.ms > 0);
  CHECK_STATUS(pawl_client_change_session(client, "i", "desk", &settings, 0), PAWL_OK);
  CHECK_STATUS(pawl_client_change_session(client, "i", "desk", &settings, 1u << 12),
               PAWL_UNSUPPORTED);
  settings.rate_burst = 0;
  CHECK_STATUS(pawl_client_change_session(client, "i", "desk", &settings, PAWL_CHANGE_RATE_BURST),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_change_session(client, "i", "none", NULL, 0), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_hold_session(client, "i", "desk", 1000), PAWL_OK);
  CHECK_STATUS(pawl_client_hold_session(client, "i", "desk", -1), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_hold_session(client, NULL, "desk", 1), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_handoff_session(client, "i", "desk", "wide", "x", 1), PAWL_OK);
  CHECK_STATUS(pawl_client_handoff_session(client, "i", "desk", long_tag, NULL, 0),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_handoff_session(client, "i", "desk", NULL, NULL, 1),
               PAWL_INVALID_ARGUMENT);
  pawl_transfer_options_init(&how);
  CHECK(how.stop_timeout_ms == 20000);
  how.instance = "i";
  CHECK_STATUS(pawl_client_transfer_session(client, "desk", "nobody", &how),
               PAWL_NO_ELIGIBLE_TARGET);
  how.stop_timeout_ms = -1;
  CHECK_STATUS(pawl_client_transfer_session(client, "desk", NULL, &how), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_transfer_session(client, "desk", NULL, NULL), PAWL_NOT_FOUND);
}

void operators_of_sessions(void) {
  pawl_host* const host = session_host(holds_one, NULL);
  pawl_client* const client = open_client(host);
  pawl_session_filter filter;
  pawl_session_info info;
  pawl_page page = first_page(10);
  char bytes[20];
  pawl_buffer output = {bytes, sizeof bytes, 0};
  int draining = -1;
  CHECK_STATUS(pawl_client_start(client, "code", "i", NULL, 0, NULL), PAWL_OK);
  wait_open(host, client);
  pawl_session_filter_init(&filter);
  CHECK(filter.any_state == 1);
  filter.owner_label = "alice";
  filter.kind = "agent";
  filter.instance_id = "i";
  memset(&info, 0, sizeof info);
  CHECK_STATUS(pawl_client_list_sessions(client, &filter, &page, keep_session, &info), PAWL_OK);
  CHECK(info.key > 0 && info.device == 0 && info.activities == 1 && info.epoch == 1);
  filter.any_state = 0;
  filter.state = PAWL_SESSION_LOST;
  memset(&info, 0, sizeof info);
  page = first_page(10);
  CHECK_STATUS(pawl_client_list_sessions(client, &filter, &page, keep_session, &info), PAWL_OK);
  CHECK(info.key == 0);
  filter.state = 6;
  CHECK_STATUS(pawl_client_list_sessions(client, &filter, &page, keep_session, &info),
               PAWL_INVALID_ARGUMENT);
  change_and_move(client);

  CHECK_STATUS(pawl_client_drain_worker(client, "c", NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_list_workers(client, expect_worker, &draining), PAWL_OK);
  CHECK(draining == 1);
  CHECK_STATUS(pawl_client_undrain_worker(client, "c"), PAWL_OK);
  CHECK_STATUS(pawl_client_list_workers(client, expect_worker, &draining), PAWL_OK);
  CHECK(draining == 0);
  CHECK_STATUS(pawl_client_undrain_worker(client, "nobody"), PAWL_NOT_FOUND);

  CHECK_STATUS(pawl_client_close_session(client, "i", "desk", "alice"), PAWL_NOT_OWNER);
  CHECK(strstr(pawl_client_error(client), "bob") != NULL);
  CHECK_STATUS(pawl_client_close_session(client, "i", "desk", "bob"), PAWL_OK);
  run_until(host, client, "i", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "closed"));
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- wrong options of a host ---- */

void wrong_tags(void) {
  static const char* const tags[] = {"a", "b", "c", "d", "e", "f"};
  static const char* const same[] = {"a", "a"};
  static const char* const none[] = {NULL};
  pawl_host_options options;
  pawl_host* host = NULL;
  pawl_host_options_init(&options);
  options.database_path = g_path;
  options.tag_mode = PAWL_TAGS_ONLY;
  options.tag_count = 1;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT); /* no tags */
  options.tags = tags;
  options.tag_count = 6;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT);
  options.tag_count = 5;
  options.tag_mode = 5;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT);
  options.tag_mode = -1;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_INVALID_ARGUMENT);
  /* The start says what is wrong with the tags. */
  options.tag_mode = PAWL_TAGS_ONLY;
  options.tag_count = 2;
  options.tags = same;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_INVALID_OPTIONS);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
  options.tag_count = 1;
  options.tags = none;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_INVALID_OPTIONS);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
  options.tag_count = 0;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_INVALID_OPTIONS);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
  options.tag_mode = PAWL_TAGS_NONE;
  options.work_root = "/nowhere at all";
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK(pawl_host_start(host) != PAWL_OK && strlen(pawl_host_error(host)) > 0);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

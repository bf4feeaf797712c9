/* Goal: verbs, listings, values and watching, from C. */
#include "c_api_test.h"

/* ---- code ---- */

/* Keeps values, has a child, takes a message, waits for an event, and ends with that. */
static pawl_poll busy(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  pawl_value value;
  pawl_text text;
  size_t count = 0;
  (void)user;
  memset(&value, 0, sizeof value);
  CHECK(pawl_get_custom_status(ctx).size == 0);
  CHECK(pawl_set_custom_status(ctx, "works", 5) == PAWL_ERROR_NONE);
  CHECK(text_is(pawl_get_custom_status(ctx), "works"));
  CHECK(pawl_set_value(ctx, "b", "2", 1) == PAWL_ERROR_NONE);
  CHECK(pawl_set_value(ctx, "a", "1", 1) == PAWL_ERROR_NONE);
  CHECK(pawl_set_value(ctx, "c", "3", 1) == PAWL_ERROR_NONE);
  CHECK(pawl_count_values(ctx) == 3);
  for (; pawl_next_value(ctx, &value); ++count)
    CHECK(value.key.size == 1 && value.key.data[0] == "abc"[count] && value.updated_ms > 0);
  CHECK(count == 3);
  CHECK(pawl_prune_values(ctx, 1) == 0);
  CHECK(pawl_clear_value(ctx, "c") == PAWL_ERROR_NONE);
  CHECK(pawl_get_cancel_reason(ctx, &text) == 0);
  PAWL_AWAIT_C(pawl_try_dequeue_event(ctx, "q"), &outcome);
  CHECK(outcome.error == PAWL_ERROR_NOT_FOUND || text_is(outcome.value, "m"));
  PAWL_AWAIT_C(pawl_schedule_child(ctx, "child", NULL, 0, NULL), &outcome);
  CHECK(outcome.error == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(pawl_get_value_from(ctx, "nobody", "k"), &outcome);
  CHECK(outcome.error == PAWL_ERROR_NO_INSTANCE);
  PAWL_AWAIT_C(pawl_schedule_wait(ctx, "go"), &outcome);
  if (outcome.error == PAWL_ERROR_CANCELLED) {
    CHECK(pawl_get_cancel_reason(ctx, &text) == 1 && pawl_get_cancel_reason(ctx, NULL) == 1);
    return pawl_complete(ctx, text.data, text.size);
  }
  pawl_reset_custom_status(ctx);
  CHECK(pawl_clear_values(ctx) == 2 && pawl_count_values(ctx) == 0);
  return pawl_complete(ctx, outcome.value.data, outcome.value.size);
}
static pawl_poll child(pawl_ctx* ctx, void* user) {
  (void)user;
  return pawl_complete(ctx, NULL, 0);
}
/* The input is the version that it goes on with; at its end it says which version it is. */
static pawl_poll rolls(pawl_ctx* ctx, void* user) {
  const pawl_text input = pawl_input(ctx);
  const pawl_text version = pawl_orchestration_version(ctx);
  char next[20];
  (void)user;
  if (input.size == 0) return pawl_complete(ctx, version.data, version.size);
  snprintf(next, sizeof next, "%.*s", (int)input.size, input.data);
  return pawl_continue_as_new(ctx, NULL, 0, strcmp(next, "default") == 0 ? NULL : next);
}
/* Sends heartbeats, and fails at its first attempt. */
static void beats(pawl_activity* activity, void* user) {
  (void)user;
  CHECK_STATUS(pawl_activity_heartbeat(activity, "one", 3), PAWL_OK);
  CHECK_STATUS(pawl_activity_heartbeat(activity, "two", 3), PAWL_OK);
  pawl_activity_ok(activity, "beaten", 6);
}
static pawl_poll beaten(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  (void)user;
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "beats", NULL, 0, NULL), &outcome);
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "not here", NULL, 0, NULL), &outcome);
  return pawl_complete(ctx, NULL, 0);
}
static pawl_poll fails(pawl_ctx* ctx, void* user) {
  (void)user;
  return pawl_fail(ctx, "no");
}

static pawl_host* busy_host(void) {
  pawl_host* const host = open_host();
  CHECK_STATUS(pawl_host_add_orchestration(host, "busy", NULL, busy, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "child", NULL, child, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "beaten", NULL, beaten, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "fails", NULL, fails, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "rolls", "1.0.0", rolls, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "rolls", "1.1.0", rolls, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "rolls", "2.0.0", rolls, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_set_default_version(host, "rolls", "1.1.0"), PAWL_OK);
  CHECK_STATUS(pawl_host_set_default_version(host, "rolls", "3.0.0"), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_host_set_default_version(host, NULL, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_add_activity(host, "beats", PAWL_INLINE, beats, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(pawl_host_set_default_version(host, "rolls", NULL), PAWL_STALE);
  return host;
}

static void run(pawl_host* host, int64_t limit_ms) {
  CHECK_STATUS(pawl_host_run(host, limit_ms), PAWL_TIMEOUT);
}

/* ---- starts and messages ---- */

void ids_in_use(void) {
  pawl_host* const host = busy_host();
  pawl_client* const client = open_client(host);
  pawl_start_options how;
  pawl_start_options first;
  pawl_send_options with;
  pawl_instance_status status;
  char bytes[40];
  pawl_buffer output = {bytes, sizeof bytes, 0};
  pawl_start_options_init(&how);
  how.if_running = PAWL_RUNNING_TAKE; /* there is none to take, so it begins */
  CHECK_STATUS(pawl_client_start(client, "busy", "b", NULL, 0, &how), PAWL_OK);
  how.if_running = PAWL_RUNNING_REFUSE;
  CHECK_STATUS(pawl_client_start(client, "busy", "b", NULL, 0, &how), PAWL_ALREADY_EXISTS);
  how.if_running = PAWL_RUNNING_TAKE;
  CHECK_STATUS(pawl_client_start(client, "busy", "b", NULL, 0, &how), PAWL_OK);
  CHECK_STATUS(pawl_client_raise_event(client, "b", "go", "gone", 4, NULL), PAWL_OK);
  CHECK(run_until(host, client, "b", PAWL_COMPLETED, &output).execution_id == 1);
  CHECK(buffer_is(&output, "gone"));
  how.if_ended = PAWL_ENDED_NEXT_IF_FAILED;
  CHECK_STATUS(pawl_client_start(client, "busy", "b", NULL, 0, &how), PAWL_ALREADY_EXISTS);
  how.if_ended = PAWL_ENDED_NEXT_EXECUTION;
  CHECK_STATUS(pawl_client_start(client, "busy", "b", NULL, 0, &how), PAWL_OK);

  /* A message that brings its start, by the client and by the host. */
  pawl_send_options_init(&with);
  pawl_start_options_init(&first);
  first.version = "1.0.0";
  with.start_if_ended = "busy";
  with.start = &first;
  CHECK_STATUS(pawl_client_raise_event(client, "n", "go", "now", 3, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_raise_event(client, "n", "go", "now", 3, &with), PAWL_OK);
  CHECK_STATUS(pawl_client_enqueue(client, "m", "q", "m", 1, &with), PAWL_OK);
  CHECK_STATUS(pawl_host_enqueue(host, "h", "q", "m", 1, &with, NULL, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_raise_event(host, "h", "go", "host", 4, NULL, NULL, NULL), PAWL_OK);
  run_until(host, client, "n", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "now"));
  run(host, 10);
  run_until(host, client, "h", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "host"));
  first.version = "one";
  CHECK_STATUS(pawl_client_raise_event(client, "x", "go", NULL, 0, &with), PAWL_INVALID_ARGUMENT);
  first.version = NULL;
  first.size = 3;
  CHECK_STATUS(pawl_client_enqueue(client, "x", "q", NULL, 0, &with), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_enqueue(host, "x", "q", NULL, 0, &with, NULL, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK(strlen(pawl_host_error(host)) > 0);
  with.start = NULL;
  with.input_size = 1; /* a length without an address */
  CHECK_STATUS(pawl_client_enqueue(client, "x", "q", NULL, 0, &with), PAWL_INVALID_ARGUMENT);
  status.size = sizeof status;
  CHECK_STATUS(pawl_client_get_status(client, "x", &status, NULL, NULL), PAWL_NOT_FOUND);

  /* The version that an execution begins with. */
  expect_end(host, client, "rolls", "", PAWL_COMPLETED, "1.1.0");
  expect_end(host, client, "rolls", "2.0.0", PAWL_COMPLETED, "2.0.0");
  expect_end(host, client, "rolls", "default", PAWL_COMPLETED, "1.1.0");
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- watching ---- */

/* Answers calls; "no" is refused, "later" is answered with the next message, "on" is handed on to
 * another instance, "end" ends it. */
static pawl_poll answers(pawl_ctx* ctx, void* user) {
  int64_t later = 0;
  (void)user;
  for (;;) {
    const pawl_handle message = pawl_dequeue_event(ctx, "q");
    pawl_outcome got;
    PAWL_AWAIT_C(message, &got);
    if (got.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &got);
    if (later != 0) {
      CHECK(pawl_reply_to(ctx, later, "late", 4) == PAWL_ERROR_NONE);
      later = 0;
    }
    if (text_is(got.value, "end")) return pawl_complete(ctx, NULL, 0);
    if (text_is(got.value, "no")) {
      CHECK(pawl_refuse(ctx, message, "not that") == PAWL_ERROR_NONE);
    } else if (text_is(got.value, "later")) {
      CHECK(pawl_get_call_number(ctx, message, &later) == 1 && later > 0);
      CHECK(pawl_get_call_number(ctx, message, NULL) == 1);
    } else if (text_is(got.value, "on")) {
      pawl_send_options with;
      pawl_handle sent;
      pawl_outcome arrived;
      pawl_send_options_init(&with);
      with.start_if_ended = "takes";
      with.key = "once";
      (void)pawl_enqueue_event(ctx, "other", "q", "on", 2, &with);
      sent = pawl_raise_event(ctx, "nobody", "e", NULL, 0, NULL);
      PAWL_AWAIT_C(sent, &arrived);
      CHECK(arrived.error == PAWL_ERROR_NO_INSTANCE);
      PAWL_AWAIT_C(pawl_enqueue_event(ctx, "other", "q", NULL, 1, NULL), &arrived);
      CHECK(arrived.error == PAWL_ERROR_INVALID_ARGUMENT);
      CHECK(pawl_reply(ctx, message, "sent", 4) == PAWL_ERROR_NONE);
    } else {
      CHECK(pawl_reply(ctx, message, NULL, 1) == PAWL_ERROR_INVALID_ARGUMENT);
      CHECK(pawl_refuse_to(ctx, 0, "none") == PAWL_ERROR_INVALID_ARGUMENT);
      (void)pawl_reply(ctx, message, got.value.data, got.value.size);
    }
  }
}

static pawl_poll takes(pawl_ctx* ctx, void* user) {
  pawl_outcome got;
  (void)user;
  PAWL_AWAIT_C(pawl_dequeue_event(ctx, "q"), &got);
  return pawl_complete(ctx, got.value.data, got.value.size);
}

/* Makes a call, runs the host, and makes it again: the status and the answer. */
static pawl_status ask(pawl_host* host, pawl_client* client, const char* key, const char* text,
                       int* error, pawl_buffer* answer) {
  char made[64];
  pawl_buffer key_out = {made, sizeof made, 0};
  pawl_send_options with;
  pawl_status status;
  pawl_send_options_init(&with);
  with.key = key;
  status =
      pawl_client_call(client, "a", "q", text, strlen(text), 0, &with, error, answer, &key_out);
  CHECK(buffer_is(&key_out, key));
  if (status != PAWL_TIMEOUT) return status;
  run(host, 50);
  return pawl_client_call(client, "a", "q", text, strlen(text), 0, &with, error, answer, NULL);
}

void messages_and_calls(void) {
  char room[32];
  char small[2];
  pawl_buffer answer = {room, sizeof room, 0};
  pawl_buffer narrow = {small, sizeof small, 0};
  pawl_send_options with;
  pawl_client* client;
  int error = -1;
  pawl_host* const host = open_host();
  CHECK_STATUS(pawl_host_add_orchestration(host, "answers", NULL, answers, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "takes", NULL, takes, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  CHECK_STATUS(pawl_client_start(client, "answers", "a", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(ask(host, client, "1", "hello", &error, &answer), PAWL_OK);
  CHECK(error == PAWL_ERROR_NONE && buffer_is(&answer, "hello"));
  CHECK_STATUS(ask(host, client, "2", "no", &error, &answer), PAWL_OK);
  CHECK(error == PAWL_ERROR_APPLICATION && buffer_is(&answer, "not that"));
  CHECK_STATUS(ask(host, client, "3", "later", &error, &answer), PAWL_TIMEOUT);
  CHECK_STATUS(ask(host, client, "4", "on", &error, &answer), PAWL_OK);
  CHECK(buffer_is(&answer, "sent"));
  CHECK_STATUS(ask(host, client, "3", "later", &error, &answer), PAWL_OK);
  CHECK(error == PAWL_ERROR_NONE && buffer_is(&answer, "late"));
  CHECK_STATUS(ask(host, client, "3", "other", &error, &answer), PAWL_KEY_REUSED);
  CHECK_STATUS(ask(host, client, "1", "hello", &error, &narrow), PAWL_RESOURCE_EXHAUSTED);
  CHECK(narrow.size == 5);
  CHECK_STATUS(ask(host, client, "5", "end", &error, &answer), PAWL_STALE);
  run_until(host, client, "other", PAWL_COMPLETED, &answer);
  pawl_send_options_init(&with);
  with.key = "once";
  CHECK_STATUS(pawl_client_enqueue(client, "other", "q", "on", 2, &with), PAWL_OK);
  CHECK_STATUS(pawl_client_enqueue(client, "other", "q", "off", 3, &with), PAWL_KEY_REUSED);
  with.key = "";
  CHECK_STATUS(pawl_client_enqueue(client, "other", "q", "on", 2, &with), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_call(client, "a", "q", NULL, 0, 0, NULL, NULL, &answer, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_call(client, "a", "q", NULL, 0, 0, NULL, &error, NULL, NULL),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_call(NULL, "a", "q", NULL, 0, 0, NULL, &error, &answer, NULL),
               PAWL_INVALID_ARGUMENT);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

static void join_values(void* user, const pawl_value* value) {
  strncat(user, value->key.data, value->key.size);
  strncat(user, value->value.data, value->value.size);
  CHECK(value->updated_ms > 0);
}

void watching(void) {
  pawl_host* const host = busy_host();
  pawl_client* const client = open_client(host);
  pawl_instance_status status;
  pawl_progress progress;
  pawl_watch* watch = NULL;
  char bytes[40];
  char values[40] = "";
  pawl_buffer text = {bytes, sizeof bytes, 0};
  pawl_buffer none = {NULL, 0, 0};
  int more = 0;
  int received = 7;
  status.size = sizeof status;
  progress.size = sizeof progress;
  CHECK_STATUS(pawl_client_start(client, "busy", "b", NULL, 0, NULL), PAWL_OK);
  run(host, 100);
  CHECK_STATUS(pawl_client_get_status(client, "b", &status, NULL, &text), PAWL_OK);
  CHECK(buffer_is(&text, "works") && status.custom_status_version == 1);
  /* The host's own thread does not wait for itself. */
  CHECK_STATUS(pawl_client_wait_status_change(client, "b", 1, 10, &status, &text),
               PAWL_WOULD_BLOCK);
  CHECK_STATUS(pawl_client_wait_value(client, "b", "a", 10, &text), PAWL_WOULD_BLOCK);
  CHECK_STATUS(pawl_client_offer_event(client, "b", "go", NULL, 0, 10, &received),
               PAWL_WOULD_BLOCK);
  CHECK(received == 0);
  CHECK_STATUS(pawl_client_list_values(client, "b", NULL, 1, &more, join_values, values), PAWL_OK);
  CHECK(more == 1 && strcmp(values, "a1") == 0);
  CHECK_STATUS(pawl_client_list_values(client, "b", "a", 10, &more, join_values, values), PAWL_OK);
  CHECK(more == 0 && strcmp(values, "a1b2") == 0);
  CHECK_STATUS(pawl_client_list_values(client, "b", NULL, 0, &more, join_values, values),
               PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_get_value(client, "b", "a", &none), PAWL_RESOURCE_EXHAUSTED);
  CHECK(none.size == 1);

  CHECK_STATUS(pawl_watch_open(NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_watch_open(&watch), PAWL_OK);
  CHECK_STATUS(pawl_client_start(client, "beaten", "w", NULL, 0, NULL), PAWL_OK);
  run(host, 50);
  CHECK_STATUS(pawl_client_watch_progress(client, "w", 0, watch, &progress), PAWL_OK);
  CHECK(text_is(progress.text, "one") && progress.number == 1 && progress.attempt == 1);
  CHECK(progress.execution_id == 1 && progress.activity_id > 0);
  CHECK_STATUS(pawl_client_watch_progress(client, "w", 0, watch, &progress), PAWL_OK);
  CHECK(text_is(progress.text, "two") && progress.number == 2);
  CHECK_STATUS(pawl_client_watch_progress(client, "w", 0, watch, &progress), PAWL_TIMEOUT);
  CHECK_STATUS(pawl_client_watch_progress(client, "nobody", 0, watch, &progress), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_watch_progress(client, "w", 0, NULL, &progress), PAWL_INVALID_ARGUMENT);
  progress.size = 3;
  CHECK_STATUS(pawl_client_watch_progress(client, "w", 0, watch, &progress), PAWL_INVALID_ARGUMENT);
  pawl_watch_close(watch);
  pawl_watch_close(NULL);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);

  /* Without a host on this thread the waits wait. */
  {
    pawl_client* const alone = open_client(NULL);
    CHECK_STATUS(pawl_client_wait_status_change(alone, "b", -1, 0, &status, &text), PAWL_OK);
    CHECK(buffer_is(&text, "works"));
    CHECK_STATUS(pawl_client_wait_status_change(alone, "b", 1, 1, &status, &text), PAWL_TIMEOUT);
    CHECK(status.state == PAWL_RUNNING);
    CHECK_STATUS(pawl_client_wait_value(alone, "b", "a", 1000, &text), PAWL_OK);
    CHECK(buffer_is(&text, "1"));
    CHECK_STATUS(pawl_client_wait_value(alone, "b", "z", 1, &text), PAWL_TIMEOUT);
    CHECK_STATUS(pawl_client_offer_event(alone, "b", "go", "x", 1, 1, &received), PAWL_TIMEOUT);
    CHECK_STATUS(pawl_client_cancel(alone, "b", "enough"), PAWL_OK);
    CHECK_STATUS(pawl_client_terminate(alone, "b", "now"), PAWL_OK);
    pawl_client_close(alone);
  }
}

/* ---- listings ---- */

typedef struct counts {
  int rows;
  char text[400];
} counts;

static void add(counts* to, pawl_text text) {
  ++to->rows;
  strncat(to->text, text.data, text.size);
  strcat(to->text, ";");
}
static void on_instance(void* user, const pawl_instance_info* info) {
  CHECK(info->size == sizeof *info && info->key > 0 && info->created_ms > 0);
  add(user, info->name);
}
static void on_execution(void* user, const pawl_execution_info* info) {
  CHECK(info->size == sizeof *info && info->events > 0 && info->started_ms > 0);
  CHECK(info->state == PAWL_EXECUTION_FAILED || info->state == PAWL_EXECUTION_RUNNING);
  add(user, info->output);
}
static void on_event(void* user, const pawl_history_event* event) {
  pawl_text kind;
  CHECK(event->size == sizeof *event && event->id > 0 && event->time_ms > 0);
  kind.data = event->kind;
  kind.size = strlen(event->kind);
  add(user, kind);
}
static void on_activity(void* user, const pawl_activity_info* info) {
  CHECK(info->size == sizeof *info && info->activity_id > 0);
  CHECK(info->state >= PAWL_ACTIVITY_READY && info->state <= PAWL_ACTIVITY_OUTSIDE);
  add(user, info->name);
}
static void on_cause(void* user, const pawl_cause* cause) {
  pawl_text kind;
  CHECK(cause->size == sizeof *cause && pawl_cause_help(cause->kind)[0] != '\0');
  kind.data = pawl_cause_kind_name(cause->kind);
  kind.size = strlen(kind.data);
  add(user, kind);
  add(user, cause->name);
}
static void on_work(void* user, const pawl_work_info* info) {
  CHECK(info->size == sizeof *info && text_is(info->instance_id, "w"));
  add(user, info->name);
}
static void on_message(void* user, const pawl_message_info* info) {
  CHECK(info->size == sizeof *info && info->number > 0 && strcmp(info->kind, "queue") == 0);
  CHECK(text_is(info->name, "q2") && info->is_timer == 0);
  add(user, info->payload);
}

static void list_rows(pawl_client* client) {
  counts got;
  pawl_work_filter of_work;
  pawl_page page = first_page(100);
  memset(&got, 0, sizeof got);
  CHECK_STATUS(pawl_client_list_tree(client, "b", &page, on_instance, &got), PAWL_OK);
  CHECK(got.rows == 2 && strcmp(got.text, "busy;child;") == 0);
  memset(&got, 0, sizeof got);
  page = first_page(100);
  CHECK_STATUS(pawl_client_list_children(client, "b", &page, on_instance, &got), PAWL_OK);
  CHECK(strcmp(got.text, "child;") == 0);
  CHECK_STATUS(pawl_client_list_children(client, "nobody", &page, on_instance, &got),
               PAWL_NOT_FOUND);
  memset(&got, 0, sizeof got);
  CHECK_STATUS(pawl_client_list_executions(client, "f", on_execution, &got), PAWL_OK);
  CHECK(strcmp(got.text, "no;") == 0);
  memset(&got, 0, sizeof got);
  for (page = first_page(2), page.more = 1; page.more;)
    CHECK_STATUS(pawl_client_read_history(client, "f", 0, &page, on_event, &got), PAWL_OK);
  CHECK(got.rows >= 2 && strncmp(got.text, "started;", 8) == 0 && strstr(got.text, "ended;"));
  page = first_page(2);
  CHECK_STATUS(pawl_client_read_history(client, "f", 9, &page, on_event, &got), PAWL_NOT_FOUND);
  memset(&got, 0, sizeof got);
  CHECK_STATUS(pawl_client_list_activities(client, "w", on_activity, &got), PAWL_OK);
  CHECK(strcmp(got.text, "not here;") == 0);
  memset(&got, 0, sizeof got);
  CHECK_STATUS(pawl_client_explain(client, "w", on_cause, &got), PAWL_OK);
  CHECK(strcmp(got.text, "no_activity;not here;") == 0);
  CHECK_STATUS(pawl_client_explain(client, "none", on_cause, &got), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_explain_session(client, "w", "none", on_cause, &got), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_explain_session(client, NULL, "none", on_cause, &got), PAWL_NOT_FOUND);
  CHECK(strcmp(pawl_cause_kind_name(-1), "unknown") == 0 && pawl_cause_help(1000)[0] == '\0');
  memset(&got, 0, sizeof got);
  page = first_page(100);
  pawl_work_filter_init(&of_work);
  CHECK(of_work.any_state == 1);
  of_work.name = "not here";
  CHECK_STATUS(pawl_client_list_work(client, &of_work, &page, on_work, &got), PAWL_OK);
  CHECK(got.rows == 1);
  of_work.any_state = 0;
  of_work.state = PAWL_ACTIVITY_RUNNING;
  page = first_page(100);
  CHECK_STATUS(pawl_client_list_work(client, &of_work, &page, on_work, &got), PAWL_OK);
  CHECK(got.rows == 1);
  of_work.state = PAWL_ACTIVITY_OUTSIDE + 1;
  CHECK_STATUS(pawl_client_list_work(client, &of_work, &page, on_work, &got),
               PAWL_INVALID_ARGUMENT);
  memset(&got, 0, sizeof got);
  page = first_page(100);
  CHECK_STATUS(pawl_client_list_messages(client, "b", &page, on_message, &got), PAWL_OK);
  CHECK(strcmp(got.text, "m;") == 0);
}

static void read_rows(pawl_client* client) {
  pawl_instance_info info;
  pawl_instance_stats stats;
  pawl_metrics metrics;
  info.size = sizeof info;
  stats.size = sizeof stats;
  metrics.size = sizeof metrics;
  CHECK_STATUS(pawl_client_get_info(client, "b", &info), PAWL_OK);
  CHECK(text_is(info.id, "b") && text_is(info.version, "1.0.0") && info.parent_id.size == 0);
  CHECK_STATUS(pawl_client_get_info(client, "nobody", &info), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_get_stats(client, "b", &stats), PAWL_OK);
  CHECK(stats.kv_keys == 2 && stats.kv_bytes == 4 && stats.messages_waiting == 1);
  CHECK_STATUS(pawl_client_get_metrics(client, &metrics), PAWL_OK);
  CHECK(metrics.instances_running == 2 && metrics.instances_failed == 1);
  CHECK(metrics.complete == 1 && metrics.refuses_new == 0 && metrics.used_bytes > 0);
  CHECK(metrics.sessions_lasted_ms.counts[7] == 0 && metrics.sessions_activities.most == 0);
  CHECK_STATUS(pawl_client_set_quota(client, 1), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_set_quota(client, 1 << 24), PAWL_OK);
  CHECK_STATUS(pawl_client_get_metrics(client, &metrics), PAWL_OK);
  CHECK(metrics.quota_bytes == 1 << 24);
}

/* Suspends, restarts, ends and removes. */
static void verbs(pawl_host* host, pawl_client* client) {
  pawl_restart_options how;
  pawl_instance_filter filter;
  pawl_removed removed;
  pawl_page page = first_page(10);
  int64_t asked = -1;
  CHECK_STATUS(pawl_client_suspend(client, "b"), PAWL_OK);
  run_until(host, client, "b", PAWL_SUSPENDED, NULL);
  CHECK_STATUS(pawl_client_resume(client, "b"), PAWL_OK);
  run_until(host, client, "b", PAWL_RUNNING, NULL);
  pawl_restart_options_init(&how);
  how.by = "a test";
  CHECK_STATUS(pawl_client_restart(client, "b", PAWL_FROM_START, &how), PAWL_STILL_RUNNING);
  CHECK_STATUS(pawl_client_restart(client, "f", 2, &how), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_restart(client, "f", PAWL_FROM_LAST_GOOD_EVENT, NULL),
               PAWL_NOT_RESTARTABLE);
  CHECK_STATUS(pawl_client_restart(client, "f", PAWL_FROM_START, &how), PAWL_OK);
  run(host, 20);
  CHECK(run_until(host, client, "f", PAWL_FAILED, NULL).execution_id == 2);
  CHECK_STATUS(pawl_client_prune(client, "f", 1, 0, &removed), PAWL_OK);
  CHECK(removed.executions == 1 && removed.instances == 0 && removed.events > 0);
  CHECK_STATUS(pawl_client_prune_all(client, NULL, &page, 1, 0, &removed), PAWL_OK);
  CHECK(removed.executions == 0 && page.more == 0);

  pawl_instance_filter_init(&filter);
  filter.name = "busy";
  page = first_page(10);
  CHECK_STATUS(pawl_client_cancel_all(client, &filter, &page, "all of you", &asked), PAWL_OK);
  CHECK(asked == 1);
  run_until(host, client, "b", PAWL_COMPLETED, NULL);
  CHECK_STATUS(pawl_client_terminate(client, "w", "enough"), PAWL_OK);
  CHECK(run_until(host, client, "w", PAWL_FAILED, NULL).error == PAWL_ERROR_TERMINATED);
  CHECK_STATUS(pawl_client_delete(client, "w", 0, &removed), PAWL_OK);
  CHECK(removed.instances == 1 && removed.executions == 1);
  filter.name = NULL;
  filter.any_state = 0;
  filter.state = 9;
  page = first_page(10);
  CHECK_STATUS(pawl_client_delete_all(client, &filter, &page, &removed), PAWL_INVALID_ARGUMENT);
  CHECK(removed.instances == 0);
  filter.state = PAWL_FAILED;
  CHECK_STATUS(pawl_client_delete_all(client, &filter, &page, &removed), PAWL_OK);
  CHECK(removed.instances == 1);
  CHECK_STATUS(pawl_client_delete_all(client, NULL, &page, NULL), PAWL_OK);
}

void listings_and_verbs(void) {
  pawl_host* const host = busy_host();
  pawl_client* const client = open_client(host);
  CHECK_STATUS(pawl_client_start(client, "busy", "b", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_start(client, "beaten", "w", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_start(client, "fails", "f", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_enqueue(client, "b", "q2", "m", 1, NULL), PAWL_OK);
  run(host, 200);
  list_rows(client);
  read_rows(client);
  verbs(host, client);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- calls of a host ---- */

static void keep_status(void* user, pawl_status status) { *(int*)user = (int)status; }

void verbs_of_a_host(void) {
  pawl_host* const host = busy_host();
  int answers[7];
  int i;
  for (i = 0; i < 7; ++i)
    answers[i] = -1;
  CHECK_STATUS(pawl_host_start_orchestration(host, "busy", "b", NULL, 0, NULL, NULL, NULL),
               PAWL_OK);
  run(host, 50);
  CHECK_STATUS(pawl_host_suspend(host, "b", keep_status, &answers[0]), PAWL_OK);
  CHECK_STATUS(pawl_host_resume(host, "b", keep_status, &answers[1]), PAWL_OK);
  CHECK_STATUS(pawl_host_terminate(host, "b", "why", keep_status, &answers[2]), PAWL_OK);
  pawl_host_wake(host);
  run(host, 50);
  CHECK_STATUS(pawl_host_prune(host, "b", 1, 0, keep_status, &answers[3]), PAWL_OK);
  CHECK_STATUS(pawl_host_delete(host, "b", 0, keep_status, &answers[4]), PAWL_OK);
  CHECK_STATUS(pawl_host_delete(host, "nobody", 1, keep_status, &answers[5]), PAWL_OK);
  CHECK_STATUS(pawl_host_terminate(host, NULL, NULL, keep_status, &answers[6]), PAWL_OK);
  run(host, 50);
  for (i = 0; i < 5; ++i)
    CHECK(answers[i] == PAWL_OK);
  CHECK(answers[5] == PAWL_NOT_FOUND && answers[6] == PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_host_stop(host), PAWL_OK);
  CHECK_STATUS(pawl_host_suspend(host, "b", NULL, NULL), PAWL_STOPPED);
  CHECK(pawl_host_is_ready(host) == 0);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- null pointers ---- */

static void null_clients(void) {
  pawl_page page = first_page(1);
  pawl_text text = {NULL, 0};
  pawl_session_event event;
  int received = 0;
  char bytes[4];
  pawl_buffer buffer = {bytes, sizeof bytes, 0};
  const pawl_status no = PAWL_INVALID_ARGUMENT;
  event.size = sizeof event;
  CHECK_STATUS(pawl_client_offer_event(NULL, "i", "e", NULL, 0, 0, &received), no);
  CHECK_STATUS(pawl_client_wait_status_change(NULL, "i", 0, 0, NULL, NULL), no);
  CHECK_STATUS(pawl_client_watch_progress(NULL, "i", 0, NULL, NULL), no);
  CHECK_STATUS(pawl_client_wait_value(NULL, "i", "k", 0, &buffer), no);
  CHECK_STATUS(pawl_client_list_values(NULL, "i", NULL, 1, &received, join_values, NULL), no);
  CHECK_STATUS(pawl_client_terminate(NULL, "i", NULL), no);
  CHECK_STATUS(pawl_client_suspend(NULL, "i"), no);
  CHECK_STATUS(pawl_client_resume(NULL, "i"), no);
  CHECK_STATUS(pawl_client_restart(NULL, "i", 0, NULL), no);
  CHECK_STATUS(pawl_client_list_children(NULL, "i", &page, on_instance, NULL), no);
  CHECK_STATUS(pawl_client_list_tree(NULL, "i", &page, on_instance, NULL), no);
  CHECK_STATUS(pawl_client_get_info(NULL, "i", NULL), no);
  CHECK_STATUS(pawl_client_cancel_all(NULL, NULL, &page, NULL, NULL), no);
  CHECK_STATUS(pawl_client_get_stats(NULL, "i", NULL), no);
  CHECK_STATUS(pawl_client_list_executions(NULL, "i", on_execution, NULL), no);
  CHECK_STATUS(pawl_client_read_history(NULL, "i", 0, &page, on_event, NULL), no);
  CHECK_STATUS(pawl_client_list_activities(NULL, "i", on_activity, NULL), no);
  CHECK_STATUS(pawl_client_explain(NULL, "i", on_cause, NULL), no);
  CHECK_STATUS(pawl_client_explain_session(NULL, "i", "s", on_cause, NULL), no);
  CHECK_STATUS(pawl_client_list_work(NULL, NULL, &page, on_work, NULL), no);
  CHECK_STATUS(pawl_client_list_messages(NULL, "i", &page, on_message, NULL), no);
  CHECK_STATUS(pawl_client_list_sessions(NULL, NULL, &page, NULL, NULL), no);
  CHECK_STATUS(pawl_client_get_session(NULL, NULL, "s", NULL), no);
  CHECK_STATUS(pawl_client_close_session(NULL, NULL, "s", NULL), no);
  CHECK_STATUS(pawl_client_hold_session(NULL, NULL, "s", 1), no);
  CHECK_STATUS(pawl_client_handoff_session(NULL, NULL, "s", NULL, NULL, 0), no);
  CHECK_STATUS(pawl_client_change_session(NULL, NULL, "s", NULL, 0), no);
  CHECK_STATUS(pawl_client_transfer_session(NULL, "s", NULL, NULL), no);
  CHECK_STATUS(pawl_client_drain_worker(NULL, "n", NULL), no);
  CHECK_STATUS(pawl_client_undrain_worker(NULL, "n"), no);
  CHECK_STATUS(pawl_client_forget_device(NULL, "d"), no);
  CHECK_STATUS(pawl_client_list_workers(NULL, NULL, NULL), no);
  CHECK_STATUS(pawl_client_get_metrics(NULL, NULL), no);
  CHECK_STATUS(pawl_client_set_quota(NULL, 0), no);
  CHECK_STATUS(pawl_client_delete_all(NULL, NULL, &page, NULL), no);
  CHECK_STATUS(pawl_client_prune(NULL, "i", 1, 0, NULL), no);
  CHECK_STATUS(pawl_client_prune_all(NULL, NULL, &page, 1, 0, NULL), no);
  CHECK_STATUS(pawl_read_session_event(text, NULL), no);
  CHECK_STATUS(pawl_read_session_loss(text, &event), PAWL_CORRUPT);
  text.size = 1;
  CHECK_STATUS(pawl_read_session_loss(text, &event), no);
}

static void null_answers(pawl_client* client) {
  pawl_page page = first_page(1);
  int received = 0;
  const pawl_status no = PAWL_INVALID_ARGUMENT;
  CHECK_STATUS(pawl_client_offer_event(client, "i", "e", NULL, 0, 0, NULL), no);
  CHECK_STATUS(pawl_client_offer_event(client, "i", "e", NULL, 1, 0, &received), no);
  CHECK_STATUS(pawl_client_wait_status_change(client, "i", 0, 0, NULL, NULL), no);
  CHECK_STATUS(pawl_client_wait_value(client, "i", "k", 0, NULL), no);
  CHECK_STATUS(pawl_client_list_values(client, "i", NULL, 1, NULL, join_values, NULL), no);
  CHECK_STATUS(pawl_client_list_values(client, "i", NULL, 1, &received, NULL, NULL), no);
  CHECK_STATUS(pawl_client_list_children(client, "i", NULL, on_instance, NULL), no);
  CHECK_STATUS(pawl_client_list_children(client, "i", &page, NULL, NULL), no);
  CHECK_STATUS(pawl_client_get_info(client, "i", NULL), no);
  CHECK_STATUS(pawl_client_get_stats(client, "i", NULL), no);
  CHECK_STATUS(pawl_client_cancel_all(client, NULL, NULL, NULL, NULL), no);
  CHECK_STATUS(pawl_client_list_executions(client, "i", NULL, NULL), no);
  CHECK_STATUS(pawl_client_read_history(client, "i", 0, NULL, on_event, NULL), no);
  CHECK_STATUS(pawl_client_read_history(client, "i", 0, &page, NULL, NULL), no);
  CHECK_STATUS(pawl_client_list_activities(client, "i", NULL, NULL), no);
  CHECK_STATUS(pawl_client_explain(client, "i", NULL, NULL), no);
  CHECK_STATUS(pawl_client_explain_session(client, "i", "s", NULL, NULL), no);
  CHECK_STATUS(pawl_client_list_work(client, NULL, NULL, on_work, NULL), no);
  CHECK_STATUS(pawl_client_list_work(client, NULL, &page, NULL, NULL), no);
  CHECK_STATUS(pawl_client_list_messages(client, "i", NULL, on_message, NULL), no);
  CHECK_STATUS(pawl_client_list_sessions(client, NULL, &page, NULL, NULL), no);
  CHECK_STATUS(pawl_client_get_session(client, NULL, "s", NULL), no);
  CHECK_STATUS(pawl_client_list_workers(client, NULL, NULL), no);
  CHECK_STATUS(pawl_client_get_metrics(client, NULL), no);
  CHECK_STATUS(pawl_client_delete_all(client, NULL, NULL, NULL), no);
  CHECK_STATUS(pawl_client_prune_all(client, NULL, NULL, 1, 0, NULL), no);
  /* A name that is null is none. */
  CHECK_STATUS(pawl_client_terminate(client, NULL, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_suspend(client, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_restart(client, NULL, 0, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_list_activities(client, NULL, on_activity, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_explain(client, NULL, on_cause, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_explain_session(client, NULL, NULL, on_cause, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_drain_worker(client, NULL, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_forget_device(client, NULL), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_close_session(client, NULL, NULL, NULL), PAWL_NOT_FOUND);
}

void null_pointers(void) {
  pawl_client* client;
  const pawl_status no = PAWL_INVALID_ARGUMENT;
  null_clients();
  client = open_client(NULL);
  null_answers(client);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_enqueue(NULL, "i", "q", NULL, 0, NULL, NULL, NULL), no);
  CHECK_STATUS(pawl_host_terminate(NULL, "i", NULL, NULL, NULL), no);
  CHECK_STATUS(pawl_host_suspend(NULL, "i", NULL, NULL), no);
  CHECK_STATUS(pawl_host_resume(NULL, "i", NULL, NULL), no);
  CHECK_STATUS(pawl_host_delete(NULL, "i", 0, NULL, NULL), no);
  CHECK_STATUS(pawl_host_prune(NULL, "i", 1, 0, NULL, NULL), no);
  CHECK(pawl_host_is_ready(NULL) == 0 && pawl_host_worker_id(NULL).size == 0);
  pawl_host_wake(NULL);
}

/* Orchestrations and activities in C, for the tests of pawl.h. */
#include "c_api_test.h"

/* ---- awaits ---- */

static void echo(pawl_activity* activity, void* user) {
  const pawl_text input = pawl_activity_input(activity);
  (void)user;
  pawl_activity_ok(activity, input.data, input.size);
}

static pawl_poll of_branch(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  const char* const text = user;
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "echo", text, strlen(text), NULL), &outcome);
  return pawl_complete(ctx, outcome.value.data, outcome.value.size);
}

static pawl_poll child(pawl_ctx* ctx, void* user) {
  (void)user;
  if (pawl_input(ctx).size == 0) return pawl_fail(ctx, "no input");
  return pawl_complete(ctx, pawl_input(ctx).data, pawl_input(ctx).size);
}

static pawl_poll many(pawl_ctx* ctx, void* user) {
  pawl_handle both[2];
  pawl_handle race[3];
  pawl_outcome outcome;
  pawl_outcome of[2];
  char guid[37];
  char text[200];
  static char left[] = "left";
  static char right[] = "right";
  (void)user;
  if (pawl_execution_id(ctx) < 3) {
    snprintf(text, sizeof text, "%d", (int)pawl_execution_id(ctx));
    return pawl_continue_as_new(ctx, text, strlen(text), NULL);
  }
  both[0] = pawl_open_branch(ctx, of_branch, left);
  both[1] = pawl_open_branch(ctx, of_branch, right);
  PAWL_AWAIT_C(pawl_join(ctx, both, 2), &outcome);
  CHECK(outcome.error == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(both[0], &of[0]);
  PAWL_AWAIT_C(both[1], &of[1]);
  CHECK(text_is(of[0].value, "left") && text_is(of[1].value, "right"));

  race[0] = pawl_schedule_wait(ctx, "never");
  race[1] = pawl_schedule_timer(ctx, 1);
  race[2] = pawl_schedule_timer(ctx, 3600000);
  if (pawl_select(ctx, race, 3, &outcome) == PAWL_PENDING) return PAWL_PENDING;
  CHECK(outcome.index == 1 && outcome.error == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(race[0], &outcome);
  CHECK(outcome.error == PAWL_ERROR_CLOSED);
  race[0] = pawl_dequeue_event(ctx, "orders");
  pawl_close_handle(ctx, race[0]);
  PAWL_AWAIT_C(race[0], &outcome);
  CHECK(outcome.error == PAWL_ERROR_CLOSED);

  pawl_new_guid(ctx, guid);
  CHECK(strlen(guid) == 36);
  CHECK(pawl_utc_now_ms(ctx) > 0 && pawl_now_ms(ctx) > 0);
  CHECK(pawl_is_continue_as_new_due(ctx) == 0);
  PAWL_AWAIT_C(schedule_child(ctx, "child", "the child", "1.0.0", "x", 1), &outcome);
  CHECK(text_is(outcome.value, "x"));
  PAWL_AWAIT_C(pawl_schedule_child(ctx, "child", NULL, 0, NULL), &outcome);
  CHECK(outcome.error == PAWL_ERROR_APPLICATION && text_is(outcome.value, "no input"));
  CHECK(pawl_start_detached(ctx, "child", "detached", "y", 1, NULL) == PAWL_ERROR_NONE);
  CHECK(pawl_set_value(ctx, "key", "v", 1) == PAWL_ERROR_NONE);
  CHECK(pawl_clear_value(ctx, "key") == PAWL_ERROR_NONE);
  CHECK(pawl_get_value(ctx, "key", NULL) == 0);
  snprintf(text, sizeof text, "%.*s %.*s of %.*s", (int)of[0].value.size, of[0].value.data,
           (int)of[1].value.size, of[1].value.data, (int)pawl_input(ctx).size,
           pawl_input(ctx).data);
  return pawl_complete(ctx, text, strlen(text));
}

void combines_awaits(void) {
  pawl_host* const host = open_host();
  pawl_client* client;
  char bytes[10];
  pawl_buffer output = {bytes, sizeof bytes, 0};
  CHECK_STATUS(pawl_host_add_orchestration(host, "many", "2.0.0", many, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "child", NULL, child, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "echo", PAWL_INLINE, echo, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  expect_end(host, client, "many", "", PAWL_COMPLETED, "left right of 2");
  run_until(host, client, "detached", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "y"));
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- activities ---- */

/* The input of this activity says how it ends. */
static void work(pawl_activity* activity, void* user) {
  const char how = pawl_activity_input(activity).data[0];
  int* const calls = user;
  const int64_t attempt = pawl_activity_attempt(activity);
  (void)attempt;
  ++*calls;
  switch (how) {
    case 'f': pawl_activity_fail(activity, "failed"); break;
    case 'p': pawl_activity_fail_permanently(activity, "for ever"); break;
    case 'n': break;
    case 'r': /* fails twice, then answers its last progress */
      if (*calls < 3) {
        CHECK_STATUS(pawl_activity_heartbeat(activity, "half", 4), PAWL_OK);
        pawl_activity_fail(activity, "not yet");
      } else {
        const pawl_text progress = pawl_activity_last_progress(activity);
        pawl_activity_ok(activity, progress.data, progress.size);
      }
      break;
    case 'h':
      if (*calls == 1) {
        pawl_activity_hand_back(activity);
      } else {
        pawl_activity_ok(activity, "taken again", 11);
      }
      break;
    case 's':
      CHECK(text_is(pawl_activity_session_id(activity), "bus"));
      pawl_activity_fail(activity, "changed its mind");
      pawl_activity_ok(activity, "on the bus", 10);
      break;
    default: CHECK(0);
  }
}

static pawl_poll work_once(pawl_ctx* ctx, void* user) {
  pawl_activity_options options;
  pawl_outcome outcome;
  const pawl_text input = pawl_input(ctx);
  (void)user;
  pawl_activity_options_init(&options);
  CHECK(options.size == sizeof options && options.max_attempts == 1);
  options.where = PAWL_SHARED_SESSION;
  options.session = "bus";
  options.max_attempts = input.data[0] == 'r' ? 5 : 2;
  options.backoff = PAWL_BACKOFF_FIXED;
  options.backoff_base_ms = 1;
  options.start_to_close_ms = 30000;
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "work", input.data, input.size, &options), &outcome);
  if (outcome.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &outcome);
  return pawl_complete(ctx, outcome.value.data, outcome.value.size);
}

static pawl_poll own_session(pawl_ctx* ctx, void* user) {
  pawl_session bus;
  pawl_activity_options options;
  pawl_outcome outcome;
  (void)user;
  pawl_activity_options_init(&options);
  options.where = PAWL_OWN_SESSION;
  options.session = "bus";
  options.barrier = 1;
  bus = pawl_open_session(ctx, "bus", NULL);
  CHECK(text_is(pawl_session_id(&bus), "bus"));
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "work", "s", 1, &options), &outcome);
  CHECK(outcome.error == PAWL_ERROR_NONE);
  CHECK(pawl_close_session(ctx, &bus) == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "work", "s", 1, &options), &outcome);
  CHECK(outcome.error == PAWL_ERROR_SESSION_CLOSED);
  return pawl_complete(ctx, NULL, 0);
}

static int g_calls = 0;

static void one_way(pawl_host* host, pawl_client* client, const char* how, int state,
                    const char* output, int calls) {
  g_calls = 0;
  expect_end(host, client, "work_once", how, state, output);
  CHECK(g_calls == calls);
}

void activities_end_in_each_way(void) {
  pawl_host* const host = open_host();
  pawl_client* client;
  CHECK_STATUS(pawl_host_add_orchestration(host, "work_once", NULL, work_once, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "own_session", NULL, own_session, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "work", PAWL_INLINE, work, &g_calls), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  one_way(host, client, "f", PAWL_FAILED, "failed", 2);
  one_way(host, client, "p", PAWL_FAILED, "for ever", 1);
  one_way(host, client, "n", PAWL_FAILED, "the function returned without a result", 1);
  one_way(host, client, "r", PAWL_COMPLETED, "half", 3);
  one_way(host, client, "h", PAWL_COMPLETED, "taken again", 2);
  one_way(host, client, "s", PAWL_COMPLETED, "on the bus", 1);
  expect_end(host, client, "own_session", "", PAWL_COMPLETED, "");
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- steps ---- */

static void count_steps(pawl_activity* activity, void* state, void* user) {
  int count;
  char text[20];
  memcpy(&count, state, sizeof count);
  CHECK(user == &g_calls);
  ++count;
  memcpy(state, &count, sizeof count);
  if (count < 4) {
    pawl_step_again_after(activity, count);
  } else {
    snprintf(text, sizeof text, "%d steps", count);
    pawl_activity_ok(activity, text, strlen(text));
  }
}
static void no_step(pawl_activity* activity, void* state, void* user) {
  (void)activity;
  (void)state;
  (void)user;
}
static void bad_descriptor(pawl_activity* activity, void* state, void* user) {
  (void)state;
  (void)user;
  pawl_step_when_readable(activity, -1, 1000);
}

static pawl_poll by_name(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  char name[30];
  (void)user;
  snprintf(name, sizeof name, "%.*s", (int)pawl_input(ctx).size, pawl_input(ctx).data);
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, name, NULL, 0, NULL), &outcome);
  if (outcome.error == PAWL_ERROR_INVALID_ARGUMENT) return pawl_fail(ctx, "invalid");
  if (outcome.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &outcome);
  return pawl_complete(ctx, outcome.value.data, outcome.value.size);
}

void steps_keep_their_state(void) {
  pawl_host* const host = open_host();
  pawl_client* client;
  CHECK_STATUS(pawl_host_add_orchestration(host, "by_name", NULL, by_name, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_steps(host, "count", count_steps, &g_calls), PAWL_OK);
  CHECK_STATUS(pawl_host_add_steps(host, "count", count_steps, &g_calls), PAWL_ALREADY_EXISTS);
  CHECK_STATUS(pawl_host_add_steps(host, "none", no_step, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_steps(host, "bad", bad_descriptor, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  expect_end(host, client, "by_name", "count", PAWL_COMPLETED, "4 steps");
  expect_end(host, client, "by_name", "none", PAWL_FAILED,
             "the function returned without a result");
  expect_end(host, client, "by_name", "bad", PAWL_FAILED, "invalid");
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- code that is wrong ---- */

/* Each of these would go on with an answer that it does not have. */
static pawl_poll steps_over(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  (void)user;
  (void)pawl_await(pawl_schedule_wait(ctx, "never"), &outcome);
  return pawl_complete(ctx, "done", 4);
}
static pawl_poll pends_for_nothing(pawl_ctx* ctx, void* user) {
  (void)ctx;
  (void)user;
  return PAWL_PENDING;
}
static pawl_poll ends_without_an_end(pawl_ctx* ctx, void* user) {
  (void)ctx;
  (void)user;
  return PAWL_DONE;
}
static pawl_poll ends_twice(pawl_ctx* ctx, void* user) {
  (void)user;
  (void)pawl_complete(ctx, "a", 1);
  return pawl_fail(ctx, "b");
}

void awaits_that_are_stepped_over(void) {
  static const pawl_orchestration_fn functions[] = {steps_over, pends_for_nothing,
                                                    ends_without_an_end, ends_twice};
  static const char* const names[] = {"a", "b", "c", "d"};
  pawl_host* const host = open_host();
  pawl_client* client;
  size_t i;
  for (i = 0; i < 4; ++i)
    CHECK_STATUS(pawl_host_add_orchestration(host, names[i], NULL, functions[i], NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  for (i = 0; i < 4; ++i) {
    CHECK_STATUS(pawl_client_start(client, names[i], names[i], NULL, 0, NULL), PAWL_OK);
    run_until(host, client, names[i], PAWL_STOPPED_STATE, NULL);
  }
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- cancellation ---- */

static pawl_poll put_right(pawl_ctx* ctx, void* user) {
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "echo", "closed", 6, NULL), user);
  return PAWL_DONE;
}

static pawl_poll patient(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  pawl_outcome closed;
  (void)user;
  CHECK(pawl_cancel_requested(ctx) == 0);
  PAWL_AWAIT_C(pawl_schedule_timer(ctx, 3600000), &outcome);
  CHECK(outcome.error == PAWL_ERROR_CANCELLED && text_is(outcome.value, "enough"));
  CHECK(pawl_cancel_requested(ctx) == 1);
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "echo", "x", 1, NULL), &outcome);
  CHECK(outcome.error == PAWL_ERROR_CANCELLED);
  if (pawl_clean_up(ctx, put_right, &closed) == PAWL_PENDING) return PAWL_PENDING;
  return pawl_complete(ctx, closed.value.data, closed.value.size);
}

void cancel_and_clean_up(void) {
  pawl_host* const host = open_host();
  pawl_client* client;
  char bytes[10];
  pawl_buffer output = {bytes, sizeof bytes, 0};
  CHECK_STATUS(pawl_host_add_orchestration(host, "patient", NULL, patient, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "echo", PAWL_INLINE, echo, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  CHECK_STATUS(pawl_client_start(client, "patient", "p", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_run(host, 50), PAWL_TIMEOUT);
  CHECK_STATUS(pawl_client_cancel(client, "p", "enough"), PAWL_OK);
  run_until(host, client, "p", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "closed"));
  CHECK_STATUS(pawl_client_cancel(client, "p", NULL), PAWL_STALE);
  CHECK_STATUS(pawl_client_cancel(client, "nobody", NULL), PAWL_NOT_FOUND);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

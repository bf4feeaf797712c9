/* Goal: an activity of C leaves its outcome to a caller from outside, who has its token. */
#include "c_api_test.h"

/* ---- code ---- */

enum { kTokensMost = 16 };
static char g_tokens[kTokensMost][PAWL_TOKEN_BYTES];
static int g_count; /* of tokens */

static void keep_token(const pawl_activity* activity) {
  CHECK(g_count < kTokensMost);
  memset(g_tokens[g_count], 'x', PAWL_TOKEN_BYTES);
  pawl_activity_completion_token(activity, g_tokens[g_count]);
  CHECK(strlen(g_tokens[g_count]) == PAWL_TOKEN_BYTES - 1);
  ++g_count;
}
/* The input says how it leaves. */
static void ask(pawl_activity* activity, void* user) {
  (void)user;
  keep_token(activity);
  switch (pawl_activity_input(activity).data[0]) {
    case 'h': pawl_activity_complete_later(activity, PAWL_HOLDS_SESSION); break;
    case 'w': pawl_activity_complete_later(activity, PAWL_HOLDS_SESSION + 1); break;
    case 'n':
      pawl_activity_complete_later(activity, PAWL_FREES_SESSION);
      pawl_activity_ok(activity, "now", 3); /* the last call counts */
      break;
    default: pawl_activity_complete_later(activity, PAWL_FREES_SESSION);
  }
}
static void ask_in_steps(pawl_activity* activity, void* state, void* user) {
  char* const is_second = state;
  (void)user;
  if (*is_second == 0) {
    *is_second = 1;
    pawl_step_again_after(activity, 0);
    return;
  }
  keep_token(activity);
  pawl_activity_complete_later(activity, PAWL_FREES_SESSION);
}
static void ask_without_token(pawl_activity* activity, void* user) {
  char token[PAWL_TOKEN_BYTES] = "x";
  (void)user;
  pawl_activity_completion_token(activity, token);
  CHECK(token[0] == '\0');
  pawl_activity_complete_later(activity, PAWL_FREES_SESSION);
}

/* Asks in a session, and ends as the answer says. `user` is the activity. */
static pawl_poll asks(pawl_ctx* ctx, void* user) {
  const pawl_text input = pawl_input(ctx);
  pawl_activity_options options;
  pawl_outcome outcome;
  pawl_activity_options_init(&options);
  options.where = PAWL_EXCLUSIVE_SESSION;
  options.session = "s";
  options.max_attempts = 2;
  options.backoff = PAWL_BACKOFF_FIXED;
  options.backoff_base_ms = 1;
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, user, input.data, input.size, &options), &outcome);
  if (outcome.error == PAWL_ERROR_INVALID_ARGUMENT) return pawl_fail(ctx, "invalid");
  if (outcome.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &outcome);
  return pawl_complete(ctx, outcome.value.data, outcome.value.size);
}

static pawl_host* asking_host(void) {
  static char of_ask[] = "ask";
  static char of_steps[] = "steps";
  static char of_plain[] = "plain";
  pawl_host* const host = open_host();
  CHECK_STATUS(pawl_host_allow_complete_later(host, "ask"), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_host_add_orchestration(host, "asks", NULL, asks, of_ask), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "asks_steps", NULL, asks, of_steps), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "asks_plain", NULL, asks, of_plain), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "ask", PAWL_INLINE, ask, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_steps(host, "steps", ask_in_steps, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "plain", PAWL_INLINE, ask_without_token, NULL),
               PAWL_OK);
  CHECK_STATUS(pawl_host_allow_complete_later(NULL, "ask"), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_allow_complete_later(host, NULL), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_allow_complete_later(host, "ask"), PAWL_OK);
  CHECK_STATUS(pawl_host_allow_complete_later(host, "steps"), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(pawl_host_allow_complete_later(host, "plain"), PAWL_STALE);
  return host;
}

static void count_outside(void* user, const pawl_activity_info* info) {
  if (info->state != PAWL_ACTIVITY_OUTSIDE) return;
  CHECK(info->outside_since_ms > 0 && info->node.size == 0);
  ++*(int*)user;
}
/* Runs the host until the activity of an instance is outside; answers its token. */
static const char* run_until_outside(pawl_host* host, pawl_client* client, const char* id) {
  int rounds = 0;
  int outside = 0;
  for (;; ++rounds) {
    CHECK(rounds < 1000);
    CHECK_STATUS(pawl_client_list_activities(client, id, count_outside, &outside), PAWL_OK);
    if (outside > 0) return g_tokens[g_count - 1];
    CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
  }
}
static const char* start_and_leave(pawl_host* host, pawl_client* client, const char* id) {
  CHECK_STATUS(pawl_client_start(client, "asks", id, id, strlen(id), NULL), PAWL_OK);
  return run_until_outside(host, client, id);
}
static void expect_output(pawl_host* host, pawl_client* client, const char* id, int state,
                          const char* output) {
  char bytes[100];
  pawl_buffer buffer = {bytes, sizeof bytes, 0};
  run_until(host, client, id, state, &buffer);
  CHECK(buffer_is(&buffer, output));
}

/* ---- what counts ---- */

static void on_progress(void* user, const pawl_activity_info* info) {
  CHECK(text_is(info->last_progress, user));
}
static void on_work(void* user, const pawl_work_info* info) {
  CHECK(info->state == PAWL_ACTIVITY_OUTSIDE && info->outside_since_ms > 0);
  ++*(int*)user;
}

static void completes(pawl_host* host, pawl_client* client) {
  const char* const token = start_and_leave(host, client, "a");
  char half[] = "half";
  pawl_metrics metrics;
  pawl_work_filter filter;
  pawl_page page = first_page(10);
  int rows = 0;
  metrics.size = sizeof metrics;
  CHECK_STATUS(pawl_client_get_metrics(client, &metrics), PAWL_OK);
  CHECK(metrics.activities_outside == 1 && metrics.activities_running == 0);
  pawl_work_filter_init(&filter);
  filter.any_state = 0;
  filter.state = PAWL_ACTIVITY_OUTSIDE;
  CHECK_STATUS(pawl_client_list_work(client, &filter, &page, on_work, &rows), PAWL_OK);
  CHECK(rows == 1);
  CHECK_STATUS(pawl_client_heartbeat_activity(client, token, half, 4), PAWL_OK);
  CHECK_STATUS(pawl_client_heartbeat_activity(client, token, NULL, 0), PAWL_OK);
  CHECK_STATUS(pawl_client_list_activities(client, "a", on_progress, half), PAWL_OK);
  CHECK_STATUS(pawl_client_complete_activity(client, token, "yes", 3), PAWL_OK);
  /* The same answer again is the first one; another one is not. */
  CHECK_STATUS(pawl_client_complete_activity(client, token, "yes", 3), PAWL_OK);
  CHECK_STATUS(pawl_client_complete_activity(client, token, "yet", 3), PAWL_STALE);
  CHECK_STATUS(pawl_client_fail_activity(client, token, "yes", 0), PAWL_STALE);
  CHECK(strlen(pawl_client_error(client)) > 0);
  CHECK_STATUS(pawl_client_heartbeat_activity(client, token, NULL, 0), PAWL_NOT_FOUND);
  expect_output(host, client, "a", PAWL_COMPLETED, "yes");
}

static void fails(pawl_host* host, pawl_client* client) {
  const char* const first = start_and_leave(host, client, "f");
  const char* second;
  const int before = g_count;
  CHECK_STATUS(pawl_client_fail_activity(client, first, "not yet", 0), PAWL_OK);
  /* Another attempt follows, and its token is another one. */
  second = run_until_outside(host, client, "f");
  CHECK(g_count == before + 1 && strcmp(first, second) != 0);
  CHECK_STATUS(pawl_client_complete_activity(client, first, "yes", 3), PAWL_STALE);
  CHECK_STATUS(pawl_client_fail_activity(client, second, "no", 0), PAWL_OK);
  expect_output(host, client, "f", PAWL_FAILED, "no");
  /* With `permanent` none follows, though the policy would allow one. */
  CHECK_STATUS(pawl_client_fail_activity(client, start_and_leave(host, client, "p"), "never", 1),
               PAWL_OK);
  expect_output(host, client, "p", PAWL_FAILED, "never");
  /* A cancellation ends it, too. */
  second = start_and_leave(host, client, "c");
  CHECK_STATUS(pawl_client_cancel(client, "c", "enough"), PAWL_OK);
  run_until(host, client, "c", PAWL_FAILED, NULL);
  CHECK_STATUS(pawl_client_complete_activity(client, second, "yes", 3), PAWL_NOT_FOUND);
}

/* An activity that holds its session keeps the next one waiting, and any other does not. */
static void sessions(pawl_host* host, pawl_client* client) {
  const char* first = start_and_leave(host, client, "l1");
  const char* second = start_and_leave(host, client, "l2");
  CHECK_STATUS(pawl_client_complete_activity(client, second, "2", 1), PAWL_OK);
  CHECK_STATUS(pawl_client_complete_activity(client, first, "1", 1), PAWL_OK);
  expect_output(host, client, "l1", PAWL_COMPLETED, "1");
  expect_output(host, client, "l2", PAWL_COMPLETED, "2");
  first = start_and_leave(host, client, "h1");
  CHECK_STATUS(pawl_client_start(client, "asks", "n", "n", 1, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_run(host, 50), PAWL_TIMEOUT);
  CHECK(first == g_tokens[g_count - 1]);
  CHECK_STATUS(pawl_client_complete_activity(client, first, NULL, 0), PAWL_OK);
  expect_output(host, client, "h1", PAWL_COMPLETED, "");
  expect_output(host, client, "n", PAWL_COMPLETED, "now");
}

/* ---- what is refused ---- */

static void wrong_answers(pawl_host* host, pawl_client* client) {
  static char long_bytes[65537];
  const char* const token = start_and_leave(host, client, "d");
  char damaged[PAWL_TOKEN_BYTES + 10];
  char* const last = damaged + PAWL_TOKEN_BYTES - 2;
  const pawl_status no = PAWL_INVALID_ARGUMENT;
  CHECK_STATUS(pawl_client_complete_activity(NULL, token, "x", 1), no);
  CHECK_STATUS(pawl_client_fail_activity(NULL, token, "x", 0), no);
  CHECK_STATUS(pawl_client_heartbeat_activity(NULL, token, "x", 1), no);
  CHECK_STATUS(pawl_client_complete_activity(client, NULL, "x", 1), no);
  CHECK_STATUS(pawl_client_fail_activity(client, NULL, "x", 0), no);
  CHECK_STATUS(pawl_client_heartbeat_activity(client, NULL, "x", 1), no);
  CHECK_STATUS(pawl_client_complete_activity(client, token, NULL, 1), no);
  CHECK_STATUS(pawl_client_heartbeat_activity(client, token, NULL, 1), no);
  CHECK_STATUS(pawl_client_heartbeat_activity(client, token, long_bytes, 257), no);
  CHECK_STATUS(pawl_client_complete_activity(client, token, long_bytes, sizeof long_bytes),
               PAWL_RESOURCE_EXHAUSTED);
  strcpy(damaged, token);
  *last = *last == '0' ? '1' : '0';
  CHECK_STATUS(pawl_client_complete_activity(client, damaged, "x", 1), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_fail_activity(client, damaged, "x", 1), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_heartbeat_activity(client, damaged, "x", 1), PAWL_NOT_FOUND);
  *last = '\0';
  CHECK_STATUS(pawl_client_complete_activity(client, damaged, "x", 1), no);
  CHECK_STATUS(pawl_client_complete_activity(client, "", "x", 1), no);
  strcpy(damaged, token);
  strcat(damaged, "0");
  CHECK_STATUS(pawl_client_complete_activity(client, damaged, "x", 1), no);
  /* None of these did anything. A text that is null is empty. */
  CHECK_STATUS(pawl_client_fail_activity(client, token, NULL, 1), PAWL_OK);
  expect_output(host, client, "d", PAWL_FAILED, "");

  CHECK_STATUS(pawl_client_start(client, "asks", "w", "w", 1, NULL), PAWL_OK);
  expect_output(host, client, "w", PAWL_FAILED, "a number that is no pawl_while_outside");
  CHECK_STATUS(pawl_client_start(client, "asks_plain", "q", "q", 1, NULL), PAWL_OK);
  expect_output(host, client, "q", PAWL_FAILED, "invalid");
}

void completed_from_outside(void) {
  pawl_host* const host = asking_host();
  pawl_client* const client = open_client(host);
  completes(host, client);
  fails(host, client);
  sessions(host, client);
  wrong_answers(host, client);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- by the host, and in steps ---- */

typedef struct answers {
  int count;
  pawl_status last;
} answers;
static void on_answer(void* user, pawl_status status) {
  answers* const got = user;
  ++got->count;
  got->last = status;
}
/* Runs the host until all the calls have their answers: that of the last one. */
static pawl_status last_answer(pawl_host* host, const answers* got, int count) {
  int rounds = 0;
  for (; got->count < count; ++rounds) {
    CHECK(rounds < 1000);
    CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
  }
  return got->last;
}

void completed_by_the_host(void) {
  pawl_host* const host = asking_host();
  pawl_client* const client = open_client(host);
  const pawl_status no = PAWL_INVALID_ARGUMENT;
  answers got = {0, PAWL_TIMEOUT};
  char half[] = "half";
  const char* token;
  CHECK_STATUS(pawl_host_complete_activity(NULL, "t", NULL, 0, NULL, NULL), no);
  CHECK_STATUS(pawl_host_fail_activity(NULL, "t", NULL, 0, NULL, NULL), no);
  CHECK_STATUS(pawl_host_heartbeat_activity(NULL, "t", NULL, 0, NULL, NULL), no);
  CHECK_STATUS(pawl_host_complete_activity(host, "t", NULL, 1, NULL, NULL), no);
  CHECK_STATUS(pawl_host_heartbeat_activity(host, "t", NULL, 1, NULL, NULL), no);
  CHECK_STATUS(pawl_host_complete_activity(host, NULL, NULL, 0, on_answer, &got), PAWL_OK);
  CHECK(last_answer(host, &got, 1) == PAWL_INVALID_ARGUMENT);

  CHECK_STATUS(pawl_client_start(client, "asks_steps", "s", "s", 1, NULL), PAWL_OK);
  token = run_until_outside(host, client, "s");
  CHECK_STATUS(pawl_host_heartbeat_activity(host, token, half, 4, on_answer, &got), PAWL_OK);
  CHECK(last_answer(host, &got, 2) == PAWL_OK);
  CHECK_STATUS(pawl_client_list_activities(client, "s", on_progress, half), PAWL_OK);
  CHECK_STATUS(pawl_host_complete_activity(host, token, "yes", 3, on_answer, &got), PAWL_OK);
  CHECK(last_answer(host, &got, 3) == PAWL_OK);
  CHECK_STATUS(pawl_host_complete_activity(host, token, "yes", 3, on_answer, &got), PAWL_OK);
  CHECK(last_answer(host, &got, 4) == PAWL_OK);
  CHECK_STATUS(pawl_host_complete_activity(host, token, "yet", 3, on_answer, &got), PAWL_OK);
  CHECK(last_answer(host, &got, 5) == PAWL_STALE);
  expect_output(host, client, "s", PAWL_COMPLETED, "yes");

  token = start_and_leave(host, client, "f");
  CHECK_STATUS(pawl_host_fail_activity(host, token, "not yet", 0, on_answer, &got), PAWL_OK);
  CHECK(last_answer(host, &got, 6) == PAWL_OK);
  CHECK(strcmp(run_until_outside(host, client, "f"), token) != 0);
  token = start_and_leave(host, client, "p");
  CHECK_STATUS(pawl_host_fail_activity(host, token, "never", 1, on_answer, &got), PAWL_OK);
  CHECK(last_answer(host, &got, 7) == PAWL_OK);
  expect_output(host, client, "p", PAWL_FAILED, "never");
  CHECK_STATUS(pawl_host_stop(host), PAWL_OK);
  CHECK_STATUS(pawl_host_complete_activity(host, token, NULL, 0, NULL, NULL), PAWL_STOPPED);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* Goal: instances have time limits, of their start, of their definition and given later, from C. */
#include "c_api_test.h"

/* Waits for ever, and ends with the reason why it is asked to stop. */
static pawl_poll waits(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  pawl_text reason = {"", 0};
  (void)user;
  PAWL_AWAIT_C(pawl_schedule_wait(ctx, "never"), &outcome);
  (void)pawl_get_cancel_reason(ctx, &reason);
  return pawl_complete(ctx, reason.data, reason.size);
}
/* Ends as its child does. */
static pawl_poll parent(pawl_ctx* ctx, void* user) {
  pawl_outcome outcome;
  (void)user;
  PAWL_AWAIT_C(schedule_child(ctx, "short", "child", NULL, NULL, 0), &outcome);
  return pawl_complete(ctx, outcome.value.data, outcome.value.size);
}

enum { kHour = 3600000 };

static void keep_status(void* user, pawl_status status) { *(int*)user = (int)status; }
/* Runs the host until a call has its answer, and forgets it. */
static int next_answer(pawl_host* host, int* answer) {
  int rounds = 0;
  int got;
  for (; *answer < 0; ++rounds) {
    CHECK(rounds < 1000);
    CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
  }
  got = *answer;
  *answer = -1;
  return got;
}

static pawl_host* limited_host(void) {
  char name[] = "waits";
  pawl_host* const host = open_host();
  const pawl_status no = PAWL_INVALID_ARGUMENT;
  CHECK_STATUS(pawl_host_set_time_limit(host, "short", 1), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_host_add_orchestration(host, "waits", NULL, waits, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "short", NULL, waits, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "parent", NULL, parent, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_set_time_limit(host, "short", kHour), PAWL_OK);
  CHECK_STATUS(pawl_host_set_time_limit(host, "parent", kHour), PAWL_OK);
  CHECK_STATUS(pawl_host_set_time_limit(host, "short", 30), PAWL_OK);
  /* A limit that is refused changes nothing. */
  CHECK_STATUS(pawl_host_set_time_limit(host, "short", 0), no);
  CHECK_STATUS(pawl_host_set_time_limit(host, name, -1), no);
  CHECK_STATUS(pawl_host_set_time_limit(host, NULL, 1), no);
  CHECK_STATUS(pawl_host_set_time_limit(NULL, "short", 1), no);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(pawl_host_set_time_limit(host, "short", 1), PAWL_STALE);
  return host;
}

static void expect_over(pawl_host* host, pawl_client* client, const char* id, const char* reason) {
  char bytes[60];
  pawl_buffer output = {bytes, sizeof bytes, 0};
  run_until(host, client, id, PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, reason));
}
static pawl_instance_info info_of(pawl_client* client, const char* id) {
  pawl_instance_info info;
  info.size = sizeof info;
  CHECK_STATUS(pawl_client_get_info(client, id, &info), PAWL_OK);
  return info;
}
static void expect_limit(const pawl_instance_info* info, int64_t limit_ms) {
  CHECK(info->time_limit.has_value && info->time_limit.ms == limit_ms);
  CHECK(info->time_left.has_value && info->time_left.ms > 0 && info->time_left.ms <= limit_ms);
}
static void on_instance(void* user, const pawl_instance_info* info) {
  expect_limit(info, kHour);
  ++*(int*)user;
}

static void limits_of_starts(pawl_host* host, pawl_client* client) {
  pawl_start_options how;
  pawl_send_options with;
  pawl_instance_info info;
  int answer = -1;
  pawl_start_options_init(&how);
  pawl_send_options_init(&with);
  CHECK(how.time_limit_ms == 0);
  how.time_limit_ms = -1;
  with.start_if_ended = "waits";
  with.start = &how;
  CHECK_STATUS(pawl_client_start(client, "waits", "a", NULL, 0, &how), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_client_enqueue(client, "c", "q", NULL, 0, &with), PAWL_INVALID_ARGUMENT);
  CHECK_STATUS(pawl_host_start_orchestration(host, "waits", "b", NULL, 0, &how, NULL, NULL),
               PAWL_INVALID_ARGUMENT);
  how.time_limit_ms = 20;
  CHECK_STATUS(pawl_client_start(client, "waits", "a", NULL, 0, &how), PAWL_OK);
  expect_over(host, client, "a", "time limit of 20 ms is over");
  info = info_of(client, "a");
  CHECK(info.time_limit.has_value && !info.time_left.has_value && info.time_left.ms == 0);
  CHECK_STATUS(
      pawl_host_start_orchestration(host, "waits", "b", NULL, 0, &how, keep_status, &answer),
      PAWL_OK);
  CHECK(next_answer(host, &answer) == PAWL_OK);
  expect_over(host, client, "b", "time limit of 20 ms is over");
  CHECK_STATUS(pawl_client_enqueue(client, "c", "q", NULL, 0, &with), PAWL_OK);
  expect_over(host, client, "c", "time limit of 20 ms is over");
  /* A struct of before the limit has none. */
  how.size = offsetof(pawl_start_options, time_limit_ms);
  CHECK_STATUS(pawl_client_start(client, "waits", "d", NULL, 0, &how), PAWL_OK);
  info = info_of(client, "d");
  CHECK(!info.time_limit.has_value && !info.time_left.has_value);
}

static void limits_of_definitions(pawl_host* host, pawl_client* client) {
  pawl_start_options how;
  pawl_instance_filter filter = with_prefix("own");
  pawl_page page = first_page(10);
  int seen = 0;
  CHECK_STATUS(pawl_client_start(client, "short", "s", NULL, 0, NULL), PAWL_OK);
  expect_over(host, client, "s", "time limit of 30 ms is over");
  CHECK_STATUS(pawl_client_start(client, "parent", "p", NULL, 0, NULL), PAWL_OK);
  expect_over(host, client, "p", "time limit of 30 ms is over");
  CHECK(info_of(client, "p").time_limit.ms == kHour);
  /* A limit of the start comes before it. */
  pawl_start_options_init(&how);
  how.time_limit_ms = kHour;
  CHECK_STATUS(pawl_client_start(client, "short", "own", NULL, 0, &how), PAWL_OK);
  CHECK_STATUS(pawl_host_run(host, 50), PAWL_TIMEOUT);
  CHECK_STATUS(pawl_client_list(client, &filter, &page, on_instance, &seen), PAWL_OK);
  CHECK(seen == 1);
}

static void limits_that_change(pawl_host* host, pawl_client* client) {
  pawl_instance_info info;
  int answer = -1;
  const pawl_status no = PAWL_INVALID_ARGUMENT;
  CHECK_STATUS(pawl_client_change_time_limit(NULL, "d", 1), no);
  CHECK_STATUS(pawl_client_change_time_limit(client, "d", -1), no);
  CHECK_STATUS(pawl_client_change_time_limit(client, NULL, 1), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_change_time_limit(client, "nobody", 1), PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_client_change_time_limit(client, "a", 1), PAWL_STALE);
  CHECK_STATUS(pawl_client_change_time_limit(client, "d", kHour), PAWL_OK);
  info = info_of(client, "d");
  expect_limit(&info, kHour);
  CHECK_STATUS(pawl_client_change_time_limit(client, "d", 0), PAWL_OK);
  CHECK(!info_of(client, "d").time_limit.has_value);
  CHECK_STATUS(pawl_client_change_time_limit(client, "d", 25), PAWL_OK);
  expect_over(host, client, "d", "time limit of 25 ms is over");

  CHECK_STATUS(pawl_host_change_time_limit(NULL, "own", 1, NULL, NULL), no);
  CHECK_STATUS(pawl_host_change_time_limit(host, "own", -1, NULL, NULL), no);
  CHECK_STATUS(pawl_host_change_time_limit(host, "nobody", 1, keep_status, &answer), PAWL_OK);
  CHECK(next_answer(host, &answer) == PAWL_NOT_FOUND);
  CHECK_STATUS(pawl_host_change_time_limit(host, "own", 15, keep_status, &answer), PAWL_OK);
  CHECK(next_answer(host, &answer) == PAWL_OK);
  expect_over(host, client, "own", "time limit of 15 ms is over");
}

void time_limits(void) {
  pawl_host* const host = limited_host();
  pawl_client* const client = open_client(host);
  limits_of_starts(host, client);
  limits_of_definitions(host, client);
  limits_that_change(host, client);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

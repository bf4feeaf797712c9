/* Goal: a program of C runs orchestrations and activities to their ends, over restarts, in a loop
 * of its own, and from a client alone. */
#define _POSIX_C_SOURCE 200809L
#include "c_api_test.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

const char* g_path;

int text_is(pawl_text text, const char* expected) {
  return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}
int buffer_is(const pawl_buffer* buffer, const char* expected) {
  const pawl_text text = {buffer->data, buffer->size};
  return text_is(text, expected);
}

pawl_status start_version(pawl_client* client, const char* name, const char* id,
                          const char* version, const void* input, size_t size) {
  pawl_start_options options;
  pawl_start_options_init(&options);
  options.version = version;
  return pawl_client_start(client, name, id, input, size, &options);
}
pawl_handle schedule_child(pawl_ctx* ctx, const char* name, const char* id, const char* version,
                           const void* input, size_t size) {
  pawl_child_options options;
  pawl_child_options_init(&options);
  options.id = id;
  options.version = version;
  return pawl_schedule_child(ctx, name, input, size, &options);
}
pawl_page first_page(size_t rows_max) {
  pawl_page page = {0, 0, 0};
  page.rows_max = rows_max;
  return page;
}
pawl_instance_filter with_prefix(const char* prefix) {
  pawl_instance_filter filter;
  pawl_instance_filter_init(&filter);
  filter.id_prefix = prefix;
  return filter;
}

pawl_host* open_host(void) {
  pawl_host_options options;
  pawl_host* host = NULL;
  pawl_host_options_init(&options);
  options.database_path = g_path;
  options.worker_node_id = "c";
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  return host;
}
pawl_client* open_client(pawl_host* host) {
  pawl_client_options options;
  pawl_client* client = NULL;
  char text[400];
  pawl_buffer why = {text, sizeof text, 0};
  pawl_client_options_init(&options);
  options.database_path = g_path;
  if (pawl_client_open(&options, host, &client, &why) != PAWL_OK) {
    fprintf(stderr, "%.*s\n", (int)why.size, text);
    exit(1);
  }
  return client;
}

pawl_instance_status run_until(pawl_host* host, pawl_client* client, const char* id, int state,
                               pawl_buffer* output) {
  pawl_instance_status status;
  int rounds = 0;
  status.size = sizeof status;
  for (;;) {
    CHECK_STATUS(pawl_client_get_status(client, id, &status, output, NULL), PAWL_OK);
    if (status.state == state) return status;
    CHECK(status.state == PAWL_RUNNING && rounds++ < 3000);
    CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
  }
}

void expect_end(pawl_host* host, pawl_client* client, const char* name, const char* input,
                int state, const char* output) {
  char bytes[600];
  pawl_buffer buffer = {bytes, sizeof bytes, 0};
  char id[100];
  snprintf(id, sizeof id, "%s-%s", name, input);
  CHECK_STATUS(pawl_client_start(client, name, id, input, strlen(input), NULL), PAWL_OK);
  run_until(host, client, id, state, &buffer);
  if (buffer_is(&buffer, output)) return;
  fprintf(stderr, "%s: \"%.*s\" is not \"%s\"\n", id, (int)buffer.size, bytes, output);
  exit(1);
}

/* ---- an order: an activity, a value, a timer, an event ---- */

static int g_reads = 0;

static void read_stock(pawl_activity* activity, void* user) {
  char text[64];
  const pawl_text input = pawl_activity_input(activity);
  ++*(int*)user;
  CHECK(text_is(pawl_activity_instance_id(activity), "order"));
  CHECK(pawl_activity_attempt(activity) == 1);
  CHECK(pawl_activity_idempotency_key(activity).size > 0);
  CHECK(pawl_activity_cancel_reason(activity) == PAWL_NOT_CANCELLED);
  snprintf(text, sizeof text, "stock of %.*s", (int)input.size, input.data);
  pawl_activity_ok(activity, text, strlen(text));
}

static pawl_poll order(pawl_ctx* ctx, void* user) {
  pawl_outcome stock;
  pawl_outcome go;
  pawl_text value;
  char text[200];
  CHECK(user == &g_reads);
  CHECK(text_is(pawl_instance_id(ctx), "order"));
  PAWL_AWAIT_C(
      pawl_schedule_activity(ctx, "read_stock", pawl_input(ctx).data, pawl_input(ctx).size, NULL),
      &stock);
  if (stock.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &stock);
  CHECK(pawl_set_value(ctx, "stock", stock.value.data, stock.value.size) == PAWL_ERROR_NONE);
  CHECK(pawl_set_custom_status(ctx, "waiting", 7) == PAWL_ERROR_NONE);
  PAWL_AWAIT_C(pawl_schedule_timer(ctx, 5), NULL);
  PAWL_AWAIT_C(pawl_schedule_wait(ctx, "go"), &go);
  CHECK(pawl_get_value(ctx, "stock", &value) == 1);
  CHECK(pawl_get_value(ctx, "nothing", &value) == 0);
  snprintf(text, sizeof text, "%.*s, %.*s", (int)value.size, value.data, (int)go.value.size,
           go.value.data);
  return pawl_complete(ctx, text, strlen(text));
}

static pawl_host* order_host(void) {
  pawl_host* const host = open_host();
  CHECK_STATUS(pawl_host_add_orchestration(host, "order", NULL, order, &g_reads), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "read_stock", PAWL_THREADED, read_stock, &g_reads),
               PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  return host;
}

void goes_on_after_a_restart(void) {
  char bytes[100];
  pawl_buffer output = {bytes, sizeof bytes, 0};
  char custom_bytes[20];
  pawl_buffer custom = {custom_bytes, sizeof custom_bytes, 0};
  pawl_instance_status status;
  pawl_host* host = order_host();
  pawl_client* client = open_client(host);
  status.size = sizeof status;
  CHECK_STATUS(pawl_client_start(client, "order", "order", "nails", 5, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_start(client, "order", "order", "nails", 5, NULL), PAWL_ALREADY_EXISTS);
  do {
    CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
    CHECK_STATUS(pawl_client_get_status(client, "order", &status, &output, &custom), PAWL_OK);
  } while (!buffer_is(&custom, "waiting"));
  CHECK(status.state == PAWL_RUNNING && status.custom_status_version == 1);
  CHECK_STATUS(pawl_host_close(host), PAWL_STILL_RUNNING);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_stop(host), PAWL_OK);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);

  host = order_host();
  client = open_client(host);
  CHECK_STATUS(pawl_client_raise_event(client, "order", "go", "now", 3, NULL), PAWL_OK);
  status = run_until(host, client, "order", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "stock of nails, now"));
  CHECK(status.execution_id == 1 && status.created_ms > 0 && status.updated_ms > 0);
  CHECK(g_reads == 1);
  CHECK_STATUS(pawl_client_get_value(client, "order", "stock", &output), PAWL_OK);
  CHECK(buffer_is(&output, "stock of nails"));
  CHECK_STATUS(pawl_client_raise_event(client, "order", "go", "now", 3, NULL), PAWL_STALE);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);

  client = open_client(NULL);
  status.state = PAWL_RUNNING;
  CHECK_STATUS(pawl_client_wait(client, "order", 10000, &status, &output), PAWL_OK);
  CHECK(status.state == PAWL_COMPLETED && buffer_is(&output, "stock of nails, now"));
  CHECK_STATUS(pawl_client_wait(client, "nobody", 1, &status, NULL), PAWL_NOT_FOUND);
  pawl_client_close(client);
}

/* ---- a trace ---- */

static void say_trace(pawl_activity* activity, void* user) {
  const pawl_text trace = pawl_activity_trace_id(activity);
  (void)user;
  pawl_activity_ok(activity, trace.data, trace.size);
}

/* Answers the trace ids that the code and its activity see. */
static pawl_poll traced(pawl_ctx* ctx, void* user) {
  const pawl_text own = pawl_trace_id(ctx);
  pawl_outcome seen;
  char text[200];
  (void)user;
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "say_trace", NULL, 0, NULL), &seen);
  if (seen.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &seen);
  snprintf(text, sizeof text, "%.*s, %.*s", (int)own.size, own.data, (int)seen.value.size,
           seen.value.data);
  return pawl_complete(ctx, text, strlen(text));
}

static void keep_trace(void* user, const pawl_instance_info* info) {
  char* const all = user;
  if (strlen(all) + info->trace_id.size + 2 > 100) return;
  strncat(all, info->trace_id.data, info->trace_id.size);
  strcat(all, ";");
}

void a_trace_is_seen_by_all(void) {
  char bytes[200];
  char listed[100] = "";
  pawl_buffer output = {bytes, sizeof bytes, 0};
  pawl_start_options how;
  pawl_page page = first_page(10);
  pawl_host* const host = open_host();
  pawl_client* client;
  CHECK_STATUS(pawl_host_add_orchestration(host, "traced", NULL, traced, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "say_trace", PAWL_INLINE, say_trace, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  client = open_client(host);
  pawl_start_options_init(&how);
  CHECK(how.version == NULL && how.start_after_ms == 0 && how.trace_id == NULL);
  how.trace_id = "request-7";
  CHECK_STATUS(pawl_client_start(client, "traced", "by-client", NULL, 0, &how), PAWL_OK);
  run_until(host, client, "by-client", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "request-7, request-7"));
  how.trace_id = "request-8";
  CHECK_STATUS(pawl_host_start_orchestration(host, "traced", "by-host", NULL, 0, &how, NULL, NULL),
               PAWL_OK);
  CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
  run_until(host, client, "by-host", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, "request-8, request-8"));
  CHECK_STATUS(pawl_client_start(client, "traced", "without", NULL, 0, NULL), PAWL_OK);
  run_until(host, client, "without", PAWL_COMPLETED, &output);
  CHECK(buffer_is(&output, ", "));
  CHECK_STATUS(pawl_client_list(client, NULL, &page, keep_trace, listed), PAWL_OK);
  CHECK(strcmp(listed, "request-7;request-8;;") == 0);
  /* The other options: the instance has not begun, since it starts in an hour. */
  how.start_after_ms = 3600000;
  how.version = "1.0.0";
  CHECK_STATUS(pawl_client_start(client, "traced", "later", NULL, 0, &how), PAWL_OK);
  CHECK_STATUS(pawl_host_run(host, 10), PAWL_TIMEOUT);
  CHECK(run_until(host, client, "later", PAWL_RUNNING, NULL).state == PAWL_RUNNING);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- a loop of the caller's ---- */

void foreign_loop(void) {
  pawl_host* const host = order_host();
  pawl_client* const client = open_client(host);
  pawl_instance_status status;
  int more = 0;
  int turns = 0;
  status.size = sizeof status;
  CHECK(pawl_host_fd(host) >= 0);
  CHECK_STATUS(pawl_client_start(client, "order", "order", "nails", 5, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_raise_event(client, "order", "go", "now", 3, NULL), PAWL_OK);
  do {
    struct pollfd readable = {0, POLLIN, 0};
    const int64_t due = pawl_host_next_due_ms(host);
    CHECK(due >= -1 && turns++ < 10000);
    readable.fd = pawl_host_fd(host);
    if (!more) (void)poll(&readable, 1, due < 0 || due > 5000 ? 5000 : (int)due);
    CHECK_STATUS(pawl_host_tick(host, 10, &more), PAWL_OK);
    CHECK_STATUS(pawl_client_get_status(client, "order", &status, NULL, NULL), PAWL_OK);
  } while (status.state == PAWL_RUNNING);
  CHECK(status.state == PAWL_COMPLETED);
  /* The host would wait for itself. */
  CHECK_STATUS(pawl_client_wait(client, "order", 0, &status, NULL), PAWL_WOULD_BLOCK);
  pawl_host_request_stop(host);
  CHECK_STATUS(pawl_host_run(host, -1), PAWL_STOPPED);
  CHECK_STATUS(pawl_host_stop(host), PAWL_OK);
  CHECK_STATUS(pawl_host_tick(host, 10, &more), PAWL_STOPPED);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- clients ---- */

void client_alone(void) {
  pawl_client* client = open_client(NULL);
  pawl_client* second = NULL;
  pawl_client_options options;
  pawl_instance_status status;
  status.size = sizeof status;
  CHECK_STATUS(start_version(client, "order", "order", "1.0.0", "nails", 5), PAWL_OK);
  CHECK_STATUS(pawl_client_enqueue(client, "order", "queue", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_get_status(client, "order", &status, NULL, NULL), PAWL_OK);
  CHECK(status.state == PAWL_RUNNING);
  CHECK_STATUS(pawl_client_wait(client, "order", 1, &status, NULL), PAWL_TIMEOUT);
  pawl_client_options_init(&options);
  options.database_path = g_path;
  CHECK_STATUS(pawl_client_open(&options, NULL, &second, NULL), PAWL_ALREADY_EXISTS);
  CHECK(second == NULL);
  pawl_client_close(client);
  client = open_client(NULL);
  CHECK_STATUS(pawl_client_delete(client, "order", 0, NULL), PAWL_STILL_RUNNING);
  CHECK_STATUS(pawl_client_delete(client, "order", 1, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_get_status(client, "order", &status, NULL, NULL), PAWL_NOT_FOUND);
  pawl_client_close(client);
}

static void count_instance(void* user, const pawl_instance_info* info) {
  char* const names = user;
  CHECK(text_is(info->name, "order") && info->parent_id.size == 0 && info->execution_id == 1);
  strncat(names, info->id.data, info->id.size);
}

void buffers_and_lists(void) {
  pawl_host* const host = order_host();
  pawl_client* const client = open_client(host);
  char bytes[18];
  pawl_buffer output = {bytes, sizeof bytes, 0};
  pawl_buffer none = {NULL, 0, 0};
  char names[100] = "";
  pawl_page page = first_page(1);
  pawl_instance_filter filter = with_prefix("p-");
  int pages = 0;
  pawl_instance_status status;
  status.size = sizeof status;
  CHECK_STATUS(pawl_client_start(client, "order", "order", "nails", 5, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_raise_event(client, "order", "go", "now", 3, NULL), PAWL_OK);
  run_until(host, client, "order", PAWL_COMPLETED, NULL);
  /* A buffer is one byte too small: nothing is copied, but the length and all else is there. */
  memset(bytes, 'x', sizeof bytes);
  status.state = PAWL_RUNNING;
  CHECK_STATUS(pawl_client_get_status(client, "order", &status, &output, NULL),
               PAWL_RESOURCE_EXHAUSTED);
  CHECK(output.size == 19 && bytes[0] == 'x' && status.state == PAWL_COMPLETED);
  CHECK(strcmp(pawl_client_error(client), "a buffer is too small for the text") == 0);
  CHECK_STATUS(pawl_client_get_value(client, "order", "stock", &none), PAWL_RESOURCE_EXHAUSTED);
  CHECK(none.size == 14);
  CHECK_STATUS(pawl_client_get_value(client, "order", "nothing", &output), PAWL_NOT_FOUND);
  CHECK(output.size == 0);
  CHECK_STATUS(pawl_client_start(client, "order", "p-1", NULL, 0, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_start(client, "order", "p-2", NULL, 0, NULL), PAWL_OK);
  for (page.more = 1; page.more; ++pages)
    CHECK_STATUS(pawl_client_list(client, NULL, &page, count_instance, names), PAWL_OK);
  CHECK(strcmp(names, "orderp-1p-2") == 0 && pages >= 3);
  names[0] = '\0';
  page = first_page(10);
  CHECK_STATUS(pawl_client_list(client, &filter, &page, count_instance, names), PAWL_OK);
  CHECK(strcmp(names, "p-1p-2") == 0 && page.more == 0);
  page = first_page(0);
  CHECK_STATUS(pawl_client_list(client, NULL, &page, count_instance, names), PAWL_INVALID_ARGUMENT);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* ---- which case ---- */

typedef struct test_case {
  const char* name;
  void (*run)(void);
} test_case;
#define CASE(name) \
  { #name, name }
static const test_case kCases[] = {CASE(goes_on_after_a_restart),
                                   CASE(combines_awaits),
                                   CASE(activities_end_in_each_way),
                                   CASE(steps_keep_their_state),
                                   CASE(foreign_loop),
                                   CASE(a_trace_is_seen_by_all),
                                   CASE(awaits_that_are_stepped_over),
                                   CASE(cancel_and_clean_up),
                                   CASE(client_alone),
                                   CASE(buffers_and_lists),
                                   CASE(wrong_arguments),
                                   CASE(wrong_sizes),
                                   CASE(wrong_options),
                                   CASE(wrong_calls_of_code),
                                   CASE(answers_of_a_host),
                                   CASE(sizes_of_each_release),
                                   CASE(sizes_in_code),
                                   CASE(devices_are_declared),
                                   CASE(sessions_of_code),
                                   CASE(operators_of_sessions),
                                   CASE(wrong_tags),
                                   CASE(ids_in_use),
                                   CASE(messages_and_calls),
                                   CASE(time_limits),
                                   CASE(completed_from_outside),
                                   CASE(completed_by_the_host),
                                   CASE(watching),
                                   CASE(listings_and_verbs),
                                   CASE(verbs_of_a_host),
                                   CASE(null_pointers)};

int main(int count, char** arguments) {
  static char path[300];
  static char command[400];
  size_t i;
  if (count != 3) return 2;
  snprintf(command, sizeof command, "rm -rf '%s'", arguments[2]);
  if (system(command) != 0 || mkdir(arguments[2], 0700) != 0) return 2;
  snprintf(path, sizeof path, "%s/c.db", arguments[2]);
  g_path = path;
  for (i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (strcmp(arguments[1], kCases[i].name) != 0) continue;
    kCases[i].run();
    return 0;
  }
  return 2;
}

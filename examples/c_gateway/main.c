/* c_gateway: a sensor that one process may read, sampled by a program of C that may be killed. */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sensor.h"
#include "watch.h"

static const char kUsage[] =
    "c_gateway run   DATABASE NODE SENSOR [standby]   declares SENSOR, a file with a number, and "
    "runs\n"
    "c_gateway watch DATABASE ID SAMPLES PERIOD_MS SENSOR\n"
    "                                                 starts a watch, or joins it, and waits\n"
    "c_gateway show  DATABASE                         workers, sessions and instances\n";

static int fail(const char* what, const char* why) {
  fprintf(stderr, "c_gateway: %s: %s\n", what, why);
  return 1;
}

/* ---- run ---- */

static void declared(void* user, pawl_status status) {
  fprintf(stderr, "c_gateway: %s is declared: %s\n", (const char*)user, pawl_status_name(status));
}

static int run(const char* database, const char* node, const char* path, int standby) {
  sensor of = {NULL, -1};
  pawl_host_options options;
  pawl_host* host = NULL;
  pawl_status status;
  of.path = path;
  pawl_host_options_init_small(&options);
  options.database_path = database;
  options.worker_node_id = node;
  options.catch_signals = 1;
  options.owner_change = sensor_changes_owner;
  options.owner_user = &of;
  status = pawl_host_open(&options, &host);
  if (status != PAWL_OK) return fail(database, pawl_status_name(status));
  if (pawl_host_add_orchestration(host, "watch", NULL, watch, NULL) != PAWL_OK ||
      pawl_host_add_activity(host, "read", PAWL_INLINE, sensor_read, &of) != PAWL_OK ||
      pawl_host_add_activity(host, "average", PAWL_INLINE, average, NULL) != PAWL_OK ||
      pawl_host_start(host) != PAWL_OK ||
      pawl_host_declare_session(host, path, standby, declared, (void*)path) != PAWL_OK)
    return fail(database, pawl_host_error(host));
  fprintf(stderr, "c_gateway: %s runs\n", node);
  status = pawl_host_run(host, -1);
  if (status != PAWL_STOPPED) return fail(database, pawl_host_error(host));
  return pawl_host_close(host) == PAWL_OK ? 0 : 1;
}

/* ---- watch ---- */

static pawl_client* connect_to(const char* database) {
  char text[400];
  pawl_buffer why = {text, sizeof text, 0};
  pawl_client_options options;
  pawl_client* client = NULL;
  pawl_client_options_init(&options);
  options.database_path = database;
  if (pawl_client_open(&options, NULL, &client, &why) != PAWL_OK)
    fprintf(stderr, "c_gateway: %s: %.*s\n", database, (int)why.size, text);
  return client;
}

static int start_and_wait(pawl_client* client, char** arguments) {
  char input[400];
  char text[400];
  pawl_buffer output = {text, sizeof text, 0};
  pawl_start_options how;
  pawl_instance_status status;
  snprintf(input, sizeof input, "%s %s %s", arguments[1], arguments[2], arguments[3]);
  pawl_start_options_init(&how);
  how.if_running = PAWL_RUNNING_TAKE; /* whoever asks twice waits for the same watch */
  how.if_ended = PAWL_ENDED_NEXT_EXECUTION;
  if (pawl_client_start(client, "watch", arguments[0], input, strlen(input), &how) != PAWL_OK)
    return fail(arguments[0], pawl_client_error(client));
  status.size = sizeof status;
  if (pawl_client_wait(client, arguments[0], INT64_C(3600000), &status, &output) != PAWL_OK)
    return fail(arguments[0], pawl_client_error(client));
  printf("%.*s\n", (int)output.size, text);
  return status.state == PAWL_COMPLETED ? 0 : 1;
}

/* ---- show ---- */

static void show_worker(void* user, const pawl_worker_info* info) {
  (void)user;
  printf("worker %.*s: %" PRId64 " devices, %" PRId64 " sessions\n", (int)info->node.size,
         info->node.data, info->devices, info->sessions);
}
static void show_session(void* user, const pawl_session_info* info) {
  (void)user;
  printf("%s %.*s: owner %.*s, epoch %" PRId64 "\n", info->device ? "device" : "session",
         (int)info->name.size, info->name.data, (int)info->node.size, info->node.data, info->epoch);
}
static void show_instance(void* user, const pawl_instance_info* info) {
  (void)user;
  printf("watch %.*s: %s\n", (int)info->id.size, info->id.data,
         info->state == PAWL_RUNNING ? "runs" : "has ended");
}

static int show(pawl_client* client) {
  pawl_page page = {0, 100, 1};
  pawl_status status = pawl_client_list_workers(client, show_worker, NULL);
  while (status == PAWL_OK && page.more)
    status = pawl_client_list_sessions(client, NULL, &page, show_session, NULL);
  page.after = 0;
  page.more = 1;
  while (status == PAWL_OK && page.more)
    status = pawl_client_list(client, NULL, &page, show_instance, NULL);
  return status == PAWL_OK ? 0 : fail("show", pawl_client_error(client));
}

int main(int count, char** arguments) {
  const char* const role = count > 2 ? arguments[1] : "";
  pawl_client* client;
  int result;
  if (strcmp(role, "run") == 0 && (count == 5 || count == 6))
    return run(arguments[2], arguments[3], arguments[4], count == 6);
  if (!(strcmp(role, "watch") == 0 && count == 7) && !(strcmp(role, "show") == 0 && count == 3)) {
    fputs(kUsage, stderr);
    return 2;
  }
  client = connect_to(arguments[2]);
  if (client == NULL) return 1;
  result = count == 7 ? start_and_wait(client, arguments + 3) : show(client);
  pawl_client_close(client);
  return result;
}

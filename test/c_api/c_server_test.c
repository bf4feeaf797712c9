/* A database on a server, for a host and a client of C.
 *
 * usage: c_server_test PATH ADDRESS */
#include "c_api_test.h"

#include "pawl/pawl_postgres.h"

static const char* g_file;
static const char* const kPassword = "s3cret"; /* in no text */

static void feel(pawl_activity* activity, void* user) {
  (void)user;
  pawl_activity_ok(activity, "dry", 3);
}
static pawl_poll look(pawl_ctx* ctx, void* user) {
  pawl_outcome soil;
  (void)user;
  PAWL_AWAIT_C(pawl_schedule_activity(ctx, "feel", NULL, 0, NULL), &soil);
  return pawl_complete(ctx, soil.value.data, soil.value.size);
}

static pawl_host* open_on(const pawl_server_database* database) {
  pawl_host* host = NULL;
  pawl_host_options options;
  pawl_host_options_init_small(&options);
  options.database_path = g_file;
  options.database = database;
  CHECK_STATUS(pawl_host_open(&options, &host), PAWL_OK);
  CHECK_STATUS(pawl_host_add_activity(host, "feel", PAWL_INLINE, feel, NULL), PAWL_OK);
  CHECK_STATUS(pawl_host_add_orchestration(host, "look", NULL, look, NULL), PAWL_OK);
  return host;
}

static pawl_status open_client_on(const pawl_server_database* database, pawl_host* host,
                                  pawl_client** out, pawl_buffer* why) {
  pawl_client_options options;
  pawl_client_options_init(&options);
  options.database_path = g_file;
  options.database = database;
  options.create = 0;
  options.payload_bytes_max = 4096;
  return pawl_client_open(&options, host, out, why);
}

static void runs(const pawl_server_database* database) {
  char text[100];
  pawl_buffer output = {text, sizeof text, 0};
  pawl_instance_status status;
  pawl_client* client = NULL;
  pawl_host* host = open_on(database);
  CHECK_STATUS(pawl_host_start(host), PAWL_OK);
  CHECK_STATUS(open_client_on(database, host, &client, NULL), PAWL_OK);
  CHECK_STATUS(pawl_client_start(client, "look", "roses", NULL, 0, NULL), PAWL_OK);
  status.size = sizeof status;
  do {
    (void)pawl_host_run(host, 10);
    CHECK_STATUS(pawl_client_get_status(client, "roses", &status, &output, NULL), PAWL_OK);
  } while (status.state == PAWL_RUNNING);
  CHECK(status.state == PAWL_COMPLETED && output.size == 3 && memcmp(text, "dry", 3) == 0);
  pawl_client_close(client);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

/* The rows are on the server: there is no file, and another schema has none of them. */
static void is_there(const pawl_server_database* database, const char* address) {
  char text[500] = "";
  pawl_buffer why = {text, sizeof text - 1, 0};
  pawl_instance_status status;
  pawl_client* client = NULL;
  const pawl_server_database other = pawl_postgresql(address, "other");
  const pawl_server_database none = {NULL, address, "c"};
  const pawl_server_database away = pawl_postgresql("postgresql://u:s3cret@127.0.0.1:1/x", NULL);
  status.size = sizeof status;
  CHECK_STATUS(open_client_on(database, NULL, &client, &why), PAWL_OK);
  CHECK_STATUS(pawl_client_get_status(client, "roses", &status, NULL, NULL), PAWL_OK);
  pawl_client_close(client);
  CHECK_STATUS(open_client_on(NULL, NULL, &client, &why), PAWL_CANNOT_OPEN);
  CHECK_STATUS(open_client_on(&other, NULL, &client, &why), PAWL_CANNOT_OPEN);
  CHECK(strstr(text, "schema other") != NULL);
  CHECK_STATUS(open_client_on(&none, NULL, &client, &why), PAWL_INVALID_OPTIONS);
  memset(text, 0, sizeof text);
  CHECK_STATUS(open_client_on(&away, NULL, &client, &why), PAWL_CANNOT_OPEN);
  CHECK(strstr(text, "127.0.0.1") != NULL && strstr(text, kPassword) == NULL);
}

static void refuses_a_host(void) {
  const pawl_server_database away = pawl_postgresql("postgresql://u:s3cret@127.0.0.1:1/x", NULL);
  pawl_host* host = open_on(&away);
  CHECK_STATUS(pawl_host_start(host), PAWL_CANNOT_OPEN);
  CHECK(strstr(pawl_host_error(host), "cannot be reached") != NULL);
  CHECK(strstr(pawl_host_error(host), kPassword) == NULL);
  CHECK_STATUS(pawl_host_close(host), PAWL_OK);
}

int main(int argc, char** argv) {
  pawl_server_database database;
  CHECK(argc == 3);
  g_file = argv[1];
  database = pawl_postgresql(argv[2], "c");
  CHECK(strcmp(pawl_postgresql(argv[2], NULL).schema, "pawl") == 0);
  runs(&database);
  is_there(&database, argv[2]);
  refuses_a_host();
  puts("ok");
  return 0;
}

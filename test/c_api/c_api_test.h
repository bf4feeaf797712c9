/* Helpers that the cases of the test of pawl.h share. */
#ifndef C_API_TEST_H
#define C_API_TEST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pawl/pawl.h"

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)
#define CHECK_STATUS(call, expected)                                                         \
  do {                                                                                       \
    const pawl_status got_ = (call);                                                         \
    if (got_ != (expected)) {                                                                \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, pawl_status_name(got_)); \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)

/* The database of the case, in an empty folder. */
extern const char* g_path;

int text_is(pawl_text text, const char* expected);
int buffer_is(const pawl_buffer* buffer, const char* expected);

/* pawl_client_start() and pawl_schedule_child() with a version, and an id of the child. */
pawl_status start_version(pawl_client* client, const char* name, const char* id,
                          const char* version, const void* input, size_t size);
pawl_handle schedule_child(pawl_ctx* ctx, const char* name, const char* id, const char* version,
                           const void* input, size_t size);
/* A page from the first row on. */
pawl_page first_page(size_t rows_max);
/* A filter of instances by the begin of their id. */
pawl_instance_filter with_prefix(const char* prefix);

/* A host that is not started, with no signals caught. */
pawl_host* open_host(void);
pawl_client* open_client(pawl_host* host);
/* Runs the host until the instance is in this state; its output goes to `output`, which may be
 * null. */
pawl_instance_status run_until(pawl_host* host, pawl_client* client, const char* id, int state,
                               pawl_buffer* output);
/* Starts an instance and runs it to this end. */
void expect_end(pawl_host* host, pawl_client* client, const char* name, const char* input,
                int state, const char* output);

void goes_on_after_a_restart(void);
void combines_awaits(void);
void activities_end_in_each_way(void);
void steps_keep_their_state(void);
void foreign_loop(void);
void a_trace_is_seen_by_all(void);
void awaits_that_are_stepped_over(void);
void cancel_and_clean_up(void);
void client_alone(void);
void buffers_and_lists(void);
void wrong_arguments(void);
void wrong_sizes(void);
void wrong_options(void);
void wrong_calls_of_code(void);
void answers_of_a_host(void);
void sizes_of_each_release(void);
void sizes_in_code(void);
void devices_are_declared(void);
void sessions_of_code(void);
void operators_of_sessions(void);
void wrong_tags(void);
void ids_in_use(void);
void messages_and_calls(void);
void time_limits(void);
void completed_from_outside(void);
void completed_by_the_host(void);
void watching(void);
void listings_and_verbs(void);
void verbs_of_a_host(void);
void null_pointers(void);

#endif

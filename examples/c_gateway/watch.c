#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the activity ---- */

typedef struct window {
  char session[80];
  int64_t epoch; /* the ownership that it is of; any other makes it invalid */
  long samples;
  long sum;
} window;

/* The activity runs on the host's thread alone, so nothing locks them. */
static window g_windows[16];

/* Finds the window of a session, or the one that was made first. */
static window* window_of(const char* session) {
  static size_t next;
  size_t i;
  for (i = 0; i < sizeof g_windows / sizeof g_windows[0]; ++i)
    if (strcmp(g_windows[i].session, session) == 0) return &g_windows[i];
  i = next++ % (sizeof g_windows / sizeof g_windows[0]);
  memset(&g_windows[i], 0, sizeof g_windows[i]);
  snprintf(g_windows[i].session, sizeof g_windows[i].session, "%s", session);
  return &g_windows[i];
}

static const char* copy(pawl_text text, char* to, size_t room) {
  snprintf(to, room, "%.*s", (int)text.size, text.data);
  return to;
}

void average(pawl_activity* activity, void* user) {
  char session[80];
  char input[80];
  char state[80];
  window* of;
  (void)user;
  copy(pawl_activity_input(activity), input, sizeof input);
  of = window_of(copy(pawl_activity_session_id(activity), session, sizeof session));
  if (input[0] == '=') {
    if (sscanf(input, "=%ld %ld", &of->samples, &of->sum) != 2) {
      pawl_activity_fail_permanently(activity, "no state");
      return;
    }
    of->epoch = pawl_activity_session_epoch(activity);
  } else if (of->epoch != pawl_activity_session_epoch(activity)) {
    /* Another process had the session meanwhile, or this one began anew: what was kept is gone. The
     * session is lost, and its code makes the state again. */
    pawl_activity_abort_session(activity);
    pawl_activity_fail_permanently(activity, "nothing is known of this session");
    return;
  } else {
    ++of->samples;
    of->sum += strtol(input, NULL, 10);
  }
  snprintf(state, sizeof state, "=%ld %ld", of->samples, of->sum);
  pawl_activity_ok(activity, state, strlen(state));
}

/* ---- the orchestration ---- */

static pawl_handle read_sensor(pawl_ctx* ctx, const char* path) {
  pawl_activity_options options;
  pawl_activity_options_init(&options);
  options.where = PAWL_DEVICE; /* only the host that declared it */
  options.session = path;
  options.unavailable_ms = 10000;
  options.max_attempts = 5;
  options.backoff_base_ms = 100;
  options.start_to_close_ms = 5000;
  return pawl_schedule_activity(ctx, "read", NULL, 0, &options);
}

static pawl_handle average_on(pawl_ctx* ctx, const pawl_session* session, pawl_text input) {
  pawl_activity_options options;
  pawl_activity_options_init(&options);
  options.where = PAWL_OWN_SESSION;
  options.opened = session;
  return pawl_schedule_activity(ctx, "average", input.data, input.size, &options);
}

/* Numbers that the instance keeps; 0: it does not. */
static long number_of(pawl_ctx* ctx, const char* key) {
  char text[32] = "";
  pawl_text value = {"", 0};
  (void)pawl_get_value(ctx, key, &value);
  return strtol(copy(value, text, sizeof text), NULL, 10);
}
static void set_number(pawl_ctx* ctx, const char* key, long number) {
  char text[32];
  snprintf(text, sizeof text, "%ld", number);
  (void)pawl_set_value(ctx, key, text, strlen(text));
}
static long samples_so_far(pawl_ctx* ctx) {
  char text[80] = "";
  pawl_text state = {"=0 0", 4};
  (void)pawl_get_value(ctx, "state", &state);
  return strtol(copy(state, text, sizeof text) + 1, NULL, 10);
}

/* Opens the session and gives it the state that this instance keeps. */
static pawl_poll rebuild(pawl_ctx* ctx, pawl_session* session, pawl_outcome* out) {
  pawl_session_settings settings;
  pawl_text state = {"=0 0", 4};
  pawl_session_settings_init(&settings);
  settings.kind = "average";
  settings.fail_on_loss = 1; /* its state is in one process, and gone with it */
  settings.exclusive = 1;
  *session = pawl_open_session(ctx, "window", &settings);
  (void)pawl_get_value(ctx, "state", &state);
  PAWL_AWAIT_C(average_on(ctx, session, state), out);
  return PAWL_DONE;
}

/* Adds a sample. Whenever the session was lost with its owner, makes the state again. */
static pawl_poll add_sample(pawl_ctx* ctx, pawl_session* session, pawl_text sample,
                            pawl_outcome* out) {
  pawl_session_event loss;
  loss.size = sizeof loss;
  PAWL_AWAIT_C(average_on(ctx, session, sample), out);
  while (out->error == PAWL_ERROR_SESSION_LOST) {
    if (pawl_read_session_loss(out->value, &loss) == PAWL_OK)
      (void)pawl_trace(ctx, PAWL_LEVEL_WARNING, loss.reason);
    set_number(ctx, "made anew", number_of(ctx, "made anew") + 1);
    if (rebuild(ctx, session, out) == PAWL_PENDING) return PAWL_PENDING;
    if (out->error == PAWL_ERROR_NONE) PAWL_AWAIT_C(average_on(ctx, session, sample), out);
  }
  return PAWL_DONE;
}

/* Ends with what was kept, and leaves nothing for a next watch of this id. */
static pawl_poll finish(pawl_ctx* ctx) {
  char state[80];
  char text[200];
  pawl_text kept = {"=0 0", 4};
  (void)pawl_get_value(ctx, "state", &kept);
  snprintf(text, sizeof text, "%s, made anew %ld times", copy(kept, state, sizeof state) + 1,
           number_of(ctx, "made anew"));
  (void)pawl_clear_values(ctx);
  return pawl_complete(ctx, text, strlen(text));
}

pawl_poll watch(pawl_ctx* ctx, void* user) {
  const pawl_text begun = pawl_input(ctx);
  char input[400];
  char path[300];
  long samples = 0;
  long period_ms = 0;
  pawl_session session;
  pawl_outcome sample;
  pawl_outcome state;
  (void)user;
  copy(begun, input, sizeof input);
  if (sscanf(input, "%ld %ld %299[^\n]", &samples, &period_ms, path) != 3)
    return pawl_fail(ctx, "the input is SAMPLES PERIOD_MS PATH");
  if (rebuild(ctx, &session, &state) == PAWL_PENDING) return PAWL_PENDING;
  while (samples_so_far(ctx) < samples) {
    /* An execution keeps all that it did. The next one begins with the values that this one set. */
    if (pawl_history_length(ctx) > 200)
      return pawl_continue_as_new(ctx, begun.data, begun.size, NULL);
    PAWL_AWAIT_C(read_sensor(ctx, path), &sample);
    if (sample.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &sample);
    if (add_sample(ctx, &session, sample.value, &state) == PAWL_PENDING) return PAWL_PENDING;
    if (state.error != PAWL_ERROR_NONE) return pawl_fail_with(ctx, &state);
    (void)pawl_set_value(ctx, "state", state.value.data, state.value.size);
    (void)pawl_set_custom_status(ctx, state.value.data, state.value.size);
    PAWL_AWAIT_C(pawl_schedule_timer(ctx, period_ms), NULL);
  }
  return finish(ctx);
}

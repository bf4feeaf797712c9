#define _DEFAULT_SOURCE
#include "sensor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static void take(sensor* of) {
  of->fd = open(of->path, O_RDONLY | O_CLOEXEC);
  /* The lock ends with the process, however that ends. A frozen process keeps it, so two never read
   * one sensor, whatever they believe. */
  if (of->fd >= 0 && flock(of->fd, LOCK_EX | LOCK_NB) != 0) {
    close(of->fd);
    of->fd = -1;
  }
}

static void give_up(sensor* of) {
  if (of->fd >= 0) close(of->fd);
  of->fd = -1;
}

void sensor_changes_owner(void* user, pawl_owner_change change, pawl_text session, int64_t epoch) {
  sensor* const of = user;
  if (session.size != strlen(of->path) || memcmp(session.data, of->path, session.size) != 0) return;
  if (change == PAWL_OWNER_ENDING) return;
  give_up(of);
  if (change == PAWL_OWNER_CLAIMED) take(of);
  fprintf(stderr, "c_gateway: the sensor is %s, epoch %" PRId64 "\n",
          change == PAWL_OWNER_LOST ? "not ours"
          : of->fd >= 0             ? "ours"
                                    : "locked by another process",
          epoch);
}

void sensor_read(pawl_activity* activity, void* user) {
  sensor* const of = user;
  char text[32];
  char* end;
  ssize_t size;
  if (of->fd < 0) take(of);
  if (of->fd < 0) {
    pawl_activity_fail(activity, strerror(errno)); /* another attempt follows */
    return;
  }
  size = pread(of->fd, text, sizeof text - 1, 0);
  if (size <= 0) {
    give_up(of);
    pawl_activity_fail(activity, size == 0 ? "it says nothing" : strerror(errno));
    return;
  }
  text[size] = '\0';
  (void)strtol(text, &end, 10);
  if (end == text) {
    pawl_activity_fail_permanently(activity, "it says no number");
    return;
  }
  pawl_activity_ok(activity, text, (size_t)(end - text));
}

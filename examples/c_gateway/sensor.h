/* The sensor: a device that this process opens and locks while it owns it. */
#ifndef C_GATEWAY_SENSOR_H
#define C_GATEWAY_SENSOR_H

#include "pawl/pawl.h"

/* A sensor is a file whose first line is a number, as those of /sys/class/hwmon are. */
typedef struct sensor {
  const char* path; /* it is also the name of the device */
  int fd;           /* -1: it is not ours, or cannot be opened */
} sensor;

/* A pawl_owner_fn, with a sensor: opens the file and takes the kernel's lock, or closes it. */
void sensor_changes_owner(void* user, pawl_owner_change change, pawl_text session, int64_t epoch);
/* The activity "read", with a sensor: answers the number as text. */
void sensor_read(pawl_activity* activity, void* user);

#endif

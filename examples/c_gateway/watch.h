/* The orchestration "watch" and its activity "average". */
#ifndef C_GATEWAY_WATCH_H
#define C_GATEWAY_WATCH_H

#include "pawl/pawl.h"

/* Takes samples of a sensor; the input is "SAMPLES PERIOD_MS PATH". The result has the number of
 * samples, their sum, and how often that was made anew. */
pawl_poll watch(pawl_ctx* ctx, void* user);

/* Keeps sums in the memory of this process, one for each session. The input is a sample ("21"), or
 * the state that was lost with another process ("=8 163": eight samples, their sum). Answers that
 * state. */
void average(pawl_activity* activity, void* user);

#endif

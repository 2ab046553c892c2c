/* worker.h - the library's own threads.  Private to the library. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Start a thread that receives none of the program's signals.  False: it could
 * not be created. */
bool larder__worker_begin(pthread_t *out, void *(*run)(void *ctx), void *ctx);

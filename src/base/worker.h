/* worker.h - threads of the library's own.  Private to the library. */
#ifndef LARDER_BASE_WORKER_H
#define LARDER_BASE_WORKER_H

#include <pthread.h>
#include <stdbool.h>

/* A thread that takes none of the program's signals; false: there is none. */
bool larder__worker_begin(pthread_t *out, void *(*run)(void *ctx), void *ctx);

#endif

/* worker.c - the library's own threads. */
#include "base/worker.h"

#include <signal.h>

bool larder__worker_begin(pthread_t *out, void *(*run)(void *ctx), void *ctx)
{
    sigset_t all;
    sigset_t before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(out, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed == 0;
}

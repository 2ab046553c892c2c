/* thread.c - threads of the library, in which no signal of the program is
 * handled. */
#include "preload_state.h"

#include <signal.h>

bool preload_thread_start(void *(*fn)(void *), void *ctx)
{
    pthread_t thread;
    sigset_t all;
    sigset_t old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(&thread, NULL, fn, ctx);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error == 0)
        pthread_detach(thread);
    return error == 0;
}

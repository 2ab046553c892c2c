/* thread_fail.h - failing in a thread: cmocka's own asserts work only in the
 * main thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "support/rig.h"

/* The first failure of any thread. */
static pthread_mutex_t failure_lock = PTHREAD_MUTEX_INITIALIZER;
static char failure_text[512];
static atomic_int failed;

static inline void thread_fail(int line, const char *what)
{
    pthread_mutex_lock(&failure_lock);
    if (failure_text[0] == '\0')
        snprintf(failure_text, sizeof failure_text, "line %d: %s: %.300s", line,
                 what, larder_last_error());
    pthread_mutex_unlock(&failure_lock);
    atomic_store(&failed, 1);
}

/* Whether any thread failed; prints the failure and resets it for the next
 * test. */
static inline bool any_thread_failed(void)
{
    if (!atomic_exchange(&failed, 0))
        return false;
    print_error("%s\n", failure_text);
    failure_text[0] = '\0';
    return true;
}

#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition))                                                      \
            thread_fail(__LINE__, #condition);                                 \
    } while (0)

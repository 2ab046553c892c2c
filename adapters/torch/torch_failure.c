/* torch_failure.c - stores the last error. */
#include "torch_failure.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "torch_exception.h"

enum { WORDS_MAX = 4096 };

/* `last` is guarded by the lock. `own` is this thread's last error, so that a
 * thread raises its own and no other's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[WORDS_MAX];
static atomic_uint_fast64_t count;
static _Thread_local char own[WORDS_MAX];

void larder__torch_failure_lock(void)
{
    pthread_mutex_lock(&lock);
}

void larder__torch_failure_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void larder__torch_remember_words(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(own, sizeof own, format, args);
    va_end(args);
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    pthread_mutex_lock(&lock);
    memcpy(last, own, sizeof last);
    pthread_mutex_unlock(&lock);
}

larder_result larder__torch_noted(larder_result r)
{
    if (r != LARDER_OK)
        larder__torch_remember_words("%s", larder_last_error());
    return r;
}

void larder__torch_forget(void)
{
    atomic_store(&count, 0);
    pthread_mutex_lock(&lock);
    last[0] = '\0';
    pthread_mutex_unlock(&lock);
}

const char *larder_torch_last_error(void)
{
    static _Thread_local char copy[WORDS_MAX];

    pthread_mutex_lock(&lock);
    memcpy(copy, last, sizeof copy);
    pthread_mutex_unlock(&lock);
    return copy;
}

uint64_t larder_torch_error_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

larder_torch_exception larder_torch_raises(void)
{
    struct cxx_runtime cxx;
    struct c10_error c10;

    if (!larder__cxx_find(&cxx))
        return LARDER_TORCH_NOTHING;
    return larder__c10_find(&c10) ? LARDER_TORCH_OUT_OF_MEMORY
                                  : LARDER_TORCH_RUNTIME_ERROR;
}

void larder__torch_raise(larder_result why)
{
    struct cxx_runtime cxx;
    struct c10_error c10;

    if (why == LARDER_OK || !larder__cxx_find(&cxx))
        return;
    if (why == LARDER_ERR_OUT_OF_MEMORY && larder__c10_find(&c10))
        larder__c10_raise(&cxx, &c10, own);
    larder__cxx_raise(&cxx, own);
}

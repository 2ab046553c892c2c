/* trimmer.c - the thread that releases memory unused for trim_age.
 *
 * Locks: the trimmer's own lock ranks below the allocator's.  It guards
 * `age_ns` and `is_ending`, and is held only to read them. */
#include "core/trim/trim.h"

#include <pthread.h>
#include <time.h>

#include "base/fail.h"
#include "base/host.h"
#include "base/ticks.h"
#include "base/witness.h"
#include "base/worker.h"
#include "core/history/recording.h"
#include "core/state/shard.h"

enum { PERIOD_MIN_NS = 1000000, NAP_NS = 1000000 };

struct trimmer {
    struct allocator *a;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t age_ns; /* 0: wait for another setting */
    bool is_ending;
};

/* ---- waiting --------------------------------------------------------------- */

/* Wait for `ns`, or until the setting changes.  False: the thread must end. */
static bool trimmer_nap(struct trimmer *t, uint64_t ns)
{
    struct timespec until = ticks_timespec(larder__ticks_system_ns() + ns);
    bool goes_on;

    mutex_take(&t->lock, RANK_TRIMMER);
    if (!t->is_ending)
        pthread_cond_timedwait(&t->wake, &t->lock, &until);
    goes_on = !t->is_ending;
    mutex_leave(&t->lock);
    return goes_on;
}

/* Wait until a look is due.  False: the thread must end. */
static bool wait_for_look(struct trimmer *t)
{
    uint64_t begin_ns = larder__ticks_system_ns();
    bool goes_on;

    mutex_take(&t->lock, RANK_TRIMMER);
    for (;;) {
        uint64_t period_ns = t->age_ns / TRIM_STEPS;
        struct timespec until;

        if (period_ns < PERIOD_MIN_NS)
            period_ns = PERIOD_MIN_NS;
        until = ticks_timespec(begin_ns + period_ns);
        if (t->is_ending || (t->age_ns != 0 &&
                             larder__ticks_system_ns() >= begin_ns + period_ns))
            break;
        if (t->age_ns == 0)
            pthread_cond_wait(&t->wake, &t->lock);
        else
            pthread_cond_timedwait(&t->wake, &t->lock, &until);
    }
    goes_on = !t->is_ending;
    mutex_leave(&t->lock);
    return goes_on;
}

/* ---- one pass -------------------------------------------------------------- */

/* Record an event behind all work on the stream so far.  False: the device
 * reported an error. */
static bool event_put(struct allocator *a, larder_stream stream,
                      uint64_t *event)
{
    if (larder_device_event_create(a->device, event) != LARDER_OK)
        return false;
    if (larder_device_event_record(a->device, *event, stream) == LARDER_OK)
        return true;
    (void)larder_device_event_destroy(a->device, *event);
    return false;
}

/* Wait for the event without holding the allocator's lock.  Returns whether it
 * completed. */
static bool event_passes(struct trimmer *t, uint64_t event)
{
    struct allocator *a = t->a;
    larder_result r = LARDER_ERR_NOT_READY;
    int naps = 0;

    while (naps++ < TRIM_STEPS) {
        bool is_barred;

        allocator_lock(a);
        is_barred = larder__trim_is_barred(a);
        r = is_barred ? LARDER_ERR_NOT_READY
                      : larder_device_event_query(a->device, event);
        allocator_unlock(a);
        if (r != LARDER_ERR_NOT_READY || !trimmer_nap(t, NAP_NS))
            break;
    }
    (void)larder_device_event_destroy(a->device, event);
    return r == LARDER_OK;
}

/* Release old pages of one heap after another.  Pages whose stream has not
 * passed stay until a later look. */
static void trim_pages(struct trimmer *t)
{
    struct allocator *a = t->a;
    size_t at = 0;
    bool goes_on = true;

    while (goes_on) {
        const struct heap *heap;
        uint64_t event = 0;
        bool is_put = false;

        allocator_lock(a);
        heap =
            larder__trim_is_barred(a) ? NULL : larder__trim_next_heap(a, &at);
        if (heap != NULL)
            is_put = event_put(a, heap->stream, &event);
        allocator_unlock(a);
        goes_on = heap != NULL;
        if (!is_put || !event_passes(t, event))
            continue;
        allocator_lock(a);
        history_enter(a, NULL);
        if (!larder__trim_is_barred(a))
            larder__trim_heap(a, heap);
        allocator_unlock(a);
    }
}

static void *trimmer_run(void *ctx)
{
    struct trimmer *t = ctx;
    struct allocator *a = t->a;

    while (wait_for_look(t)) {
        bool is_barred;

        allocator_lock(a);
        history_enter(a, NULL);
        is_barred = larder__trim_is_barred(a);
        if (!is_barred)
            larder__trim_look(a);
        allocator_unlock(a);
        if (!is_barred)
            trim_pages(t);
    }
    return NULL;
}

/* ---- begin and end --------------------------------------------------------- */

static int wake_init(pthread_cond_t *wake)
{
    pthread_condattr_t attr;
    int failed = pthread_condattr_init(&attr);

    if (failed)
        return failed;
    failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    if (!failed)
        failed = pthread_cond_init(wake, &attr);
    pthread_condattr_destroy(&attr);
    return failed;
}

static void trimmer_free(struct trimmer *t)
{
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    larder__host_free(t);
}

static struct trimmer *trimmer_make(struct allocator *a)
{
    struct trimmer *t = larder__host_alloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->a = a;
    t->age_ns = a->conf.trim_age_ns;
    if (pthread_mutex_init(&t->lock, NULL) != 0) {
        larder__host_free(t);
        return NULL;
    }
    if (wake_init(&t->wake) != 0) {
        pthread_mutex_destroy(&t->lock);
        larder__host_free(t);
        return NULL;
    }
    return t;
}

larder_result larder__trimmer_set(struct allocator *a)
{
    struct trimmer *t = a->trim.thread;

    if (t != NULL) {
        mutex_take(&t->lock, RANK_TRIMMER);
        t->age_ns = a->conf.trim_age_ns;
        pthread_cond_signal(&t->wake);
        mutex_leave(&t->lock);
        return LARDER_OK;
    }
    if (a->conf.trim_age_ns == 0)
        return LARDER_OK;
    t = trimmer_make(a);
    if (t == NULL)
        return larder__fail_plain(LARDER_ERR_NO_HOST_MEMORY);
    if (!larder__worker_begin(&t->thread, trimmer_run, t)) {
        trimmer_free(t);
        return larder__fail(LARDER_ERR_SYSTEM,
                            "trim_age: cannot create a thread");
    }
    a->trim.thread = t;
    return LARDER_OK;
}

void larder__trimmer_end(struct allocator *a)
{
    struct trimmer *t = a->trim.thread;

    if (t == NULL)
        return;
    a->trim.thread = NULL;
    mutex_take(&t->lock, RANK_TRIMMER);
    t->is_ending = true;
    pthread_cond_signal(&t->wake);
    mutex_leave(&t->lock);
    pthread_join(t->thread, NULL);
    trimmer_free(t);
}

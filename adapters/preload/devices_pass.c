/* devices_pass.c - waits for all devices, for as long as a gate's patience: their
 * work may wait for what the caller is about to queue, as collectives do between
 * ranks that are threads of one process. */
#include "gate.h"
#include "work.h"
#include "base/host.h"
#include "base/ticks.h"

#include <errno.h>
#include <time.h>

/* The driver's own wait has no limit, so another thread makes it. */
struct pass {
    const struct preload_calls *real;
    pthread_mutex_t lock;
    pthread_cond_t over;
    enum preload_pass answer;
    bool is_left; /* by the first of the two threads; the other one frees it */
};

/* Work of other devices may use this device's memory. */
static enum preload_pass pass_all(const struct preload_calls *real)
{
    int count = 0;

    if (PRELOAD_REAL(real, cuDeviceGetCount, &count) != CUD_SUCCESS ||
        count > PRELOAD_DEVICES)
        return PRELOAD_PASS_FAILED;
    for (int i = 0; i < count; i++) {
        struct preload_slot *slot = preload_slot_at(i);

        preload_primary_learn(real, slot);
        if (atomic_load(&slot->primary) != NULL &&
            preload_wait_for_device(real, slot) != CUD_SUCCESS)
            return PRELOAD_PASS_FAILED;
    }
    return PRELOAD_PASSED;
}

/* The lock is held. */
static void leave(struct pass *p)
{
    bool is_last = p->is_left;

    p->is_left = true;
    pthread_mutex_unlock(&p->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&p->over);
    pthread_mutex_destroy(&p->lock);
    larder__host_free(p);
}

static void *run(void *ctx)
{
    struct pass *p = ctx;
    enum preload_pass answer = pass_all(p->real);

    pthread_mutex_lock(&p->lock);
    p->answer = answer;
    pthread_cond_signal(&p->over);
    leave(p);
    return NULL;
}

static enum preload_pass wait_for(struct pass *p)
{
    struct timespec end = ticks_timespec(preload_gate_patience_ends_ns());
    enum preload_pass answer;
    int r = 0;

    pthread_mutex_lock(&p->lock);
    while (p->answer == PRELOAD_PASS_LATE && r != ETIMEDOUT)
        r = pthread_cond_clockwait(&p->over, &p->lock, CLOCK_MONOTONIC, &end);
    answer = p->answer;
    leave(p);
    return answer;
}

enum preload_pass preload_devices_pass(const struct preload_calls *real)
{
    struct pass *p = larder__host_alloc(1, sizeof *p);

    if (p == NULL)
        return PRELOAD_PASS_FAILED;
    *p = (struct pass){.real = real, .answer = PRELOAD_PASS_LATE};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->over, NULL);
    if (preload_thread_start(run, p))
        return wait_for(p);
    pthread_mutex_lock(&p->lock);
    p->is_left = true;
    leave(p);
    return PRELOAD_PASS_FAILED;
}

/* wait.c - waiting for memory that recorded streams still use. */
#include "core/request/request.h"

#include <time.h>

#include "base/ticks.h"
#include "core/segments/events.h"

enum { NS_PER_MS = 1000000, NAP_MIN_NS = 20000, NAP_MAX_NS = NS_PER_MS };

/* The time budget of a request begins with its first wait. */
static uint64_t give_up_ns(const struct allocator *a, uint64_t now_ns)
{
    uint64_t budget_ms = a->conf.reclaim_budget_ms;

    if (budget_ms > (UINT64_MAX - now_ns) / NS_PER_MS)
        return UINT64_MAX;
    return now_ns + budget_ms * NS_PER_MS;
}

static void wait_nap(uint64_t ns)
{
    const struct timespec t = {.tv_nsec = (long)ns};

    nanosleep(&t, NULL);
}

/* Polls, because a wait for one event might exceed the budget. */
static bool wait_within_budget(struct allocator *a, struct request *q)
{
    int64_t before = metric_all(&a->stats.active);
    uint64_t nap_ns = NAP_MIN_NS;

    if (q->give_up_ns == 0)
        q->give_up_ns = give_up_ns(a, larder__ticks_system_ns());
    for (;;) {
        uint64_t now_ns;

        larder__events_poll(a);
        if (metric_all(&a->stats.active) < before)
            return true;
        if (events_are_idle(&a->events))
            return false;
        now_ns = larder__ticks_system_ns();
        if (now_ns >= q->give_up_ns) {
            q->out_of_time = true;
            return false;
        }
        if (nap_ns > q->give_up_ns - now_ns)
            nap_ns = q->give_up_ns - now_ns;
        wait_nap(nap_ns);
        if (nap_ns < NAP_MAX_NS)
            nap_ns *= 2;
    }
}

bool larder__request_wait_one(struct allocator *a, struct request *q)
{
    if (a->conf.reclaim_budget_ms == CONF_UNLIMITED)
        return larder__events_wait_one(a);
    return wait_within_budget(a, q);
}

/* Bytes that are freed but still used by recorded streams. */
static uint64_t pending_bytes(const struct allocator *a)
{
    return (uint64_t)(metric_all(&a->stats.active_bytes) -
                      metric_all(&a->stats.allocated_bytes));
}

void larder__request_limit_pending(struct allocator *a, struct request *q)
{
    if (allocator_is_capturing(a))
        return;
    while (pending_bytes(a) > a->conf.pending_limit_bytes &&
           larder__request_wait_one(a, q))
        ;
}

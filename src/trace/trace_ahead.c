/* trace_ahead.c - a ring of a few buffers between two threads. */
#include "trace/trace_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Small enough to stay in the CPU's cache together. */
enum { SLOTS = 4, SLOT_BYTES = 256 << 10 };

struct slot {
    unsigned char bytes[SLOT_BYTES];
    size_t count;
    size_t used; /* used only by the reader */
    bool failed; /* no bytes: the source failed */
    bool full;   /* guarded by the lock */
};

struct trace_ahead {
    struct trace_source *source;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stopping; /* guarded by the lock */
    size_t at;     /* index of the slot being read; reader only */
    struct tool_error error;
    struct slot slots[SLOTS];
};

/* Wait until the slot is full, or empty.  False: reading has stopped. */
static bool wait_for(struct trace_ahead *a, const struct slot *s, bool full)
{
    bool going;

    pthread_mutex_lock(&a->lock);
    while (s->full != full && !a->stopping)
        pthread_cond_wait(&a->changed, &a->lock);
    going = !a->stopping;
    pthread_mutex_unlock(&a->lock);
    return going;
}

static void set_full(struct trace_ahead *a, struct slot *s, bool full,
                     bool wake)
{
    pthread_mutex_lock(&a->lock);
    s->full = full;
    if (wake)
        pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* The last slot is empty: it marks the end, or an error. */
static void *fetch(void *context)
{
    struct trace_ahead *a = context;
    size_t at = 0;

    for (;;) {
        struct slot *s = &a->slots[at];
        bool over;

        if (!wait_for(a, s, false))
            return NULL;
        s->used = 0;
        s->failed = !trace_source_read(a->source, s->bytes, SLOT_BYTES,
                                       &s->count, &a->error);
        over = s->failed || s->count == 0;
        set_full(a, s, true, true);
        if (over)
            return NULL;
        at = (at + 1) % SLOTS;
    }
}

struct trace_ahead *trace_ahead_start(struct trace_source *source)
{
    struct trace_ahead *a = malloc(sizeof(*a));
    size_t i;

    if (a == NULL)
        return NULL;
    a->source = source;
    a->stopping = false;
    a->at = 0;
    for (i = 0; i < SLOTS; i++)
        a->slots[i].full = false;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    if (pthread_create(&a->thread, NULL, fetch, a) == 0)
        return a;
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return NULL;
}

bool trace_ahead_read(struct trace_ahead *a, void *buffer, size_t capacity,
                      size_t *count, struct tool_error *error)
{
    struct slot *s = &a->slots[a->at];
    size_t n;

    wait_for(a, s, true);
    if (s->failed) {
        *error = a->error;
        return false;
    }
    n = s->count - s->used < capacity ? s->count - s->used : capacity;
    memcpy(buffer, s->bytes + s->used, n);
    s->used += n;
    *count = n;
    /* The slot that marks the end is not consumed, so that the end is found
     * again. */
    if (n > 0 && s->used == s->count) {
        /* Waking the other thread costs as much as reading a few pages, so it
         * is done for every second slot only.  The other thread waits only when
         * all slots are full, and then one of the next two wakes it. */
        set_full(a, s, false, a->at % 2 == 1);
        a->at = (a->at + 1) % SLOTS;
    }
    return true;
}

void trace_ahead_stop(struct trace_ahead *a)
{
    if (a == NULL)
        return;
    pthread_mutex_lock(&a->lock);
    a->stopping = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

/* gate.c - holds back the threads that queue work while memory in use moves. */
#include "gate.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/host.h"
#include "base/ticks.h"

enum { CACHE_LINE = 64, SPINS = 200, NAP_NS = 20000, NS_PER_MS = 1000000 };

struct seat {
    _Alignas(CACHE_LINE) atomic_uint inside; /* calls that its thread is in */
    atomic_bool is_used;
    struct seat *next; /* in the list of all */
};

static _Atomic(struct seat *) seats;

enum state { OPEN, CLOSED, SEALED };
static _Atomic enum state state;
static atomic_uint closings;
static _Atomic unsigned patience_ms = 30000;

/* For threads without a seat, for lack of host memory. */
static struct seat shared;

static pthread_mutex_t closing = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the state */
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;

static _Thread_local struct {
    struct seat *seat;
    bool is_closer;
} own;

/* ---- seats -------------------------------------------------------------- */

static pthread_key_t leaving;
static bool has_key;

/* A thread may have ended in a call. */
static void seat_give(void *seat)
{
    struct seat *s = seat;

    own.seat = NULL;
    atomic_store(&s->inside, 0);
    atomic_store(&s->is_used, false);
}

static void key_make(void)
{
    has_key = pthread_key_create(&leaving, seat_give) == 0;
}

static struct seat *seat_reuse(void)
{
    for (struct seat *s = atomic_load(&seats); s != NULL; s = s->next) {
        if (!atomic_load(&s->is_used) && !atomic_exchange(&s->is_used, true))
            return s;
    }
    return NULL;
}

static struct seat *seat_make(void)
{
    struct seat *s = larder__host_alloc_aligned(CACHE_LINE, sizeof *s);

    if (s == NULL)
        return NULL;
    atomic_init(&s->inside, 0);
    atomic_init(&s->is_used, true);
    s->next = atomic_load(&seats);
    while (!atomic_compare_exchange_weak(&seats, &s->next, s)) {
    }
    return s;
}

static struct seat *seat_take(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, key_make);
    own.seat = seat_reuse();
    if (own.seat == NULL)
        own.seat = seat_make();
    if (own.seat == NULL)
        own.seat = &shared;
    else if (has_key)
        (void)pthread_setspecific(leaving, own.seat);
    return own.seat;
}

/* ---- entering ----------------------------------------------------------- */

uint64_t preload_gate_patience_ends_ns(void)
{
    uint64_t ms = atomic_load(&patience_ms);

    return larder__ticks_system_ns() + ms * NS_PER_MS;
}

static struct timespec patience_ends(void)
{
    return ticks_timespec(preload_gate_patience_ends_ns());
}

/* The devices, or a call, may be waiting for what this thread is about to queue. */
static void break_open(void)
{
    enum state closed = CLOSED;

    if (atomic_compare_exchange_strong(&state, &closed, OPEN))
        pthread_cond_broadcast(&opened);
}

static void wait_until_open(void)
{
    struct timespec end = patience_ends();
    unsigned closing_seen = atomic_load(&closings);
    int r = 0;

    pthread_mutex_lock(&lock);
    while (atomic_load(&state) != OPEN) {
        if (atomic_load(&closings) != closing_seen) {
            closing_seen = atomic_load(&closings);
            end = patience_ends();
        }
        if (atomic_load(&state) == SEALED)
            r = pthread_cond_wait(&opened, &lock);
        else
            r = pthread_cond_clockwait(&opened, &lock, CLOCK_MONOTONIC, &end);
        if (r == ETIMEDOUT)
            break_open();
    }
    pthread_mutex_unlock(&lock);
}

/* The word is written before the gate is read, and the closing thread writes
 * the gate before it reads the word, so one of the two sees the other. */
void preload_gate_enter(void)
{
    struct seat *s = own.seat != NULL ? own.seat : seat_take();

    if (own.is_closer)
        return;
    while (atomic_fetch_add(&s->inside, 1) == 0 || s == &shared) {
        if (atomic_load(&state) == OPEN)
            return;
        atomic_fetch_sub(&s->inside, 1);
        wait_until_open();
    }
}

void preload_gate_leave(void)
{
    if (!own.is_closer)
        atomic_fetch_sub_explicit(&own.seat->inside, 1, memory_order_release);
}

/* ---- closing ------------------------------------------------------------ */

/* A driver call may block while its queue is full, or until work has completed. */
static void seat_pass(struct seat *s, uint64_t end_ns)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};

    for (int i = 0; atomic_load(&s->inside) != 0 && atomic_load(&state) != OPEN;
         i++) {
        if (i <= SPINS)
            continue;
        if (larder__ticks_system_ns() >= end_ns)
            break_open();
        (void)nanosleep(&nap, NULL);
    }
}

bool preload_gate_close(void)
{
    uint64_t end_ns;

    pthread_mutex_lock(&closing);
    end_ns = preload_gate_patience_ends_ns();
    atomic_fetch_add(&closings, 1);
    atomic_store(&state, CLOSED);
    own.is_closer = true;
    for (struct seat *s = atomic_load(&seats); s != NULL; s = s->next)
        seat_pass(s, end_ns);
    seat_pass(&shared, end_ns);
    return atomic_load(&state) == CLOSED;
}

bool preload_gate_seal(void)
{
    enum state closed = CLOSED;

    return atomic_compare_exchange_strong(&state, &closed, SEALED);
}

void preload_gate_set_patience(unsigned ms)
{
    atomic_store(&patience_ms, ms);
}

void preload_gate_open(void)
{
    pthread_mutex_lock(&lock);
    own.is_closer = false;
    atomic_store(&state, OPEN);
    pthread_cond_broadcast(&opened);
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&closing);
}

#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "terminal.h"

#define SHOW_AFTER_NS UINT64_C(300000000)
#define DRAW_EVERY_NS UINT64_C(100000000)

enum { BAR_WIDTH = 30 };

static uint64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void progress_begin(struct progress *p, bool on, size_t inputs)
{
    memset(p, 0, sizeof *p);
    p->on = on && terminal_is_smart(stderr);
    p->inputs = inputs;
    p->begun_ns = clock_ns();
    pthread_mutex_init(&p->lock, NULL);
}

/* Inputs not begun are taken to be like those that were. */
static unsigned progress_percent(struct progress *p)
{
    double to_do = (double)atomic_load(&p->to_do);
    double begun = (double)atomic_load(&p->inputs_begun);
    double part;

    if (to_do == 0 || p->inputs == 0)
        return 0;
    part = (double)atomic_load(&p->done) / to_do * begun / (double)p->inputs;
    return part >= 1 ? 100 : (unsigned)(part * 100);
}

static void progress_draw(struct progress *p, uint64_t now)
{
    static const char full[] = "==============================";
    unsigned percent = progress_percent(p);
    int filled;

    if (percent > p->percent)
        p->percent = percent;
    filled = (int)p->percent * BAR_WIDTH / 100;
    fprintf(stderr, "\rreplaying [%.*s%*s] %3u%%", filled, full,
            BAR_WIDTH - filled, "", p->percent);
    if (p->inputs > 1)
        fprintf(stderr, "  %" PRIu64 " of %zu inputs",
                atomic_load(&p->inputs_done), p->inputs);
    fflush(stderr);
    p->drawn_ns = now;
}

static void progress_tick(struct progress *p)
{
    uint64_t now = clock_ns();

    if (now - p->begun_ns < SHOW_AFTER_NS)
        return;
    /* Whoever finds another one drawing leaves it to draw. */
    if (pthread_mutex_trylock(&p->lock) != 0)
        return;
    if (now - p->drawn_ns >= DRAW_EVERY_NS)
        progress_draw(p, now);
    pthread_mutex_unlock(&p->lock);
}

void progress_more(void *ctx, uint64_t more_to_do, uint64_t more_done)
{
    struct progress *p = ctx;

    if (!p->on)
        return;
    if (more_to_do != 0)
        atomic_fetch_add(&p->inputs_begun, 1);
    atomic_fetch_add(&p->to_do, more_to_do);
    atomic_fetch_add(&p->done, more_done);
    progress_tick(p);
}

void progress_input_done(void *ctx, size_t index)
{
    struct progress *p = ctx;

    (void)index;
    atomic_fetch_add(&p->inputs_done, 1);
}

void progress_end(struct progress *p)
{
    if (p->drawn_ns != 0)
        fputs("\r\033[K", stderr);
    pthread_mutex_destroy(&p->lock);
}

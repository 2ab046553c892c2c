/* progress.c - a progress bar on the standard error during a long run. */
#include "progress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "terminal.h"

enum { SHOW_AFTER_MS = 300, DRAW_EVERY_MS = 100 };

#define WIPE "\r\033[K"

enum { BAR_MAX = 30, TAIL_MAX = 64 };

/* The shell's prompt must not follow half a bar. */
static void wipe_and_die(int signal_number)
{
    ssize_t n = write(STDERR_FILENO, WIPE, sizeof WIPE - 1);

    (void)n;
    raise(signal_number);
}

/* A caller that ignores the signal, such as nohup, keeps that. */
static void catch_interrupt(struct progress *p)
{
    struct sigaction action = {.sa_handler = wipe_and_die,
                               .sa_flags = (int)SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    p->catches = sigaction(SIGINT, NULL, &p->old_action) == 0 &&
                 p->old_action.sa_handler == SIG_DFL &&
                 sigaction(SIGINT, &action, NULL) == 0;
}

void progress_begin(struct progress *p, bool on, size_t inputs)
{
    memset(p, 0, sizeof *p);
    p->on = on && terminal_is_smart(stderr);
    p->inputs = inputs;
    p->begun_ms = clock_ms();
    pthread_mutex_init(&p->lock, NULL);
    if (p->on)
        catch_interrupt(p);
}

/* Inputs not yet begun are assumed to be like the others. */
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

/* A line that wraps could not be erased: if the terminal is narrow the bar is
 * left out first, then everything except the percentage. */
static void progress_draw(struct progress *p, uint64_t now)
{
    static const char full[] = "==============================";
    char tail[TAIL_MAX] = "";
    unsigned percent = progress_percent(p);
    int width;
    int filled;

    if (percent > p->percent)
        p->percent = percent;
    if (p->inputs > 1)
        snprintf(tail, sizeof tail, "  %" PRIu64 " of %zu inputs",
                 atomic_load(&p->inputs_done), p->inputs);
    width = terminal_width(stderr) - 1 -
            (int)(strlen("replaying [] 100%") + strlen(tail));
    if (width > BAR_MAX)
        width = BAR_MAX;
    filled = (int)p->percent * width / 100;
    if (width > 0)
        fprintf(stderr, "\rreplaying [%.*s%*s] %3u%%%s", filled, full,
                width - filled, "", p->percent, tail);
    else
        fprintf(stderr, "\r%3u%%", p->percent);
    fflush(stderr);
    p->drawn_ms = now;
}

static void progress_tick(struct progress *p)
{
    uint64_t now = clock_ms();

    if (now - p->begun_ms < SHOW_AFTER_MS)
        return;
    /* If another thread is drawing, leave it to that. */
    if (pthread_mutex_trylock(&p->lock) != 0)
        return;
    if (now - p->drawn_ms >= DRAW_EVERY_MS)
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
    if (p->drawn_ms != 0)
        fputs(WIPE, stderr);
    if (p->catches)
        sigaction(SIGINT, &p->old_action, NULL);
    pthread_mutex_destroy(&p->lock);
}

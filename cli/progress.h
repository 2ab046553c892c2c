/* progress.h - a progress bar on the standard error during a long run.
 *
 * It is drawn by the calls that report progress, not by a thread: a second
 * thread would slow down the locks that are being measured. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool on;
    bool catches; /* handles the interrupt signal, to erase the bar */
    struct sigaction old_action;
    size_t inputs;
    _Atomic uint64_t to_do;
    _Atomic uint64_t done;
    _Atomic uint64_t inputs_begun;
    _Atomic uint64_t inputs_done;
    uint64_t begun_ms;
    pthread_mutex_t lock; /* guards the following */
    uint64_t drawn_ms;    /* 0: nothing was drawn */
    unsigned percent;     /* never decreases */
};

/* Shows nothing unless `on` and the standard error is a terminal. */
void progress_begin(struct progress *p, bool on, size_t inputs);

/* For replay_options: ctx is the progress. */
void progress_more(void *ctx, uint64_t more_to_do, uint64_t more_done);

/* For replay_run_jobs(): an input is done. */
void progress_input_done(void *ctx, size_t index);

/* Erase the bar. */
void progress_end(struct progress *p);

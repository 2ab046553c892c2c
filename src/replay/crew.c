/* crew.c - threads that do numbered jobs, each taking the next. */
#include "replay/crew.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct crew {
    crew_job *job;
    void *ctx;
    size_t count;
    struct tool_error *error;
    _Atomic size_t next;
    atomic_flag has_error;
    _Atomic bool failed;
};

static void *work_on(void *arg)
{
    struct crew *c = arg;
    struct tool_error error;
    size_t number;

    while (!atomic_load(&c->failed) &&
           (number = atomic_fetch_add(&c->next, 1)) < c->count) {
        if (c->job(c->ctx, number, &error))
            continue;
        if (!atomic_flag_test_and_set(&c->has_error))
            *c->error = error;
        atomic_store(&c->failed, true);
    }
    return NULL;
}

bool crew_run(crew_job *job, void *ctx, size_t count, unsigned threads,
              struct tool_error *error)
{
    struct crew c = {.job = job,
                     .ctx = ctx,
                     .count = count,
                     .error = error,
                     .has_error = ATOMIC_FLAG_INIT};
    size_t helpers = threads < count ? threads : count;
    pthread_t *ids = calloc(helpers + 1, sizeof *ids);
    size_t started = 0;

    while (ids != NULL && started + 1 < helpers &&
           pthread_create(&ids[started], NULL, work_on, &c) == 0)
        started++;
    work_on(&c);
    while (started > 0)
        pthread_join(ids[--started], NULL);
    free(ids);
    return !c.failed;
}

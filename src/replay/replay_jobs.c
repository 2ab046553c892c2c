/* replay_jobs.c - several inputs at once: each thread takes the next job. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay.h"

struct crew {
    struct replay_job *jobs;
    size_t count;
    const struct replay_options *options;
    replay_job_fn *done;
    void *done_ctx;
    _Atomic size_t next;
};

/* The snapshot reader's message already names the file. */
static void run_snapshot(struct crew *crew, struct replay_job *job,
                         const struct replay_input *in)
{
    job->ok = replay_run_snapshot(in, crew->options, &job->result, &job->error);
}

static void run_job(struct crew *crew, struct replay_job *job)
{
    struct tool_error *error = &job->error;
    struct replay_input in;
    struct trace t;

    job->ok = replay_input_open(job->path, &in, error);
    if (!job->ok)
        return;
    if (in.is_snapshot) {
        run_snapshot(crew, job, &in);
        return;
    }
    job->ok = trace_read_source(in.source, job->path, &t, error);
    if (!job->ok)
        return;
    job->ok = replay_run(&t, crew->options, &job->result, error);
    trace_free(&t);
    if (!job->ok) {
        struct tool_error why = *error;

        tool_set_error(error, "%s: %s", job->path, why.text);
    }
}

static void *work_on(void *arg)
{
    struct crew *crew = arg;
    size_t i;

    while ((i = atomic_fetch_add(&crew->next, 1)) < crew->count) {
        run_job(crew, &crew->jobs[i]);
        if (crew->done != NULL)
            crew->done(crew->done_ctx, i);
    }
    return NULL;
}

void replay_run_jobs(struct replay_job *jobs, size_t count, unsigned threads,
                     const struct replay_options *options, replay_job_fn *done,
                     void *done_ctx)
{
    struct crew crew = {.jobs = jobs,
                        .count = count,
                        .options = options,
                        .done = done,
                        .done_ctx = done_ctx};
    unsigned helpers = threads > 0 ? threads - 1 : 0;
    pthread_t *ids;
    unsigned started = 0;

    if (helpers >= count)
        helpers = count > 0 ? (unsigned)count - 1 : 0;
    ids = calloc(helpers + 1, sizeof *ids);
    while (ids != NULL && started < helpers &&
           pthread_create(&ids[started], NULL, work_on, &crew) == 0)
        started++;
    work_on(&crew);
    while (started > 0)
        pthread_join(ids[--started], NULL);
    free(ids);
}

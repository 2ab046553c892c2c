/* replay_jobs.c - several inputs at once. */
#include "replay/crew.h"
#include "replay/replay.h"

struct jobs {
    struct replay_job *items;
    const struct replay_options *options;
    replay_job_fn *done;
    void *done_ctx;
};

static bool run_trace(struct replay_job *job, struct trace_source *source,
                      const struct replay_options *options)
{
    struct tool_error why;
    struct trace t;
    bool ok;

    if (!trace_read_source(source, job->path, &t, &job->error))
        return false;
    ok = replay_run(&t, options, &job->result, &why);
    trace_free(&t);
    return ok || tool_fail(&job->error, "%s: %s", job->path, why.text);
}

/* A job that failed says so itself. */
static bool run_job(void *ctx, size_t number, struct tool_error *error)
{
    struct jobs *jobs = ctx;
    struct replay_job *job = &jobs->items[number];
    struct replay_input in;

    (void)error;
    job->ok = replay_input_open(job->path, &in, &job->error) &&
              (in.is_snapshot ? replay_run_snapshot(&in, jobs->options,
                                                    &job->result, &job->error)
                              : run_trace(job, in.source, jobs->options));
    if (jobs->done != NULL)
        jobs->done(jobs->done_ctx, number);
    return true;
}

void replay_run_jobs(struct replay_job *jobs, size_t count, unsigned threads,
                     const struct replay_options *options, replay_job_fn *done,
                     void *done_ctx)
{
    struct jobs all = {jobs, options, done, done_ctx};
    struct tool_error none;

    (void)crew_run(run_job, &all, count, threads, &none);
}

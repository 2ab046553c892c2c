/* replay_timed.c - the passes over a warm cache, as fast as possible. */
#include <stdlib.h>
#include <time.h>

#include "replay/replay_session.h"

struct timed {
    struct arena arena;
    struct replay_session *session;
    uint32_t *kept; /* IDs that the trace does not free */
    size_t kept_count;
    unsigned char *streams; /* by number: whether the trace uses it */
};

/* CPU time of this thread, so that other programs do not affect it; in a
 * browser, which does not provide it, the elapsed time. */
static uint64_t now_ns(void)
{
    struct timespec t;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) != 0)
        clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Run operations [begin, end).  Returns the index of the first that failed for
 * a reason other than lack of device memory; `end`: none. */
static size_t run_ops(struct replay_session *s, size_t begin, size_t end)
{
    const struct trace_op *ops = s->trace->ops;

    for (size_t i = begin; i < end; i++) {
        larder_result r = replay_step(s, &ops[i]);

        if (r != LARDER_OK &&
            !(r == LARDER_ERR_OUT_OF_MEMORY && ops[i].kind == TRACE_ALLOC))
            return i;
    }
    return end;
}

static void run_pass(struct timed *t)
{
    struct replay_session *s = t->session;
    size_t count = s->trace->op_count;

    for (size_t begin = 0; begin < count; begin += REPLAY_CHUNK_OPS) {
        size_t end =
            count - begin < REPLAY_CHUNK_OPS ? count : begin + REPLAY_CHUNK_OPS;
        size_t stopped = run_ops(s, begin, end);

        arena_check(&t->arena, stopped == end ||
                                   replay_op_fail(s, stopped, t->arena.error));
        replay_work_done(s->work, end - begin);
    }
}

/* Find the IDs that stay live and the streams in use. */
static void scan_trace(struct timed *t)
{
    const struct trace *trace = t->session->trace;
    unsigned char *freed = arena_take(&t->arena, trace->id_count + 1, 1);

    t->kept = arena_take(&t->arena, trace->id_count, sizeof *t->kept);
    t->streams = arena_take(&t->arena, TRACE_STREAMS, 1);
    for (size_t i = 0; i < trace->op_count; i++) {
        const struct trace_op *op = &trace->ops[i];

        if (op->kind == TRACE_FREE)
            freed[op->id] = 1;
        t->streams[op->stream] = 1;
    }
    for (size_t id = 0; id < trace->id_count; id++) {
        if (!freed[id])
            t->kept[t->kept_count++] = (uint32_t)id;
    }
}

static larder_result free_kept(struct timed *t)
{
    struct replay_session *s = t->session;

    for (size_t i = 0; i < t->kept_count; i++) {
        larder_result r = larder_free(s->allocator, s->addrs[t->kept[i]]);

        if (r != LARDER_OK)
            return r;
    }
    return LARDER_OK;
}

/* Restore the state at the beginning of a pass: nothing is live, and all work
 * is complete. */
static void rewind_pass(struct timed *t)
{
    struct replay_session *s = t->session;
    larder_result r = free_kept(t);

    for (unsigned i = 0; i < TRACE_STREAMS && s->trace->orders_work; i++) {
        if (r == LARDER_OK && t->streams[i])
            r = larder_sim_complete(s->device, i);
    }
    arena_check(&t->arena, r == LARDER_OK || tool_fail(t->arena.error,
                                                       "between two passes: %s",
                                                       larder_last_error()));
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static double median(uint64_t *times, size_t count)
{
    qsort(times, count, sizeof *times, compare_times);
    return ((double)times[(count - 1) / 2] + (double)times[count / 2]) / 2;
}

static void read_now(struct timed *t, struct replay_reading *out)
{
    arena_check(&t->arena, replay_read(t->session, out, t->arena.error));
}

/* `before`: at the beginning of the last pass. */
static void run_passes(struct timed *t, uint64_t *times, size_t count,
                       struct replay_reading *before)
{
    rewind_pass(t);
    run_pass(t);
    for (size_t i = 0; i < count; i++) {
        uint64_t begin;

        rewind_pass(t);
        read_now(t, before);
        begin = now_ns();
        run_pass(t);
        times[i] = now_ns() - begin;
    }
}

static void measure(struct timed *t, size_t count, struct replay_result *out)
{
    struct replay_reading before;
    struct replay_reading after;
    uint64_t *times = arena_take(&t->arena, count, sizeof *times);
    uint64_t ops = t->session->trace->counted_ops;

    scan_trace(t);
    run_passes(t, times, count, &before);
    read_now(t, &after);
    out->later_driver_calls = after.driver_calls - before.driver_calls;
    out->later_driver_time_ns =
        after.counters.time_ns - before.counters.time_ns;
    if (ops != 0)
        out->ns_per_op = median(times, count) / (double)ops;
}

bool replay_pass_timed(struct replay_session *s, struct replay_result *out,
                       struct tool_error *error)
{
    struct timed t = {.arena = {.error = error}, .session = s};

    if (setjmp(t.arena.failed) != 0)
        return arena_end(&t.arena, false);
    measure(&t, s->work->options->repeat, out);
    return arena_end(&t.arena, true);
}

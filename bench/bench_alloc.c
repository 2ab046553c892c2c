/* bench_alloc.c - the cost of an allocator call, in nanoseconds.
 *
 *   bench_alloc [--csv] [--quick] [--policy NAME] [--latency]
 *
 * An operation is one call: an allocation or a free.  Each line is the median
 * of several runs of about a tenth of a second, next to a baseline measured in
 * the same process: the same loop without calls, the C library's malloc, the
 * policy pytorch if it is not the one measured (larder without --policy), or
 * the direct policy, which calls the simulated driver every time.  The driver
 * costs next to nothing here: the benchmark measures the allocator.
 *
 * With one thread, time is CPU time, so that other work on the machine does not
 * count.  With two threads it is wall time, waits included, and the figure is
 * the time per operation of one thread; this needs a quiet machine.
 *
 * The rows "beside" have in use what other threads began: a history, a tag, a
 * route to a private pool, a capture, a reserved piece.  Their baseline is the
 * same without it.  A slow call takes the locks of all streams; the rows show
 * what it costs with as many as have locks of their own.
 *
 * --latency instead times each call of the random mixes alone, by wall time
 * including the clock reads, but limited to the CPU time of 64 calls, so that
 * other work on the machine hardly counts.  It prints percentiles, and the
 * worst call with the driver calls made and the first touches of host memory in
 * its group of 64. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <larder/device.h>
#include <larder/history.h>
#include <larder/larder.h>
#include <larder/tag.h>

#include "measure.h"

enum {
    RUNS = 9,
    RUN_MS = 100,
    CHUNK = 4096,    /* operations between two clock reads */
    STEPS = 1 << 16, /* of the random mixes, then again from the first */
    LIVE_MAX = 10000,
    THREADS_MAX = 2,
    SAMPLES = 1 << 20, /* calls timed alone, */
    SETTLE = 64        /* then read the counters after so many of them */
};

#define PAIR_BYTES 4096

static int run_ms = RUN_MS;
static int runs = RUNS;
static int as_csv;
static larder_policy measured = LARDER_POLICY_LARDER;

/* ---- measuring ----------------------------------------------------------- */

/* Keeps the compiler from removing a value. */
static void keep(const void *p)
{
    __asm__ volatile("" : : "r"(p) : "memory");
}

/* One step of a random mix: free what is in `slot`, allocate `bytes`. */
struct step {
    uint32_t slot;
    uint32_t bytes;
};

/* What one thread works on. */
struct work {
    larder_allocator *a;
    larder_stream stream;
    struct step *steps; /* STEPS of them */
    uint32_t at;
    uint32_t live;
    larder_addr addrs[LIVE_MAX];
};

/* Does CHUNK operations. */
typedef void chunk_fn(struct work *w);

static double time_run(clockid_t clock, chunk_fn *chunk, struct work *w)
{
    double begin = now_ns(clock);
    double end = begin + run_ms * 1e6;
    double now = begin;
    uint64_t operations = 0;

    while (now < end) {
        chunk(w);
        operations += CHUNK;
        now = now_ns(clock);
    }
    return (now - begin) / (double)operations;
}

static double measure(chunk_fn *chunk, struct work *w)
{
    double ns[RUNS];

    time_run(CLOCK_THREAD_CPUTIME_ID, chunk, w); /* warms up */
    for (int i = 0; i < runs; i++)
        ns[i] = time_run(CLOCK_THREAD_CPUTIME_ID, chunk, w);
    return median(ns, runs);
}

/* ---- the loops ----------------------------------------------------------- */

static void chunk_pair_empty(struct work *w)
{
    for (int i = 0; i < CHUNK; i += 2) {
        keep(w);
        keep(w->addrs);
    }
}

static void chunk_pair_std(struct work *w)
{
    (void)w;
    for (int i = 0; i < CHUNK; i += 2) {
        void *p = malloc(PAIR_BYTES);

        keep(p);
        free(p);
    }
}

static void chunk_pair(struct work *w)
{
    for (int i = 0; i < CHUNK; i += 2) {
        larder_addr p;

        must(larder_alloc(w->a, PAIR_BYTES, w->stream, &p));
        must(larder_free(w->a, p));
    }
}

static void chunk_mix_empty(struct work *w)
{
    for (int i = 0; i < CHUNK; i += 2) {
        const struct step *s = &w->steps[w->at++ % STEPS];

        keep(&w->addrs[s->slot]);
        w->addrs[s->slot] = s->bytes;
    }
}

static void chunk_mix(struct work *w)
{
    for (int i = 0; i < CHUNK; i += 2) {
        const struct step *s = &w->steps[w->at++ % STEPS];
        larder_addr *slot = &w->addrs[s->slot];

        must(larder_free(w->a, *slot));
        must(larder_alloc(w->a, s->bytes, w->stream, slot));
    }
}

/* Each call takes all locks, finds the block and does nothing else. */
static void chunk_slow(struct work *w)
{
    for (int i = 0; i < CHUNK; i++)
        must(larder_record_stream(w->a, w->addrs[0], w->stream));
}

/* ---- setting up ---------------------------------------------------------- */

static uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* From 512 bytes to 8 MiB; each power of two is equally likely. */
static uint32_t mix_bytes(uint64_t *seed)
{
    unsigned log2 = 9 + (unsigned)(random_next(seed) % 14);
    uint32_t below = UINT32_C(1) << log2;

    return below + (uint32_t)(random_next(seed) % below);
}

static struct work *work_make(larder_allocator *a, larder_stream stream,
                              uint32_t live)
{
    struct work *w = calloc(1, sizeof *w);
    uint64_t seed = 88172645463325252u + stream;

    if (w == NULL || (w->steps = calloc(STEPS, sizeof *w->steps)) == NULL) {
        fprintf(stderr, "bench_alloc: out of memory\n");
        exit(1);
    }
    w->a = a;
    w->stream = stream;
    w->live = live;
    for (uint32_t i = 0; i < STEPS; i++) {
        w->steps[i].slot = live > 0 ? (uint32_t)(random_next(&seed) % live) : 0;
        w->steps[i].bytes = mix_bytes(&seed);
    }
    for (uint32_t i = 0; a != NULL && i < live; i++)
        must(larder_alloc(a, mix_bytes(&seed), stream, &w->addrs[i]));
    return w;
}

static void work_free(struct work *w)
{
    for (uint32_t i = 0; w->a != NULL && i < w->live; i++)
        must(larder_free(w->a, w->addrs[i]));
    free(w->steps);
    free(w);
}

static larder_allocator *allocator_make(larder_device *dev,
                                        larder_policy policy)
{
    larder_allocator *a;
    larder_options opt;

    larder_options_init(&opt);
    opt.policy = policy;
    opt.conf = "";
    must(larder_create(dev, &opt, &a));
    return a;
}

/* ---- reporting ----------------------------------------------------------- */

static void report(const char *name, double ns, const char *baseline,
                   double baseline_ns)
{
    if (as_csv)
        printf("%s,%.2f,%s,%.2f\n", name, ns, baseline, baseline_ns);
    else
        printf("%-36s %9.1f  %9.1f %-12s %7.2f\n", name, ns, baseline_ns,
               baseline, ns / baseline_ns);
    fflush(stdout);
}

static void report_head(void)
{
    if (as_csv)
        printf("name,ns_per_op,baseline,baseline_ns_per_op\n");
    else
        printf("%-36s %9s  %22s %7s\n", "", "ns/op", "ns/op of the baseline",
               "ratio");
}

/* ---- benchmarks ---------------------------------------------------------- */

static double pair_ns(larder_device *dev, larder_policy policy)
{
    larder_allocator *a = allocator_make(dev, policy);
    struct work *w = work_make(a, 0, 0);
    double ns = measure(chunk_pair, w);

    work_free(w);
    must(larder_destroy(a));
    return ns;
}

static void bench_pair(larder_device *dev)
{
    larder_allocator *a = allocator_make(dev, measured);
    larder_allocator *direct = allocator_make(dev, LARDER_POLICY_DIRECT);
    struct work *w = work_make(a, 0, 0);
    struct work *d = work_make(direct, 0, 0);
    double empty = measure(chunk_pair_empty, w);
    double std = measure(chunk_pair_std, w);
    double ns = measure(chunk_pair, w);

    report("pair 4KiB", ns, "empty loop", empty);
    report("pair 4KiB", ns, "std malloc", std);
    report("pair 4KiB", ns, "direct", measure(chunk_pair, d));
    if (measured != LARDER_POLICY_PYTORCH)
        report("pair 4KiB", ns, "pytorch", pair_ns(dev, LARDER_POLICY_PYTORCH));
    work_free(d);
    work_free(w);
    must(larder_destroy(direct));
    must(larder_destroy(a));
}

static double mix_ns(larder_device *dev, larder_policy policy, uint32_t live)
{
    larder_allocator *a = allocator_make(dev, policy);
    struct work *w = work_make(a, 0, live);
    double ns = measure(chunk_mix, w);

    work_free(w);
    must(larder_destroy(a));
    return ns;
}

static double mix_empty_ns(uint32_t live)
{
    struct work *w = work_make(NULL, 0, live);
    double ns = measure(chunk_mix_empty, w);

    work_free(w);
    return ns;
}

static void bench_mix(larder_device *dev, uint32_t live)
{
    char name[64];
    double ns = mix_ns(dev, measured, live);

    snprintf(name, sizeof name, "mix 512B-8MiB %" PRIu32 " live", live);
    report(name, ns, "empty loop", mix_empty_ns(live));
    report(name, ns, "direct", mix_ns(dev, LARDER_POLICY_DIRECT, live));
    if (measured != LARDER_POLICY_PYTORCH)
        report(name, ns, "pytorch", mix_ns(dev, LARDER_POLICY_PYTORCH, live));
}

/* A thread of a run, and its time per operation. */
struct runner {
    pthread_t thread;
    pthread_barrier_t *barrier;
    chunk_fn *chunk;
    struct work *w;
    clockid_t clock;
    double ns;
};

static void *runner_main(void *arg)
{
    struct runner *r = arg;

    pthread_barrier_wait(r->barrier);
    r->ns = time_run(r->clock, r->chunk, r->w);
    return NULL;
}

static double time_threads(struct runner *runners, int threads)
{
    pthread_barrier_t barrier;
    double sum = 0;

    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        runners[i].barrier = &barrier;
        if (pthread_create(&runners[i].thread, NULL, runner_main,
                           &runners[i]) != 0) {
            fprintf(stderr, "bench_alloc: cannot create a thread\n");
            exit(1);
        }
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(runners[i].thread, NULL);
        sum += runners[i].ns;
    }
    pthread_barrier_destroy(&barrier);
    return sum / threads;
}

typedef void begin_fn(larder_allocator *a);

/* `begin`: what is begun beside the threads; NULL: nothing. */
static double beside_ns(larder_device *dev, larder_policy policy,
                        chunk_fn *chunk, int threads, int one_stream,
                        begin_fn *begin)
{
    larder_allocator *a = allocator_make(dev, policy);
    struct runner runners[THREADS_MAX];
    double ns[RUNS];

    if (begin != NULL)
        begin(a);
    for (int i = 0; i < threads; i++) {
        larder_stream stream = one_stream ? 0 : (larder_stream)i;

        runners[i].chunk = chunk;
        runners[i].clock =
            threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
        runners[i].w = work_make(a, stream, chunk == chunk_mix ? 64 : 0);
    }
    time_threads(runners, threads);
    for (int i = 0; i < runs; i++)
        ns[i] = time_threads(runners, threads);
    for (int i = 0; i < threads; i++)
        work_free(runners[i].w);
    must(larder_destroy(a));
    return median(ns, runs);
}

static double threads_ns(larder_device *dev, larder_policy policy,
                         chunk_fn *chunk, int threads, int one_stream)
{
    return beside_ns(dev, policy, chunk, threads, one_stream, NULL);
}

static void bench_threads(larder_device *dev, chunk_fn *chunk, int one_stream)
{
    char name[64];
    double ns = threads_ns(dev, measured, chunk, 2, one_stream);

    snprintf(name, sizeof name, "%s 2 threads on %s",
             chunk == chunk_mix ? "mix" : "pair",
             one_stream ? "one stream" : "own streams");
    report(name, ns, "1 thread",
           threads_ns(dev, measured, chunk, 1, one_stream));
    report(name, ns, "direct",
           threads_ns(dev, LARDER_POLICY_DIRECT, chunk, 2, one_stream));
    if (measured != LARDER_POLICY_PYTORCH)
        report(name, ns, "pytorch",
               threads_ns(dev, LARDER_POLICY_PYTORCH, chunk, 2, one_stream));
}

/* ---- beside others -------------------------------------------------------- */

static void begin_history(larder_allocator *a)
{
    larder_history_options opt;

    larder_history_options_init(&opt);
    must(larder_history_start(a, &opt));
}

static void begin_tag(larder_allocator *a)
{
    must(larder_tag_begin(a, "of another thread"));
}

static int accept_none(void *ctx, larder_stream stream)
{
    (void)ctx;
    (void)stream;
    return 0;
}

static void begin_route(larder_allocator *a)
{
    must(larder_pool_begin(a, (larder_pool_id){1, 1}, accept_none, NULL));
}

static void begin_capture(larder_allocator *a)
{
    must(larder_capture_begin(a));
}

static void begin_piece(larder_allocator *a)
{
    must(larder_reserve(a, UINT64_C(2) << 20));
}

static const struct beside {
    const char *name;
    begin_fn *begin;
} besides[] = {
    {"a history", begin_history}, {"a tag", begin_tag},
    {"a route", begin_route},     {"a capture", begin_capture},
    {"a piece", begin_piece},
};

enum { BESIDES = sizeof besides / sizeof besides[0] };

static void bench_beside(larder_device *dev, int threads)
{
    double plain = threads_ns(dev, measured, chunk_mix, threads, 0);
    char name[64];

    for (int i = 0; i < BESIDES; i++) {
        snprintf(name, sizeof name, "mix %d thread%s beside %s", threads,
                 threads > 1 ? "s" : "", besides[i].name);
        report(
            name,
            beside_ns(dev, measured, chunk_mix, threads, 0, besides[i].begin),
            "nothing", plain);
    }
}

/* ---- slow calls ------------------------------------------------------------ */

enum { STREAMS_MAX = 160 };

static void *free_elsewhere(void *arg)
{
    struct work *w = arg;

    must(larder_free(w->a, w->addrs[1]));
    return NULL;
}

/* With so many streams in use, by two threads. */
static double slow_ns(larder_device *dev, larder_stream streams)
{
    larder_allocator *a = allocator_make(dev, measured);
    struct work *w = work_make(a, 0, 1);
    pthread_t thread;
    double ns;

    for (larder_stream stream = 1; stream < streams; stream++) {
        must(larder_alloc(a, PAIR_BYTES, stream, &w->addrs[1]));
        must(larder_free(a, w->addrs[1]));
    }
    must(larder_alloc(a, PAIR_BYTES, 0, &w->addrs[1]));
    if (pthread_create(&thread, NULL, free_elsewhere, w) != 0) {
        fprintf(stderr, "bench_alloc: cannot create a thread\n");
        exit(1);
    }
    pthread_join(thread, NULL);
    ns = measure(chunk_slow, w);
    work_free(w);
    must(larder_destroy(a));
    return ns;
}

static void bench_slow(larder_device *dev)
{
    double one = slow_ns(dev, 1);

    report("slow call 4 streams", slow_ns(dev, 4), "1 stream", one);
    report("slow call 32 streams", slow_ns(dev, 32), "1 stream", one);
    report("slow call 160 streams", slow_ns(dev, STREAMS_MAX), "1 stream", one);
}

/* ---- latency ------------------------------------------------------------- */

static const char *const call_names[] = {
#define X(name) #name,
    LARDER_CALL_MAP(X)
#undef X
};

/* Counters at one moment. */
struct state {
    larder_device_counters driver;
    long faults; /* of pages, this thread's */
    double processor_ns;
};

/* The calls timed so far, and the slowest. */
struct latencies {
    larder_device *dev;
    double *ns; /* SAMPLES of them */
    size_t count;
    double worst;
    struct state before; /* the worst and its neighbours */
    struct state after;
};

static larder_device_counters counters_of(larder_device *dev)
{
    larder_device_counters c = {.size = sizeof c};

    must(larder_device_get_counters(dev, &c));
    return c;
}

static struct state state_of(larder_device *dev)
{
    struct state s = {.driver = counters_of(dev)};
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    s.faults = usage.ru_minflt + usage.ru_majflt;
    s.processor_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    return s;
}

/* Limit a call's time to the CPU time used meanwhile: wall time also includes
 * the turns of other programs. */
static void settle_latencies(struct latencies *l, size_t first,
                             const struct state *before)
{
    struct state after = state_of(l->dev);
    double most = after.processor_ns - before->processor_ns;

    for (size_t i = first; i < l->count; i++) {
        if (l->ns[i] > most)
            l->ns[i] = most;
        if (l->ns[i] <= l->worst)
            continue;
        l->worst = l->ns[i];
        l->before = *before;
        l->after = after;
    }
}

static void time_step(struct work *w, struct latencies *l)
{
    const struct step *s = &w->steps[w->at++ % STEPS];
    larder_addr *slot = &w->addrs[s->slot];
    double begin = now_ns(CLOCK_MONOTONIC);
    double middle;
    double end;

    must(larder_free(w->a, *slot));
    middle = now_ns(CLOCK_MONOTONIC);
    must(larder_alloc(w->a, s->bytes, w->stream, slot));
    end = now_ns(CLOCK_MONOTONIC);
    l->ns[l->count++] = middle - begin;
    l->ns[l->count++] = end - middle;
}

/* Reading the counters is slow and disturbs the caches, so it is not done
 * around every call. */
static void time_steps(struct work *w, struct latencies *l)
{
    while (l->count < SAMPLES) {
        struct state before = state_of(l->dev);
        size_t first = l->count;

        while (l->count < first + SETTLE)
            time_step(w, l);
        settle_latencies(l, first, &before);
    }
}

static void report_cause(const struct latencies *l)
{
    const char *separator = "";

    for (int i = 0; i < LARDER_CALL_COUNT; i++) {
        uint64_t calls = l->after.driver.calls[i] - l->before.driver.calls[i];

        if (calls == 0)
            continue;
        printf("%s%s %" PRIu64, separator, call_names[i], calls);
        separator = as_csv ? " " : ", ";
    }
    printf("%s%ld page faults\n", separator,
           l->after.faults - l->before.faults);
}

static void bench_latency(larder_device *dev, uint32_t live)
{
    larder_allocator *a = allocator_make(dev, measured);
    struct work *w = work_make(a, 0, live);
    struct latencies l = {.dev = dev};

    l.ns = calloc(SAMPLES, sizeof *l.ns);
    if (l.ns == NULL) {
        fprintf(stderr, "bench_alloc: out of memory\n");
        exit(1);
    }
    for (int i = 0; i < SAMPLES / CHUNK; i++) /* warms up */
        chunk_mix(w);
    time_steps(w, &l);
    qsort(l.ns, SAMPLES, sizeof *l.ns, compare_doubles);
    printf(as_csv ? "mix 512B-8MiB %" PRIu32 " live,%.0f,%.0f,%.0f,%.0f,"
                  : "mix 512B-8MiB %5" PRIu32 " live %7.0f %7.0f %7.0f %9.0f  ",
           live, l.ns[SAMPLES / 2], l.ns[SAMPLES - SAMPLES / 100],
           l.ns[SAMPLES - SAMPLES / 1000], l.worst);
    report_cause(&l);
    free(l.ns);
    work_free(w);
    must(larder_destroy(a));
}

static void bench_latencies(larder_device *dev)
{
    if (as_csv)
        printf("name,p50_ns,p99_ns,p99_9_ns,worst_ns,cause of it\n");
    else
        printf("%-24s %7s %7s %7s %9s  %s\n", "ns a call", "p50", "p99",
               "p99.9", "worst", "driver calls and page faults of the worst");
    bench_latency(dev, 64);
    bench_latency(dev, 1000);
    bench_latency(dev, 10000);
}

int main(int argc, char **argv)
{
    larder_device *dev;
    int latency = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--csv") == 0) {
            as_csv = 1;
        } else if (strcmp(argv[i], "--quick") == 0) {
            run_ms = 10;
            runs = 3;
        } else if (strcmp(argv[i], "--latency") == 0) {
            latency = 1;
        } else if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc) {
            must(larder_policy_parse(argv[++i], &measured));
        } else {
            fprintf(stderr,
                    "usage: %s [--csv] [--quick] [--policy NAME] "
                    "[--latency]\n",
                    argv[0]);
            return 2;
        }
    }
    must(larder_device_open("sim:80GiB,backing=none", 0, &dev));
    if (latency) {
        bench_latencies(dev);
        must(larder_device_close(dev));
        return 0;
    }
    report_head();
    bench_pair(dev);
    bench_mix(dev, 64);
    bench_mix(dev, 1000);
    bench_mix(dev, 10000);
    for (int one_stream = 0; one_stream < 2; one_stream++) {
        bench_threads(dev, chunk_pair, one_stream);
        bench_threads(dev, chunk_mix, one_stream);
    }
    bench_beside(dev, 1);
    bench_beside(dev, 2);
    bench_slow(dev);
    must(larder_device_close(dev));
    return 0;
}

/* bench_debug.c - the cost of the levels of the setting debug per call.
 *
 *   bench_debug
 *
 * Each line: blocks of one size allocated and freed in turn on a simulated GPU
 * with real memory, a hundred of them live; nanoseconds of CPU time per call,
 * the median of several runs, at each level, and the ratio to debug:0.  Then
 * the same on a device that runs work when it must (events=driver), with a
 * number of streams that had work and are idle now, and while a number of
 * copies are queued on another stream, all of which each free examines. */
#include <inttypes.h>
#include <stdio.h>

#include <larder/device.h>

#include "measure.h"

enum { LEVELS = 4, RUNS = 7, LIVE = 100, RUN_MS = 60 };

static double run_once(larder_allocator *a, larder_addr live[LIVE],
                       uint64_t bytes)
{
    double begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    double end;
    long calls = 0;

    do {
        for (int i = 0; i < LIVE; i++, calls += 2) {
            must(larder_free(a, live[i]));
            must(larder_alloc(a, bytes, 0, &live[i]));
        }
        end = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    } while (end - begin < RUN_MS * 1e6);
    return (end - begin) / (double)calls;
}

static void queue_copies(larder_device *dev, larder_addr from, int count)
{
    static unsigned char to[1];

    for (int i = 0; i < count; i++)
        must(larder_device_copy(dev, (uintptr_t)to, from, 1,
                                LARDER_COPY_TO_HOST, 1));
}

/* Afterwards these streams have nothing to do. */
static void use_streams(larder_device *dev, larder_addr from, int count)
{
    static unsigned char to[1];

    for (int i = 2; i < count; i++) {
        must(larder_device_copy(dev, (uintptr_t)to, from, 1,
                                LARDER_COPY_TO_HOST, (larder_stream)i));
        must(larder_device_stream_sync(dev, (larder_stream)i));
    }
}

struct subject {
    const char *spec;
    uint64_t bytes;
    int streams; /* used before */
    int queued;  /* copies on another stream */
};

static double measure(const struct subject *s, int level)
{
    uint64_t bytes = s->bytes;
    larder_addr used;
    larder_addr live[LIVE];
    double runs[RUNS];
    larder_options opt;
    larder_allocator *a;
    larder_device *dev;
    char conf[32];

    snprintf(conf, sizeof conf, "debug:%d", level);
    larder_options_init(&opt);
    opt.conf = conf;
    must(larder_device_open(s->spec, 0, &dev));
    must(larder_create(dev, &opt, &a));
    must(larder_alloc(a, 1, 1, &used));
    use_streams(dev, used, s->streams);
    queue_copies(dev, used, s->queued);
    for (int i = 0; i < LIVE; i++)
        must(larder_alloc(a, bytes, 0, &live[i]));
    (void)run_once(a, live, bytes); /* the memory is touched */
    for (int i = 0; i < RUNS; i++)
        runs[i] = run_once(a, live, bytes);
    for (int i = 0; i < LIVE; i++)
        must(larder_free(a, live[i]));
    must(larder_free(a, used));
    must(larder_destroy(a));
    must(larder_device_close(dev));
    return median(runs, RUNS);
}

static void print_line(const struct subject *s)
{
    double first = 0;

    printf("%-10" PRIu64 "%8d%8d", s->bytes, s->streams, s->queued);
    for (int level = 0; level < LEVELS; level++) {
        double ns = measure(s, level);

        if (level == 0)
            first = ns;
        printf("  %10.0f %8.1f", ns, ns / first);
    }
    printf("\n");
}

int main(void)
{
    static const struct subject subjects[] = {
        {"sim:1GiB", 1 << 10, 0, 0},
        {"sim:1GiB", 64 << 10, 0, 0},
        {"sim:1GiB", 2 << 20, 0, 0},
        {"sim:1GiB,events=driver", 1 << 10, 0, 0},
        {"sim:1GiB,events=driver", 1 << 10, 1000, 0},
        {"sim:1GiB,events=driver", 1 << 10, 0, 1000},
    };

    printf("%-10s%8s%8s", "bytes", "streams", "queued");
    for (int level = 0; level < LEVELS; level++)
        printf("  debug:%d ns (ratio)", level);
    printf("\n");
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        print_line(&subjects[i]);
    return 0;
}

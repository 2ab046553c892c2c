/* bench_history.c - the cost of recording an event, in nanoseconds.
 *
 *   bench_history [--csv]
 *
 * A pair of an allocation and a free makes three events.  Each line is the
 * extra time of such a pair over one without history, divided by three.  The
 * modes alternate, round by round, so that changes of the machine's speed
 * affect all of them, and the median of the rounds counts.  The ring is small
 * enough to be committed, and has wrapped around, before it is measured.
 *
 * Time is CPU time: other work on the machine does not count. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <larder/history.h>

#include "measure.h"

enum { ROUNDS = 21, PAIRS = 40000, PAIR_BYTES = 4096, EVENTS_OF_PAIR = 3 };

static const struct mode {
    const char *name;
    int is_on;
    larder_stacks stacks;
    const char *annotation;
} modes[] = {
    {"off", 0, LARDER_STACKS_OFF, NULL},
    {"events", 1, LARDER_STACKS_OFF, NULL},
    {"events, annotation", 1, LARDER_STACKS_OFF, "forward"},
    {"events, frame pointers", 1, LARDER_STACKS_FRAME_POINTERS, NULL},
    {"events, unwinder", 1, LARDER_STACKS_UNWIND, NULL},
};

enum { MODES = sizeof modes / sizeof modes[0] };

static larder_allocator *mode_make(larder_device *dev, const struct mode *m)
{
    larder_history_options history;
    larder_allocator *a;
    larder_options opt;

    larder_options_init(&opt);
    opt.conf = "";
    must(larder_create(dev, &opt, &a));
    larder_history_options_init(&history);
    history.max_events = PAIRS;
    history.stacks = m->stacks;
    if (m->is_on)
        must(larder_history_start(a, &history));
    return a;
}

/* Recursion, so that a stack has some depth. */
__attribute__((noinline)) static double run(larder_allocator *a, int deeper)
{
    double begin;
    double ns;

    if (deeper > 0) {
        ns = run(a, deeper - 1);
        __asm__ volatile("" : : "r"(&ns) : "memory"); /* no tail call */
        return ns;
    }
    begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < PAIRS; i++) {
        larder_addr p;

        must(larder_alloc(a, PAIR_BYTES, 0, &p));
        must(larder_free(a, p));
    }
    return (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / PAIRS;
}

int main(int argc, char **argv)
{
    int as_csv = argc > 1 && strcmp(argv[1], "--csv") == 0;
    double pair[MODES][ROUNDS];
    double more[MODES][ROUNDS];
    larder_allocator *a[MODES];
    larder_device *dev;

    must(larder_device_open("sim:1GiB,backing=none", 0, &dev));
    for (int m = 0; m < MODES; m++)
        a[m] = mode_make(dev, &modes[m]);
    for (int round = -2; round < ROUNDS; round++) {
        for (int m = 0; m < MODES; m++) {
            double ns;

            larder_annotate(modes[m].annotation);
            ns = run(a[m], 8);
            if (round >= 0) {
                pair[m][round] = ns;
                more[m][round] = (ns - pair[0][round]) / EVENTS_OF_PAIR;
            }
        }
    }
    printf(as_csv ? "history,ns_per_pair,ns_per_event\n" : "%-26s %12s %12s\n",
           "history", "ns/pair", "ns/event");
    for (int m = 0; m < MODES; m++) {
        printf(as_csv ? "\"%s\",%.1f,%.1f\n" : "%-26s %12.1f %12.1f\n",
               modes[m].name, median(pair[m], ROUNDS), median(more[m], ROUNDS));
        must(larder_destroy(a[m]));
    }
    must(larder_device_close(dev));
    return 0;
}

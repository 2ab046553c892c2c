/* bench_pinned.c - the pinned memory needed when the requests of traces are
 * made for it, compared with powers of two.
 *
 *   bench_pinned TRACE...
 *
 * Streams and `record_stream` are left out: the host is done with a block when
 * it is freed. "powers of two" is the rule of PyTorch's host allocator: a
 * request takes the smallest cached block that is large enough, whole, or else
 * a new one of the next power of two; with `2.4` any larger block will do, with
 * `later` only one of its own power.  Figures in MiB:
 *
 *   asked   highest sum of bytes requested at a time
 *   held    highest sum held from the driver
 *   waste   held over asked
 *   pins    driver calls; ns/op: of an allocation or free, first pass */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <larder/device.h>
#include <larder/pinned.h>

#include "support/read_file.h"
#include "trace/trace.h"

#include "measure.h"

enum { CLASSES = 64 };

struct outcome {
    uint64_t held;
    uint64_t pins;
    double ns_per_op;
};

static void *must_have(void *ptr)
{
    if (ptr != NULL)
        return ptr;
    fputs("bench_pinned: no memory\n", stderr);
    exit(1);
}

/* ---- powers of two --------------------------------------------------------- */

static int class_of(uint64_t bytes)
{
    int class = 0;

    while (class < CLASSES - 1 && (UINT64_C(1) << class) < bytes)
        class ++;
    return class;
}

static struct outcome run_powers(const struct trace *t, int any_larger)
{
    uint64_t cached[CLASSES] = {0};
    unsigned char *classes = must_have(calloc(t->id_count + 1, 1));
    struct outcome out = {0};

    for (size_t i = 0; i < t->op_count; i++) {
        const struct trace_op *op = &t->ops[i];

        if (op->kind == TRACE_ALLOC && op->bytes > 0) {
            int own = class_of(op->bytes);
            int class = own;

            while (any_larger && class < CLASSES - 1 && cached[class] == 0)
                class ++;
            if (cached[class] > 0) {
                cached[class]--;
            } else {
                class = own;
                out.pins++;
                out.held += UINT64_C(1) << own;
            }
            classes[op->id] = (unsigned char)(class + 1);
        } else if (op->kind == TRACE_FREE && classes[op->id] != 0) {
            cached[classes[op->id] - 1]++;
            classes[op->id] = 0;
        }
    }
    free(classes);
    return out;
}

/* ---- ours ------------------------------------------------------------------ */

static uint64_t replay(const struct trace *t, larder_allocator *pinned,
                       void **live)
{
    uint64_t ops = 0;

    for (size_t i = 0; i < t->op_count; i++) {
        const struct trace_op *op = &t->ops[i];

        if (op->kind == TRACE_ALLOC)
            must(larder_pinned_alloc(pinned, op->bytes, &live[op->id]));
        else if (op->kind == TRACE_FREE)
            must(larder_pinned_free(pinned, live[op->id]));
        else
            continue;
        ops++;
    }
    return ops;
}

static struct outcome run_ours(const struct trace *t)
{
    void **live = must_have(calloc(t->id_count + 1, sizeof *live));
    larder_pinned_stats st;
    larder_device *dev;
    larder_allocator *pinned;
    struct outcome out;
    double begin;
    uint64_t ops;

    must(larder_device_open("sim:1GiB,backing=none", 0, &dev));
    must(larder_pinned_create(dev, NULL, &pinned));
    begin = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    ops = replay(t, pinned, live);
    out.ns_per_op = (now_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) /
                    (double)(ops > 0 ? ops : 1);
    larder_pinned_stats_init(&st);
    must(larder_pinned_stats_get(pinned, &st));
    out.held = (uint64_t)st.allocated_bytes.peak;
    out.pins = (uint64_t)st.num_host_alloc;
    must(larder_destroy(pinned));
    must(larder_device_close(dev));
    free(live);
    return out;
}

/* ---- the table ------------------------------------------------------------- */

static void print_row(const char *name, const struct trace *t)
{
    const double mib = 1024.0 * 1024.0;
    struct outcome any = run_powers(t, 1);
    struct outcome own = run_powers(t, 0);
    struct outcome ours = run_ours(t);
    uint64_t asked = 0;
    double whole;

    if (!trace_peak_requested(t, &asked))
        must_have(NULL);
    whole = (double)(asked > 0 ? asked : 1);
    printf("%-28.28s %9.0f | %9.0f %6.3f %6" PRIu64 " | %9.0f %6.3f %6" PRIu64
           " | %9.0f %6.3f %6" PRIu64 " %6.0f\n",
           name, whole / mib, (double)any.held / mib, (double)any.held / whole,
           any.pins, (double)own.held / mib, (double)own.held / whole, own.pins,
           (double)ours.held / mib, (double)ours.held / whole, ours.pins,
           ours.ns_per_op);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: bench_pinned TRACE...\n", stderr);
        return 2;
    }
    printf("%-38s | %-23s | %-23s | %s\n", "", "powers of two, 2.4",
           "powers of two, later", "larder");
    printf("%-28s %9s | %9s %6s %6s | %9s %6s %6s | %9s %6s %6s %6s\n", "trace",
           "asked", "held", "waste", "pins", "held", "waste", "pins", "held",
           "waste", "pins", "ns/op");
    for (int i = 1; i < argc; i++) {
        struct tool_error error;
        struct trace t;

        if (!trace_read(argv[i], &t, &error)) {
            fprintf(stderr, "bench_pinned: %s\n", error.text);
            return 2;
        }
        print_row(base_name(argv[i]), &t);
        trace_free(&t);
    }
    return 0;
}

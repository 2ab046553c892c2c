/* bench_driver.c - the cost of driver calls, one by one and by size, as a price
 * table for the simulated GPU.
 *
 *   bench_driver [DEVICE]    cuda:0 unless given
 *
 * Exits with 77 if there is no such device. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/device.h"

#define MIB (UINT64_C(1) << 20)

enum { TIMES = 101, NOT_HERE = 77 };

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* Times of one kind of call. */
struct samples {
    uint64_t ns[TIMES];
    size_t count;
};

static void sample(struct samples *s, uint64_t began)
{
    if (s->count < TIMES)
        s->ns[s->count++] = now_ns() - began;
}

static uint64_t median(struct samples *s)
{
    qsort(s->ns, s->count, sizeof s->ns[0], by_value);
    return s->count == 0 ? 0 : s->ns[s->count / 2];
}

static void print(const char *name, struct samples *s, uint64_t bytes)
{
    uint64_t middle = median(s);

    printf("%-20s %9" PRIu64, name, middle);
    if (s->count != 0)
        printf("  # median of %zu", s->count);
    if (bytes != 0)
        printf(", %" PRIu64 " MiB", bytes / MIB);
    if (s->count != 0)
        printf("; least %" PRIu64 ", most %" PRIu64, s->ns[0],
               s->ns[s->count - 1]);
    putchar('\n');
}

/* The cost of each MiB beyond 2, from the medians of two sizes. */
static void print_rate(const char *name, uint64_t small, uint64_t large,
                       uint64_t large_bytes)
{
    uint64_t more = large > small ? large - small : 0;

    printf("%-20s %9" PRIu64 "  # from 2 to %" PRIu64 " MiB\n", name,
           more / (large_bytes / MIB - 2), large_bytes / MIB);
}

static void comment(const char *name, struct samples *s, uint64_t bytes)
{
    fputs("# ", stdout);
    print(name, s, bytes);
}

static const uint64_t sizes[] = {2 * MIB, 20 * MIB, 64 * MIB, 256 * MIB};

enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* ---- driver allocations ----------------------------------------------------- */

static int measure_memory(larder_device *dev)
{
    uint64_t medians[SIZES] = {0};

    for (int i = 0; i < SIZES; i++) {
        struct samples alloc = {.count = 0};
        struct samples release = {.count = 0};

        for (int n = 0; n < TIMES; n++) {
            uint64_t began = now_ns();
            larder_addr addr;

            if (larder__device_mem_alloc(dev, sizes[i], &addr) != LARDER_OK)
                return 1;
            sample(&alloc, began);
            began = now_ns();
            if (larder__device_mem_free(dev, addr) != LARDER_OK)
                return 1;
            sample(&release, began);
        }
        if (i == 0) {
            print("mem_alloc", &alloc, sizes[i]);
            print("mem_free", &release, sizes[i]);
        } else {
            comment("mem_alloc", &alloc, sizes[i]);
            comment("mem_free", &release, sizes[i]);
        }
        medians[i] = median(&alloc);
    }
    print_rate("mem_alloc_per_mib", medians[0], medians[SIZES - 1],
               sizes[SIZES - 1]);
    return 0;
}

/* ---- virtual memory ---------------------------------------------------------- */

enum virtual_call { RESERVE, CREATE, MAP, ACCESS, UNMAP, RELEASE, CALLS };

static const char *const virtual_names[CALLS] = {
    "address_reserve", "page_create", "map",
    "set_access",      "unmap",       "page_release"};

/* One page created, mapped, unmapped and released. */
static int virtual_round(larder_device *dev, uint64_t bytes,
                         struct samples s[CALLS])
{
    larder_addr addr = 0;
    uint64_t page = 0;
    uint64_t began = now_ns();

    if (larder__device_address_reserve(dev, bytes, &addr) != LARDER_OK)
        return 1;
    sample(&s[RESERVE], began);
    began = now_ns();
    if (larder__device_page_create(dev, bytes, &page) != LARDER_OK)
        return 1;
    sample(&s[CREATE], began);
    began = now_ns();
    if (larder__device_map(dev, addr, bytes, page) != LARDER_OK)
        return 1;
    sample(&s[MAP], began);
    began = now_ns();
    if (larder__device_set_access(dev, addr, bytes) != LARDER_OK)
        return 1;
    sample(&s[ACCESS], began);
    began = now_ns();
    if (larder__device_unmap(dev, addr, bytes, 1) != LARDER_OK)
        return 1;
    sample(&s[UNMAP], began);
    began = now_ns();
    if (larder__device_page_release(dev, page) != LARDER_OK)
        return 1;
    sample(&s[RELEASE], began);
    return larder__device_address_free(dev, addr, bytes) != LARDER_OK;
}

static int measure_virtual(larder_device *dev)
{
    uint64_t medians[SIZES] = {0};

    if (!larder__device_has_vmm(dev)) {
        puts("# no virtual memory on this device");
        return 0;
    }
    for (int i = 0; i < SIZES; i++) {
        struct samples s[CALLS] = {0};

        for (int n = 0; n < TIMES; n++) {
            if (virtual_round(dev, sizes[i], s) != 0)
                return 1;
        }
        for (int c = 0; c < CALLS; c++) {
            if (i == 0)
                print(virtual_names[c], &s[c], sizes[i]);
            else
                comment(virtual_names[c], &s[c], sizes[i]);
        }
        medians[i] = median(&s[CREATE]);
    }
    print_rate("page_create_per_mib", medians[0], medians[SIZES - 1],
               sizes[SIZES - 1]);
    return 0;
}

/* ---- order -------------------------------------------------------------------- */

static int measure_order(larder_device *dev)
{
    struct samples wait = {.count = 0};
    struct samples record = {.count = 0};
    struct samples query = {.count = 0};
    uint64_t event;

    if (larder_device_event_create(dev, &event) != LARDER_OK)
        return 1;
    for (int n = 0; n < TIMES; n++) {
        uint64_t began = now_ns();

        if (larder_device_event_record(dev, event, 0) != LARDER_OK)
            return 1;
        sample(&record, began);
        began = now_ns();
        if (larder_device_event_sync(dev, event) != LARDER_OK)
            return 1;
        sample(&wait, began);
        began = now_ns();
        if (larder_device_event_query(dev, event) != LARDER_OK)
            return 1;
        sample(&query, began);
    }
    print("wait", &wait, 0);
    print("event_record", &record, 0);
    print("event_query", &query, 0);
    return larder_device_event_destroy(dev, event) != LARDER_OK;
}

/* ---- copies ------------------------------------------------------------------- */

struct path {
    larder_copy_kind kind;
    uint64_t to;
    uint64_t from;
};

/* The median time of a copy with its wait. */
static int measure_path(larder_device *dev, const struct path *p,
                        uint64_t bytes, uint64_t *out)
{
    struct samples copy = {.count = 0};

    for (int n = 0; n < TIMES; n++) {
        uint64_t began = now_ns();

        if (larder_device_copy(dev, p->to, p->from, bytes, p->kind, 0) !=
                LARDER_OK ||
            larder_device_stream_sync(dev, 0) != LARDER_OK)
            return 1;
        sample(&copy, began);
    }
    *out = median(&copy);
    return 0;
}

static int measure_rate(larder_device *dev, const char *name, struct path p)
{
    enum { LARGE = 2 };
    uint64_t small, large;

    if (measure_path(dev, &p, sizes[0], &small) != 0 ||
        measure_path(dev, &p, sizes[LARGE], &large) != 0)
        return 1;
    print_rate(name, small, large, sizes[LARGE]);
    return 0;
}

/* From and to host memory that is not pinned, as it is when pages move. */
static int measure_copies(larder_device *dev)
{
    struct samples queue = {.count = 0};
    larder_addr a = 0, b = 0;
    void *host = calloc(1, sizes[2]);
    int failed = host == NULL ||
                 larder__device_mem_alloc(dev, sizes[2], &a) != LARDER_OK ||
                 larder__device_mem_alloc(dev, sizes[2], &b) != LARDER_OK;

    for (int n = 0; n < TIMES && !failed; n++) {
        uint64_t began = now_ns();

        failed = larder_device_copy(dev, b, a, MIB, LARDER_COPY_ON_DEVICE, 0) !=
                 LARDER_OK;
        sample(&queue, began);
        failed = failed || larder_device_stream_sync(dev, 0) != LARDER_OK;
    }
    if (!failed)
        print("copy", &queue, MIB);
    failed = failed ||
             measure_rate(dev, "copy_per_mib",
                          (struct path){LARDER_COPY_ON_DEVICE, b, a}) != 0 ||
             measure_rate(
                 dev, "copy_host_per_mib",
                 (struct path){LARDER_COPY_TO_DEVICE, a, (uintptr_t)host}) != 0;
    if (a != 0)
        (void)larder__device_mem_free(dev, a);
    if (b != 0)
        (void)larder__device_mem_free(dev, b);
    free(host);
    return failed;
}

int main(int argc, char **argv)
{
    const char *spec = argc > 1 ? argv[1] : "cuda:0";
    larder_device_props props = {.size = sizeof props};
    larder_device *dev = NULL;
    int failed;

    if (larder_device_open(spec, 0, &dev) != LARDER_OK ||
        larder_device_get_props(dev, &props) != LARDER_OK) {
        fprintf(stderr, "%s\n", larder_last_error());
        larder_device_close(dev);
        return NOT_HERE;
    }
    printf("# %s: %s, %" PRIu64 " MiB; nanoseconds, measured by "
           "bench_driver\n",
           spec, props.name, props.total_bytes / MIB);
    failed = measure_memory(dev) != 0 || measure_virtual(dev) != 0 ||
             measure_order(dev) != 0 || measure_copies(dev) != 0;
    if (failed)
        fprintf(stderr, "%s\n", larder_last_error());
    larder_device_close(dev);
    return failed;
}

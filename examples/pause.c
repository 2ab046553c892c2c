/* pause.c - weights leave the GPU while something else needs it, and come back
 * to where they were.
 *
 *   pause [DEVICE]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <larder/device.h>
#include <larder/larder.h>
#include <larder/tag.h>

#define WEIGHTS ((uint64_t)64 << 20)

static void check(larder_result r, const char *what)
{
    if (r == LARDER_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, larder_last_error());
    exit(1);
}

static void show(larder_allocator *a, const char *when)
{
    larder_tag_usage usage = {.size = sizeof usage};

    check(larder_tag_stats(a, "weights", &usage), "stats");
    printf("%-8s %3" PRIu64 " MiB allocated, %3" PRIu64
           " MiB on the device, %3" PRIu64 " MiB kept on the host\n",
           when, usage.allocated_bytes >> 20, usage.reserved_bytes >> 20,
           usage.kept_bytes >> 20);
}

int main(int argc, char **argv)
{
    larder_device *dev;
    larder_allocator *a;
    larder_addr weights;
    unsigned char first = 0;

    check(larder_device_open(argc > 1 ? argv[1] : "sim:1GiB", 0, &dev), "open");
    check(larder_create(dev, NULL, &a), "create");
    check(larder_tag_begin(a, "weights"), "begin");
    check(larder_alloc(a, WEIGHTS, 0, &weights), "alloc");
    check(larder_tag_end(a), "end");
    check(larder_device_fill(dev, weights, 42, WEIGHTS, 0), "fill");
    show(a, "before");
    check(larder_pause(a, "weights", LARDER_PAUSE_KEEP), "pause");
    show(a, "paused");
    check(larder_resume(a, "weights"), "resume");
    show(a, "resumed");
    check(larder_device_copy(dev, (uint64_t)(uintptr_t)&first, weights, 1,
                             LARDER_COPY_TO_HOST, 0),
          "copy");
    check(larder_device_stream_sync(dev, 0), "wait");
    printf("the first byte is %d\n", first);
    check(larder_free(a, weights), "free");
    check(larder_destroy(a), "destroy");
    check(larder_device_close(dev), "close");
    return first == 42 ? 0 : 1;
}

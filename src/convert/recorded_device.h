/* recorded_device.h - a device that behaves as the driver did when a snapshot
 * was recorded: it returns the same addresses, and runs out of memory where the
 * allocator then released something first.
 *
 * Calls are compared with what was recorded.  The first difference is kept, and
 * later calls are served as well as possible. */
#pragma once

#include <larder/device.h>

#include "convert/story.h"

/* ---- address ranges (recorded_ranges.c) ---------------------------------- */

/* Where the address ranges of a recording's expandable segments began: a
 * snapshot contains only the parts that were mapped.  There is about one range
 * for each stream, pool and kind (small, large). */
struct recorded_range {
    uint64_t base; /* lowest address that was ever mapped */
    uint64_t end;  /* end of the highest one */
    uint32_t stream;
    uint32_t pool;
    bool is_small;
};

struct recorded_ranges {
    const struct lifetimes *lifetimes;
    uint64_t large_page_bytes;
    struct recorded_range *list;
    size_t count;
    size_t capacity;
};

/* `large_page_bytes`: of the large pool, as recorded. */
void recorded_ranges_make(struct arena *arena, const struct lifetimes *l,
                          uint64_t large_page_bytes,
                          struct recorded_ranges *out);

/* The range that contains an expandable span. */
const struct recorded_range *recorded_ranges_of(
    const struct recorded_ranges *r, const struct segment_span *span);

/* The beginning of the range in which `address` was mapped; the address itself
 * if it never was. */
uint64_t recorded_ranges_base(const struct recorded_ranges *r,
                              uint64_t address);

/* The minimum distance between the beginnings of two ranges; UINT64_MAX: there
 * are not two. */
uint64_t recorded_ranges_distance(const struct recorded_ranges *r);

/* ---- the device ---------------------------------------------------------- */

enum { RECORDED_TEXT_MAX = 256 };

/* Streams from here on stand for the streams that frees waited for, one for
 * each free that waited. */
#define RECORDED_WAIT ((uint64_t)1 << 62)

struct recorded_device {
    const struct lifetimes *lifetimes;
    larder_device *device;
    struct recorded_ranges ranges;

    uint32_t *sequence;  /* events of segments, and failures */
    unsigned char *used; /* by index in the sequence: already matched */
    uint64_t *unmapped;  /* for an unmapping: bytes unmapped so far */
    size_t count;
    size_t cursor; /* everything before it is matched */
    uint32_t now;  /* the current event: earlier ones may be matched */

    /* While the state before the recording is built: what to return. */
    bool is_start;
    uint64_t start_address;
    uint64_t reserve_address;

    uint64_t total_bytes;
    uint64_t invented; /* address for what was not recorded */
    uint64_t next_page;

    /* Held memory: pairs of address and end, sorted by address. */
    uint64_t *live;
    size_t live_count;
    size_t live_capacity;

    struct recorded_wait *waits; /* by stream - RECORDED_WAIT */
    uint64_t wait_count;
    struct recorded_mark *marks; /* the driver's events */
    size_t mark_count;
    size_t mark_capacity;

    uint64_t matched;                   /* calls that matched the recording */
    char difference[RECORDED_TEXT_MAX]; /* "": none */
    uint32_t difference_event;
};

/* With the events of a story, under the recorded settings, which may be
 * unusable.  The arena must outlive the device. */
void recorded_device_open(struct recorded_device *d, struct arena *arena,
                          const struct story *story, const char *conf);

/* Call it after its allocator is destroyed.  Accepts a zeroed device that was
 * not opened. */
void recorded_device_close(struct recorded_device *d);

/* All events before `now` have been repeated: recorded calls among them that
 * were not made are differences. */
void recorded_device_settle(struct recorded_device *d, uint32_t now);

/* Complete everything that waits for a stream. */
void recorded_device_complete(struct recorded_device *d, larder_stream stream);

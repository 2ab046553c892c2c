/* recorded_device.h - a device that answers as the driver did when a snapshot
 * was recorded: with the addresses it gave, and out of memory where the
 * allocator then released something first.
 *
 * What is asked for is held against what was recorded; the first thing that
 * differs is kept, and what comes after it is served as well as can be. */
#ifndef LARDER_CONVERT_RECORDED_DEVICE_H
#define LARDER_CONVERT_RECORDED_DEVICE_H

#include <larder/device.h>

#include "convert/recorded_ranges.h"
#include "convert/story.h"

enum { RECORDED_TEXT_MAX = 256 };

/* From here on, streams are those that frees waited for, one for each free
 * that waits. */
#define RECORDED_WAIT ((uint64_t)1 << 62)

struct recorded_device {
    const struct lifetimes *lifetimes;
    larder_device *device;
    struct recorded_ranges ranges;

    uint32_t *sequence;  /* events of segments, and failures */
    unsigned char *used; /* by place in the sequence: it was asked for */
    uint64_t *unmapped;  /* of an unmapping: bytes of it */
    size_t count;
    size_t cursor; /* all before it were used */
    uint32_t now;  /* the event that is told: what comes before may happen */

    /* While the state before the recording is built: what to answer. */
    bool is_start;
    uint64_t start_address;
    uint64_t reserve_address;

    uint64_t total_bytes;
    uint64_t invented; /* addresses for what was not recorded */
    uint64_t next_page;

    uint64_t *live; /* pairs of address and end, by address: held memory */
    size_t live_count;
    size_t live_capacity;

    struct recorded_wait *waits; /* by stream, beyond RECORDED_WAIT */
    size_t wait_count;
    struct recorded_mark *marks; /* the driver's events */
    size_t mark_count;
    size_t mark_capacity;

    uint64_t matched; /* things asked for as they were recorded */
    char difference[RECORDED_TEXT_MAX]; /* "": none */
    uint32_t difference_event;
};

/* `waits`: how many frees waited.  False: no host memory. */
bool recorded_device_open(struct recorded_device *d, const struct lifetimes *l,
                          size_t waits, struct tool_error *error);

/* After its allocator is gone.  Takes one that was not opened, if zeroed. */
void recorded_device_close(struct recorded_device *d);

/* What was recorded before the event `now` has been told: what of it was not
 * asked for is a difference. */
void recorded_device_settle(struct recorded_device *d, uint32_t now);

/* All that waits for a stream is done. */
void recorded_device_complete(struct recorded_device *d, larder_stream stream);

#endif

/* made_device.h - a small caching allocator that records what it does, as
 * PyTorch's does: the events and the final segments of a device, in JSON. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* What releases of PyTorch write differently. */
enum made_release {
    MADE_2_0,
    MADE_2_1,
    MADE_2_2,
    MADE_2_4,
    MADE_2_5,
    MADE_2_6,
    MADE_2_10,
    MADE_2_11,
    MADE_2_15,
    MADE_RELEASES
};

struct made_style {
    enum made_release release;
    bool expandable;
    bool category;    /* in place of user_metadata */
    bool awaiting;    /* the other name of a pending block's state */
    bool counted;     /* times are numbers that only tell an order */
    unsigned tick_us; /* between events; 0: they have no time */
};

struct made_request {
    uint64_t bytes;
    unsigned stream;  /* 0 to 2 */
    unsigned pool;    /* 0 to 2; 0: the default */
    json_t *frames;   /* borrowed */
    const char *note; /* or NULL */
};

struct made_device;

struct made_device *made_device_new(const struct made_style *style,
                                    unsigned number);
void made_device_free(struct made_device *d);

/* Returns the allocation's number. */
size_t made_alloc(struct made_device *d, const struct made_request *r);

/* `frames` (borrowed) say who frees.  Only requested: pending until
 * made_complete(). */
void made_free(struct made_device *d, size_t number, json_t *frames);
void made_request_free(struct made_device *d, size_t number, json_t *frames);
void made_complete(struct made_device *d, size_t number, json_t *frames);

/* A failure, with this much left at the driver; MADE_UNTOLD: it is not said. */
#define MADE_UNTOLD UINT64_MAX
void made_fail(struct made_device *d, const struct made_request *r,
               uint64_t driver_free);

/* Releases segments that are wholly free. */
void made_empty_cache(struct made_device *d, json_t *frames);

/* Bytes in live blocks, and the most there have been. */
uint64_t made_allocated(const struct made_device *d);
uint64_t made_peak(const struct made_device *d);
size_t made_event_count(const struct made_device *d);
/* The time of the next event. */
int64_t made_time(const struct made_device *d);

/* New references: the events from number `first` on, and the segments. */
json_t *made_trace(const struct made_device *d, size_t first);
json_t *made_segments(const struct made_device *d);

/* recorded.h - repeats a recording with the allocator and checks that it does
 * what was recorded: the same address for each request, the same segments
 * acquired and released, the same state at the end.
 *
 * The state before the recording is rebuilt first by public calls; driver
 * memory is placed at the recorded addresses (recorded_device.h). */
#pragma once

#include "convert/story.h"

enum { RECORDED_WORDS_MAX = 512 };

/* The first request that got another address. */
struct recorded_difference {
    uint32_t event; /* of the device, from 0 */
    uint64_t bytes;
    uint64_t expected;
    uint64_t got;     /* 0: out of memory */
    uint64_t segment; /* recorded: its beginning and length */
    uint64_t segment_bytes;
    char frame[RECORDED_WORDS_MAX]; /* "FILE:LINE NAME"; "" without stacks */
};

struct recorded_result {
    bool compared;
    char reason[RECORDED_WORDS_MAX];  /* why it was not done; "" if it was */
    uint64_t placements;              /* number of requests */
    uint64_t same;                    /* of these, at the recorded address */
    struct recorded_difference first; /* if same < placements */
    bool segments_same;
    uint64_t segment_events;                /* recorded */
    char segment_words[RECORDED_WORDS_MAX]; /* first difference, or "" */
    bool end_same;
    uint64_t end_blocks; /* recorded */
    char end_words[RECORDED_WORDS_MAX];
};

/* Compare under `conf` (snapshot_conf()) and PyTorch's policy.  What prevents a comparison (a
 * state that cannot be rebuilt) is reported in the result.  False: no host
 * memory. */
bool recorded_compare(const struct story *story, const char *conf,
                      struct recorded_result *out, struct tool_error *error);

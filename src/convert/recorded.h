/* recorded.h - tell a recording to the allocator again, and see whether it
 * does what was recorded: the same address for each request, the same
 * segments taken and released, the same state at the end.
 *
 * The state before the recording is rebuilt first, through the public calls;
 * driver memory stands where it stood (recorded_device.h). */
#ifndef LARDER_CONVERT_RECORDED_H
#define LARDER_CONVERT_RECORDED_H

#include "convert/story.h"

enum { RECORDED_WORDS_MAX = 512 };

/* The first request that got another address. */
struct recorded_difference {
    uint32_t event; /* from 0, of the device */
    uint64_t bytes;
    uint64_t expected;
    uint64_t got;     /* 0: out of memory */
    uint64_t segment; /* recorded: where it begins, and how long it is */
    uint64_t segment_bytes;
    char frame[RECORDED_WORDS_MAX]; /* "FILE:LINE NAME"; "" without stacks */
};

struct recorded_result {
    bool compared;
    char reason[RECORDED_WORDS_MAX];  /* why not; "" if it was */
    uint64_t placements;              /* requests that were made */
    uint64_t same;                    /* of them, at the recorded address */
    struct recorded_difference first; /* if same < placements */
    bool segments_same;
    uint64_t segment_events;                /* recorded */
    char segment_words[RECORDED_WORDS_MAX]; /* the first difference, or "" */
    bool end_same;
    uint64_t end_blocks; /* recorded */
    char end_words[RECORDED_WORDS_MAX];
};

/* The settings of a snapshot as a configuration; "" if it has none.  Keys are
 * made of what was in force, not of the text that was given.  NULL: no host
 * memory.  The caller frees it. */
char *recorded_conf(const struct snapshot_settings *settings);

/* The release of PyTorch whose rules hold for a snapshot: the newest that writes
 * such keys.  NULL: any may have written it, or Larder has. */
const char *recorded_release(const struct snapshot *s);

/* recorded_conf() under a release's rules, NULL: those of recorded_release().
 * NULL: no host memory.  The caller frees it. */
char *recorded_conf_of(const struct snapshot *s, const char *release);

/* Under `conf` and PyTorch's policy.  What stands in the way of a comparison
 * (a state that cannot be rebuilt) is told in the result.
 * False: no host memory. */
bool recorded_compare(const struct story *story, const char *conf,
                      struct recorded_result *out, struct tool_error *error);

#endif

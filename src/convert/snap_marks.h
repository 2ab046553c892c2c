/* snap_marks.h - annotations of a snapshot as marks of a trace. */
#ifndef LARDER_CONVERT_SNAP_MARKS_H
#define LARDER_CONVERT_SNAP_MARKS_H

#include "snapshot/snapshot.h"
#include "trace/trace.h"

struct snap_marks {
    const struct snapshot *snapshot;
    struct timed_mark *order; /* the device's annotations, sorted by time */
    size_t count;
    size_t next;
    uint32_t metadata; /* string: of the last allocation that had one */
};

/* False: no host memory, here and below. */
bool snap_marks_begin(struct snap_marks *m, const struct snapshot *s,
                      size_t device);
void snap_marks_end(struct snap_marks *m);

/* Append the marks before an event. */
bool snap_marks_before(struct snap_marks *m, const struct snapshot_event *e,
                       struct trace *out);

/* Append the marks after the last event. */
bool snap_marks_rest(struct snap_marks *m, struct trace *out);

/* Append a mark, with characters replaced that a label cannot contain. */
bool snap_marks_text(struct trace *out, const char *text);

#endif

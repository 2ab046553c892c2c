/* perfetto_lanes.h - selects the allocations that get a slice, and their
 * tracks: slices on a track must not overlap. */
#ifndef LARDER_CONVERT_PERFETTO_LANES_H
#define LARDER_CONVERT_PERFETTO_LANES_H

#include "snapshot/lifetimes.h"

struct perfetto_slice {
    uint32_t alloc; /* index of lifetimes.allocs */
    uint32_t lane;  /* number in the device, from 0 */
};

struct perfetto_lane {
    uint32_t stream; /* number in the snapshot */
    uint32_t order;  /* number among the stream's lanes, from 1 */
    uint32_t until;  /* state from which it is free */
};

struct perfetto_lanes {
    struct perfetto_slice *slices; /* by start */
    size_t slice_count;
    struct perfetto_lane *lanes;
    size_t lane_count;
    size_t lane_capacity;
};

/* Allocations of at least a thousandth of the peak of allocated bytes, so at
 * most a thousand live at once.  False: no host memory. */
bool perfetto_lanes_make(const struct lifetimes *l, struct perfetto_lanes *out);
void perfetto_lanes_free(struct perfetto_lanes *p);

#endif

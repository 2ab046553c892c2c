/* perfetto_lanes.c - selects the allocations that get a slice, and their
 * tracks: slices on a track must not overlap. */
#include "convert/perfetto_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "trace/array_room.h"

/* A lane of the stream that is free from `state` on, or a new one.  NULL: no
 * memory. */
static struct perfetto_lane *find_lane(struct perfetto_lanes *p,
                                       uint32_t stream, uint32_t state)
{
    struct perfetto_lane *lane;
    uint32_t order = 1;

    for (size_t i = 0; i < p->lane_count; i++) {
        if (p->lanes[i].stream != stream)
            continue;
        if (p->lanes[i].until <= state)
            return &p->lanes[i];
        order++;
    }
    if (!ARRAY_ROOM(p->lanes, p->lane_capacity, p->lane_count + 1))
        return NULL;
    lane = &p->lanes[p->lane_count++];
    *lane = (struct perfetto_lane){.stream = stream, .order = order};
    return lane;
}

bool perfetto_lanes_make(const struct lifetimes *l, struct perfetto_lanes *out)
{
    uint32_t state;
    uint64_t peak;

    memset(out, 0, sizeof *out);
    out->slices = calloc(l->alloc_count + 1, sizeof *out->slices);
    if (out->slices == NULL ||
        !lifetimes_peak(l, CURVE_ALLOCATED, &state, &peak))
        return false;
    for (size_t i = 0; i < l->alloc_count; i++) {
        const struct lifetime *a = &l->allocs[i];
        struct perfetto_lane *lane;

        if (a->rounded < peak / 1000 || a->end == LIFETIME_BEFORE)
            continue;
        lane = find_lane(out, a->stream, a->start + 1);
        if (lane == NULL)
            return false;
        lane->until = a->end + 1;
        out->slices[out->slice_count++] =
            (struct perfetto_slice){(uint32_t)i, (uint32_t)(lane - out->lanes)};
    }
    return true;
}

void perfetto_lanes_free(struct perfetto_lanes *p)
{
    free(p->slices);
    free(p->lanes);
    memset(p, 0, sizeof *p);
}

/* zones.c - writes and checks red zones (state/zone.h). */
#include "core/debug/debug.h"

#include <inttypes.h>
#include <string.h>

#include "core/segments/order.h"
#include "core/state/zone.h"

/* A block that was not split may be much longer than the request; at most this
 * much of the rest is a red zone. */
enum { ZONE_MAX = 2 * ZONE_BYTES };

enum { BEFORE, BEHIND, SIDES };

static void zones_of(const struct block *b, struct bytes_range out[SIDES])
{
    larder_addr end = zone_user(b) + b->requested;
    uint64_t rest = b->addr + b->bytes - end;

    larder__assert(b->zones != ZONES_NONE && rest >= ZONE_BYTES);
    out[BEFORE] = (struct bytes_range){b->addr, ZONE_BYTES};
    out[BEHIND] = (struct bytes_range){end, rest < ZONE_MAX ? rest : ZONE_MAX};
}

/* Tried once: a device that stores no bytes, such as a simulated one with
 * backing=none, or cannot copy them, is not used for checks again. */
static void try_reading(struct allocator *a, const struct block *b)
{
    struct bytes_range range = {b->addr, ZONE_BYTES};
    const unsigned char *read =
        larder__bytes_read(a, &range, 1, block_stream(b));

    if (a->debug->is_wary)
        return;
    a->debug->is_tried = true;
    a->debug->is_blind =
        read == NULL ||
        larder__bytes_differ(read, ZONE_BYTES, ZONE_BYTE) != ZONE_BYTES;
}

larder_result larder__zones_write(struct allocator *a, struct block *b)
{
    struct debug *d = a->debug;
    struct bytes_range zones[SIDES];
    larder_result r = LARDER_OK;

    zones_of(b, zones);
    for (int i = 0; i < SIDES && r == LARDER_OK; i++)
        r = larder__bytes_fill(a, zones[i], ZONE_BYTE, block_stream(b));
    if (r == LARDER_OK)
        r = larder__bytes_fill(a,
                               (struct bytes_range){zone_user(b), b->requested},
                               POISON_BYTE, block_stream(b));
    if (r == LARDER_ERR_UNSUPPORTED) {
        d->is_tried = d->is_blind = true;
        return LARDER_OK;
    }
    if (r != LARDER_OK)
        return r;
    if (!d->is_tried)
        try_reading(a, b);
    b->zones = ZONES_WRITTEN;
    return LARDER_OK;
}

static void note(struct allocator *a, const struct block *b, uint64_t away,
                 const char *where, unsigned char found)
{
    larder__finding_note(
        a, b, LARDER_ERR_OVERWRITTEN,
        "0x%02x was written %" PRIu64 " bytes %s the allocation at 0x%" PRIx64
        " of %" PRIu64 " bytes on stream %" PRIu64,
        found, away, where, zone_user(b), b->requested, block_stream(b));
}

void larder__zones_check(struct allocator *a, const struct block *b)
{
    struct bytes_range zones[SIDES];
    const unsigned char *read;
    uint64_t at;

    zones_of(b, zones);
    read = larder__bytes_read(a, zones, SIDES, block_stream(b));
    if (read == NULL)
        return;
    at = larder__bytes_differ(read, ZONE_BYTES, ZONE_BYTE);
    if (at < ZONE_BYTES) {
        note(a, b, ZONE_BYTES - at, "before", read[at]);
        return;
    }
    read += ZONE_BYTES;
    at = larder__bytes_differ(read, zones[BEHIND].bytes, ZONE_BYTE);
    if (at < zones[BEHIND].bytes)
        note(a, b, at, "behind the end of", read[at]);
}

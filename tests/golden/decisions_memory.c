/* decisions_memory.c - operations of random programs on memory. */
#include <larder/hint.h>
#include <larder/migrate.h>

#include "golden/decisions.h"

/* ---- slots --------------------------------------------------------------- */

larder_stream draw_stream(struct world *w)
{
    return chance(w, 2) ? 0 : draw(w, STREAMS);
}

struct slot *draw_live(struct world *w)
{
    struct slot *slot = &w->slots[draw(w, SLOTS)];

    for (int i = 0; i < SLOTS && slot->addr == 0; i++)
        slot = &w->slots[(slot - w->slots + 1) % SLOTS];
    return slot->addr != 0 ? slot : NULL;
}

void slot_gone(struct world *w, larder_addr addr)
{
    for (struct slot *s = w->slots; s < w->slots + SLOTS; s++) {
        if (s->addr != addr)
            continue;
        w->live_bytes -= s->bytes;
        s->addr = 0;
    }
}

/* After some errors the address is freed all the same. */
void slot_free(struct world *w, struct slot *slot)
{
    larder_addr addr = slot->addr;
    larder_result r;

    step_says(w, "free %llx", (unsigned long long)place_of(w, addr));
    r = larder_free(w->rig.a, addr);
    step_ends(w, r);
    if (r == LARDER_OK || r == LARDER_ERR_OVERWRITTEN ||
        r == LARDER_ERR_UNRECORDED)
        slot_gone(w, addr);
}

struct slot *draw_empty(struct world *w)
{
    struct slot *slot = &w->slots[draw(w, SLOTS)];

    for (int i = 0; i < SLOTS && slot->addr != 0; i++)
        slot = &w->slots[(slot - w->slots + 1) % SLOTS];
    if (slot->addr != 0)
        slot_free(w, slot);
    return slot;
}

/* A third each below 128 KiB, up to 2 MiB and up to 10 MiB. */
uint64_t draw_size(struct world *w)
{
    static const unsigned least[] = {6, 16, 20};
    static const unsigned most[] = {17, 21, 23};
    const uint64_t kind = draw(w, 3);
    const uint64_t base = UINT64_C(1)
                          << (least[kind] + draw(w, most[kind] - least[kind]));

    return base + draw(w, base);
}

uint64_t draw_wanted(struct world *w)
{
    return w->plan.device_bytes * (4 + draw(w, 9)) / 12;
}

static uint64_t draw_bytes(struct world *w)
{
    uint64_t bytes = w->sizes[draw(w, SIZES)];

    switch (draw(w, 8)) {
    case 0:
        return 1 + draw(w, UINT64_C(1) << (8 + draw(w, 16)));
    case 1:
        bytes = MIB(1 + draw(w, 24));
        return bytes - draw(w, 3) * 256;
    default:
        return bytes;
    }
}

/* ---- allocating and freeing ---------------------------------------------- */

static void allocate(struct world *w, larder_hint hint)
{
    struct slot *slot = draw_empty(w);
    uint64_t bytes = draw_bytes(w);
    larder_stream stream = draw_stream(w);
    larder_addr addr = 0;

    if (slot->addr != 0)
        return;
    step_says(w, "allocate %llu on %llu, hint %d", (unsigned long long)bytes,
              (unsigned long long)stream, (int)hint);
    if (!CALL(w, larder_alloc_hinted(w->rig.a, bytes, stream, hint, &addr))) {
        w->wanted_bytes = w->live_bytes - w->live_bytes / 8;
        return;
    }
    *slot = (struct slot){addr, bytes};
    w->live_bytes += bytes;
    w->wanted_bytes += bytes / 4;
    mix(w, DIGEST_placed, place_of(w, addr));
    step_says(w, "  at %llx", (unsigned long long)place_of(w, addr));
}

void op_free(struct world *w)
{
    struct slot *slot = draw_live(w);

    if (slot != NULL)
        slot_free(w, slot);
}

void op_allocate(struct world *w)
{
    if (w->live_bytes > w->wanted_bytes || chance(w, 8))
        op_free(w);
    else
        allocate(w, LARDER_HINT_NONE);
}

void op_allocate_hinted(struct world *w)
{
    if (w->live_bytes > w->wanted_bytes)
        op_free(w);
    else
        allocate(w, (larder_hint)draw(w, LARDER_HINT_SHORT + 1));
}

/* Most of it is freed, and other sizes come. */
void op_sweep(struct world *w)
{
    const uint64_t of_8 = 4 + draw(w, 5);

    for (int i = 0; i < SLOTS; i++) {
        if (w->slots[i].addr != 0 && draw(w, 8) < of_8)
            slot_free(w, &w->slots[i]);
    }
    for (int i = 0; i < SIZES; i++)
        w->sizes[i] = chance(w, 2) ? w->sizes[i] : draw_size(w);
    w->wanted_bytes = draw_wanted(w);
}

void op_complete(struct world *w)
{
    larder_stream stream = draw(w, STREAMS);

    step_says(w, "complete %llu", (unsigned long long)stream);
    CALL(w, larder_sim_complete(w->rig.dev, stream));
}

void op_record(struct world *w)
{
    struct slot *slot = draw_live(w);
    larder_stream stream = draw(w, STREAMS);

    if (slot == NULL)
        return;
    step_says(w, "record %llx on %llu",
              (unsigned long long)place_of(w, slot->addr),
              (unsigned long long)stream);
    CALL(w, larder_record_stream(w->rig.a, slot->addr, stream));
}

/* ---- asking -------------------------------------------------------------- */

void op_ask(struct world *w)
{
    struct slot *slot = draw_live(w);
    uint64_t bytes = 0;
    larder_addr base = 0;

    step_says(w, "largest cached");
    if (CALL(w, larder_largest_cached(w->rig.a, &bytes)))
        mix(w, DIGEST_statistics, bytes);
    if (slot == NULL)
        return;
    step_says(w, "base of %llx", (unsigned long long)place_of(w, slot->addr));
    if (CALL(w, larder_base_allocation(w->rig.a, slot->addr, &base, &bytes))) {
        mix(w, DIGEST_placed, place_of(w, base));
        mix(w, DIGEST_placed, bytes);
    }
}

void op_reset(struct world *w)
{
    step_says(w, "reset");
    if (chance(w, 2))
        CALL(w, larder_stats_reset_peak(w->rig.a));
    else
        CALL(w, larder_stats_reset_accumulated(w->rig.a));
}

/* A tag's name may have the longest length; of a region each of these is
 * wrong. */
static void misuse_names(struct world *w)
{
    char name[LARDER_TAG_MAX + 2] = "";
    larder_region *region = NULL;
    larder_region_options opt;

    memset(name, 'n', LARDER_TAG_MAX + (size_t)draw(w, 2));
    CALL(w, larder_tag_limit(w->rig.a, name, 0));
    memset(name, 'n', LARDER_TAG_MAX + 1);
    larder_region_options_init(&opt);
    CALL(w, larder_region_create(w->rig.a, MIB(4) + 1, &opt, &region));
    opt.name = name;
    CALL(w, larder_region_create(w->rig.a, MIB(4), &opt, &region));
}

void op_misuse(struct world *w)
{
    struct slot *slot = draw_live(w);
    const unsigned log2_bytes = chance(w, 2) ? 60 : 30 + (unsigned)draw(w, 10);
    larder_addr addr = 0;

    step_says(w, "misuse");
    CALL(w, larder_alloc(w->rig.a, UINT64_C(1) << log2_bytes, 0, &addr));
    CALL(w, larder_alloc(w->rig.a, 0, 0, &addr));
    misuse_names(w);
    if (slot == NULL)
        return;
    CALL(w, larder_free(w->rig.a, slot->addr + 256));
    addr = slot->addr;
    slot_free(w, slot);
    CALL(w, larder_record_stream(w->rig.a, addr, 1));
    CALL(w, larder_free(w->rig.a, addr));
}

/* ---- releasing ----------------------------------------------------------- */

void op_empty_cache(struct world *w)
{
    step_says(w, "empty cache");
    CALL(w, larder_empty_cache(w->rig.a));
}

void op_trim(struct world *w)
{
    uint64_t target = chance(w, 3) ? 0 : draw(w, w->plan.device_bytes);
    uint64_t released = 0;

    step_says(w, "trim to %llu", (unsigned long long)target);
    CALL(w, larder_trim(w->rig.a, target, &released));
    mix(w, DIGEST_statistics, released);
}

void op_reserve(struct world *w)
{
    uint64_t bytes = 1 + draw(w, MIB(12));

    step_says(w, "reserve %llu", (unsigned long long)bytes);
    CALL(w, larder_reserve(w->rig.a, bytes));
}

void op_migrate(struct world *w)
{
    if (w->migrating > 0 && chance(w, 2)) {
        step_says(w, "migrate end");
        w->migrating -= CALL(w, larder_migrate_end(w->rig.a));
    } else {
        step_says(w, "migrate begin");
        w->migrating += CALL(w, larder_migrate_begin(w->rig.a));
    }
}

static larder_result hold(void *ctx)
{
    struct world *w = ctx;

    step_says(w, "hold");
    return chance(w, 4) ? LARDER_ERR_BUSY : LARDER_OK;
}

static void let_go(void *ctx)
{
    step_says(ctx, "let go");
}

void op_guard(struct world *w)
{
    const bool on = !chance(w, 3);

    step_says(w, "guard %d", on);
    CALL(w, larder_migrate_guard(w->rig.a, on ? hold : NULL, on ? let_go : NULL,
                                 w));
}

/* ---- another allocator --------------------------------------------------- */

void op_company(struct world *w)
{
    struct slot *slot = &w->others[draw(w, OTHERS)];
    const uint64_t bytes = MIB(1) + draw(w, MIB(6));

    if (slot->addr != 0) {
        step_says(w, "the other frees %llx",
                  (unsigned long long)place_of(w, slot->addr));
        if (CALL(w, larder_free(w->other, slot->addr)))
            slot->addr = 0;
        if (chance(w, 2))
            CALL(w, larder_empty_cache(w->other));
        return;
    }
    step_says(w, "the other allocates");
    CALL(w, larder_alloc(w->other, bytes, draw_stream(w), &slot->addr));
}

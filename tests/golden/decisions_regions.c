/* decisions_regions.c - operations of random programs on regions. */
#include "golden/decisions.h"

#define PAGE ((uint64_t)LARDER_REGION_PAGE)

struct part {
    uint64_t offset;
    uint64_t bytes;
};

static struct part draw_part(struct world *w)
{
    uint64_t first = draw(w, REGION_PAGES);
    uint64_t most = REGION_PAGES - first;

    return (struct part){first * PAGE,
                         PAGE * (1 + draw(w, 1 + draw(w, 5)) % most)};
}

/* NULL: there is none. */
static larder_region *draw_region(struct world *w, const char *what)
{
    uint64_t number = draw(w, REGIONS);

    if (w->regions[number] != NULL)
        step_says(w, "%s region %d", what, (int)number);
    return w->regions[number];
}

void op_region_create(struct world *w)
{
    uint64_t number = draw(w, REGIONS);
    larder_region_info info = LARDER_REGION_INFO_INIT;
    larder_region_options opt;
    char longest[LARDER_REGION_NAME_MAX + 1] = "";

    if (w->regions[number] != NULL)
        return;
    memset(longest, 'x', LARDER_REGION_NAME_MAX);
    larder_region_options_init(&opt);
    opt.name = number == 0 ? "kv" : longest;
    opt.stream = draw_stream(w);
    opt.handle_bytes = PAGE * draw(w, 3);
    if (plan_has(&w->plan, FEATURE_minimums))
        opt.minimum_bytes = PAGE * draw(w, 4);
    if (plan_has(&w->plan, FEATURE_limits))
        opt.limit_bytes = PAGE * draw(w, 12);
    step_says(w, "create region %d", (int)number);
    if (!CALL(w, larder_region_create(w->rig.a, REGION_PAGES * PAGE, &opt,
                                      &w->regions[number])))
        return;
    assert_ok(larder_region_get_info(w->regions[number], &info));
    mix(w, DIGEST_placed, place_of(w, info.addr));
}

static void region_destroy(struct world *w, larder_region **region)
{
    if (CALL(w, larder_region_destroy(*region)))
        *region = NULL;
}

void op_region_destroy(struct world *w)
{
    uint64_t number = draw(w, REGIONS);

    step_says(w, "destroy region %d", (int)number);
    region_destroy(w, &w->regions[number]);
}

void op_region_commit(struct world *w)
{
    larder_region *region = draw_region(w, "commit");
    struct part part = draw_part(w);
    uint64_t bytes = 0;

    if (region == NULL)
        return;
    if (chance(w, 8) &&
        CALL(w, larder_region_at_hand(region, part.offset, part.bytes, &bytes)))
        mix(w, DIGEST_owners, bytes);
    step_says(w, "  %llu at %llu", (unsigned long long)part.bytes,
              (unsigned long long)part.offset);
    CALL(w, larder_region_commit(region, part.offset, part.bytes));
}

void op_region_decommit(struct world *w)
{
    larder_region *region = draw_region(w, "decommit");
    struct part part = draw_part(w);

    if (region == NULL)
        return;
    step_says(w, "  %llu at %llu", (unsigned long long)part.bytes,
              (unsigned long long)part.offset);
    CALL(w, larder_region_decommit(region, part.offset, part.bytes));
}

void op_region_record(struct world *w)
{
    larder_region *region = draw_region(w, "record");
    struct part part = draw_part(w);

    if (region != NULL)
        CALL(w, larder_region_record_stream(region, part.offset, part.bytes,
                                            draw(w, STREAMS)));
}

void op_region_trim(struct world *w)
{
    larder_region *region = draw_region(w, "trim");
    uint64_t released = 0;

    if (region == NULL)
        return;
    CALL(w, larder_region_trim(region, &released));
    mix(w, DIGEST_owners, released);
}

void op_region_pause(struct world *w)
{
    larder_region *region = draw_region(w, "pause");

    if (region != NULL)
        CALL(w, larder_region_pause(region, chance(w, 3) ? LARDER_PAUSE_DROP
                                                         : LARDER_PAUSE_KEEP));
}

void op_region_resume(struct world *w)
{
    larder_region *region = draw_region(w, "resume");

    if (region != NULL)
        CALL(w, larder_region_resume(region));
}

void regions_end(struct world *w)
{
    for (int i = 0; i < REGIONS; i++) {
        if (w->regions[i] == NULL)
            continue;
        (void)larder_region_resume(w->regions[i]);
        region_destroy(w, &w->regions[i]);
    }
}

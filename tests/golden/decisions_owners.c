/* decisions_owners.c - operations of random programs on pools, tags, regions,
 * exports and the history. */
#include <larder/history.h>
#include <larder/migrate.h>
#include <larder/tag.h>

#include <sys/socket.h>
#include <unistd.h>

#include "golden/decisions.h"

/* ---- pools -------------------------------------------------------------------- */

static int accepts(void *ctx, larder_stream stream)
{
    const struct pool *p = ctx;

    return stream < STREAMS && (p->streams >> stream & 1) != 0;
}

static struct pool *draw_pool(struct world *w)
{
    return &w->pools[draw(w, POOLS)];
}

static unsigned number_of(const struct world *w, const struct pool *p)
{
    return (unsigned)(p - w->pools);
}

static void begin(struct world *w, struct pool *p, unsigned streams)
{
    step_says(w, "begin pool %u for %x", number_of(w, p), streams);
    p->streams = p->is_begun ? p->streams : streams;
    if (!CALL(w, larder_pool_begin(w->rig.a, p->id,
                                   streams == 31 ? NULL : accepts, p)))
        return;
    p->is_begun = true;
    p->users++;
}

static void end(struct world *w, struct pool *p)
{
    step_says(w, "end pool %u", number_of(w, p));
    if (CALL(w, larder_pool_end(w->rig.a, p->id)))
        p->is_begun = false;
}

void op_pool_begin(struct world *w)
{
    struct pool *p = draw_pool(w);

    begin(w, p, 1 + (unsigned)draw(w, (1u << STREAMS) - 1));
}

void op_pool_end(struct world *w)
{
    end(w, draw_pool(w));
}

void op_pool_release(struct world *w)
{
    struct pool *p = draw_pool(w);

    if (p->is_begun)
        return;
    step_says(w, "release pool %u", number_of(w, p));
    p->users -= CALL(w, larder_pool_release(w->rig.a, p->id));
}

void op_pool_whole(struct world *w)
{
    struct pool *p = draw_pool(w);

    step_says(w, "whole pool %u", number_of(w, p));
    CALL(w, larder_pool_set_whole(w->rig.a, p->id, (int)draw(w, 2)));
}

void op_pool_lending(struct world *w)
{
    struct pool *p = draw_pool(w);
    int on = (int)draw(w, 2);

    step_says(w, "lending %d of pool %u", on, number_of(w, p));
    CALL(w, larder_pool_set_lending(w->rig.a, p->id, on));
}

void op_pool_lend(struct world *w)
{
    struct pool *p = draw_pool(w);
    larder_stream stream = draw_stream(w);

    step_says(w, "lend pool %u to %llu", number_of(w, p),
              (unsigned long long)stream);
    CALL(w, larder_pool_lend(w->rig.a, p->id, stream));
}

void op_pool_recall(struct world *w)
{
    struct pool *p = draw_pool(w);

    step_says(w, "recall pool %u", number_of(w, p));
    CALL(w, larder_pool_recall(w->rig.a, p->id));
}

/* ---- captures ------------------------------------------------------------------- */

static void capture_begin(struct world *w)
{
    larder_stream stream = draw_stream(w);

    step_says(w, "capture %llu", (unsigned long long)stream);
    if (!CALL(w, larder_sim_capture_begin(w->rig.dev, stream)))
        return;
    if (!CALL(w, larder_capture_begin(w->rig.a))) {
        assert_ok(larder_sim_capture_end(w->rig.dev, stream));
        return;
    }
    w->captured = (int)stream;
    if (chance(w, 2))
        begin(w, draw_pool(w), 1u << stream);
}

static void capture_end(struct world *w)
{
    step_says(w, "capture ends");
    CALL(w, larder_sim_capture_end(w->rig.dev, (larder_stream)w->captured));
    CALL(w, larder_capture_end(w->rig.a));
    w->captured = -1;
}

void op_capture(struct world *w)
{
    if (w->captured < 0)
        capture_begin(w);
    else
        capture_end(w);
}

/* ---- checkpoints ------------------------------------------------------------------ */

void op_checkpoint(struct world *w)
{
    larder_checkpoint **cp = &w->checkpoints[draw(w, CHECKPOINTS)];
    struct pool *p = draw_pool(w);
    larder_checkpoint *taken = NULL;

    step_says(w, "checkpoint pool %u", number_of(w, p));
    if (!CALL(w, larder_checkpoint_take(w->rig.a, p->id, &taken)))
        return;
    larder_checkpoint_destroy(*cp);
    *cp = taken;
}

static void restored(struct world *w, const larder_addr *created, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct slot *slot = draw_empty(w);

        mix(w, DIGEST_placed, place_of(w, created[i]));
        if (slot->addr != 0)
            continue;
        *slot = (struct slot){created[i], KIB(64)};
        w->live_bytes += slot->bytes;
    }
}

void op_restore(struct world *w)
{
    larder_checkpoint *cp = w->checkpoints[draw(w, CHECKPOINTS)];
    larder_addr freed[SLOTS], created[SLOTS];
    size_t freed_count = 0, created_count = 0;

    if (cp == NULL)
        return;
    step_says(w, "restore");
    if (!CALL(w, larder_checkpoint_restore(w->rig.a, cp, freed, SLOTS,
                                           &freed_count, created, SLOTS,
                                           &created_count)))
        return;
    assert_true(freed_count <= SLOTS && created_count <= SLOTS);
    for (size_t i = 0; i < freed_count; i++)
        slot_gone(w, freed[i]);
    restored(w, created, created_count);
}

/* ---- tags ---------------------------------------------------------------------------- */

const char *tag_name(uint64_t number)
{
    static const char *const names[TAGS] = {"weights", "cache", "rest"};

    return names[number];
}

void op_tag_begin(struct world *w)
{
    const char *name = tag_name(draw(w, TAGS));

    step_says(w, "begin tag %s", name);
    w->tags_begun += CALL(w, larder_tag_begin(w->rig.a, name));
    if (w->other != NULL && chance(w, 2))
        w->others_begun += CALL(w, larder_tag_begin(w->other, name));
}

void op_tag_end(struct world *w)
{
    step_says(w, "end tag");
    w->tags_begun -= CALL(w, larder_tag_end(w->rig.a));
    if (w->others_begun > 0 && chance(w, 2))
        w->others_begun -= CALL(w, larder_tag_end(w->other));
}

void op_tag_pause(struct world *w)
{
    const char *name = tag_name(draw(w, TAGS));
    larder_pause_mode mode =
        chance(w, 3) ? LARDER_PAUSE_DROP : LARDER_PAUSE_KEEP;

    step_says(w, "pause tag %s, %d", name, (int)mode);
    CALL(w, larder_pause(w->rig.a, name, mode));
}

void op_tag_resume(struct world *w)
{
    const char *name = tag_name(draw(w, TAGS));

    step_says(w, "resume tag %s", name);
    CALL(w, larder_resume(w->rig.a, name));
}

/* ---- regions --------------------------------------------------------------------------- */

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

/* ---- exports ------------------------------------------------------------------------------ */

void op_export_open(struct world *w)
{
    larder_export **e = &w->exports[draw(w, EXPORTS)];
    struct slot *slot = draw_live(w);

    if (*e != NULL || slot == NULL)
        return;
    step_says(w, "export %llx", (unsigned long long)place_of(w, slot->addr));
    CALL(w, larder_export_open(w->rig.a, slot->addr, e));
}

/* To ourselves: the same memory at another address. */
static void receive(struct world *w, int socket)
{
    larder_import_info info = LARDER_IMPORT_INFO_INIT;
    larder_import *m = NULL;

    if (!CALL(w, larder_import_receive(w->rig.dev, socket, &m)))
        return;
    assert_ok(larder_import_get(m, &info));
    mix(w, DIGEST_placed, place_of(w, info.addr));
    mix(w, DIGEST_placed, info.bytes);
    mix(w, DIGEST_placed, info.mapped_bytes);
    faults_end(w);
    CALL(w, larder_import_close(m));
}

void op_export_send(struct world *w)
{
    larder_export *e = w->exports[draw(w, EXPORTS)];
    int sockets[2];

    if (e == NULL || w->captured >= 0) /* which forbids to unmap */
        return;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    step_says(w, "send export");
    if (CALL(w, larder_export_send(e, sockets[0])))
        receive(w, sockets[1]);
    close(sockets[0]);
    close(sockets[1]);
}

void op_export_close(struct world *w)
{
    larder_export **e = &w->exports[draw(w, EXPORTS)];

    if (*e == NULL)
        return;
    step_says(w, "close export");
    CALL(w, larder_export_close(*e));
    *e = NULL;
}

/* ---- the history ----------------------------------------------------------------------------- */

void op_annotate(struct world *w)
{
    char text[32];

    snprintf(text, sizeof text, "layer %d", (int)draw(w, 12));
    if (w->annotated > 0 && chance(w, 2)) {
        larder_annotate_pop();
        w->annotated--;
    } else if (chance(w, 2)) {
        larder_annotate_push(text);
        w->annotated++;
    } else {
        larder_annotate(chance(w, 4) ? NULL : text);
    }
}

void op_mark(struct world *w)
{
    char text[32];

    snprintf(text, sizeof text, "step %d", w->step);
    step_says(w, "mark");
    CALL(w, larder_history_mark(w->rig.a, text));
    if (chance(w, 6)) {
        look_at_history(w);
        CALL(w, larder_history_clear(w->rig.a));
    }
}

/* ---- the end --------------------------------------------------------------------------------------- */

static void pools_end(struct world *w)
{
    for (struct pool *p = w->pools; p < w->pools + POOLS; p++) {
        if (p->is_begun)
            end(w, p);
        (void)larder_pool_recall(w->rig.a, p->id);
        while (p->users > 0 && !p->is_begun &&
               larder_pool_release(w->rig.a, p->id) == LARDER_OK)
            p->users--;
    }
    for (int i = 0; i < CHECKPOINTS; i++)
        larder_checkpoint_destroy(w->checkpoints[i]);
}

void owners_end(struct world *w)
{
    if (w->captured >= 0)
        capture_end(w);
    while (w->tags_begun > 0 || w->others_begun > 0)
        op_tag_end(w);
    while (w->migrating > 0)
        w->migrating -= CALL(w, larder_migrate_end(w->rig.a));
    for (; w->annotated > 0; w->annotated--)
        larder_annotate_pop();
    larder_annotate(NULL);
    for (int i = 0; i < EXPORTS; i++)
        CALL(w, larder_export_close(w->exports[i]));
    pools_end(w);
    for (int i = 0; i < TAGS; i++)
        CALL(w, larder_resume(w->rig.a, tag_name((uint64_t)i)));
    for (int i = 0; i < REGIONS; i++) {
        if (w->regions[i] == NULL)
            continue;
        (void)larder_region_resume(w->regions[i]);
        region_destroy(w, &w->regions[i]);
    }
}

/* test_check.c - larder_check() detects each broken rule and names it: the test
 * changes one member of a sound allocator, and restores it. */
#include "support/tag_rig.h"

#include <larder/region.h>

#include "core/entry/handle.h"
#include "core/state/audit.h"

enum { BUSY = 7 };

static struct allocator *inside(struct rig *rig)
{
    return handle_allocator(rig->a);
}

static struct block *block_of(struct rig *rig, larder_addr addr)
{
    struct block *b = map_find(&inside(rig)->map, &inside(rig)->slab, addr);

    assert_non_null(b);
    return b;
}

static struct block *block_behind(struct rig *rig, const struct block *b)
{
    return slab_get(&inside(rig)->slab, b->next);
}

/* Skips the checks between calls, which would abort. */
static void assert_broken(struct rig *rig, const char *words)
{
    larder__audit_begin(inside(rig), NULL);
    assert_refused(LARDER_ERR_CORRUPT, larder_check(rig->a), words);
}

/* While `what` is `value`, the rule named by the words is broken. */
#define BREAKS(rig, what, value, words)                                        \
    do {                                                                       \
        __typeof__(what) sound_ = (what);                                      \
                                                                               \
        (what) = (value);                                                      \
        assert_broken((rig), (words));                                         \
        (what) = sound_;                                                       \
        assert_ok(larder_check((rig)->a));                                     \
    } while (0)

/* In a segment of the small pool: live, free, live, pending, live, free. */
struct row {
    struct rig rig;
    struct block *live, *gap, *pending;
};

static struct row row_up(void)
{
    struct row row = {rig_up("sim:1GiB,backing=none,events=manual", ""), NULL,
                      NULL, NULL};
    larder_addr p[5];

    for (int i = 0; i < 5; i++)
        p[i] = rig_alloc(&row.rig, 1000);
    row.live = block_of(&row.rig, p[0]);
    row.gap = block_of(&row.rig, p[1]);
    row.pending = block_of(&row.rig, p[3]);
    assert_ok(larder_record_stream(row.rig.a, p[3], BUSY));
    rig_free(&row.rig, p[1]);
    rig_free(&row.rig, p[3]);
    assert_int_equal(row.gap->state, BLOCK_FREE);
    assert_int_equal(row.pending->state, BLOCK_PENDING);
    return row;
}

static void row_down(struct row *row)
{
    assert_ok(larder_sim_complete(row->rig.dev, BUSY));
    rig_down(&row->rig);
}

/* ---- blocks ---------------------------------------------------------------- */

static void blocks_that_do_not_tile_a_segment_break_b1(void **state)
{
    struct row row = row_up();
    struct segment *s = row.live->segment;
    struct segment other = *s;

    (void)state;
    BREAKS(&row.rig, row.gap->addr, row.gap->addr + 512, "B1");
    BREAKS(&row.rig, row.gap->addr, row.gap->addr - 512, "an overlap");
    BREAKS(&row.rig, row.gap->bytes, 0, "an odd size");
    BREAKS(&row.rig, row.gap->bytes, row.gap->bytes + 1, "an odd size");
    BREAKS(&row.rig, s->addr, s->addr - 512, "a gap");
    BREAKS(&row.rig, row.gap->prev, 0, "links to the neighbours");
    BREAKS(&row.rig, row.gap->prev, row.gap->self, "links to the neighbours");
    BREAKS(&row.rig, row.live->prev, row.gap->self, "links to the neighbours");
    BREAKS(&row.rig, row.gap->self, row.live->self, "links to the neighbours");
    BREAKS(&row.rig, row.gap->segment, &other, "a block of another segment");
    BREAKS(&row.rig, row.pending->state, BLOCK_UNUSED, "without a state");
    BREAKS(&row.rig, s->bytes, s->bytes + 512, "end too early or too late");
    BREAKS(&row.rig, s->bytes, s->bytes - 512, "end too early or too late");
    row_down(&row);
}

/* Though their sizes add up. */
static void odd_sizes_break_b1_where_they_fit_together(void **state)
{
    struct row row = row_up();
    struct block *gap = row.gap;
    struct block *behind = block_behind(&row.rig, gap);
    uint64_t bytes = gap->bytes;

    (void)state;
    gap->bytes += 1;
    behind->addr += 1;
    assert_broken(&row.rig, "an odd size");
    gap->bytes = 0;
    behind->addr = gap->addr;
    assert_broken(&row.rig, "an odd size");
    gap->bytes = bytes;
    behind->addr = gap->addr + bytes;
    row_down(&row);
}

static void free_neighbours_break_b2(void **state)
{
    struct row row = row_up();

    (void)state;
    BREAKS(&row.rig, block_behind(&row.rig, row.gap)->state, BLOCK_FREE, "B2");
    row_down(&row);
}

static void a_free_block_that_no_index_has_breaks_b3(void **state)
{
    struct row row = row_up();

    (void)state;
    BREAKS(&row.rig, row.pending->state, BLOCK_FREE, "not in the index");
    BREAKS(&row.rig, row.pending->state, BLOCK_UNMAPPED,
           "not among the unmapped");
    row_down(&row);
}

static void requested_bytes_out_of_bounds_break_b4(void **state)
{
    struct row row = row_up();

    (void)state;
    BREAKS(&row.rig, row.live->requested, 0, "B4");
    BREAKS(&row.rig, row.live->requested, row.live->bytes + 1, "B4");
    BREAKS(&row.rig, row.live->requested, row.live->bytes, "S1");
    BREAKS(&row.rig, row.pending->requested, 0, "B4");
    row_down(&row);
}

static void a_block_that_waits_for_nothing_breaks_b5(void **state)
{
    struct row row = row_up();

    (void)state;
    BREAKS(&row.rig, row.pending->events, 0, "B5");
    BREAKS(&row.rig, row.pending->events, 2, "E1");
    row_down(&row);
}

static void a_map_that_disagrees_breaks_b6(void **state)
{
    struct row row = row_up();

    (void)state;
    BREAKS(&row.rig, row.gap->state, BLOCK_LIVE, "B6");
    BREAKS(&row.rig, row.live->state, BLOCK_PENDING, "B6");
    row_down(&row);
}

/* ---- lists ----------------------------------------------------------------- */

static void a_stocked_heap_outside_the_list_breaks_b7(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_addr large = rig_alloc(&rig, MIB(20));
    struct heap *heap = block_of(&rig, large)->segment->heap;

    (void)state;
    rig_free(&rig, large);
    assert_true(heap->is_stocked);
    BREAKS(&rig, heap->is_stocked, false, "B7");
    rig_down(&rig);
}

static void heaps_out_of_order_break_b3(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct pool *pool = &inside(&rig)->pools[POOL_SMALL];

    (void)state;
    rig_alloc_on(&rig, 512, 1);
    rig_alloc_on(&rig, 512, 2);
    assert_int_equal(pool->heap_count, 2);
    BREAKS(&rig, pool->heaps[0]->stream, 3, "heaps out of order");
    BREAKS(&rig, pool->heaps[0]->stream, 2, "heaps out of order");
    rig_down(&rig);
}

/* A heap that has the index of another. */
static void blocks_of_another_heap_break_b3(void **state)
{
    static const larder_policy policies[] = {LARDER_POLICY_PYTORCH,
                                             LARDER_POLICY_LARDER};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig rig = rig_up_policy("sim:1GiB,backing=none", policies[i],
                                       "expandable_segments:True");
        larder_addr p = rig_alloc(&rig, MIB(12));
        struct heap *one = block_of(&rig, p)->segment->heap;
        struct heap *two = NULL;

        rig_free(&rig, p);
        assert_non_null(one->unmapped);
        assert_ok(larder_configure(rig.a, "expandable_segments:False"));
        two = block_of(&rig, rig_alloc_on(&rig, MIB(20), 1))->segment->heap;
        if (policies[i] == LARDER_POLICY_LARDER)
            BREAKS(&rig, two->fit, one->fit, "a foreign block in a free list");
        else
            BREAKS(&rig, two->bins, one->bins, "a foreign block in the index");
        rig_down(&rig);
    }
}

/* What the tree has too much. */
static void strangers_among_the_unmapped_break_b3(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none", "expandable_segments:True");
    struct heap *one = block_of(&rig, rig_alloc(&rig, MIB(20)))->segment->heap;
    struct block ghost = *one->unmapped;
    struct heap *two;

    (void)state;
    ghost.addr += MIB(20);
    assert_null(one->unmapped->right);
    BREAKS(&rig, one->unmapped->right, &ghost, "the number of unmapped blocks");
    ghost.state = BLOCK_FREE;
    BREAKS(&rig, one->unmapped->right, &ghost,
           "a foreign block among the unmapped");
    assert_ok(larder_configure(rig.a, "expandable_segments:False"));
    two = block_of(&rig, rig_alloc_on(&rig, MIB(20), 1))->segment->heap;
    BREAKS(&rig, two->unmapped, one->unmapped,
           "a foreign block among the unmapped");
    rig_down(&rig);
}

/* The free lists of the policy larder. */
static void lists_and_bitmaps_that_disagree_break_b3(void **state)
{
    struct rig rig =
        rig_up_policy("sim:1GiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_addr p = rig_alloc(&rig, 1000);
    larder_addr q = rig_alloc(&rig, 1000);
    larder_addr r = rig_alloc(&rig, 1000);
    struct block *b = block_of(&rig, q);
    struct fit *fit = b->segment->heap->fit;
    unsigned i;

    (void)state;
    rig_free(&rig, q);
    i = fit_class(b->bytes);
    assert_ptr_equal(fit->first[i], b);
    BREAKS(&rig, fit->first[i], NULL, "B3");
    BREAKS(&rig, fit->used[i / 64], 0, "the bitmap of free lists");
    BREAKS(&rig, fit->used[i / 64], ~UINT64_C(0), "the bitmap of free lists");
    BREAKS(&rig, fit->some, 0, "the bitmap of free lists");
    BREAKS(&rig, fit->used[0], fit->used[0] | 1, "the bitmap of free lists");
    fit->used[(i + 1) / 64] |= UINT64_C(1) << (i + 1) % 64;
    fit->first[i + 1] = b;
    assert_broken(&rig, "a foreign block in a free list");
    fit->used[(i + 1) / 64] &= ~(UINT64_C(1) << (i + 1) % 64);
    fit->first[i + 1] = NULL;
    rig_free(&rig, p);
    rig_free(&rig, r);
    rig_down(&rig);
}

static void pools_that_their_index_lacks_break_n1(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    const larder_pool_id id = {3, 4};
    struct allocator *a = inside(&rig);
    struct private_pool *pool;
    larder_addr p, q;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    p = rig_alloc(&rig, 1000);
    assert_ok(larder_pool_end(rig.a, id));
    pool = block_of(&rig, p)->segment->heap->pool->owner;
    BREAKS(&rig, pool->id.second, 5, "the pools by their ids");
    BREAKS(&rig, a->privates.index.pool_count, 2, "the number of pools");
    BREAKS(&rig, a->privates.index.pool_count, 0, "the number of pools");
    q = rig_alloc(&rig, 1000);
    BREAKS(&rig, pool->segments, block_of(&rig, q)->segment, "N2");
    BREAKS(&rig, pool->segments, NULL, "N2");
    rig_free(&rig, q);
    rig_free(&rig, p);
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

static void regions_that_are_counted_wrong_break_n3(void **state)
{
    struct rig rig =
        rig_up_policy("sim:1GiB,backing=none", LARDER_POLICY_LARDER, "");
    struct allocator *a = inside(&rig);
    larder_region *region;

    (void)state;
    BREAKS(&rig, a->privates.regions, 1, "N3");
    assert_ok(larder_region_create(rig.a, MIB(8), NULL, &region));
    BREAKS(&rig, a->privates.regions, 0, "the number of regions");
    BREAKS(&rig, a->privates.regions, 2, "the number of regions");
    assert_ok(larder_region_destroy(region));
    rig_down(&rig);
}

static void a_list_of_pools_without_users_that_is_wrong_breaks_n4(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    const larder_pool_id id = {3, 4};
    struct allocator *a = inside(&rig);
    struct private_pool *unused;
    struct private_pool *pool;
    larder_addr p = rig_alloc_in(&rig, id, 1000, 0);

    (void)state;
    pool = block_of(&rig, p)->segment->heap->pool->owner;
    BREAKS(&rig, pool->users, 0, "N4");
    BREAKS(&rig, a->privates.unused, pool, "a pool that has users");
    assert_ok(larder_tag_begin(rig.a, "t"));
    assert_ok(larder_tag_end(rig.a));
    unused = a->privates.unused;
    BREAKS(&rig, a->privates.unused, NULL, "pools without users");
    BREAKS(&rig, unused->unused_next, unused, "N4");
    rig_free(&rig, p);
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

static void blocks_that_nobody_lent_break_l1_and_l2(void **state)
{
    struct rig rig =
        rig_up_policy("sim:64MiB,backing=none", LARDER_POLICY_LARDER, "");
    const larder_pool_id id = {3, 4};
    larder_addr own = rig_alloc(&rig, MIB(20));
    larder_addr lent = rig_alloc_in(&rig, id, MIB(30), 1);
    struct private_pool *pool;
    struct block *b;

    (void)state;
    pool = block_of(&rig, lent)->segment->heap->pool->owner;
    b = block_of(&rig, own);
    BREAKS(&rig, b->is_lent, true, "L1");
    BREAKS(&rig, pool->has_lent, true, "L2");
    b = block_of(&rig, lent);
    BREAKS(&rig, b->is_lent, true, "L1");
    rig_free(&rig, lent);
    assert_ok(larder_pool_lend(rig.a, id, 2));
    lent = rig_alloc_on(&rig, MIB(30), 2);
    b = block_of(&rig, lent);
    assert_true(b->is_lent && pool->has_lent);
    BREAKS(&rig, pool->has_lent, false, "L1");
    BREAKS(&rig, pool->is_lent, false, "L2");
    rig_free(&rig, lent);
    rig_free(&rig, own);
    assert_ok(larder_pool_release(rig.a, id));
    rig_down(&rig);
}

/* ---- pages and pieces ------------------------------------------------------ */

static void pages_that_blocks_do_not_have_break_p1(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none", "expandable_segments:True");
    larder_addr p = rig_alloc(&rig, MIB(100));
    struct segment *s = block_of(&rig, p)->segment;
    size_t mapped = 0;

    (void)state;
    while (s->pages[mapped] != 0)
        mapped++;
    BREAKS(&rig, s->pages[0], 0, "P1");
    BREAKS(&rig, s->pages[mapped - 1], 0, "P1");
    BREAKS(&rig, s->pages[mapped], 77, "P1");
    BREAKS(&rig, inside(&rig)->page_count, mapped + 1, "rule G3 is broken: ");
    rig_down(&rig);
}

static void an_unmapped_block_that_ends_within_a_page_breaks_p1(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none", "expandable_segments:True");
    struct block *gap;
    struct block *behind;
    larder_addr p;

    (void)state;
    (void)rig_alloc(&rig, MIB(20));
    p = rig_alloc(&rig, MIB(20));
    gap = block_of(&rig, p);
    behind = block_of(&rig, rig_alloc(&rig, MIB(20)));
    rig_free(&rig, p);
    assert_ok(larder_empty_cache(rig.a));
    assert_int_equal(gap->state, BLOCK_UNMAPPED);
    gap->bytes -= 512;
    behind->addr -= 512;
    assert_broken(&rig, "an unmapped block within a page");
    gap->bytes += 512;
    behind->addr += 512;
    rig_down(&rig);
}

static void pages_that_are_counted_wrong_break_g2(void **state)
{
    struct rig rig =
        rig_up_policy("sim:1GiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_addr p = rig_alloc(&rig, MIB(100));
    struct segment *s = block_of(&rig, p)->segment;

    (void)state;
    BREAKS(&rig, s->pages[0], 0, "G1");
    BREAKS(&rig, s->page_count, s->page_count + 1, "G2");
    BREAKS(&rig, s->heap->page_count, s->heap->page_count + 1,
           "rule G2 is broken at 0x0: the number of pages of heaps");
    BREAKS(&rig, s->heap->page_count, s->heap->page_count - 1,
           "pages of heaps");
    BREAKS(&rig, inside(&rig)->page_count, inside(&rig)->page_count + 1, "G3");
    rig_free(&rig, p);
    rig_down(&rig);
}

static void extents_that_are_not_their_handle_s_break_g5(void **state)
{
    struct rig rig =
        rig_up_policy("sim:1GiB,backing=none", LARDER_POLICY_LARDER, "");
    larder_addr p = rig_alloc(&rig, MIB(100));
    struct page_extent *extents = block_of(&rig, p)->segment->extents;

    (void)state;
    BREAKS(&rig, extents[0].end, extents[0].end + 1, "G5");
    BREAKS(&rig, extents[3].begin, extents[3].begin + 1, "G5");
    BREAKS(&rig, extents[49].end, extents[49].end - 1, "G5");
    rig_free(&rig, p);
    rig_down(&rig);
}

/* Pages wait for their addresses only while their tag is paused. */
static void detached_pages_out_of_place_break_p3(void **state)
{
    struct rig rig =
        rig_up_policy("sim:1GiB,backing=none", LARDER_POLICY_LARDER, "");
    struct detached *d =
        &block_of(&rig, tagged(&rig, "weights", MIB(20)))->segment->detached;

    (void)state;
    BREAKS(&rig, d->begin, 1, "P3");
    BREAKS(&rig, d->mapped, 1, "P3");
    BREAKS(&rig, d->end, 1, "P3");
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_KEEP));
    BREAKS(&rig, d->mapped, 1, "P3");
    d->end = 2; /* as a failed pause leaves it */
    assert_ok(larder_check(rig.a));
    BREAKS(&rig, d->begin, 1, "P3");
    BREAKS(&rig, d->mapped, 3, "P3");
    BREAKS(&rig, d->end, SIZE_MAX, "P3");
    d->end = 0;
    assert_ok(larder_resume(rig.a, "weights"));
    BREAKS(&rig, d->begin, 1, "P3");
    rig_down(&rig);
}

static void parts_outside_of_their_piece_break_p2(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct segment *s;
    struct piece *piece;

    (void)state;
    assert_ok(larder_reserve(rig.a, MIB(64)));
    s = block_of(&rig, rig_alloc(&rig, MIB(20)))->segment;
    piece = s->piece;
    assert_non_null(piece);
    BREAKS(&rig, s->kind, SEGMENT_DRIVER, "a part out of place");
    BREAKS(&rig, s->piece, NULL, "a part out of place");
    BREAKS(&rig, piece->addr, piece->addr + 512, "a part out of place");
    BREAKS(&rig, piece->bytes, s->bytes - 512, "parts reach past the end");
    rig_down(&rig);
}

/* ---- numbers --------------------------------------------------------------- */

static void statistics_that_are_no_sums_break_s1(void **state)
{
    struct row row = row_up();
    struct stats *st = &inside(&row.rig)->stats;

    (void)state;
    rig_alloc(&row.rig, MIB(5)); /* some of the large pool, too */
    for (int pool = 0; pool < STATS_POOLS; pool++) {
#define X(name, text)                                                          \
    BREAKS(&row.rig, st->name.current[pool], st->name.current[pool] + 1,       \
           "S1");                                                              \
    BREAKS(&row.rig, st->name.current[pool], st->name.current[pool] - 1,       \
           pool == STATS_SMALL ? "of the small pool" : "of the large pool");   \
    BREAKS(&row.rig, st->name.peak[pool], st->name.current[pool] - 1,          \
           #name " is above its peak");                                        \
    BREAKS(&row.rig, st->name.peak_all, metric_all(&st->name) - 1,             \
           #name " is above its peak");
        LARDER_METRIC_MAP(X)
#undef X
    }
    row_down(&row);
}

static void counts_that_are_off_break_their_rules(void **state)
{
    struct row row = row_up();
    struct allocator *a = inside(&row.rig);

    (void)state;
    BREAKS(&row.rig, a->slab.free_count, a->slab.free_count + 1,
           "rule H1 is broken at 0x0: the number of headers");
    BREAKS(&row.rig, a->events.waiting, a->events.waiting + 1,
           "rule E1 is broken at 0x0: the number of events");
    BREAKS(&row.rig, a->events.held, a->events.held + 1, "E1");
    BREAKS(&row.rig, a->held_bytes, a->held_bytes + 512, "A1");
    BREAKS(&row.rig, a->account.owed_bytes, 512, "A2");
    BREAKS(&row.rig, a->account.refused_bytes, 512, "A4");
    a->account.cache.held_bytes += 512;
    a->held_bytes += 512;
    assert_broken(&row.rig, "rule S2 is broken at 0x0: held bytes");
    a->account.cache.held_bytes -= 512;
    a->held_bytes -= 512;
    row_down(&row);
}

/* The sum over all owners is right. */
static void memory_of_another_owner_breaks_a3(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    struct allocator *a = inside(&rig);
    struct private_pool *p;

    (void)state;
    assert_ok(larder_tag_begin(rig.a, "weights"));
    (void)rig_alloc(&rig, MIB(30));
    assert_ok(larder_tag_end(rig.a));
    (void)rig_alloc(&rig, MIB(30));
    p = a->privates.first;
    assert_true(p->holding.held_bytes >= MIB(30));
    p->holding.held_bytes -= MIB(2);
    a->account.cache.held_bytes += MIB(2);
    assert_broken(&rig, "rule A3 is broken");
    p->holding.held_bytes += MIB(2);
    a->account.cache.held_bytes -= MIB(2);
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_that_do_not_tile_a_segment_break_b1),
        cmocka_unit_test(odd_sizes_break_b1_where_they_fit_together),
        cmocka_unit_test(free_neighbours_break_b2),
        cmocka_unit_test(a_free_block_that_no_index_has_breaks_b3),
        cmocka_unit_test(requested_bytes_out_of_bounds_break_b4),
        cmocka_unit_test(a_block_that_waits_for_nothing_breaks_b5),
        cmocka_unit_test(a_map_that_disagrees_breaks_b6),
        cmocka_unit_test(a_stocked_heap_outside_the_list_breaks_b7),
        cmocka_unit_test(heaps_out_of_order_break_b3),
        cmocka_unit_test(blocks_of_another_heap_break_b3),
        cmocka_unit_test(strangers_among_the_unmapped_break_b3),
        cmocka_unit_test(lists_and_bitmaps_that_disagree_break_b3),
        cmocka_unit_test(pools_that_their_index_lacks_break_n1),
        cmocka_unit_test(regions_that_are_counted_wrong_break_n3),
        cmocka_unit_test(a_list_of_pools_without_users_that_is_wrong_breaks_n4),
        cmocka_unit_test(blocks_that_nobody_lent_break_l1_and_l2),
        cmocka_unit_test(pages_that_blocks_do_not_have_break_p1),
        cmocka_unit_test(an_unmapped_block_that_ends_within_a_page_breaks_p1),
        cmocka_unit_test(pages_that_are_counted_wrong_break_g2),
        cmocka_unit_test(extents_that_are_not_their_handle_s_break_g5),
        cmocka_unit_test(detached_pages_out_of_place_break_p3),
        cmocka_unit_test(parts_outside_of_their_piece_break_p2),
        cmocka_unit_test(statistics_that_are_no_sums_break_s1),
        cmocka_unit_test(counts_that_are_off_break_their_rules),
        cmocka_unit_test(memory_of_another_owner_breaks_a3),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_account.c - one account of the device's memory (larder/account.h). */
#include "support/tag_rig.h"

#include <larder/account.h>
#include <larder/pinned.h>

enum { LINES = 16 };

struct told {
    larder_account_line lines[LINES];
    char names[LINES][64];
    int count;
};

static void keep_line(void *ctx, const larder_account_line *line)
{
    struct told *t = ctx;

    assert_in_range(t->count, 0, LINES - 1);
    assert_int_equal(line->size, sizeof *line);
    snprintf(t->names[t->count], sizeof t->names[0], "%s", line->name);
    t->lines[t->count++] = *line;
}

static struct told account_of(larder_allocator *a)
{
    struct told t = {.count = 0};

    assert_ok(larder_account(a, keep_line, &t));
    return t;
}

static larder_account_line line_of(larder_allocator *a, larder_owner_kind kind)
{
    struct told t = account_of(a);

    for (int i = 0; i < t.count; i++) {
        if (t.lines[i].kind == kind)
            return t.lines[i];
    }
    fail_msg("no line %s", larder_owner_name(kind));
    return t.lines[0];
}

/* The lines of the device add up to all that it has. */
static void assert_balanced(struct rig *rig)
{
    struct told t = account_of(rig->a);
    uint64_t sum = 0;
    larder_device_props props = {.size = sizeof props};

    assert_ok(larder_device_get_props(rig->dev, &props));
    for (int i = 0; i < t.count; i++)
        sum += t.lines[i].kind == LARDER_OWNER_PINNED ? 0
                                                      : t.lines[i].held_bytes;
    assert_int_equal(sum, props.total_bytes);
    assert_ok(larder_check(rig->a));
}

static void every_owner_has_a_line_and_they_add_up(void **state)
{
    static const larder_pool_id id = {7, 1};

    (void)state;
    for (int i = 0; i < WAYS; i++) {
        struct rig rig = way_up("sim:4GiB,context=100MiB", i);
        larder_addr own = rig_alloc(&rig, MIB(64));
        larder_addr weights = tagged(&rig, "weights", MIB(200));
        larder_addr graph;
        struct told t;

        assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
        graph = rig_alloc(&rig, MIB(30));
        assert_ok(larder_pool_end(rig.a, id));
        t = account_of(rig.a);
        assert_int_equal(t.lines[0].kind, LARDER_OWNER_CACHE);
        assert_int_equal(t.lines[0].used_bytes, MIB(64));
        assert_in_range(t.lines[0].held_bytes, MIB(64), MIB(160));
        assert_int_equal(t.lines[1].kind, LARDER_OWNER_TAG);
        assert_string_equal(t.names[1], "weights");
        assert_int_equal(t.lines[1].used_bytes, MIB(200));
        assert_int_equal(t.lines[1].held_bytes,
                         usage_of(&rig, "weights").reserved_bytes);
        assert_int_equal(t.lines[2].kind, LARDER_OWNER_POOL);
        assert_int_equal(t.lines[2].pool.first, 7);
        assert_int_equal(t.lines[2].used_bytes, MIB(30));
        assert_int_equal(line_of(rig.a, LARDER_OWNER_CONTEXT).held_bytes,
                         MIB(100));
        assert_int_equal(line_of(rig.a, LARDER_OWNER_OTHERS).held_bytes, 0);
        assert_balanced(&rig);
        rig_free(&rig, own);
        assert_balanced(&rig);
        assert_ok(larder_empty_cache(rig.a));
        assert_balanced(&rig);
        assert_int_equal(line_of(rig.a, LARDER_OWNER_CACHE).held_bytes, 0);
        rig_free(&rig, weights);
        rig_free(&rig, graph);
        rig_down(&rig);
    }
}

static void what_others_hold_is_a_line_of_its_own(void **state)
{
    struct rig rig =
        rig_up_policy("sim:4GiB", LARDER_POLICY_LARDER, "");
    larder_addr mine = rig_alloc(&rig, MIB(10));
    larder_allocator *second;
    larder_addr theirs;

    (void)state;
    assert_ok(larder_sim_occupy(rig.dev, MIB(300)));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_OTHERS).held_bytes, MIB(300));
    assert_ok(larder_create(rig.dev, NULL, &second));
    assert_ok(larder_alloc(second, MIB(40), 0, &theirs));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_ALLOCATORS).held_bytes,
                     line_of(second, LARDER_OWNER_CACHE).held_bytes);
    assert_int_equal(line_of(rig.a, LARDER_OWNER_OTHERS).held_bytes, MIB(300));
    assert_balanced(&rig);
    assert_ok(larder_destroy(second));
    assert_int_equal(line_of(rig.a, LARDER_OWNER_ALLOCATORS).held_bytes, 0);
    rig_free(&rig, mine);
    assert_ok(larder_sim_occupy(rig.dev, 0));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_owner_has_a_line_and_they_add_up),
        cmocka_unit_test(what_others_hold_is_a_line_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

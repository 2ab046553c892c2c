/* test_sim_space.c - the lowest free address that fits, checked against a map
 * of every unit. */
#include "support/rig.h"

#include "device/sim_space.h"

enum {
    UNIT = 512,
    UNITS_2MIB = (2 << 20) / UNIT,
    UNITS = 24 * UNITS_2MIB,
    RANGES = 400
};

/* One byte per unit says whether it is free, and the search goes from the
 * bottom.  A range of 2 MiB blocks is long in units. */
struct naive {
    unsigned char used[UNITS];
};

static int naive_find(const struct naive *n, int units, int align)
{
    for (int at = 0; at + units <= UNITS; at += align) {
        if (memchr(n->used + at, 1, (size_t)units) == NULL)
            return at;
    }
    return -1;
}

/* ---- the rules (sim_space.h) ------------------------------------------------- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t best_of(const struct sim_space *space,
                        const struct sim_range *r, int align)
{
    uint64_t unit = align == SIM_ALIGN_512 ? UNIT : UNIT * UNITS_2MIB;
    uint64_t begin = (r->addr + r->bytes + unit - 1) / unit * unit;
    uint64_t end = r->next != NULL ? r->next->addr : space->end;
    uint64_t best = end > begin ? (end - begin) / unit * unit : 0;

    if (r->left != NULL)
        best = larger(best, r->left->best[align]);
    return r->right != NULL ? larger(best, r->right->best[align]) : best;
}

static int range_check(const struct sim_space *space, const struct sim_range *r)
{
    larder_addr end = r->addr + r->bytes;

    if (r->next != NULL && (r->next->prev != r || r->next->addr < end))
        return 1;
    if (r->next == NULL && end > space->end)
        return 1;
    for (int align = 0; align < SIM_ALIGN_COUNT; align++) {
        if (r->best[align] != best_of(space, r, align))
            return 2;
    }
    return r->parent != NULL && r->parent->priority < r->priority ? 3 : 0;
}

/* The number of the first broken rule, or 0. */
static int space_check(const struct sim_space *space)
{
    int broken = 0;

    for (const struct sim_range *r = &space->base; r != NULL && broken == 0;
         r = r->next)
        broken = range_check(space, r);
    return broken;
}

static uint64_t random_state;

static uint64_t random_below(uint64_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
    return (random_state >> 33) % n;
}

struct model {
    struct sim_space space;
    struct naive naive;
    struct sim_range ranges[RANGES];
    bool is_live[RANGES];
};

static void model_take(struct model *m, int i, larder_addr base)
{
    bool large = random_below(3) == 0;
    int align = large ? UNITS_2MIB : 1;
    int units = align * (1 + (int)random_below(large ? 4 : 900));
    int want = naive_find(&m->naive, units, align);
    bool got = larder__sim_space_take(&m->space, (uint64_t)units * UNIT,
                                      large ? SIM_ALIGN_2MIB : SIM_ALIGN_512,
                                      &m->ranges[i]);

    assert_int_equal(got, want >= 0);
    if (!got)
        return;
    assert_int_equal(m->ranges[i].addr, base + (uint64_t)want * UNIT);
    memset(m->naive.used + want, 1, (size_t)units);
    m->is_live[i] = true;
}

static void model_give(struct model *m, int i, larder_addr base)
{
    const struct sim_range *r = &m->ranges[i];

    memset(m->naive.used + (r->addr - base) / UNIT, 0, r->bytes / UNIT);
    larder__sim_space_release(&m->space, &m->ranges[i]);
    m->is_live[i] = false;
}

static void model_find(const struct model *m, larder_addr base)
{
    int at = (int)random_below(UNITS);
    larder_addr addr = base + (uint64_t)at * UNIT + random_below(UNIT);
    const struct sim_range *r = larder__sim_space_find(&m->space, addr);

    assert_int_equal(r != NULL, m->naive.used[at]);
    if (r != NULL)
        assert_true(r->addr <= addr && addr - r->addr < r->bytes);
}

static void model_run(uint64_t seed)
{
    static struct model m;
    const larder_addr base = UINT64_C(1) << 44;

    memset(&m, 0, sizeof m);
    random_state = seed;
    larder__sim_space_init(&m.space, base, (uint64_t)UNITS * UNIT);
    for (int step = 0; step < 4000; step++) {
        int i = (int)random_below(RANGES);

        if (m.is_live[i])
            model_give(&m, i, base);
        else
            model_take(&m, i, base);
        model_find(&m, base);
        assert_int_equal(space_check(&m.space), 0);
    }
    for (int i = 0; i < RANGES; i++) {
        if (m.is_live[i])
            model_give(&m, i, base);
    }
    assert_null(larder__sim_space_any(&m.space));
    assert_int_equal(space_check(&m.space), 0);
}

static void random_ranges_lie_where_the_naive_map_puts_them(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        model_run(seed);
}

static void ten_thousand_ranges_keep_their_order(void **state)
{
    enum { COUNT = 10000 };
    struct sim_range *ranges = calloc(COUNT, sizeof *ranges);
    struct sim_space space;

    (void)state;
    assert_non_null(ranges);
    larder__sim_space_init(&space, 0, (uint64_t)COUNT * UNIT);
    for (int i = 0; i < COUNT; i++) {
        assert_true(
            larder__sim_space_take(&space, UNIT, SIM_ALIGN_512, &ranges[i]));
        assert_int_equal(ranges[i].addr, i * UNIT);
    }
    assert_int_equal(space_check(&space), 0);
    for (int i = 0; i < COUNT; i += 2)
        larder__sim_space_release(&space, &ranges[i]);
    assert_int_equal(space_check(&space), 0);
    for (int i = 0; i < COUNT; i += 2) {
        assert_true(
            larder__sim_space_take(&space, UNIT, SIM_ALIGN_512, &ranges[i]));
        assert_int_equal(ranges[i].addr, i * UNIT);
    }
    free(ranges);
}

static void a_broken_rule_is_found(void **state)
{
    struct sim_space space;
    struct sim_range a, b;

    (void)state;
    larder__sim_space_init(&space, 0, 100 * UNIT);
    assert_true(larder__sim_space_take(&space, UNIT, SIM_ALIGN_512, &a));
    assert_true(larder__sim_space_take(&space, UNIT, SIM_ALIGN_512, &b));
    assert_int_equal(space_check(&space), 0);
    b.addr = 0;
    assert_int_equal(space_check(&space), 1);
    b.addr = UNIT;
    b.best[SIM_ALIGN_512]++;
    assert_int_equal(space_check(&space), 2);
    b.best[SIM_ALIGN_512]--;
    (b.parent == &a ? &b : &a)->priority = UINT32_MAX;
    assert_int_equal(space_check(&space), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_ranges_lie_where_the_naive_map_puts_them),
        cmocka_unit_test(ten_thousand_ranges_keep_their_order),
        cmocka_unit_test(a_broken_rule_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

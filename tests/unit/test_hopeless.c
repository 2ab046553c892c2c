/* test_hopeless.c - a request is given up without calling anything only when
 * live memory, the limit and what is kept for others leave less than it needs:
 * to the byte. */
#include <stdbool.h>

#include "support/tag_rig.h"

#include <larder/account.h>

#include "core/entry/handle.h"
#include "core/request/request.h"

#define SPEC "sim:64MiB,context=2MiB,backing=none"

/* All but the context can be had, if its size is known. */
static uint64_t all_of(const struct rig *rig)
{
    larder_device_props props = {.size = sizeof props};

    assert_ok(larder_device_get_props(rig->dev, &props));
    return props.total_bytes - props.context_bytes;
}

static bool is_hopeless(struct rig *rig, struct heap *heap, uint64_t bytes)
{
    const struct request q = {.size = bytes, .heap = heap};
    struct allocator *a;
    bool is;

    assert_ok(larder__handle_lock(rig->a, &a));
    is = larder__request_is_hopeless(a, &q);
    larder__handle_unlock(a);
    return is;
}

/* The most that is not hopeless. */
static void assert_most(struct rig *rig, struct heap *heap, uint64_t bytes)
{
    assert_false(is_hopeless(rig, heap, bytes));
    assert_true(is_hopeless(rig, heap, bytes + 1));
}

/* The heap of a block, which the test's requests come from as well. */
static struct heap *heap_of(struct rig *rig, larder_addr addr)
{
    struct allocator *a;
    struct heap *heap;

    assert_ok(larder__handle_lock(rig->a, &a));
    heap = map_find(&a->map, &a->slab, addr)->segment->heap;
    larder__handle_unlock(a);
    return heap;
}

static void cached_memory_can_be_had_and_live_memory_cannot(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr one = rig_alloc(&rig, MIB(20));
    larder_addr two = rig_alloc(&rig, MIB(12));
    struct heap *heap = heap_of(&rig, one);

    (void)state;
    assert_most(&rig, heap, all_of(&rig) - MIB(32));
    rig_free(&rig, two);
    assert_most(&rig, heap, all_of(&rig) - MIB(20));
    rig_free(&rig, one);
    assert_most(&rig, heap, all_of(&rig));
    rig_down(&rig);
}

static void a_limit_counts_where_it_is_less_than_the_device(void **state)
{
    struct rig rig = rig_up(SPEC, "limit:40MiB");
    larder_addr one = rig_alloc(&rig, MIB(20));
    struct heap *heap = heap_of(&rig, one);

    (void)state;
    assert_most(&rig, heap, MIB(20));
    assert_ok(larder_configure(rig.a, "limit:61MiB"));
    assert_most(&rig, heap, MIB(41));
    assert_ok(larder_configure(rig.a, "limit:65MiB"));
    assert_most(&rig, heap, all_of(&rig) - MIB(20));
    rig_down(&rig);
}

/* Not what its owner itself may take of it. */
static void what_is_kept_for_others_cannot_be_had(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr one = rig_alloc(&rig, MIB(20));
    larder_addr weights = tagged(&rig, "weights", MIB(20));

    (void)state;
    assert_ok(larder_tag_set_minimum(rig.a, "weights", MIB(30)));
    assert_most(&rig, heap_of(&rig, one), all_of(&rig) - MIB(40) - MIB(10));
    assert_most(&rig, heap_of(&rig, weights), all_of(&rig) - MIB(40));
    assert_ok(larder_tag_set_minimum(rig.a, "weights", all_of(&rig) - MIB(20)));
    assert_most(&rig, heap_of(&rig, one), 0);
    rig_down(&rig);
}

static void memory_asleep_can_be_had(void **state)
{
    struct rig rig = rig_up(SPEC, "");
    larder_addr one = rig_alloc(&rig, MIB(20));

    (void)state;
    (void)tagged(&rig, "weights", MIB(12));
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    assert_most(&rig, heap_of(&rig, one), all_of(&rig) - MIB(20));
    assert_ok(larder_resume(rig.a, "weights"));
    assert_most(&rig, heap_of(&rig, one), all_of(&rig) - MIB(32));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cached_memory_can_be_had_and_live_memory_cannot),
        cmocka_unit_test(a_limit_counts_where_it_is_less_than_the_device),
        cmocka_unit_test(what_is_kept_for_others_cannot_be_had),
        cmocka_unit_test(memory_asleep_can_be_had),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

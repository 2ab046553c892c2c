/* test_oom_cause.c - what the message says of the policy larder's memory: why it
 * ran out, who holds it, and how much would have fitted. */
#include "support/rig.h"

#define SPEC "sim:64MiB,vmm=off"

static void assert_cause(struct rig *rig, uint64_t bytes, larder_stream stream,
                         const char *largest, const char *cause)
{
    larder_addr addr;

    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig->a, bytes, stream, &addr), largest);
    assert_words(cause);
}

/* ---- other pools --------------------------------------------------------------- */

/* Free memory of a pool that is kept, on the stream of the request. */
static void a_private_pools_free_block_is_of_no_use_to_others(void **state)
{
    const larder_pool_id id = {1, 0};
    struct rig rig = rig_up_pages(SPEC, LARDER_POLICY_LARDER, "");

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    rig_free(&rig, rig_alloc(&rig, MIB(40)));
    assert_ok(larder_pool_end(rig.a, id));
    assert_cause(&rig, MIB(30), 0,
                 "The largest free block that this request could use: 0 bytes.",
                 "Why: each stream and pool has its own free memory. A block "
                 "of 40.00 MiB was free, but belongs to another.");
    rig_down(&rig);
}

/* The opposite: a default pool's free memory, and a request in a private
 * one. */
static void a_default_pools_free_block_is_of_no_use_to_private_ones(
    void **state)
{
    const larder_pool_id id = {1, 0};
    struct rig rig = rig_up_pages(SPEC, LARDER_POLICY_LARDER, "");
    larder_addr hole = rig_alloc(&rig, MIB(36));
    larder_addr beside;

    (void)state;
    rig_free(&rig, hole);
    hole = rig_alloc(&rig, MIB(20)); /* the segment is split: it stays */
    beside = rig_alloc(&rig, MIB(16));
    rig_free(&rig, hole);
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_cause(&rig, MIB(30), 0,
                 "The largest free block that this request could use: 0 bytes.",
                 "Why: no memory is released while a private pool is begun");
    assert_ok(larder_pool_end(rig.a, id));
    rig_free(&rig, beside);
    rig_down(&rig);
}

/* ---- who holds what, and what would fit ------------------------------------- */

#define PAGED "sim:64MiB,events=manual"
#define SEGMENTS "sim:64MiB,events=manual,vmm=off"

static void refused(struct rig *rig, uint64_t bytes, const char *words)
{
    assert_no_room(rig, bytes);
    assert_words(words);
}

static void the_message_names_the_holders(void **state)
{
    struct rig rig = rig_up_pages(SEGMENTS, LARDER_POLICY_LARDER, "");
    larder_addr hole;

    (void)state;
    rig_alloc_on(&rig, MIB(30), 7);
    rig_free(&rig, rig_alloc(&rig, MIB(24)));
    rig_alloc(&rig, MIB(3));
    hole = rig_alloc(&rig, MIB(8));
    rig_alloc(&rig, MIB(13));
    rig_free(&rig, hole);
    refused(&rig, MIB(17),
            "Reserved: 54.00 MiB in 2 segments: 46.00 MiB in "
            "use in 3 blocks, the largest of 30.00 MiB; 8.00 "
            "MiB free in 1 block.");
    assert_words("Stream 7 holds the most: 30.00 MiB.");
    assert_words("The largest free block that this request could use: "
                 "8.00 MiB.");
    assert_words("Why: fragmentation. 18.00 MiB was free");
    assert_words("Up to 10.00 MiB would have fitted.");
    rig_down(&rig);
}

/* Each takes the memory of the one before, whose address range then has
 * none. */
static void empty_streams(struct rig *rig, larder_stream from)
{
    for (larder_stream s = from; s < from + 20; s++)
        rig_free(rig, rig_alloc_on(rig, MIB(22), s));
}

static void the_message_omits_streams_without_memory(void **state)
{
    struct rig rig = rig_up_pages("sim:64MiB", LARDER_POLICY_LARDER, "");

    (void)state;
    empty_streams(&rig, 100);
    rig_alloc_on(&rig, MIB(30), 7);
    rig_alloc_on(&rig, MIB(4), 8);
    empty_streams(&rig, 200);
    refused(&rig, MIB(40), "in 3 segments: 34.00 MiB in use in 2 blocks");
    assert_words("Stream 7 holds the most: 30.00 MiB.");
    rig_down(&rig);
}

/* Memory that a request got from the device before the device had no more. */
static void the_message_counts_unmapped_memory(void **state)
{
    struct rig rig = rig_up_pages("sim:64MiB", LARDER_POLICY_LARDER, "");
    larder_allocator *other;
    larder_options opt;
    larder_addr p;

    (void)state;
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_LARDER;
    assert_ok(larder_create(rig.dev, &opt, &other));
    assert_ok(larder_alloc(other, MIB(30), 0, &p));
    refused(&rig, MIB(60),
            "Reserved: 34.00 MiB, 34.00 MiB of it free and "
            "mapped nowhere, the rest in 0 segments: 0 bytes in "
            "use in 0 blocks, the largest of 0 bytes; 0 bytes "
            "free in 0 blocks.");
    assert_ok(larder_free(other, p));
    assert_ok(larder_destroy(other));
    rig_down(&rig);
}

/* With more streams than are counted separately, no holder is named that may be
 * the wrong one. */
static void no_holder_is_named_if_unknown_streams_hold_more(void **state)
{
    struct rig rig = rig_up_policy("sim:512MiB", LARDER_POLICY_LARDER, "");

    (void)state;
    for (larder_stream s = 100; s < 118; s++)
        rig_alloc_on(&rig, MIB(2), s);
    rig_alloc_on(&rig, MIB(30), 7);
    for (larder_stream s = 200; s < 218; s++)
        rig_alloc_on(&rig, MIB(2), s);
    refused(&rig, MIB(500), "102.00 MiB in use in 37 blocks");
    assert_null(strstr(larder_last_error(), "holds the most"));
    rig_down(&rig);
}

/* The size that the message says would have fitted does fit. */
static void check_what_would_have_fitted(const char *spec, const char *conf,
                                         const char *words, uint64_t fits)
{
    struct rig rig = rig_up_pages(spec, LARDER_POLICY_LARDER, conf);
    larder_addr cached = rig_alloc(&rig, MIB(40));

    rig_alloc(&rig, MIB(12));
    rig_free(&rig, cached);
    refused(&rig, MIB(60), words);
    rig_alloc(&rig, fits);
    rig_down(&rig);
}

static void the_message_counts_releasable_memory(void **state)
{
    (void)state;
    check_what_would_have_fitted(SEGMENTS, "", "Up to 52.00 MiB would",
                                 MIB(52));
    check_what_would_have_fitted(PAGED, "", "Up to 52.00 MiB would", MIB(52));
    check_what_would_have_fitted(PAGED, "defrag:off", "Up to 52.00 MiB would",
                                 MIB(52));
}

static void moving_pages_off_is_named(void **state)
{
    struct rig rig =
        rig_up_pages("sim:16MiB", LARDER_POLICY_LARDER, "defrag:off");
    larder_addr hole[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        hole[i] = rig_alloc(&rig, MIB(3));
        rig_alloc(&rig, MIB(1));
    }
    for (int i = 0; i < 4; i++)
        rig_free(&rig, hole[i]);
    refused(&rig, MIB(9), "defrag:off forbids moving pages");
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_private_pools_free_block_is_of_no_use_to_others),
        cmocka_unit_test(
            a_default_pools_free_block_is_of_no_use_to_private_ones),
        cmocka_unit_test(the_message_names_the_holders),
        cmocka_unit_test(the_message_omits_streams_without_memory),
        cmocka_unit_test(the_message_counts_unmapped_memory),
        cmocka_unit_test(no_holder_is_named_if_unknown_streams_hold_more),
        cmocka_unit_test(the_message_counts_releasable_memory),
        cmocka_unit_test(moving_pages_off_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

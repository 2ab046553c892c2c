/* test_shortfall.c - why a request failed, to the letter: what is held and by
 * whom, what stood in the way, and what would have fitted. */
#include <stdbool.h>

#include "support/tag_rig.h"

#include "core/entry/handle.h"
#include "core/observe/oom.h"
#include "core/request/request.h"

/* Segments as PyTorch's, so that sizes are as the rules say. */
#define SEGMENTS "sim:64MiB,backing=none,events=manual,vmm=off"
#define PAGED "sim:64MiB,backing=none,events=manual"

static struct rig up(const char *spec, const char *conf)
{
    return rig_up_pages(spec, LARDER_POLICY_LARDER, conf);
}

/* A request for the heap of stream 0, or of the private pool of a block. */
static struct request request_of(struct rig *rig, uint64_t bytes)
{
    struct allocator *a = handle_allocator(rig->a);

    return (struct request){.size = bytes,
                            .heap = a->pools[POOL_LARGE].heaps[0]};
}

/* What is said of the request where the device has so much. */
static const char *said(struct rig *rig, const struct request *q,
                        uint64_t device_free)
{
    static char words[4096];
    struct allocator *a;
    struct text t;

    larder__text_init(&t, words, sizeof words);
    assert_ok(larder__handle_lock(rig->a, &a));
    larder__shortfall_add(a, q, device_free, &t);
    larder__handle_unlock(a);
    return words;
}

static const char *said_of(struct rig *rig, uint64_t bytes,
                           uint64_t device_free)
{
    struct request q = request_of(rig, bytes);

    return said(rig, &q, device_free);
}

/* ---- sizes --------------------------------------------------------------------- */

static void sizes_are_written_as_pytorch_writes_them(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *words;
    } sizes[] = {{0, "0 bytes"},          {1024, "1024 bytes"},
                 {1025, "1.00 KiB"},      {1536, "1.50 KiB"},
                 {MIB(1), "1024.00 KiB"}, {MIB(1) + 1, "1.00 MiB"},
                 {GIB(1), "1024.00 MiB"}, {GIB(1) + 1, "1.00 GiB"},
                 {GIB(3) / 2, "1.50 GiB"}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_string_equal(SIZE_TEXT(sizes[i].bytes), sizes[i].words);
    }
}

/* ---- what is held ---------------------------------------------------------------- */

static void an_empty_allocator_says_that_it_holds_nothing(void **state)
{
    struct rig rig = up(SEGMENTS, "");

    (void)state;
    rig_free(&rig, rig_alloc(&rig, MIB(12)));
    assert_ok(larder_empty_cache(rig.a));
    assert_string_equal(
        said_of(&rig, MIB(70), MIB(64)),
        " Reserved: 0 bytes in 0 segments: 0 bytes in use in 0 blocks, the "
        "largest of 0 bytes; 0 bytes free in 0 blocks. The largest free block "
        "that this request could use: 0 bytes. Why: not enough memory. In use "
        "or requested: 70.00 MiB, available to this process: 64.00 MiB; 6.00 "
        "MiB is missing. Up to 64.00 MiB would have fitted.");
    rig_down(&rig);
}

/* One of a thing, and several; who holds most is said where others hold some. */
static void what_is_held_is_counted(void **state)
{
    struct rig rig = up(SEGMENTS, "");
    larder_addr hole;

    (void)state;
    (void)rig_alloc(&rig, MIB(12));
    assert_string_equal(
        said_of(&rig, MIB(60), MIB(40)),
        " Reserved: 12.00 MiB in 1 segment: 12.00 MiB in use in 1 block, the "
        "largest of 12.00 MiB; 0 bytes free in 0 blocks. The largest free "
        "block that this request could use: 0 bytes. Why: not enough memory. "
        "In use or requested: 72.00 MiB, available to this process: 52.00 MiB; "
        "20.00 MiB is missing. Up to 40.00 MiB would have fitted.");
    (void)rig_alloc_on(&rig, MIB(3), 2);
    hole = rig_alloc_on(&rig, MIB(9), 2);
    (void)rig_alloc_on(&rig, MIB(5), 2);
    rig_free(&rig, hole);
    assert_string_equal(
        said_of(&rig, MIB(60), MIB(32) + 1),
        " Reserved: 32.00 MiB in 2 segments: 20.00 MiB in use in 3 blocks, the "
        "largest of 12.00 MiB; 12.00 MiB free in 2 blocks. Stream 0 holds the "
        "most: 12.00 MiB. The largest free block that this request could use: "
        "0 bytes. Why: not enough memory. In use or requested: 80.00 MiB, "
        "available to this process: 64.00 MiB; 16.00 MiB is missing. Up to "
        "32.00 MiB would have fitted.");
    rig_down(&rig);
}

static void memory_in_use_by_recorded_streams_is_counted_apart(void **state)
{
    struct rig rig = up(SEGMENTS, "");
    larder_addr pending = rig_alloc(&rig, MIB(12));

    (void)state;
    assert_ok(larder_record_stream(rig.a, pending, 3));
    rig_free(&rig, pending);
    assert_string_equal(
        said_of(&rig, MIB(60), MIB(40)),
        " Reserved: 12.00 MiB in 1 segment: 0 bytes in use in 0 blocks, the "
        "largest of 0 bytes; 0 bytes free in 0 blocks; 12.00 MiB freed but "
        "still in use by other streams. The largest free block that this "
        "request could use: 0 bytes. Why: not enough memory. In use or "
        "requested: 72.00 MiB, available to this process: 52.00 MiB; 20.00 MiB "
        "is missing. Up to 40.00 MiB would have fitted.");
    rig_down(&rig);
}

static void what_would_have_fitted_counts_the_segments_of_all_streams(
    void **state)
{
    struct rig rig = up(SEGMENTS, "");
    larder_addr p[3];

    (void)state;
    for (larder_stream s = 0; s < 3; s++)
        p[s] = rig_alloc_on(&rig, MIB(12), s);
    for (larder_stream s = 0; s < 3; s++)
        rig_free(&rig, p[s]);
    assert_non_null(strstr(said_of(&rig, MIB(60), MIB(10)),
                           "Up to 46.00 MiB would have fitted."));
    rig_down(&rig);
}

/* The name of a stream, or NULL where none is named. */
static const char *holder_said(struct rig *rig)
{
    return strstr(said_of(rig, MIB(60), 0), " Stream ");
}

static void assert_holder(struct rig *rig, const char *words)
{
    const char *got = holder_said(rig);

    assert_non_null(got);
    assert_memory_equal(got, words, strlen(words));
}

static void the_stream_that_holds_most_is_named(void **state)
{
    struct rig rig = up("sim:1GiB,backing=none,vmm=off", "");
    larder_addr most;

    (void)state;
    (void)rig_alloc_on(&rig, MIB(12), 0);
    assert_null(holder_said(&rig));
    (void)rig_alloc_on(&rig, MIB(12), 4); /* of equals the newest */
    assert_holder(&rig, " Stream 4 holds the most: 12.00 MiB.");
    most = rig_alloc_on(&rig, MIB(14), 5);
    assert_holder(&rig, " Stream 5 holds the most: 14.00 MiB.");
    rig_free(&rig, most);
    (void)rig_alloc_on(&rig, MIB(30), 0);
    assert_holder(&rig, " Stream 0 holds the most: 42.00 MiB.");
    rig_down(&rig);
}

/* Sixteen are told apart, the newest: what the others hold could be one
 * stream's. */
static void a_stream_is_named_only_if_no_other_can_hold_more(void **state)
{
    (void)state;
    for (int has_more = 0; has_more < 2; has_more++) {
        struct rig rig = up("sim:1GiB,backing=none,vmm=off", "");

        (void)rig_alloc_on(&rig, MIB(18), 30);
        (void)rig_alloc_on(&rig, has_more ? MIB(12) + 512 : MIB(12), 31);
        for (larder_stream s = 2; s <= 16; s++)
            (void)rig_alloc_on(&rig, MIB(12), s);
        (void)rig_alloc_on(&rig, MIB(30), 1);
        if (has_more)
            assert_null(holder_said(&rig));
        else
            assert_holder(&rig, " Stream 1 holds the most: 30.00 MiB.");
        rig_down(&rig);
    }
}

static void memory_asleep_is_not_held(void **state)
{
    struct rig rig = up(PAGED, "");

    (void)state;
    (void)rig_alloc(&rig, MIB(4));
    (void)tagged(&rig, "w", MIB(20));
    assert_ok(larder_pause(rig.a, "w", LARDER_PAUSE_DROP));
    assert_non_null(strstr(said_of(&rig, MIB(100), MIB(60)),
                           " in 1 segment: 4.00 MiB in use in 1 block,"));
    rig_down(&rig);
}

/* ---- what stood in the way --------------------------------------------------------- */

/* From "Why" on. */
static const char *cause(const char *words)
{
    const char *why = strstr(words, " Why: ");

    assert_non_null(why);
    return why;
}

static void a_limit_of_a_pool_comes_first(void **state)
{
    static const larder_pool_id id = {7, 1};
    struct rig rig = up(SEGMENTS, "");
    struct request q;
    struct allocator *a = handle_allocator(rig.a);

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_ok(larder_pool_set_limit(rig.a, id, MIB(30)));
    (void)rig_alloc(&rig, MIB(12));
    assert_ok(larder_pool_end(rig.a, id));
    q = (struct request){.size = MIB(20),
                         .refused_by = REFUSED_BY_POOL,
                         .heap = a->segments->heap};
    assert_string_equal(
        cause(said(&rig, &q, MIB(40))),
        " Why: private pool (7, 1) holds 12.00 MiB of the 30.00 "
        "MiB that larder_pool_set_limit() allows.");
    q.refused_by = REFUSED_BY_DEVICE;
    a->ledger_refusal = "the limit of others";
    assert_string_equal(cause(said(&rig, &q, MIB(10))),
                        " Why: the limit of others leaves too little. Up to "
                        "10.00 MiB would have fitted.");
    a->ledger_refusal = NULL;
    rig_down(&rig);
}

static void a_limit_of_a_tag_is_the_whole_cause(void **state)
{
    struct rig rig = up(PAGED, "");
    struct request q = {.size = MIB(20), .refused_by = REFUSED_BY_POOL};

    (void)state;
    assert_ok(larder_tag_limit(rig.a, "w", MIB(30)));
    (void)tagged(&rig, "w", MIB(20));
    q.heap = handle_allocator(rig.a)->segments->heap;
    assert_string_equal(cause(said(&rig, &q, 0)), " Why: the tag's limit.");
    rig_down(&rig);
}

static void time_that_ran_out_comes_before_what_is_missing(void **state)
{
    struct rig rig = up(SEGMENTS, "reclaim_budget_ms:7");
    larder_addr pending = rig_alloc(&rig, MIB(12));
    struct request q = request_of(&rig, MIB(60));

    (void)state;
    assert_ok(larder_record_stream(rig.a, pending, 3));
    rig_free(&rig, pending);
    q.out_of_time = true;
    assert_string_equal(cause(said(&rig, &q, MIB(2))),
                        " Why: reclaim_budget_ms:7 expired. 12.00 MiB was "
                        "freed, but recorded streams still used it. Up to 2.00 "
                        "MiB would have fitted.");
    rig_down(&rig);
}

/* Exactly enough is enough, but was not to be had. */
static void enough_in_pieces_is_fragmentation(void **state)
{
    struct rig rig = up(SEGMENTS, "");
    larder_addr hole = rig_alloc(&rig, MIB(9));

    (void)state;
    (void)rig_alloc(&rig, MIB(5));
    rig_free(&rig, hole); /* and 6 MiB behind */
    assert_string_equal(cause(said_of(&rig, MIB(25), MIB(10))),
                        " Why: fragmentation. 25.00 MiB was free, including "
                        "the device's free memory, which is enough, but not in "
                        "one block that this request could use. Up to 10.00 "
                        "MiB would have fitted.");
    assert_string_equal(cause(said_of(&rig, MIB(25) + 512, MIB(10))),
                        " Why: not enough memory. In use or requested: 30.00 "
                        "MiB, available to this process: 30.00 MiB; 512 bytes "
                        "is missing. Up to 10.00 MiB would have fitted.");
    rig_down(&rig);
}

/* A limit makes room as the device does: the lesser counts. */
static void the_room_is_the_lesser_of_limit_and_device(void **state)
{
    struct rig rig = up(SEGMENTS, "limit:40MiB");

    (void)state;
    (void)rig_alloc(&rig, MIB(12));
    assert_string_equal(cause(said_of(&rig, MIB(30), MIB(50))),
                        " Why: not enough memory. In use or requested: 42.00 "
                        "MiB, available to this process: 40.00 MiB; 2.00 MiB "
                        "is missing. Up to 28.00 MiB would have fitted.");
    assert_string_equal(cause(said_of(&rig, MIB(30), MIB(20))),
                        " Why: not enough memory. In use or requested: 42.00 "
                        "MiB, available to this process: 32.00 MiB; 10.00 MiB "
                        "is missing. Up to 20.00 MiB would have fitted.");
    assert_ok(larder_configure(rig.a, "limit:8MiB"));
    assert_string_equal(cause(said_of(&rig, MIB(30), MIB(20))),
                        " Why: not enough memory. In use or requested: 42.00 "
                        "MiB, available to this process: 12.00 MiB; 30.00 MiB "
                        "is missing. Up to 0 bytes would have fitted.");
    rig_down(&rig);
}

static void a_setting_that_forbids_moves_is_named(void **state)
{
    struct rig rig = up(PAGED, "defrag:off");
    larder_addr hole = rig_alloc(&rig, MIB(20));

    (void)state;
    (void)rig_alloc(&rig, MIB(2));
    rig_free(&rig, hole);
    assert_string_equal(cause(said_of(&rig, MIB(30), MIB(10))),
                        " Why: fragmentation. 30.00 MiB was free, including "
                        "the device's free memory, which is enough, but not in "
                        "one block that this request could use, and defrag:off "
                        "forbids moving pages.");
    rig_down(&rig);
}

static void another_streams_free_block_that_fits_is_named(void **state)
{
    struct rig rig = up(SEGMENTS, "");
    larder_addr other;

    (void)state;
    (void)rig_alloc(&rig, MIB(12));
    other = rig_alloc_on(&rig, MIB(24), 2);
    (void)rig_alloc_on(&rig, MIB(1), 2);
    rig_free(&rig, other);
    assert_string_equal(cause(said_of(&rig, MIB(24), 0)),
                        " Why: each stream and pool has its own free memory. A "
                        "block of 24.00 MiB was free, but belongs to another.");
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_written_as_pytorch_writes_them),
        cmocka_unit_test(an_empty_allocator_says_that_it_holds_nothing),
        cmocka_unit_test(what_is_held_is_counted),
        cmocka_unit_test(memory_in_use_by_recorded_streams_is_counted_apart),
        cmocka_unit_test(
            what_would_have_fitted_counts_the_segments_of_all_streams),
        cmocka_unit_test(the_stream_that_holds_most_is_named),
        cmocka_unit_test(a_stream_is_named_only_if_no_other_can_hold_more),
        cmocka_unit_test(memory_asleep_is_not_held),
        cmocka_unit_test(a_limit_of_a_pool_comes_first),
        cmocka_unit_test(a_limit_of_a_tag_is_the_whole_cause),
        cmocka_unit_test(time_that_ran_out_comes_before_what_is_missing),
        cmocka_unit_test(enough_in_pieces_is_fragmentation),
        cmocka_unit_test(the_room_is_the_lesser_of_limit_and_device),
        cmocka_unit_test(a_setting_that_forbids_moves_is_named),
        cmocka_unit_test(another_streams_free_block_that_fits_is_named),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

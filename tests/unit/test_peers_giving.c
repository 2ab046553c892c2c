/* test_peers_giving.c - what the allocators of one process give up when others on
 * the device ask for memory. */
#include <pthread.h>
#include <unistd.h>

#include "core/trim/trim.h"
#include "support/clock.h"
#include "support/history_rig.h"
#include "within_rig.h"

/* ---- what is given ------------------------------------------------------------------ */

static struct {
    struct allocator *asked[8];
    uint64_t bytes[8];
    uint64_t gives[8]; /* by the i-th that is asked */
    int count;
} giving;

static uint64_t give(struct allocator *a, uint64_t bytes)
{
    int i = giving.count++;

    assert_in_range(i, 0, 7);
    giving.asked[i] = a;
    giving.bytes[i] = bytes;
    return giving.gives[i];
}

static void assert_asked(struct rig *rigs, uint64_t first, uint64_t second)
{
    assert_int_equal(giving.count, 2);
    assert_ptr_equal(giving.asked[0], of(&rigs[1]));
    assert_ptr_equal(giving.asked[1], of(&rigs[0]));
    assert_int_equal(giving.bytes[0], first);
    assert_int_equal(giving.bytes[1], second);
    memset(&giving, 0, sizeof giving);
}

/* Two allocators hold 8 MiB each, and would rather be told than trimmed. */
static void giving_up(struct rig *rigs, const char *conf, char *path)
{
    for (int i = 0; i < 2; i++) {
        rigs[i] = up(conf);
        (void)rig_alloc(&rigs[i], MIB(8));
    }
    ledger_path(&rigs[0], path);
    entry_of(&rigs[0])->give = give;
    memset(&giving, 0, sizeof giving);
}

/* Others ask this process for memory; it answers. */
static void ask(struct rig *rigs, const char *path, uint64_t bytes)
{
    assert_ok(larder_ledger_trim(path + 1, getpid(), bytes));
    larder__peers_answer(entry_of(&rigs[0]));
}

static void what_one_gave_is_not_asked_of_the_next(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct rig rigs[2];

    (void)state;
    giving_up(rigs, "handle_mib:2", path);
    ask(rigs, path, MIB(6));
    assert_asked(rigs, MIB(6), MIB(6));
    giving.gives[0] = MIB(2);
    ask(rigs, path, MIB(6));
    assert_asked(rigs, MIB(6), MIB(4));
    giving.gives[0] = MIB(6);
    ask(rigs, path, MIB(6));
    assert_asked(rigs, MIB(6), 0);
    giving.gives[0] = MIB(7); /* a handle is larger */
    ask(rigs, path, MIB(6));
    assert_asked(rigs, MIB(6), 0);
    down(&rigs[0]);
    down(&rigs[1]);
}

static void no_more_is_given_than_is_held_beyond_the_minimum(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct rig rigs[2];

    (void)state;
    giving_up(rigs, "minimum:6MiB,handle_mib:2", path);
    ask(rigs, path, MIB(10));
    assert_asked(rigs, MIB(10), MIB(10));
    ask(rigs, path, MIB(10) + 1);
    assert_asked(rigs, MIB(10), MIB(10));
    ask(rigs, path, MIB(10) - 1);
    assert_asked(rigs, MIB(10) - 1, MIB(10) - 1);
    down(&rigs[0]);
    down(&rigs[1]);
}

/* Though nobody asks for so much, and even of the minimum. */
static void what_exceeds_a_limit_is_given(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct rig rigs[2];

    (void)state;
    giving_up(rigs, "minimum:14MiB,handle_mib:2", path);
    assert_ok(larder_ledger_limit(path + 1, getpid(), MIB(11)));
    larder__peers_answer(entry_of(&rigs[0]));
    assert_asked(rigs, MIB(5), MIB(5));
    ask(rigs, path, MIB(1));
    assert_asked(rigs, MIB(5), MIB(5));
    assert_ok(larder_ledger_limit(path + 1, getpid(), 0));
    larder__peers_answer(entry_of(&rigs[0]));
    assert_asked(rigs, 0, 0);
    down(&rigs[0]);
    down(&rigs[1]);
}

static void one_thread_answers_at_a_time(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct rig rigs[2];
    struct peers *p;

    (void)state;
    giving_up(rigs, "handle_mib:2", path);
    p = entry_of(&rigs[0]);
    assert_int_equal(pthread_mutex_lock(&p->lock), 0);
    ask(rigs, path, MIB(2));
    assert_int_equal(giving.count, 0);
    assert_int_equal(pthread_mutex_unlock(&p->lock), 0);
    larder__peers_answer(p);
    assert_asked(rigs, MIB(2), MIB(2));
    down(&rigs[0]);
    down(&rigs[1]);
}

static uint64_t cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Answering may take as long as work on a stream. */
static void the_thread_sleeps_while_another_answers(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct rig rigs[2];
    struct peers *p;
    uint64_t before;

    (void)state;
    giving_up(rigs, "ledger_thread:True", path);
    p = entry_of(&rigs[0]);
    assert_int_equal(pthread_mutex_lock(&p->lock), 0);
    assert_ok(larder_ledger_trim(path + 1, getpid(), MIB(2)));
    before = cpu_ms();
    nap_ms(500);
    assert_in_range(cpu_ms() - before, 0, 50);
    assert_int_equal(pthread_mutex_unlock(&p->lock), 0);
    for (int i = 0; i < 2000 && ledger_is_asked(p->ledger); i++)
        nap_ms(1);
    assert_false(ledger_is_asked(p->ledger));
    down(&rigs[0]);
    down(&rigs[1]);
    assert_int_equal(giving.count, 2);
}

/* ---- what is trimmed ---------------------------------------------------------------- */

/* Four pages of 2 MiB cached, each a handle. */
static struct rig cached_up(void)
{
    struct rig rig = up("handle_mib:2");

    rig_free(&rig, rig_alloc(&rig, MIB(8)));
    return rig;
}

static uint64_t trimmed(struct rig *rig, uint64_t bytes)
{
    uint64_t before = rig_reserved(rig);
    uint64_t gone = larder__trim_for_peer(of(rig), bytes);

    assert_int_equal(before - rig_reserved(rig), gone);
    return gone;
}

/* What other processes make it release is nobody's call here. */
static void what_others_ask_for_has_no_stack(void **state)
{
    struct rig rig = up("handle_mib:2");
    larder_history_options opt;
    struct event_text events;

    (void)state;
    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_FRAME_POINTERS;
    assert_ok(larder_history_start(rig.a, &opt));
    rig_free(&rig, rig_alloc(&rig, MIB(8)));
    assert_ok(larder_history_clear(rig.a));
    assert_true(trimmed(&rig, MIB(8)) > 0);
    events = events_of(&rig);
    assert_true(events.count > 0);
    assert_int_equal(events.depth_max, 0);
    down(&rig);
}

static void trimming_rounds_up_to_whole_pages(void **state)
{
    static const struct {
        uint64_t asked;
        uint64_t gone;
    } trims[] = {{0, 0},
                 {1, MIB(2)},
                 {MIB(2), MIB(2)},
                 {MIB(2) + 1, MIB(4)},
                 {MIB(8) - 1, MIB(8)},
                 {MIB(8), MIB(8)},
                 {MIB(8) + 1, MIB(8)},
                 {UINT64_MAX, MIB(8)}};

    (void)state;
    for (size_t i = 0; i < sizeof trims / sizeof trims[0]; i++) {
        struct rig rig = cached_up();

        assert_int_equal(trimmed(&rig, trims[i].asked), trims[i].gone);
        down(&rig);
    }
}

/* Not even the device. */
static void trimming_0_bytes_calls_nobody(void **state)
{
    struct rig rig = cached_up();
    larder_addr pending = rig_alloc(&rig, MIB(2));

    (void)state;
    assert_ok(larder_record_stream(rig.a, pending, 3));
    rig_free(&rig, pending);
    assert_ok(larder_device_reset_counters(rig.dev));
    assert_int_equal(trimmed(&rig, 0), 0);
    assert_int_equal(rig_calls(&rig, LARDER_CALL_event_query), 0);
    assert_int_equal(trimmed(&rig, 1), MIB(2));
    assert_true(rig_calls(&rig, LARDER_CALL_event_query) > 0);
    down(&rig);
}

static void nothing_is_trimmed_during_a_capture(void **state)
{
    struct rig rig = cached_up();

    (void)state;
    assert_ok(larder_capture_begin(rig.a));
    assert_int_equal(trimmed(&rig, MIB(8)), 0);
    assert_ok(larder_capture_end(rig.a));
    assert_int_equal(trimmed(&rig, MIB(8)), MIB(8));
    down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_gave_is_not_asked_of_the_next),
        cmocka_unit_test(no_more_is_given_than_is_held_beyond_the_minimum),
        cmocka_unit_test(what_exceeds_a_limit_is_given),
        cmocka_unit_test(one_thread_answers_at_a_time),
        cmocka_unit_test(the_thread_sleeps_while_another_answers),
        cmocka_unit_test(what_others_ask_for_has_no_stack),
        cmocka_unit_test(trimming_rounds_up_to_whole_pages),
        cmocka_unit_test(trimming_0_bytes_calls_nobody),
        cmocka_unit_test(nothing_is_trimmed_during_a_capture),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

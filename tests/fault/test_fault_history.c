/* test_fault_history.c - host memory runs out while history is recorded or a
 * snapshot is written: lost events are counted, files are complete or absent,
 * and the recorded calls themselves succeed. */
#include "support/history_rig.h"

#include <sys/stat.h>
#include <unistd.h>

#include "support/host_faults.h"

/* There is no memory for the list of pools' names. */
static void an_event_without_memory_is_lost_and_counted(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_pool_id id = {3, 0};
    larder_addr p;

    (void)state;
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    p = rig_alloc(&rig, 1000);
    history_on(&rig, 100);
    larder__host_fail(1, 0);
    rig_free(&rig, p);
    larder__host_fail(0, 0);
    assert_events(&rig, "");
    assert_int_equal(history_info(&rig).lost_events, 2);
    rig_alloc(&rig, 1000);
    assert_events(&rig, "alloc +0 1000 pool 3.0; ");
    assert_ok(larder_pool_end(rig.a, id));
    rig_down(&rig);
}

static void a_note_without_memory_is_lost_and_counted(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "");
    larder_addr p;
    struct bytes b;

    (void)state;
    rig_alloc(&rig, 1000);
    history_on(&rig, 100);
    larder_annotate("text");
    larder__host_fail(1, 0);
    p = rig_alloc(&rig, 2000);
    larder__host_fail(0, 0);
    assert_int_equal(history_info(&rig).lost_notes, 1);
    assert_events(&rig, "alloc +1024 2000 'text'; ");
    rig_free(&rig, p);
    rig_alloc(&rig, 3000);
    larder_annotate(NULL);
    assert_int_equal(history_info(&rig).lost_notes, 1);
    b = snapshot_of(&rig, LARDER_SNAPSHOT_JSON);
    assert_non_null(strstr(b.at, "\"requested_size\":3000,\"state\":"
                                 "\"active_allocated\",\"frames\":[],"
                                 "\"user_metadata\":\"text\"}"));
    free(b.at);
    rig_down(&rig);
}

static void starting_without_memory_changes_nothing(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none", "history:5");
    larder_history_options opt;
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;
    unsigned long n;

    (void)state;
    larder_history_options_init(&opt);
    opt.stacks = LARDER_STACKS_FRAME_POINTERS;
    assert_ok(larder_history_clear(rig.a));
    rig_alloc(&rig, 1000);
    for (n = 1; r != LARDER_OK; n++) {
        larder__host_fail(n, 1);
        r = larder_history_start(rig.a, &opt);
        larder__host_fail(0, 0);
        if (r != LARDER_OK) {
            assert_result(LARDER_ERR_NO_HOST_MEMORY, r);
            assert_int_equal(history_info(&rig).max_events, 5);
            assert_int_equal(history_info(&rig).events, 2);
        }
    }
    assert_int_equal(n, 9); /* the ring, stacks, texts and their links */
    assert_int_equal(history_info(&rig).max_events,
                     LARDER_HISTORY_EVENTS_DEFAULT);
    rig_down(&rig);
}

/* The other settings of the same text do not change either. */
static void a_setting_without_memory_changes_nothing(void **state)
{
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;

    (void)state;
    for (unsigned long n = 1; r != LARDER_OK; n++) {
        struct rig rig = rig_up("sim:1GiB,backing=none", "history:5");
        larder_addr p;

        rig_alloc(&rig, 1000);
        larder__host_fail(n, 1);
        r = larder_configure(rig.a, "history:7,limit:4MiB,trim_age:3600");
        larder__host_fail(0, 0);
        assert_int_equal(history_info(&rig).max_events, r == LARDER_OK ? 7 : 5);
        assert_int_equal(history_info(&rig).events, r == LARDER_OK ? 0 : 2);
        assert_result(r == LARDER_OK ? LARDER_ERR_OUT_OF_MEMORY : LARDER_OK,
                      larder_alloc(rig.a, MIB(8), 0, &p));
        if (r != LARDER_OK)
            assert_result(LARDER_ERR_NO_HOST_MEMORY, r);
        rig_down(&rig);
    }
}

/* Each request of a snapshot may fail: then there is no file. */
static void a_snapshot_without_memory_leaves_no_file(void **state)
{
    struct rig rig =
        rig_up("sim:1GiB,backing=none", "history:50,history_stacks:unwind");
    char path[] = "/tmp/larder-fault-XXXXXX";
    char file[64];
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;
    unsigned long n;

    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof file, "%s/a.pickle", path);
    for (int i = 0; i < 40; i++)
        rig_alloc(&rig, MIB(1));
    for (n = 1; r != LARDER_OK; n++) {
        larder__host_fail(n, 1);
        r = larder_snapshot_write(rig.a, file, NULL);
        larder__host_fail(0, 0);
        if (r != LARDER_OK) {
            assert_result(LARDER_ERR_NO_HOST_MEMORY, r);
            assert_int_not_equal(access(file, F_OK), 0);
            assert_int_equal(rmdir(path), 0); /* it is empty */
            assert_int_equal(mkdir(path, 0700), 0);
        }
    }
    assert_true(n > 6);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(path), 0);
    rig_down(&rig);
}

static void a_dump_without_memory_is_counted(void **state)
{
    struct rig rig = rig_up("sim:1GiB,backing=none",
                            "history:50,dump_on_oom:/dev/null.%n.not/x");
    larder_addr p;

    (void)state;
    larder__host_fail(1, 0);
    assert_result(LARDER_ERR_NO_HOST_MEMORY, larder_alloc(rig.a, 1000, 0, &p));
    larder__host_fail(0, 0);
    rig_alloc(&rig, 1000);
    larder__host_fail(1, 0);
    (void)larder_alloc(rig.a, GIB(2), 0, &p);
    larder__host_fail(0, 0);
    assert_result(LARDER_ERR_OUT_OF_MEMORY, larder_alloc(rig.a, GIB(2), 0, &p));
    assert_words("Tried to allocate 2.00 GiB");
    assert_int_equal(history_info(&rig).dumps, 0);
    assert_true(history_info(&rig).failed_dumps > 0);
    rig_down(&rig);
}

static int end_faults(void **state)
{
    larder_annotate(NULL);
    return end_host_faults(state);
}

#define TEST(name) cmocka_unit_test_teardown(name, end_faults)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_event_without_memory_is_lost_and_counted),
        TEST(a_note_without_memory_is_lost_and_counted),
        TEST(starting_without_memory_changes_nothing),
        cmocka_unit_test(a_setting_without_memory_changes_nothing),
        TEST(a_snapshot_without_memory_leaves_no_file),
        TEST(a_dump_without_memory_is_counted),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_peers.c - processes on one device: one gets what another caches, for a
 * request, a region or a tag. */
#include "peers_rig.h"

#include <pthread.h>

#include <larder/region.h>
#include <larder/tag.h>

#include "support/clock.h"
#include "support/policies.h"

/* ---- releasing for others ---------------------------------------------------- */

static void an_idle_process_gives_its_cache_by_its_thread(void **state)
{
    (void)state;
    for (int i = 0; i < CACHING; i++) {
        struct rig rig = rig_on("64MiB", policies[i], "ask_budget_ms:10000");
        struct other o = other_start("64MiB", "ledger_thread:True");
        larder_addr addr;

        assert_int_equal(other_do(&o, "aaaaaf"), 'y');
        assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
        assert_ok(larder_free(rig.a, addr));
        other_leave(&o);
        rig_end(&rig);
    }
}

static void a_process_that_only_hits_gives_at_its_next_request(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:20000");
    struct other o = other_start("64MiB", "");
    larder_addr addr = 0;
    pid_t pid;
    int status;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaft"), 'y');
    /* A third process commands it to make one request, some time after it was
     * asked. */
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        nap_ms(100);
        _exit(write(o.tell, "t", 1) == 1 ? 0 : 1);
    }
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(other_hear(&o), 'y');
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

/* How long 48 MiB are refused. */
static uint64_t refused_ms(struct rig *rig)
{
    uint64_t begin = now_ms();
    larder_addr addr;

    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, MIB(48), 0, &addr));
    return now_ms() - begin;
}

/* The budget is more than a busy machine needs for a request. */
static void a_process_that_does_not_answer_is_waited_for_once(void **state)
{
    enum { BUDGET_MS = 2000 };
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:2000");
    struct other o = other_start("64MiB", "");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaf"), 'y');
    assert_true(refused_ms(&rig) >= BUDGET_MS);
    nap_ms(10);
    assert_true(refused_ms(&rig) < BUDGET_MS);
    assert_int_equal(other_do(&o, "t"), 'y'); /* it has answered by now */
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

static void no_process_is_asked_for_more_than_the_device_has(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    struct other o = other_start("64MiB", "");
    uint64_t begin = now_ms();
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaf"), 'y');
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(65), 0, &addr));
    assert_true(now_ms() - begin < 5000);
    other_leave(&o);
    rig_end(&rig);
}

static void *allocate_too_much(void *ctx)
{
    struct rig *rig = ctx;
    larder_addr addr;

    return larder_alloc(rig->a, MIB(48), 0, &addr) == LARDER_ERR_OUT_OF_MEMORY
               ? NULL
               : rig;
}

/* The locks are dropped meanwhile. */
static void the_pool_of_a_request_may_go_while_others_are_asked(void **state)
{
    const larder_pool_id id = {7, 7};
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:1000");
    struct other o = other_start("64MiB", "");
    larder_pool_info info = {.size = sizeof info};
    pthread_t thread;
    void *failed;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaf"), 'y');
    assert_ok(larder_pool_begin(rig.a, id, NULL, NULL));
    assert_int_equal(pthread_create(&thread, NULL, allocate_too_much, &rig), 0);
    nap_ms(300);
    assert_ok(larder_pool_end(rig.a, id));
    assert_ok(larder_pool_release(rig.a, id));
    assert_ok(larder_empty_cache(rig.a));
    assert_result(LARDER_ERR_UNKNOWN_POOL,
                  larder_pool_info_get(rig.a, id, &info));
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    other_leave(&o);
    rig_end(&rig);
}

/* ---- regions and tags -------------------------------------------------------- */

static struct other other_with_a_cache(void)
{
    struct other o = other_start("64MiB", "ledger_thread:True");

    assert_int_equal(other_do(&o, "aaaaf"), 'y');
    return o;
}

static void a_region_commits_memory_that_others_cache(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    struct other o = other_with_a_cache();
    larder_region *kv;

    (void)state;
    assert_ok(larder_region_create(rig.a, MIB(64), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, MIB(24)));
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    assert_ok(larder_region_commit(kv, MIB(24), MIB(32)));
    assert_int_equal(rig_stats(&rig).num_ooms, 0);
    assert_ok(larder_region_set_limit(kv, MIB(58)));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_region_commit(kv, MIB(56), MIB(8)));
    assert_int_equal(rig_stats(&rig).num_ooms, 1);
    assert_ok(larder_region_destroy(kv));
    other_leave(&o);
    rig_end(&rig);
}

static void a_region_wakes_with_memory_that_others_cache(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    larder_region *kv;
    struct other o;

    (void)state;
    assert_ok(larder_region_create(rig.a, MIB(64), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, MIB(48)));
    assert_ok(larder_region_pause(kv, LARDER_PAUSE_DROP));
    o = other_with_a_cache();
    assert_ok(larder_region_resume(kv));
    assert_ok(larder_region_destroy(kv));
    other_leave(&o);
    rig_end(&rig);
}

static void a_tag_resumes_with_memory_that_others_cache(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    larder_addr addr;
    struct other o;

    (void)state;
    assert_ok(larder_tag_begin(rig.a, "weights"));
    assert_ok(larder_alloc(rig.a, MIB(40), 0, &addr));
    assert_ok(larder_tag_end(rig.a));
    assert_ok(larder_pause(rig.a, "weights", LARDER_PAUSE_DROP));
    o = other_with_a_cache();
    assert_ok(larder_resume(rig.a, "weights"));
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

/* A program whose only calls are commits answers too. */
static void a_commit_answers_other_processes(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    struct other o = other_start("64MiB", "ask_budget_ms:10000");
    larder_region *kv;

    (void)state;
    assert_ok(larder_region_create(rig.a, MIB(64), NULL, &kv));
    assert_ok(larder_region_commit(kv, 0, MIB(48)));
    assert_ok(larder_region_decommit(kv, 0, MIB(48)));
    assert_int_equal(other_do(&o, "aa"), 'y');
    other_tell(&o, 'a');
    for (int ms = 0; ms < 5000; ms++) {
        assert_ok(larder_region_commit(kv, 0, 2 << 20));
        assert_ok(larder_region_decommit(kv, 0, 2 << 20));
        nap_ms(1);
        if (is_heard(&o))
            break;
    }
    assert_int_equal(other_hear(&o), 'y');
    assert_ok(larder_region_destroy(kv));
    other_leave(&o);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_process_gives_its_cache_by_its_thread),
        cmocka_unit_test(a_process_that_only_hits_gives_at_its_next_request),
        cmocka_unit_test(a_process_that_does_not_answer_is_waited_for_once),
        cmocka_unit_test(no_process_is_asked_for_more_than_the_device_has),
        cmocka_unit_test(the_pool_of_a_request_may_go_while_others_are_asked),
        cmocka_unit_test(a_region_commits_memory_that_others_cache),
        cmocka_unit_test(a_region_wakes_with_memory_that_others_cache),
        cmocka_unit_test(a_tag_resumes_with_memory_that_others_cache),
        cmocka_unit_test(a_commit_answers_other_processes),
    };

    peers_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_peer_limits.c - processes on one device: minimums are kept and limits
 * hold, also those that are set from outside. */
#include "peers_rig.h"

#include <pthread.h>

#include <larder/history.h>
#include <larder/ledger.h>

#include "support/clock.h"
#include "support/policies.h"

/* ---- minima ------------------------------------------------------------------ */

static void a_minimum_is_kept_for_its_process(void **state)
{
    static const int fits[] = {5, 4, 5}; /* segments of 20 MiB: two blocks */

    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_on("64MiB", policies[i], "ask_budget_ms:0");
        struct other o = other_start("64MiB", "minimum:24MiB");
        larder_addr addr[8];
        int count = 0;

        while (count < 8 &&
               larder_alloc(rig.a, MIB(8), 0, &addr[count]) == LARDER_OK)
            count++;
        assert_int_equal(count, fits[i]);
        if (policies[i] == LARDER_POLICY_LARDER)
            assert_words("what is kept for other processes");
        assert_int_equal(other_do(&o, "aaa"), 'y');
        assert_int_equal(other_do(&o, "a"), 'n');
        while (count > 0)
            assert_ok(larder_free(rig.a, addr[--count]));
        other_leave(&o);
        rig_end(&rig);
    }
}

static void cached_memory_within_the_minimum_is_not_released(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:10000");
    struct other o = other_start("64MiB", "minimum:24MiB,ledger_thread:True");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaf"), 'y');
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(42), 0, &addr));
    assert_ok(larder_alloc(rig.a, MIB(40), 0, &addr));
    assert_int_equal(other_do(&o, "aaa"), 'y');
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

static void a_killed_process_keeps_no_minimum(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    struct other o = other_start("64MiB", "minimum:24MiB");
    larder_addr addr;

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(48), 0, &addr));
    other_kill(&o);
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    rig_end(&rig);
}

static void *kill_soon(void *ctx)
{
    nap_ms(100);
    kill(((struct other *)ctx)->pid, SIGKILL);
    return NULL;
}

/* It dies while its answer is awaited: it released nothing, but its memory
 * became free. */
static void memory_of_a_process_killed_while_asked_is_available(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:60000");
    struct other o = other_start("64MiB", "");
    larder_addr addr;
    pthread_t thread;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaa"), 'y');
    assert_int_equal(pthread_create(&thread, NULL, kill_soon, &o), 0);
    assert_ok(larder_alloc(rig.a, MIB(32), 0, &addr));
    assert_int_equal(pthread_join(thread, NULL), 0);
    other_kill(&o);
    assert_ok(larder_free(rig.a, addr));
    rig_end(&rig);
}

static void a_minimum_is_granted_from_a_process_killed_meanwhile(void **state)
{
    struct other o = other_start("64MiB", "");
    struct rig rig;
    larder_addr addr;
    pthread_t thread;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaa"), 'y');
    assert_int_equal(pthread_create(&thread, NULL, kill_soon, &o), 0);
    rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                 "minimum:48MiB,ask_budget_ms:60000");
    assert_int_equal(pthread_join(thread, NULL), 0);
    other_kill(&o);
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    rig_end(&rig);
}

static void a_minimum_that_is_not_there_is_refused(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    larder_addr addr;
    larder_allocator *a = NULL;
    larder_options opt;
    struct other o;

    (void)state;
    assert_ok(larder_alloc(rig.a, MIB(40), 0, &addr));
    o = other_start("64MiB", "");
    assert_ok(larder_configure(rig.a, "minimum:60MiB"));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_configure(rig.a, "minimum:66MiB"),
                   "the device lacks 2097152 bytes");
    assert_ok(larder_configure(rig.a, "minimum:0"));
    assert_int_equal(other_do(&o, "aaf"), 'y'); /* it caches 16 MiB */
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_configure(rig.a, "minimum:60MiB"), "lacks");
    larder_options_init(&opt);
    opt.conf = "minimum:60MiB,ask_budget_ms:50";
    assert_refused(LARDER_ERR_OUT_OF_MEMORY, larder_create(rig.dev, &opt, &a),
                   "cannot be kept");
    assert_null(a);
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

static void a_new_process_is_given_its_minimum_by_those_that_cache(void **state)
{
    struct other o = other_start("64MiB", "ledger_thread:True");
    struct rig rig;
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaaaaaf"), 'y'); /* it caches 48 MiB */
    rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                 "minimum:32MiB,ask_budget_ms:10000");
    assert_int_equal(other_do(&o, "aaaa"), 'y');
    assert_int_equal(other_do(&o, "a"), 'n');
    assert_ok(larder_alloc(rig.a, MIB(32), 0, &addr));
    assert_ok(larder_free(rig.a, addr));
    other_leave(&o);
    rig_end(&rig);
}

/* ---- limits ------------------------------------------------------------------ */

static void a_process_limit_counts_all_its_allocators(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "process_limit:24MiB");
    larder_allocator *second;
    larder_options opt;
    larder_addr addr[3];

    (void)state;
    larder_options_init(&opt);
    opt.policy = LARDER_POLICY_PYTORCH;
    opt.conf = "";
    assert_ok(larder_create(rig.dev, &opt, &second));
    assert_ok(larder_alloc(rig.a, MIB(10), 0, &addr[0]));
    assert_ok(larder_alloc(second, MIB(10), 0, &addr[1]));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(10), 0, &addr[2]), "process_limit");
    assert_ok(larder_configure(second, "process_limit:32MiB"));
    assert_ok(larder_alloc(rig.a, MIB(10), 0, &addr[2]));
    assert_ok(larder_configure(second, "process_limit:0"));
    assert_ok(larder_destroy(second));
    rig_end(&rig);
}

/* The message is the same under every policy, for each kind of limit. */
static void the_message_names_the_ledger_s_limit(void **state)
{
    static const struct {
        const char *conf;
        const char *words;
    } limits[] = {
        {"process_limit:24MiB", "Why: the limit of this process "
                                "(process_limit) leaves too little."},
        {"group_limit:24MiB,ask_budget_ms:0",
         "Why: the limit of all processes together (group_limit) leaves too "
         "little."},
    };

    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        for (int k = 0; k < 2; k++) {
            struct rig rig = rig_on("64MiB", policies[i], limits[k].conf);
            larder_addr addr;

            assert_ok(larder_alloc(rig.a, MIB(10), 0, &addr));
            assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                           larder_alloc(rig.a, MIB(20), 0, &addr),
                           limits[k].words);
            rig_end(&rig);
        }
    }
}

static void a_minimum_of_others_is_named(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct other o = other_start("64MiB", "minimum:48MiB");
        struct rig rig = rig_on("64MiB", policies[i], "ask_budget_ms:0");
        larder_addr addr;

        assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                       larder_alloc(rig.a, MIB(20), 0, &addr),
                       "Why: what is kept for other processes (minimum) leaves "
                       "too little.");
        rig_end(&rig);
        other_leave(&o);
    }
}

static void a_group_limit_counts_all_processes(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                            "group_limit:32MiB,ask_budget_ms:10000");
    struct other o = other_start("64MiB", "ledger_thread:True");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aa"), 'y');
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(18), 0, &addr), "group_limit");
    assert_int_equal(other_do(&o, "f"), 'y'); /* it caches, and releases */
    assert_ok(larder_alloc(rig.a, MIB(18), 0, &addr));
    assert_int_equal(other_do(&o, "aa"), 'n');
    other_leave(&o);
    rig_end(&rig);
}

/* What a limit leaves, counting all held memory and contexts, can be allocated
 * to the last byte, and no more. */
static void take_what_is_left(struct rig *rig, uint64_t limit_bytes)
{
    larder_sim_usage usage = {.size = sizeof usage};
    uint64_t left;
    larder_addr addr;

    /* The first allocation creates the context. */
    assert_ok(larder_alloc(rig->a, MIB(2), 0, &addr));
    assert_ok(larder_sim_get_usage(rig->dev, &usage));
    left = limit_bytes - usage.used_bytes;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig->a, left + MIB(2), 0, &addr));
    assert_ok(larder_alloc(rig->a, left, 0, &addr));
    assert_ok(larder_sim_get_usage(rig->dev, &usage));
    assert_int_equal(usage.used_bytes, limit_bytes);
}

static void limits_are_exact_and_count_contexts(void **state)
{
    struct rig rig = rig_on("64MiB,context=2MiB", LARDER_POLICY_DIRECT,
                            "process_limit:24MiB");

    (void)state;
    take_what_is_left(&rig, MIB(24));
    rig_end(&rig);
}

/* Memory released by others would not help. */
static void a_process_over_its_own_limit_asks_nobody(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER,
                            "process_limit:8MiB,ask_budget_ms:10000");
    struct other o = other_start("64MiB", "ledger_thread:True");
    larder_sim_usage before = {.size = sizeof before};
    larder_sim_usage after = {.size = sizeof after};
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&o, "aaf"), 'y'); /* it caches 16 MiB */
    assert_ok(larder_sim_get_usage(rig.dev, &before));
    assert_refused(LARDER_ERR_OUT_OF_MEMORY,
                   larder_alloc(rig.a, MIB(10), 0, &addr), "process_limit");
    assert_ok(larder_sim_get_usage(rig.dev, &after));
    assert_int_equal(after.used_bytes - after.self_bytes,
                     before.used_bytes - before.self_bytes);
    other_leave(&o);
    rig_end(&rig);
}

static void the_least_group_limit_is_exact_and_counts_contexts(void **state)
{
    struct rig rig = rig_on("64MiB,context=2MiB", LARDER_POLICY_DIRECT,
                            "group_limit:32MiB,ask_budget_ms:1");
    struct other o = other_start("64MiB,context=2MiB", "group_limit:48MiB");

    (void)state;
    assert_int_equal(other_do(&o, "a"), 'y');
    take_what_is_left(&rig, MIB(32));
    other_leave(&o);
    rig_end(&rig);
}

/* ---- limits from outside ----------------------------------------------------- */

struct seen {
    const char *id;
    int64_t pid;
    larder_ledger_process process; /* with that number; pid 0: none */
};

static void see(void *ctx, const larder_ledger_device *device,
                const larder_ledger_process *processes, size_t count)
{
    struct seen *seen = ctx;

    if (strcmp(device->id, seen->id) != 0)
        return;
    assert_int_equal(device->total_bytes, MIB(64));
    assert_true(device->is_simulated);
    for (size_t i = 0; i < count; i++) {
        if (processes[i].pid == seen->pid)
            seen->process = processes[i];
    }
}

static larder_ledger_process process_of(const char *id, int64_t pid)
{
    struct seen seen = {.id = id, .pid = pid};

    assert_ok(larder_ledger_each(see, &seen));
    assert_int_equal(seen.process.pid, pid);
    return seen.process;
}

static void who_looks_can_have_a_process_give_back_and_keep_to_a_limit(
    void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct other o = other_start(
        "64MiB", "minimum:8MiB,process_limit:60MiB,group_limit:62MiB");
    larder_ledger_process p;

    (void)state;
    ledger_path(path, false);
    assert_int_equal(other_do(&o, "aaaaaft"), 'y');
    p = process_of(path + 1, o.pid);
    assert_int_equal(p.reserved_bytes, MIB(40));
    assert_int_equal(p.minimum_bytes, MIB(8));
    assert_int_equal(p.limit_bytes, MIB(60));
    assert_int_equal(p.group_limit_bytes, MIB(62));
    assert_true(p.is_own && !p.is_self);
    assert_int_equal(other_do(&o, "t"), 'y'); /* it was asked what it uses */
    /* The free of the megabyte of 't' need not be told. */
    assert_true(process_of(path + 1, o.pid).in_use_bytes <= MIB(1));
    assert_ok(larder_ledger_trim(path + 1, o.pid, MIB(16)));
    assert_int_equal(other_do(&o, "t"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(24));
    assert_ok(larder_ledger_limit(path + 1, o.pid, MIB(16)));
    assert_int_equal(other_do(&o, "t"), 'y');
    p = process_of(path + 1, o.pid);
    assert_int_equal(p.reserved_bytes, MIB(16));
    assert_int_equal(p.limit_bytes, MIB(16));
    assert_int_equal(other_do(&o, "aaa"), 'n');
    assert_ok(larder_ledger_limit(path + 1, o.pid, 0));
    assert_int_equal(other_do(&o, "ta"), 'y');
    assert_refused(LARDER_ERR_INVALID,
                   larder_ledger_trim(path + 1, getpid(), 1), "has no process");
    assert_refused(LARDER_ERR_INVALID, larder_ledger_trim("x", o.pid, 1),
                   "'x' is no ledger's id");
    other_leave(&o);
    assert_refused(LARDER_ERR_INVALID, larder_ledger_trim(path + 1, o.pid, 1),
                   "there is no");
}

/* Its context counts. */
static void a_limit_set_in_the_ledger_counts_the_context(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct other o = other_start("64MiB,context=2MiB", "");

    (void)state;
    ledger_path(path, false);
    assert_int_equal(other_do(&o, "aaaft"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(24));
    assert_ok(larder_ledger_limit(path + 1, o.pid, MIB(16)));
    assert_int_equal(other_do(&o, "t"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(14));
    other_leave(&o);
}

/* A process that is asked releases what it caches, but not its minimum. */
static void a_process_asked_keeps_its_minimum(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct other o = other_start("64MiB", "minimum:16MiB");
    larder_addr addr;
    struct rig rig;

    (void)state;
    ledger_path(path, false);
    assert_int_equal(other_do(&o, "aaaaaf"), 'y');
    assert_ok(larder_ledger_trim(path + 1, o.pid, MIB(64)));
    assert_int_equal(other_do(&o, "t"), 'y');
    assert_int_equal(process_of(path + 1, o.pid).reserved_bytes, MIB(16));
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    assert_ok(larder_alloc(rig.a, MIB(48), 0, &addr));
    rig_end(&rig);
    other_leave(&o);
}

/* A dead process keeps nothing: the next request for a minimum finds its
 * share. */
static void a_minimum_of_the_dead_is_granted(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "ask_budget_ms:0");
    struct other o = other_start("64MiB", "minimum:48MiB");

    (void)state;
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_configure(rig.a, "minimum:40MiB"));
    other_kill(&o);
    assert_ok(larder_configure(rig.a, "minimum:40MiB"));
    rig_end(&rig);
}

/* Nor does what the same text sets besides. */
static void a_minimum_that_is_refused_changes_nothing(void **state)
{
    struct rig rig = rig_on("64MiB", LARDER_POLICY_LARDER, "history:50");
    larder_history_info info = {.size = sizeof info};
    larder_addr addr;

    (void)state;
    assert_ok(larder_alloc(rig.a, MIB(8), 0, &addr));
    assert_result(
        LARDER_ERR_OUT_OF_MEMORY,
        larder_configure(rig.a, "history:7,limit:4MiB,minimum:65MiB"));
    assert_ok(larder_history_get(rig.a, &info));
    assert_int_equal(info.max_events, 50);
    assert_int_not_equal(info.events, 0);
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_configure(rig.a, "history:0,minimum:65MiB"));
    assert_ok(larder_history_get(rig.a, &info));
    assert_int_equal(info.max_events, 50);
    assert_ok(larder_free(rig.a, addr));
    assert_ok(larder_configure(rig.a, "history:0,minimum:1MiB"));
    assert_ok(larder_history_get(rig.a, &info));
    assert_int_equal(info.max_events, 0);
    rig_end(&rig);
}

/* Others without a ledger may leave too little for all minimums: each process
 * still gets its own as far as there is memory. */
static void a_process_has_its_own_minimum_first(void **state)
{
    struct rig rig =
        rig_on("64MiB", LARDER_POLICY_LARDER, "minimum:24MiB,ask_budget_ms:0");
    struct other o = other_start("64MiB", "minimum:24MiB");
    struct other outsider = other_start("64MiB", "ledger:off");
    larder_addr addr;

    (void)state;
    assert_int_equal(other_do(&outsider, "aaaaa"), 'y');
    assert_ok(larder_alloc(rig.a, MIB(16), 0, &addr));
    assert_result(LARDER_ERR_OUT_OF_MEMORY,
                  larder_alloc(rig.a, MIB(10), 0, &addr));
    other_leave(&outsider);
    other_leave(&o);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_minimum_is_kept_for_its_process),
        cmocka_unit_test(cached_memory_within_the_minimum_is_not_released),
        cmocka_unit_test(a_killed_process_keeps_no_minimum),
        cmocka_unit_test(memory_of_a_process_killed_while_asked_is_available),
        cmocka_unit_test(a_minimum_is_granted_from_a_process_killed_meanwhile),
        cmocka_unit_test(a_minimum_that_is_not_there_is_refused),
        cmocka_unit_test(
            a_new_process_is_given_its_minimum_by_those_that_cache),
        cmocka_unit_test(a_process_limit_counts_all_its_allocators),
        cmocka_unit_test(the_message_names_the_ledger_s_limit),
        cmocka_unit_test(a_minimum_of_others_is_named),
        cmocka_unit_test(a_group_limit_counts_all_processes),
        cmocka_unit_test(limits_are_exact_and_count_contexts),
        cmocka_unit_test(a_process_over_its_own_limit_asks_nobody),
        cmocka_unit_test(the_least_group_limit_is_exact_and_counts_contexts),
        cmocka_unit_test(
            who_looks_can_have_a_process_give_back_and_keep_to_a_limit),
        cmocka_unit_test(a_limit_set_in_the_ledger_counts_the_context),
        cmocka_unit_test(a_process_asked_keeps_its_minimum),
        cmocka_unit_test(a_minimum_of_the_dead_is_granted),
        cmocka_unit_test(a_minimum_that_is_refused_changes_nothing),
        cmocka_unit_test(a_process_has_its_own_minimum_first),
    };

    peers_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

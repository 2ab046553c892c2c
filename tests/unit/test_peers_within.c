/* test_peers_within.c - what the allocators of one process share on a device
 * that others use too: an entry in its ledger, which comes with the first and
 * goes with the last of them, and answers for all. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/trim/trim.h"
#include "support/host_faults.h"
#include "within_rig.h"

static void refused(const char *conf, larder_result want, const char *words)
{
    struct rig rig = on_device(0, conf, want);

    if (want == LARDER_OK)
        assert_ok(larder_destroy(rig.a));
    else
        assert_words(words);
    assert_ok(larder_device_close(rig.dev));
}

/* ---- the ledger ------------------------------------------------------------------ */

static bool ledger_exists(const char *path)
{
    int fd = shm_open(path, O_RDONLY, 0);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

struct seen {
    const char *id;
    uint64_t in_use_bytes;
};

static void see(void *ctx, const larder_ledger_device *device,
                const larder_ledger_process *processes, size_t count)
{
    struct seen *seen = ctx;

    for (size_t i = 0; strcmp(device->id, seen->id) == 0 && i < count; i++) {
        if (processes[i].is_self)
            seen->in_use_bytes = processes[i].in_use_bytes;
    }
}

/* Of this process, as the ledger has it. */
static uint64_t told_in_use(struct rig *rig)
{
    char path[SHARED_NAME_MAX + 1];
    struct seen seen = {.in_use_bytes = 99};

    ledger_path(rig, path);
    seen.id = path + 1;
    assert_ok(larder_ledger_each(see, &seen));
    return seen.in_use_bytes;
}

/* A device on which what may stay untold is a small part. */
static struct rig up_roomy(const char *conf)
{
    char spec[SHARED_NAME_MAX + 64];

    snprintf(spec, sizeof spec, "sim:512MiB,backing=none,shared=%s-roomy",
             unique_name("within"));
    return rig_up_policy(spec, LARDER_POLICY_LARDER, conf);
}

/* Whatever it did last: it may make no other call for hours. */
static void an_idle_process_is_told_of_as_it_is(void **state)
{
    static const char *const policies[] = {"", "pytorch:2.6"};

    (void)state;
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct rig rig = up_roomy(policies[i]);
        larder_addr held[3];

        for (int k = 0; k < 3; k++) {
            assert_ok(larder_alloc(rig.a, MIB(80), 0, &held[k]));
            assert_int_equal(told_in_use(&rig), MIB(80 * (k + 1)));
        }
        assert_ok(larder_free(rig.a, held[1]));
        assert_int_equal(told_in_use(&rig), MIB(160));
        assert_ok(larder_alloc(rig.a, MIB(70), 0, &held[1])); /* of the cache */
        assert_int_equal(told_in_use(&rig), MIB(230));
        for (int k = 3; k-- > 0;)
            assert_ok(larder_free(rig.a, held[k]));
        assert_int_equal(told_in_use(&rig), 0);
        assert_ok(larder_destroy(rig.a));
        assert_ok(larder_device_close(rig.dev));
    }
}

/* ---- coming and going -------------------------------------------------------------- */

enum { MEMBERS = 3, ORDERS = 6 };

static const int orders[ORDERS][MEMBERS] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                            {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* Those that are left, the last one that came first. */
static void assert_members(const struct peers *p, struct rig *rigs)
{
    const struct allocator *a = p->first;
    long count = 0;

    for (int i = MEMBERS; i-- > 0;) {
        if (rigs[i].a == NULL)
            continue;
        assert_ptr_equal(a, of(&rigs[i]));
        a = a->peers_next;
        count++;
    }
    assert_null(a);
    assert_int_equal(p->users, count);
}

static void the_allocators_of_a_device_share_an_entry(void **state)
{
    (void)state;
    for (int o = 0; o < ORDERS; o++) {
        struct rig rigs[MEMBERS] = {up(""), up("ledger:on"), up("")};
        char path[SHARED_NAME_MAX + 1];

        ledger_path(&rigs[0], path);
        for (int k = 0; k < MEMBERS; k++) {
            struct rig *one = &rigs[orders[o][k]];
            struct peers *p = entry_of(one);

            assert_non_null(p);
            assert_members(p, rigs);
            assert_ok(larder_destroy(one->a));
            one->a = NULL;
            if (k < MEMBERS - 1)
                assert_members(p, rigs);
            assert_int_equal(ledger_exists(path), k < MEMBERS - 1);
        }
        for (int k = 0; k < MEMBERS; k++)
            assert_ok(larder_device_close(rigs[k].dev));
    }
}

static struct ledger *join_again(const struct peers *p)
{
    struct ledger *l;

    assert_ok(larder__ledger_open(&p->spec, NULL, &l));
    return l;
}

/* Who was asked has left, and its place is another's, who was asked nothing. */
static void who_takes_a_place_over_owes_no_answer(void **state)
{
    struct rig rig = up("");
    struct ledger *own = entry_of(&rig)->ledger;
    struct ledger *other = join_again(entry_of(&rig));
    ptrdiff_t place = other->self - other->page->slots;
    struct ledger_round round;
    uint64_t given;

    (void)state;
    assert_int_equal(larder__ledger_claim(other, MIB(4)), LEDGER_GRANTED);
    larder__ledger_settle(other, MIB(4), true);
    assert_int_equal(larder__ledger_ask(own, MIB(4), false, 1000, &round), 1);
    assert_false(larder__ledger_is_answered(own, &round, &given));
    larder__ledger_close(other);
    other = join_again(entry_of(&rig));
    assert_int_equal(other->self - other->page->slots, place);
    assert_true(larder__ledger_is_answered(own, &round, &given));
    assert_int_equal(given, 0);
    larder__ledger_close(other);
    down(&rig);
}

/* In whatever order they end, the others are found by who comes next. */
static void each_device_has_an_entry_of_its_own(void **state)
{
    (void)state;
    for (int o = 0; o < ORDERS; o++) {
        struct rig rigs[MEMBERS];
        struct peers *entries[MEMBERS];

        for (int i = 0; i < MEMBERS; i++) {
            rigs[i] = on_device(i, "", LARDER_OK);
            entries[i] = entry_of(&rigs[i]);
            for (int k = 0; k < i; k++)
                assert_ptr_not_equal(entries[i], entries[k]);
        }
        for (int k = 0; k < MEMBERS; k++) {
            down(&rigs[orders[o][k]]);
            for (int left = k + 1; left < MEMBERS; left++) {
                int number = orders[o][left];
                struct rig more = on_device(number, "", LARDER_OK);

                assert_ptr_equal(entry_of(&more), entries[number]);
                assert_int_equal(entries[number]->users, 2);
                down(&more);
            }
        }
    }
}

static uint64_t asked_for_free_bytes(const struct rig *rig)
{
    larder_device_counters n = {.size = sizeof n};

    assert_ok(larder_device_get_counters(rig->dev, &n));
    return n.calls[LARDER_CALL_mem_info];
}

/* How much is free is asked of a device that is still open, whoever came first. */
static void a_device_that_was_closed_is_not_asked(void **state)
{
    (void)state;
    for (int o = 0; o < ORDERS; o++) {
        struct rig rigs[MEMBERS] = {up(""), up(""), up("")};

        for (int k = 0; k + 1 < MEMBERS; k++) {
            const struct rig *left = &rigs[orders[o][k + 1]];
            uint64_t asked = 0;
            char conf[64];

            down(&rigs[orders[o][k]]);
            (void)snprintf(conf, sizeof conf, "minimum:%dMiB", k + 1);
            for (int i = k + 1; i < MEMBERS; i++)
                asked -= asked_for_free_bytes(&rigs[orders[o][i]]);
            assert_ok(larder_configure(left->a, conf));
            for (int i = k + 1; i < MEMBERS; i++)
                asked += asked_for_free_bytes(&rigs[orders[o][i]]);
            assert_int_equal(asked, 1);
        }
        down(&rigs[orders[o][MEMBERS - 1]]);
    }
}

/* A group's ledger is another than the user's. */
static void a_group_has_an_entry_of_its_own(void **state)
{
    char conf[64];
    struct rig own = up("");
    struct rig group[2];

    (void)state;
    (void)snprintf(conf, sizeof conf, "ledger_group:%lu",
                   (unsigned long)getegid());
    group[0] = up(conf);
    group[1] = up(conf);
    assert_ptr_not_equal(entry_of(&own), entry_of(&group[0]));
    assert_ptr_equal(entry_of(&group[0]), entry_of(&group[1]));
    assert_int_equal(entry_of(&group[0])->spec.group, getegid());
    down(&group[0]);
    down(&own);
    down(&group[1]);
}

static void a_group_is_a_number_or_a_name(void **state)
{
    static const char *const none[] = {"0x0", "0.", "-0", ":0", "/0"};
    const struct group *found = getgrgid(getegid());
    char conf[128];

    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct rig rig;

        (void)snprintf(conf, sizeof conf, "ledger_group:%s", none[i]);
        rig = on_device(0, conf, LARDER_ERR_CONF);
        assert_ok(larder_device_close(rig.dev));
    }
    if (found != NULL) {
        struct rig rig;

        (void)snprintf(conf, sizeof conf, "ledger_group:%s", found->gr_name);
        rig = up(conf);
        assert_int_equal(entry_of(&rig)->spec.group, getegid());
        down(&rig);
    }
}

struct answering {
    struct peers *peers;
    atomic_bool is_over;
};

static void *answer(void *ctx)
{
    struct answering *all = ctx;

    while (!atomic_load(&all->is_over))
        larder__peers_answer(all->peers);
    return NULL;
}

/* Over its limit, the process gives back whatever it can, at any time. */
static void what_is_destroyed_does_not_give(void **state)
{
    struct rig stays = up("");
    struct answering all = {.peers = entry_of(&stays)};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, answer, &all), 0);
    for (int round = 0; round < 200; round++) {
        struct rig rig = up("process_limit:64MiB");
        larder_addr at[8];

        for (int i = 0; i < 8; i++)
            at[i] = rig_alloc(&rig, MIB(3));
        for (int i = 0; i < 8; i += 2)
            rig_free(&rig, at[i]);
        assert_ok(larder_configure(rig.a, "process_limit:1MiB"));
        down(&rig);
    }
    atomic_store(&all.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    down(&stays);
}

/* ---- failures ---------------------------------------------------------------------- */

/* A file that others could have made stands where the ledger would be. */
static void only_settings_that_need_a_ledger_fail_without(void **state)
{
    static const char *const wanting[] = {"ledger:on", "minimum:1MiB",
                                          "process_limit:60MiB",
                                          "group_limit:60MiB"};
    struct rig rig = up("");
    char path[SHARED_NAME_MAX + 1];
    int fd;

    (void)state;
    ledger_path(&rig, path);
    down(&rig);
    fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0666), 0);
    for (size_t i = 0; i < sizeof wanting / sizeof wanting[0]; i++) {
        char conf[128];

        refused(wanting[i], LARDER_ERR_SYSTEM, "is open to other users");
        (void)snprintf(conf, sizeof conf, "%s,ledger:off", wanting[i]);
        refused(conf, LARDER_OK, "");
    }
    rig = up("");
    assert_null(entry_of(&rig));
    assert_null(of(&rig)->shards.bell);
    assert_ok(larder_configure(rig.a, "ledger_thread:True"));
    down(&rig);
    close(fd);
    assert_int_equal(shm_unlink(path), 0);
}

static void an_allocator_that_is_refused_leaves_no_trace(void **state)
{
    struct rig rig = up("");
    char path[SHARED_NAME_MAX + 1];

    (void)state;
    ledger_path(&rig, path);
    refused("minimum:65MiB", LARDER_ERR_OUT_OF_MEMORY,
            "minimum: 68157440 bytes cannot be kept: beside the minimums of "
            "other processes the device lacks");
    assert_int_equal(entry_of(&rig)->users, 1);
    assert_ptr_equal(entry_of(&rig)->first, of(&rig));
    down(&rig);
    assert_false(ledger_exists(path));
    refused("minimum:65MiB", LARDER_ERR_OUT_OF_MEMORY, "cannot be kept");
    assert_false(ledger_exists(path));
}

/* Whichever request for host memory fails. */
static void an_allocator_without_host_memory_leaves_no_trace(void **state)
{
    struct rig rig = up("");
    char path[SHARED_NAME_MAX + 1];
    larder_result r = LARDER_ERR_NO_HOST_MEMORY;

    (void)state;
    ledger_path(&rig, path);
    assert_ok(larder_destroy(rig.a));
    for (unsigned long nth = 1; r != LARDER_OK; nth++) {
        assert_false(ledger_exists(path));
        larder__host_fail(nth, 1);
        r = larder_create(rig.dev, NULL, &rig.a);
        larder__host_fail(0, 0);
        assert_true(r == LARDER_OK ||
                    (r == LARDER_ERR_NO_HOST_MEMORY && nth < 99));
    }
    assert_int_equal(entry_of(&rig)->users, 1);
    down(&rig);
    assert_false(ledger_exists(path));
}

/* ---- what is told ------------------------------------------------------------------- */

/* Changes of less than a megabyte are told of where one is asked. */
#define KIB(n) ((uint64_t)(n) << 10)

static void the_ledger_shows_what_all_allocators_use(void **state)
{
    struct rig rigs[2] = {up(""), up("")};
    larder_addr at;

    (void)state;
    (void)rig_alloc(&rigs[0], KIB(512));
    at = rig_alloc(&rigs[1], KIB(256));
    larder__trim_for_peer(of(&rigs[0]), 0);
    assert_int_equal(told_in_use(&rigs[0]), KIB(512));
    larder__trim_for_peer(of(&rigs[1]), 0);
    larder__trim_for_peer(of(&rigs[1]), 0);
    assert_int_equal(told_in_use(&rigs[0]), KIB(768));
    rig_free(&rigs[1], at);
    (void)rig_alloc(&rigs[1], KIB(128));
    larder__trim_for_peer(of(&rigs[1]), 0);
    assert_int_equal(told_in_use(&rigs[0]), KIB(640));
    down(&rigs[0]);
    assert_int_equal(told_in_use(&rigs[1]), KIB(128));
    down(&rigs[1]);
}

/* ---- the thread that answers -------------------------------------------------------- */

static void one_thread_answers_for_all_allocators(void **state)
{
    struct rig rigs[2] = {up(""), up("")};
    struct peers *p = entry_of(&rigs[0]);
    pthread_t first;

    (void)state;
    assert_false(p->has_thread);
    assert_ok(larder_configure(rigs[0].a, "ledger_thread:True"));
    assert_true(p->has_thread);
    first = p->thread;
    assert_ok(larder_configure(rigs[1].a, "ledger_thread:True"));
    assert_true(pthread_equal(p->thread, first));
    down(&rigs[0]);
    assert_true(p->has_thread);
    down(&rigs[1]);
}

static size_t count_threads(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;

    assert_non_null(tasks);
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count;
}

/* A thread that was joined is counted for a moment. */
static void assert_threads(size_t count)
{
    const struct timespec nap = {.tv_nsec = 1000000};

    for (int i = 0; i < 2000 && count_threads() != count; i++)
        nanosleep(&nap, NULL);
    assert_int_equal(count_threads(), count);
}

enum { MAKERS = 4 };

static pthread_barrier_t start;

static void *make(void *ctx)
{
    struct rig *rig = ctx;

    pthread_barrier_wait(&start);
    return allocator_on(rig->dev, "ledger_thread:True", &rig->a) == LARDER_OK
               ? NULL
               : rig;
}

static void allocators_made_at_once_have_one_thread(void **state)
{
    (void)state;
    assert_int_equal(pthread_barrier_init(&start, NULL, MAKERS), 0);
    for (int round = 0; round < 50; round++) {
        size_t before = count_threads();
        struct rig rigs[MAKERS] = {0};
        pthread_t threads[MAKERS];

        for (int i = 0; i < MAKERS; i++) {
            rigs[i].dev = device_numbered(0);
            assert_int_equal(pthread_create(&threads[i], NULL, make, &rigs[i]),
                             0);
        }
        for (int i = 0; i < MAKERS; i++) {
            void *failed;

            assert_int_equal(pthread_join(threads[i], &failed), 0);
            assert_null(failed);
        }
        assert_threads(before + 1);
        for (int i = 0; i < MAKERS; i++)
            down(&rigs[i]);
        assert_threads(before);
    }
    assert_int_equal(pthread_barrier_destroy(&start), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_process_is_told_of_as_it_is),
        cmocka_unit_test(the_allocators_of_a_device_share_an_entry),
        cmocka_unit_test(who_takes_a_place_over_owes_no_answer),
        cmocka_unit_test(each_device_has_an_entry_of_its_own),
        cmocka_unit_test(a_device_that_was_closed_is_not_asked),
        cmocka_unit_test(what_is_destroyed_does_not_give),
        cmocka_unit_test(a_group_has_an_entry_of_its_own),
        cmocka_unit_test(a_group_is_a_number_or_a_name),
        cmocka_unit_test(only_settings_that_need_a_ledger_fail_without),
        cmocka_unit_test(an_allocator_that_is_refused_leaves_no_trace),
        cmocka_unit_test_teardown(
            an_allocator_without_host_memory_leaves_no_trace, end_host_faults),
        cmocka_unit_test(the_ledger_shows_what_all_allocators_use),
        cmocka_unit_test(one_thread_answers_for_all_allocators),
        cmocka_unit_test(allocators_made_at_once_have_one_thread),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

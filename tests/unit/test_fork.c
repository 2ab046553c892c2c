/* test_fork.c - a forked child is refused everything that belongs to its
 * parent, waits for no lock, changes nothing, and can open its own devices. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "every_call.h"
#include "support/policies.h"
#include "support/rig.h"
#include "support/share_rig.h"
#include "support/unique_name.h"

enum { PATIENCE_S = 20, BYTES = 3 << 20 };

/* Run fn(rig) in a child, which an alarm ends if it waits for a lock that is
 * never released. fn returns 0, or how many checks failed. */
static void in_child(int (*fn)(struct rig *), struct rig *rig)
{
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(PATIENCE_S);
        _exit(fn(rig));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int is_refused(larder_result r)
{
    return r == LARDER_ERR_FORKED &&
           strstr(larder_last_error(), "before a fork") != NULL;
}

/* ---- every call ------------------------------------------------------------ */

/* Of the parent: live memory, and the checkpoint of a pool. */
static larder_addr kept;
static larder_checkpoint *kept_point;

static const larder_pool_id pool = {1, 0};

static void keep(struct rig *rig)
{
    larder_checkpoint_destroy(kept_point);
    assert_ok(larder_pool_begin(rig->a, pool, NULL, NULL));
    assert_ok(larder_pool_end(rig->a, pool));
    assert_ok(larder_checkpoint_take(rig->a, pool, &kept_point));
    assert_ok(larder_pool_release(rig->a, pool));
    kept = rig_alloc(rig, BYTES);
}

static void count_other(void *ctx, const char *name, larder_result r)
{
    int *others = ctx;

    if (is_refused(r))
        return;
    print_error("a child's %s gives %s\n", name, larder_result_name(r));
    ++*others;
}

static int ask_all(struct rig *rig)
{
    struct every_argument with = {
        .addr = kept, .pool = pool, .checkpoint = kept_point};
    larder_allocator *other;
    uint64_t bytes;
    int others = 0;

#define ASK(call) count_other(&others, #call, call)
    every_call(rig->a, &with, count_other, &others);
    ASK(larder_destroy(rig->a));
    ASK(larder_create(rig->dev, NULL, &other));
    ASK(larder_pinned_create(rig->dev, NULL, &other));
    ASK(larder_device_mem_info(rig->dev, &bytes, &bytes));
    ASK(larder_device_fill(rig->dev, kept, 0, BYTES, 0));
    ASK(larder_device_stream_sync(rig->dev, 0));
    ASK(larder_device_reset_counters(rig->dev));
    ASK(larder_sim_complete(rig->dev, 0));
    ASK(larder_device_close(rig->dev));
#undef ASK
    return others;
}

static void every_call_of_a_child_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < POLICIES; i++) {
        struct rig rig = rig_up_policy("sim:256MiB", policies[i], "");
        const unsigned char *memory;

        keep(&rig);
        memory = (const unsigned char *)(uintptr_t)kept;
        rig_free(&rig, rig_alloc(&rig, BYTES));
        memset((void *)(uintptr_t)kept, 0x5a, BYTES);
        in_child(ask_all, &rig);
        for (int at = 0; at < BYTES; at++)
            assert_int_equal(memory[at], 0x5a);
        assert_ok(larder_check(rig.a));
        rig_free(&rig, kept);
        rig_down(&rig);
    }
}

/* ---- a child of one's own ---------------------------------------------------- */

static int use_own(struct rig *rig)
{
    struct rig own;

    (void)rig;
    own = rig_up_policy("sim:256MiB", LARDER_POLICY_LARDER, "trim_age:0.004");
    memset((void *)(uintptr_t)rig_alloc(&own, BYTES), 1, BYTES);
    rig_down(&own);
    return 0;
}

/* A grandchild may not use the objects of either. */
static int fork_again(struct rig *rig)
{
    struct rig own = rig_up_policy("sim:256MiB", LARDER_POLICY_LARDER, "");

    keep(&own);
    in_child(ask_all, rig);
    in_child(ask_all, &own);
    rig_down(&own);
    return 0;
}

static void a_child_makes_devices_of_its_own(void **state)
{
    struct rig rig = rig_up_policy("sim:256MiB", LARDER_POLICY_LARDER, "");

    (void)state;
    keep(&rig);
    in_child(use_own, &rig);
    in_child(fork_again, &rig);
    rig_down(&rig);
}

/* ---- threads ----------------------------------------------------------------- */

struct churner {
    larder_allocator *a;
    atomic_bool ends;
};

static void *churn(void *ctx)
{
    struct churner *c = ctx;

    while (!atomic_load(&c->ends)) {
        larder_addr addr;

        if (larder_alloc(c->a, KIB(700), 0, &addr) != LARDER_OK ||
            larder_free(c->a, addr) != LARDER_OK ||
            larder_empty_cache(c->a) != LARDER_OK)
            return c;
    }
    return NULL;
}

/* A thread holds the locks nearly all the time when the child is forked. */
static void a_child_waits_for_no_thread_of_its_parent(void **state)
{
    struct rig rig =
        rig_up_policy("sim:256MiB,backing=none", LARDER_POLICY_LARDER,
                      "trim_age:0.004"); /* and a thread of the library's */
    struct churner churner = {.a = rig.a};
    pthread_t thread;
    void *failed;

    (void)state;
    keep(&rig);
    assert_int_equal(pthread_create(&thread, NULL, churn, &churner), 0);
    for (int i = 0; i < 40; i++)
        in_child(ask_all, &rig);
    atomic_store(&churner.ends, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    rig_down(&rig);
}

/* ---- a shared device ----------------------------------------------------------- */

static void a_shared_ledger_is_the_parents_alone(void **state)
{
    char spec[96];
    struct rig rig;

    (void)state;
    snprintf(spec, sizeof spec, "sim:64MiB,context=1MiB,shared=%s",
             unique_name("fork"));
    rig = rig_up_policy(spec, LARDER_POLICY_LARDER, "");
    keep(&rig);
    for (int i = 0; i < 3; i++) {
        larder_sim_usage before = rig_usage(rig.dev);

        in_child(ask_all, &rig);
        assert_int_equal(rig_usage(rig.dev).used_bytes, before.used_bytes);
        assert_int_equal(rig_usage(rig.dev).self_bytes, before.self_bytes);
    }
    rig_down(&rig);
}

/* The child outlives its parent and has copies of all its objects. */
static void a_child_does_not_keep_its_dead_parents_memory(void **state)
{
    larder_device *dev;
    int up[2], down[2];
    char spec[96];
    char word = 0;
    pid_t pid;

    (void)state;
    snprintf(spec, sizeof spec, "sim:64MiB,shared=%s", unique_name("heir"));
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rig rig = rig_up_policy(spec, LARDER_POLICY_LARDER, "");

        rig_alloc(&rig, MIB(40));
        if (fork() != 0)
            _exit(0);
        close(down[1]);
        if (write(up[1], "y", 1) != 1 || read(down[0], &word, 1) != 0)
            _exit(1);
        _exit(0);
    }
    close(down[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(read(up[0], &word, 1), 1);
    assert_ok(larder_device_open(spec, 0, &dev));
    assert_int_equal(rig_usage(dev).used_bytes, 0);
    assert_ok(larder_device_close(dev));
    close(down[1]);
    close(up[0]);
    close(up[1]);
}

/* ---- what a child must not have ------------------------------------------------- */

enum { FDS_LOOKED_AT = 64, CHILDREN = 150 };

/* How many of the child's descriptors are of files of the library.  Neither this
 * nor the next takes memory: a sanitizer's may be locked in a child. */
static int count_files(void)
{
    char path[64], target[64];
    int count = 0;

    for (int fd = 0; fd < FDS_LOOKED_AT; fd++) {
        ssize_t n;

        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        n = readlink(path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        count += strstr(target, "/larder-") != NULL ||
                 strstr(target, ":larder-") != NULL;
    }
    return count;
}

/* Whether one of the child's mappings is of such a file. */
static int has_mapping(void)
{
    static char text[1 << 20];
    int fd = open("/proc/self/maps", O_RDONLY);
    size_t got = 0;
    ssize_t n;

    while ((n = read(fd, text + got, sizeof text - 1 - got)) > 0)
        got += (size_t)n;
    close(fd);
    text[got] = '\0';
    return got == 0 || strstr(text, "/larder-sim") != NULL ||
           strstr(text, ":larder-sim") != NULL;
}

static int has_nothing(struct rig *rig)
{
    (void)rig;
    return count_files() + has_mapping();
}

/* Returns whether the allocation could be mapped once more. */
static bool share(struct rig *rig, larder_addr addr)
{
    struct pair p = pair_up(SOCK_STREAM);
    larder_import *m = NULL;
    larder_export *e = NULL;
    bool is_done = larder_export_open(rig->a, addr, &e) == LARDER_OK &&
                   larder_export_send(e, p.near) == LARDER_OK &&
                   larder_import_receive(rig->dev, p.far, &m) == LARDER_OK &&
                   larder_import_close(m) == LARDER_OK &&
                   larder_export_close(e) == LARDER_OK;

    pair_down(&p);
    return is_done;
}

/* Opens devices, and maps memory of them. */
static void *open_and_map(void *ctx)
{
    struct churner *c = ctx;
    char spec[96];

    snprintf(spec, sizeof spec, "sim:64MiB,export=fabric,shared=%s",
             unique_name("opens"));
    while (!atomic_load(&c->ends)) {
        struct rig rig;
        bool failed = larder_device_open(spec, 0, &rig.dev) != LARDER_OK ||
                      larder_create(rig.dev, NULL, &rig.a) != LARDER_OK;

        for (int i = 0; i < 20 && !failed; i++) {
            larder_addr addr;

            failed = larder_alloc(rig.a, BYTES, 0, &addr) != LARDER_OK ||
                     !share(&rig, addr) ||
                     larder_free(rig.a, addr) != LARDER_OK ||
                     larder_empty_cache(rig.a) != LARDER_OK;
        }
        if (failed || larder_destroy(rig.a) != LARDER_OK ||
            larder_device_close(rig.dev) != LARDER_OK)
            return c;
    }
    return NULL;
}

/* With its parent's descriptors it would keep what its parent held, and with its
 * mappings change it. */
static void a_child_has_nothing_that_is_just_being_opened(void **state)
{
    struct churner churner = {0};
    pthread_t thread;
    void *failed;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, open_and_map, &churner), 0);
    for (int i = 0; i < CHILDREN; i++)
        in_child(has_nothing, NULL);
    atomic_store(&churner.ends, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_of_a_child_is_refused_and_changes_nothing),
        cmocka_unit_test(a_child_makes_devices_of_its_own),
        cmocka_unit_test(a_child_waits_for_no_thread_of_its_parent),
        cmocka_unit_test(a_shared_ledger_is_the_parents_alone),
        cmocka_unit_test(a_child_does_not_keep_its_dead_parents_memory),
        cmocka_unit_test(a_child_has_nothing_that_is_just_being_opened),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

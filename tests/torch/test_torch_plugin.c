/* test_torch_plugin.c - the plug-in in a program without C++: memory, streams,
 * threads, failures. */
#include "torch/torch_host.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/sanitized.h"

static void up(void)
{
    host_up(LARDER_POLICY_PYTORCH, NULL);
}

/* ---- memory --------------------------------------------------------------------- */

static void memory_is_allocated_and_freed(void **state)
{
    void *small;
    void *large;

    (void)state;
    up();
    LIB(larder_torch_init)(0);
    LIB(larder_torch_init)(HOST_DEVICES);
    assert_false(LIB(larder_torch_is_made)(0));
    assert_null(host_malloc(0, 0, 0));
    assert_false(LIB(larder_torch_is_made)(0));
    small = host_malloc(1000, 0, 0);
    large = host_malloc(MIB(30), 0, 0);
    assert_non_null(small);
    assert_non_null(large);
    assert_true(LIB(larder_torch_is_made)(0));
    assert_false(LIB(larder_torch_is_made)(1));
    assert_int_equal(host_stats(0).requested_bytes.all.current, MIB(30) + 1000);
    host_free(small);
    host_free(large);
    LIB(larder_torch_free)(NULL, 0, 0, NULL);
    assert_int_equal(host_stats(0).allocated_bytes.all.current, 0);
    assert_int_equal(LIB(larder_torch_error_count)(), 0);
    host_down();
}

static void each_device_has_an_allocator(void **state)
{
    void *first;
    void *second;

    (void)state;
    up();
    first = host_malloc(KIB(4), 0, 0);
    second = host_malloc(KIB(8), 1, 0);
    assert_int_equal(host_stats(0).allocated_bytes.all.current, KIB(4));
    assert_int_equal(host_stats(1).allocated_bytes.all.current, KIB(8));
    host_free(second);
    assert_int_equal(host_stats(0).allocated_bytes.all.current, KIB(4));
    assert_int_equal(host_stats(1).allocated_bytes.all.current, 0);
    host_free(first);
    host_down();
}

static void a_reset_releases_the_cache(void **state)
{
    void *kept;

    (void)state;
    up();
    kept = host_malloc(MIB(30), 0, 0);
    host_free(host_malloc(MIB(50), 0, 0));
    host_free(host_malloc(MIB(50), 1, 0));
    assert_int_equal(host_stats(0).reserved_bytes.all.current, MIB(80));
    LIB(larder_torch_reset)();
    assert_int_equal(host_stats(0).reserved_bytes.all.current, MIB(30));
    assert_int_equal(host_stats(1).reserved_bytes.all.current, 0);
    host_free(kept);
    host_down();
}

static void a_fraction_limits_what_is_held(void **state)
{
    (void)state;
    up();
    LIB(larder_torch_fraction)(0.25, 0);
    host_free(host_malloc(MIB(60), 0, 0));
    assert_null(host_malloc(MIB(70), 0, 0));
    host_failed("out of memory");
    if (!host_raises()) {
        LIB(larder_torch_fraction)(2.0, 0);
        assert_int_equal(LIB(larder_torch_error_count)(), 2);
    }
    LIB(larder_torch_fraction)(1.0, 0);
    host_free(host_malloc(MIB(70), 0, 0));
    host_down();
}

static void the_base_is_the_segment(void **state)
{
    size_t bytes = 0;
    char *first;
    char *second;

    (void)state;
    up();
    first = host_malloc(KIB(4), 0, 0);
    second = host_malloc(KIB(4), 0, 0);
    assert_ptr_equal(LIB(larder_torch_base)(second, &bytes), first);
    assert_int_equal(bytes, MIB(2));
    if (!host_raises()) {
        assert_null(LIB(larder_torch_base)(&bytes, &bytes));
        host_failed("not in memory of this allocator");
    }
    host_free(first);
    host_free(second);
    host_down();
}

/* ---- failures ------------------------------------------------------------------- */

static void running_out_gives_null_without_cxx(void **state)
{
    void *kept;

    (void)state;
    up();
#ifndef IS_SANITIZED
    assert_int_equal(LIB(larder_torch_raises)(), LARDER_TORCH_NOTHING);
#endif
    kept = host_malloc(MIB(100), 0, 0);
    assert_null(host_malloc(MIB(200), 0, 0));
    host_failed("CUDA out of memory. Tried to allocate 200.00 MiB");
    assert_null(LIB(larder_torch_pool_alloc)(MIB(200), 0, NULL));
    assert_int_equal(host_stats(0).num_ooms, 2);
    assert_int_equal(LIB(larder_torch_error_count)(), 2);
    host_free(kept);
    host_free(host_malloc(MIB(200), 0, 0));
    host_down();
}

static void bad_pointers_are_remembered(void **state)
{
    static int elsewhere;
    void *ptr;

    (void)state;
    up();
    ptr = host_malloc(KIB(4), 0, 0);
    LIB(larder_torch_free)(&elsewhere, 4, 0, NULL);
    host_failed("not in memory of this allocator");
    LIB(larder_torch_free)(ptr, KIB(4), 1, NULL);
    host_failed("not in memory of this allocator");
    LIB(larder_torch_free)(ptr, KIB(4), -1, NULL);
    host_failed("device -1: expected a number from 0 to 63");
    host_free(ptr);
    LIB(larder_torch_free)(ptr, KIB(4), 0, NULL);
    host_failed("was freed before");
    assert_int_equal(LIB(larder_torch_error_count)(), 4);
    /* Foreign memory may be recorded: PyTorch does so with shared memory. */
    host_record_stream(&elsewhere, 5);
    host_record_stream(NULL, 5);
    assert_int_equal(LIB(larder_torch_error_count)(), 4);
    host_down();
}

static void a_device_that_is_not_there_is_named(void **state)
{
    (void)state;
    up();
    assert_int_equal(LIB(larder_torch_set_device)(1, "nonsense"), LARDER_OK);
    assert_null(host_malloc(KIB(4), 1, 0));
    host_failed("nonsense");
    assert_null(host_malloc(KIB(4), 64, 0));
    host_failed("expected a number from 0 to 63");
    host_down();
}

static void settings_are_checked_and_refused_once_memory_is_used(void **state)
{
    static char longer[5000];
    void *ptr;

    (void)state;
    memset(longer, ' ', sizeof longer - 1);
    up();
    assert_int_equal(LIB(larder_torch_configure)(NULL, 0, "limit:lots"),
                     LARDER_ERR_CONF);
    host_failed("limit");
    assert_int_equal(LIB(larder_torch_configure)(NULL, 0, longer),
                     LARDER_ERR_INVALID);
    assert_int_equal(LIB(larder_torch_configure)(NULL, (larder_policy)99, ""),
                     LARDER_ERR_INVALID);
    ptr = host_malloc(KIB(4), 0, 0);
    assert_int_equal(LIB(larder_torch_configure)(NULL, 0, ""), LARDER_ERR_BUSY);
    assert_int_equal(LIB(larder_torch_set_device)(0, "sim:1GiB"),
                     LARDER_ERR_BUSY);
    host_free(ptr);
    host_down();
    host_up(LARDER_POLICY_PYTORCH, "limit:10MiB");
    assert_null(host_malloc(MIB(20), 0, 0));
    host_failed("10.00 MiB allowed");
    host_down();
}

static void the_environment_names_a_device(void **state)
{
    larder_device_props props = {.size = sizeof props};
    larder_device *dev = NULL;

    (void)state;
    setenv("LARDER_TORCH_DEVICE", "sim:64MiB", 1);
    host_free(host_malloc(KIB(4), 0, 0));
    unsetenv("LARDER_TORCH_DEVICE");
    assert_int_equal(LIB(larder_torch_device)(0, &dev), LARDER_OK);
    assert_int_equal(LIB(larder_device_get_props)(dev, &props), LARDER_OK);
    assert_int_equal(props.total_bytes, MIB(64));
    assert_int_equal(LIB(larder_torch_close)(), LARDER_OK);
}

/* A refused driver call fails the request, and is reported. */
static void refused_calls_are_reported(void **state)
{
    larder_device *dev = NULL;
    void *kept;

    (void)state;
    up();
    kept = host_malloc(KIB(4), 0, 0);
    assert_int_equal(LIB(larder_torch_device)(0, &dev), LARDER_OK);
    LIB(larder_device_fail)
    (dev, LARDER_CALL_mem_alloc, 1, 1, LARDER_ERR_DEVICE);
    assert_null(host_malloc(MIB(30), 0, 0));
    assert_int_equal(LIB(larder_torch_error_count)(), 1);
    host_free(host_malloc(MIB(30), 0, 0));
    /* An event that cannot be recorded delays the block, nothing more. */
    host_record_stream(kept, 7);
    LIB(larder_device_fail)
    (dev, LARDER_CALL_event_create, 1, 1, LARDER_ERR_DEVICE);
    host_free(kept);
    assert_int_equal(LIB(larder_torch_error_count)(), 1);
    LIB(larder_device_fail)(dev, LARDER_CALL_mem_free, 1, 1, LARDER_ERR_DEVICE);
    LIB(larder_torch_reset)();
    assert_int_equal(LIB(larder_torch_error_count)(), 2);
    host_down();
}

/* ---- streams -------------------------------------------------------------------- */

static void a_recorded_stream_holds_memory_back(void **state)
{
    void *ptr;
    void *other;

    (void)state;
    up();
    ptr = host_malloc(KIB(4), 0, 5);
    host_record_stream(ptr, 7);
    host_free(ptr);
    other = host_malloc(KIB(4), 0, 5);
    assert_ptr_not_equal(other, ptr);
    host_complete(0, 7);
    host_free(other);
    host_free(host_malloc(KIB(4), 0, 5)); /* polls the event */
    other = host_malloc(KIB(4), 0, 5);
    assert_ptr_equal(other, ptr);
    host_free(other);
    /* Without a record its own stream can reuse it at once, and no other. */
    other = host_malloc(KIB(4), 0, 7);
    assert_ptr_not_equal(other, ptr);
    host_free(other);
    host_down();
}

/* These calls do not name a device. */
static void addresses_are_found_on_every_device(void **state)
{
    size_t bytes = 0;
    void *first;
    void *second;

    (void)state;
    up();
    first = host_malloc(KIB(4), 0, 5);
    second = host_malloc(MIB(30), 1, 5);
    assert_ptr_equal(LIB(larder_torch_base)(second, &bytes), second);
    assert_int_equal(bytes, MIB(30));
    host_record_stream(second, 7);
    host_free(second);
    assert_int_equal(host_stats(1).active_bytes.all.current, MIB(30));
    host_complete(1, 7);
    host_free(first);
    host_down();
}

/* ---- threads -------------------------------------------------------------------- */

enum { WORKERS = 4, ROUNDS = 3000, HELD = 16 };

struct worker {
    uint32_t seed;
    void *held[HELD];
};

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER;
static void *shelf[HELD]; /* passes memory between threads */

static void *swap_on_shelf(void *ptr, uint32_t at)
{
    void *old;

    pthread_mutex_lock(&shelf_lock);
    old = shelf[at % HELD];
    shelf[at % HELD] = ptr;
    pthread_mutex_unlock(&shelf_lock);
    return old;
}

static void *churn(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < ROUNDS; i++) {
        void **at = &w->held[next(&w->seed) % HELD];
        uint32_t what = next(&w->seed);

        if (*at != NULL && what % 4 == 0)
            host_record_stream(*at, 30 + what % 3);
        if (*at != NULL && what % 4 == 1)
            *at = swap_on_shelf(*at, what);
        if (*at != NULL) {
            host_free(*at);
            *at = NULL;
        } else {
            *at = host_malloc(1 + what % KIB(600), (int)(what % 2), what % 3);
        }
        if (what % 512 == 0)
            LIB(larder_torch_reset)();
    }
    return NULL;
}

static void free_all(void **held)
{
    for (int i = 0; i < HELD; i++) {
        if (held[i] != NULL)
            host_free(held[i]);
        held[i] = NULL;
    }
}

static void threads_share_the_plugin(void **state)
{
    static struct worker workers[WORKERS];
    pthread_t threads[WORKERS];

    (void)state;
    up();
    for (uint32_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.seed = i + 1};
        pthread_create(&threads[i], NULL, churn, &workers[i]);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        free_all(workers[i].held);
    }
    free_all(shelf);
    for (int i = 0; i < HOST_DEVICES; i++) {
        larder_allocator *a = NULL;

        LIB(larder_torch_allocator)(i, &a);
        assert_int_equal(LIB(larder_check)(a), LARDER_OK);
        assert_int_equal(host_stats(i).allocated_bytes.all.current, 0);
    }
    assert_int_equal(LIB(larder_torch_error_count)(), 0);
    host_down();
}

/* ---- history -------------------------------------------------------------------- */

static int count_stacks(void *ctx, const larder_event *event)
{
    int *counts = ctx;

    if (event->action == LARDER_ACTION_alloc)
        counts[0] += event->depth > 0;
    if (event->action == LARDER_ACTION_free_requested)
        counts[1] += event->depth > 0;
    return 0;
}

static void count_of(uint32_t stackless, int native, int counts[2])
{
    larder_history_options opt;
    larder_allocator *a = NULL;

    LIB(larder_history_options_init_sized)(&opt, sizeof opt);
    opt.stackless_actions = stackless;
    assert_int_equal(LIB(larder_torch_history_start)(0, &opt, native),
                     LARDER_OK);
    host_free(host_malloc(KIB(4), 0, 0));
    LIB(larder_torch_allocator)(0, &a);
    counts[0] = counts[1] = 0;
    LIB(larder_history_walk)(a, count_stacks, counts);
}

static void stacks_are_native_where_python_is_not(void **state)
{
    int counts[2];

    (void)state;
    up();
    count_of(0, 1, counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 1);
    count_of(1u << LARDER_ACTION_free_requested, 1, counts);
    assert_int_equal(counts[0], 1);
    assert_int_equal(counts[1], 0);
    count_of(0, 0, counts);
    assert_int_equal(counts[0], 0);
    host_down();
}

/* ---- forks ---------------------------------------------------------------------- */

/* A child that hangs is ended, even if the caller ignores the signal. */
static void end_after(unsigned seconds)
{
    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(seconds);
}

/* In the child: 0 if it behaves as the header says. */
static int use_in_child(void *ptr)
{
    const uint64_t failures = LIB(larder_torch_error_count)();

    host_free(ptr);
    LIB(larder_torch_record_stream)(ptr, NULL);
    LIB(larder_torch_reset)();
    LIB(larder_torch_end_pool)(0, 1, 2);
    LIB(larder_torch_release_pool)(0, 1, 2);
    if (LIB(larder_torch_error_count)() != failures)
        return 1;
    if (LIB(larder_torch_is_made)(0))
        return 2;
    if (LIB(larder_torch_pool_alloc)(1000, 0, NULL) != NULL)
        return 3;
    return strstr(LIB(larder_torch_last_error)(), "'spawn'") == NULL ? 4 : 0;
}

static int status_of_child(void *ptr)
{
    pid_t child = fork();
    int status = -1;

    assert_true(child >= 0);
    if (child == 0) {
        end_after(20);
        _exit(use_in_child(ptr));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void a_child_of_a_fork_does_no_harm(void **state)
{
    void *kept;
    void *cached;

    (void)state;
    up();
    kept = host_malloc(MIB(30), 0, 0);
    cached = host_malloc(MIB(30), 0, 0);
    host_free(cached);
    assert_int_equal(status_of_child(kept), 0);
    assert_int_equal(host_stats(0).allocated_bytes.all.current, MIB(30));
    assert_int_equal(host_stats(0).reserved_bytes.all.current, MIB(60));
    host_free(kept);
    host_down();
}

/* Holds the allocator's lock most of the time. */
static void *take_and_free(void *arg)
{
    atomic_bool *stop = arg;

    while (!atomic_load(stop)) {
        host_free(host_malloc(MIB(30), 0, 0));
        LIB(larder_torch_reset)();
    }
    return NULL;
}

static void a_child_waits_for_no_thread_of_its_parent(void **state)
{
    enum { FORKS = 100 };
    /* Looked up here, because the loader has its own lock. */
    __typeof__(&larder_torch_free) free_fn = LIB(larder_torch_free);
    atomic_bool stop = false;
    pthread_t thread;
    void *kept;

    (void)state;
    up();
    kept = LIB(larder_torch_alloc)(MIB(30), 0, NULL);
    assert_int_equal(pthread_create(&thread, NULL, take_and_free, &stop), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        int status = -1;

        if (child == 0) {
            end_after(20);
            free_fn(kept, MIB(30), 0, NULL);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    free_fn(kept, MIB(30), 0, NULL);
    host_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_allocated_and_freed),
        cmocka_unit_test(each_device_has_an_allocator),
        cmocka_unit_test(a_reset_releases_the_cache),
        cmocka_unit_test(a_fraction_limits_what_is_held),
        cmocka_unit_test(the_base_is_the_segment),
        cmocka_unit_test(running_out_gives_null_without_cxx),
        cmocka_unit_test(bad_pointers_are_remembered),
        cmocka_unit_test(a_device_that_is_not_there_is_named),
        cmocka_unit_test(settings_are_checked_and_refused_once_memory_is_used),
        cmocka_unit_test(the_environment_names_a_device),
        cmocka_unit_test(refused_calls_are_reported),
        cmocka_unit_test(a_recorded_stream_holds_memory_back),
        cmocka_unit_test(addresses_are_found_on_every_device),
        cmocka_unit_test(threads_share_the_plugin),
        cmocka_unit_test(stacks_are_native_where_python_is_not),
        cmocka_unit_test(a_child_of_a_fork_does_no_harm),
        cmocka_unit_test(a_child_waits_for_no_thread_of_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

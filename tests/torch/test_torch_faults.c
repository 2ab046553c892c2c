/* test_torch_faults.c - the n-th request for host memory fails, for every n,
 * once and from then on: the plug-in reports it, and nothing is lost.
 *
 * The plug-in and the library use the program's own malloc(). */
#include "torch/torch_host.h"

#include "support/sanitized.h"

#ifdef IS_SANITIZED
int main(void)
{
    return 77; /* the sanitizers have their own malloc() */
}
#else

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

__attribute__((visibility("default"))) void *malloc(size_t bytes);
__attribute__((visibility("default"))) void *calloc(size_t count, size_t bytes);
__attribute__((visibility("default"))) void *realloc(void *old, size_t bytes);

static _Thread_local bool is_armed;
static _Thread_local long countdown;
static _Thread_local bool once;
static _Thread_local long failed;

static bool fails(void)
{
    if (!is_armed || --countdown > 0 || (once && countdown < 0))
        return false;
    failed++;
    return true;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

enum { BLOCKS = 6 };

/* Uses every function of the plug-in, and ignores the results. */
static void scenario(void *blocks[BLOCKS])
{
    larder_history_options opt;

    LIB(larder_history_options_init_sized)(&opt, sizeof opt);
    opt.max_events = 100;
    opt.stack_bytes = 1 << 16;
    blocks[0] = LIB(larder_torch_alloc)(1000, 0, NULL);
    (void)LIB(larder_torch_history_start)(0, &opt, 1);
    blocks[1] = LIB(larder_torch_alloc)(MIB(3), 0, (void *)4);
    if (blocks[1] != NULL)
        LIB(larder_torch_record_stream)(blocks[1], (void *)5);
    LIB(larder_torch_begin_pool)(0, 9, 0, NULL);
    blocks[2] = LIB(larder_torch_alloc)(MIB(3), 0, (void *)4);
    LIB(larder_torch_end_pool)(0, 9, 0);
    blocks[3] = LIB(larder_torch_pool_alloc)(MIB(30), 1, NULL);
    LIB(larder_torch_fraction)(0.9, 0);
    LIB(larder_torch_free)(blocks[3], MIB(30), 1, NULL);
    LIB(larder_torch_reset)();
    blocks[3] = NULL;
    blocks[4] = LIB(larder_torch_alloc)(KIB(700), 0, NULL);
    blocks[5] = LIB(larder_torch_alloc)(MIB(50), 1, NULL);
}

static void free_blocks(void *blocks[BLOCKS])
{
    for (int i = 0; i < BLOCKS; i++)
        LIB(larder_torch_free)(blocks[i], 0, i == 5, NULL);
}

static void assert_sound(void)
{
    for (int i = 0; i < HOST_DEVICES; i++) {
        larder_allocator *a = NULL;

        if (!LIB(larder_torch_is_made)(i))
            continue;
        LIB(larder_torch_allocator)(i, &a);
        assert_int_equal(LIB(larder_check)(a), LARDER_OK);
        assert_int_equal(host_stats(i).allocated_bytes.all.current, 0);
    }
}

/* False once nothing fails any more. */
static bool one_run(long n, bool is_once)
{
    void *blocks[BLOCKS] = {0};
    bool any;

    host_up(LARDER_POLICY_PYTORCH, NULL);
    failed = 0;
    countdown = n;
    once = is_once;
    is_armed = true;
    scenario(blocks);
    is_armed = false;
    any = failed > 0;
    free_blocks(blocks);
    assert_sound();
    host_free(host_malloc(MIB(5), 0, 0));
    host_down();
    return any;
}

/* The C library ends a program that has no memory for a library's thread-local
 * variables, so they are created before. */
static void touch_thread_variables(void)
{
    assert_null(LIB(larder_torch_pool_alloc)(1, -1, NULL));
    assert_int_equal(LIB(larder_torch_set_device)(0, "sim:1MiB"), LARDER_OK);
    assert_null(LIB(larder_torch_pool_alloc)(MIB(4), 0, NULL));
    assert_int_equal(LIB(larder_torch_close)(), LARDER_OK);
}

static void every_request_for_host_memory_may_fail(void **state)
{
    (void)state;
    touch_thread_variables();
    for (int is_once = 0; is_once < 2; is_once++) {
        long n = 1;

        while (one_run(n, is_once != 0))
            n++;
        assert_true(n > 10);
    }
}

/* If there is no memory for a pool, no request goes to it by mistake. */
static void a_pool_that_cannot_begin_is_reported(void **state)
{
    (void)state;
    host_up(LARDER_POLICY_PYTORCH, NULL);
    host_free(host_malloc(1000, 0, 0));
    failed = 0;
    once = true;
    countdown = 1;
    is_armed = true;
    LIB(larder_torch_begin_pool)(0, 9, 0, NULL);
    is_armed = false;
    assert_int_equal(failed, 1);
    host_failed("no host memory to begin a pool");
    LIB(larder_torch_end_pool)(0, 9, 0);
    host_failed("is not begun");
    host_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_for_host_memory_may_fail),
        cmocka_unit_test(a_pool_that_cannot_begin_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif

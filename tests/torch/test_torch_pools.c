/* test_torch_pools.c - memory of captured graphs and of the user's pools: which
 * requests go to them, and which do not. */
#include "torch/torch_host.h"

#include <pthread.h>

static void up(void)
{
    host_up(LARDER_POLICY_PYTORCH, NULL);
}

static void assert_pool(int device, const void *ptr, uint64_t first,
                        uint64_t second)
{
    larder_pool_id id = host_pool_of(device, ptr);

    assert_int_equal(id.first, first);
    assert_int_equal(id.second, second);
}

struct elsewhere {
    size_t bytes;
    uintptr_t stream;
    void *ptr;
};

static void *allocate_elsewhere(void *arg)
{
    struct elsewhere *e = arg;

    e->ptr = host_malloc(e->bytes, 0, e->stream);
    return NULL;
}

/* Like backward, from its own thread. */
static void *malloc_in_a_thread(size_t bytes, uintptr_t stream)
{
    struct elsewhere e = {.bytes = bytes, .stream = stream};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, allocate_elsewhere, &e), 0);
    pthread_join(thread, NULL);
    return e.ptr;
}

static void a_capture_has_a_pool(void **state)
{
    void *before;
    void *within;
    void *backward;
    void *aside;

    (void)state;
    up();
    before = host_malloc(MIB(3), 0, 9);
    LIB(larder_torch_begin_pool)(0, 4, 0, NULL);
    host_capture(0, 9, true);
    within = host_malloc(MIB(3), 0, 9);
    backward = malloc_in_a_thread(MIB(3), 9);
    aside = malloc_in_a_thread(MIB(3), 3);
    LIB(larder_torch_reset)(); /* does nothing during the capture */
    assert_int_equal(LIB(larder_torch_error_count)(), 0);
    host_capture(0, 9, false);
    LIB(larder_torch_end_pool)(0, 4, 0);
    assert_pool(0, before, 0, 0);
    assert_pool(0, within, 4, 0);
    assert_pool(0, backward, 4, 0);
    assert_pool(0, aside, 0, 0);
    host_free(within);
    host_free(backward);
    /* The graph may be replayed: its memory is not reused. */
    LIB(larder_torch_reset)();
    within = host_malloc(MIB(3), 0, 9);
    assert_pool(0, within, 0, 0);
    assert_int_equal(host_stats(0).reserved_bytes.all.current, MIB(60));
    LIB(larder_torch_release_pool)(0, 4, 0);
    host_free(within);
    host_free(before);
    host_free(aside);
    LIB(larder_torch_reset)();
    assert_int_equal(host_stats(0).reserved_bytes.all.current, 0);
    host_down();
}

/* A pool of the user belongs to the thread that began it. */
static void a_pool_is_its_thread_s(void **state)
{
    void *mine;
    void *other;
    void *inner;

    (void)state;
    up();
    LIB(larder_torch_begin_pool)(0, 0, 1, NULL);
    mine = host_malloc(KIB(4), 0, 0);
    other = malloc_in_a_thread(KIB(4), 0);
    LIB(larder_torch_begin_pool)(0, 0, 2, NULL);
    inner = host_malloc(KIB(4), 0, 0);
    LIB(larder_torch_end_pool)(0, 0, 2);
    assert_pool(0, mine, 0, 1);
    assert_pool(0, other, 0, 0);
    assert_pool(0, inner, 0, 2);
    host_free(inner);
    inner = host_malloc(KIB(4), 0, 0);
    assert_pool(0, inner, 0, 1);
    LIB(larder_torch_end_pool)(0, 0, 1);
    LIB(larder_torch_end_pool)(0, 0, 1);
    host_failed("is not begun");
    if (!host_raises()) {
        LIB(larder_torch_begin_pool)(0, 0, 0, NULL);
        host_failed("default pool");
    }
    LIB(larder_torch_release_pool)(0, 0, 77);
    host_failed("does not exist");
    host_free(mine);
    host_free(other);
    host_free(inner);
    host_down();
}

struct capture {
    uint64_t id;
    uintptr_t stream;
    pthread_barrier_t *barrier;
    void *ptr;
};

/* Begins, allocates once, and waits for the others twice. */
static void *capture_a_graph(void *arg)
{
    struct capture *c = arg;

    LIB(larder_torch_begin_pool)(0, c->id, 0, NULL);
    c->ptr = host_malloc(MIB(3), 0, c->stream);
    pthread_barrier_wait(c->barrier);
    pthread_barrier_wait(c->barrier);
    LIB(larder_torch_end_pool)(0, c->id, 0);
    return NULL;
}

static void two_captures_do_not_mix(void **state)
{
    pthread_barrier_t barrier;
    struct capture one = {.id = 11, .stream = 21, .barrier = &barrier};
    struct capture two = {.id = 12, .stream = 22, .barrier = &barrier};
    pthread_t threads[2];
    void *of_two;
    void *refused;

    (void)state;
    up();
    host_free(host_malloc(KIB(4), 0, 0));
    pthread_barrier_init(&barrier, NULL, 3);
    for (uintptr_t stream = 21; stream <= 23; stream++)
        host_capture(0, stream, true);
    pthread_create(&threads[0], NULL, capture_a_graph, &one);
    pthread_create(&threads[1], NULL, capture_a_graph, &two);
    pthread_barrier_wait(&barrier);
    of_two = host_malloc(MIB(3), 0, 22);
    refused = host_malloc(MIB(3), 0, 23);
    for (uintptr_t stream = 21; stream <= 23; stream++)
        host_capture(0, stream, false);
    pthread_barrier_wait(&barrier);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    pthread_barrier_destroy(&barrier);
    assert_pool(0, one.ptr, 11, 0);
    assert_pool(0, two.ptr, 12, 0);
    assert_pool(0, of_two, 12, 0);
    assert_null(refused);
    host_failed("capture one graph at a time");
    host_free(one.ptr);
    host_free(two.ptr);
    host_free(of_two);
    host_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_has_a_pool),
        cmocka_unit_test(a_pool_is_its_thread_s),
        cmocka_unit_test(two_captures_do_not_mix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

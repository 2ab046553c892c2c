/* test_preload_forks.c - children of a process whose other threads are in calls of
 * the driver: each call returns, whatever they hold. */
#include "preload_rig.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 20, CHILD_SECONDS = 10 };

static atomic_bool is_over;
static const cud_page_prop on_device = {
    .type = CUD_PAGE_PINNED, .location = {.type = CUD_ON_DEVICE, .id = 0}};

/* In calls, and so within their locks, most of the time. */
static void *map_and_unmap(void *own)
{
    cud_addr addr = 0;
    cud_page page = 0;
    cud_result wrong = DRIVER(cuCtxSetCurrent)(own);

    wrong |= DRIVER(cuMemAddressReserve)(&addr, MIB(2), 0, 0, 0);
    while (!atomic_load(&is_over) && wrong == CUD_SUCCESS) {
        wrong |= cuMemCreate(&page, MIB(2), &on_device, 0);
        wrong |= cuMemMap(addr, MIB(2), 0, page, 0);
        wrong |= cuMemRelease(page);
        wrong |= cuMemUnmap(addr, MIB(2));
    }
    return (void *)(uintptr_t)wrong;
}

static void call_all(void)
{
    cud_stream stream = (cud_stream)(uintptr_t)CUD_STREAM_LEGACY;
    cud_page page = 0;
    cud_addr addr = 0;

    (void)alarm(CHILD_SECONDS);
    (void)cuMemMap(MIB(2), MIB(2), 0, 1, 0);
    (void)cuMemUnmap(MIB(2), MIB(2));
    (void)cuMemRelease(1);
    (void)cuMemRetainAllocationHandle(&page, NULL);
    (void)cuMemAllocFromPoolAsync(&addr, 512, NULL, stream);
    (void)cuStreamBeginCapture_v2(stream, CUD_CAPTURE_RELAXED);
    (void)cuStreamDestroy_v2(stream);
    (void)cuMemFree_v2(MIB(2));
    (void)larder_preload_empty_cache(LARDER_PRELOAD_ALL);
    (void)larder_preload_resume(0);
    _exit(0);
}

static void fork_once(void)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        call_all();
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void children_take_no_locks_of_other_calls(void **state)
{
    pthread_t thread;
    void *wrong;

    (void)state;
    release(allocate(512));
    assert_int_equal(
        pthread_create(&thread, NULL, map_and_unmap, rig_context(0)), 0);
    for (int i = 0; i < FORKS; i++)
        fork_once();
    atomic_store(&is_over, true);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
}

/* A wait for the device, and a pause, may take long. */
static void children_take_no_locks_of_waits(void **state)
{
    struct preload_slot *slot = preload_slot_at(0);

    (void)state;
    release(allocate(512));
    assert_true(preload_wait_begin(preload_driver()));
    pthread_rwlock_wrlock(&slot->gate);
    fork_once();
    pthread_rwlock_unlock(&slot->gate);
    preload_wait_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PRELOAD_TEST(children_take_no_locks_of_other_calls),
        PRELOAD_TEST(children_take_no_locks_of_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

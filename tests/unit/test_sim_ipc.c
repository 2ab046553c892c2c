/* test_sim_ipc.c - allocations of a simulated GPU opened by others: what was freed
 * is not opened, however closely both follow each other.  Locks belong to devices,
 * so that those of one process serve as well as those of several. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "device/device.h"
#include "device/sim_device.h"
#include "support/clock.h"
#include "support/rig.h"

/* ---- devices --------------------------------------------------------------- */

static larder_device *up(void)
{
    larder_device *dev;

    assert_ok(larder_device_open("sim:64MiB", 0, &dev));
    assert_ok(larder__sim_backing_share(&larder__sim_of(dev)->backing));
    return dev;
}

struct handle {
    char bytes[SIM_IPC_BYTES];
};

static larder_addr allocate(larder_device *dev, uint64_t bytes,
                            struct handle *out)
{
    struct sim *sim = larder__sim_of(dev);
    larder_addr addr = 0;

    assert_ok(larder__sim_enter(sim));
    assert_ok(larder__sim_mem_alloc(sim, bytes, &addr));
    assert_ok(larder__sim_ipc_export(sim, addr, out->bytes));
    assert_ok(larder__sim_leave(sim, LARDER_OK));
    return addr;
}

static larder_result open_in(larder_device *dev, const struct handle *handle,
                             struct sim_ipc *out)
{
    struct sim *sim = larder__sim_of(dev);
    larder_result r = larder__sim_enter(sim);

    return r == LARDER_OK ? larder__sim_leave(sim, larder__sim_ipc_open(
                                                       sim, handle->bytes, out))
                          : r;
}

static larder_result close_in(larder_device *dev, const struct sim_ipc *at)
{
    struct sim *sim = larder__sim_of(dev);
    larder_result r = larder__sim_enter(sim);

    return r == LARDER_OK
               ? larder__sim_leave(sim, larder__sim_ipc_close(sim, at))
               : r;
}

static volatile uint64_t *word_at(larder_addr addr)
{
    return (volatile uint64_t *)(uintptr_t)addr;
}

/* ---- what was freed --------------------------------------------------------- */

static void memory_freed_is_not_opened_because_another_has_it_open(void **state)
{
    larder_device *maker = up(), *user = up(), *late = up();
    struct handle handle;
    larder_addr addr = allocate(maker, MIB(2), &handle);
    struct sim_ipc at, none;

    (void)state;
    *word_at(addr) = 7;
    assert_ok(open_in(user, &handle, &at));
    assert_ok(open_in(late, &handle, &none));
    assert_ok(close_in(late, &none));
    assert_ok(larder__device_mem_free(maker, addr));
    assert_result(LARDER_ERR_DEVICE, open_in(late, &handle, &none));
    assert_int_equal(*word_at(at.addr), 7);
    assert_ok(close_in(user, &at));
    assert_device_empty(maker);
    assert_ok(larder_device_close(late));
    assert_ok(larder_device_close(user));
    assert_ok(larder_device_close(maker));
}

/* What took its place is another allocation. */
static void a_handle_is_not_that_of_smaller_memory_at_its_place(void **state)
{
    larder_device *maker = up(), *user = up();
    struct handle old, new;
    larder_addr addr = allocate(maker, MIB(8), &old);
    struct sim_ipc at;

    (void)state;
    assert_ok(larder__device_mem_free(maker, addr));
    assert_int_equal(allocate(maker, MIB(2), &new), addr);
    assert_result(LARDER_ERR_DEVICE, open_in(user, &old, &at));
    assert_ok(open_in(user, &new, &at));
    assert_ok(close_in(user, &at));
    assert_ok(larder__device_mem_free(maker, addr));
    assert_ok(larder_device_close(user));
    assert_ok(larder_device_close(maker));
}

/* ---- at the same time -------------------------------------------------------- */

enum { FOR_MS = 1500, TAKEN_OVER = -1 };

static struct handle shared; /* equal each time: always the same place */
static atomic_bool ends;

/* Allocates at one place, where nothing is another's unless it has it open. */
static void *make_and_free(void *ctx)
{
    larder_device *dev = ctx;
    struct sim *sim = larder__sim_of(dev);

    for (uint64_t number = 1; !atomic_load(&ends); number++) {
        larder_addr addr = 0;
        larder_addr next = 0;
        struct handle same;

        if (larder__sim_enter(sim) != LARDER_OK)
            return dev;
        larder__sim_lend_sweep(sim);
        if (larder__sim_mem_alloc(sim, MIB(64), &addr) != LARDER_OK) {
            sim_unlock(sim); /* it is still open */
            continue;
        }
        *word_at(addr) = number;
        if (larder__sim_ipc_export(sim, addr, same.bytes) != LARDER_OK ||
            memcmp(&same, &shared, sizeof same) != 0 ||
            larder__sim_leave(sim, LARDER_OK) != LARDER_OK ||
            larder__sim_enter(sim) != LARDER_OK ||
            larder__sim_mem_free(sim, addr) != LARDER_OK)
            return dev;
        if (larder__sim_mem_alloc(sim, MIB(64), &next) == LARDER_OK) {
            *word_at(next) = (uint64_t)TAKEN_OVER;
            if (larder__sim_mem_free(sim, next) != LARDER_OK)
                return dev;
        }
        sim_unlock(sim);
    }
    return NULL;
}

static void memory_that_is_being_freed_is_opened_or_refused(void **state)
{
    larder_device *maker = up(), *user = up();
    uint64_t until = now_ms() + FOR_MS;
    unsigned long opened = 0;
    pthread_t thread;
    void *failed;

    (void)state;
    assert_ok(
        larder__device_mem_free(maker, allocate(maker, MIB(64), &shared)));
    atomic_store(&ends, false);
    assert_int_equal(pthread_create(&thread, NULL, make_and_free, maker), 0);
    while (now_ms() < until) {
        struct sim_ipc at;
        uint64_t word;

        if (open_in(user, &shared, &at) != LARDER_OK)
            continue;
        opened++;
        word = *word_at(at.addr);
        assert_int_not_equal(word, 0);
        assert_int_not_equal(word, (uint64_t)TAKEN_OVER);
        sched_yield();
        assert_int_equal(*word_at(at.addr), word);
        assert_ok(close_in(user, &at));
    }
    atomic_store(&ends, true);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_int_not_equal(opened, 0);
    assert_ok(larder_device_close(user));
    assert_ok(larder_device_close(maker));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            memory_freed_is_not_opened_because_another_has_it_open),
        cmocka_unit_test(a_handle_is_not_that_of_smaller_memory_at_its_place),
        cmocka_unit_test(memory_that_is_being_freed_is_opened_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

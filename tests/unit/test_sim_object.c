/* test_sim_object.c - the shared memory object of a simulated GPU: which are taken
 * for one, who may be in it, and its lock. */
#include "sim_share_rig.h"

/* Puts a file of `bytes` bytes of 0xff in the object's place. */
static void object_plant(off_t bytes, mode_t mode, uid_t owner)
{
    static const unsigned char junk = 0xff;
    char path[64];
    int fd;

    snprintf(path, sizeof path, "/larder-sim2-%s.0", name);
    fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    for (off_t i = 0; i < bytes; i++)
        assert_int_equal(write(fd, &junk, 1), 1);
    assert_int_equal(fchmod(fd, mode), 0);
    if (owner != geteuid())
        assert_int_equal(fchown(fd, owner, (gid_t)-1), 0);
    close(fd);
}

static void expect_refused(const char *words)
{
    larder_device *dev;
    char path[64];

    assert_refused(LARDER_ERR_SYSTEM,
                   larder_device_open(spec_of("8MiB", ""), 0, &dev), words);
    snprintf(path, sizeof path, "/larder-sim2-%s.0", name);
    assert_int_equal(shm_unlink(path), 0);
}

static void an_object_that_is_not_a_devices_is_refused(void **state)
{
    (void)state;
    object_plant(16, 0600, geteuid());
    expect_refused("has another size");
    object_plant(0, 0666, geteuid());
    expect_refused("is open to other users");
    object_plant(65536, 0600, geteuid());
    expect_refused("has another size");
    if (geteuid() == 0) {
        object_plant(0, 0600, 65534);
        expect_refused("belongs to another user");
    }
}

/* A member finds the object in its place, however fast others leave. */
static void join_main(void)
{
    for (int i = 0; i < 1000; i++) {
        larder_device *dev;

        if (larder_device_open(spec_of("4MiB", ""), 0, &dev) != LARDER_OK)
            _exit(1);
        if (!object_exists(0))
            _exit(2);
        if (larder_device_close(dev) != LARDER_OK)
            _exit(3);
    }
    _exit(0);
}

static void nobody_joins_an_object_being_removed(void **state)
{
    (void)state;
    run_at_once(3, join_main);
    assert_false(object_exists(0));
}

/* Ends by a signal, nearly always while it holds the lock: the query is
 * slow. */
static void ask_main(void)
{
    larder_device *dev;
    uint64_t free_bytes, total_bytes;

    if (larder_device_open(spec_of("8MiB", ""), 0, &dev) != LARDER_OK)
        _exit(1);
    ualarm(2000, 0);
    for (;;)
        larder_device_mem_info(dev, &free_bytes, &total_bytes);
}

/* Two of these cannot both have 6 of 8 MiB. */
static void contend_main(void)
{
    larder_device *dev;

    if (larder_device_open(spec_of("8MiB", ""), 0, &dev) != LARDER_OK)
        _exit(1);
    for (int i = 0; i < 20000; i++) {
        larder_sim_usage usage = {.size = sizeof usage};
        larder_addr addr;

        if (larder__device_mem_alloc(dev, MIB(6), &addr) != LARDER_OK)
            continue;
        if (larder_sim_get_usage(dev, &usage) != LARDER_OK ||
            usage.used_bytes != MIB(6))
            _exit(2);
        if (larder__device_mem_free(dev, addr) != LARDER_OK)
            _exit(3);
    }
    _exit(0);
}

static void the_lock_outlives_who_dies_with_it(void **state)
{
    larder_device *dev = open_shared("8MiB", "");

    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(child_status(child_start(ask_main)), -1);
        assert_int_equal(free_of(dev), MIB(8));
    }
    run_at_once(2, contend_main);
    assert_ok(larder_device_close(dev));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_that_is_not_a_devices_is_refused),
        cmocka_unit_test(nobody_joins_an_object_being_removed),
        cmocka_unit_test(the_lock_outlives_who_dies_with_it),
    };

    sim_share_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

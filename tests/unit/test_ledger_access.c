/* test_ledger_access.c - who may open a device's ledger, which files are not
 * taken for one, and which devices have none. */
#include "idle_device.h"
#include "peers_rig.h"

#include <sys/stat.h>

#include "core/entry/handle.h"

/* ---- permissions ------------------------------------------------------------- */

static bool exists(const char *path, struct stat *st)
{
    int fd = shm_open(path, O_RDONLY, 0);
    bool is = fd >= 0 && fstat(fd, st) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

static void the_ledger_is_its_users_alone_and_goes_with_the_last(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    struct stat st;
    struct rig rig;

    (void)state;
    ledger_path(path, NULL);
    assert_false(exists(path, &st));
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, "");
    assert_true(exists(path, &st));
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_uid, geteuid());
    rig_end(&rig);
    assert_false(exists(path, &st));
}

static void a_groups_ledger_is_open_to_the_group_alone(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    char conf[64];
    gid_t group = geteuid() == 0 ? 65534 : getegid();
    struct stat st;
    struct rig rig;

    (void)state;
    ledger_path(path, &group);
    snprintf(conf, sizeof conf, "ledger_group:%lu", (unsigned long)group);
    umask(077); /* must not keep the group out */
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, conf);
    umask(022);
    assert_true(exists(path, &st));
    assert_int_equal(st.st_mode & 0777, 0660);
    assert_int_equal(st.st_gid, group);
    rig_end(&rig);
    assert_false(exists(path, &st));
}

/* Puts a file of `bytes` bytes in the ledger's place. */
static void plant(const char *path, off_t bytes, mode_t mode, uid_t owner,
                  gid_t group)
{
    int fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    assert_int_equal(fchown(fd, owner, group), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* If the ledger was requested this is an error; otherwise the allocator works
 * without it. */
static void expect_untrusted(const char *path, const char *conf,
                             const char *words)
{
    larder_device *dev;
    larder_allocator *a = NULL;
    larder_options opt;

    larder_options_init(&opt);
    opt.conf = conf;
    assert_ok(larder_device_open(spec_of("64MiB"), 0, &dev));
    assert_refused(LARDER_ERR_SYSTEM, larder_create(dev, &opt, &a), words);
    opt.conf = "";
    if (strcmp(conf, "ledger:on") == 0) {
        larder_addr addr;

        assert_ok(larder_create(dev, &opt, &a));
        assert_ok(larder_alloc(a, MIB(8), 0, &addr));
        assert_ok(larder_destroy(a));
    }
    assert_ok(larder_device_close(dev));
    assert_int_equal(shm_unlink(path), 0);
}

static void a_ledger_that_others_could_have_made_is_not_used(void **state)
{
    char path[SHARED_NAME_MAX + 1];
    char conf[64];
    uid_t me = geteuid();
    gid_t us = getegid();

    (void)state;
    ledger_path(path, NULL);
    plant(path, 0, 0660, me, us);
    expect_untrusted(path, "ledger:on", "is open to other users");
    plant(path, 0, 0604, me, us);
    expect_untrusted(path, "ledger:on", "is open to other users");
    plant(path, 100, 0600, me, us);
    expect_untrusted(path, "ledger:on", "has another size");
    plant(path, sizeof(struct ledger_page), 0600, me, us);
    if (me == 0) {
        assert_int_equal(shm_unlink(path), 0);
        plant(path, 0, 0600, 65534, us);
        expect_untrusted(path, "ledger:on", "belongs to another user");
        ledger_path(path, &us);
        snprintf(conf, sizeof conf, "ledger_group:%lu", (unsigned long)us);
        plant(path, 0, 0660, me, 65534);
        expect_untrusted(path, conf, "belongs to another group");
        plant(path, 0, 0666, me, us);
        expect_untrusted(path, conf, "is open to other users");
    } else {
        assert_int_equal(shm_unlink(path), 0);
    }
}

static void an_unknown_group_is_named(void **state)
{
    larder_device *dev;
    larder_allocator *a;
    larder_options opt;

    (void)state;
    larder_options_init(&opt);
    opt.conf = "ledger_group:no-such-group";
    assert_ok(larder_device_open(spec_of("64MiB"), 0, &dev));
    assert_refused(LARDER_ERR_CONF, larder_create(dev, &opt, &a),
                   "ledger_group: 'no-such-group'");
    assert_ok(larder_device_close(dev));
}

/* ---- without a ledger --------------------------------------------------------- */

static bool has_ledger(const larder_allocator *a)
{
    return handle_allocator(a)->peers != NULL;
}

static void a_device_of_this_process_alone_has_no_ledger(void **state)
{
    larder_device_props props = {.size = sizeof props};
    struct rig rig = rig_up("sim:64MiB", "ledger:on");

    (void)state;
    assert_ok(larder_device_get_props(rig.dev, &props));
    assert_true(props.is_exclusive);
    assert_false(has_ledger(rig.a));
    rig_down(&rig);
    rig = rig_on("64MiB", LARDER_POLICY_LARDER, "ledger:on");
    assert_true(has_ledger(rig.a));
    rig_end(&rig);
}

/* Other processes could not recognise it as the same device. */
static void a_device_that_does_not_say_who_it_is_has_no_ledger(void **state)
{
    struct idle_device idle = {0};
    larder_options opt;
    struct rig rig = {0};

    (void)state;
    larder_options_init(&opt);
    opt.conf = "ledger:on";
    assert_ok(larder_device_create(&idle_ops, &idle, &rig.dev));
    assert_ok(larder_create(rig.dev, &opt, &rig.a));
    assert_false(has_ledger(rig.a));
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ledger_is_its_users_alone_and_goes_with_the_last),
        cmocka_unit_test(a_groups_ledger_is_open_to_the_group_alone),
        cmocka_unit_test(a_ledger_that_others_could_have_made_is_not_used),
        cmocka_unit_test(an_unknown_group_is_named),
        cmocka_unit_test(a_device_of_this_process_alone_has_no_ledger),
        cmocka_unit_test(a_device_that_does_not_say_who_it_is_has_no_ledger),
    };

    peers_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_streams.c - ten thousand streams: an allocation on each costs as much as
 * on the first, and uses little host memory. */
#include <stdio.h>
#include <unistd.h>

#include "support/rig.h"
#include "support/sanitized.h"

enum { STREAMS = 10000, SOME = 100, HOST_BYTES_MAX = 16 << 10 };

struct way {
    const char *name;
    larder_policy policy;
    const char *conf;
};

static const struct way ways[] = {
    {"larder", LARDER_POLICY_LARDER, ""},
    {"pytorch", LARDER_POLICY_PYTORCH, ""},
    {"expandable", LARDER_POLICY_PYTORCH, "expandable_segments:True"},
};

static uint64_t all_calls(struct rig *rig)
{
    uint64_t calls = 0;

    for (int call = 0; call < LARDER_CALL_COUNT; call++)
        calls += rig_calls(rig, (larder_call)call);
    return calls;
}

/* Resident memory of this process, in bytes. */
static long resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long total = 0;
    long resident = 0;

    if (f == NULL)
        return 0;
    if (fscanf(f, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    fclose(f);
    return resident * sysconf(_SC_PAGESIZE);
}

/* Driver calls needed for `count` new streams. */
static uint64_t serve(struct rig *rig, larder_stream first, int count)
{
    uint64_t before = all_calls(rig);

    for (int i = 0; i < count; i++)
        (void)rig_alloc_on(rig, 1000, first + (larder_stream)i);
    return all_calls(rig) - before;
}

static void each_stream_costs_what_the_first_did(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct rig rig = rig_up_policy("sim:80GiB,backing=none", ways[i].policy,
                                       ways[i].conf);
        uint64_t first;

        print_message("%s\n", ways[i].name);
        first = serve(&rig, 1, SOME);
        (void)serve(&rig, 1 + SOME, STREAMS - 2 * SOME);
        assert_int_equal(serve(&rig, 1 + STREAMS - SOME, SOME), first);
        assert_ok(larder_check(rig.a));
        rig_down(&rig);
    }
}

static void a_stream_keeps_little_of_the_host(void **state)
{
    struct rig rig =
        rig_up_policy("sim:80GiB,backing=none", LARDER_POLICY_LARDER, "");
    long before;

    (void)state;
    (void)serve(&rig, 1, SOME);
    before = resident_bytes();
    (void)serve(&rig, 1 + SOME, STREAMS - SOME);
#ifdef IS_SANITIZED /* they add their own memory to ours */
    (void)before;
#else
    assert_true(resident_bytes() - before <=
                (long)HOST_BYTES_MAX * (STREAMS - SOME));
#endif
    rig_down(&rig);
}

/* When there is no more, some streams use the memory that others release. */
static void streams_pass_memory_on(void **state)
{
    struct rig rig = rig_up_policy("sim:64MiB,backing=none,events=immediate",
                                   LARDER_POLICY_LARDER, "");

    (void)state;
    for (larder_stream s = 0; s < 2000; s++) {
        rig_free(&rig, rig_alloc_on(&rig, 1000, s));
        rig_free(&rig, rig_alloc_on(&rig, MIB(40), s));
    }
    assert_ok(larder_check(rig.a));
    rig_down(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: memory that other tests returned to the C library is not all
         * zero */
        cmocka_unit_test(a_stream_keeps_little_of_the_host),
        cmocka_unit_test(each_stream_costs_what_the_first_did),
        cmocka_unit_test(streams_pass_memory_on),
    };

    unsetenv("LARDER_CONF");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_replayed.c - the figures of random replays are those that
 * tests/data/golden/replayed.txt has.
 *
 *   test_replayed [--log PROGRAM]
 *
 * As test_decisions does it: LARDER_DECISIONS=tests/data/golden makes the file
 * anew, and --log prints what a replay wrote, its placements first. */
#include "golden/record.h"
#include "golden/replayed.h"
#include "support/rig.h"

enum { PROGRAMS = 90 };

static void replays_have_the_figures_recorded(void **state)
{
    (void)state;
    record_compare("replayed.txt", PROGRAMS, replay_record);
}

static void a_replay_repeats_exactly(void **state)
{
    (void)state;
    record_repeats(PROGRAMS, replay_record);
}

static void log_replay(void **state)
{
    free(replay_record(*(const unsigned *)*state, stdout));
}

int main(int argc, char **argv)
{
    unsigned number = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_have_the_figures_recorded),
        cmocka_unit_test(a_replay_repeats_exactly),
    };
    const struct CMUnitTest log[] = {
        cmocka_unit_test_prestate(log_replay, &number),
    };

    unsetenv("LARDER_CONF");
    if (argc == 3 && strcmp(argv[1], "--log") == 0)
        return cmocka_run_group_tests(log, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

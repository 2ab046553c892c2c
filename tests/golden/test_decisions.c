/* test_decisions.c - what the allocator decides in random programs is what it
 * decided when tests/data/golden/decisions.txt was made.
 *
 *   test_decisions [--log PROGRAM]
 *
 * A change that is not meant to change decisions leaves the file as it is.  One
 * that is makes it anew,
 *
 *   LARDER_DECISIONS=tests/data/golden test_decisions
 *
 * and its diff shows the programs and figures that changed.  --log prints each
 * step of a program, so that the logs of two builds show where they part. */
#include "golden/decisions.h"

enum { PROGRAMS = 160 };

static void programs_decide_as_recorded(void **state)
{
    (void)state;
    record_compare("decisions.txt", PROGRAMS, program_run);
}

static void a_program_repeats_exactly(void **state)
{
    (void)state;
    record_repeats(PROGRAMS, program_run);
}

static void log_program(void **state)
{
    free(program_run(*(const unsigned *)*state, stdout));
}

int main(int argc, char **argv)
{
    unsigned number = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_decide_as_recorded),
        cmocka_unit_test(a_program_repeats_exactly),
    };
    const struct CMUnitTest log[] = {
        cmocka_unit_test_prestate(log_program, &number),
    };

    unsetenv("LARDER_CONF");
    if (argc == 3 && strcmp(argv[1], "--log") == 0)
        return cmocka_run_group_tests(log, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

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
#include "golden/record.h"

int main(int argc, char **argv)
{
    static const struct record r = {"decisions.txt", 160, program_run};

    return record_main(argc, argv, &r);
}

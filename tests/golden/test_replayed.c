/* test_replayed.c - the figures of random replays are those that
 * tests/data/golden/replayed.txt has.
 *
 *   test_replayed [--log PROGRAM]
 *
 * As test_decisions does it: LARDER_DECISIONS=tests/data/golden makes the file
 * anew, and --log prints what a replay wrote, its placements first. */
#include "golden/record.h"
#include "golden/replayed.h"

int main(int argc, char **argv)
{
    static const struct record r = {"replayed.txt", 90, replay_record};

    return record_main(argc, argv, &r);
}

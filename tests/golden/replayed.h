/* replayed.h - random traces and snapshots, replayed with random options, and
 * all figures of the result. */
#pragma once

#include <stdio.h>

/* Every third is of a snapshot, recorded under the policy `pytorch`; `log`
 * receives what a replay writes.  As record.h has it. */
char *replay_record(unsigned number, FILE *log);

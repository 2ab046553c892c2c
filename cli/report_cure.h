/* report_cure.h - finds settings for the report under which a run would not
 * have run out of memory, by replaying it. */
#ifndef LARDER_CLI_REPORT_CURE_H
#define LARDER_CLI_REPORT_CURE_H

#include "report/verdict.h"

/* A report_cure whose context is *why, which must outlive it: a sentence that
 * says why no setting was found.  Recordings with very many events are left to
 * `larder tune`. */
enum { REPORT_CURE_WHY = 512 };
struct report_cure report_cure_make(char why[REPORT_CURE_WHY]);

#endif

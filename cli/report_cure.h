/* report_cure.h - finds settings for the report under which a run would not
 * have run out of memory, by replaying it. */
#pragma once

#include "report/verdict.h"

/* A report_cure whose context is `text`, which must outlive it: the advice, or
 * why no setting was found.  Recordings with very many events are left to
 * `larder tune`. */
enum { REPORT_CURE_TEXT = 2048 };
struct report_cure report_cure_make(char text[REPORT_CURE_TEXT]);

/* hold.h - exports that are open. */
#ifndef LARDER_TESTS_STORM_HOLD_H
#define LARDER_TESTS_STORM_HOLD_H

#include "storm/storm.h"

/* Close them all; what was freed meanwhile is gone. */
void holds_close(struct worker *me);

#endif

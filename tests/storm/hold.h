/* hold.h - exports that are open. */
#pragma once

#include "storm/storm.h"

/* Close them all; what was freed meanwhile is gone. */
void holds_close(struct worker *me);

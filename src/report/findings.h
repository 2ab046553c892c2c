/* findings.h - what stands out in a run and matters to advice, too. */
#pragma once

#include "report/summary_of_run.h"

/* The minimum that each iteration has leaked, and the number of its largest
 * allocation; 0: nothing. */
uint64_t finding_leak(const struct run_summary *f, uint32_t *largest);
/* Whether an allocation was not freed that is not kept on purpose. */
bool finding_is_left(const struct run_summary *f, uint32_t number);

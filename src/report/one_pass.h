/* one_pass.h - tells repeated layers from iterations.
 *
 * What repeats within one call of a module's forward() are layers.  A call path
 * does not tell one call from the next, but a pass does more than its layers,
 * before or after them: if the same forward() made something else, and only
 * outside the repetition, it was called once. */
#ifndef LARDER_REPORT_ONE_PASS_H
#define LARDER_REPORT_ONE_PASS_H

#include "snapshot/lifetimes.h"

/* Whether what repeats between the events `from` and `to` is part of one pass,
 * in *is.  False: no host memory. */
bool one_pass_is(const struct lifetimes *l, uint32_t from, uint32_t to,
                 bool *is);

#endif

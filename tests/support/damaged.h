/* damaged.h - a JSON document with one value after the other replaced by one that
 * is wrong in some way, or taken away. */
#pragma once

#include <jansson.h>

#include "support/recorded.h"

/* What comes of it, in one line; malloc'd.  What is behind a tab may differ from
 * value to value: of that there is a digest, at the end of the line. */
typedef char *damaged_outcome(const json_t *document);

/* Record what comes of each damage, of which the document has one at a time, in a
 * line for each place and outcome: "segments[0].size = -1 "x": not a size".  Of a
 * list the first and the last item are damaged. */
void damaged_each(json_t *document, damaged_outcome *outcome,
                  struct recorded *r);

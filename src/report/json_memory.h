/* json_memory.h - whether jansson ran out of host memory.
 *
 * A value that could not be made is left out of what holds it without a word.
 * Rather than ask at each of them, ask once, at the end. */
#ifndef LARDER_REPORT_JSON_MEMORY_H
#define LARDER_REPORT_JSON_MEMORY_H

#include <stdbool.h>

/* From here on; of the calling thread. */
void json_memory_watch(void);

/* Whether a request has failed since. */
bool json_memory_failed(void);

#endif

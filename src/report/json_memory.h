/* json_memory.h - whether jansson ran out of host memory.
 *
 * jansson silently leaves out a value that it could not create.  Instead of
 * checking every call, the report asks once at the end. */
#ifndef LARDER_REPORT_JSON_MEMORY_H
#define LARDER_REPORT_JSON_MEMORY_H

#include <stdbool.h>

/* Start watching the calling thread. */
void json_memory_watch(void);

/* Whether a request has failed since then. */
bool json_memory_failed(void);

#endif
